/* engine/linear/rounding.h - where the randomness of model writes comes from: --rounding.
 *
 * Source: De Sa et al., ISCA 2017, section 5.2 and equation 4, Q(x) = floor(x + u): nearest has u =
 * 1/2, the others draw u from [0, 1), so that the expected result is x.
 *
 *   nearest    biased
 *   mt19937    unbiased, a fresh number of the Mersenne twister for every write
 *   xorshift   unbiased, fresh bits from eight vectorised generators for every write
 *   shared     unbiased, ?bits=512 (or 256) fresh bits every ?period=1 AXPYs, used again throughout
 */
#ifndef DROVE_ENGINE_LINEAR_ROUNDING_H
#define DROVE_ENGINE_LINEAR_ROUNDING_H

#include "base/mem.h"
#include "base/rng.h"
#include "base/spec_keys.h"
#include "base/status.h"
#include "kernel/linear.h"
#include "engine/linear/mt19937.h"

#include <stdbool.h>

typedef struct drove_rounding_ops drove_rounding_ops;

typedef struct drove_rounding {
    const drove_rounding_ops *ops;
    uint64_t                  bits;   /* shared: fresh ones a block, 256 or 512 */
    uint64_t                  period; /* shared: AXPYs between two blocks */
} drove_rounding;

/* One worker's source of random bits; its thread only. */
typedef struct drove_rounder {
    drove_rounding how;
    drove_rng      rng; /* factors, and seeds of the rest */
    drovek_bits    bits;
    uint64_t       until_fresh; /* AXPYs that the shared block still serves */
    uint64_t       lane[8];     /* xorshift64 states behind the shared block */
    uint8_t       *block;       /* [n_blocks][64]; nearest: one half in bytes, then in words */
    size_t         n_blocks;
    drove_mt19937 *mt;
} drove_rounder;

struct drove_rounding_ops {
    const char           *name, *help, *source;
    const drove_spec_key *keys; /* of a drove_rounding; NULL: none */
    bool                  is_unbiased;
    bool is_stream; /* needs a block for every 64 bytes of random numbers of an AXPY */
    /* Before an AXPY that uses n_blocks blocks, of bytes or of 16-bit words. */
    void (*refill)(drove_rounder *r, size_t n_blocks, bool by_bytes);
};

extern const drove_rounding_ops *const drove__roundings[]; /* NULL-terminated */

/* Errors: DROVE_E_ARG (unknown word with the nearest; keys and their ranges). */
drove_status drove__rounding_parse(const char *spec, drove_rounding *out);

/* most_blocks: of one AXPY.  Errors: DROVE_E_NOMEM. */
drove_status drove__rounder_init(drove_rounder *r, const drove_rounding *how, size_t most_blocks);
void         drove__rounder_fini(drove_rounder *r); /* accepts a zeroed rounder */

/* Starts the stream of batch `number` of the run: the same for every worker, and in a resumed run.
 */
void drove__rounder_seed(drove_rounder *r, uint64_t seed, uint64_t number);

/* The bits for the next AXPY over n numbers of these formats, from one example or (is_batch)
 * several; valid until the next call.  Floats are not rounded: nothing is drawn for them. */
static inline drovek_bits *drove__rounder_next(drove_rounder *r, drove_number d, drove_number m,
                                               bool is_batch, size_t n)
{
    if (m != DROVE_F32)
        r->how.ops->refill(r, drovek_blocks(d, m, is_batch, n),
                           drovek_fraction_of(d, m, is_batch).is_bytes);
    return &r->bits;
}

/* u of equation 4 for a single number: 1/2, or uniform in [0, 1). */
static inline double drove__rounder_u(drove_rounder *r)
{
    return r->how.ops->is_unbiased ? drove__rng_uniform(&r->rng) : 0.5;
}

/* Examples that one write of the model can sum up: quantising each factor may add 1 to their sum,
 * which must stay within what the kernels' lanes hold. */
enum { DROVE_FACTOR_ROWS = 1024 };

/* alpha[n]: change of w per unit of x, both in units of their scales; n <= DROVE_FACTOR_ROWS.
 * Integers: a = alpha 2^shift, rounded as the model's writes are (equation 4), with the largest
 * shift for which the sum of |a| stays in the kernels' bounds: without bias here there is none in
 * the product, as the random bits of the kernel are as many as the fraction's.  A factor too large
 * even for shift 0 is cut, which saturates every element it meets anyway.  Where the sum is not
 * finite, which the caller has seen in the outputs, all are 0. */
void drove__factor_make(drove_number d, drove_number m, const double *alpha, size_t n,
                        drove_rounder *rounder, drovek_factor *out);

#endif
