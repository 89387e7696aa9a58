/* kernel/x86/planes_amx.h - products of integers kept as bytes (kernel/planes.h) by the tile
 * registers of AMX_INT8.
 *
 * One instruction multiplies a tile of op(A), 16 rows of 64 bytes along k, by one of op(B), 16 rows
 * of 16 words of four bytes along k, and adds to 16 x 16 sums of 32 bits.  It takes signed and
 * unsigned bytes on either side, so planes of high and low bytes are multiplied as they are.  Sums
 * of DROVEK_PLANES_K terms have less than 31 bits, whichever planes.
 *
 * Two tiles of either factor meet at a time: those of two strips (16 rows of op(A), 16 columns of
 * op(B)), or the two planes of one strip.  So four sums take four loads, for one plane as for two.
 *
 * Rows of op(A) that run along k are read in place; everything else is copied into strips.  What is
 * read behind the last term meets zeros in the strips of op(B).  The strips of op(B) of one block
 * fit the second cache; a group of op(A) passes a part of them that fits the first.
 *
 * Tile registers are configured and given back in every call (gemm_amx.h).
 */
#ifndef DROVEK_X86_PLANES_AMX_H
#define DROVEK_X86_PLANES_AMX_H

#include "kernel/x86/planes_product.h"

#include <stdalign.h>

enum {
    BYTE_TILE = 1024,
    BYTE_K = 64, /* bytes along k in a tile */
    MOST_TILES = DROVEK_PLANES_K / BYTE_K,
    ROOM_TILES = 256, /* of op(B): 256 KiB of stack */
    GROUP = 4,        /* strips of op(A) that are copied together: a line of 64 columns */
    FIRST_TILES = 12, /* along k: of a pair of strips of op(B), half of the first cache */
    FEW_TILES = 4,    /* along k: as many lines of a set of the first cache a row may take */
    FEW_PAIRS = 2     /* of op(B)'s strips: a copy of op(A) is not worth it */
};

typedef uint8_t byte_tile[BYTE_TILE];

/* Sums of two pairs that C waits for. */
typedef struct byte_sums_of {
    int32_t (*sum)[2][SIDE * SIDE];
    size_t i, j;
    bool   adds, ends;
} byte_sums_of;

typedef struct byte_strips {
    alignas(64) byte_tile resident[ROOM_TILES]; /* of op(B): [strip][plane][tile along k] */
    byte_tile moving[GROUP][2][MOST_TILES];     /* of op(A): [strip][plane][tile along k] */
    /* Of the pairs of a group of op(A) with one of op(B), and of the group before. */
    alignas(64) int32_t sum[2][GROUP][2][2][SIDE * SIDE];
    size_t       turn; /* which of these groups is computed */
    byte_sums_of last; /* sum NULL: none */
    magnitude    most; /* of the numbers of C that are complete */
} byte_strips;

/* ---- copies ---- */

/* to[row][64] of x[n][step], n_k bytes of each row */
INLINE void copy_rows(uint8_t *to, const uint8_t *x, size_t step, size_t n, size_t n_k)
{
    for (size_t q = 0; q < SIDE; q++) {
        const __m512i v = q < n ? load_bytes(x + q * step, n_k) : _mm512_setzero_si512();
        _mm512_store_si512(to + q * BYTE_K, v);
    }
}

/* Four tiles, `apart` bytes from each other, of words of x[n_k][step], n columns. */
INLINE void copy_across(uint8_t *to, size_t apart, size_t n_tiles, const uint8_t *x, size_t step,
                        size_t n, size_t n_k)
{
    for (size_t q = 0; q < SIDE; q++) {
        __m512i row[4], word[4];
        UNROLL
        for (size_t r = 0; r < 4; r++)
            row[r] =
                4 * q + r < n_k ? load_bytes(x + (4 * q + r) * step, n) : _mm512_setzero_si512();
        interleave(row, word);
        UNROLL
        for (size_t s = 0; s < 4; s++)
            if (s < n_tiles) _mm512_store_si512(to + s * apart + q * BYTE_K, word[s]);
    }
}

