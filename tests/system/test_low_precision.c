/* tests/system/test_low_precision.c - whole runs with --precision: same bits again, resumed, from a
 * model file; many workers; saturation is counted. */
#include "base/file.h"
#include "system/run_support.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static drove_options linear_run(const char *precision, bool is_sparse)
{
    drove_options opt = drove__options_default();
    set(&opt, "defaults", "classic");
    set(&opt, "data",
        is_sparse ? "synth:logistic?n=4000&d=300&density=0.05" : "synth:logistic?n=4000&d=60");
    set(&opt, "test", "none");
    set(&opt, "model", "logistic");
    set(&opt, "precision", precision);
    set(&opt, "batch", "1");
    set(&opt, "lr", "0.05");
    set(&opt, "threads", "1");
    set(&opt, "until", "epochs=3");
    set(&opt, "eval-every", "0.5");
    return opt;
}

TEST(resumes_to_the_same_bits)
{
    static const struct {
        const char *precision, *rounding, *decay, *batch, *strategy;
    } cases[] = {{"D8M8", "shared?period=3", "0", "1", "sequential"},
                 {"D8M16", "xorshift", "0.01", "1", "hogwild"},
                 {"D16M8", "mt19937", "0", "5", "sequential"},
                 {"D32fM32f", "shared", "0.01", "1", "sequential"},
                 {"D8i8M8", "shared", "0.001", "1", "sequential"},
                 {"D16i16M16", "nearest", "0", "7", "sequential"}};
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        const char *whole = fresh_folder("whole"), *parts = fresh_folder("parts");
        drove_options opt = linear_run(cases[k].precision, strchr(cases[k].precision, 'i') != NULL);
        set(&opt, "rounding", cases[k].rounding);
        set(&opt, "weight-decay", cases[k].decay);
        set(&opt, "batch", cases[k].batch);
        set(&opt, "strategy", cases[k].strategy);
        set(&opt, "out", whole);
        run_to(&opt, DROVE_FINISHED);
        set(&opt, "until", "epochs=1.5");
        set(&opt, "out", parts);
        run_to(&opt, DROVE_FINISHED);
        drove_options again = drove__options_default();
        assert_int_equal(drove_options_resume(&again, parts), DROVE_OK);
        set(&again, "until", "epochs=3");
        run_to(&again, DROVE_FINISHED);
        assert_same_model(whole, parts);
    }
}

static double summary_real(const char *folder, const char *key)
{
    char path[256];
    snprintf(path, sizeof path, "%s/summary.json", folder);
    json_t *object = json_load_file(path, 0, NULL);
    assert_non_null(object);
    double value = json_number_value(json_object_get(object, key));
    json_decref(object);
    return value;
}

/* Every signature learns: dense and sparse, one worker and many. */
TEST(every_signature_learns)
{
    static const char *const d[] = {"D8", "D16", "D32f"}, *const m[] = {"M8", "M16", "M32f"};
    static const char *const index[] = {"", "i8", "i16", "i32"};
    for (int k = 0; k < 3 * 3 * 4; k++) {
        char precision[32];
        snprintf(precision, sizeof precision, "%s%s%s", d[k % 3], index[k / 9], m[k / 3 % 3]);
        const char *folder = fresh_folder("learns");
        drove_options opt = linear_run(precision, k >= 9);
        set(&opt, "threads", k % 2 ? "4" : "1");
        set(&opt, "lr", k >= 9 ? "0.1" : "0.02");
        set(&opt, "out", folder);
        run_to(&opt, DROVE_FINISHED);
        double loss = summary_real(folder, "loss");
        if (!(loss < 0.6)) fail_msg("%s: loss %g", precision, loss);
    }
}

TEST(saturation_is_counted_and_harmless)
{
    const char *folder = fresh_folder("saturated");
    drove_options opt = linear_run("D8M8", false);
    set(&opt, "model-range", "0.05");
    set(&opt, "out", folder);
    run_to(&opt, DROVE_FINISHED);
    assert_true(summary_real(folder, "clamped") > 0.0);
    drove_modelfile file;
    load_model(folder, "model.safetensors", &file);
    for (size_t i = 0; i < 60; i++) assert_true(fabs((double)file.theta[i]) < 0.0505);
    drove__modelfile_fini(&file);
    set(&opt, "model-range", "50");
    set(&opt, "out", fresh_folder("wide"));
    run_to(&opt, DROVE_FINISHED);
    assert_true(summary_real("wide", "clamped") == 0.0);
}

static double largest_weight(const char *folder)
{
    drove_modelfile file;
    double most = 0.0;
    load_model(folder, "model.safetensors", &file);
    const drove_layer *l = &file.model->layer[0];
    for (size_t i = 0; i < 60; i++) {
        double w = fabs((double)file.theta[l->w_offset + i]);
        if (w > most) most = w; /* not fmax: gcc 12 for AArch64 fails on that reduction */
    }
    drove__modelfile_fini(&file);
    return most;
}

/* The trial that finds the range makes the run's own updates, be they of thousands of examples. */
TEST(the_range_is_that_of_the_batch)
{
    drove_options opt = linear_run("D32fM32f", false);
    set(&opt, "batch", "2000");
    set(&opt, "until", "epochs=1");
    set(&opt, "eval-every", "1");
    set(&opt, "out", fresh_folder("floats"));
    run_to(&opt, DROVE_FINISHED);
    set(&opt, "precision", "D32fM8");
    set(&opt, "out", fresh_folder("bytes"));
    run_to(&opt, DROVE_FINISHED);
    double twice = 2.0 * largest_weight("floats"), range = summary_real("bytes", "model_range");
    if (!(fabs(range - twice) < 0.01 * twice)) fail_msg("range %g, expected %g", range, twice);
}

/* A model file to go on from is not cut to the range of a start from nothing. */
TEST(a_model_file_keeps_its_parameters)
{
    drove_options opt = linear_run("D32fM32f", false);
    set(&opt, "lr", "1");
    set(&opt, "until", "epochs=20");
    set(&opt, "eval-every", "20");
    set(&opt, "out", fresh_folder("first"));
    run_to(&opt, DROVE_FINISHED);
    set(&opt, "model", "first/model.safetensors");
    set(&opt, "precision", "D8M16");
    set(&opt, "lr", "1e-7"); /* moves by rounding alone */
    set(&opt, "until", "epochs=1");
    set(&opt, "out", fresh_folder("second"));
    run_to(&opt, DROVE_FINISHED);
    assert_true(fabs(largest_weight("second") - largest_weight("first")) < 0.01);
    assert_true(fabs(summary_real("second", "loss_initial") - summary_real("first", "loss")) <
                0.01);
}

/* A saved model is one of floats: eval has the run's own loss. */
TEST(a_saved_model_has_the_loss_of_the_run)
{
    const char *folder = fresh_folder("saved");
    char path[256];
    drove_options opt = linear_run("D8M8", false);
    set(&opt, "out", folder);
    run_to(&opt, DROVE_FINISHED);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    drove_use_options use = {.model = path, .data = opt.data};
    drove_score_report report;
    assert_int_equal(drove_eval(&use, &report), DROVE_OK);
    assert_true(fabs(report.loss - summary_real(folder, "loss")) < 1e-6);
}

/* Values that blow up end the run as crashed, in floats; integers saturate. */
TEST(infinite_outputs_end_the_run)
{
    drove_options opt = linear_run("D32fM32f", false);
    set(&opt, "model", "linear");
    set(&opt, "lr", "1e9");
    run_to(&opt, DROVE_CRASHED);
}
