/* kernel/lanes/panel.h - what products cut C into: panels some registers wide, and tiles of a few
 * rows of them. */
#ifndef DROVEK_LANES_PANEL_H
#define DROVEK_LANES_PANEL_H

#include "kernel/kernel.h"
#include "kernel/lanes/blocks.h"

enum {
    PANEL = N_REGISTERS == 32 ? 4 : 2,    /* registers across: 64 columns, or 16      */
    N_SUMS = PANEL * 6,                   /* registers of a tile's sums, of 32 or 16 */
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
INLINE void finish_tile(const panel *t, float *c, const vec *sum, size_t rows, size_t n_vec)
{
    vec alpha = vec_set(t->alpha), beta = vec_set(t->beta);
    UNROLL
    for (size_t r = 0; r < rows; r++) {
        UNROLL
        for (size_t v = 0; v < n_vec; v++) {
            float *at = c + r * t->c_step + v * LANES;
            size_t count = block_count(v, n_vec, t->last);
            vec    out = sum[r * n_vec + v];
            if (t->beta == 0.0f) out = vec_mul(alpha, out);
            else out = vec_fma(alpha, out, vec_mul(beta, racy_load(at, count)));
            racy_store(at, out, count);
        }
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

/* n_vec <= PANEL, which is 4 or 2. */
INLINE void run_tiles(const panel *t, size_t n_vec, tile_fn *tile)
{
    if (n_vec == PANEL) {
        tiles(t, 0, N_SUMS / PANEL, PANEL, tile);
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
