/* engine/accel/engine.c - the engine of all accelerators, over a table of operations
 * (engine/accel/accel.h): creation, and its table; see state.h for its parts.
 *
 * destroy frees nothing that a device knows which is silent beyond a time-out: waiting for it might
 * never end, and it may still read or write all of it.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/accel/layers.h"
#include "model/loss.h"

#include <stdlib.h>
#include <string.h>

/* ---- creation ---- */

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    if (!e->failure.is_silent) {
        /* All that the device knows of. */
        drove__repeat_drop_events(e);
        for (size_t l = 0; e->pass.conv != NULL && l < e->model->n_layers; l++)
            if (e->pass.conv[l] != NULL) e->ops->conv->destroy(e->pass.conv[l]);
        e->ops->queue_destroy(e->up);
        e->ops->queue_destroy(e->work);
        e->ops->queue_destroy(e->down);
        drove__repeat_forget(e, NULL);
        for (size_t i = 0; i < DROVE_ACCEL_N_STAGINGS; i++) drove__staging_fini(e, &e->staging[i]);
        drove__resident_release(e);
        drove__params_fini(e);
        for (size_t l = 0; e->pass.out != NULL && l < e->model->n_layers; l++) {
            e->ops->free(e->accel, e->pass.out[l]);
            e->ops->free(e->accel, e->pass.kept[l]);
        }
        for (size_t i = 0; e->pass.delta != NULL && i < e->pass.plan.n_deltas; i++)
            e->ops->free(e->accel, e->pass.delta[i]);
        e->ops->free(e->accel, e->pass.input);
        e->ops->free(e->accel, e->pass.wide);
        e->ops->free(e->accel, e->pass.scratch);
        e->ops->free(e->accel, e->pass.result);
        e->ops->host_free(e->accel, e->pass.result_host);
        e->ops->host_free(e->accel, e->pass.prob_host);
        e->ops->host_free(e->accel, e->pass.statistics_host);
    }
    drove__pieces_fini(&e->pieces);
    drove__gather_fini(&e->gather);
    drove__touched_fini(&e->touched);
    drove__free(e->place);
    drove__resident_fini(e);
    drove__repeat_fini(e);
    drove__accel_plan_fini(&e->pass.plan);
    free(e->pass.out);
    free(e->pass.conv);
    free(e->now.events.layer_done);
    free(e->times.read);
    free(e);
}

/* In bf16: buffers whose numbers are factors keep a copy, so that a number is rounded once in a
 * step and not for each product.  Weights and examples come by `write` or are narrowed behind their
 * widening; outputs of dense layers and derivatives are what bias_act and act_grad put there. */
static drove_status keep_copies(drove_engine *e)
{
    const drove_model *m = e->model;
    if (m->factors != DROVEK_FACTORS_BF16 || e->ops->bf16 == NULL || e->is_sparse) return DROVE_OK;
    DROVE_TRY(e->ops->bf16->keep(e->accel, e->params.theta, true));
    if (e->pass.wide != NULL) DROVE_TRY(e->ops->bf16->keep(e->accel, e->pass.wide, true));
    for (size_t i = 0; i < DROVE_ACCEL_N_STAGINGS && !e->takes_bytes; i++)
        DROVE_TRY(e->ops->bf16->keep(e->accel, e->staging[i].device, true));
    bool has_biases = true; /* without, outputs and derivatives have other operations */
    for (size_t l = 0; l < m->n_layers; l++)
        has_biases = has_biases && (m->layer[l].n_w == 0 || m->layer[l].n_b > 0);
    if (!has_biases) return DROVE_OK;
    for (size_t l = 0; l < m->n_layers; l++)
        if (m->layer[l].ops == &drove__layer_dense)
            DROVE_TRY(e->ops->bf16->keep(e->accel, e->pass.out[l], true));
    for (size_t i = 0; i < e->pass.plan.n_deltas; i++)
        DROVE_TRY(e->ops->bf16->keep(e->accel, e->pass.delta[i], true));
    return DROVE_OK;
}

