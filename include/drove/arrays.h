/* drove/arrays.h - data and files in the program's own memory.
 *
 * Both have a name, "memory:7", which stands wherever the name of a data set or of a file may: in
 * the options data, test and model, and in drove_use_options.  A data set made of arrays is the
 * spec "memory:7", with the keys that all data have ("memory:7?scale=standard&split=0.2"); a table
 * or LIBSVM data as text are "table:memory:8?label=y", "libsvm:memory:8"; a saved model is
 * "memory:9.safetensors".
 *
 * Threads: a handle belongs to one thread while it is set up and destroyed; its name may be used by
 * any number of threads meanwhile.
 */
#ifndef DROVE_ARRAYS_H
#define DROVE_ARRAYS_H

#include <drove/status.h>

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of the machine's own byte order. */
typedef enum drove_type {
    DROVE_TYPE_F32, /* float */
    DROVE_TYPE_F64, /* double */
    DROVE_TYPE_U8,  /* uint8_t */
    DROVE_TYPE_I8,  /* int8_t */
    DROVE_TYPE_U16, /* uint16_t */
    DROVE_TYPE_I16, /* int16_t */
    DROVE_TYPE_U32, /* uint32_t */
    DROVE_TYPE_I32, /* int32_t */
    DROVE_TYPE_U64, /* uint64_t */
    DROVE_TYPE_I64, /* int64_t */
    DROVE_TYPE_BOOL /* a byte, 0 or not 0 */
} drove_type;
size_t drove_type_size(drove_type type); /* bytes of one number; 0: no such type */

/* An array of two dimensions: number [i][j] lies at values + i * row_bytes + j * column_bytes.
 * Both steps may be negative.  A vector has one column. */
typedef struct drove_matrix {
    const void *values;                  /* number [0][0]; the caller's */
    drove_type  type;                    /* of every number */
    size_t      n_rows, n_columns;       /* shape */
    ptrdiff_t   row_bytes, column_bytes; /* bytes from one row, or column, to the next */
} drove_matrix;
/* A matrix whose numbers lie without gaps, row after row; values stay the caller's. */
drove_matrix drove_matrix_dense(const void *values, drove_type type, size_t n_rows,
                                size_t n_columns);

/* Compressed sparse rows: the numbers of row i are value[start[i]] to value[start[i + 1] - 1], in
 * the columns that index names.  Compressed sparse columns are the same the other way round.  All
 * three arrays are aligned to their numbers. */
typedef struct drove_sparse {
    size_t      n_rows, n_columns;      /* shape */
    const void *start;                  /* [n_rows + 1], or [n_columns + 1] */
    const void *index;                  /* [start[n]]: column, or row, of each number */
    drove_type  start_type, index_type; /* I32, I64, U32 or U64 */
    const void *value;                  /* [start[n]]; NULL: all are 1 */
    drove_type  value_type;             /* of value; without it not used */
    int         is_by_columns;          /* 0: compressed rows, else compressed columns */
} drove_sparse;

/* ---- a data set of arrays ---- */

/* A data set of arrays; opaque. */
typedef struct drove_arrays drove_arrays;

/* Without rows yet.  Errors: DROVE_E_NOMEM. */
drove_status drove_arrays_create(drove_arrays **out);
/* The caller's arrays that were not copied must stay as they are until this has returned and every
 * run and drove_data that uses them has ended.  NULL accepted. */
void drove_arrays_destroy(drove_arrays *arrays);

/* The examples, by one of these two, before all else.  Not copied: floats of 32 bits and bytes
 * (U8) in rows one after the other; of sparse rows with ascending columns the indices of 32 bits,
 * the starts of 64 bits, and values that are floats of 32 bits.  All else is copied; sparse values
 * that are all 1 are left out.  Errors:
 * DROVE_E_ARG (a type, 2^32 rows or more), DROVE_E_DATA (an index out of range or given twice,
 * starts that descend), DROVE_E_NOMEM. */
drove_status drove_arrays_set_dense(drove_arrays *arrays, const drove_matrix *x);
/* Sparse examples: copying and errors as in drove_arrays_set_dense. */
drove_status drove_arrays_set_sparse(drove_arrays *arrays, const drove_sparse *x);
/* Dense examples are images, their numbers in the order [channel][row][column].  Errors:
 * DROVE_E_SHAPE. */
drove_status drove_arrays_set_images(drove_arrays *arrays, size_t channels, size_t height,
                                     size_t width);

/* ---- targets of a data set of arrays ----
 *
 * By at most one of drove_arrays_set_classes, _set_values and _set_labels; all are copied.  Without
 * any the data can be predicted, not trained on or evaluated.  After a failure there are none.
 * Errors: DROVE_E_SHAPE (another number of rows than the examples have), DROVE_E_DATA (a class that
 * is no whole number from 0 to n_classes - 1), DROVE_E_ARG (no numbers, no name, 2^32 - 1 columns),
 * DROVE_E_NOMEM. */

/* One class for each example: a vector of numbers.  name[n_classes]: copied; NULL: they are called
 * "0", "1", ... */
drove_status drove_arrays_set_classes(drove_arrays *arrays, const drove_matrix *classes,
                                      size_t n_classes, const char *const *name);
/* Regression: values[n_rows][n_values], one or more for each example. */
drove_status drove_arrays_set_values(drove_arrays *arrays, const drove_matrix *values);
/* Sets of labels: labels[n_rows][n_labels], not 0: the example has it.  name[n_labels]: as in
 * drove_arrays_set_classes. */
drove_status drove_arrays_set_labels(drove_arrays *arrays, const drove_matrix *labels,
                                     const char *const *name);
/* A weight of each example in the loss and in metrics: a vector, finite, not negative; copied.
 * Errors: DROVE_E_SHAPE, DROVE_E_DATA, DROVE_E_NOMEM. */
drove_status drove_arrays_set_weights(drove_arrays *arrays, const drove_matrix *weights);

/* ---- what the data set is called ---- */

/* "memory:7"; owned by arrays */
const char *drove_arrays_name(const drove_arrays *arrays);
/* Bytes of the examples that had to be copied; 0: none. */
size_t drove_arrays_copied_bytes(const drove_arrays *arrays);

/* ---- a file in memory ---- */

/* Bytes that stand for a file; opaque. */
typedef struct drove_memory_file drove_memory_file;

/* bytes[n_bytes]: copied if copies is not 0; else they must stay as they are until the handle is
 * destroyed and nothing reads them any more.  Plain, gzip or zstd.  Errors: DROVE_E_NOMEM. */
drove_status drove_memory_file_create(const void *bytes, size_t n_bytes, int copies,
                                      drove_memory_file **out);
void         drove_memory_file_destroy(drove_memory_file *file); /* NULL accepted */
/* "memory:7"; owned by file */
const char *drove_memory_file_name(const drove_memory_file *file);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
