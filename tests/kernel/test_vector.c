/* Whole-vector kernels: every tier against plain C at edge lengths and next to forbidden pages;
 * plain C against hand-worked values.  All but dot are equal bit for bit. */
#include "support.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

enum { MAX_N = 1000 };

/* dot: products and sums in double, in another order: n roundings of the sum of |x y|. */
static double dot_bound(const float *x, const float *y, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += fabs((double)x[i] * (double)y[i]);
    return sum * (double)n * 0x1p-53;
}

static float x[MAX_N], y[MAX_N], shift[MAX_N], factor[MAX_N];
static uint8_t bytes[MAX_N];

FIXTURE(fill)
{
    fill_normal(x, MAX_N, 1.0, 1);
    fill_normal(y, MAX_N, 1.0, 2);
    fill_normal(shift, MAX_N, 30.0, 3);
    fill_normal(factor, MAX_N, 0.01, 4);
    for (size_t i = 0; i < MAX_N; i++) bytes[i] = (uint8_t)(i * 37 + i / 256);
    x[3] = 0.0f, y[4] = -0.0f;
    return 0;
}

GROUP(fill, NULL);

TEST(test_ref_by_hand)
{
    float a[2] = {1.0f, 2.0f}, b[2] = {10.0f, 20.0f}, c[2];
    const uint8_t pixels[2] = {0, 255};
    drovek_ref.copy_f32(c, a, 2);
    assert_true(c[0] == 1.0f && c[1] == 2.0f);
    drovek_ref.axpy_f32(b, a, 2, 0.5f);
    assert_true(b[0] == 10.5f && b[1] == 21.0f);
    drovek_ref.add_f32(c, a, b, 2, 2.0f, false);
    assert_true(c[0] == 23.0f && c[1] == 46.0f);
    drovek_ref.scale_f32(b, 2, 2.0f);
    assert_true(b[0] == 21.0f && b[1] == 42.0f);
    assert_true(drovek_ref.dot_f32(a, b, 2) == 105.0);
    drovek_ref.widen_u8_f32(c, pixels, NULL, NULL, 2);
    assert_true(c[0] == 0.0f && c[1] == 255.0f);
    drovek_ref.widen_u8_f32(c, pixels, a, a, 2); /* (0 - 1) 1, (255 - 2) 2 */
    assert_true(c[0] == -1.0f && c[1] == 506.0f);
    drovek_ref.affine_f32(c, b, a, a, 2); /* (21 - 1) 1, (42 - 2) 2 */
    assert_true(c[0] == 20.0f && c[1] == 80.0f);
    drovek_ref.affine_f32(c, b, NULL, NULL, 2);
    assert_true(c[0] == 21.0f && c[1] == 42.0f);
}

TEST(test_fused_means_one_rounding)
{
    float a = 1.0f + 0x1p-12f, product = a * a; /* a^2 = 1 + 2^-11 + 2^-24 needs 25 bits */
    float rest = -product;
    drovek_ref.axpy_f32(&rest, &a, 1, a);
    assert_true(rest == 0x1p-24f);
}

static void check_bits_at(const drovek_table *t, size_t n, place where)
{
    float want[MAX_N];

    float *to = guarded_floats(NULL, n, where);
    t->copy_f32(to, guarded_floats(x, n, where), n);
    assert_same_bits("copy_f32", t->isa, n, to, x);

    memcpy(want, y, sizeof want);
    drovek_ref.axpy_f32(want, x, n, 0.3f);
    to = guarded_floats(y, n, where);
    t->axpy_f32(to, guarded_floats(x, n, where), n, 0.3f);
    assert_same_bits("axpy_f32", t->isa, n, to, want);

    memcpy(want, y, sizeof want);
    drovek_ref.scale_f32(want, n, 0.3f);
    to = guarded_floats(y, n, where);
    t->scale_f32(to, n, 0.3f);
    assert_same_bits("scale_f32", t->isa, n, to, want);

    drovek_ref.add_f32(want, x, y, n, 0.3f, false);
    to = guarded_floats(NULL, n, where);
    t->add_f32(to, guarded_floats(x, n, where), guarded_floats(y, n, where), n, 0.3f, false);
    assert_same_bits("add_f32", t->isa, n, to, want);
    to = guarded_floats(NULL, n, where);
    t->add_f32(to, guarded_floats(x, n, where), guarded_floats(y, n, where), n, 0.3f, true);
    assert_same_bits("add_f32 past the caches", t->isa, n, to, want);
    to = guarded_floats(y, n, where);
    t->add_f32(to, guarded_floats(x, n, where), to, n, 0.3f, false);
    assert_same_bits("add_f32 in place", t->isa, n, to, want);

    drovek_ref.affine_f32(want, x, shift, factor, n);
    to = guarded_floats(NULL, n, where);
    float *shifts = guarded_floats(shift, n, where), *factors = guarded_floats(factor, n, where);
    t->affine_f32(to, guarded_floats(x, n, where), shifts, factors, n);
    assert_same_bits("affine_f32", t->isa, n, to, want);
    to = guarded_floats(x, n, where);
    t->affine_f32(to, to, shifts, factors, n);
    assert_same_bits("affine_f32 in place", t->isa, n, to, want);
    to = guarded_floats(NULL, n, where);
    t->affine_f32(to, guarded_floats(x, n, where), NULL, NULL, n);
    assert_same_bits("affine_f32 without", t->isa, n, to, x);

    uint8_t *from = guarded(n, 1, where);
    memcpy(from, bytes, n);
    drovek_ref.widen_u8_f32(want, bytes, shift, factor, n);
    t->widen_u8_f32(to, from, shifts, factors, n);
    assert_same_bits("widen_u8_f32", t->isa, n, to, want);
    drovek_ref.widen_u8_f32(want, bytes, NULL, NULL, n);
    t->widen_u8_f32(to, from, NULL, NULL, n);
    assert_same_bits("widen_u8_f32 without", t->isa, n, to, want);

    int16_t *words = guarded(n * sizeof *words, sizeof *words, where);
    for (size_t i = 0; i < n; i++) words[i] = (int16_t)(i * 12345 + 40000);
    drovek_ref.widen_i16_f32(want, words, n, 0x1p-3f);
    t->widen_i16_f32(to, words, n, 0x1p-3f);
    assert_same_bits("widen_i16_f32", t->isa, n, to, want);

    double got = t->dot_f32(guarded_floats(x, n, where), guarded_floats(y, n, where), n);
    assert_true(fabs(got - drovek_ref.dot_f32(x, y, n)) <= dot_bound(x, y, n));
    guarded_free_all();
}

