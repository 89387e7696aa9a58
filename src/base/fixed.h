/* base/fixed.h - the number formats of low-precision training.
 *
 * A fixed-point number stands for integer * scale; the scale belongs to the array.  Integers are
 * symmetric: quantised data never hold the lowest value (-8, -128, -32768), a model may.  Numbers
 * of 4 bits lie in pairs: number 2k is the lower half of byte k, number 2k + 1 the upper one.  An
 * odd one at the end has a byte of its own; in data the upper half is then 0.
 */
#ifndef DROVE_BASE_FIXED_H
#define DROVE_BASE_FIXED_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum drove_number { DROVE_I4, DROVE_I8, DROVE_I16, DROVE_F32, DROVE_NUMBERS } drove_number;

static inline unsigned drove__number_bits(drove_number number)
{
    return number == DROVE_I4 ? 4 : number == DROVE_I8 ? 8 : number == DROVE_I16 ? 16 : 32;
}

/* Bytes of one number; of all formats but DROVE_I4. */
static inline size_t drove__number_size(drove_number number)
{
    assert(number != DROVE_I4);
    return drove__number_bits(number) / 8;
}

/* Bytes of n numbers side by side, which is also where number n begins, for an even n. */
static inline size_t drove__numbers_bytes(drove_number number, size_t n)
{
    return number == DROVE_I4 ? n / 2 + n % 2 : n * drove__number_size(number);
}

/* Largest magnitude of a quantised number, in units of its scale; 0 for floats. */
static inline int32_t drove__number_most(drove_number number)
{
    return number == DROVE_F32 ? 0 : (1 << (drove__number_bits(number) - 1)) - 1;
}

/* Number i of 4 bits, in its byte. */
static inline int32_t drove__nibble_of(uint8_t pair, size_t i)
{
    return (int8_t)(i % 2 == 0 ? pair << 4 : pair & 0xf0) / 16;
}

/* The byte with number i, in -8 .. 7, in place of the one that it has there. */
static inline uint8_t drove__nibble_put(uint8_t pair, size_t i, int32_t number)
{
    unsigned bits = (unsigned)number & 15;
    return (uint8_t)(i % 2 == 0 ? (pair & 0xf0u) | bits : (pair & 0x0fu) | bits << 4);
}

/* The same in an array. */
static inline int32_t drove__nibble_at(const void *numbers, size_t i)
{
    return drove__nibble_of(((const uint8_t *)numbers)[i / 2], i);
}

static inline void drove__nibble_set(void *numbers, size_t i, int32_t number)
{
    uint8_t *pair = (uint8_t *)numbers + i / 2;
    *pair = drove__nibble_put(*pair, i, number);
}

/* A vector of 32-bit words that are not all floats: the shared parameters of a low-precision linear
 * model.  Code that only moves words can ignore the layout. */
typedef struct drove_layout {
    drove_number number;    /* format of the first n_numbers numbers, from word 0 on */
    size_t       n_numbers; /* they fill whole cache lines; padding is 0 and stays 0 */
    size_t       tail;      /* words from here on are floats; multiple of 16         */
    bool         in_bf16;   /* the numbers, of 16 bits, are upper halves of floats   */
} drove_layout;

/* The parameters of a run in memory, as one of the two; the other is NULL. */
typedef struct drove_params {
    float    *theta; /* floats; a strategy's are followed by the state of the rule */
    uint32_t *words; /* words of a drove_layout */
} drove_params;

#endif
