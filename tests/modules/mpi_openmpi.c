/* Stands for the module of Open MPI: its init is sent SIGTERM, and says whether that was held
 * back. */
#include "cluster/wire.h"

#include <signal.h>
#include <stdio.h>

const drove_wire_ops *drove_wire_module(void) __attribute__((visibility("default")));

static int init(drove_wire **out, char *error)
{
    sigset_t pending;
    (void)out;
    (void)raise(SIGTERM);
    (void)sigpending(&pending);
    snprintf(error, DROVE_WIRE_NAME_SIZE, "SIGTERM was %s",
             sigismember(&pending, SIGTERM) == 1 ? "held back" : "delivered");
    return 1;
}

const drove_wire_ops *drove_wire_module(void)
{
    static const drove_wire_ops ops = {.version = DROVE_WIRE_VERSION,
                                       .name = "openmpi",
                                       .init = init};
    return &ops;
}
