/* kernel/arm/sixteen.h - sixteen numbers of any format in NEON registers: the operations that the
 * linear kernels are written in.
 *
 * Callers pass a constant format, and a constant `count` if all sixteen exist; the compiler then
 * drops the rest.  With fewer than sixteen, memory beyond them is not touched: absent numbers read
 * as 0.
 *
 * shared_load and shared_store are for memory that other threads read and write meanwhile
 * (docs/inside/memory-model.md).  They are inline assembly, which the compiler can neither split
 * nor repeat, and use LD1 and ST1 with the numbers' own width as element size: the architecture
 * then makes one access per element, single-copy atomic if the element is aligned to its own width.
 * (A load of a whole register, LDR Q, promises that only for aligned halves of a register.)
 */
#ifndef DROVEK_ARM_SIXTEEN_H
#define DROVEK_ARM_SIXTEEN_H

#include "base/fixed.h"
#include "base/racy.h"
#include "kernel/arm/lanes_neon.h"

#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

enum { SIXTEEN = 16, PART_BYTES = 16 };

/* Bytes in memory order: as many parts as a number has bytes; the others are unused. */
typedef struct sixteen {
    uint8x16_t part[4];
} sixteen;

typedef struct halves { /* sixteen 16-bit integers */
    int16x8_t v[2];
} halves;

typedef struct words { /* sixteen 32-bit integers */
    int32x4_t v[4];
} words;

typedef struct floats { /* sixteen floats */
    float32x4_t v[4];
} floats;

INLINE const uint8_t *place_of(drove_number number, const void *base, size_t i)
{
    return (const uint8_t *)base + i * drove__number_size(number);
}

/* ---- private memory ---- */

/* n_parts registers at p */
INLINE sixteen load_parts(const uint8_t *p, size_t n_parts)
{
    sixteen s;
    UNROLL
    for (size_t k = 0; k < 4; k++)
        s.part[k] = k < n_parts ? vld1q_u8(p + k * PART_BYTES) : vdupq_n_u8(0);
    return s;
}

/* Numbers i .. i + count - 1. */
INLINE sixteen load(drove_number number, const void *x, size_t i, size_t count)
{
    const size_t size = drove__number_size(number);
    uint8_t      room[4 * PART_BYTES] = {0};
    if (count == SIXTEEN) return load_parts(place_of(number, x, i), size);
    memcpy(room, place_of(number, x, i), count * size);
    return load_parts(room, size);
}

INLINE void store_parts(uint8_t *p, sixteen s, size_t n_parts)
{
    UNROLL
    for (size_t k = 0; k < n_parts; k++) vst1q_u8(p + k * PART_BYTES, s.part[k]);
}

INLINE void store(drove_number number, void *x, size_t i, sixteen s, size_t count)
{
    const size_t size = drove__number_size(number);
    uint8_t     *to = (uint8_t *)x + i * size, room[4 * PART_BYTES];
    store_parts(count == SIXTEEN ? to : room, s, size);
    if (count < SIXTEEN) memcpy(to, room, count * size);
}

/* ---- shared memory ---- */

typedef uint8_t part_at[PART_BYTES];

INLINE uint8x16_t shared_load_part(drove_number number, const uint8_t *p)
{
    const part_at *at = (const part_at *)p;
    uint8x16_t     v;
    if (number == DROVE_I8) __asm__ volatile("ld1 {%0.16b}, %1" : "=w"(v) : "Q"(*at));
    else if (number == DROVE_I16) __asm__ volatile("ld1 {%0.8h}, %1" : "=w"(v) : "Q"(*at));
    else __asm__ volatile("ld1 {%0.4s}, %1" : "=w"(v) : "Q"(*at));
    return v;
}

INLINE void shared_store_part(drove_number number, uint8_t *p, uint8x16_t v)
{
    part_at *at = (part_at *)p;
    if (number == DROVE_I8) __asm__ volatile("st1 {%1.16b}, %0" : "=Q"(*at) : "w"(v));
    else if (number == DROVE_I16) __asm__ volatile("st1 {%1.8h}, %0" : "=Q"(*at) : "w"(v));
    else __asm__ volatile("st1 {%1.4s}, %0" : "=Q"(*at) : "w"(v));
}

INLINE sixteen shared_load_few(drove_number number, const void *w, size_t i, size_t count)
{
    union {
        int8_t  i8[SIXTEEN];
        int16_t i16[SIXTEEN];
        float   f32[SIXTEEN];
        uint8_t byte[4 * PART_BYTES];
    } room = {.byte = {0}};
    for (size_t k = 0; k < count; k++) {
        switch (number) {
        case DROVE_I8: room.i8[k] = drove__racy_load_i8((const int8_t *)w + i + k); break;
        case DROVE_I16: room.i16[k] = drove__racy_load_i16((const int16_t *)w + i + k); break;
        default: room.f32[k] = drove__racy_load((const float *)w + i + k); break;
        }
    }
    return load_parts(room.byte, drove__number_size(number));
}

