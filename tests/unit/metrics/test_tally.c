/* Tallies: the AUC against the pairs themselves, average precision against counts, exact and by
 * histograms; blocks of rows; what is not defined; limits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/ranking.h"
#include "metrics/tally.h"
#include "support/test.h"

enum { N_ROWS = 600 };

typedef struct rows {
    int32_t truth[N_ROWS];
    float score[N_ROWS * 3], weight[N_ROWS];
} rows;

static double uniform(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return (double)(*x >> 11) * 0x1p-53;
}

/* Scores in some steps, so that there are ties; from -2 to 2, or probabilities near 0 and 1. */
static void draw_rows(rows *r, unsigned n_classes, unsigned n_columns, bool is_probability)
{
    uint64_t x = 42;
    for (unsigned i = 0; i < N_ROWS; i++) {
        r->truth[i] = (int32_t)(uniform(&x) * n_classes);
        r->weight[i] = (float)(0.25 + floor(4 * uniform(&x)));
        for (unsigned k = 0; k < n_columns; k++) {
            bool own = r->truth[i] == (n_columns == 1 ? 1 : (int32_t)k);
            double s = floor(40 * (uniform(&x) + (own ? 0.3 : 0.0))) / 10 - 2;
            r->score[i * n_columns + k] = (float)(is_probability ? 1 / (1 + exp(-6 * s)) : s);
        }
    }
}

/* One against the rest, by all pairs. */
static double slow_area(const rows *r, unsigned n_columns, unsigned column, bool is_weighted)
{
    double area = 0.0, pairs = 0.0;
    for (unsigned i = 0; i < N_ROWS; i++) {
        if (r->truth[i] != (n_columns == 1 ? 1 : (int32_t)column)) continue;
        for (unsigned j = 0; j < N_ROWS; j++) {
            if (r->truth[j] == r->truth[i]) continue;
            float a = r->score[i * n_columns + column], b = r->score[j * n_columns + column];
            double w = is_weighted ? (double)r->weight[i] * (double)r->weight[j] : 1.0;
            area += w * (a > b ? 1.0 : a == b ? 0.5 : 0.0);
            pairs += w;
        }
    }
    return area / pairs;
}

/* Sums of the weights of the positive rows and of all with a score of at least `least`. */
static void count_above(const rows *r, unsigned n_columns, unsigned column, bool is_weighted,
                        double least, double *positive, double *all)
{
    *positive = *all = 0.0;
    for (unsigned i = 0; i < N_ROWS; i++) {
        if ((double)r->score[i * n_columns + column] < least) continue;
        const double w = is_weighted ? (double)r->weight[i] : 1.0;
        *all += w;
        if (r->truth[i] == (n_columns == 1 ? 1 : (int32_t)column)) *positive += w;
    }
}

/* The mean, over the positive rows, of the precision among the rows that score no less: the sum
 * of gains in recall times precision, as each distinct score gains its positive rows. */
static double slow_precision(const rows *r, unsigned n_columns, unsigned column, bool is_weighted)
{
    double sum = 0.0, weights = 0.0, positive, all;
    for (unsigned i = 0; i < N_ROWS; i++) {
        if (r->truth[i] != (n_columns == 1 ? 1 : (int32_t)column)) continue;
        const double w = is_weighted ? (double)r->weight[i] : 1.0;
        count_above(r, n_columns, column, is_weighted, (double)r->score[i * n_columns + column],
                    &positive, &all);
        sum += w * positive / all;
        weights += w;
    }
    return sum / weights;
}

static drove_areas areas_of(const rows *r, unsigned n_columns, bool is_probability,
                            bool is_weighted, size_t most_bytes)
{
    const drove_ranking_options opt = {.n_columns = n_columns,
                                       .n_rows = N_ROWS,
                                       .most_bytes = most_bytes,
                                       .is_probability = is_probability};
    drove_ranking *ranking;
    drove_areas areas;
    assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
    for (unsigned i = 0; i < N_ROWS; i++)
        drove__ranking_add(ranking, r->score + i * n_columns, r->truth[i],
                           is_weighted ? (double)r->weight[i] : 1.0);
    assert_int_equal(drove__ranking_areas(ranking, &areas), DROVE_OK);
    drove__ranking_destroy(ranking);
    return areas;
}

