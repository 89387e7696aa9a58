/* Metrics as JSON and for people, from figures written by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/report.h"
#include "report/sections.h"
#include "support/test.h"

static const drove_metrics_figures nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

static char cat[] = "cat", dog[] = "a \"dog\"";
static double confusion[] = {3, 1, 0, 4};

static drove_metrics two_classes(drove_metrics_class per_class[2])
{
    drove_metrics m = {.kind = DROVE_METRICS_CLASSES,
                       .n_rows = 8,
                       .weight = 8,
                       .n_classes = 2,
                       .model = nothing,
                       .constant = nothing,
                       .per_class = per_class,
                       .confusion = confusion,
                       .has_calibration = 1,
                       .calibration_error = 0.25};
    per_class[0] = (drove_metrics_class){cat, 1.0, 0.75, 6.0 / 7.0, 4};
    per_class[1] = (drove_metrics_class){dog, 0.8, 1.0, 8.0 / 9.0, 4};
    m.model.accuracy = 0.875;
    m.model.log_loss = 0.3;
    m.constant.accuracy = 0.5;
    m.constant.log_loss = 0.6931;
    m.bin[0] = (drove_metrics_bin){.count = 8, .mean = 0.05, .observed = 0.3};
    for (int i = 1; i < DROVE_METRICS_BINS; i++) m.bin[i] = (drove_metrics_bin){0, NAN, NAN};
    return m;
}

static json_t *json_of(const drove_metrics *m)
{
    char *text;
    assert_int_equal(drove_metrics_json(m, &text), DROVE_OK);
    assert_null(strchr(text, '\n'));
    json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(object);
    free(text);
    return object;
}

static char *text_of(const drove_metrics *m)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(drove_metrics_print(m, stream), DROVE_OK);
    fclose(stream);
    return text;
}

TEST(the_keys_are_these)
{
    static const char *const keys[] = {"accuracy",  "balanced_accuracy",
                                       "log_loss",  "auc",
                                       "f1_macro",  "per_class",
                                       "confusion", "calibration",
                                       "rmse",      "mae",
                                       "r2",        "f1_micro",
                                       "constant",  "per_value",
                                       "threshold", "average_precision",
                                       "curve",     "sample"};
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class);
    json_t *object = json_of(&m);
    assert_int_equal(json_object_size(object), sizeof keys / sizeof *keys);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(json_object_get(object, keys[i]));
    assert_true(json_is_null(json_object_get(object, "auc")));
    assert_true(json_is_null(json_object_get(object, "rmse")));
    assert_true(json_is_null(json_object_get(object, "per_value")));
    assert_int_equal(json_array_size(json_object_get(object, "per_class")), 2);
    json_t *second = json_array_get(json_object_get(object, "per_class"), 1);
    assert_true(json_real_value(json_object_get(second, "precision")) == 0.8);
    assert_true(json_real_value(json_object_get(second, "recall")) == 1.0);
    assert_true(fabs(json_real_value(json_object_get(second, "f1")) - 8.0 / 9.0) < 1e-8);
    assert_int_equal(json_integer_value(json_object_get(second, "support")), 4);
    assert_string_equal(json_string_value(json_object_get(second, "class")), dog);
    json_t *matrix = json_object_get(object, "confusion");
    assert_int_equal(json_array_size(matrix), 2);
    for (size_t i = 0; i < 4; i++) {
        json_t *row = json_array_get(matrix, i / 2);
        assert_int_equal(json_array_size(row), 2);
        assert_int_equal(json_integer_value(json_array_get(row, i % 2)), (int)confusion[i]);
    }
    json_t *calibration = json_object_get(object, "calibration");
    json_t *bins = json_object_get(calibration, "bins");
    assert_true(json_real_value(json_object_get(calibration, "error")) == 0.25);
    assert_int_equal(json_array_size(bins), DROVE_METRICS_BINS);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(bins, 0), "count")), 8);
    assert_true(json_real_value(json_object_get(json_array_get(bins, 0), "mean")) == 0.05);
    assert_true(json_real_value(json_object_get(json_array_get(bins, 0), "observed")) == 0.3);
    assert_true(json_is_null(json_object_get(json_array_get(bins, 1), "mean")));
    json_t *constant = json_object_get(object, "constant");
    assert_string_equal(json_string_value(json_object_get(constant, "guess")), "cat");
    assert_string_equal(json_string_value(json_object_get(constant, "from")), "evaluated");
    assert_true(json_real_value(json_object_get(constant, "accuracy")) == 0.5);
    assert_true(json_real_value(json_object_get(object, "accuracy")) == 0.875);
    json_decref(object);
    confusion[1] = 1.5; /* weights */
    m.constant_class = 1;
    m.constant_is_training = 1;
    object = json_of(&m);
    json_t *row = json_array_get(json_object_get(object, "confusion"), 0);
    assert_true(json_real_value(json_array_get(row, 1)) == 1.5);
    constant = json_object_get(object, "constant");
    assert_string_equal(json_string_value(json_object_get(constant, "guess")), dog);
    assert_string_equal(json_string_value(json_object_get(constant, "from")), "training");
    json_decref(object);
    confusion[1] = 1;
}

