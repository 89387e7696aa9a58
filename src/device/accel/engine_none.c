/* device/accel/engine_none.c - stands for the engine of accelerators until device/accel/engine.c is
 * there. */
#include "device/accel/kind.h"

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    (void)opt;
    (void)out;
    return drove__fail(DROVE_E_UNSUPPORTED, "no engine for accelerators in this build");
}

static void destroy(drove_engine *e)
{
    (void)e;
}

__attribute__((weak)) const drove_engine_ops drove__engine_accel = {
    .name = "accel", .help = "none", .source = "", .create = create, .destroy = destroy};
