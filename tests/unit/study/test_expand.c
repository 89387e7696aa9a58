/* tests/unit/study/test_expand.c - studies of sweeps: what a file may say, and the runs it means,
 * counted by hand. */
#include "study/expand.h"
#include "support/files.h"
#include "support/test.h"

#include <drove/status.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static drove_status load(const char *text, drove_sweep_study *study)
{
    write_text("study.yaml", text);
    return drove__sweep_study_load("study.yaml", study);
}

/* A study that is good; its runs. */
static void expand(const char *text, drove_sweep_study *study, drove_sweep_runs *runs)
{
    const drove_status status = load(text, study);
    if (status != DROVE_OK) print_error("%s\n", drove_error_text());
    assert_int_equal(status, DROVE_OK);
    assert_int_equal(drove__sweep_expand(study, runs), DROVE_OK);
}

static void end(drove_sweep_study *study, drove_sweep_runs *runs)
{
    drove__sweep_runs_fini(runs);
    drove__sweep_study_fini(study);
}

TEST(product_of_list_and_grid)
{
    static const char *const wanted[] = {
        "strategy=sequential lr=0.1 batch=16",      "strategy=sequential lr=0.1 batch=32",
        "strategy=sequential lr=0.1 batch=64",      "strategy=sequential lr=0.2 batch=16",
        "strategy=sequential lr=0.2 batch=32",      "strategy=sequential lr=0.2 batch=64",
        "strategy=mutex threads=2 lr=0.1 batch=16", "strategy=mutex threads=2 lr=0.1 batch=32",
        "strategy=mutex threads=2 lr=0.1 batch=64", "strategy=mutex threads=2 lr=0.2 batch=16",
        "strategy=mutex threads=2 lr=0.2 batch=32", "strategy=mutex threads=2 lr=0.2 batch=64",
    };
    char text[256];
    drove_sweep_study study;
    drove_sweep_runs runs;
    expand("options: {model: logistic}\n"
           "list: [{strategy: sequential}, {strategy: mutex, threads: 2}]\n"
           "grid: {lr: [0.1, 0.2], batch: [16, 32, 64, 32]}\n" /* one twice: counts once */
           "repeat: 4\n",
           &study, &runs);
    assert_int_equal(runs.n_settings, 12);
    assert_int_equal(drove__sweep_count(&runs), 48);
    for (size_t i = 0; i < 12; i++) {
        drove__sweep_text(json_array_get(runs.settings, i), text, sizeof text);
        assert_string_equal(text, wanted[i]);
    }
    end(&study, &runs);
}

/* Each repetition has every setting once, with its own seed, in an order of its own. */
TEST(order_is_interleaved)
{
    static const uint64_t seeds[] = {7, 3, 11};
    size_t first[10];
    unsigned n_moved[3] = {0};
    drove_sweep_study study;
    drove_sweep_runs runs;
    expand("grid: {lr: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\nrepeat: [7, 3, 11]\nseed: 5\n", &study,
           &runs);
    assert_int_equal(drove__sweep_count(&runs), 30);
    for (size_t r = 0; r < 3; r++) {
        unsigned times[10] = {0};
        for (size_t i = 0; i < 10; i++) {
            size_t setting;
            uint64_t seed;
            drove__sweep_run_at(&runs, 10 * r + i, &setting, &seed);
            assert_int_equal(seed, seeds[r]);
            assert_true(setting < 10);
            assert_int_equal(drove__sweep_run_of(&runs, setting, r), 10 * r + i);
            times[setting]++;
            if (r == 0) first[i] = setting;
            n_moved[r] += setting != (r == 0 ? i : first[i]);
        }
        for (size_t i = 0; i < 10; i++) assert_int_equal(times[i], 1);
        assert_true(n_moved[r] > 0);
    }
    end(&study, &runs);
}

TEST(draws_are_in_range_and_repeat)
{
    static const char text[] =
        "sample: {draws: 20, seed: 3, lr: {log: [1e-3, 1e-1]}, batch: [16, 32]}\n"
        "grid: {strategy: [mutex, leashed]}\nrepeat: 2\n";
    drove_sweep_study study, again;
    drove_sweep_runs runs, same;
    unsigned n_low = 0;
    expand(text, &study, &runs);
    expand(text, &again, &same);
    assert_int_equal(runs.n_settings, 40);
    assert_int_equal(drove__sweep_count(&runs), 80);
    assert_true(json_equal(runs.settings, same.settings));
    for (size_t i = 0; i < 40; i++) {
        const json_t *s = json_array_get(runs.settings, i);
        const double lr = atof(json_string_value(json_object_get(s, "lr")));
        const int batch = atoi(json_string_value(json_object_get(s, "batch")));
        assert_true(lr >= 1e-3 && lr <= 1e-1);
        assert_true(batch == 16 || batch == 32);
        n_low += lr < 1e-2;
        /* the grid varies fastest: both strategies have each draw */
        const json_t *other = json_array_get(runs.settings, i ^ 1);
        assert_true(json_equal(json_object_get(s, "lr"), json_object_get(other, "lr")));
    }
    assert_in_range(n_low, 8, 32); /* half of them, by the logarithm */
    end(&study, &runs);
    end(&again, &same);
}

