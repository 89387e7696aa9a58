/* Kernels of image layers: hand-worked values in plain C, every tier against plain C at edge sizes
 * next to forbidden pages.  Pooling, dropout and work by columns are equal bit for bit. */
#include "support.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

enum { MAX_N = 40000, MAX_C = 130 };

static float x[MAX_N], dy[MAX_N], before[MAX_N];

FIXTURE(fill)
{
    fill_normal(x, MAX_N, 1.0, 1);
    fill_normal(dy, MAX_N, 1.0, 2);
    fill_normal(before, MAX_N, 1.0, 3);
    for (size_t i = 0; i < MAX_N; i += 7) x[i] = 0.5f; /* equals */
    return 0;
}

GROUP(fill, NULL);

/* ---- pooling ---- */

TEST(test_pooling_by_hand)
{
    const float image[9] = {1, 5, 2, 7, 7, 0, -1, 3, 4}; /* 3 x 3, one channel */
    const drovek_pool p = {.c = 1,
                           .h = 3,
                           .w = 3,
                           .oh = 2,
                           .ow = 2,
                           .kh = 2,
                           .kw = 2,
                           .sh = 2,
                           .sw = 2,
                           .ph = 0,
                           .pw = 0, /* rounded up: hangs over */
                           .y1 = 3,
                           .x1 = 3};
    float y[4], dx[9];
    uint8_t which[4];
    drovek_ref.max_pool_f32(&p, image, y, which, 1);
    assert_true(y[0] == 7 && y[1] == 2 && y[2] == 3 && y[3] == 4);
    assert_true(which[0] == 2 && which[1] == 0 && which[2] == 1 && which[3] == 0);
    const float d[4] = {10, 20, 30, 40};
    drovek_ref.max_pool_back_f32(&p, d, which, dx, 1, false);
    const float want[9] = {0, 0, 20, 10, 0, 0, 0, 30, 40};
    assert_memory_equal(dx, want, sizeof dx);
    drovek_ref.average_pool_f32(&p, image, y, 1);
    assert_true(y[0] == 5 && y[1] == 1 && y[2] == 1 && y[3] == 4); /* clipped to the image */
    drovek_ref.average_pool_back_f32(&p, d, dx, 1, false);
    const float share[9] = {2.5f, 2.5f, 10, 2.5f, 2.5f, 10, 15, 15, 40};
    assert_memory_equal(dx, share, sizeof dx);
    drovek_ref.average_pool_back_f32(&p, d, dx, 1, true);
    assert_true(dx[0] == 5 && dx[8] == 80);
}

/* With padding the divisor counts it, but not what hangs over beyond it (Caffe). */
TEST(test_average_counts_padding)
{
    const float image[4] = {1, 2, 3, 4};
    const drovek_pool p = {.c = 1,
                           .h = 2,
                           .w = 2,
                           .oh = 2,
                           .ow = 2,
                           .kh = 3,
                           .kw = 3,
                           .sh = 2,
                           .sw = 2,
                           .ph = 1,
                           .pw = 1,
                           .y1 = 4,
                           .x1 = 4};
    float y[4];
    drovek_ref.average_pool_f32(&p, image, y, 1);
    const float want[4] = {10 * (1.0f / 9), 6 * (1.0f / 6), 7 * (1.0f / 6), 4 * (1.0f / 4)};
    assert_memory_equal(y, want, sizeof y);
}

/* One row above, two columns to the right: counted, or not. */
TEST(test_average_of_uneven_padding)
{
    const float image[4] = {1, 2, 3, 4}, d[4] = {6, 12, 18, 24};
    drovek_pool p = {.c = 1,
                     .h = 2,
                     .w = 2,
                     .oh = 2,
                     .ow = 2,
                     .kh = 2,
                     .kw = 3,
                     .sh = 1,
                     .sw = 1,
                     .ph = 1,
                     .pw = 0,
                     .y1 = 3,
                     .x1 = 4};
    float y[4], dx[4];
    drovek_ref.average_pool_f32(&p, image, y, 1);
    const float counted[4] = {3 * (1.0f / 6), 2 * (1.0f / 6), 10 * (1.0f / 6), 6 * (1.0f / 6)};
    assert_memory_equal(y, counted, sizeof y);
    p.y0 = 1, p.x1 = 2;
    drovek_ref.average_pool_f32(&p, image, y, 1);
    const float inside[4] = {1.5f, 2, 2.5f, 3};
    assert_memory_equal(y, inside, sizeof y);
    drovek_ref.average_pool_back_f32(&p, d, dx, 1, false);
    const float share[4] = {7.5f, 31.5f, 4.5f, 16.5f};
    assert_memory_equal(dx, share, sizeof dx);
}

