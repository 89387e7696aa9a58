/* bench/measure.c - numbers of the data set per second through low-precision steps.
 *
 * The steps are those of a run (loop/worker.c, step_words): a turn is claimed, its rows are a
 * block of neighbours, and the blocks of an epoch come in an order drawn anew; the
 * parameters are lent, stepped on and given back.  Nothing is evaluated and nothing is saved.
 *
 * Time: after a warm-up, windows of steps and windows of reading take turns.  The caller announces
 * each by a number, and waits until all threads have begun it before its time counts.  A thread
 * looks for a new one between two turns, and its rate is what it has done over the time between its
 * own two looks, so that long turns are not cut.  Windows are short, to lie between the
 * interruptions of a busy machine, and one counts only if every thread had its processor
 * throughout: of threads that hinder each other, the rest is faster while one is away.
 *
 * The step size is such that a step moves an 8-bit weight by about one unit: neither do all
 * products round to nothing, nor do all weights saturate.
 */
#include "bench/measure.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sort.h"
#include "engine/linear/precision.h"
#include "engine/linear/problem.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { READ_BYTES = 1 << 18 }; /* of a turn of reading */
static const double WARM_UP_S = 0.02, STEPS_S = 0.004, READ_S = 0.002;
static const double FULL_SHARE = 0.97; /* processor time over time, of an undisturbed window */
static const double PATIENCE = 3.0;    /* times the seconds asked for, ... */
enum { ENOUGH_WINDOWS = 3, MOST_WINDOWS = 1024 }; /* ... for so many undisturbed ones */
static const unsigned STOP = UINT32_MAX;          /* phase 0: warm-up; odd: steps; even: reading */
static const double ETA = 4.0, RANGE_PER_ETA = 64.0; /* times stored numbers of an example */

typedef struct pool pool;

typedef struct member {
    pool *of;
    unsigned index;
    pthread_t thread;
    bool is_started;
    drove_engine *engine;
    uint32_t *row; /* [turn_rows] */
    drove_permutation permutation;
    uint64_t epoch;                  /* of the permutation; ~0: none yet */
    uint64_t done;                   /* examples, or bytes read, in this window */
    uint64_t since_ns, since_cpu_ns; /* when it began */
    size_t read_at;                  /* bytes of its part */
    uint64_t sink;                   /* what was read, so that it has to be */
    double rate, share; /* of the last window: examples or bytes per ns; processor time over time */
    _Atomic unsigned seen; /* phase that it is in */
    drove_status status;
    char error[DROVE_ERROR_TEXT_SIZE];
} DROVE_ALIGNED_CACHE_LINE member;

struct pool {
    const drove_measure_data *data;
    const drove_measure_job *opt;
    drove_model *model;
    drove_engine_shared *shared;
    drove_optim *optim;
    drove_sync *sync;
    drove_place *place; /* [n_threads] */
    member *member;     /* [n_threads] */
    size_t turn_rows;
    uint64_t n_turns; /* of an epoch */
    float eta;
    double steps[MOST_WINDOWS]; /* examples per ns, all threads */
    double share[MOST_WINDOWS];
    unsigned n_windows, n_full;
    double read;                                    /* bytes per ns, best window */
    _Atomic uint64_t next DROVE_ALIGNED_CACHE_LINE; /* turn */
    _Atomic unsigned phase DROVE_ALIGNED_CACHE_LINE;
    _Atomic int failed;
};

/* ---- one thread ---- */

static void step_turn(member *m)
{
    pool *c = m->of;
    size_t n_rows = c->data->view.n_rows;
    /* Relaxed: a number that nobody else has; it orders nothing. */
    uint64_t number = atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
    uint64_t epoch = number / c->n_turns;
    if (epoch != m->epoch) drove__permutation_init(&m->permutation, c->n_turns, 1, epoch);
    m->epoch = epoch;
    size_t first =
        (size_t)drove__permutation_at(&m->permutation, number % c->n_turns) * c->turn_rows;
    drove_batch batch = {.data = &c->data->view, .row = m->row, .number = number};
    batch.n_rows = n_rows - first < c->turn_rows ? n_rows - first : c->turn_rows;
    for (size_t i = 0; i < batch.n_rows; i++) m->row[i] = (uint32_t)(first + i);

    drove_steps made;
    drove_publish_info info = {.attempts = 1};
    const drove_params live = c->sync->live->begin(c->sync, m->index);
    m->status = drove__engine_linear.steps(m->engine, &live, &batch, c->eta, &made);
    if (m->status != DROVE_OK) return;
    c->sync->live->done(c->sync, m->index, made.n_steps, &info);
    m->done += batch.n_rows;
}

