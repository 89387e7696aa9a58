/* kernel/x86/strips_amx.h - products with packed factors (kernel/strips.h) by the tile registers of
 * AMX_INT8 and AMX_BF16.
 *
 * Integers of 16 bits: the four products of planes of 16 x 16 numbers of C at a time.  Integers of
 * 8 bits, and bf16: four strips of rows that meet one strip of columns; few rows: one strip of rows
 * that meets up to four of columns with the same terms; sums over places: two by two.  Sums become
 * C while the next ones are computed.
 *
 * Rows of a tile are whole cache lines: such as lie across two take twice as long to load.
 */
#ifndef DROVEK_X86_STRIPS_AMX_H
#define DROVEK_X86_STRIPS_AMX_H

#include "kernel/strips.h"

#include "kernel/x86/planes_amx.h"

static void strips_pack(bool of_b, uint8_t *to, size_t apart, const uint8_t *x, size_t step,
                        bool along, size_t n, size_t k)
{
    const byte_source f = {x, step, along};
    fill_bytes(to, apart, &f, along == of_b, 0, n, 0, k);
}

static void strips_pack_bf16(bool of_b, uint8_t *to, size_t apart, const uint8_t *x, size_t step,
                             bool along, size_t n, size_t k)
{
    const tile_factor f = {(const float *)(const void *)x, NULL, step, n, along, along == of_b};
    fill_part((float *)(void *)to, apart / sizeof(float), &f, 0, n, 0, k, 0);
}

/* sum register += the products of registers a and b, literals all of them; is_bf16: a constant */
#define MULTIPLY_TILES(is_bf16, sum, a, b)                                                         \
    do {                                                                                           \
        if (is_bf16) _tile_dpbf16ps(sum, a, b);                                                    \
        else _tile_dpbssd(sum, a, b);                                                              \
    } while (0)

/* ---- sums on their way to C ---- */

enum { MOST_SUMS = 4 };

/* A part of C: m x n numbers from row i and column j on, of which a tile has up to 16 x 16. */
typedef struct strip_part {
    size_t i, j, m, n;
} strip_part;

typedef int32_t strip_tiles[MOST_SUMS][SIDE * SIDE];

typedef struct strip_sums {
    alignas(64) strip_tiles sum[2];
    size_t turn;                     /* the next ones' */
    int32_t (*waiting)[SIDE * SIDE]; /* these parts' */
    strip_part part[MOST_SUMS];
    size_t     n_parts; /* of two planes or more, one */
    size_t     row;     /* of two planes or more: the first that is not C yet */
    magnitude  most;
    bool       adds, ends;
} strip_sums;

/* Of part q rows [first, last), as many as there are. */
static void finish_part(const byte_product *w, const strip_sums *s, size_t q, size_t first,
                        size_t last)
{
    const strip_part *p = &s->part[q];
    const size_t      m = p->m < last ? p->m : last, n_sums = w->n_a * w->n_b;
    byte_sums_at      all = {
             .n_planes = w->is_bf16 ? 0 : n_sums, .step = SIDE, .adds = s->adds, .ends = s->ends};
    for (size_t r = 0; r < n_sums; r++) all.sum[r] = s->waiting[q + r] + first * SIDE;
    if (first < m && p->n > 0)
        finish_byte_sums(w, &all, p->i + first, p->j, m - first, p->n < SIDE ? p->n : SIDE);
}

static void finish_parts(const byte_product *w, strip_sums *s)
{
    for (size_t q = 0; q < s->n_parts; q++) finish_part(w, s, q, s->row, SIDE);
    s->n_parts = s->row = 0;
}

/* A few rows, of two planes or more: while tiles are multiplied. */
static void finish_some(const byte_product *w, strip_sums *s)
{
    enum { ROWS = 4 };
    if (s->n_parts == 0 || s->row == SIDE) return;
    finish_part(w, s, 0, s->row, s->row + ROWS);
    s->row += ROWS;
}

/* The sums of part[n], behind which those that wait become C. */
static void queue_parts(const byte_product *w, strip_sums *s, strip_tiles *sums,
                        const strip_part *part, size_t n)
{
    finish_parts(w, s);
    for (size_t q = 0; q < n; q++) s->part[q] = part[q];
    s->waiting = *sums;
    s->n_parts = n;
}

