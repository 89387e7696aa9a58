/* tests/unit/loop/replay_rig.c - see replay_rig.h. */
#include "unit/loop/replay_rig.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/denormals.h"
#include "loop/sources.h"
#include "loop/worker.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char path[] = "replay.rec";

struct replay_seen replay_seen;
uint64_t replay_time_ns;
float replay_theta[REPLAY_PARAMS];

/* ---- what is noted ---- */

struct drove_engine { /* of one worker */
    uint64_t number;  /* of the batch in hand */
    uint64_t staged;  /* 1 + that of the batch ahead; 0: none */
};

static uint64_t read_time(void *context)
{
    (void)context;
    return replay_time_ns;
}

static const drove_clock moved_clock = {.name = "moved", .now_ns = read_time};

/* As tests/unit/base/test_denormals.c has it. */
bool replay_keeps_denormals(void)
{
    volatile float small = FLT_MIN, half = 0.5f;
    volatile float product = small * half;
    return product != 0.0f;
}

static bool has_switches(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

static void note(char what, unsigned worker)
{
    const size_t n = strlen(replay_seen.text);
    assert_true(n + 4 < sizeof replay_seen.text && worker < REPLAY_WORKERS);
    assert_int_equal(replay_keeps_denormals(), !has_switches());
    snprintf(replay_seen.text + n, sizeof replay_seen.text - n, "%s%c%u", n > 0 ? " " : "", what,
             worker);
}

/* ---- an engine: batch n has the mean loss n + 1/2, and a gradient of length n + 1 ---- */

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    (void)opt;
    assert_int_equal(replay_keeps_denormals(), !has_switches());
    *out = calloc(1, sizeof **out);
    assert_non_null(*out);
    return DROVE_OK;
}

static void destroy(drove_engine *e)
{
    free(e);
}

/* Those of the recorded task. */
static void assert_rows(const drove_batch *batch)
{
    uint32_t row[REPLAY_ROWS];
    drove_order_cursor cursor;
    size_t i = 0;
    while (i < replay_seen.n_plan && replay_seen.plan[i].step.number != batch->number) i++;
    assert_true(i < replay_seen.n_plan);
    const drove_recorded *step = &replay_seen.plan[i].step;
    const drove_task task = {.number = step->number, .first = step->first, .n_rows = step->n_rows};
    drove__order_cursor_init(&cursor);
    assert_int_equal(drove__order_rows(&replay_seen.loop->order, &cursor, &task, row),
                     batch->n_rows);
    assert_memory_equal(batch->row, row, batch->n_rows * sizeof *row);
}

static drove_status begin(drove_engine *e, const drove_work *work)
{
    assert_int_equal(replay_keeps_denormals(), !has_switches());
    replay_time_ns += 1000;
    if (work->grad == NULL) return DROVE_OK;
    e->number = work->batch->number;
    assert_rows(work->batch);
    if (e->staged > 0) assert_int_equal(e->staged - 1, e->number);
    e->staged = 0;
    memset(work->grad->value, 0, REPLAY_PARAMS * sizeof(float));
    work->grad->value[1] = (float)e->number + 1.0f;
    return DROVE_OK;
}

static drove_status stage(drove_engine *e, const drove_batch *batch)
{
    e->staged = 1 + batch->number;
    return DROVE_OK;
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)timeout_ns;
    done->score.n_rows = 2;
    done->score.weight = 2.0;
    done->score.loss = 2.0 * ((double)e->number + 0.5);
    return DROVE_OK;
}

static drove_status steps(drove_engine *e, const drove_params *params, const drove_batch *batch,
                          float eta, drove_steps *made)
{
    (void)params, (void)eta;
    e->number = batch->number;
    *made = (drove_steps){.n_steps = 5, .is_finite = true};
    return DROVE_OK;
}

static unsigned worker_of(const drove_engine *e)
{
    unsigned w = 0;
    while (w < REPLAY_WORKERS && replay_seen.loop->worker[w].engine != e) w++;
    return w;
}

static void settle(drove_engine *e, uint32_t *words)
{
    (void)words;
    note('t', worker_of(e));
}

