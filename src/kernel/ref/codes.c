/* kernel/ref/codes.c - encodes vectors in fewer bits (kernel/codes.h): the definition. */
#include "kernel/codes.h"
#include "kernel/tiers.h"

#include <math.h>

typedef struct generator { /* one xorshift per lane */
    uint32_t lane[DROVEK_CODE_LANES];
} generator;

static void seed_lanes(generator *g, uint64_t key, size_t block)
{
    uint64_t seed = drovek_code_seed(key, block);
    for (uint32_t i = 0; i < DROVEK_CODE_LANES; i++) {
        uint32_t s = (uint32_t)seed + i * DROVEK_CODE_GOLDEN;
        s = (s ^ s >> 16) * DROVEK_CODE_MIX1;
        s = (s ^ s >> 13) * DROVEK_CODE_MIX2;
        g->lane[i] = s ^ s >> 16 ^ (uint32_t)(seed >> 32);
    }
}

/* Uniform in [0, 1), for number i of the block; called for the numbers in order. */
static float uniform(generator *g, size_t i)
{
    uint32_t *s = &g->lane[i % DROVEK_CODE_LANES];
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return (float)(*s >> 8) * 0x1p-24f;
}

/* The whole number that v / scale is rounded to. */
static float rounded(float v, float inverse, float levels, float u)
{
    float a = v * inverse, down = floorf(a), q = down + (u < a - down ? 1.0f : 0.0f);
    if (!(q < levels)) q = levels;
    return q > -levels ? q : -levels;
}

/* One block, v[n]; returns its bytes. */
static size_t encode_fixed(uint8_t *code, float *v, size_t n, unsigned bits, uint64_t key,
                           size_t block)
{
    float levels = bits == 16 ? 32767.0f : 127.0f, scale, inverse;
    drovek_code_scale(drovek_largest_f32_ref(v, n), levels, &scale, &inverse);
    generator g;
    seed_lanes(&g, key, block);
    memcpy(code, &scale, sizeof scale);
    code += sizeof scale;
    for (size_t i = 0; i < n; i++) {
        float q = rounded(v[i], inverse, levels, uniform(&g, i));
        uint16_t word = (uint16_t)(q + levels + 1.0f);
        if (bits == 16) memcpy(code + 2 * i, &word, sizeof word);
        else code[i] = (uint8_t)word;
        v[i] -= q * scale;
    }
    return sizeof scale + n * bits / 8;
}

static size_t encode_signs(uint8_t *code, float *v, size_t n)
{
    float sum[2][DROVEK_CODE_LANES] = {{0.0f}}, mean[2];
    size_t n_below = 0, n_bytes = (n + 7) / 8;
    uint8_t *bit = code + sizeof mean;
    memset(bit, 0, n_bytes);
    for (size_t i = 0; i < n; i++) {
        bool is_below = v[i] < 0.0f;
        sum[is_below][i % DROVEK_CODE_LANES] += v[i];
        n_below += is_below;
        bit[i / 8] = (uint8_t)(bit[i / 8] | (unsigned)is_below << (i % 8));
    }
    mean[0] = drovek_code_mean(sum[0], n - n_below);
    mean[1] = drovek_code_mean(sum[1], n_below);
    memcpy(code, mean, sizeof mean);
    for (size_t i = 0; i < n; i++) v[i] -= mean[bit[i / 8] >> (i % 8) & 1];
    return sizeof mean + n_bytes;
}

static void encode(void *code, const float *x, float *residual, size_t n, uint64_t key,
                   size_t first_block, unsigned bits)
{
    uint8_t *at = code;
    for (size_t i = 0; i < n; i += DROVEK_CODE_BLOCK) {
        float v[DROVEK_CODE_BLOCK];
        size_t length = n - i < DROVEK_CODE_BLOCK ? n - i : DROVEK_CODE_BLOCK;
        for (size_t j = 0; j < length; j++)
            v[j] = residual != NULL ? x[i + j] + residual[i + j] : x[i + j];
        at += bits == 1
                  ? encode_signs(at, v, length)
                  : encode_fixed(at, v, length, bits, key, first_block + i / DROVEK_CODE_BLOCK);
        if (residual != NULL) memcpy(residual + i, v, length * sizeof *v);
    }
}

void drovek_encode_i16_ref(void *code, const float *x, float *residual, size_t n, uint64_t key,
                           size_t first_block)
{
    encode(code, x, residual, n, key, first_block, 16);
}

void drovek_encode_i8_ref(void *code, const float *x, float *residual, size_t n, uint64_t key,
                          size_t first_block)
{
    encode(code, x, residual, n, key, first_block, 8);
}

void drovek_encode_i1_ref(void *code, const float *x, float *residual, size_t n, uint64_t key,
                          size_t first_block)
{
    encode(code, x, residual, n, key, first_block, 1);
}

/* ---- decoding ---- */

void drovek_decode_i16_ref(float *to, const void *code, size_t n)
{
    const uint8_t *at = code;
    for (size_t i = 0; i < n; i += DROVEK_CODE_BLOCK) {
        size_t length = n - i < DROVEK_CODE_BLOCK ? n - i : DROVEK_CODE_BLOCK;
        float scale;
        memcpy(&scale, at, sizeof scale);
        at += sizeof scale;
        for (size_t j = 0; j < length; j++, at += 2) {
            uint16_t word;
            memcpy(&word, at, sizeof word);
            to[i + j] = ((float)word - 32768.0f) * scale;
        }
    }
}

void drovek_decode_i8_ref(float *to, const void *code, size_t n)
{
    const uint8_t *at = code;
    for (size_t i = 0; i < n; i += DROVEK_CODE_BLOCK) {
        size_t length = n - i < DROVEK_CODE_BLOCK ? n - i : DROVEK_CODE_BLOCK;
        float scale;
        memcpy(&scale, at, sizeof scale);
        at += sizeof scale;
        for (size_t j = 0; j < length; j++) to[i + j] = ((float)*at++ - 128.0f) * scale;
    }
}

void drovek_decode_i1_ref(float *to, const void *code, size_t n)
{
    const uint8_t *at = code;
    for (size_t i = 0; i < n; i += DROVEK_CODE_BLOCK) {
        size_t length = n - i < DROVEK_CODE_BLOCK ? n - i : DROVEK_CODE_BLOCK;
        float mean[2];
        memcpy(mean, at, sizeof mean);
        at += sizeof mean;
        for (size_t j = 0; j < length; j++) to[i + j] = mean[at[j / 8] >> (j % 8) & 1];
        at += (length + 7) / 8;
    }
}
