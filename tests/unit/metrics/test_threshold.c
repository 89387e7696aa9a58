/* Thresholds of two classes: the best one against every other, by counting; the texts that say
 * which is wanted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/tally.h"
#include "support/test.h"

enum { N_ROWS = 300 };

typedef struct rows {
    int32_t truth[N_ROWS];
    float p[N_ROWS], both[N_ROWS][2], weight[N_ROWS];
} rows;

static unsigned draw(uint32_t *x, unsigned m)
{
    *x = *x * 1664525u + 1013904223u;
    return (*x >> 16) % m;
}

/* One row in eight has the second class; probabilities tie. */
static rows *draw_rows(bool is_weighted)
{
    uint32_t x = 11;
    rows *r = calloc(1, sizeof *r);
    for (unsigned i = 0; i < N_ROWS; i++) {
        r->truth[i] = draw(&x, 8) == 0;
        r->p[i] = (float)(1 + draw(&x, 40) + (r->truth[i] != 0 ? 12 : 0)) / 97.0f;
        r->both[i][0] = 1.0f - r->p[i];
        r->both[i][1] = r->p[i];
        r->weight[i] = is_weighted ? (float)(1 + draw(&x, 4)) / 2.0f : 1.0f;
    }
    return r;
}

/* hit, wrong, missed: sums of weights with the second class from p >= threshold on. */
static void count(const rows *r, double threshold, double sum[3])
{
    sum[0] = sum[1] = sum[2] = 0.0;
    for (unsigned i = 0; i < N_ROWS; i++) {
        const bool is_said = r->p[i] >= (float)threshold;
        if (is_said) sum[r->truth[i] == 1 ? 0 : 1] += (double)r->weight[i];
        else if (r->truth[i] == 1) sum[2] += (double)r->weight[i];
    }
}

static drove_metrics *measure(const rows *r, unsigned n_columns, const char *threshold,
                              size_t most_bytes)
{
    static const double share[2] = {0.875, 0.125};
    drove_tally_options opt = {.kind = DROVE_METRICS_CLASSES,
                               .n_classes = 2,
                               .n_columns = n_columns,
                               .n_rows = N_ROWS,
                               .is_probability = true,
                               .constant = share,
                               .auc_bytes = most_bytes};
    const drove_tally_rows all = {.n_rows = N_ROWS,
                                  .score = n_columns == 1 ? r->p : r->both[0],
                                  .y_class = r->truth,
                                  .weight = r->weight};
    drove_tally *t;
    drove_metrics *m;
    assert_int_equal(drove__threshold_parse(threshold, &opt.threshold), DROVE_OK);
    assert_int_equal(drove__tally_create(&opt, &t), DROVE_OK);
    assert_int_equal(drove__tally_add(t, &all), DROVE_OK);
    assert_int_equal(drove__tally_metrics(t, &m), DROVE_OK);
    drove__tally_destroy(t);
    return m;
}

static double f1_at(const rows *r, double threshold)
{
    double sum[3];
    count(r, threshold, sum);
    return sum[0] > 0.0 ? 2.0 * sum[0] / (2.0 * sum[0] + sum[1] + sum[2]) : 0.0;
}

static double cost_at(const rows *r, double threshold, double fp, double fn)
{
    double sum[3], weight = 0.0;
    for (unsigned i = 0; i < N_ROWS; i++) weight += (double)r->weight[i];
    count(r, threshold, sum);
    return (fp * sum[1] + fn * sum[2]) / weight;
}

/* All figures are those of predictions at the threshold that was found, or given. */
static void check_figures(const rows *r, const drove_metrics *m)
{
    double sum[3], weight = 0.0, positive = 0.0;
    for (unsigned i = 0; i < N_ROWS; i++) {
        weight += (double)r->weight[i];
        if (r->truth[i] == 1) positive += (double)r->weight[i];
    }
    count(r, m->threshold.value, sum);
    const double right = weight - positive - sum[1];
    assert_true(fabs(m->confusion[0] - right) < 1e-9);
    assert_true(fabs(m->confusion[1] - sum[1]) < 1e-9);
    assert_true(fabs(m->confusion[2] - sum[2]) < 1e-9);
    assert_true(fabs(m->confusion[3] - sum[0]) < 1e-9);
    assert_true(fabs(m->model.accuracy - (right + sum[0]) / weight) < 1e-12);
    assert_true(fabs(m->model.balanced_accuracy -
                     0.5 * (right / (weight - positive) + sum[0] / positive)) < 1e-12);
    assert_true(fabs(m->threshold.recall - sum[0] / positive) < 1e-12);
    assert_true(fabs(m->threshold.f1 - f1_at(r, m->threshold.value)) < 1e-12);
    if (sum[0] + sum[1] > 0.0)
        assert_true(fabs(m->threshold.precision - sum[0] / (sum[0] + sum[1])) < 1e-12);
    assert_true(m->per_class[1].f1 == m->threshold.f1);
}

