/* kernel/x86/planes_turn.h - an image's channels come together (kernel/planes.h), by registers of
 * 16 bytes, in every tier; and the members of a tier's drovek_planes_ops that all tiers have. */
#ifndef DROVEK_X86_PLANES_TURN_H
#define DROVEK_X86_PLANES_TURN_H

#include "kernel/planes.h"

#include <stdalign.h>

/* Bytes [16 q, 16 q + 16) of three channels that come together: byte i is of channel
 * (16 q + i) % 3, and its place there is (16 q + i) / 3. */
INLINE __m128i three_channels(__m128i a, __m128i b, __m128i c, int q)
{
    alignas(16) int8_t place[3][16];
    UNROLL
    for (int i = 0; i < 16; i++) {
        const int at = 16 * q + i;
        UNROLL
        for (int channel = 0; channel < 3; channel++)
            place[channel][i] = (int8_t)(at % 3 == channel ? at / 3 : -1);
    }
    const __m128i x = _mm_shuffle_epi8(a, _mm_load_si128((const void *)place[0])),
                  y = _mm_shuffle_epi8(b, _mm_load_si128((const void *)place[1])),
                  z = _mm_shuffle_epi8(c, _mm_load_si128((const void *)place[2]));
    return _mm_or_si128(_mm_or_si128(x, y), z);
}

static void planes_turn(uint8_t *to, const uint8_t *from, size_t c, size_t n)
{
    size_t p = 0;
    for (; c == 3 && p + 16 <= n; p += 16) {
        const __m128i x = _mm_loadu_si128((const void *)(from + p)),
                      y = _mm_loadu_si128((const void *)(from + n + p)),
                      z = _mm_loadu_si128((const void *)(from + 2 * n + p));
        UNROLL
        for (int q = 0; q < 3; q++)
            _mm_storeu_si128((void *)(to + 3 * p + 16 * (size_t)q), three_channels(x, y, z, q));
    }
    for (; p < n; p++)
        for (size_t i = 0; i < c; i++) to[p * c + i] = from[i * n + p];
}

#define PLANES_FUNCTIONS                                                                           \
    .gemm = planes_gemm, .round = planes_round, .back = planes_back, .turn = planes_turn,          \
    .max_pool = planes_max_pool, .max_pool_back = planes_max_pool_back

#endif
