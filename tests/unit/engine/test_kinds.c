/* test_kinds.c - the table of kinds of devices, and what a worker's spec means: which device and
 * which part of it is opened, and what is said of those that are not there.
 *
 * No module and no device is needed: a table of operations made here has three devices.
 */
#include "base/mem.h"
#include "engine/accel/kind.h"
#include "support/test.h"

#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- three devices: one that can be split, one that cannot, one that is out of order ---- */

struct drove_accel {
    drove_accel_choice choice;
};

static unsigned n_devices = 3, n_open;

static drove_status count(unsigned *out)
{
    *out = n_devices;
    return DROVE_OK;
}

static drove_status describe(unsigned device, drove_accel_facts *out)
{
    static const drove_accel_facts facts[] = {
        {.name = "splitter",
         .driver = "Test 1",
         .memory_bytes = 1000,
         .n_units = 4,
         .can_split = true},
        {.name = "whole", .driver = "Test 1", .memory_bytes = 2000, .n_units = 8}};
    if (device == 2) return drove__fail(DROVE_E_SYSTEM, "device 2 is out of order");
    *out = facts[device];
    return DROVE_OK;
}

static drove_status open_device(const drove_accel_choice *choice, drove_accel **out)
{
    if (choice->device == 2) return drove__fail(DROVE_E_SYSTEM, "device 2 is out of order");
    *out = malloc(sizeof **out);
    if (*out == NULL) return drove__fail_nomem("a device", sizeof **out);
    (*out)->choice = *choice;
    n_open++;
    return DROVE_OK;
}

static void close_device(drove_accel *a)
{
    n_open -= a != NULL;
    free(a);
}

static void facts_of(const drove_accel *a, drove_accel_facts *out)
{
    describe(a->choice.device, out);
    if (a->choice.n_sub_devices > 0) out->n_units /= a->choice.n_sub_devices;
}

static const drove_accel_ops ops = {.version = DROVE_ACCEL_VERSION,
                                    .name = "test",
                                    .count = count,
                                    .describe = describe,
                                    .open = open_device,
                                    .close = close_device,
                                    .facts = facts_of};

static drove_status open_spec(const char *text, drove_device **out)
{
    drove_spec spec;
    *out = NULL;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    drove_status status = drove__accel_open(&drove__device_kind_opencl, &ops, &spec, out);
    drove__spec_fini(&spec);
    assert_true((status == DROVE_OK) == (*out != NULL));
    return status;
}

/* ---- tests ---- */

FIXTURE(find_no_module)
{
    setenv("DROVE_MODULE_PATH", "", 1);
    return 0;
}

GROUP(find_no_module, NULL);

TEST(test_choices)
{
    static const struct {
        const char *spec;
        drove_accel_choice choice;
        unsigned n_units;
    } expected[] = {
        {"opencl", {0, 0, 0, false}, 4},
        {"opencl:0", {0, 0, 0, false}, 4},
        {"opencl:1", {1, 0, 0, false}, 8},
        {"opencl:0.0", {0, 4, 0, false}, 1}, /* by default every unit is a part */
        {"opencl:0.3", {0, 4, 3, false}, 1},
        {"opencl:0.1?parts=2", {0, 2, 1, false}, 2},
        {"opencl:0.0?parts=1", {0, 1, 0, false}, 4},
    };
    for (size_t i = 0; i < DROVE_COUNT(expected); i++) {
        drove_device *device;
        assert_int_equal(open_spec(expected[i].spec, &device), DROVE_OK);
        const drove_accel_device *impl = device->impl;
        const drove_accel_choice *choice = &impl->accel->choice, *want = &expected[i].choice;
        assert_int_equal(choice->device, want->device);
        assert_int_equal(choice->n_sub_devices, want->n_sub_devices);
        assert_int_equal(choice->sub_device, want->sub_device);
        assert_false(choice->in_tf32);
        assert_int_equal(device->facts.n_units, expected[i].n_units);
        assert_string_equal(device->facts.driver, "Test 1");
        assert_ptr_equal(device->engine, &drove__engine_accel);
        assert_ptr_equal(impl->ops, &ops);
        drove__device_close(device);
    }
    assert_int_equal(n_open, 0);
}

