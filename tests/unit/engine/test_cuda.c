/* test_cuda.c - the CUDA module over its stand-in (tests/cuda/): devices and what is said of those
 * that are not there, memory that is short, a device that is lost or silent, times that last.
 *
 * What it computes is tested by test_accel.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/clock.h"
#include "engine/accel/kind.h"
#include "engine/module.h"
#include "support/test.h"

#include <stdint.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const drove_accel_ops *ops;
static drove_accel *accel;

FIXTURE(setup)
{
    const drove_accel_choice first = {0};
    char path[PATH_MAX + 16];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n < 0) return 1;
    path[n] = '\0';
    strcpy(strrchr(path, '/'), "/stand-in");
    setenv("DROVE_MODULE_PATH", path, 1);
    if (drove__module_open("cuda", &ops) != DROVE_OK) return 1;
    return ops->open(&first, &accel) == DROVE_OK ? 0 : 1;
}

FIXTURE(teardown)
{
    ops->close(accel);
    return 0;
}

GROUP(setup, teardown);

static drove_status open_spec(const char *text)
{
    drove_spec spec;
    drove_device *device = NULL;
    assert_int_equal(drove__spec_parse(text, &spec), DROVE_OK);
    drove_status status = drove__device_open(&spec, &device);
    drove__device_close(device);
    drove__spec_fini(&spec);
    return status;
}

static void assert_says(const char *words)
{
    if (strstr(drove_error_text(), words) == NULL)
        fail_msg("\"%s\" not in: %s", words, drove_error_text());
}

TEST(test_devices)
{
    unsigned n;
    drove_accel_facts facts;
    setenv("DROVE_STAND_IN_DEVICES", "2", 1);
    assert_int_equal(ops->count(&n), DROVE_OK);
    assert_int_equal(n, 2);
    assert_int_equal(open_spec("cuda:1"), DROVE_OK);
    assert_int_equal(open_spec("cuda:2"), DROVE_E_ARG);
    assert_says("cuda:0 (stand-in for a GPU), cuda:1 (stand-in for a GPU)");
    assert_int_equal(open_spec("cuda:0.0"), DROVE_E_UNSUPPORTED);
    assert_says("cannot be split");
    assert_int_equal(ops->describe(1, &facts), DROVE_OK);
    assert_string_equal(facts.driver, "CUDA 13.0, sm_90, cuDNN 9.1");
    assert_int_equal(facts.memory_bytes, 1u << 30);
    setenv("DROVE_STAND_IN_DEVICES", "0", 1); /* not an error */
    assert_int_equal(ops->count(&n), DROVE_OK);
    assert_int_equal(n, 0);
    assert_int_equal(open_spec("cuda:0"), DROVE_E_UNSUPPORTED);
    unsetenv("DROVE_STAND_IN_DEVICES");
}

TEST(test_memory)
{
    drove_accel_buffer *buffer = NULL;
    assert_int_equal(ops->alloc(accel, (size_t)1 << 29, &buffer), DROVE_E_NOMEM);
    assert_null(buffer);
    assert_says("cuda:0 (stand-in for a GPU): cudaMalloc: out of memory");
    assert_int_equal(ops->alloc(accel, SIZE_MAX / 2, &buffer), DROVE_E_NOMEM);
    assert_int_equal(ops->alloc(accel, 0, &buffer), DROVE_OK);
    ops->free(accel, buffer);
    ops->free(accel, NULL);
    void *pinned = NULL;
    assert_int_equal(ops->host_alloc(accel, 100, &pinned), DROVE_OK);
    assert_non_null(pinned);
    assert_int_equal((uintptr_t)pinned % 64, 0);
    ops->host_free(accel, pinned);
    ops->host_free(accel, NULL);
}

TEST(test_lost)
{
    drove_accel_queue *q;
    drove_accel_buffer *buffer;
    float number = 1.0f, back = 0.0f;
    assert_int_equal(ops->queue_create(accel, &q), DROVE_OK);
    assert_int_equal(ops->alloc(accel, 4, &buffer), DROVE_OK);
    const drove_accel_view third = {buffer, 2};
    assert_int_equal(ops->write(q, third, &number, 1), DROVE_OK);
    assert_int_equal(ops->read(q, &back, third, 1), DROVE_OK);
    assert_true(back == 1.0f);
    setenv("DROVE_STAND_IN_LOST", "1", 1);
    assert_int_equal(ops->write(q, third, &number, 1), DROVE_E_SYSTEM);
    assert_says("cuda:0 (stand-in for a GPU): cudaMemcpyAsync: unspecified launch failure");
    assert_int_equal(ops->bias_act(q, third, third, 1, 1, DROVE_ACCEL_RELU), DROVE_E_SYSTEM);
    assert_says("bias_act");
    unsetenv("DROVE_STAND_IN_LOST");
    assert_int_equal(ops->zero(q, third, 1), DROVE_OK); /* no error is left behind */
    ops->free(accel, buffer);
    ops->queue_destroy(q);
    ops->queue_destroy(NULL);
}