/* 40 channels of the same, so that every tier has full registers and a rest. */
static void check_nan(const drovek_table *t)
{
    enum { C = 40 };
    const float row[4] = {1, NAN, 3, -INFINITY};
    const drovek_pool p = {.c = C,
                           .h = 1,
                           .w = 4,
                           .oh = 1,
                           .ow = 2,
                           .kh = 1,
                           .kw = 2,
                           .sh = 1,
                           .sw = 2,
                           .ph = 0,
                           .pw = 0};
    float image[4 * C], y[2 * C];
    uint8_t which[2 * C];
    for (size_t i = 0; i < 4 * C; i++) image[i] = row[i / C];
    t->max_pool_f32(&p, image, y, which, 1);
    for (size_t i = 0; i < C; i++) {
        assert_true(isnan(y[i]) && which[i] == 1);
        assert_true(y[C + i] == 3 && which[C + i] == 0);
    }
}

TEST(test_max_of_nan)
{
    for_each_tier(check_nan);
}

/* q: padding below and to the right. */
typedef struct pool_case {
    size_t h, w, oh, ow, k, s, p, q;
} pool_case;
static const pool_case pools[] = {
    {4, 4, 2, 2, 2, 2, 0, 0}, {7, 5, 3, 2, 3, 2, 0, 0},    {7, 6, 4, 3, 3, 2, 1, 1},
    {5, 5, 5, 5, 3, 1, 1, 1}, {6, 6, 3, 3, 3, 2, 0, 0},    {7, 7, 1, 1, 7, 1, 0, 0},
    {1, 1, 1, 1, 1, 1, 0, 0}, {5, 4, 2, 2, 2, 3, 1, 1},    {9, 8, 2, 2, 5, 3, 0, 0},
    {3, 3, 1, 1, 3, 1, 0, 0}, {17, 17, 1, 1, 17, 1, 0, 0}, {18, 17, 2, 1, 17, 1, 0, 0},
    {8, 6, 4, 3, 3, 2, 0, 1}, {5, 6, 5, 6, 2, 1, 1, 0},    {7, 7, 4, 4, 2, 2, 0, 1},
    {7, 5, 4, 3, 3, 2, 2, 0}, {6, 6, 6, 6, 4, 1, 1, 2},
};
static const size_t channels[] = {1, 3, 4, 5, 8, 10, 16, 17, 20, 31, 32, 50, 64, 96, MAX_C};

static size_t place_bytes(const drovek_pool *p)
{
    return p->kh * p->kw <= DROVEK_POOL_BYTE ? 1 : 2;
}

static void check_max(const drovek_table *t, const drovek_pool *p, size_t n, place where)
{
    size_t n_x = n * p->h * p->w * p->c, n_y = n * p->oh * p->ow * p->c;
    static float want_y[MAX_N], want_dx[MAX_N];
    static uint16_t want_place[MAX_N];
    uint8_t *which = guarded(n_y * place_bytes(p), 1, where);
    float *y = guarded_floats(NULL, n_y, where), *from = guarded_floats(x, n_x, where);
    if (place_bytes(p) == 2) which = guarded(n_y * 2, 2, where);
    drovek_ref.max_pool_f32(p, x, want_y, want_place, n);
    t->max_pool_f32(p, from, y, which, n);
    assert_same_bits("max_pool_f32", t->isa, n_y, y, want_y);
    assert_memory_equal(which, want_place, n_y * place_bytes(p));
    memset(y, 0xff, n_y * sizeof *y);
    t->max_pool_f32(p, from, y, NULL, n);
    assert_same_bits("max_pool_f32 without places", t->isa, n_y, y, want_y);
    for (int adds = 0; adds < 2; adds++) {
        float *dx = guarded_floats(adds ? before : NULL, n_x, where);
        memcpy(want_dx, before, sizeof want_dx);
        drovek_ref.max_pool_back_f32(p, dy, want_place, want_dx, n, adds);
        t->max_pool_back_f32(p, guarded_floats(dy, n_y, where), which, dx, n, adds);
        assert_same_bits("max_pool_back_f32", t->isa, n_x, dx, want_dx);
    }
}

