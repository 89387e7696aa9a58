/* use/trainer.c - see <drove/trainer.h>.
 *
 * A step is that of one worker of a run: the gradient of a batch by the engine of the calling
 * thread, then the rule, on one vector of parameters and shared state.
 */
#include <drove/trainer.h>

#include "base/alive.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "data/open/delivered.h"
#include "data/origin.h"
#include "data/weights.h"
#include "engine/engine.h"
#include "engine/gather.h"
#include "model/freeze.h"
#include "model/loss.h"
#include "optim/optim.h"
#include "use/opened.h"
#include "use/target_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct pass { /* under way; data NULL: none is */
    drove_data *data;
    drove_permutation order;
    size_t n_done;     /* rows */
    drove_score score; /* of these */
} pass;

struct drove_trainer {
    drovek_table kernels;
    drove_modelfile file;  /* theta NULL where all parameters are trained: vector has them */
    drove_model *part;     /* of file.model, some layers frozen; NULL: all are trained */
    drove_storage storage; /* the descriptive part of the training data, of which */
    drove_data like;       /* further rows are made */
    drove_optim *optim;
    drove_optim_worker worker;
    double *shift, *scale; /* [n_values] of the targets; NULL: as they are */
    size_t batch;
    uint64_t seed, n_updates;
    bool has_begun;       /* a pass */
    float *vector;        /* [optim->n_vector] theta, then the rule's state */
    float *grad;          /* [optim->n] */
    drove_engine *engine; /* NULL before the first pass */
    size_t longest;       /* sparse row that it has room for */
    uint64_t *drawn;      /* [batch] */
    uint32_t *row;        /* [batch] the same */
    pass pass;
};

/* What is trained. */
static const drove_model *model_of(const drove_trainer *t)
{
    return t->part != NULL ? t->part : t->file.model;
}

/* ---- opening ---- */

static drove_status freeze(drove_trainer *t, const char *names)
{
    const drove_model_cut none = {0};
    const drove_model *whole = t->file.model;
    bool *is_frozen = calloc(whole->n_layers, sizeof *is_frozen), any = false;
    if (is_frozen == NULL) return drove__fail_nomem("layers", whole->n_layers);
    drove_status status = drove__freeze_choose(whole, names, is_frozen);
    for (size_t l = 0; l < whole->n_layers; l++) any = any || is_frozen[l];
    if (status == DROVE_OK && any)
        status = drove__part_above(whole, t->file.theta, is_frozen, &none, &t->part);
    free(is_frozen);
    return status;
}

drove_status drove__trainer_open(const drove_trainer_settings *settings, drove_trainer **out)
{
    *out = NULL;
    drove_trainer *t = calloc(1, sizeof *t);
    if (t == NULL) return drove__fail_nomem("a trainer", sizeof *t);
    drove_status status;
    if ((status = drovek_select(&t->kernels, drove__cpu_features(), settings->isa)) != DROVE_OK)
        goto fail;
    if ((status = drove__modelfile_load_with(settings->file.model, settings->custom, &t->file)) !=
        DROVE_OK)
        goto fail;
    t->file.model->factors = DROVEK_FACTORS_F32; /* of the products, whatever it was trained with */
    if ((status = freeze(t, settings->freeze)) != DROVE_OK) goto fail;
    const char *found = t->file.schema != NULL                   ? "a table"
                        : t->file.features.ops != NULL           ? "mapped features"
                        : drove__augment_is_on(&t->file.augment) ? "parts of images"
                        : model_of(t)->n_statistics > 0          ? "batch normalisation"
                                                                 : NULL;
    if (found != NULL) {
        status =
            drove__fail(DROVE_E_UNSUPPORTED,
                        "trainer: %s: expected a model of numbers as they are, found one of %s",
                        settings->file.model, found);
        goto fail;
    }
    if ((status = drove__modelfile_check(&settings->file, t->file.model)) != DROVE_OK) goto fail;
    drove__modelfile_describe(&t->file, &t->storage, &t->like);

    const drove_optim_options of_rule = {.rule = settings->rule,
                                         .schedule = "constant",
                                         .lr = settings->lr,
                                         .weight_decay = settings->weight_decay,
                                         .clip = settings->clip,
                                         .state = DROVE_STATE_SHARED,
                                         .n_params = model_of(t)->n_params,
                                         .n_workers = 1,
                                         .kernels = &t->kernels};
    if ((status = drove__optim_create(&of_rule, &t->optim)) != DROVE_OK) goto fail;
    if (t->optim->rule.ops->by_matrix) {
        status =
            drove__fail(DROVE_E_UNSUPPORTED,
                        "trainer: expected a rule that steps by numbers, found %s, which steps "
                        "by matrices",
                        settings->rule);
        goto fail;
    }
    if ((status = drove__optim_worker_init(&t->worker, t->optim)) != DROVE_OK) goto fail;
    t->seed = settings->seed;
    t->batch = settings->batch;
    t->vector = drove__alloc(t->optim->n_vector, sizeof *t->vector);
    t->grad = drove__alloc(t->optim->n, sizeof *t->grad);
    t->drawn = drove__alloc(t->batch, sizeof *t->drawn);
    t->row = drove__alloc(t->batch, sizeof *t->row);
    if (t->vector == NULL || t->grad == NULL || t->drawn == NULL || t->row == NULL) {
        status = drove__fail_nomem("a trainer", t->optim->n_vector * sizeof *t->vector);
        goto fail;
    }
    if (t->part != NULL) drove__part_take(t->file.model, 0, t->part, t->file.theta, t->vector);
    else {
        memcpy(t->vector, t->file.theta, t->optim->n * sizeof *t->vector);
        drove__free(t->file.theta);
        t->file.theta = NULL;
    }
fail:
    if (status != DROVE_OK) {
        drove_trainer_destroy(t);
        return status;
    }
    *out = t;
    return DROVE_OK;
}

