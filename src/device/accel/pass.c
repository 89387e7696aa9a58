/* device/accel/pass.c - one pass through a network, put on the queues; see state.h.
 *
 * Of each layer from the last to the first: the derivative before the activation with the bias's
 * gradient, the gradient of W, and only then the derivative for the layer below, so that copying
 * the layer's gradient back overlaps the rest of the work.
 */
#include "device/accel/state.h"
#include "model/layer.h"
#include "model/loss.h"

/* ---- what there is ---- */

static const struct {
    const drove_loss_ops *loss;
    drove_accel_loss of_classes, of_values;
    bool takes_class, takes_value, takes_labels;
} losses[] = {
    {&drove__loss_softmax, DROVE_ACCEL_SOFTMAX, DROVE_ACCEL_SOFTMAX, true, false, false},
    {&drove__loss_sigmoid, DROVE_ACCEL_SIGMOID, DROVE_ACCEL_SIGMOID, false, false, true},
    {&drove__loss_logistic, DROVE_ACCEL_LOGISTIC, DROVE_ACCEL_LOGISTIC, true, false, false},
    {&drove__loss_hinge, DROVE_ACCEL_HINGE, DROVE_ACCEL_HINGE, true, false, false},
    {&drove__loss_squared, DROVE_ACCEL_SQUARED_CLASS, DROVE_ACCEL_SQUARED, true, true, false},
};
enum { N_LOSSES = sizeof losses / sizeof losses[0] };

static size_t row_of(const drove_loss_ops *loss)
{
    size_t i = 0;
    while (i < N_LOSSES && losses[i].loss != loss) i++;
    return i;
}

drove_status drove__accel_pass_supports(const drove_model *model)
{
    for (size_t l = 0; l < model->n_layers; l++) {
        if (model->layer[l].ops == &drove__layer_dense) continue;
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "model %s, layer %zu: expected a layer that accelerators have (dense), "
                           "found %s",
                           model->spec, l + 1, model->layer[l].ops->name);
    }
    if (row_of(model->loss) < N_LOSSES) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED, "model %s: accelerators do not have the loss %s",
                       model->spec, model->loss->name);
}

drove_status drove__accel_pass_accepts(const drove_model *model, const drove_data *data)
{
    size_t i = row_of(model->loss);
    drove_y_kind kind = data->storage->y_kind;
    if (kind == DROVE_Y_CLASS   ? losses[i].takes_class
        : kind == DROVE_Y_VALUE ? losses[i].takes_value
                                : losses[i].takes_labels) {
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_SHAPE, "the data have a %s each, which the loss %s does not take",
                       drove__target_name(kind), model->loss->name);
}

/* ---- forward ---- */

static drove_accel_sparse examples(const drove_accel_slot *s)
{
    return (drove_accel_sparse){.start = drove__accel_view(s->device, s->at.start),
                                .index = drove__accel_view(s->device, s->at.index),
                                .value = drove__accel_view(s->has_value ? s->device : NULL,
                                                           s->at.value)};
}

static drove_accel_sparse transposed(const drove_accel_slot *s)
{
    return (drove_accel_sparse){.start = drove__accel_view(s->device, s->at.t_start),
                                .index = drove__accel_view(s->device, s->at.t_index),
                                .value = drove__accel_view(s->has_value ? s->device : NULL,
                                                           s->at.t_value)};
}

/* What layer l reads, of dense rows. */
static drove_accel_view input_of(const drove_engine *e, size_t l)
{
    return l > 0 ? drove__accel_view(e->out[l - 1], 0)
                 : drove__accel_view(e->present->device, e->present->at.x);
}

static drove_status forward(drove_engine *e)
{
    const drove_accel_ops *ops = e->ops;
    const drove_accel_slot *s = e->present;
    for (size_t l = 0; l < e->model->n_layers; l++) {
        const drove_layer *y = &e->model->layer[l];
        drove_accel_view w = drove__params_w(e, e->theta, l), b = drove__params_b(e, e->theta, l);
        drove_accel_view out = drove__accel_view(e->out[l], 0);
        if (l == 0 && s->is_sparse) {
            drove_accel_sparse x = examples(s);
            DROVE_ACCEL_TRY(e, ops->sparse_forward(e->work, &x, w, s->n_rows, y->n_out, out));
        } else {
            DROVE_ACCEL_TRY(e,
                            ops->gemm(e->work, false, false, s->n_rows, y->n_out, y->n_in, 1.0f,
                                      input_of(e, l), y->n_in, w, y->n_out, 0.0f, out, y->n_out));
        }
        DROVE_ACCEL_TRY(e, ops->bias_act(e->work, out, b, s->n_rows, y->n_out,
                                         (drove_accel_act)y->act));
    }
    return DROVE_OK;
}

