/* tests/unit/engine/test_opencl.c - what OpenCL devices have alone: two parts of a device at once,
 * compiled programs on disk.
 *
 * Skipped with the reason where there is no device.
 */
#include "unit/engine/accel_support.h"
#include "support/files.h"
#include "support/test.h"

#include "base/mem.h"
#include "support/engine_calls.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 128 };

static drove_device *opened; /* NULL: not here */

static void host_gradient(accel_problem *p)
{
    drove_gradient g = {.value = p->grad[0]};
    assert_int_equal(engine_gradient(&drove__engine_host, p->host, p->theta, &p->batch, &g, NULL),
                     DROVE_OK);
}

static void *compare_often(void *context)
{
    accel_problem *p = context;
    for (uint64_t i = 0; i < 20; i++) {
        drove_gradient g = {.value = p->grad[1]};
        accel_choose(p, 100 + i, i);
        assert_int_equal(
            engine_gradient(p->device->engine, p->accel, p->theta, &p->batch, &g, NULL), DROVE_OK);
        host_gradient(p);
        accel_compare_gradients(p, &g);
    }
    return NULL;
}

TEST(two_parts_of_a_device_compute_at_once)
{
    drove_device *part[2] = {NULL, NULL};
    pthread_t thread;
    accel_problem p[2];
    if (opened == NULL || !opened->facts.can_split) skip();
    part[0] = accel_open_device("opencl", "0.0?parts=2");
    part[1] = accel_open_device("opencl", "0.1?parts=2");
    assert_true(part[0] != NULL && part[1] != NULL);
    assert_true(part[0]->facts.n_units < opened->facts.n_units);
    accel_setup(&p[0], &accel_case_dense, part[0], MAX_ROWS);
    accel_setup(&p[1], &accel_case_sparse, part[1], MAX_ROWS);
    assert_int_equal(pthread_create(&thread, NULL, compare_often, &p[0]), 0);
    compare_often(&p[1]);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 2; i++) {
        accel_teardown(&p[i]);
        drove__device_close(part[i]);
    }
}

/* The first file of the cache; false: none.  *size_bytes of it. */
static bool cache_file(char path[1024], long *size_bytes)
{
    bool is_there = false;
    DIR *folder = opendir("drove");
    if (folder == NULL) return false;
    for (struct dirent *f = readdir(folder); f != NULL && !is_there; f = readdir(folder)) {
        is_there = strncmp(f->d_name, "opencl-", 7) == 0;
        if (is_there) snprintf(path, 1024, "drove/%s", f->d_name);
    }
    closedir(folder);
    FILE *f = is_there ? fopen(path, "rb") : NULL;
    if (f == NULL) return false;
    fseek(f, 0, SEEK_END);
    *size_bytes = ftell(f);
    fclose(f);
    return true;
}

static void open_again_and_compare(void)
{
    accel_problem p;
    drove_device *device = accel_open_device("opencl", "0");
    assert_non_null(device);
    accel_setup(&p, &accel_case_dense, device, MAX_ROWS);
    accel_choose(&p, 30, 1);
    accel_compare(&p, false);
    accel_teardown(&p);
    drove__device_close(device);
}

TEST(a_damaged_program_on_disk_is_made_anew)
{
    char path[1024];
    long whole, size;
    if (opened == NULL) skip();
    system("rm -f drove/opencl-*");
    open_again_and_compare();
    assert_true(cache_file(path, &whole));
    FILE *f = fopen(path, "r+b"); /* a changed byte in the middle */
    assert_non_null(f);
    assert_int_equal(fseek(f, whole / 2, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, whole / 2, SEEK_SET), 0);
    assert_true(fputc(byte ^ 1, f) != EOF);
    assert_int_equal(fclose(f), 0);
    open_again_and_compare();
    write_text(path, "drovecl1"); /* cut */
    open_again_and_compare();
    assert_true(cache_file(path, &size));
    assert_true(size > whole / 2);
    open_again_and_compare(); /* from the cache */
}

FIXTURE(open_device)
{
    char folder[512];
    assert_non_null(realpath(".", folder));
    assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
    opened = accel_open_device("opencl", "0");
    return 0;
}

FIXTURE(close_device)
{
    drove__device_close(opened);
    return 0;
}

GROUP(open_device, close_device);