static void check_average(const drovek_table *t, const drovek_pool *p, size_t n, place where)
{
    size_t n_x = n * p->h * p->w * p->c, n_y = n * p->oh * p->ow * p->c;
    static float want_y[MAX_N], want_dx[MAX_N];
    float *y = guarded_floats(NULL, n_y, where);
    drovek_ref.average_pool_f32(p, x, want_y, n);
    t->average_pool_f32(p, guarded_floats(x, n_x, where), y, n);
    assert_same_bits("average_pool_f32", t->isa, n_y, y, want_y);
    for (int adds = 0; adds < 2; adds++) {
        float *dx = guarded_floats(adds ? before : NULL, n_x, where);
        memcpy(want_dx, before, sizeof want_dx);
        drovek_ref.average_pool_back_f32(p, dy, want_dx, n, adds);
        t->average_pool_back_f32(p, guarded_floats(dy, n_y, where), dx, n, adds);
        assert_same_bits("average_pool_back_f32", t->isa, n_x, dx, want_dx);
    }
}

static void check_pools(const drovek_table *t)
{
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++) {
            const pool_case *q = &pools[i];
            drovek_pool p = {.c = channels[c],
                             .h = q->h,
                             .w = q->w,
                             .oh = q->oh,
                             .ow = q->ow,
                             .kh = q->k,
                             .kw = q->k,
                             .sh = q->s,
                             .sw = q->s,
                             .ph = q->p,
                             .pw = q->p,
                             .y1 = q->h + q->p + q->q,
                             .x1 = q->w + q->p + q->q};
            for (place where = 0; where < N_PLACES; where++) {
                size_t n = p.h * p.w * p.c * 2 <= MAX_N ? 2 : 1;
                check_max(t, &p, n, where);
                check_average(t, &p, n, where);
                guarded_free_all();
            }
            if (q->p + q->q == 0) continue;
            p.y0 = p.x0 = q->p; /* padding does not count */
            p.y1 = q->h + q->p;
            p.x1 = q->w + q->p;
            check_average(t, &p, p.h * p.w * p.c * 2 <= MAX_N ? 2 : 1, PLACE_END);
            guarded_free_all();
        }
    }
}

TEST(test_pooling_equals_ref)
{
    for_each_tier(check_pools);
}

/* ---- local response normalisation ---- */

/* Against double arithmetic: a few roundings of the sum of squares and of the power. */
static const double lrn_bound = 16.0 * 0x1p-24;

TEST(test_lrn_by_hand)
{
    const drovek_lrn l = {
        .c = 4, .hw = 1, .block = 4, .reach = 1, .factor = 1.0f, .beta = 0.5f, .kappa = 2.0f};
    const float v[4] = {1, 2, 3, 4}, d[4] = {1, 0, 0, 0};
    float y[4];
    drovek_ref.lrn_f32(&l, v, y, 1);
    assert_true(fabs((double)y[0] - 1 / sqrt(7.0)) < 1e-7); /* 2 + 1 + 4 */
    assert_true(fabs((double)y[1] - 2 / sqrt(16.0)) < 1e-7);
    assert_true(fabs((double)y[3] - 4 / sqrt(27.0)) < 1e-6);
    drovek_ref.lrn_back_f32(&l, v, d, y, 1, false);
    assert_true(fabs((double)y[0] - (1 / sqrt(7.0) - pow(7.0, -1.5))) < 1e-7);
    assert_true(fabs((double)y[1] + 2 * pow(7.0, -1.5)) < 1e-7);
    assert_true(y[2] == 0.0f && y[3] == 0.0f);
}

