/* What a worker asks of its engine and its strategy, seen by an engine and a strategy that keep
 * notes: step sizes by the position of each batch in its epoch, times, and the rows of an
 * evaluation. */
#include "loop/worker.h"
#include "support/test.h"

#include "base/cpu.h"
#include "loop/evaluation.h"
#include "loop/sources.h"
#include "loop/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 103, BATCH = 8, PER_EPOCH = 13, MOST_NOTES = 128, N_PARAMS = 4, N_LAYERS = 3 };

/* ---- what is noted ---- */

struct drove_engine {
    uint32_t row[MOST_NOTES]; /* of all batches, one after the other */
    size_t n_rows;
    const drove_gradient *gradient; /* what a batch gives; NULL: 0 */
    uint32_t staged[MOST_NOTES];
    size_t n_staged;
    drove_status answer;
};

static drove_status begin(drove_engine *e, const drove_work *work)
{
    const drove_batch *batch = work->batch;
    for (size_t i = 0; i < batch->n_rows && e->n_rows < MOST_NOTES; i++)
        e->row[e->n_rows++] = batch->row[i];
    if (work->grad == NULL) return e->answer;
    memset(work->grad->value, 0, N_PARAMS * sizeof(float));
    if (e->gradient != NULL) {
        memcpy(work->grad->value, e->gradient->value, N_PARAMS * sizeof(float));
        work->grad->span = e->gradient->span;
        work->grad->n_spans = e->gradient->n_spans;
    }
    for (size_t layer = N_LAYERS; work->grad->after_layer != NULL && layer-- > 0;)
        work->grad->after_layer(work->grad->context, layer);
    return e->answer;
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)e, (void)timeout_ns;
    if (done != NULL) { /* of a device that hid 30 of 50 ns of copies */
        done->times.copy_ns += 50;
        done->times.compute_ns += 40;
        done->times.hidden_ns += 30;
        done->times.wait_ns += 20;
    }
    return DROVE_OK;
}

static const drove_engine_ops noting_engine = {.name = "noting", .begin = begin, .finish = finish};

static drove_status stage(drove_engine *e, const drove_batch *batch)
{
    for (size_t i = 0; i < batch->n_rows && e->n_staged < MOST_NOTES; i++)
        e->staged[e->n_staged++] = batch->row[i];
    return DROVE_OK;
}

static const drove_engine_ops staging_engine = {
    .name = "staging", .begin = begin, .finish = finish, .stage = stage};

typedef struct noted { /* the strategy's impl */
    float theta[N_PARAMS];
    float eta[MOST_NOTES];
    float value[N_PARAMS]; /* of the last step */
    size_t n;
} noted;

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)worker;
    *view = (drove_view){.vector = ((noted *)s->impl)->theta};
    return DROVE_OK;
}

static void release(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    noted *n = s->impl;
    (void)worker;
    assert_true(n->n < MOST_NOTES);
    n->eta[n->n++] = step->eta;
    memcpy(n->value, step->value, sizeof n->value);
    *info = (drove_publish_info){.attempts = 3,
                                 .updated = 1,
                                 .dropped = n->n % 2 == 0, /* every second one */
                                 .bytes = 100,
                                 .messages = 2,
                                 .hidden_ns = 7,
                                 .centre_ns = 5,
                                 .distance = 1.5};
    return DROVE_OK;
}

static const drove_sync_ops noting_strategy = {
    .name = "noting", .acquire = acquire, .release = release, .publish = publish};

static uint64_t layer_ready(drove_sync *s, unsigned worker, size_t offset, size_t length,
                            float *value, float eta)
{
    (void)s, (void)worker, (void)offset, (void)length, (void)value, (void)eta;
    return 0;
}

static const drove_sync_slice_ops by_slice = {.ready = layer_ready};
static const drove_sync_ops slicing_strategy = {.name = "slicing",
                                                .acquire = acquire,
                                                .release = release,
                                                .publish = publish,
                                                .slices = &by_slice};

/* ---- times, by a clock that each call moves on ---- */

static uint64_t time_ns, publish_backoff_ns;

static uint64_t read_time(void *context)
{
    (void)context;
    return time_ns;
}

static const drove_clock moved_clock = {.name = "moved", .now_ns = read_time};

static drove_status timed_acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    time_ns += 1000;
    DROVE_TRY(acquire(s, worker, view));
    view->wait_ns = 300;
    view->backoff_ns = 100;
    return DROVE_OK;
}

