/* ranks.c - one rank of an MPI job, for tests/scripts/test_mpi.sh and tests/long/namespaces.
 *
 *   ranks cases    all kinds of exchange against the fixed tree, and gathering
 *   ranks rpcs     a centre at rank 0 that all ranks call
 *   ranks stopped  the last rank is stopped by a signal: the others name it within the timeout
 *   ranks wide     ranks that disagree about a length
 *
 * Exit status: 0 right, 1 wrong, 77 no MPI.  One line for each rank.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "cluster/ranks_open.h"
#include "support/exchange_cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static drove_transport *t;
static unsigned rank;

static int cases(void)
{
    exchange_cases c = {.seed = 5, .n_times = 3, .n_most = 300000, .most_rest_us = 200};
    return exchange_cases_run(t, rank, &c) == 0 ? 0 : 1;
}

/* The library's own sum, of whole numbers. */
static int library(void)
{
    enum { N = 100000 };
    float *in = drove__alloc(N, sizeof *in), *out = drove__alloc(N, sizeof *out);
    int n_wrong = drove__messages_library_reduce(t, true) != DROVE_OK;
    for (size_t i = 0; i < N; i++) in[i] = (float)(i % 100 + rank);
    n_wrong +=
        drove__exchange(t, rank,
                        &(drove_exchange){.kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = N},
                        NULL) != DROVE_OK;
    unsigned n = t->n_workers, of_ranks = n * (n - 1) / 2;
    for (size_t i = 0; i < N; i++) n_wrong += out[i] != (float)(i % 100 * n + of_ranks);
    drove__free(in);
    drove__free(out);
    n_wrong += drove__messages_library_reduce(t, false) != DROVE_OK;
    return n_wrong != 0;
}

enum { N_CENTRE = 200000, N_RPCS = 20 };

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    float *vector = context;
    for (size_t i = 0; i < n; i++) message[i] = vector[i] += message[i];
    number[1] = (float)worker;
}

static int rpcs(void)
{
    float *vector = drove__alloc(N_CENTRE, sizeof *vector);
    float *message = drove__alloc(N_CENTRE, sizeof *message);
    drove_centre c = {.vector = rank == 0 ? vector : NULL,
                      .serve = serve,
                      .context = vector,
                      .is_exclusive = true};
    int n_wrong = t->ops->host(t, &c, N_CENTRE) != DROVE_OK;
    for (unsigned i = 0; i < N_RPCS; i++) {
        drove_exchange_info info = {0};
        for (size_t j = 0; j < N_CENTRE; j++) message[j] = 1.0f;
        drove_exchange x = {.kind = DROVE_RPC, .in = message, .out = message, .n = N_CENTRE};
        n_wrong += drove__exchange(t, rank, &x, &info) != DROVE_OK;
        n_wrong += info.number[1] != (float)rank || message[7] != message[N_CENTRE - 1];
    }
    n_wrong += drove__exchange(t, rank, &(drove_exchange){.kind = DROVE_BARRIER}, NULL) != DROVE_OK;
    n_wrong += rank == 0 && vector[N_CENTRE / 2] != (float)(N_RPCS * t->n_workers);
    if (n_wrong > 0) fprintf(stderr, "rank %u: %d wrong RPCs\n", rank, n_wrong);
    drove__free(vector);
    drove__free(message);
    return n_wrong != 0;
}

static int stopped(void)
{
    uint64_t begun = drove__now_ns();
    drove_exchange_info info = {0};
    if (drove__exchange(t, rank, &(drove_exchange){.kind = DROVE_BARRIER}, NULL) != DROVE_OK)
        return 1;
    if (rank == t->n_workers - 1) raise(SIGSTOP);
    drove_status status = drove__exchange(t, rank, &(drove_exchange){.kind = DROVE_BARRIER}, &info);
    double waited_s = (double)(drove__now_ns() - begun) * 1e-9;
    printf("rank %u after %.1f s: %s\n", rank, waited_s,
           status == DROVE_OK ? "no error" : drove_error_text());
    fflush(stdout);
    bool is_named =
        status != DROVE_OK && strstr(drove_error_text(), "has not been heard of") != NULL;
    drove__transport_abort(t, is_named ? 9 : 1);
    return 1;
}

static int wide(void)
{
    static float in[60000], out[60000];
    drove_exchange x = {
        .kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = rank == 0 ? 60000 : 50000};
    drove_status status = drove__exchange(t, rank, &x, NULL);
    printf("rank %u: %s\n", rank, status == DROVE_OK ? "no error" : drove_error_text());
    fflush(stdout);
    sleep(1); /* for the others' line */
    drove__transport_abort(t, status != DROVE_OK ? 9 : 1);
    return 1;
}

int main(int n_arguments, char **argument)
{
    const char *what = n_arguments > 1 ? argument[1] : "cases";
    drovek_table kernels;
    double timeout_s = n_arguments > 2 ? atof(argument[2]) : 60;
    if (drovek_select(&kernels, drove__cpu_features(), NULL) != DROVE_OK) return 1;
    drove_status status = drove__transport_mpi(&kernels, timeout_s, &t);
    if (status != DROVE_OK) {
        fprintf(stderr, "skip: %s\n", drove_error_text());
        return status == DROVE_E_UNSUPPORTED ? 77 : 1;
    }
    const drove_wire *w = drove__transport_wire(t);
    rank = w->rank;
    int result = strcmp(what, "cases") == 0     ? cases() + library()
                 : strcmp(what, "rpcs") == 0    ? rpcs()
                 : strcmp(what, "stopped") == 0 ? stopped()
                 : strcmp(what, "wide") == 0    ? wide()
                                                : 1;
    printf("rank %u of %u, %u of %u on %s, %s: %s %s\n", rank, w->n_ranks, w->local_rank,
           w->n_local, w->host[rank], w->library, what, result == 0 ? "right" : "WRONG");
    t->ops->destroy(t);
    return result;
}
