/* tests/unit/model/onnx_made.h - one ONNX file at a time, made in memory node by node: an input
 * called x, an output called out. */
#ifndef DROVE_TESTS_UNIT_MODEL_ONNX_MADE_H
#define DROVE_TESTS_UNIT_MODEL_ONNX_MADE_H

#include "model/graph.h"
#include "model/onnx.pb-c.h"

void onnx_begin(void);
void onnx_set(int version); /* of operators; 13 unless it is given */
/* Data with images of these sides, or vectors, with classes, or values if there are none. */
void onnx_data(size_t channels, size_t height, size_t width, size_t n_classes, const char *loss);
/* Sides of the input in the file (int); that of the batch, and others that are 0, are open. */
void onnx_sides(size_t n, ...);
/* Names are divided by commas; between two commas: none. */
void onnx_node(const char *op, const char *in, const char *out);

/* Of the last node. */
void onnx_domain(const char *domain);
void onnx_int(const char *name, int64_t value);
void onnx_real(const char *name, float value);
void onnx_word(const char *name, const char *value);
void onnx_ints(const char *name, size_t n, ...); /* int */
void onnx_reals(const char *name, size_t n, const float *value);
void onnx_value(const char *name); /* the last constant becomes a tensor of the node */

/* A constant of these sides (int), whose numbers are all different; valid until onnx_begin. */
const float *onnx_tensor(const char *name, size_t n_dims, ...);
/* A constant of one number. */
void onnx_number(const char *name, float value);
/* A constant of n whole numbers (int). */
void onnx_whole(const char *name, size_t n, ...);

drove_status onnx_read(drove_graph *out);
drove_graph  onnx_accepted(void); /* free with drove__graph_fini */
/* The network's outputs for one example x of c x h x w (vectors: c) are these, as the loss squared
 * leaves them. */
void onnx_computes(size_t c, size_t h, size_t w, const float *x, size_t n_out,
                   const float *expected);
/* The file is refused with these words in the error. */
void onnx_refused(const char *words);

#endif