/* Where the next sums go: not where those are that wait. */
static strip_tiles *next_sums(strip_sums *s)
{
    s->turn ^= 1;
    return &s->sum[s->turn];
}

INLINE void zero_sums(size_t n)
{
    memory_written();
    _tile_zero(0);
    if (n > 1) _tile_zero(1);
    if (n > 2) _tile_zero(2);
    if (n > 3) _tile_zero(3);
}

INLINE void store_sums(int32_t (*sum)[SIDE * SIDE], size_t n)
{
    _tile_stored(0, sum[0], ROW_BYTES);
    if (n > 1) _tile_stored(1, sum[1], ROW_BYTES);
    if (n > 2) _tile_stored(2, sum[2], ROW_BYTES);
    if (n > 3) _tile_stored(3, sum[3], ROW_BYTES);
    memory_written();
}

static byte_product strips_product(bool is_bf16, size_t m, const drovek_planes *a, size_t step,
                                   const drovek_planes *b, float *c, size_t ldc,
                                   const drovek_planes_end *end, strip_sums *s)
{
    s->turn = s->n_parts = s->row = 0;
    byte_product w = product_of(false, false, m, 0, 0, a, step, b, 0, c, ldc, end, &s->most);
    w.is_bf16 = is_bf16;
    return w;
}

/* ---- one tile of either factor, all planes ---- */

/* n_a, n_b: constants; sums as finish_parts wants them */
INLINE void add_planes(const uint8_t *const a[2], const uint8_t *const b[2], size_t n_a, size_t n_b)
{
    _tile_loadd(4, a[0], BYTE_K);
    _tile_loadd(6, b[0], BYTE_K);
    if (n_b == 2) _tile_loadd(7, b[1], BYTE_K);
    if (n_a == 2) _tile_loadd(5, a[1], BYTE_K);
    _tile_dpbssd(0, 4, 6);
    if (n_b == 2) _tile_dpbsud(1, 4, 7);
    if (n_a == 2 && n_b == 1) _tile_dpbusd(1, 5, 6);
    if (n_a == 2 && n_b == 2) _tile_dpbusd(2, 5, 6);
    if (n_a == 2 && n_b == 2) _tile_dpbuud(3, 5, 7);
}

/* ---- lines ---- */

typedef struct strip_lines {
    const drovek_strips *b;
    size_t               first, n_lines;
} strip_lines;

/* The strip of rows from i on and one of columns, of more than one plane. */
INLINE void multiply_planes(const byte_product *w, strip_sums *s, const strip_lines *f,
                            const drovek_strip *col, size_t i, size_t n_a, size_t n_b)
{
    const size_t     at = i / SIDE * w->a[0].step + col->a;
    const strip_part part = {i, col->c, w->m - i, col->n};
    strip_tiles     *sums = next_sums(s);
    zero_sums(n_a * n_b);
    for (size_t l = 0; l < f->n_lines; l++) {
        const size_t line = (at + l * f->b->line) * BYTE_TILE,
                     from = (col->tile + (f->first + l) * col->step) * BYTE_TILE;
        const uint8_t *a[2] = {w->a[0].x + line, n_a == 2 ? w->a[1].x + line : NULL};
        const uint8_t *b[2] = {w->b[0].x + from, n_b == 2 ? w->b[1].x + from : NULL};
        for (size_t t = 0; t < col->n_tiles; t++) {
            add_planes(a, b, n_a, n_b);
            finish_some(w, s);
            a[0] += BYTE_TILE, b[0] += BYTE_TILE;
            if (n_a == 2) a[1] += BYTE_TILE;
            if (n_b == 2) b[1] += BYTE_TILE;
        }
    }
    store_sums(*sums, n_a * n_b);
    queue_parts(w, s, sums, &part, 1);
}

