/* cluster/mpi/module.c - a wire (wire.h) over MPI-3, compiled once per library
 * (cmake/DroveMpi.cmake) as drove_mpi_<name>.so.  The only file that includes mpi.h; it calls no
 * function of drove.
 *
 * All messages go over a duplicate of MPI_COMM_WORLD, or of a communicator of the program's, apart
 * from those of others in the process.
 */
#include "cluster/wire.h"

#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef DROVE_WIRE_NAME
#define DROVE_WIRE_NAME "mpi"
#endif

/* Over TCP Open MPI sends up to 64 KiB, with its header, without asking (btl_tcp_eager_limit). */
enum { EAGER_BYTES = 60 << 10 };

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "a request fits the caller's word");

typedef struct mpi_wire {
    drove_wire base;
    MPI_Comm all;
    bool is_ours; /* MPI_Init was called here */
} mpi_wire;

const drove_wire_ops *drove_wire_module(void) __attribute__((visibility("default")));

/* ---- errors ---- */

/* "CALL: REASON" into error; between MPI_Init and MPI_Finalize. */
static int say(char *error, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int n = 0;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) n = snprintf(text, sizeof text, "error");
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    snprintf(error, DROVE_WIRE_NAME_SIZE, "%s: %.200s (%d)", what, text, code);
    return 1;
}

/* Before MPI has begun it has no texts of its errors. */
static int say_number(char *error, int code, const char *what)
{
    snprintf(error, DROVE_WIRE_NAME_SIZE, "%s: error %d", what, code);
    return 1;
}

static int refuse(char *error, const char *why)
{
    snprintf(error, DROVE_WIRE_NAME_SIZE, "%s", why);
    return 2;
}

static int check(drove_wire *w, int code, const char *what)
{
    return code == MPI_SUCCESS ? 0 : say(w->error, code, what);
}

static MPI_Comm comm_of(drove_wire *w)
{
    return ((mpi_wire *)w->impl)->all;
}

/* ---- messages ---- */

static void put_request(drove_wire_request *r, MPI_Request request)
{
    r->word = 0;
    memcpy(&r->word, &request, sizeof request);
}

static MPI_Request get_request(const drove_wire_request *r)
{
    MPI_Request request;
    memcpy(&request, &r->word, sizeof request);
    return request;
}

static int isend(drove_wire *w, const void *bytes, size_t n_bytes, unsigned to, unsigned tag,
                 drove_wire_request *r)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Isend(bytes, (int)n_bytes, MPI_BYTE, (int)to, (int)tag, comm_of(w), &request);
    put_request(r, request);
    return check(w, code, "MPI_Isend");
}

static int irecv(drove_wire *w, void *bytes, size_t n_bytes, int from, unsigned tag,
                 drove_wire_request *r)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int source = from == DROVE_WIRE_ANY ? MPI_ANY_SOURCE : from;
    int code = MPI_Irecv(bytes, (int)n_bytes, MPI_BYTE, source, (int)tag, comm_of(w), &request);
    put_request(r, request);
    return check(w, code, "MPI_Irecv");
}

static int test(drove_wire *w, drove_wire_request *r, bool *is_done, unsigned *from,
                size_t *n_bytes)
{
    MPI_Request request = get_request(r);
    MPI_Status status;
    int flag = 0, n = 0;
    *is_done = false;
    int code = MPI_Test(&request, &flag, &status);
    put_request(r, request);
    if (code != MPI_SUCCESS) return check(w, code, "MPI_Test");
    if (!flag) return 0;
    *is_done = true;
    if (from != NULL) *from = (unsigned)status.MPI_SOURCE;
    if (n_bytes != NULL) {
        code = MPI_Get_count(&status, MPI_BYTE, &n);
        *n_bytes = n > 0 ? (size_t)n : 0;
    }
    return check(w, code, "MPI_Get_count");
}

