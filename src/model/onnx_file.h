/* model/onnx_file.h - declarations shared by the files that read ONNX. */
#ifndef DROVE_MODEL_ONNX_FILE_H
#define DROVE_MODEL_ONNX_FILE_H

#include "model/graph_keys.h"
#include "model/onnx.pb-c.h"

#define DROVE_ONNX_NO_NODE UINT32_MAX /* of a value that no node of the graph writes */

typedef enum drove_onnx_kind {
    DROVE_ONNX_NONE,     /* an input that is not given */
    DROVE_ONNX_BLOB,     /* of the network */
    DROVE_ONNX_CONSTANT, /* parameters, sizes */
    DROVE_ONNX_SIZES,    /* computed from the sizes of others */
    DROVE_ONNX_ASIDE     /* made of the network's output: labels */
} drove_onnx_kind;

typedef struct drove_onnx_value {
    const char                *name; /* in the file */
    drove_onnx_kind            kind;
    uint32_t                   node;                         /* BLOB: that writes it, or NO_NODE */
    char                       graph[DROVE_LAYER_NAME_SIZE]; /* BLOB: its name in the graph */
    const Drove__Onnx__Tensor *tensor;                       /* CONSTANT */
    bool                       is_transposed;                /* of two dimensions */
} drove_onnx_value;

/* Notes that are given once, however often they apply. */
enum { DROVE_ONNX_NOTE_SCALER = 1, DROVE_ONNX_NOTE_SIGMOID = 2 };

typedef struct drove_onnx_reader {
    const char         *file;
    Drove__Onnx__Model *model;
    drove_graph         graph;
    drove_onnx_value   *value; /* [n_values] */
    size_t              n_values, room;
    unsigned            notes;
} drove_onnx_reader;

/* One node of the file. */
typedef struct drove_onnx_node {
    const Drove__Onnx__Node *node;
    size_t                   n_inputs; /* with those at the end that are not given left out */
    drove_onnx_value         input[DROVE_LAYER_MOST_BOTTOMS]; /* copies */
} drove_onnx_node;

/* An operator: "Conv", its domain ("" or "ai.onnx.ml"), and how it becomes layers. */
typedef struct drove_onnx_op {
    const char *name, *domain;
    drove_status (*read)(drove_onnx_reader *r, const drove_onnx_node *n);
} drove_onnx_op;

extern const drove_onnx_op drove__onnx_ops[]; /* ends with name NULL */

/* Errors: DROVE_E_DATA with the file, the node and its operator. */
drove_status drove__onnx_fail(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- onnx.c ---- */

/* Adds a layer that reads the node's first input and writes its first output.  It is called as its
 * parameters, such as conv1.weight, are (NULL: by its kind). */
drove_status drove__onnx_add(drove_onnx_reader *r, const drove_onnx_node *n,
                             const drove_layer_ops *ops, const char *parameters, drove_node **out);
/* Gives the node's outputs a meaning: that of a value, or none but a kind. */
drove_status drove__onnx_alias(drove_onnx_reader *r, const drove_onnx_node *n,
                               const drove_onnx_value *value);
drove_status drove__onnx_mark(drove_onnx_reader *r, const drove_onnx_node *n, drove_onnx_kind kind);
/* How many nodes and outputs of the file read a value. */
size_t drove__onnx_count_readers(const drove_onnx_reader *r, const char *name);

/* ---- onnx_attributes.c ---- */

/* The value of an attribute, unchanged where there is none.  Errors: DROVE_E_DATA. */
drove_status drove__onnx_int(const drove_onnx_reader *r, const drove_onnx_node *n, const char *name,
                             int64_t least, int64_t most, int64_t *out);
drove_status drove__onnx_real(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *name, float *out);
drove_status drove__onnx_text(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *name, char into[32]);
/* Exactly n_wanted whole numbers from least to most. */
drove_status drove__onnx_sizes(const drove_onnx_reader *r, const drove_onnx_node *n,
                               const char *name, size_t n_wanted, size_t least, size_t most,
                               size_t *out);
const Drove__Onnx__Attribute *drove__onnx_attribute(const drove_onnx_node *n, const char *name);

/* ---- onnx_tensor.c ---- */

/* Numbers in a constant, dims as in the file; SIZE_MAX: too many or none. */
size_t drove__onnx_count(const Drove__Onnx__Tensor *t);
/* A constant's numbers as floats, [n] in memory of malloc.  Errors: DROVE_E_DATA (its type, its
 * size), DROVE_E_NOMEM, those of files. */
drove_status drove__onnx_floats_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                   const Drove__Onnx__Tensor *t, float **out);
/* A constant of whole numbers, at most `most` of them, into out[most]. */
drove_status drove__onnx_ints_of(const drove_onnx_reader *r, const drove_onnx_node *n,
                                 const Drove__Onnx__Tensor *t, size_t most, int64_t *out,
                                 size_t *n_out);

#endif
