/* values/progress.c - the standing of a run: progress, parameters.
 *
 * Runs on the caller's thread.
 */
#include "values/progress.h"

#include "loop/evaluation.h"
#include "values/ranks.h"

#include <math.h>

const double drove__mark_percent[DROVE_N_MARKS] = {10.0, 5.0, 2.0};

/* ---- progress ---- */

uint64_t drove__run_examples(const drove_workers *workers)
{
    uint64_t sum = drove__ranks_ahead(workers);
    for (unsigned i = 0; i < workers->plan.n_workers; i++) {
        sum += atomic_load_explicit(&workers->loop->worker[i].trace.examples, memory_order_relaxed);
    }
    return sum;
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

double drove__run_most_seconds(const drove_until *until, const drove_workers *workers)
{
    return workers->repeating != NULL ? INFINITY : until->seconds;
}

void drove__run_progress(const drove_until *until, const drove_workers *workers, drove_state *state,
                         uint64_t train_ns, drove_progress *out)
{
    const drove_standing *st = &state->standing;
    uint64_t examples = drove__run_examples(workers);
    if (train_ns > state->display.rate_ns && examples > state->display.rate_examples)
        state->display.rate = (double)(examples - state->display.rate_examples) /
                              seconds(train_ns - state->display.rate_ns);
    double epochs = (double)examples / (double)workers->loop->order.n_rows,
           train_s = seconds(train_ns);
    *out = (drove_progress){
        .epochs = epochs,
        .epochs_total = isfinite(until->epochs) ? until->epochs : NAN,
        .examples = examples,
        .updates = atomic_load(&workers->loop->sync->published),
        .train_s = train_s,
        .examples_per_s = state->display.rate,
        .loss = st->loss,
        .loss_initial = st->loss_initial,
        .accuracy = st->accuracy,
        .test_loss = st->test_loss,
        .test_accuracy = st->test_accuracy,
        .target_loss = until->loss_is_relative ? until->loss * st->loss_initial : until->loss,
        .n_workers = workers->plan.n_workers,
        .validation_loss = st->validation_loss,
        .validation_accuracy = st->validation_accuracy,
    };
    const double most_s = drove__run_most_seconds(until, workers);
    double fraction = NAN;
    if (isfinite(until->epochs)) fraction = fmax(epochs / until->epochs, 0.0);
    if (isfinite(most_s)) fraction = fmax(train_s / most_s, isnan(fraction) ? 0.0 : fraction);
    if (until->updates != UINT64_MAX) {
        double part = (double)out->updates / (double)until->updates;
        fraction = fmax(part, isnan(fraction) ? 0.0 : fraction);
    }
    out->fraction = fmin(fraction, 1.0);
    out->eta_s = out->fraction > 0.0 ? train_s * (1.0 - out->fraction) / out->fraction : NAN;
}

/* ---- parameters ---- */

const char *drove__run_gemm(const drove_problem *problem, const drove_workers *workers)
{
    return drovek_narrow(&workers->kernels, problem->model->factors).gemm_source;
}

drove_status drove__run_theta(const drove_problem *problem, const drove_workers *workers,
                              drove_state *state, const float **out)
{
    drove_loop *loop = workers->loop;
    *out = state->best;
    if (state->gives_best) return DROVE_OK;
    drove_sync *sync = loop->sync;
    const drove_params at = drove__loop_now(loop);
    if (drove__params_bytes(&at) == NULL)
        return drove__fail_nomem("parameters to look at", sync->n_vector * sizeof(float));
    *out = state->theta != NULL ? state->theta : at.theta;
    if (state->theta == NULL || state->theta_is_current) return DROVE_OK;
    const bool has_statistics = problem->is_given && atomic_load(&loop->sync->published) == 0;
    if (at.words != NULL) loop->core_ops->typed->unpack(loop->shared, at.words, state->theta);
    else if (has_statistics)
        memcpy(state->theta, at.theta, problem->model->n_params * sizeof *at.theta);
    else DROVE_TRY(drove__population_run(loop, at.theta));
    state->theta_is_current = true;
    return DROVE_OK;
}

drove_status drove__run_check_theta(const drove_problem *problem, const drove_workers *workers,
                                    drove_state *state, bool *are_finite)
{
    const float *theta;
    DROVE_TRY(drove__run_theta(problem, workers, state, &theta));
    *are_finite = workers->kernels.finite_f32(theta, problem->model->n_params);
    if (!*are_finite) atomic_store(&workers->loop->ending.nonfinite, 1);
    return DROVE_OK;
}
