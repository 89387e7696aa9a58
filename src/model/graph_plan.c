/* model/graph_plan.c - resolves names, orders nodes, merges activations. */
#include "model/graph_plan.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---- */

drove_status drove__graph_fail_in(const drove_graph *graph, drove_status status, int line,
                                  const char *name)
{
    if (name != NULL) status = drove__fail_in(status, "layer \"%s\"", name);
    if (graph->file == NULL) return drove__fail_in(status, "model %s", graph->name);
    if (line <= 0) return drove__fail_in(status, "%s", graph->file);
    return drove__fail_in(status, "%s:%d", graph->file, line);
}

drove_status drove__graph_fail(const drove_graph *graph, drove_status status, int line,
                               const char *name, const char *format, ...)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return drove__graph_fail_in(graph, drove__fail(status, "%s", text), line, name);
}

/* ---- names ---- */

typedef struct entry {
    const char *name;
    uint32_t node;
} entry;

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order != 0) return order;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int compare_name(const void *name, const void *b)
{
    return strcmp(name, ((const entry *)b)->name);
}

/* Checks that names of layers differ: parameters are saved under them. */
static drove_status check_names(const drove_graph_plan *p, entry *table)
{
    const drove_graph *g = p->graph;
    for (size_t i = 0; i < p->n; i++) table[i] = (entry){g->node[i].name, (uint32_t)i};
    qsort(table, p->n, sizeof *table, compare_entries);
    for (size_t i = 0; i < p->n; i++) {
        const drove_node *node = &g->node[table[i].node];
        char place[40] = "";
        if (node->name[0] == '\0')
            return drove__graph_fail(g, DROVE_E_ARG, node->line, NULL, "expected a layer's name");
        if (i == 0 || strcmp(table[i - 1].name, table[i].name) != 0) continue;
        const int first = g->node[table[i - 1].node].line; /* 0: lines are not known */
        if (first > 0) snprintf(place, sizeof place, " (first on line %d)", first);
        return drove__graph_fail(g, DROVE_E_ARG, node->line, node->name,
                                 "expected each name once, found it again%s", place);
    }
    return DROVE_OK;
}

/* table[n + 1]: the blobs by name; each must be written once. */
static drove_status list_blobs(const drove_graph_plan *p, entry *table)
{
    const drove_graph *g = p->graph;
    for (size_t i = 0; i < p->n; i++)
        table[i] = (entry){drove__graph_top(&g->node[i]), (uint32_t)i};
    table[p->n] = (entry){drove__graph_input(g), DROVE_GRAPH_INPUT};
    qsort(table, p->n + 1, sizeof *table, compare_entries);
    for (size_t i = 1; i <= p->n; i++) {
        if (strcmp(table[i - 1].name, table[i].name) != 0) continue;
        bool with_input = table[i].node == DROVE_GRAPH_INPUT;
        const drove_node *node = &g->node[with_input ? table[i - 1].node : table[i].node];
        const char *other = with_input ? NULL : g->node[table[i - 1].node].name;
        return drove__graph_fail(g, DROVE_E_ARG, node->line, node->name,
                                 "output \"%s\" is already %s%s%s", table[i].name,
                                 with_input ? "the model's input" : "that of layer \"",
                                 with_input ? "" : other, with_input ? "" : "\"");
    }
    return DROVE_OK;
}

static drove_status find_blob(const drove_graph_plan *p, const entry *table, const char *blob,
                              int line, const char *layer, uint32_t *out)
{
    const entry *found = bsearch(blob, table, p->n + 1, sizeof *table, compare_name);
    if (found != NULL) {
        *out = found->node;
        return DROVE_OK;
    }
    const char **names = calloc(p->n + 1, sizeof *names);
    const char *near = NULL;
    if (names != NULL) {
        for (size_t i = 0; i <= p->n; i++) names[i] = table[i].name;
        near = drove__nearest(blob, names, p->n + 1);
    }
    drove_status status = drove__graph_fail(p->graph, DROVE_E_ARG, line, layer,
                                            "%s \"%s\" is not the output of a layer%s%s%s",
                                            layer != NULL ? "input" : "head", blob,
                                            near != NULL ? "; did you mean \"" : "",
                                            near != NULL ? near : "", near != NULL ? "\"?" : "");
    free(names);
    return status;
}