TEST(areas_are_those_of_all_pairs_and_of_all_thresholds)
{
    rows *r = calloc(1, sizeof *r);
    for (unsigned way = 0; way < 8; way++) {
        const unsigned n_columns = (way & 1) != 0 ? 3 : 1;
        bool is_probability = (way & 2) != 0, is_weighted = (way & 4) != 0;
        double auc = 0.0, precision = 0.0, share = 0.0;
        draw_rows(r, n_columns == 1 ? 2 : 3, n_columns, is_probability);
        for (unsigned k = 0; k < n_columns; k++) {
            double positive, all;
            count_above(r, n_columns, k, is_weighted, -INFINITY, &positive, &all);
            auc += slow_area(r, n_columns, k, is_weighted) / n_columns;
            precision += slow_precision(r, n_columns, k, is_weighted) / n_columns;
            share += positive / all / n_columns;
        }
        const drove_areas exact = areas_of(r, n_columns, is_probability, is_weighted, 0);
        assert_true(fabs(exact.auc - auc) < 1e-12);
        assert_true(fabs(exact.average_precision - precision) < 1e-12);
        assert_true(fabs(exact.share - share) < 1e-12);
        assert_true(exact.auc_error == 0.0 && exact.average_precision_error == 0.0);
        const drove_areas rough = areas_of(r, n_columns, is_probability, is_weighted, 1000);
        assert_true(fabs(rough.auc - auc) <= rough.auc_error + 1e-12);
        assert_true(rough.auc_error < 0.2 && rough.auc_error > 0.0);
        assert_true(fabs(rough.average_precision - precision) <=
                    rough.average_precision_error + 1e-12);
        assert_true(rough.average_precision_error < 0.3 && rough.average_precision_error > 0.0);
    }
    free(r);
}

/* Whatever the order inside a bin is, the bound holds: positive rows first, or last. */
TEST(the_bound_of_the_average_precision_holds_at_its_ends)
{
    enum { N = 40 };
    for (int positive_first = 0; positive_first < 2; positive_first++) {
        drove_areas of[2];
        for (int is_rough = 0; is_rough < 2; is_rough++) {
            const drove_ranking_options opt = {.n_columns = 1,
                                               .n_rows = N,
                                               .most_bytes = is_rough ? 1 : 0,
                                               .is_probability = true};
            drove_ranking *ranking;
            assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
            for (int i = 0; i < N; i++) {
                const float p = 0.3f + 1e-6f * (float)i;
                drove__ranking_add(ranking, &p, (i < N / 2) != positive_first, 1.0);
            }
            assert_int_equal(drove__ranking_areas(ranking, &of[is_rough]), DROVE_OK);
            drove__ranking_destroy(ranking);
        }
        const double error = fabs(of[1].average_precision - of[0].average_precision);
        assert_true(of[1].average_precision == 0.5);
        assert_true(error > 0.1 && error <= of[1].average_precision_error + 1e-12);
        assert_true(of[1].average_precision_error <= 0.5);
    }
}

/* 65,536 bins tell probabilities apart wherever they lie. */
TEST(full_histograms_are_fine_at_both_ends)
{
    enum { N = 20000 };
    const drove_ranking_options opt = {.n_columns = 1,
                                       .n_rows = (size_t)1 << 40, /* more than could be kept */
                                       .is_probability = true};
    drove_ranking *ranking;
    uint64_t x = 7;
    drove_areas areas;
    assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
    for (unsigned i = 0; i < N; i++) {
        double u = uniform(&x), tiny = exp(-3 - 10 * u);
        float p = i % 2 ? (float)tiny : 1.0f - (float)tiny;
        drove__ranking_add(ranking, &p, uniform(&x) < u, 1.0);
    }
    assert_int_equal(drove__ranking_areas(ranking, &areas), DROVE_OK);
    assert_true(areas.auc_error < 1e-3 && areas.average_precision_error < 1e-3);
    drove__ranking_destroy(ranking);
}

