/* accum/sum.c - see sum.h. */
#include "accum/sum.h"

typedef struct tree_sum {
    const drovek_table *kernels;
    const drove_accum_node *tree;
    float *const *gradient;
} tree_sum;

/* The node's values at offset: of a device where they are, of a sum in `spare`. */
static const float *value_of(const tree_sum *s, unsigned node, size_t offset, size_t length,
                             float *spare)
{
    const drove_accum_node *at = &s->tree[node];
    if (at->n == 1) return s->gradient[at->first] + offset;
    const float *left = value_of(s, at->left, offset, length, spare);
    const float *right = value_of(s, at->right, offset, length, spare + DROVE_SUM_BLOCK);
    s->kernels->add_f32(spare, left, right, length, 1.0f, false);
    return spare;
}

void drove__sum_tree(const drovek_table *k, const drove_accum_node *tree, unsigned root,
                     float *const *gradient, size_t offset, size_t length, float *to, float factor,
                     bool streams, float *spare)
{
    const tree_sum s = {.kernels = k, .tree = tree, .gradient = gradient};
    for (size_t done = 0; done < length; done += DROVE_SUM_BLOCK) {
        size_t n = length - done < DROVE_SUM_BLOCK ? length - done : DROVE_SUM_BLOCK;
        const float *left = value_of(&s, tree[root].left, offset + done, n, spare);
        const float *right =
            value_of(&s, tree[root].right, offset + done, n, spare + DROVE_SUM_BLOCK);
        k->add_f32(to + done, left, right, n, factor, streams);
    }
}

void drove__sum_chain(const drovek_table *k, const float *const *term, unsigned n_terms,
                      size_t length, float *to, float factor)
{
    for (size_t done = 0; done < length; done += DROVE_SUM_BLOCK) {
        size_t n = length - done < DROVE_SUM_BLOCK ? length - done : DROVE_SUM_BLOCK;
        k->add_f32(to + done, term[0] + done, term[1] + done, n, n_terms == 2 ? factor : 1.0f,
                   false);
        for (unsigned i = 2; i < n_terms; i++)
            k->add_f32(to + done, to + done, term[i] + done, n, i + 1 == n_terms ? factor : 1.0f,
                       false);
    }
}
