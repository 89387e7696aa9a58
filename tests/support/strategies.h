/* tests/support/strategies.h - every strategy and variant of the registry, ready to be driven. */
#ifndef DROVE_TESTS_STRATEGIES_H
#define DROVE_TESTS_STRATEGIES_H

#include "config/registry.h"
#include "support/rig.h"

/* As rig_try_row and rig_init_row; without a row that of the variant's name. */
drove_status rig_try(rig *r, rig_options o);
void         rig_init(rig *r, rig_options o);

/* Does the variant take these options?  Some refuse rules. */
bool rig_accepts(rig_options o);

typedef struct variant_facts { /* a variant may differ from its row */
    unsigned promises, needs, batches_per_update;
    bool     shares_state; /* views have the rule's state; else a worker may see theta alone */
} variant_facts;
variant_facts facts_of(const drove_sync_ops *ops, const char *variant, unsigned n_workers);

/* Row of the registry, of the name that this variant begins with; fails the test where there is
 * none. */
const drove_sync_ops *find_strategy(const char *variant);
/* Calls body once for every variant of every row of the registry. */
void for_each_variant(void (*body)(const drove_sync_ops *ops, const char *variant));

#endif
