/* engine/fake/fake.c - see fake.h.
 *
 * The gradient is computed by the host engine on the calling thread, when it is submitted; what is
 * left of the scripted time is slept in collect.  Evaluations are always computed: a script decides
 * about time, never about results.  Batches of all engines of a device are counted together, those
 * of evaluations too.
 *
 * Threads: `sleepers` and `is_closing` of a device are under its mutex.  Closing wakes whoever
 * hangs, and waits for them; a closed device's engines can only be destroyed.
 */
#include "engine/fake/fake.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/fake/script.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake {
    drove_fake_script script;
    _Atomic uint64_t n_batches; /* that were begun */
    pthread_mutex_t mutex;      /* protects the two below */
    unsigned n_sleepers;
    bool is_closing;
    pthread_cond_t closing, gone;
} fake;

struct drove_engine {
    fake *device;
    drove_fake_script script; /* of the device, which may be closed first */
    const drove_model *model;
    drove_engine *host; /* an engine of drove__engine_host */
    float *gradient;    /* [n_params] of the batch that was submitted */
    drove_score score;
    drove_fake_outcome outcome; /* of that batch */
    uint64_t begin_ns;
    bool wants_gradient;
};

/* ---- the device ---- */

static unsigned count_fake(char *why, size_t size)
{
    if (size > 0) why[0] = '\0'; /* none is found anywhere, any number can be named */
    return 0;
}

static drove_status describe_fake(unsigned device, drove_device_facts *out)
{
    (void)out;
    return drove__fail(DROVE_E_ARG, "fake:%u: there is no list of fake devices", device);
}

static drove_status open_fake(const drove_spec *spec, drove_device **out)
{
    drove_fake_script script;
    *out = NULL;
    if (spec->n_args > 0)
        return drove__fail(DROVE_E_ARG, "fake: expected no argument, found \"%s\"", spec->arg[0]);
    DROVE_TRY(drove__fake_script_parse(spec, &script));
    drove_device *device = calloc(1, sizeof *device);
    fake *f = calloc(1, sizeof *f);
    if (device == NULL || f == NULL) {
        free(device);
        free(f);
        return drove__fail_nomem("fake device", sizeof *device + sizeof *f);
    }
    pthread_condattr_t clock;
    (void)pthread_condattr_init(&clock); /* none of these can fail with these arguments */
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&f->mutex, NULL);
    (void)pthread_cond_init(&f->closing, &clock);
    (void)pthread_cond_init(&f->gone, NULL);
    (void)pthread_condattr_destroy(&clock);
    f->script = script;
    *device = (drove_device){.kind = &drove__device_kind_fake,
                             .engine = &drove__engine_fake,
                             .facts = {.memory_bytes = script.memory_bytes},
                             .impl = f};
    (void)snprintf(device->facts.name, sizeof device->facts.name, "fake, %g thousand examples/s",
                   script.speed / 1e3);
    *out = device;
    return DROVE_OK;
}

static void close_fake(drove_device *device)
{
    if (device == NULL) return;
    fake *f = device->impl;
    pthread_mutex_lock(&f->mutex);
    f->is_closing = true;
    pthread_cond_broadcast(&f->closing);
    while (f->n_sleepers > 0) pthread_cond_wait(&f->gone, &f->mutex);
    pthread_mutex_unlock(&f->mutex);
    (void)pthread_cond_destroy(&f->gone);
    (void)pthread_cond_destroy(&f->closing);
    (void)pthread_mutex_destroy(&f->mutex);
    free(f);
    free(device);
}

/* Sleeps until then (UINT64_MAX: for ever); false: the device was closed. */
static bool sleep_until(fake *f, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    pthread_mutex_lock(&f->mutex);
    f->n_sleepers++;
    while (!f->is_closing && drove__now_ns() < until_ns) {
        if (until_ns == UINT64_MAX) (void)pthread_cond_wait(&f->closing, &f->mutex);
        else (void)pthread_cond_timedwait(&f->closing, &f->mutex, &until);
    }
    bool is_open = !f->is_closing;
    if (--f->n_sleepers == 0) pthread_cond_signal(&f->gone);
    pthread_mutex_unlock(&f->mutex);
    return is_open;
}

/* ---- its engine ---- */

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    drove__engine_host.destroy(e->host);
    drove__free(e->gradient);
    free(e);
}

/* Of one example: itself, and output and derivative of each layer. */
static size_t row_bytes(const drove_model *model)
{
    size_t n = model->n_inputs;
    for (size_t i = 0; i < model->n_layers; i++) n += 2 * model->layer[i].n_out;
    return n * sizeof(float);
}

