/* files/final_metrics.c - which metrics a run's summary has, and computing them.
 *
 * The held-out data were scored at every evaluation by the run's workers.  Their metrics need one
 * more such pass, by the host engine on as many threads as the run had; where the workers were
 * devices or other ranks, that pass may take much longer, so it is limited.
 */
#include "files/final_metrics.h"

#include "use/measure.h"
#include "values/progress.h"

#include <string.h>

/* Multiply-adds that a processor does in some tenths of a second, and in some seconds. */
static const double TRAIN_WORK = 2e9, FOREIGN_WORK = 2e10;
/* Multiply-adds that one score costs in the metrics themselves. */
static const double WORK_PER_SCORE = 64;

static double work_of(const drove_problem *problem, const drove_data *data)
{
    double each = WORK_PER_SCORE * (double)problem->model->n_outputs;
    for (size_t l = 0; l < problem->model->n_layers; l++)
        each += (double)drove__layer_multiply_adds(&problem->model->layer[l]);
    return each * (double)data->n_rows;
}

static bool is_on_cores_here(const drove_workers *workers)
{
    for (unsigned i = 0; i < workers->plan.n_workers; i++)
        if (workers->plan.worker[i].device != NULL) return false;
    return workers->ranks.n == 1;
}

/* theta[n_params] on data. */
static drove_infer infer_on(const drove_problem *problem, const drove_workers *workers,
                            const float *theta, const drove_data *data)
{
    unsigned n_cores = 0; /* of the workers here */
    for (unsigned i = 0; i < workers->plan.n_here; i++)
        n_cores += workers->plan.worker[workers->plan.first_here + i].n_cores;
    return (drove_infer){.model = problem->model,
                         .kernels = &workers->kernels,
                         .data = data,
                         .theta = theta,
                         .chunk_rows = workers->loop->sizes.score_rows,
                         .usual_rows = workers->loop->sizes.update_rows,
                         .n_threads = n_cores,
                         .value_shift = problem->target_shift,
                         .value_scale = problem->target_scale};
}

drove_status drove__run_metrics(const drove_problem *problem, const drove_workers *workers,
                                drove_state *state, bool with_training, drove_metrics **train,
                                drove_metrics **test)
{
    const float *theta;
    drove_infer on;
    *train = *test = NULL;
    DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
    if (problem->test != NULL &&
        (is_on_cores_here(workers) || work_of(problem, problem->test) <= FOREIGN_WORK)) {
        on = infer_on(problem, workers, theta, problem->test);
        DROVE_TRY(drove__metrics_measure(&on, problem->target_mean, NULL, NULL, test));
    }
    if (problem->target_mean == NULL || !with_training ||
        work_of(problem, problem->train) > TRAIN_WORK)
        return DROVE_OK;
    on = infer_on(problem, workers, theta, problem->train);
    return drove__metrics_measure(&on, problem->target_mean, NULL, NULL, train);
}

drove_status drove__run_importance(const drove_problem *problem, const drove_workers *workers,
                                   drove_state *state, uint64_t seed, drove_importance *out)
{
    const drove_data *data = problem->test != NULL ? problem->test : problem->train;
    const float *theta;
    *out = (drove_importance){0};
    if (workers->ranks.n > 1) return DROVE_OK;
    DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
    const drove_infer on = infer_on(problem, workers, theta, data);
    drove_status status = drove__importance_measure(&on, problem->loss_scale,
                                                    work_of(problem, data) / (double)data->n_rows,
                                                    TRAIN_WORK, seed, out);
    if (status != DROVE_OK) drove__importance_fini(out);
    return status;
}