static drove_status timed_finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)e, (void)timeout_ns;
    time_ns += 200000;
    done->times = (drove_engine_times){.forward_ns = 60000,
                                       .backward_ns = 130000,
                                       .compute_ns = 1,
                                       .copy_ns = 50,
                                       .hidden_ns = 30};
    return DROVE_OK;
}

static void timed_release(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
    time_ns += 7000; /* between the gradient and its publication */
}

static drove_status timed_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                  drove_publish_info *info)
{
    (void)s, (void)worker, (void)step;
    time_ns += 40000;
    *info = (drove_publish_info){.attempts = 1,
                                 .wait_ns = 2000,
                                 .backoff_ns = publish_backoff_ns,
                                 .exchange_ns = 4000,
                                 .accumulate_ns = 8000,
                                 .update_ns = 16000,
                                 .broadcast_ns = 3000};
    return DROVE_OK;
}

static const drove_engine_ops timed_engine = {.name = "timed",
                                              .begin = begin,
                                              .finish = timed_finish};
static const drove_sync_ops timed_strategy = {
    .name = "timed", .acquire = timed_acquire, .release = timed_release, .publish = timed_publish};

static drove_params timed_live(drove_sync *s, unsigned worker)
{
    (void)worker;
    time_ns += 1000;
    return (drove_params){.theta = ((noted *)s->impl)->theta};
}

static drove_status timed_steps(drove_engine *e, const drove_params *params,
                                const drove_batch *batch, float eta, drove_steps *made)
{
    (void)e, (void)params, (void)batch, (void)eta;
    time_ns += 20000;
    *made = (drove_steps){.n_steps = 5, .n_clamped = 2, .is_finite = true};
    return DROVE_OK;
}

static drove_status timed_live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                                    drove_publish_info *info)
{
    (void)s, (void)worker, (void)n_steps;
    time_ns += 300;
    *info = (drove_publish_info){.attempts = 3}; /* two of them failed */
    return DROVE_OK;
}

static void timed_settle(drove_engine *e, uint32_t *words)
{
    (void)e, (void)words;
    time_ns += 70000;
}

static const drove_typed_ops live_typed = {.settle = timed_settle};
static const drove_engine_ops live_engine = {.name = "live",
                                             .steps = timed_steps,
                                             .typed = &live_typed};
static const drove_sync_live_ops timed_lending = {.begin = timed_live, .done = timed_live_done};
static const drove_sync_ops live_strategy = {.name = "live"};

/* ---- a loop of one worker here ---- */

typedef struct rig {
    drovek_table kernels;
    drove_optim *optim;
    drove_plan plan;
    drove_plan_worker place;
    drove_loop loop;
    drove_worker worker;
    drove_sync sync;
    drove_source source;
    drove_engine engine;
    noted noted;
    float grad[N_PARAMS];
    uint32_t row[2][BATCH];
} rig;

static void open_decaying(rig *r, const drove_source_ops *source, unsigned n_workers,
                          unsigned index, double weight_decay)
{
    memset(r, 0, sizeof *r);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options optim = {.rule = "sgd",
                                       .schedule = "exponential:0.5",
                                       .lr = 0.75,
                                       .weight_decay = weight_decay,
                                       .n_params = N_PARAMS,
                                       .n_workers = n_workers,
                                       .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&optim, &r->optim), DROVE_OK);
    r->place.n_cores = 1;
    r->plan.source = source;
    r->sync = (drove_sync){
        .ops = &noting_strategy, .n_workers = n_workers, .optim = r->optim, .impl = &r->noted};
    r->source = (drove_source){.ops = source, .n_workers = n_workers};
    const drove_source_options opt = {.n_workers = n_workers,
                                      .n_rows = ROWS,
                                      .batch = BATCH,
                                      .per_epoch = PER_EPOCH,
                                      .sync = &r->sync};
    assert_int_equal(source->init(&r->source, &opt), DROVE_OK);
    r->loop.plan = &r->plan;
    r->loop.clock = &drove__clock_real;
    r->loop.kernels = &r->kernels;
    r->loop.optim = r->optim;
    r->loop.sync = &r->sync;
    r->loop.source = &r->source;
    r->loop.order = drove__order_make(ROWS, BATCH, 1, DROVE_ORDER_SHUFFLE);
    r->loop.sizes.update_rows = BATCH;
    r->worker.loop = &r->loop;
    r->worker.index = index;
    r->worker.plan = &r->place;
    r->worker.engine_ops = &noting_engine;
    r->worker.engine = &r->engine;
    r->worker.grad = r->grad;
    for (unsigned i = 0; i < 2; i++) r->worker.batches.row[i] = r->row[i];
}