/* source[], readers[], and the heads that are named. */
static drove_status resolve(drove_graph_plan *p, const entry *table)
{
    const drove_graph *g = p->graph;
    for (size_t i = 0; i < p->n; i++) {
        const drove_node *node = &g->node[i];
        for (unsigned b = 0; b < node->n_bottoms; b++) {
            uint32_t from;
            DROVE_TRY(find_blob(p, table, node->bottom[b], node->line, node->name, &from));
            p->source[i].from[b] = from;
            if (from != DROVE_GRAPH_INPUT) p->readers[from]++;
        }
    }
    for (unsigned h = 0; h < g->n_heads; h++) {
        uint32_t from;
        DROVE_TRY(find_blob(p, table, g->head[h].bottom, g->head[h].line, NULL, &from));
        if (from == DROVE_GRAPH_INPUT || p->is_head[from]) {
            return drove__graph_fail(g, DROVE_E_ARG, g->head[h].line, NULL, "head \"%s\" is %s",
                                     g->head[h].bottom,
                                     from == DROVE_GRAPH_INPUT ? "the model's input"
                                                               : "named twice");
        }
        p->is_head[from] = true;
        p->head[p->n_heads++] = from;
    }
    return DROVE_OK;
}

/* ---- order ---- */

/* path[n_path] ends with a node that reads the node `again` of the path. */
static drove_status fail_cycle(const drove_graph_plan *p, const uint32_t *path, size_t n_path,
                               uint32_t again)
{
    enum { MOST_SHOWN = 8 };
    const drove_graph *g = p->graph;
    char text[MOST_SHOWN * (DROVE_LAYER_NAME_SIZE + 10) + 20];
    size_t first = n_path, used = 0;
    while (path[--first] != again) continue;
    for (size_t i = first; i < n_path && i < first + MOST_SHOWN; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "\"%s\" reads ",
                                 g->node[path[i]].name);
    }
    return drove__graph_fail(g, DROVE_E_ARG, g->node[again].line, NULL,
                             "layers in a cycle: %s%s\"%s\"", text,
                             n_path - first > MOST_SHOWN ? "... reads " : "", g->node[again].name);
}

/* Orders nodes so that each comes after those it reads, depth first from the first to the last: a
 * graph that is in order stays unchanged. */
static drove_status sort_nodes(drove_graph_plan *p)
{
    enum { NEW, OPEN, DONE };
    size_t n_order = 0;
    uint32_t *path = calloc(2 * p->n, sizeof *path), *next = path + p->n;
    unsigned char *state = calloc(p->n, 1);
    drove_status status = path != NULL && state != NULL
                              ? DROVE_OK
                              : drove__fail_nomem("the order of layers", 2 * p->n * sizeof *path);
    for (size_t i = 0; i < p->n && status == DROVE_OK; i++) {
        size_t n_path = 0;
        if (state[i] != NEW) continue;
        for (path[n_path++] = (uint32_t)i, next[i] = 0, state[i] = OPEN; n_path > 0;) {
            uint32_t node = path[n_path - 1];
            if (next[node] == p->graph->node[node].n_bottoms) {
                state[node] = DONE;
                p->order[n_order++] = node;
                n_path--;
                continue;
            }
            uint32_t from = p->source[node].from[next[node]++];
            if (from == DROVE_GRAPH_INPUT || state[from] == DONE) continue;
            if (state[from] == OPEN) {
                status = fail_cycle(p, path, n_path, from);
                break;
            }
            path[n_path++] = from;
            next[from] = 0;
            state[from] = OPEN;
        }
    }
    free(state);
    free(path);
    return status;
}

/* ---- heads ---- */