static size_t most_rows(const drove_engine_options *opt)
{
    const fake *f = opt->device->impl;
    uint64_t memory = f->script.memory_bytes, model = 2 * opt->model->n_params * sizeof(float);
    if (memory == 0) return opt->max_rows;
    if (memory <= model) return 0;
    uint64_t rows = (memory - model) / row_bytes(opt->model);
    return rows < opt->max_rows ? (size_t)rows : opt->max_rows;
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    *out = NULL;
    if (most_rows(opt) < opt->max_rows)
        return drove__fail(DROVE_E_ARG,
                           "fake: a batch of %zu examples does not fit into %llu bytes, "
                           "expected at most %zu",
                           opt->max_rows,
                           (unsigned long long)((fake *)opt->device->impl)->script.memory_bytes,
                           most_rows(opt));
    drove_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return drove__fail_nomem("fake engine", sizeof *e);
    e->device = opt->device->impl;
    e->script = e->device->script;
    e->model = opt->model;
    e->gradient = drove__alloc(opt->model->n_params, sizeof *e->gradient);
    drove_status status =
        e->gradient != NULL
            ? drove__engine_host.create(opt, &e->host)
            : drove__fail_nomem("fake engine", opt->model->n_params * sizeof(float));
    if (status != DROVE_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DROVE_OK;
}

static drove_status submit(drove_engine *e, const float *theta, const drove_batch *batch,
                           bool wants_gradient)
{
    /* Relaxed: a number for each batch, nothing else is passed on. */
    uint64_t number = atomic_fetch_add_explicit(&e->device->n_batches, 1, memory_order_relaxed);
    e->begin_ns = drove__now_ns();
    e->wants_gradient = wants_gradient;
    e->outcome = drove__fake_batch(&e->script, number, batch->n_rows);
    memset(&e->score, 0, sizeof e->score);
    if (e->outcome.fate != DROVE_FAKE_DONE) return DROVE_OK;
    if (!wants_gradient) return drove__engine_host.score(e->host, theta, batch, &e->score);
    if (!e->script.computes) return DROVE_OK;
    drove_gradient grad = {.value = e->gradient};
    return drove__engine_host.gradient(e->host, theta, batch, &grad, &e->score, NULL, NULL);
}

/* The host engine reads the examples where they are. */
static drove_status stage(drove_engine *e, const drove_batch *next)
{
    (void)e, (void)next;
    return DROVE_OK;
}

/* Waits for the end of the batch, at most timeout_ns. */
static drove_status wait_for_end(drove_engine *e, uint64_t timeout_ns)
{
    uint64_t now_ns = drove__now_ns();
    uint64_t end_ns =
        e->outcome.fate == DROVE_FAKE_HANGS ? UINT64_MAX : e->begin_ns + e->outcome.duration_ns;
    bool is_deaf = e->script.is_deaf && e->outcome.fate == DROVE_FAKE_HANGS;
    if (is_deaf) timeout_ns = UINT64_MAX;
    uint64_t over_ns = timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX;
    if (!sleep_until(e->device, end_ns < over_ns ? end_ns : over_ns))
        return drove__fail(DROVE_E_SYSTEM, "fake: the device was closed");
    if (over_ns < end_ns)
        return drove__fail(DROVE_E_SYSTEM, "fake: silent for %.3g s%s", (double)timeout_ns / 1e9,
                           end_ns == UINT64_MAX ? ", as scripted" : "");
    if (e->outcome.fate == DROVE_FAKE_FAILS)
        return drove__fail(DROVE_E_SYSTEM, "fake: lost after %llu batches, as scripted",
                           (unsigned long long)e->script.fail_after);
    return DROVE_OK;
}

static drove_status collect(drove_engine *e, drove_gradient *grad, drove_score *score,
                            drove_engine_times *times, uint64_t timeout_ns)
{
    uint64_t start_ns = drove__now_ns();
    DROVE_TRY(wait_for_end(e, timeout_ns));
    if (grad != NULL) {
        grad->span = NULL;
        grad->n_spans = 0;
        memcpy(grad->value, e->gradient, e->model->n_params * sizeof *grad->value);
        for (size_t i = e->model->n_layers; grad->after_layer != NULL && i-- > 0;)
            grad->after_layer(grad->context, i);
    }
    if (score != NULL) drove__score_add(score, &e->score);
    if (times != NULL) {
        times->compute_ns += e->outcome.duration_ns;
        times->wait_ns += drove__now_ns() - start_ns;
    }
    return DROVE_OK;
}

static drove_status gradient(drove_engine *e, const float *theta, const drove_batch *batch,
                             drove_gradient *grad, drove_score *score, uint64_t *forward_ns,
                             uint64_t *backward_ns)
{
    uint64_t start_ns = drove__now_ns();
    (void)forward_ns; /* a fake device has one phase */
    DROVE_TRY(submit(e, theta, batch, true));
    DROVE_TRY(collect(e, grad, score, NULL, UINT64_MAX));
    if (backward_ns != NULL) *backward_ns += drove__now_ns() - start_ns;
    return DROVE_OK;
}

static drove_status score_batch(drove_engine *e, const float *theta, const drove_batch *batch,
                                drove_score *score)
{
    DROVE_TRY(submit(e, theta, batch, false));
    return collect(e, NULL, score, NULL, UINT64_MAX);
}

static drove_status predict(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob)
{
    return drove__engine_host.predict(e->host, theta, batch, prob);
}

const drove_engine_ops drove__engine_fake = {
    .name = "fake",
    .help = "the host's results at a scripted speed",
    .source = "drove",
    .create = create,
    .destroy = destroy,
    .gradient = gradient,
    .score = score_batch,
    .predict = predict,
    .submit = submit,
    .stage = stage,
    .collect = collect,
    .most_rows = most_rows,
};

const drove_device_kind drove__device_kind_fake = {
    .name = "fake",
    .help = "fake:?speed=250 sleeps: speed (thousand examples/s), delay_us, memory, fail_after, "
            "hang_after (batches), jitter, seed, compute=yes|no, deaf=no|yes",
    .source = "drove",
    .keys = drove__fake_keys,
    .count = count_fake,
    .describe = describe_fake,
    .open = open_fake,
    .close = close_fake,
};
