/* engine/accel/kind.c - see kind.h: from a worker's spec to an opened device of a module.
 *
 *   opencl:1             the second device
 *   opencl:1.0           its first compute unit
 *   opencl:1.0?parts=2   its first half
 *   cuda:0?tf32=yes      the first GPU, products in TF32
 *
 * The module is opened when it is first asked for; where it is not there, there are no devices.
 */
#include "engine/accel/kind.h"

#include "engine/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES_TEXT_SIZE = 512 };

/* ---- which there are ---- */

static drove_status count_devices(const drove_accel_ops *ops, unsigned *out)
{
    *out = 0;
    return ops->count(out);
}

static unsigned count(const drove_device_kind *kind, char *why, size_t size)
{
    const drove_accel_ops *ops;
    unsigned n = 0;
    why[0] = '\0';
    drove_status status = drove__module_open(kind->name, &ops);
    if (status == DROVE_OK) status = count_devices(ops, &n);
    if (status != DROVE_OK) {
        snprintf(why, size, "%s", drove_error_text());
        return 0;
    }
    if (n == 0) snprintf(why, size, "no driver, or no device that it knows");
    return n;
}

static void take_facts(const drove_accel_facts *from, drove_device_facts *to)
{
    *to = (drove_device_facts){.memory_bytes = from->memory_bytes,
                               .n_units = from->n_units,
                               .can_split = from->can_split};
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(to->driver, sizeof to->driver, "%s", from->driver);
}

static drove_status describe(const drove_device_kind *kind, unsigned device,
                             drove_device_facts *out)
{
    const drove_accel_ops *ops;
    drove_accel_facts facts = {0};
    DROVE_TRY(drove__module_open(kind->name, &ops));
    DROVE_TRY(ops->describe(device, &facts));
    take_facts(&facts, out);
    return DROVE_OK;
}

/* ---- the spec ---- */

static drove_status fail_argument(const drove_spec *spec)
{
    const char *found = spec->n_args > 1 ? "several arguments" : spec->arg[0];
    return drove__fail(DROVE_E_ARG,
                       "%s: expected the number of a device, %s:0, or of a part of it, %s:0.1, "
                       "found %s",
                       spec->name, spec->name, spec->name, found);
}

/* "1" or "1.0"; without an argument device 0. */
static drove_status parse_argument(const drove_spec *spec, drove_accel_choice *out, bool *has_part)
{
    const char *end;
    uint64_t device, part = 0;
    *has_part = false;
    if (spec->n_args == 0) return DROVE_OK;
    const char *text = spec->arg[0], *text_end = text + strlen(text);
    if (spec->n_args > 1 || !drove__scan_u64(text, text_end, &end, &device)) {
        return fail_argument(spec);
    }
    if (*end == '.') {
        *has_part = true;
        if (!drove__scan_u64(end + 1, text_end, &end, &part)) return fail_argument(spec);
    }
    if (*end != '\0' || device > UINT32_MAX || part > UINT32_MAX) return fail_argument(spec);
    out->device = (unsigned)device;
    out->sub_device = (unsigned)part;
    return DROVE_OK;
}

static drove_status check_device(const drove_accel_ops *ops, const drove_spec *spec,
                                 unsigned device)
{
    unsigned n_devices;
    char text[DEVICES_TEXT_SIZE];
    drove_status status = count_devices(ops, &n_devices);
    if (status != DROVE_OK) return drove__fail_in(status, "%s:%u", spec->name, device);
    if (n_devices == 0) {
        return drove__fail(DROVE_E_UNSUPPORTED, "%s:%u: no driver, or no device that it knows",
                           spec->name, device);
    }
    if (device < n_devices) return DROVE_OK;

    /* "opencl:0 (NAME), opencl:1 (NAME)" */
    size_t used = 0;
    for (unsigned i = 0; i < n_devices && used < sizeof text; i++) {
        drove_accel_facts facts = {0};
        bool is_known = ops->describe(i, &facts) == DROVE_OK;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s:%u%s%s%s",
                                 i > 0 ? ", " : "", spec->name, i, is_known ? " (" : "",
                                 is_known ? facts.name : "", is_known ? ")" : "");
    }
    return drove__fail(DROVE_E_ARG,
                       "%s:%u: expected one of the devices %s, found none of this "
                       "number",
                       spec->name, device, text);
}

typedef struct settings {
    uint64_t n_parts; /* 0: not given */
    bool in_tf32;
} settings;

