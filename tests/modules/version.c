/* tests/modules/version.c - a module made for a later version of the tables. */
#include "engine/accel/accel.h"

drove_accel_entry_fn drove_accel_module;

const drove_accel_ops *drove_accel_module(const drove_accel_host *host)
{
    static const drove_accel_ops ops = {.version = DROVE_ACCEL_VERSION + 1, .name = "version"};
    (void)host;
    return &ops;
}
