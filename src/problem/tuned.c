/* problem/tuned.c - see tuned.h. */
#include "problem/tuned.h"

#include "base/clock.h"
#include "base/mem.h"
#include "problem/size.h"
#include "use/infer.h"
#include "values/say.h"

#include <stdlib.h>
#include <string.h>

enum { KEEP_ROWS = 32 };                  /* examples of a pass: their outputs stay in the caches */
static const double PART_OF_MEMORY = 0.5; /* that outputs of frozen layers may take */

void drove__tuned_destroy(drove_tuned *tuned)
{
    if (tuned == NULL) return;
    drove__model_destroy(tuned->whole);
    drove__free(tuned->theta);
    free(tuned->is_frozen);
    free(tuned);
}

/* ---- the outputs of the frozen layers ---- */

typedef struct keeping {
    float *to; /* [n_rows][n_floats] */
    size_t n_floats;
} keeping;

static drove_status keep_chunk(void *context, const drove_infer_chunk *chunk)
{
    const keeping *k = context;
    memcpy(k->to + chunk->first * k->n_floats, chunk->prob,
           chunk->n_rows * k->n_floats * sizeof *k->to);
    return DROVE_OK;
}

/* *data (may be NULL) become the outputs of `below` for them. */
static drove_status keep(const drove_model *below, const drove_workers *workers, unsigned n_threads,
                         drove_data **data)
{
    drove_data *derived;
    if (*data == NULL) return DROVE_OK;
    DROVE_TRY(drove__data_derive(*data, below->n_outputs, &derived));
    keeping k = {.to = derived->storage->x_f32, .n_floats = below->n_outputs};
    static const float none[1]; /* parameters: all are frozen */
    const drove_infer what = {.model = below,
                              .kernels = &workers->kernels,
                              .data = *data,
                              .theta = none,
                              .chunk_rows = KEEP_ROWS,
                              .n_threads = n_threads,
                              .take = keep_chunk,
                              .context = &k};
    drove_status status = drove__infer_run(&what);
    if (status != DROVE_OK) {
        drove_data_destroy(derived);
        return status;
    }
    drove_data_destroy(*data);
    *data = derived;
    return DROVE_OK;
}

/* NULL: they can be kept. */
static const char *why_not(const drove_config *config, const drove_problem *problem,
                           size_t n_floats)
{
    const drove_data *all[] = {problem->train, problem->test, problem->validation};
    double n_rows = 0.0;
    for (size_t i = 0; i < DROVE_COUNT(all); i++) n_rows += all[i] ? (double)all[i]->n_rows : 0.0;
    if (problem->stream != NULL) return "as the data stay on disk";
    if (drove__storage_is_sparse(problem->train->storage)) return "as the data are sparse";
    if (drove__augment_is_on(&problem->train->augment))
        return "as images are augmented anew each time";
    if (n_rows * (double)n_floats * sizeof(float) > PART_OF_MEMORY * drove__run_memory(config))
        return "as there is no memory for the outputs of all examples (--memory)";
    return NULL;
}

static drove_status keep_all(drove_problem *problem, const drove_workers *workers,
                             const drove_model_cut *cut)
{
    const unsigned n_pus = workers->machine.n_pus, n_workers = workers->plan.n_workers;
    const unsigned n_threads = n_workers < n_pus ? n_workers : n_pus;
    drove_tuned *tuned = problem->tuned;
    drove_data *outline = NULL;
    drove_model *below;
    DROVE_TRY(drove__part_below(tuned->whole, tuned->theta, cut, &below));
    drove_status status = DROVE_OK;
    if (problem->input == NULL) status = drove__data_outline(problem->train, &outline);
    if (status == DROVE_OK) status = keep(below, workers, n_threads, &problem->train);
    if (status == DROVE_OK) status = keep(below, workers, n_threads, &problem->test);
    if (status == DROVE_OK) status = keep(below, workers, n_threads, &problem->validation);
    drove__model_destroy(below);
    if (problem->input == NULL) problem->input = outline;
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "freeze");
}

/* ---- the part that is trained ---- */

