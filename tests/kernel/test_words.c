/* Products with parameters that are words of bf16 (kernel/words.h): every tier that has them
 * against its products in bf16 of the widened words, to the bit, and the step of plain C. */
#include "support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = DROVEK_WORDS_COLUMNS, DRAW_ROWS = 16, BLOCK_WORDS = DROVEK_BLOCK_BYTES / 2 };

static uint16_t *words_of(const float *x, size_t n, place where)
{
    uint16_t *w = guarded(n * sizeof *w, sizeof *w, where);
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        w[i] = (uint16_t)(bits >> 16);
    }
    return w;
}

static float *widened(const uint16_t *w, size_t n)
{
    float *x = guarded(n * sizeof *x, sizeof *x, PLACE_TURN);
    drovek_ref.widen_bf16(x, w, n);
    return x;
}

static float *normal(size_t n, uint64_t seed, place where)
{
    float *x = guarded(n * sizeof *x, sizeof *x, where);
    fill_normal(x, n, 1.0, seed);
    return x;
}

/* ---- products ---- */

/* W[rows][columns] */
static void check_gemm(const drovek_table *t, bool trans, size_t m, size_t rows, size_t columns,
                       float beta, place where)
{
    const size_t n = trans ? rows : columns, k = trans ? columns : rows;
    const size_t lda = k + m % 3, ldc = n + m % 2;
    const float *a = normal(m * lda, 1, where), *start = normal(rows * columns, 2, where);
    const uint16_t *w = words_of(start, rows * columns, where);
    float *got = normal(m * ldc, 3, where), *wanted = guarded_floats(got, m * ldc, PLACE_TURN);
    t->words->gemm(trans, m, n, k, a, lda, w, beta, got, ldc);
    t->gemm_f32(false, trans, m, n, k, 1.0f, a, lda, widened(w, rows * columns), columns, beta,
                wanted, ldc);
    assert_same_bits("words gemm", t->isa, m * ldc, got, wanted);
    guarded_free_all();
}

static void check_products(const drovek_table *tier)
{
    static const size_t most_rows[] = {1, 2, 3, 16, 31, 32, 33, 257, 784},
                        batches[] = {1, 2, 15, 16, 32, 33, 100, 300},
                        widths[] = {COLUMNS, 2 * COLUMNS, 9 * COLUMNS};
    const drovek_table t = drovek_narrow(tier, DROVEK_FACTORS_BF16);
    size_t turn = 0;
    if (t.words == NULL) {
        print_message("%s: no products with words\n", tier->isa);
        return;
    }
    for (size_t r = 0; r < DROVE_COUNT(most_rows); r++)
        for (size_t b = 0; b < DROVE_COUNT(batches); b++)
            for (size_t c = 0; c < DROVE_COUNT(widths); c++, turn++) {
                static const float betas[] = {0.0f, 1.0f, -0.5f};
                const float beta = betas[turn % DROVE_COUNT(betas)];
                const place where = (place)(turn % N_PLACES);
                check_gemm(&t, false, batches[b], most_rows[r], widths[c], beta, where);
                check_gemm(&t, true, batches[b], most_rows[r], widths[c], beta, where);
            }
}

TEST(test_products)
{
    for_each_tier(check_products);
}

/* ---- steps ---- */

enum { MOST_DRAWS = 400 };

/* The bits of each draw are kept. */
typedef struct source {
    drovek_bits bits;
    size_t n_draws, n_numbers;
    uint64_t state[MOST_DRAWS][8];
    alignas(64) uint16_t word[MOST_DRAWS][DRAW_ROWS * BLOCK_WORDS];
} source;

static drovek_bits *next(void *context, size_t n)
{
    source *s = context;
    assert_true(s->n_draws < MOST_DRAWS && n % COLUMNS == 0 && n <= DRAW_ROWS * COLUMNS);
    memcpy(s->state[s->n_draws], s->bits.state, sizeof s->bits.state);
    s->bits.block = (const uint8_t *)s->word[s->n_draws++];
    s->n_numbers += n;
    return &s->bits;
}

static source *make_source(drovek_bits_kind kind)
{
    source *s = aligned_alloc(64, sizeof *s);
    drove_rng rng;
    assert_non_null(s);
    memset(s, 0, sizeof *s);
    s->bits.kind = kind;
    for (unsigned i = 0; i < 8; i++) s->bits.state[i] = 0x9e3779b97f4a7c15u * (2 * i + 1) | 1u;
    drove__rng_seed(&rng, 7, DROVE_RNG_TEST, 0);
    for (size_t d = 0; d < MOST_DRAWS; d++)
        for (size_t i = 0; i < DRAW_ROWS * BLOCK_WORDS; i++)
            s->word[d][i] = (uint16_t)drove__rng_below(&rng, 1 << 16);
    return s;
}

