/* Rounding to bf16: by hand, exhaustively against the C library's arithmetic, every tier against
 * plain C; and what is made of products in bf16: convolutions. */
#include "conv_support.h"
#include "support/test.h"

#include "base/denormals.h"
#include "base/mem.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

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

TEST(test_by_hand)
{
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

TEST(test_all_upper_halves)
{
    const drovek_table narrow = drovek_narrow(&drovek_ref, DROVEK_FACTORS_BF16);
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

TEST(test_every_tier_rounds_alike)
{
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

TEST(test_not_finite)
{
    for_each_bf16_tier(check_not_finite);
}

/* ---- parameters ---- */

static uint16_t stepped(const drovek_table *t, float w, float g, float eta, uint16_t r)
{
    uint16_t word = (uint16_t)(bits_of(w) >> 16);
    alignas(64) uint16_t block[DROVEK_BLOCK_BYTES / sizeof r] = {r};
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = (const uint8_t *)block};
    t->sgd_bf16(&word, &g, 1, eta, &bits);
    return word;
}

TEST(test_steps_by_hand)
{
    const drovek_table *t = &drovek_ref;
    const uint16_t one = 0x3f80, two = 0x4000; /* a unit of the last place of 1 is 2^-7 */
    float wide;
    assert_int_equal(stepped(t, 1.0f, -1.0f, 1.0f, 0xffff), two);
    assert_int_equal(stepped(t, 1.0f, -0x1p-7f, 1.0f, 0), one + 1);
    assert_int_equal(stepped(t, 1.0f, -0x1p-8f, 1.0f, 0x7fff), one); /* half of it */
    assert_int_equal(stepped(t, 1.0f, -0x1p-8f, 1.0f, 0x8000), one + 1);
    assert_int_equal(stepped(t, -1.0f, 0x1p-9f, 1.0f, 0xc000), (one + 1) | 0x8000);
    assert_int_equal(stepped(t, -1.0f, 0x1p-9f, 1.0f, 0xbfff), one | 0x8000);
    assert_int_equal(stepped(t, INFINITY, 1.0f, 1.0f, 0xffff), 0x7f80);
    assert_int_equal(stepped(t, 1.0f, 0x1p127f, 4.0f, 0xffff), 0xff80); /* overflows */
    assert_true(isnan(from_bits((uint32_t)stepped(t, 1.0f, NAN, 1.0f, 0xffff) << 16)));
    t->widen_bf16(&wide, &two, 1);
    assert_true(wide == 2.0f);
}

/* Of all 65536 random words as many round away from zero as the lower half of the sum says. */
TEST(test_steps_are_unbiased)
{
    static const float sums[][2] = {
        {1.0f, 0x1p-9f}, {-3.0f, 0.001f}, {0.7f, -1e-4f}, {1e-20f, 3e-23f}};
    for (size_t i = 0; i < DROVE_COUNT(sums); i++) {
        const float w = drovek_bf16(sums[i][0]), exact = fmaf(-1.0f, sums[i][1], w);
        const uint32_t rest = bits_of(exact) & 0xffffu, upper = bits_of(exact) >> 16;
        uint32_t n_up = 0;
        assert_true(rest != 0);
        for (uint32_t r = 0; r < 1 << 16; r++) {
            uint16_t got = stepped(&drovek_ref, w, sums[i][1], 1.0f, (uint16_t)r);
            assert_true(got == upper || got == upper + 1);
            n_up += got != upper;
        }
        assert_int_equal(n_up, rest);
    }
}

static void check_parameters(const drovek_table *t)
{
    enum { MOST = 1000, EACH = DROVEK_BLOCK_BYTES / sizeof(uint16_t) };
    static const drovek_bits_kind kinds[] = {DROVEK_BITS_FIXED, DROVEK_BITS_STREAM,
                                             DROVEK_BITS_XORSHIFT};
    static float g[MOST], wide[MOST], plain[MOST];
    static uint16_t w[MOST], expected[MOST];
    alignas(64) static uint16_t r[(MOST + EACH - 1) / EACH * EACH];
    const drovek_bits start = {.block = (const uint8_t *)r, .state = {1, 2, 3, 4, 5, 6, 7, 8}};
    fill_normal(g, MOST, 0.01, 3);
    fill_normal(wide, MOST, 1.0, 4);
    for (size_t i = 0; i < MOST; i++) {
        w[i] = (uint16_t)(bits_of(wide[i]) >> 16);
    }
    for (size_t i = 0; i < DROVE_COUNT(r); i++) r[i] = (uint16_t)(i * 40503u);
    w[5] = 0x7f80, w[6] = 0x7fc0, w[40] = 0xff80; /* not finite, in a vector and behind the last */
    for (const size_t *n = edge_lengths; *n <= MOST; n++) {
        for (place where = 0; where < N_PLACES; where++) {
            uint16_t *got = guarded(*n * sizeof *got, sizeof *got, where);
            const float *gradient = guarded_floats(g, *n, where);
            for (size_t k = 0; k < DROVE_COUNT(kinds); k++) {
                drovek_bits mine = start, theirs = start;
                mine.kind = theirs.kind = kinds[k];
                memcpy(got, w, *n * sizeof *got);
                memcpy(expected, w, *n * sizeof *got);
                t->sgd_bf16(got, gradient, *n, 0.3f, &mine);
                drovek_ref.sgd_bf16(expected, g, *n, 0.3f, &theirs);
                assert_memory_equal(got, expected, *n * sizeof *got);
                assert_memory_equal(mine.state, theirs.state, sizeof mine.state);
            }
            float *to = guarded_floats(NULL, *n, where);
            t->widen_bf16(to, got, *n);
            drovek_ref.widen_bf16(plain, expected, *n);
            assert_same_bits("widen_bf16", t->isa, *n, to, plain);
            guarded_free_all();
        }
    }
}

TEST(test_every_tier_steps_alike)
{
    for_each_tier(check_parameters);
}

/* A convolution in bf16 is the plain loops on rounded numbers: choosing a way finds only those that
 * multiply by the table. */
static void check_convolution(const drovek_table *t)
{
    for (const drovek_conv_shape *s = conv_shapes(); s->c > 0; s++) {
        const conv_case c = {.shape = s,
                             .act = DROVEK_LINEAR,
                             .rows = 2,
                             .n_rows = 2,
                             .tier = t,
                             .in = DROVEK_NHWC,
                             .out = DROVEK_NHWC,
                             .rounds = true};
        conv_check_plain(&c, "bf16");
    }
}

TEST(test_convolutions)
{
    for_each_bf16_tier(check_convolution);
}