/* As many bins as memory of two doubles for each holds: with half of them these two are one. */
TEST(histograms_take_all_the_memory_they_may)
{
    enum { BINS = 65536 };
    const float score[] = {0.25f, 0.25f * (1.0f + 1.0f / 1024.0f)};
    for (size_t lacking = 0; lacking < 2; lacking++) {
        const drove_ranking_options opt = {.n_columns = 1,
                                           .n_rows = (size_t)1 << 40,
                                           .most_bytes = BINS * 2 * sizeof(double) - lacking,
                                           .is_probability = true};
        drove_ranking *ranking;
        drove_areas areas;
        assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
        for (int i = 0; i < 2; i++) drove__ranking_add(ranking, &score[i], i, 1.0);
        assert_int_equal(drove__ranking_areas(ranking, &areas), DROVE_OK);
        assert_true(areas.auc == (lacking == 0 ? 1.0 : 0.5) &&
                    areas.auc_error == (lacking == 0 ? 0.0 : 0.5));
        drove__ranking_destroy(ranking);
    }
}

/* Neighbouring floats, the larger ones first. */
TEST(the_last_bit_of_a_score_counts)
{
    const float low = 0.3f, high = nextafterf(low, 1.0f), score[] = {high, low, high, low};
    const int32_t truth[] = {1, 0, 1, 0};
    const drove_ranking_options opt = {.n_columns = 1, .n_rows = 4};
    drove_ranking *ranking;
    drove_areas areas;
    assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
    for (int i = 0; i < 4; i++) drove__ranking_add(ranking, &score[i], truth[i], 1.0);
    assert_int_equal(drove__ranking_areas(ranking, &areas), DROVE_OK);
    assert_true(areas.auc == 1.0 && areas.average_precision == 1.0);
    drove__ranking_destroy(ranking);
}

TEST(an_area_needs_both_kinds_and_numbers)
{
    const drove_ranking_options opt = {.n_columns = 1, .n_rows = 3};
    const float score[] = {0.1f, 0.7f, NAN};
    const int32_t truth[] = {1, 1, 0};
    drove_ranking *ranking;
    drove_areas areas;
    assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(drove__ranking_areas(ranking, &areas), DROVE_OK);
        assert_true(isnan(areas.auc) && isnan(areas.average_precision));
        drove__ranking_add(ranking, &score[i], truth[i], 1.0);
    }
    assert_int_equal(drove__ranking_areas(ranking, &areas), DROVE_OK);
    assert_true(isnan(areas.auc) && isnan(areas.average_precision));
    drove__ranking_destroy(ranking);
    drove__ranking_destroy(NULL);
}

/* ---- curves and samples ---- */

