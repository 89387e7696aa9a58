/* run/final_metrics.c - which metrics a run's summary has, and computing them.
 *
 * The held-out data were scored at every evaluation by the run's workers.  Their metrics need one
 * more such pass, by the host engine on as many threads as the run had; where the workers were
 * devices or other ranks, that pass may take much longer, so it is limited.
 */
#include "run/final_metrics.h"

#include "run/measure.h"
#include "run/progress.h"
#include "run/ranks.h"

#include <string.h>

/* Multiply-adds that a processor does in some tenths of a second, and in some seconds. */
static const double TRAIN_WORK = 2e9, FOREIGN_WORK = 2e10;
/* Multiply-adds that one score costs in the metrics themselves. */
static const double WORK_PER_SCORE = 64;

static double work_of(const drove_run *run, const drove_data *data)
{
    double each = WORK_PER_SCORE * (double)run->model->n_outputs;
    for (size_t l = 0; l < run->model->n_layers; l++)
        each += (double)drove__layer_multiply_adds(&run->model->layer[l]);
    return each * (double)data->n_rows;
}

static bool is_on_cores_here(const drove_run *run)
{
    for (unsigned i = 0; i < run->plan.n_workers; i++)
        if (run->plan.worker[i].device != NULL) return false;
    return run->ranks.n == 1;
}

static unsigned cores_here(const drove_run *run)
{
    unsigned n = 0;
    for (unsigned i = 0; i < run->plan.n_here; i++)
        n += run->plan.worker[run->plan.first_here + i].n_cores;
    return n;
}

static bool wants_train(const drove_run *run)
{
    return run->target_mean != NULL && run->opt.eval_examples == 0 &&
           work_of(run, run->train) <= TRAIN_WORK;
}

static bool wants_test(const drove_run *run)
{
    return run->test != NULL && (is_on_cores_here(run) || work_of(run, run->test) <= FOREIGN_WORK);
}

static drove_status infer_on(drove_run *run, const drove_data *data, drove_infer *out)
{
    const float *theta;
    DROVE_TRY(drove__run_theta(run, &theta));
    *out = (drove_infer){.model = run->model,
                         .kernels = &run->kernels,
                         .data = data,
                         .theta = theta,
                         .chunk_rows = run->loop->score_rows,
                         .usual_rows = run->loop->update_rows,
                         .n_threads = cores_here(run),
                         .value_shift = run->target_shift,
                         .value_scale = run->target_scale};
    return DROVE_OK;
}

static drove_status measure(drove_run *run, const drove_data *data, drove_metrics **out)
{
    drove_infer on;
    DROVE_TRY(infer_on(run, data, &on));
    return drove__metrics_measure(&on, run->target_mean, NULL, out);
}

drove_status drove__run_metrics(drove_run *run, drove_metrics **train, drove_metrics **test)
{
    *train = *test = NULL;
    if (strcmp(run->opt.metrics, "none") == 0 || run->outcome == DROVE_CRASHED) return DROVE_OK;
    drove_status status = DROVE_OK;
    if (wants_test(run)) status = measure(run, run->test, test);
    if (status == DROVE_OK && wants_train(run)) status = measure(run, run->train, train);
    if (drove_status_exit(status) == 1) return status; /* a summary without them would be a lie */
    if (status != DROVE_OK) drove__run_warn(run, "no metrics: %s", drove_error_text());
    return DROVE_OK;
}

drove_status drove__run_importance(drove_run *run, drove_importance *out)
{
    const bool is_told = strcmp(run->opt.metrics, "none") != 0 && run->outcome != DROVE_CRASHED;
    const drove_data *data = run->test != NULL ? run->test : run->train;
    drove_infer on;
    *out = (drove_importance){0};
    if (!is_told || run->ranks.n > 1 || run->opt.features[0] != '\0') return DROVE_OK;
    drove_status status = infer_on(run, data, &on);
    if (status == DROVE_OK)
        status = drove__importance_measure(&on, run->loss_scale,
                                           work_of(run, data) / (double)data->n_rows, TRAIN_WORK,
                                           run->opt.seed, out);
    if (status == DROVE_OK) return DROVE_OK;
    drove__importance_fini(out);
    if (drove_status_exit(status) == 1) return status; /* as for metrics */
    drove__run_warn(run, "no importance of columns: %s", drove_error_text());
    return DROVE_OK;
}
