/* kernel/lanes/words.h - parameters that are words of bf16: steps of LANES of them, and the random
 * bits of a step (kernel/bf16.h). */
#ifndef DROVEK_LANES_WORDS_H
#define DROVEK_LANES_WORDS_H

#include "kernel/lanes/blocks.h"
#include "kernel/linear.h"

#include <math.h>

enum { BLOCK_WORDS = DROVEK_BLOCK_BYTES / sizeof(uint16_t) };

/* The random words of block b, which are asked for one after the other. */
INLINE const uint16_t *block_words(drovek_bits *bits, size_t b)
{
    const uint8_t *block = bits->block;
    if (bits->kind == DROVEK_BITS_STREAM) block += b * DROVEK_BLOCK_BYTES;
    if (bits->kind != DROVEK_BITS_XORSHIFT) return (const uint16_t *)(const void *)block;
    for (size_t s = 0; s < 8; s++) bits->state[s] = drovek_xorshift64(bits->state[s]);
    return (const uint16_t *)(const void *)bits->state; /* little endian, as all tiers are */
}

/* w[LANES] = the upper halves of (w - eta g) + r, as the slot sgd_bf16. */
INLINE void step_words(uint16_t *w, vec g, vec eta, const uint16_t *r)
{
    vec next = vec_fnma(eta, g, words_load(w)), up = vec_add_words(next, r);
    words_store(w, vec_if_less(vec_abs(next), vec_set(INFINITY), up, vec_add(next, next)));
}

#endif
