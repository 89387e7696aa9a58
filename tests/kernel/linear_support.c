#include "linear_support.h"
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const number_names[DROVE_NUMBERS] = {"4", "8", "16", "32f"};
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
    int32_t most = drove__number_most(number);
    for (size_t i = 0; i < n; i++) {
        if (number == DROVE_F32) ((float *)to)[i] = (float)drove__rng_normal(rng);
        else set_integer(number, to, i, some_integer(rng, most, has_lowest));
    }
    if (number == DROVE_I4 && n % 2 == 1)
        set_integer(number, to, n, has_lowest ? some_integer(rng, most, 1) : 0);
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

uint32_t random_of(const drovek_bits *bits, drove_number d, drove_number m, bool is_batch, size_t i)
{
    bool is_bytes =
        !is_batch && d < DROVE_I16 && m < DROVE_I16 && !(d == DROVE_I8 && m == DROVE_I4);
    size_t per_block = is_bytes ? 64 : 32;
    if (!is_batch && m == DROVE_I4 &&
        d < DROVE_I16) /* even and odd numbers have blocks of their own */
        i = (i / (2 * per_block) * 2 + i % 2) * per_block + i % (2 * per_block) / 2;
    return is_bytes ? random_byte(bits, i) : random_word(bits, i);
}

void set_integer(drove_number number, void *x, size_t i, int64_t value)
{
    uint8_t *bytes = x;
    if (number == DROVE_I16) ((int16_t *)x)[i] = (int16_t)value;
    else if (number == DROVE_I8) ((int8_t *)x)[i] = (int8_t)value;
    else if (i % 2 == 0) bytes[i / 2] = (uint8_t)((bytes[i / 2] & 0xf0) | (value & 15));
    else bytes[i / 2] = (uint8_t)((bytes[i / 2] & 0x0f) | (value & 15) << 4);
}

double number_as_double(drove_number number, const void *x, size_t i)
{
    if (number == DROVE_I4) {
        int bits = ((const uint8_t *)x)[i / 2] >> (i % 2 == 0 ? 0 : 4) & 15;
        return bits < 8 ? bits : bits - 16;
    }
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
    const size_t last = extremes.n - 1;
    assert_true(dot(extremes.x, extremes.w, extremes.n) == wanted);
    int64_t x = (int64_t)number_as_double(extremes.d, extremes.x, last);
    set_integer(extremes.d, extremes.x, last, 0); /* of 4 bits, half of a byte */
    assert_true(dot(extremes.x, extremes.w, last) == wanted - extremes.product);
    set_integer(extremes.d, extremes.x, last, x);
}

void check_dots_of_extremes(size_t n)
{
    extremes.n = n;
    extremes.x = malloc(2 * n);
    extremes.w = malloc(2 * n + DROVEK_BLOCK_BYTES);
    assert_true(extremes.x != NULL && extremes.w != NULL);
    for (int which = 0; which < 18; which++) {
        int sign = which % 2 == 0 ? 1 : -1;
        extremes.d = (drove_number)(which / 2 % 3);
        extremes.m = (drove_number)(which / 6);
        int32_t x = sign * drove__number_most(extremes.d);
        int32_t w = -drove__number_most(extremes.m) - 1;
        extremes.product = (double)x * (double)w;
        for (size_t i = 0; i < n; i++) {
            set_integer(extremes.d, extremes.x, i, x);
            set_integer(extremes.m, extremes.w, i, w);
        }
        for_each_tier(check_extremes);
    }
    free(extremes.x);
    free(extremes.w);
}
