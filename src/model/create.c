/* model/create.c - builds a model from its spec, its graph or its file.
 *
 * Invariants after creation: layer[l].n_in == layer[l-1].n_out, layer[0].n_in == n_inputs,
 * layer[last].n_out == n_outputs, views ascend and start on 16-float boundaries, n_params is a
 * multiple of 16.
 */
#include "model/model.h"

#include "base/mem.h"
#include "model/custom.h"
#include "model/graph.h"
#include "model/layer.h"
#include "model/loss.h"
#include "model/support.h"

#include <stdlib.h>
#include <string.h>

/* The family's default; logistic regression of more than two classes has the softmax, of labels one
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

const char *drove__model_default_rule(const char *spec)
{
    size_t n = strcspn(spec, ":?");
    for (size_t i = 0; drove__models[i] != NULL; i++) {
        const drove_model_ops *family = drove__models[i];
        if (family->default_rule != NULL && strlen(family->name) == n &&
            strncmp(family->name, spec, n) == 0)
            return family->default_rule;
    }
    return "sgd";
}

/* Frozen layers have theirs, statistics included, in the vector of frozen parameters. */
static void lay_out_frozen(drove_model *m, drove_layer *layer)
{
    layer->w_offset = m->n_frozen;
    layer->b_offset = layer->w_offset + drove__pad_floats(layer->n_w);
    layer->s_offset = layer->b_offset + drove__pad_floats(layer->n_b);
    m->n_frozen = layer->s_offset + drove__pad_floats(layer->n_statistics);
}

/* Statistics come after all layers. */
drove_status drove__model_lay_out(drove_model *m)
{
    const size_t most = SIZE_MAX / 64; /* floats; leaves room for sizes in bytes and padding */
    m->n_params = m->n_weights = m->n_frozen = 0;
    for (size_t l = 0; l < m->n_layers; l++) {
        drove_layer *layer = &m->layer[l];
        bool is_constant = layer->training.is_frozen || layer->n_w + layer->n_b == 0;
        for (unsigned b = 0; b < layer->n_bottoms; b++)
            is_constant = is_constant && (layer->bottom[b] == 0 ||
                                          m->layer[layer->bottom[b] - 1].training.is_constant);
        layer->training.is_constant = is_constant;
        if (layer->training.is_frozen) {
            lay_out_frozen(m, layer);
            continue;
        }
        if (layer->n_w > most - m->n_params || layer->n_b > most - m->n_params - layer->n_w) {
            return drove__fail(DROVE_E_ARG, "model %s: layer %s of %zu x %zu is too large", m->spec,
                               layer->name, layer->n_in, layer->n_out);
        }
        layer->n_params = layer->n_w + layer->n_b;
        layer->w_offset = m->n_params;
        layer->b_offset = layer->w_offset + drove__pad_floats(layer->n_w);
        m->n_params = layer->b_offset + drove__pad_floats(layer->n_b);
        m->n_weights += layer->n_params;
    }
    size_t trained = m->n_params;
    for (size_t l = 0; l < m->n_layers; l++) {
        if (m->layer[l].training.is_frozen) continue;
        m->layer[l].s_offset = m->n_params;
        m->n_params += drove__pad_floats(m->layer[l].n_statistics);
    }
    m->n_statistics = m->n_params - trained;
    return DROVE_OK;
}

void drove__model_layer_part(const drove_model *model, size_t layer, size_t *offset, size_t *n)
{
    const bool is_frozen = model->layer[layer].training.is_frozen;
    size_t next = is_frozen ? layer : layer + 1;
    while (next < model->n_layers && model->layer[next].training.is_frozen) next++;
    const size_t end = next == model->n_layers ? model->n_params - model->n_statistics
                                               : model->layer[next].w_offset;
    *offset = is_frozen ? end : model->layer[layer].w_offset;
    *n = end - *offset;
}