INLINE void shared_store_few(drove_number number, void *w, size_t i, sixteen s, size_t count)
{
    union {
        int8_t  i8[SIXTEEN];
        int16_t i16[SIXTEEN];
        float   f32[SIXTEEN];
        uint8_t byte[4 * PART_BYTES];
    } room;
    store_parts(room.byte, s, drove__number_size(number));
    for (size_t k = 0; k < count; k++) {
        switch (number) {
        case DROVE_I8: drove__racy_store_i8((int8_t *)w + i + k, room.i8[k]); break;
        case DROVE_I16: drove__racy_store_i16((int16_t *)w + i + k, room.i16[k]); break;
        default: drove__racy_store((float *)w + i + k, room.f32[k]); break;
        }
    }
}

INLINE sixteen shared_load(drove_number number, const void *w, size_t i, size_t count)
{
    sixteen s;
    if (count < SIXTEEN) return shared_load_few(number, w, i, count);
    UNROLL
    for (size_t k = 0; k < 4; k++) {
        s.part[k] = k < drove__number_size(number)
                        ? shared_load_part(number, place_of(number, w, i) + k * PART_BYTES)
                        : vdupq_n_u8(0);
    }
    return s;
}

INLINE void shared_store(drove_number number, void *w, size_t i, sixteen s, size_t count)
{
    uint8_t *to = (uint8_t *)w + i * drove__number_size(number);
    if (count < SIXTEEN) {
        shared_store_few(number, w, i, s, count);
        return;
    }
    UNROLL
    for (size_t k = 0; k < drove__number_size(number); k++)
        shared_store_part(number, to + k * PART_BYTES, s.part[k]);
}

/* ---- to wider numbers: exact ---- */

/* number is not DROVE_F32 */
INLINE halves to_halves(drove_number number, sixteen s)
{
    if (number == DROVE_I16)
        return (halves){{vreinterpretq_s16_u8(s.part[0]), vreinterpretq_s16_u8(s.part[1])}};
    int8x16_t bytes = vreinterpretq_s8_u8(s.part[0]);
    return (halves){{vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)}};
}

INLINE words to_words(drove_number number, sixteen s)
{
    halves h = to_halves(number, s);
    return (words){{vmovl_s16(vget_low_s16(h.v[0])), vmovl_high_s16(h.v[0]),
                    vmovl_s16(vget_low_s16(h.v[1])), vmovl_high_s16(h.v[1])}};
}

INLINE floats words_to_floats(words from)
{
    floats f;
    UNROLL
    for (size_t k = 0; k < 4; k++) f.v[k] = vcvtq_f32_s32(from.v[k]);
    return f;
}

INLINE floats to_floats(drove_number number, sixteen s)
{
    floats f;
    if (number != DROVE_F32) return words_to_floats(to_words(number, s));
    UNROLL
    for (size_t k = 0; k < 4; k++) f.v[k] = vreinterpretq_f32_u8(s.part[k]);
    return f;
}

INLINE sixteen from_floats(floats f)
{
    sixteen s;
    UNROLL
    for (size_t k = 0; k < 4; k++) s.part[k] = vreinterpretq_u8_f32(f.v[k]);
    return s;
}

/* ---- to narrower numbers: clamped and counted ---- */

/* Minus the numbers that clamping left unchanged, per lane; and the numbers seen. */
typedef struct clamp_count {
    int32x4_t minus_same;
    size_t    n_seen;
} clamp_count;

INLINE clamp_count clamp_count_zero(void)
{
    return (clamp_count){vdupq_n_s32(0), 0};
}

INLINE size_t clamp_count_total(const clamp_count *c)
{
    return c->n_seen - (size_t)-vaddlvq_s32(c->minus_same);
}

/* 16-bit integers to DROVE_I8 */
INLINE sixteen clamp_halves(halves h, clamp_count *c)
{
    int8x16_t  bytes = vqmovn_high_s16(vqmovn_s16(h.v[0]), h.v[1]);
    sixteen    s = {{vreinterpretq_u8_s8(bytes)}};
    halves     back = to_halves(DROVE_I8, s);
    uint16x8_t same = vaddq_u16(vceqq_s16(back.v[0], h.v[0]), vceqq_s16(back.v[1], h.v[1]));
    c->minus_same = vpadalq_s16(c->minus_same, vreinterpretq_s16_u16(same));
    c->n_seen += SIXTEEN;
    return s;
}

/* 32-bit integers to DROVE_I8 or DROVE_I16 */
INLINE sixteen clamp_words(drove_number number, words from, clamp_count *c)
{
    int16x8_t low = vqmovn_high_s32(vqmovn_s32(from.v[0]), from.v[1]),
              high = vqmovn_high_s32(vqmovn_s32(from.v[2]), from.v[3]);
    sixteen    s = {{vreinterpretq_u8_s16(low), vreinterpretq_u8_s16(high)}};
    uint32x4_t same = vdupq_n_u32(0);
    if (number == DROVE_I8) s.part[0] = vreinterpretq_u8_s8(vqmovn_high_s16(vqmovn_s16(low), high));
    words back = to_words(number, s);
    UNROLL
    for (size_t k = 0; k < 4; k++) same = vaddq_u32(same, vceqq_s32(back.v[k], from.v[k]));
    c->minus_same = vaddq_s32(c->minus_same, vreinterpretq_s32_u32(same));
    c->n_seen += SIXTEEN;
    return s;
}

#endif
