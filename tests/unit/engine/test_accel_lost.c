/* tests/unit/engine/test_accel_lost.c - the engine of accelerators when the device fails: at
 * each call in turn, on operations in plain C; by silence, on the devices that are here.
 */
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 128 };

/* Two steps with batches in advance. */
static drove_status two_steps(accel_problem *p)
{
    const drove_engine_ops *engine = p->device->engine;
    for (uint64_t step = 0; step < 2; step++) {
        drove_gradient g = {.value = p->grad[1]};
        drove_batch batch = p->batch;
        const drove_work work = {.batch = &batch, .theta = p->theta, .grad = &g};
        DROVE_TRY(engine->begin(p->accel, &work));
        DROVE_TRY(engine->stage(p->accel, &p->batch));
        DROVE_TRY(engine->finish(p->accel, 1000000000u, NULL));
    }
    return DROVE_OK;
}

/* Whichever call fails first: its line is the answer, then and later, and nothing stays behind. */
static void failures_of(const accel_case *how, drove_device *device)
{
    accel_problem p;
    char line[256];
    unsigned before = accel_plain_objects, n_failures = 0;
    accel_setup(&p, how, NULL, MAX_ROWS);
    p.device = device;
    const drove_engine_options opt = {.model = p.model,
                                      .kernels = &p.kernels,
                                      .data = &p.data,
                                      .max_rows = MAX_ROWS,
                                      .device = p.device};
    for (unsigned fails_at = 1;; fails_at++) {
        accel_choose(&p, 50, fails_at);
        accel_plain_calls = 0;
        accel_plain_fails_at = fails_at;
        drove_status status = p.device->engine->create(&opt, &p.accel);
        bool is_made = status == DROVE_OK;
        if (!is_made) assert_null(p.accel);
        if (is_made) status = two_steps(&p);
        snprintf(line, sizeof line, "plain: lost at call %u", fails_at);
        if (status != DROVE_OK) assert_string_equal(drove_error_text(), line);
        if (is_made && status != DROVE_OK) {
            const drove_work work = {.batch = &p.batch, .theta = p.theta};
            assert_int_equal(p.device->engine->begin(p.accel, &work), DROVE_E_SYSTEM);
            assert_string_equal(drove_error_text(), line);
            assert_int_equal(p.device->engine->finish(p.accel, 1, NULL), DROVE_E_SYSTEM);
        }
        accel_plain_fails_at = 0;
        p.device->engine->destroy(p.accel);
        p.accel = NULL;
        assert_int_equal(accel_plain_objects, before);
        if (status == DROVE_OK) break;
        assert_int_equal(status, DROVE_E_SYSTEM);
        n_failures++;
    }
    accel_teardown(&p);
    assert_true(n_failures > 80);
}

TEST(a_lost_device_says_so_and_leaves_nothing)
{
    drove_device *device = accel_plain_open();
    failures_of(&accel_case_dense, device);
    failures_of(&accel_case_sparse, device);
    drove__device_close(device);
}

/* A device that says nothing in time is lost: the same line from then on, and destroy returns. */
static void silent_on(drove_device *device)
{
    accel_problem p;
    accel_case how = accel_case_dense;
    drove_gradient g = {0};
    char line[256];
    how.model = "mlp:512,512";
    const size_t n_rows = getenv("DROVE_TEST_STAND_IN") != NULL ? 256 : 8192; /* it is told */
    accel_setup(&p, &how, device, n_rows);
    accel_choose(&p, n_rows, 0);
    g.value = p.grad[1];
    const drove_work work = {.batch = &p.batch, .theta = p.theta, .grad = &g};
    assert_int_equal(device->engine->begin(p.accel, &work), DROVE_OK);
    assert_int_equal(setenv("DROVE_STAND_IN_SILENT", "1", 1), 0); /* tests/cuda: it is too quick */
    assert_int_equal(device->engine->finish(p.accel, 1000, NULL), DROVE_E_SYSTEM);
    unsetenv("DROVE_STAND_IN_SILENT");
    snprintf(line, sizeof line, "%s", drove_error_text());
    assert_non_null(strstr(line, "silent"));
    assert_int_equal(device->engine->stage(p.accel, &p.batch), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), line);
    assert_int_equal(device->engine->begin(p.accel, &work), DROVE_E_SYSTEM);
    accel_teardown(&p);
}

TEST(a_silent_device_is_lost)
{
    static const char *const kinds[] = {"opencl", "cuda"};
    size_t n = 0;
    for (size_t i = 0; i < DROVE_COUNT(kinds); i++) {
        drove_device *device = accel_open_device(kinds[i], "0");
        if (device != NULL) silent_on(device);
        drove__device_close(device); /* while it may still be at work */
        n += device != NULL;
    }
    if (n == 0) skip();
}
