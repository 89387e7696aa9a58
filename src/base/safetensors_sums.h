/* base/safetensors_sums.h - the checksums in the header of a safetensors file.
 *
 * Two pairs of "__metadata__", which other readers of the format ignore: "checksums", a JSON object
 * of each tensor's name and its checksum (base/checksum.h) of 16 hexadecimal digits; and
 * "header_checksum", that of the rest of the header, as compact JSON with sorted keys.  So a header
 * may be formatted again, but nothing in it can change, and no tensor be added, lost or renamed.
 */
#ifndef DROVE_BASE_SAFETENSORS_SUMS_H
#define DROVE_BASE_SAFETENSORS_SUMS_H

#include "base/json.h"
#include "base/status.h"
#include "base/tensor.h"

#define DROVE_METADATA_NAME "__metadata__"

/* Adds both pairs to a complete header, for tensor[n_tensors].  Errors: DROVE_E_ARG (metadata that
 * have one of them), DROVE_E_NOMEM. */
drove_status drove__sums_add(json_t *header, const char *path, const drove_tensor *tensor,
                             size_t n_tensors);

/* Checks the header against its checksum and takes both pairs out of it.  *sums: those of the
 * tensors, the caller's to release; NULL: a file without checksums.  Errors: DROVE_E_DATA (damaged;
 * one pair without the other), DROVE_E_NOMEM. */
drove_status drove__sums_take(json_t *header, const char *path, json_t **sums);

/* value: the checksum of the tensor's bytes as they were read.  Errors: DROVE_E_DATA. */
drove_status drove__sums_check(const json_t *sums, const char *path, const char *name,
                               uint64_t value);

#endif
