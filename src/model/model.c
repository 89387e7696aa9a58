/* model/model.c - building a model, and one pass forward and backward through its layers.
 *
 * Invariants after creation: layer[l].n_in == layer[l-1].n_out, layer[0].n_in == n_inputs,
 * layer[last].n_out == n_outputs, views ascend and start on 16-float boundaries, n_params is a
 * multiple of 16.
 */
#include "model/model.h"

#include "base/mem.h"
#include "model/layer.h"
#include "model/loss.h"
#include "model/support.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const drove_activation drove__activations[] = {
    {"relu", "max(z, 0)", "Nair, Hinton, ICML 2010", DROVEK_RELU},
    {"sigmoid", "1 / (1 + exp(-z))", "Rumelhart, Hinton, Williams, Nature 1986", DROVEK_SIGMOID},
    {"tanh", "tanh(z)", "LeCun, Bottou, Orr, Mueller, Efficient BackProp, 1998", DROVEK_TANH},
    {NULL, NULL, NULL, DROVEK_LINEAR},
};

/* ---- creation ---- */

static drove_status find_family(const char *name, const drove_model_ops **out)
{
    const char *names[DROVE_MODEL_MAX_NAMES];
    size_t n = 0;
    for (; drove__models[n] != NULL; n++) {
        if (strcmp(drove__models[n]->name, name) == 0) {
            *out = drove__models[n];
            return DROVE_OK;
        }
        names[n] = drove__models[n]->name;
    }
    return drove__fail_unknown("model", name, names, n);
}

static drove_status find_activation(const char *name, const drove_activation **out)
{
    const char *names[DROVE_MODEL_MAX_NAMES];
    size_t n = 0;
    for (; drove__activations[n].name != NULL; n++) {
        if (strcmp(drove__activations[n].name, name) == 0) {
            *out = &drove__activations[n];
            return DROVE_OK;
        }
        names[n] = drove__activations[n].name;
    }
    return drove__fail_unknown("activation", name, names, n);
}

static drove_status find_loss(const char *name, const drove_loss_ops **out)
{
    const char *names[DROVE_MODEL_MAX_NAMES];
    size_t n = 0;
    for (; drove__losses[n] != NULL; n++) {
        if (strcmp(drove__losses[n]->name, name) == 0) {
            *out = drove__losses[n];
            return DROVE_OK;
        }
        names[n] = drove__losses[n]->name;
    }
    return drove__fail_unknown("loss", name, names, n);
}

/* The family's default; logistic regression of more than two classes is the softmax, of labels one
 * sigmoid each. */
static const char *default_loss(const drove_model_ops *family, const drove_model_io *io)
{
    const char *name = family->default_loss;
    bool by_target = name == NULL ||
                     (strcmp(name, "logistic") == 0 && (io->is_multi_label || io->n_classes > 2));
    if (!by_target) return name;
    if (io->is_multi_label) return "sigmoid";
    return io->n_classes > 0 ? "softmax" : "squared";
}

/* Gives every layer its place in theta and counts. */
static drove_status lay_out(drove_model *m)
{
    const size_t most = SIZE_MAX / 64; /* floats; leaves room for sizes in bytes and padding */
    for (size_t l = 0; l < m->n_layers; l++) {
        drove_layer *layer = &m->layer[l];
        if (layer->n_in > most / layer->n_out || layer->n_in * layer->n_out > most - m->n_params) {
            return drove__fail(DROVE_E_ARG, "model %s: layer %zu of %zu x %zu is too large",
                               m->spec, l + 1, layer->n_in, layer->n_out);
        }
        layer->n_params = layer->n_in * layer->n_out + layer->n_out;
        layer->w_offset = m->n_params;
        layer->b_offset = layer->w_offset + drove__pad_floats(layer->n_in * layer->n_out);
        m->n_params = layer->b_offset + drove__pad_floats(layer->n_out);
        m->n_weights += layer->n_params;
    }
    return DROVE_OK;
}

static drove_status build(drove_model *m, const drove_spec *spec, const char *activation,
                          const char *loss, const drove_model_io *io)
{
    const drove_model_ops *family = NULL;
    const drove_activation *act = NULL;
    const char *why = NULL;
    DROVE_TRY(find_family(spec->name, &family));
    DROVE_TRY(
        find_activation(activation != NULL && activation[0] != '\0' ? activation : "relu", &act));
    DROVE_TRY(
        find_loss(loss != NULL && loss[0] != '\0' ? loss : default_loss(family, io), &m->loss));
    if (io->n_features == 0)
        return drove__fail(DROVE_E_SHAPE, "model %s: the data have no features", m->spec);
    m->n_inputs = io->n_features;
    m->n_outputs = m->loss->n_outputs(io, &why);
    if (m->n_outputs == 0) {
        return drove__fail(DROVE_E_SHAPE, "model %s: loss %s does not fit the data: %s", m->spec,
                           m->loss->name, why);
    }
    strcpy(m->activation, act->name);
    DROVE_TRY(family->build(spec, io, act->act, m));
    return lay_out(m);
}

