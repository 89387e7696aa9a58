/* data/open/pieces.h - text files and generated data that are larger than memory: piece after piece
 * into rows:FILE.
 *
 * What needs all rows follows from a sample of them: the columns of a table, their categories and
 * fill values, what kind of target there is.  Classes, features and numbers of LIBSVM data come
 * from all rows.  Rows of a table for a model that goes on learning have its columns, categories,
 * fill values and classes instead.
 */
#ifndef DROVE_DATA_OPEN_PIECES_H
#define DROVE_DATA_OPEN_PIECES_H

#include "data/data.h"

/* Whether data of this spec can be read so: text in libsvm or table, and rows that are generated
 * one by one.  *bytes: about what all of them take in memory; of text
 * not more exactly than whether that is above the limit. */
bool drove__pieces_can(const char *spec, double limit, double *bytes);

/* Whether a conversion is made in pieces on a machine with so much memory: it can be, and the data
 * take more than an eighth of it. */
bool drove__pieces_are_needed(const char *from, const char *to, double memory_bytes);

typedef struct drove_pieces_options {
    size_t      piece_bytes; /* of text; a few times that is held in memory */
    size_t      block_bytes; /* of the file that is written; 0: usual */
    const char *source;      /* for the file that is written (data/disk/rows_file.h); NULL: none */
    /* A table's rows are read as these data, which have a schema; NULL: as the sample says.
     * Borrowed. */
    const drove_storage *like;
} drove_pieces_options;

/* The sample alone, as data in memory that are not scaled; the caller owns *out.  Errors: those of
 * the format. */
drove_status drove__pieces_sample(const char *spec, size_t piece_bytes, drove_data **out);

/* Writes the data of a spec to a file in the format rows.  Errors: those of the format, with the
 * lines of the piece; DROVE_E_DATA (a line longer than 64 MiB); those of writing. */
drove_status drove__pieces_write(const char *spec, const char *path,
                                 const drove_pieces_options *opt);

#endif
