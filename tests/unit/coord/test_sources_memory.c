/* Memory that runs out while a source of assigned batches is made: the error says so, and nothing
 * stays when it is done with; nor does anything of one that was made.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "coord/assigned.h"
#include "support/test.h"

#include "base/mem.h"

#include <string.h>

#include "support/no_memory.h"

enum { N_WORKERS = 3, N_GROUPS = 2, MOST_CALLS = 1000 };

static drove_status ask(drove_sync *s, unsigned worker, drove_question *question)
{
    (void)s, (void)worker, (void)question;
    return DROVE_OK;
}

static void walk(const drove_source_ops *ops, const char *text)
{
    static const drove_sync_replica_ops asks = {.ask = ask};
    static const drove_sync_ops sync_ops = {.name = "asked", .replicas = &asks};
    drove_spec spec;
    drove_source_worker worker[N_WORKERS] = {
        {.name = "threads:2", .n_cores = 1},
        {.name = "threads:2", .n_cores = 1},
        {.name = "fake:0", .group = 1, .is_device = true, .n_cores = 1, .timeout_s = 0.5}};
    unsigned long n = 1;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_sync sync = {.ops = &sync_ops, .n_workers = N_WORKERS};
        drove_source source = {.ops = ops, .clock = &drove__clock_real, .n_workers = N_WORKERS};
        const drove_source_options opt = {.spec = &spec,
                                          .clock = &drove__clock_real,
                                          .n_workers = N_WORKERS,
                                          .n_groups = N_GROUPS,
                                          .worker = worker,
                                          .n_rows = 1000,
                                          .batch = 7,
                                          .sync = &sync};
        no_memory_begin(n);
        const drove_status status = ops->init(&source, &opt);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK))
            fail_msg("%s, allocation %lu: status %d: %s", text, n, status, drove_error_text());
        ops->fini(&source);
        if (no_memory_live() != 0)
            fail_msg("%s, allocation %lu: %zu pieces of memory stay", text, n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
    drove__spec_fini(&spec);
}

TEST(memory_that_runs_out_leaves_nothing)
{
    if (!no_memory_works()) skip();
    walk(&drove__source_assigned, "hogbatch");
    walk(&drove__source_assigned, "adaptive");
}
