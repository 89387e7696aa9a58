/* kernel/lanes/columns.h - dropout and per-column (channel) work, vectorised. */
#ifndef DROVEK_LANES_COLUMNS_H
#define DROVEK_LANES_COLUMNS_H

#include "kernel/kernel.h"
#include "kernel/lanes/blocks.h"

/* ---- dropout ---- */

INLINE vec_u32 hash_lanes(vec_u32 h)
{
    h = u32_mul(u32_fold(h, 16), u32_set(0x85ebca6bu));
    h = u32_mul(u32_fold(h, 13), u32_set(0xc2b2ae35u));
    return u32_fold(h, 16);
}

typedef struct dropout_lanes { /* a drovek_dropout in registers */
    vec_u32 low, high, threshold;
    vec     factor;
} dropout_lanes;

INLINE void dropout_at(const dropout_lanes *d, float *to, const float *from, vec_u32 number,
                       bool adds, size_t count)
{
    vec_u32 h = hash_lanes(u32_add(hash_lanes(u32_xor(number, d->low)), d->high));
    vec     v = vec_where_least(h, d->threshold, vec_mul(d->factor, vec_load(from, count)));
    vec_store(to, adds ? vec_add(vec_load(to, count), v) : v, count);
}

INLINE void dropout_row(const dropout_lanes *d, float *to, const float *from, size_t cols,
                        uint32_t number, bool adds)
{
    vec_u32 at = u32_add(u32_count(), u32_set(number)), step = u32_set(LANES);
    size_t  j = 0;
    for (; j + LANES <= cols; j += LANES, at = u32_add(at, step))
        dropout_at(d, to + j, from + j, at, adds, LANES);
    if (j < cols) dropout_at(d, to + j, from + j, at, adds, cols - j);
}

static void dropout_f32(const drovek_dropout *d, float *to, const float *from, size_t rows,
                        size_t cols, size_t first, size_t stride, bool adds)
{
    dropout_lanes all = {u32_set((uint32_t)d->key), u32_set((uint32_t)(d->key >> 32)),
                         u32_set(d->threshold), vec_set(d->factor)};
    for (size_t i = 0; i < rows; i++, to += cols, from += cols) {
        uint32_t number = (uint32_t)(first + i * stride);
        if (adds) dropout_row(&all, to, from, cols, number, true);
        else dropout_row(&all, to, from, cols, number, false);
    }
}

/* ---- sums ---- */

enum { COLUMN_VECS = 4 };

INLINE void add_in_double(double *to, const vec *from, size_t n_vec, size_t last)
{
    float part[COLUMN_VECS * LANES];
    block_store(part, from, n_vec, last);
    for (size_t j = 0; j < (n_vec - 1) * LANES + last; j++) to[j] += (double)part[j];
}

/* At most DROVEK_COLUMN_RUN rows of n_vec registers of columns. */
INLINE void sum_run(const float *u, const vec *ku, const float *v, const vec *kv, size_t rows,
                    size_t stride, double *sum, double *product, size_t n_vec, size_t last)
{
    vec sums[COLUMN_VECS], products[COLUMN_VECS];
    UNROLL
    for (size_t b = 0; b < n_vec; b++) sums[b] = products[b] = vec_set(0.0f);
    for (size_t i = 0; i < rows; i++, u += stride, v += stride) {
        UNROLL
        for (size_t b = 0; b < n_vec; b++) {
            size_t count = block_count(b, n_vec, last);
            vec    first = vec_sub(vec_load(u + b * LANES, count), ku[b]);
            vec    second = vec_sub(vec_load(v + b * LANES, count), kv[b]);
            sums[b] = vec_add(sums[b], first);
            products[b] = vec_fma(first, second, products[b]);
        }
    }
    add_in_double(sum, sums, n_vec, last);
    add_in_double(product, products, n_vec, last);
}

