/* bench/simulate_accum.h - iterations of several devices on a virtual clock: how much of the
 * exchange is exposed, and how an iteration grows with the devices.
 *
 * The schedule is the strategy's (accum/schedule.h); devices, links and the host's cores are
 * numbers: a device computes its layers one after the other; copies of one direction follow each
 * other on the device's link, or on one that all share; the host makes one addition at a time.
 * `tree` has no schedule: reduction and broadcast go level by level along the tree of devices.
 *
 * Threads: one at a time.
 */
#ifndef DROVE_BENCH_SIMULATE_ACCUM_H
#define DROVE_BENCH_SIMULATE_ACCUM_H

#include "accum/schedule.h"

typedef struct drove_sim_layer { /* in the order of forward; s of one iteration on one device */
    double backward_s;
    double n_params;            /* 0: nothing to exchange */
    double down_s, add_s, up_s; /* copy to the host; g += p on the host; copy to the device */
} drove_sim_layer;

typedef struct drove_sim_net {
    const char            *name;
    double                 forward_s, update_s;
    size_t                 n_layers;
    const drove_sim_layer *layer;
    double                 link_s; /* tree: one copy of all parameters between two devices ... */
    double                 sum_s;  /* ... and one sum of two gradients on a device */
} drove_sim_net;

typedef enum drove_sim_method {
    DROVE_SIM_ACCUMULATE,
    DROVE_SIM_AT_END,
    DROVE_SIM_TREE
} drove_sim_method;

typedef struct drove_sim_options {
    drove_sim_method  method;
    unsigned          n_devices;
    drove_accum_order order;
    bool              shares_link; /* all devices have one way to the host, and one back */
    double            stretch;     /* backward takes so many times as long while copies run; >= 1 */
    unsigned          n_iterations; /* 0: 4; the last one is told */
    double            skew;         /* device d computes 1 + skew d times as long */
} drove_sim_options;

typedef struct drove_sim_result { /* s */
    double iteration_s;
    double backward_s; /* of the slowest device */
    double exchange_s; /* exposed, behind the last backward; tree: the reduction */
    double broadcast_s;
} drove_sim_result;

/* Of the last iteration.  Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
drove_status drove__simulate_accumulation(const drove_sim_net *net, const drove_sim_options *opt,
                                          drove_sim_result *out);

#endif