/* Whether the block of w at `first` is the step of `from` by g with the bits of draw d. */
static bool is_drawn(const source *s, size_t d, const uint16_t *w, const uint16_t *from,
                     const float *g, size_t first, size_t n_rows, size_t columns, float eta)
{
    drovek_bits bits = s->bits;
    const size_t stream = bits.kind == DROVEK_BITS_STREAM ? BLOCK_WORDS : 0;
    memcpy(bits.state, s->state[d], sizeof bits.state);
    for (size_t r = 0; r < n_rows; r++) {
        const size_t at = first + r * columns;
        uint16_t row[COLUMNS];
        memcpy(row, from + at, sizeof row);
        bits.block = (const uint8_t *)(s->word[d] + r * stream);
        drovek_ref.sgd_bf16(row, g + at, COLUMNS, eta, &bits);
        if (memcmp(row, w + at, sizeof row) != 0) return false;
    }
    return true;
}

/* Every block of 16 rows and 32 columns has the step of a draw of its own. */
static void check_blocks(const source *s, const uint16_t *w, const uint16_t *from, const float *g,
                         size_t rows, size_t columns, float eta)
{
    bool is_used[MOST_DRAWS] = {false};
    size_t n_blocks = 0;
    for (size_t i = 0; i < rows; i += DRAW_ROWS)
        for (size_t j = 0; j < columns; j += COLUMNS, n_blocks++) {
            const size_t here = rows - i < DRAW_ROWS ? rows - i : DRAW_ROWS;
            size_t d = 0;
            while (d < s->n_draws &&
                   (is_used[d] || !is_drawn(s, d, w, from, g, i * columns + j, here, columns, eta)))
                d++;
            assert_true(d < s->n_draws);
            is_used[d] = true;
        }
    assert_true(n_blocks == s->n_draws && s->n_numbers == rows * columns);
}

static void check_step(const drovek_table *t, size_t rows, size_t columns, size_t k,
                       drovek_bits_kind kind, place where)
{
    const size_t lda = rows + k % 2, ldb = columns + k % 3;
    const float *a = normal(k * lda, 1, where), *b = normal(k * ldb, 2, where), eta = 0.03f;
    const uint16_t *from = words_of(normal(rows * columns, 3, PLACE_TURN), rows * columns, where);
    uint16_t *w = guarded(rows * columns * sizeof *w, sizeof *w, where);
    float *g = guarded_floats(NULL, rows * columns, PLACE_TURN);
    source *s = make_source(kind);
    const drovek_draws draws = {.next = next, .context = s};
    memcpy(w, from, rows * columns * sizeof *w);
    assert_true(t->words->step(rows, columns, k, a, lda, b, ldb, eta, w, &draws));
    t->gemm_f32(true, false, rows, columns, k, 1.0f, a, lda, b, ldb, 0.0f, g, columns);
    check_blocks(s, w, from, g, rows, columns, eta);
    free(s);
    guarded_free_all();
}

static void check_steps(const drovek_table *tier)
{
    static const size_t sizes[][3] = {{1, 32, 1},    {16, 32, 32},   {17, 64, 9},   {40, 96, 33},
                                      {33, 288, 64}, {784, 128, 32}, {31, 32, 256}, {300, 64, 100},
                                      {5, 320, 2},   {64, 64, 200}};
    static const drovek_bits_kind kinds[] = {DROVEK_BITS_FIXED, DROVEK_BITS_STREAM,
                                             DROVEK_BITS_XORSHIFT};
    const drovek_table t = drovek_narrow(tier, DROVEK_FACTORS_BF16);
    if (t.words == NULL) return;
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++)
        for (size_t v = 0; v < DROVE_COUNT(kinds); v++)
            check_step(&t, sizes[i][0], sizes[i][1], sizes[i][2], kinds[v],
                       (place)((i + v) % N_PLACES));
}

/* More terms than are summed at once: nothing is written, and nothing drawn. */
static void check_refused(const drovek_table *tier)
{
    enum { ROWS = 20, K = 257 };
    if (tier->words == NULL) return;
    const float *x = normal(K * COLUMNS, 1, PLACE_TURN);
    uint16_t *w = words_of(x, ROWS * COLUMNS, PLACE_TURN), *was = words_of(x, ROWS * COLUMNS, 0);
    source *s = make_source(DROVEK_BITS_FIXED);
    const drovek_draws draws = {.next = next, .context = s};
    assert_false(tier->words->step(ROWS, COLUMNS, K, x, ROWS, x, COLUMNS, 0.1f, w, &draws));
    assert_memory_equal(w, was, ROWS * COLUMNS * sizeof *w);
    assert_int_equal(s->n_draws, 0);
    free(s);
    guarded_free_all();
}

TEST(test_steps)
{
    for_each_tier(check_steps);
    for_each_tier(check_refused);
}
