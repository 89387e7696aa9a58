/* drove/arrow.h - tables of other programs, and predictions for them, through the Arrow C data
 * interface.
 *
 * Source: the specifications "The Arrow C data interface" and "The Arrow C stream interface" of
 * Apache Arrow.  A table has a name, "memory:7", that stands where the name of a table's file may:
 * "table:memory:7?label=y".
 *
 *   Arrow                                       what the column is
 *   integers, floats, decimals                  numbers
 *   times of day, durations                     numbers, in seconds
 *   bool                                        truth values
 *   date32, date64, timestamp                   dates, to the minute, in UTC
 *   utf8, large_utf8, utf8_view                 as the cells of a text file (docs/use/tables.md)
 *   dictionary of any of these                  a category, whatever its texts look like
 *   null                                        missing cells
 * All others are refused by name.  An extension type is read as its storage type.
 *
 * Missing are cells that are null, the number NaN, the signed integer -2^63 and texts of blanks
 * alone.  Words such as NA, which stand for missing cells in a text file, do so among texts that
 * are numbers or dates; among others they are texts.  Refused, with column and row, are dates
 * outside the years -2113 to 6052 and the unsigned integer 2^63.  Numbers count as floats of 32
 * bits.
 *
 * Kept in memory: 8 bytes for an integer, 4 bytes for any other cell, and each different text of a
 * column once.  Batches are copied into that form one at a time, and released at once.
 *
 * Threads: a table belongs to one thread while it is made, changed and destroyed; its name may be
 * used by any number of threads between.
 */
#ifndef DROVE_ARROW_H
#define DROVE_ARROW_H

#include <drove/arrays.h>
#include <drove/predictor.h>
#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
/* The structs of the interface are declared: here, or by a header of another program. */
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1 /* flags: the order of a dictionary's values matters */
#define ARROW_FLAG_NULLABLE           2 /* flags: cells may be null */
#define ARROW_FLAG_MAP_KEYS_SORTED    4 /* flags: the keys of each map are sorted */

/* The type of a column, or of a record batch, whose columns are its children. */
struct ArrowSchema {
    const char          *format;     /* type, in the specification's letters: "i", "u", "+s" */
    const char          *name;       /* of the column; may be NULL */
    const char          *metadata;   /* pairs in the specification's form; NULL: none */
    int64_t              flags;      /* ARROW_FLAG_NULLABLE and others */
    int64_t              n_children; /* 0: none */
    struct ArrowSchema **children;   /* [n_children] */
    struct ArrowSchema  *dictionary; /* type of a dictionary's values; NULL: no dictionary */
    void (*release)(struct ArrowSchema *); /* frees all of it; NULL: it has been released */
    void *private_data;                    /* the producer's own */
};

/* The cells of a column, or of a record batch. */
struct ArrowArray {
    int64_t             length;           /* cells */
    int64_t             null_count;       /* cells that are null; -1: not counted */
    int64_t             offset;           /* cells in the buffers before the first one */
    int64_t             n_buffers;        /* fixed by the type */
    int64_t             n_children;       /* as in the schema */
    const void        **buffers;          /* [n_buffers] */
    struct ArrowArray **children;         /* [n_children] */
    struct ArrowArray  *dictionary;       /* a dictionary's values; NULL: no dictionary */
    void (*release)(struct ArrowArray *); /* frees all of it; NULL: it has been released */
    void *private_data;                   /* the producer's own */
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
/* The struct of the stream interface is declared: here, or by a header of another program. */
#define ARROW_C_STREAM_INTERFACE

/* Record batches, one after the other.  The functions return 0, or an errno. */
struct ArrowArrayStream {
    /* Type of all batches; the receiver releases it. */
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    /* The next batch, released by the receiver; at the end one that is marked as released. */
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    /* Text about the last error, valid until the next call; may be NULL. */
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *); /* frees it; NULL: it has been released */
    void *private_data;                         /* the producer's own */
};
#endif

/* A table in memory; opaque. */
typedef struct drove_arrow_table drove_arrow_table;

/* A table of one record batch.  Ownership moves: whatever the result, all of it is
 * released when this returns (each release callback is called once, and the structs are marked as
 * released).  Columns without a name are called column1, column2 ... by their number.  Errors:
 * DROVE_E_DATA (not record batches, two columns of one name, anything against the specification:
 * column, row, what was expected and found; an error of the stream), DROVE_E_UNSUPPORTED (a type
 * that no table has), DROVE_E_NOMEM. */
drove_status drove_arrow_table_create(struct ArrowSchema *schema, struct ArrowArray *batch,
                                      drove_arrow_table **out);
/* A table of all batches of a stream.  Ownership, names and errors are those of
 * drove_arrow_table_create. */
drove_status drove_arrow_table_from_stream(struct ArrowArrayStream *stream,
                                           drove_arrow_table      **out);
/* Runs and data sets that use the table keep it until they end.  NULL accepted. */
void drove_arrow_table_destroy(drove_arrow_table *table);

/* "memory:7"; owned by table */
const char *drove_arrow_table_name(const drove_arrow_table *table);
size_t      drove_arrow_table_n_rows(const drove_arrow_table *table); /* of all batches */
size_t      drove_arrow_table_bytes(const drove_arrow_table *table);  /* of its cells and texts */

/* One more column, behind the others: values, a vector of n_rows numbers; NaN is missing.  With
 * text[n_texts] each number, from 0 to n_texts - 1, stands for its text, and the column is a
 * category; text NULL: numbers.  Copied.  After a failure the table is as it was.  Errors:
 * DROVE_E_ARG (a name that a column has, no type of drove_type), DROVE_E_SHAPE, DROVE_E_DATA (a
 * number without a text, a text that is not UTF-8), DROVE_E_NOMEM. */
drove_status drove_arrow_table_add(drove_arrow_table *table, const char *name,
                                   const drove_matrix *values, const char *const *text,
                                   size_t n_texts);

/* ---- predictions ---- */

/* Predictions for any data, as by drove_predictor_apply, as a record batch for other programs: a
 * column for each output, of floats where it is a class's probability and of doubles where it is a
 * value; called by its class or value; by its number where that has no name, "value" where it is
 * the only one.  *schema and *batch are the caller's to release, also columns that were moved out
 * of them; after a failure both are marked as released.  Errors: those of drove_predictor_apply. */
drove_status drove_predictor_arrow(drove_predictor *predictor, const char *data, unsigned threads,
                                   struct ArrowSchema *schema, struct ArrowArray *batch);

/* Predictions for a stream of rows, as a stream: a batch for each of rows', with the columns of
 * drove_predictor_arrow, computed by `threads` when it is asked for.  So one batch of each is in
 * memory at a time.  A model of a table takes columns by their names; one of dense rows takes
 * columns of numbers without missing cells as its features, in their order.  Ownership of *rows
 * moves: whatever the result, it is marked as released.  *out is the caller's to release; it keeps
 * the predictor, which may be destroyed before, and may be read by one thread at a time.  Errors:
 * DROVE_E_DATA (no stream, or none that has a schema), DROVE_E_UNSUPPORTED (a model of sparse rows
 * that are no table), DROVE_E_NOMEM; *out is then marked as released.  What is wrong with a batch
 * its get_next says: an errno, and a text by get_last_error. */
drove_status drove_predictor_stream(drove_predictor *predictor, struct ArrowArrayStream *rows,
                                    unsigned threads, struct ArrowArrayStream *out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