TEST(test_refused)
{
    static const struct {
        const char *spec;
        drove_status status;
        const char *words[3];
    } expected[] = {
        {"opencl:3", DROVE_E_ARG, {"opencl:3", "opencl:0 (splitter), opencl:1 (whole), opencl:2"}},
        {"opencl:4294967296", DROVE_E_ARG, {"4294967296"}},
        {"opencl:x", DROVE_E_ARG, {"expected the number of a device", "found x"}},
        {"opencl:-1", DROVE_E_ARG, {"found -1"}},
        {"opencl:0.", DROVE_E_ARG, {"found 0."}},
        {"opencl:0.1.2", DROVE_E_ARG, {"found 0.1.2"}},
        {"opencl:0,1", DROVE_E_ARG, {"several"}},
        {"opencl:0.4", DROVE_E_ARG, {"opencl:0.4", "a part from 0 to 3", "splitter"}},
        {"opencl:0.2?parts=2", DROVE_E_ARG, {"a part from 0 to 1"}},
        {"opencl:0.0?parts=5", DROVE_E_ARG, {"parts", "4", "5"}},
        {"opencl:0.0?parts=0", DROVE_E_ARG, {"parts"}},
        {"opencl:0?parts=2", DROVE_E_ARG, {"parts", "opencl:0.0"}},
        {"opencl:1.0", DROVE_E_UNSUPPORTED, {"whole cannot be split"}},
        {"opencl:2", DROVE_E_SYSTEM, {"out of order"}},
        {"opencl:2.0", DROVE_E_SYSTEM, {"out of order"}},
    };
    for (size_t i = 0; i < DROVE_COUNT(expected); i++) {
        drove_device *device;
        assert_int_equal(open_spec(expected[i].spec, &device), expected[i].status);
        for (size_t k = 0; k < 3 && expected[i].words[k] != NULL; k++) {
            if (strstr(drove_error_text(), expected[i].words[k]) != NULL) continue;
            fail_msg("%s: \"%s\" not in: %s", expected[i].spec, expected[i].words[k],
                     drove_error_text());
        }
    }
    assert_int_equal(n_open, 0);
}

TEST(test_no_device)
{
    drove_device *device;
    n_devices = 0;
    assert_int_equal(open_spec("opencl:0", &device), DROVE_E_UNSUPPORTED);
    assert_non_null(strstr(drove_error_text(), "opencl:0: no driver"));
    n_devices = 3;
}

TEST(test_table)
{
    for (size_t i = 0; drove__device_kinds[i] != NULL; i++) {
        const drove_device_kind *kind = drove__device_kinds[i];
        assert_true(kind->name[0] != '\0' && kind->help[0] != '\0' && kind->source[0] != '\0');
        assert_non_null(kind->keys);
        assert_true(kind->count != NULL && kind->describe != NULL);
        assert_true(kind->open != NULL && kind->close != NULL);
        kind->close(NULL);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(drove__device_kinds[k]->name, kind->name);
        }
    }
    drove__device_close(NULL);
}

/* Without modules (main) these kinds are there, have no device, and say why. */
TEST(test_without_modules)
{
    static const char *const names[] = {"opencl", "cuda"};
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        char why[DROVE_ERROR_TEXT_SIZE] = "", file[32];
        size_t k = 0;
        while (strcmp(drove__device_kinds[k]->name, names[i]) != 0) k++;
        snprintf(file, sizeof file, "drove_%s.so", names[i]);
        assert_int_equal(drove__device_kinds[k]->count(drove__device_kinds[k], why, sizeof why), 0);
        assert_non_null(strstr(why, file));
        drove_device_facts facts;
        assert_int_equal(drove__device_kinds[k]->describe(drove__device_kinds[k], 0, &facts),
                         DROVE_E_UNSUPPORTED);
        assert_non_null(strstr(drove_error_text(), file));
        drove_spec spec;
        drove_device *device = NULL;
        assert_int_equal(drove__spec_parse(names[i], &spec), DROVE_OK);
        assert_int_equal(drove__device_open(&spec, &device), DROVE_E_UNSUPPORTED);
        assert_non_null(strstr(drove_error_text(), file));
        assert_null(device);
        drove__spec_fini(&spec);
    }
}

TEST(test_unknown_kind)
{
    drove_spec spec;
    drove_device *device = NULL;
    assert_int_equal(drove__spec_parse("opncl:0", &spec), DROVE_OK);
    assert_int_equal(drove__device_open(&spec, &device), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "did you mean \"opencl\"?"));
    drove__spec_fini(&spec);
}