static drove_status check_part(const drove_accel_ops *ops, const drove_spec *spec, uint64_t n_parts,
                               drove_accel_choice *choice)
{
    drove_accel_facts facts = {0};
    DROVE_TRY(ops->describe(choice->device, &facts));
    if (!facts.can_split) {
        return drove__fail(DROVE_E_UNSUPPORTED, "%s:%u.%u: %s cannot be split into parts",
                           spec->name, choice->device, choice->sub_device, facts.name);
    }
    if (n_parts > facts.n_units) {
        return drove__fail(DROVE_E_ARG,
                           "%s?parts: expected a whole number from 1 to %u, found \"%llu\"",
                           spec->name, facts.n_units, (unsigned long long)n_parts);
    }
    if (n_parts == 0) n_parts = facts.n_units;
    if (choice->sub_device >= n_parts) {
        return drove__fail(DROVE_E_ARG, "%s:%u.%u: expected a part from 0 to %u of %s, found %u",
                           spec->name, choice->device, choice->sub_device, (unsigned)n_parts - 1,
                           facts.name, choice->sub_device);
    }
    choice->n_sub_devices = (unsigned)n_parts;
    return DROVE_OK;
}

/* ---- opening ---- */

drove_status drove__accel_open(const drove_device_kind *kind, const drove_accel_ops *ops,
                               const drove_spec *spec, drove_device **out)
{
    drove_accel_choice choice = {0};
    bool has_part;
    settings set = {.n_parts = 0};
    DROVE_TRY(parse_argument(spec, &choice, &has_part));
    DROVE_TRY(drove__spec_take(spec, kind->keys, &set));
    if (!has_part && set.n_parts > 0) {
        return drove__fail(DROVE_E_ARG,
                           "%s?parts: expected with it which of the parts, %s:%u.0, found the "
                           "whole device",
                           spec->name, spec->name, choice.device);
    }
    DROVE_TRY(check_device(ops, spec, choice.device));
    choice.in_tf32 = set.in_tf32;
    if (has_part) DROVE_TRY(check_part(ops, spec, set.n_parts, &choice));
    drove_device *device = calloc(1, sizeof *device);
    drove_accel_device *impl = calloc(1, sizeof *impl);
    drove_status status = device != NULL && impl != NULL
                              ? ops->open(&choice, &impl->accel)
                              : drove__fail_nomem("a device", sizeof *device + sizeof *impl);
    if (status != DROVE_OK) {
        free(impl);
        free(device);
        return status;
    }
    impl->ops = ops;
    ops->facts(impl->accel, &impl->facts);
    *device = (drove_device){.kind = kind, .engine = &drove__engine_accel, .impl = impl};
    take_facts(&impl->facts, &device->facts);
    *out = device;
    return DROVE_OK;
}

static drove_status open_device(const drove_device_kind *kind, const drove_spec *spec,
                                drove_device **out)
{
    const drove_accel_ops *ops;
    drove_status status = drove__module_open(kind->name, &ops);
    if (status != DROVE_OK) return drove__fail_in(status, "%s", kind->name);
    return drove__accel_open(kind, ops, spec, out);
}

static void close_device(drove_device *device)
{
    if (device == NULL) return;
    drove_accel_device *impl = device->impl;
    impl->ops->close(impl->accel);
    free(impl);
    free(device);
}

/* ---- the rows ---- */

static const drove_spec_key opencl_keys[] = {
    {"parts", NULL, DROVE_AS_COUNT(settings, n_parts, 1, UINT32_MAX),
     .help = "equal parts of the device; without it one a compute unit"},
    DROVE_SPEC_END,
};
static const drove_spec_key cuda_keys[] = {
    {"tf32", "no", DROVE_AS_FLAG(settings, in_tf32),
     .help = "rounds the factors of products to TF32, for tensor cores"},
    DROVE_SPEC_END,
};

const drove_device_kind drove__device_kind_opencl = {
    .name = "opencl",
    .help = "a device of an OpenCL driver, opencl:DEVICE, or one of the equal parts of it, "
            "opencl:DEVICE.PART",
    .source = "OpenCL 1.2; CLBlast",
    .keys = opencl_keys,
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
};

const drove_device_kind drove__device_kind_cuda = {
    .name = "cuda",
    .help = "a GPU of NVIDIA, cuda:DEVICE",
    .source = "CUDA; cuBLAS; cuDNN",
    .keys = cuda_keys,
    .count = count,
    .describe = describe,
    .open = open_device,
    .close = close_device,
};
