/* Kernels of integers kept as bytes, of packed factors and of words of bf16 with operands at
 * forbidden pages, and accesses planted beyond each of them (operands.h).  What their headers allow
 * to be read: DROVEK_PLANES_SLACK bytes behind the planes of a product or of max pooling, whole
 * tiles, and 15 rows behind those that places name. */
#include "operands.h"
#include "support/test.h"

#include "base/mem.h"

#include <string.h>

enum { FEW = 3, DEPTH = 5, WORD_COLUMNS = DROVEK_WORDS_COLUMNS };

static const drovek_planes_ops *planes_ops;
static const drovek_strips_ops *strips_ops;
static bool is_wide; /* integers of 16 bits */

static drovek_planes planes(size_t n, size_t slack_bytes)
{
    uint8_t *high = operand_with_slack(NULL, n, 1, slack_bytes);
    uint8_t *low = is_wide ? operand_with_slack(NULL, n, 1, slack_bytes) : NULL;
    return (drovek_planes){.high = high, .low = low, .unit = 0.5f};
}

/* ---- products ---- */

/* Columns of C have units of their own where B has them. */
static void gemm(size_t m, size_t n, size_t k)
{
    for (unsigned variant = 0; variant < 4; variant++) {
        const bool trans_a = variant & 1, trans_b = variant & 2;
        const drovek_planes a = planes(m * k, DROVEK_PLANES_SLACK);
        drovek_planes b = planes(k * n, DROVEK_PLANES_SLACK);
        drovek_planes_end end = {.relu = true};
        if (variant < 2) b.by = float_operand(n);
        if (variant < 2) end.bias = float_operand(n);
        planes_ops->gemm(trans_a, trans_b, m, n, k, &a, trans_a ? m : k, &b, trans_b ? k : n,
                         variant & 1, float_operand(m * n), n, variant < 3 ? &end : NULL);
    }
}

static void run_gemm(const drovek_table *t, size_t n)
{
    (void)t;
    gemm(FEW, n, DEPTH);
    gemm(n, FEW, DEPTH);
    gemm(FEW, DEPTH, n);
}

/* ---- rounding, derivatives, images ---- */

static drovek_bits bits_of(drovek_bits_kind kind, size_t n_blocks)
{
    drovek_bits bits = {.kind = kind, .state = {1, 2, 3, 4, 5, 6, 7, 8}};
    if (kind == DROVEK_BITS_FIXED) n_blocks = 1;
    if (kind != DROVEK_BITS_XORSHIFT) bits.block = operand(NULL, n_blocks, DROVEK_BLOCK_BYTES);
    return bits;
}

static void run_round(const drovek_table *t, size_t n)
{
    (void)t;
    for (drovek_bits_kind kind = DROVEK_BITS_FIXED; kind <= DROVEK_BITS_XORSHIFT; kind++) {
        drovek_bits bits = bits_of(kind, drovek_blocks(DROVE_F32, DROVE_I16, false, n));
        const drovek_planes p = planes(n, 0), q = planes(n, 0);
        planes_ops->round(&p, float_operand(n), float_operand(n), n, &bits);
        planes_ops->round(&q, NULL, float_operand(n), n, &bits);
    }
}

static void back(size_t rows, size_t cols, bool relu)
{
    drovek_planes dy = planes(rows * cols, 0), y = dy;
    if (relu) y = planes(rows * cols, 0);
    if (relu) dy.by = float_operand(cols);
    planes_ops->back(&dy, &y, rows, cols, relu, float_operand(cols));
}

static void run_back(const drovek_table *t, size_t n)
{
    (void)t;
    for (unsigned relu = 0; relu <= 1; relu++) {
        back(FEW, n, relu);
        back(n, FEW, relu);
    }
}

static void run_turn(const drovek_table *t, size_t n)
{
    (void)t;
    for (size_t c = 1; c <= 4; c++)
        planes_ops->turn(operand(NULL, c * n, 1), operand(NULL, c * n, 1), c, n);
}

static const drovek_pool pools[] = {{1, 4, 6, 2, 3, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0},
                                    {1, 5, 5, 2, 2, 3, 3, 2, 2, 0, 0, 0, 0, 0, 0}};

static void run_max_pool(const drovek_table *t, size_t n)
{
    (void)t;
    for (size_t i = 0; i < DROVE_COUNT(pools); i++) {
        drovek_pool p = pools[i];
        p.c = n;
        const size_t n_in = p.h * p.w * n, n_out = p.oh * p.ow * n;
        for (unsigned has_place = 0; has_place <= 1; has_place++) {
            const drovek_planes x = planes(n_in, DROVEK_PLANES_SLACK);
            drovek_planes y = planes(n_out, 0);
            planes_ops->max_pool(&p, &x, &y, has_place ? operand(NULL, n_out, 1) : NULL, 1);
        }
    }
}

