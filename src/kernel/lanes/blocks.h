/* kernel/lanes/blocks.h - vectors in steps of one register, and blocks of several. */
#ifndef DROVEK_LANES_BLOCKS_H
#define DROVEK_LANES_BLOCKS_H

/* Number of elements in the next step, at i of n. */
INLINE size_t lanes_left(size_t i, size_t n)
{
    return n - i < LANES ? n - i : LANES;
}

/* ---- blocks: n_vec <= 8 registers, a constant, of which the last holds `last` elements ---- */

enum { WIDE = 8, HALF = 4 }; /* registers of the usual blocks: 128 and 64 columns with AVX-512 */

INLINE size_t block_count(size_t v, size_t n_vec, size_t last)
{
    return v + 1 < n_vec ? LANES : last;
}

INLINE void block_load(vec *block, const float *p, size_t n_vec, size_t last)
{
    UNROLL
    for (size_t v = 0; v < n_vec; v++)
        block[v] = vec_load(p + v * LANES, block_count(v, n_vec, last));
}

INLINE void block_store(float *p, const vec *block, size_t n_vec, size_t last)
{
    UNROLL
    for (size_t v = 0; v < n_vec; v++)
        vec_store(p + v * LANES, block[v], block_count(v, n_vec, last));
}

#endif
