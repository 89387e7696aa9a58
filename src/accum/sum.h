/* accum/sum.h - sums of the gradients of all devices, in chunks that any thread may take.
 *
 * Source: Le Duc et al., Algorithm 7, whose loop over the elements is cut into chunks here.
 */
#ifndef DROVE_ACCUM_SUM_H
#define DROVE_ACCUM_SUM_H

#include "accum/schedule.h"
#include "kernel/kernel.h"

enum {
    DROVE_SUM_CHUNK = 16384, /* floats that a thread takes at once: some 10 us */
    DROVE_SUM_BLOCK = 2048,  /* of them added at a time: the sums in between stay in the L1 cache */
    DROVE_SUM_LEVELS = 9     /* of the tree of DROVE_ACCUM_MOST_DEVICES */
};

/* to[length] = factor x the tree's sum of gradient[.] at offset.  spare: [DROVE_SUM_LEVELS]
 * [DROVE_SUM_BLOCK] of the calling thread.  streams: past the caches. */
void drove__sum_tree(const drovek_table *k, const drove_accum_node *tree, unsigned root,
                     float *const *gradient, size_t offset, size_t length, float *to, float factor,
                     bool streams, float *spare);

/* to = factor x (((term 0 + term 1) + term 2) ...), at least two terms, each [length]; to may be
 * term 0. */
void drove__sum_chain(const drovek_table *k, const float *const *term, unsigned n_terms,
                      size_t length, float *to, float factor);

#endif
