/* Integers kept as bytes: plain C by hand and against the AXPY that rounds, and every tier against
 * plain C, to the bit. */
#include "support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

/* Checks what a table has of its own. */
static void (*checked)(const char *isa, const drovek_planes_ops *ops);

static void check_tier(const drovek_table *tier)
{
    if (tier->integers != NULL) checked(tier->isa, tier->integers);
    else print_message("%s: no integers\n", tier->isa);
}

static void check_all(void (*check)(const char *isa, const drovek_planes_ops *ops))
{
    checked = check;
    for_each_tier(check_tier);
}

/* n bytes and what may be read behind them, random ones, both ends of the range among them. */
static uint8_t *bytes(size_t n, uint64_t seed, bool is_low, place where)
{
    uint8_t *x = guarded(n + DROVEK_PLANES_SLACK, 1, where);
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, is_low);
    for (size_t i = 0; i < n; i++) {
        x[i] = (uint8_t)drove__rng_below(&rng, 256);
        if (i % 7 == 0) x[i] = is_low ? 255 : i % 2 == 0 ? 127 : 128;
    }
    return x;
}

static drovek_planes planes(size_t n, uint64_t seed, bool is_wide, float unit, place where)
{
    return (drovek_planes){.high = bytes(n, seed, false, where),
                           .low = is_wide ? bytes(n, seed, true, where) : NULL,
                           .unit = unit};
}

/* Powers of two for n columns. */
static float *units_by_column(size_t n)
{
    float *by = guarded_floats(NULL, n, PLACE_TURN);
    for (size_t i = 0; i < n; i++) by[i] = ldexpf(1.0f, (int)(i * 7 % 11) - 5);
    return by;
}

/* ---- products ---- */

TEST(test_products_by_hand)
{
    uint8_t a[] = {0xff, 3, 0x80, 0}, low[] = {2, 0, 255, 1}, b[] = {1, 0x7f, 2, 0xfe};
    const drovek_planes narrow = {.high = a, .unit = 0.5f}, other = {.high = b, .unit = 0.25f};
    const drovek_planes wide = {.high = a, .low = low, .unit = 1.0f};
    const float by[] = {4.0f, 0.5f};
    drovek_planes columns = other;
    float c[4] = {10, 20, 30, 40};
    /* [-1 3; -128 0] [1 127; 2 -2] = [5 -133; -128 -16256] */
    drovek_planes_ref.gemm(false, false, 2, 2, 2, &narrow, 2, &other, 2, false, c, 2, NULL);
    assert_true(c[0] == 0.625f && c[1] == -16.625f && c[2] == -16.0f && c[3] == -2032.0f);
    drovek_planes_ref.gemm(false, false, 2, 2, 2, &narrow, 2, &other, 2, true, c, 2, NULL);
    assert_true(c[0] == 1.25f && c[3] == -4064.0f);
    /* [-254 768; -32513 1] [1 2; 127 -2]: b transposed */
    drovek_planes_ref.gemm(false, true, 2, 2, 2, &wide, 2, &other, 2, false, c, 2, NULL);
    assert_true(c[0] == (-254.0f + 768.0f * 127.0f) * 0.25f);
    assert_true(c[1] == (-508.0f - 1536.0f) * 0.25f && c[3] == (-65026.0f - 2.0f) * 0.25f);
    drovek_planes_ref.gemm(false, false, 1, 1, 0, &wide, 2, &other, 2, false, c, 2, NULL);
    assert_true(c[0] == 0.0f);
    columns.by = by; /* columns of C; transposed they would be along k */
    drovek_planes_ref.gemm(false, false, 2, 2, 2, &narrow, 2, &columns, 2, false, c, 2, NULL);
    assert_true(c[0] == 2.5f && c[1] == -8.3125f && c[2] == -64.0f && c[3] == -1016.0f);
    drovek_planes_ref.gemm(false, true, 2, 2, 2, &wide, 2, &columns, 2, false, c, 2, NULL);
    assert_true(c[1] == (-508.0f - 1536.0f) * 0.25f);
}

