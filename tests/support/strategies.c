#include "support/strategies.h"

const drove_sync_ops *find_strategy(const char *variant)
{
    const size_t n = strcspn(variant, ":?");
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++)
        if (strncmp((*row)->name, variant, n) == 0 && (*row)->name[n] == '\0') return *row;
    fail_msg("no strategy called %s", variant);
    return NULL;
}

static rig_options with_row(rig_options o)
{
    if (o.ops == NULL) o.ops = find_strategy(o.variant);
    return o;
}

drove_status rig_try(rig *r, rig_options o)
{
    return rig_try_row(r, with_row(o));
}

void rig_init(rig *r, rig_options o)
{
    rig_init_row(r, with_row(o));
}

bool rig_accepts(rig_options o)
{
    rig r;
    bool is_accepted = rig_try(&r, o) == DROVE_OK;
    rig_fini(&r);
    return is_accepted;
}

variant_facts facts_of(const drove_sync_ops *ops, const char *variant, unsigned n_workers)
{
    rig r;
    if ((ops->needs & DROVE_SYNC_ONE) != 0) n_workers = 1;
    rig_init(&r, (rig_options){.variant = variant, .ops = ops, .n_workers = n_workers});
    variant_facts f = {r.sync->promises, r.sync->needs, r.sync->batches_per_update,
                       r.sync->ops->replicas == NULL || r.sync->ops->replicas->vector == NULL};
    rig_fini(&r);
    return f;
}

void for_each_variant(void (*body)(const drove_sync_ops *ops, const char *variant))
{
    for (const drove_sync_ops *const *ops = drove__strategies; *ops != NULL; ops++)
        for (const char *const *v = (*ops)->variants; *v != NULL; v++) body(*ops, *v);
}