/* Checks that every output is read or is a head. */
static drove_status find_heads(drove_graph_plan *p)
{
    const drove_graph *g = p->graph;
    for (size_t i = 0; i < p->n; i++) {
        if (p->readers[i] > 0 || p->is_head[i]) continue;
        const drove_node *node = &g->node[i];
        if (g->n_heads > 0) {
            return drove__graph_fail(g, DROVE_E_ARG, node->line, node->name,
                                     "no layer reads output \"%s\", and it is not a head",
                                     drove__graph_top(node));
        }
        if (p->n_heads > 0) {
            return drove__graph_fail(
                g, DROVE_E_ARG, node->line, node->name,
                "expected one output that no layer reads, or named heads; found \"%s\" and "
                "\"%s\"",
                drove__graph_top(&g->node[p->head[0]]), drove__graph_top(node));
        }
        p->head[p->n_heads++] = (uint32_t)i;
        p->is_head[i] = true;
    }
    return DROVE_OK;
}

/* ---- the plan ---- */

drove_status drove__graph_plan_make(const drove_graph *graph, drove_graph_plan *out)
{
    *out = (drove_graph_plan){.graph = graph, .n = graph->n_nodes};
    if (graph->n_nodes == 0)
        return drove__graph_fail(graph, DROVE_E_ARG, 0, NULL, "expected layers, found none");
    out->source = calloc(out->n, sizeof *out->source);
    out->order = calloc(out->n, sizeof *out->order);
    out->into = calloc(out->n, sizeof *out->into);
    out->readers = calloc(out->n, sizeof *out->readers);
    out->act = calloc(out->n, sizeof *out->act);
    out->is_head = calloc(out->n, sizeof *out->is_head);
    out->for_main = calloc(out->n, sizeof *out->for_main);
    if (out->source == NULL || out->order == NULL || out->into == NULL || out->readers == NULL ||
        out->act == NULL || out->is_head == NULL || out->for_main == NULL)
        return drove__fail_nomem("a graph of layers", out->n * sizeof *out->source);
    for (size_t i = 0; i < out->n; i++) {
        out->into[i] = (uint32_t)i;
        out->act[i] = out->graph->node[i].act;
    }
    entry *table = calloc(out->n + 1, sizeof *table);
    if (table == NULL) return drove__fail_nomem("names of layers", (out->n + 1) * sizeof *table);
    drove_status status = check_names(out, table);
    if (status == DROVE_OK) status = list_blobs(out, table);
    if (status == DROVE_OK) status = resolve(out, table);
    free(table);
    DROVE_TRY(status);
    DROVE_TRY(sort_nodes(out));
    DROVE_TRY(find_heads(out));

    /* The paths to the main head, the last. */
    out->for_main[out->head[out->n_heads - 1]] = true;
    for (size_t i = out->n; i-- > 0;) {
        uint32_t node = out->order[i];
        for (unsigned b = 0; out->for_main[node] && b < graph->node[node].n_bottoms; b++) {
            uint32_t from = out->source[node].from[b];
            if (from != DROVE_GRAPH_INPUT) out->for_main[from] = true;
        }
    }

    /* Merges an activation that is no curve into the layer before it if that layer takes one and
     * has none, and nothing else reads its output. */
    for (size_t i = 0; i < out->n; i++) {
        uint32_t node = out->order[i], from = out->source[node].from[0];
        if (graph->node[node].ops != &drove__layer_activation || graph->node[node].n_bottoms != 1 ||
            from == DROVE_GRAPH_INPUT || drovek_is_curve(graph->node[node].act))
            continue;
        uint32_t root = out->into[from];
        if (!graph->node[root].ops->takes_act || out->act[root] != DROVEK_LINEAR ||
            out->readers[from] != 1 || out->is_head[from])
            continue;
        out->into[node] = root;
        out->act[root] = out->act[node];
    }
    return DROVE_OK;
}

void drove__graph_plan_fini(drove_graph_plan *plan)
{
    free(plan->source);
    free(plan->order);
    free(plan->into);
    free(plan->readers);
    free(plan->act);
    free(plan->is_head);
    free(plan->for_main);
    *plan = (drove_graph_plan){0};
}
