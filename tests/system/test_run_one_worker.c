/* One worker of every strategy is plain sequential SGD, bit for bit, at every batch size;
 * hogwild:live excepted, those that choose their own batch sizes, and those that pull parameters
 * and a centre towards each other: tests/unit/elastic holds these to their equations. */
#include "system/run_support.h"
#include "config/registry.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

/* A coordinator's batches are --batch for all under Algorithm 1 alone. */
static bool has_own_sizes(const char *strategy)
{
    return strncmp(strategy, "hogbatch:mixed", 14) == 0 || strncmp(strategy, "adaptive", 8) == 0;
}

/* One worker of these is not sequential SGD; one of a method of momentum is by that rule. */
static bool is_other_method(const char *strategy, const char *rule)
{
    if (strncmp(strategy, "pmsgd", 5) == 0) return strncmp(rule, "momentum", 8) != 0;
    return strncmp(strategy, "easgd", 5) == 0 || strncmp(strategy, "measgd", 6) == 0 ||
           strncmp(strategy, "diloco", 6) == 0;
}

static void compare_all(const char *batch, const char *rule)
{
    drove_options opt = small_run();
    set(&opt, "batch", batch);
    set(&opt, "rule", rule);
    set(&opt, "out", fresh_folder("sequential"));
    run_to(&opt, DROVE_FINISHED);
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        for (const char *const *v = drove__strategies[i]->variants; *v != NULL; v++) {
            if (strcmp(*v, "hogwild:live") == 0 || has_own_sizes(*v)) continue;
            if (is_other_method(*v, rule)) continue;
            set(&opt, "strategy", *v);
            set(&opt, "out", fresh_folder("other"));
            run_to(&opt, DROVE_FINISHED);
            print_message("batch %s, %s: %s\n", batch, rule, *v);
            assert_same_model("sequential", "other");
        }
    }
}

TEST(equals_sequential)
{
    compare_all("16", "sgd");
    compare_all("1", "sgd");
    compare_all("7", "momentum:0.9");
}

/* Batches that are claimed in a row, of which the last of an epoch has two examples: each takes the
 * way of its size, whichever came before it. */
TEST(batches_in_a_row_keep_the_bits_of_their_sizes)
{
    drove_options opt = small_run();
    set(&opt, "data", "synth:logistic?n=162&d=10");
    set(&opt, "test", "none");
    set(&opt, "model", "linear");
    set(&opt, "eval-every", "40");
    set(&opt, "until", "epochs=40");
    set(&opt, "out", fresh_folder("sequential"));
    run_to(&opt, DROVE_FINISHED);
    set(&opt, "strategy", "mutex");
    set(&opt, "out", fresh_folder("other"));
    run_to(&opt, DROVE_FINISHED);
    assert_same_model("sequential", "other");
}
