/* kernel/lanes/panel.h - what products cut C into: panels some registers wide, and tiles of a few
 * rows of them. */
#ifndef DROVEK_LANES_PANEL_H
#define DROVEK_LANES_PANEL_H

#include "kernel/kernel.h"
#include "kernel/lanes/blocks.h"

enum {
    PANEL = N_REGISTERS == 32 ? 4 : 2,    /* registers across: 64 columns, or 16      */
    N_SUMS = PANEL * 6,                   /* registers of a tile's sums, of 32 or 16 */
    LEAST_SUMS = 8,                       /* two units, four cycles                  */
    MAX_ROWS = N_REGISTERS == 32 ? 16 : 8 /* of a tile one register wide */
};

/* One panel of a product. */
typedef struct panel {
    size_t       m, k;
    float        alpha, beta;
    const float *a; /* op(A)[i][p] = a[i * row_step + p * k_step] */
    size_t       row_step, k_step;
    const float *b; /* op(B)[p][.] = b[p * b_step + .]            */
    size_t       b_step;
    float       *c; /* C[i][.] = c[i * c_step + .]                */
    size_t       c_step;
    size_t       last;           /* lanes used in the last register        */
    size_t       n_segments;     /* passes over k; each pass starts ...     */
    ptrdiff_t    a_jump, b_jump; /* ... this far beyond the end of the last    */
    const float *ahead;          /* A that a later panel needs, n_ahead rows k_step apart: each */
    size_t       n_ahead;        /* tile fetches what lies in line with its own                 */
} panel;

/* Where op(A) of the rows i to i + rows begins: row r is at a[r / 4] + step[r % 4].  rows is a
 * constant. */
INLINE void tile_rows(const panel *t, size_t i, size_t rows, const float *a[4], size_t step[4])
{
    UNROLL
    for (size_t q = 0; q < 4; q++) {
        a[q] = t->a + (i + (4 * q < rows ? 4 * q : 0)) * t->row_step;
        step[q] = q * t->row_step;
    }
}

/* C[rows][n_vec registers] = alpha sum + beta C, rounded as sgd_f32 rounds a sum that it is given
 * (kernel.h: DROVEK_STEP_K). */
INLINE void finish_tile(const panel *t, float *c, vec *sum, size_t rows, size_t n_vec)
{
    const vec  alpha = vec_set(t->alpha), beta = vec_set(t->beta);
    const bool is_full = t->last == LANES;
    if (t->beta != 0.0f) {
        UNROLL
        for (size_t s = 0; s < rows * n_vec; s++) {
            const float *at = c + s / n_vec * t->c_step + s % n_vec * LANES;
            size_t       count = is_full ? LANES : block_count(s % n_vec, n_vec, t->last);
            sum[s] = vec_fma(alpha, sum[s], vec_mul(beta, racy_load(at, count)));
        }
    } else if (t->alpha != 1.0f) {
        UNROLL
        for (size_t s = 0; s < rows * n_vec; s++) sum[s] = vec_mul(alpha, sum[s]);
    }
    if (is_full) {
        UNROLL
        for (size_t s = 0; s < rows * n_vec; s++)
            racy_store(c + s / n_vec * t->c_step + s % n_vec * LANES, sum[s], LANES);
    } else {
        UNROLL
        for (size_t s = 0; s < rows * n_vec; s++)
            racy_store(c + s / n_vec * t->c_step + s % n_vec * LANES, sum[s],
                       block_count(s % n_vec, n_vec, t->last));
    }
}

/* `rows` rows of the panel from row i; rows and n_vec are constants, rows * n_vec <= N_SUMS. */
typedef void tile_fn(const panel *t, size_t i, size_t rows, size_t n_vec);

/* The rows of the panel from i, `rows` at a time and the rest in powers of two. */
INLINE void tiles(const panel *t, size_t i, size_t rows, size_t n_vec, tile_fn *tile)
{
    for (; i + rows <= t->m; i += rows) tile(t, i, rows, n_vec);
    if (rows > 8 && i + 8 <= t->m) {
        tile(t, i, 8, n_vec);
        i += 8;
    }
    if (i + 5 == t->m && 5 * n_vec <= N_SUMS) { /* the windows of one channel often are 5 wide */
        tile(t, i, 5, n_vec);
        return;
    }
    if (i + 4 <= t->m) {
        tile(t, i, 4, n_vec);
        i += 4;
    }
    if (i + 2 <= t->m) {
        tile(t, i, 2, n_vec);
        i += 2;
    }
    if (i < t->m) tile(t, i, 1, n_vec);
}

/* The rows of a panel of PANEL registers, N_SUMS / PANEL = 6 at a time.  The last seven to ten are
 * two tiles of about half as many where the last tile had too few sums to keep the units busy. */
INLINE void wide_tiles(const panel *t, tile_fn *tile)
{
    enum { MOST = 6, LEAST = LEAST_SUMS / PANEL };
    for (size_t i = 0; i < t->m;) {
        const size_t left = t->m - i;
        const size_t rows = left <= MOST ? left : left >= MOST + LEAST ? MOST : (left + 1) / 2;
        for (size_t q = 0; q < t->n_ahead; q++)
            __builtin_prefetch(t->ahead + q * t->k_step + i, 0, 2);
        switch (rows) {
        case 6: tile(t, i, 6, PANEL); break;
        case 5: tile(t, i, 5, PANEL); break;
        case 4: tile(t, i, 4, PANEL); break;
        case 3: tile(t, i, 3, PANEL); break;
        case 2: tile(t, i, 2, PANEL); break;
        default: tile(t, i, 1, PANEL); break;
        }
        i += rows;
    }
}

/* n_vec <= PANEL, which is 4 or 2. */
INLINE void run_tiles(const panel *t, size_t n_vec, tile_fn *tile)
{
    if (n_vec == PANEL) {
        wide_tiles(t, tile);
    } else if (n_vec == 1) {
        size_t i = 0;
        /* 16 rows of A 1024 apart do not fit the cache */
        if (MAX_ROWS > 8 && t->row_step % 1024 != 0)
            for (; i + MAX_ROWS <= t->m; i += MAX_ROWS) tile(t, i, MAX_ROWS, 1);
        tiles(t, i, 8, 1, tile);
    } else if (PANEL > 2 && n_vec == 2) {
        tiles(t, 0, N_SUMS / 2, 2, tile);
    } else if (PANEL > 2) {
        tiles(t, 0, N_SUMS / 3, PANEL - 1, tile);
    }
}

#endif