static drove_status allocate(drove_engine *e, const drove_data *data)
{
    const size_t rows = e->max_rows, n_inputs = e->model->n_inputs, n_layers = e->model->n_layers;

    /* Lists by layer. */
    DROVE_TRY(drove__accel_plan_make(e->model, &e->pass.plan));
    e->pass.out = calloc(2 * n_layers + e->pass.plan.n_deltas, sizeof *e->pass.out);
    e->pass.conv = calloc(n_layers, sizeof *e->pass.conv);
    e->now.events.layer_done = calloc(2 * n_layers, sizeof *e->now.events.layer_done);
    e->times.read = calloc(n_layers, sizeof *e->times.read);
    if (e->pass.out != NULL) { /* also if another one is missing: destroy looks into them */
        e->pass.kept = e->pass.out + n_layers;
        e->pass.delta = e->pass.kept + n_layers;
    }
    if (e->pass.out == NULL || e->pass.conv == NULL || e->now.events.layer_done == NULL ||
        e->times.read == NULL)
        return drove__fail_nomem("engine", 7 * n_layers * sizeof *e->pass.out);
    e->now.events.layer_read = e->now.events.layer_done + n_layers;
    DROVE_TRY(drove__repeat_init(e));

    /* The gathering of batches, and queues. */
    if (e->is_sparse) {
        DROVE_TRY(drove__touched_init(&e->touched, n_inputs));
        e->place = drove__alloc(n_inputs, sizeof *e->place);
        if (e->place == NULL) return drove__fail_nomem("engine", n_inputs);
    }
    DROVE_TRY(drove__gather_init(&e->gather, e->kernels, data, rows, n_inputs, false));
    DROVE_TRY(e->ops->queue_create(e->accel, &e->up));
    DROVE_TRY(e->ops->queue_create(e->accel, &e->work));
    if (e->model->factors == DROVEK_FACTORS_BF16) e->ops->multiply_in_bf16(e->work);
    DROVE_TRY(e->ops->queue_create(e->accel, &e->down));
    for (size_t i = 0; i < DROVE_ACCEL_N_STAGINGS; i++)
        DROVE_TRY(drove__staging_init(e, &e->staging[i], data));
    const size_t n_touched =
        e->is_sparse ? drove__accel_most_touched(e->model, data, e->max_rows) : 0;
    DROVE_TRY(drove__params_init(e, n_touched));

    /* Outputs, derivatives and losses. */
    for (size_t l = 0; l < n_layers; l++) {
        const drove_layer *y = &e->model->layer[l];
        size_t n_kept = drove__accel_kept(y, rows);
        DROVE_TRY(e->ops->alloc(e->accel, rows * y->n_out, &e->pass.out[l]));
        if (n_kept > 0) DROVE_TRY(e->ops->alloc(e->accel, n_kept, &e->pass.kept[l]));
    }
    for (size_t i = 0; i < e->pass.plan.n_deltas; i++)
        DROVE_TRY(e->ops->alloc(e->accel, rows * e->pass.plan.delta_floats[i], &e->pass.delta[i]));
    size_t n_scratch = drove__accel_scratch(e->model, rows);
    if (n_scratch > 0) DROVE_TRY(e->ops->alloc(e->accel, n_scratch, &e->pass.scratch));
    if (e->pass.plan.converts_input)
        DROVE_TRY(e->ops->alloc(e->accel, rows * n_inputs, &e->pass.input));
    if (e->takes_bytes && e->pass.plan.reads_plain)
        DROVE_TRY(e->ops->alloc(e->accel, rows * n_inputs, &e->pass.wide));
    const size_t n_result = (e->model->n_heads > 1 ? 8 : 4) * rows;
    void *memory;
    DROVE_TRY(e->ops->alloc(e->accel, n_result, &e->pass.result));
    DROVE_TRY(drove__accel_host_alloc(e, rows * 4, "losses of a batch", &memory));
    e->pass.result_host = memory;
    DROVE_TRY(keep_copies(e));
    for (size_t l = 0; l < n_layers; l++) DROVE_TRY(drove__accel_conv_prepare(e, l));
    return DROVE_OK;
}

