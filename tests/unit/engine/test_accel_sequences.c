/* Passes that an accelerator's engine records and repeats, on a device in plain C that counts its
 * sequences: when one is recorded, when it makes room for another, and that none of them stays.
 * The device does at once what it is given, so a sequence that is run has nothing left to do; every
 * batch here has the same examples and parameters.
 */
#include "unit/engine/accel_plain.h"
#include "unit/engine/accel_support.h"
#include "support/test.h"

#include "base/mem.h"
#include "engine/accel/state.h"
#include "support/engine_calls.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 64, MOST = 32, REPEATS = 3 };

/* ---- sequences ---- */

struct drove_accel_sequence {
    bool is_there;
};

static unsigned n_begun, n_run, n_live;
static enum { WORKS, BEGIN_FAILS, END_FAILS } failure;

static drove_status begin(drove_accel_queue *q)
{
    (void)q;
    n_begun++;
    return failure == BEGIN_FAILS ? drove__fail(DROVE_E_UNSUPPORTED, "no sequences") : DROVE_OK;
}

static drove_status end(drove_accel_queue *q, drove_accel_sequence **out)
{
    (void)q;
    if (failure == END_FAILS) return drove__fail(DROVE_E_UNSUPPORTED, "not this one");
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    (*out)->is_there = true;
    n_live++;
    return DROVE_OK;
}

static drove_status run(drove_accel_queue *q, drove_accel_sequence *sequence)
{
    (void)q;
    assert_true(sequence->is_there);
    n_run++;
    return DROVE_OK;
}

static void destroy(drove_accel_sequence *sequence)
{
    n_live -= sequence != NULL;
    free(sequence);
}

/* ---- an engine ---- */

static const drove_accel_sequence_ops sequences = {
    .begin = begin, .end = end, .run = run, .destroy = destroy};
static drove_accel_ops ops;
static accel_problem p;
static drove_device *device;
static drove_engine *engine;
static float *expected; /* [n_params] the gradient of the batch of one size, pass by pass */

static unsigned objects_before;

static void open_engine(void)
{
    objects_before = accel_plain_objects;
    device = accel_plain_open();
    drove_accel_device *impl = device->impl;
    ops = *impl->ops;
    ops.sequences = &sequences;
    impl->ops = &ops;
    n_begun = n_run = 0;
    assert_int_equal(n_live, 0);
    accel_setup(&p, &accel_case_dense, NULL, MAX_ROWS);
    const drove_engine_options opt = {.model = p.model,
                                      .kernels = &p.kernels,
                                      .data = &p.data,
                                      .max_rows = MAX_ROWS,
                                      .device = device};
    assert_int_equal(device->engine->create(&opt, &engine), DROVE_OK);
    expected = drove__alloc(p.model->n_params, sizeof *expected);
    assert_non_null(expected);
}

/* Nothing that the engine had stays. */
static void close_engine(void)
{
    device->engine->destroy(engine);
    drove__free(expected);
    accel_teardown(&p);
    drove__device_close(device);
    assert_int_equal(n_live, 0);
    assert_int_equal(accel_plain_objects, objects_before);
}

/* A batch alone is always in the first of the two buffers. */
static void pass(size_t n_rows, const float *must_be, float *grad)
{
    uint32_t row[MAX_ROWS];
    for (size_t i = 0; i < n_rows; i++) row[i] = (uint32_t)i;
    const drove_batch batch = {.data = &p.data, .row = row, .n_rows = n_rows, .number = 1};
    drove_gradient g = {.value = grad};
    assert_int_equal(engine_gradient(device->engine, engine, p.theta, &batch, &g, NULL), DROVE_OK);
    if (must_be != NULL) assert_memory_equal(grad, must_be, p.model->n_params * sizeof *must_be);
}

/* n passes of one size with the same gradient each. */
static void passes(size_t n, size_t n_rows)
{
    pass(n_rows, NULL, expected);
    for (size_t i = 1; i < n; i++) pass(n_rows, expected, p.grad[0]);
}

