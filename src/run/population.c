/* run/population.c - the population statistics of batch normalisation at the present parameters.
 *
 * Source: Ioffe, Szegedy, ICML 2015, Algorithm 2, step 10: means over batches of the training set,
 * taken with the parameters as they are.  Nothing of it is shared while workers train, so every
 * strategy trains such networks alike; before an evaluation, a save or the end, the first worker
 * that is left computes them from the same batches every time.
 */
#include "run/procs.h"

#include "base/mem.h"

#include <string.h>

enum { MOST_BATCHES = 16 };

void drove__worker_statistics(drove_worker *w)
{
    drove_run *run = w->run;
    const size_t n_rows = run->train->n_rows, batch = run->update_rows;
    size_t n = n_rows / batch < MOST_BATCHES ? n_rows / batch : MOST_BATCHES;
    if (w->index != drove__procs_first(run)) return;
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < batch; r++)
            w->row[r] = (uint32_t)((uint64_t)(i * batch + r) * n_rows / (n * batch));
        drove_batch at = {.data = run->train, .row = w->row, .n_rows = batch, .number = i};
        drove_status status =
            w->engine_ops->statistics(w->engine, run->theta, &at, 1.0f / (float)n, run->theta);
        if (status == DROVE_OK) continue;
        drove__worker_fail(w, status);
        return;
    }
}

/* Before the workers are there. */
drove_status drove__run_prepare_population(drove_run *run)
{
    if (run->model->n_statistics == 0) return DROVE_OK;
    if (run->crew.n_groups > 0 || run->engine_ops->statistics == NULL)
        return drove__fail(
            DROVE_E_UNSUPPORTED,
            "model %s: batch normalisation is not done by workers that a coordinator "
            "gives batches to",
            run->model->spec);
    if (run->devices.n > 0 && run->devices.device[0].engine_ops->statistics == NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "model %s: batch normalisation: expected a first worker of cores, found "
                           "%s",
                           run->model->spec, run->devices.device[0].name);
    run->theta = drove__alloc(run->model->n_params, sizeof *run->theta);
    return run->theta != NULL ? DROVE_OK
                              : drove__fail_nomem("the model's parameters",
                                                  run->model->n_params * sizeof *run->theta);
}

/* run->theta = vector with its statistics; the workers are parked. */
void drove__run_population(drove_run *run, const float *vector)
{
    size_t n = run->model->n_params, n_statistics = run->model->n_statistics;
    unsigned first;
    memcpy(run->theta, vector, (n - n_statistics) * sizeof *vector);
    do { /* again if it was a process that was lost meanwhile */
        first = drove__procs_first(run);
        memset(run->theta + n - n_statistics, 0, n_statistics * sizeof *vector);
        drove__gang_go(run, DROVE_DO_STATISTICS);
        drove__gang_wait(run, UINT64_MAX);
    } while (drove__procs_first(run) != first);
}
