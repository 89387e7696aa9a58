/* model/graph.c - the description of a network. */
#include "model/graph.h"

#include "model/custom.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 14 };

void drove__graph_init(drove_graph *graph, const char *name)
{
    *graph = (drove_graph){0};
    snprintf(graph->name, sizeof graph->name, "%s", name);
}

void drove__graph_node_fini(drove_node *node)
{
    free(node->values.w);
    free(node->values.b);
    free(node->values.statistics);
    drove__layer_lists_free(&node->opt);
}

void drove__graph_fini(drove_graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) drove__graph_node_fini(&graph->node[i]);
    free(graph->node);
    free(graph->notes);
    drove__kinds_release(graph->kinds);
    *graph = (drove_graph){0};
}

static drove_status copy_name(char to[DROVE_LAYER_NAME_SIZE], const char *name)
{
    size_t n = strlen(name);
    if (n >= DROVE_LAYER_NAME_SIZE) {
        return drove__fail(DROVE_E_ARG, "expected a name of at most %d bytes, found \"%.80s\"",
                           DROVE_LAYER_NAME_SIZE - 1, name);
    }
    memcpy(to, name, n + 1);
    return DROVE_OK;
}

drove_status drove__graph_add(drove_graph *graph, const drove_layer_ops *ops, const char *name,
                              const char *bottom, drove_node **out)
{
    if (graph->n_nodes == graph->n_room) {
        if (graph->n_nodes == MOST_NODES)
            return drove__fail(DROVE_E_ARG, "expected at most %d layers, found more", MOST_NODES);
        size_t n_room = graph->n_room > 0 ? 2 * graph->n_room : 16;
        drove_node *grown = realloc(graph->node, n_room * sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("layers", n_room * sizeof *grown);
        graph->node = grown;
        graph->n_room = n_room;
    }
    drove_node *node = &graph->node[graph->n_nodes];
    *node = (drove_node){.ops = ops,
                         .n_bottoms = 1,
                         .opt = {.slope = DROVE_ACT_OWN, .level = DROVE_ACT_OWN}};
    DROVE_TRY(copy_name(node->name, name));
    if (bottom == NULL) {
        bottom = graph->n_nodes > 0 ? drove__graph_top(node - 1) : drove__graph_input(graph);
    }
    DROVE_TRY(copy_name(node->bottom[0], bottom));
    graph->n_nodes++;
    *out = node;
    return DROVE_OK;
}

static drove_status split_curve(drove_graph *graph, size_t i)
{
    char name[DROVE_LAYER_NAME_SIZE + 8];
    drove_node *act, *node = &graph->node[i];
    snprintf(name, sizeof name, "%s.act", node->name);
    DROVE_TRY(drove__graph_add(graph, &drove__layer_activation, name, NULL, &act));
    node = &graph->node[i]; /* which may have moved */
    act->act = node->act;
    act->line = node->line;
    memcpy(act->top, drove__graph_top(node), sizeof act->top);
    snprintf(name, sizeof name, "%s.sum", node->name);
    DROVE_TRY(copy_name(node->top, name));
    memcpy(act->bottom[0], node->top, sizeof act->bottom[0]);
    node->act = DROVEK_LINEAR;
    return DROVE_OK;
}

drove_status drove__graph_split_curves(drove_graph *graph)
{
    const size_t n = graph->n_nodes;
    for (size_t i = 0; i < n; i++) {
        const drove_node *node = &graph->node[i];
        if (!node->ops->takes_act || !drovek_is_curve(node->act)) continue;
        const drove_status status = split_curve(graph, i);
        node = &graph->node[i];
        if (status == DROVE_OK) continue;
        if (graph->file == NULL) return status;
        return drove__fail_in(status, "%s:%d: layer \"%s\"", graph->file, node->line, node->name);
    }
    return DROVE_OK;
}
