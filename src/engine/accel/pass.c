/* engine/accel/pass.c - one pass through a graph of layers, put on the queues; see state.h.
 *
 * Backward computes for each layer the derivative before the activation with the bias's gradient,
 * the gradient of W, and only then the derivatives for the layers below, so that copying the
 * layer's gradient back overlaps the rest of the work.
 */
#include "engine/accel/layers.h"
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
        if (drove__accel_layer(&model->layer[l]) != NULL) continue;
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "model %s, layer %s: accelerators do not have layers of the kind %s",
                           model->spec, model->layer[l].name, model->layer[l].ops->name);
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

/* The present examples, floats or bytes, as the floats of images of c channels of h x w. */
static drove_status convert(drove_engine *e, drove_accel_buffer *to, size_t c, size_t h, size_t w)
{
    const drove_accel_staging *s = e->present;
    drove_accel_job job = {s->is_bytes ? DROVE_JOB_widen : DROVE_JOB_to_rows,
                           {drove__accel_view(s->device, s->at.x), drove__accel_view(to, 0)},
                           {.h = (unsigned)h, .w = (unsigned)w}};
    job.k.rows = (unsigned)(s->n_rows * h * w);
    job.k.cols = (unsigned)c;
    if (s->is_scaled) {
        job.at[2] = drove__accel_view(s->scaling.device, 0);
        job.k.each = (unsigned)e->model->n_inputs;
    }
    return drove__accel_job(e, &job);
}

static drove_status forward(drove_engine *e)
{
    /* The examples as the layers that read them want them. */
    const drove_shape *in = &e->model->input;
    if (e->present->is_bytes && e->pass.plan.reads_plain) {
        DROVE_TRY(convert(e, e->pass.wide, e->model->n_inputs, 1, 1));
        if (e->model->factors == DROVEK_FACTORS_BF16 && e->ops->bf16 != NULL)
            DROVE_ACCEL_TRY(e, e->ops->bf16->narrow(e->work, drove__accel_view(e->pass.wide, 0),
                                                    e->present->n_rows * e->model->n_inputs));
    }
    if (e->pass.plan.converts_input) DROVE_TRY(convert(e, e->pass.input, in->c, in->h, in->w));
    for (size_t l = 0; l < e->model->n_layers; l++) {
        const drove_layer *y = &e->model->layer[l];
        const drove_accel_layer *kind = drove__accel_layer(y);
        if (y->training.is_only && !e->now.is_training) continue;
        DROVE_TRY(kind->forward(e, l));
        if (kind->has_own_act || y->act == DROVEK_LINEAR) continue;
        DROVE_TRY(drove__accel_activate(e, drove__accel_y(e, l), drove__accel_y(e, l),
                                        e->present->n_rows * y->n_out, y->act));
    }
    return DROVE_OK;
}

/* Losses of the main head; of the others the derivatives alone are of interest. */
static drove_status head_loss(drove_engine *e, const drove_head *head, bool is_main)
{
    const drove_accel_staging *s = e->present;
    size_t i = row_of(e->model->loss), result = is_main ? 0 : 4 * s->n_rows;
    bool is_value = s->data->storage->y_kind == DROVE_Y_VALUE;
    drove_accel_sparse labels = {.start = drove__accel_view(s->device, s->at.label_start),
                                 .index = drove__accel_view(s->device, s->at.label)};
    float scale = e->now.wanted != NULL ? head->weight * (1.0f / (float)s->n_rows) : 0.0f;
    DROVE_ACCEL_TRY(e, e->ops->loss(e->work, is_value ? losses[i].of_values : losses[i].of_classes,
                                    drove__accel_y(e, head->layer),
                                    drove__accel_view(s->device, s->at.target), &labels, s->n_rows,
                                    e->model->n_outputs, scale, drove__accel_dy(e, head->layer),
                                    drove__accel_view(e->pass.result, result),
                                    drove__accel_view(e->pass.result, result + s->n_rows)));
    if (e->now.wanted == NULL || !drove__data_is_weighted(s->data)) return DROVE_OK;

    /* The derivative of each example's loss counts by its weight; the losses: batch.c. */
    drove_accel_job job = {DROVE_JOB_weigh,
                           {drove__accel_dy(e, head->layer),
                            drove__accel_view(s->device, s->at.weight)},
                           {.rows = (unsigned)s->n_rows, .cols = (unsigned)e->model->n_outputs}};
    return drove__accel_job(e, &job);
}

