/* data/disk/rows_file.h - the file of rows:FILE and quant:FILE: rows in blocks, as they lie in
 * memory, so that data larger than memory can be trained on.
 *
 *   "drove-rows-3", 4 zero bytes
 *   blocks of block_rows rows each, the last may have fewer
 *   a description in JSON
 *   its offset, its bytes, its checksum (base/checksum.h), 64 bits each; then the first 16 bytes
 *   again
 *
 * A block begins at a multiple of 64 bytes, of 4096 where blocks have 64 KiB; its arrays, as far as
 * they apply, each at a multiple of 64:
 *
 *   x          dense: U8 or F32 [n][n_features]; quantised: [n][row_bytes] (data/quant.h)
 *   row_start  sparse: U64 [n + 1], from 0
 *   index      U32 [n_stored], minus index_shift a feature; quantised: U8, U16 or U32
 *   value      F32 [n_stored]; quantised: I8, I16 or F32
 *   target     I32 (classes, through class_map) or F32 [n][n_values]
 *   label_start, label  U64 [n + 1] from 0, U32 [n_labels]
 *   weight     F32 [n], if the rows have weights
 *
 * Numbers are little-endian.  They are not scaled, but quantised ones, which have had their
 * scaling.  The description, which has two checksums of each block, of the values and of its other
 * arrays: docs/inside/formats.md.
 */
#ifndef DROVE_DATA_DISK_ROWS_FILE_H
#define DROVE_DATA_DISK_ROWS_FILE_H

#include "base/checksum.h"
#include "base/json.h"
#include "data/disk/ahead.h"
#include "data/disk/blocks.h"
#include "data/export.h"
#include "data/quant.h"

#define DROVE_ROWS_WORD  "drove-rows-3"
#define DROVE_ROWS_MAGIC DROVE_ROWS_WORD "\0\0\0" /* 16 bytes */

enum { DROVE_ROWS_MAGIC_SIZE = 16, DROVE_ROWS_SECTIONS = 7, DROVE_ROWS_ALIGNMENT = 64 };

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

/* Whether rows of such data have pairs in the file. */
static inline bool drove__rows_are_sparse(const drove_storage *shape)
{
    return shape->quant != NULL ? shape->quant->index_bits != 0 : shape->x_kind == DROVE_X_CSR;
}

/* The data that quantised rows were made from, for ?from. */
typedef struct drove_rows_origin {
    unsigned part; /* drove_rows_of */
    uint64_t seed, n_stored;
    char     fingerprint[DROVE_CHECKSUM_TEXT_SIZE];
} drove_rows_origin;

/* ---- writing, rows after rows; one thread ---- */

typedef struct drove_rows_keys {
    uint64_t             block; /* bytes; 0: not given */
    drove_blocks_options blocks;
    drove_export_options written;
} drove_rows_keys;
extern const drove_spec_key drove__rows_keys[];

typedef struct drove_rows_writer drove_rows_writer;

/* block_bytes: about the size of a block; 0: 1 MiB.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__rows_create(const char *path, size_t block_bytes, drove_rows_writer **out);

/* The rows of a view, in its order, unscaled or, with q, quantised: row i of q is row i of the
 * view.  All views have the same kinds of examples and targets; the first q stays until the end.
 * map[n_classes]: the file's number of each class or label of the view; NULL: the same.  Errors:
 * DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__rows_append(drove_rows_writer *w, const drove_data *view, const drove_quant *q,
                                const uint32_t *map);

typedef struct drove_rows_end {
    const drove_storage     *shape; /* all that describes the data; its n_rows is not read */
    const uint32_t          *map;   /* [n_map] class of each number that was written; NULL: same */
    size_t                   n_map;
    unsigned                 index_shift;
    const char              *source; /* what the file was made from; NULL: not known */
    const drove_rows_origin *origin; /* of quantised rows */
} drove_rows_end;

/* Makes the file appear; frees w even on failure.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__rows_commit(drove_rows_writer *w, const drove_rows_end *end);
void         drove__rows_abort(drove_rows_writer *w); /* NULL accepted */

/* ---- reading ---- */

typedef struct drove_rows_block {
    uint64_t offset, sum, value_sum;
} drove_rows_block;

typedef struct drove_rows_file {
    drove_rows_block *block; /* [n_blocks] */
    uint32_t         *map;   /* [n_map] class of each number; NULL: the same */
    size_t            n_map;
    uint32_t          index_shift;
    char             *source;
    drove_rows_origin origin;
    uint64_t          end;   /* of the last block */
    drove_ahead      *ahead; /* NULL: blocks are read through the system's cache */
    /* [rows of block 0][row_bytes] for quantised floats kept without padding; else NULL */
    char           *padded;
    drove_checksum *sum, *value_sum; /* of the block that is read */
} drove_rows_file;

/* The file of a spec, also one that can be read only whole.  Errors: those of drove__blocks_open.
 */
drove_status drove__rows_open(const drove_spec *spec, drove_blocks **out);

/* What a rows file was made from, borrowed from b; "" if it does not say. */
const char *drove__rows_source(const drove_blocks *b);

/* ---- the description: rows_description.c ---- */

typedef struct drove_rows_counts { /* found while rows were written */
    uint64_t n_rows, longest_row;
    size_t   block_rows;
    bool     has_values, has_weights; /* some value is not 1; there are weights */
} drove_rows_counts;

/* All but the list of blocks; NULL: memory ran out.  schema: as JSON, or NULL. */
json_t *drove__rows_describe(const drove_rows_end *end, const drove_rows_counts *counts,
                             const char *schema);

/* Fills b->shape and b->file from text[n]; b->file->end is set.  Errors: DROVE_E_DATA,
 * DROVE_E_NOMEM. */
drove_status drove__rows_read_description(drove_blocks *b, const char *text, size_t n);

/* The list of blocks in it, scanned in place: rows_list.c. */
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

#endif
