/* kernel/strips.h - products whose factors are packed into tiles first, once for many products:
 * of integers kept as bytes (kernel/planes.h), or of floats that are rounded to bf16
 * (kernel/bf16.h).  Convolutions without a matrix of windows use them (conv/lines.h).
 *
 * A strip is 16 rows of op(A) or 16 columns of op(B).  A tile is tile_k terms of it, a kilobyte: of
 * op(A) [16 rows][tile_k], of op(B) [16][16 columns][tile_k / 16].  A term takes one byte, of one
 * plane of integers, or two, a bf16 number.
 *
 *   pack      tile t of strip s is at to + s * apart + t * DROVEK_TILE: n rows or columns, k terms,
 *             then zeros; `to` is aligned to 64 bytes.  along: they are rows of x[n][step], else
 *             columns of x[k][step].  x has numbers of `number_bytes`: bytes of a plane, or floats
 *             [racy: floats]
 *   lines     C[m][..], of the columns that strips have: the sum over n_lines lines of products of
 *             tiles of op(A) and of op(B), adds and end as for planes' gemm.  Of integers: exact,
 *             then rounded to a single, times the units; terms of op(B) that are not 0 are at most
 *             DROVEK_PLANES_K of a column.  Of bf16: singles, in an order that a tier may choose
 *   places    C[m][n] = S(0) + S(1) + ... (adds: C + S(0) + ...), S(b) = the sum over the b-th
 *             DROVEK_PLACES places, as by lines.  A place has tile_k terms: rows of a from row[p]
 *             on, and the strips of op(B) from tile tile[p] on
 *
 * In the factors of bf16 only `high` means anything.  ref/strips.c is the definition; every tier
 * has its bits, of integers.
 */
#ifndef DROVEK_STRIPS_H
#define DROVEK_STRIPS_H

#include "kernel/planes.h"

enum { DROVEK_STRIP = 16, DROVEK_TILE = 1024, DROVEK_PLACES = 512 };

/* A strip of op(B) that a sum over lines meets. */
typedef struct drovek_strip {
    size_t a;          /* the tile of a line of op(A) that its first one meets */
    size_t n_tiles;    /* of a line */
    size_t tile, step; /* its first one, of line 0; from a line's to the next line's */
    size_t c, n;       /* its first column of C, and how many */
} drovek_strip;

typedef struct drovek_strips {
    const drovek_strip *strip;          /* [n_strips] */
    size_t              n_strips, line; /* tiles from a line of op(A) to the next */
    drovek_planes       tiles;          /* packed; by: of C's columns */
} drovek_strips;

typedef void drovek_strips_pack_fn(bool of_b, uint8_t *to, size_t apart, const uint8_t *x,
                                   size_t step, bool along, size_t n, size_t k);

/* a: packed rows, from the first of the lines [first, first + n_lines) of op(B) on; a strip of rows
 * is `apart` tiles behind the one before. */
typedef void drovek_strips_lines_fn(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                                    const drovek_planes *a, size_t apart, bool adds, float *c,
                                    size_t ldc, drovek_planes_end *end);

/* a: [rows][tile_k], 15 more rows than are named can be read; b: packed; by: of C's columns */
typedef void drovek_strips_places_fn(size_t m, size_t n, size_t n_places, const drovek_planes *a,
                                     const uint32_t *row, const drovek_planes *b,
                                     const uint32_t *tile, bool adds, float *c, size_t ldc);

typedef struct drovek_strips_ops {
    drovek_strips_pack_fn   *pack;
    drovek_strips_lines_fn  *lines;
    drovek_strips_places_fn *places;
    size_t                   tile_k, number_bytes; /* 64 and 1, or, of bf16, 32 and 4 */
    size_t                   most_planes;          /* 2, or 1 */
    drovek_planes_cost       cost;                 /* of a product of two tiles */
} drovek_strips_ops;

static inline size_t drovek_strips_of(size_t n)
{
    return (n + DROVEK_STRIP - 1) / DROVEK_STRIP;
}

static inline size_t drovek_tiles_of(const drovek_strips_ops *ops, size_t k)
{
    return (k + ops->tile_k - 1) / ops->tile_k;
}

#endif
