/* loop/probe.c - batch sizes of a device that were not given, from a short measurement.
 *
 * Beyond the paper (Ma and Rusu), which sets thresholds by hand so that a GPU is used to about 50 %
 * at the lower and close to 100 % at the upper one (section 7.1): gradients of batches of 2^k
 * examples are timed, each once, and a size's utilisation is its examples/s over the best that were
 * seen.  All devices measure at the same time, as they will compute.  Nothing is published.
 */
#include "loop/evaluation.h"

#include "loop/host.h"

#include <stdio.h>

enum { LEAST_PROBE = 32, MOST_SIZES = 24 };
static const double LOWER = 0.5, UPPER = 0.95; /* of the best rate */
static const double MOST_S = 2.0; /* of a measurement, without its first and its last batch */

static drove_status time_batch(drove_worker *w, size_t n, double *out_s)
{
    drove_loop *loop = w->loop;
    const float *theta = loop->sync->ops->peek(loop->sync).theta;
    drove_gradient grad = {.value = w->grad};
    const drove_task task = {.n_rows = n};
    drove_batch batch = {.data = w->data, .row = w->batches.row[0], .n_rows = n};
    const drove_work work = {.batch = &batch, .theta = theta, .grad = &grad};
    (void)drove__order_rows(&loop->order, &w->cursor, &task, w->batches.row[0]);
    uint64_t start = drove__clock_now(loop->clock);
    atomic_store_explicit(&w->health.is_computing, 1, memory_order_relaxed);
    drove_status status = drove__engine_do(w->engine_ops, w->engine, &work, w->timeout_ns, NULL);
    atomic_store_explicit(&w->health.is_computing, 0, memory_order_relaxed);
    DROVE_TRY(status);
    *out_s = (double)(drove__clock_now(loop->clock) - start) * 1e-9;
    drove__heartbeat(w);
    return DROVE_OK;
}

/* Least size whose rate is at least this part of the best. */
static uint64_t size_for(const double *rate, unsigned n_sizes, double part)
{
    double best = 0.0;
    unsigned k = 0;
    for (unsigned i = 0; i < n_sizes; i++) best = rate[i] > best ? rate[i] : best;
    while (k + 1 < n_sizes && rate[k] < part * best) k++;
    return (uint64_t)LEAST_PROBE << k;
}

/* The size that takes the time is the last. */
static drove_status probe(drove_worker *w, uint64_t *least_out, uint64_t *most_out)
{
    size_t most = w->most_rows;
    double rate[MOST_SIZES] = {0}, spent = 0.0, seconds;
    unsigned n = 0;
    drove__order_cursor_init(&w->cursor);
    DROVE_TRY(time_batch(w, most < LEAST_PROBE ? most : LEAST_PROBE, &seconds)); /* warms up */
    for (; n < MOST_SIZES && ((size_t)LEAST_PROBE << n) <= most && spent < MOST_S; n++) {
        size_t size = (size_t)LEAST_PROBE << n;
        DROVE_TRY(time_batch(w, size, &seconds));
        rate[n] = (double)size / seconds;
        spent += seconds;
    }
    *least_out = n > 0 ? size_for(rate, n, LOWER) : most;
    *most_out = n > 0 ? size_for(rate, n, UPPER) : most;
    return DROVE_OK;
}

void drove__worker_probe(drove_worker *w)
{
    const drove_plan_worker *p = w->plan;
    uint64_t least, most;
    if (!w->probe.is_wanted) return;
    if (probe(w, &least, &most) != DROVE_OK) {
        if (atomic_exchange(&w->health.is_lost, 1) == 0) drove__error_copy(w->error);
        return;
    }
    w->probe.least = p->most != 0 && least > p->most ? p->most : least;
    w->probe.most = p->least != 0 && most < p->least ? p->least : most;
}

drove_status drove__probe_run(drove_loop *loop, const drove_spec *spec)
{
    const drove_plan *plan = loop->plan;
    bool is_wanted = false;
    const drove_source_coordinator_ops *coordinator = plan->source->coordinator;
    if (coordinator == NULL) return DROVE_OK;
    for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++) {
        drove_worker *w = &loop->worker[i];
        const drove_source_worker facts = {.is_device = w->device != NULL,
                                           .least = w->plan->least,
                                           .most = w->plan->most};
        w->probe.is_wanted = coordinator->wants_probe(spec, &facts);
        is_wanted |= w->probe.is_wanted;
    }
    return is_wanted ? drove__host_do(loop->host, DROVE_DO_PROBE) : DROVE_OK;
}
