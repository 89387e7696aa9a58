/* cluster/tree.c - see tree.h. */
#include "cluster/tree.h"

unsigned drove__tree_split(unsigned n)
{
    unsigned half = 1;
    while (2 * half < n) half *= 2;
    return half;
}

/* One block of at most DROVE_TREE_BLOCK, which begins at `offset`: a leaf as it lies, an inner node
 * in the spare row of its level. */
static const float *add_block(const drovek_table *k, const float *const *x, unsigned n,
                              size_t offset, size_t length, float *spare)
{
    if (n == 1) return x[0] + offset;
    unsigned half = drove__tree_split(n);
    const float *a = add_block(k, x, half, offset, length, spare);
    const float *b = add_block(k, x + half, n - half, offset, length, spare + DROVE_TREE_BLOCK);
    k->add_f32(spare, a, b, length, 1.0f, false);
    return spare;
}

void drove__tree_add(const drovek_table *k, const float *const *x, unsigned n, size_t length,
                     float *to, float factor, bool streams, float *spare)
{
    unsigned half = n > 1 ? drove__tree_split(n) : 0;
    for (size_t offset = 0; offset < length; offset += DROVE_TREE_BLOCK) {
        size_t rest = length - offset, n_here = rest < DROVE_TREE_BLOCK ? rest : DROVE_TREE_BLOCK;
        if (n == 1) {
            k->blend_f32(to + offset, x[0] + offset, NULL, n_here, factor, 0.0f);
            continue;
        }
        const float *a = add_block(k, x, half, offset, n_here, spare);
        const float *b = add_block(k, x + half, n - half, offset, n_here, spare + DROVE_TREE_BLOCK);
        k->add_f32(to + offset, a, b, n_here, factor, streams);
    }
}
