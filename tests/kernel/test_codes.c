/* Vectors in fewer bits: every tier against plain C bit for bit, hand-worked blocks, what is lost
 * stays in the residual, rounding without bias, numbers that are not finite. */
#include "support.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_N = 2 * DROVEK_CODE_BLOCK + 77, N_FORMATS = 3, MAX_BYTES = 3 * MAX_N };

static const unsigned format_bits[N_FORMATS] = {16, 8, 1};
static float x_in[MAX_N], r_in[MAX_N];

static drovek_encode_fn *encoder(const drovek_table *t, unsigned bits)
{
    return bits == 16 ? t->encode_i16 : bits == 8 ? t->encode_i8 : t->encode_i1;
}

static drovek_decode_fn *decoder(const drovek_table *t, unsigned bits)
{
    return bits == 16 ? t->decode_i16 : bits == 8 ? t->decode_i8 : t->decode_i1;
}

FIXTURE(fill)
{
    fill_normal(x_in, MAX_N, 1.0, 1);
    fill_normal(r_in, MAX_N, 0.01, 2);
    for (size_t i = 0; i < 40; i++) x_in[DROVEK_CODE_BLOCK + 10 * i] *= 1e-3f;
    x_in[3] = 0.0f;
    return 0;
}

GROUP(fill, NULL);

static void check_format(const drovek_table *t, unsigned bits, size_t n, place where, bool feeds)
{
    static uint8_t code[MAX_BYTES];
    float residual[MAX_N], wanted[MAX_N];
    size_t n_bytes = drovek_code_bytes(bits, n);
    assert_true(n_bytes <= sizeof code);
    memcpy(residual, r_in, sizeof residual);
    encoder(&drovek_ref, bits)(code, x_in, feeds ? residual : NULL, n, 99, 5);
    decoder(&drovek_ref, bits)(wanted, code, n);

    const float *x = guarded_floats(x_in, n, where);
    float *r = guarded_floats(r_in, n, where), *to = guarded_floats(NULL, n, where);
    uint8_t *own = guarded(n_bytes, 1, where);
    encoder(t, bits)(own, x, feeds ? r : NULL, n, 99, 5);
    assert_memory_equal(own, code, n_bytes);
    assert_same_bits("residual", t->isa, n, r, residual);
    decoder(t, bits)(to, own, n);
    assert_same_bits("decode", t->isa, n, to, wanted);
    guarded_free_all();
}

static void check_tier(const drovek_table *tier)
{
    static const size_t beside[] = {511, 512, 513, 1000, 1024, MAX_N, SIZE_MAX};
    for (size_t f = 0; f < N_FORMATS; f++) {
        for (place where = 0; where < N_PLACES; where++) {
            for (const size_t *n = edge_lengths; *n <= MAX_N; n++)
                check_format(tier, format_bits[f], *n, where, true);
            for (const size_t *n = beside; *n <= MAX_N; n++) {
                check_format(tier, format_bits[f], *n, where, true);
                check_format(tier, format_bits[f], *n, where, false);
            }
        }
    }
}

TEST(bytes_follow_from_the_length)
{
    assert_int_equal(drovek_code_bytes(8, 0), 0);
    assert_int_equal(drovek_code_bytes(16, 3), 4 + 6);
    assert_int_equal(drovek_code_bytes(8, 513), 4 + 512 + 4 + 1);
    assert_int_equal(drovek_code_bytes(1, 512), 8 + 64);
    assert_int_equal(drovek_code_bytes(1, 521), 8 + 64 + 8 + 2);
}

/* Largest 12.7: a scale of 0.1; whole multiples of it do not move, whatever is drawn. */
TEST(hand_worked_bytes)
{
    const float x[4] = {127.0f, -127.0f, 3.0f, 0.0f};
    uint8_t code[8];
    float scale, back[4];
    drovek_ref.encode_i8(code, x, NULL, 4, 1, 0);
    memcpy(&scale, code, sizeof scale);
    assert_true(scale == 1.0f);
    assert_int_equal(code[4], 255);
    assert_int_equal(code[5], 1);
    assert_int_equal(code[6], 131);
    assert_int_equal(code[7], 128);
    drovek_ref.decode_i8(back, code, 4);
    assert_memory_equal(back, x, sizeof x);
}

