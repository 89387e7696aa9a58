/* Memory of the methods that exchange: where it runs out while they are made, the error says so,
 * nothing is made and nothing stays; nor does anything of what was made, and no worker writes
 * behind it.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "unit/elastic/methods.h"

#include "base/mem.h"
#include "support/strategy_memory.h"

enum { P = 3 };

static const drove_span layers[] = {{0, 500}, {500, N - 500}};

/* Messages of all parameters, or of those of a layer; sums as floats, or in fewer bits. */
static void walk(const drove_sync_ops *ops)
{
    for (unsigned i = 0; i < 4; i++) {
        rig_options o = options(ops, ops->variants[0], P);
        o.rule = (ops->needs & DROVE_SYNC_MOMENTUM) != 0 ? "momentum" : "sgd";
        o.part = i % 2 == 0 ? NULL : layers;
        o.n_parts = i % 2 == 0 ? 0 : DROVE_COUNT(layers);
        o.wire_format = i < 2 ? NULL : "C8s";
        if (strategy_memory_walk(o) != DROVE_OK && i == 0)
            fail_msg("%s: %s", ops->name, drove_error_text());
    }
}

TEST(memory_that_runs_out_leaves_nothing)
{
    if (!no_memory_works()) skip();
    for_each_method(walk);
}

/* 8: a list of pointers to each fills a cache line, so what is behind it lies behind the memory. */
static void step(const drove_sync_ops *ops)
{
    static const unsigned n_workers[] = {1, 2, 3, 4, 5, 8};
    for (const char *const *v = ops->variants; *v != NULL; v++)
        for (size_t i = 0; i < DROVE_COUNT(n_workers); i++)
            strategy_memory_steps(ops, *v, n_workers[i]);
}

TEST(steps_write_nothing_behind_their_memory)
{
    for_each_method(step);
}
