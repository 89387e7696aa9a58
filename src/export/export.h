/* export/export.h - the parts of an exported model: columns -> features -> outputs. */
#ifndef DROVE_EXPORT_EXPORT_H
#define DROVE_EXPORT_EXPORT_H

#include "export/onnx_graph.h"
#include "model/model.h"
#include "table/schema.h"

#include <drove/export.h>

/* An input for each used column, and the features of the schema, [N][n_features] in one value.
 * Errors: DROVE_E_UNSUPPORTED (a column of text), DROVE_E_NOMEM. */
drove_status drove__onnx_columns(drove_onnx *g, const drove_schema *schema, const char **features);

/* The main head's raw outputs, [N][n_outputs].  input: [N][n_inputs], or, if is_image,
 * [N][c][h][w]; both in the order of the data.  theta is borrowed.  Errors: DROVE_E_NOMEM. */
drove_status drove__onnx_network(drove_onnx *g, const drove_model *model, const float *theta,
                                 const char *input, bool is_image, const char **outputs);

/* The name that a column has for others: its own, or column1, column2 ... where it has none. */
const char *drove__export_column_name(const drove_schema *schema, size_t column, char into[32]);

#endif
