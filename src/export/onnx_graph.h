/* export/onnx_graph.h - builds an ONNX graph in memory, node after node, and writes it.
 *
 * Each function that adds a node or a constant returns the name of its value, which others take as
 * their input; names are unique.  Where memory runs out the graph is marked (is_starved), every
 * later call does nothing, and drove__onnx_write fails: callers need not look in between.
 *
 * Everything belongs to the graph and lives until drove__onnx_fini, but for the numbers of float
 * constants, which are borrowed.
 */
#ifndef DROVE_EXPORT_ONNX_GRAPH_H
#define DROVE_EXPORT_ONNX_GRAPH_H

#include "base/status.h"
#include "model/onnx.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum drove_onnx_type { /* ONNX's numbers */
                               DROVE_ONNX_FLOAT = 1,
                               DROVE_ONNX_INT64 = 7,
                               DROVE_ONNX_STRING = 8,
                               DROVE_ONNX_DOUBLE = 11,
                               DROVE_ONNX_BFLOAT16 = 16
} drove_onnx_type;

/* Sets of operators, and their versions in the files of drove. */
enum { DROVE_ONNX_IR = 7, DROVE_ONNX_OPSET = 13, DROVE_ONNX_ML_OPSET = 2 };
/* Of files with an operator that set 13 does not have. */
enum { DROVE_ONNX_NEW_IR = 8, DROVE_ONNX_NEW_OPSET = 17 };
#define DROVE_ONNX_ML        "ai.onnx.ml"
#define DROVE_ONNX_MICROSOFT "com.microsoft"

typedef struct drove_onnx_list { /* a repeated field's pointers */
    void **item;                 /* [n] */
    size_t n, room;
} drove_onnx_list;

typedef struct drove_onnx {
    drove_onnx_list nodes, constants, inputs, outputs, pairs;
    drove_onnx_list blocks; /* all memory but the lists */
    const char     *scope;  /* what the names of new values say: a layer, a column */
    /* begins the names of all values but inputs and outputs; no column's name begins like it */
    const char *prefix;
    size_t      n_names;
    uint64_t    n_bytes; /* of the constants */
    bool        is_starved, has_ml, has_microsoft, is_new;
} drove_onnx; /* zeroed: empty */

void drove__onnx_fini(drove_onnx *g);

/* Zeroed memory of the graph; NULL: starved. */
void *drove__onnx_take(drove_onnx *g, size_t count, size_t size_bytes);
/* Text in the graph's memory; "" if starved. */
const char *drove__onnx_print(drove_onnx *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- values ---- */

/* dims[rank]; the first dimension, the examples, is open: a symbol whatever dims[0] is. */
void drove__onnx_input(drove_onnx *g, const char *name, drove_onnx_type type, const size_t *dims,
                       size_t rank, const char *doc);
/* Makes `value` the graph's output `name`. */
void drove__onnx_output(drove_onnx *g, const char *name, const char *value, drove_onnx_type type,
                        const size_t *dims, size_t rank, const char *doc);

/* Constants.  values: borrowed. */
const char *drove__onnx_floats(drove_onnx *g, const float *values, const size_t *dims, size_t rank);
/* values: copied. */
const char *drove__onnx_float(drove_onnx *g, float value);
const char *drove__onnx_double(drove_onnx *g, double value);
const char *drove__onnx_doubles(drove_onnx *g, const double *values, size_t n);
const char *drove__onnx_ints(drove_onnx *g, const int64_t *values, const size_t *dims, size_t rank);
const char *drove__onnx_strings(drove_onnx *g, const char *const *values, size_t n);

/* ---- nodes ---- */

/* op: "Add", or of another set "ai.onnx.ml:LabelEncoder".  b, c NULL: fewer inputs. */
const char *drove__onnx_node(drove_onnx *g, const char *op, const char *a, const char *b,
                             const char *c);
const char *drove__onnx_node_of(drove_onnx *g, const char *op, const char *const *input, size_t n);

/* Attributes of the last node, at most DROVE_ONNX_MOST_ATTRIBUTES. */
enum { DROVE_ONNX_MOST_ATTRIBUTES = 8 };
void drove__onnx_set_int(drove_onnx *g, const char *name, int64_t value);
void drove__onnx_set_float(drove_onnx *g, const char *name, float value);
void drove__onnx_set_ints(drove_onnx *g, const char *name, const int64_t *values, size_t n);
void drove__onnx_set_strings(drove_onnx *g, const char *name, const char *const *values, size_t n);

/* value as another type. */
const char *drove__onnx_cast(drove_onnx *g, const char *value, drove_onnx_type type);
/* The values side by side: one of them, or a Concat along axis 1. */
const char *drove__onnx_join(drove_onnx *g, const char *const *values, size_t n);

/* ---- the whole ---- */

/* A line of metadata. */
void drove__onnx_pair(drove_onnx *g, const char *key, const char *value);
/* Writes the file, which appears whole or not at all.  Errors: DROVE_E_NOMEM, DROVE_E_UNSUPPORTED
 * (more than 2 GiB, which protobuf does not allow), DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__onnx_write(drove_onnx *g, const char *path);

#endif
