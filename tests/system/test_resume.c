/* A run that stops and goes on ends in the same bits as one that never stopped. */
#include "base/file.h"
#include "system/run_support.h"
#include "support/files.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void compare(const char *strategy, const char *threads, const char *rule,
                    const char *rule_state)
{
    const char *whole = fresh_folder("whole"), *parts = fresh_folder("parts");
    drove_options opt = small_run();
    set(&opt, "strategy", strategy);
    set(&opt, "threads", threads);
    set(&opt, "rule", rule);
    set(&opt, "rule-state", rule_state);
    if (strcmp(rule, "muon") == 0) set(&opt, "model", "mlp:24,24"); /* with a matrix between */
    set(&opt, "eval-every", "0.4");
    set(&opt, "until", "epochs=3");
    set(&opt, "out", whole);
    run_to(&opt, DROVE_FINISHED);

    set(&opt, "until", "updates=13"); /* in the middle of an epoch, off every evaluation */
    set(&opt, "out", parts);
    run_to(&opt, DROVE_FINISHED);
    drove_options again = drove__options_default();
    assert_int_equal(drove_options_resume(&again, parts), DROVE_OK);
    set(&again, "until", "epochs=1.7");
    run_to(&again, DROVE_FINISHED);
    set(&again, "until", "epochs=3");
    run_to(&again, DROVE_FINISHED);
    assert_same_model(whole, parts);
}

TEST(sequential_resumes_to_the_same_bits)
{
    compare("sequential", "1", "sgd", "shared");
    compare("sequential", "1", "momentum:0.9", "shared");
    compare("sequential", "1", "adam", "worker");
    compare("sequential", "1", "adamw", "shared");
    compare("sequential", "1", "muon", "worker");
}

TEST(synchronous_resumes_to_the_same_bits)
{
    compare("sync", "2", "sgd", "shared");
    compare("sync", "3", "adam", "shared");
    compare("sync", "2", "nesterov:0.9", "worker");
    compare("accumulate", "2", "adam", "shared");
    compare("accumulate?order=pairs", "3", "momentum:0.9", "shared");
    compare("tree", "2", "nesterov:0.9", "shared");
}

TEST(one_worker_of_others_resumes_to_the_same_bits)
{
    compare("leashed:inf", "1", "momentum:0.9", "shared");
    compare("mutex", "1", "rmsprop", "worker");
    compare("ssp:2", "1", "sgd", "shared");
}

/* A step size that needs all its digits: run.json must carry them. */
TEST(the_step_size_is_kept_to_the_last_bit)
{
    const char *folder = fresh_folder("digits");
    drove_options opt = small_run(), again = drove__options_default();
    opt.lr = 0.1 * 3.0 / 7.0;
    set(&opt, "until", "updates=1");
    set(&opt, "out", folder);
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
    assert_true(again.lr == opt.lr);
}

/* Stopping between two evaluations changes nothing about when the patience ends. */
TEST(patience_is_the_same_after_a_stop)
{
    const char *whole = fresh_folder("patient"), *parts = fresh_folder("parted");
    drove_options opt = small_run();
    set(&opt, "test", "split");
    set(&opt, "lr", "0.6");
    set(&opt, "until", "patience=2,epochs=60");
    set(&opt, "out", whole);
    run_to(&opt, DROVE_FINISHED);
    set(&opt, "out", parts);
    set(&opt, "until", "patience=2,updates=50");
    run_to(&opt, DROVE_FINISHED);
    for (unsigned updates = 85; updates < 500; updates += 35) { /* 34 batches an epoch */
        drove_options again = drove__options_default();
        char until[64];
        assert_int_equal(drove_options_resume(&again, parts), DROVE_OK);
        snprintf(until, sizeof until, "patience=2,epochs=60,updates=%u", updates);
        set(&again, "until", until);
        run_to(&again, DROVE_FINISHED);
    }
    assert_same_model(whole, parts);
}

TEST(asynchronous_run_goes_on_with_its_counters)
{
    const char *folder = fresh_folder("async");
    drove_options opt = small_run();
    set(&opt, "strategy", "softsync:2");
    set(&opt, "threads", "3");
    set(&opt, "rule", "momentum:0.5");
    set(&opt, "until", "epochs=1");
    set(&opt, "out", folder);
    run_to(&opt, DROVE_FINISHED);

    drove_options again = drove__options_default();
    drove_result *result;
    drove_progress end;
    assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
    set(&again, "until", "epochs=2");
    assert_int_equal(drove_train(&again, NULL, &result), DROVE_OK);
    drove_result_final(result, &end);
    assert_int_equal(end.examples, 1200);  /* both parts together */
    assert_int_equal(end.updates, 76 / 2); /* 76 batches of 16, two to an update */
    drove_result_destroy(result);
}

TEST(another_method_is_refused)
{
    const char *folder = fresh_folder("refused");
    drove_options opt = small_run();
    drove_result *result;
    set(&opt, "out", folder);
    run_to(&opt, DROVE_FINISHED);
    drove_options again = drove__options_default();
    assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
    set(&again, "batch", "17");
    assert_int_equal(drove_train(&again, NULL, &result), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "--batch"));
    assert_null(result);
    /* and what was there is still there */
    assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
    set(&again, "until", "epochs=3");
    run_to(&again, DROVE_FINISHED);
}

TEST(a_folder_in_use_is_refused)
{
    const char *folder = fresh_folder("used");
    drove_options opt = small_run();
    drove_result *result;
    set(&opt, "out", folder);
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_E_EXISTS);
    assert_non_null(strstr(drove_error_text(), "used"));
}

/* Bytes of the header changed, or the end cut off: a clear refusal or a run, never a crash. */
TEST(broken_states_are_refused)
{
    const char *folder = fresh_folder("broken");
    drove_options opt = small_run();
    char *whole;
    size_t size, refused = 0, tried = 0;
    set(&opt, "out", folder);
    run_to(&opt, DROVE_FINISHED);
    assert_int_equal(drove__file_load("broken/state.safetensors", 1u << 28, &whole, &size),
                     DROVE_OK);
    for (size_t at = 0; at < 3000; at += 29) {
        drove_options again = drove__options_default();
        drove_result *result;
        size_t length = at % 2 == 0 ? size : size - at; /* every second one is cut short, too */
        whole[at] ^= 0x15;
        write_bytes("broken/state.safetensors", whole, length);
        whole[at] ^= 0x15;
        assert_int_equal(drove_options_resume(&again, folder), DROVE_OK);
        set(&again, "until", "updates=0");
        tried++;
        if (drove_train(&again, NULL, &result) == DROVE_OK) {
            drove_result_destroy(result);
        } else {
            assert_true(drove_error_text()[0] != '\0');
            refused++;
        }
    }
    print_message("%zu of %zu broken states refused\n", refused, tried);
    assert_true(refused > tried / 2); /* those cut short at least */
    free(whole);
}
