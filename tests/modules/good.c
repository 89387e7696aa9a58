/* tests/modules/good.c - a module that can be opened; counts how often its entry was called and
 * shows what it was given. */
#include "engine/accel/accel.h"

#include <stdatomic.h>

drove_accel_entry_fn drove_accel_module;
extern atomic_int drove_test_entries;
extern const char *drove_test_cache;

atomic_int drove_test_entries;
const char *drove_test_cache;

const drove_accel_ops *drove_accel_module(const drove_accel_host *host)
{
    static const drove_accel_ops ops = {.version = DROVE_ACCEL_VERSION, .name = "good"};
    atomic_fetch_add(&drove_test_entries, 1);
    drove_test_cache = host->cache_folder;
    return &ops;
}
