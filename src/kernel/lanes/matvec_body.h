/* kernel/lanes/matvec_body.h - the functions of matvec.h for one format of factors.  Before it:
 *   PRODUCT(name)        the name of a function of this format
 *   FACTOR(v)            a register rounded to the format
 *   ONE_FACTOR(v)        a float
 *   FMA_AT(sum, x, p, n) sum + x p[0 .. n), p rounded to the format; p is shared memory
 */
#ifndef DROVEK_LANES_MATVEC_BODY_H
#define DROVEK_LANES_MATVEC_BODY_H

#include "base/racy.h"
#include "kernel/kernel.h"
#include "kernel/lanes/blocks.h"

#include <math.h>

/* Inputs turned into a list at a time.  Their rows of W fit the first-level cache, where a second
 * block of columns finds what was read beside the first. */
enum { LIST = 64 };

typedef struct nonzero_list {
    uint32_t index[LIST + LANES];
    float    value[LIST + LANES];
    size_t   count;
} nonzero_list;

/* The non-zero elements of x[begin .. end), end - begin <= LIST. */
static void list_nonzero(nonzero_list *list, const float *x, size_t begin, size_t end)
{
    size_t count = 0;
    for (size_t j = begin; j < end; j += LANES) {
        vec part = vec_load(x + j, end - j < LANES ? end - j : LANES);
        count += vec_append(list->index + count, list->value + count, part, vec_nonzero(part),
                            (uint32_t)j);
    }
    list->count = count;
}

#endif

/* ---- y += rows ---- */

/* y[0 .. n_vec registers) += sum_k value[k] W[index[k]][same columns]; w points at the block's
 * first column.  last: elements of the last register. */
INLINE void PRODUCT(add_rows_block)(float *y, const uint32_t *index, const float *value, size_t n,
                                    const float *w, size_t n_out, size_t n_vec, size_t last)
{
    vec sum[WIDE];
    block_load(sum, y, n_vec, last);
    for (size_t k = 0; k < n; k++) {
        const float *row = w + index[k] * n_out;
        vec          factor = vec_set(value != NULL ? ONE_FACTOR(value[k]) : 1.0f);
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            sum[v] = FMA_AT(sum[v], factor, row + v * LANES, block_count(v, n_vec, last));
        }
    }
    block_store(y, sum, n_vec, last);
}

/* n_out = 1: a sparse dot product */
static void PRODUCT(add_elements)(float *y, const uint32_t *index, const float *value, size_t nnz,
                                  const float *w)
{
    float sum = *y;
    for (size_t k = 0; k < nnz; k++)
        sum = fmaf(value != NULL ? ONE_FACTOR(value[k]) : 1.0f,
                   ONE_FACTOR(drove__racy_load(w + index[k])), sum);
    *y = sum;
}

static void PRODUCT(spmatvec)(float *y, const uint32_t *index, const float *value, size_t nnz,
                              const float *w, size_t n_out)
{
    size_t o = 0;
    if (n_out == 1) {
        PRODUCT(add_elements)(y, index, value, nnz, w);
        return;
    }
    for (; o + WIDE * LANES <= n_out; o += WIDE * LANES) {
        PRODUCT(add_rows_block)(y + o, index, value, nnz, w + o, n_out, WIDE, LANES);
    }
    if (o + HALF * LANES <= n_out) {
        PRODUCT(add_rows_block)(y + o, index, value, nnz, w + o, n_out, HALF, LANES);
        o += HALF * LANES;
    }
    for (; o + LANES <= n_out; o += LANES)
        PRODUCT(add_rows_block)(y + o, index, value, nnz, w + o, n_out, 1, LANES);
    if (o < n_out) PRODUCT(add_rows_block)(y + o, index, value, nnz, w + o, n_out, 1, n_out - o);
}

static void PRODUCT(matvec)(float *y, const float *x, const float *w, size_t n_in, size_t n_out)
{
    nonzero_list list;
    for (size_t begin = 0; begin < n_in; begin += LIST) {
        list_nonzero(&list, x, begin, n_in - begin < LIST ? n_in : begin + LIST);
        PRODUCT(spmatvec)(y, list.index, list.value, list.count, w, n_out);
    }
}

/* ---- rows -= eta x dy ---- */

INLINE void PRODUCT(step_rows_block)(float *w, const uint32_t *index, const float *value, size_t n,
                                     const float *dy, size_t n_out, float eta, size_t n_vec,
                                     size_t last)
{
    vec step = vec_set(eta), d[WIDE];
    block_load(d, dy, n_vec, last);
    UNROLL
    for (size_t v = 0; v < n_vec; v++) d[v] = FACTOR(d[v]);
    for (size_t k = 0; k < n; k++) {
        float *row = w + index[k] * n_out;
        vec    factor = vec_set(value != NULL ? ONE_FACTOR(value[k]) : 1.0f);
        vec    next[WIDE];
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            vec now = racy_load(row + v * LANES, block_count(v, n_vec, last));
            next[v] = vec_fnma(step, vec_mul(factor, d[v]), now);
        }
        UNROLL
        for (size_t v = 0; v < n_vec; v++)
            racy_store(row + v * LANES, next[v], block_count(v, n_vec, last));
    }
}

/* n_out = 1: a sparse AXPY */
static void PRODUCT(step_elements)(float *w, const uint32_t *index, const float *value, size_t nnz,
                                   float dy, float eta)
{
    for (size_t k = 0; k < nnz; k++) {
        float gradient = (value != NULL ? ONE_FACTOR(value[k]) : 1.0f) * ONE_FACTOR(dy);
        drove__racy_store(w + index[k], fmaf(-eta, gradient, drove__racy_load(w + index[k])));
    }
}

