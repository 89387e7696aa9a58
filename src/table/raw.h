/* table/raw.h - the 32-bit word that a cell of a table is read as (table/read.h), where a float
 * holds it. */
#ifndef DROVE_TABLE_RAW_H
#define DROVE_TABLE_RAW_H

#include <stdint.h>

static inline float drove__raw_float(uint32_t raw)
{
    union {
        uint32_t bits;
        float    value;
    } word = {.bits = raw};
    return word.value;
}

static inline uint32_t drove__raw_of_float(float value)
{
    union {
        float    value;
        uint32_t bits;
    } word = {.value = value};
    return word.bits;
}

#endif