static int cancel(drove_wire *w, drove_wire_request *r)
{
    MPI_Request request = get_request(r);
    int code = MPI_Cancel(&request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    put_request(r, request);
    return check(w, code, "MPI_Cancel");
}

static int all_reduce(drove_wire *w, const float *in, float *out, size_t n)
{
    for (size_t at = 0; at < n; at += DROVE_WIRE_MOST / sizeof *in) {
        size_t rest = n - at, most = DROVE_WIRE_MOST / sizeof *in;
        int n_here = (int)(rest < most ? rest : most);
        const void *from = in == out ? MPI_IN_PLACE : (const void *)(in + at);
        int code = MPI_Allreduce(from, out + at, n_here, MPI_FLOAT, MPI_SUM, comm_of(w));
        if (code != MPI_SUCCESS) return check(w, code, "MPI_Allreduce");
    }
    return 0;
}

static void leave(int signal_number)
{
    (void)signal_number;
    _exit(EXIT_FAILURE);
}

/* MPICH 4.0.2 waits in MPI_Abort for ever where another rank is already in MPI_Finalize; the end of
 * this process then ends the others. */
static void end_all(drove_wire *w, int status)
{
    enum { MOST_S = 3 };
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGALRM);
    (void)signal(SIGALRM, leave);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)alarm(MOST_S);
    MPI_Abort(comm_of(w), status);
}

/* ---- beginning and end ---- */

/* Shortens "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n...". */
static void name_library(char into[DROVE_WIRE_NAME_SIZE])
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "", word[64];
    int n = 0;
    MPI_Get_library_version(text, &n);
    text[n < MPI_MAX_LIBRARY_VERSION_STRING ? n : MPI_MAX_LIBRARY_VERSION_STRING] = '\0';
    if (sscanf(text, "MPICH Version: %63s", word) == 1) {
        snprintf(into, DROVE_WIRE_NAME_SIZE, "MPICH %s", word);
    } else if (sscanf(text, "Open MPI v%63[0-9.a-z]", word) == 1) {
        snprintf(into, DROVE_WIRE_NAME_SIZE, "Open MPI %s", word);
    } else {
        text[strcspn(text, ",\n")] = '\0';
        snprintf(into, DROVE_WIRE_NAME_SIZE, "%.*s", DROVE_WIRE_NAME_SIZE - 1, text);
    }
}

/* Whether the call worked; else the wire's error. */
static bool works(mpi_wire *m, int code, const char *what)
{
    return check(&m->base, code, what) == 0;
}

static bool find_self(mpi_wire *m, MPI_Comm comm, unsigned *rank, unsigned *n_ranks)
{
    int number = 0, n = 0;
    if (!works(m, MPI_Comm_rank(comm, &number), "MPI_Comm_rank")) return false;
    if (!works(m, MPI_Comm_size(comm, &n), "MPI_Comm_size")) return false;
    *rank = (unsigned)number;
    *n_ranks = (unsigned)n;
    return true;
}

static bool find_hosts(mpi_wire *m)
{
    drove_wire *w = &m->base;
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "", own[DROVE_WIRE_NAME_SIZE] = "";
    int n = 0;
    w->host = calloc(w->n_ranks, sizeof *w->host);
    if (!works(m, w->host == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS, "names of hosts")) return false;
    if (!works(m, MPI_Get_processor_name(name, &n), "MPI_Get_processor_name")) return false;
    snprintf(own, sizeof own, "%.*s", DROVE_WIRE_NAME_SIZE - 1, name);
    if (!works(m, MPI_Allgather(own, sizeof own, MPI_CHAR, w->host, sizeof own, MPI_CHAR, m->all),
               "MPI_Allgather"))
        return false;
    for (unsigned i = 0; i < w->n_ranks; i++) w->host[i][DROVE_WIRE_NAME_SIZE - 1] = '\0';
    return true;
}

/* Ranks and hosts.  All ranks call it. */
static bool look_around(mpi_wire *m)
{
    drove_wire *w = &m->base;
    MPI_Comm here = MPI_COMM_NULL;
    if (!find_self(m, m->all, &w->rank, &w->n_ranks) || !find_hosts(m)) return false;
    return works(m,
                 MPI_Comm_split_type(m->all, MPI_COMM_TYPE_SHARED, (int)w->rank, MPI_INFO_NULL,
                                     &here),
                 "MPI_Comm_split_type") &&
           find_self(m, here, &w->local_rank, &w->n_local) &&
           works(m, MPI_Comm_free(&here), "MPI_Comm_free");
}

static void fini(drove_wire *w)
{
    if (w == NULL) return;
    mpi_wire *m = w->impl;
    MPI_Comm_free(&m->all);
    if (m->is_ours) MPI_Finalize();
    free(w->host);
    free(m);
}