static void PRODUCT(spger)(float *w, const uint32_t *index, const float *value, size_t nnz,
                           const float *dy, size_t n_out, float eta)
{
    size_t o = 0;
    if (n_out == 1) {
        PRODUCT(step_elements)(w, index, value, nnz, dy[0], eta);
        return;
    }
    for (; o + WIDE * LANES <= n_out; o += WIDE * LANES) {
        PRODUCT(step_rows_block)(w + o, index, value, nnz, dy + o, n_out, eta, WIDE, LANES);
    }
    if (o + HALF * LANES <= n_out) {
        PRODUCT(step_rows_block)(w + o, index, value, nnz, dy + o, n_out, eta, HALF, LANES);
        o += HALF * LANES;
    }
    for (; o + LANES <= n_out; o += LANES) {
        PRODUCT(step_rows_block)(w + o, index, value, nnz, dy + o, n_out, eta, 1, LANES);
    }
    if (o < n_out)
        PRODUCT(step_rows_block)(w + o, index, value, nnz, dy + o, n_out, eta, 1, n_out - o);
}

static void PRODUCT(ger)(float *w, const float *x, const float *dy, size_t n_in, size_t n_out,
                         float eta)
{
    nonzero_list list;
    for (size_t begin = 0; begin < n_in; begin += LIST) {
        list_nonzero(&list, x, begin, n_in - begin < LIST ? n_in : begin + LIST);
        PRODUCT(spger)(w, list.index, list.value, list.count, dy, n_out, eta);
    }
}

/* ---- the same into the caller's private gradient ---- */

INLINE void PRODUCT(outer_at)(float *g, vec x, const float *dy, size_t count)
{
    vec_store(g, vec_mul(x, FACTOR(vec_load(dy, count))), count);
}

static void PRODUCT(outer)(float *g, const float *x, const float *dy, size_t n_in, size_t n_out)
{
    for (size_t j = 0; j < n_in; j++, g += n_out) {
        vec    factor = vec_set(ONE_FACTOR(x[j]));
        size_t o = 0;
        for (; o + LANES <= n_out; o += LANES) PRODUCT(outer_at)(g + o, factor, dy + o, LANES);
        if (o < n_out) PRODUCT(outer_at)(g + o, factor, dy + o, n_out - o);
    }
}

INLINE void PRODUCT(spouter_at)(float *g, vec value, const float *dy, size_t count)
{
    vec_store(g, vec_fma(value, FACTOR(vec_load(dy, count)), vec_load(g, count)), count);
}

static void PRODUCT(spouter)(float *g, const uint32_t *index, const float *value, size_t nnz,
                             const float *dy, size_t n_out)
{
    for (size_t k = 0; k < nnz; k++) {
        float *row = g + index[k] * n_out;
        vec    factor = vec_set(value != NULL ? ONE_FACTOR(value[k]) : 1.0f);
        size_t o = 0;
        for (; o + LANES <= n_out; o += LANES) PRODUCT(spouter_at)(row + o, factor, dy + o, LANES);
        if (o < n_out) PRODUCT(spouter_at)(row + o, factor, dy + o, n_out - o);
    }
}

/* ---- dx = W dy ---- */

/* {sum_o W[j][o] dy[o] over the block : j of the n_rows <= LANES rows at w}; missing rows give
 * 0. */
INLINE vec PRODUCT(row_sums)(const float *w, const float *dy, size_t n_rows, size_t n_out,
                             size_t n_vec, size_t last)
{
    vec d[WIDE], sum[LANES];
    UNROLL
    for (size_t v = 0; v < n_vec; v++)
        d[v] = FACTOR(racy_load(dy + v * LANES, block_count(v, n_vec, last)));
    UNROLL
    for (size_t r = 0; r < LANES; r++) {
        sum[r] = vec_set(0.0f);
        if (r >= n_rows) continue;
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            sum[r] = FMA_AT(sum[r], d[v], w + r * n_out + v * LANES, block_count(v, n_vec, last));
        }
    }
    return vec_sum_rows(sum);
}

/* n_rows <= LANES elements of dx; a constant LANES drops the tests for missing rows. */
INLINE void PRODUCT(matvec_t_rows)(float *dx, const float *dy, const float *w, size_t n_rows,
                                   size_t n_out)
{
    vec    total = vec_set(0.0f);
    size_t o = 0;
    for (; o + WIDE * LANES <= n_out; o += WIDE * LANES) {
        total = vec_add(total, PRODUCT(row_sums)(w + o, dy + o, n_rows, n_out, WIDE, LANES));
    }
    if (o + HALF * LANES <= n_out) {
        total = vec_add(total, PRODUCT(row_sums)(w + o, dy + o, n_rows, n_out, HALF, LANES));
        o += HALF * LANES;
    }
    for (; o + LANES <= n_out; o += LANES) {
        total = vec_add(total, PRODUCT(row_sums)(w + o, dy + o, n_rows, n_out, 1, LANES));
    }
    if (o < n_out)
        total = vec_add(total, PRODUCT(row_sums)(w + o, dy + o, n_rows, n_out, 1, n_out - o));
    vec_store(dx, total, n_rows);
}

static void PRODUCT(matvec_t)(float *dx, const float *dy, const float *w, size_t n_in, size_t n_out)
{
    size_t j = 0;
    for (; j + LANES <= n_in; j += LANES)
        PRODUCT(matvec_t_rows)(dx + j, dy, w + j * n_out, LANES, n_out);
    if (j < n_in) PRODUCT(matvec_t_rows)(dx + j, dy, w + j * n_out, n_in - j, n_out);
}