/* [-1 3; -128 0] [1 127; 2 -2] = [5 -133; -128 -16256], as above, with a bias and ReLU. */
TEST(test_ends_by_hand)
{
    uint8_t a[] = {0xff, 3, 0x80, 0}, b[] = {1, 0x7f, 2, 0xfe};
    const drovek_planes x = {.high = a, .unit = 1.0f}, w = {.high = b, .unit = 1.0f};
    const float bias[] = {130.0f, 100.0f}, largest = 16256.0f;
    drovek_planes_end end = {.bias = bias, .relu = true};
    uint32_t bits;
    float c[4] = {1, 1, 1, 1}, most;
    drovek_planes_ref.gemm(false, false, 2, 2, 2, &x, 2, &w, 2, true, c, 2, &end);
    assert_true(c[0] == 136.0f && c[1] == 0.0f && c[2] == 3.0f && c[3] == 0.0f);
    memcpy(&most, &end.largest, sizeof most);
    assert_true(most == 136.0f);
    end = (drovek_planes_end){.bias = NULL, .relu = true}; /* which then does nothing */
    drovek_planes_ref.gemm(false, false, 2, 2, 2, &x, 2, &w, 2, false, c, 2, &end);
    memcpy(&bits, &largest, sizeof bits);
    assert_true(c[3] == -16256.0f && end.largest == bits);
    end.largest = bits + 1; /* larger ones stay */
    drovek_planes_ref.gemm(false, false, 2, 2, 2, &x, 2, &w, 2, false, c, 2, &end);
    assert_true(end.largest == bits + 1);
}

/* Blocks along k are rounded one by one: singles near 2044 x 127 x 127 = 32967676 have a unit of 2,
 * and 1 more is a tie, back to where it was, for the second block and for the third; 2 more would
 * not be. */
TEST(test_blocks_along_k)
{
    enum { K = 2 * DROVEK_PLANES_K + 1 };
    static uint8_t x[K + DROVEK_PLANES_SLACK];
    const drovek_planes p = {.high = x, .unit = 1.0f};
    float c;
    memset(x, 127, 2044);
    x[DROVEK_PLANES_K] = x[K - 1] = 1;
    drovek_planes_ref.gemm(false, false, 1, 1, K, &p, K, &p, 1, false, &c, 1, NULL);
    assert_true(c == 32967676.0f);
}

static const struct {
    size_t m, n, k;
} shapes[] = {{1, 1, 1},     {1, 1, 0},      {16, 16, 64},   {17, 33, 65},
              {32, 32, 128}, {5, 70, 3},     {64, 10, 130},  {31, 96, 363},
              {100, 20, 25}, {3, 4, 2048},   {33, 40, 2049}, {7, 35, 4100},
              {16, 300, 1},  {200, 130, 70}, {48, 2500, 9},  {65, 30, 1024}};

/* The bytes of x[rows][cols], step apart, become positive; but_last: all but the last. */
static void make_positive(uint8_t *x, size_t rows, size_t cols, size_t step, bool but_last)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) x[i * step + j] &= 127;
    if (but_last && rows > 0 && cols > 0) x[(rows - 1) * step + cols - 1] |= 128;
}