/* Words [row][column] become [column][row]. */
static void turn_tile(uint8_t *tile)
{
    vec row[LANES];
    UNROLL
    for (size_t q = 0; q < LANES; q++) row[q] = _mm512_load_ps(tile + q * BYTE_K);
    vec_transpose(row);
    UNROLL
    for (size_t q = 0; q < LANES; q++) _mm512_store_ps(tile + q * BYTE_K, row[q]);
}

/* Strips of one plane, `apart` bytes from each other: rows or columns [at, at + n), bytes
 * [k0, k0 + n_k) along k. */
static void fill_bytes(uint8_t *to, size_t apart, const byte_source *f, bool turns, size_t at,
                       size_t n, size_t k0, size_t n_k)
{
    const size_t width = f->along ? SIDE : 4 * SIDE;
    for (size_t p = 0; p < n_k; p += BYTE_K) {
        for (size_t j = 0; j < n; j += width) {
            uint8_t     *tile = to + j / SIDE * apart + p / BYTE_K * BYTE_TILE;
            const size_t here = n - j < width ? n - j : width, n_tiles = (here + SIDE - 1) / SIDE;
            if (f->along)
                copy_rows(tile, f->x + (at + j) * f->step + k0 + p, f->step, here, n_k - p);
            else
                copy_across(tile, apart, n_tiles, f->x + (k0 + p) * f->step + at + j, f->step, here,
                            n_k - p);
            for (size_t s = 0; turns && s < n_tiles; s++) turn_tile(tile + s * apart);
        }
    }
}

/* ---- tiles: 0 to 3 hold sums, 4 and 5 a, 6 and 7 b ---- */

/* Two strips of a factor, or the planes of one; the second of planes is unsigned. */
typedef struct byte_pair {
    const uint8_t *x[2];
    size_t         step, stride; /* bytes between tiles along k, and between rows of a tile */
} byte_pair;

/* low_a, low_b: constants, the second of the pair is a low plane. */
INLINE void add_four_bytes(const byte_pair *a, const byte_pair *b, size_t n_tiles, bool low_a,
                           bool low_b)
{
    const uint8_t *a0 = a->x[0], *a1 = a->x[1], *b0 = b->x[0], *b1 = b->x[1];
    const size_t   stride = a->stride, step = a->step;
    for (size_t t = 0; t < n_tiles; t++) {
        _tile_loadd(4, a0, stride);
        _tile_loadd(6, b0, BYTE_K);
        _tile_loadd(7, b1, BYTE_K);
        _tile_loadd(5, a1, stride);
        _tile_dpbssd(0, 4, 6);
        if (low_b) _tile_dpbsud(1, 4, 7);
        else _tile_dpbssd(1, 4, 7);
        if (low_a) _tile_dpbusd(2, 5, 6);
        else _tile_dpbssd(2, 5, 6);
        if (low_a && low_b) _tile_dpbuud(3, 5, 7);
        else if (low_a) _tile_dpbusd(3, 5, 7);
        else if (low_b) _tile_dpbsud(3, 5, 7);
        else _tile_dpbssd(3, 5, 7);
        a0 += step, a1 += step, b0 += BYTE_TILE, b1 += BYTE_TILE;
    }
}