static void open_rig(rig *r, const drove_source_ops *source, unsigned n_workers, unsigned index)
{
    open_decaying(r, source, n_workers, index, 0.0);
}

static void close_rig(rig *r)
{
    r->source.ops->fini(&r->source);
    drove__optim_destroy(r->optim);
}

/* Layers 0 and 2 have parameters, and layer 1 none. */
static void slice(rig *r)
{
    static drove_span slices[] = {{0, 1}, {1, 3}};
    static size_t of_layer[N_LAYERS] = {0, DROVE_NO_PART, 1}, layer[] = {0, 2};
    r->sync.ops = &slicing_strategy;
    r->sync.slices = slicing_strategy.slices;
    r->loop.slices = (drove_slices){.n = 2, .slice = slices, .of_layer = of_layer, .layer = layer};
}

/* lr 0.5^epochs of the examples before batch `number`: 12 batches of 8 and one of 7 an epoch. */
static double expected_eta(unsigned number)
{
    unsigned before = number / PER_EPOCH * ROWS + number % PER_EPOCH * BATCH;
    return 0.75 * exp2(-(double)before / ROWS);
}

static void assert_eta(const rig *r, size_t step, unsigned number)
{
    double found = (double)r->noted.eta[step], expected = expected_eta(number);
    if (fabs(found - expected) > 1e-6)
        fail_msg("step %zu: expected the step size %g of batch %u, found %g", step, expected,
                 number, found);
}

/* ---- tests ---- */

TEST(each_batch_has_the_step_size_of_its_place)
{
    rig r;
    open_rig(&r, &drove__source_claimed, 1, 0);
    r.source.ops->open(&r.source, 3 * PER_EPOCH, UINT64_MAX);
    assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
    assert_int_equal(r.noted.n, 3 * PER_EPOCH);
    for (unsigned k = 0; k < 3 * PER_EPOCH; k++) assert_eta(&r, k, k);
    close_rig(&r);
}

/* All of a round have the step size of its first batch, whoever takes which. */
TEST(a_round_has_the_step_size_of_its_first)
{
    for (unsigned worker = 0; worker < 3; worker++) {
        rig r;
        open_rig(&r, &drove__source_rounds, 3, worker);
        r.source.ops->open(&r.source, 30, UINT64_MAX);
        assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
        assert_int_equal(r.noted.n, 10);
        for (unsigned round = 0; round < 10; round++) assert_eta(&r, round, 3 * round);
        close_rig(&r);
    }
}

/* Weight decay belongs to the step that is published; a strategy that takes the gradient slice by
 * slice adds it to the mean itself, and gets the gradient as the engine made it. */
TEST(sliced_gradients_are_left_alone)
{
    for (unsigned sliced = 0; sliced < 2; sliced++) {
        rig r;
        open_decaying(&r, &drove__source_claimed, 1, 0, 0.5);
        if (sliced == 1) slice(&r);
        for (unsigned i = 0; i < N_PARAMS; i++) r.noted.theta[i] = 2.0f + (float)i;
        r.source.ops->open(&r.source, 1, UINT64_MAX);
        assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
        assert_int_equal(r.noted.n, 1);
        for (unsigned i = 0; i < N_PARAMS; i++) /* the engine's gradient is 0 */
            assert_true(r.noted.value[i] == (sliced == 1 ? 0.0f : 1.0f + 0.5f * (float)i));
        close_rig(&r);
    }
}