/* Reads on through this thread's part of an array, round and round. */
static void read_turn(member *m)
{
    pool *c = m->of;
    const drove_quant *q = c->data->storage->quant;
    size_t n_bytes = q->index_bits == 0 ? q->n_rows * q->row_bytes
                                        : (size_t)q->n_stored * drove__number_size(q->number);
    size_t part = n_bytes / c->opt->n_threads / 64 * 64;
    if (part == 0) part = 64;
    const char *memory = (const char *)q->value;
    if (part * c->opt->n_threads <= n_bytes) memory += part * m->index;
    for (size_t done = 0; done < READ_BYTES;) {
        size_t n = part - m->read_at < READ_BYTES ? part - m->read_at : READ_BYTES;
        const void *words = memory + m->read_at;
        m->sink ^= c->opt->kernels->xor_u64(words, n / sizeof(uint64_t));
        m->read_at = m->read_at + n < part ? m->read_at + n : 0;
        m->done += n;
        done += n;
    }
}

static void change_phase(member *m, unsigned phase)
{
    struct timespec used;
    const uint64_t now = drove__now_ns();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const uint64_t cpu = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
    double time = (double)(now - m->since_ns);
    m->rate = (double)m->done / time;
    m->share = (double)(cpu - m->since_cpu_ns) / time;
    m->done = 0;
    m->since_ns = now;
    m->since_cpu_ns = cpu;
    /* Release: rate and share; pairs with enter. */
    atomic_store_explicit(&m->seen, phase, memory_order_release);
}

static drove_status prepare_member(member *m)
{
    pool *c = m->of;
    DROVE_TRY(drove__topo_bind_self(c->opt->topo, &c->place[m->index]));
    drovek_thread_init();
    drove_engine_options opt = {.model = c->model,
                                .kernels = c->opt->kernels,
                                .data = &c->data->view,
                                .max_rows = c->turn_rows,
                                .shared = c->shared};
    m->epoch = UINT64_MAX;
    m->row = drove__alloc(c->turn_rows, sizeof *m->row);
    if (m->row == NULL) return drove__fail_nomem("rows of a turn", c->turn_rows * sizeof *m->row);
    return drove__engine_linear.create(&opt, &m->engine);
}

static void *member_main(void *argument)
{
    member *m = argument;
    m->status = prepare_member(m);
    change_phase(m, 0);
    while (m->status == DROVE_OK) {
        /* Relaxed: says what to do next; what it is done with was there before the thread. */
        unsigned seen = atomic_load_explicit(&m->seen, memory_order_relaxed);
        unsigned phase = atomic_load_explicit(&m->of->phase, memory_order_relaxed);
        if (phase != seen) change_phase(m, phase);
        if (phase == STOP) break;
        if (phase > 0 && phase % 2 == 0) read_turn(m); /* see STOP */
        else step_turn(m);
    }
    if (m->status == DROVE_OK) return NULL;
    drove__error_copy(m->error);
    atomic_store(&m->of->failed, 1);
    return NULL;
}

/* ---- the caller ---- */

static void sleep_s(double seconds)
{
    struct timespec wait = {.tv_sec = (time_t)seconds};
    wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
    nanosleep(&wait, NULL);
}

typedef struct window { /* that has just ended */
    double rate;        /* of all threads */
    double share;       /* the least of any */
} window;

/* Lets all threads begin this phase; false: one has failed.  Each leaves its rate and its share
 * alone until the next one. */
