/* engine/accel/kind.h - the kinds of devices whose operations come from a module: rows of
 * engine/device_kinds.c, and what such a device consists of. */
#ifndef DROVE_ENGINE_ACCEL_KIND_H
#define DROVE_ENGINE_ACCEL_KIND_H

#include "engine/accel/accel.h"
#include "engine/device.h"

extern const drove_device_kind drove__device_kind_opencl;
extern const drove_device_kind drove__device_kind_cuda;

/* drove_device.impl of these kinds. */
typedef struct drove_accel_device {
    const drove_accel_ops *ops;
    drove_accel           *accel; /* opened */
    drove_accel_facts      facts; /* of it */
} drove_accel_device;

/* The engine of all of them (engine/accel/engine.c). */
extern const drove_engine_ops drove__engine_accel;

/* Opens a device of any table of operations: what the kinds do with their module's.  The spec is as
 * theirs; its name is used in errors alone.  Errors: those of drove_device_kind.open. */
drove_status drove__accel_open(const drove_device_kind *kind, const drove_accel_ops *ops,
                               const drove_spec *spec, drove_device **out);

#endif
