/* Products with packed factors (kernel/strips.h), of bytes and of bf16 numbers: plain C by hand,
 * and plain C and every tier against sums written out here, to the bit.  Terms of bf16 are small
 * integers, whose sums are exact in any order. */
#include "support.h"
#include "support/test.h"

#include "kernel/bf16.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

static void (*checked)(const drovek_strips_ops *ops);

static void check_tier(const drovek_table *tier)
{
    const bool has_bytes = tier->integers != NULL && tier->integers->strips != NULL;
    if (has_bytes) checked(tier->integers->strips);
    if (tier->bf16.strips != NULL) checked(tier->bf16.strips);
    if (!has_bytes && tier->bf16.strips == NULL)
        print_message("%s: no packed factors\n", tier->isa);
}

static void check_all(void (*check)(const drovek_strips_ops *ops))
{
    check(&drovek_strips_ref);
    check(&drovek_strips_bf16_ref);
    checked = check;
    for_each_tier(check_tier);
}

static bool is_bf16(const drovek_strips_ops *ops)
{
    return ops->number_bytes == sizeof(float);
}

/* n bytes, of which the last can be read; both ends of the range among them. */
static uint8_t *bytes(size_t n, uint64_t seed)
{
    uint8_t *x = guarded(n, 1, PLACE_TURN);
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = (uint8_t)drove__rng_below(&rng, 256);
        if (i % 7 == 0) x[i] = i % 2 == 0 ? 127 : 128;
        if (i % 11 == 0) x[i] = 255;
    }
    return x;
}