static const drove_typed_ops typed = {.settle = settle};

const drove_engine_ops replay_engine = {.name = "plain",
                                        .create = create,
                                        .destroy = destroy,
                                        .begin = begin,
                                        .finish = finish,
                                        .steps = steps,
                                        .typed = &typed},
                       replay_engine_staging = {.name = "staging",
                                                .create = create,
                                                .destroy = destroy,
                                                .begin = begin,
                                                .stage = stage,
                                                .finish = finish};

/* ---- a strategy ---- */

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)s;
    note('a', worker);
    *view = (drove_view){.vector = replay_theta};
    return DROVE_OK;
}

static void release(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
}

/* It was told what the record says of the batch. */
static void assert_repeated(const drove_sync *s, unsigned worker)
{
    assert_true(s->worker[worker].is_repeated);
    assert_int_equal(s->worker[worker].staleness,
                     REPLAY_STALE + replay_seen.loop->worker[worker].engine->number);
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    assert_repeated(s, worker);
    assert_true(step->value[1] == (float)replay_seen.loop->worker[worker].engine->number + 1.0f);
    note(s->worker[worker].stays ? 'q' : 'p', worker);
    atomic_fetch_add(&s->published, !s->worker[worker].stays);
    *info = (drove_publish_info){.attempts = 1, .updated = !s->worker[worker].stays};
    return DROVE_OK;
}

static void retry(drove_sync *s, unsigned worker, const drove_step *step)
{
    (void)s, (void)step;
    note('r', worker);
}

static drove_params live(drove_sync *s, unsigned worker)
{
    (void)s;
    note('l', worker);
    return (drove_params){.theta = replay_theta};
}

static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    assert_int_equal(n_steps, 5);
    assert_true(s->worker[worker].is_repeated);
    note('d', worker);
    atomic_fetch_add(&s->published, n_steps);
    *info = (drove_publish_info){.attempts = 1, .updated = 1};
    return DROVE_OK;
}

static uint64_t live_end(drove_sync *s, unsigned worker)
{
    (void)s;
    note('e', worker);
    return 0;
}

static void stop(drove_sync *s)
{
    (void)s;
}

static const drove_sync_live_ops lends = {.begin = live, .done = live_done};
static const drove_sync_replay_ops retries = {.retry = retry}, ends = {.live_end = live_end};

const drove_sync_ops replay_strategy = {.name = "plain",
                                        .acquire = acquire,
                                        .release = release,
                                        .publish = publish,
                                        .replay = &retries,
                                        .stop = stop},
                     replay_live = {.name = "live", .live = &lends, .stop = stop},
                     replay_live_ended = {
                         .name = "ended", .live = &lends, .replay = &ends, .stop = stop};

/* ---- a record, and a run that repeats it ---- */

static void write_record(const replay_planned *p, size_t n)
{
    drove_recording *r;
    assert_int_equal(drove__recording_create(path, "{}", REPLAY_WORKERS, &r), DROVE_OK);
    for (size_t i = 0; i <= n; i++) {
        drove_recorded_mark mark = {.next = 70 + i, .published = i};
        if (i < n && p[i].worker != REPLAY_MARK) drove__recording_step(r, p[i].worker, &p[i].step);
        else assert_int_equal(drove__recording_mark(r, &mark), DROVE_OK);
    }
    drove__recording_close(r);
}

static void told(void *context, const drove_replayed_step *step)
{
    const replay_rig *r = context;
    const double number = (double)step->recorded->number;
    note('s', step->worker);
    replay_seen.n_told++;
    assert_int_equal(step->recorded->number, r->worker[step->worker].engine->number);
    assert_int_equal(step->recorded->staleness, REPLAY_STALE + step->recorded->number);
    assert_true(step->eta == 0.75f * (float)step->recorded->lr_factor);
    assert_int_equal(step->is_in_place, r->loop.shared != NULL);
    if (step->is_in_place) assert_true(isnan(step->loss) && isnan(step->gradient_norm));
    else assert_true(step->loss == number + 0.5 && step->gradient_norm == number + 1.0);
}

