/* engine/fake/fake.c - see fake.h.
 *
 * begin computes the gradient by the host engine on the calling thread; part and finish sleep for
 * the rest of the scripted time.  Evaluations are always computed: a script decides about time,
 * never about results.  Batches of all engines of a device are counted together, evaluations
 * included.
 *
 * Threads: `n_sleepers` and `is_closing` of a device are under its mutex.  Closing wakes whoever
 * hangs, and waits for them; a closed device's engines can only be destroyed.
 */
#include "engine/fake/fake.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/virtual.h"
#include "engine/fake/script.h"
#include "engine/pieces.h"

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
    drove_pieces pieces;
    /* the present piece: */
    float *gradient;      /* [n_params] */
    drove_gradient *grad; /* to be delivered; NULL: none is wanted, or it was */
    drove_score score;
    drove_fake_outcome outcome;
    uint64_t begin_ns, slept_ns;
};

/* ---- the device ---- */

static unsigned count_fake(const drove_device_kind *kind, char *why, size_t size)
{
    (void)kind;
    if (size > 0) why[0] = '\0'; /* none is found anywhere, any number can be named */
    return 0;
}

static drove_status describe_fake(const drove_device_kind *kind, unsigned device,
                                  drove_device_facts *out)
{
    (void)kind, (void)out;
    return drove__fail(DROVE_E_ARG, "fake:%u: there is no list of fake devices", device);
}

static drove_status open_fake(const drove_device_kind *kind, const drove_spec *spec,
                              drove_device **out)
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
    *device = (drove_device){.kind = kind,
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
    if (drove__actor != NULL) { /* nobody wakes it there */
        (void)drove__virtual_wait(f, until_ns);
        return true;
    }
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
    drove__pieces_fini(&e->pieces);
    drove__free(e->gradient);
    free(e);
}

/* ---- one piece of a batch ---- */

static drove_status begin_piece(drove_engine *e, const drove_work *work)
{
    /* Relaxed: a number for each batch, nothing else is passed on. */
    uint64_t number = atomic_fetch_add_explicit(&e->device->n_batches, 1, memory_order_relaxed);
    e->begin_ns = drove__now_ns();
    e->grad = work->grad;
    e->slept_ns = 0;
    e->outcome = drove__fake_batch(&e->script, number, work->batch->n_rows);
    memset(&e->score, 0, sizeof e->score);
    if (e->outcome.fate != DROVE_FAKE_DONE) return DROVE_OK;
    if (work->grad != NULL && !e->script.computes) return DROVE_OK;
    drove_gradient grad = {.value = e->gradient};
    drove_work host = *work;
    drove_work_done done = {0};
    if (host.grad != NULL) host.grad = &grad;
    DROVE_TRY(drove__engine_do(&drove__engine_host, e->host, &host, UINT64_MAX, &done));
    e->score = done.score;
    return DROVE_OK;
}

/* Sleeps until the piece ends, at most timeout_ns; *has_ended: it does not end beyond that. */
static drove_status wait_for_end(drove_engine *e, uint64_t timeout_ns, bool *has_ended)
{
    uint64_t now_ns = drove__now_ns();
    uint64_t end_ns =
        e->outcome.fate == DROVE_FAKE_HANGS ? UINT64_MAX : e->begin_ns + e->outcome.duration_ns;
    bool is_deaf = e->script.is_deaf && e->outcome.fate == DROVE_FAKE_HANGS;
    if (is_deaf) timeout_ns = UINT64_MAX;
    uint64_t over_ns = timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX;
    if (!sleep_until(e->device, end_ns < over_ns ? end_ns : over_ns))
        return drove__fail(DROVE_E_SYSTEM, "fake: the device was closed");
    e->slept_ns += drove__now_ns() - now_ns;
    *has_ended = end_ns <= over_ns;
    if (*has_ended && e->outcome.fate == DROVE_FAKE_FAILS)
        return drove__fail(DROVE_E_SYSTEM, "fake: lost after %llu batches, as scripted",
                           (unsigned long long)e->script.fail_after);
    return DROVE_OK;
}

