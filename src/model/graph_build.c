/* model/graph_build.c - how the description of a network becomes the layers of a model.
 *
 * graph_plan.c handles names, order and merging; here layers get blobs and shapes.
 */
#include "model/graph_plan.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 24 }; /* limit of shape sides and window sizes: products are checked, too */

/* Most floats per example of a blob, or in a layer's weights: sizes in bytes and gaps still fit. */
static const size_t most_floats = SIZE_MAX / 4096;

/* ---- layers ---- */

static bool multiply(size_t *product, size_t factor, size_t most)
{
    if (factor != 0 && *product > most / factor) return false;
    *product *= factor;
    return true;
}

static bool shape_fits(drove_shape s)
{
    size_t n = 1;
    return s.c > 0 && s.h > 0 && s.w > 0 && multiply(&n, s.c, most_floats) &&
           multiply(&n, s.h, most_floats) && multiply(&n, s.w, most_floats);
}

static drove_status find_shape(drove_layer *l, const drove_shape *bottom, size_t n_outputs)
{
    if (l->act != DROVEK_LINEAR && !l->ops->takes_act && l->ops != &drove__layer_activation) {
        return drove__fail(DROVE_E_ARG,
                           "%s takes no activation; expected a layer of type activation after it",
                           l->ops->name);
    }

    /* The other fillers depend on fans, which only weights have. */
    const char *filler = l->opt.b_filler.kind;
    if (filler != NULL && strcmp(filler, "constant") != 0 && strcmp(filler, "normal") != 0)
        return drove__fail(DROVE_E_ARG,
                           "expected biases that start as constant or normal, found %s", filler);
    unsigned least = l->ops->least_bottoms, most = l->ops->most_bottoms;
    if (l->n_bottoms < least || l->n_bottoms > most) {
        const char *some = least == most ? "" : l->n_bottoms < least ? "at least " : "at most ";
        unsigned n = l->n_bottoms < least ? least : most;
        return drove__fail(DROVE_E_ARG, "%s takes %s%u input%s, found %u", l->ops->name, some, n,
                           n == 1 ? "" : "s", l->n_bottoms);
    }

    /* Ensures that no product in a layer's `shape` overflows. */
    const drovek_window *v = &l->opt.window;
    const size_t side[] = {v->kh,
                           v->kw,
                           v->sh,
                           v->sw,
                           v->ph,
                           v->pw,
                           v->dh,
                           v->dw,
                           l->opt.padding.below,
                           l->opt.padding.right,
                           l->opt.lrn.size,
                           l->opt.groups,
                           l->opt.n_out};
    size_t weights = l->opt.n_out != 0 ? l->opt.n_out : n_outputs > 0 ? n_outputs : 1;
    bool fits = true;
    for (size_t i = 0; i < sizeof side / sizeof side[0]; i++) fits = fits && side[i] <= MOST_SIDE;
    bool is_dense = l->ops == &drove__layer_dense;
    fits = fits &&
           multiply(&weights, is_dense ? drove__shape_floats(bottom[0]) : bottom[0].c, most_floats);
    fits = fits && multiply(&weights, v->kh, most_floats) && multiply(&weights, v->kw, most_floats);
    if (!fits) return drove__fail(DROVE_E_ARG, "the layer is too large");
    DROVE_TRY(l->ops->shape(l, bottom, l->n_bottoms, n_outputs));
    if (!shape_fits(l->out) || l->n_w > most_floats || l->n_b > most_floats)
        return drove__fail(DROVE_E_ARG, "the layer is too large");
    l->n_in = drove__shape_floats(l->in);
    l->n_out = drove__shape_floats(l->out);
    l->n_params = l->n_w + l->n_b;

    /* All parameters of a layer are frozen, or none. */
    const bool keeps_w = l->opt.w_lr == DROVE_LR_NONE, keeps_b = l->opt.b_lr == DROVE_LR_NONE;
    if (l->n_w > 0 && l->n_b > 0 && keeps_w != keeps_b)
        return drove__fail(DROVE_E_ARG,
                           "weight_lr and bias_lr: expected both to be 0 (a layer that is not "
                           "trained) or neither, found one");
    return DROVE_OK;
}

