/* Products of integers that write weights (kernel/planes.h: step): plain C by hand and against its
 * product and the AXPY that rounds; every tier against plain C, to the bit. */
#include "support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

enum { DRAW = DROVEK_PLANES_DRAW, BLOCKS = DRAW / 32 };

/* ---- random bits ---- */

/* Each draw has other bits; how many were asked for, and numbers. */
typedef struct source {
    drovek_bits bits;
    drove_rng rng;
    size_t n_draws, n_numbers;
    alignas(64) uint8_t block[BLOCKS * DROVEK_BLOCK_BYTES];
} source;

static void source_init(source *s, drovek_bits_kind kind)
{
    memset(s, 0, sizeof *s);
    s->bits = (drovek_bits){.kind = kind, .block = s->block};
    for (unsigned i = 0; i < 8; i++) s->bits.state[i] = 0x9e3779b97f4a7c15u * (2 * i + 1) | 1u;
    drove__rng_seed(&s->rng, 7, DROVE_RNG_TEST, 0);
}

static drovek_bits *next(void *context, size_t n)
{
    source *s = context;
    for (size_t i = 0; i < sizeof s->block; i++)
        s->block[i] = (uint8_t)drove__rng_below(&s->rng, 256);
    s->n_draws++;
    s->n_numbers += n;
    return &s->bits;
}

/* ---- plain C ---- */

/* a^T b of [1 2; -1 3], transposed, and [10 -20; 30 40]: [-20 -60; 110 80]. */
TEST(test_by_hand)
{
    uint8_t a[] = {1, 2, 0xff, 3}, b[] = {10, 0xec, 30, 40};
    const drovek_planes x = {.high = a, .unit = NAN}, d = {.high = b, .unit = NAN};
    const float factor[] = {0.25f, -0.5f};
    int8_t w[] = {1, -100, 100, -100};
    size_t n_clamped = 5;
    source s;
    source_init(&s, DROVEK_BITS_FIXED);
    const drovek_draws draws = {.next = next, .context = &s};
    /* -5, 30, 27.5, -40: 27.5 becomes 27 or 28 */
    assert_true(drovek_planes_ref.step(2, 2, 2, &x, 2, &d, 2, factor, w, &draws, &n_clamped));
    assert_true(w[0] == -4 && w[1] == -70 && w[3] == -128);
    assert_true((w[2] == 127 && n_clamped == 6) || (w[2] == 127 && n_clamped == 7));
    assert_true(s.n_draws == 1 && s.n_numbers == 4);
}

/* With one factor for all columns it is the product and the AXPY, draw after draw. */
TEST(test_of_parts)
{
    enum { M = 37, N = 65, K = 70 };
    static float g[M * N];
    static int8_t w[M * N + 64], wanted[M * N + 64];
    static uint8_t a[K * M + 64], b[K * N + 64];
    const drovek_planes x = {.high = a, .unit = 1.0f}, d = {.high = b, .unit = 1.0f};
    float factor[N];
    source mine, theirs;
    const drovek_factor one = {.f = -0.0137f};
    size_t n_clamped = 0, n_wanted = 0;
    for (size_t i = 0; i < sizeof a; i++) a[i] = (uint8_t)(i * 37 + i / 9);
    for (size_t i = 0; i < sizeof b; i++) b[i] = (uint8_t)(i * 101 + i / 7);
    for (size_t i = 0; i < M * N; i++) w[i] = wanted[i] = (int8_t)(i * 53);
    for (size_t j = 0; j < N; j++) factor[j] = one.f;
    source_init(&mine, DROVEK_BITS_XORSHIFT);
    source_init(&theirs, DROVEK_BITS_XORSHIFT);
    const drovek_draws draws = {.next = next, .context = &mine};
    assert_true(drovek_planes_ref.step(M, N, K, &x, M, &d, N, factor, w, &draws, &n_clamped));
    drovek_planes_ref.gemm(true, false, M, N, K, &x, M, &d, N, false, g, N, NULL);
    for (size_t at = 0; at < M * N; at += DRAW) {
        const size_t n = M * N - at < DRAW ? M * N - at : DRAW;
        const void *from = g + at;
        n_wanted +=
            drovek_linear_dense_ref.linear.axpy[DROVE_F32][DROVE_I8](wanted + at, &from, &one, 1, n,
                                                                     next(&theirs, n));
    }
    assert_memory_equal(w, wanted, M * N);
    assert_true(n_clamped == n_wanted && n_wanted > 0);
    assert_memory_equal(mine.bits.state, theirs.bits.state, sizeof mine.bits.state);
}

/* ---- tiers ---- */

/* n bytes, of which the last can be read; both ends of the range among them. */
static uint8_t *bytes(size_t n, uint64_t seed)
{
    uint8_t *x = guarded(n + DROVEK_PLANES_SLACK, 1, PLACE_TURN);
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = (uint8_t)drove__rng_below(&rng, 256);
        if (i % 7 == 0) x[i] = i % 2 == 0 ? 127 : 128;
    }
    return x;
}

