/* engine/linear/precision.h - which kernels a DMGC signature asks for. */
#ifndef DROVE_ENGINE_LINEAR_PRECISION_H
#define DROVE_ENGINE_LINEAR_PRECISION_H

#include "base/fixed.h"
#include "engine/linear/dmgc.h"
#include "kernel/kernel.h"

/* Fixed-point formats of intermediate values: one bit would be a sign alone, and floats hold 24. */
enum { DROVE_LEAST_GRADIENT_BITS = 2, DROVE_MOST_GRADIENT_BITS = 24 };

typedef struct drove_precision {
    drove_number data, model;
    unsigned     index_bits;    /* 8, 16, 32; 0: dense */
    unsigned     gradient_bits; /* of intermediate values, 2 to 24; 0: none are rounded */
    double       output_range, derivative_range; /* of these, by the data (problem.c) */
    char         text[DROVE_DMGC_TEXT_SIZE];
} drove_precision;

/* The formats that training under this signature uses; is_sparse: what the data are.
 * Errors: DROVE_E_ARG (not the notation; an index for dense data or none for sparse data),
 * DROVE_E_UNSUPPORTED (legal, but without kernels: which there are; 4 bits for sparse data). */
drove_status drove__precision_resolve(const char *signature, bool is_sparse, drove_precision *out);

/* The same before data and model are known: passes if some linear model or network would do. */
drove_status drove__precision_check(const char *signature);

/* What the products of a network round their factors to: "bf16" and "bf16?masters=bf16" to bf16,
 * anything else to nothing. */
drovek_factors drove__precision_factors(const char *precision);

/* Are the shared parameters words in number formats of the signature?  "" is no signature. */
bool drove__precision_is_words(const char *precision);

/* True: a signature of what workers exchange alone, "C8s" or "G1C1s"; false: anything else. */
bool drove__precision_is_exchange(const char *signature);

/* Does the signature say how workers write what they exchange, as "C8s" and "D8M8C8s" do? */
bool drove__precision_has_exchange(const char *signature);

#endif
