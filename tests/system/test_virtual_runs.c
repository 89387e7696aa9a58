/* Whole runs on the virtual clock of a machine file: schedules worked out by hand, to the
 * nanosecond; a slower machine; many workers; the same again. */
#include "system/run_support.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The model of small_run has 784 x 24 + 24 + 24 x 10 + 10 parameters; each layer's are filled up to
 * whole cache lines: 19,104, 76,416 bytes.  In ns: a gradient G, a copy C, an update U, a hand-over
 * H; a line and a window take no time.  S: a worker's slice of two, 9,552 parameters, each of which
 * costs the copies of two steps and an update. */
enum { G = 1000000, C = 19104, U = 76416, H = 5000, S = 9552 * 6 };

/* What a core takes from the other's cache, 2 bytes a ns: T for all parameters. */
enum { T = U / 2 };
static const char takes[] = "take_gb_s: 2\n";

static const char exact[] = "batch_us: 1000\nexample_us: 0\ncopy_gb_s: 4\nupdate_gb_s: 1\n"
                            "line_ns: 0\nhand_over_us: 5\n";

static const char *write_machine(const char *levels, const char *more)
{
    static const char path[] = "machine.yaml";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "name: test\n%s\n%s", levels, more);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* Four batches, the rest as it is. */
static drove_options four_batches(const char *strategy, const char *threads)
{
    drove_options opt = small_run();
    set(&opt, "strategy", strategy);
    set(&opt, "threads", threads);
    set(&opt, "batch", "150");
    set(&opt, "until", "epochs=1");
    return opt;
}

typedef struct outcome {             /* of one run */
    double train_s, loss, staleness; /* mean */
    json_int_t updates, attempts, dropped, most_stale;
    char *text; /* histogram, phases and workers; the caller frees it */
} outcome;

static double real(const json_t *summary, const char *key)
{
    return json_number_value(json_object_get(summary, key));
}

static json_int_t whole(const json_t *summary, const char *key)
{
    return json_integer_value(json_object_get(summary, key));
}

static void run(const drove_options *opt, outcome *out)
{
    drove_result *result;
    if (drove_train(opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    json_t *summary = json_loads(drove_result_json(result), 0, NULL);
    assert_non_null(summary);
    assert_string_equal(json_string_value(json_object_get(summary, "clock")), "virtual");
    const json_t *stale = json_object_get(summary, "staleness");
    json_t *kept = json_pack("{s:O, s:O, s:O}", "staleness", stale, "phases",
                             json_object_get(summary, "phases"), "workers",
                             json_object_get(summary, "workers"));
    *out = (outcome){.train_s = real(summary, "train_s"),
                     .loss = real(summary, "loss"),
                     .staleness = real(stale, "mean"),
                     .updates = whole(summary, "updates"),
                     .attempts = whole(summary, "attempts"),
                     .dropped = whole(summary, "dropped"),
                     .most_stale = whole(stale, "max"),
                     .text = json_dumps(kept, JSON_SORT_KEYS)};
    json_decref(kept);
    json_decref(summary);
    drove_result_destroy(result);
}

/* ---- by hand ---- */

/* Two workers a and b, two batches each.
 *
 * sync       Both come to the meeting at G; b, the last, opens it, and a sleeps until G + H.  So a,
 *            ready at G + H + S, is the last of the second meeting, and goes on; b sleeps H longer,
 *            is the last at 2 G + 2 H + S, and a the last of all at 2 G + 3 H + 2 S; b wakes H
 *            later.
 * mutex      a copies until C; b, woken H later, until 2 C + H.  a updates from C + G to C + G + U;
 *            b comes at 2 C + H + G, meanwhile, and is woken twice: at C + G + U, when a is faster
 *            and copies, and at 2 C + G + U.  It has the lock H later, updates and copies, while a
 *            computes and updates without meeting it; its last update ends the run.
 * leashed    Both try at G; a succeeds at G + U.  b makes the step of the sum again, U, and its
 *            second attempt succeeds at G + 3 U.  Then neither meets the other.
 * leashed:0  Both try at G and at 2 G + U; both times b gives up.
 * hogwild    Both update from G to G + U and from 2 G + U to the end. */
static const struct {
    const char *strategy;
    uint64_t end_ns;
    json_int_t updates, attempts, dropped;
    double staleness;
} cases[] = {
    {"sync", 2 * G + 4 * H + 2 * S, 2, 4, 0, 0.0},
    {"mutex", 2 * G + 3 * C + 3 * U + H, 4, 5, 0, 0.75},
    {"leashed:inf", 2 * G + 4 * U, 4, 5, 0, 0.75},
    {"leashed:0", 2 * G + 2 * U, 2, 4, 2, 0.0},
    {"hogwild", 2 * G + 2 * U, 4, 4, 0, 0.5},
};

TEST(schedules_are_those_worked_out_by_hand)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_options opt = four_batches(cases[i].strategy, "2");
        outcome got;
        set(&opt, "machine", write_machine("sockets: 1\ncores: 2", exact));
        run(&opt, &got);
        assert_int_equal(llround(got.train_s * 1e9), cases[i].end_ns);
        assert_int_equal(got.updates, cases[i].updates);
        assert_int_equal(got.attempts, cases[i].attempts);
        assert_int_equal(got.dropped, cases[i].dropped);
        assert_true(got.staleness == cases[i].staleness);
        free(got.text);
    }
}

