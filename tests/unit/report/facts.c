#include "facts.h"

#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int facts_setup(void **state)
{
    fixture *x = aligned_alloc(DROVE_CACHE_LINE, (sizeof *x + DROVE_CACHE_LINE - 1) /
                                                     DROVE_CACHE_LINE * DROVE_CACHE_LINE);
    memset(x, 0, sizeof *x);
    for (unsigned i = 0; i < N_WORKERS; i++) {
        drove_trace_worker *t = &x->trace[i];
        atomic_store(&t->examples, 1000);
        atomic_store(&t->updates, 100);
        t->steps = t->attempts = 100;
        t->busy_ns = 500000000;
        t->phase_ns[DROVE_PHASE_FORWARD] = 500000000;
        drove__hist_add_many(&t->staleness, i, 100);
        x->worker[i] = (drove_worker_facts){.trace = t, .traffic = &x->traffic[i], .node = -1};
        snprintf(x->worker[i].name, sizeof x->worker[i].name, "thread:%u", i);
    }
    x->facts = (drove_facts){
        .start = {.said = {.data = "",
                           .rule = "sgd",
                           .schedule = "",
                           .rounding = "nearest",
                           .prefetch = "on"},
                  .n_workers = N_WORKERS,
                  .strategy = "hogwild",
                  .model = "mlp:32",
                  .isa = "ref",
                  .update_rows = 10},
        .now = {.progress = {.epochs = 2,
                             .examples = 2000,
                             .updates = 200,
                             .train_s = 1,
                             .loss_initial = 2.3,
                             .loss = 0.25,
                             .accuracy = 0.9,
                             .test_loss = NAN,
                             .test_accuracy = NAN},
                .train_ns = 1000000000,
                .n_workers = N_WORKERS,
                .worker = x->worker},
        .outcome = DROVE_FINISHED,
        .numbers_per_row = NAN,
        .prefetch_hardware = "unknown",
        .n_marks = 1,
        .mark = {{.percent = 10.0}},
    };
    *state = x;
    return 0;
}

int facts_teardown(void **state)
{
    free(*state);
    return 0;
}

char *text_of(const drove_facts *f)
{
    char *text;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(drove__report_print(f, stream), DROVE_OK);
    fclose(stream);
    return text;
}

json_t *json_of(const drove_facts *f)
{
    char *text;
    assert_int_equal(drove__report_json(f, &text), DROVE_OK);
    json_t *object = json_loads(text, 0, NULL);
    assert_non_null(object);
    free(text);
    return object;
}

void expect_line(const drove_facts *f, const char *line)
{
    char *text = text_of(f);
    if (strstr(text, line) == NULL) fail_msg("no \"%s\" in:\n%s", line, text);
    free(text);
}

void expect_same(const char *where, const json_t *found, const json_t *wanted)
{
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_number(wanted)) {
        const double a = json_number_value(found), b = json_number_value(wanted);
        if (json_typeof(found) != json_typeof(wanted) || !(fabs(a - b) <= 1e-8 * fabs(b)))
            fail_msg("%s: expected %.9g, found %.9g", where, b, a);
        return;
    }
    if (!json_is_object(wanted) && !json_is_array(wanted)) {
        if (!json_equal(found, wanted))
            fail_msg("%s: %s", where, json_dumps(found, JSON_ENCODE_ANY));
        return;
    }
    if (json_typeof(found) != json_typeof(wanted) ||
        json_object_size(found) + json_array_size(found) !=
            json_object_size(wanted) + json_array_size(wanted))
        fail_msg("%s: %s", where, json_dumps(found, JSON_ENCODE_ANY));
    json_object_foreach((json_t *)wanted, key, value)
        expect_same(key, json_object_get(found, key), value);
    json_array_foreach(wanted, i, value) expect_same(where, json_array_get(found, i), value);
}

void expect_key(const json_t *object, const char *key, const char *wanted)
{
    json_t *value = json_loads(wanted, JSON_DECODE_ANY, NULL);
    if (value == NULL) fail_msg("%s: bad JSON in this test", key);
    expect_same(key, json_object_get(object, key), value);
    json_decref(value);
}

void facts_set_phases(fixture *x)
{
    for (unsigned i = 0; i < N_WORKERS; i++)
        for (int p = 0; p < DROVE_N_PHASES; p++)
            x->trace[i].phase_ns[p] = (uint64_t)(1 + 2 * i) * 100000u << p;
}