/* Duplicates a communicator; all its ranks call it.  After a failure m can but abort. */
static int take(mpi_wire *m, MPI_Comm comm, int granted, char *error)
{
    drove_wire *w = &m->base;
    w->ops = drove_wire_module();
    w->takes_threads = granted == MPI_THREAD_MULTIPLE;
    w->impl = m;
    m->all = comm;
    MPI_Comm all = MPI_COMM_NULL;
    const bool is_mine = works(m, MPI_Comm_dup(comm, &all), "MPI_Comm_dup");
    if (is_mine) m->all = all;
    if (is_mine &&
        works(m, MPI_Comm_set_errhandler(m->all, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler") &&
        look_around(m)) {
        name_library(w->library);
        return 0;
    }
    memcpy(error, w->error, sizeof w->error);
    return 1;
}

/* MPI_Init, if the program has not called it. */
static int begin(bool *is_ours, int *granted, char *error)
{
    int is_begun = 0, is_ended = 0;
    int code = MPI_Finalized(&is_ended);
    if (code == MPI_SUCCESS) code = MPI_Initialized(&is_begun);
    if (code != MPI_SUCCESS) return say_number(error, code, "MPI_Initialized");
    if (is_ended) return refuse(error, "MPI cannot begin twice in a process");
    *is_ours = !is_begun;
    if (is_begun) {
        code = MPI_Query_thread(granted);
    } else {
        /* UCX, below MPICH, by default asks the receiver from some 8 KB on: see EAGER_BYTES. */
        if (strcmp(DROVE_WIRE_NAME, "mpich") == 0) setenv("UCX_RNDV_THRESH", "64k", 0);
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, granted);
    }
    if (code == MPI_SUCCESS) return 0;
    return say_number(error, code, is_begun ? "MPI_Query_thread" : "MPI_Init_thread");
}

static int init(drove_wire **out, char *error)
{
    int granted = MPI_THREAD_SINGLE;
    mpi_wire *m = calloc(1, sizeof *m);
    if (m == NULL) return say_number(error, MPI_ERR_NO_MEM, "MPI_Init_thread: no memory");
    const int failed = begin(&m->is_ours, &granted, error);
    if (failed != 0) {
        free(m);
        return failed;
    }
    *out = &m->base;
    return take(m, MPI_COMM_WORLD, granted, error);
}

/* Needs MPI_THREAD_SERIALIZED: the worker is a thread of drove's own. */
static int check_given(int communicator, int *granted, char *error)
{
    int is_begun = 0, is_ended = 0, has_two = 0;
    int code = MPI_Initialized(&is_begun);
    if (code == MPI_SUCCESS) code = MPI_Finalized(&is_ended);
    if (code != MPI_SUCCESS) return say_number(error, code, "MPI_Initialized");
    if (!is_begun || is_ended)
        return refuse(error, is_ended ? "expected MPI_Init_thread before it and MPI_Finalize after "
                                        "it, found that MPI has ended"
                                      : "expected a program that has called MPI_Init_thread, found "
                                        "that MPI has not begun in this library");
    code = MPI_Query_thread(granted);
    if (code != MPI_SUCCESS) return say(error, code, "MPI_Query_thread");
    if (*granted < MPI_THREAD_SERIALIZED)
        return refuse(error, *granted == MPI_THREAD_FUNNELED
                                 ? "expected MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE of "
                                   "MPI_Init_thread, found MPI_THREAD_FUNNELED"
                                 : "expected MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE of "
                                   "MPI_Init_thread, found MPI_THREAD_SINGLE");
    const MPI_Comm comm = MPI_Comm_f2c(communicator);
    if (comm == MPI_COMM_NULL) return refuse(error, "expected one, found MPI_COMM_NULL");
    if (MPI_Comm_test_inter(comm, &has_two) != MPI_SUCCESS || has_two)
        return refuse(error, "expected one of a single group, found an intercommunicator");
    return 0;
}

static int init_given(int communicator, drove_wire **out, char *error)
{
    int granted = MPI_THREAD_SINGLE;
    const int refused = check_given(communicator, &granted, error);
    if (refused != 0) return refused;
    mpi_wire *m = calloc(1, sizeof *m);
    if (m == NULL) return say(error, MPI_ERR_NO_MEM, "MPI_Comm_dup");
    *out = &m->base;
    return take(m, MPI_Comm_f2c(communicator), granted, error);
}

const drove_wire_ops *drove_wire_module(void)
{
    static const drove_wire_ops ops = {
        .version = DROVE_WIRE_VERSION,
        .name = DROVE_WIRE_NAME,
        .eager_bytes = EAGER_BYTES,
        .init = init,
        .init_given = init_given,
        .fini = fini,
        .isend = isend,
        .irecv = irecv,
        .test = test,
        .cancel = cancel,
        .all_reduce = all_reduce,
        .abort = end_all,
    };
    return &ops;
}