static void run_max_pool_back(const drovek_table *t, size_t n)
{
    drovek_pool p = pools[0];
    p.c = n;
    (void)t;
    const size_t n_in = p.h * p.w * n, n_out = p.oh * p.ow * n;
    const drovek_planes dy = planes(n_out, DROVEK_PLANES_SLACK);
    drovek_planes dx = planes(n_in, 0);
    planes_ops->max_pool_back(&p, &dy, operand(NULL, n_out, 1), &dx, 1);
}

/* ---- products that write weights ---- */

static drovek_bits *draw(void *context, size_t n)
{
    static drovek_bits bits;
    bits = bits_of(*(drovek_bits_kind *)context, drovek_blocks(DROVE_F32, DROVE_I8, false, n));
    return &bits;
}

static void step(size_t m, size_t n, size_t k)
{
    for (drovek_bits_kind kind = DROVEK_BITS_FIXED; kind <= DROVEK_BITS_XORSHIFT; kind++) {
        const drovek_draws draws = {.next = draw, .context = &kind};
        const drovek_planes a = planes(k * m, DROVEK_PLANES_SLACK),
                            b = planes(k * n, DROVEK_PLANES_SLACK);
        size_t n_clamped = 0;
        (void)planes_ops->step(m, n, k, &a, m, &b, n, float_operand(n), operand(NULL, m * n, 1),
                               &draws, &n_clamped);
    }
}

/* Multiples of 64 columns: sizes that tiers take. */
static void run_step(const drovek_table *t, size_t n)
{
    (void)t;
    step(n, 64, DEPTH);
    step(FEW, 128, n);
}

/* ---- packed factors ---- */

static void run_pack(const drovek_table *t, size_t n)
{
    (void)t;
    for (unsigned variant = 0; variant < 8; variant++) {
        const bool of_b = variant & 1, along = variant & 2;
        const size_t count = variant & 4 ? n : FEW, k = variant & 4 ? DEPTH : n;
        const size_t apart = drovek_tiles_of(strips_ops, k) * DROVEK_TILE;
        uint8_t *to = operand(NULL, drovek_strips_of(count) * apart / DROVE_CACHE_LINE,
                              DROVE_CACHE_LINE); /* tiles are aligned to lines */
        const uint8_t *x = strips_ops->number_bytes == 1 ? operand(NULL, count * k, 1)
                                                         : (uint8_t *)float_operand(count * k);
        strips_ops->pack(of_b, to, apart, x, along ? k : count, along, count, k);
    }
}

/* Packed rows of one tile each; kernels may read past the last of the m rows. */
static drovek_planes packed_rows(size_t m)
{
    enum { ROW_BYTES = 64 };
    return planes(m * ROW_BYTES, drovek_strips_of(m) * DROVEK_TILE - m * ROW_BYTES);
}

/* Packed columns of one tile each; kernels may read past the last of the n columns. */
static drovek_planes packed_columns(size_t n)
{
    enum { WORD = 4 };
    const size_t unused = WORD * (drovek_strips_of(n) * DROVEK_STRIP - n);
    return planes(drovek_strips_of(n) * DROVEK_TILE - unused, unused);
}

/* One strip of op(B), of n of its 16 columns. */
static void lines(size_t m, size_t n)
{
    const drovek_planes a = packed_rows(m);
    drovek_strips b = {.n_strips = 1, .line = 1, .tiles = packed_columns(n)};
    const drovek_strip strip = {.n_tiles = 1, .step = 1, .n = n};
    drovek_planes_end end = {.bias = float_operand(n)};
    b.strip = operand(&strip, 1, sizeof strip);
    if (strips_ops->most_planes > 1) b.tiles.by = float_operand(n);
    strips_ops->lines(&b, 0, 1, m, &a, 1, false, float_operand(m * n), n, &end);
}

static void run_lines(const drovek_table *t, size_t n)
{
    (void)t;
    lines(n, 16);
    lines(n, 9);
}

static void places(size_t m, size_t n, size_t n_places)
{
    enum { ROW_BYTES = 64 };
    uint32_t row[MOST_LENGTH], tile[MOST_LENGTH];
    for (size_t p = 0; p < n_places; p++) row[p] = (uint32_t)p, tile[p] = 0;
    const drovek_planes a = planes((n_places - 1 + m) * ROW_BYTES, 15 * ROW_BYTES);
    drovek_planes b = packed_columns(n);
    if (strips_ops->most_planes > 1) b.by = float_operand(n);
    strips_ops->places(m, n, n_places, &a, operand(row, n_places, sizeof *row), &b,
                       operand(tile, n_places, sizeof *tile), false, float_operand(m * n), n);
}

static void run_places(const drovek_table *t, size_t n)
{
    (void)t;
    places(n, 9, FEW);
    places(FEW, n, FEW);
    places(FEW, 9, n);
}

/* ---- words of bf16 ---- */

