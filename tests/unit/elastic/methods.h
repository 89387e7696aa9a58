/* tests/unit/elastic/methods.h - the methods whose workers exchange, and their options. */
#ifndef DROVE_TESTS_UNIT_ELASTIC_METHODS_H
#define DROVE_TESTS_UNIT_ELASTIC_METHODS_H

#include "support/strategies.h"

enum { N = 1008 }; /* parameters */

/* Every row of the registry whose workers exchange. */
static inline void for_each_method(void (*body)(const drove_sync_ops *ops))
{
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++)
        if (((*row)->needs & DROVE_SYNC_SPREAD) != 0) body(*row);
}

static inline rig_options options(const drove_sync_ops *ops, const char *variant,
                                  unsigned n_workers)
{
    return (rig_options){.variant = variant, .ops = ops, .n = N, .n_workers = n_workers, .lr = 0.1};
}

#endif
