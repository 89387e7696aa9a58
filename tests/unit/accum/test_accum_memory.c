/* Memory that runs out while workers that accumulate are made: at every allocation the error says
 * so, nothing is made and nothing stays; nor does anything of what is refused or destroyed. */
#include "accum/accum.h"
#include "support/test.h"

#include "cluster/transport.h"

#include <string.h>

#include "support/no_memory.h"

enum { N = 500, N_PARTS = 3, MOST = 4, MOST_CALLS = 1000 };

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

typedef struct rig {
    drovek_table kernels;
    drove_optim *optim;
    drove_spec spec;
    drove_transport transport;
} rig;

static void open_rig(rig *r, const method *m)
{
    memset(r, 0, sizeof *r);
    assert_int_equal(drovek_select(&r->kernels, 0, "ref"), DROVE_OK);
    const drove_optim_options opt = {.rule = "momentum",
                                     .schedule = "constant",
                                     .lr = 0.5,
                                     .n_params = N,
                                     .n_workers = m->n_workers,
                                     .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&opt, &r->optim), DROVE_OK);
    assert_int_equal(drove__spec_parse(m->variant, &r->spec), DROVE_OK);
    r->transport = (drove_transport){.ops = &alone_ops,
                                     .n_workers = m->n_workers,
                                     .n_processes = 2,
                                     .n_here = m->n_workers / 2,
                                     .kernels = &r->kernels};
}

static void close_rig(rig *r)
{
    drove__spec_fini(&r->spec);
    drove__optim_destroy(r->optim);
}

static void walk(const method *m)
{
    static float theta[N];
    rig r;
    unsigned long n = 1;
    open_rig(&r, m);
    const drove_sync_options opt = {.spec = &r.spec,
                                    .n_workers = m->n_workers,
                                    .optim = r.optim,
                                    .part = parts,
                                    .n_parts = N_PARTS,
                                    .is_resident = m->is_resident ? residents : NULL,
                                    .transport = m->is_one_of_two ? &r.transport : NULL};
    for (bool has_failed = true; has_failed && n < MOST_CALLS; n++) {
        drove_sync *s = NULL;
        no_memory_begin(n);
        const drove_status status =
            drove__sync_create(m->ops, &opt, &(drove_params){.theta = theta}, &s);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : m->status) ||
            (status == DROVE_OK) != (s != NULL))
            fail_msg("%s, allocation %lu: status %d: %s", m->variant, n, status,
                     drove_error_text());
        drove__sync_destroy(s);
        if (no_memory_live() != 0)
            fail_msg("%s, %u workers, allocation %lu: %zu pieces of memory stay", m->variant,
                     m->n_workers, n, no_memory_live());
    }
    assert_in_range(n, 6, MOST_CALLS - 1);
    close_rig(&r);
}

TEST(memory_that_runs_out_leaves_nothing)
{
    if (!no_memory_works()) skip();
    for (size_t i = 0; i < DROVE_COUNT(methods); i++) walk(&methods[i]);
}