static void check_shape(const char *isa, const drovek_planes_ops *ops, size_t s, unsigned variant,
                        bool wide_a, bool wide_b)
{
    const bool trans_a = variant & 1, trans_b = variant & 2, adds = variant & 4;
    const size_t m = shapes[s].m, n = shapes[s].n, k = shapes[s].k, pad = s % 3;
    const size_t lda = (trans_a ? m : k) + pad, ldb = (trans_b ? k : n) + pad, ldc = n + pad;
    const place where = s % N_PLACES;
    const drovek_planes a = planes((trans_a ? k : m) * lda + 1, 1, wide_a, 0.5f, where);
    drovek_planes b = planes((trans_b ? n : k) * ldb + 1, 2, wide_b, 0x1p-3f, where);
    if ((variant + s) % 3 == 0) b.by = units_by_column(trans_b ? k : n);
    if ((variant / 2 + s) % 2 == 0)
        make_positive(a.high, trans_a ? k : m, trans_a ? m : k, lda, variant / 4 == 0);
    float *before = guarded_floats(NULL, m * ldc, where);
    fill_normal(before, m * ldc, 1e4, 3);
    float *got = guarded_floats(before, m * ldc, PLACE_TURN);
    float *wanted = guarded_floats(before, m * ldc, PLACE_TURN);
    float *bias = guarded_floats(NULL, n, PLACE_TURN);
    fill_normal(bias, n, 1e4, 4);
    drovek_planes_end mine = {.bias = s % 4 < 3 ? bias : NULL, .relu = s % 2, .largest = 3},
                      plain = mine;
    const bool ends = (variant + s) % 4 < 2 || wide_a;
    ops->gemm(trans_a, trans_b, m, n, k, &a, lda, &b, ldb, adds, got, ldc, ends ? &mine : NULL);
    drovek_planes_ref.gemm(trans_a, trans_b, m, n, k, &a, lda, &b, ldb, adds, wanted, ldc,
                           ends ? &plain : NULL);
    assert_same_bits("planes gemm", isa, m * ldc, got, wanted);
    assert_int_equal(mine.largest, plain.largest);
    assert_true(ends || plain.largest == 3);
    guarded_free_all();
}

static void check_products(const char *isa, const drovek_planes_ops *ops)
{
    for (size_t s = 0; s < DROVE_COUNT(shapes); s++)
        for (unsigned variant = 0; variant < 8; variant++)
            for (unsigned wide = 0; wide < 4; wide++)
                check_shape(isa, ops, s, variant, wide & 1, wide & 2);
}

/* What is not a number stays so behind ReLU, and is the largest. */
static void check_not_finite(const char *isa, const drovek_planes_ops *ops)
{
    const float bias[20] = {1.0f};
    const drovek_planes a = planes(20 * 20, 1, false, NAN, PLACE_TURN),
                        b = planes(20 * 20, 2, false, 1.0f, PLACE_TURN);
    drovek_planes_end end = {.bias = bias, .relu = true};
    float c[400];
    (void)isa;
    ops->gemm(false, false, 20, 20, 20, &a, 20, &b, 20, false, c, 20, &end);
    for (size_t i = 0; i < 400; i++) assert_true(isnan(c[i]));
    assert_true(end.largest > 0x7f800000u);
    guarded_free_all();
}

/* n integers: the lowest there is, or the highest. */
static drovek_planes extreme(size_t n, bool is_wide, bool is_highest)
{
    drovek_planes p = planes(n, 1, is_wide, 1.0f, PLACE_TURN);
    memset(p.high, is_highest ? 127 : 128, n);
    if (is_wide) memset(p.low, is_highest ? 255 : 0, n);
    return p;
}

/* Sums as large as they can be: of as many terms as are exact, and more. */
static void check_extremes(const char *isa, const drovek_planes_ops *ops)
{
    enum { M = 3, N = 5, MOST_K = 2 * DROVEK_PLANES_K };
    static const size_t lengths[] = {2, 255, 256, 257, 512, 1024, DROVEK_PLANES_K, MOST_K};
    float got[M * N], wanted[M * N];
    for (unsigned variant = 0; variant < 16 * DROVE_COUNT(lengths); variant++) {
        const size_t k = lengths[variant / 16];
        const bool wide_a = variant & 1, wide_b = variant & 2;
        const drovek_planes a = extreme(M * k, wide_a, variant & 4),
                            b = extreme(N * k, wide_b, variant & 8);
        ops->gemm(false, false, M, N, k, &a, k, &b, N, false, got, N, NULL);
        drovek_planes_ref.gemm(false, false, M, N, k, &a, k, &b, N, false, wanted, N, NULL);
        assert_same_bits("planes gemm of extremes", isa, M * N, got, wanted);
        guarded_free_all();
    }
}

