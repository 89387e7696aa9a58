/* A comparison of models that is interrupted: only divisions that all candidates have count. */
#include "system/run_support.h"
#include "support/test.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void write_table(void)
{
    FILE *file = fopen("table.csv", "w");
    assert_non_null(file);
    fputs("a,b,c,y\n", file);
    for (unsigned i = 0; i < 150; i++) {
        unsigned a = i * 7919 % 97, b = i * 104729 % 89, c = i * 31 % 53;
        fprintf(file, "%u.5,%u.25,%u.5,%u\n", a, b, c, (a > 50) != (b > 40));
    }
    assert_int_equal(fclose(file), 0);
}

static void *interrupt_later(void *context)
{
    const long ms = *(const long *)context;
    const struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
    drove_train_interrupt(SIGINT);
    return NULL;
}

/* The record of a run that is interrupted after so long. */
static json_t *search_of_run(long ms, drove_outcome *outcome)
{
    drove_options opt = drove__options_default();
    drove_result *result;
    pthread_t thread;
    set(&opt, "data", "table:table.csv");
    set(&opt, "test", "none");
    set(&opt, "threads", "1");
    set(&opt, "defaults", "auto");
    set(&opt, "model", "auto");
    set(&opt, "rule", "auto");
    set(&opt, "schedule", "auto");
    set(&opt, "until", "auto");
    assert_int_equal(pthread_create(&thread, NULL, interrupt_later, &ms), 0);
    if (drove_train(&opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(pthread_join(thread, NULL), 0);
    *outcome = drove_result_outcome(result);
    json_t *summary = json_loads(drove_result_json(result), 0, NULL);
    json_t *search = json_incref(json_object_get(summary, "model_search"));
    json_decref(summary);
    drove_result_destroy(result);
    return search;
}

/* All candidates have the first divisions, then the better ones the others; the choice has all. */
static void check_divisions(const json_t *search)
{
    const json_int_t whole = json_integer_value(json_object_get(search, "divisions"));
    const char *chosen = json_string_value(json_object_get(search, "chosen"));
    const json_t *list = json_object_get(search, "compared");
    assert_true(json_array_size(list) > 3);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        const char *model = json_string_value(json_object_get(c, "model"));
        json_int_t n = json_integer_value(json_object_get(c, "divisions"));
        bool is_good = n == whole || (n == 2 && whole > 2 && i > 0 && strcmp(model, chosen) != 0);
        if (!is_good) fail_msg("%s: %d of %d divisions", model, (int)n, (int)whole);
        assert_true(json_is_null(json_object_get(c, "loss")) == (n == 0));
    }
}

TEST(only_whole_divisions_count)
{
    unsigned n_interrupted = 0;
    write_table();
    for (long ms = 30; ms < 60000; ms = ms * 2 + 17) {
        drove_outcome outcome;
        json_t *search = search_of_run(ms, &outcome);
        json_int_t n = json_integer_value(json_object_get(search, "divisions"));
        check_divisions(search);
        n_interrupted += outcome == DROVE_INTERRUPTED;
        json_decref(search);
        if (n > 2) break; /* some candidates were dropped by then */
    }
    assert_true(n_interrupted > 2);
    assert_int_equal(remove("table.csv"), 0);
}
