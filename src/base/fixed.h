/* base/fixed.h - the number formats of low-precision training.
 *
 * A fixed-point number stands for integer * scale; the scale belongs to the array.  Integers are
 * symmetric: quantised data never hold the lowest value (-128, -32768), a model may.
 */
#ifndef DROVE_BASE_FIXED_H
#define DROVE_BASE_FIXED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum drove_number { DROVE_I8, DROVE_I16, DROVE_F32, DROVE_NUMBERS } drove_number;

/* Bytes of one number. */
static inline size_t drove__number_size(drove_number number)
{
    return number == DROVE_I8 ? 1 : number == DROVE_I16 ? 2 : 4;
}

/* Largest magnitude of a quantised number, in units of its scale; 0 for floats. */
static inline int32_t drove__number_most(drove_number number)
{
    return number == DROVE_I8 ? INT8_MAX : number == DROVE_I16 ? INT16_MAX : 0;
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
