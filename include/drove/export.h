/* drove/export.h - saved models in formats of others: ONNX, C source. */
#ifndef DROVE_EXPORT_H
#define DROVE_EXPORT_H

#include <drove/status.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* What to export, and to where; texts are borrowed. */
typedef struct drove_export_options {
    const char *model; /* file, or the folder of a run */
    const char *out;   /* a file, which appears whole or not at all */
    /* One line about each input and output of the exported model; may be NULL. */
    void (*line)(void *context, const char *text);
    void *context; /* first argument of line */
} drove_export_options;

/* ---- writers ----
 *
 * They write what docs/use/export.md describes.  Errors: those of reading the model; DROVE_E_EXISTS
 * (out is the model), DROVE_E_UNSUPPORTED (the format cannot express a part of the model: which,
 * and why), DROVE_E_FILE, DROVE_E_IO, DROVE_E_NOMEM. */

/* An ONNX graph from raw columns, numbers or images to predictions. */
drove_status drove_export_onnx(const drove_export_options *opt);
/* One file of C99 without dependencies.  The printed line has the function's arguments, and of
 * networks of more than dense layers the size of the scratch memory that it needs. */
drove_status drove_export_c(const drove_export_options *opt);
/* The parameters of a network as safetensors, by the names, shapes and orders of a PyTorch module
 * whose layers have the same names. */
drove_status drove_export_pytorch(const drove_export_options *opt);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
