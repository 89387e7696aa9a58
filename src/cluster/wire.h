/* cluster/wire.h - messages between processes: what a module of an MPI library provides.
 *
 * A module (cluster/mpi/module.c, compiled once for each MPI library) is opened at run time;
 * nothing else includes mpi.h.  cluster/messages.c makes all exchanges of transport.h from these
 * messages alone, so it is tested without MPI, over mailboxes in one process (cluster/mailbox.c),
 * and runs under a simulator's MPI.
 *
 * Thread rules: after init any thread may call any slot but fini, one at a time; where
 * takes_threads, several at once.
 */
#ifndef DROVE_CLUSTER_WIRE_H
#define DROVE_CLUSTER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DROVE_WIRE_VERSION = 1,
    DROVE_WIRE_NAME_SIZE = 256,
    DROVE_WIRE_ANY = -1,      /* from whomever */
    DROVE_WIRE_MOST = 1 << 30 /* bytes of a message */
};

#define DROVE_WIRE_ENTRY "drove_wire_module" /* a drove_wire_entry_fn */

typedef struct drove_wire drove_wire;
typedef struct drove_wire_request { /* memory of the caller until it is done */
    void    *handle;
    uint64_t word;
} drove_wire_request;

typedef struct drove_wire_ops {
    unsigned    version; /* DROVE_WIRE_VERSION */
    const char *name;    /* "openmpi", "mpich" */
    /* All int results: 0, or an error, whose text is in w->error; of init in
     * error[DROVE_WIRE_NAME_SIZE]. */
    int (*init)(drove_wire **out, char *error);
    void (*fini)(drove_wire *w);
    /* Messages of one sender with one tag are received in the order in which they were sent. */
    int (*isend)(drove_wire *w, const void *bytes, size_t n_bytes, unsigned to, unsigned tag,
                 drove_wire_request *r);
    int (*irecv)(drove_wire *w, void *bytes, size_t n_bytes, int from, unsigned tag,
                 drove_wire_request *r);
    /* *from, *n_bytes of a receive that is done; may be NULL.  A message that is longer than the
     * receive is an error. */
    int (*test)(drove_wire *w, drove_wire_request *r, bool *is_done, unsigned *from,
                size_t *n_bytes);
    int (*cancel)(drove_wire *w, drove_wire_request *r); /* of a receive; then it is done */
    /* Forgets a request of either kind, whatever became of it.  NULL: its memory must live on. */
    void (*drop)(drove_wire *w, drove_wire_request *r);
    /* The library's own all-reduce, in whatever order it adds; blocks. NULL: none. */
    int (*all_reduce)(drove_wire *w, const float *in, float *out, size_t n);
    /* Ends all processes of the job at once with this exit status. */
    void (*abort)(drove_wire *w, int status);
} drove_wire_ops;

typedef const drove_wire_ops *drove_wire_entry_fn(void);

struct drove_wire {
    const drove_wire_ops *ops;
    unsigned              n_ranks, rank;
    unsigned              n_local, local_rank; /* ranks of this host */
    bool                  takes_threads;
    char                  library[DROVE_WIRE_NAME_SIZE]; /* "Open MPI 4.1.4" */
    char                  error[DROVE_WIRE_NAME_SIZE];   /* of the call that failed last */
    char (*host)[DROVE_WIRE_NAME_SIZE];                  /* [n_ranks] */
    void *impl;
};

#endif