/* A rare class of ten rows or more of which fewer than one in twenty is found. */
TEST(a_rare_class_that_is_hardly_ever_predicted_is_named)
{
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class);
    m.weight = 1000;
    per_class[0].support = 800;
    per_class[1] = (drove_metrics_class){dog, 0.5, 0.045, 0.1, 200};
    char *text = text_of(&m);
    assert_non_null(strstr(text,
                           "Class a \"dog\" (20 % of the rows) is hardly ever predicted: 9 of "
                           "its 200 rows are found.\n"
                           "To find more: drove train --class-weight balanced, or drove eval "
                           "--threshold f1 and drove predict with its number.\n"));
    free(text);

    /* probabilities alone have thresholds */
    m.has_calibration = 0;
    text = text_of(&m);
    assert_non_null(strstr(text, "To find more: drove train --class-weight balanced.\n"));
    free(text);

    /* enough are found; too few rows; no rarer than the others */
    static const double others[][2] = {{0.05, 200}, {0.0, 9}, {0.0, 500}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        per_class[1].recall = others[i][0];
        per_class[1].support = others[i][1];
        text = text_of(&m);
        assert_null(strstr(text, "hardly ever"));
        free(text);
    }
}

TEST(a_threshold_is_printed_with_what_it_gives)
{
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class);
    json_t *object = json_of(&m);
    assert_true(json_is_null(json_object_get(object, "threshold")));
    json_decref(object);
    m.threshold = (drove_metrics_threshold){0.123456789, "cost", 0.5, 0.25, 1.0 / 3.0, 0.75};
    char *text = text_of(&m);
    assert_non_null(strstr(text, "\nthreshold 0.123456789 (least cost of these examples): a "
                                 "\"dog\" from this probability on\n"
                                 "           precision 0.5000, recall 0.2500, F1 0.3333, cost 0.75 "
                                 "an example\n"));
    free(text);
    object = json_of(&m);
    const json_t *t = json_object_get(object, "threshold");
    assert_string_equal(json_string_value(json_object_get(t, "class")), dog);
    assert_string_equal(json_string_value(json_object_get(t, "by")), "cost");
    assert_true(json_real_value(json_object_get(t, "value")) == 0.123456789);
    assert_true(json_real_value(json_object_get(t, "precision")) == 0.5);
    assert_true(json_real_value(json_object_get(t, "recall")) == 0.25);
    assert_true(fabs(json_real_value(json_object_get(t, "f1")) - 1.0 / 3.0) < 1e-8);
    assert_true(json_real_value(json_object_get(t, "cost")) == 0.75);
    json_decref(object);
}

/* Every figure by its name: shares in percent, what is missing in the guess as a dash. */
TEST(figures_for_people)
{
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class);
    m.model = (drove_metrics_figures){0.5, 0.25, 0.125, 0.75, 0.375, 0.625, 1, 2, 3, 4};
    m.constant = nothing;
    m.per_class = NULL;
    m.n_classes = 0;
    m.confusion = NULL;
    m.auc_error = 0.002;
    m.average_precision_error = 0.004;
    m.calibration_error = NAN;
    char *text = text_of(&m);
    assert_string_equal(text, "                        model  constant guess (of these examples)\n"
                              "accuracy              50.00 %               -\n"
                              "balanced accuracy     25.00 %               -\n"
                              "log loss                0.125               -\n"
                              "AUC                      0.75               -\n"
                              "average precision       0.375               -\n"
                              "RMSE                        1               -\n"
                              "MAE                         2               -\n"
                              "R2                          3               -\n"
                              "micro-F1                    4               -\n"
                              "macro-F1                0.625               -\n"
                              "                   by histograms: AUC within 0.002, "
                              "average precision within 0.004\n");
    free(text);
}