/* sum[u][v] = the products of a->x[u] and b->x[v]; adds: += */
static void multiply_bytes(int32_t (*sum)[2][SIDE * SIDE], const byte_pair *a, const byte_pair *b,
                           size_t n_tiles, bool low_a, bool low_b, bool adds)
{
    memory_written();
    if (adds) {
        _tile_loadd(0, sum[0][0], ROW_BYTES);
        _tile_loadd(1, sum[0][1], ROW_BYTES);
        _tile_loadd(2, sum[1][0], ROW_BYTES);
        _tile_loadd(3, sum[1][1], ROW_BYTES);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    if (low_a && low_b) add_four_bytes(a, b, n_tiles, true, true);
    else if (low_a) add_four_bytes(a, b, n_tiles, true, false);
    else if (low_b) add_four_bytes(a, b, n_tiles, false, true);
    else add_four_bytes(a, b, n_tiles, false, false);
    _tile_stored(0, sum[0][0], ROW_BYTES);
    _tile_stored(1, sum[0][1], ROW_BYTES);
    _tile_stored(2, sum[1][0], ROW_BYTES);
    _tile_stored(3, sum[1][1], ROW_BYTES);
    memory_written();
}

/* ---- sums ---- */

/* The sums at rows i and columns j of C on. */
static void finish_pairs(const byte_product *w, const byte_sums_of *f)
{
    int32_t(*sum)[2][SIDE * SIDE] = f->sum;
    const size_t rows = w->n_a == 2 ? 1 : 2, columns = w->n_b == 2 ? 1 : 2;
    byte_sums_at all = {.sum = {sum[0][0], sum[0][1], sum[1][0], sum[1][1]},
                        .n_planes = w->n_a * w->n_b,
                        .step = SIDE,
                        .adds = f->adds,
                        .ends = f->ends};
    for (size_t u = 0; u < rows && f->i + u * SIDE < w->m; u++) {
        for (size_t v = 0; v < columns && f->j + v * SIDE < w->n; v++) {
            const size_t i = f->i + u * SIDE, j = f->j + v * SIDE;
            if (rows + columns > 2) {
                all.sum[0] = sum[u][v];
                all.sum[1] = rows == 1 ? sum[1][v] : sum[u][1];
            }
            finish_byte_sums(w, &all, i, j, w->m - i < SIDE ? w->m - i : SIDE,
                             w->n - j < SIDE ? w->n - j : SIDE);
        }
    }
}

/* ---- the product ---- */

/* The terms [k0, k0 + n_k) along k, for columns [j0, j0 + n_j), whose strips are there. */
typedef struct byte_block {
    size_t k0, n_k, j0, n_j;
    bool   adds, ends; /* C has terms already; these are the last, and w->end follows */
} byte_block;

/* Whether whole groups of op(A) are read in place.  Not where rows do not begin with a line of the
 * cache: those lie across two, and take a tile twice as long to load.  Nor where lines of few rows
 * share a set of a cache. */
static bool is_in_place(const byte_product *w, const byte_block *t)
{
    const bool   is_aligned = w->a[0].step % BYTE_K == 0 && (uintptr_t)w->a[0].x % BYTE_K == 0;
    const size_t columns = w->n_b == 2 ? SIDE : 2 * SIDE;
    if (!w->a[0].along) return false;
    if (!is_aligned && t->n_j > FEW_PAIRS * columns) return false;
    return w->a[0].step % 1024 != 0 || t->n_k <= FEW_TILES * BYTE_K;
}

/* Two strips of rows from i on, or the planes of one, in place. */
static byte_pair in_place(const byte_product *w, const byte_block *t, size_t i)
{
    const size_t   at = i * w->a[0].step + t->k0;
    const uint8_t *x = w->a[0].x + at;
    return (byte_pair){.x = {x, w->n_a == 2 ? w->a[1].x + at : x + SIDE * w->a[0].step},
                       .step = BYTE_K,
                       .stride = w->a[0].step};
}

/* The same in strips, of which the first of a group copies all. */
static byte_pair in_strips(const byte_product *w, byte_strips *s, const byte_block *t, size_t i)
{
    const size_t width = GROUP * SIDE, n = w->m - i < width ? w->m - i : width;
    const size_t strip_at = i % width / SIDE;
    if (strip_at == 0)
        for (size_t p = 0; p < w->n_a; p++)
            fill_bytes(s->moving[0][p][0], sizeof s->moving[0], &w->a[p], !w->a[p].along, i, n,
                       t->k0, t->n_k);
    byte_tile *of_strip = s->moving[strip_at][0], *other = s->moving[strip_at][1];
    if (w->n_a == 1) other = n > SIDE ? s->moving[strip_at + 1][0] : of_strip;
    return (byte_pair){.x = {*of_strip, *other}, .step = BYTE_TILE, .stride = BYTE_K};
}

/* The pair of op(B)'s strips at column j of the block, from tile `from` along k on. */
static byte_pair resident_pair(const byte_product *w, byte_strips *s, const byte_block *t,
                               size_t n_tiles, size_t j, size_t from)
{
    byte_tile *b0 = s->resident + j / SIDE * n_tiles * w->n_b + from;
    const bool has_next = w->n_b == 2 || j + SIDE < t->n_j;
    return (byte_pair){.x = {*b0, has_next ? b0[n_tiles] : *b0}};
}

/* The pairs a[n_pairs] of op(A), from row i on, with op(B)'s at column j, FIRST_TILES along k at a
 * time: such a part of op(B) stays in the first cache while op(A)'s pass.  Sums go to C while the
 * next ones are computed. */
static void multiply_group(const byte_product *w, byte_strips *s, const byte_block *t,
                           const byte_pair *a, size_t n_pairs, size_t n_tiles, size_t i, size_t j)
{
    const size_t rows = w->n_a == 2 ? SIDE : 2 * SIDE;
    size_t       k = 0, some;
    do {
        const byte_pair b = resident_pair(w, s, t, n_tiles, j, k);
        some = n_tiles - k < FIRST_TILES ? n_tiles - k : FIRST_TILES;
        for (size_t q = 0; q < n_pairs; q++) {
            byte_pair from = a[q];
            from.x[0] += k * from.step, from.x[1] += k * from.step;
            multiply_bytes(s->sum[s->turn][q], &from, &b, some, w->n_a == 2, w->n_b == 2, k > 0);
            if (k + some < n_tiles) continue;
            if (s->last.sum != NULL) finish_pairs(w, &s->last);
            s->last = (byte_sums_of){s->sum[s->turn][q], i + q * rows, t->j0 + j, t->adds, t->ends};
        }
        k += some;
    } while (k < n_tiles);
    s->turn ^= 1;
}

static void multiply_block(const byte_product *w, byte_strips *s, const byte_block *t)
{
    const size_t n_tiles = (t->n_k + BYTE_K - 1) / BYTE_K, group = GROUP * SIDE;
    const size_t rows = w->n_a == 2 ? SIDE : 2 * SIDE, columns = w->n_b == 2 ? SIDE : 2 * SIDE;
    const bool   reads_in_place = is_in_place(w, t);
    s->last.sum = NULL;
    for (size_t i = 0; i < w->m; i += group) {
        const size_t n = w->m - i < group ? w->m - i : group;
        byte_pair    a[GROUP];
        size_t       n_pairs = 0;
        for (size_t q = 0; q < n; q += rows)
            a[n_pairs++] =
                reads_in_place && n == group ? in_place(w, t, i + q) : in_strips(w, s, t, i + q);
        for (size_t j = 0; j < t->n_j; j += columns)
            multiply_group(w, s, t, a, n_pairs, n_tiles, i, j);
    }
    if (s->last.sum != NULL) finish_pairs(w, &s->last);
}

/* C = or += one block along k. */
static void add_block(const byte_product *w, byte_strips *s, byte_block *t)
{
    const size_t n_tiles = t->n_k > 0 ? (t->n_k + BYTE_K - 1) / BYTE_K : 1;
    const size_t most = ROOM_TILES / (n_tiles * w->n_b) * SIDE, apart = n_tiles * w->n_b;
    for (t->j0 = 0; t->j0 < w->n; t->j0 += most) {
        t->n_j = w->n - t->j0 < most ? w->n - t->j0 : most;
        for (size_t p = 0; p < w->n_b; p++)
            fill_bytes(s->resident[p * n_tiles], apart * BYTE_TILE, &w->b[p], w->b[p].along, t->j0,
                       t->n_j, t->k0, t->n_k);
        multiply_block(w, s, t);
    }
}

static void planes_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k,
                        const drovek_planes *a, size_t lda, const drovek_planes *b, size_t ldb,
                        bool adds, float *c, size_t ldc, drovek_planes_end *end)
{
    byte_strips        s;
    const byte_product w =
        product_of(trans_a, trans_b, m, n, k, a, lda, b, ldb, c, ldc, end, &s.most);
    byte_block t = {.adds = adds};
    s.turn = 0;
    configure();
    do {
        t.n_k = k - t.k0 < DROVEK_PLANES_K ? k - t.k0 : DROVEK_PLANES_K;
        t.ends = end != NULL && t.k0 + t.n_k == k;
        add_block(&w, &s, &t);
        t.adds = true;
        t.k0 += t.n_k;
    } while (t.k0 < k);
    _tile_release();
    tell_largest(&w, end);
}

#endif