TEST(the_threshold_is_the_best_of_all)
{
    static const char *const costs[] = {"cost:fp=1,fn=5", "cost:fn=1,fp=1", "cost:fp=2,fn=0",
                                        "cost:fp=0,fn=3"};
    static const double cost_of[][2] = {{1, 5}, {1, 1}, {2, 0}, {0, 3}};
    for (unsigned way = 0; way < 8; way++) {
        rows *r = draw_rows((way & 1) != 0);
        const unsigned n_columns = (way & 2) != 0 ? 2 : 1;
        const size_t most_bytes = (way & 4) != 0 ? 65536 * 16 : 0; /* histograms */
        drove_metrics *m = measure(r, n_columns, "f1", most_bytes);
        check_figures(r, m);
        for (unsigned k = 0; k <= 1000; k++)
            assert_true(m->threshold.f1 >= f1_at(r, k / 1000.0) - 1e-12);
        assert_string_equal(m->threshold.by, "f1");
        assert_true(isnan(m->threshold.cost));

        /* the text of the number gives the same predictions */
        char text[32];
        snprintf(text, sizeof text, "%.9g", m->threshold.value);
        drove_metrics *again = measure(r, n_columns, text, most_bytes);
        check_figures(r, again);
        assert_memory_equal(again->confusion, m->confusion, 4 * sizeof(double));
        assert_string_equal(again->threshold.by, "given");
        drove_metrics_destroy(again);
        drove_metrics_destroy(m);

        for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
            m = measure(r, n_columns, costs[c], most_bytes);
            check_figures(r, m);
            const double least = cost_at(r, m->threshold.value, cost_of[c][0], cost_of[c][1]);
            assert_true(fabs(m->threshold.cost - least) < 1e-12);
            for (unsigned k = 0; k <= 1000; k++)
                assert_true(least <= cost_at(r, k / 1000.0, cost_of[c][0], cost_of[c][1]) + 1e-12);
            drove_metrics_destroy(m);
        }
        free(r);
    }
}

/* Half-way between the classes where they part; neighbouring floats are told apart. */
TEST(a_threshold_lies_between_two_probabilities)
{
    rows *r = calloc(1, sizeof *r);
    for (unsigned i = 0; i < N_ROWS; i++) {
        r->truth[i] = i % 10 == 0;
        r->p[i] = r->truth[i] == 1 ? 0.75f : 0.25f;
        r->weight[i] = 1.0f;
    }
    drove_metrics *m = measure(r, 1, "f1", 0);
    assert_true(m->threshold.value == 0.5 && m->threshold.f1 == 1.0);
    drove_metrics_destroy(m);
    const float next = nextafterf(0.25f, 1.0f);
    for (unsigned i = 0; i < N_ROWS; i++)
        if (r->truth[i] == 1) r->p[i] = next;
    m = measure(r, 1, "f1", 0);
    assert_true(m->threshold.value == (double)next && m->threshold.f1 == 1.0);
    drove_metrics_destroy(m);

    /* A NaN leaves no order: no threshold, and the usual predictions. */
    r->p[3] = NAN;
    m = measure(r, 1, "f1", 0);
    assert_true(m->threshold.by == NULL && isnan(m->threshold.value));
    drove_metrics_destroy(m);
    m = measure(r, 1, "", 0);
    assert_true(m->threshold.by == NULL);
    drove_metrics_destroy(m);
    free(r);
}

TEST(a_text_says_which_threshold)
{
    drove_threshold t;
    assert_int_equal(drove__threshold_parse(NULL, &t), DROVE_OK);
    assert_int_equal(t.by, DROVE_THRESHOLD_USUAL);
    assert_int_equal(drove__threshold_parse("0.125", &t), DROVE_OK);
    assert_true(t.by == DROVE_THRESHOLD_NUMBER && t.number == 0.125);
    assert_int_equal(drove__threshold_parse("cost:fn=5,fp=0.5", &t), DROVE_OK);
    assert_true(t.by == DROVE_THRESHOLD_COST && t.cost_false_positive == 0.5 &&
                t.cost_false_negative == 5.0);
    static const char *const wrong[] = {"1.5",
                                        "-0.1",
                                        "nan",
                                        "F1",
                                        "cost",
                                        "cost:",
                                        "cost:fp=1",
                                        "cost:fp=1,fp=2",
                                        "cost:fp=0,fn=0",
                                        "cost:fp=-1,fn=2",
                                        "cost:fp=1,fn=2,",
                                        "cost:fp=,fn=2",
                                        "costs"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(drove__threshold_parse(wrong[i], &t), DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), "--threshold"));
        assert_int_equal(drove__threshold_parse_number(wrong[i], &t), DROVE_E_ARG);
    }
    assert_int_equal(drove__threshold_parse_number("f1", &t), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "drove eval --threshold f1"));
    assert_int_equal(drove__threshold_parse_number("0", &t), DROVE_OK);
    assert_true(t.by == DROVE_THRESHOLD_NUMBER);
}

TEST(a_threshold_is_of_two_classes_with_probabilities)
{
    const drove_threshold f1 = {.by = DROVE_THRESHOLD_F1}, usual = {.by = DROVE_THRESHOLD_USUAL};
    assert_int_equal(drove__threshold_check(&f1, 2, false, true, "logistic"), DROVE_OK);
    assert_int_equal(drove__threshold_check(&usual, 0, false, false, "squared"), DROVE_OK);
    assert_int_equal(drove__threshold_check(&f1, 0, false, false, "squared"), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "values"));
    assert_int_equal(drove__threshold_check(&f1, 10, false, true, "softmax"), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "10 classes"));
    assert_int_equal(drove__threshold_check(&f1, 2, true, true, "sigmoid"), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "label sets"));
    assert_int_equal(drove__threshold_check(&f1, 2, false, false, "hinge"), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "hinge"));
}