static void check_near(const char *what, const drovek_table *t, size_t n, const float *got,
                       const float *want, double bound)
{
    for (size_t i = 0; i < n; i++) {
        if (fabs((double)got[i] - (double)want[i]) <= bound * fmax(1.0, fabs((double)want[i])))
            continue;
        print_error("%s (%s): element %zu is %.9g, not %.9g\n", what, t->isa, i, (double)got[i],
                    (double)want[i]);
        fail();
    }
}

static void check_lrn_of(const drovek_table *t, const drovek_lrn *l, size_t n, place where)
{
    static float want[MAX_N];
    size_t n_x = n * l->c * l->hw;
    float *y = guarded_floats(NULL, n_x, where), *from = guarded_floats(x, n_x, where);
    drovek_ref.lrn_f32(l, x, want, n);
    t->lrn_f32(l, from, y, n);
    check_near("lrn_f32", t, n_x, y, want, lrn_bound);
    for (int adds = 0; adds < 2; adds++) {
        float *dx = guarded_floats(adds ? before : NULL, n_x, where);
        memcpy(want, before, sizeof want);
        drovek_ref.lrn_back_f32(l, x, dy, want, n, adds);
        t->lrn_back_f32(l, from, guarded_floats(dy, n_x, where), dx, n, adds);
        check_near("lrn_back_f32", t, n_x, dx, want, 4.0 * lrn_bound);
    }
}

static void check_lrn(const drovek_table *t)
{
    const struct {
        size_t c, block, hw;
    } sizes[] = {{1, 1, 3},    {3, 3, 5},   {5, 5, 1},     {16, 16, 40}, {17, 17, 7},
                 {32, 16, 9},  {32, 8, 9},  {96, 96, 70},  {96, 16, 70}, {96, 8, 70},
                 {256, 16, 9}, {256, 8, 9}, {100, 100, 50}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t reach = 0; reach < 4; reach++) {
            const drovek_lrn l = {.c = sizes[i].c,
                                  .hw = sizes[i].hw,
                                  .block = sizes[i].block,
                                  .reach = reach,
                                  .factor = 0.2f,
                                  .beta = reach == 3 ? 0.6f : 0.75f,
                                  .kappa = 1.5f};
            for (place where = 0; where < N_PLACES; where++) {
                check_lrn_of(t, &l, 2, where);
                guarded_free_all();
            }
        }
    }
}

TEST(test_lrn_near_ref)
{
    for_each_tier(check_lrn);
}

/* ---- dropout ---- */

static void check_dropout(const drovek_table *t)
{
    static float want[MAX_N];
    for (const size_t *n = edge_lengths; *n <= 1000; n++) {
        for (int adds = 0; adds < 2; adds++) {
            const drovek_dropout d = {.key = drovek_dropout_key(1, 2, 3, *n),
                                      .threshold = 1 << 23,
                                      .factor = 2.0f};
            float *to = guarded_floats(adds ? before : NULL, 3 * *n, PLACE_TURN);
            memcpy(want, before, sizeof want);
            drovek_ref.dropout_f32(&d, want, x, 3, *n, 5, 2000, adds);
            t->dropout_f32(&d, to, guarded_floats(x, 3 * *n, PLACE_TURN), 3, *n, 5, 2000, adds);
            assert_same_bits("dropout_f32", t->isa, 3 * *n, to, want);
            guarded_free_all();
        }
    }
}

TEST(test_dropout_equals_ref)
{
    for_each_tier(check_dropout);
}

/* Share of ones among `n` numbers, in standard errors from 1 - ratio. */
static double deviation_of(size_t n_kept, size_t n, double ratio)
{
    return ((double)n_kept - (double)n * (1 - ratio)) / sqrt((double)n * ratio * (1 - ratio));
}

/* Masks keep the share they should, in every example and every element, and those of two examples,
 * batches, layers, or of neighbours, agree as often as chance has it. */