static bool enter(pool *c, unsigned phase, window *ended)
{
    *ended = (window){.share = 1.0};
    atomic_store(&c->phase, phase);
    for (unsigned i = 0; i < c->opt->n_threads; i++) {
        const member *m = &c->member[i];
        /* Acquire: pairs with change_phase. */
        while (atomic_load_explicit(&m->seen, memory_order_acquire) != phase) {
            if (atomic_load(&c->failed)) return false;
            sleep_s(5e-5);
        }
        ended->rate += m->rate;
        ended->share = fmin(ended->share, m->share);
    }
    return true;
}

static void run_windows(pool *c)
{
    unsigned phase = 0;
    window ended;
    double spent = 0.0, wanted = c->opt->seconds;
    bool goes_on = enter(c, phase, &ended);
    if (goes_on) sleep_s(WARM_UP_S < wanted ? WARM_UP_S : wanted);
    goes_on = goes_on && enter(c, ++phase, &ended);
    while (goes_on) {
        double seconds = fmin(STEPS_S, wanted);
        sleep_s(seconds);
        if (!enter(c, ++phase, &ended)) return;

        drove_topo_facts facts;
        drove__topo_facts(c->opt->topo, &facts);
        /* more threads than processors share them in every window */
        double share = c->opt->n_threads > facts.n_pus ? 1.0 : ended.share;
        c->steps[c->n_windows] = ended.rate;
        c->share[c->n_windows++] = share;
        c->n_full += share >= FULL_SHARE;

        sleep_s(fmin(READ_S, seconds));
        if (!enter(c, ++phase, &ended)) return;
        c->read = fmax(c->read, ended.rate);
        spent += seconds;
        bool is_enough = c->n_full >= ENOUGH_WINDOWS || spent >= PATIENCE * wanted;
        goes_on = (spent < wanted || !is_enough) && c->n_windows < MOST_WINDOWS;
    }
}

static drove_status run_members(pool *c)
{
    drove_status status = DROVE_OK;
    for (unsigned i = 0; i < c->opt->n_threads; i++) {
        member *m = &c->member[i];
        m->of = c;
        m->index = i;
        atomic_store(&m->seen, STOP); /* none yet */
    }
    for (unsigned i = 0; i < c->opt->n_threads; i++) {
        member *m = &c->member[i];
        int error = pthread_create(&m->thread, NULL, member_main, m);
        if (error != 0) {
            status = drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start thread %u of %u", i + 1,
                                       c->opt->n_threads);
            goto fail;
        }
        m->is_started = true;
    }
    run_windows(c);

fail:
    atomic_store(&c->phase, STOP);
    for (unsigned i = 0; i < c->opt->n_threads; i++) {
        if (c->member[i].is_started) pthread_join(c->member[i].thread, NULL);
    }
    for (unsigned i = 0; i < c->opt->n_threads && status == DROVE_OK; i++) {
        const member *m = &c->member[i];
        if (m->status != DROVE_OK) status = drove__fail(m->status, "%s", m->error);
    }
    return status;
}

/* ---- results ---- */

/* The best of the undisturbed windows, or of the least disturbed ones if none is.  With several
 * threads it is their median: how the cache lines of a shared model travel differs from window to
 * window, and the luckiest is 1.4 to 1.8 times the usual one. */
static double settled_rate(const pool *c)
{
    double rate[MOST_WINDOWS], best_share = 0.0;
    unsigned n = 0;
    for (unsigned w = 0; w < c->n_windows; w++)
        best_share = fmax(best_share, fmin(c->share[w], FULL_SHARE));
    for (unsigned w = 0; w < c->n_windows; w++)
        if (c->share[w] >= best_share) rate[n++] = c->steps[w];
    if (n == 0) return 0.0;
    drove__sort(rate, n);
    return c->opt->n_threads == 1 ? rate[n - 1] : rate[n / 2];
}

/* ---- setting up ---- */

