/* bench/micro/linear_proxy.h - D8M8 steps by instructions that do not exist: the paper's proxies.
 *
 * Source: De Sa et al., ISCA 2017, section 6.1.  vpmullw stands for an instruction that multiplies,
 * adds random bits and rounds, vpmaddwd (with VNNI: vpdpwssd, which also adds up) for one that
 * multiplies bytes and sums them in 32 bits.  Loads, stores, saturating additions and prefetches
 * are those of the kernels, so the time is that of the program with such instructions.  What it
 * computes is WRONG, and good for nothing.
 *
 * A source file per tier includes the tier's lanes, defines PROXY_TABLE and includes this.
 */
#include "kernel/linear.h"

#include "kernel/x86/linear_memory.h"

/* n: a multiple of two registers. */
static double proxy_axpy_dot(void *w, const void *x, const drovek_factor *factor, const void *next,
                             const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped)
{
    const ivec a = set16(factor->a);
    ivec       sum[2] = {zero(), zero()};
    (void)bits, (void)n_clamped;
    for (size_t i = 0; i + 2 * VEC_BYTES <= n; i += 2 * VEC_BYTES) {
        UNROLL
        for (size_t v = 0; v < 2; v++) {
            size_t   at = i + v * VEC_BYTES;
            uint8_t *place = (uint8_t *)w + at;
            ivec     delta = mul16(load((const uint8_t *)x + at), a);
            ivec     now = adds8(racy_load(place), delta);
            racy_store(place, now);
            sum[v] = add_pairs16(sum[v], load((const uint8_t *)next + at), now);
        }
        fetch(next, ahead, i, 2 * VEC_BYTES);
    }
    return (double)(sum_of_32(sum[0]) + sum_of_32(sum[1]));
}

const drovek_linear PROXY_TABLE = {
    .axpy_dot[DROVE_I8][DROVE_I8] = proxy_axpy_dot,
};