TEST(test_products)
{
    check_all(check_products);
    check_all(check_extremes);
    check_not_finite("ref", &drovek_planes_ref);
    check_all(check_not_finite);
}

/* ---- rounding ---- */

enum { MOST_N = 1000 };

static drovek_bits bits_of(drovek_bits_kind kind, const uint8_t *block)
{
    drovek_bits b = {.kind = kind, .block = block};
    for (unsigned i = 0; i < 8; i++) b.state[i] = 0x9e3779b97f4a7c15u * (2 * i + 1) | 1u;
    return b;
}

/* The integers are those that the AXPY makes of zeros. */
static void check_round(const drovek_planes_ops *ops, drovek_bits_kind kind, size_t n, bool is_wide,
                        float magnitude)
{
    static float x[MOST_N], to[MOST_N];
    static int16_t w[MOST_N + 32];
    alignas(64) static uint8_t block[64 * (MOST_N / 32 + 2)];
    const drovek_planes p = planes(n, 5, is_wide, 0x1p-5f, PLACE_TURN);
    drovek_bits mine = bits_of(kind, block), theirs = mine;
    const drovek_factor factor = {.f = 32.0f};
    const void *from = x;
    fill_normal(x, n, (double)magnitude, 4);
    for (size_t i = 0; i < sizeof block; i++) block[i] = (uint8_t)(i * 151 + 17);
    memset(w, 0, sizeof w);
    ops->round(&p, to, x, n, &mine);
    (void)drovek_linear_dense_ref.linear.axpy[DROVE_F32][DROVE_I16](w, &from, &factor, 1, n,
                                                                    &theirs);
    for (size_t i = 0; i < n; i++) {
        const int32_t most = is_wide ? 32767 : 127;
        const int32_t q = w[i] > most ? most : w[i] < -most - 1 ? -most - 1 : w[i];
        assert_int_equal(drovek_planes_at(&p, i), q);
        assert_true(to[i] == (float)q * 0x1p-5f);
    }
    assert_memory_equal(mine.state, theirs.state, sizeof mine.state);
    ops->round(&p, NULL, x, n, &mine);
    guarded_free_all();
}

static void check_rounding(const char *isa, const drovek_planes_ops *ops)
{
    static const drovek_bits_kind kinds[] = {DROVEK_BITS_FIXED, DROVEK_BITS_STREAM,
                                             DROVEK_BITS_XORSHIFT};
    (void)isa;
    for (size_t i = 0; i < DROVE_COUNT(kinds); i++) {
        for (const size_t *n = edge_lengths; *n <= MOST_N; n++) {
            check_round(ops, kinds[i], *n, false, 1.0f);
            check_round(ops, kinds[i], *n, false, 5.0f); /* some beyond */
            check_round(ops, kinds[i], *n, true, 100.0f);
            check_round(ops, kinds[i], *n, true, 1000.0f);
        }
    }
}

TEST(test_rounding)
{
    check_rounding("ref", &drovek_planes_ref);
    check_all(check_rounding);
}

/* ---- derivatives ---- */

