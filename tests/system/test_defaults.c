/* Runs that are told nothing but data and model: what they choose, keep and give out. */
#include "system/run_support.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static drove_options bare_run(void)
{
    drove_options opt = drove__options_default();
    set(&opt, "data", "synth:digits?n=600&seed=3");
    set(&opt, "test", "synth:digits?n=300&seed=4");
    set(&opt, "model", "mlp:24");
    set(&opt, "threads", "1");
    return opt;
}

static json_t *summary_of(const drove_options *opt)
{
    drove_result *result;
    if (drove_train(opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    json_t *summary = json_loads(drove_result_json(result), 0, NULL);
    assert_non_null(summary);
    drove_result_destroy(result);
    return summary;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

TEST(nothing_but_data_and_model)
{
    drove_options opt = bare_run();
    json_t *summary = summary_of(&opt), *tuning = json_object_get(summary, "tuning");
    assert_string_equal(json_string_value(json_object_get(summary, "rule")), "adam");
    assert_int_equal(json_array_size(json_object_get(tuning, "trials")), 6);
    assert_true(number(tuning, "validation_examples") == 60.0);
    assert_true(number(summary, "test_accuracy") > 0.7);
    json_decref(summary);
    set(&opt, "defaults", "classic");
    set(&opt, "until", "epochs=1");
    summary = summary_of(&opt);
    assert_string_equal(json_string_value(json_object_get(summary, "rule")), "sgd");
    assert_true(number(summary, "lr") == 0.01);
    assert_true(json_is_null(json_object_get(summary, "tuning")));
    json_decref(summary);
}

/* A given step size keeps its meaning: plain SGD, and all examples are trained on. */
TEST(a_given_step_size)
{
    drove_options opt = bare_run();
    set(&opt, "lr", "0.05");
    json_t *summary = summary_of(&opt);
    assert_string_equal(json_string_value(json_object_get(summary, "rule")), "sgd");
    assert_true(number(summary, "epochs") == 10.0 && number(summary, "examples") == 6000.0);
    assert_true(json_is_null(json_object_get(summary, "tuning")));
    json_decref(summary);
}

/* The file has the parameters whose losses the run reports; no evaluation has a better one on the
 * validation examples. */
TEST(the_best_parameters_are_given_out)
{
    drove_options opt = bare_run();
    const char *folder = fresh_folder("best");
    set(&opt, "until", "validation=10%,epochs=6");
    set(&opt, "rule", "sgd");
    set(&opt, "lr", "0.3");
    set(&opt, "schedule", "exponential:1");
    set(&opt, "out", folder);
    json_t *summary = summary_of(&opt), *tuning = json_object_get(summary, "tuning");
    const drove_use_options use = {.model = "best/model.safetensors",
                                   .data = "synth:digits?n=300&seed=4"};
    drove_score_report report;
    if (drove_eval(&use, &report) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_true(fabs(report.loss - number(summary, "test_loss")) < 1e-6);
    double best = number(tuning, "validation_loss"), loss;
    json_decref(summary);
    char line[4096];
    unsigned n_lines = 0;
    FILE *log = fopen("best/log.jsonl", "r");
    assert_non_null(log);
    while (fgets(line, sizeof line, log) != NULL) {
        json_t *record = json_loads(line, 0, NULL);
        loss = number(record, "validation_loss");
        assert_true(loss >= best * (1.0 - 1e-6));
        json_decref(record);
        n_lines++;
    }
    fclose(log);
    assert_true(n_lines > 20);
}

TEST(one_worker_gives_the_same_bits_twice)
{
    for (int i = 0; i < 2; i++) {
        drove_options opt = bare_run();
        set(&opt, "until", "validation=60,patience=4,epochs=20");
        set(&opt, "out", fresh_folder(i == 0 ? "first" : "second"));
        run_to(&opt, DROVE_FINISHED);
    }
    assert_same_model("first", "second");
}

/* Cuts before and after the break. */
TEST(a_run_that_was_stopped_goes_on)
{
    static const char *const strategy[][2] = {{"sequential", "1"}, {"sync", "2"}};
    for (int i = 0; i < 2; i++) {
        drove_options opt = bare_run(), again = drove__options_default();
        set(&opt, "strategy", strategy[i][0]);
        set(&opt, "threads", strategy[i][1]);
        set(&opt, "lr", "0.02");
        set(&opt, "rule", "adam");
        set(&opt, "schedule", "plateau:0.5?patience=1&cuts=20");
        set(&opt, "eval-every", "0.5");
        set(&opt, "until", "validation=60,epochs=12");
        set(&opt, "out", fresh_folder("whole"));
        run_to(&opt, DROVE_FINISHED);
        set(&opt, "until", "validation=60,updates=77");
        set(&opt, "out", fresh_folder("parts"));
        run_to(&opt, DROVE_FINISHED);
        assert_int_equal(drove_options_resume(&again, "parts"), DROVE_OK);
        set(&again, "until", "validation=50,epochs=12"); /* other examples */
        drove_result *result;
        assert_int_equal(drove_train(&again, NULL, &result), DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), "validation examples"));
        set(&again, "until", "validation=60,epochs=12");
        run_to(&again, DROVE_FINISHED);
        assert_same_model("whole", "parts");
    }
}

/* Stepping back, by every way of sharing parameters. */
TEST(every_strategy_can_step_back)
{
    static const char *const strategy[][3] = {
        {"hogwild", "threads", "4"},       {"leashed:inf", "threads", "4"},
        {"mutex", "threads", "8"},         {"sync", "threads", "2"},
        {"ssp:2", "threads", "2"},         {"accumulate", "threads", "2"},
        {"easgd-sync3", "threads", "2"},   {"local", "threads", "2"},
        {"hogwild", "workers", "procs:2"}, {"sync", "workers", "procs:2"},
    };
    for (size_t i = 0; i < sizeof strategy / sizeof strategy[0]; i++) {
        drove_options opt = bare_run();
        set(&opt, "strategy", strategy[i][0]);
        set(&opt, strategy[i][1], strategy[i][2]);
        set(&opt, "schedule", "plateau:0.5?patience=1&cuts=3");
        set(&opt, "until", "validation=60,patience=6,epochs=30");
        set(&opt, "eval-every", "0.5");
        json_t *summary = summary_of(&opt), *tuning = json_object_get(summary, "tuning");
        if (!(number(tuning, "cuts") >= 1.0) || !(number(summary, "test_accuracy") > 0.5))
            fail_msg("%s, %s %s: %g cuts, accuracy %g", strategy[i][0], strategy[i][1],
                     strategy[i][2], number(tuning, "cuts"), number(summary, "test_accuracy"));
        json_decref(summary);
    }
}

/* Targets far from 0: losses, model file and predictions are in their own units. */
TEST(values_keep_their_units)
{
    FILE *f = fopen("far.csv", "w");
    assert_non_null(f);
    for (int i = 0; i < 500; i++) {
        double x = i % 25, z = (i * 7) % 11;
        fprintf(f, "%g,%g,%g\n", x, z, 5000.0 + 30.0 * x - 20.0 * z);
    }
    fclose(f);
    drove_options opt = bare_run();
    set(&opt, "data", "csv:far.csv?label=last&target=value");
    set(&opt, "test", "csv:far.csv?label=last&target=value");
    set(&opt, "model", "linear");
    set(&opt, "out", fresh_folder("far"));
    json_t *summary = summary_of(&opt);
    assert_true(number(summary, "loss_initial") > 1e4); /* half the variance, not half of 1 */
    assert_true(number(summary, "test_loss") < 10.0);
    const drove_use_options use = {.model = "far/model.safetensors",
                                   .data = "csv:far.csv?label=last&target=value"};
    drove_score_report report;
    if (drove_eval(&use, &report) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_true(fabs(report.loss - number(summary, "test_loss")) <
                1e-2 * (1.0 + number(summary, "test_loss")));
    json_decref(summary);
}

/* Too few rows to hold any out. */
TEST(a_tiny_set)
{
    drove_options opt = bare_run();
    set(&opt, "data", "synth:digits?n=60&seed=3");
    json_t *summary = summary_of(&opt), *tuning = json_object_get(summary, "tuning");
    assert_true(number(tuning, "validation_examples") == 0.0);
    assert_true(number(summary, "epochs") == 200.0);
    json_decref(summary);
}
