/* data/quant.h - a data set in 4, 8 or 16-bit fixed point or as floats, in the layout of the linear
 * kernels.
 *
 * Source: De Sa et al., ISCA 2017, section 3 (dataset numbers, index numbers, footnote 6).
 * Quantised once, at load or by `drove data convert`; immutable afterwards, read by any thread.
 */
#ifndef DROVE_DATA_QUANT_H
#define DROVE_DATA_QUANT_H

#include "base/fixed.h"
#include "data/data.h"

typedef struct drove_quant {
    drove_number number;     /* of the values */
    unsigned     index_bits; /* 0: dense; else 8, 16 or 32 */
    float        scale;      /* value = number * scale; 1 for floats */
    size_t       n_rows, n_features;
    /* dense: value[n_rows][row_bytes], each row 64-byte aligned and padded with zeros; the only
     * layout of DROVE_I4 */
    size_t row_bytes;
    void  *value;
    /* sparse: value[n_stored], index[n_stored], row_start[n_rows + 1] into both.  An index is a
     * feature (32 bits) or a difference (8, 16 bits: kernel/linear.h, drovek_pairs); a gap that
     * does not fit is bridged by pairs of the largest difference and value 0. */
    uint64_t   *row_start;
    void       *index;
    uint64_t    n_stored; /* pairs, bridges included */
    uint64_t    n_bridges;
    uint64_t    n_clamped; /* values beyond the format's range under the given scale */
    atomic_uint n_users;   /* reference count */
} drove_quant;

typedef struct drove_quant_options {
    drove_number    number;
    unsigned        index_bits; /* 0 for dense data; 8, 16, 32 for sparse data, not of DROVE_I4 */
    float           scale;      /* 0: the largest magnitude becomes the largest number */
    const uint32_t *order;      /* [data->n_rows] row i of the result is row order[i] of the view;
                                   NULL: in the view's order */
} drove_quant_options;

/* The examples of a view, scaled by its shift and factor, rounded to nearest.  Large arrays use
 * huge pages and the caller's memory policy.  A view of a quantised set (DROVE_X_QUANT) must have
 * the requested format: all its rows in order are the set itself, with one more reference;
 * otherwise rows are copied.
 * Errors: DROVE_E_ARG (index bits for dense data, none for sparse, sparse data in 4 bits),
 * DROVE_E_DATA (a scale that overflows or vanishes; the view is a quantised set of another format),
 * DROVE_E_NOMEM. */
drove_status drove__quant_create(const drove_data *data, const drove_quant_options *opt,
                                 drove_quant **out);
void         drove__quant_release(drove_quant *q); /* drops one reference; NULL accepted */

/* Row `row` as floats into x[n_features] (dense); or its pairs without bridges, as indices and
 * values, into index[] and x[] (sparse; at most row_start[row + 1] - row_start[row]); returns how
 * many.  A stored zero exactly one largest difference after its neighbour counts as a bridge. */
size_t drove__quant_row(const drove_quant *q, size_t row, uint32_t *index, float *x);

/* ---- quant_rows.c: for readers, writers and engines ---- */

/* "D8", "D16i8", "D32fi32" ...; static.  NULL: there is no such form (sparse numbers of 4 bits). */
const char *drove__quant_name(drove_number number, unsigned index_bits);

/* Bytes of a dense row: whole cache lines. */
size_t drove__quant_row_bytes(drove_number number, size_t n_features);

/* Largest difference between features; 0: the indices are features. */
static inline uint32_t drove__index_most(unsigned index_bits)
{
    return index_bits == 8 ? UINT8_MAX : index_bits == 16 ? UINT16_MAX : 0;
}

/* Writes stored index number `at`. */
static inline void drove__quant_put_index(drove_quant *q, uint64_t at, uint32_t index)
{
    if (q->index_bits == 8) ((uint8_t *)q->index)[at] = (uint8_t)index;
    else if (q->index_bits == 16) ((uint16_t *)q->index)[at] = (uint16_t)index;
    else ((uint32_t *)q->index)[at] = index;
}

/* Memory of n_stored pairs, as many as row_start[n_rows] says.  Errors: DROVE_E_NOMEM. */
drove_status drove__quant_alloc_pairs(drove_quant *q);

/* Iterates over the numbers of a row, without bridges:
 *     walk = drove__quant_walk(q, row);
 *     while (drove__quant_next(q, &walk)) ... walk.place, walk.value ... */
typedef struct drove_quant_walk {
    const char *row; /* dense: the row; sparse: all values  */
    uint64_t    at, end;
    uint32_t    place;
    float       value;
} drove_quant_walk;
drove_quant_walk drove__quant_walk(const drove_quant *q, size_t row);
bool             drove__quant_next(const drove_quant *q, drove_quant_walk *walk);

/* Row `row` as x[n_features] floats, zeros included, even for a sparse set. */
void drove__quant_unpack(const drove_quant *q, size_t row, size_t n_features, float *x);

/* A set with copies of rows row[n_rows] of q.  n_clamped is that of q.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__quant_copy(const drove_quant *q, const uint32_t *row, size_t n_rows,
                               drove_quant **out);

/* Checks all the rules above, with features below n_features; the sizes of the arrays have been
 * checked before.  Names `where` in errors (DROVE_E_DATA). */
drove_status drove__quant_check(const drove_quant *q, size_t n_features, const char *where);

/* Its parts: the scale; numbers and features of some rows, whose starts ascend. */
typedef struct drove_quant_span {
    size_t      first, n; /* rows of the set */
    size_t      shown;    /* what `first` is called in errors, from 0 */
    size_t      n_features;
    const char *where;
} drove_quant_span;
drove_status drove__quant_check_scale(const drove_quant *q, const char *where);
drove_status drove__quant_check_rows(const drove_quant *q, const drove_quant_span *span);

/* ---- quant_random.c ---- */

/* A set of n_rows examples with random numbers, uniform over the format (floats: over [-1, 1)), for
 * measuring: generated at about a GiB a second.  index_bits 0: dense, every number; else n_stored
 * distinct features per row, one in each n_stored-th part of the features.  1 <= n_stored <=
 * n_features.  The scale makes the largest number 1.  Errors: DROVE_E_NOMEM. */
typedef struct drove_quant_shape {
    drove_number number;
    unsigned     index_bits;
    size_t       n_rows, n_features, n_stored;
    uint64_t     seed;
} drove_quant_shape;
drove_status drove__quant_random(const drove_quant_shape *shape, drove_quant **out);

#endif
