/* Bytes that a stretch of `drove bench memory` counts, against what its kernels were given.
 * ctest: apart: it includes bench/memory.c */
#include "bench/memory.c"

#include "support/test.h"

enum { BLOCK_BYTES = 3 << 20 };

static size_t n_bytes; /* that kernels have been given */

static uint64_t count_read(const uint64_t *x, size_t n)
{
    (void)x;
    n_bytes += n * sizeof(uint64_t);
    return 0;
}

static void count_step(float *w, const float *w0, const float *g, size_t n, float eta)
{
    (void)w, (void)w0, (void)g, (void)eta;
    n_bytes += 3 * n * sizeof(float);
}

TEST(what_is_counted_is_what_was_moved)
{
    const drovek_table k = {.xor_u64 = count_read, .sgd_f32 = count_step};
    static const size_t levels[] = {3 * 4096, 1 << 16, 1 << 20, BLOCK_BYTES};
    pool p = {.block_bytes = BLOCK_BYTES};
    float *block = drove__alloc(BLOCK_BYTES, 1);
    assert_non_null(block);
    for (p.kernel = 0; p.kernel < N_KERNELS; p.kernel++)
        for (size_t i = 0; i < DROVE_COUNT(levels); i++) {
            member m = {.of = &p, .block = block};
            n_bytes = 0;
            for (int stretch = 0; stretch < 5; stretch++) {
                const size_t before = n_bytes, counted = work(&m, &k, levels[i]);
                assert_int_equal(counted, n_bytes - before);
                assert_true(counted + 3 * DROVE_CACHE_LINE >= CHUNK_BYTES);
                assert_true(m.at < levels[i]);
            }
        }
    drove__free(block);
}
