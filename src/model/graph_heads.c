/* model/graph_heads.c - the outputs of a network from a file: which they are, and new ones. */
#include "model/graph.h"

#include "model/graph_keys.h"

#include <stdlib.h>
#include <string.h>

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