/* ---- tests ---- */

/* So many recordings were begun, so many passes ran one, so many are there. */
static void expect_counts(unsigned begun, unsigned ran, unsigned live)
{
    assert_int_equal(n_begun, begun);
    assert_int_equal(n_run, ran);
    assert_int_equal(drove__repeat_runs(engine), ran);
    assert_int_equal(n_live, live);
}

TEST(a_pass_is_recorded_when_it_comes_the_third_time)
{
    failure = WORKS;
    open_engine();
    passes(REPEATS - 1, 9);
    expect_counts(0, 0, 0);
    passes(1, 9);
    expect_counts(1, 1, 1);
    passes(7, 9);
    expect_counts(1, 8, 1);
    passes(REPEATS - 1, 10); /* another one */
    expect_counts(1, 8, 1);
    passes(2, 10);
    expect_counts(2, 10, 2);
    passes(1, 9); /* the first is still there */
    expect_counts(2, 11, 2);
    close_engine();
}

/* A score's pass wants no gradient, so it is another pass than that of a step. */
TEST(what_is_wanted_makes_another_pass)
{
    uint32_t row[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    failure = WORKS;
    open_engine();
    const drove_batch batch = {.data = &p.data, .row = row, .n_rows = 9, .number = 1};
    passes(REPEATS, 9);
    expect_counts(1, 1, 1);
    for (unsigned i = 0; i < REPEATS; i++) {
        drove_score score = {0};
        assert_int_equal(engine_score(device->engine, engine, p.theta, &batch, &score), DROVE_OK);
        assert_int_equal(score.n_rows, 9);
    }
    expect_counts(2, 2, 2);
    close_engine();
}

/* What cannot be recorded is tried once, and put on the queues one by one; its gradients are those
 * of before. */
TEST(what_cannot_be_recorded_is_tried_once)
{
    for (unsigned k = 0; k < 2; k++) {
        failure = k == 0 ? BEGIN_FAILS : END_FAILS;
        open_engine();
        passes(8, 9);
        expect_counts(1, 0, 0);
        passes(8, 10);
        expect_counts(2, 0, 0);
        failure = WORKS;
        passes(4, 9); /* not tried again */
        expect_counts(2, 0, 0);
        passes(4, 11);
        expect_counts(3, 2, 1);
        close_engine();
    }
}

/* Of 33 sizes the one that was used least recently makes room. */
TEST(the_least_used_makes_room)
{
    failure = WORKS;
    open_engine();
    for (size_t n = 1; n <= MOST; n++) passes(REPEATS, n);
    expect_counts(MOST, MOST, MOST);
    passes(1, 1); /* so 2 is the oldest */
    expect_counts(MOST, MOST + 1, MOST);
    passes(1, MOST + 1);
    expect_counts(MOST, MOST + 1, MOST - 1);
    for (size_t n = 1; n <= MOST; n++)
        if (n != 2) passes(1, n);
    expect_counts(MOST, 2 * MOST, MOST - 1);
    passes(REPEATS - 1, MOST + 1);
    expect_counts(MOST + 1, 2 * MOST + 1, MOST);
    passes(REPEATS - 1, 2); /* is as if it had never been */
    expect_counts(MOST + 1, 2 * MOST + 1, MOST - 1);
    passes(1, 2);
    expect_counts(MOST + 2, 2 * MOST + 2, MOST);
    close_engine();
}

/* In the place of a pass that was refused another is recorded. */
TEST(what_was_refused_makes_room)
{
    failure = BEGIN_FAILS;
    open_engine();
    passes(REPEATS, 1);
    expect_counts(1, 0, 0);
    failure = WORKS;
    for (size_t n = 2; n <= MOST + 1; n++) passes(REPEATS, n);
    expect_counts(MOST + 1, MOST, MOST);
    passes(REPEATS, 1);
    expect_counts(MOST + 2, MOST + 1, MOST);
    close_engine();
}