/* Tables of 30 classes and confusions of 12 are printed, larger ones are not. */
TEST(large_tables_are_left_out)
{
    enum { MOST = 31 };
    static char name[MOST][16];
    static double zeros[MOST * MOST];
    drove_metrics_class per_class[MOST];
    drove_metrics m = two_classes(per_class);
    for (size_t k = 0; k < MOST; k++) {
        snprintf(name[k], sizeof name[k], "class %zu", k);
        per_class[k] = (drove_metrics_class){name[k], 0, 0, 0, 1};
    }
    m.confusion = zeros;
    static const struct {
        size_t n;
        bool has_table, has_confusion;
    } of[] = {{12, true, true}, {13, true, false}, {30, true, false}, {31, false, false}};
    for (size_t i = 0; i < DROVE_COUNT(of); i++) {
        m.n_classes = of[i].n;
        for (int labels = 0; labels < 2; labels++) {
            m.kind = labels ? DROVE_METRICS_LABELS : DROVE_METRICS_CLASSES;
            char *text = text_of(&m);
            const char *head = labels ? "\nlabel     precision    recall        F1   support\n"
                                      : "\nclass     precision    recall        F1   support\n";
            assert_int_equal(strstr(text, head) != NULL, of[i].has_table);
            assert_int_equal(strstr(text, "confusion:") != NULL, of[i].has_confusion);
            assert_int_equal(strstr(text, labels ? "\n31 labels: --json"
                                                 : "\n31 classes: --json") != NULL,
                             !of[i].has_table);
            free(text);
        }
    }
}

/* The largest part of the calibration error is that of the bin with the largest product. */
TEST(the_worst_bin_is_named)
{
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class);
    m.bin[3] = (drove_metrics_bin){.count = 100, .mean = 0.35, .observed = 0.3}; /* 5 > 2 */
    m.bin[7] = (drove_metrics_bin){.count = 4, .mean = 0.75, .observed = 0.25};
    char *text = text_of(&m);
    assert_non_null(strstr(text, "; largest part: predicted about 0.35, observed 0.30\n"));
    free(text);
}

TEST(importance_for_programs)
{
    static const drove_importance_column column[] = {{"age", 0.5, NAN, 0.125},
                                                     {"zip", NAN, NAN, -0.25}};
    drove_importance_facts f = {2, 10, true, NAN, 0.75, column};
    json_t *object = drove__report_importance_json(&f),
           *wanted = json_loads("{\"data\": \"held-out\", \"examples\": 10, \"rmse\": null,"
                                " \"accuracy\": 0.75, \"columns\":"
                                " [{\"column\": \"age\", \"loss_increase\": 0.5,"
                                " \"rmse_increase\": null, \"accuracy_decrease\": 0.125},"
                                "  {\"column\": \"zip\", \"loss_increase\": null,"
                                " \"rmse_increase\": null, \"accuracy_decrease\": -0.25}]}",
                                0, NULL);
    assert_true(json_equal(object, wanted));
    json_decref(object);
    json_object_set_new(wanted, "data", json_string("training"));
    f.is_held_out = false;
    object = drove__report_importance_json(&f);
    assert_true(json_equal(object, wanted));
    json_decref(object);
    json_decref(wanted);
    f.n_columns = 0;
    object = drove__report_importance_json(&f);
    assert_true(json_is_null(object));
    json_decref(object);
}

static void expect_importance(const drove_importance_facts *f, const char *expected)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    drove__report_importance_print(f, stream);
    fclose(stream);
    assert_string_equal(text, expected);
    free(text);
}

TEST(importance_for_people)
{
    const drove_importance_column values[] = {{"age", 9.0, 6.0, NAN}, {"zip", -1.0, -0.1, NAN}};
    /* The order and the numbers are those of one measure. */
    const drove_importance_column classes[] = {{"age", 0.5, NAN, 0.125}, {"zip", 0.25, NAN, 0.2}};
    expect_importance(&(drove_importance_facts){2, 10, true, 4.0, NAN, values},
                      "  columns     age 150 % ...: growth of the held-out RMSE, 4, when a "
                      "column's values change places\n");
    expect_importance(
        &(drove_importance_facts){2, 10, false, NAN, 0.9, classes},
        "  columns     age 0.5, zip 0.25: growth of the training loss when a column's "
        "values change places\n");
}

TEST(no_metrics_are_null)
{
    json_t *object = json_of(NULL);
    assert_true(json_is_null(object));
    json_decref(object);
}