/* Of what was written: all, or the spans that the engine says. */
TEST(norms_are_of_what_was_written)
{
    static float value[N_PARAMS] = {2.0f, -1.0f, 4.0f, 2.0f};
    static const drove_span spans[] = {{0, 1}, {3, 1}, {1, 2}};
    static const double norms[] = {5.0, 2.0, 2.8284271247461903, 5.0}; /* by number of spans */
    static const uint32_t rows[] = {0};
    const drove_task task = {.n_rows = 1, .lr_factor = 1.0};
    for (size_t n = 0; n < 4; n++) {
        const drove_gradient gradient = {.value = value,
                                         .span = n > 0 ? spans : NULL,
                                         .n_spans = n};
        const drove_batch batch = {.row = rows, .n_rows = 1};
        drove_step_hand hand;
        rig r;
        open_rig(&r, &drove__source_claimed, 1, 0);
        r.engine.gradient = &gradient;
        r.loop.trace.measures_gradients = true;
        assert_int_equal(drove__step_begin(&r.worker, &task, &batch, 0.5f, &hand), DROVE_OK);
        assert_true(fabs(hand.gradient_norm - norms[n]) < 1e-12);
        drove__step_drop(&r.worker, &hand);
        close_rig(&r);
    }
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    while ((text = strstr(text, word)) != NULL) n++, text += strlen(word);
    return n;
}