TEST(test_silence)
{
    drove_accel_queue *q;
    drove_accel_event *event;
    assert_int_equal(ops->queue_create(accel, &q), DROVE_OK);
    assert_int_equal(ops->record(q, &event), DROVE_OK);
    setenv("DROVE_STAND_IN_SILENT", "1", 1);
    uint64_t start = drove__now_ns();
    assert_int_equal(ops->wait(event, 20000000), DROVE_E_SYSTEM);
    assert_true(drove__now_ns() - start >= 20000000);
    assert_says("silent");
    unsetenv("DROVE_STAND_IN_SILENT");
    assert_int_equal(ops->wait(event, 0), DROVE_OK); /* it has happened: no time is needed */
    ops->event_destroy(event);
    ops->event_destroy(NULL);
    ops->queue_destroy(q);
}

static uint64_t time_after(drove_accel_queue *q, const char *shift_ms, drove_accel_event **out)
{
    uint64_t at_ns = 0;
    setenv("DROVE_STAND_IN_SHIFT_MS", shift_ms, 1);
    assert_int_equal(ops->record(q, out), DROVE_OK);
    unsetenv("DROVE_STAND_IN_SHIFT_MS");
    assert_int_equal(ops->time(*out, &at_ns), DROVE_OK);
    return at_ns;
}

/* ---- sequences ---- */

typedef struct pair {
    drove_accel_queue *up, *work;
    drove_accel_buffer *buffer;
    float *host; /* pinned [4] */
} pair;

static void make_pair(pair *p)
{
    void *memory = NULL;
    assert_int_equal(ops->queue_create(accel, &p->up), DROVE_OK);
    assert_int_equal(ops->queue_create(accel, &p->work), DROVE_OK);
    assert_int_equal(ops->alloc(accel, 4, &p->buffer), DROVE_OK);
    assert_int_equal(ops->host_alloc(accel, 4 * sizeof(float), &memory), DROVE_OK);
    p->host = memory;
}

static void free_pair(pair *p)
{
    ops->queue_destroy(p->up);
    ops->queue_destroy(p->work);
    ops->free(accel, p->buffer);
    ops->host_free(accel, p->host);
}

/* host[1] = max(host[0] + host[0], 0): there by another queue, which joins, and back. */
static drove_status put_sum(const pair *p, bool joins, drove_accel_event *event[3])
{
    const drove_accel_view first = {p->buffer, 0}, second = {p->buffer, 1};
    DROVE_TRY(ops->record(p->work, &event[0]));
    DROVE_TRY(ops->follow(p->up, event[0]));
    DROVE_TRY(ops->write(p->up, first, p->host, 1));
    DROVE_TRY(ops->write(p->up, second, p->host, 1));
    DROVE_TRY(ops->record(p->up, &event[1]));
    if (joins) DROVE_TRY(ops->follow(p->work, event[1]));
    DROVE_TRY(ops->bias_act(p->work, second, first, 1, 1, DROVE_ACCEL_RELU));
    DROVE_TRY(ops->read(p->work, p->host + 1, second, 1));
    return ops->record(p->work, &event[2]);
}

static bool captures(const pair *p) /* not by clang: cuda_runtime_api.h */
{
    drove_accel_sequence *sequence = NULL;
    if (ops->sequences->begin(p->work) != DROVE_OK) return false;
    assert_int_equal(ops->sequences->end(p->work, &sequence), DROVE_OK);
    ops->sequences->destroy(sequence);
    return true;
}

