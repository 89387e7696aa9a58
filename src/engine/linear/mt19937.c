/* engine/linear/mt19937.c - recurrence and tempering of the paper's section 2, its constants. */
#include "engine/linear/mt19937.h"

enum { M = 397 };

static const uint32_t upper_mask = 0x80000000u, lower_mask = 0x7fffffffu, matrix_a = 0x9908b0dfu;

void drove__mt_seed(drove_mt19937 *mt, uint32_t seed)
{
    mt->x[0] = seed;
    for (uint32_t i = 1; i < DROVE_MT_N; i++) {
        uint32_t before = mt->x[i - 1];
        mt->x[i] = 1812433253u * (before ^ before >> 30) + i;
    }
    mt->at = DROVE_MT_N;
}

static void generate(drove_mt19937 *mt)
{
    uint32_t *x = mt->x;
    for (unsigned i = 0; i < DROVE_MT_N; i++) {
        uint32_t y = (x[i] & upper_mask) | (x[(i + 1) % DROVE_MT_N] & lower_mask);
        x[i] = x[(i + M) % DROVE_MT_N] ^ y >> 1 ^ ((y & 1u) != 0 ? matrix_a : 0u);
    }
    mt->at = 0;
}

uint32_t drove__mt_u32(drove_mt19937 *mt)
{
    if (mt->at == DROVE_MT_N) generate(mt);
    uint32_t y = mt->x[mt->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}