/* Sets the sizes of every model; the loss gives the number of outputs. */
static drove_status settle_sizes(drove_model *m, const drove_activation *act, const char *loss,
                                 const drove_model_io *io)
{
    const char *why = NULL, *names[DROVE_MODEL_MAX_NAMES];
    size_t n = 0;
    const drove_kinds *kinds = m->kinds;
    const bool is_own =
        kinds != NULL && kinds->given.has_loss && strcmp(kinds->loss.name, loss) == 0;
    m->loss = is_own ? &kinds->loss : NULL;
    for (; m->loss == NULL && drove__losses[n] != NULL; n++) {
        names[n] = drove__losses[n]->name;
        if (strcmp(names[n], loss) == 0) m->loss = drove__losses[n];
    }
    if (m->loss == NULL) return drove__fail_unknown("loss", loss, names, n);
    if (io->n_features == 0)
        return drove__fail(DROVE_E_SHAPE, "model %s: the data have no features", m->spec);
    m->n_inputs = io->n_features;
    m->input = (drove_shape){io->n_features, 1, 1};
    m->n_outputs = m->loss->custom != NULL ? drove__custom_outputs(m->loss, io, &why)
                                           : m->loss->n_outputs(io, &why);
    if (m->n_outputs == 0) {
        return drove__fail(DROVE_E_SHAPE, "model %s: loss %s does not fit the data: %s", m->spec,
                           m->loss->name, why);
    }
    strcpy(m->activation, act->name);
    return DROVE_OK;
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static drove_status create_named(const char *spec, drove_kinds *kinds, drove_model **out)
{
    drove_model *m = calloc(1, sizeof *m);
    if (m == NULL) return drove__fail_nomem("model", sizeof *m);
    if (strlen(spec) >= sizeof m->spec) {
        free(m);
        return drove__fail(DROVE_E_ARG, "model: the description is longer than %zu bytes",
                           sizeof m->spec - 1);
    }
    strcpy(m->spec, spec);
    m->kinds = drove__kinds_keep(kinds);
    *out = m;
    return DROVE_OK;
}

static drove_status create_family(const char *spec, drove_kinds *kinds, const char *activation,
                                  const char *loss, const drove_model_io *io, drove_model **out)
{
    drove_spec parsed;
    drove_model *m = NULL;
    DROVE_TRY(drove__spec_parse(spec, &parsed));
    drove_status status = create_named(spec, kinds, &m);
    if (status != DROVE_OK) goto fail;

    const char *names[DROVE_MODEL_MAX_NAMES];
    const drove_model_ops *family = NULL;
    size_t n = 0;
    for (; family == NULL && drove__models[n] != NULL; n++) {
        names[n] = drove__models[n]->name;
        if (strcmp(names[n], parsed.name) == 0) family = drove__models[n];
    }
    if (family == NULL) {
        status = drove__fail_unknown("model", parsed.name, names, n);
        goto fail;
    }
    const drove_activation *act = NULL;
    if (!is_given(activation)) activation = "relu";
    for (n = 0; act == NULL && drove__activations[n].name != NULL; n++) {
        names[n] = drove__activations[n].name;
        if (strcmp(names[n], activation) == 0) act = &drove__activations[n];
    }
    if (act == NULL) {
        status = drove__fail_unknown("activation", activation, names, n);
        goto fail;
    }
    if (!is_given(loss)) loss = default_loss(family, io);
    if ((status = settle_sizes(m, act, loss, io)) != DROVE_OK) goto fail;
    if ((status = drove__spec_accept(&parsed, family->keys)) != DROVE_OK) goto fail;
    if ((status = family->build(&parsed, io, act->act, m)) != DROVE_OK) goto fail;
    if ((status = drove__model_lay_out(m)) != DROVE_OK) goto fail;
    drove__spec_fini(&parsed);
    *out = m;
    return DROVE_OK;
fail:
    drove__spec_fini(&parsed);
    drove__model_destroy(m);
    return status;
}

drove_status drove__model_create_graph(const drove_graph *graph, const char *spec, const char *loss,
                                       const drove_model_io *io, drove_model **out)
{
    drove_model *m = NULL;
    *out = NULL;
    static const drove_model_ops family = {.default_loss = NULL};
    DROVE_TRY(create_named(spec, graph->kinds, &m));
    const char *name = is_given(loss) ? loss : default_loss(&family, io);
    drove_status status = settle_sizes(m, &drove__activations[0], name, io);
    if (status == DROVE_OK) status = drove__graph_build(graph, io, m);
    if (status == DROVE_OK) status = drove__model_lay_out(m);
    if (status != DROVE_OK) {
        drove__model_destroy(m);
        return status;
    }
    *out = m;
    return DROVE_OK;
}

/* Creates the model, which then carries its description; releases graph. */
static drove_status create_described(drove_graph *graph, const char *spec, const char *loss,
                                     const drove_model_io *io, drove_model **out)
{
    char *text = NULL;
    *out = NULL;
    drove_status status = io->makes_heads ? drove__graph_renew_heads(graph) : DROVE_OK;
    if (status == DROVE_OK) status = drove__model_create_graph(graph, spec, loss, io, out);
    if (status == DROVE_OK) status = drove__graph_take_values(graph, *out);
    if (status == DROVE_OK) status = drove__graph_print_yaml(graph, &text);
    if (status == DROVE_OK) {
        (*out)->graph_text = text;
        (*out)->notes = graph->notes;
        graph->notes = NULL;
    } else {
        drove__model_destroy(*out);
        *out = NULL;
    }
    drove__graph_fini(graph);
    return status;
}

drove_status drove__model_create(const char *spec, const char *activation, const char *loss,
                                 const drove_model_io *io, drove_model **out)
{
    drove_graph graph;
    drove_kinds *kinds;
    *out = NULL;
    if (spec[0] == '\0') spec = DROVE_MODEL_USUAL;
    DROVE_TRY(drove__kinds_create(io->custom, &kinds));
    drove_status status;
    if (drove__graph_is_file(spec)) {
        status = drove__graph_read_file_with(spec, kinds, loss, io, &graph);
        if (status == DROVE_OK) status = create_described(&graph, spec, loss, io, out);
    } else {
        status = create_family(spec, kinds, activation, loss, io, out);
    }
    drove__kinds_release(kinds);
    if (status == DROVE_OK) (*out)->has_new_heads = io->makes_heads;
    return status;
}

drove_status drove__model_create_text(const char *yaml, const char *spec, const char *loss,
                                      const drove_model_io *io, drove_model **out)
{
    drove_graph graph;
    drove_kinds *kinds;
    *out = NULL;
    DROVE_TRY(drove__kinds_create(io->custom, &kinds));
    drove_status status = drove__graph_read_yaml_with(yaml, strlen(yaml), spec, kinds, &graph);
    if (status == DROVE_OK) status = create_described(&graph, spec, loss, io, out);
    drove__kinds_release(kinds);
    if (status == DROVE_OK) (*out)->has_new_heads = io->makes_heads;
    return status;
}

bool drove__layer_has_matrix(const drove_layer *l)
{
    return l->ops == &drove__layer_dense || l->ops == &drove__layer_convolution;
}

size_t drove__model_matrices(const drove_model *model, drove_weight_matrix *out)
{
    size_t n = 0, begin = 0, last = model->n_layers;
    while (last > 0 && !drove__layer_has_matrix(&model->layer[last - 1])) last--;
    if (!model->layer[0].training.is_above_matrix) {
        while (begin < last && !drove__layer_has_matrix(&model->layer[begin])) begin++;
        begin++;
    }
    for (size_t i = begin; i + 1 < last; i++) {
        const drove_layer *l = &model->layer[i];
        bool is_output = false; /* of another head */
        for (unsigned h = 0; h < model->n_heads; h++)
            is_output = is_output || model->head[h].layer == i;
        if (!drove__layer_has_matrix(l) || is_output || l->training.is_frozen) continue;
        const size_t n_groups = l->w_rank == 5 ? l->w_shape[0] : 1;
        const size_t n_out = l->w_shape[l->w_rank - 1];
        out[n++] = (drove_weight_matrix){.offset = l->w_offset,
                                         .n_groups = n_groups,
                                         .n_in = l->n_w / n_groups / n_out,
                                         .n_out = n_out};
    }
    return n;
}

void drove__model_destroy(drove_model *model)
{
    if (model == NULL) return;
    for (size_t l = 0; l < model->n_layers; l++) drove__layer_lists_free(&model->layer[l].opt);
    free(model->layer);
    free(model->graph_text);
    free(model->notes);
    drove__free(model->initial);
    drove__free(model->frozen);
    drove__kinds_release(model->kinds);
    free(model);
}
