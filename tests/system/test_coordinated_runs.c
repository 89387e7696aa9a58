/* Workers that a coordinator gives batches to: cores and fake devices in whole runs, lost ones
 * among them.
 *
 * ctest: slow: waits for workers that do not answer */
#include "system/run_support.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static char messages[4096];

static void keep_message(void *context, const char *line)
{
    (void)context;
    size_t n = strlen(messages);
    snprintf(messages + n, sizeof messages - n, "%s\n", line);
}

/* Runs it; the summary, or NULL with the error's text left where drove_error_text finds it. */
static json_t *run(const drove_options *opt)
{
    drove_result *result = NULL;
    drove_callbacks callbacks = {.message = keep_message};
    messages[0] = '\0';
    if (drove_train(opt, &callbacks, &result) != DROVE_OK) return NULL;
    json_t *summary = json_loads(drove_result_json(result), 0, NULL);
    drove_result_destroy(result);
    assert_non_null(summary);
    return summary;
}

static json_t *run_well(const drove_options *opt)
{
    json_t *summary = run(opt);
    if (summary == NULL) fail_msg("%s", drove_error_text());
    return summary;
}

static drove_options coordinated_run(const char *strategy, const char *workers)
{
    drove_options opt = small_run();
    set(&opt, "strategy", strategy);
    set(&opt, "workers", workers);
    set(&opt, "until", "epochs=3");
    return opt;
}

static int64_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("no whole number \"%s\"", key);
    return json_integer_value(value);
}

static double real(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number \"%s\"", key);
    return json_number_value(value);
}

/* Every example of every epoch was used once, and the workers' parts are the whole. */
static void assert_whole(const json_t *summary, int64_t n_rows, int epochs)
{
    int64_t examples = 0, updates = 0;
    double share = 0.0;
    size_t i;
    const json_t *worker;
    assert_int_equal(number(summary, "examples"), n_rows * epochs);
    json_array_foreach(json_object_get(summary, "workers"), i, worker)
    {
        examples += number(worker, "examples");
        updates += number(worker, "updates");
        share += real(worker, "share");
        assert_true(real(worker, "busy") >= 0.0 && real(worker, "busy") <= 1.01);
        assert_true(number(worker, "batch") >= number(worker, "batch_min"));
        assert_true(number(worker, "batch") <= number(worker, "batch_max"));
    }
    assert_int_equal(examples, n_rows * epochs);
    assert_int_equal(updates, number(summary, "updates"));
    assert_true(fabs(share - 1.0) < 1e-6); /* nine digits each */
}

static int64_t n_rows_of(const drove_options *opt)
{
    drove_options one = *opt;
    set(&one, "strategy", "sequential");
    set(&one, "workers", "threads:1");
    set(&one, "until", "epochs=1");
    json_t *summary = run_well(&one);
    int64_t n = number(summary, "examples");
    json_decref(summary);
    return n;
}

/* Algorithm 2, line 6: the steps of threads that step for themselves count beta, all others 1. */
static void assert_counted(const json_t *summary, double beta)
{
    size_t i;
    const json_t *worker;
    json_array_foreach(json_object_get(summary, "workers"), i, worker)
    {
        const char *name = json_string_value(json_object_get(worker, "name"));
        double counts = strcmp(name, "cpu:all") == 0 ? beta : 1.0;
        assert_true(real(worker, "counted_updates") == counts * (double)number(worker, "updates"));
    }
}

TEST(test_every_example_once)
{
    static const char *const strategy[] = {"hogbatch",
                                           "hogbatch:mixed",
                                           "adaptive",
                                           "adaptive?update=coordinator",
                                           "adaptive?merge=replace",
                                           "adaptive?alpha=3&beta=0.5&utilisation=0.5&tail=as-is"};
    static const char *const workers[] = {
        "cpu:all", "cpu:all?gradient=one", "fake:?speed=20", "cpu:all?max=8+fake:?speed=50",
        "fake:?speed=5&compute=no+fake:?speed=50+fake:?speed=500&max=64"};
    drove_options bare = small_run();
    int64_t n_rows = n_rows_of(&bare);
    for (size_t s = 0; s < sizeof strategy / sizeof *strategy; s++) {
        for (size_t w = 0; w < sizeof workers / sizeof *workers; w++) {
            drove_options opt = coordinated_run(strategy[s], workers[w]);
            json_t *summary = run_well(&opt);
            assert_whole(summary, n_rows, 3);
            /* Who does not compute, or replaces what others did, may have got the most. */
            bool is_certain = strstr(workers[w], "compute=no") == NULL &&
                              strstr(strategy[s], "merge=replace") == NULL;
            if (is_certain) assert_true(real(summary, "loss") < real(summary, "loss_initial"));
            bool is_half =
                strstr(strategy[s], "beta=0.5") != NULL && strstr(workers[w], "one") == NULL;
            assert_counted(summary, is_half ? 0.5 : 1.0);
            json_decref(summary);
        }
    }
}

