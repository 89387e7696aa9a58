/* bench/simulate_elastic.c - the three patterns of exchange, iteration by iteration. */
#include "bench/simulate_elastic.h"

#include "base/rng.h"
#include "config/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Section 5.1: "step (1) and step (2) can be overlapped", gradient and broadcast. */
static const drove_exchange_pattern sync3_of_the_paper = {.order = DROVE_EXCHANGE_ROUNDS,
                                                          .overlap = DROVE_OVERLAP_BROADCAST,
                                                          .has_centre = true};

const drove_exchange_pattern *drove__sim_method(const char *variant)
{
    if (strcmp(variant, "easgd-sync3 (paper)") == 0) return &sync3_of_the_paper;
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++)
        for (size_t i = 0; (*row)->exchange_pattern != NULL && (*row)->variants[i] != NULL; i++)
            if (strcmp((*row)->variants[i], variant) == 0) return &(*row)->exchange_pattern[i];
    return NULL;
}

typedef struct sim_worker {
    drove_rng rng;
    double own;            /* standard normal: how slow it is for good */
    double begin_s, end_s; /* of its iteration: when it began; when it has its gradient */
    unsigned n_done;       /* arrival: its iterations */
} sim_worker;

typedef struct sim {
    const drove_exchange_pattern *method;
    const drove_sim_hosts *hosts;
    const drove_sim_run *run;
    sim_worker *worker;
    drove_sim_times sum; /* over workers and iterations */
} sim;

/* ---- pieces ---- */

static double transfer(const drove_sim_hosts *h, const drove_sim_link *link)
{
    return h->n_messages * link->alpha_s + h->n_bytes * link->beta_s;
}

/* Both halves of a round's exchange: what brings values to all, and what adds them. */
static void round_times(const sim *s, double *broadcast_s, double *reduce_s)
{
    const drove_sim_hosts *h = s->hosts;
    double n_levels = 0.0, others = (h->n_workers - 1.0) / h->n_workers;
    for (unsigned reach = 1; reach < h->n_workers; reach *= 2) n_levels += 1.0;
    const drove_sim_link *link = s->method->at_master ? &h->master : &h->peer;
    if (s->method->is_all_reduce) {
        *broadcast_s =
            n_levels * h->n_messages * link->alpha_s + others * h->n_bytes * link->beta_s;
        *reduce_s = *broadcast_s + others * h->add_s;
        return;
    }
    if (s->method->at_master && n_levels < 1.0) n_levels = 1.0; /* the master is no worker */
    *broadcast_s = n_levels * transfer(h, link);
    *reduce_s = n_levels * (transfer(h, link) + h->add_s);
}

/* Compute of one iteration; a normal number below -1 / spread would be a time below 0. */
static double draw_compute(const sim *s, sim_worker *w)
{
    const drove_sim_hosts *h = s->hosts;
    double z = sqrt(h->in_place) * w->own + sqrt(1.0 - h->in_place) * drove__rng_normal(&w->rng);
    return h->compute_s * fmax(0.0, 1.0 + h->spread * z);
}

/* Compute of which up to exchange_s goes on beside messages. */
static double stretched(const sim *s, double compute_s, double exchange_s)
{
    return compute_s + (s->hosts->stretch - 1.0) * fmin(compute_s, exchange_s);
}

/* ---- turns ---- */

static double run_turns(sim *s)
{
    const drove_sim_hosts *h = s->hosts;
    double now_s = 0.0;
    for (uint64_t i = 0; i < (uint64_t)s->run->n_iterations * h->n_workers; i++) {
        bool exchanges = i / h->n_workers % s->run->period == 0;
        double exchange_s = exchanges ? 2.0 * transfer(h, &h->master) : 0.0;
        bool overlaps = s->method->overlap != DROVE_OVERLAP_NONE;
        double compute_s = stretched(s, draw_compute(s, &s->worker[i % h->n_workers]),
                                     overlaps ? exchange_s : 0.0);
        double exposed_s = overlaps ? fmax(0.0, exchange_s - compute_s) : exchange_s;
        double master_s = exchanges ? h->master_update_s : 0.0;
        now_s += h->data_s + compute_s + exposed_s + h->worker_update_s + master_s;
        s->sum.data_s += h->data_s;
        s->sum.compute_s += compute_s;
        s->sum.exchange_s += exposed_s;
        s->sum.worker_update_s += h->worker_update_s;
        s->sum.master_update_s += master_s;
    }
    return now_s;
}

/* ---- in the order of arrival ---- */

typedef struct sim_master {
    double in_free_s, out_free_s, update_free_s;
} sim_master;

/* A use of something that serves one at a time: when it ends. */
static double use(double *free_s, double now_s, double length_s)
{
    *free_s = fmax(*free_s, now_s) + length_s;
    return *free_s;
}