TEST(points_of_a_curve_are_counts_and_close_together)
{
    rows *r = calloc(1, sizeof *r);
    for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
        drove_metrics_point point[DROVE_METRICS_POINTS];
        double positive, all;
        size_t n;
        const drove_ranking_options opt = {.n_columns = 1, .n_rows = N_ROWS};
        drove_ranking *ranking;
        draw_rows(r, 2, 1, false);
        for (unsigned i = 0; i < N_ROWS; i++) r->score[i] += 1e-5f * (float)i; /* fewer ties */
        count_above(r, 1, 0, is_weighted != 0, -INFINITY, &positive, &all);
        assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
        for (unsigned i = 0; i < N_ROWS; i++)
            drove__ranking_add(ranking, &r->score[i], r->truth[i],
                               is_weighted ? (double)r->weight[i] : 1.0);
        assert_int_equal(drove__ranking_curve(ranking, positive, all - positive, point, &n),
                         DROVE_OK);
        assert_true(n > 40 && n <= DROVE_METRICS_POINTS);
        for (size_t i = 0; i < n; i++) {
            double hit, said;
            count_above(r, 1, 0, is_weighted != 0, point[i].score, &hit, &said);
            assert_true(fabs(point[i].recall - hit / positive) < 1e-12);
            assert_true(fabs(point[i].false_positive_rate - (said - hit) / (all - positive)) <
                        1e-12);
            assert_true(fabs(point[i].precision - hit / said) < 1e-12);
            if (i == 0) continue;
            assert_true(point[i].score < point[i - 1].score);
            assert_true(point[i].recall - point[i - 1].recall < 0.04);
            assert_true(point[i].false_positive_rate - point[i - 1].false_positive_rate < 0.04);
        }
        assert_true(fabs(point[n - 1].recall - 1.0) < 1e-12);
        assert_true(fabs(point[n - 1].false_positive_rate - 1.0) < 1e-12);

        /* a class without rows, a NaN: no curve */
        const float nan = NAN;
        assert_int_equal(drove__ranking_curve(ranking, 0.0, 1.0, point, &n), DROVE_OK);
        assert_int_equal(n, 0);
        drove__ranking_destroy(ranking);
        assert_int_equal(drove__ranking_create(&opt, &ranking), DROVE_OK);
        drove__ranking_add(ranking, &nan, 1, 1.0);
        assert_int_equal(drove__ranking_curve(ranking, 1.0, 1.0, point, &n), DROVE_OK);
        assert_int_equal(n, 0);
        drove__ranking_destroy(ranking);
    }
    free(r);
}

/* Few rows are all there; of many, 300 at equal distances, whatever the blocks are. */
TEST(a_sample_has_rows_at_equal_distances)
{
    static float target[1000], value[1000];
    static const double mean[1] = {3.0};
    for (unsigned i = 0; i < 1000; i++) {
        target[i] = (float)i;
        value[i] = (float)i + 0.5f;
    }
    for (size_t size = 7; size <= 1000; size += 993) {
        for (size_t n = 10; n <= 1000; n += 990) {
            const drove_tally_options opt = {
                .kind = DROVE_METRICS_VALUES, .n_columns = 1, .n_rows = n, .constant = mean};
            drove_tally *t;
            drove_metrics *m;
            assert_int_equal(drove__tally_create(&opt, &t), DROVE_OK);
            for (size_t i = 0; i < n; i += size) {
                const drove_tally_rows block = {.n_rows = n - i < size ? n - i : size,
                                                .score = value + i,
                                                .y_value = target + i};
                assert_int_equal(drove__tally_add(t, &block), DROVE_OK);
            }
            assert_int_equal(drove__tally_metrics(t, &m), DROVE_OK);
            assert_int_equal(m->n_pairs, n < DROVE_METRICS_PAIRS ? n : DROVE_METRICS_PAIRS);
            assert_true(m->pair[0].target == 0.0);
            for (size_t i = 0; i < m->n_pairs; i++) {
                assert_true(m->pair[i].prediction == m->pair[i].target + 0.5);
                if (i == 0) continue;
                const double step = m->pair[i].target - m->pair[i - 1].target;
                assert_true(n == 10 ? step == 1.0 : step == 3.0 || step == 4.0);
            }
            assert_true(n == 10 || m->pair[m->n_pairs - 1].target >= 996.0);
            drove_metrics_destroy(m);
            drove__tally_destroy(t);
        }
    }
}

/* ---- tallies ---- */

static const double thirds[3] = {0.5, 0.3, 0.2};

static drove_tally_options three_classes(bool is_probability)
{
    return (drove_tally_options){.kind = DROVE_METRICS_CLASSES,
                                 .n_classes = 3,
                                 .n_columns = 3,
                                 .n_rows = N_ROWS,
                                 .is_probability = is_probability,
                                 .constant = thirds};
}

