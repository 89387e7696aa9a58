/* engine/linear/mt19937.h - the Mersenne twister of 32 bits: Matsumoto, Nishimura, ACM TOMACS 1998.
 *
 * The generator that the paper's section 5.2 starts from: good numbers, one call for each.  Here to
 * be compared with; everything else in drove draws from base/rng.h.
 */
#ifndef DROVE_ENGINE_LINEAR_MT19937_H
#define DROVE_ENGINE_LINEAR_MT19937_H

#include <stdint.h>

enum { DROVE_MT_N = 624 };

typedef struct drove_mt19937 {
    uint32_t x[DROVE_MT_N];
    unsigned at; /* of the next number; DROVE_MT_N: all are used up */
} drove_mt19937;

void     drove__mt_seed(drove_mt19937 *mt, uint32_t seed);
uint32_t drove__mt_u32(drove_mt19937 *mt);

#endif