/* The part of each group in an evaluation is only another order of summing. */
TEST(test_same_evaluation)
{
    drove_options one = small_run();
    set(&one, "strategy", "sequential");
    set(&one, "until", "epochs=0.01");
    json_t *expected = run_well(&one);
    drove_options opt =
        coordinated_run("adaptive", "cpu:all+fake:?speed=100&memory=1MiB&min=8&max=16");
    set(&opt, "until", "epochs=0.01");
    json_t *found = run_well(&opt);
    double loss = real(expected, "loss_initial");
    assert_true(fabs(real(found, "loss_initial") - loss) < 1e-6 * loss);
    json_decref(expected);
    json_decref(found);
}

/* A gradient by several threads, or in the pieces that a device's memory holds, is that of the
 * whole batch: one update each, and the parameters of sequential SGD but for the order of sums. */
static void assert_like_sequential(const char *workers)
{
    const double bound = 1e-4; /* of the largest parameter, after 30 steps in float */
    drove_options opt = coordinated_run("hogbatch", workers);
    set(&opt, "batch", "54");
    set(&opt, "out", fresh_folder("coordinated"));
    json_t *summary = run_well(&opt);
    int64_t updates = number(summary, "updates");
    json_decref(summary);
    set(&opt, "strategy", "sequential");
    set(&opt, "workers", "threads:1");
    set(&opt, "out", fresh_folder("sequential"));
    summary = run_well(&opt);
    assert_int_equal(updates, number(summary, "updates"));
    json_decref(summary);
    drove_modelfile a, b;
    load_model("coordinated", "model.safetensors", &a);
    load_model("sequential", "model.safetensors", &b);
    double largest = 0.0, apart = 0.0;
    for (size_t i = 0; i < a.model->n_params; i++) {
        largest = fmax(largest, fabs((double)b.theta[i]));
        apart = fmax(apart, fabs((double)a.theta[i] - (double)b.theta[i]));
    }
    if (!(apart <= bound * largest)) fail_msg("%s: %g apart, largest %g", workers, apart, largest);
    drove__modelfile_fini(&a);
    drove__modelfile_fini(&b);
}

TEST(test_one_gradient)
{
    assert_like_sequential("cpu:all?gradient=one");
    assert_like_sequential("fake:?speed=1000");
    assert_like_sequential("fake:?speed=1000&memory=250KiB"); /* not 54 examples at once */
}

/* A device that is lost at any of its batches costs nothing but itself. */
TEST(test_lost_device)
{
    drove_options bare = small_run();
    int64_t n_rows = n_rows_of(&bare);
    static const char *const how[] = {"fail_after", "hang_after"};
    for (int k = 0; k < 2; k++) {
        for (int after = 0; after < 9; after += 2) {
            char workers[160];
            snprintf(workers, sizeof workers,
                     "fake:?speed=20&min=4&max=4+fake:?speed=200&min=4&max=4&timeout=0.1&%s=%d",
                     how[k], after);
            drove_options opt = coordinated_run("adaptive", workers);
            json_t *summary = run_well(&opt);
            assert_whole(summary, n_rows, 3);
            const json_t *fake = json_array_get(json_object_get(summary, "workers"), 1);
            assert_true(json_is_string(json_object_get(fake, "lost")));
            assert_non_null(strstr(messages, "worker fake is lost"));
            json_decref(summary);
        }
    }
}

/* A driver that never returns: the coordinator takes its batch away, and its thread is left
 * behind. */