/* In blocks of so many rows. */
static drove_metrics *in_blocks(const rows *r, unsigned size)
{
    const drove_tally_options opt = three_classes(true);
    drove_tally *t;
    drove_metrics *m;
    assert_int_equal(drove__tally_create(&opt, &t), DROVE_OK);
    for (unsigned i = 0; i < N_ROWS; i += size) {
        const drove_tally_rows block = {.n_rows = N_ROWS - i < size ? N_ROWS - i : size,
                                        .score = r->score + 3 * i,
                                        .y_class = r->truth + i,
                                        .weight = r->weight + i};
        assert_int_equal(drove__tally_add(t, &block), DROVE_OK);
    }
    assert_int_equal(drove__tally_metrics(t, &m), DROVE_OK);
    drove__tally_destroy(t);
    return m;
}

TEST(blocks_of_rows_do_not_matter)
{
    static const unsigned sizes[] = {1, 7, 256};
    rows *r = calloc(1, sizeof *r);
    draw_rows(r, 3, 3, true);
    drove_metrics *whole = in_blocks(r, N_ROWS);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        drove_metrics *m = in_blocks(r, sizes[i]);
        assert_memory_equal(&m->model, &whole->model, sizeof m->model);
        assert_memory_equal(&m->constant, &whole->constant, sizeof m->constant);
        assert_memory_equal(m->confusion, whole->confusion, 9 * sizeof(double));
        assert_true(m->calibration_error == whole->calibration_error);
        drove_metrics_destroy(m);
    }
    drove_metrics_destroy(whole);
    free(r);
}

static drove_metrics *of_one_block(const drove_tally_options *opt, const drove_tally_rows *block)
{
    drove_tally *t;
    drove_metrics *m;
    assert_int_equal(drove__tally_create(opt, &t), DROVE_OK);
    assert_int_equal(drove__tally_add(t, block), DROVE_OK);
    assert_int_equal(drove__tally_metrics(t, &m), DROVE_OK);
    drove__tally_destroy(t);
    return m;
}

/* Distances of a hinge loss: right and wrong, and their order, but no probabilities. */
/* y = [[1, 100], [2, -50], [4, 25], [-3, 0], [0.5, 75]], p = [[1.5, 90], [1, -20], [4.25, 30],
 * [-2, 5], [0, 60]], w = [1, 2, 0.5, 0, 3]:
 *   [f(y, p, sample_weight=w, multioutput=m) for f in (root_mean_squared_error,
 *    mean_absolute_error, r2_score)]   with m "uniform_average" and "raw_values"
 * of scikit-learn 1.9.1. */
TEST(several_values_are_averaged)
{
    static const float y[] = {1, 100, 2, -50, 4, 25, -3, 0, 0.5f, 75};
    static const float p[] = {1.5f, 90, 1, -20, 4.25f, 30, -2, 5, 0, 60};
    static const float w[] = {1, 2, 0.5f, 0, 3};
    static const double each[2][3] = {{0.68289542, 0.63461538, 0.54311594},
                                      {19.95186515, 18.07692308, 0.88993865}};
    const char *const names[] = {"length", "charge"};
    const double means[] = {8.5 / 6.5, 237.5 / 6.5};
    const drove_tally_options opt = {.kind = DROVE_METRICS_VALUES,
                                     .n_columns = 2,
                                     .n_rows = 5,
                                     .constant = means,
                                     .class_name = names};
    const drove_tally_rows block = {.n_rows = 5, .score = p, .y_value = y, .weight = w};
    drove_metrics *m = of_one_block(&opt, &block);
    assert_true(m->n_values == 2 && m->n_classes == 0 && m->per_class == NULL);
    assert_true(fabs(m->model.rmse - 10.317380286120812) < 1e-9);
    assert_true(fabs(m->model.mae - 9.35576923076923) < 1e-9);
    assert_true(fabs(m->model.r2 - 0.716527296167867) < 1e-9);
    for (size_t k = 0; k < 2; k++) {
        const drove_metrics_value *v = &m->per_value[k];
        assert_string_equal(v->name, names[k]);
        assert_true(fabs(v->rmse - each[k][0]) < 1e-7 && fabs(v->mae - each[k][1]) < 1e-7);
        assert_true(fabs(v->r2 - each[k][2]) < 1e-7);
        assert_true(v->constant_value == means[k] && fabs(v->constant_r2) < 1e-12);
    }
    assert_true(fabs(m->constant.r2) < 1e-12 && !m->is_no_better);
    drove_metrics_destroy(m);
}

