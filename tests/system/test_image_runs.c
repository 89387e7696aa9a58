/* Runs on images: the same bits whoever loads the batches, also after a stop; what a model file
 * says of images; what cannot be asked for. */
#include "use/infer.h"
#include "system/run_support.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static drove_options image_run(void)
{
    drove_options opt = small_run();
    set(&opt, "data",
        "synth:images?n=300&size=12&classes=4&crop=10x9&pad=1&mirror=1&scale=unit-mean&rotate=20&"
        "brightness=0.2&contrast=0.3&saturation=0.4&mixup=0.5");
    set(&opt, "label-smoothing", "0.1");
    set(&opt, "until", "epochs=2");
    set(&opt, "eval-every", "0.4");
    return opt;
}

TEST(loaders_change_no_bit)
{
    static const struct {
        const char *strategy, *threads, *data;
    } runs[] = {{"sequential", "1", NULL},
                {"sync", "3", NULL},
                {"hogwild:live", "1", NULL},
                {"leashed:inf", "1", NULL},
                {"sequential", "1", "synth:logistic?n=200&d=40&density=0.1"}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        static const char *const loaders[] = {"auto", "0", "1", "3"};
        const char *first = fresh_folder("first");
        for (size_t k = 0; k < sizeof loaders / sizeof *loaders; k++) {
            drove_options opt = image_run();
            const char *folder = k == 0 ? first : fresh_folder("other");
            set(&opt, "strategy", runs[i].strategy);
            set(&opt, "threads", runs[i].threads);
            if (runs[i].data != NULL) set(&opt, "data", runs[i].data);
            set(&opt, "loaders", loaders[k]);
            set(&opt, "out", folder);
            run_to(&opt, DROVE_FINISHED);
            if (k > 0) assert_same_model(first, folder);
        }
    }
}

/* Claimed one ahead, but the run trains the same batches, neither more nor fewer. */
TEST(the_same_batches_are_trained)
{
    static const char *const strategies[] = {"sync", "hogwild", "leashed:inf", "ssp:2"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        drove_progress p[2];
        for (size_t k = 0; k < 2; k++) {
            drove_options opt = image_run();
            drove_result *result;
            set(&opt, "strategy", strategies[i]);
            set(&opt, "threads", "3");
            set(&opt, "loaders", k == 0 ? "0" : "2");
            set(&opt, "until", "updates=41");
            assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
            drove_result_final(result, &p[k]);
            drove_result_destroy(result);
        }
        assert_int_equal(p[1].updates, p[0].updates);
        assert_int_equal(p[1].examples, p[0].examples);
        assert_in_range(p[1].updates, 41, 42); /* sync: whole rounds */
    }
}

TEST(stopped_runs_go_on_to_the_same_bits)
{
    for (unsigned i = 0; i < 4; i++) {
        const unsigned n = i % 2 + 1;
        const char *whole = fresh_folder("whole"), *parts = fresh_folder("parts");
        drove_options opt = image_run(), again = drove__options_default();
        set(&opt, "strategy", n == 1 ? "sequential" : "sync");
        set(&opt, "threads", n == 1 ? "1" : "2");
        if (i >= 2) {
            set(&opt, "rule", "muon");
            set(&opt, "model", "mlp:16,16");
            set(&opt, "weight-decay", "0.1");
        }
        set(&opt, "loaders", "2");
        set(&opt, "out", whole);
        run_to(&opt, DROVE_FINISHED);
        set(&opt, "until", "updates=7");
        set(&opt, "out", parts);
        run_to(&opt, DROVE_FINISHED);
        assert_int_equal(drove_options_resume(&again, parts), DROVE_OK);
        set(&again, "until", "epochs=2");
        set(&again, "loaders", "1");
        run_to(&again, DROVE_FINISHED);
        assert_same_model(whole, parts);
    }
}

TEST(evaluation_draws_nothing)
{
    const char *folder = fresh_folder("eval");
    drove_options opt = image_run();
    drove_score_report report[2];
    drove_result *result;
    drove_progress p;
    set(&opt, "threads", "2");
    set(&opt, "out", folder);
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
    drove_result_final(result, &p);
    drove_result_destroy(result);
    for (size_t i = 0; i < 2; i++) { /* the training data, by the model file alone */
        const drove_use_options use = {.model = "eval/model.safetensors",
                                       .data = "synth:images?n=300&size=12&classes=4",
                                       .batch = i == 0 ? 300 : 7};
        assert_int_equal(drove_eval(&use, &report[i]), DROVE_OK);
        assert_true(fabs(report[i].loss - p.loss) < 1e-6);
        assert_true(report[i].accuracy == p.accuracy);
    }
    drove_modelfile file;
    load_model(folder, "model.safetensors", &file);
    assert_int_equal(file.io.n_features, 3 * 10 * 9);
    assert_int_equal(file.n_inputs, 3 * 12 * 12);
    assert_true(file.io.image.c == 3 && file.io.image.h == 10 && file.io.image.w == 9);
    drove__modelfile_fini(&file);
}

