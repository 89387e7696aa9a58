/* tests/unit/study/test_space.c - spaces of settings: what is drawn, what a file may say. */
#include "base/mem.h"
#include "config/options.h"
#include "study/space.h"
#include "study/trial.h"
#include "support/files.h"
#include "support/test.h"

#include <drove/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *value_of(const drove_point *p, const char *name)
{
    for (unsigned i = 0; i < p->n_settings; i++)
        if (strcmp(p->setting[i].name, name) == 0) return p->setting[i].value;
    return NULL;
}

/* Every setting of every point is one that a run takes. */
TEST(usual_points_are_options)
{
    for (int kind = 0; kind < 3; kind++) {
        drove_space space;
        unsigned n_models = 0, n_steps = 0;
        drove__space_usual(kind == 1, kind == 2, DROVE_SPACE_ANY_RULE, NULL, 0, &space);
        for (uint64_t number = 1; number < 300; number++) {
            drove_point p;
            drove_options opt = drove__options_default();
            drove__space_draw(&space, 7, number, &p);
            for (unsigned i = 0; i < p.n_settings; i++)
                assert_int_equal(drove_options_set(&opt, p.setting[i].name, p.setting[i].value),
                                 DROVE_OK);
            assert_int_equal(drove_options_validate(&opt), DROVE_OK);
            n_models += value_of(&p, "model") != NULL;
            n_steps += value_of(&p, "lr") != NULL;
            if (value_of(&p, "lr") != NULL) assert_non_null(value_of(&p, "rule"));
        }
        assert_int_equal(n_models, kind == 2 ? 0 : 299); /* wide data: as the run would choose */
        assert_in_range(n_steps, 299 * 2 / 5, 299 * 4 / 5);
    }
}

/* Where the precision allows plain SGD alone: half of the points have it, with a step size. */
TEST(words_get_plain_sgd)
{
    drove_space space;
    unsigned n_sgd = 0;
    drove__space_usual(false, false, DROVE_SPACE_PLAIN, NULL, 0, &space);
    for (uint64_t number = 0; number < 200; number++) {
        drove_point p;
        drove__space_draw(&space, 3, number, &p);
        const char *rule = value_of(&p, "rule"), *lr = value_of(&p, "lr");
        assert_true(rule == NULL || strcmp(rule, "sgd") == 0);
        assert_true((rule != NULL) == (lr != NULL));
        if (rule == NULL) continue;
        assert_true(atof(lr) >= 0.01 && atof(lr) <= 1.0);
        n_sgd++;
    }
    assert_in_range(n_sgd, 70, 130);
}

/* Where it does so for linear models alone: they have sgd or what they would choose, with networks
 * every rule is drawn. */
TEST(words_of_networks_get_every_rule)
{
    static const char *const rules[] = {"adam", "momentum", "adagrad", "cocob"};
    drove_space space;
    unsigned n_drawn[DROVE_COUNT(rules)] = {0}, n_sgd = 0;
    drove__space_usual(false, false, DROVE_SPACE_PLAIN_IF_LINEAR, NULL, 0, &space);
    for (uint64_t number = 0; number < 600; number++) {
        drove_point p;
        drove__space_draw(&space, 3, number, &p);
        const char *rule = value_of(&p, "rule");
        const bool is_linear = strcmp(value_of(&p, "model"), "logistic") == 0;
        assert_true(is_linear == drove__space_is_linear(value_of(&p, "model")));
        if (rule == NULL) continue;
        assert_true(is_linear == (strcmp(rule, "sgd") == 0));
        assert_true(strcmp(rule, "cocob") == 0 || value_of(&p, "lr") != NULL);
        n_sgd += is_linear;
        for (size_t i = 0; i < DROVE_COUNT(rules); i++) n_drawn[i] += strcmp(rule, rules[i]) == 0;
    }
    assert_in_range(n_sgd, 60, 100); /* of 600 / 6 linear models, 4 of 5 */
    for (size_t i = 0; i < DROVE_COUNT(rules); i++) assert_in_range(n_drawn[i], 70, 130);
    assert_true(drove__space_is_linear("svm") && drove__space_is_linear("logistic?x=1"));
    assert_false(drove__space_is_linear("mlp:8") || drove__space_is_linear("lin"));
}

/* The batches of all workers together leave none of each to choose. */
TEST(a_global_batch_is_every_batch)
{
    static const char *const given[] = {"global-batch"};
    drove_space space;
    drove__space_usual(false, false, DROVE_SPACE_ANY_RULE, given, DROVE_COUNT(given), &space);
    for (unsigned i = 0; i < space.n_dimensions; i++)
        assert_string_not_equal(space.dimension[i].name, "batch");
    assert_int_equal(space.n_dimensions, 3); /* model, rule, weight_decay */
}