static drove_status make_part(const drove_tuned *tuned, drove_problem *problem)
{
    const drove_model *whole = tuned->whole;
    DROVE_TRY(
        drove__part_above(whole, tuned->theta, tuned->is_frozen, &tuned->cut, &problem->model));
    problem->first = drove__alloc(problem->model->n_params, sizeof *problem->first);
    if (problem->first == NULL)
        return drove__fail_nomem("the model's parameters",
                                 problem->model->n_params * sizeof *problem->first);
    drove__part_take(whole, tuned->cut.n_below, problem->model, tuned->theta, problem->first);
    return DROVE_OK;
}

drove_status drove__tuned_again(const drove_tuned *tuned, drove_problem *problem)
{
    problem->is_given = true;
    return make_part(tuned, problem);
}

drove_status drove__tuned_choose(const drove_config *config, drove_problem *problem)
{
    const drove_model *whole = problem->model;
    bool *is_frozen = calloc(whole->n_layers, sizeof *is_frozen), any = false;
    if (is_frozen == NULL) return drove__fail_nomem("layers", whole->n_layers);
    drove_status status = drove__freeze_choose(whole, config->problem.tuning->freeze, is_frozen);
    for (size_t l = 0; l < whole->n_layers; l++) any = any || is_frozen[l];
    drove_tuned *tuned = status == DROVE_OK && any ? calloc(1, sizeof *tuned) : NULL;
    if (tuned == NULL) {
        free(is_frozen);
        return status == DROVE_OK && any ? drove__fail_nomem("a network", sizeof *tuned) : status;
    }

    *tuned =
        (drove_tuned){.whole = problem->model, .theta = problem->first, .is_frozen = is_frozen};
    problem->tuned = tuned;
    problem->model = NULL;
    problem->first = NULL;
    return DROVE_OK;
}

drove_status drove__tuned_make(const drove_config *config, drove_problem *problem,
                               const drove_workers *workers, const drove_callbacks *cb)
{
    drove_tuned *tuned = problem->tuned;
    const drove_model *whole = tuned->whole;
    const drove_model_cut cut = drove__freeze_cut(whole, tuned->is_frozen);
    const size_t n_floats =
        cut.n_below > 0 ? drove__shape_floats(whole->layer[cut.n_below - 1].out) : 0;
    const char *why = cut.n_below > 0 ? why_not(config, problem, n_floats)
                                      : "as trained layers, or random ones, stand below others";
    char kept[160] = "";
    if (why == NULL) {
        const uint64_t begin_ns = drove__now_ns();
        DROVE_TRY(keep_all(problem, workers, &cut));
        tuned->cut = cut;
        snprintf(kept, sizeof kept,
                 "the outputs of \"%s\" are kept, %zu numbers an example, in "
                 "%.2f s",
                 whole->layer[cut.n_below - 1].name, n_floats,
                 (double)(drove__now_ns() - begin_ns) * 1e-9);
    }
    DROVE_TRY(make_part(tuned, problem));
    drove__run_say(cb, "freeze: %zu of %zu parameters are trained; %s%s", problem->model->n_weights,
                   whole->n_weights,
                   why == NULL ? kept : "frozen layers are computed with every batch, ",
                   why == NULL ? "" : why);
    if (!problem->is_given)
        drove__run_say(cb, "freeze: the frozen layers stay as they were drawn: neither --init nor "
                           "the model names a file");
    if (!config->low.is_low || problem->model->n_frozen == 0) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "--precision %s: expected no frozen layers that are computed with every "
                       "batch, found some",
                       config->low.precision);
}

drove_status drove__tuned_whole(const drove_problem *problem, const float *theta,
                                const drove_model **whole, float **out)
{
    const drove_tuned *tuned = problem->tuned;
    const drove_model *m = *whole = tuned != NULL ? tuned->whole : problem->model;
    const float *from = tuned != NULL ? tuned->theta : theta;
    float *copy = drove__alloc(m->n_params, sizeof *copy);
    if (copy == NULL) return drove__fail_nomem("a model to save", m->n_params * sizeof *copy);
    memcpy(copy, from, m->n_params * sizeof *copy);
    if (tuned != NULL) drove__part_give(m, tuned->cut.n_below, problem->model, theta, copy);
    *out = copy;
    return DROVE_OK;
}
