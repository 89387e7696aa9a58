/* kernel/planes.h - arrays of integers times a power of two, kept as bytes: products with exact
 * sums, rounding, and the derivative of an activation.  Part of the table of kernel.h.
 *
 * An integer of at most 8 bits is one signed byte, in the plane `high`.  One of at most 16 bits is
 * 256 high + low, with a signed byte in `high` and an unsigned one in `low`.  Of an array that had
 * a number that is not finite the unit is NaN.
 *
 * ref/planes.c is the definition, and every tier has its bits.
 *
 *   gemm      C[m][n] = S(0) + S(1) + ... (adds: C + S(0) + ...), in this order, in singles.
 *             S(b) = the sum over the b-th DROVEK_PLANES_K terms along k of the products of
 *             integers, exact, then rounded to a single, times a's unit, times b's unit.  Of a B
 *             that is not transposed and has units by column, column j's: unit * by[j].  Along k
 *             units by column must cancel out, a's times b's: they are not looked at.
 *             end (NULL: nothing): of all of C, complete; first C = act(C + bias[j]), as by
 *             bias_act_f32, of an activation that is linear or ReLU; then largest = the largest of
 *             what it was and the magnitudes of C, as by largest_f32
 *   round     integer = floor(fmaf(1 / unit, x, (r + 0.5) / 2^16)), r a random word of 16 bits as
 *             for an AXPY from floats to 16 bits (kernel/linear.h), limited to what the planes
 *             hold; to (NULL: not wanted) = the integer times the unit; to may be x
 *   max_pool  as max_pool_f32, of integers: y's, of as many planes as x's, and its unit, x's;
 *             windows of at most DROVEK_POOL_BYTE elements.  place NULL: not wanted
 *   max_pool_back  dx's integers: those of dy where the maxima were, elsewhere 0; and its
 *             units.  Of windows that do not overlap: sw >= kw and sh >= kh
 *   turn      to[n][c] = from[c][n], bytes: an image's channels come together
 *   step      w[m][n] = clamp(w + floor(fmaf(factor[j], S, (r + 0.5) / 2^16))), by the AXPY from
 *             floats to 8 bits: S = the sum of the k <= DROVEK_PLANES_K products of integers of
 *             a[k][lda], transposed, and b[k][ldb], exact, then rounded to a single; units are not
 *             looked at.  Random bits are drawn for every DROVEK_PLANES_DRAW numbers of w, row by
 *             row, and for the rest.  Adds to *n_clamped.  false: not done, not for these sizes
 *             and factors; nothing is drawn or written.  [racy: w]  NULL: a tier has none
 *   back      ReLU's derivative: integers of dy are 0 where y's are not above 0 (relu false:
 *             stay); db[o] = the sum over rows of dy's integers, exact, then rounded to a single,
 *             times the unit, of column o if there are some by column
 *
 * Memory: planes are a thread's own, and DROVEK_PLANES_SLACK bytes behind each belong to it: gemm,
 * step, max_pool and max_pool_back may read them.  C and x are the caller's own as well.
 */
#ifndef DROVEK_PLANES_H
#define DROVEK_PLANES_H

#include "kernel/image.h"
#include "kernel/linear.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVEK_PLANES_K = 2048, DROVEK_PLANES_SLACK = 64, DROVEK_PLANES_DRAW = 512 };

typedef struct drovek_planes {
    uint8_t     *high, *low; /* low NULL: integers of 8 bits */
    float        unit;
    const float *by; /* powers of two; column j of a matrix has the unit unit * by[j]; NULL: 1 */
} drovek_planes;

static inline drovek_planes drovek_planes_from(const drovek_planes *p, size_t first)
{
    return (drovek_planes){p->high + first, p->low != NULL ? p->low + first : NULL, p->unit, p->by};
}

/* A matrix from number `first` on, which is in column `column` of the whole. */
static inline drovek_planes drovek_planes_columns(const drovek_planes *p, size_t first,
                                                  size_t column)
{
    drovek_planes part = drovek_planes_from(p, first);
    if (p->by != NULL) part.by += column;
    return part;
}

/* The unit of a matrix's column. */
static inline float drovek_planes_unit(const drovek_planes *p, size_t column)
{
    return p->by != NULL ? p->unit * p->by[column] : p->unit;
}

static inline int32_t drovek_planes_at(const drovek_planes *p, size_t i)
{
    return p->low != NULL ? (int8_t)p->high[i] * 256 + p->low[i] : (int8_t)p->high[i];
}

/* What ends a product.  [racy: bias] */
typedef struct drovek_planes_end {
    const float *bias; /* [n] of C's columns; NULL: none, and no activation */
    bool         relu;
    uint32_t     largest;
} drovek_planes_end;

/* op(A) is m x k, op(B) k x n, as for gemm_f32. */
typedef void drovek_planes_gemm_fn(bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                                   const drovek_planes *a, size_t lda, const drovek_planes *b,
                                   size_t ldb, bool adds, float *c, size_t ldc,
                                   drovek_planes_end *end);
typedef void drovek_planes_round_fn(const drovek_planes *planes, float *to, const float *x,
                                    size_t n, drovek_bits *bits);
/* Where a product that writes weights has its random bits from: the next n numbers' words of 16
 * bits, valid until the next call. */
typedef struct drovek_draws {
    drovek_bits *(*next)(void *context, size_t n);
    void *context;
} drovek_draws;

/* Integers of at most 8 bits; factor[n] */
typedef bool drovek_planes_step_fn(size_t m, size_t n, size_t k, const drovek_planes *a, size_t lda,
                                   const drovek_planes *b, size_t ldb, const float *factor,
                                   int8_t *w, const drovek_draws *draws, size_t *n_clamped);
/* dy[rows][cols], y[rows][cols] */
typedef void drovek_planes_back_fn(const drovek_planes *dy, const drovek_planes *y, size_t rows,
                                   size_t cols, bool relu, float *db);

typedef void drovek_planes_max_pool_fn(const drovek_pool *p, const drovek_planes *x,
                                       drovek_planes *y, uint8_t *place, size_t n);
typedef void drovek_planes_max_pool_back_fn(const drovek_pool *p, const drovek_planes *dy,
                                            const uint8_t *place, drovek_planes *dx, size_t n);

typedef void drovek_planes_turn_fn(uint8_t *to, const uint8_t *from, size_t c, size_t n);

/* What gemm costs, in clock cycles of 16 rows of op(A), roughly.  Convolutions choose by it what
 * they multiply (conv/byte_matrix.h). */
typedef struct drovek_planes_cost {
    unsigned k, columns;      /* terms and columns of C that are multiplied together, in a step */
    unsigned multiply, store; /* a step; writing a step's columns */
    bool     spares_products; /* rather more sums of floats than a quarter more products */
} drovek_planes_cost;

typedef struct drovek_strips_ops drovek_strips_ops;

typedef struct drovek_planes_ops {
    drovek_planes_gemm_fn          *gemm;
    drovek_planes_round_fn         *round;
    drovek_planes_back_fn          *back;
    drovek_planes_turn_fn          *turn;
    drovek_planes_max_pool_fn      *max_pool;
    drovek_planes_max_pool_back_fn *max_pool_back;
    const char                     *source;   /* "drove amx_int8" */
    bool                            one_wide; /* two factors of 16 bits: floats are faster */
    drovek_planes_cost              cost;
    drovek_planes_step_fn          *step;   /* NULL: none */
    const drovek_strips_ops        *strips; /* packed factors (strips.h); NULL: no gain */
} drovek_planes_ops;

#endif
