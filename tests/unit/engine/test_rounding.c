/* tests/unit/engine/test_rounding.c - sources of random bits, and the factors of a step. */
#include "engine/linear/mt19937.h"
#include "engine/linear/rounding.h"
#include "kernel/kernel.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make(drove_rounder *r, const char *spec, size_t most_blocks)
{
    drove_rounding how;
    assert_int_equal(drove__rounding_parse(spec, &how), DROVE_OK);
    assert_int_equal(drove__rounder_init(r, &how, most_blocks), DROVE_OK);
    drove__rounder_seed(r, 1, 1);
}

/* The 10000th number after the default seed, as the C++ standard gives it for mt19937. */
TEST(the_twister_is_the_published_one)
{
    drove_mt19937 mt;
    uint32_t last = 0;
    drove__mt_seed(&mt, 5489u);
    for (int i = 0; i < 10000; i++) last = drove__mt_u32(&mt);
    assert_int_equal(last, 4123659995u);
}

/* The bits of an AXPY over n numbers of 8 bits. */
static const uint8_t *bytes_for(drove_rounder *r, size_t n)
{
    return drove__rounder_next(r, DROVE_I8, DROVE_I8, false, n)->block;
}

/* In bytes or in words, as the numbers of the AXPY at hand use them: one worker's AXPYs of 8 bits
 * and its decay use different ones. */
TEST(nearest_is_one_half)
{
    drove_rounder r;
    make(&r, "nearest", 1);
    for (int k = 0; k < 4; k++) {
        bool by_bytes = k % 2 == 0;
        drove_number d = by_bytes ? DROVE_I8 : DROVE_F32;
        const drovek_bits *bits = drove__rounder_next(&r, d, DROVE_I8, false, 300);
        assert_int_equal(bits->kind, DROVEK_BITS_FIXED);
        for (size_t i = 0; i < DROVEK_BLOCK_BYTES; i++)
            assert_int_equal(bits->block[i], by_bytes || i % 2 == 1 ? 0x80 : 0);
        assert_true(drove__rounder_u(&r) == 0.5);
    }
    drove__rounder_fini(&r);
}

/* A model of floats is not rounded, and costs no random numbers. */
TEST(floats_draw_nothing)
{
    static const char *const specs[] = {"shared", "mt19937"};
    for (size_t k = 0; k < 2; k++) {
        drove_rounder r;
        uint8_t before[64];
        make(&r, specs[k], 4);
        memcpy(before, bytes_for(&r, 64), 64);
        assert_memory_equal(drove__rounder_next(&r, DROVE_I8, DROVE_F32, false, 64)->block, before,
                            64);
        assert_true(memcmp(bytes_for(&r, 64), before, 64) != 0);
        drove__rounder_fini(&r);
    }
}

TEST(shared_bits_last_a_period)
{
    for (unsigned n_bits = 256; n_bits <= 512; n_bits += 256) {
        drove_rounder r;
        char spec[64];
        uint8_t block[9][DROVEK_BLOCK_BYTES];
        snprintf(spec, sizeof spec, "shared?bits=%u&period=3", n_bits);
        make(&r, spec, 1);
        for (int i = 0; i < 9; i++) memcpy(block[i], bytes_for(&r, 400), 64);
        for (int i = 0; i < 9; i++) assert_memory_equal(block[i], block[i / 3 * 3], 64);
        assert_true(memcmp(block[0], block[3], 64) != 0 && memcmp(block[3], block[6], 64) != 0);
        assert_true((memcmp(block[0], block[0] + 32, 32) == 0) == (n_bits == 256));
        drove__rounder_fini(&r);
    }
}

TEST(a_stream_fills_every_block)
{
    drove_rounder r;
    make(&r, "mt19937", 50);
    const drovek_bits *bits = drove__rounder_next(&r, DROVE_I8, DROVE_I8, false, 50 * 64);
    assert_int_equal(bits->kind, DROVEK_BITS_STREAM);
    double sum = 0.0;
    for (size_t i = 0; i < 50 * 64; i++) sum += bits->block[i];
    assert_true(fabs(sum / 3200.0 - 127.5) < 4.0 * 73.9 / sqrt(3200.0));
    uint8_t next[64];
    memcpy(next, bits->block, 64);
    assert_true(memcmp(next, bytes_for(&r, 50 * 64), 64) != 0);
    drove__rounder_fini(&r);
}

/* A batch's random numbers follow from its number. */
TEST(a_seed_names_a_stream)
{
    static const char *const specs[] = {"shared", "shared?bits=256", "shared?period=7", "xorshift",
                                        "mt19937"};
    for (size_t k = 0; k < DROVE_COUNT(specs); k++) {
        drove_rounder r, s;
        make(&r, specs[k], 4);
        make(&s, specs[k], 4);
        for (int i = 0; i < 5; i++) (void)bytes_for(&s, 256); /* another past */
        drove__rounder_seed(&r, 1, 9);
        drove__rounder_seed(&s, 1, 9);
        const drovek_bits *a = drove__rounder_next(&r, DROVE_I8, DROVE_I8, false, 256);
        const drovek_bits *b = drove__rounder_next(&s, DROVE_I8, DROVE_I8, false, 256);
        assert_memory_equal(a->block, b->block, 64);
        assert_memory_equal(a->state, b->state, sizeof a->state);
        assert_true(drove__rounder_u(&r) == drove__rounder_u(&s));
        drove__rounder_seed(&s, 1, 10);
        assert_true(drove__rounder_u(&r) != drove__rounder_u(&s));
        b = drove__rounder_next(&s, DROVE_I8, DROVE_I8, false, 256);
        if (a->kind == DROVEK_BITS_XORSHIFT)
            assert_memory_not_equal(a->state, b->state, sizeof a->state);
        else assert_memory_not_equal(a->block, b->block, 64);
        drove__rounder_fini(&r);
        drove__rounder_fini(&s);
    }
}

