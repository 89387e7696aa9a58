/* tests/unit/study/test_sweep_results.c - how a run of a sweep ended, by hand; its record; and what
 * is read from lines that are whole, halves or repeated. */
#include "study/sweep_results.h"
#include "support/test.h"

#include <drove/status.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(outcomes)
{
    static const struct {
        drove_child child;
        const char *said, *outcome; /* outcome NULL: no result */
    } cases[] = {
        {{.status = 0}, "reached", "reached"},
        {{.status = 0}, "finished", "finished"},
        {{.status = 4}, "missed", "missed"},
        {{.status = 3}, "crashed", "crashed"},
        {{.status = 143, .timed_out = true}, "interrupted", "timed_out"},
        {{.status = 143, .signal = SIGTERM, .timed_out = true}, NULL, "timed_out"},
        {{.status = 137, .signal = SIGKILL, .timed_out = true}, NULL, "timed_out"},
        {{.status = 0, .timed_out = true}, "reached", "reached"}, /* in the last moment */
        {{.status = 139, .signal = SIGSEGV}, NULL, "crashed"},
        {{.status = 137, .signal = SIGKILL}, NULL, "crashed"},
        {{.status = 1}, NULL, "crashed"},
        {{.status = 2}, NULL, "refused"},
        {{.status = 143}, "interrupted", NULL},
        {{.status = 130}, "interrupted", NULL},
        {{.status = 143, .signal = SIGTERM}, NULL, NULL},
        {{.status = 130, .signal = SIGINT}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *summary =
            cases[i].said != NULL ? json_pack("{s:s}", "outcome", cases[i].said) : NULL;
        const char *outcome = drove__sweep_outcome(&cases[i].child, summary);
        json_decref(summary);
        if (cases[i].outcome == NULL) assert_null(outcome);
        else assert_string_equal(outcome, cases[i].outcome);
    }
}

static double figure_of(const char *outcome, const char *name)
{
    const drove_child child = {.seconds = 2.5};
    json_t *summary =
        json_pack("{s:f, s:n, s:{s:f, s:n, s:[]}, s:{s:f, s:n}, s:s, s:[i,i]}", "train_s", 1.25,
                  "test_loss", "metrics", "auc", 0.75, "rmse", "per_class", "time_to", "5%", 0.5,
                  "2%", "strategy", "mutex", "workers", 1, 2);
    json_t *record = json_object();
    drove__sweep_record(&child, summary, outcome, "", 4, &record);
    assert_non_null(record);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(record, "resolved"), "n_workers")), 2);
    assert_null(json_object_get(json_object_get(record, "figures"), "metrics.per_class"));
    assert_true(drove__sweep_is_from(record, 4));
    assert_false(drove__sweep_is_from(record, 5));
    const double value = drove__sweep_figure(record, name);
    json_decref(record);
    json_decref(summary);
    return value;
}

TEST(figures)
{
    assert_true(figure_of("reached", "target_s") == 1.25);
    assert_true(isnan(figure_of("missed", "target_s")));
    assert_true(figure_of("missed", "train_s") == 1.25);
    assert_true(figure_of("reached", "process_s") == 2.5);
    assert_true(figure_of("reached", "metrics.auc") == 0.75);
    assert_true(isnan(figure_of("reached", "metrics.rmse")));
    assert_true(figure_of("reached", "time_to.5%") == 0.5);
    assert_true(isnan(figure_of("reached", "test_loss")));
    assert_true(isnan(figure_of("reached", "nothing")));
}

static drove_status read_text(const char *text, json_t **all, bool *had_half)
{
    drove_jsonl *journal = NULL;
    char path[] = "/tmp/drove_results_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    const drove_status status = drove__sweep_results_read(path, 3, all, &journal, had_half);
    drove__jsonl_close(journal);
    unlink(path);
    return status;
}

#define LINE(run, outcome) "{\"run\":" run ",\"outcome\":\"" outcome "\",\"figures\":{}}"

TEST(lines)
{
    json_t *all;
    bool had_half;
    static const char *const text =
        LINE("3", "reached") "\n\n" LINE("1", "crashed") "\n" LINE("3", "missed") "\n" LINE("2",
                                                                                            "x");
    assert_int_equal(read_text(text, &all, &had_half), DROVE_OK);
    assert_true(had_half); /* whole, but for its end */
    assert_int_equal(json_array_size(all), 3);
    assert_true(drove__sweep_has_crashed(json_array_get(all, 0)));
    assert_true(json_is_null(json_array_get(all, 1)));
    assert_string_equal(json_string_value(json_object_get(json_array_get(all, 2), "outcome")),
                        "reached"); /* of two the first */
    json_decref(all);
    assert_int_equal(read_text("", &all, &had_half), DROVE_OK);
    assert_false(had_half);
    json_decref(all);
    assert_int_equal(drove__sweep_results_read("/nonexistent/x", 3, &all, NULL, NULL), DROVE_OK);
    json_decref(all);
}

TEST(bad_lines)
{
    static const char *const bad[][2] = {
        {LINE("1", "x") "\n" LINE("4", "x") "\n", ":2: expected a run from 1 to 3, found 4"},
        {LINE("0", "x") "\n", ":1: expected a run from 1 to 3, found 0"},
        {LINE("\"1\"", "x") "\n", ":1: expected a run with its outcome and figures"},
        {"[]\n", ":1: expected a JSON object"},
        {"{\"run\":1,\"outcome\":\"x\"}\n", ":1: expected a run with its outcome and figures"},
        {"{\"run\":1,\n", ":1: "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        json_t *all = NULL;
        bool had_half;
        assert_int_equal(read_text(bad[i][0], &all, &had_half), DROVE_E_DATA);
        assert_null(all);
        if (strstr(drove_error_text(), bad[i][1]) == NULL)
            fail_msg("expected \"%s\", found \"%s\"", bad[i][1], drove_error_text());
    }
}