/* n strips of rows from i on, a constant, meet one of columns. */
INLINE void multiply_rows(bool is_bf16, const byte_product *w, strip_sums *s, const strip_lines *f,
                          const drovek_strip *col, size_t i, size_t n)
{
    const size_t   at = i / SIDE * w->a[0].step + col->a, apart = w->a[0].step * BYTE_TILE;
    const uint8_t *b = w->b[0].x + (col->tile + f->first * col->step) * BYTE_TILE;
    strip_tiles   *sums = next_sums(s);
    strip_part     part[MOST_SUMS];
    zero_sums(n);
    for (size_t l = 0; l < f->n_lines; l++, b += (col->step - col->n_tiles) * BYTE_TILE) {
        const uint8_t *a = w->a[0].x + (at + l * f->b->line) * BYTE_TILE;
        for (size_t t = 0; t < col->n_tiles; t++, a += BYTE_TILE, b += BYTE_TILE) {
            _tile_loadd(6, b, BYTE_K);
            _tile_loadd(4, a, BYTE_K);
            MULTIPLY_TILES(is_bf16, 0, 4, 6);
            if (n > 1) _tile_loadd(5, a + apart, BYTE_K);
            if (n > 1) MULTIPLY_TILES(is_bf16, 1, 5, 6);
            if (n > 2) _tile_loadd(4, a + 2 * apart, BYTE_K);
            if (n > 2) MULTIPLY_TILES(is_bf16, 2, 4, 6);
            if (n > 3) _tile_loadd(5, a + 3 * apart, BYTE_K);
            if (n > 3) MULTIPLY_TILES(is_bf16, 3, 5, 6);
        }
    }
    store_sums(*sums, n);
    for (size_t q = 0; q < n; q++)
        part[q] = (strip_part){i + q * SIDE, col->c, w->m - i - q * SIDE, col->n};
    queue_parts(w, s, sums, part, n);
}

/* One strip of rows meets n strips of columns, a constant, with the same terms of op(A). */
INLINE void multiply_columns(bool is_bf16, const byte_product *w, strip_sums *s,
                             const strip_lines *f, const drovek_strip *col, size_t i, size_t n)
{
    const size_t   at = i / SIDE * w->a[0].step + col->a;
    const uint8_t *b[MOST_SUMS];
    strip_tiles   *sums = next_sums(s);
    strip_part     part[MOST_SUMS];
    zero_sums(n);
    for (size_t l = 0; l < f->n_lines; l++) {
        const uint8_t *a = w->a[0].x + (at + l * f->b->line) * BYTE_TILE;
        for (size_t q = 0; q < n; q++)
            b[q] = w->b[0].x + (col[q].tile + (f->first + l) * col[q].step) * BYTE_TILE;
        for (size_t t = 0; t < col->n_tiles; t++, a += BYTE_TILE) {
            const size_t from = t * BYTE_TILE;
            _tile_loadd(4, a, BYTE_K);
            _tile_loadd(6, b[0] + from, BYTE_K);
            MULTIPLY_TILES(is_bf16, 0, 4, 6);
            if (n > 1) _tile_loadd(7, b[1] + from, BYTE_K);
            if (n > 1) MULTIPLY_TILES(is_bf16, 1, 4, 7);
            if (n > 2) _tile_loadd(6, b[2] + from, BYTE_K);
            if (n > 2) MULTIPLY_TILES(is_bf16, 2, 4, 6);
            if (n > 3) _tile_loadd(7, b[3] + from, BYTE_K);
            if (n > 3) MULTIPLY_TILES(is_bf16, 3, 4, 7);
        }
    }
    store_sums(*sums, n);
    for (size_t q = 0; q < n; q++) part[q] = (strip_part){i, col[q].c, w->m - i, col[q].n};
    queue_parts(w, s, sums, part, n);
}

/* Strips from this one on, at most four, that meet the same terms of op(A). */
static size_t strips_alike(const drovek_strips *b, size_t at)
{
    const drovek_strip *first = &b->strip[at];
    size_t              n = 1;
    while (n < MOST_SUMS && at + n < b->n_strips && first[n].a == first->a &&
           first[n].n_tiles == first->n_tiles)
        n++;
    return n;
}

/* Integers of 8 bits, or bf16: n strips of rows from i on. */
INLINE void multiply_singly(bool is_bf16, const byte_product *w, strip_sums *s,
                            const strip_lines *f, size_t i, size_t n)
{
    for (size_t at = 0, some; at < f->b->n_strips; at += some) {
        const drovek_strip *col = &f->b->strip[at];
        some = n == 1 ? strips_alike(f->b, at) : 1;
        if (n == 4) multiply_rows(is_bf16, w, s, f, col, i, 4);
        else if (n == 3) multiply_rows(is_bf16, w, s, f, col, i, 3);
        else if (n == 2) multiply_rows(is_bf16, w, s, f, col, i, 2);
        else if (some == 4) multiply_columns(is_bf16, w, s, f, col, i, 4);
        else if (some == 3) multiply_columns(is_bf16, w, s, f, col, i, 3);
        else if (some == 2) multiply_columns(is_bf16, w, s, f, col, i, 2);
        else multiply_columns(is_bf16, w, s, f, col, i, 1);
    }
}