static uint16_t *words(size_t n)
{
    return operand(NULL, n, sizeof(uint16_t));
}

static void run_words_gemm(const drovek_table *t, size_t n)
{
    const size_t columns = 2 * WORD_COLUMNS;
    for (unsigned v = 0; v <= 1; v++) {
        const float beta = (float)v;
        t->words->gemm(false, n, columns, DEPTH, float_operand(n * DEPTH), DEPTH,
                       words(DEPTH * columns), beta, float_operand(n * columns), columns);
        t->words->gemm(false, FEW, columns, n, float_operand(FEW * n), n, words(n * columns), beta,
                       float_operand(FEW * columns), columns);
        t->words->gemm(true, FEW, n, columns, float_operand(FEW * columns), columns,
                       words(n * columns), beta, float_operand(FEW * n), n);
    }
}

static void run_words_step(const drovek_table *t, size_t n)
{
    const size_t columns = 2 * WORD_COLUMNS;
    for (drovek_bits_kind kind = DROVEK_BITS_FIXED; kind <= DROVEK_BITS_XORSHIFT; kind++) {
        const drovek_draws draws = {.next = draw, .context = &kind};
        (void)t->words->step(n, columns, DEPTH, float_operand(DEPTH * n), n,
                             float_operand(DEPTH * columns), columns, 0.1f, words(n * columns),
                             &draws);
        (void)t->words->step(FEW, columns, n, float_operand(n * FEW), FEW,
                             float_operand(n * columns), columns, 0.1f, words(FEW * columns),
                             &draws);
    }
}

/* ---- all of them ---- */

_Static_assert(offsetof(drovek_planes_ops, source) == 6 * sizeof(void *) &&
                   offsetof(drovek_strips_ops, tile_k) == 3 * sizeof(void *) &&
                   sizeof(drovek_words_ops) == 2 * sizeof(void *),
               "a case below for each kernel");

static void check_planes_of(const drovek_table *t, const drovek_planes_ops *ops,
                            const drovek_planes_ops *before)
{
    planes_ops = ops;
    for (unsigned wide = 0; wide <= 1; wide++) {
        is_wide = wide;
        if (ops->gemm != before->gemm) check_operands(t, "planes gemm", run_gemm, 1, MOST_LENGTH);
        if (ops->round != before->round)
            check_operands(t, "planes round", run_round, 0, MOST_LENGTH);
        if (ops->back != before->back) check_operands(t, "planes back", run_back, 0, MOST_LENGTH);
        if (ops->max_pool != before->max_pool)
            check_operands(t, "planes max_pool", run_max_pool, 1, MOST_LENGTH);
        if (ops->max_pool_back != before->max_pool_back)
            check_operands(t, "planes max_pool_back", run_max_pool_back, 1, MOST_LENGTH);
    }
    is_wide = false;
    if (ops->turn != before->turn) check_operands(t, "planes turn", run_turn, 0, MOST_LENGTH);
    if (ops->step != NULL && ops->step != before->step)
        check_operands(t, "planes step", run_step, 1, MOST_LENGTH);
}

static void check_planes(const drovek_table *t)
{
    static drovek_planes_ops before;
    if (t->integers != NULL) check_planes_of(t, t->integers, &before);
    if (t->integers != NULL) before = *t->integers;
    report_planted(t);
}

TEST(test_planes)
{
    const drovek_planes_ops none = {.gemm = NULL};
    check_planes_of(&drovek_ref, &drovek_planes_ref, &none);
    for_each_tier(check_planes);
}

static void check_strips_of(const drovek_table *t, const drovek_strips_ops *ops)
{
    enum { MOST_ROWS = 70 };
    strips_ops = ops;
    check_operands(t, "strips pack", run_pack, 1, MOST_LENGTH);
    for (unsigned wide = 0; wide < ops->most_planes; wide++) {
        is_wide = wide;
        check_operands(t, "strips lines", run_lines, 1, MOST_ROWS);
        check_operands(t, "strips places", run_places, 1, MOST_ROWS);
    }
    is_wide = false;
}

static void check_strips(const drovek_table *t)
{
    if (t->integers != NULL && t->integers->strips != NULL) check_strips_of(t, t->integers->strips);
    if (t->bf16.strips != NULL) check_strips_of(t, t->bf16.strips);
    report_planted(t);
}

TEST(test_strips)
{
    check_strips_of(&drovek_ref, &drovek_strips_ref);
    check_strips_of(&drovek_ref, &drovek_strips_bf16_ref);
    for_each_tier(check_strips);
}

static void check_words(const drovek_table *t)
{
    if (t->words != NULL) {
        check_operands(t, "words gemm", run_words_gemm, 1, MOST_LENGTH);
        check_operands(t, "words step", run_words_step, 1, MOST_LENGTH);
    }
    report_planted(t);
}

TEST(test_words)
{
    for_each_tier(check_words);
}