/* The blob of a node's output; layer_of[n]. */
static uint32_t blob_of(const drove_graph_plan *p, const uint32_t *layer_of, uint32_t node)
{
    return node == DROVE_GRAPH_INPUT ? 0 : layer_of[p->into[node]] + 1;
}

static drove_status make_layer(const drove_graph_plan *p, uint32_t n, const uint32_t *layer_of,
                               drove_model *m)
{
    const drove_node *node = &p->graph->node[n];
    drove_layer *l = &m->layer[m->n_layers];
    drove_shape shape[DROVE_LAYER_MOST_BOTTOMS];
    *l = (drove_layer){.ops = node->ops,
                       .n_bottoms = node->n_bottoms,
                       .act = p->act[n],
                       .opt = node->opt,
                       .training.is_only = !p->for_main[n]};
    memcpy(l->name, node->name, sizeof l->name);
    for (unsigned b = 0; b < l->n_bottoms; b++) {
        l->bottom[b] = blob_of(p, layer_of, p->source[n].from[b]);
        shape[b] = l->bottom[b] == 0 ? m->input : m->layer[l->bottom[b] - 1].out;
    }

    /* Replaces each 0 by its meaning, and gives each meaning one form. */
    drove_layer_options *o = &l->opt;
    size_t *const ones[] = {&o->groups,    &o->window.kh, &o->window.kw, &o->window.sh,
                            &o->window.sw, &o->window.dh, &o->window.dw};
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++) {
        if (*ones[i] == 0) *ones[i] = 1;
    }
    const drove_activation *act = drove__activation(l->act);
    if (o->slope == DROVE_ACT_OWN) o->slope = act != NULL ? act->slope.value : 0.0f;
    if (o->level == DROVE_ACT_OWN) o->level = act != NULL ? act->level.value : 0.0f;
    if (o->w_lr == 1.0f) o->w_lr = 0.0f; /* so that a layer with the run's own step is recognised */
    if (o->b_lr == 1.0f) o->b_lr = 0.0f;
    bool has_coefficient = false;
    for (unsigned b = 0; b < l->n_bottoms; b++) {
        has_coefficient = has_coefficient || o->coefficient[b] != 0.0f;
    }
    for (unsigned b = 0; b < l->n_bottoms && !has_coefficient; b++) o->coefficient[b] = 1.0f;
    drove_status status = find_shape(l, shape, m->n_outputs);
    if (status != DROVE_OK) return drove__graph_fail_in(p->graph, status, node->line, node->name);
    DROVE_TRY(drove__layer_lists_copy(&l->opt));
    m->n_layers++;
    return DROVE_OK;
}

/* ---- properties of the whole model ---- */

/* Backward goes from the last layer to the first: the last reader of a blob writes its derivative
 * and the others add to it; if a head has written before, all add. */
static drove_status find_adds(drove_model *m)
{
    bool *written = calloc(m->n_layers + 1, sizeof *written);
    if (written == NULL) return drove__fail_nomem("layers", m->n_layers + 1);
    for (unsigned h = 0; h < m->n_heads; h++) written[m->head[h].layer + 1] = true;
    for (size_t l = m->n_layers; l-- > 0;) {
        drove_layer *layer = &m->layer[l];
        for (unsigned b = 0; b < layer->n_bottoms; b++) {
            layer->adds[b] = written[layer->bottom[b]];
            written[layer->bottom[b]] = true;
        }
    }
    free(written);
    return DROVE_OK;
}

/* Whether it is for images alone: a convolution of 1 x 1 is a product of a vector's groups. */
static bool needs_image(const drove_node *node)
{
    const drovek_window *w = &node->opt.window;
    const drove_padding *q = &node->opt.padding;
    if (node->ops == &drove__layer_convolution)
        return w->kh > 1 || w->kw > 1 || w->ph + w->pw + q->below + q->right > 0;
    return node->ops == &drove__layer_max_pool || node->ops == &drove__layer_average_pool ||
           node->ops == &drove__layer_lrn;
}

