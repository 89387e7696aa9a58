/* tests/modules/unwilling.c - a module whose entry fails, and says why. */
#include "engine/accel/accel.h"

drove_accel_entry_fn drove_accel_module;

const drove_accel_ops *drove_accel_module(const drove_accel_host *host)
{
    host->fail(DROVE_E_SYSTEM, "the moon is not full");
    return NULL;
}
