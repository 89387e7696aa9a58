/* about/measure_devices.h - how many examples a second each device of this machine, and a thread of
 * its processor, take through a model: gradients alone, no updates.
 *
 * Threads: the caller's.
 */
#ifndef DROVE_ABOUT_MEASURE_DEVICES_H
#define DROVE_ABOUT_MEASURE_DEVICES_H

#include "kernel/kernel.h"

#include "config/config.h"

enum { DROVE_SPEED_BATCHES = 5, DROVE_SPEED_REASON_SIZE = 512 };

typedef struct drove_speed {
    char   device[64];                          /* "host", "opencl:0" */
    double examples_per_s[DROVE_SPEED_BATCHES]; /* NaN: not measured */
    char   reason[DROVE_SPEED_REASON_SIZE];     /* why not, where one is missing; else "" */
} drove_speed;

typedef struct drove_speeds {
    size_t       batch[DROVE_SPEED_BATCHES]; /* examples */
    size_t       n_batches;
    size_t       n;
    drove_speed *speed; /* [n]; the host's first */
} drove_speeds;

/* Opens the data and makes the model that the options name.  A device that fails is no error: its
 * row says why.  Errors: DROVE_E_UNSUPPORTED (--precision, --features), those of data and model,
 * DROVE_E_NOMEM. */
drove_status drove__measure_devices(const drove_config *config, const drovek_table *kernels,
                                    drove_speeds *out);
void         drove__speeds_fini(drove_speeds *speeds); /* accepts a zeroed one */

#endif
