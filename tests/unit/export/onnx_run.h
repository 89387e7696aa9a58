/* onnx_run.h - computes an ONNX graph: its operators by plain loops, as ONNX's reference of
 * operators describes them, in doubles that are rounded to the type of their values. */
#ifndef DROVE_TEST_EXPORT_ONNX_RUN_H
#define DROVE_TEST_EXPORT_ONNX_RUN_H

#include "export/onnx_graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ONNX_MOST_VALUES = 2048, ONNX_MOST_RANK = 4, ONNX_BOOL = 9, ONNX_UINT32 = 12 };

typedef struct onnx_value {
    const char  *name;
    int32_t      type; /* ONNX's number */
    size_t       rank, dim[ONNX_MOST_RANK], n;
    double      *number; /* [n]; NULL: texts */
    const char **text;   /* [n], borrowed, but of a constant */
    bool         owns_text;
} onnx_value;

typedef struct onnx_run {
    onnx_value value[ONNX_MOST_VALUES];
    size_t     n;
} onnx_run; /* zeroed: empty */

/* A new value of zeros, for the inputs of a graph. */
onnx_value *onnx_add(onnx_run *run, const char *name, int32_t type, const size_t *dims,
                     size_t rank);
/* The value of this name; the test fails without one. */
const onnx_value *onnx_get(const onnx_run *run, const char *name);
/* Adds the values of all constants, nodes and outputs; an operator that is not known fails the
 * test. */
void onnx_compute(onnx_run *run, const Drove__Onnx__Graph *g);
void onnx_run_fini(onnx_run *run);

#endif