static drove_status check_options(const drove_engine_options *opt)
{
    if (opt->max_rows == 0) return drove__fail(DROVE_E_ARG, "batch: expected at least 1 example");
    if (drove__data_n_inputs(opt->data) != opt->model->n_inputs) {
        return drove__fail(DROVE_E_SHAPE, "the data have %zu features, the model takes %zu",
                           drove__data_n_inputs(opt->data), opt->model->n_inputs);
    }
    if (drove__storage_is_sparse(opt->data->storage) && !opt->model->is_chain) {
        return drove__fail(DROVE_E_SHAPE,
                           "model %s: expected dense data, found sparse data, which networks of "
                           "dense layers with relu, sigmoid or tanh read",
                           opt->model->spec);
    }
    if (opt->model->label_smoothing > 0.0f ||
        (!opt->infers_only && opt->data->augment.mixup > 0.0f))
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "accelerators do not have %s: expected workers on cores",
                           opt->model->label_smoothing > 0.0f ? "--label-smoothing" : "?mixup");
    if (drove__storage_is_sparse(opt->data->storage) && opt->model->layer[0].training.is_frozen)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "model %s: expected dense data for a frozen first layer on a device, "
                           "found sparse data",
                           opt->model->spec);
    DROVE_TRY(drove__accel_pass_supports(opt->model));
    DROVE_TRY(drove__accel_pass_accepts(opt->model, opt->data));
    size_t most = drove__accel_most_rows(opt);
    if (opt->max_rows <= most) return DROVE_OK;
    return drove__fail(DROVE_E_NOMEM, "%s: its memory holds at most %zu examples a batch, not %zu",
                       opt->device->facts.name, most, opt->max_rows);
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    *out = NULL;
    DROVE_TRY(check_options(opt));
    const drove_accel_device *device = opt->device->impl;
    drove_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return drove__fail_nomem("engine", sizeof *e);
    e->model = opt->model;
    e->kernels = opt->kernels;
    e->ops = device->ops;
    e->accel = device->accel;
    e->max_rows = opt->max_rows;
    e->pass.seed = opt->seed;
    drove__pieces_init(&e->pieces, &drove__accel_piece_ops, opt);
    e->is_sparse = drove__storage_is_sparse(opt->data->storage);
    e->takes_bytes = drove__gather_has_bytes(opt->data);
    drove_status status = allocate(e, opt->data);
    if (status != DROVE_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DROVE_OK;
}

/* ---- operations ---- */

static drove_status begin(drove_engine *e, const drove_work *work)
{
    DROVE_TRY(drove__accel_check_free(e));
    if (work->theta == NULL && e->resident == NULL)
        return drove__fail(DROVE_E_ARG, "no parameters were set");
    return drove__pieces_begin(&e->pieces, e, work);
}

static drove_status part(drove_engine *e, uint64_t timeout_ns, size_t *n_left)
{
    DROVE_TRY(drove__accel_check_begun(e));
    return drove__pieces_part(&e->pieces, e, timeout_ns, n_left);
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    DROVE_TRY(drove__accel_check_begun(e));
    return drove__pieces_finish(&e->pieces, e, timeout_ns, done);
}

static drove_status predict(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob)
{
    return drove__pieces_predict(&e->pieces, e, theta, batch, prob);
}

static drove_status statistics(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into)
{
    return drove__pieces_statistics(&e->pieces, e, theta, batch, share, into);
}

static drove_status set_params(drove_engine *e, const drove_device_rule *rule, const float *vector)
{
    DROVE_TRY(drove__accel_check_alive(e));
    return drove__resident_set(e, rule, vector);
}

static drove_status get_params(drove_engine *e, float *vector)
{
    DROVE_TRY(drove__accel_check_alive(e));
    return drove__resident_get(e, vector);
}

static drove_status give(drove_engine *e, size_t offset, size_t length, const float *sum)
{
    DROVE_TRY(drove__accel_check_begun(e));
    if (!e->now.is_resident)
        return drove__fail(DROVE_E_ARG, "a sum was given to a batch at the caller's parameters");
    return drove__resident_give(e, offset, length, sum);
}

static const drove_resident_ops resident_ops = {
    .set_params = set_params,
    .get_params = get_params,
    .give = give,
    .copies = drove__accel_copies,
};

const drove_engine_ops drove__engine_accel = {
    .name = "accel",
    .help = "a device of its own computes: the whole pass is put on its queues at once",
    .source = "Ma and Rusu, section 5",
    .can = DROVE_ENGINE_RESIDENT | DROVE_ENGINE_STATISTICS,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .part = part,
    .finish = finish,
    .stage = drove__accel_stage,
    .predict = predict,
    .most_rows = drove__accel_most_rows,
    .statistics = statistics,
    .resident = &resident_ops,
};
