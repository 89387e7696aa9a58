/* kernel/codes.h - vectors in fewer bits, for workers that exchange them: the formats that the
 * kernels encode and decode (slots.def) write and read. */
#ifndef DROVEK_CODES_H
#define DROVEK_CODES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A vector is cut into blocks of DROVEK_CODE_BLOCK floats, of which the last may be shorter.  The
 * codes of the blocks follow each other without gaps:
 *   i16, i8  float scale = largest |v| / L, L = 32767 or 127; then a word of 16 or 8 bits for each
 *            number, q + L + 1 with v = q scale, q rounded up or down at random such that its mean
 *            is v / scale
 *   i1       float mean of the numbers >= 0, float mean of those < 0, then a bit for each number:
 *            v < 0 (Seide, Fu, Droppo, Li, Yu, Interspeech 2014); whole bytes
 * A block without a number of 2^-96 or more is sent as zeros; one with an infinity or a NaN decodes
 * to non-finite numbers. */
enum { DROVEK_CODE_BLOCK = 512 };

/* Bytes of the codes of n floats, bits = 16, 8 or 1. */
static inline size_t drovek_code_bytes(unsigned bits, size_t n)
{
    size_t n_full = n / DROVEK_CODE_BLOCK, rest = n % DROVEK_CODE_BLOCK;
    size_t head = bits == 1 ? 2 * sizeof(float) : sizeof(float);
    return n_full * (head + DROVEK_CODE_BLOCK / 8 * bits) +
           (rest > 0 ? head + (rest * bits + 7) / 8 : 0);
}

/* ---- inside kernel/: blocks, and the random numbers of a block ----
 *
 * Every version works on DROVEK_CODE_LANES numbers at a time, whatever the width of its registers.
 * Each lane has its own 32-bit xorshift generator (Marsaglia, 2003) and its own partial sum, so all
 * tiers give equal bits.
 */

enum { DROVEK_CODE_LANES = 16 };
#define DROVEK_CODE_LEAST 0x1p-96f /* a block of only smaller |v| is sent as zeros */

typedef struct drovek_code_block { /* one block, in the order of its bytes */
    float   head[2];
    uint8_t word[2 * DROVEK_CODE_BLOCK];
} drovek_code_block;

/* 64 well mixed bits (SplitMix64's output function) for the lanes' seeds. */
static inline uint64_t drovek_code_seed(uint64_t key, size_t block)
{
    uint64_t z = key + ((uint64_t)block + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Seed of lane i: mix(low + i golden) ^ high, mix the finaliser of MurmurHash3. */
#define DROVEK_CODE_GOLDEN 0x9e3779b9u
#define DROVEK_CODE_MIX1   0x85ebca6bu
#define DROVEK_CODE_MIX2   0xc2b2ae35u

/* Scale and its inverse for the largest magnitude of a block, given as bits. */
static inline void drovek_code_scale(uint32_t largest_bits, float levels, float *scale,
                                     float *inverse)
{
    float largest;
    memcpy(&largest, &largest_bits, sizeof largest);
    *scale = largest / levels;
    *inverse = levels / largest;
    if (largest_bits >= 0x7f800000u) *inverse = 0.0f;
    else if (largest < DROVEK_CODE_LEAST) *scale = *inverse = 0.0f;
}

/* Sum of the lanes by halves, divided by the number of terms. */
static inline float drovek_code_mean(float *sum, size_t n_terms)
{
    for (size_t half = DROVEK_CODE_LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++) sum[i] += sum[i + half];
    return n_terms > 0 ? sum[0] / (float)n_terms : 0.0f;
}

#endif