static void multiply_bytes_of(const byte_product *w, strip_sums *s, const strip_lines *f, size_t i,
                              size_t n)
{
    multiply_singly(false, w, s, f, i, n);
}

static void multiply_bf16_of(const byte_product *w, strip_sums *s, const strip_lines *f, size_t i,
                             size_t n)
{
    multiply_singly(true, w, s, f, i, n);
}

static void multiply_planes_of(const byte_product *w, strip_sums *s, const strip_lines *f, size_t i,
                               size_t n)
{
    for (size_t at = 0; at < f->b->n_strips; at++) {
        const drovek_strip *col = &f->b->strip[at];
        for (size_t r = i; r < i + n * SIDE; r += SIDE) {
            if (w->n_a == 2 && w->n_b == 2) multiply_planes(w, s, f, col, r, 2, 2);
            else if (w->n_a == 2) multiply_planes(w, s, f, col, r, 2, 1);
            else multiply_planes(w, s, f, col, r, 1, 2);
        }
    }
}

static void lines_of(bool is_bf16, const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                     const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                     drovek_planes_end *end)
{
    enum { ROWS = 4 * SIDE };
    strip_sums         s;
    const byte_product w = strips_product(is_bf16, m, a, apart, &b->tiles, c, ldc, end, &s);
    const strip_lines  f = {b, first, n_lines};
    s.adds = adds;
    s.ends = end != NULL;
    configure();
    for (size_t i = 0; i < m; i += ROWS) {
        const size_t n = drovek_strips_of(m - i < ROWS ? m - i : ROWS);
        if (is_bf16) multiply_bf16_of(&w, &s, &f, i, n);
        else if (w.n_a * w.n_b == 1) multiply_bytes_of(&w, &s, &f, i, n);
        else multiply_planes_of(&w, &s, &f, i, n);
    }
    _tile_release();
    finish_parts(&w, &s);
    tell_largest(&w, end);
}

static void strips_lines(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                         const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                         drovek_planes_end *end)
{
    lines_of(false, b, first, n_lines, m, a, apart, adds, c, ldc, end);
}

static void strips_lines_bf16(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                              const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                              drovek_planes_end *end)
{
    lines_of(true, b, first, n_lines, m, a, apart, adds, c, ldc, end);
}

/* ---- places ---- */

typedef struct strip_places {
    const uint32_t *row, *tile;
    size_t          n;
} strip_places;

/* Rows from 16 r on and strip j, of more than one plane. */
INLINE void sum_planes(const byte_product *w, strip_sums *s, const strip_places *f, size_t r,
                       size_t j, size_t n_a, size_t n_b)
{
    const strip_part part = {r * SIDE, j * SIDE, w->m - r * SIDE, w->n - j * SIDE};
    strip_tiles     *sums = next_sums(s);
    zero_sums(n_a * n_b);
    for (size_t p = 0; p < f->n; p++) {
        const size_t   at = (f->row[p] + r * SIDE) * BYTE_K, from = (f->tile[p] + j) * BYTE_TILE;
        const uint8_t *a[2] = {w->a[0].x + at, n_a == 2 ? w->a[1].x + at : NULL};
        const uint8_t *b[2] = {w->b[0].x + from, n_b == 2 ? w->b[1].x + from : NULL};
        add_planes(a, b, n_a, n_b);
        finish_some(w, s);
    }
    store_sums(*sums, n_a * n_b);
    queue_parts(w, s, sums, &part, 1);
}

