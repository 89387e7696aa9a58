/* Whole runs of accumulate and tree: the paper's section 4.2.5 on a small VGG-shaped network, the
 * same losses for 500 iterations, looked at every 20; stopping and going on; what is told
 * of them. */
#include "system/run_support.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LOSSES = 64 };

typedef struct losses {
    double loss[MOST_LOSSES];
    unsigned n;
} losses;

static void keep(void *context, const drove_progress *p)
{
    losses *l = context;
    if (l->n < MOST_LOSSES) l->loss[l->n++] = p->loss;
}

static void train(const drove_options *opt, losses *out, json_t **summary)
{
    drove_result *result;
    drove_callbacks callbacks = {.context = out, .evaluated = keep};
    *out = (losses){.n = 0};
    if (drove_train(opt, &callbacks, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    *summary = json_loads(drove_result_json(result), 0, NULL);
    assert_non_null(*summary);
    drove_result_destroy(result);
}

static void write_network(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(
        "name: vgg-small\n"
        "layers:\n"
        "  - {name: conv1_1, type: convolution, channels: 8, kernel: 3, pad: 1, activation: relu}\n"
        "  - {name: conv1_2, type: convolution, channels: 8, kernel: 3, pad: 1, activation: relu}\n"
        "  - {name: pool1, type: max_pool, kernel: 2, stride: 2}\n"
        "  - {name: conv2_1, type: convolution, channels: 16, kernel: 3, pad: 1,"
        " activation: relu}\n"
        "  - {name: conv2_2, type: convolution, channels: 16, kernel: 3, pad: 1,"
        " activation: relu}\n"
        "  - {name: pool2, type: max_pool, kernel: 2, stride: 2}\n"
        "  - {name: fc6, type: dense, units: 64, activation: relu}\n"
        "  - {name: fc7, type: dense, units: 64, activation: relu}\n"
        "  - {name: fc8, type: dense}\n",
        f);
    assert_int_equal(fclose(f), 0);
}

static drove_options vgg_run(const char *strategy, const char *threads)
{
    drove_options opt = small_run();
    write_network("vgg-small.yaml");
    set(&opt, "data", "synth:images?size=12&classes=10&n=160");
    set(&opt, "model", "vgg-small.yaml");
    set(&opt, "batch", "4");
    set(&opt, "rule", "momentum:0.9");
    set(&opt, "lr", "0.01");
    set(&opt, "strategy", strategy);
    set(&opt, "threads", threads);
    set(&opt, "eval-every", "1"); /* 20 iterations of two devices */
    set(&opt, "until", "updates=500");
    return opt;
}

TEST(the_same_losses_for_500_iterations)
{
    static const char *const others[] = {"accumulate", "accumulate:at-end",
                                         "accumulate?order=pairs&helpers=1", "sync"};
    losses tree, other;
    json_t *summary;
    drove_options opt = vgg_run("tree", "2");
    train(&opt, &tree, &summary);
    assert_int_equal(json_integer_value(json_object_get(summary, "updates")), 500);
    json_decref(summary);
    assert_true(tree.n >= 25);
    assert_true(tree.loss[tree.n - 1] < tree.loss[0]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        opt = vgg_run(others[i], "2");
        train(&opt, &other, &summary);
        json_decref(summary);
        assert_int_equal(other.n, tree.n);
        assert_memory_equal(other.loss, tree.loss, tree.n * sizeof *tree.loss);
    }
}

TEST(any_number_of_devices)
{
    static const char *const threads[] = {"1", "3", "4", "5"};
    for (size_t i = 0; i < 4; i++) {
        losses a, b;
        json_t *summary;
        drove_options opt = vgg_run("tree", threads[i]);
        set(&opt, "until", "updates=20");
        set(&opt, "clip", "0.5");
        set(&opt, "weight-decay", "0.001");
        train(&opt, &a, &summary);
        json_decref(summary);
        set(&opt, "strategy", "accumulate");
        train(&opt, &b, &summary);
        json_decref(summary);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.loss, b.loss, a.n * sizeof *a.loss);
    }
}

static double number(const json_t *event, const char *key)
{
    return json_number_value(json_object_get(event, key));
}

static bool is_of(const json_t *event, const char *kind)
{
    const char *found = json_string_value(json_object_get(event, "cat"));
    return found != NULL && strcmp(found, kind) == 0;
}

static size_t count_events(const json_t *events, const char *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(events); i++)
        n += is_of(json_array_get(events, i), kind);
    return n;
}

