/* cluster/tree.h - the fixed tree in which vectors of workers are added.
 *
 *     tree(first, n) = x[first]                                    n = 1
 *                    = tree(first, h) + tree(first + h, n - h)     h the largest power of 2 below n
 *
 * It depends on the number of workers only.  With 2^k workers, recursive halving and doubling at
 * distances 1, 2, 4 ... adds in this order too.
 */
#ifndef DROVE_CLUSTER_TREE_H
#define DROVE_CLUSTER_TREE_H

#include "kernel/kernel.h"

#include <stddef.h>

enum {
    DROVE_TREE_BLOCK = 2048, /* floats added at a time: partial sums stay in the L1 cache */
    DROVE_TREE_LEVELS = 16   /* 65,536 workers */
};

/* Largest power of 2 below n >= 2. */
unsigned drove__tree_split(unsigned n);

/* to[length] = factor x tree(0, n) of x[n][length]; to may be one of x.  spare:
 * [DROVE_TREE_LEVELS][DROVE_TREE_BLOCK], of the calling thread.  streams: write past the caches. */
void drove__tree_add(const drovek_table *k, const float *const *x, unsigned n, size_t length,
                     float *to, float factor, bool streams, float *spare);

/* The same for terms made block by block: term() returns values [offset, offset + length) of term
 * i, in `row` [DROVE_TREE_BLOCK] or in place.  offset is a multiple of DROVE_TREE_BLOCK. */
typedef const float *drove_tree_term_fn(void *context, unsigned i, size_t offset, size_t length,
                                        float *row);
void drove__tree_add_terms(const drovek_table *k, drove_tree_term_fn *term, void *context,
                           unsigned n, size_t length, float *to, float factor, bool streams,
                           float *spare);

#endif