TEST(classes_for_people)
{
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class);
    m.constant_is_training = 1;
    char *text = text_of(&m);
    assert_string_equal(text,
                        "                        model  constant guess (of the training data)\n"
                        "accuracy              87.50 %         50.00 %\n"
                        "log loss                  0.3          0.6931\n"
                        "\n"
                        "class    precision    recall        F1   support\n"
                        "cat         1.0000    0.7500    0.8571         4\n"
                        "a \"dog\"     0.8000    1.0000    0.8889         4\n"
                        "\n"
                        "confusion: rows are true classes, columns predicted ones\n"
                        "             cat  a \"dog\"\n"
                        "cat            3        1\n"
                        "a \"dog\"        0        4\n"
                        "\n"
                        "calibration error 0.2500; largest part: predicted about 0.05, observed "
                        "0.30\n");
    free(text);
}

TEST(a_bad_model_is_called_one)
{
    drove_metrics m = {.kind = DROVE_METRICS_VALUES,
                       .n_rows = 4,
                       .weight = 4,
                       .model = nothing,
                       .constant = nothing,
                       .constant_value = 12.5,
                       .calibration_error = NAN,
                       .is_no_better = 1};
    m.model.rmse = 3.0;
    m.constant.rmse = 2.0;
    char *text = text_of(&m);
    assert_string_equal(text, "                        model  constant guess (of these examples)\n"
                              "RMSE                        3               2\n"
                              "The model is no better than a constant guess: always 12.5.\n");
    free(text);
}

TEST(each_value_has_a_line)
{
    char height[] = "height", size[] = "size";
    drove_metrics_value each[2] = {{.name = height, .rmse = 2, .mae = 1.5, .r2 = 0.5},
                                   {.name = size, .rmse = 4, .mae = 3, .r2 = -0.25}};
    each[0].constant_value = 7;
    each[1].constant_value = 8.5;
    drove_metrics m = {.kind = DROVE_METRICS_VALUES,
                       .n_rows = 4,
                       .weight = 4,
                       .model = nothing,
                       .constant = nothing,
                       .calibration_error = NAN,
                       .n_values = 2,
                       .per_value = each,
                       .is_no_better = 1};
    m.model.rmse = 3.0;
    m.constant.rmse = 2.5;
    char *text = text_of(&m);
    assert_string_equal(text, "                        model  constant guess (of these examples)\n"
                              "RMSE                        3             2.5\n"
                              "The model is no better than a constant guess.\n"
                              "\n"
                              "value         RMSE       MAE        R2\n"
                              "height           2       1.5    0.5000\n"
                              "size             4         3   -0.2500\n");
    free(text);
    json_t *object = json_of(&m);
    json_t *list = json_object_get(object, "per_value");
    assert_int_equal(json_array_size(list), 2);
    json_t *second = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(second, "value")), size);
    assert_true(json_number_value(json_object_get(second, "mae")) == 3.0);
    json_t *guess = json_object_get(json_object_get(object, "constant"), "guess");
    assert_true(json_number_value(json_array_get(guess, 1)) == 8.5);
    json_decref(object);
}

/* Held-out data go before training data. */
TEST(the_summary_of_a_run_has_two_lines)
{
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class), other = m;
    drove_facts f = {.metrics = &other, .test_metrics = &m};
    char *text;
    size_t size;
    other.model.accuracy = 0.1;
    FILE *stream = open_memstream(&text, &size);
    drove__report_metrics_print(&f, stream);
    fflush(stream);
    assert_string_equal(text, "  held-out    accuracy 87.50 %, log loss 0.3\n"
                              "  constant    accuracy 50.00 %, log loss 0.6931\n");
    rewind(stream);
    f.test_metrics = NULL;
    drove__report_metrics_print(&f, stream);
    fclose(stream);
    assert_non_null(strstr(text, "  training    accuracy 10.00 %"));
    free(text);
}

/* The columns that the loss needs, and how many more there are. */
TEST(columns_by_importance)
{
    static const drove_importance_column column[] = {{"age", 0.5, NAN, 0.0},
                                                     {"zip", 0.25, NAN, 0.0},
                                                     {"noise", 0.0, NAN, 0.0}};
    static const struct {
        drove_importance_facts facts;
        const char *expected;
    } of[] = {
        {{0, 10, true, NAN, 0.5, NULL}, ""},
        {{1, 10, true, NAN, 0.5, column + 2}, "  columns     none lowers the held-out loss\n"},
        {{1, 10, false, NAN, 0.5, column},
         "  columns     age 0.5: growth of the training loss when a column's values change "
         "places\n"},
        {{3, 10, true, NAN, 0.5, column},
         "  columns     age 0.5, zip 0.25 ...: growth of the held-out loss when a column's values "
         "change places\n"},
    };
    for (size_t i = 0; i < DROVE_COUNT(of); i++) {
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        drove__report_importance_print(&of[i].facts, stream);
        assert_int_equal(fclose(stream), 0);
        assert_string_equal(text, of[i].expected);
        free(text);
    }
}