TEST(test_sequences_repeat)
{
    pair p;
    drove_accel_event *event[3] = {NULL};
    drove_accel_sequence *sequence = NULL;
    uint64_t before = 0, now = 0;
    make_pair(&p);
    if (captures(&p)) {
        p.host[0] = 5.0f;
        p.host[1] = -1.0f;
        assert_int_equal(ops->sequences->begin(p.work), DROVE_OK);
        assert_int_equal(put_sum(&p, true, event), DROVE_OK);
        assert_true(p.host[1] == -1.0f); /* nothing was carried out */
        assert_int_equal(ops->sequences->end(p.work, &sequence), DROVE_OK);
        for (int i = 0; i < 4; i++) {
            p.host[0] = (float)(3 - 2 * i);
            assert_int_equal(ops->sequences->run(p.work, sequence), DROVE_OK);
            assert_int_equal(ops->wait(event[2], 1000000000), DROVE_OK);
            assert_true(p.host[1] == (i < 2 ? 2.0f * p.host[0] : 0.0f));
            assert_int_equal(ops->time(event[1], &now), DROVE_OK);
            assert_true(now > before); /* of this run */
            before = now;
            drove_accel_queue *outside;
            assert_int_equal(ops->queue_create(accel, &outside), DROVE_OK);
            assert_int_equal(ops->follow(outside, event[1]), DROVE_OK);
            ops->queue_destroy(outside);
        }
        ops->sequences->destroy(sequence);
        for (size_t i = 0; i < 3; i++) ops->event_destroy(event[i]);
    } else {
        assert_says("cudaStreamBeginCapture");
    }
    ops->sequences->destroy(NULL);
    free_pair(&p);
}

/* Afterwards the queues carry out what they are given, as before. */
TEST(test_sequences_are_refused)
{
    pair p;
    drove_accel_event *event[3] = {NULL}, *earlier;
    drove_accel_sequence *sequence = NULL;
    make_pair(&p);
    for (int how = 0; how < 4 && captures(&p); how++) {
        const drove_accel_view first = {p.buffer, 0};
        drove_accel_buffer *other = NULL;
        assert_int_equal(ops->record(p.up, &earlier), DROVE_OK);
        assert_int_equal(ops->sequences->begin(p.work), DROVE_OK);
        if (how == 0) { /* not all is waited for */
            assert_int_equal(put_sum(&p, false, event), DROVE_OK);
        } else if (how == 1) {
            assert_int_equal(ops->follow(p.work, earlier), DROVE_E_UNSUPPORTED);
            assert_says("from before");
        } else if (how == 2) { /* by a thread that captures */
            assert_int_equal(ops->alloc(accel, 8, &other), DROVE_E_UNSUPPORTED);
        } else {
            setenv("DROVE_STAND_IN_LOST", "1", 1);
            assert_int_equal(ops->write(p.work, first, p.host, 1), DROVE_E_SYSTEM);
            unsetenv("DROVE_STAND_IN_LOST");
        }
        drove_status status = ops->sequences->end(p.work, &sequence);
        assert_int_equal(status, how == 0 || how == 2 ? DROVE_E_UNSUPPORTED : DROVE_OK);
        if (status == DROVE_OK) ops->sequences->destroy(sequence);
        for (size_t i = 0; i < 3; i++) {
            ops->event_destroy(event[i]);
            event[i] = NULL;
        }
        ops->event_destroy(earlier);
        p.host[0] = 2.0f;
        assert_int_equal(put_sum(&p, true, event), DROVE_OK);
        assert_int_equal(ops->wait(event[2], 1000000000), DROVE_OK);
        assert_true(p.host[1] == 4.0f);
        for (size_t i = 0; i < 3; i++) {
            ops->event_destroy(event[i]);
            event[i] = NULL;
        }
    }
    assert_int_equal(ops->sequences->end(p.work, &sequence), DROVE_E_UNSUPPORTED);
    free_pair(&p);
}

/* Half a day later a float of milliseconds has steps of 4 ms; times must still be exact to far
 * less, those of events from before must stay as they were, and all events must still be waited
 * for.  It is the last: then times are coarse for a while. */
TEST(test_times_last)
{
    drove_accel_queue *q;
    drove_accel_event *event[4];
    assert_int_equal(ops->queue_create(accel, &q), DROVE_OK);
    uint64_t start_ns = drove__now_ns();
    uint64_t first = time_after(q, "0", &event[0]), late = time_after(q, "50000000", &event[1]);
    uint64_t later = time_after(q, "50001001", &event[2]), again = 0;
    uint64_t most_ns = drove__now_ns() - start_ns + 100000;
    assert_true(late - first > 49999000000000u && late - first < 50001000000000u);
    assert_true(later - late >= 1000900000u && later - late <= 1001000000u + most_ns);
    assert_int_equal(ops->time(event[0], &again), DROVE_OK);
    assert_int_equal(again, first);
    uint64_t back = time_after(q, "50000000", &event[3]); /* before the base */
    assert_true(back >= late && back < later);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ops->wait(event[i], 0), DROVE_OK);
        ops->event_destroy(event[i]);
    }
    drove_accel_event *used; /* again, with a time of its own */
    assert_true(time_after(q, "50002000", &used) > later);
    ops->event_destroy(used);
    ops->queue_destroy(q);
}
