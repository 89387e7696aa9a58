/* data/read/elements.h - numbers of binary files (IDX, NPY) in their various types, as floats or
 * doubles. */
#ifndef DROVE_DATA_READ_ELEMENTS_H
#define DROVE_DATA_READ_ELEMENTS_H

#include "base/file.h"
#include "base/status.h"
#include "data/data.h"

#include <stdbool.h>

typedef enum drove_element_type {
    DROVE_ELEMENT_U8,
    DROVE_ELEMENT_I8,
    DROVE_ELEMENT_I16,
    DROVE_ELEMENT_I32,
    DROVE_ELEMENT_I64,
    DROVE_ELEMENT_U16,
    DROVE_ELEMENT_U32,
    DROVE_ELEMENT_U64,
    DROVE_ELEMENT_F16,
    DROVE_ELEMENT_F32,
    DROVE_ELEMENT_F64
} drove_element_type;

typedef struct drove_elements { /* layout of an array of numbers in a file */
    drove_element_type type;
    bool               big_endian;
    bool               is_by_columns;  /* of examples: a column's numbers follow each other */
    uint64_t           begin, columns; /* errors name row and column; columns 0: the byte */
} drove_elements;

size_t drove__element_bytes(drove_element_type type);

/* Checks that the file can hold `rows` x `columns` elements from its current position on;
 * *n_elements is the product.  Errors: DROVE_E_DATA, DROVE_E_UNSUPPORTED (compressed, and many
 * times as large as the file: base/file.h). */
drove_status drove__elements_check(const drove_reader *r, drove_elements elements, uint64_t rows,
                                   uint64_t columns, size_t *n_elements);

/* Reads n elements; into is [n].  Refuses floats that are not finite, with their byte.  Errors:
 * DROVE_E_DATA, DROVE_E_IO. */
drove_status drove__elements_read_double(drove_reader *r, drove_elements elements, size_t n,
                                         double *into);

/* Reads examples, an array of n_rows x n_features from the file's current position to its end:
 * kind, numbers and counts of the storage.  Skips rows of other shards; n_rows of the storage is
 * still all rows, for the reader of targets.  Numbers that do not fit into the memory that is free
 * are refused before any is read.  Errors: as above. */
drove_status drove__elements_read_examples(drove_reader *r, drove_elements elements,
                                           uint64_t n_rows, uint64_t n_features,
                                           const drove_shard *shard, drove_storage *storage);

/* Refuses content after the last element. */
drove_status drove__elements_end(drove_reader *r);

#endif