void replay_open(replay_rig *r, const replay_planned *p, size_t n, const drove_source_ops *source,
                 const drove_sync_ops *strategy, const drove_engine_ops *engine)
{
    memset(r, 0, sizeof *r);
    memset(&replay_seen, 0, sizeof replay_seen);
    replay_seen.plan = p;
    replay_seen.n_plan = n;
    write_record(p, n);
    assert_int_equal(drove__recorded_open(path, &r->replay.record), DROVE_OK);
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options optim = {.rule = "sgd",
                                       .schedule = "constant",
                                       .lr = 0.75,
                                       .n_params = REPLAY_PARAMS,
                                       .n_workers = REPLAY_WORKERS,
                                       .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&optim, &r->optim), DROVE_OK);
    for (unsigned w = 0; w < REPLAY_WORKERS; w++) r->place[w].n_cores = 1;
    r->plan = (drove_plan){.source = source,
                           .n_workers = REPLAY_WORKERS,
                           .n_here = REPLAY_WORKERS,
                           .worker = r->place};
    r->data.n_rows = REPLAY_ROWS;
    r->sync = (drove_sync){
        .ops = strategy, .live = strategy->live, .n_workers = REPLAY_WORKERS, .optim = r->optim};
    r->sync.worker = drove__alloc(REPLAY_WORKERS, sizeof *r->sync.worker);
    r->source = (drove_source){.n_workers = REPLAY_WORKERS};
    drove__replay_source(&r->replay, source, 0, &r->source);
    r->loop.plan = &r->plan;
    r->loop.clock = &moved_clock;
    r->loop.kernels = &r->kernels;
    r->loop.data.train = &r->data;
    r->loop.optim = r->optim;
    r->loop.sync = &r->sync;
    r->loop.source = &r->source;
    r->loop.order = drove__order_make(REPLAY_ROWS, REPLAY_BATCH, 1, DROVE_ORDER_SHUFFLE);
    r->loop.core_ops = engine;
    r->loop.sizes.update_rows = REPLAY_BATCH;
    r->loop.trace.measures_gradients = true;
    r->loop.worker = r->worker;
    if (strategy->live != NULL) r->loop.shared = (drove_engine_shared *)&r->shared;
    replay_seen.loop = &r->loop;
    r->replay.most_updates = UINT64_MAX;
    r->replay.stepped = told;
    r->replay.context = r;
    const drove_host_options opt = {.loop = &r->loop, .replay = &r->replay};
    assert_int_equal(drove__host_create(&drove__host_replay, &opt, &r->host), DROVE_OK);
    r->loop.host = r->host;
    for (unsigned w = 0; w < REPLAY_WORKERS; w++)
        assert_int_equal(drove__worker_init(&r->worker[w], &r->loop, w), DROVE_OK);
    assert_int_equal(r->host->ops->start(r->host), DROVE_OK);
    assert_true(replay_keeps_denormals());
}

void replay_close(replay_rig *r)
{
    assert_true(r->host->ops->stop(r->host));
    for (unsigned w = 0; w < REPLAY_WORKERS; w++)
        assert_true(r->worker[w].engine == NULL && r->worker[w].batches.row[0] == NULL);
    drove__host_destroy(r->host);
    assert_null(r->replay.worker);
    for (unsigned w = 0; w < REPLAY_WORKERS; w++) drove__worker_fini(&r->worker[w]);
    drove__recorded_close(r->replay.record);
    drove__free(r->sync.worker);
    drove__optim_destroy(r->optim);
}

/* One stretch, as far as it goes. */
drove_status replay_train(replay_rig *r)
{
    assert_true(drove__replay_next(&r->replay));
    r->source.ops->open(&r->source, UINT64_MAX, UINT64_MAX);
    const drove_status status = drove__host_do(r->host, DROVE_DO_TRAIN);
    r->source.ops->settle(&r->source);
    assert_true(replay_keeps_denormals()); /* as the caller had it */
    return status;
}

void replay_assert_seen(const replay_rig *r, const char *expected)
{
    assert_string_equal(replay_seen.text, expected);
    assert_int_equal(replay_seen.n_told, r->replay.n_steps);
}
