/* loop/population.c - the population statistics of batch normalisation at the present parameters.
 *
 * Source: Ioffe, Szegedy, ICML 2015, Algorithm 2, step 10: means over batches of the training set,
 * taken with the parameters as they are.  Nothing of it is shared while workers train, so every
 * strategy trains such networks alike; before an evaluation, a save or the end, one worker computes
 * them from the same batches every time, or, where no engine of theirs can, the controlling thread.
 */
#include "loop/evaluation.h"

#include "loop/host.h"

#include <string.h>

enum { MOST_BATCHES = 16 };

static drove_status add_statistics(drove_loop *loop, const drove_engine_ops *ops, drove_engine *e,
                                   uint32_t *row)
{
    const size_t n_rows = loop->data.sample->n_rows, batch = loop->sizes.update_rows;
    size_t n = n_rows / batch < MOST_BATCHES ? n_rows / batch : MOST_BATCHES;
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < batch; r++)
            row[r] = (uint32_t)((uint64_t)(i * batch + r) * n_rows / (n * batch));
        const drove_batch at = {
            .data = loop->data.sample, .row = row, .n_rows = batch, .number = i};
        DROVE_TRY(ops->statistics(e, loop->statistics.theta, &at, 1.0f / (float)n,
                                  loop->statistics.theta));
    }
    return DROVE_OK;
}

void drove__worker_statistics(drove_worker *w)
{
    if (w->index != w->loop->statistics.worker) return;
    drove_status status = add_statistics(w->loop, w->engine_ops, w->engine, w->batches.row[0]);
    if (status != DROVE_OK) drove__worker_fail(w, status);
}

static drove_status compute_here(drove_loop *loop)
{
    const drove_engine_options opt = {.model = loop->model,
                                      .kernels = loop->kernels,
                                      .data = loop->data.sample,
                                      .max_rows = loop->sizes.update_rows,
                                      .seed = loop->seed};
    drove_engine *e = NULL;
    uint32_t *row = drove__alloc(loop->sizes.update_rows, sizeof *row);
    drove_status status = row == NULL
                              ? drove__fail_nomem("rows of a batch", loop->sizes.update_rows)
                              : drove__engine_host.create(&opt, &e);
    if (status == DROVE_OK) status = add_statistics(loop, &drove__engine_host, e, row);
    drove__engine_host.destroy(e);
    drove__free(row);
    return status;
}

/* The first worker here that can and is not lost; n_workers: none. */
static unsigned find_statistician(const drove_loop *loop)
{
    const drove_plan *plan = loop->plan;
    const drove_host *h = loop->host;
    for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++) {
        const drove_worker *w = &loop->worker[i];
        bool is_lost =
            atomic_load(&w->health.is_lost) || (h->ops->lost != NULL && h->ops->lost(h, i) != NULL);
        if (!is_lost && (w->engine_ops->can & DROVE_ENGINE_STATISTICS) != 0) return i;
    }
    return plan->n_workers;
}

drove_status drove__population_run(drove_loop *loop, const float *theta)
{
    const size_t n = loop->model->n_params, n_statistics = loop->model->n_statistics;
    drove_status status;
    memcpy(loop->statistics.theta, theta, (n - n_statistics) * sizeof *theta);
    if (drove__loop_in_flight(loop)) {
        memset(loop->statistics.theta + n - n_statistics, 0, n_statistics * sizeof *theta);
        return compute_here(loop);
    }
    do { /* again if the worker was lost meanwhile */
        memset(loop->statistics.theta + n - n_statistics, 0, n_statistics * sizeof *theta);
        loop->statistics.worker = find_statistician(loop);
        if (loop->statistics.worker == loop->plan->n_workers) return compute_here(loop);
        status = drove__host_do(loop->host, DROVE_DO_STATISTICS);
    } while (status == DROVE_OK && find_statistician(loop) != loop->statistics.worker);
    return status;
}