/* The time line of five batches: each slice's backward by its name, all else without one. */
TEST(spans_have_their_slices)
{
    static const char *const names[] = {"lower", "upper"};
    static char text[100000];
    rig r;
    open_rig(&r, &drove__source_claimed, 1, 0);
    slice(&r);
    assert_int_equal(drove__spans_create(1, &r.loop.trace.spans), DROVE_OK);
    drove__spans_name(r.loop.trace.spans, 0, "worker");
    r.source.ops->open(&r.source, 5, UINT64_MAX);
    assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
    assert_int_equal(drove__spans_write(r.loop.trace.spans, "spans.json", names, 2), DROVE_OK);
    FILE *file = fopen("spans.json", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_int_equal(count(text, "\"name\": \"backward upper\""), 5);
    assert_int_equal(count(text, "\"name\": \"backward lower\""), 5);
    assert_int_equal(count(text, "upper"), 5);
    assert_int_equal(count(text, "lower"), 5);
    assert_int_equal(count(text, " part "), 0);
    drove__spans_destroy(r.loop.trace.spans);
    close_rig(&r);
}

/* Seven batches, of which three steps are dropped: everything that a run reports of a worker. */
TEST(what_was_done_is_counted)
{
    rig r;
    open_rig(&r, &drove__source_claimed, 1, 0);
    r.loop.trace.publish_phase = DROVE_PHASE_UPDATE;
    r.source.ops->open(&r.source, 7, UINT64_MAX);
    assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
    const drove_worker *w = &r.worker;
    assert_int_equal(w->trace.steps, 7);
    assert_int_equal(w->trace.attempts, 7 * 3);
    assert_int_equal(w->trace.dropped, 3);
    assert_int_equal(atomic_load(&w->trace.updates), 4);
    assert_int_equal(atomic_load(&w->trace.examples), 7 * BATCH);
    assert_int_equal(w->traffic.bytes, 700);
    assert_int_equal(w->traffic.messages, 14);
    assert_int_equal(w->traffic.hidden_ns, 49);
    assert_int_equal(w->traffic.centre_ns, 35);
    assert_true(w->traffic.distance == 1.5);
    assert_int_equal(w->times.copy_ns, 350);
    assert_int_equal(w->times.compute_ns, 280);
    assert_int_equal(w->times.hidden_ns, 210);
    assert_int_equal(w->times.wait_ns, 140);
    assert_int_equal(w->trace.phase_ns[DROVE_PHASE_EXCHANGE], 7 * (50 - 30));
    assert_int_equal(w->trace.phase_ns[DROVE_PHASE_BACKWARD], 280);
    close_rig(&r);
}

static void check_phases(const rig *r, unsigned n, const uint64_t expected[DROVE_N_PHASES])
{
    for (unsigned p = 0; p < DROVE_N_PHASES; p++)
        if (r->worker.trace.phase_ns[p] != n * expected[p])
            fail_msg("%s: expected %u x %llu ns, found %llu", drove__phase_names[p], n,
                     (unsigned long long)expected[p],
                     (unsigned long long)r->worker.trace.phase_ns[p]);
}

/* Three steps of 1000 + 200000 + 7000 + 40000 ns. */
static void check_times(bool exchanges, const uint64_t expected[DROVE_N_PHASES])
{
    rig r;
    open_rig(&r, &drove__source_claimed, 1, 0);
    r.loop.clock = &moved_clock;
    r.loop.trace.acquire_phase = exchanges ? DROVE_PHASE_EXCHANGE : DROVE_PHASE_ACQUIRE;
    r.loop.trace.publish_phase = exchanges ? DROVE_PHASE_EXCHANGE : DROVE_PHASE_PUBLISH;
    r.sync.ops = &timed_strategy;
    r.worker.engine_ops = &timed_engine;
    publish_backoff_ns = exchanges ? 0 : 500;
    r.source.ops->open(&r.source, 3, UINT64_MAX);
    assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
    check_phases(&r, 3, expected);
    assert_int_equal(r.worker.trace.busy_ns, 3 * (248000 - 300 - 2000)); /* all but waiting */
    close_rig(&r);
}

/* The phases of a step add up to its time, and each has its part. */
TEST(every_phase_has_its_time)
{
    enum { NAMED = 4000 + 8000 + 16000 + 3000 };
    uint64_t expected[DROVE_N_PHASES] = {[DROVE_PHASE_WAIT] = (300 - 100) + (2000 - 500),
                                         [DROVE_PHASE_BACKOFF] = 100 + 500,
                                         [DROVE_PHASE_ACQUIRE] = 1000 - 300,
                                         [DROVE_PHASE_FORWARD] = 60000,
                                         [DROVE_PHASE_BACKWARD] = 130000 + 1,
                                         [DROVE_PHASE_EXCHANGE] = 4000 + (50 - 30),
                                         [DROVE_PHASE_ACCUMULATE] = 8000,
                                         [DROVE_PHASE_BROADCAST] = 3000,
                                         [DROVE_PHASE_UPDATE] = 16000 + 7000,
                                         [DROVE_PHASE_PUBLISH] = 40000 - 2000 - NAMED,
                                         [DROVE_PHASE_OTHER] = 200000 - 60000 - 130001 - (50 - 30)};
    check_times(false, expected);
    /* of a strategy that exchanges all is exchange that is nothing else, waiting for others, too */
    expected[DROVE_PHASE_WAIT] = 300 - 100;
    expected[DROVE_PHASE_BACKOFF] = 100;
    expected[DROVE_PHASE_ACQUIRE] = expected[DROVE_PHASE_PUBLISH] = 0;
    expected[DROVE_PHASE_EXCHANGE] = (1000 - 300) + (40000 - 8000 - 16000 - 3000) + (50 - 30);
    check_times(true, expected);
}

/* Three batches of five steps in place are backward passes; settling them at the end is not. */
TEST(steps_in_place_are_backward_passes)
{
    char shared; /* only its address is used */
    rig r;
    open_rig(&r, &drove__source_claimed, 1, 0);
    r.loop.clock = &moved_clock;
    r.loop.shared = (drove_engine_shared *)&shared;
    r.sync.ops = &live_strategy;
    r.sync.live = &timed_lending;
    r.sync.worker = drove__alloc(1, sizeof *r.sync.worker);
    assert_non_null(r.sync.worker);
    r.worker.engine_ops = &live_engine;
    r.source.ops->open(&r.source, 3, UINT64_MAX);
    assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
    static const uint64_t expected[DROVE_N_PHASES] = {
        [DROVE_PHASE_BACKWARD] = 3 * (1000 + 20000 + 300), [DROVE_PHASE_OTHER] = 1000 + 70000};
    check_phases(&r, 1, expected);
    assert_int_equal(r.worker.trace.busy_ns, 3 * 21300);
    assert_int_equal(r.worker.trace.steps, 15);
    assert_int_equal(r.worker.trace.attempts, 3 * (5 + 2));
    assert_int_equal(r.worker.trace.clamped, 6);
    assert_int_equal(atomic_load(&r.worker.trace.updates), 15);
    assert_int_equal(atomic_load(&r.worker.trace.examples), 3 * BATCH);
    drove__free(r.sync.worker);
    close_rig(&r);
}

/* A device is shown each batch but the first while it computes the one before; one that could not
 * begin is shown nothing. */
TEST(the_next_batch_is_staged)
{
    enum { N_BATCHES = 10 };
    for (unsigned fails = 0; fails < 2; fails++) {
        rig r;
        open_rig(&r, &drove__source_claimed, 1, 0);
        r.worker.engine_ops = &staging_engine;
        r.engine.answer = fails ? DROVE_E_SYSTEM : DROVE_OK;
        r.source.ops->open(&r.source, N_BATCHES, UINT64_MAX);
        assert_true(drove__worker_obey(&r.worker, DROVE_DO_TRAIN));
        assert_int_equal(r.engine.n_rows, fails ? BATCH : N_BATCHES * BATCH);
        assert_int_equal(r.engine.n_staged, r.engine.n_rows - BATCH);
        assert_memory_equal(r.engine.staged, r.engine.row + BATCH,
                            r.engine.n_staged * sizeof *r.engine.staged);
        close_rig(&r);
    }
}

/* An evaluation of some rows takes them evenly from all, chunk by chunk. */
TEST(an_evaluation_spreads_its_rows)
{
    static const size_t n_scored[] = {1, 30, 50, 100, ROWS};
    for (size_t k = 0; k < DROVE_COUNT(n_scored); k++) {
        rig r;
        const drove_data data = {.n_rows = ROWS};
        const size_t n = n_scored[k];
        drove_scoring *sc = &r.loop.scoring;
        open_rig(&r, &drove__source_claimed, 1, 0);
        r.loop.sizes.score_rows = 7;
        assert_int_equal(drove__scoring_init(&r.loop, n), DROVE_OK);
        sc->data = &data;
        sc->n_rows = n;
        sc->n_chunks = (n + 6) / 7;
        sc->stride = 1;
        assert_true(drove__worker_obey(&r.worker, DROVE_DO_SCORE));
        assert_int_equal(r.engine.n_rows, n);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(r.engine.row[i], floor((double)i * ROWS / (double)n));
        drove__free(sc->chunk);
        close_rig(&r);
    }
}

/* ---- what is recorded ---- */

enum { RECORDED = 4 };

static drove_status numbered_acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    const noted *n = s->impl;
    (void)worker;
    *view = (drove_view){.vector = n->theta, .version = 10 + n->n, .order = 100 + n->n};
    return DROVE_OK;
}

