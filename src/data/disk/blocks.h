/* data/disk/blocks.h - a data set on disk, rows:FILE or quant:FILE: blocks of rows that are read
 * when they are wanted.  The format is in data/disk/rows_file.h.
 *
 *   blocks.c            memory for rows, checks of rows that were read
 *   rows_read.c         the file: opening it, its blocks
 *   rows_description.c  the description of the rows, written and read
 *   rows_write.c        blocks, written
 *   formats.c           the rows of the table of formats
 *
 * Nothing in the file is trusted.  The description is checked when the file is opened, rows each
 * time they are read: the checksum of each whole block, features, targets.  A file that changes
 * meanwhile is an error.
 *
 * Threads: one at a time; stream/stream.h reads by a thread of its own.
 */
#ifndef DROVE_DATA_DISK_BLOCKS_H
#define DROVE_DATA_DISK_BLOCKS_H

#include "data/data.h"

#include <time.h>

/* Of the spec of a file that can be read by blocks. */
typedef struct drove_blocks_options {
    uint64_t window; /* bytes of it in memory at a time; 0: not given */
} drove_blocks_options;
extern const drove_spec_key drove__blocks_keys[];

/* Where the next rows go in a storage. */
typedef struct drove_place_in {
    size_t   row;
    uint64_t stored; /* pairs of sparse examples before them */
    uint64_t label;  /* labels before them */
} drove_place_in;

typedef struct drove_blocks {
    char                   *path;
    int                     fd;    /* -1: `bytes` is the content, [size_bytes] */
    char                   *bytes; /* of a file that is compressed, or no regular one; else NULL */
    uint64_t                size_bytes; /* of the file, when it was opened ... */
    struct timespec         changed;    /* ... and when it had been written last */
    struct drove_rows_file *file;       /* where the blocks lie: data/disk/rows_file.h */
    /* All that describes the data, without rows.  `quant` is not NULL where they are quantised in
     * the file, whatever x_kind they have in memory. */
    drove_storage *shape;
    size_t         n_rows, n_blocks;
    unsigned       n_ahead;      /* blocks to expect before they are read */
    size_t         row_multiple; /* memory for rows begins best at such a row */
    size_t         block_rows;   /* of each block but the last */
    uint64_t      *first_stored; /* [n_blocks + 1] pairs before a block; NULL: dense */
    uint64_t      *first_label;  /* [n_blocks + 1] labels before it; NULL: no lists */
} drove_blocks;

/* Whether the spec names rows to be read by blocks: a plain regular file, without ?from.  Errors:
 * the file cannot be read, to look whether it is compressed. */
drove_status drove__blocks_can(const drove_spec *spec, bool *can);
/* Opens them.  Errors: DROVE_E_IO, DROVE_E_DATA, DROVE_E_NOMEM, DROVE_E_ARG (no such spec). */
drove_status drove__blocks_open(const char *text, drove_blocks **out);
void         drove__blocks_close(drove_blocks *b); /* NULL accepted */

/* Before any row is read: of a quantised file that holds floats as they are, unscaled, rows become
 * DROVE_X_F32 or DROVE_X_CSR, which engines of floats read faster.  Errors: DROVE_E_NOMEM. */
drove_status drove__blocks_prefer_floats(drove_blocks *b);

/* The rows of a block, behind *to, which moves on.  The storage has room for them
 * (drove__blocks_storage), and nobody reads that part of it.  Errors: DROVE_E_IO, DROVE_E_DATA
 * (also: the file has changed). */
drove_status drove__blocks_read(const drove_blocks *b, size_t block, drove_storage *into,
                                drove_place_in *to);
/* The block will be read soon, into this place: the system may begin to, even to write there.
 * is_late: somebody waits for it; it comes from the system's cache if it is there. */
void drove__blocks_expect(const drove_blocks *b, size_t block, drove_storage *into,
                          const drove_place_in *to, bool is_late);
/* Ends what was expected and not read: nothing is written any more. */
void drove__blocks_forget(const drove_blocks *b);

static inline size_t drove__blocks_rows(const drove_blocks *b, size_t block)
{
    size_t first = block * b->block_rows, left = b->n_rows - first;
    return left < b->block_rows ? left : b->block_rows;
}
static inline uint64_t drove__blocks_stored(const drove_blocks *b, size_t block)
{
    return b->first_stored != NULL ? b->first_stored[block + 1] - b->first_stored[block] : 0;
}
static inline uint64_t drove__blocks_labels(const drove_blocks *b, size_t block)
{
    return b->first_label != NULL ? b->first_label[block + 1] - b->first_label[block] : 0;
}

/* Bytes in memory of rows with so many pairs and labels. */
double drove__blocks_bytes(const drove_blocks *b, double n_rows, double n_stored, double n_labels);

/* A storage like shape with zeroed arrays for n_rows rows, n_stored pairs and n_labels labels.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__blocks_storage(const drove_blocks *b, size_t n_rows, uint64_t n_stored,
                                   uint64_t n_labels, drove_storage **out);

/* Checks rows row .. row + n - 1 that were read into a storage whose n_rows need not be set, and
 * moves *to behind them.  first: number in the file of the first, for errors (DROVE_E_DATA).
 * is_finite: that their examples are is known. */
drove_status drove__blocks_check_rows(const drove_blocks *b, const drove_storage *s, size_t first,
                                      size_t n, bool is_finite, drove_place_in *to);

#endif