static uint16_t upper_half(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* n bytes of terms: of one plane, of two, or of bf16 numbers, integers from -8 to 8. */
static drovek_planes terms(const drovek_strips_ops *ops, size_t n, uint64_t seed, bool is_wide,
                           float unit)
{
    uint8_t *high = bytes(n, seed);
    if (!is_bf16(ops))
        return (
            drovek_planes){.high = high, .low = is_wide ? bytes(n, seed + 1) : NULL, .unit = unit};
    for (size_t i = 0; i < n; i += 2) {
        const uint16_t word = upper_half((float)(high[i] % 17) - 8.0f);
        memcpy(high + i, &word, sizeof word);
    }
    return (drovek_planes){.high = high, .unit = 1.0f};
}

/* Term i of them. */
static double term_at(const drovek_strips_ops *ops, const drovek_planes *p, size_t i)
{
    uint16_t word;
    if (!is_bf16(ops)) return drovek_planes_at(p, i);
    memcpy(&word, p->high + 2 * i, sizeof word);
    return (double)drovek_bf16_load(&word);
}

/* Where term t of column j is in a tile of op(B). */
static size_t column_term(const drovek_strips_ops *ops, size_t j, size_t t)
{
    const size_t word = ops->tile_k / 16; /* terms */
    return (t / word * 16 + j) * word + t % word;
}

/* Terms of a tile. */
static size_t tile_terms(const drovek_strips_ops *ops)
{
    return 16 * ops->tile_k;
}

static size_t rounded_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- packing ---- */

TEST(test_pack_by_hand)
{
    uint8_t x[2 * 70], to[2 * DROVEK_TILE];
    for (size_t i = 0; i < sizeof x; i++) x[i] = (uint8_t)(i + 1);
    drovek_strips_ref.pack(false, to, 0, x, 70, true, 2, 70); /* two rows of 70 terms */
    assert_int_equal(to[0], 1);
    assert_int_equal(to[63], 64);
    assert_int_equal(to[64], 71); /* row 1 */
    assert_int_equal(to[2 * 64], 0);
    assert_int_equal(to[DROVEK_TILE], 65); /* term 64 of row 0, then its tile's next row */
    assert_int_equal(to[DROVEK_TILE + 5], 70);
    assert_int_equal(to[DROVEK_TILE + 6], 0);
    assert_int_equal(to[DROVEK_TILE + 64], 135);
    drovek_strips_ref.pack(true, to, 0, x, 2, false, 2, 6); /* two columns of 6 terms */
    assert_int_equal(to[0], 1);
    assert_int_equal(to[3], 7);  /* term 3 of column 0 */
    assert_int_equal(to[4], 2);  /* term 0 of column 1 */
    assert_int_equal(to[64], 9); /* term 4 of column 0 */
    assert_int_equal(to[66], 0);
}

/* The same of floats, which are rounded. */
TEST(test_pack_bf16_by_hand)
{
    const float x[3][2] = {{1.0f + 0x1p-8f, 2.0f}, {3.0f, -4.0f}, {1.0f + 3 * 0x1p-8f, 6.0f}};
    uint8_t to[DROVEK_TILE];
    uint16_t word[DROVEK_TILE / 2];
    drovek_strips_bf16_ref.pack(false, to, 0, (const uint8_t *)x, 2, true, 3, 2);
    memcpy(word, to, sizeof word);
    assert_int_equal(word[0], 0x3f80); /* 1, to which the tie goes */
    assert_int_equal(word[1], 0x4000);
    assert_int_equal(word[2], 0);
    assert_int_equal(word[32], 0x4040); /* row 1 */
    assert_int_equal(word[64], 0x3f82); /* 1 + 2^-6 */
    drovek_strips_bf16_ref.pack(true, to, 0, (const uint8_t *)x, 2, false, 2, 3);
    memcpy(word, to, sizeof word);
    assert_int_equal(word[1], 0x4040);  /* term 1 of column 0 */
    assert_int_equal(word[2], 0x4000);  /* term 0 of column 1 */
    assert_int_equal(word[32], 0x3f82); /* term 2 of column 0 */
    assert_int_equal(word[33], 0);
    assert_int_equal(word[34], 0x40c0);
}

/* n numbers that `pack` reads, and what becomes of number i as a term. */
static const uint8_t *numbers(const drovek_strips_ops *ops, size_t n, unsigned seed)
{
    static const float odd[] = {INFINITY, -INFINITY, -0.0f, 1.0f + 0x1p-8f, 0x1.ffp127f};
    if (!is_bf16(ops)) return bytes(n, seed);
    float *x = guarded_floats(NULL, n, PLACE_TURN);
    fill_normal(x, n, 10.0, seed);
    for (size_t i = 3; i < n; i += 7) x[i] = odd[i % DROVE_COUNT(odd)];
    return (const uint8_t *)x;
}

static unsigned term_of(const drovek_strips_ops *ops, const uint8_t *x, size_t i)
{
    float v;
    if (!is_bf16(ops)) return x[i];
    memcpy(&v, x + i * sizeof v, sizeof v);
    return upper_half(drovek_bf16(v));
}

static unsigned packed_term(const drovek_strips_ops *ops, const uint8_t *tile, size_t i)
{
    uint16_t word;
    if (!is_bf16(ops)) return tile[i];
    memcpy(&word, tile + 2 * i, sizeof word);
    return word;
}

/* Tile by tile as the definition says. */
static void check_pack(const drovek_strips_ops *ops)
{
    static const size_t sizes[][2] = {{1, 1},   {16, 64}, {17, 65}, {50, 64}, {16, 32},
                                      {64, 63}, {100, 7}, {240, 3}, {5, 300}, {33, 31}};
    for (unsigned variant = 0; variant < 4 * DROVE_COUNT(sizes); variant++) {
        const size_t n = sizes[variant / 4][0], k = sizes[variant / 4][1], tile_k = ops->tile_k;
        const bool of_b = variant & 1, along = variant & 2;
        const size_t step = (along ? k : n) + variant % 3, rows = along ? n : k;
        const size_t n_tiles = (k + tile_k - 1) / tile_k, apart = n_tiles * DROVEK_TILE;
        const uint8_t *x = numbers(ops, (rows - 1) * step + (along ? k : n), variant);
        uint8_t *to = guarded(rounded_up(n, 16) / 16 * apart, 1, PLACE_TURN);
        ops->pack(of_b, to, apart, x, step, along, n, k);
        for (size_t i = 0; i < rounded_up(n, 16); i++) {
            for (size_t p = 0; p < n_tiles * tile_k; p++) {
                const size_t at = i % 16, t = p % tile_k;
                const uint8_t *tile = to + i / 16 * apart + p / tile_k * DROVEK_TILE;
                const unsigned wanted = i >= n || p >= k ? 0
                                        : along          ? term_of(ops, x, i * step + p)
                                                         : term_of(ops, x, p * step + i);
                assert_int_equal(packed_term(ops, tile,
                                             of_b ? column_term(ops, at, t) : at * tile_k + t),
                                 wanted);
            }
        }
        guarded_free_all();
    }
}

TEST(test_pack)
{
    check_all(check_pack);
}

/* ---- lines ---- */

enum { N_STRIPS = 8, LINES = 3, WIDTH = 6, COLUMNS = 100 };

/* Strips of some columns: three share their terms, one has none, two have few columns, and the
 * last one has a part of the tiles of the one before. */
static size_t make_strips(drovek_strip strip[N_STRIPS])
{
    static const drovek_strip made[N_STRIPS] = {{0, 1, 0, 1, 0, 16},  {0, 1, 0, 1, 16, 16},
                                                {0, 1, 0, 1, 32, 16}, {2, 2, 0, 2, 48, 16},
                                                {3, 0, 0, 0, 64, 16}, {5, 1, 0, 2, 72, 8},
                                                {1, 4, 0, 4, 80, 9},  {3, 2, 0, 4, 90, 10}};
    size_t n_tiles = 0;
    for (size_t s = 0; s < N_STRIPS; s++) {
        strip[s] = made[s];
        strip[s].tile = n_tiles;
        n_tiles += LINES * made[s].step;
    }
    strip[N_STRIPS - 1].tile = strip[N_STRIPS - 2].tile + 1;
    return n_tiles;
}

typedef struct lines_case {
    drovek_strip strip[N_STRIPS];
    drovek_planes a, tiles;
    size_t m, apart, ldc;
    float *bias;
} lines_case;

/* The exact sum of row i and column j of a strip. */
static double sum_of_lines(const drovek_strips_ops *ops, const lines_case *f,
                           const drovek_strip *strip, size_t first, size_t n_lines, size_t i,
                           size_t j)
{
    const size_t tile_k = ops->tile_k;
    double sum = 0;
    for (size_t l = 0; l < n_lines; l++) {
        for (size_t t = 0; t < strip->n_tiles * tile_k; t++) {
            const size_t tile = strip->tile + (first + l) * strip->step + t / tile_k;
            const size_t from = i / 16 * f->apart + l * WIDTH + strip->a + t / tile_k;
            sum +=
                term_at(ops, &f->a, from * tile_terms(ops) + i % 16 * tile_k + t % tile_k) *
                term_at(ops, &f->tiles, tile * tile_terms(ops) + column_term(ops, j, t % tile_k));
        }
    }
    return sum;
}

static void check_lines_of(const drovek_strips_ops *ops, const lines_case *f, unsigned variant)
{
    const size_t first = variant % 3, n_lines = LINES - first - (variant % 5 == 0);
    const bool adds = variant & 1, ends = variant & 2;
    const drovek_strips b = {f->strip, N_STRIPS, WIDTH, f->tiles};
    float *before = guarded_floats(NULL, f->m * f->ldc, PLACE_TURN);
    fill_normal(before, f->m * f->ldc, 1e4, 3);
    float *got = guarded_floats(before, f->m * f->ldc, PLACE_TURN);
    drovek_planes_end end = {.bias = variant & 4 ? f->bias : NULL, .relu = variant & 8}, mine = end;
    ops->lines(&b, first, n_lines, f->m, &f->a, f->apart, adds, got, f->ldc, ends ? &mine : NULL);
    for (size_t s = 0; s < N_STRIPS; s++) {
        for (size_t q = 0; q < f->m * f->strip[s].n; q++) {
            const size_t i = q / f->strip[s].n, j = q % f->strip[s].n, column = f->strip[s].c + j;
            const double sum = sum_of_lines(ops, f, &f->strip[s], first, n_lines, i, j);
            float *to = &before[i * f->ldc + column];
            const float v = (float)sum * f->a.unit * drovek_planes_unit(&f->tiles, column);
            *to = adds ? *to + v : v;
            if (ends && end.bias != NULL)
                drovek_ref.bias_act_f32(to, end.bias + column, 1, 1,
                                        end.relu ? DROVEK_RELU : DROVEK_LINEAR);
            const uint32_t largest = drovek_ref.largest_f32(to, 1);
            if (ends && largest > end.largest) end.largest = largest;
        }
    }
    assert_same_bits("lines", "", f->m * f->ldc, got, before);
    assert_int_equal(mine.largest, end.largest);
}

static void check_lines(const drovek_strips_ops *ops)
{
    static const size_t rows[] = {1, 16, 21, 40, 64, 70, 133};
    for (unsigned variant = 0; variant < 16 * DROVE_COUNT(rows); variant++) {
        lines_case f = {.m = rows[variant / 16], .apart = LINES * WIDTH + variant % 4};
        const size_t n_tiles = make_strips(f.strip);
        const bool wide_a = variant & 1, wide_b = variant & 2;
        f.a = terms(ops, rounded_up(f.m, 16) / 16 * f.apart * DROVEK_TILE, 1, wide_a, 0.5f);
        f.tiles = terms(ops, n_tiles * DROVEK_TILE, 3, wide_b, 0x1p-3f);
        f.ldc = COLUMNS + variant % 3;
        f.bias = guarded_floats(NULL, COLUMNS, PLACE_TURN);
        fill_normal(f.bias, COLUMNS, 1e4, 4);
        float *by = guarded_floats(NULL, COLUMNS, PLACE_TURN);
        for (size_t j = 0; j < COLUMNS; j++) by[j] = ldexpf(1.0f, (int)(j * 7 % 11) - 5);
        if (variant % 3 == 0 && !is_bf16(ops)) f.tiles.by = by;
        check_lines_of(ops, &f, variant * 5 + variant / 16);
        guarded_free_all();
    }
}

TEST(test_lines)
{
    check_all(check_lines);
}

/* ---- places ---- */

static void check_places_of(const drovek_strips_ops *ops, size_t m, size_t n, size_t n_places,
                            bool wide_a, bool wide_b, bool adds)
{
    enum { MOST = 1100, ROWS = 300 };
    static uint32_t row[MOST], tile[MOST];
    const size_t n_strips = rounded_up(n, 16) / 16, n_tiles = 5 * n_strips, ldc = n + 2;
    const drovek_planes a = terms(ops, (ROWS + rounded_up(m, 16)) * 64, 1, wide_a, 0.25f);
    drovek_planes b = terms(ops, n_tiles * DROVEK_TILE, 3, wide_b, 0x1p-4f);
    float *by = guarded_floats(NULL, n, PLACE_TURN);
    for (size_t j = 0; j < n; j++) by[j] = ldexpf(1.0f, (int)(j % 5) - 2);
    if (n % 2 == 0 && !is_bf16(ops)) b.by = by;
    float *before = guarded_floats(NULL, m * ldc, PLACE_TURN);
    fill_normal(before, m * ldc, 1e4, 3);
    float *got = guarded_floats(before, m * ldc, PLACE_TURN);
    for (size_t p = 0; p < n_places; p++) {
        row[p] = (uint32_t)(p * 37 % ROWS);
        tile[p] = (uint32_t)(p * 3 % 5 * n_strips);
    }
    ops->places(m, n, n_places, &a, row, &b, tile, adds, got, ldc);
    for (size_t q = 0; q < m * n; q++) {
        const size_t i = q / n, j = q % n;
        size_t p = 0;
        do { /* 512 places after the other */
            double sum = 0;
            for (const size_t end = p + 512; p < n_places && p < end; p++)
                for (size_t k = 0; k < ops->tile_k; k++)
                    sum +=
                        term_at(ops, &a, (row[p] + i) * ops->tile_k + k) *
                        term_at(ops, &b,
                                (tile[p] + j / 16) * tile_terms(ops) + column_term(ops, j % 16, k));
            const float v = (float)sum * a.unit * drovek_planes_unit(&b, j);
            float *to = &before[i * ldc + j];
            *to = adds || p > 512 ? *to + v : v;
        } while (p < n_places);
    }
    assert_same_bits("places", "", m * ldc, got, before);
    guarded_free_all();
}

static void check_places(const drovek_strips_ops *ops)
{
    static const size_t sizes[][3] = {{1, 1, 1},    {16, 16, 8},  {17, 33, 5}, {100, 50, 3},
                                      {12, 160, 2}, {33, 20, 0},  {5, 7, 512}, {20, 17, 513},
                                      {3, 2, 1100}, {32, 16, 40}, {16, 32, 9}};
    for (size_t s = 0; s < DROVE_COUNT(sizes); s++)
        for (unsigned v = 0; v < 8; v++)
            check_places_of(ops, sizes[s][0], sizes[s][1], sizes[s][2], v & 1, v & 2, v & 4);
}

TEST(test_places)
{
    check_all(check_places);
}

/* The largest sums there can be, of all planes. */
static void check_extremes(const drovek_strips_ops *ops)
{
    static uint8_t high[16 * 64], low[16 * 64], b_high[DROVEK_TILE], b_low[DROVEK_TILE];
    static uint32_t row[DROVEK_PLACES], tile[DROVEK_PLACES];
    const drovek_planes a = {high, low, 1.0f, NULL}, b = {b_high, b_low, 1.0f, NULL};
    float c;
    if (is_bf16(ops)) return;
    memset(high, 128, sizeof high), memset(b_high, 128, sizeof b_high);
    memset(low, 255, sizeof low), memset(b_low, 255, sizeof b_low);
    ops->places(1, 1, DROVEK_PLACES, &a, row, &b, tile, false, &c, 1);
    assert_true(c == (float)(32513.0 * 32513.0 * 64.0 * DROVEK_PLACES));
    memset(high, 127, sizeof high);
    ops->places(1, 1, DROVEK_PLACES, &a, row, &b, tile, false, &c, 1);
    assert_true(c == (float)(-32513.0 * 32767.0 * 64.0 * DROVEK_PLACES));
}

TEST(test_extremes)
{
    check_all(check_extremes);
}