TEST(bad_studies_are_refused_in_one_line)
{
    static const char *const bad[][2] = {
        {"grid: {}\n", "study.yaml:1:7: expected at least one option in grid, found none"},
        {"grid: {lr: []}\n", "expected at least one value for \"lr\", found none"},
        {"list: []\n", "expected at least one set of options in list, found none"},
        {"options: {lr: 0.1}\n", "study.yaml: expected grid, list or sample"},
        {"", "expected grid, list or sample"},
        {"gird: {lr: [1]}\n", "study.yaml:1:1: unknown key \"gird\"; did you mean \"grid\"?"},
        {"grid:\n  lrr: [1]\n", "study.yaml:2:3: unknown option \"lrr\"; did you mean \"lr\"?"},
        {"grid:\n  lr: [0.1, x]\n", "study.yaml:2:13: --lr: expected"},
        {"grid: {lr: [1]}\ngrid: {lr: [1]}\n", ":2:1: expected each key once, found \"grid\""},
        {"grid: {lr: [1], lr: [2]}\n", "expected each option once, found \"lr\" again"},
        {"grid: {weight-decay: [1], weight_decay: [2]}\n", "found \"weight_decay\" again"},
        {"options: {lr: 1}\ngrid: {lr: [1]}\n",
         "expected \"lr\" in one place, found it in options and grid"},
        {"list: [{lr: 1}]\nsample: {draws: 1, lr: [1]}\n", "found it in list and sample"},
        {"grid: {seed: [1, 2]}\n", "found \"seed\" (repeat: has the seeds)"},
        {"options: {out: x}\ngrid: {lr: [1]}\n", "found \"out\""},
        {"grid: {lr: [1]}\nrepeat: 0\n", ":2:9: repeat: expected a whole number from 1"},
        {"grid: {lr: [1]}\nrepeat: [1, 1]\n", "expected each seed once, found 1 again"},
        {"grid: {lr: [1]}\nrepeat: []\n", "expected at least one seed, found none"},
        {"grid: {lr: [1]}\nlimit: 0\n", ":2:8: limit: expected a number"},
        {"grid: {lr: [1]}\nlimit: [1]\n", "expected seconds of one run, found a list"},
        {"sample: {lr: [1]}\n", "expected draws: N in sample"},
        {"sample: {draws: 2}\n", "expected at least one option in sample"},
        {"sample: {draws: 2, weight_decay: {log: [0, 1]}}\n", "both above 0"},
        {"grid: {lr: 1}\n", "expected a list of values for \"lr\", found"},
        {"list: [lr]\n", "expected a set of options"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        drove_sweep_study study;
        assert_int_equal(load(bad[i][0], &study), DROVE_E_ARG);
        assert_null(study.document);
        if (strstr(drove_error_text(), bad[i][1]) == NULL || strchr(drove_error_text(), '\n'))
            fail_msg("%s: expected \"%s\", found \"%s\"", bad[i][0], bad[i][1], drove_error_text());
    }
}

TEST(too_many_runs_are_refused)
{
    drove_sweep_study study;
    drove_sweep_runs runs;
    assert_int_equal(load("sample: {draws: 100000, lr: {log: [1e-3, 1]}}\nrepeat: 2\n", &study),
                     DROVE_OK);
    assert_int_equal(drove__sweep_expand(&study, &runs), DROVE_E_ARG);
    assert_null(runs.settings);
    drove__sweep_study_fini(&study);
}

TEST(order_and_spelling_make_no_difference)
{
    drove_sweep_study a, b;
    assert_int_equal(load("grid: {lr: [1], batch: [2]}\nrepeat: 2\n", &a), DROVE_OK);
    assert_int_equal(load("repeat: [1, 2]\ngrid: {lr: [1], batch: [3]}\n", &b), DROVE_OK);
    assert_false(json_equal(a.document, b.document));
    drove__sweep_study_fini(&b);
    assert_int_equal(load("grid: {lr: [1], batch: [2]}\nrepeat: [1, 2]\n", &b), DROVE_OK);
    assert_true(json_equal(a.document, b.document));
    drove__sweep_study_fini(&a);
    drove__sweep_study_fini(&b);
}
