/* Metrics as JSON and for people, from figures written by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "report/report.h"
#include "report/sections.h"
#include "support/test.h"

static const drove_metrics_figures nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

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
    static const char *const keys[] = {
        "accuracy",  "balanced_accuracy", "log_loss",    "auc",      "f1_macro",
        "per_class", "confusion",         "calibration", "rmse",     "mae",
        "r2",        "f1_micro",          "constant",    "per_value"};
    drove_metrics_class per_class[2];
    drove_metrics m = two_classes(per_class);
    json_t *object = json_of(&m);
    assert_int_equal(json_object_size(object), sizeof keys / sizeof *keys);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(json_object_get(object, keys[i]));
    assert_true(json_is_null(json_object_get(object, "auc")));
    assert_true(json_is_null(json_object_get(object, "rmse")));
    assert_true(json_is_null(json_object_get(object, "per_value")));
    json_t *second = json_array_get(json_object_get(object, "per_class"), 1);
    assert_string_equal(json_string_value(json_object_get(second, "class")), dog);
    json_t *row = json_array_get(json_object_get(object, "confusion"), 0);
    assert_true(json_integer_value(json_array_get(row, 1)) == 1);
    json_t *calibration = json_object_get(object, "calibration");
    assert_int_equal(json_array_size(json_object_get(calibration, "bins")), DROVE_METRICS_BINS);
    json_t *constant = json_object_get(object, "constant");
    assert_string_equal(json_string_value(json_object_get(constant, "guess")), "cat");
    assert_string_equal(json_string_value(json_object_get(constant, "from")), "evaluated");
    json_decref(object);
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
    static const drove_importance_column column[] = {{"age", 0.5}, {"zip", 0.25}, {"noise", 0.0}};
    static const struct {
        drove_importance_facts facts;
        const char *expected;
    } of[] = {
        {{0, 10, true, NULL}, ""},
        {{1, 10, true, column + 2}, "  columns     none lowers the held-out loss\n"},
        {{1, 10, false, column},
         "  columns     age 0.5: growth of the training loss when a column's values change "
         "places\n"},
        {{3, 10, true, column},
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