static void check_bits(const drovek_table *t)
{
    for (const size_t *n = edge_lengths; *n <= MAX_N; n++) {
        for (place where = 0; where < N_PLACES; where++) check_bits_at(t, *n, where);
    }
}

TEST(test_tiers_equal_ref)
{
    for_each_tier(check_bits);
}

/* One bad number at every place is found; the largest finite numbers are not bad. */
static void check_finite(const drovek_table *t)
{
    const float bad[] = {INFINITY, -INFINITY, NAN, -NAN};
    for (const size_t *n = edge_lengths; *n <= MAX_N; n++) {
        float *v = guarded_floats(NULL, *n, PLACE_TURN);
        for (size_t i = 0; i < *n; i++) v[i] = i % 2 != 0 ? 0x1.fffffep+127f : -0x1.fffffep+127f;
        assert_true(t->finite_f32(v, *n));
        for (size_t i = 0; i < *n; i++) {
            float was = v[i];
            v[i] = bad[i % 4];
            assert_false(t->finite_f32(v, *n));
            v[i] = was;
        }
        guarded_free_all();
    }
}

/* The largest is found at every place, of either sign; a NaN is above infinity. */
static void check_largest(const drovek_table *t)
{
    enum { N_RISING = 6 };
    const float rising[N_RISING] = {-0x1p-149f, 0.5f, -1.5f, 0x1p100f, -INFINITY, NAN};
    assert_int_equal(t->largest_f32(NULL, 0), 0);
    for (const size_t *n = edge_lengths; *n <= MAX_N; n++) {
        float *v = guarded_floats(NULL, *n, PLACE_TURN);
        memset(v, 0, *n * sizeof *v);
        assert_int_equal(t->largest_f32(v, *n), 0);
        for (size_t i = 0; i < *n * N_RISING; i++) {
            uint32_t bits;
            v[i % *n] = rising[i / *n];
            memcpy(&bits, &rising[i / *n], sizeof bits);
            assert_int_equal(t->largest_f32(v, *n), bits & 0x7fffffffu);
        }
        guarded_free_all();
    }
}

TEST(test_finite)
{
    for_each_tier(check_finite);
}

TEST(test_largest)
{
    const int16_t ends[] = {-32768, 32767};
    float wide[2];
    drovek_ref.widen_i16_f32(wide, ends, 2, 0.5f);
    assert_true(wide[0] == -16384.0f && wide[1] == 16383.5f);
    for_each_tier(check_largest);
}

/* Every bit of every word counts once: words with one bit each, and hand-worked values in ref. */
static void check_xor(const drovek_table *t)
{
    const uint64_t few[3] = {0xf0f0, 0x8000000000000001, 0x00ff};
    assert_true(t->xor_u64(few, 0) == 0);
    assert_true(t->xor_u64(few, 3) == 0x800000000000f00e);
    for (const size_t *n = edge_lengths; *n <= MAX_N; n++) {
        for (place where = 0; where < N_PLACES; where++) {
            uint64_t *v = guarded(*n * sizeof *v, sizeof *v, where), all = 0;
            for (size_t i = 0; i < *n; i++) {
                v[i] = (uint64_t)1 << i * 7 % 64 | (uint64_t)i << 32;
                all ^= v[i];
            }
            assert_true(t->xor_u64(v, *n) == all);
            for (size_t i = 0; i < *n; i++) {
                v[i] ^= (uint64_t)1 << i % 64;
                assert_true(t->xor_u64(v, *n) == (all ^ (uint64_t)1 << i % 64));
                v[i] ^= (uint64_t)1 << i % 64;
            }
            guarded_free_all();
        }
    }
}

TEST(test_xor)
{
    for_each_tier(check_xor);
}

/* The same bits wherever the vectors lie. */
static void check_dot_alignment(const drovek_table *t)
{
    double first = t->dot_f32(x, y, 777);
    for (size_t offset = 0; offset < 20; offset++) {
        float *a = guarded_floats(NULL, 800, PLACE_START),
              *b = guarded_floats(NULL, 800, PLACE_START);
        memcpy(a + offset, x, 777 * sizeof *x);
        memcpy(b + 19 - offset, y, 777 * sizeof *y);
        assert_true(t->dot_f32(a + offset, b + 19 - offset, 777) == first);
    }
}

TEST(test_dot_does_not_depend_on_alignment)
{
    for_each_tier(check_dot_alignment);
}