TEST(test_silent_device)
{
    drove_options bare = small_run();
    int64_t n_rows = n_rows_of(&bare);
    drove_options opt =
        coordinated_run("adaptive",
                        "fake:?speed=20&min=4&max=4"
                        "+fake:?speed=200&min=4&max=4&timeout=0.05&hang_after=3&deaf=yes");
    json_t *summary = run_well(&opt);
    assert_whole(summary, n_rows, 3);
    const json_t *fake = json_array_get(json_object_get(summary, "workers"), 1);
    const char *lost = json_string_value(json_object_get(fake, "lost"));
    assert_non_null(lost);
    assert_non_null(strstr(lost, "no answer for 0.1 s"));
    json_decref(summary);
}

/* With nobody left the run fails, its state is there, and others take it to the end. */
TEST(test_deserted)
{
    drove_options bare = small_run();
    int64_t n_rows = n_rows_of(&bare);
    const char *folder = fresh_folder("deserted");
    drove_options opt = coordinated_run("adaptive", "fake:?speed=100&min=16&max=16&fail_after=40"
                                                    "+fake:?speed=100&min=16&max=16&fail_after=50");
    set(&opt, "out", folder);
    assert_null(run(&opt));
    assert_non_null(strstr(drove_error_text(), "no worker is left of 2"));
    assert_non_null(strstr(drove_error_text(), "--resume"));
    drove_options again = drove__options_default();
    assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
    set(&again, "workers", "cpu:0");
    json_t *summary = run_well(&again);
    assert_whole(summary, n_rows, 3);
    json_decref(summary);
}

/* A device may be lost while its batch sizes are measured: in its first batch, or in a later one,
 * by its own word, by its time-out, or without another word. */
TEST(test_lost_in_measurement)
{
    drove_options bare = small_run();
    int64_t n_rows = n_rows_of(&bare);
    static const char *const how[] = {"fail_after=0", "fail_after=3", "hang_after=2",
                                      "hang_after=0&deaf=yes"};
    for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
        char workers[120];
        snprintf(workers, sizeof workers, "cpu:all?max=4+fake:?speed=50&timeout=0.05&%s", how[k]);
        drove_options opt = coordinated_run("adaptive", workers);
        json_t *summary = run_well(&opt);
        assert_whole(summary, n_rows, 3);
        const json_t *fake = json_array_get(json_object_get(summary, "workers"), 1);
        assert_true(json_is_string(json_object_get(fake, "lost")));
        assert_int_equal(number(fake, "examples"), 0);
        assert_non_null(strstr(messages, "worker fake is lost"));
        json_decref(summary);
    }
}

/* The run of these workers fails, with its state saved; cores take it to the end. */
static void assert_saved(const char *workers, int64_t n_rows)
{
    const char *folder = fresh_folder("deserted");
    drove_options opt = coordinated_run("adaptive", workers);
    set(&opt, "until", "epochs=1");
    set(&opt, "out", folder);
    assert_null(run(&opt));
    assert_non_null(strstr(drove_error_text(), "--resume"));
    drove_options again = drove__options_default();
    assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
    set(&again, "workers", "cpu:all");
    json_t *summary = run_well(&again);
    assert_int_equal(number(summary, "examples"), n_rows);
    json_decref(summary);
}

/* The first evaluation takes two batches of the one device. */
TEST(test_deserted_at_the_ends)
{
    drove_options bare = small_run();
    int64_t n_rows = n_rows_of(&bare);
    assert_saved("fake:?min=8&max=8&fail_after=1", n_rows);       /* before any training */
    assert_saved("fake:?fail_after=2", n_rows);                   /* in the measurement */
    assert_saved("fake:?min=1000&max=1000&fail_after=2", n_rows); /* everything in hand */
    assert_saved("fake:?min=300&max=300&fail_after=3", n_rows);   /* the second half */
}

/* A budget that is over before the coordinator has begun is over: not at the next evaluation. */
TEST(test_early_halt)
{
    for (int i = 0; i < 30; i++) {
        drove_options opt = coordinated_run("adaptive", "fake:?speed=1&min=8&max=8&compute=no");
        set(&opt, "until", "seconds=0.000001");
        set(&opt, "eval-examples", "8");
        json_t *summary = run_well(&opt);
        assert_true(number(summary, "updates") <= 40); /* of 75, 8 ms each */
        json_decref(summary);
    }
}

