/* Memory that runs out while low-precision workers that exchange are made: at every allocation the
 * error says so, nothing is made and nothing stays.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "elastic/elastic.h"

#include "support/strategies.h"
#include "support/strategy_memory.h"

enum { N = 32, P = 2 };

static const drove_layout layout = {.number = DROVE_I8, .n_numbers = 64, .tail = 16};

static void unpack(void *context, const uint32_t *words, float *theta)
{
    (void)context, (void)words;
    memset(theta, 0, 80 * sizeof *theta);
}

static void pack(void *context, unsigned worker, uint64_t number_of, const float *theta,
                 uint32_t *words)
{
    (void)context, (void)worker, (void)number_of, (void)theta, (void)words;
}

static const drove_sync_convert convert = {.n_floats = 80, .unpack = unpack, .pack = pack};

static void walk(const drove_sync_ops *ops)
{
    const rig_options o = {.ops = ops,
                           .variant = ops->name,
                           .n = N,
                           .n_workers = P,
                           .layout = &layout,
                           .convert = &convert,
                           .period = "2"};
    assert_int_equal(strategy_memory_walk(o), DROVE_OK);
}

TEST(memory_that_runs_out_leaves_nothing)
{
    unsigned n_rows = 0;
    if (!no_memory_works()) skip();
    for (const drove_sync_ops *const *ops = drove__strategies; *ops != NULL; ops++) {
        const unsigned both = DROVE_SYNC_TYPED | DROVE_SYNC_SPREAD;
        if (((*ops)->needs & both) != both) continue;
        walk(*ops);
        n_rows++;
    }
    assert_true(n_rows >= 4);
}
