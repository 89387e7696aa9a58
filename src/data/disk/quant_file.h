/* data/disk/quant_file.h - the file of a quantised data set, quant:FILE: the format shared by its
 * writer (quant_write.c) and its readers: quant_read.c whole, quant_blocks.c by blocks.
 *
 * A safetensors file (base/safetensors.h).  Tensors, in this order, as far as they apply:
 *
 *   value        dense: I8, I16, F32 or U8 (pairs of 4 bits) [n_rows][row_bytes / size]; sparse:
 *                I8, I16 or F32 [n_stored]
 *   index        U8, U16 or U32 [n_stored]
 *   row_start    U64 [n_rows + 1]
 *   target       I32 (classes) or F32 (values) [n_rows]
 *   label_start  U64 [n_rows + 1]
 *   label        U32 [label_start[n_rows]]
 *   class_names  U8, texts that end with a zero byte; absent: the numbers 0 ..
 *   input.shift, input.factor  F32 [n_features]: the scaling applied before quantisation
 *   block_checksum  U64 [n_blocks]: for each block_rows rows the XXH3 (base/checksum.h) of their
 *                part of row_start (with the end of the last row), value, index, target or
 *                label_start (likewise) and label, one after the other
 *
 * Metadata: docs/inside/formats.md.  What is read whole is checked by the checksums of the header
 * and of the tensors (base/safetensors_sums.h), what is read by blocks by those of the header and
 * of the blocks.
 */
#ifndef DROVE_DATA_DISK_QUANT_FILE_H
#define DROVE_DATA_DISK_QUANT_FILE_H

#include "base/checksum.h"
#include "base/safetensors.h"
#include "data/disk/blocks.h"
#include "data/quant.h"

#define DROVE_QUANT_FORMAT "drove-quant-2"
#define DROVE_QUANT_BLOCKS "block_checksum"

/* Checksum of the view's content before scaling: values, indices, targets, class names.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__quant_fingerprint(const drove_data *data, char into[DROVE_CHECKSUM_TEXT_SIZE]);

/* Reads ?precision=D8, D16i16, D8[i16] ...; both outputs are unchanged if the key is absent.
 * Errors: DROVE_E_ARG (not a format, or not valid for such data). */
drove_status drove__quant_precision(const drove_spec *spec, bool is_sparse, drove_number *number,
                                    unsigned *index_bits);

/* Errors: DROVE_E_ARG for ?scale, and for keys that apply only in the other direction. */
drove_status drove__quant_refuse_keys(const drove_spec *spec, bool is_written);

/* ---- a file that is read: quant_header.c ---- */

typedef struct drove_quant_file {
    const char       *path;
    drove_safetensors file;
    drove_storage    *s; /* the caller's to release, also after a failure; owns q */
    drove_quant      *q;
    size_t            block_rows;
} drove_quant_file;

/* Loads all tensors, or those that describe the rows alone: f->path is set, the rest is zero.
 * Errors: those of drove__safetensors_load and _open. */
drove_status drove__quant_file_open(drove_quant_file *f, bool is_whole);
/* Checks it and reads all of s and q but their arrays of rows.  The tensors of these have the right
 * types and sizes then, except `label`, which is not checked; block_checksum has one for each
 * block_rows rows.  Errors: DROVE_E_DATA, DROVE_E_ARG
 * (?precision), DROVE_E_NOMEM. */
drove_status drove__quant_file_describe(drove_quant_file *f, const drove_spec *spec);

/* What "value" holds. */
static inline drove_tensor_type drove__quant_tensor_type(drove_number number)
{
    static const drove_tensor_type types[DROVE_NUMBERS] = {[DROVE_I4] = DROVE_T_U8,
                                                           [DROVE_I8] = DROVE_T_I8,
                                                           [DROVE_I16] = DROVE_T_I16,
                                                           [DROVE_F32] = DROVE_T_F32};
    return types[number];
}

/* Bytes of an element of "value": of two numbers of 4 bits, or of one. */
static inline size_t drove__quant_element_bytes(drove_number number)
{
    return drove__numbers_bytes(number, number == DROVE_I4 ? 2 : 1);
}

/* Metadata; errors: DROVE_E_DATA (absent, not such text). */
drove_status drove__quant_meta(const drove_quant_file *f, const char *key, const char **out);
drove_status drove__quant_count(const drove_quant_file *f, const char *key, uint64_t most,
                                uint64_t *out);
drove_status drove__quant_word(const drove_quant_file *f, const char *key, const char *const *words,
                               size_t n, size_t *out);

/* ---- the format's row ---- */

drove_status drove__quant_read(const drove_spec *spec, int part, const drove_shard *shard,
                               drove_storage **out);
drove_status drove__quant_write(const drove_data *data, const drove_spec *to);

#endif