drove_status drove__model_create(const char *spec, const char *activation, const char *loss,
                                 const drove_model_io *io, drove_model **out)
{
    drove_spec parsed;
    *out = NULL;
    DROVE_TRY(drove__spec_parse(spec, &parsed));
    drove_status status = DROVE_OK;
    drove_model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        status = drove__fail_nomem("model", sizeof *m);
    } else if (strlen(spec) >= sizeof m->spec) {
        status = drove__fail(DROVE_E_ARG, "model: the description is longer than %zu bytes",
                             sizeof m->spec - 1);
    } else {
        strcpy(m->spec, spec);
        status = build(m, &parsed, activation, loss, io);
    }
    drove__spec_fini(&parsed);
    if (status != DROVE_OK) {
        drove__model_destroy(m);
        return status;
    }
    *out = m;
    return DROVE_OK;
}

void drove__model_destroy(drove_model *model)
{
    if (model == NULL) return;
    free(model->layer);
    free(model);
}

/* ---- a worker's scratch ---- */

void drove__score_add(drove_score *to, const drove_score *from)
{
    to->loss += from->loss;
    to->n_rows += from->n_rows;
    to->n_correct += from->n_correct;
    to->true_positive += from->true_positive;
    to->false_positive += from->false_positive;
    to->false_negative += from->false_negative;
}

drove_status drove__pass_init(drove_pass *pass, const drove_model *model, size_t max_rows)
{
    size_t widest = 0, n_floats = 0;
    memset(pass, 0, sizeof *pass);
    for (size_t l = 0; l < model->n_layers; l++) {
        size_t n_out = model->layer[l].n_out;
        if (max_rows > SIZE_MAX / 64 / n_out || 2 * max_rows * n_out > SIZE_MAX / 64 - n_floats) {
            return drove__fail(DROVE_E_ARG, "a batch of %zu examples is too large for model %s",
                               max_rows, model->spec);
        }
        n_floats += 2 * drove__pad_floats(max_rows * n_out);
        widest = n_out > widest ? n_out : widest;
    }
    n_floats += drove__pad_floats(widest);
    pass->out = calloc(2 * model->n_layers, sizeof *pass->out);
    pass->memory = drove__alloc(n_floats, sizeof *pass->memory);
    if (pass->out == NULL || pass->memory == NULL) {
        drove__pass_fini(pass);
        return drove__fail_nomem("outputs of a batch", n_floats * sizeof *pass->memory);
    }
    pass->max_rows = max_rows;
    pass->delta = pass->out + model->n_layers;
    float *next = pass->memory;
    for (size_t l = 0; l < model->n_layers; l++) {
        size_t size = drove__pad_floats(max_rows * model->layer[l].n_out);
        pass->out[l] = next;
        pass->delta[l] = next + size;
        next += 2 * size;
    }
    pass->db = next;
    return DROVE_OK;
}

void drove__pass_fini(drove_pass *pass)
{
    if (pass == NULL) return;
    drove__free(pass->memory);
    free(pass->out);
    memset(pass, 0, sizeof *pass);
}

/* ---- one pass ---- */

/* What layer l reads: the model's input, or the outputs of the layer below. */
static drove_input layer_input(const drove_input *in, const drove_pass *pass, size_t l)
{
    return l == 0 ? *in : (drove_input){.n_rows = in->n_rows, .dense = pass->out[l - 1]};
}

void drove__model_forward(const drove_model *model, const drovek_table *k, const float *theta,
                          const drove_input *in, drove_pass *pass)
{
    assert(in->n_rows <= pass->max_rows);
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        drove_input view = layer_input(in, pass, l);
        layer->ops->forward(layer, k, theta, &view, pass->out[l]);
    }
}

void drove__model_loss(const drove_model *model, const drovek_table *k, const drove_target *target,
                       size_t n_rows, float scale, drove_pass *pass, drove_score *score)
{
    size_t last = model->n_layers - 1;
    float *dz = scale > 0.0f ? pass->delta[last] : NULL;
    model->loss->eval(k, pass->out[last], target, n_rows, model->n_outputs, scale, dz, score);
    score->n_rows += n_rows;
}

void drove__model_backward(const drove_model *model, const drovek_table *k, const float *theta,
                           const drove_input *in, drove_pass *pass, float *grad, bool spans_wanted,
                           drove_layer_done_fn *after_layer, void *context)
{
    for (size_t l = model->n_layers; l-- > 0;) {
        const drove_layer *layer = &model->layer[l];
        drove_input view = layer_input(in, pass, l);
        float *dx = l > 0 ? pass->delta[l - 1] : NULL;
        layer->ops->backward(layer, k, theta, &view, pass->out[l], pass->delta[l], dx, grad,
                             spans_wanted);
        if (after_layer != NULL) after_layer(context, l);
    }
}

void drove__model_backward_fused(const drove_model *model, const drovek_table *k, float *theta,
                                 const drove_input *in, drove_pass *pass, float eta)
{
    for (size_t l = model->n_layers; l-- > 0;) {
        const drove_layer *layer = &model->layer[l];
        drove_input view = layer_input(in, pass, l);
        float *dx = l > 0 ? pass->delta[l - 1] : NULL;
        layer->ops->backward_fused(layer, k, theta, &view, pass->out[l], pass->delta[l], dx,
                                   pass->db, eta);
    }
}

void drove__model_predict(const drove_model *model, size_t n_rows, const drove_pass *pass,
                          float *prob)
{
    model->loss->predict(pass->out[model->n_layers - 1], n_rows, model->n_outputs, prob);
}