TEST(margins_have_no_probabilities)
{
    const float margin[] = {-3.0f, 0.5f, 2.0f, -0.1f};
    const int32_t truth[] = {0, 0, 1, 1};
    const double halves[] = {0.5, 0.5};
    const drove_tally_options opt = {.kind = DROVE_METRICS_CLASSES,
                                     .n_classes = 2,
                                     .n_columns = 1,
                                     .n_rows = 4,
                                     .constant = halves};
    const drove_tally_rows block = {.n_rows = 4, .score = margin, .y_class = truth};
    drove_metrics *m = of_one_block(&opt, &block);
    assert_true(m->model.accuracy == 0.5 && m->model.auc == 0.75);
    assert_true(isnan(m->model.log_loss) && isnan(m->constant.log_loss));
    assert_false(m->has_calibration);
    assert_true(isnan(m->model.rmse) && isnan(m->model.f1_micro));
    assert_true(m->is_no_better);
    assert_string_equal(m->per_class[1].name, "1");
    drove_metrics_destroy(m);
}

/* A probability on an edge belongs to the bin below; those of bin 0 are 0 and more. */
TEST(bins_end_at_their_upper_edge)
{
    const float p[] = {0.0f, 0.5f, 0.50000006f, 1.0f};
    const int32_t truth[] = {0, 1, 1, 1};
    const double halves[] = {0.5, 0.5};
    const drove_tally_options opt = {.kind = DROVE_METRICS_CLASSES,
                                     .n_classes = 2,
                                     .n_columns = 1,
                                     .n_rows = 4,
                                     .is_probability = true,
                                     .constant = halves};
    const drove_tally_rows block = {.n_rows = 4, .score = p, .y_class = truth};
    drove_metrics *m = of_one_block(&opt, &block);
    static const double expected[DROVE_METRICS_BINS] = {1, 0, 0, 0, 1, 1, 0, 0, 0, 1};
    for (int i = 0; i < DROVE_METRICS_BINS; i++) assert_true(m->bin[i].count == expected[i]);
    assert_true(isnan(m->bin[1].mean) && isnan(m->bin[1].observed));
    assert_true(m->bin[4].mean == 0.5 && m->bin[4].observed == 1.0);
    assert_true(fabs(m->calibration_error - 0.25) < 1e-7);
    assert_true(fabs(m->model.accuracy - 0.75) < 1e-15); /* 1/2 is not above 1/2 */
    assert_false(m->is_no_better);
    drove_metrics_destroy(m);
}

TEST(many_classes_have_no_confusion_matrix)
{
    enum { N = DROVE_METRICS_CONFUSION_CLASSES + 1 };
    static double share[N];
    static float score[N];
    const int32_t truth = 3;
    const drove_tally_options opt = {.kind = DROVE_METRICS_CLASSES,
                                     .n_classes = N,
                                     .n_columns = N,
                                     .n_rows = 1,
                                     .is_probability = true,
                                     .constant = share};
    const drove_tally_rows block = {.n_rows = 1, .score = score, .y_class = &truth};
    score[3] = 1.0f;
    drove_metrics *m = of_one_block(&opt, &block);
    assert_null(m->confusion);
    assert_true(m->model.accuracy == 1.0 && m->per_class[3].recall == 1.0);
    assert_true(isnan(m->model.auc));
    drove_metrics_destroy(m);
}