/* The same, where lines come from the other's cache.  b begins T later in all three, since a has
 * read the parameters before.
 *
 * sync       In each round both take half of the other's step, and the half of the parameters that
 *            both have read.  In the second both take half of the parameters, and half of their own
 *            gradient's buffer back, which the other has read.
 * mutex      As the parameters always were the other's, each update takes T, and so does b's first
 *            copy; a's update is long, so that T of b's beginning later changes nothing.
 * leashed    b's second attempt reads a's vector, a's second step b's, and b's second step a's. */
static const struct {
    const char *strategy;
    uint64_t end_ns;
    json_int_t attempts;
} taking_cases[] = {
    {"sync", 2 * G + 4 * H + 2 * S + 4 * T, 4},
    {"mutex", 2 * G + 3 * C + 3 * U + H + 3 * T, 5},
    {"leashed:inf", 2 * G + 4 * U + 3 * T, 5},
};

TEST(lines_are_taken_as_worked_out_by_hand)
{
    char text[256];
    snprintf(text, sizeof text, "%s%s", exact, takes);
    for (size_t i = 0; i < sizeof taking_cases / sizeof *taking_cases; i++) {
        drove_options opt = four_batches(taking_cases[i].strategy, "2");
        outcome got;
        set(&opt, "machine", write_machine("sockets: 1\ncores: 2", text));
        run(&opt, &got);
        if (llround(got.train_s * 1e9) != (long long)taking_cases[i].end_ns)
            fail_msg("%s: expected %llu ns, found %lld", taking_cases[i].strategy,
                     (unsigned long long)taking_cases[i].end_ns, llround(got.train_s * 1e9));
        assert_int_equal(got.attempts, taking_cases[i].attempts);
        free(got.text);
    }
}

/* Four workers, a batch each: a publishes at G + U.  The others make the step of the sum again, U,
 * and try; each try takes U, and of those who try together the first succeeds: after 1, 2, 3 and 4
 * attempts, at G + U, G + 3 U, G + 4 U and G + 5 U. */
TEST(four_workers_publish_in_turn)
{
    drove_options opt = four_batches("leashed", "4");
    outcome got;
    set(&opt, "machine", write_machine("sockets: 1\ncores: 4", exact));
    run(&opt, &got);
    assert_int_equal(llround(got.train_s * 1e9), G + 5 * U);
    assert_int_equal(got.attempts, 1 + 2 + 3 + 4);
    assert_int_equal(got.updates, 4);
    assert_true(got.staleness == 1.5 && got.most_stale == 3);
    free(got.text);
}

/* ---- speed ---- */

static const char varied[] = "batch_us: 37.3\nexample_us: 11.7\ncopy_gb_s: 3.1\nupdate_gb_s: 1.7\n"
                             "memory_gb_s: 4.3\nline_ns: 81\nfar_line_ns: 190\nwindow_ns: 90\n"
                             "take_gb_s: 3.7\nrace_gb_s: 7.9\n"
                             "hand_over_us: 1.9\njitter: 0.2\n";

/* A power of two, so that every sum of costs is exactly twice as long.  (Not with hogbatch, whose
 * coordinator gives out work for so many milliseconds.) */
