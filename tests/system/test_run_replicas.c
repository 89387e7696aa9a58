/* Whole runs with replicas: they reach what HOGWILD! reaches, and go on from a saved state. */
#include "system/run_support.h"
#include "support/test.h"

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

TEST(all_reach_the_same_loss)
{
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

TEST(resumed_runs_reach_it_too)
{
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
