/* Every strategy in every place: it runs, or its row says why not. */
#include "engine/engine.h"
#include "config/registry.h"
#include "strategy/combine.h"
#include "support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

_Static_assert((unsigned)DROVE_COMBINE_FUSED == (unsigned)DROVE_ENGINE_FUSED &&
                   (unsigned)DROVE_COMBINE_TYPED == (unsigned)DROVE_ENGINE_TYPED &&
                   (unsigned)DROVE_COMBINE_RESIDENT == (unsigned)DROVE_ENGINE_RESIDENT,
               "combine.h has the values of engine.h");

static const drove_combination_column *column(const char *name)
{
    const drove_combination_column *c = drove__combinations;
    while (c->name != NULL && strcmp(c->name, name) != 0) c++;
    assert_non_null(c->name);
    return c;
}

static const drove_sync_ops *row(const char *name)
{
    size_t i = 0;
    while (drove__strategies[i] != NULL && strcmp(drove__strategies[i]->name, name) != 0) i++;
    assert_non_null(drove__strategies[i]);
    return drove__strategies[i];
}

/* A reason is a clause: no empty one, no sentence. */
TEST(every_cell_is_defined)
{
    unsigned n_run = 0, n_cells = 0;
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        for (const drove_combination_column *c = drove__combinations; c->name != NULL; c++) {
            const char *reason = drove__combine(drove__strategies[i], &c->at);
            n_cells++;
            n_run += reason == NULL;
            if (reason == NULL) continue;
            size_t length = strlen(reason);
            if (length < 8 || reason[length - 1] == '.' || reason[0] < 'a' || reason[0] > 'z')
                fail_msg("%s, %s: \"%s\"", drove__strategies[i]->name, c->name, reason);
        }
    }
    printf("%u of %u cells run\n", n_run, n_cells);
}

static void runs(const char *strategy, const char *place, bool expected)
{
    const char *reason = drove__combine(row(strategy), &column(place)->at);
    if ((reason == NULL) != expected)
        fail_msg("%s on %s: %s", strategy, place, reason != NULL ? reason : "runs");
}

TEST(cells_by_hand)
{
    runs("sequential", "threads:2", false);
    runs("sequential", "cpu:0-1", true);
    runs("sequential", "cuda", true);
    runs("sequential", "ranks", false);
    runs("hogwild", "opencl+opencl", true);
    runs("hogwild", "threads:1+opencl", true);
    runs("hogwild", "ranks", false);
    runs("rwlock", "procs:2", false);
    runs("ssp", "procs:2", true);
    runs("softsync", "procs:2", true);
    runs("easgd-sync3", "opencl+opencl", true);
    runs("easgd-sync3", "ranks+opencl", true);
    runs("accumulate", "ranks+opencl", true);
    runs("accumulate", "procs:2", true);
    runs("tree", "ranks", true);
    runs("hogbatch", "procs:2", false);
    runs("hogbatch", "ranks", true);
    runs("adaptive", "ranks+team", true);
    runs("adaptive", "ranks+opencl", true);
    runs("replicas", "D8M8", true);
    runs("leashed", "D8M8", false);
    runs("allreduce", "D8M8", false);
    runs("local", "D8M8", true);
    runs("easgd-async", "D8M8", true);
    runs("easgd", "D8M8", false);
    runs("psgd-async", "D8M8", false);
}

/* A row of threads:2 that is refused has one worker; each strategy runs somewhere. */
TEST(every_strategy_runs)
{
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        const drove_sync_ops *ops = drove__strategies[i];
        const char *place = (ops->needs & DROVE_SYNC_ONE) != 0 ? "cpu:0-1" : "threads:2";
        runs(ops->name, place, true);
        runs(ops->name, "opencl", true);
    }
}