/* No backward begins before its device's forward of that iteration has ended; of 0.01 us. */
static void check_order(const json_t *events)
{
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *f = json_array_get(events, i);
        for (size_t k = 0; is_of(f, "forward") && k < json_array_size(events); k++) {
            const json_t *b = json_array_get(events, k);
            bool same = is_of(b, "backward") && number(b, "pid") == number(f, "pid") &&
                        number(json_object_get(b, "args"), "iteration") ==
                            number(json_object_get(f, "args"), "iteration");
            if (same) assert_true(number(b, "ts") > number(f, "ts") + number(f, "dur") - 0.01);
        }
    }
}

TEST(what_is_told)
{
    losses unused;
    json_t *s, *text;
    json_error_t error;
    drove_options opt = vgg_run("accumulate", "2");
    set(&opt, "until", "updates=30");
    set(&opt, "timeline", "line.json");
    train(&opt, &unused, &s);
    assert_true(json_is_true(json_object_get(s, "replicas_equal")));
    json_t *layers = json_object_get(s, "layers");
    assert_int_equal(json_array_size(layers), 7);
    assert_string_equal(json_string_value(json_object_get(json_array_get(layers, 0), "name")),
                        "fc8");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *l = json_array_get(layers, i);
        assert_true(json_real_value(json_object_get(l, "accumulate_s")) > 0.0);
        double hidden = json_real_value(json_object_get(l, "hidden"));
        assert_true(hidden >= 0.0 && hidden <= 1.0);
    }
    const json_t *phases = json_object_get(s, "phases");
    assert_true(json_real_value(json_object_get(phases, "update")) > 0.0);
    assert_true(json_is_object(json_object_get(s, "device_memory")));
    assert_null(json_object_get(s, "order_error"));
    json_decref(s);
    text = json_load_file("line.json", 0, &error);
    assert_non_null(text);
    const json_t *events = json_object_get(text, "traceEvents");
    assert_int_equal(count_events(events, "forward"), 2 * 30);
    assert_int_equal(count_events(events, "backward"), 2 * 30 * 7);
    assert_true(count_events(events, "add") >= 30 * 7);
    check_order(events);
    json_decref(text);
}

TEST(the_order_of_arrival_has_an_error)
{
    losses unused;
    json_t *s;
    drove_options opt = vgg_run("accumulate?order=first-come", "4");
    set(&opt, "until", "updates=30");
    train(&opt, &unused, &s);
    const json_t *e = json_object_get(s, "order_error");
    assert_non_null(e);
    assert_true(json_integer_value(json_object_get(e, "compared")) > 0);
    double most = json_real_value(json_object_get(e, "max"));
    assert_true(most < 1e-4); /* a rounding of a sum of four small gradients */
    printf("first come: %lld of %lld differ, at most by %g\n",
           (long long)json_integer_value(json_object_get(e, "different")),
           (long long)json_integer_value(json_object_get(e, "compared")), most);
    json_decref(s);
}

TEST(devices_by_name)
{
    losses a, b;
    json_t *s;
    drove_options opt = vgg_run("accumulate", "2");
    set(&opt, "until", "updates=10");
    train(&opt, &a, &s);
    json_decref(s);
    set(&opt, "workers", "fake:?speed=100+fake:?speed=50");
    train(&opt, &b, &s);
    const json_t *first = json_array_get(json_object_get(s, "workers"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "name")), "fake");
    json_decref(s);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.loss, b.loss, a.n * sizeof *a.loss);
}

TEST(refused)
{
    static const struct {
        const char *option, *value, *word;
    } bad[] = {{"strategy", "accumulate:now", "at-end"},
               {"strategy", "accumulate?order=last", "order"},
               {"strategy", "tree:2", "tree"},
               {"rule-state", "worker", "--rule-state shared"},
               {"workers", "fake:?batch=4", "gives every worker --batch examples"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        drove_result *result;
        drove_options opt = vgg_run("accumulate", "2");
        set(&opt, bad[i].option, bad[i].value);
        if (strcmp(bad[i].option, "rule-state") == 0) set(&opt, "rule", "adam");
        assert_int_equal(drove_train(&opt, NULL, &result), DROVE_E_ARG);
        if (strstr(drove_error_text(), bad[i].word) == NULL)
            fail_msg("expected %s in: %s", bad[i].word, drove_error_text());
    }
}