/* One iteration with an RPC; the worker is ready for it at begin_s (overlapped) or end_s. */
static void run_rpc(sim *s, sim_master *m, sim_worker *w)
{
    const drove_sim_hosts *h = s->hosts;
    const bool overlaps = s->method->overlap != DROVE_OVERLAP_NONE;
    const double ready_s = overlaps ? w->begin_s : w->end_s, update_s = h->master_update_s;
    const double transfer_s = transfer(h, &h->master), alone_s = 2.0 * transfer_s;
    double at_s = use(&m->in_free_s, ready_s, transfer_s);
    if (s->method->is_exclusive) at_s = use(&m->update_free_s, at_s, update_s);
    else at_s += update_s;
    const double back_s = use(&m->out_free_s, at_s, transfer_s);
    double exposed_s = fmax(0.0, back_s - w->end_s);
    double wait_s = fmin(exposed_s, fmax(0.0, back_s - ready_s - alone_s - update_s));
    double master_s = fmin(exposed_s - wait_s, update_s);
    s->sum.wait_s += wait_s;
    s->sum.master_update_s += master_s;
    s->sum.exchange_s += exposed_s - wait_s - master_s;
    w->end_s += exposed_s;
}

/* From end_s of an iteration to the begin of the next one, and its gradient. */
static void begin_next(sim *s, sim_worker *w, bool exchanges)
{
    const drove_sim_hosts *h = s->hosts;
    bool overlaps = exchanges && s->method->overlap != DROVE_OVERLAP_NONE;
    double compute_s =
        stretched(s, draw_compute(s, w), overlaps ? 2.0 * transfer(h, &h->master) : 0.0);
    w->begin_s = w->end_s + h->data_s;
    w->end_s = w->begin_s + compute_s;
    s->sum.data_s += h->data_s;
    s->sum.compute_s += compute_s;
}

/* Whoever is ready first is served first. */
static double run_arrivals(sim *s)
{
    const unsigned n_workers = s->hosts->n_workers, n_each = s->run->n_iterations;
    const bool overlaps = s->method->overlap != DROVE_OVERLAP_NONE;
    sim_master m = {0};
    double last_s = 0.0;
    for (unsigned i = 0; i < n_workers; i++) begin_next(s, &s->worker[i], true);
    for (uint64_t left = (uint64_t)n_workers * n_each; left > 0; left--) {
        sim_worker *w = NULL;
        double first_s = HUGE_VAL;
        for (unsigned i = 0; i < n_workers; i++) {
            sim_worker *of = &s->worker[i];
            double at_s = overlaps ? of->begin_s : of->end_s;
            if (of->n_done == n_each || at_s >= first_s) continue;
            w = of;
            first_s = at_s;
        }
        if (w == NULL) break;
        if (w->n_done % s->run->period == 0) run_rpc(s, &m, w);
        w->end_s += s->hosts->worker_update_s;
        s->sum.worker_update_s += s->hosts->worker_update_s;
        last_s = fmax(last_s, w->end_s);
        if (++w->n_done < n_each) begin_next(s, w, w->n_done % s->run->period == 0);
    }
    return last_s;
}

/* ---- rounds ---- */

/* When all workers' exchange is over; from what others do follow the ends of all. */
static double exchange_end(const sim *s, double begun_s, double computed_s)
{
    double broadcast_s, reduce_s;
    round_times(s, &broadcast_s, &reduce_s);
    switch (s->method->overlap) {
    case DROVE_OVERLAP_ALL: return begun_s + broadcast_s + reduce_s;
    case DROVE_OVERLAP_BROADCAST: return fmax(computed_s, begun_s + broadcast_s) + reduce_s;
    case DROVE_OVERLAP_NONE: break;
    }
    return computed_s + broadcast_s + reduce_s;
}

/* end_s of all: with the exchange and the updates. */
static void exchange(sim *s, double begun_s, double computed_s)
{
    const drove_sim_hosts *h = s->hosts;
    bool overlaps = s->method->overlap == DROVE_OVERLAP_ALL;
    double over_s = exchange_end(s, begun_s, computed_s);
    double others_s = overlaps ? begun_s : computed_s; /* from when on the last one takes part */
    double master_s = s->method->at_master ? h->master_update_s
                                           : fmax(0.0, h->master_update_s - h->worker_update_s);
    if (s->method->is_all_reduce) master_s = h->master_update_s; /* every worker has the centre */
    for (unsigned i = 0; i < h->n_workers; i++) {
        sim_worker *w = &s->worker[i];
        double wait_s = fmin(fmax(0.0, others_s - w->end_s), fmax(0.0, over_s - w->end_s));
        double exposed_s = fmax(0.0, over_s - w->end_s) - wait_s + h->codec_s;
        s->sum.wait_s += wait_s;
        s->sum.exchange_s += exposed_s;
        s->sum.master_update_s += master_s;
        w->end_s += wait_s + exposed_s + master_s;
    }
}