/* All slices come at once, at the end. */
static void deliver(drove_engine *e)
{
    drove_gradient *grad = e->grad;
    e->grad = NULL;
    if (grad == NULL) return;
    grad->span = NULL;
    grad->n_spans = 0;
    memcpy(grad->value, e->gradient, e->model->n_params * sizeof *grad->value);
    for (size_t i = e->model->n_layers; grad->after_layer != NULL && i-- > 0;)
        grad->after_layer(grad->context, i);
}

static drove_status part_piece(drove_engine *e, uint64_t timeout_ns, size_t *n_left)
{
    bool has_ended = true;
    if (e->grad != NULL) DROVE_TRY(wait_for_end(e, timeout_ns, &has_ended));
    if (has_ended) deliver(e);
    size_t n = 0;
    for (size_t i = 0; i < e->model->n_layers; i++) n += e->model->layer[i].n_params > 0;
    *n_left = has_ended ? 0 : n;
    return DROVE_OK;
}

static drove_status finish_piece(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    bool has_ended;
    DROVE_TRY(wait_for_end(e, timeout_ns, &has_ended));
    if (!has_ended)
        return drove__fail(DROVE_E_SYSTEM, "fake: silent for %.3g s%s", (double)timeout_ns / 1e9,
                           e->outcome.fate == DROVE_FAKE_HANGS ? ", as scripted" : "");
    deliver(e);
    const drove_work_done mine = {
        .score = e->score, .times = {.compute_ns = e->outcome.duration_ns, .wait_ns = e->slept_ns}};
    if (done != NULL) drove__work_done_add(done, &mine);
    return DROVE_OK;
}

static drove_status predict_piece(drove_engine *e, const float *theta, const drove_batch *batch,
                                  float *prob)
{
    return drove__engine_host.predict(e->host, theta, batch, prob);
}

static drove_status statistics_of_piece(drove_engine *e, const float *theta,
                                        const drove_batch *batch, float share, float *into)
{
    return drove__engine_host.statistics(e->host, theta, batch, share, into);
}

static const drove_piece_ops piece_ops = {.begin = begin_piece,
                                          .part = part_piece,
                                          .finish = finish_piece,
                                          .predict = predict_piece,
                                          .statistics = statistics_of_piece};

static size_t most_rows(const drove_engine_options *opt)
{
    const fake *f = opt->device->impl;
    uint64_t memory = f->script.memory_bytes, model = 2 * opt->model->n_params * sizeof(float);
    if (memory == 0) return opt->max_rows;
    if (memory <= model) return 0;

    /* One example: itself, and output and derivative of each layer. */
    size_t n = opt->model->n_inputs;
    for (size_t i = 0; i < opt->model->n_layers; i++) n += 2 * opt->model->layer[i].n_out;
    uint64_t rows = (memory - model) / (n * sizeof(float));
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
    drove__pieces_init(&e->pieces, &piece_ops, opt);
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

/* ---- operations ---- */

static drove_status begin(drove_engine *e, const drove_work *work)
{
    if (work->theta == NULL) return drove__fail(DROVE_E_ARG, "fake: expected parameters");
    return drove__pieces_begin(&e->pieces, e, work);
}

static drove_status part(drove_engine *e, uint64_t timeout_ns, size_t *n_left)
{
    return drove__pieces_part(&e->pieces, e, timeout_ns, n_left);
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    return drove__pieces_finish(&e->pieces, e, timeout_ns, done);
}

/* The host engine reads the examples where they are. */
static drove_status stage(drove_engine *e, const drove_batch *next)
{
    (void)e, (void)next;
    return DROVE_OK;
}

static drove_status predict(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob)
{
    return drove__pieces_predict(&e->pieces, e, theta, batch, prob);
}

static drove_status statistics(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into)
{
    return drove__pieces_statistics(&e->pieces, e, theta, batch, share, into);
}

const drove_engine_ops drove__engine_fake = {
    .name = "fake",
    .help = "the host's results at a scripted speed",
    .source = "drove",
    .can = DROVE_ENGINE_STATISTICS,
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .part = part,
    .finish = finish,
    .stage = stage,
    .predict = predict,
    .most_rows = most_rows,
    .statistics = statistics,
};

const drove_device_kind drove__device_kind_fake = {
    .name = "fake",
    .help = "a device that sleeps, fails and hangs as it is told",
    .source = "drove",
    .keys = drove__fake_keys,
    .count = count_fake,
    .describe = describe_fake,
    .open = open_fake,
    .close = close_fake,
};
