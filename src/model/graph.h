/* model/graph.h - the description of a network: layers with named inputs and outputs, before shapes
 * are known.
 *
 * The networks of the zoo, model files (YAML), Caffe's prototxt and ONNX all fill one of these;
 * drove__graph_build turns it into the layers of a model.
 */
#ifndef DROVE_MODEL_GRAPH_H
#define DROVE_MODEL_GRAPH_H

#include "model/layer.h"

/* Initial parameters that a file gives to a layer; memory of malloc, NULL: none. */
typedef struct drove_node_values {
    float *w, *b, *statistics; /* in theta's layout */
    size_t n_w, n_b, n_statistics;
    size_t n_in; /* dense: rows of w, [c][h][w] where the input is an image; else 0 */
} drove_node_values;

typedef struct drove_node {
    char                   name[DROVE_LAYER_NAME_SIZE];
    const drove_layer_ops *ops;
    drove_layer_options    opt;
    drovek_act             act; /* of the layer, or of a stand-alone activation */
    unsigned               n_bottoms;
    char                   bottom[DROVE_LAYER_MOST_BOTTOMS][DROVE_LAYER_NAME_SIZE];
    char                   top[DROVE_LAYER_NAME_SIZE]; /* "": same as the name */
    int                    line;                       /* in its file; 0: none */
    drove_node_values      values;                     /* owned by the graph */
} drove_node;

typedef struct drove_graph_head { /* a loss; the last one is the main head */
    char  bottom[DROVE_LAYER_NAME_SIZE];
    float weight;
    int   line;
} drove_graph_head;

typedef struct drove_graph {
    char             name[DROVE_LAYER_NAME_SIZE];
    const char      *file;                         /* for errors, borrowed; NULL: none */
    char             input[DROVE_LAYER_NAME_SIZE]; /* blob 0's name; "" = "data" */
    size_t           n_nodes, n_room;
    drove_node      *node;
    unsigned         n_heads; /* 0: the one output that no layer reads */
    drove_graph_head head[DROVE_MODEL_MOST_HEADS];
    drove_kinds     *kinds; /* the program's own, that nodes may have; NULL: none */
    char *notes; /* parts of its file that drove does not support, one line each; NULL: none */
} drove_graph;

/* The name of a node's output. */
static inline const char *drove__graph_top(const drove_node *node)
{
    return node->top[0] != '\0' ? node->top : node->name;
}

/* Makes each activation of a layer that is no end of a product a layer of its own behind it, called
 * NAME.act.  Errors: DROVE_E_NOMEM, DROVE_E_ARG (a name that is too long). */
drove_status drove__graph_split_curves(drove_graph *graph);

/* The name of blob 0. */
static inline const char *drove__graph_input(const drove_graph *graph)
{
    return graph->input[0] != '\0' ? graph->input : "data";
}

void drove__graph_init(drove_graph *graph, const char *name);
void drove__graph_fini(drove_graph *graph);    /* accepts a zeroed one */
void drove__graph_node_fini(drove_node *node); /* of one that leaves its graph */
/* Appends a zeroed node with this name and bottom (NULL: the last node's top, or the input) for the
 * caller to fill in.  Errors: DROVE_E_NOMEM, DROVE_E_ARG (a name that is too long). */
drove_status drove__graph_add(drove_graph *graph, const drove_layer_ops *ops, const char *name,
                              const char *bottom, drove_node **out);

/* Fills layer, n_layers, heads, input, is_chain, is_random of a model whose n_inputs, n_outputs and
 * spec are set (the caller sets offsets into theta): puts the nodes in order; merges an activation
 * into the layer before it if that layer takes one and no other layer reads its output; infers
 * shapes.  Errors, each with file, line and layer if known: DROVE_E_ARG (a cycle, a missing or
 * doubled blob name, a blob that no layer reads and that is not a head, no head), DROVE_E_SHAPE
 * (data that are not images, shapes that cannot match, a window larger than its input),
 * DROVE_E_NOMEM. */
drove_status drove__graph_build(const drove_graph *graph, const drove_model_io *io,
                                drove_model *model);

/* Drops softmax layers that no layer reads, and sigmoids where drops_sigmoid: they make
 * probabilities, which the loss does here.  In a graph without heads their inputs become heads.
 * Returns whether a sigmoid was dropped. */
bool drove__graph_drop_probabilities(drove_graph *graph, bool drops_sigmoid);

/* The last dense layer or convolution below each head gets as many outputs as the data will ask
 * for, no values, and the run's own step size.  Errors: DROVE_E_ARG (there is none). */
drove_status drove__graph_renew_heads(drove_graph *graph);

/* model->initial of the values that the graph's nodes have; none: NULL.  Errors: DROVE_E_SHAPE (a
 * layer's input or output is not what its values are for), DROVE_E_NOMEM. */
drove_status drove__graph_take_values(const drove_graph *graph, drove_model *model);

/* Creates a model called `spec` from a description; loss NULL or "": by the target.  Errors: those
 * of drove__model_create and drove__graph_build. */
drove_status drove__model_create_graph(const drove_graph *graph, const char *spec, const char *loss,
                                       const drove_model_io *io, drove_model **out);

/* ---- files ---- */

/* Whether spec names a model file, by its suffix: .yaml, .yml, .prototxt, .onnx. */
bool drove__graph_is_file(const char *spec);
/* Errors: DROVE_E_IO, DROVE_E_DATA (file, line, expected, found), DROVE_E_NOMEM. */
drove_status drove__graph_read_yaml(const char *text, size_t n_bytes, const char *file,
                                    drove_graph *out);
/* The same with kinds of layers of the program's own; NULL: none. */
drove_status drove__graph_read_yaml_with(const char *text, size_t n_bytes, const char *file,
                                         drove_kinds *kinds, drove_graph *out);
drove_status drove__graph_read_prototxt(const char *text, size_t n_bytes, const char *file,
                                        drove_graph *out);
/* Reads a network of ONNX with its parameters.  io: of the data, whose sides the input has where
 * the file is silent, and whose loss (NULL or "": by the target) takes a softmax or sigmoid at the
 * end; NULL: shapes are known as far as the file says, and either goes.  Errors: DROVE_E_DATA
 * (file, node, operator), DROVE_E_SHAPE (data and network do not match), those of reading files, as
 * parameters may be in others. */
drove_status drove__graph_read_onnx(const char *bytes, size_t n_bytes, const char *file,
                                    const char *loss, const drove_model_io *io, drove_graph *out);
/* The description as text that drove__graph_read_yaml reads back as an equal graph; free(). */
drove_status drove__graph_print_yaml(const drove_graph *graph, char **out);
/* Reads a model file, by its suffix.  graph->file is path: borrowed.  Errors: those of reading,
 * DROVE_E_FILE. */
drove_status drove__graph_read_file(const char *path, drove_graph *out);
drove_status drove__graph_read_file_with(const char *path, drove_kinds *kinds, const char *loss,
                                         const drove_model_io *io, drove_graph *out);

/* A model that carries its description (graph_text), as those of files do, from a saved model;
 * `spec` is the name of that file.  Errors: those of reading and of drove__model_create_graph. */
drove_status drove__model_create_text(const char *yaml, const char *spec, const char *loss,
                                      const drove_model_io *io, drove_model **out);

#endif
