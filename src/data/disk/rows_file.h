/* data/disk/rows_file.h - the file of rows:FILE: rows in blocks, as they lie in memory, so that
 * data larger than memory can be trained on.  Written by rows_write.c, read by rows_blocks.c.
 *
 *   "drove-rows-2", 4 zero bytes
 *   blocks of block_rows rows each, the last may have fewer
 *   a description in JSON
 *   its offset, its bytes, its checksum (base/checksum.h), 64 bits each; then the first 16 bytes
 *   again
 *
 * A block begins at a multiple of 64 bytes, of 4096 where blocks have 64 KiB; its arrays, as far as
 * they apply, each at a multiple of 64:
 *
 *   x          dense: U8 or F32 [n][n_features]
 *   row_start  sparse: U64 [n + 1], from 0
 *   index      U32 [n_stored], minus index_shift a feature
 *   value      F32 [n_stored]
 *   target     I32 (classes, through class_map) or F32 [n][n_values]
 *   label_start, label  U64 [n + 1] from 0, U32 [n_labels]
 *   weight     F32 [n], if the rows have weights
 *
 * Numbers are little-endian, and not scaled.  The description, which has two checksums of each
 * block, of the values and of its other arrays: docs/inside/formats.md.
 */
#ifndef DROVE_DATA_DISK_ROWS_FILE_H
#define DROVE_DATA_DISK_ROWS_FILE_H

#include "data/disk/blocks.h"

#define DROVE_ROWS_WORD  "drove-rows-2"
#define DROVE_ROWS_MAGIC DROVE_ROWS_WORD "\0\0\0" /* 16 bytes */

enum { DROVE_ROWS_MAGIC_SIZE = 16, DROVE_ROWS_SECTIONS = 7 };

/* Where the arrays of a block lie, relative to its begin, and their bytes; 0 bytes: not there. */
typedef enum drove_rows_section {
    DROVE_ROWS_X,
    DROVE_ROWS_START,
    DROVE_ROWS_INDEX,
    DROVE_ROWS_VALUE,
    DROVE_ROWS_TARGET, /* label_start for lists of labels */
    DROVE_ROWS_LABEL,
    DROVE_ROWS_WEIGHT
} drove_rows_section;

typedef struct drove_rows_layout {
    uint64_t at[DROVE_ROWS_SECTIONS], bytes[DROVE_ROWS_SECTIONS];
    uint64_t size_bytes; /* of the block, padded */
} drove_rows_layout;

/* Of `shape` only kinds and counts matter, and whether it has weights.  false: sizes overflow. */
bool drove__rows_lay_out(const drove_storage *shape, uint64_t n_rows, uint64_t n_stored,
                         uint64_t n_labels, drove_rows_layout *out);

/* ---- writing, rows after rows; one thread ---- */

typedef struct drove_rows_writer drove_rows_writer;

/* block_bytes: about the size of a block; 0: 1 MiB.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__rows_create(const char *path, size_t block_bytes, drove_rows_writer **out);

/* The rows of a view, unscaled, in its order.  All views have the same kinds of examples and
 * targets.  map[n_classes]: the file's number of each class or label of the view; NULL: the same.
 * Errors: DROVE_E_IO, DROVE_E_NOMEM, DROVE_E_UNSUPPORTED (quantised data). */
drove_status drove__rows_append(drove_rows_writer *w, const drove_data *view, const uint32_t *map);

/* shape: all that describes the data; its n_rows is not read.  map[n_classes]: the class of each
 * number that was written; NULL: the same.  source: what the file was made from, NULL: not
 * known.  Makes the file appear; frees w even on failure.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
typedef struct drove_rows_end {
    const drove_storage *shape;
    const uint32_t      *map;
    size_t               n_map;
    unsigned             index_shift;
    const char          *source;
} drove_rows_end;
drove_status drove__rows_commit(drove_rows_writer *w, const drove_rows_end *end);
void         drove__rows_abort(drove_rows_writer *w); /* NULL accepted */

/* What a rows file was made from, borrowed from b; "" if it does not say. */
const char *drove__rows_source(const drove_blocks *b);

/* ---- the list of blocks in the description, scanned in place ---- */

typedef struct drove_rows_entry {
    uint64_t offset, n_stored, n_labels, hash, value_hash;
} drove_rows_entry;

typedef struct drove_rows_list {
    const char *begin, *end; /* of its text, with both brackets */
    const char *at;          /* the next entry */
} drove_rows_list;

/* In the text of a description.  false: there is none. */
bool drove__rows_list_find(const char *text, size_t n, drove_rows_list *out);
/* false: none follows here. */
bool drove__rows_list_next(drove_rows_list *list, drove_rows_entry *out);
bool drove__rows_list_is_over(const drove_rows_list *list);

/* ---- the format's row ---- */

drove_status drove__rows_read(const drove_spec *spec, int part, const drove_shard *shard,
                              drove_storage **out);
drove_status drove__rows_write(const drove_data *data, const drove_spec *to);

#endif
