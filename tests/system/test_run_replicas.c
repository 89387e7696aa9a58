/* Whole runs with replicas: they reach what HOGWILD! reaches, and go on from a saved state. */
#include "system/run_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *const ways[] = {"hogwild", "replicas", "replicas?period=16&merge=sum",
                                   "replicas:node"};

static drove_options two_workers(const char *strategy)
{
    drove_options opt = small_run();
    set(&opt, "threads", "2");
    set(&opt, "strategy", strategy);
    set(&opt, "until", "loss=20%,epochs=60");
    return opt;
}

static void all_reach_the_same_loss(void **state)
{
    (void)state;
    static const char *const batches[] = {"1", "16"};
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < DROVE_COUNT(ways); i++) {
            drove_options opt = two_workers(ways[i]);
            set(&opt, "batch", batches[b]);
            set(&opt, "lr", b == 0 ? "0.01" : "0.05");
            run_to(&opt, DROVE_REACHED);
        }
    }
}

static void resumed_runs_reach_it_too(void **state)
{
    (void)state;
    for (size_t i = 1; i < DROVE_COUNT(ways); i++) {
        drove_options opt = two_workers(ways[i]);
        set(&opt, "rule", "adam");
        set(&opt, "lr", "0.001");
        set(&opt, "until", "epochs=2");
        set(&opt, "out", fresh_folder("replicas"));
        run_to(&opt, DROVE_FINISHED);
        drove_options more = two_workers(ways[i]);
        set(&more, "rule", "adam");
        set(&more, "lr", "0.001");
        set(&more, "resume", "replicas");
        run_to(&more, DROVE_REACHED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reach_the_same_loss),
        cmocka_unit_test(resumed_runs_reach_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