/* Strips r and r + 1 of rows, j and j + 1 of columns; n_r, n_j: how many, constants */
INLINE void sum_four(bool is_bf16, const byte_product *w, strip_sums *s, const strip_places *f,
                     size_t r, size_t j, size_t n_r, size_t n_j)
{
    strip_tiles *sums = next_sums(s);
    strip_part   part[MOST_SUMS];
    zero_sums(MOST_SUMS);
    for (size_t p = 0; p < f->n; p++) {
        const uint8_t *a = w->a[0].x + (f->row[p] + r * SIDE) * BYTE_K,
                      *b = w->b[0].x + (f->tile[p] + j) * BYTE_TILE;
        _tile_loadd(4, a, BYTE_K);
        _tile_loadd(6, b, BYTE_K);
        if (n_j > 1) _tile_loadd(7, b + BYTE_TILE, BYTE_K);
        if (n_r > 1) _tile_loadd(5, a + BYTE_TILE, BYTE_K);
        MULTIPLY_TILES(is_bf16, 0, 4, 6);
        if (n_j > 1) MULTIPLY_TILES(is_bf16, 1, 4, 7);
        if (n_r > 1) MULTIPLY_TILES(is_bf16, 2, 5, 6);
        if (n_r > 1 && n_j > 1) MULTIPLY_TILES(is_bf16, 3, 5, 7);
    }
    store_sums(*sums, MOST_SUMS);
    for (size_t q = 0; q < MOST_SUMS; q++) {
        const size_t i = (r + q / 2) * SIDE, at = (j + q % 2) * SIDE;
        part[q] = (strip_part){i, at, i < w->m ? w->m - i : 0, at < w->n ? w->n - at : 0};
    }
    queue_parts(w, s, sums, part, MOST_SUMS);
}

INLINE void sum_singly(bool is_bf16, const byte_product *w, strip_sums *s, const strip_places *f)
{
    for (size_t r = 0; r * SIDE < w->m; r += 2) {
        const bool two = (r + 1) * SIDE < w->m;
        for (size_t j = 0; j * SIDE < w->n; j += 2) {
            const bool next = (j + 1) * SIDE < w->n;
            if (two && next) sum_four(is_bf16, w, s, f, r, j, 2, 2);
            else if (two) sum_four(is_bf16, w, s, f, r, j, 2, 1);
            else if (next) sum_four(is_bf16, w, s, f, r, j, 1, 2);
            else sum_four(is_bf16, w, s, f, r, j, 1, 1);
        }
    }
}

static void sum_bytes_of(const byte_product *w, strip_sums *s, const strip_places *f)
{
    sum_singly(false, w, s, f);
}

static void sum_bf16_of(const byte_product *w, strip_sums *s, const strip_places *f)
{
    sum_singly(true, w, s, f);
}

static void sum_planes_of(const byte_product *w, strip_sums *s, const strip_places *f)
{
    for (size_t r = 0; r * SIDE < w->m; r++) {
        for (size_t j = 0; j * SIDE < w->n; j++) {
            if (w->n_a == 2 && w->n_b == 2) sum_planes(w, s, f, r, j, 2, 2);
            else if (w->n_a == 2) sum_planes(w, s, f, r, j, 2, 1);
            else sum_planes(w, s, f, r, j, 1, 2);
        }
    }
}

static void places_of(bool is_bf16, size_t m, size_t n, size_t n_places, const drovek_planes *a,
                      const uint32_t *row, const drovek_planes *b, const uint32_t *tile, bool adds,
                      float *c, size_t ldc)
{
    strip_sums   s;
    byte_product w = strips_product(is_bf16, m, a, BYTE_K, b, c, ldc, NULL, &s);
    strip_places f = {row, tile, 0};
    size_t       p = 0;
    w.n = n;
    s.ends = false;
    configure();
    do {
        f.n = n_places - p < DROVEK_PLACES ? n_places - p : DROVEK_PLACES;
        s.adds = adds || p > 0;
        if (is_bf16) sum_bf16_of(&w, &s, &f);
        else if (w.n_a * w.n_b == 1) sum_bytes_of(&w, &s, &f);
        else sum_planes_of(&w, &s, &f);
        finish_parts(&w, &s); /* before the next places add to the same numbers */
        f.row += f.n, f.tile += f.n;
        p += f.n;
    } while (p < n_places);
    _tile_release();
}

static void strips_places(size_t m, size_t n, size_t n_places, const drovek_planes *a,
                          const uint32_t *row, const drovek_planes *b, const uint32_t *tile,
                          bool adds, float *c, size_t ldc)
{
    places_of(false, m, n, n_places, a, row, b, tile, adds, c, ldc);
}

static void strips_places_bf16(size_t m, size_t n, size_t n_places, const drovek_planes *a,
                               const uint32_t *row, const drovek_planes *b, const uint32_t *tile,
                               bool adds, float *c, size_t ldc)
{
    places_of(true, m, n, n_places, a, row, b, tile, adds, c, ldc);
}
#undef MULTIPLY_TILES

#endif
