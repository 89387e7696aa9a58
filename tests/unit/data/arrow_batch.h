/* tests/unit/data/arrow_batch.h - record batches of the Arrow C data interface, made by hand.
 *
 * Buffers have exactly the bytes that the specification asks for, so that AddressSanitizer sees a
 * byte too far. */
#ifndef DROVE_TEST_DATA_ARROW_BATCH_H
#define DROVE_TEST_DATA_ARROW_BATCH_H

#include <drove/arrow.h>

#include <stddef.h>
#include <stdint.h>

enum { BATCH_COLUMNS_MOST = 32, BATCH_BUFFERS_MOST = 6 };

typedef struct batch_part { /* a column, or the dictionary of one */
    struct ArrowSchema schema;
    struct ArrowArray  array;
    const void        *buffer[BATCH_BUFFERS_MOST]; /* malloc */
} batch_part;

typedef struct batch {
    struct ArrowSchema  schema;
    struct ArrowArray   array;
    size_t              n_columns;
    batch_part          column[BATCH_COLUMNS_MOST], value[BATCH_COLUMNS_MOST];
    struct ArrowSchema *schemas[BATCH_COLUMNS_MOST];
    struct ArrowArray  *arrays[BATCH_COLUMNS_MOST];
    const void         *no_bitmap;
    unsigned            n_released; /* of schema and array: 2 when all is well */
} batch;

/* Without columns; free_batch.  Whether it was released is for the test to say. */
batch *make_batch(size_t n_rows);
void   free_batch(batch *b);

/* A column without null cells: n_buffers - 1 buffers follow, of n_bytes each; "" is NULL. */
batch_part *add_column(batch *b, const char *name, const char *format, size_t n_buffers);
/* Buffer i becomes a copy. */
void set_buffer(batch_part *part, size_t i, const void *bytes, size_t n_bytes);
/* valid: a character for each cell; '0' is null. */
void set_valid(batch_part *part, const char *valid);
/* The dictionary of the last column. */
batch_part *add_dictionary(batch *b, const char *format, size_t n_values, size_t n_buffers);
/* A column of utf8. */
batch_part *add_texts(batch *b, const char *name, const char *const *text);
/* Offsets of 4 bytes, and bytes, as buffers 1 and 2. */
void set_texts(batch_part *part, const char *const *text, size_t n);

/* A stream of these batches, in their order; get_schema gives the schema of the first. */
typedef struct batch_stream {
    struct ArrowArrayStream stream;
    batch                 **batch; /* [n] */
    size_t                  n, next;
    unsigned                n_released;
    const char             *error; /* what get_next fails with once no batch is left; NULL */
} batch_stream;
void make_stream(batch_stream *s, batch **b, size_t n);

#endif
