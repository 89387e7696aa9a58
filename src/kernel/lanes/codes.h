/* kernel/lanes/codes.h - encodes vectors in fewer bits, vectorised; layout, roundings and random
 * numbers are those of ref/codes.c.  A step takes DROVEK_CODE_LANES numbers of a block, in
 * CODE_REGISTERS registers; the last step of a block is padded with zeros. */
#ifndef DROVEK_LANES_CODES_H
#define DROVEK_LANES_CODES_H

#include "kernel/codes.h"
#include "kernel/lanes/vector.h"

enum { CODE_REGISTERS = DROVEK_CODE_LANES / LANES };

typedef struct code_lanes {
    vec_u32 state[CODE_REGISTERS];
} code_lanes;

INLINE void code_seed(code_lanes *g, uint64_t key, size_t block)
{
    uint64_t seed = drovek_code_seed(key, block);
    UNROLL
    for (uint32_t r = 0; r < CODE_REGISTERS; r++) {
        vec_u32 lane = u32_add(u32_count(), u32_set(r * LANES));
        vec_u32 s = u32_add(u32_set((uint32_t)seed), u32_mul(lane, u32_set(DROVEK_CODE_GOLDEN)));
        s = u32_mul(u32_fold(s, 16), u32_set(DROVEK_CODE_MIX1));
        s = u32_mul(u32_fold(s, 13), u32_set(DROVEK_CODE_MIX2));
        g->state[r] = u32_xor(u32_fold(s, 16), u32_set((uint32_t)(seed >> 32)));
    }
}

INLINE vec code_uniform(code_lanes *g, size_t r)
{
    g->state[r] = u32_spread(u32_fold(u32_spread(g->state[r], 13), 17), 5);
    return vec_unit(g->state[r]);
}

/* Numbers of a block of n, padded with zeros. */
INLINE size_t code_padded(size_t n)
{
    return (n + DROVEK_CODE_LANES - 1) / DROVEK_CODE_LANES * DROVEK_CODE_LANES;
}

/* v[n, padded] = x + residual */
INLINE void code_gather(float *v, const float *x, const float *residual, size_t n)
{
    size_t i = 0;
    for (; i < n; i += LANES) {
        size_t count = lanes_left(i, n);
        vec    sum = vec_load(x + i, count); /* lanes that are not loaded are 0 */
        if (residual != NULL) sum = vec_add(sum, vec_load(residual + i, count));
        vec_store(v + i, sum, LANES);
    }
    for (; i < code_padded(n); i += LANES) vec_store(v + i, vec_set(0.0f), LANES);
}

INLINE uint32_t code_largest(const float *v, size_t n_padded)
{
    magnitude most = magnitude_zero();
    for (size_t i = 0; i < n_padded; i += LANES) most = magnitude_max(most, vec_load(v + i, LANES));
    return magnitude_largest(most);
}

INLINE vec code_rounded(vec v, vec inverse, vec levels, vec u)
{
    vec a = vec_mul(v, inverse), down = vec_floor(a);
    vec q = vec_add(down, vec_if_less(u, vec_sub(a, down), vec_set(1.0f), vec_set(0.0f)));
    vec least = vec_sub(vec_set(0.0f), levels);
    q = vec_if_less(q, levels, q, levels);
    return vec_if_less(least, q, q, least);
}

INLINE void code_store(uint8_t *word, vec q, vec offset, unsigned bits)
{
    vec shifted = vec_add(q, offset);
    if (bits == 16) {
        uint16_t words[LANES];
        vec_store_u16(words, shifted);
        memcpy(word, words, sizeof words);
    } else {
        vec_store_u8(word, shifted, LANES);
    }
}

INLINE void encode_fixed(drovek_code_block *to, float *v, size_t n, unsigned bits, uint64_t key,
                         size_t block)
{
    float limit = bits == 16 ? 32767.0f : 127.0f, inverse;
    drovek_code_scale(code_largest(v, n), limit, &to->head[0], &inverse);
    vec        scale = vec_set(to->head[0]), by = vec_set(inverse), levels = vec_set(limit);
    vec        offset = vec_set(limit + 1.0f);
    code_lanes g;
    code_seed(&g, key, block);
    for (size_t i = 0; i < n; i += DROVEK_CODE_LANES) {
        UNROLL
        for (size_t r = 0; r < CODE_REGISTERS; r++) {
            size_t at = i + r * LANES;
            vec    own = vec_load(v + at, LANES);
            vec    q = code_rounded(own, by, levels, code_uniform(&g, r));
            code_store(to->word + at * (bits / 8), q, offset, bits);
            vec_store(v + at, vec_sub(own, vec_mul(q, scale)), LANES);
        }
    }
}

