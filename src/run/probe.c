/* run/probe.c - batch sizes of a device that were not given, from a short measurement.
 *
 * Beyond the paper, which sets thresholds by hand so that a GPU is used to about 50 % at the lower
 * and close to 100 % at the upper one (section 7.1): gradients of batches of 2^k examples are
 * timed, each once, and a size's utilisation is its examples/s over the best that were seen.  All
 * devices measure at the same time, as they will compute.  Nothing is published.
 */
#include "run/run.h"

#include "base/clock.h"

enum { LEAST_PROBE = 32, MOST_SIZES = 24 };
static const double LOWER = 0.5, UPPER = 0.95; /* of the best rate */

static drove_status time_batch(drove_worker *w, size_t n, double *out_s)
{
    drove_run *run = w->run;
    const drove_group *g = w->group;
    const float *theta = run->sync->ops->peek(run->sync);
    drove_gradient grad = {.value = w->grad};
    drove_batch batch = {.data = run->train, .row = w->row, .n_rows = n, .number = 0};
    drove__batcher_span(&run->batcher, &w->cursor, 0, n, w->row);
    uint64_t start = drove__now_ns();
    DROVE_TRY(g->engine_ops->submit(w->engine, theta, &batch, true));
    DROVE_TRY(g->engine_ops->collect(w->engine, &grad, NULL, NULL, drove__group_timeout_ns(g)));
    *out_s = (double)(drove__now_ns() - start) * 1e-9;
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

/* The sizes into *least and *most.  The size that takes the time is the last. */
static drove_status probe(drove_worker *w, uint64_t *least_out, uint64_t *most_out)
{
    const drove_group *g = w->group;
    size_t most = g->engine_rows < w->run->train->n_rows ? g->engine_rows : w->run->train->n_rows;
    double rate[MOST_SIZES] = {0}, spent = 0.0, seconds;
    unsigned n = 0;
    drove__cursor_init(&w->cursor, &w->run->batcher);
    DROVE_TRY(time_batch(w, most < LEAST_PROBE ? most : LEAST_PROBE, &seconds)); /* warms up */
    for (; n < MOST_SIZES && ((size_t)LEAST_PROBE << n) <= most && spent < DROVE_PROBE_MOST_S;
         n++) {
        size_t size = (size_t)LEAST_PROBE << n;
        DROVE_TRY(time_batch(w, size, &seconds));
        rate[n] = (double)size / seconds;
        spent += seconds;
    }
    *least_out = n > 0 ? size_for(rate, n, LOWER) : most;
    *most_out = n > 0 ? size_for(rate, n, UPPER) : most;
    return DROVE_OK;
}

static void keep_sizes(drove_group *g, uint64_t least, uint64_t most)
{
    const drove_group_plan *p = g->plan;
    if (p->least == 0) g->least = p->most != 0 && least > p->most ? p->most : least;
    if (p->most == 0) g->most = p->least != 0 && most < p->least ? p->least : most;
}

bool drove__group_probe(drove_worker *w)
{
    drove_group *g = w->group;
    uint64_t least, most;
    if (g->device == NULL || g->is_measured || !drove__group_leads(w)) return true;
    drove_status status = probe(w, &least, &most);
    if (status == DROVE_OK) {
        pthread_mutex_lock(&g->lock);
        bool is_ours = atomic_load(&g->fate) == DROVE_FATE_WORKING;
        if (is_ours) keep_sizes(g, least, most);
        g->is_measured = true;
        pthread_mutex_unlock(&g->lock);
        if (is_ours) return true;
    } else if (drove__group_fail(g, NULL)) {
        return true;
    }
    atomic_store(&g->has_ended, 1);
    return false;
}