static void end_pass(drove_trainer *t)
{
    drove_data_destroy(t->pass.data);
    t->pass.data = NULL;
}

void drove_trainer_destroy(drove_trainer *t)
{
    if (t == NULL) return;
    DROVE_END(t, "a trainer");
    end_pass(t);
    if (t->engine != NULL) drove__engine_host.destroy(t->engine);
    drove__optim_worker_fini(&t->worker);
    drove__optim_destroy(t->optim);
    drove__model_destroy(t->part);
    drove__modelfile_fini(&t->file);
    drove__free(t->shift);
    drove__free(t->scale);
    drove__free(t->vector);
    drove__free(t->grad);
    drove__free(t->drawn);
    drove__free(t->row);
    drove__alive_free(t, free);
}

/* ---- targets ---- */

drove_status drove_trainer_scale_targets(drove_trainer *t, const double *shift, const double *scale,
                                         size_t n_values)
{
    DROVE_ALIVE(t, "a trainer");
    DROVE_GIVEN_AS(t, "trainer");
    DROVE_GIVEN(shift);
    DROVE_GIVEN(scale);
    const drove_model *model = model_of(t);
    if (t->storage.y_kind != DROVE_Y_VALUE || model->loss != &drove__loss_squared ||
        drove__targets_layer(model) == NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "trainer: scales of targets: expected the squared loss and an affine "
                           "last layer, found %s, loss %s",
                           model->spec, model->loss->name);
    if (t->scale != NULL || t->has_begun)
        return drove__fail(DROVE_E_ARG, "trainer: scales of targets: expected them once and before "
                                        "the first pass, found a later call");
    if (n_values != drove__storage_n_values(&t->storage))
        return drove__fail(DROVE_E_SHAPE, "trainer: scales of targets: expected %zu, found %zu",
                           drove__storage_n_values(&t->storage), n_values);
    for (size_t k = 0; k < n_values; k++)
        if (!isfinite(shift[k]) || !isfinite(scale[k]) || !(scale[k] > 0.0))
            return drove__fail(DROVE_E_ARG,
                               "trainer: value %zu: expected a finite shift and a scale above 0, "
                               "found %g and %g",
                               k, shift[k], scale[k]);
    double *own_shift = drove__alloc(n_values, sizeof *shift);
    double *own_scale = drove__alloc(n_values, sizeof *scale);
    if (own_shift == NULL || own_scale == NULL) {
        drove__free(own_shift);
        drove__free(own_scale);
        return drove__fail_nomem("scales of the targets", n_values * sizeof *scale);
    }
    for (size_t k = 0; k < n_values; k++) own_shift[k] = shift[k] - drove__origin_y(&t->storage, k);
    memcpy(own_scale, scale, n_values * sizeof *scale);
    t->shift = own_shift;
    t->scale = own_scale;
    drove__targets_map_in(drove__targets_layer(model), own_shift, scale, t->vector);
    return DROVE_OK;
}

/* ---- a pass ---- */