TEST(half_the_speed_is_twice_the_time)
{
    static const char *const strategies[] = {"mutex", "leashed", "hogwild", "softsync:2",
                                             "easgd-async"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        char slow[512];
        outcome one, two;
        drove_options opt = small_run();
        set(&opt, "strategy", strategies[i]);
        set(&opt, "threads", "4");
        set(&opt, "machine", write_machine("sockets: 2\ncores: 2", varied));
        run(&opt, &one);
        snprintf(slow, sizeof slow, "%sspeed: 0.5\n", varied);
        set(&opt, "machine", write_machine("sockets: 2\ncores: 2", slow));
        run(&opt, &two);
        /* Readings are whole ns. */
        assert_true(llabs(llround(two.train_s * 1e9) - 2 * llround(one.train_s * 1e9)) <= 1);
        if (one.loss != two.loss || one.updates != two.updates)
            fail_msg("%s: loss %.9g, then %.9g", strategies[i], one.loss, two.loss);
        assert_true(one.staleness == two.staleness && one.attempts == two.attempts);
        free(one.text);
        free(two.text);
    }
}

/* A core's two threads do a quarter more than one: 1.25 / 2 of the speed for each. */
TEST(threads_of_a_core_share_it)
{
    drove_options opt = four_batches("hogwild", "2");
    outcome apart, together;
    set(&opt, "machine", write_machine("sockets: 1\ncores: 2\nsmt: 2", exact));
    run(&opt, &apart);
    set(&opt, "machine", write_machine("sockets: 1\ncores: 1\nsmt: 2", exact));
    run(&opt, &together);
    assert_int_equal(llround(apart.train_s * 1e9), 2 * (G + U));
    assert_int_equal(llround(together.train_s * 1e9), 2 * (G + U) * 8 / 5);
    free(apart.text);
    free(together.text);
}

/* ---- the same again ---- */

static void repeat(drove_options *opt, const char *what)
{
    outcome one, two;
    set(opt, "out", fresh_folder("one"));
    run(opt, &one);
    set(opt, "out", fresh_folder("two"));
    run(opt, &two);
    assert_same_model("one", "two");
    if (one.train_s != two.train_s || strcmp(one.text, two.text) != 0)
        fail_msg("%s: %s, then %s", what, one.text, two.text);
    free(one.text);
    free(two.text);
}

TEST(many_workers_repeat_bit_for_bit)
{
    static const char *const strategies[] = {"sync",      "ssp:2",         "softsync:4",
                                             "mutex",     "rwlock",        "hogwild",
                                             "leashed:1", "replicas:node", "easgd-async",
                                             "local",     "hogbatch"};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        drove_options opt = small_run();
        set(&opt, "strategy", strategies[i]);
        set(&opt, "threads", "32");
        set(&opt, "batch", "4");
        set(&opt, "machine", write_machine("sockets: 2\ncores: 8\nsmt: 2", varied));
        repeat(&opt, strategies[i]);
    }
}

TEST(cores_and_devices_repeat)
{
    static const char *const strategies[] = {"hogbatch", "adaptive", "hogbatch?update=coordinator",
                                             "hogbatch?merge=replace"};
    char more[600];
    snprintf(more, sizeof more,
             "%sdevices:\n  - {name: quick, examples_per_s: 1e6, delay_us: 80, transfer_gb_s: 4}\n",
             varied);
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        drove_options opt = small_run();
        set(&opt, "strategy", strategies[i]);
        set(&opt, "workers", "cpu:0-2+fake:quick");
        set(&opt, "machine", write_machine("sockets: 1\ncores: 4", more));
        repeat(&opt, strategies[i]);
    }
}

/* ---- where a run ends ---- */

TEST(targets_are_of_virtual_time)
{
    outcome got;
    drove_options opt = four_batches("mutex", "2");
    set(&opt, "machine", write_machine("sockets: 1\ncores: 2", exact));
    /* Both have a gradient in hand then, and publish it: a third and a fourth update. */
    set(&opt, "until", "seconds=0.0015,epochs=100");
    run(&opt, &got);
    assert_int_equal(got.updates, 4);
    assert_int_equal(llround(got.train_s * 1e9), 2 * G + 3 * C + 3 * U + H);
    free(got.text);
    set(&opt, "until", "loss=90%,epochs=100");
    set(&opt, "lr", "0.1");
    drove_result *result;
    assert_int_equal(drove_train(&opt, NULL, &result), DROVE_OK);
    assert_int_equal(drove_result_outcome(result), DROVE_REACHED);
    drove_result_destroy(result);
}
