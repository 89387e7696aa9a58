/* tests/modules/broken.c - a module that needs a function which is nowhere. */
#include "engine/accel/accel.h"

drove_accel_entry_fn drove_accel_module;
const drove_accel_ops *drove_test_nowhere(void);

const drove_accel_ops *drove_accel_module(const drove_accel_host *host)
{
    (void)host;
    return drove_test_nowhere();
}
