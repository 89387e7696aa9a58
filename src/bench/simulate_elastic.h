/* bench/simulate_elastic.h - iterations of the methods on P hosts on a virtual clock: how much of
 * an exchange is exposed, and what waiting for others costs.
 *
 * Source: You, Buluc, Demmel, SC17 ("the paper"): alpha-beta links (Table 2), Algorithms 1-4, the
 * parts of Table 3.  Symbols: P workers, n bytes of the packed parameters, m(n) = messages x alpha
 * + beta n a transfer, L = log2 P rounded up, A the addition of two vectors.
 *
 *   turns    easgd: one worker at a time; both transfers with the master, overlapped or not
 *   arrival  easgd-async, psgd-async and their hogwild forms: workers come to the master when they
 *            are ready; its link carries one transfer of each direction at a time, and unless
 *            hogwild it makes one update at a time
 *   rounds   the others, together:
 *              tree        broadcast L m(n), reduction L (m(n) + A): Algorithms 2-4
 *              all-reduce  halving and doubling: 2 L messages x alpha + (P - 1) / P (2 beta n + A)
 *
 * A worker's iteration takes its time with a normal spread, part of whose variance may belong to
 * the worker for good (a slow node) instead of to the iteration.
 *
 * Threads: pure; any number at once.
 */
#ifndef DROVE_BENCH_SIMULATE_ELASTIC_H
#define DROVE_BENCH_SIMULATE_ELASTIC_H

#include "base/status.h"
#include "strategy/strategy.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct drove_sim_link {
    double alpha_s, beta_s; /* s of a message; s of a byte */
} drove_sim_link;

/* How the workers of a variant exchange, as its row of the registry says (strategy/strategy.h);
 * also of "easgd-sync3 (paper)", where only the broadcast is hidden.  NULL: no such variant. */
const drove_exchange_pattern *drove__sim_method(const char *variant);

enum { DROVE_SIM_MOST_WORKERS = 4096 };

typedef struct drove_sim_hosts { /* times of one worker, s */
    unsigned n_workers;
    double   n_bytes;    /* that an exchange sends where nothing is sent twice */
    unsigned n_messages; /* 1: packed; else one for each layer */
    double   data_s;     /* a batch comes to the worker, before its iteration */
    double   compute_s;  /* forward and backward */
    double   spread;     /* of compute_s: standard deviation over mean */
    double   in_place;   /* of the variance: the worker's own, for good; 0 to 1 */
    double   stretch;    /* compute_s takes so many times as long while messages travel; >= 1 */
    double   add_s, worker_update_s, master_update_s, codec_s; /* the last: encode and decode */
    drove_sim_link master, peer; /* links between master and worker, between workers */
} drove_sim_hosts;

typedef struct drove_sim_run {
    unsigned period;       /* iterations of a worker to an exchange; >= 1 */
    unsigned n_iterations; /* of each worker; >= 1 */
    uint64_t seed;
} drove_sim_run;

/* s, means over workers and iterations: the parts add up to iteration_s */
typedef struct drove_sim_times {
    double iteration_s; /* of a worker; turns: of the one whose turn it is */
    double update_s;    /* whole time over all workers' iterations */
    double data_s, compute_s;
    double exchange_s; /* exposed transfers and additions, with encoding */
    double wait_s;     /* for slower workers, or for others at the master */
    double worker_update_s, master_update_s;
} drove_sim_times;

/* The i-th smallest of n standard normal numbers, as expected (Blom's scores); i < n.  So slow
 * nodes are of an ordinary size, not of one draw's. */
double drove__sim_normal_score(unsigned i, unsigned n);

/* Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
drove_status drove__simulate_exchange(const drove_exchange_pattern *method,
                                      const drove_sim_hosts *hosts, const drove_sim_run *run,
                                      drove_sim_times *out);

#endif