TEST(given_options_stay)
{
    static const char *const given[] = {"weight-decay", "lr"};
    drove_space space;
    drove__space_usual(false, false, DROVE_SPACE_ANY_RULE, given, DROVE_COUNT(given), &space);
    for (uint64_t number = 0; number < 200; number++) {
        drove_point p;
        drove__space_draw(&space, 1, number, &p);
        assert_null(value_of(&p, "lr"));
        assert_null(value_of(&p, "rule")); /* the step size was one of the given rule */
        assert_null(value_of(&p, "weight_decay"));
        assert_non_null(value_of(&p, "model"));
    }
}

TEST(a_number_is_a_point)
{
    drove_space space;
    drove_point a, b, c;
    unsigned n_equal = 0;
    drove__space_usual(false, false, DROVE_SPACE_ANY_RULE, NULL, 0, &space);
    for (uint64_t number = 0; number < 50; number++) {
        drove__space_draw(&space, 1, number, &a);
        drove__space_draw(&space, 1, number, &b);
        drove__space_draw(&space, 2, number, &c);
        assert_true(drove__point_equal(&a, &b));
        n_equal += drove__point_equal(&a, &c);
    }
    assert_in_range(n_equal, 0, 5);
}

TEST(ranges_of_a_file_hold)
{
    drove_space space;
    unsigned n_low = 0, n_values = 0;
    write_text("space.yaml", "lr: {log: [1e-4, 1]}\n"
                             "batch: {uniform: [10, 20]}\n"
                             "model: [linear, \"mlp:16\"]\n");
    assert_int_equal(drove__space_load("space.yaml", NULL, 0, &space), DROVE_OK);
    assert_int_equal(space.n_dimensions, 3);
    for (uint64_t number = 0; number < 1000; number++) {
        drove_point p;
        drove__space_draw(&space, 3, number, &p);
        double lr = atof(value_of(&p, "lr")), batch = atof(value_of(&p, "batch"));
        assert_true(lr >= 1e-4 && lr <= 1.0);
        assert_true(batch >= 10 && batch <= 20 && batch == (double)(int)batch);
        n_low += lr < 1e-2; /* half of the range in the logarithm */
        n_values += strcmp(value_of(&p, "model"), "linear") == 0;
    }
    assert_in_range(n_low, 430, 570);
    assert_in_range(n_values, 430, 570);
}

/* A range of one value; and what a journal writes of a point. */
TEST(ends_of_a_range_may_be_equal)
{
    drove_space space;
    drove_point p;
    write_text("space.yaml", "lr: {log: [0.25, 0.25]}\nbatch: {uniform: [16, 16]}\n");
    assert_int_equal(drove__space_load("space.yaml", NULL, 0, &space), DROVE_OK);
    drove__space_draw(&space, 3, 1, &p);
    json_t *found = drove__study_settings(&p),
           *wanted = json_pack("{s:s, s:s}", "lr", "0.25", "batch", "16");
    assert_true(json_equal(found, wanted));
    json_decref(found);
    json_decref(wanted);
}

static void refused(const char *text, const char *expected)
{
    static const char *const given[] = {"model"};
    drove_space space;
    write_text("bad.yaml", text);
    assert_int_equal(drove__space_load("bad.yaml", given, 1, &space), DROVE_E_ARG);
    if (strstr(drove_error_text(), expected) == NULL) fail_msg("%s", drove_error_text());
}

TEST(bad_files_are_refused)
{
    refused("", "bad.yaml: expected at least one option");
    refused("lrr: [1]\n", "bad.yaml:1:1: unknown option \"lrr\"; did you mean \"lr\"?");
    refused("lr: 1\n", "bad.yaml:1:5: expected a list of values");
    refused("lr: []\n", "expected at least one value");
    refused("lr: [1, x]\n", "bad.yaml:1:9: --lr");
    refused("lr: {log: [0.1]}\n", "expected a number, found the end of a list");
    refused("lr: {log: [1, 0.1]}\n", "expected LEAST <= MOST");
    refused("lr: {logg: [1, 2]}\n", "expected log or uniform");
    refused("lr: [1]\nlr: [2]\n", "bad.yaml:2:1");
    refused("model: [linear]\n", "expected an option that was not given, found \"model\"");
    refused("seed: [1, 2]\n", "expected an option of the model or the method");
    refused("lr: [[1]]\n", "bad.yaml:1:6: expected a value of the option");
}