/* all_lowest: the largest sums there are.  Returns whether the tier did it. */
static bool check_size(const drovek_planes_ops *ops, const size_t size[3], drovek_bits_kind kind,
                       float scale, bool all_lowest)
{
    const size_t m = size[0], n = size[1], k = size[2], lda = m + size[2] % 3, ldb = n + m % 2;
    const drovek_planes a = {.high = bytes(k * lda, 1)}, b = {.high = bytes(k * ldb, 2)};
    int8_t *w = guarded(m * n, 1, PLACE_TURN), *wanted = guarded(m * n, 1, PLACE_TURN);
    float *factor = guarded_floats(NULL, n, PLACE_TURN);
    size_t n_clamped = 3, n_wanted = 3;
    source mine, theirs;
    if (all_lowest) memset(a.high, 128, k * lda), memset(b.high, 128, k * ldb);
    for (size_t i = 0; i < m * n; i++) w[i] = wanted[i] = (int8_t)(i * 53 + i / 64);
    for (size_t j = 0; j < n; j++)
        factor[j] = scale / (float)(k + 1) * (j % 3 == 0 ? 1.0f : -0.3f - 0.01f * (float)(j % 64));
    source_init(&mine, kind);
    source_init(&theirs, kind);
    const drovek_draws draws = {.next = next, .context = &mine},
                       plain = {.next = next, .context = &theirs};
    const bool is_done = ops->step(m, n, k, &a, lda, &b, ldb, factor, w, &draws, &n_clamped);
    if (is_done)
        assert_true(
            drovek_planes_ref.step(m, n, k, &a, lda, &b, ldb, factor, wanted, &plain, &n_wanted));
    assert_memory_equal(w, wanted, m * n);
    assert_int_equal(n_clamped, n_wanted);
    assert_true(mine.n_draws == theirs.n_draws && mine.n_numbers == theirs.n_numbers);
    assert_memory_equal(&mine.bits, &theirs.bits, offsetof(drovek_bits, block));
    assert_memory_equal(mine.bits.state, theirs.bits.state, sizeof mine.bits.state);
    guarded_free_all();
    return is_done;
}

/* Changes of at most `scale` times 128 x 128, roughly: within 8 bits, beyond, and far beyond. */
static const float scales[] = {0x1p-13f, 0.7e-2f, 0.05f, 3.0f, 1000.0f};
static const drovek_bits_kind kinds[] = {DROVEK_BITS_FIXED, DROVEK_BITS_STREAM,
                                         DROVEK_BITS_XORSHIFT};

static void check_tier(const drovek_table *tier)
{
    static const size_t sizes[][3] = {{1, 64, 1},     {16, 64, 64},   {17, 128, 65}, {33, 192, 32},
                                      {64, 64, 63},   {65, 512, 9},   {100, 128, 4}, {15, 320, 130},
                                      {784, 128, 32}, {31, 128, 2048}};
    static const size_t others[][3] = {
        {5, 63, 9}, {7, 10, 3}, {3, 576, 5}, {1, 128, 2049}, {5, 512, 600}};
    const drovek_planes_ops *ops = tier->integers;
    if (ops == NULL || ops->step == NULL) {
        print_message("%s: no step\n", tier->isa);
        return;
    }
    for (size_t s = 0; s < DROVE_COUNT(sizes); s++)
        for (size_t v = 0; v < DROVE_COUNT(scales) * DROVE_COUNT(kinds); v++) {
            const float scale = scales[v / DROVE_COUNT(kinds)];
            const drovek_bits_kind kind = kinds[v % DROVE_COUNT(kinds)];
            assert_true(check_size(ops, sizes[s], kind, scale, false));
            if (s % 3 == 0) assert_true(check_size(ops, sizes[s], kind, scale, true));
        }
    for (size_t s = 0; s < DROVE_COUNT(others); s++)
        (void)check_size(ops, others[s], DROVEK_BITS_FIXED, 0.01f, false);
}

/* What a tier does not take stays as it was: factors that are not finite, and beyond 32 bits. */
static void check_refused(const drovek_table *tier)
{
    static const size_t size[] = {32, 64, 32};
    if (tier->integers == NULL || tier->integers->step == NULL) return;
    assert_false(check_size(tier->integers, size, DROVEK_BITS_FIXED, NAN, false));
    assert_false(check_size(tier->integers, size, DROVEK_BITS_FIXED, INFINITY, false));
    assert_false(check_size(tier->integers, size, DROVEK_BITS_FIXED, 1e6f, false));
}

TEST(test_tiers)
{
    for_each_tier(check_tier);
    for_each_tier(check_refused);
}