/* Step 1 completes no update, step 2 is made in acquire, step 3 is dropped. */
static drove_status numbered_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                     drove_publish_info *info)
{
    noted *n = s->impl;
    (void)worker, (void)step;
    *info = (drove_publish_info){.attempts = 1,
                                 .staleness = 20 + n->n,
                                 .order = 200 + n->n,
                                 .retried = 30 + n->n,
                                 .updated = n->n != 1,
                                 .is_early = n->n == 2,
                                 .dropped = n->n == 3};
    n->n++;
    return DROVE_OK;
}

static const drove_sync_ops numbered_strategy = {.name = "numbered",
                                                 .acquire = numbered_acquire,
                                                 .release = release,
                                                 .publish = numbered_publish};

static drove_status numbered_live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                                       drove_publish_info *info)
{
    noted *n = s->impl;
    (void)worker, (void)n_steps;
    *info = (drove_publish_info){
        .attempts = 1, .staleness = 20 + n->n, .order = 200 + n->n, .updated = n->n != 1};
    s->worker[0].version = 10 + n->n++;
    return DROVE_OK;
}

static const drove_sync_live_ops numbered_lending = {.begin = timed_live,
                                                     .done = numbered_live_done};

static void record(rig *r)
{
    drove_recorded_mark mark = {.next = RECORDED};
    assert_int_equal(drove__recording_create("steps.record", "{}", 1, &r->loop.trace.recording),
                     DROVE_OK);
    r->source.ops->open(&r->source, RECORDED, UINT64_MAX);
    assert_true(drove__worker_obey(&r->worker, DROVE_DO_TRAIN));
    assert_int_equal(drove__recording_mark(r->loop.trace.recording, &mark), DROVE_OK);
    drove__recording_close(r->loop.trace.recording);
    assert_int_equal(r->noted.n, RECORDED);
}

static void expect_recorded(drove_recorded_run *run, const drove_recorded *expected)
{
    drove_recorded found;
    bool is_there = false;
    assert_int_equal(drove__recorded_next(run, 0, &found, &is_there), DROVE_OK);
    assert_true(is_there);
    assert_int_equal(found.number, expected->number);
    assert_true(found.lr_factor == 1.0);
    assert_int_equal(found.n_steps, expected->n_steps);
    assert_int_equal(found.read, expected->read);
    assert_int_equal(found.staleness, expected->staleness);
    assert_int_equal(found.view_order, expected->view_order);
    assert_int_equal(found.order, expected->order);
    assert_int_equal(found.retried, expected->retried);
    assert_int_equal(found.is_dropped, expected->is_dropped);
    assert_int_equal(found.is_updated, expected->is_updated);
    assert_int_equal(found.is_early, expected->is_early);
    assert_int_equal(found.is_settling, 0);
}