TEST(the_summary_tells_the_loaders_time)
{
    static const char *const loaders[] = {"0", "2"};
    for (size_t i = 0; i < 2; i++) {
        drove_options opt = image_run();
        drove_result *result;
        set(&opt, "threads", "1");
        set(&opt, "loaders", loaders[i]);
        assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
        json_t *summary = json_loads(drove_result_json(result), 0, NULL);
        const json_t *loader = json_object_get(summary, "loader");
        double busy_s = json_number_value(json_object_get(loader, "busy_s"));
        double exposed_s = json_number_value(json_object_get(loader, "exposed_s"));
        double hidden = json_number_value(json_object_get(loader, "hidden"));
        double load_s =
            json_number_value(json_object_get(json_object_get(summary, "phases"), "load"));
        double updates = json_number_value(json_object_get(summary, "updates"));
        assert_int_equal(json_integer_value(json_object_get(loader, "threads")), i == 0 ? 0 : 2);
        assert_true(busy_s > 0.0 && hidden >= 0.0 && hidden <= 1.0);
        assert_true(fabs(load_s * updates - exposed_s) < 1e-6 + 1e-6 * exposed_s);
        if (i == 0) assert_true(hidden == 0.0);
        json_decref(summary);
        drove_result_destroy(result);
    }
}

static void expect_refusal(const drove_options *opt, const char *word)
{
    drove_result *result;
    assert_int_equal(drove_train(opt, NULL, &result), DROVE_E_ARG);
    if (strstr(drove_error_text(), word) == NULL)
        fail_msg("\"%s\" is not in: %s", word, drove_error_text());
}

TEST(what_cannot_be_combined_is_refused)
{
    drove_options opt = image_run();
    set(&opt, "features", "rff:32");
    expect_refusal(&opt, "--features");
    opt = image_run();
    set(&opt, "model", "logistic");
    set(&opt, "data", "synth:images?n=100&size=12&classes=2&crop=10");
    set(&opt, "precision", "D8M8");
    expect_refusal(&opt, "--precision");
    set(&opt, "data", "synth:logistic?n=100");
    set(&opt, "label-smoothing", "0");
    set(&opt, "loaders", "2");
    expect_refusal(&opt, "--loaders 2");
    opt = image_run();
    set(&opt, "loss", "squared");
    expect_refusal(&opt, "?mixup: expected the loss softmax or logistic, found squared");
    set(&opt, "data", "synth:images?n=100&size=12&classes=2");
    expect_refusal(&opt, "--label-smoothing: expected the loss softmax, sigmoid or logistic");
    opt = image_run();
    set(&opt, "model", "mlp:16");
    set(&opt, "rule", "muon");
    expect_refusal(&opt,
                   "expected a model with a trained dense layer or convolution between its first");
    set(&opt, "rule-state", "shared");
    expect_refusal(&opt, "--rule-state shared: expected worker or auto, as --rule muon");
    set(&opt, "rule-state", "auto");
    set(&opt, "precision", "D8M8");
    expect_refusal(&opt, "--rule muon: expected parameters that are floats");
    set(&opt, "rule", "adamw");
    set(&opt, "weight-decay", "0.1");
    expect_refusal(&opt, "expected --weight-decay 0 with --rule adamw, found 0.1");
    opt = image_run();
    set(&opt, "model", "logistic");
    set(&opt, "loss", "logistic");
    set(&opt, "data", "synth:logistic?n=100");
    set(&opt, "precision", "D8M8");
    expect_refusal(&opt, "--precision D8M8: expected --label-smoothing 0, found 0.1");
    opt = image_run();
    set(&opt, "loaders", "many");
    expect_refusal(&opt, "--loaders");
}

/* Of a network of images so many examples are scored at once that their outputs take some 64 MB. */
TEST(large_networks_are_scored_in_small_chunks)
{
    static const struct {
        const char *model;
        size_t side, batch, least, most;
    } rows[] = {{"mlp:16", 224, 1, 512, 512},
                {"lenet", 28, 1, 512, 512},
                {"alexnet", 227, 1, 10, 20},
                {"vgg16", 224, 1, 1, 2},
                {"vgg16", 224, 8, 8, 8}}; /* one of training fits */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t side = rows[i].side;
        const drove_model_io io = {.n_features = 3 * side * side,
                                   .n_classes = 10,
                                   .image = {3, side, side}};
        drove_model *model;
        assert_int_equal(drove__model_create(rows[i].model, "", "", &io, &model), DROVE_OK);
        size_t n = drove__score_rows(model, rows[i].batch);
        assert_in_range(n, rows[i].least, rows[i].most);
        drove__model_destroy(model);
    }
}
