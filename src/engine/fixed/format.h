/* engine/fixed/format.h - how many bits the numbers of a network have: a DMGC signature. */
#ifndef DROVE_ENGINE_FIXED_FORMAT_H
#define DROVE_ENGINE_FIXED_FORMAT_H

#include "base/fixed.h"
#include "base/status.h"

#include <drove/dmgc.h>

#include <stdbool.h>

enum { DROVE_FIXED_TEXT_SIZE = 64, DROVE_FIXED_LEAST_BITS = 2, DROVE_FIXED_MOST_BITS = 16 };

typedef struct drove_fixed {
    unsigned data;         /* of examples and layers' outputs;  0: floats */
    unsigned model;        /* of weights                                  */
    unsigned gradient;     /* of derivatives at layers' outputs           */
    bool     in_bf16;      /* weights are bf16 numbers, of 16 bits; all else is floats */
    bool     by_channel;   /* a unit for each output channel of the weights, not for each layer */
    bool     is_simulated; /* any width is allowed */
    char     text[DROVE_FIXED_TEXT_SIZE];
} drove_fixed;

/* Largest magnitude of a number of so many bits: numbers are symmetric. */
static inline int32_t drove__fixed_most(unsigned bits)
{
    return (1 << (bits - 1)) - 1;
}

/* "bf16?masters=bf16"; "D8M8", "D16M16G8", "D6M6?simulated=yes", "D8M8?scales=channel": without D
 * or M floats, without G as many bits as D; any width from 2 to 16 if it is simulated, else 8 and
 * 16.  Errors: DROVE_E_ARG (not the notation; a key that is not known), DROVE_E_UNSUPPORTED (which
 * widths there are; indices; a C term beside a key; scales of weights that are floats).  A C term
 * says nothing here: exchanges read it. */
drove_status drove__fixed_parse(const char *precision, drove_fixed *out);

/* A DMGC signature given as --precision; a text that does not begin as one is answered with all
 * that the option takes.  Errors: DROVE_E_ARG. */
drove_status drove__fixed_signature(const char *text, drove_dmgc *out);

/* Is it for networks alone, and not a signature that linear models have kernels for? */
bool drove__fixed_is_own(const char *precision);

#endif
