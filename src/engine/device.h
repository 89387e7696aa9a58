/* engine/device.h - devices that a worker can compute on: which there are, and one of them opened.
 *
 * A kind is one row of engine/device_kinds.c.  The device's engine computes (engine/engine.h).
 * The worker's own cores are no device in this sense: the host engine needs none.
 *
 * Threads: an opened device may be used by the engines of many threads.
 */
#ifndef DROVE_ENGINE_DEVICE_H
#define DROVE_ENGINE_DEVICE_H

#include "base/spec_keys.h"
#include "base/status.h"
#include "engine/engine.h"

typedef struct drove_device_facts {
    char     name[128];    /* "NVIDIA H200" */
    char     driver[128];  /* "PoCL 3.1"; "" where there is none */
    uint64_t memory_bytes; /* 0: not known */
    unsigned n_units;      /* compute units; 0: not known */
    bool     can_split;    /* into sub-devices: opencl:0.1 */
} drove_device_facts;

typedef struct drove_device_kind drove_device_kind;
struct drove_device_kind {      /* slots get their own row as kind */
    const char           *name; /* "opencl", as in --workers opencl:0 */
    const char           *help; /* one line, with its arguments and keys */
    const char           *source;
    const drove_spec_key *keys; /* of its own in a worker's spec; NULL: none */
    /* Devices that can be found; 0 where there are none, with the reason in why[size] ("" where
     * nothing has to be said). */
    unsigned (*count)(const drove_device_kind *kind, char *why, size_t size);
    drove_status (*describe)(const drove_device_kind *kind, unsigned device,
                             drove_device_facts *out);
    /* spec: a worker's, "opencl:0.1?parts=2", its keys checked against `keys` and the worker's own.
     * Errors: DROVE_E_ARG (no such device: which there are), DROVE_E_UNSUPPORTED (no module, no
     * driver), DROVE_E_NOMEM, DROVE_E_SYSTEM. */
    drove_status (*open)(const drove_device_kind *kind, const drove_spec *spec, drove_device **out);
    void (*close)(drove_device *device); /* NULL accepted */
};

struct drove_device {
    const drove_device_kind *kind;
    const drove_engine_ops  *engine;
    drove_device_facts       facts;
    void                    *impl; /* the kind's own */
};

extern const drove_device_kind *const drove__device_kinds[]; /* NULL-terminated */

/* By spec->name.  Errors: DROVE_E_ARG (no such kind), those of open. */
drove_status drove__device_open(const drove_spec *spec, drove_device **out);
void         drove__device_close(drove_device *device); /* NULL accepted */

#endif