TEST(test_back_by_hand)
{
    uint8_t d[] = {1, 0xff, 2, 0x80, 5, 6}, low[] = {0, 255, 1, 0, 9, 0},
            y[] = {1, 0, 0xff, 3, 0, 7}, y_low[] = {0, 1, 255, 0, 0, 0};
    const drovek_planes dy = {.high = d, .unit = 0.5f}, narrow = {.high = y, .unit = 1.0f};
    const drovek_planes wide = {.high = d, .low = low, .unit = 2.0f},
                        wide_y = {.high = y, .low = y_low, .unit = 1.0f};
    const float by[] = {0.25f, 8.0f};
    drovek_planes columns = dy;
    float db[2];
    drovek_planes_ref.back(&dy, &narrow, 3, 2, false, db); /* 1 2 5; -1 -128 6 */
    assert_true(db[0] == 4.0f && db[1] == -61.5f && d[2] == 2);
    drovek_planes_ref.back(&wide, &wide_y, 3, 2, true, db); /* 256 0 0; -1 -32768 1536 */
    assert_true(db[0] == 512.0f && db[1] == -62466.0f && d[2] == 0 && low[4] == 0 && d[1] == 0xff);
    drovek_planes_ref.back(&dy, &narrow, 3, 2, true, db); /* 1 0 0; 0 -128 6 */
    assert_true(db[0] == 0.5f && db[1] == -61.0f && d[1] == 0);
    columns.by = by;
    drovek_planes_ref.back(&columns, &narrow, 3, 2, false, db);
    assert_true(db[0] == 0.125f && db[1] == -488.0f);
}

static void check_back(const char *isa, const drovek_planes_ops *ops)
{
    static const size_t sizes[][2] = {{1, 1},   {300, 20}, {129, 64}, {128, 65},
                                      {7, 130}, {1, 63},   {257, 96}, {0, 5}};
    for (size_t s = 0; s < DROVE_COUNT(sizes); s++) {
        for (unsigned variant = 0; variant < 8; variant++) {
            const size_t rows = sizes[s][0], cols = sizes[s][1], n = rows * cols;
            const bool wide = variant & 1, relu = variant & 2;
            const drovek_planes y = planes(n, 1, wide, 1.0f, PLACE_TURN);
            drovek_planes got = planes(n, 2, wide, 0.25f, PLACE_TURN),
                          wanted = planes(n, 2, wide, 0.25f, PLACE_TURN);
            if (variant & 4) got.by = wanted.by = units_by_column(cols);
            float *db = guarded_floats(NULL, cols, PLACE_TURN);
            float *plain = guarded_floats(NULL, cols, PLACE_TURN);
            memset(y.high, 0, n / 2); /* so that the low plane decides */
            ops->back(&got, &y, rows, cols, relu, db);
            drovek_planes_ref.back(&wanted, &y, rows, cols, relu, plain);
            assert_same_bits("planes back", isa, cols, db, plain);
            assert_memory_equal(got.high, wanted.high, n);
            if (wide) assert_memory_equal(got.low, wanted.low, n);
            guarded_free_all();
        }
    }
}

/* So many rows that sums of 16 and of 32 bits would overflow. */
static void check_long_back(const char *isa, const drovek_planes_ops *ops)
{
    const size_t rows = ((size_t)1 << 23) + 200;
    const drovek_planes dy = {.high = guarded(rows, 1, PLACE_TURN),
                              .low = guarded(rows, 1, PLACE_TURN),
                              .unit = 1.0f};
    float db;
    (void)isa;
    memset(dy.high, 0x80, rows);
    memset(dy.low, 255, rows);
    ops->back(&dy, &dy, rows, 1, false, &db);
    assert_true(db == (float)(-32513.0 * (double)rows));
    guarded_free_all();
}

TEST(test_back)
{
    check_all(check_back);
    check_long_back("ref", &drovek_planes_ref);
    check_all(check_long_back);
}

/* ---- channels ---- */

static void check_turn(const char *isa, const drovek_planes_ops *ops)
{
    static const size_t sizes[][2] = {{3, 1}, {3, 16}, {3, 15}, {3, 100}, {1, 40}, {4, 33}, {3, 0}};
    (void)isa;
    for (size_t s = 0; s < DROVE_COUNT(sizes); s++) {
        const size_t c = sizes[s][0], n = sizes[s][1];
        const uint8_t *from = bytes(c * n, 1, false, PLACE_TURN);
        uint8_t *to = guarded(c * n, 1, PLACE_TURN);
        ops->turn(to, from, c, n);
        for (size_t i = 0; i < c * n; i++) assert_int_equal(to[i], from[i % c * n + i / c]);
        guarded_free_all();
    }
}

