/* model/graph_plan.h - a graph's names resolved: sources, order and merged activations.
 *
 * Nothing here knows shapes.
 */
#ifndef DROVE_MODEL_GRAPH_PLAN_H
#define DROVE_MODEL_GRAPH_PLAN_H

#include "model/graph.h"

#define DROVE_GRAPH_INPUT UINT32_MAX /* as a source: the model's input */

typedef struct drove_graph_source {          /* of one node */
    uint32_t from[DROVE_LAYER_MOST_BOTTOMS]; /* nodes, or DROVE_GRAPH_INPUT */
} drove_graph_source;

typedef struct drove_graph_plan {
    const drove_graph  *graph;
    size_t              n;      /* nodes */
    drove_graph_source *source; /* [n] */
    uint32_t   *order;   /* [n] each node after those that it reads; otherwise in the given order */
    uint32_t   *into;    /* [n] the node that it was merged into, or itself */
    uint32_t   *readers; /* [n] number of inputs that read its output */
    drovek_act *act;     /* [n] with merged activations */
    bool       *is_head; /* [n] */
    bool       *for_main; /* [n] a path leads to the main head */
    unsigned    n_heads;
    uint32_t    head[DROVE_MODEL_MOST_HEADS];
} drove_graph_plan;

/* Errors: those of drove__graph_build about names.  *out is valid also after a failure. */
drove_status drove__graph_plan_make(const drove_graph *graph, drove_graph_plan *out);
void         drove__graph_plan_fini(drove_graph_plan *plan);

/* Returns status with the text "FILE:LINE: layer "NAME": ..."; name NULL: without the layer. */
drove_status drove__graph_fail(const drove_graph *graph, drove_status status, int line,
                               const char *name, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Puts the same before the current text. */
drove_status drove__graph_fail_in(const drove_graph *graph, drove_status status, int line,
                                  const char *name);

#endif
