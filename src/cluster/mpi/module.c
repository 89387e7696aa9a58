/* cluster/mpi/module.c - a wire (wire.h) over MPI-3, compiled once per library
 * (cmake/DroveMpi.cmake) as drove_mpi_<name>.so.  The only file that includes mpi.h; it calls no
 * function of drove.
 *
 * All messages go over a duplicate of MPI_COMM_WORLD, or of a communicator of the program's, apart
 * from those of others in the process.
 */
#include "cluster/wire.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DROVE_WIRE_NAME
#define DROVE_WIRE_NAME "mpi"
#endif

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "a request fits the caller's word");

typedef struct mpi_wire {
    drove_wire base;
    MPI_Comm all;
    bool is_ours; /* MPI_Init was called here */
} mpi_wire;

const drove_wire_ops *drove_wire_module(void) __attribute__((visibility("default")));

/* ---- errors ---- */

static int say(char *error, int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int n = 0;
    if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) n = 0;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    snprintf(error, DROVE_WIRE_NAME_SIZE, "%s: %.200s", what, text);
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

static void end_all(drove_wire *w, int status)
{
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

/* Ranks and hosts.  All ranks call it. */
static int look_around(mpi_wire *m)
{
    drove_wire *w = &m->base;
    int rank = 0, n_ranks = 0, n_name = 0;
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "", own[DROVE_WIRE_NAME_SIZE] = "";
    MPI_Comm here;
    MPI_Comm_rank(m->all, &rank);
    MPI_Comm_size(m->all, &n_ranks);
    w->rank = (unsigned)rank;
    w->n_ranks = (unsigned)n_ranks;
    w->host = calloc(w->n_ranks, sizeof *w->host);
    if (w->host == NULL) return MPI_ERR_NO_MEM;
    MPI_Get_processor_name(name, &n_name);
    snprintf(own, sizeof own, "%.*s", DROVE_WIRE_NAME_SIZE - 1, name);
    int code = MPI_Allgather(own, sizeof own, MPI_CHAR, w->host, sizeof own, MPI_CHAR, m->all);
    if (code != MPI_SUCCESS) return code;
    for (unsigned i = 0; i < w->n_ranks; i++) w->host[i][DROVE_WIRE_NAME_SIZE - 1] = '\0';
    code = MPI_Comm_split_type(m->all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &here);
    if (code != MPI_SUCCESS) return code;
    MPI_Comm_rank(here, &rank);
    MPI_Comm_size(here, &n_ranks);
    w->local_rank = (unsigned)rank;
    w->n_local = (unsigned)n_ranks;
    return MPI_Comm_free(&here);
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

/* Duplicates a communicator; all its ranks call it. */
static int take(mpi_wire *m, MPI_Comm comm, int granted)
{
    drove_wire *w = &m->base;
    int code = MPI_Comm_dup(comm, &m->all);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(m->all, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = look_around(m);
    if (code != MPI_SUCCESS) return code;
    w->ops = drove_wire_module();
    w->takes_threads = granted == MPI_THREAD_MULTIPLE;
    w->impl = m;
    name_library(w->library);
    return MPI_SUCCESS;
}

static int init(drove_wire **out, char *error)
{
    int is_begun = 0, is_ended = 0, granted = MPI_THREAD_SINGLE;
    mpi_wire *m = calloc(1, sizeof *m);
    if (m == NULL) return say(error, MPI_ERR_NO_MEM, "MPI_Init");
    MPI_Finalized(&is_ended);
    MPI_Initialized(&is_begun);
    int code = is_ended ? MPI_ERR_OTHER : MPI_SUCCESS;
    if (code == MPI_SUCCESS && !is_begun) {
        code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &granted);
        m->is_ours = true;
    } else if (code == MPI_SUCCESS) {
        code = MPI_Query_thread(&granted);
    }
    if (code != MPI_SUCCESS) {
        free(m);
        return say(error, code, is_ended ? "MPI cannot begin twice in a process" : "MPI_Init");
    }
    code = take(m, MPI_COMM_WORLD, granted);
    if (code != MPI_SUCCESS) return say(error, code, "MPI_Init");
    *out = &m->base;
    return 0;
}

/* Needs MPI_THREAD_SERIALIZED: the worker is a thread of drove's own. */
static int check_given(int communicator, int *granted, char *error)
{
    int is_begun = 0, is_ended = 0, has_two = 0;
    MPI_Initialized(&is_begun);
    MPI_Finalized(&is_ended);
    if (!is_begun || is_ended)
        return refuse(error, is_ended ? "expected MPI_Init_thread before it and MPI_Finalize after "
                                        "it, found that MPI has ended"
                                      : "expected a program that has called MPI_Init_thread, found "
                                        "that MPI has not begun in this library");
    MPI_Query_thread(granted);
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
    if (check_given(communicator, &granted, error) != 0) return 2;
    mpi_wire *m = calloc(1, sizeof *m);
    if (m == NULL) return say(error, MPI_ERR_NO_MEM, "MPI_Comm_dup");
    int code = take(m, MPI_Comm_f2c(communicator), granted);
    if (code != MPI_SUCCESS) return say(error, code, "MPI_Comm_dup");
    *out = &m->base;
    return 0;
}

const drove_wire_ops *drove_wire_module(void)
{
    static const drove_wire_ops ops = {
        .version = DROVE_WIRE_VERSION,
        .name = DROVE_WIRE_NAME,
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