TEST(test_turn)
{
    check_turn("ref", &drovek_planes_ref);
    check_all(check_turn);
}

/* ---- pooling ---- */

static const drovek_pool pools[] = {{20, 24, 24, 12, 12, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0},
                                    {50, 8, 8, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0},
                                    {130, 7, 5, 3, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0},
                                    {64, 7, 7, 4, 4, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0},
                                    {1, 9, 10, 3, 3, 3, 2, 3, 4, 0, 0, 0, 0, 0, 0},
                                    {65, 6, 6, 6, 6, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0},
                                    {3, 32, 16, 2, 1, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0}};
static const drovek_pool overlapping = {20, 9, 9, 4, 4, 3, 3, 2, 2, 0, 0, 0, 0, 0, 0};

/* Maxima and their places are those of the integers as floats. */
static void check_pool(const char *isa, const drovek_planes_ops *ops, const drovek_pool *p,
                       bool is_wide)
{
    enum { IMAGES = 3 };
    const size_t n_in = IMAGES * p->h * p->w * p->c, n_out = IMAGES * p->oh * p->ow * p->c;
    const drovek_planes x = planes(n_in, 1, is_wide, 0.25f, PLACE_TURN);
    drovek_planes y = planes(n_out, 2, is_wide, 1.0f, PLACE_TURN);
    uint8_t *origin = guarded(n_out, 1, PLACE_TURN), *of_floats = guarded(n_out, 1, PLACE_TURN);
    float *values = guarded_floats(NULL, n_in, PLACE_TURN);
    float *most = guarded_floats(NULL, n_out, PLACE_TURN);
    for (size_t i = 0; i < n_in; i++) {
        if (i % 3 == 0) x.high[i] = x.high[i / 2]; /* some are equal, or nearly so */
        values[i] = (float)drovek_planes_at(&x, i);
    }
    drovek_ref.max_pool_f32(p, values, most, of_floats, IMAGES);
    ops->max_pool(p, &x, &y, origin, IMAGES);
    for (size_t i = 0; i < n_out; i++) assert_true((float)drovek_planes_at(&y, i) == most[i]);
    assert_memory_equal(origin, of_floats, n_out);
    assert_true(y.unit == 0.25f);
    ops->max_pool(p, &x, &y, NULL, IMAGES);
    if (p->sh >= p->kh) { /* back */
        drovek_planes dy = planes(n_out, 3, is_wide, 2.0f, PLACE_TURN);
        drovek_planes dx = planes(n_in, 4, is_wide, 1.0f, PLACE_TURN);
        dy.by = units_by_column(p->c);
        for (size_t i = 0; i < n_out; i++) most[i] = (float)drovek_planes_at(&dy, i);
        drovek_ref.max_pool_back_f32(p, most, origin, values, IMAGES, false);
        ops->max_pool_back(p, &dy, origin, &dx, IMAGES);
        for (size_t i = 0; i < n_in; i++) assert_true((float)drovek_planes_at(&dx, i) == values[i]);
        assert_true(dx.unit == 2.0f && dx.by == dy.by);
    }
    (void)isa;
    guarded_free_all();
}

static void check_pools(const char *isa, const drovek_planes_ops *ops)
{
    for (unsigned is_wide = 0; is_wide <= 1; is_wide++) {
        for (size_t i = 0; i < DROVE_COUNT(pools); i++) check_pool(isa, ops, &pools[i], is_wide);
        check_pool(isa, ops, &overlapping, is_wide);
    }
}

TEST(test_pools)
{
    check_pools("ref", &drovek_planes_ref);
    check_all(check_pools);
}
