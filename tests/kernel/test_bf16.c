/* Rounding to bf16: by hand, exhaustively against the C library's arithmetic, every tier against
 * plain C; and what is made of products in bf16: convolutions. */
#include "conv_support.h"

#include "base/denormals.h"
#include "base/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static float from_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint32_t bits_of(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static void test_by_hand(void **state)
{
    (void)state;
    assert_true(drovek_bf16(1.0f) == 1.0f);
    assert_true(drovek_bf16(1.0f + 0x1p-7f) == 1.0f + 0x1p-7f);
    assert_true(drovek_bf16(1.0f + 0x1p-8f) == 1.0f); /* a tie: the even one */
    assert_true(drovek_bf16(1.0f + 0x1p-8f + 0x1p-23f) == 1.0f + 0x1p-7f);
    assert_true(drovek_bf16(1.0f + 3 * 0x1p-8f) == 1.0f + 0x1p-6f); /* the other one is even */
    assert_true(drovek_bf16(-1.0f - 0x1p-8f) == -1.0f);
    assert_true(drovek_bf16(0x1.fep127f) == 0x1.fep127f); /* the largest */
    assert_true(drovek_bf16(0x1.fefffep127f) == 0x1.fep127f);
    assert_true(drovek_bf16(0x1.ffp127f) == INFINITY);
    assert_true(drovek_bf16(-INFINITY) == -INFINITY);
    assert_true(signbit(drovek_bf16(-0.0f)) && drovek_bf16(-0.0f) == 0.0f);
    assert_true(isnan(drovek_bf16(from_bits(0x7f800001u)))); /* its upper half is an infinity */
    assert_true(isnan(drovek_bf16(from_bits(0xffffffffu)))); /* adding to it would overflow */
}

/* All upper halves with lower halves around every decision. */
static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0x1234, 0xabcd};
enum { N_LOWER = sizeof lower / sizeof lower[0], N_UPPER = 1 << 16 };

static bool is_denormal(float v)
{
    return v != 0.0f && fabsf(v) < 0x1p-126f;
}

static void test_all_upper_halves(void **state)
{
    const drovek_table narrow = drovek_narrow(&drovek_ref, DROVEK_FACTORS_BF16);
    (void)state;
    for (uint32_t upper = 0; upper < N_UPPER; upper++) {
        for (size_t i = 0; i < N_LOWER; i++) {
            float v = from_bits(upper << 16 | lower[i]), got = drovek_bf16(v);
            if (isnan(v)) {
                assert_true(isnan(got));
            } else if (!is_denormal(v)) {
                double wanted = factor_value(&narrow, v);
                if (fabs(wanted) >= 0x1p128) wanted = copysign(INFINITY, wanted);
                assert_true((double)got == wanted && signbit(got) == signbit(v));
            }
            assert_int_equal(bits_of(got) & 0xffffu, 0);
            assert_int_equal(bits_of(drovek_bf16(got)), bits_of(got));
        }
    }
}

/* 1 x dy is dy, rounded. */
static void check_rounding(const drovek_table *t)
{
    enum { N = 4096 };
    static float dy[N], got[N];
    const float one = 1.0f;
    for (uint32_t upper = 0; upper < N_UPPER; upper += N / N_LOWER) {
        for (uint32_t i = 0; i < N; i++)
            dy[i] = from_bits((upper + i / N_LOWER) << 16 | lower[i % N_LOWER]);
        t->outer_f32(got, &one, dy, 1, N);
        for (size_t i = 0; i < N; i++) {
            float wanted = drovek_bf16(dy[i]);
            if (isnan(wanted)) {
                assert_true(isnan(got[i]));
            } else if (is_denormal(dy[i])) {
                assert_true(fabsf(got[i]) <= 0x1p-126f); /* as itself or as zero */
            } else {
                assert_true(got[i] == wanted);
            }
        }
    }
}

static void test_every_tier_rounds_alike(void **state)
{
    (void)state;
    for_each_bf16_tier(check_rounding);
}

/* A factor that is not finite is seen in the result. */
static void check_not_finite(const drovek_table *t)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        for (size_t at = 0; at < 6; at++) {
            float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 2, 3, 4, 5, 6}, c[4];
            a[at] = bad[i];
            t->gemm_f32(false, false, 2, 2, 3, 1.0f, a, 3, b, 2, 0.0f, c, 2);
            assert_true(!isfinite(c[at / 3 * 2]) && isfinite(c[2 - at / 3 * 2]));
            a[at] = 1.0f, b[at] = bad[i];
            t->gemm_f32(false, false, 2, 2, 3, 1.0f, a, 3, b, 2, 0.0f, c, 2);
            assert_true(!isfinite(c[at % 2]) && isfinite(c[1 - at % 2]));
        }
    }
}

static void test_not_finite(void **state)
{
    (void)state;
    for_each_bf16_tier(check_not_finite);
}

/* A convolution in bf16 is the plain loops on rounded numbers: choosing a way finds only those that
 * multiply by the table. */
static void check_convolution(const drovek_table *t)
{
    for (const drovek_conv_shape *s = conv_shapes(); s->c > 0; s++) {
        conv_case c = {.shape = s,
                       .act = DROVEK_LINEAR,
                       .rows = 2,
                       .n_rows = 2,
                       .tier = t,
                       .in = DROVEK_NHWC,
                       .out = DROVEK_NHWC,
                       .rounds = true};
        conv_case plain = c;
        conv_results got, wanted;
        plain.tier = &drovek_ref;
        plain.way = "ref";
        assert_true(conv_compute(&c, &got));
        assert_true(conv_compute(&plain, &wanted));
        c.way = "bf16";
        conv_compare(&c, &got, &wanted);
        guarded_free_all();
    }
}

static void test_convolutions(void **state)
{
    (void)state;
    for_each_bf16_tier(check_convolution);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_all_upper_halves),
        cmocka_unit_test(test_every_tier_rounds_alike),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
