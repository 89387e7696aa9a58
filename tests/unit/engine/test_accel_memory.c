/* The engine of accelerators when memory runs out while it is made: at every allocation the error
 * says so, and nothing stays.  The device computes in plain C.
 * ctest: home=release: a sanitizer has a malloc of its own.
 * ctest: apart: its malloc is for all */
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>

#include "support/no_memory.h"

enum { MAX_ROWS = 128, MOST_CALLS = 10000 };

static void walk(const accel_case *how, drove_device *device)
{
    accel_problem p;
    const unsigned before = accel_plain_objects;
    unsigned long n = 0;
    accel_setup(&p, how, NULL, MAX_ROWS);
    p.device = device;
    const drove_engine_options opt = {.model = p.model,
                                      .kernels = &p.kernels,
                                      .data = &p.data,
                                      .max_rows = MAX_ROWS,
                                      .device = p.device};
    for (bool has_failed = true; has_failed; n++) {
        assert_true(n < MOST_CALLS);
        p.accel = NULL;
        no_memory_begin(n + 1);
        const drove_status status = device->engine->create(&opt, &p.accel);
        has_failed = no_memory_end();
        if (status != (has_failed ? DROVE_E_NOMEM : DROVE_OK) || has_failed != (p.accel == NULL))
            fail_msg("allocation %lu: status %d: %s", n + 1, status, drove_error_text());
        device->engine->destroy(p.accel);
        p.accel = NULL;
        if (no_memory_live() != 0 || accel_plain_objects != before)
            fail_msg("allocation %lu: %zu pieces of memory, %u objects stay", n + 1,
                     no_memory_live(), accel_plain_objects - before);
    }
    assert_true(n > 10);
    accel_teardown(&p);
}

TEST(an_engine_that_finds_no_memory_leaves_nothing)
{
    if (!no_memory_works()) skip();
    drove_device *device = accel_plain_open();
    walk(&accel_case_dense, device);
    walk(&accel_case_sparse, device);
    drove__device_close(device);
}