TEST(hand_worked_signs)
{
    const float x[5] = {1.0f, -2.0f, 5.0f, -4.0f, 0.0f};
    const float sent[5] = {2.0f, -3.0f, 2.0f, -3.0f, 2.0f};
    uint8_t code[9];
    float back[5], residual[5] = {0.0f};
    drovek_ref.encode_i1(code, x, residual, 5, 1, 0);
    assert_int_equal(code[8], 1 << 1 | 1 << 3);
    drovek_ref.decode_i1(back, code, 5);
    assert_memory_equal(back, sent, sizeof sent);
    for (size_t i = 0; i < 5; i++) assert_true(residual[i] == x[i] - sent[i]);
}

TEST(tiers_equal_ref)
{
    for_each_tier(check_tier);
}

/* What was to be sent = what was sent + the residual, up to the rounding of a difference. */
TEST(what_is_lost_stays_in_the_residual)
{
    for (size_t f = 0; f < N_FORMATS; f++) {
        double sent[MAX_N] = {0.0}, wished[MAX_N] = {0.0};
        float residual[MAX_N] = {0.0f}, back[MAX_N];
        uint8_t code[MAX_BYTES];
        enum { TIMES = 50 };
        for (uint64_t t = 0; t < TIMES; t++) {
            encoder(&drovek_ref, format_bits[f])(code, x_in, residual, MAX_N, t, 0);
            decoder(&drovek_ref, format_bits[f])(back, code, MAX_N);
            for (size_t i = 0; i < MAX_N; i++) {
                sent[i] += (double)back[i];
                wished[i] += (double)x_in[i];
            }
        }
        for (size_t i = 0; i < MAX_N; i++)
            assert_true(fabs(sent[i] + (double)residual[i] - wished[i]) < TIMES * 2e-6);
    }
}

/* Mean of many roundings of the same numbers, within 5 standard errors for each, and within 4 for
 * the sum over all. */
TEST(rounding_has_no_bias)
{
    enum { N = DROVEK_CODE_BLOCK, TIMES = 4000 };
    for (size_t f = 0; f < 2; f++) {
        unsigned bits = format_bits[f];
        double sum[N] = {0.0}, total = 0.0, total_variance = 0.0;
        float back[N], scale = 0.0f;
        uint8_t code[4 + 2 * N];
        for (uint64_t t = 0; t < TIMES; t++) {
            encoder(&drovek_ref, bits)(code, x_in, NULL, N, t * 7919, 3);
            decoder(&drovek_ref, bits)(back, code, N);
            memcpy(&scale, code, sizeof scale);
            for (size_t i = 0; i < N; i++) sum[i] += (double)back[i];
        }
        for (size_t i = 0; i < N; i++) {
            double at = (double)x_in[i] / (double)scale, part = at - floor(at);
            double variance = part * (1.0 - part) * (double)scale * (double)scale;
            double error = sum[i] / TIMES - (double)x_in[i];
            /* The least is what rounding the product with the scale may be off. */
            assert_true(fabs(error) <= 5.0 * sqrt(variance / TIMES) + 1e-3 * (double)scale);
            total += error;
            total_variance += variance / TIMES;
        }
        assert_true(fabs(total) <= 4.0 * sqrt(total_variance));
    }
}

/* A block with an infinity or a NaN comes out with one, so that nobody takes it for numbers. */
static void check_not_finite(const drovek_table *t)
{
    for (size_t f = 0; f < N_FORMATS; f++) {
        for (int kind = 0; kind < 3; kind++) {
            float x[600], back[600];
            uint8_t code[4 * 600];
            memcpy(x, x_in, sizeof x);
            x[100] = kind == 0 ? INFINITY : kind == 1 ? -INFINITY : NAN;
            encoder(t, format_bits[f])(code, x, NULL, 600, 1, 0);
            decoder(t, format_bits[f])(back, code, 600);
            assert_false(drovek_ref.finite_f32(back, 512));
            assert_true(drovek_ref.finite_f32(back + 512, 88));
        }
    }
}

TEST(what_is_not_finite_stays_so)
{
    for_each_tier(check_not_finite);
}

TEST(nothing_is_sent_as_nothing)
{
    const float x[3] = {1e-40f, -1e-30f, 0.0f};
    for (size_t f = 0; f < 2; f++) {
        float residual[3] = {0.0f}, back[3];
        uint8_t code[16];
        encoder(&drovek_ref, format_bits[f])(code, x, residual, 3, 1, 0);
        decoder(&drovek_ref, format_bits[f])(back, code, 3);
        for (size_t i = 0; i < 3; i++) assert_true(back[i] == 0.0f && residual[i] == x[i]);
    }
}
