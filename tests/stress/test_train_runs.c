/* Whole runs of every strategy with every kind of rule state, four workers: each example is counted
 * once.  What ThreadSanitizer sees of the model's passes over shared parameters, it sees here.
 * ctest: slow: trains with every strategy */
#include "config/registry.h"
#include "config/options.h"
#include "support/test.h"

#include <drove/drove.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 2 * 128 }; /* of a run */

static void set(drove_options *opt, const char *name, const char *value)
{
    if (drove_options_set(opt, name, value) != DROVE_OK) fail_msg("%s", drove_error_text());
}

static drove_options many_workers(const char *strategy)
{
    drove_options opt = drove__options_default();
    set(&opt, "defaults", "classic");
    set(&opt, "data", "synth:logistic?n=128&d=24&density=1");
    set(&opt, "test", "");
    set(&opt, "model", "mlp:16");
    set(&opt, "threads", "4");
    set(&opt, "strategy", strategy);
    set(&opt, "eval-every", "1");
    set(&opt, "until", "epochs=2");
    return opt;
}

/* n_over: how many examples more than asked for a last round may have. */
static void expect_examples(const drove_options *opt, unsigned n_over)
{
    drove_progress end;
    drove_result *result;
    if (drove_train(opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove_result_final(result, &end);
    if (drove_result_outcome(result) != DROVE_FINISHED || end.examples < EXAMPLES ||
        end.examples > EXAMPLES + n_over)
        fail_msg("%s, rule %s: %s", opt->strategy, opt->rule, drove_result_json(result));
    drove_result_destroy(result);
}

static void expect_every_example(const drove_options *opt)
{
    expect_examples(opt, 0);
}

/* Devices have the rule's state beside their parameters, elastic workers each their own, and some
 * methods are those of one rule. */
static bool suits(const drove_sync_ops *ops, const char *rule, const char *place)
{
    const char *refused = ops->slices != NULL                        ? "worker"
                          : (ops->needs & DROVE_SYNC_OWN_STATE) != 0 ? "shared"
                                                                     : "none";
    bool is_rule = (ops->needs & DROVE_SYNC_MOMENTUM) == 0 || strcmp(rule, "momentum") == 0;
    return is_rule && strcmp(place, refused) != 0;
}

static const char *const batches[] = {"1", "8"};

/* The batch of the first run alternates with `turn`, and each further run has the other one of the
 * two.  Under ThreadSanitizer each rule has its state in one of two places: four turns in a row
 * have every pair of place and batch. */
static void run_variant(const drove_sync_ops *ops, const char *variant, size_t turn)
{
    const size_t first = turn % 2;
    const bool is_half = DROVE_TSAN && getenv("DROVE_TEST_LONG") == NULL;
    static const char *const rules[] = {"momentum", "nesterov", "adagrad", "adam", "cocob"};
    static const char *const places[] = {"shared", "worker"};
    drove_options opt = many_workers(variant);
    set(&opt, "batch", batches[first]);
    expect_every_example(&opt);
    set(&opt, "batch", batches[!first]);
    set(&opt, "data", "synth:logistic?n=128&d=300&density=0.02");
    expect_every_example(&opt);
    if (strstr(variant, ":live") != NULL) return; /* plain steps only */
    for (size_t i = 0; i < 2 * DROVE_COUNT(rules); i++) {
        if (!suits(ops, rules[i / 2], places[i % 2])) continue;
        if (is_half && (i / 2 + i + turn / 2) % 2 == 0) continue;
        opt = many_workers(variant);
        set(&opt, "batch", batches[(i / 2 + i + first) % 2]);
        set(&opt, "rule", rules[i / 2]);
        set(&opt, "rule-state", places[i % 2]);
        expect_every_example(&opt);
    }
    opt = many_workers(variant);
    set(&opt, "batch", batches[first]);
    set(&opt, "weight-decay", "0.001");
    set(&opt, "clip", "1");
    set(&opt, "schedule", "staleness");
    expect_every_example(&opt);
}

/* In the long tests each of these runs has both batches. */
TEST(every_strategy_trains_with_every_rule)
{
    const bool is_long = getenv("DROVE_TEST_LONG") != NULL;
    const size_t day = test_day();
    for (size_t s = 0; drove__strategies[s] != NULL; s++) {
        const drove_sync_ops *ops = drove__strategies[s];
        for (size_t v = 0; ops->variants[v] != NULL; v++) {
            run_variant(ops, ops->variants[v], s + v + day);
            if (is_long) run_variant(ops, ops->variants[v], s + v + day + 1);
        }
    }
}

/* Words, and behind them or with each worker the state, which is floats. */
TEST(words_train_with_every_rule)
{
    static const char *const precisions[] = {"D8M8", "D16M16?scales=channel", "bf16?masters=bf16"};
    static const char *const rules[] = {"momentum", "nesterov", "adagrad", "adam", "cocob"};
    static const char *const places[] = {"shared", "worker"};
    for (size_t s = 0, n = 0; drove__strategies[s] != NULL; s++) {
        const drove_sync_ops *ops = drove__strategies[s];
        if ((ops->needs & DROVE_SYNC_TYPED) == 0 || (ops->needs & DROVE_SYNC_MOMENTUM) != 0)
            continue;
        for (size_t i = 0; i < 2 * DROVE_COUNT(rules); i++) {
            drove_options opt = many_workers(ops->name);
            const char *precision = precisions[n++ % DROVE_COUNT(precisions)];
            if (!suits(ops, rules[i / 2], places[i % 2])) continue;
            if (strcmp(ops->name, "replicas") == 0 && strncmp(precision, "bf16", 4) == 0) continue;
            set(&opt, "data", "synth:logistic?n=128&d=24"); /* dense */
            set(&opt, "precision", precision);
            set(&opt, "batch", "8");
            set(&opt, "rule", rules[i / 2]);
            set(&opt, "rule-state", places[i % 2]);
            if ((ops->needs & DROVE_SYNC_ONE) != 0) set(&opt, "threads", "1");
            expect_every_example(&opt);
        }
    }
}

/* Bets stay finite when others change parameters and state between reading and writing. */
TEST(every_number_of_threads_bets)
{
    static const char *const strategies[] = {"sequential", "hogwild", "leashed:inf", "sync"};
    for (size_t s = 0; s < DROVE_COUNT(strategies); s++) {
        for (unsigned n = 1; n <= 8; n++) {
            char threads[8];
            snprintf(threads, sizeof threads, "%u", n);
            drove_options opt = many_workers(strategies[s]);
            set(&opt, "threads", threads);
            set(&opt, "batch", "4");
            set(&opt, "rule", "cocob");
            set(&opt, "lr", "1");
            expect_examples(&opt, 4 * (n - 1)); /* sync completes a round of n batches of 4 */
        }
    }
}

TEST(crowd_of_sixty_four_shares_a_small_model)
{
    for (size_t s = 0; drove__strategies[s] != NULL; s++) {
        drove_options opt = many_workers(drove__strategies[s]->variants[0]);
        set(&opt, "threads", "64");
        set(&opt, "batch", "2");
        expect_every_example(&opt);
    }
}

/* Cores and devices, lost ones among them, under a coordinator. */
TEST(crowds_under_a_coordinator)
{
    static const char *const strategies[] = {"hogbatch", "adaptive", "adaptive?merge=replace",
                                             "hogbatch:mixed?update=coordinator"};
    static const char *const workers[] = {
        "threads:4", "cpu:all?gradient=one&max=8+fake:?speed=10&min=8&max=32",
        "cpu:all?max=2+fake:?speed=4&min=4&max=16&fail_after=4&timeout=60",
        "cpu:all?max=2+fake:?speed=4&min=4&max=8&hang_after=3&timeout=1",
        "fake:?speed=9&min=4&max=9+fake:?speed=90&min=4&max=16+fake:?memory=40KiB&max=64"};
    for (size_t s = 0; s < DROVE_COUNT(strategies); s++) {
        for (size_t w = 0; w < DROVE_COUNT(workers); w++) {
            drove_options opt = many_workers(strategies[s]);
            set(&opt, "workers", workers[w]);
            expect_every_example(&opt);
        }
    }
}
