/* Stands for the module of Open MPI: its init is sent SIGTERM, and says whether that was held back.
 * With DROVE_TEST_WIRE it fails after MPI has begun, so there is a wire to abort by, which puts the
 * status into DROVE_TEST_ABORTED.  A communicator's number says what comes of it: 0, 1: MPI fails,
 * without and with a wire to abort by; 2: it is refused; more: it has so many ranks.
 */
#include "cluster/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

const drove_wire_ops *drove_wire_module(void) __attribute__((visibility("default")));

static drove_wire wire;

static int init(drove_wire **out, char *error)
{
    sigset_t pending;
    (void)raise(SIGTERM);
    (void)sigpending(&pending);
    snprintf(error, DROVE_WIRE_NAME_SIZE, "SIGTERM was %s",
             sigismember(&pending, SIGTERM) == 1 ? "held back" : "delivered");
    wire.ops = drove_wire_module();
    if (getenv("DROVE_TEST_WIRE") != NULL) *out = &wire;
    return 1;
}

static int init_given(int communicator, drove_wire **out, char *error)
{
    snprintf(error, DROVE_WIRE_NAME_SIZE, "number %d", communicator);
    wire.ops = drove_wire_module();
    wire.n_ranks = (unsigned)communicator;
    if (communicator == 1 || communicator > 2) *out = &wire;
    return communicator < 2 ? 1 : communicator == 2 ? 2 : 0;
}

static void end_all(drove_wire *w, int status)
{
    char text[16];
    snprintf(text, sizeof text, "%d", w == &wire ? status : -1);
    (void)setenv("DROVE_TEST_ABORTED", text, 1);
}

const drove_wire_ops *drove_wire_module(void)
{
    static const drove_wire_ops ops = {.version = DROVE_WIRE_VERSION,
                                       .name = "openmpi",
                                       .init = init,
                                       .init_given = init_given,
                                       .abort = end_all};
    return &ops;
}