INLINE void sum_columns(const float *u, const float *ku, const float *v, const float *kv,
                        size_t rows, size_t cols, double *sum, double *product, size_t n_vec,
                        size_t last)
{
    vec first[COLUMN_VECS], second[COLUMN_VECS];
    UNROLL
    for (size_t b = 0; b < n_vec; b++) {
        size_t count = block_count(b, n_vec, last);
        first[b] = ku != NULL ? vec_load(ku + b * LANES, count) : vec_set(0.0f);
        second[b] = vec_load(kv + b * LANES, count);
    }
    for (size_t i = 0; i < rows; i += DROVEK_COLUMN_RUN) {
        size_t run = rows - i < DROVEK_COLUMN_RUN ? rows - i : DROVEK_COLUMN_RUN;
        sum_run(u + i * cols, first, v + i * cols, second, run, cols, sum, product, n_vec, last);
    }
}

static void column_sums_f32(const float *u, const float *ku, const float *v, const float *kv,
                            size_t rows, size_t cols, double *sum, double *product)
{
    size_t j = 0;
#define AT(n_vec, last)                                                                            \
    sum_columns(u + j, ku != NULL ? ku + j : NULL, v + j, kv + j, rows, cols, sum + j,             \
                product + j, n_vec, last)
    for (; j + COLUMN_VECS * LANES <= cols; j += COLUMN_VECS * LANES) AT(COLUMN_VECS, LANES);
    for (; j + LANES <= cols; j += LANES) AT(1, LANES);
    if (j < cols) AT(1, cols - j);
#undef AT
}

/* ---- linear combination ---- */

INLINE void combine_block(float *to, const float *x, const float *y, const float *a, const float *b,
                          const float *c, size_t rows, size_t stride, bool adds, size_t n_vec,
                          size_t last)
{
    vec va[COLUMN_VECS], vb[COLUMN_VECS], vc[COLUMN_VECS];
    block_load(va, a, n_vec, last);
    if (y != NULL) block_load(vb, b, n_vec, last);
    block_load(vc, c, n_vec, last);
    for (size_t i = 0; i < rows; i++) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            size_t count = block_count(v, n_vec, last), at = i * stride + v * LANES;
            vec    rest = y != NULL ? vec_fma(vb[v], vec_load(y + at, count), vc[v]) : vc[v];
            vec    all = vec_fma(va[v], vec_load(x + at, count), rest);
            vec_store(to + at, adds ? vec_add(vec_load(to + at, count), all) : all, count);
        }
    }
}

INLINE void combine(float *to, const float *x, const float *y, const float *a, const float *b,
                    const float *c, size_t rows, size_t cols, bool adds)
{
    size_t j = 0;
#define AT(n_vec, last)                                                                            \
    combine_block(to + j, x + j, y != NULL ? y + j : NULL, a + j, y != NULL ? b + j : NULL, c + j, \
                  rows, cols, adds, n_vec, last)
    for (; j + COLUMN_VECS * LANES <= cols; j += COLUMN_VECS * LANES) AT(COLUMN_VECS, LANES);
    for (; j + LANES <= cols; j += LANES) AT(1, LANES);
    if (j < cols) AT(1, cols - j);
#undef AT
}

static void column_combine_f32(float *to, const float *x, const float *y, const float *a,
                               const float *b, const float *c, size_t rows, size_t cols, bool adds)
{
    if (y == NULL && !adds) combine(to, x, NULL, a, b, c, rows, cols, false);
    else if (y == NULL) combine(to, x, NULL, a, b, c, rows, cols, true);
    else if (!adds) combine(to, x, y, a, b, c, rows, cols, false);
    else combine(to, x, y, a, b, c, rows, cols, true);
}

/* ---- copies ---- */

INLINE void copy_row(float *to, const float *from, size_t cols, bool adds)
{
    size_t j = 0;
    for (; j + LANES <= cols; j += LANES) {
        vec v = vec_load(from + j, LANES);
        vec_store(to + j, adds ? vec_add(vec_load(to + j, LANES), v) : v, LANES);
    }
    if (j == cols) return;
    vec v = vec_load(from + j, cols - j);
    vec_store(to + j, adds ? vec_add(vec_load(to + j, cols - j), v) : v, cols - j);
}

static void copy_rows_f32(float *to, size_t to_stride, const float *from, size_t from_stride,
                          size_t rows, size_t cols, bool adds)
{
    for (size_t i = 0; i < rows; i++, to += to_stride, from += from_stride) {
        if (adds) copy_row(to, from, cols, true);
        else copy_row(to, from, cols, false);
    }
}

#endif