/* ---- backward ---- */

static drove_status scale_part(drove_engine *e, drove_accel_view part, size_t n, float factor)
{
    if (factor == 0.0f || factor == 1.0f || n == 0) return DROVE_OK;
    drove_accel_job job = {DROVE_JOB_move, {part, part}, drove__accel_vector(n)};
    job.k.scale = factor;
    return drove__accel_job(e, &job);
}

/* Begins to read the layer's gradient, which is computed behind what is on `work`. */
static drove_status read_gradient(drove_engine *e, size_t l)
{
    bool has_parameters = drove__params_part(e, l).length > 0;
    if (!has_parameters && l > 0) return DROVE_OK; /* the first one's event is the end of all */
    DROVE_ACCEL_TRY(e, e->ops->record(e->work, &e->now.events.layer_done[l]));
    DROVE_ACCEL_TRY(e, e->ops->flush(e->work));
    if (!has_parameters) return DROVE_OK;
    DROVE_ACCEL_TRY(e, e->ops->follow(e->down, e->now.events.layer_done[l]));
    DROVE_TRY(drove__params_read(e, l));
    DROVE_ACCEL_TRY(e, e->ops->record(e->down, &e->now.events.layer_read[l]));
    return drove__accel_try(e, e->ops->flush(e->down));
}

static drove_status layer_backward(drove_engine *e, size_t l)
{
    const drove_layer *y = &e->model->layer[l];
    const drove_accel_layer *kind = drove__accel_layer(y);
    if (y->training.is_constant) return read_gradient(e, l);
    drove_accel_view d = drove__accel_dy(e, l);
    if (!kind->has_own_act && y->act != DROVEK_LINEAR)
        DROVE_TRY(drove__accel_derive(e, d, drove__accel_y(e, l), d, e->present->n_rows * y->n_out,
                                      y->act, false));
    if (kind->weights != NULL) DROVE_TRY(kind->weights(e, l));
    if (!y->training.is_frozen) {
        DROVE_TRY(scale_part(e, drove__params_w(e, e->params.grad, l), y->n_w, y->opt.w_lr));
        DROVE_TRY(scale_part(e, drove__params_b(e, e->params.grad, l), y->n_b, y->opt.b_lr));
    }
    DROVE_TRY(read_gradient(e, l));
    for (unsigned i = 0; i < y->n_bottoms; i++) {
        const uint32_t below = y->bottom[i];
        if (below > 0 && !e->model->layer[below - 1].training.is_constant)
            DROVE_TRY(kind->data(e, l, i));
    }
    return DROVE_OK;
}

drove_status drove__accel_pass(drove_engine *e)
{
    DROVE_ACCEL_TRY(e, e->ops->record(e->work, &e->now.events.work_begun));
    DROVE_TRY(forward(e));
    const drove_model *m = e->model;
    for (unsigned h = 0; !e->now.is_predicting && h < m->n_heads; h++) {
        bool is_main = h + 1 == m->n_heads;
        if (is_main || e->now.wanted != NULL) DROVE_TRY(head_loss(e, &m->head[h], is_main));
    }
    DROVE_ACCEL_TRY(e, e->ops->record(e->work, &e->now.events.scored));
    DROVE_ACCEL_TRY(e, e->ops->flush(e->work));

    /* Losses and counts, or the outputs that a prediction is made of. */
    size_t n_rows = e->present->n_rows, last = e->model->head[e->model->n_heads - 1].layer;
    DROVE_ACCEL_TRY(e, e->ops->follow(e->down, e->now.events.scored));
    if (e->now.is_predicting) {
        DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->pass.prob_host, drove__accel_y(e, last),
                                        n_rows * e->model->n_outputs));
    } else {
        DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->pass.result_host,
                                        drove__accel_view(e->pass.result, 0), 4 * n_rows));
    }
    DROVE_TRY(drove__accel_try(e, e->ops->record(e->down, &e->now.events.scored_read)));
    DROVE_ACCEL_TRY(e, e->ops->flush(e->down));
    for (size_t l = e->model->n_layers; e->now.wanted != NULL && l-- > 0;)
        DROVE_TRY(layer_backward(e, l));
    return DROVE_OK;
}