drove_status drove_trainer_begin(drove_trainer *t, const drove_arrays *rows)
{
    DROVE_ALIVE(rows, "arrays");
    DROVE_ALIVE(t, "a trainer");
    DROVE_GIVEN_AS(t, "trainer");
    DROVE_GIVEN(rows);
    DROVE_IN_C_LOCALE;
    drove_data *data;
    end_pass(t);
    DROVE_TRY(drove__data_open_more(drove_arrays_name(rows), &t->like, &data));
    drove_status status;
    if ((status = drove__weights_normalise(data)) != DROVE_OK) goto fail;
    /* The engine that is there has room for all but longer sparse rows. */
    const size_t longest = drove__gather_longest(data);
    if (t->engine == NULL || longest > t->longest) {
        const drove_engine_options opt = {.model = model_of(t),
                                          .kernels = &t->kernels,
                                          .data = data,
                                          .max_rows = t->batch,
                                          .rows = t->batch,
                                          .seed = t->seed};
        if (t->engine != NULL) drove__engine_host.destroy(t->engine);
        t->engine = NULL;
        t->longest = longest;
        status = drove__engine_host.create(&opt, &t->engine);
    }
fail:
    if (status != DROVE_OK) {
        drove_data_destroy(data);
        return status;
    }
    if (t->scale != NULL) drove__targets_change(data->storage, t->shift, t->scale);
    t->pass = (pass){.data = data};
    t->has_begun = true;
    /* By the steps, which another trainer takes over with the state, and not by the passes. */
    drove__permutation_init(&t->pass.order, data->n_rows, t->seed, t->n_updates);
    return DROVE_OK;
}

static bool is_finite(const drove_trainer *t, const drove_gradient *grad)
{
    if (grad->span == NULL) return t->kernels.finite_f32(grad->value, t->optim->n);
    for (size_t i = 0; i < grad->n_spans; i++)
        if (!t->kernels.finite_f32(grad->value + grad->span[i].offset, grad->span[i].length))
            return false;
    return true;
}

static drove_status make_step(drove_trainer *t)
{
    const drove_optim *optim = t->optim;
    const pass *p = &t->pass;
    const size_t n_left = p->data->n_rows - p->n_done;
    const size_t n = n_left < t->batch ? n_left : t->batch;
    drove__permutation_run(&p->order, p->n_done, n, t->drawn);
    for (size_t i = 0; i < n; i++) t->row[i] = (uint32_t)t->drawn[i];
    const drove_batch batch =
        (drove_batch){.data = p->data, .row = t->row, .n_rows = n, .number = t->n_updates};
    drove_gradient grad = {.value = t->grad, .spans_wanted = optim->spans_ok};
    const drove_work work = {.batch = &batch,
                             .theta = drove__optim_theta(optim, &t->worker, t->vector),
                             .grad = &grad};
    drove_work_done done = {0};
    drove_step step;
    DROVE_TRY(drove__engine_do(&drove__engine_host, t->engine, &work, UINT64_MAX, &done));
    if (!isfinite(done.score.loss) || !is_finite(t, &grad))
        return drove__fail(DROVE_E_NONFINITE,
                           "trainer: step %llu: expected a finite loss and gradient, found others; "
                           "a smaller lr may help",
                           (unsigned long long)t->n_updates + 1);
    drove__optim_prepare(optim, &t->worker, t->vector, t->grad, grad.span, grad.n_spans,
                         drove__optim_eta(optim, 0.0), &step);
    drove__optim_apply(optim, &step, 0, ++t->n_updates, 0, optim->n, t->vector, t->vector);
    drove__score_add(&t->pass.score, &done.score);
    t->pass.n_done += batch.n_rows;
    return DROVE_OK;
}

drove_status drove_trainer_advance(drove_trainer *t, double most_seconds, int *is_over,
                                   double *loss)
{
    DROVE_ALIVE(t, "a trainer");
    DROVE_GIVEN_AS(t, "trainer");
    DROVE_GIVEN(is_over);
    DROVE_GIVEN(loss);
    *is_over = 1;
    *loss = NAN;
    if (t->pass.data == NULL)
        return drove__fail(DROVE_E_ARG, "trainer: expected a pass under way, found none");
    const double most_ns = fmin(fmax(most_seconds, 0.0) * 1e9, 9e18);
    const uint64_t since_ns = drove__now_ns();
    const drovek_thread before = drovek_thread_borrow();
    drove_status status = DROVE_OK;
    bool is_late = false;
    while (status == DROVE_OK && !is_late && t->pass.n_done < t->pass.data->n_rows) {
        status = make_step(t);
        is_late = (double)(drove__now_ns() - since_ns) >= most_ns;
    }
    drovek_thread_give_back(before);
    *loss = drove__score_mean_loss(&t->pass.score);
    if (t->scale != NULL && drove__storage_n_values(&t->storage) == 1)
        *loss *= t->scale[0] * t->scale[0];
    *is_over = status != DROVE_OK || t->pass.n_done == t->pass.data->n_rows;
    if (*is_over) end_pass(t);
    return status;
}