static double run_rounds(sim *s)
{
    const drove_sim_hosts *h = s->hosts;
    double broadcast_s, reduce_s, last_s = 0.0;
    round_times(s, &broadcast_s, &reduce_s);
    double beside_s = s->method->overlap == DROVE_OVERLAP_ALL         ? broadcast_s + reduce_s
                      : s->method->overlap == DROVE_OVERLAP_BROADCAST ? broadcast_s
                                                                      : 0.0;
    for (unsigned t = 0; t < s->run->n_iterations; t++) {
        bool exchanges = t % s->run->period == s->run->period - 1;
        double begun_s = 0.0, computed_s = 0.0;
        for (unsigned i = 0; i < h->n_workers; i++) {
            sim_worker *w = &s->worker[i];
            double compute_s = stretched(s, draw_compute(s, w), exchanges ? beside_s : 0.0);
            w->begin_s = w->end_s + h->data_s;
            w->end_s = w->begin_s + compute_s;
            s->sum.data_s += h->data_s;
            s->sum.compute_s += compute_s;
            begun_s = fmax(begun_s, w->begin_s);
            computed_s = fmax(computed_s, w->end_s);
        }
        if (exchanges) exchange(s, begun_s, computed_s);
        for (unsigned i = 0; i < h->n_workers; i++) {
            s->worker[i].end_s += h->worker_update_s;
            s->sum.worker_update_s += h->worker_update_s;
            last_s = fmax(last_s, s->worker[i].end_s);
        }
    }
    return last_s;
}

/* ---- the run ---- */

double drove__sim_normal_score(unsigned i, unsigned n)
{
    double p = (i + 1 - 0.375) / (n + 0.25), low = -10.0, high = 10.0;
    for (unsigned k = 0; k < 60; k++) {
        double middle = 0.5 * (low + high);
        if (0.5 * erfc(-middle * sqrt(0.5)) < p) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return 0.5 * (low + high);
}

drove_status drove__simulate_exchange(const drove_exchange_pattern *method,
                                      const drove_sim_hosts *hosts, const drove_sim_run *run,
                                      drove_sim_times *out)
{
    const double times[] = {hosts->n_bytes,         hosts->data_s,       hosts->compute_s,
                            hosts->spread,          hosts->add_s,        hosts->worker_update_s,
                            hosts->master_update_s, hosts->codec_s,      hosts->master.alpha_s,
                            hosts->master.beta_s,   hosts->peer.alpha_s, hosts->peer.beta_s};
    bool is_good = hosts->n_workers >= 1 && hosts->n_workers <= DROVE_SIM_MOST_WORKERS &&
                   hosts->n_messages >= 1 && run->period >= 1 && run->n_iterations >= 1 &&
                   hosts->in_place >= 0.0 && hosts->in_place <= 1.0 && hosts->stretch >= 1.0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        is_good = is_good && times[i] >= 0.0 && isfinite(times[i]);
    }
    if (!is_good)
        return drove__fail(DROVE_E_ARG,
                           "simulation: expected 1 to %d workers, a period and iterations of "
                           "at least 1, a stretch of at least 1 and no time below 0",
                           DROVE_SIM_MOST_WORKERS);

    sim s = {.method = method, .hosts = hosts, .run = run};
    s.worker = calloc(hosts->n_workers, sizeof *s.worker);
    if (s.worker == NULL)
        return drove__fail_nomem("a simulation", hosts->n_workers * sizeof *s.worker);
    for (unsigned i = 0; i < hosts->n_workers; i++) {
        drove__rng_seed(&s.worker[i].rng, run->seed, DROVE_RNG_FAKE, i);
        s.worker[i].own = drove__sim_normal_score(i, hosts->n_workers);
    }
    double last_s = method->order == DROVE_EXCHANGE_TURNS     ? run_turns(&s)
                    : method->order == DROVE_EXCHANGE_ARRIVAL ? run_arrivals(&s)
                                                              : run_rounds(&s);
    free(s.worker);
    if (last_s < 0.0) return drove__fail_nomem("a simulation", hosts->n_workers * sizeof(unsigned));

    double n = (double)s.hosts->n_workers * s.run->n_iterations;
    drove_sim_times t = s.sum;
    t.data_s /= n;
    t.compute_s /= n;
    t.exchange_s /= n;
    t.wait_s /= n;
    t.worker_update_s /= n;
    t.master_update_s /= n;
    t.iteration_s =
        t.data_s + t.compute_s + t.exchange_s + t.wait_s + t.worker_update_s + t.master_update_s;
    t.update_s = last_s / n;
    /* The last ones' tail is not the method's: workers go on at their own speeds. */
    if (s.method->order == DROVE_EXCHANGE_ARRIVAL) t.update_s = t.iteration_s / s.hosts->n_workers;
    *out = t;
    return DROVE_OK;
}