/* Sizes that were asked for are used, also where they are more than the engine of a device, or of a
 * thread, would have been given. */
TEST(test_sizes)
{
    static const struct {
        const char *strategy, *workers;
        int batch, least, most;
    } row[] = {
        {"hogbatch", "fake", 32, 32, 32},
        {"hogbatch", "fake:?min=4", 32, 4, 32},
        {"hogbatch", "fake:?max=8", 8, 8, 8},
        {"hogbatch", "fake:?batch=600", 600, 600, 600}, /* as many as its engine holds */
        {"hogbatch", "cpu:0?max=64", 32, 32, 64},
        {"hogbatch", "cpu:0?min=40", 40, 40, 40},
        {"hogbatch:mixed", "cpu:0", 1, 1, 64},
        {"hogbatch:mixed", "cpu:0?min=590", 590, 590, 590},
        {"hogbatch:mixed", "fake:?batch=7&min=2&max=9", 7, 2, 9},
        {"hogbatch:mixed", "fake:?memory=250KiB&min=590", 590, 590, 590},
        {"hogbatch:mixed", "cpu:0?batch=10000", 600, 1, 600},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        drove_options opt = coordinated_run(row[i].strategy, row[i].workers);
        set(&opt, "batch", "32");
        set(&opt, "until", "epochs=1");
        json_t *summary = run_well(&opt);
        assert_whole(summary, 600, 1);
        const json_t *worker = json_array_get(json_object_get(summary, "workers"), 0);
        if (number(worker, "batch") != row[i].batch ||
            number(worker, "batch_min") != row[i].least ||
            number(worker, "batch_max") != row[i].most)
            fail_msg("%s %s: %lld, %lld to %lld", row[i].strategy, row[i].workers,
                     (long long)number(worker, "batch"), (long long)number(worker, "batch_min"),
                     (long long)number(worker, "batch_max"));
        json_decref(summary);
    }
}

/* A limit of updates holds over the stretches between evaluations, but for what is in hand. */
TEST(test_limit_of_updates)
{
    drove_options opt =
        coordinated_run("adaptive", "fake:?speed=100&min=8&max=8+fake:?speed=50&min=8&max=8");
    set(&opt, "until", "updates=100");
    set(&opt, "eval_every", "0.2");
    json_t *summary = run_well(&opt);
    assert_in_range(number(summary, "updates"), 100, 103);
    json_decref(summary);
}

/* The time line goes through all stretches of training. */
TEST(test_timeline)
{
    drove_options opt = coordinated_run("hogbatch", "fake:?speed=5");
    set(&opt, "eval_every", "0.2");
    json_t *summary = run_well(&opt);
    const json_t *worker = json_array_get(json_object_get(summary, "workers"), 0);
    const json_t *list = json_object_get(json_object_get(worker, "timeline"), "utilisation");
    double busy = 0.0;
    size_t i, n = json_array_size(list);
    const json_t *part;
    assert_true(n > 10);
    json_array_foreach(list, i, part) if (i >= n / 2) busy += json_number_value(part);
    assert_true(busy > 0.25 * (double)n); /* half of the second half */
    json_decref(summary);
}

/* Sizes and counts go on where they were. */
TEST(test_resume)
{
    drove_options bare = small_run();
    int64_t n_rows = n_rows_of(&bare);
    const char *folder = fresh_folder("resumed");
    drove_options opt = coordinated_run("adaptive", "cpu:all?max=8+fake:?speed=50&min=8&max=128");
    set(&opt, "out", folder);
    json_t *first = run_well(&opt);
    drove_options again = drove__options_default();
    assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
    set(&again, "until", "epochs=5");
    json_t *second = run_well(&again);
    assert_whole(second, n_rows, 5);
    for (size_t i = 0; i < 2; i++) {
        const json_t *then = json_array_get(json_object_get(first, "workers"), i);
        const json_t *now = json_array_get(json_object_get(second, "workers"), i);
        assert_true(real(now, "counted_updates") >= real(then, "counted_updates"));
        assert_true(number(now, "updates") >= number(then, "updates"));
    }
    json_decref(first);
    json_decref(second);
}
