/* Memory that runs out while workers that accumulate are made: at every allocation the error says
 * so, nothing is made and nothing stays; nor does anything of what is refused or destroyed.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "accum/accum.h"

#include "cluster/transport.h"

#include "support/strategy_memory.h"

enum { N = 500, N_PARTS = 3, MOST = 4 };

static const drove_span parts[N_PARTS] = {{0, 100}, {100, 300}, {400, 100}};
static const bool residents[2 * MOST] = {true, false, true, true, true};

/* ---- a process whose only other one is never heard of ---- */

static drove_status gather_mine(drove_transport *t, const void *mine, size_t each_bytes, void *all)
{
    for (unsigned i = 0; i < t->n_processes; i++)
        memcpy((char *)all + i * each_bytes, mine, each_bytes);
    return DROVE_OK;
}

static void stop(drove_transport *t)
{
    (void)t;
}

static const drove_transport_ops alone_ops = {.name = "alone", .stop = stop, .gather = gather_mine};

/* ---- making ---- */

typedef struct method {
    const drove_sync_ops *ops;
    const char *variant;
    unsigned n_workers;
    bool is_resident, is_one_of_two; /* some devices keep parameters; half the workers are here */
    drove_status status;
} method;

static const method methods[] = {
    {&drove__accum_accumulate, "accumulate", 1, false, false, DROVE_OK},
    {&drove__accum_accumulate, "accumulate", 3, true, false, DROVE_OK},
    {&drove__accum_accumulate, "accumulate", 4, false, true, DROVE_OK},
    {&drove__accum_accumulate, "accumulate:at-end", 2, false, false, DROVE_OK},
    {&drove__accum_accumulate, "accumulate?order=pairs", 4, true, false, DROVE_OK},
    {&drove__accum_accumulate, "accumulate?order=first-come", 3, false, false, DROVE_OK},
    {&drove__accum_tree, "tree", 1, false, false, DROVE_OK},
    {&drove__accum_tree, "tree", 3, true, false, DROVE_OK},
    {&drove__accum_tree, "tree", 4, true, true, DROVE_OK},
    {&drove__accum_tree, "tree:0,2,1,3", 4, false, false, DROVE_OK},
    {&drove__accum_tree, "tree?links=nodes", 3, false, false, DROVE_OK},
    {&drove__accum_tree, "tree:1,0", 2, false, false, DROVE_E_ARG},
    {&drove__accum_tree, "tree?links=rings", 2, false, false, DROVE_E_ARG},
};

static void walk(const method *m)
{
    drove_transport transport = {.ops = &alone_ops,
                                 .n_workers = m->n_workers,
                                 .n_processes = 2,
                                 .n_here = m->n_workers / 2,
                                 .kernels = &drovek_ref};
    const rig_options o = {.ops = m->ops,
                           .variant = m->variant,
                           .rule = "momentum",
                           .lr = 0.5,
                           .n = N,
                           .n_workers = m->n_workers,
                           .part = parts,
                           .n_parts = N_PARTS,
                           .is_resident = m->is_resident ? residents : NULL,
                           .transport = m->is_one_of_two ? &transport : NULL,
                           .kernels = &drovek_ref};
    if (strategy_memory_walk(o) != m->status)
        fail_msg("%s, %u workers: %s", m->variant, m->n_workers, drove_error_text());
}

TEST(memory_that_runs_out_leaves_nothing)
{
    if (!no_memory_works()) skip();
    for (size_t i = 0; i < DROVE_COUNT(methods); i++) walk(&methods[i]);
}
