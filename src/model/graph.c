/* model/graph.c - the description of a network. */
#include "model/graph.h"

#include "model/custom.h"
#include "model/graph_keys.h"

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
    free(node->opt.offset.value);
    free(node->opt.factor.value);
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

static bool is_read(const drove_graph *g, const char *blob)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        for (unsigned b = 0; b < g->node[i].n_bottoms; b++) {
            if (strcmp(g->node[i].bottom[b], blob) == 0) return true;
        }
    }
    return false;
}

bool drove__graph_drop_probabilities(drove_graph *g, bool drops_sigmoid)
{
    size_t n = 0;
    bool had_heads = g->n_heads > 0, has_dropped = false;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const drove_node *node = &g->node[i];
        bool is_sigmoid =
            drops_sigmoid && node->ops == &drove__layer_activation && node->act == DROVEK_SIGMOID;
        bool is_last = (is_sigmoid || node->ops == &drove__layer_softmax) &&
                       !is_read(g, drove__graph_top(node));
        if (is_last && !had_heads && g->n_heads < DROVE_MODEL_MOST_HEADS) {
            drove_graph_head *head = &g->head[g->n_heads++];
            *head = (drove_graph_head){.weight = 1.0f, .line = node->line};
            memcpy(head->bottom, node->bottom[0], sizeof head->bottom);
        }
        has_dropped = has_dropped || (is_last && is_sigmoid);
        if (!is_last) g->node[n++] = *node;
    }
    g->n_nodes = n;
    return has_dropped;
}

/* NULL: the input, or nothing. */
static drove_node *find_top(const drove_graph *g, const char *blob)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (strcmp(drove__graph_top(&g->node[i]), blob) == 0) return &g->node[i];
    return NULL;
}

static drove_status renew_head(drove_graph *g, drove_node *node)
{
    const char *const file = g->file != NULL ? g->file : g->name;
    drove_node *end = node;
    while (node != NULL && !drove__graph_has_parameters(node->ops)) { /* drove__head_layer's way */
        /* A vector of all numbers, however many there will be. */
        if (node->ops == &drove__layer_reshape && node->opt.sides.height == 1 &&
            node->opt.sides.width == 1)
            node->opt.n_out = 0;
        node = node->n_bottoms == 1 ? find_top(g, node->bottom[0]) : NULL;
    }
    if (node == NULL)
        return drove__fail(DROVE_E_ARG,
                           "%s: head=new: expected a dense layer or a convolution as the last with "
                           "parameters, found none below \"%s\"",
                           file, end != NULL ? end->name : "data");
    if (node->ops != &drove__layer_dense && node->ops != &drove__layer_convolution)
        return drove__fail(DROVE_E_ARG,
                           "%s: head=new: expected a dense layer or a convolution as the last with "
                           "parameters, found \"%s\" (%s)",
                           file, node->name, node->ops->name);
    free(node->values.w);
    free(node->values.b);
    node->values = (drove_node_values){0};
    node->opt.n_out = 0;
    node->opt.w_lr = node->opt.b_lr = 1.0f;
    return DROVE_OK;
}

drove_status drove__graph_renew_heads(drove_graph *g)
{
    for (unsigned h = 0; h < g->n_heads; h++)
        DROVE_TRY(renew_head(g, find_top(g, g->head[h].bottom)));
    for (size_t i = 0; g->n_heads == 0 && i < g->n_nodes; i++)
        if (!is_read(g, drove__graph_top(&g->node[i]))) DROVE_TRY(renew_head(g, &g->node[i]));
    return DROVE_OK;
}