TEST(nothing_is_defined_without_rows)
{
    const drove_tally_options opt = three_classes(true);
    const drove_tally_rows none = {0};
    drove_metrics *m = of_one_block(&opt, &none);
    assert_true(isnan(m->model.accuracy) && isnan(m->model.auc) && isnan(m->model.f1_macro));
    assert_true(isnan(m->constant.accuracy) && isnan(m->calibration_error));
    assert_false(m->is_no_better);
    drove_metrics_destroy(m);
    drove_metrics_destroy(NULL);
}

TEST(more_rows_than_announced_are_refused)
{
    drove_tally_options opt = three_classes(true);
    const float score[6] = {0};
    const int32_t truth[2] = {0};
    const drove_tally_rows two = {.n_rows = 2, .score = score, .y_class = truth};
    drove_tally *t;
    opt.n_rows = 1;
    assert_int_equal(drove__tally_create(&opt, &t), DROVE_OK);
    assert_int_equal(drove__tally_add(t, &two), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "at most 1 rows, found 2"));
    drove__tally_destroy(t);
    drove__tally_destroy(NULL);
}

/* Sixteen of the rare class in 160, which a model that counts them for more gives more than the
 * others: it is less often right than "always 0", and worse in its probabilities.  With `n_apart`
 * of them where the others are it knows nothing. */
static int says_no_better(unsigned n_apart, float of_each)
{
    float score[160], weight[160];
    int32_t truth[160];
    const double share[] = {0.9, 0.1};
    for (unsigned i = 0; i < 160; i++) {
        truth[i] = i % 10 == 0;
        weight[i] = of_each;
        score[i] = i / 10 % 16 < n_apart && truth[i] ? 0.9f : i % 4 == 1 ? 0.6f : 0.4f;
    }
    const drove_tally_options opt = {.kind = DROVE_METRICS_CLASSES,
                                     .n_classes = 2,
                                     .n_columns = 1,
                                     .n_rows = 160,
                                     .is_probability = true,
                                     .constant = share};
    const drove_tally_rows block = {
        .n_rows = 160, .score = score, .y_class = truth, .weight = weight};
    drove_metrics *m = of_one_block(&opt, &block);
    const int found = m->is_no_better;
    assert_true(m->model.accuracy < m->constant.accuracy);
    assert_true(m->model.log_loss > m->constant.log_loss);
    drove_metrics_destroy(m);
    return found;
}

/* An AUC of 0.95 is beyond chance; one of 0.5, of 16 of 160, is within 2 x 0.076 of it. */
TEST(who_tells_classes_apart_is_better)
{
    static const float unit[] = {1e-4f, 1.0f, 1e4f}; /* of the weights, which says nothing */
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++) {
        assert_int_equal(says_no_better(16, unit[i]), 0);
        assert_int_equal(says_no_better(0, unit[i]), 1);
        assert_int_equal(says_no_better(2, unit[i]), 1);
    }
}

/* Always right about the frequent class alone: as often right as the guess, with worse odds. */
TEST(a_constant_model_is_no_better)
{
    rows *r = calloc(1, sizeof *r);
    const drove_tally_options opt = three_classes(true);
    for (unsigned i = 0; i < N_ROWS; i++) {
        r->truth[i] = i % 10 < 5 ? 0 : i % 10 < 8 ? 1 : 2;
        memcpy(r->score + 3 * i, (float[]){0.6f, 0.3f, 0.1f}, 3 * sizeof(float));
    }
    const drove_tally_rows block = {.n_rows = N_ROWS, .score = r->score, .y_class = r->truth};
    drove_metrics *m = of_one_block(&opt, &block);
    assert_true(m->is_no_better);
    assert_int_equal(m->constant_class, 0);
    assert_true(m->model.accuracy == m->constant.accuracy && m->model.auc == 0.5);
    drove_metrics_destroy(m);
    free(r);
}