static drove_recorded_run *open_record(void)
{
    drove_recorded_run *run = NULL;
    drove_recorded_mark mark;
    assert_int_equal(drove__recorded_open("steps.record", &run), DROVE_OK);
    assert_true(drove__recorded_stretch(run, &mark));
    assert_int_equal(mark.n_steps, RECORDED);
    return run;
}

TEST(steps_are_recorded_as_they_were)
{
    rig r;
    open_rig(&r, &drove__source_claimed, 1, 0);
    r.sync.ops = &numbered_strategy;
    record(&r);
    drove_recorded_run *run = open_record();
    for (uint64_t i = 0; i < RECORDED; i++) {
        const drove_recorded expected = {.number = i,
                                         .n_steps = 1,
                                         .read = 10 + i,
                                         .staleness = 20 + i,
                                         .view_order = 100 + i,
                                         .order = i == 3 ? DROVE_NO_ORDER : 200 + i,
                                         .retried = i == 3 ? 0 : 30 + i,
                                         .is_dropped = i == 3,
                                         .is_updated = i != 1,
                                         .is_early = i == 2};
        expect_recorded(run, &expected);
    }
    drove__recorded_close(run);
    close_rig(&r);
}

/* Five of a batch; what the engine settles in the end is published nowhere. */
TEST(steps_in_place_are_recorded_together)
{
    char shared;
    rig r;
    open_rig(&r, &drove__source_claimed, 1, 0);
    r.loop.shared = (drove_engine_shared *)&shared;
    r.sync.ops = &live_strategy;
    r.sync.live = &numbered_lending;
    r.sync.worker = drove__alloc(1, sizeof *r.sync.worker);
    assert_non_null(r.sync.worker);
    r.worker.engine_ops = &live_engine;
    record(&r);
    drove_recorded_run *run = open_record();
    for (uint64_t i = 0; i < RECORDED; i++) {
        const drove_recorded expected = {.number = i,
                                         .n_steps = 5,
                                         .read = 10 + i,
                                         .view_order = 10 + i,
                                         .staleness = 20 + i,
                                         .order = 200 + i,
                                         .is_updated = i != 1};
        expect_recorded(run, &expected);
    }
    drove__recorded_close(run);
    drove__free(r.sync.worker);
    close_rig(&r);
}

static unsigned n_stops;

static void count_stop(drove_sync *s)
{
    (void)s;
    n_stops++;
}

static const drove_sync_ops stopping_strategy = {.name = "stopping", .stop = count_stop};

static bool gives_batches(rig *r)
{
    drove_task task;
    return r->source.ops->next(&r->source, 0, false, &task);
}

/* A failure and a loss that is not finite end the run: no batch is given out any more, or, over
 * ranks, the wish is told and all stop later. */
TEST(what_goes_wrong_ends_the_run)
{
    for (unsigned over_ranks = 0; over_ranks < 2; over_ranks++) {
        for (unsigned fails = 0; fails < 2; fails++) {
            rig r;
            _Atomic int wished = 0;
            open_rig(&r, &drove__source_claimed, 1, 0);
            r.sync.ops = &stopping_strategy;
            if (over_ranks) r.loop.ending.halt_wished = &wished;
            r.source.ops->open(&r.source, 100, UINT64_MAX);
            drove__worker_check_finite(&r.worker, 1e300);
            drove__worker_check_finite(&r.worker, -1e300);
            assert_true(gives_batches(&r));
            n_stops = 0;
            if (fails) {
                (void)drove__fail(DROVE_E_SYSTEM, "it has broken");
                drove__worker_fail(&r.worker, DROVE_E_SYSTEM);
                assert_int_equal(r.worker.status, DROVE_E_SYSTEM);
                assert_string_equal(r.worker.error, "it has broken");
            } else {
                drove__worker_check_finite(&r.worker, over_ranks ? (double)NAN : (double)INFINITY);
            }
            assert_int_equal(atomic_load(&r.loop.ending.halted), fails);
            assert_int_equal(atomic_load(&r.loop.ending.nonfinite), !fails);
            assert_int_equal(n_stops, fails);
            assert_int_equal(atomic_load(&wished), over_ranks);
            assert_int_equal(gives_batches(&r), over_ranks);
            close_rig(&r);
        }
    }
}
