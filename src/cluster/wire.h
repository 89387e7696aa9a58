/* cluster/wire.h - messages between processes, as a module of an MPI library provides them.
 *
 * A module (cluster/mpi/module.c, compiled once per MPI library) is opened at run time; nothing
 * else includes mpi.h.  cluster/messages.c builds all exchanges of transport.h from these messages,
 * so it is tested without MPI, over mailboxes in one process (cluster/mailbox.c), and runs under a
 * simulator's MPI.
 *
 * Thread rules: after init any thread may call any slot but fini; several at once only where
 * takes_threads.
 */
#ifndef DROVE_CLUSTER_WIRE_H
#define DROVE_CLUSTER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DROVE_WIRE_VERSION = 3,
    DROVE_WIRE_NAME_SIZE = 256,
    DROVE_WIRE_ANY = -1,      /* from any rank */
    DROVE_WIRE_MOST = 1 << 30 /* bytes of a message */
};

#define DROVE_WIRE_ENTRY "drove_wire_module" /* a drove_wire_entry_fn */

typedef struct drove_wire drove_wire;
typedef struct drove_wire_request { /* the caller keeps it until the message is done */
    void    *handle;
    uint64_t word;
} drove_wire_request;

typedef struct drove_wire_ops {
    unsigned    version; /* DROVE_WIRE_VERSION */
    const char *name;    /* "openmpi", "mpich" */
    /* A message between hosts of up to so many bytes is sent without an answer of the receiver;
     * 0: not known. */
    size_t eager_bytes;
    /* int results: 0, or an error whose text is in w->error (init: in error[DROVE_WIRE_NAME_SIZE]).
     */
    /* 1: a call of the library failed.  Then *out, if it was set, can but abort: the others may
     * wait for this rank.  2: refused, at all ranks alike; *out is untouched. */
    int (*init)(drove_wire **out, char *error);
    /* Over a duplicate of a communicator of the program's, given as MPI_Comm_c2f does; MPI is the
     * program's to begin and to end.  All its ranks call it.  NULL: not offered. */
    int (*init_given)(int communicator, drove_wire **out, char *error);
    void (*fini)(drove_wire *w);
    /* Messages with equal sender and tag arrive in order. */
    int (*isend)(drove_wire *w, const void *bytes, size_t n_bytes, unsigned to, unsigned tag,
                 drove_wire_request *r);
    int (*irecv)(drove_wire *w, void *bytes, size_t n_bytes, int from, unsigned tag,
                 drove_wire_request *r);
    /* *from, *n_bytes: of a finished receive; may be NULL.  A message longer than the receive is an
     * error. */
    int (*test)(drove_wire *w, drove_wire_request *r, bool *is_done, unsigned *from,
                size_t *n_bytes);
    int (*cancel)(drove_wire *w, drove_wire_request *r); /* a receive; it is done then */
    /* Forgets a request.  NULL: cannot; the memory of the message must live on. */
    void (*drop)(drove_wire *w, drove_wire_request *r);
    /* The library's own all-reduce, in its order of additions; blocks.  NULL: none. */
    int (*all_reduce)(drove_wire *w, const float *in, float *out, size_t n);
    /* Ends all processes of the job with this exit status. */
    void (*abort)(drove_wire *w, int status);
} drove_wire_ops;

typedef const drove_wire_ops *drove_wire_entry_fn(void);

struct drove_wire {
    const drove_wire_ops *ops;
    unsigned              n_ranks, rank;
    unsigned              n_local, local_rank; /* ranks of this host */
    bool                  takes_threads;
    char                  library[DROVE_WIRE_NAME_SIZE]; /* "Open MPI 4.1.4" */
    char                  error[DROVE_WIRE_NAME_SIZE];   /* of the last failed call */
    char (*host)[DROVE_WIRE_NAME_SIZE];                  /* [n_ranks] */
    void *impl;
};

#endif
