/* cluster/tree.c - sums in the fixed tree, block by block. */
#include "cluster/tree.h"

unsigned drove__tree_split(unsigned n)
{
    unsigned half = 1;
    while (2 * half < n) half *= 2;
    return half;
}

/* One block at `offset`: a term in place or in the spare row of its level; an inner node in that
 * row. */
static const float *add_block(const drovek_table *k, drove_tree_term_fn *term, void *context,
                              unsigned first, unsigned n, size_t offset, size_t length,
                              float *spare)
{
    if (n == 1) return term(context, first, offset, length, spare);
    unsigned half = drove__tree_split(n);
    const float *a = add_block(k, term, context, first, half, offset, length, spare);
    const float *b = add_block(k, term, context, first + half, n - half, offset, length,
                               spare + DROVE_TREE_BLOCK);
    k->add_f32(spare, a, b, length, 1.0f, false);
    return spare;
}

void drove__tree_add_terms(const drovek_table *k, drove_tree_term_fn *term, void *context,
                           unsigned n, size_t length, float *to, float factor, bool streams,
                           float *spare)
{
    unsigned half = n > 1 ? drove__tree_split(n) : 0;
    for (size_t offset = 0; offset < length; offset += DROVE_TREE_BLOCK) {
        size_t rest = length - offset, n_here = rest < DROVE_TREE_BLOCK ? rest : DROVE_TREE_BLOCK;
        if (n == 1) {
            k->blend_f32(to + offset, term(context, 0, offset, n_here, spare), NULL, n_here, factor,
                         0.0f);
            continue;
        }
        const float *a = add_block(k, term, context, 0, half, offset, n_here, spare);
        const float *b =
            add_block(k, term, context, half, n - half, offset, n_here, spare + DROVE_TREE_BLOCK);
        k->add_f32(to + offset, a, b, n_here, factor, streams);
    }
}

static const float *term_in_place(void *context, unsigned i, size_t offset, size_t length,
                                  float *row)
{
    const float *const *x = context;
    (void)length, (void)row;
    return x[i] + offset;
}

void drove__tree_add(const drovek_table *k, const float *const *x, unsigned n, size_t length,
                     float *to, float factor, bool streams, float *spare)
{
    drove__tree_add_terms(k, term_in_place, (void *)x, n, length, to, factor, streams, spare);
}
