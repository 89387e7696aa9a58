#include "linear_support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *const number_names[DROVE_NUMBERS] = {"8", "16", "32f"};
const char *const kind_names[N_KINDS] = {"fixed", "stream", "xorshift"};

static int32_t some_integer(drove_rng *rng, int32_t most, int has_lowest)
{
    uint64_t choice = drove__rng_below(rng, 16);
    if (choice == 0) return most;
    if (choice == 1) return -most - (has_lowest != 0);
    return (int32_t)drove__rng_below(rng, 2 * (uint64_t)most + 1) - most;
}

void fill_numbers(drove_rng *rng, drove_number number, void *to, size_t n, int has_lowest)
{
    for (size_t i = 0; i < n; i++) {
        if (number == DROVE_I8) ((int8_t *)to)[i] = (int8_t)some_integer(rng, 127, has_lowest);
        else if (number == DROVE_I16)
            ((int16_t *)to)[i] = (int16_t)some_integer(rng, 32767, has_lowest);
        else ((float *)to)[i] = (float)drove__rng_normal(rng);
    }
}

drovek_bits make_bits(drove_rng *rng, drovek_bits_kind kind, uint8_t *memory, size_t n_blocks)
{
    drovek_bits bits = {.kind = kind, .block = memory};
    for (size_t i = 0; i < 64 * n_blocks; i++) memory[i] = (uint8_t)drove__rng_u64(rng);
    for (size_t k = 0; k < 8; k++) bits.state[k] = drove__rng_u64(rng) | 1;
    return bits;
}

uint32_t random_byte(const drovek_bits *bits, size_t i)
{
    size_t block = i / 64, at = i % 64;
    if (bits->kind == DROVEK_BITS_FIXED) return bits->block[at];
    if (bits->kind == DROVEK_BITS_STREAM) return bits->block[i];
    uint64_t s = bits->state[at / 8];
    for (size_t step = 0; step <= block; step++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
    }
    return (uint32_t)(s >> (at % 8 * 8)) & 255;
}

uint32_t random_word(const drovek_bits *bits, size_t i)
{
    return random_byte(bits, 2 * i) + 256 * random_byte(bits, 2 * i + 1);
}

double number_as_double(drove_number number, const void *x, size_t i)
{
    if (number == DROVE_I8) return ((const int8_t *)x)[i];
    if (number == DROVE_I16) return ((const int16_t *)x)[i];
    return (double)((const float *)x)[i];
}

bool is_near_mean(double mean, double expected, double n, double n_errors)
{
    double p = expected - floor(expected);
    return fabs(mean - expected) <= n_errors * sqrt(p * (1.0 - p) / n);
}

/* ---- long dots ---- */

static struct {
    drove_number d, m;
    size_t n;
    void *x, *w;
    double product; /* of one pair */
} extremes;

static void check_extremes(const drovek_table *t)
{
    drovek_dot_fn *dot = t->linear.dot[extremes.d][extremes.m];
    double wanted = (double)extremes.n * extremes.product;
    assert_true(dot(extremes.x, extremes.w, extremes.n) == wanted);
    assert_true(dot(extremes.x, extremes.w, extremes.n - 1) == wanted - extremes.product);
}

void check_dots_of_extremes(size_t n)
{
    extremes.n = n;
    extremes.x = malloc(2 * n);
    extremes.w = malloc(2 * n + DROVEK_BLOCK_BYTES);
    assert_true(extremes.x != NULL && extremes.w != NULL);
    for (int which = 0; which < 8; which++) {
        int sign = which % 2 == 0 ? 1 : -1;
        extremes.d = which / 2 % 2 == 0 ? DROVE_I8 : DROVE_I16;
        extremes.m = which / 4 == 0 ? DROVE_I8 : DROVE_I16;
        int32_t x = sign * drove__number_most(extremes.d);
        int32_t w = -drove__number_most(extremes.m) - 1;
        extremes.product = (double)x * (double)w;
        for (size_t i = 0; i < n && extremes.d == DROVE_I16; i++)
            ((int16_t *)extremes.x)[i] = (int16_t)x;
        if (extremes.d == DROVE_I8) memset(extremes.x, x, n);
        for (size_t i = 0; i < n && extremes.m == DROVE_I16; i++)
            ((int16_t *)extremes.w)[i] = (int16_t)w;
        if (extremes.m == DROVE_I8) memset(extremes.w, w, n);
        for_each_tier(check_extremes);
    }
    free(extremes.x);
    free(extremes.w);
}