static drove_status loss(drove_engine *e)
{
    const drove_accel_slot *s = e->present;
    size_t last = e->model->n_layers - 1, i = row_of(e->model->loss);
    bool is_value = s->data->storage->y_kind == DROVE_Y_VALUE;
    drove_accel_sparse labels = {.start = drove__accel_view(s->device, s->at.label_start),
                                 .index = drove__accel_view(s->device, s->at.label)};
    drove_accel_view z = drove__accel_view(e->out[last], 0);
    drove_accel_view dz = drove__accel_view(e->delta[last % 2], 0);
    return drove__accel_try(
        e, e->ops->loss(e->work, is_value ? losses[i].of_values : losses[i].of_classes, z,
                        drove__accel_view(s->device, s->at.target), &labels, s->n_rows,
                        e->model->n_outputs, e->wants_gradient ? 1.0f / (float)s->n_rows : 0.0f, dz,
                        drove__accel_view(e->result, 0), drove__accel_view(e->result, s->n_rows)));
}

/* Losses and counts, or the outputs that a prediction is made of. */
static drove_status read_result(drove_engine *e)
{
    size_t n_rows = e->present->n_rows, last = e->model->n_layers - 1;
    DROVE_ACCEL_TRY(e, e->ops->follow(e->down, e->scored));
    if (e->is_predicting) {
        DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->prob_host, drove__accel_view(e->out[last], 0),
                                        n_rows * e->model->n_outputs));
    } else {
        DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->result_host, drove__accel_view(e->result, 0),
                                        4 * n_rows));
    }
    return drove__accel_try(e, e->ops->record(e->down, &e->scored_read));
}

/* ---- backward ---- */

static drove_status weight_gradient(drove_engine *e, size_t l, drove_accel_view d)
{
    const drove_accel_slot *s = e->present;
    const drove_layer *y = &e->model->layer[l];
    drove_accel_view dw = drove__params_w(e, e->grad, l);
    if (l == 0 && s->is_sparse) {
        drove_accel_sparse xt = transposed(s);
        return drove__accel_try(e, e->ops->sparse_backward(e->work, &xt, d, s->n_touched, y->n_out,
                                                           dw));
    }
    return drove__accel_try(e,
                            e->ops->gemm(e->work, true, false, y->n_in, y->n_out, s->n_rows, 1.0f,
                                         input_of(e, l), y->n_in, d, y->n_out, 0.0f, dw, y->n_out));
}

static drove_status backward(drove_engine *e)
{
    size_t n_rows = e->present->n_rows;
    for (size_t l = e->model->n_layers; l-- > 0;) {
        const drove_layer *y = &e->model->layer[l];
        drove_accel_view d = drove__accel_view(e->delta[l % 2], 0);
        DROVE_ACCEL_TRY(e, e->ops->act_grad(e->work, d, drove__params_b(e, e->grad, l),
                                            drove__accel_view(e->out[l], 0), n_rows, y->n_out,
                                            (drove_accel_act)y->act));
        DROVE_TRY(weight_gradient(e, l, d));
        DROVE_ACCEL_TRY(e, e->ops->record(e->work, &e->layer_done[l]));
        DROVE_ACCEL_TRY(e, e->ops->flush(e->work));
        DROVE_ACCEL_TRY(e, e->ops->follow(e->down, e->layer_done[l]));
        DROVE_TRY(drove__params_read(e, l));
        DROVE_ACCEL_TRY(e, e->ops->record(e->down, &e->layer_read[l]));
        DROVE_ACCEL_TRY(e, e->ops->flush(e->down));
        if (l == 0) break;
        DROVE_ACCEL_TRY(e, e->ops->gemm(e->work, false, true, n_rows, y->n_in, y->n_out, 1.0f, d,
                                        y->n_out, drove__params_w(e, e->theta, l), y->n_out, 0.0f,
                                        drove__accel_view(e->delta[(l - 1) % 2], 0), y->n_in));
    }
    return DROVE_OK;
}

drove_status drove__accel_pass(drove_engine *e)
{
    DROVE_ACCEL_TRY(e, e->ops->follow(e->work, e->params_done)); /* the examples came before */
    DROVE_ACCEL_TRY(e, e->ops->record(e->work, &e->work_begun));
    DROVE_TRY(forward(e));
    if (!e->is_predicting) DROVE_TRY(loss(e));
    DROVE_ACCEL_TRY(e, e->ops->record(e->work, &e->scored));
    DROVE_ACCEL_TRY(e, e->ops->flush(e->work));
    DROVE_TRY(read_result(e));
    DROVE_ACCEL_TRY(e, e->ops->flush(e->down));
    return e->wants_gradient ? backward(e) : DROVE_OK;
}