TEST(test_dropout_is_random)
{
    enum { N = 4096, ROWS = 64 };
    const double ratios[] = {0.1, 0.5, 0.7};
    for (size_t r = 0; r < 3; r++) {
        size_t all = 0, same_row = 0, same_next = 0, same_batch = 0, same_layer = 0;
        double both = ratios[r] * ratios[r] + (1 - ratios[r]) * (1 - ratios[r]);
        for (size_t row = 0; row < ROWS; row++) {
            drovek_dropout d[5];
            size_t kept = 0;
            for (size_t i = 0; i < 5; i++) {
                d[i].threshold = (uint32_t)(ratios[r] * 0x1p24);
                d[i].key = drovek_dropout_key(7, i == 2 ? 9 : 8, i == 3 ? 4 : 3, row + (i == 1));
            }
            for (uint32_t e = 0; e < N; e++) {
                bool k = drovek_dropout_keeps(&d[0], e);
                kept += k;
                same_row += k == drovek_dropout_keeps(&d[1], e);
                same_batch += k == drovek_dropout_keeps(&d[2], e);
                same_layer += k == drovek_dropout_keeps(&d[3], e);
                same_next += k == drovek_dropout_keeps(&d[4], e + 1);
            }
            assert_true(fabs(deviation_of(kept, N, ratios[r])) < 4.5);
            all += kept;
        }
        assert_true(fabs(deviation_of(all, N * ROWS, ratios[r])) < 4.0);
        assert_true(fabs(deviation_of(same_row, N * ROWS, 1 - both)) < 4.0);
        assert_true(fabs(deviation_of(same_next, N * ROWS, 1 - both)) < 4.0);
        assert_true(fabs(deviation_of(same_batch, N * ROWS, 1 - both)) < 4.0);
        assert_true(fabs(deviation_of(same_layer, N * ROWS, 1 - both)) < 4.0);
    }
}

/* ---- by columns ---- */

/* Sums of up to DROVEK_COLUMN_RUN products in float, relative to the sum of their sizes. */
static const double sums_bound = (DROVEK_COLUMN_RUN + 3) * 0x1p-24;

static void check_sums(const drovek_table *t, size_t rows, size_t cols, bool with_ku, place where)
{
    double sum[MAX_C], product[MAX_C], want_sum[MAX_C], want_product[MAX_C];
    for (size_t j = 0; j < cols; j++) sum[j] = product[j] = want_sum[j] = want_product[j] = 3.0;
    const float *u = guarded_floats(x, rows * cols, where);
    const float *v = guarded_floats(dy, rows * cols, where);
    const float *k = guarded_floats(before, cols, where);
    t->column_sums_f32(u, with_ku ? k : NULL, v, k, rows, cols, sum, product);
    drovek_ref.column_sums_f32(u, with_ku ? k : NULL, v, k, rows, cols, want_sum, want_product);
    for (size_t j = 0; j < cols; j++) {
        double size = 0.0, sizes = 0.0;
        for (size_t i = 0; i < rows; i++) {
            double first = fabs((double)u[i * cols + j]) + fabs((double)k[j]);
            size += first;
            sizes += first * (fabs((double)v[i * cols + j]) + fabs((double)k[j]));
        }
        assert_true(fabs(sum[j] - want_sum[j]) <= sums_bound * size);
        assert_true(fabs(product[j] - want_product[j]) <= sums_bound * sizes);
    }
}

static void check_combine(const drovek_table *t, size_t rows, size_t cols, bool with_y, bool adds,
                          place where)
{
    static float want[MAX_N];
    const float *from = guarded_floats(x, rows * cols, where);
    const float *second = with_y ? guarded_floats(dy, rows * cols, where) : NULL;
    const float *a = guarded_floats(dy, cols, where), *b = guarded_floats(x, cols, where);
    const float *c = guarded_floats(before, cols, where);
    float *to = guarded_floats(adds ? before : NULL, rows * cols, where);
    memcpy(want, before, sizeof want);
    drovek_ref.column_combine_f32(want, x, second, a, b, c, rows, cols, adds);
    t->column_combine_f32(to, from, second, a, b, c, rows, cols, adds);
    assert_same_bits("column_combine_f32", t->isa, rows * cols, to, want);
}

