/* model/graph_values.c - the initial parameters of a network whose file has them.
 *
 * Files have the rows of a dense layer that reads an image in the order [c][h][w]; theta has them
 * in [h][w][c].  The model's input is as the data have it, [c][h][w].
 */
#include "model/graph_plan.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static drove_status check(const drove_graph *g, const drove_node *node, const drove_layer *l)
{
    const drove_node_values *v = &node->values;
    if (v->n_in != 0 && v->n_in != l->n_in)
        return drove__graph_fail(g, DROVE_E_SHAPE, node->line, node->name,
                                 "expected weights for %zu inputs, as the layer has here, found "
                                 "weights for %zu",
                                 l->n_in, v->n_in);
    if (v->n_w != l->n_w || v->n_b != l->n_b || v->n_statistics != l->n_statistics)
        return drove__graph_fail(g, DROVE_E_SHAPE, node->line, node->name,
                                 "expected %zu weights, %zu biases and %zu statistics, found %zu, "
                                 "%zu and %zu",
                                 l->n_w, l->n_b, l->n_statistics, v->n_w, v->n_b, v->n_statistics);
    for (size_t i = 0; i < v->n_w + v->n_b + v->n_statistics; i++) {
        float x = i < v->n_w            ? v->w[i]
                  : i < v->n_w + v->n_b ? v->b[i - v->n_w]
                                        : v->statistics[i - v->n_w - v->n_b];
        if (!isfinite(x))
            return drove__graph_fail(g, DROVE_E_DATA, node->line, node->name,
                                     "expected finite parameters, found %g", (double)x);
    }
    return DROVE_OK;
}

drove_status drove__graph_take_values(const drove_graph *graph, drove_model *model)
{
    bool has_values = false;
    for (size_t i = 0; i < graph->n_nodes; i++)
        has_values = has_values || graph->node[i].values.w != NULL;
    if (!has_values) return DROVE_OK;
    model->initial = drove__alloc(model->n_params, sizeof *model->initial);
    if (model->initial == NULL)
        return drove__fail_nomem("parameters", model->n_params * sizeof *model->initial);
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const drove_node *node = &graph->node[i];
        const drove_node_values *v = &node->values;
        const drove_layer *l = NULL; /* NULL: not in the model, or its values are not */
        for (size_t k = 0; v->w != NULL && l == NULL && k < model->n_layers; k++)
            if (strcmp(model->layer[k].name, node->name) == 0) l = &model->layer[k];
        if (l == NULL) continue;
        DROVE_TRY(check(graph, node, l));
        float *w = model->initial + l->w_offset;
        const size_t n_channels = l->in.c, n_places = l->in.h * l->in.w;
        const bool is_reordered = v->n_in != 0 && l->bottom[0] != 0 && n_places != 1;
        if (!is_reordered) memcpy(w, v->w, v->n_w * sizeof *w);
        for (size_t row = 0; is_reordered && row < l->n_in; row++) {
            size_t here = row % n_places * n_channels + row / n_places;
            memcpy(w + here * l->n_out, v->w + row * l->n_out, l->n_out * sizeof *w);
        }
        if (v->n_b > 0) memcpy(model->initial + l->b_offset, v->b, v->n_b * sizeof(float));
        if (v->n_statistics > 0)
            memcpy(model->initial + l->s_offset, v->statistics, v->n_statistics * sizeof(float));
    }
    return DROVE_OK;
}