TEST(words_that_are_none_are_refused)
{
    drove_rounding how;
    static const char *const wrong[] = {"share",           "shared?bits=128",  "shared?bits=300",
                                        "shared?period=0", "nearest?bits=256", "xorshift:3",
                                        "mt19937?period=2"};
    for (size_t k = 0; k < DROVE_COUNT(wrong); k++)
        assert_int_equal(drove__rounding_parse(wrong[k], &how), DROVE_E_ARG);
}

/* ---- factors ---- */

/* Of kernel/linear.h, for one example; a batch has 22 and 32767. */
static const struct {
    drove_number d, m;
    int shift, sum;
} bounds[] = {{DROVE_I8, DROVE_I8, 8, 256},     {DROVE_I8, DROVE_I16, 15, 32767},
              {DROVE_I4, DROVE_I4, 8, 256},     {DROVE_I4, DROVE_I8, 8, 256},
              {DROVE_I8, DROVE_I4, 12, 224},    {DROVE_I16, DROVE_I4, 15, 32767},
              {DROVE_I4, DROVE_I16, 15, 32767}, {DROVE_I16, DROVE_I16, 15, 32767}};

TEST(factors_have_the_right_mean)
{
    static const double alphas[] = {1e-6, 0.0007, -0.0123, 0.3, -0.99, 3.7, -200.0};
    enum { RUNS = 20000 };
    drove_rounder r;
    make(&r, "shared", 1);
    for (size_t k = 0; k < DROVE_COUNT(alphas); k++) {
        for (size_t p = 0; p < DROVE_COUNT(bounds); p++) {
            double sum = 0.0, square = 0.0;
            for (int i = 0; i < RUNS; i++) {
                drovek_factor f;
                drove__factor_make(bounds[p].d, bounds[p].m, &alphas[k], 1, &r, &f);
                double a = ldexp(f.a, -f.shift);
                assert_true(f.shift >= 0 && f.shift <= bounds[p].shift);
                assert_true(abs(f.a) <= bounds[p].sum);
                sum += a;
                square += a * a;
            }
            double mean = sum / RUNS, spread = sqrt(fabs(square / RUNS - mean * mean) / RUNS);
            assert_true(fabs(mean - alphas[k]) <= 4.5 * spread + 1e-9 + 1e-12 * fabs(alphas[k]));
        }
    }
    drove__rounder_fini(&r);
}

TEST(batches_stay_inside_the_lanes)
{
    drove_rounder r;
    drove_rng rng;
    make(&r, "xorshift", 1);
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (int run = 0; run < 2000; run++) {
        double alpha[DROVE_FACTOR_ROWS], size = ldexp(1.0, (int)drove__rng_below(&rng, 60) - 30);
        drovek_factor f[DROVE_FACTOR_ROWS];
        size_t n = 1 + (size_t)drove__rng_below(&rng, DROVE_FACTOR_ROWS);
        for (size_t i = 0; i < n; i++) alpha[i] = size * (2.0 * drove__rng_uniform(&rng) - 1.0);
        const size_t p = (size_t)run % DROVE_COUNT(bounds);
        drove__factor_make(bounds[p].d, bounds[p].m, alpha, n, &r, f);
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum += labs((long)f[i].a);
            assert_int_equal(f[i].shift, f[0].shift);
        }
        assert_true(sum <= (n > 1 ? 32767 : bounds[p].sum));
        assert_true(f[0].shift <= (n > 1 ? 22 : bounds[p].shift));
    }
    drove__rounder_fini(&r);
}

/* What no output should have been: no factor, rather than whatever a cast gives. */
TEST(factors_that_are_no_numbers_are_none)
{
    const double alphas[][2] = {{NAN, 0.1}, {INFINITY, 0.1}, {-INFINITY, 0.1}};
    drove_rounder r;
    make(&r, "shared", 1);
    for (size_t k = 0; k < DROVE_COUNT(alphas); k++) {
        for (size_t p = 0; p < DROVE_COUNT(bounds); p++) {
            drovek_factor f[2];
            drove__factor_make(bounds[p].d, bounds[p].m, alphas[k], 2, &r, f);
            assert_true(f[0].a == 0 && f[1].a == 0);
            assert_int_equal(f[0].shift, f[1].shift);
            assert_true(f[0].shift >= 0 && f[0].shift <= 22);
        }
    }
    drove__rounder_fini(&r);
}
