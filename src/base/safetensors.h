/* base/safetensors.h - the safetensors file format: 8-byte header length, JSON header, raw
 * little-endian tensors.
 *
 * Writing is atomic (base/file.h).  Reading checks every size against the file before it is used:
 * header length, offsets inside the file, no overlap, no hole, shape x type = bytes.  What was
 * written here has checksums of the header and of each tensor: the header is checked, and every
 * tensor that is loaded.  A file may be gzip-compressed, unless its tensors are read by their
 * offsets.
 */
#ifndef DROVE_BASE_SAFETENSORS_H
#define DROVE_BASE_SAFETENSORS_H

#include "base/status.h"
#include "base/tensor.h"

/* A loaded file; free with _fini. */
typedef struct drove_safetensors {
    char         *data;       /* the tensors' bytes, each tensor on its own cache lines */
    size_t        size_bytes; /* of data                                     */
    size_t        n_tensors;
    drove_tensor *tensor; /* [n_tensors], in the header's order          */
    size_t        n_meta; /* "__metadata__": string to string            */
    char        **meta_key, **meta_value;
    bool          is_checked; /* it has checksums, and they are right */
} drove_safetensors;

/* meta: pairs of strings key, value, ..., NULL; meta itself may be NULL.  The same arguments give
 * the same bytes.  Before the file takes its name, its header is read again.  Errors: DROVE_E_ARG
 * (a name empty, reserved or given twice, text that is not UTF-8), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__safetensors_write(const char *path, const drove_tensor *tensor,
                                      size_t n_tensors, const char *const *meta);
/* Errors: DROVE_E_IO, DROVE_E_DATA (what is wrong, and at which byte), DROVE_E_NOMEM. */
drove_status drove__safetensors_load(const char *path, drove_safetensors *out);
/* The same without the content of the tensors, whose `bytes` are NULL.  Errors: also DROVE_E_DATA
 * (a compressed file, or a pipe). */
drove_status drove__safetensors_load_header(const char *path, drove_safetensors *out);
/* Says where tensors go, once their names, types and shapes are known: sets `bytes` of those that
 * are to be read into other memory than st->data, which the caller owns and may write. */
typedef drove_status drove_place_tensors(void *context, drove_safetensors *st);
/* drove__safetensors_load, which asks `place` before it reads a tensor.  Errors: also those of
 * place; size_bytes is that of all tensors while it is called. */
drove_status drove__safetensors_load_into(const char *path, drove_place_tensors *place,
                                          void *context, drove_safetensors *out);
void         drove__safetensors_fini(drove_safetensors *st);

const drove_tensor *drove__safetensors_find(const drove_safetensors *st, const char *name);
const char *drove__safetensors_meta(const drove_safetensors *st, const char *key); /* or NULL */
/* The tensor, with this type and exactly n elements.  bytes may be NULL.  Errors: DROVE_E_DATA
 * (absent, other type, other size). */
drove_status drove__safetensors_want(const drove_safetensors *st, const char *name,
                                     drove_tensor_type type, size_t n, const void **bytes);

#endif
