/* tests/unit/engine/fixed_numbers.c - see fixed_numbers.h. */
#include "fixed_numbers.h"

#include "base/rng.h"

#include <math.h>

const char *const fixed_roundings[FIXED_ROUNDINGS] = {"nearest", "shared", "shared?bits=256",
                                                      "xorshift", "mt19937"};

void fixed_draw(float *x, size_t n, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 0);
    for (size_t i = 0; i < n; i++) x[i] = (float)drove__rng_normal(&rng);
}

float fixed_largest(const float *x, size_t n)
{
    float most = 0.0f;
    for (size_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
    return most;
}
