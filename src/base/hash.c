/* base/hash.c - a hash of four lanes that multiply and rotate 64-bit words, so that four
 * multiplications run in parallel.  A lane's step is one-to-one in its word and in its state. */
#include "base/hash.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words are read in memory order, which must be little-endian"
#endif

enum { LANES = 4, BLOCK_BYTES = LANES * 8 };

#define PRIME 0x9e3779b97f4a7c55u /* odd, near 2^64 / golden ratio */

static uint64_t step(uint64_t state, uint64_t word)
{
    state = (state ^ word) * PRIME;
    return state << 29 | state >> 35;
}

static void take_block(uint64_t lane[LANES], const unsigned char *block)
{
    for (int i = 0; i < LANES; i++) {
        uint64_t word;
        memcpy(&word, block + 8 * i, sizeof word);
        lane[i] = step(lane[i], word);
    }
}

uint64_t drove__hash(uint64_t hash, const void *bytes, size_t size_bytes)
{
    const unsigned char *at = bytes;
    unsigned char last[BLOCK_BYTES] = {0};
    uint64_t lane[LANES];
    size_t left = size_bytes;
    for (uint64_t i = 0; i < LANES; i++) lane[i] = hash + i * PRIME;
    for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, at += BLOCK_BYTES) take_block(lane, at);
    if (left > 0) {
        memcpy(last, at, left);
        take_block(lane, last);
    }
    hash = step(hash, size_bytes);
    for (int i = 0; i < LANES; i++) hash = step(hash, lane[i]);
    return step(hash, hash >> 32);
}