static void check_copy(const drovek_table *t, size_t rows, size_t cols, bool adds, place where)
{
    static float want[MAX_N];
    size_t to_stride = cols + 3, n = rows > 0 ? (rows - 1) * to_stride + cols : 0;
    float *to = guarded_floats(before, n, where);
    memcpy(want, before, sizeof want);
    drovek_ref.copy_rows_f32(want, to_stride, x, cols + 1, rows, cols, adds);
    t->copy_rows_f32(to, to_stride, x, cols + 1, rows, cols, adds);
    assert_same_bits("copy_rows_f32", t->isa, n, to, want);
}

static void check_columns(const drovek_table *t)
{
    const size_t rows[] = {0, 1, 2, 31, 32, 33, 100};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t c = 0; c < sizeof channels / sizeof channels[0]; c++) {
            for (unsigned variant = 0; variant < 4; variant++) {
                place where = (place)((i + c + variant) % N_PLACES);
                bool first = variant % 2 != 0, second = variant / 2 != 0;
                check_sums(t, rows[i], channels[c], first, where);
                check_combine(t, rows[i], channels[c], first, second, where);
                check_copy(t, rows[i], channels[c], first, where);
                guarded_free_all();
            }
        }
    }
}

TEST(test_columns_by_hand)
{
    const float u[4] = {1, 2, 3, 4}, v[4] = {5, 6, 7, 8}, k[2] = {1, 1};
    double sum[2] = {0, 0}, product[2] = {0, 0};
    float to[4];
    drovek_ref.column_sums_f32(u, k, v, k, 2, 2, sum, product);
    assert_true(sum[0] == 2 && sum[1] == 4 && product[0] == 12 && product[1] == 26);
    drovek_ref.column_combine_f32(to, u, v, k, u, k, 2, 2, false); /* u + {1, 2} v + 1 */
    assert_true(to[0] == 7 && to[1] == 15 && to[2] == 11 && to[3] == 21);
}

TEST(test_columns)
{
    for_each_tier(check_columns);
}

/* ---- element-wise ---- */

static void check_elements(const drovek_table *t)
{
    static float want[MAX_N];
    for (const size_t *n = edge_lengths; *n <= 1000; n++) {
        float *to = guarded_floats(NULL, *n, PLACE_TURN), *from = guarded_floats(x, *n, PLACE_TURN);
        float *second = guarded_floats(dy, *n, PLACE_TURN);
        drovek_ref.blend_f32(want, x, dy, *n, 0.3f, -0.7f);
        t->blend_f32(to, from, second, *n, 0.3f, -0.7f);
        assert_same_bits("blend_f32", t->isa, *n, to, want);
        drovek_ref.blend_f32(want, x, NULL, *n, 0.3f, 0.0f);
        t->blend_f32(to, from, NULL, *n, 0.3f, 0.0f);
        assert_same_bits("blend_f32 of one", t->isa, *n, to, want);
        for (drovek_act act = DROVEK_LINEAR; act <= DROVEK_TANH; act++) {
            drovek_ref.act_f32(want, x, *n, act);
            t->act_f32(to, from, *n, act);
            for (size_t i = 0; i < *n; i++) assert_true(ulps(to[i], (double)want[i]) <= 3.0);
            for (int adds = 0; adds < 2; adds++) {
                float *dx = guarded_floats(before, *n, PLACE_TURN);
                memcpy(want, before, sizeof want);
                drovek_ref.act_back_f32(want, dy, x, *n, act, adds);
                t->act_back_f32(dx, second, from, *n, act, adds);
                assert_same_bits("act_back_f32", t->isa, *n, dx, want);
            }
        }
        guarded_free_all();
    }
}

TEST(test_elements)
{
    float v[3] = {-1, 2, 3}, to[3];
    drovek_ref.blend_f32(to, v, v, 3, 2.0f, 1.0f);
    assert_true(to[0] == -3 && to[1] == 6 && to[2] == 9);
    drovek_ref.act_f32(to, v, 3, DROVEK_RELU);
    assert_true(to[0] == 0 && to[1] == 2);
    drovek_ref.act_back_f32(v, v, to, 3, DROVEK_RELU, false);
    assert_true(v[0] == 0 && v[1] == 2);
    for_each_tier(check_elements);
}
