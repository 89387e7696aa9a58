/* kernel/ref/bits.h - the random bits of one AXPY, number by number (drovek_bits in linear.h). */
#ifndef DROVEK_REF_BITS_H
#define DROVEK_REF_BITS_H

#include "kernel/linear.h"

/* A position in the stream of blocks; advances bits->state. */
typedef struct bit_reader {
    drovek_bits   *bits;
    const uint8_t *block; /* the current block; before the first number, the next one */
    unsigned       used;  /* bytes of it */
    uint8_t        own[DROVEK_BLOCK_BYTES];
} bit_reader;

static inline void bit_reader_init(bit_reader *r, drovek_bits *bits)
{
    r->bits = bits;
    r->block = bits->kind == DROVEK_BITS_XORSHIFT ? r->own : bits->block;
    r->used = bits->kind == DROVEK_BITS_XORSHIFT ? DROVEK_BLOCK_BYTES : 0;
}

static inline void next_block(bit_reader *r)
{
    r->used = 0;
    if (r->bits->kind == DROVEK_BITS_STREAM) r->block += DROVEK_BLOCK_BYTES;
    if (r->bits->kind != DROVEK_BITS_XORSHIFT) return;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t s = r->bits->state[i] = drovek_xorshift64(r->bits->state[i]);
        for (unsigned j = 0; j < 8; j++) r->own[8 * i + j] = (uint8_t)(s >> 8 * j);
    }
}

/* Called for every number of the row, always with the same width. */
static inline uint32_t next_byte(bit_reader *r)
{
    if (r->used == DROVEK_BLOCK_BYTES) next_block(r);
    return r->block[r->used++];
}

static inline uint32_t next_word(bit_reader *r)
{
    if (r->used == DROVEK_BLOCK_BYTES) next_block(r);
    const uint8_t *at = r->block + r->used;
    r->used += 2;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

#endif