/* n numbers, of which the first n_real count and the rest are zeros. */
INLINE void encode_signs(drovek_code_block *to, float *v, size_t n, size_t n_real)
{
    vec    zero = vec_set(0.0f), one = vec_set(1.0f), sum[2][CODE_REGISTERS];
    size_t n_below = 0;
    UNROLL
    for (size_t r = 0; r < CODE_REGISTERS; r++) sum[0][r] = sum[1][r] = zero;
    for (size_t i = 0; i < n; i += DROVEK_CODE_LANES) {
        uint32_t bits = 0;
        UNROLL
        for (size_t r = 0; r < CODE_REGISTERS; r++) {
            vec own = vec_load(v + i + r * LANES, LANES);
            bits |= vec_nonzero(vec_if_less(own, zero, one, zero)) << (r * LANES);
            sum[0][r] = vec_add(sum[0][r], vec_if_less(own, zero, zero, own));
            sum[1][r] = vec_add(sum[1][r], vec_if_less(own, zero, own, zero));
        }
        n_below += (size_t)__builtin_popcount(bits);
        to->word[i / 8] = (uint8_t)bits;
        to->word[i / 8 + 1] = (uint8_t)(bits >> 8);
    }
    float lane[2][DROVEK_CODE_LANES];
    UNROLL
    for (size_t r = 0; r < CODE_REGISTERS; r++) {
        vec_store(lane[0] + r * LANES, sum[0][r], LANES);
        vec_store(lane[1] + r * LANES, sum[1][r], LANES);
    }
    to->head[0] = drovek_code_mean(lane[0], n_real - n_below);
    to->head[1] = drovek_code_mean(lane[1], n_below);
    vec above = vec_set(to->head[0]), below = vec_set(to->head[1]);
    for (size_t i = 0; i < n; i += LANES) {
        vec own = vec_load(v + i, LANES);
        vec_store(v + i, vec_sub(own, vec_if_less(own, zero, below, above)), LANES);
    }
}

INLINE void encode(void *code, const float *x, float *residual, size_t n, uint64_t key,
                   size_t first_block, unsigned bits)
{
    uint8_t     *at = code;
    const size_t head = bits == 1 ? 2 * sizeof(float) : sizeof(float);
    for (size_t i = 0; i < n; i += DROVEK_CODE_BLOCK) {
        float             v[DROVEK_CODE_BLOCK];
        drovek_code_block block;
        size_t            length = n - i < DROVEK_CODE_BLOCK ? n - i : DROVEK_CODE_BLOCK;
        size_t            padded = code_padded(length), n_words = (length * bits + 7) / 8;
        code_gather(v, x + i, residual != NULL ? residual + i : NULL, length);
        if (bits == 1) encode_signs(&block, v, padded, length);
        else encode_fixed(&block, v, padded, bits, key, first_block + i / DROVEK_CODE_BLOCK);
        memcpy(at, block.head, head);
        memcpy(at + head, block.word, n_words);
        at += head + n_words;
        if (residual != NULL) copy_f32(residual + i, v, length);
    }
}

static void encode_i16(void *code, const float *x, float *residual, size_t n, uint64_t key,
                       size_t first_block)
{
    encode(code, x, residual, n, key, first_block, 16);
}

static void encode_i8(void *code, const float *x, float *residual, size_t n, uint64_t key,
                      size_t first_block)
{
    encode(code, x, residual, n, key, first_block, 8);
}

static void encode_i1(void *code, const float *x, float *residual, size_t n, uint64_t key,
                      size_t first_block)
{
    encode(code, x, residual, n, key, first_block, 1);
}

/* ---- decoding ---- */

/* LANES numbers of a block from number i on */
INLINE vec decode_at(const uint8_t *word, size_t i, vec scale, vec other, unsigned bits)
{
    if (bits == 1) {
        uint32_t all = (uint32_t)word[i / 8] >> (i % 8);
        if (LANES > 8) all |= (uint32_t)word[i / 8 + 1] << 8;
        return vec_from_bits(all, other, scale);
    }
    if (bits == 8) return vec_mul(vec_sub(vec_widen_u8(word + i, LANES), vec_set(128.0f)), scale);
    uint16_t words[LANES];
    memcpy(words, word + 2 * i, sizeof words);
    return vec_mul(vec_sub(vec_widen_u16(words), vec_set(32768.0f)), scale);
}

INLINE void decode(float *to, const void *code, size_t n, unsigned bits)
{
    const uint8_t *at = code;
    const size_t   head = bits == 1 ? 2 * sizeof(float) : sizeof(float);
    for (size_t i = 0; i < n; i += DROVEK_CODE_BLOCK) {
        drovek_code_block block;
        size_t            length = n - i < DROVEK_CODE_BLOCK ? n - i : DROVEK_CODE_BLOCK;
        size_t            n_words = (length * bits + 7) / 8;
        const uint8_t    *word = at + head;
        memcpy(block.head, at, head);
        if (length < DROVEK_CODE_BLOCK) { /* never reads beyond its end */
            memset(block.word, 0, sizeof block.word);
            memcpy(block.word, word, n_words);
            word = block.word;
        }
        vec    scale = vec_set(block.head[0]), other = bits == 1 ? vec_set(block.head[1]) : scale;
        size_t j = 0;
        for (; j + LANES <= length; j += LANES)
            vec_store(to + i + j, decode_at(word, j, scale, other, bits), LANES);
        if (j < length) vec_store(to + i + j, decode_at(word, j, scale, other, bits), length - j);
        at += head + n_words;
    }
}

static void decode_i16(float *to, const void *code, size_t n)
{
    decode(to, code, n, 16);
}

static void decode_i8(float *to, const void *code, size_t n)
{
    decode(to, code, n, 8);
}

static void decode_i1(float *to, const void *code, size_t n)
{
    decode(to, code, n, 1);
}

#endif
