/* Saved models at work: the same loss as in training, predictions by name, and clear refusals. */
#include "system/run_support.h"
#include "support/files.h"
#include "support/test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static char *written(const drove_use_options *use, size_t *size)
{
    char *text;
    FILE *f = open_memstream(&text, size);
    if (drove_predict(use, f) != DROVE_OK) fail_msg("%s", drove_error_text());
    fclose(f);
    return text;
}

static char *predictions(const char *model, const char *data, int proba)
{
    size_t size;
    const drove_use_options use = {.model = model, .data = data, .proba = proba};
    return written(&use, &size);
}

TEST(evaluation_gives_the_loss_of_the_run)
{
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

TEST(predictions_carry_the_names_of_the_classes)
{
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

TEST(rows_without_a_label_are_predicted)
{
    drove_options opt = words_run("nolabel");
    run_to(&opt, DROVE_FINISHED);
    write_text("bare.csv", "1000,0.2\n0,0.1\n");
    char *labels = predictions("nolabel/model.safetensors", "csv:bare.csv?label=none", 0);
    assert_string_equal(labels, "yes\nno\n");
    free(labels);
}

TEST(classes_are_matched_by_name)
{
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

TEST(what_does_not_fit_is_refused)
{
    drove_options opt = words_run("misfit");
    drove_score_report report = {.n_rows = 7};
    run_to(&opt, DROVE_FINISHED);
    write_text("wide.csv", "1,2,3,yes\n4,5,6,no\n");
    write_text("strange.csv", "1,2,maybe\n4,5,perhaps\n"); /* no row of a class of the model's */
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

/* Bit for bit, whatever the number of threads: chunks of 7 rows make many of them. */
TEST(threads_change_neither_metrics_nor_predictions)
{
    drove_options opt = small_run();
    char *metrics_text[2], *text[2];
    size_t size[2];
    set(&opt, "out", fresh_folder("threads"));
    run_to(&opt, DROVE_FINISHED);
    for (size_t i = 0; i < 2; i++) {
        drove_score_report report;
        drove_metrics *metrics;
        const drove_use_options use = {.model = "threads/model.safetensors",
                                       .data = "synth:digits?n=300&seed=9",
                                       .batch = 7,
                                       .threads = i == 0 ? 1 : 5,
                                       .format = DROVE_PREDICT_CSV};
        if (drove_eval_metrics(&use, &report, &metrics) != DROVE_OK)
            fail_msg("%s", drove_error_text());
        assert_int_equal(metrics->n_rows, 300);
        assert_true(fabs(metrics->model.accuracy - report.accuracy) < 1e-12);
        assert_true(fabs(metrics->model.log_loss - report.loss) < 1e-4 * report.loss);
        assert_int_equal(drove_metrics_json(metrics, &metrics_text[i]), DROVE_OK);
        drove_metrics_destroy(metrics);
        text[i] = written(&use, &size[i]);
    }
    assert_string_equal(metrics_text[0], metrics_text[1]);
    assert_string_equal(text[0], text[1]);
    for (size_t i = 0; i < 2; i++) {
        free(metrics_text[i]);
        free(text[i]);
    }
}

/* Two columns of one output; a file that appears whole; a failure that leaves nothing. */
TEST(predictions_go_to_files_and_arrays)
{
    drove_options opt = words_run("formats");
    size_t size;
    run_to(&opt, DROVE_FINISHED);
    write_text("two.csv", "1000,0.2,yes\n0,0.1,no\n");
    drove_use_options use = {.model = "formats/model.safetensors",
                             .data = "csv:two.csv?label=last",
                             .format = DROVE_PREDICT_NPY};
    char *array = written(&use, &size);
    float p[4];
    assert_int_equal(size, 128 + sizeof p);
    assert_memory_equal(array, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_non_null(strstr(array + 10, "'<f4', 'fortran_order': False, 'shape': (2, 2)"));
    memcpy(p, array + 128, sizeof p);
    assert_true(p[1] > 0.5f && p[0] == 1.0f - p[1] && p[2] > 0.5f);
    free(array);
    use.format = DROVE_PREDICT_CSV;
    use.out = "two_out.csv";
    if (drove_predict(&use, NULL) != DROVE_OK) fail_msg("%s", drove_error_text());
    FILE *f = fopen("two_out.csv", "r");
    char line[64];
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "label,p_no,p_yes\n");
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(strncmp(line, "yes,0.", 6), 0);
    fclose(f);
    use.out = "no/such/folder.csv";
    assert_int_not_equal(drove_predict(&use, NULL), DROVE_OK);
    assert_non_null(strstr(drove_error_text(), "no/such"));
}

/* A pipe whose reader has gone: no error.  The program itself sees to SIGPIPE. */
TEST(a_reader_that_leaves_is_no_error)
{
    drove_options opt = words_run("pipe");
    int end[2];
    run_to(&opt, DROVE_FINISHED);
    const drove_use_options use = {.model = "pipe/model.safetensors",
                                   .data = "csv:words.csv?label=last"};
    assert_int_equal(pipe(end), 0);
    close(end[0]);
    FILE *f = fdopen(end[1], "w");
    assert_non_null(f);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(drove_predict(&use, f), DROVE_OK);
    fclose(f);
}

/* What the file does not say, as those of older versions, is taken from the rows. */
TEST(the_constant_guess_is_that_of_training)
{
    drove_options opt = words_run("constant");
    drove_score_report report;
    drove_metrics *metrics;
    drove_modelfile file;
    run_to(&opt, DROVE_FINISHED);
    load_model("constant", "model.safetensors", &file);
    assert_non_null(file.target_mean);
    assert_true(file.target_mean[0] == 0.5 && file.target_mean[1] == 0.5);
    drove__modelfile_fini(&file);
    write_text("mostly.csv", "1000,0.2,yes\n1001,0.1,yes\n3,0.2,no\n");
    const drove_use_options use = {.model = "constant/model.safetensors",
                                   .data = "csv:mostly.csv?label=last"};
    if (drove_eval_metrics(&use, &report, &metrics) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(metrics->constant_is_training, 1);
    assert_string_equal(metrics->per_class[metrics->constant_class].name, "no");
    assert_true(fabs(metrics->constant.accuracy - 1.0 / 3) < 1e-12);
    assert_true(fabs(metrics->constant.log_loss - log(2)) < 1e-12);
    assert_true(metrics->model.auc == 1.0);
    drove_metrics_destroy(metrics);
}

/* A model trained on bytes takes the same numbers from a text file. */
TEST(dense_data_of_any_storage_will_do)
{
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

TEST(training_goes_on_from_a_model_file)
{
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