static drove_status take_input(const drove_graph *g, const drove_model_io *io, drove_model *m)
{
    bool is_image = drove__shape_floats(io->image) != 0;
    m->input = is_image ? io->image : (drove_shape){m->n_inputs, 1, 1};
    if (!shape_fits(m->input) || drove__shape_floats(m->input) != m->n_inputs) {
        return drove__graph_fail(g, DROVE_E_SHAPE, 0, NULL,
                                 "images of %zu x %zu x %zu do not have %zu numbers", m->input.c,
                                 m->input.h, m->input.w, m->n_inputs);
    }
    bool makes_image = false; /* of the vector */
    for (size_t i = 0; i < g->n_nodes; i++)
        makes_image =
            makes_image || (g->node[i].ops == &drove__layer_reshape && g->node[i].opt.n_out > 0);
    for (size_t i = 0; i < g->n_nodes && !is_image && !makes_image; i++) {
        const drove_node *node = &g->node[i];
        if (!needs_image(node)) continue;
        return drove__graph_fail(g, DROVE_E_SHAPE, node->line, node->name,
                                 "%s needs images (mnist, cifar10, idx, "
                                 "synth:images), found vectors of %zu numbers",
                                 node->ops->name, m->n_inputs);
    }
    return DROVE_OK;
}

drove_status drove__graph_build(const drove_graph *graph, const drove_model_io *io,
                                drove_model *model)
{
    drove_graph_plan plan;
    uint32_t *layer_of = NULL;
    drove_status status = drove__graph_plan_make(graph, &plan);
    if (status != DROVE_OK) goto end;
    layer_of = calloc(plan.n, sizeof *layer_of);
    if (layer_of == NULL) {
        status = drove__fail_nomem("layers", plan.n * sizeof *layer_of);
        goto end;
    }
    if ((status = take_input(graph, io, model)) != DROVE_OK) goto end;
    model->layer = calloc(plan.n, sizeof *model->layer);
    if (model->layer == NULL) {
        status = drove__fail_nomem("layers", plan.n * sizeof *model->layer);
        goto end;
    }
    for (size_t i = 0; i < plan.n; i++) {
        uint32_t n = plan.order[i];
        if (plan.into[n] != n) continue;
        layer_of[n] = (uint32_t)model->n_layers;
        if ((status = make_layer(&plan, n, layer_of, model)) != DROVE_OK) goto end;
    }

    /* The heads. */
    for (unsigned h = 0; h < plan.n_heads; h++) {
        size_t layer = blob_of(&plan, layer_of, plan.head[h]) - 1;
        const drove_layer *l = &model->layer[layer];
        if (l->n_out != model->n_outputs) {
            status =
                drove__graph_fail(graph, DROVE_E_SHAPE, graph->node[plan.head[h]].line, l->name,
                                  "expected %zu outputs, as the data and the loss require, "
                                  "found %zu%s",
                                  model->n_outputs, l->n_out,
                                  graph->file != NULL ? " (?head=new makes the last layer anew)"
                                                      : "");
            goto end;
        }
        float weight = graph->n_heads > 0 ? graph->head[h].weight : 1.0f;
        model->head[h] = (drove_head){.layer = layer, .weight = weight};
    }
    model->n_heads = plan.n_heads;
    if ((status = find_adds(model)) != DROVE_OK) goto end;

    /* Properties of the whole model. */
    model->is_chain = model->n_heads == 1;
    for (size_t l = 0; l < model->n_layers; l++) {
        const drove_layer *layer = &model->layer[l];
        model->is_chain =
            model->is_chain && layer->ops == &drove__layer_dense && layer->bottom[0] == l;
        model->is_random =
            model->is_random || (layer->ops == &drove__layer_dropout && layer->opt.ratio > 0.0f);
    }
end:
    free(layer_of);
    drove__graph_plan_fini(&plan);
    return status;
}
