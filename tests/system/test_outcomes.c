/* Each way in which a run can end, with its exit status and what is left behind. */
#include "files/output.h"
#include "system/run_support.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static drove_result *run(const drove_options *opt)
{
    drove_result *result;
    if (drove_train(opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    return result;
}

static void expect(const drove_options *opt, drove_outcome outcome, int exit_status)
{
    drove_result *result = run(opt);
    assert_string_equal(drove_outcome_name(drove_result_outcome(result)),
                        drove_outcome_name(outcome));
    assert_int_equal(drove_result_exit(result), exit_status);
    drove_result_destroy(result);
}

TEST(reached_finished_missed)
{
    drove_options opt = small_run();
    set(&opt, "until", "loss=60%,epochs=40");
    expect(&opt, DROVE_REACHED, 0);
    set(&opt, "until", "epochs=1");
    expect(&opt, DROVE_FINISHED, 0);
    set(&opt, "until", "loss=0.000001,epochs=1");
    expect(&opt, DROVE_MISSED, 4);
    set(&opt, "until", "loss=1e-12,seconds=0.05");
    expect(&opt, DROVE_MISSED, 4);
}

TEST(patience_ends_a_run)
{
    drove_options opt = small_run();
    drove_progress end;
    set(&opt, "test", "split");
    set(&opt, "lr", "0.5");
    set(&opt, "until", "validation=60,patience=3,epochs=400");
    drove_result *result = run(&opt);
    drove_result_final(result, &end);
    assert_int_equal(drove_result_outcome(result), DROVE_FINISHED);
    assert_true(end.epochs < 400);
    drove_result_destroy(result);
}

typedef struct losses { /* training losses in the order of the evaluations */
    double loss[4096];
    size_t n;
} losses;

static void note_loss(void *context, const drove_progress *p)
{
    losses *l = context;
    if (l->n < sizeof l->loss / sizeof l->loss[0]) l->loss[l->n++] = p->loss;
}

/* Three evaluations in a row without a better loss, not three in all. */
TEST(patience_starts_anew_with_each_better_loss)
{
    static losses seen;
    drove_options opt = small_run();
    drove_callbacks callbacks = {.context = &seen, .evaluated = note_loss};
    drove_result *result;
    set(&opt, "test", "split");
    set(&opt, "lr", "0.3");
    set(&opt, "eval-every", "0.03"); /* each batch: the loss goes up and down */
    set(&opt, "until", "patience=3,epochs=400");
    if (drove_train(&opt, &callbacks, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(drove_result_outcome(result), DROVE_FINISHED);
    drove_result_destroy(result);
    size_t since_best = 0, worse = 0, i = 0;
    double best = INFINITY;
    for (; i < seen.n && since_best < 3; i++) {
        bool is_better = seen.loss[i] < best;
        if (is_better) best = seen.loss[i];
        since_best = is_better ? 0 : since_best + 1;
        worse += !is_better;
    }
    assert_int_equal(since_best, 3);
    assert_int_equal(i, seen.n); /* and there the run ended */
    assert_true(worse > 3);      /* or this test would not see a count that never starts anew */
}

TEST(a_run_that_blows_up_has_crashed)
{
    drove_options opt = small_run();
    set(&opt, "lr", "1e8");
    set(&opt, "out", fresh_folder("crashed"));
    expect(&opt, DROVE_CRASHED, 3);
    /* the best model is the last finite one, and no state with rubbish in it was saved */
    drove_modelfile best;
    load_model("crashed", "best.safetensors", &best);
    for (size_t i = 0; i < best.model->n_params; i++) assert_true(isfinite(best.theta[i]));
    drove__modelfile_fini(&best);
    assert_int_equal(access("crashed/state.safetensors", F_OK), -1);
    assert_int_equal(access("crashed/summary.json", F_OK), 0);
}

TEST(budgets_are_exact)
{
    static const char *const strategies[] = {"sequential", "sync",        "softsync:2",
                                             "hogwild",    "leashed:inf", "mutex"};
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        drove_options opt = small_run();
        drove_progress end;
        set(&opt, "threads", "3");
        set(&opt, "strategy", strategies[i]);
        set(&opt, "until", "updates=17");
        drove_result *result = run(&opt);
        drove_result_final(result, &end);
        if (end.updates != 17)
            fail_msg("%s: %llu updates", strategies[i], (unsigned long long)end.updates);
        drove_result_destroy(result);
    }
}

/* A step that was given up is in no worker's count of updates. */
TEST(dropped_steps_are_no_updates)
{
    long long dropped = 0;
    for (int attempt = 0; attempt < 20 && dropped == 0; attempt++) {
        drove_options opt = small_run();
        drove_progress end;
        long long updates = 0;
        set(&opt, "threads", "8");
        set(&opt, "strategy", "leashed:0");
        set(&opt, "batch", "1");
        drove_result *result = run(&opt);
        drove_result_final(result, &end);
        json_t *summary = json_loads(drove_result_json(result), 0, NULL), *worker;
        assert_non_null(summary);
        size_t i;
        json_array_foreach(json_object_get(summary, "workers"), i, worker)
        {
            updates += json_integer_value(json_object_get(worker, "updates"));
        }
        dropped = json_integer_value(json_object_get(summary, "dropped"));
        assert_int_equal(i, 8);
        assert_int_equal(updates, end.updates);
        assert_int_equal(updates + dropped, 2 * 600); /* steps of one example each */
        json_decref(summary);
        drove_result_destroy(result);
    }
    if (dropped == 0) print_message("no step was dropped in 20 runs\n");
}

/* Numbers so large that sums and products with them leave 64 bits mean "never". */
TEST(boundless_numbers_bound_nothing)
{
    static const char *const untils[] = {"updates=2305843009213693953,epochs=1",
                                         "updates=4611686018427387903,epochs=1",
                                         "seconds=1e12,epochs=1"};
    static const char *const saves[] = {"updates=18446744073709551615", "seconds=1e300",
                                        "epochs=1e300"};
    for (size_t i = 0; i < sizeof untils / sizeof untils[0]; i++) {
        drove_options opt = small_run();
        set(&opt, "threads", "8"); /* 8 x (2^61 + 1) is 8 more than 2^64 */
        set(&opt, "strategy", "sync");
        set(&opt, "until", untils[i]);
        expect(&opt, DROVE_FINISHED, 0);
    }
    for (size_t i = 0; i < sizeof saves / sizeof saves[0]; i++) {
        drove_options opt = small_run();
        set(&opt, "save-every", saves[i]);
        set(&opt, "out", fresh_folder("boundless"));
        expect(&opt, DROVE_FINISHED, 0);
        set(&opt, "resume", "boundless");
        set(&opt, "until", "epochs=3");
        expect(&opt, DROVE_FINISHED, 0);
    }
}

/* What a run allocates follows from the examples that there are. */
TEST(a_batch_beyond_the_data_is_all_of_them)
{
    drove_options opt = small_run();
    drove_progress end;
    set(&opt, "batch", "1073741824");
    set(&opt, "until", "epochs=3");
    drove_result *result = run(&opt);
    drove_result_final(result, &end);
    assert_int_equal(end.updates, 3);
    assert_int_equal(end.examples, 3 * 600);
    drove_result_destroy(result);
}

/* The second example's step makes its weight infinite; the evaluation sees the first alone, whose
 * loss stays finite. */
TEST(infinite_parameters_are_a_crash_whatever_the_loss)
{
    FILE *f = fopen("infinite.libsvm", "w");
    assert_non_null(f);
    assert_true(fputs("0 1:1\n1 2:1e31\n", f) >= 0);
    assert_int_equal(fclose(f), 0);
    drove_options opt = small_run();
    set(&opt, "data", "libsvm:infinite.libsvm");
    set(&opt, "model", "logistic");
    set(&opt, "init", "normal:1e-32");
    set(&opt, "batch", "1");
    set(&opt, "lr", "1e9");
    set(&opt, "eval-examples", "1");
    set(&opt, "until", "epochs=1");
    set(&opt, "out", fresh_folder("infinite"));
    expect(&opt, DROVE_CRASHED, 3);
    assert_int_equal(access("infinite/state.safetensors", F_OK), -1);
    drove_modelfile best;
    load_model("infinite", "best.safetensors", &best);
    for (size_t i = 0; i < best.model->n_params; i++) assert_true(isfinite(best.theta[i]));
    drove__modelfile_fini(&best);
}

/* Number of records, and the last one's loss; fails the test unless each has at least as many
 * examples as the one before, and more if is_once. */
static unsigned read_log(const char *path, bool is_once, double *loss)
{
    char line[4096];
    long long before = -1;
    unsigned n = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        json_t *record = json_loads(line, 0, NULL);
        long long examples = json_integer_value(json_object_get(record, "examples"));
        if (examples < before + is_once) fail_msg("%lld examples behind %lld", examples, before);
        before = examples;
        *loss = json_number_value(json_object_get(record, "loss"));
        json_decref(record);
        n++;
    }
    fclose(f);
    return n;
}

/* What the loop does when a signal comes behind an evaluation, before the next batch: it evaluates
 * the same parameters again. */
static void log_at_once(void *context, const drove_progress *p)
{
    drove_run *run = *(drove_run *const *)context;
    assert_int_equal(drove__output_evaluation(&run->workers, &run->state, &run->output, p),
                     DROVE_OK);
}

/* Where nothing was trained since the last evaluation, the end is not one more record: here every
 * evaluation is handed to the log twice. */
TEST(an_evaluation_is_logged_once)
{
    drove_options opt = small_run();
    drove_run *run;
    drove_result *result;
    const drove_callbacks callbacks = {.context = &run, .evaluated = log_at_once};
    set(&opt, "eval_every", "1");
    set(&opt, "until", "epochs=3");
    set(&opt, "log", "once.jsonl");
    double loss;
    if (drove_run_create(&opt, &run) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_run_set_callbacks(run, &callbacks);
    if (drove_run_train(run, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(read_log("once.jsonl", true, &loss), 4);
    drove_result_destroy(result);
    drove_run_destroy(run);
}

/* But other parameters are: those that a plateau in the last epoch goes back to. */
TEST(the_end_behind_a_plateau_is_logged)
{
    drove_options opt = small_run();
    drove_progress end;
    double loss;
    set(&opt, "data", "synth:logistic?n=2000&d=4");
    set(&opt, "model", "logistic");
    set(&opt, "batch", "10");
    set(&opt, "lr", "300");
    set(&opt, "schedule", "plateau:0.2?patience=1&cuts=3");
    set(&opt, "eval_every", "1");
    set(&opt, "until", "epochs=1");
    set(&opt, "log", "plateau.jsonl");
    drove_result *result = run(&opt);
    drove_result_final(result, &end);
    assert_int_equal(read_log("plateau.jsonl", false, &loss), 3);
    assert_float_equal(loss, end.loss, 1e-6);
    drove_result_destroy(result);
}
