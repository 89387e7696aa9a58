/* table/murmur.c - see murmur.h.  Words are read as little-endian. */
#include "table/murmur.h"

#define C1 0xcc9e2d51u
#define C2 0x1b873593u

static uint32_t rotate(uint32_t x, unsigned bits)
{
    return x << bits | x >> (32 - bits);
}

static uint32_t mix_word(uint32_t word)
{
    return rotate(word * C1, 15) * C2;
}

uint32_t drove__murmur32(const void *bytes, size_t size_bytes, uint32_t seed)
{
    const unsigned char *at = bytes;
    uint32_t hash = seed, rest = 0;
    size_t left = size_bytes;
    for (; left >= 4; left -= 4, at += 4) {
        hash = rotate(hash ^ mix_word((uint32_t)at[0] | (uint32_t)at[1] << 8 |
                                      (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24),
                      13) *
                   5 +
               0xe6546b64u;
    }
    for (size_t i = left; i-- > 0;) rest = rest << 8 | at[i];
    if (left > 0) hash ^= mix_word(rest);
    hash ^= (uint32_t)size_bytes;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}
