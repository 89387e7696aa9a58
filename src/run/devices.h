/* run/devices.h - workers that are devices with parameters of their own (accum/).
 *
 * Without --workers every thread of --threads is a device; with it each name in the list is one: a
 * group of cores (host:0, cpu:0-3), whose threads compute a batch together, an accelerator, a part
 * of one, or the same one several times.  One thread drives each device and is its worker.
 *
 *   devices.c      opening them; which part of the gradient belongs to which layer
 *   device_step.c  one step of such a worker
 */
#ifndef DROVE_RUN_DEVICES_H
#define DROVE_RUN_DEVICES_H

#include "engine/device.h"
#include "kernel/span.h"
#include "trace/spans.h"
#include "run/workers.h"

typedef struct drove_run    drove_run;
typedef struct drove_worker drove_worker;

#define DROVE_NO_PART ((size_t)-1)

typedef struct drove_worker_device {
    char                    name[DROVE_GROUP_NAME_SIZE]; /* "host:0", "opencl:0.1", "thread:2" */
    drove_run              *run;
    drove_device           *device; /* NULL: cores */
    const drove_engine_ops *engine_ops;
    unsigned                n_threads; /* that compute; of cores */
    drove_place            *place;     /* [n_threads]; the worker's own thread is the first */
    uint64_t                timeout_ns;
} drove_worker_device;

typedef struct drove_devices {
    drove_crew_plan      plan;        /* of --workers; else no groups */
    unsigned             n;           /* 0: the strategy's workers are no devices */
    drove_worker_device *device;      /* [n] */
    bool                *is_resident; /* [n] keeps and updates parameters of its own */
    /* Parts of theta that layers with parameters cover, ascending. */
    size_t       n_parts;
    drove_span  *part;     /* [n_parts] */
    size_t      *of_layer; /* [n_layers] its part; DROVE_NO_PART: none */
    size_t      *layer;    /* [n_parts] */
    drove_spans *spans;    /* NULL: no time line is wanted */
} drove_devices;

/* The strategy is known: fills run->devices, run->n_workers and run->place.  Errors: those of
 * drove__crew_plan_parse and drove__device_open, DROVE_E_ARG (keys that belong to a coordinator).
 * */
drove_status drove__devices_open(drove_run *run);
/* The model is known: its parts.  Errors: DROVE_E_NOMEM. */
drove_status drove__devices_split(drove_run *run);
void         drove__devices_close(drove_run *run);
/* Does any of them load its batches itself, into memory of its own? */
bool drove__devices_are_far(const drove_run *run);
/* What the engine of this worker is made with, and of which kind. */
void drove__devices_engine(drove_worker *w, drove_engine_options *opt);

/* device_step.c; on the worker's thread */
drove_status drove__device_step(drove_worker *w, const drove_batch *batch, float eta);
/* Before the workers are parked: the device's parameters, where the strategy keeps them. */
drove_status drove__device_settle(drove_worker *w);

#endif
