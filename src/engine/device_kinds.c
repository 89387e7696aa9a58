/* engine/device_kinds.c - the one list of kinds of devices; see device.h.
 *
 * A new kind is its file and one line here; the command line, its help and completion, drove info,
 * the tests and the benchmarks walk the list.
 */
#include "engine/device.h"

#include "base/mem.h"
#include "engine/accel/kind.h"
#include "engine/fake/fake.h"

#include <string.h>

const drove_device_kind *const drove__device_kinds[] = {
    &drove__device_kind_opencl,
    &drove__device_kind_cuda,
    &drove__device_kind_fake,
    NULL,
};

enum { MOST_KINDS = DROVE_COUNT(drove__device_kinds) };

drove_status drove__device_open(const drove_spec *spec, drove_device **out)
{
    const char *name[MOST_KINDS];
    size_t n = 0;
    *out = NULL;
    for (; drove__device_kinds[n] != NULL; n++) {
        const drove_device_kind *kind = drove__device_kinds[n];
        name[n] = kind->name;
        if (strcmp(name[n], spec->name) == 0) return kind->open(kind, spec, out);
    }
    return drove__fail_unknown("kind of device", spec->name, name, n);
}

void drove__device_close(drove_device *device)
{
    if (device != NULL) device->kind->close(device);
}