static drove_status prepare_pool(pool *c)
{
    const drove_measure_job *o = c->opt;
    c->place = calloc(o->n_threads, sizeof *c->place);
    c->member = drove__alloc(o->n_threads, sizeof *c->member);
    if (c->place == NULL || c->member == NULL)
        return drove__fail_nomem("threads", o->n_threads * sizeof *c->member);
    drove__topo_place(o->topo, o->bind, o->n_threads, c->place);

    /* the engine's model */
    const drove_model_io io = {.n_features = c->data->storage->n_features, .n_classes = 2};
    const double numbers = drove__measure_numbers(c->data), eta = ETA / numbers;
    drove_prepare_options opt = {.kernels = o->kernels,
                                 .data = &c->data->view,
                                 .precision = o->precision,
                                 .rounding = o->rounding,
                                 .model_range = eta * RANGE_PER_ETA,
                                 .eta = eta,
                                 .each = o->batch,
                                 .seed = 1,
                                 .hints = o->hints};
    DROVE_TRY(drove__model_create("logistic", NULL, NULL, &io, &c->model));
    opt.model = c->model;
    c->eta = (float)eta;
    if (drove__precision_has_exchange(opt.precision))
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "--precision %s: expected no C, as these threads share one model",
                           opt.precision);
    DROVE_TRY(drove__engine_linear.typed->prepare(&opt, &c->shared));

    /* the strategy, which begins with a model of zeros */
    drove_optim_options optim = {.rule = "sgd",
                                 .schedule = "constant",
                                 .lr = eta,
                                 .state = DROVE_STATE_SHARED,
                                 .n_params = drove__engine_linear.typed->n_words(c->shared),
                                 .n_workers = o->n_threads,
                                 .kernels = o->kernels};
    DROVE_TRY(drove__optim_create(&optim, &c->optim));
    const drove_sync_options sync = {.spec = o->spec,
                                     .n_workers = o->n_threads,
                                     .topo = o->topo,
                                     .place = c->place,
                                     .seed = 1,
                                     .layout = drove__engine_linear.typed->layout(c->shared),
                                     .optim = c->optim};
    uint32_t *words = drove__alloc(optim.n_params, sizeof *words);
    if (words == NULL) return drove__fail_nomem("a model", optim.n_params * sizeof *words);
    const drove_params start = {.words = words};
    const drove_status status = drove__sync_create(o->sync, &sync, &start, &c->sync);
    drove__free(words);
    DROVE_TRY(status);
    if (c->sync->live == NULL)
        return drove__fail(DROVE_E_ARG,
                           "expected a strategy whose steps go straight into the parameters, "
                           "found %s",
                           o->spec->name);

    /* turns of an epoch */
    const drove_turn_limits limits = {.numbers = numbers,
                                      .n_rows = c->data->view.n_rows,
                                      .each = o->batch,
                                      .most_steps = c->sync->most_steps};
    c->turn_rows = drove__linear_turn_rows(&limits);
    c->n_turns = (c->data->view.n_rows + c->turn_rows - 1) / c->turn_rows;
    return DROVE_OK;
}

drove_status drove__measure(const drove_measure_data *data, const drove_measure_job *job,
                            drove_measured *out)
{
    pool *c = drove__alloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("a measurement", sizeof *c);
    c->data = data;
    c->opt = job;
    drove_status status = prepare_pool(c);
    if (status == DROVE_OK) status = run_members(c);
    if (status == DROVE_OK) {
        const drove_quant *q = c->data->storage->quant;
        double numbers = drove__measure_numbers(c->data);
        const unsigned pair_bits = drove__number_bits(q->number) + q->index_bits;
        *out = (drove_measured){.gnps = settled_rate(c) * numbers,
                                .read_gb_per_s = c->read,
                                .numbers_per_example = numbers,
                                .bytes_per_number = pair_bits / 8.0,
                                .n_rows = q->n_rows,
                                .n_windows = c->n_windows,
                                .n_undisturbed = c->n_full};
        out->n_bytes =
            q->index_bits == 0 ? (uint64_t)q->n_rows * q->row_bytes : q->n_stored * (pair_bits / 8);
        drove__sort(c->steps, c->n_windows);
        if (c->n_windows > 0) out->gnps_median = c->steps[c->n_windows / 2] * numbers;
    }

    for (unsigned i = 0; c->member != NULL && i < c->opt->n_threads; i++) {
        drove__engine_linear.destroy(c->member[i].engine);
        drove__free(c->member[i].row);
    }
    drove__free(c->member);
    drove__sync_destroy(c->sync);
    drove__optim_destroy(c->optim);
    drove__engine_linear.typed->dismiss(c->shared);
    drove__model_destroy(c->model);
    free(c->place);
    drove__free(c);
    return status;
}
