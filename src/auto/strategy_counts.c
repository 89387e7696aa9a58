/* auto/strategy_counts.c - see strategy_counts.h.  The constants are rounded from measurements on
 * cores with AVX-512 (docs/results/sparse-threads.md). */
#include "auto/strategy_counts.h"

#include "problem/size.h"
#include "auto/trials.h"

#include <math.h>

/* A run that may end sooner is taken to last so much of its budget. */
static const double TARGET_PART = 0.1, PATIENCE_PART = 0.2, USUAL_EPOCHS = 10.0;
/* One core: a step and an example beside their products; a multiply-add of dense data, of sparse
 * data for one output, and of a network. */
static const double STEP_S = 0.7e-6, EXAMPLE_S = 0.1e-6, DENSE_S = 1e-10, SPARSE_S = 1e-9,
                    NETWORK_S = 3e-11;
/* Rows of W of many outputs are read in whole vectors: a multiply-add is that part of one. */
static const double LEAST_SPARSE_PART = 0.15;
/* A meeting, and each parameter in it. */
static const double MEETING_S = 1e-6, MERGE_S = 1e-9;
/* Part of the time of MEETING_STEPS steps, in which replicas with merge=sum meet once. */
static const double CHEAP_PART = 0.05, DEAR_PART = 0.5;
enum { MEETING_STEPS = 16, LEAST_MEETINGS = 8 /* in an epoch */ };

double drove__strategy_expected_s(const drove_config *config, const drove_problem *problem,
                                  double example_s)
{
    const drove_until *u = &config->length.until;
    bool is_open = !isfinite(u->epochs) && !isfinite(u->seconds) && u->updates == UINT64_MAX;
    double epochs = is_open ? USUAL_EPOCHS : u->epochs;
    double seconds = fmin(epochs * (double)problem->n_train_whole * example_s, u->seconds);
    if (u->updates != UINT64_MAX)
        seconds = fmin(seconds, (double)u->updates * (double)config->method.batch * example_s);
    if (is_open) return seconds;
    return seconds * (drove__until_has_target(u) ? TARGET_PART
                      : u->patience > 0          ? PATIENCE_PART
                                                 : 1.0);
}

static double multiply_add_s(const drove_problem *problem)
{
    const drove_model *m = problem->model;
    if (drove__storage_is_sparse(problem->train->storage))
        return SPARSE_S * fmax(1.0 / (double)m->layer[0].n_out, LEAST_SPARSE_PART);
    return m->n_layers > 1 ? NETWORK_S : DENSE_S;
}

drove_status drove__strategy_example_s(const drove_config *config, const drove_problem *problem,
                                       const drove_workers *workers, double *out)
{
    double work, rows = (double)drove__update_rows(config, problem);
    DROVE_TRY(drove__trials_step_work(config, problem, workers, &work));
    *out = EXAMPLE_S + (STEP_S + work * multiply_add_s(problem)) / rows;
    return DROVE_OK;
}

static bool is_sparse_linear(const drove_problem *problem)
{
    return drove__model_is_linear(problem->model) &&
           drove__storage_is_sparse(problem->train->storage);
}

drove_meeting drove__strategy_meeting(const drove_config *config, const drove_problem *problem,
                                      double example_s)
{
    double meeting_s = MEETING_S + MERGE_S * (double)problem->model->n_params;
    double steps_s = MEETING_STEPS * example_s * (double)drove__update_rows(config, problem);
    if (!is_sparse_linear(problem) || meeting_s <= CHEAP_PART * steps_s) return DROVE_MEETING_CHEAP;
    return meeting_s <= DEAR_PART * steps_s ? DROVE_MEETING_SELDOM : DROVE_MEETING_DEAR;
}

bool drove__strategy_knows_progress(const drove_config *config, const drove_problem *problem,
                                    double example_s)
{
    static const double stale_steps[] = {[DROVE_MEETING_CHEAP] = MEETING_STEPS,
                                         [DROVE_MEETING_SELDOM] = 4 * MEETING_STEPS,
                                         [DROVE_MEETING_DEAR] = 1.0}; /* HOGWILD! */
    double rows = 2.0 * stale_steps[drove__strategy_meeting(config, problem, example_s)] *
                  (double)drove__update_rows(config, problem);
    return is_sparse_linear(problem) && LEAST_MEETINGS * rows <= (double)problem->n_train_whole;
}
