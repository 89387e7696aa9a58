/* tests/system/test_feature_runs.c - runs on random Fourier features: a linear model learns what is
 * not linear, and a saved model carries its map. */
#include "system/run_support.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Class 1 inside a ring: no plane separates the classes. */
static void write_rings(const char *path, int n, int is_sparse)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < n; i++) {
        double angle = 2.399963 * i, radius = (i % 2 == 0 ? 0.4 : 1.0) + 0.02 * (i % 7);
        double x = radius * cos(angle), y = radius * sin(angle);
        if (is_sparse) fprintf(f, "%d 1:%.6f 4:%.6f\n", i % 2, x, y);
        else fprintf(f, "%.6f,%.6f,%s\n", x, y, i % 2 == 0 ? "in" : "out");
    }
    assert_int_equal(fclose(f), 0);
}

static drove_options rings_run(const char *folder)
{
    drove_options opt = small_run();
    write_rings("rings.csv", 400, 0);
    set(&opt, "data", "csv:rings.csv?label=last&scale=standard&split=0.25");
    set(&opt, "test", "split");
    set(&opt, "features", "rff:300");
    set(&opt, "model", "svm");
    set(&opt, "lr", "1");
    set(&opt, "until", "epochs=20");
    if (folder != NULL) set(&opt, "out", fresh_folder(folder));
    return opt;
}

static drove_progress end_of(const drove_options *opt)
{
    drove_result *result;
    drove_progress end;
    if (drove_train(opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_result_final(result, &end);
    drove_result_destroy(result);
    return end;
}

static drove_score_report score(const char *model, const char *data)
{
    drove_score_report report;
    drove_use_options use = {.model = model, .data = data};
    if (drove_eval(&use, &report) != DROVE_OK) fail_msg("%s", drove_error_text());
    return report;
}

TEST(linear_model_separates_rings)
{
    drove_options opt = rings_run(NULL);
    assert_true(end_of(&opt).test_accuracy > 0.98);
    set(&opt, "features", "none");
    assert_true(end_of(&opt).test_accuracy < 0.8);
}

TEST(every_model_and_strategy_takes_features)
{
    const char *const cases[][3] = {{"mlp:16", "leashed:inf", "2"},
                                    {"logistic", "sync", "2"},
                                    {"svm", "hogwild", "2"},
                                    {"logistic", "sequential", "1"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_options opt = rings_run(NULL);
        set(&opt, "model", cases[i][0]);
        set(&opt, "strategy", cases[i][1]);
        set(&opt, "threads", cases[i][2]);
        assert_true(end_of(&opt).accuracy > 0.95);
    }
}

/* The held-out data are a set of their own here, so that the same rows are scored. */
static void check_saved(const char *train, const char *test)
{
    drove_options opt = rings_run("rings");
    set(&opt, "data", train);
    set(&opt, "test", test);
    drove_progress end = end_of(&opt);
    drove_score_report report = score("rings/model.safetensors", test);
    assert_true(end.test_accuracy > 0.95);
    assert_true(report.accuracy == end.test_accuracy);
    assert_true(fabs(report.loss - end.test_loss) <= 1e-6 * end.test_loss);
    drove_modelfile file;
    load_model("rings", "model.safetensors", &file);
    assert_int_equal(file.features.n_out, 300);
    assert_true(file.features.gamma > 0 && file.features.has_seed);
    assert_int_equal(file.io.n_features, 300);
    drove__modelfile_fini(&file);
}

TEST(saved_model_scores_as_in_training)
{
    write_rings("rings.csv", 400, 0);
    write_rings("more.csv", 131, 0);
    check_saved("csv:rings.csv?label=last&scale=standard", "csv:more.csv?label=last");
    write_rings("rings.svm", 400, 1);
    write_rings("more.svm", 131, 1);
    check_saved("libsvm:rings.svm?scale=unit", "libsvm:more.svm");
}

TEST(saved_model_is_gone_on_with)
{
    drove_options opt = rings_run("first");
    drove_progress first = end_of(&opt);
    set(&opt, "model", "first/model.safetensors");
    set(&opt, "features", "none"); /* not said: the file says it */
    set(&opt, "out", fresh_folder("second"));
    set(&opt, "until", "updates=1");
    drove_progress second = end_of(&opt);
    assert_true(fabs(second.loss_initial - first.loss) <= 1e-6 * first.loss);
    assert_true(score("second/model.safetensors", "csv:rings.csv?label=last").accuracy > 0.95);
    set(&opt, "out", "none");
    set(&opt, "features", "rff:300");
    assert_true(end_of(&opt).loss_initial == second.loss_initial);
    drove_result *result;
    set(&opt, "features", "rff:300?gamma=77");
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "rff:300?gamma="));
}

TEST(model_without_features_takes_none)
{
    drove_options opt = rings_run("plain");
    drove_result *result;
    set(&opt, "features", "none");
    (void)end_of(&opt);
    set(&opt, "model", "plain/model.safetensors");
    set(&opt, "features", "rff:2");
    set(&opt, "out", "none");
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "none"));
}

TEST(resumed_run_has_the_same_features)
{
    drove_options whole = rings_run("whole"), part = rings_run("part");
    drove_result *result;
    (void)end_of(&whole);
    set(&part, "until", "epochs=10");
    (void)end_of(&part);
    set(&part, "resume", "part");
    set(&part, "out", "part");
    set(&part, "until", "epochs=20");
    set(&part, "features", "rff:300?seed=5");
    assert_int_equal(drove_train(&part, NULL, &result), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "--features"));
    set(&part, "features", "rff:300");
    (void)end_of(&part);
    assert_same_model("whole", "part");
}
