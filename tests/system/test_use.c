/* Saved models at work: the same loss as in training, predictions by name, and clear refusals. */
#include "system/run_support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Two separable classes called "no" and "yes", and a feature that needs scaling. */
static void write_words(const char *path, int n)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < n; i++) {
        int yes = i % 2;
        fprintf(f, "%d,%g,%s\n", yes * 1000 + i % 7, 0.1 * (i % 5), yes ? "yes" : "no");
    }
    fclose(f);
}

static drove_options words_run(const char *folder)
{
    drove_options opt = small_run();
    write_words("words.csv", 200);
    set(&opt, "data", "csv:words.csv?label=last&scale=standard");
    set(&opt, "model", "logistic");
    set(&opt, "lr", "0.5");
    set(&opt, "until", "epochs=5");
    set(&opt, "out", fresh_folder(folder));
    return opt;
}

static char *predictions(const char *model, const char *data, int proba)
{
    char *text;
    size_t size;
    drove_use_options use = {.model = model, .data = data, .proba = proba};
    FILE *f = open_memstream(&text, &size);
    if (drove_predict(&use, f) != DROVE_OK) fail_msg("%s", drove_error_text());
    fclose(f);
    return text;
}

static void evaluation_gives_the_loss_of_the_run(void **state)
{
    (void)state;
    drove_options opt = small_run();
    drove_result *result;
    drove_progress end;
    drove_score_report report;
    set(&opt, "out", fresh_folder("scored"));
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
    drove_result_final(result, &end);
    drove_use_options use = {.model = "scored/model.safetensors",
                             .data = "synth:digits?n=600&seed=3",
                             .batch = 100};
    if (drove_eval(&use, &report) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(report.n_rows, 600);
    assert_true(fabs(report.loss - end.loss) < 1e-6 * end.loss);
    assert_true(fabs(report.accuracy - end.accuracy) < 1e-9);
    drove_result_destroy(result);
}

static void predictions_carry_the_names_of_the_classes(void **state)
{
    (void)state;
    drove_options opt = words_run("words");
    run_to(&opt, DROVE_FINISHED);
    write_text("three.csv", "1000,0.2,yes\n0,0.1,no\n1003,0,yes\n");
    char *labels = predictions("words/model.safetensors", "csv:three.csv?label=last", 0);
    assert_string_equal(labels, "yes\nno\nyes\n");
    free(labels);
    char *proba = predictions("words/model.safetensors", "csv:three.csv?label=last", 1);
    double p[3];
    assert_int_equal(sscanf(proba, "%lf %lf %lf", &p[0], &p[1], &p[2]), 3);
    assert_true(p[0] > 0.5 && p[1] < 0.5 && p[2] > 0.5 && p[0] <= 1.0 && p[1] >= 0.0);
    free(proba);
}

static void rows_without_a_label_are_predicted(void **state)
{
    (void)state;
    drove_options opt = words_run("nolabel");
    run_to(&opt, DROVE_FINISHED);
    write_text("bare.csv", "1000,0.2\n0,0.1\n");
    char *labels = predictions("nolabel/model.safetensors", "csv:bare.csv?label=none", 0);
    assert_string_equal(labels, "yes\nno\n");
    free(labels);
}

static void classes_are_matched_by_name(void **state)
{
    (void)state;
    drove_options opt = words_run("byname");
    drove_score_report report;
    run_to(&opt, DROVE_FINISHED);
    /* alone, "yes" would be class 0 */
    write_text("only_yes.csv", "1000,0.2,yes\n1001,0.1,yes\n");
    drove_use_options use = {.model = "byname/model.safetensors",
                             .data = "csv:only_yes.csv?label=last"};
    if (drove_eval(&use, &report) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_true(report.accuracy > 0.99);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    drove_options opt = words_run("misfit");
    drove_score_report report = {.n_rows = 7};
    run_to(&opt, DROVE_FINISHED);
    write_text("wide.csv", "1,2,3,yes\n4,5,6,no\n");
    write_text("strange.csv", "1,2,maybe\n4,5,no\n");
    const char *const cases[][2] = {{"csv:wide.csv?label=last", "3"},
                                    {"csv:strange.csv?label=last", "maybe"}};
    for (size_t i = 0; i < 2; i++) {
        drove_use_options use = {.model = "misfit/model.safetensors", .data = cases[i][0]};
        assert_int_equal(drove_eval(&use, &report), DROVE_E_SHAPE);
        assert_non_null(strstr(drove_error_text(), cases[i][1]));
        assert_int_equal(report.n_rows, 7);
    }
    write_text("not_a_model.safetensors", "hello");
    drove_use_options use = {.model = "not_a_model.safetensors", .data = "csv:wide.csv?label=last"};
    assert_int_equal(drove_eval(&use, &report), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "not_a_model.safetensors"));
}

/* A model trained on bytes takes the same numbers from a text file. */
static void dense_data_of_any_storage_will_do(void **state)
{
    (void)state;
    drove_options opt = small_run();
    drove_score_report bytes, floats;
    drove_data *data;
    set(&opt, "out", fresh_folder("bytes"));
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(system("rm -f digits.csv"), 0);
    assert_int_equal(drove_data_open("synth:digits?n=50&seed=8", NULL, 1, &data, NULL), DROVE_OK);
    if (drove_data_convert(data, "csv:digits.csv") != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_data_destroy(data);
    drove_use_options use = {.model = "bytes/model.safetensors",
                             .data = "synth:digits?n=50&seed=8"};
    if (drove_eval(&use, &bytes) != DROVE_OK) fail_msg("%s", drove_error_text());
    use.data = "csv:digits.csv?label=last";
    if (drove_eval(&use, &floats) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_true(fabs(bytes.loss - floats.loss) < 1e-6 * bytes.loss);
}

static void training_goes_on_from_a_model_file(void **state)
{
    (void)state;
    drove_options opt = small_run();
    drove_result *result;
    drove_progress first, second;
    set(&opt, "out", fresh_folder("warm"));
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
    drove_result_final(result, &first);
    drove_result_destroy(result);
    set(&opt, "model", "warm/model.safetensors");
    set(&opt, "out", "");
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
    drove_result_final(result, &second);
    drove_result_destroy(result);
    assert_true(fabs(second.loss_initial - first.loss) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_gives_the_loss_of_the_run),
        cmocka_unit_test(predictions_carry_the_names_of_the_classes),
        cmocka_unit_test(rows_without_a_label_are_predicted),
        cmocka_unit_test(classes_are_matched_by_name),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(dense_data_of_any_storage_will_do),
        cmocka_unit_test(training_goes_on_from_a_model_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