/* ---- batches that the program delivers ---- */

drove_status drove_trainer_batches(drove_trainer *t, const drove_batch_source *source, double *loss,
                                   uint64_t *n_rows)
{
    DROVE_ALIVE(t, "a trainer");
    DROVE_GIVEN_AS(t, "trainer");
    DROVE_GIVEN(source);
    DROVE_GIVEN_AS(source->next, "source->next");
    drove_arrays *rows;
    double sum = 0.0;
    uint64_t n = 0;
    drove_status status = drove_arrays_create(&rows);
    for (uint64_t number = 1; status == DROVE_OK; number++) {
        uint64_t n_here = 0;
        double here = 0.0; /* mean of the rows' own, each before its own step */
        bool is_over;
        int is_done;
        const uint32_t *unused;
        status = drove__delivered_next(source, number, rows, &is_over, &unused);
        if (status != DROVE_OK || is_over) break;
        if ((status = drove_trainer_begin(t, rows)) == DROVE_OK) {
            n_here = t->pass.data->n_rows;
            status = drove_trainer_advance(t, INFINITY, &is_done, &here);
        }
        if (status != DROVE_OK) {
            status = drove__fail_in(status, "batch %llu", (unsigned long long)number);
            break;
        }
        sum += here * (double)n_here;
        n += n_here;
    }
    end_pass(t);
    drove_arrays_destroy(rows);
    if (loss != NULL) *loss = n > 0 ? sum / (double)n : NAN;
    if (n_rows != NULL) *n_rows = n;
    return status;
}

/* ---- the model ---- */

drove_status drove_trainer_model(const drove_trainer *t, drove_memory_file **out)
{
    DROVE_ALIVE(t, "a trainer");
    DROVE_GIVEN_AS(t, "trainer");
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    const size_t n = t->optim->n;
    drove_memory_file *file;
    drove_status status;
    char path[DROVE_MODEL_NAME_SIZE];
    *out = NULL;
    DROVE_TRY(drove_memory_file_create(NULL, 0, 0, &file));
    float *theta = drove__alloc(n, sizeof *theta);
    if (theta == NULL) {
        status = drove__fail_nomem("a model to save", n * sizeof *theta);
        goto fail;
    }
    memcpy(theta, t->vector, n * sizeof *theta);
    if (t->scale != NULL)
        drove__targets_map_out(drove__targets_layer(model_of(t)), t->shift, t->scale, theta);
    snprintf(path, sizeof path, "%s.safetensors", drove_memory_file_name(file));
    if (!t->kernels.finite_f32(theta, n)) {
        status = drove__fail(DROVE_E_NONFINITE, "trainer: expected finite parameters, found "
                                                "others; a smaller lr may help");
        goto fail;
    }
    if (t->part != NULL) drove__part_give(t->file.model, 0, t->part, theta, t->file.theta);
    status = drove__modelfile_save(path, t->file.model, &t->like, &t->file.features,
                                   t->file.target_mean, t->part != NULL ? t->file.theta : theta);
fail:
    drove__free(theta);
    if (status == DROVE_OK) *out = file;
    else drove_memory_file_destroy(file);
    return status;
}

/* ---- the rule's state ---- */

const float *drove_trainer_state(const drove_trainer *t, size_t *n_numbers, uint64_t *n_updates)
{
    DROVE_ALIVE(t, "a trainer");
    if (t == NULL || n_numbers == NULL || n_updates == NULL) return NULL;
    *n_numbers = t->optim->n_vector - t->optim->n;
    *n_updates = t->n_updates;
    return *n_numbers > 0 ? t->vector + t->optim->n : NULL;
}

drove_status drove_trainer_set_state(drove_trainer *t, const float *state, size_t n_numbers,
                                     uint64_t n_updates)
{
    DROVE_ALIVE(t, "a trainer");
    DROVE_GIVEN_AS(t, "trainer");
    DROVE_GIVEN(state);
    const size_t n_wanted = t->optim->n_vector - t->optim->n;
    if (n_numbers != n_wanted)
        return drove__fail(DROVE_E_SHAPE,
                           "trainer: state of rule %s: expected %zu numbers, found %zu",
                           t->optim->rule.ops->name, n_wanted, n_numbers);
    if (n_numbers > 0 && !t->kernels.finite_f32(state, n_numbers))
        return drove__fail(DROVE_E_NONFINITE,
                           "trainer: state of rule %s: expected finite numbers, found others",
                           t->optim->rule.ops->name);
    if (n_numbers > 0) memcpy(t->vector + t->optim->n, state, n_numbers * sizeof *state);
    t->n_updates = n_updates;
    return DROVE_OK;
}
