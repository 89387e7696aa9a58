/* Loop, host and coordinator on a clock that is not the real one: a device that never answers is
 * given up after twice its timeout, in virtual time, and timelines are those of the script.
 *
 * ctest: apart: links coord/, for the source that reads a clock */
#include "virtual_clock.h"
#include "support/test.h"

#include "base/cpu.h"
#include "coord/assigned.h"
#include "coord/method.h"
#include "loop/worker.h"
#include "loop/sources.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define MS     1000000u
#define SECOND 1000000000u

/* ---- the real clock ---- */

TEST(real_time_passes)
{
    const drove_clock *c = &drove__clock_real;
    uint64_t before = drove__clock_now(c), until = before + 2 * MS;
    assert_true(before >= drove__now_ns() - SECOND && before <= drove__now_ns());
    c->sleep_until(c->context, until);
    assert_true(drove__clock_now(c) >= until);
    c->sleep_until(c->context, before); /* past: at once */
}

typedef struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rings;
    bool has_rung;
    _Atomic uint32_t word;
} bell;

static void *ring(void *argument)
{
    bell *b = argument;
    pthread_mutex_lock(&b->lock);
    b->has_rung = true;
    pthread_cond_signal(&b->rings);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

TEST(real_conditions_have_deadlines)
{
    const drove_clock *c = &drove__clock_real;
    bell b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t ringer;
    assert_int_equal(drove__clock_cond_init(&b.rings), 0);
    pthread_mutex_lock(&b.lock);
    uint64_t until = drove__clock_now(c) + 2 * MS;
    while (c->cond_wait(c->context, &b.rings, &b.lock, until)) continue; /* may wake early */
    assert_true(drove__clock_now(c) >= until);
    assert_int_equal(pthread_create(&ringer, NULL, ring, &b), 0);
    while (!b.has_rung) assert_true(c->cond_wait(c->context, &b.rings, &b.lock, UINT64_MAX));
    pthread_mutex_unlock(&b.lock);
    pthread_join(ringer, NULL);
    pthread_cond_destroy(&b.rings);
}

TEST(real_words_have_deadlines)
{
    const drove_clock *c = &drove__clock_real;
    _Atomic uint32_t word = 1;
    uint64_t until = drove__clock_now(c) + 2 * MS;
    c->word_wait(c->context, &word, 0, UINT64_MAX); /* differs: at once */
    while (drove__clock_now(c) < until) c->word_wait(c->context, &word, 1, until);
}

/* ---- engines that take virtual time ---- */

/* One example takes a millisecond; rows are counted when they are done. */
enum { ROWS = 4000, BATCH = 10 };
static virtual_clock time_;
static _Atomic unsigned n_times[ROWS];
static _Atomic uint64_t n_begun,
    hang_from; /* batches of the hanging engine; the first it hangs in */

static int cannot_create = -1; /* the engine with this number; -1: none */
static _Atomic int n_created;

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    (void)opt;
    if (atomic_fetch_add(&n_created, 1) == cannot_create)
        return drove__fail(DROVE_E_SYSTEM, "no engine");
    *out = (drove_engine *)malloc(1);
    return *out != NULL ? DROVE_OK : DROVE_E_NOMEM;
}

static void destroy(drove_engine *e)
{
    free(e);
}

static _Thread_local const drove_batch *in_hand;

static drove_status begin(drove_engine *e, const drove_work *work)
{
    (void)e;
    in_hand = work->batch;
    if (work->grad != NULL) work->grad->value[0] = 0.0f;
    return DROVE_OK;
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    const drove_clock *clock = &time_.clock;
    (void)e;
    (void)timeout_ns;
    clock->sleep_until(clock->context, drove__clock_now(clock) + in_hand->n_rows * MS);
    for (size_t i = 0; i < in_hand->n_rows; i++) atomic_fetch_add(&n_times[in_hand->row[i]], 1);
    if (done != NULL) done->score.loss = 1.0;
    return DROVE_OK;
}

/* Returns when the clock ends. */
static drove_status finish_or_hang(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    const drove_clock *clock = &time_.clock;
    if (atomic_fetch_add(&n_begun, 1) < atomic_load(&hang_from)) return finish(e, timeout_ns, done);
    clock->sleep_until(clock->context, UINT64_MAX);
    return drove__fail(DROVE_E_SYSTEM, "back from the dead");
}

static const drove_engine_ops steady = {
    .name = "steady", .create = create, .destroy = destroy, .begin = begin, .finish = finish};
static const drove_engine_ops hanging = {.name = "hanging",
                                         .create = create,
                                         .destroy = destroy,
                                         .begin = begin,
                                         .finish = finish_or_hang};

/* ---- a loop of two workers: the first is steady, the second hangs ---- */

enum { WORKERS = 2, TIMEOUT_S = 30 };
static const uint64_t START_NS = 1000 * (uint64_t)SECOND;

typedef struct rig {
    drovek_table kernels;
    drove_storage storage;
    drove_data data;
    drove_optim *optim;
    float theta[4];
    drove_plan_worker planned[WORKERS];
    drove_place place[WORKERS];
    drove_plan plan;
    drove_source source;
    drove_loop loop;
    drove_worker worker[WORKERS];
    drove_spec spec;
    char said[256];
} rig;

static void silence(void *context, unsigned worker)
{
    rig *r = context;
    r->loop.host->ops->silence(r->loop.host, worker);
}

static void say(void *context, const char *line)
{
    rig *r = context;
    snprintf(r->said, sizeof r->said, "%s", line);
}

static void make_problem(rig *r)
{
    const drove_optim_options opt = {.rule = "sgd",
                                     .schedule = "constant",
                                     .lr = 0.1,
                                     .n_params = DROVE_COUNT(r->theta),
                                     .n_workers = WORKERS,
                                     .kernels = &r->kernels};
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    assert_int_equal(drove__optim_create(&opt, &r->optim), DROVE_OK);
    r->data = (drove_data){.storage = &r->storage, .n_rows = ROWS};
}

static void make_source(rig *r, const char *spec, const drove_source_ops *ops)
{
    static const char *const names[WORKERS] = {"fake:0", "fake:1"};
    drove_source_worker worker[WORKERS];
    drove_sync_options sync = {.spec = &r->spec, .n_workers = WORKERS, .optim = r->optim};
    assert_int_equal(drove__spec_parse(spec, &r->spec), DROVE_OK);
    assert_int_equal(drove__sync_create(&drove__sync_hogbatch, &sync,
                                        &(drove_params){.theta = r->theta}, &r->loop.sync),
                     DROVE_OK);
    for (unsigned i = 0; i < WORKERS; i++)
        worker[i] = (drove_source_worker){.name = names[i],
                                          .group = i,
                                          .is_device = true,
                                          .n_cores = 1,
                                          .batch = BATCH,
                                          .least = BATCH,
                                          .most = BATCH,
                                          .timeout_s = TIMEOUT_S};
    const drove_source_options opt = {.spec = &r->spec,
                                      .clock = &time_.clock,
                                      .n_workers = WORKERS,
                                      .n_groups = WORKERS,
                                      .worker = worker,
                                      .n_rows = ROWS,
                                      .batch = BATCH,
                                      .per_epoch = ROWS / BATCH,
                                      .sync = r->loop.sync,
                                      .silence = silence,
                                      .say = say,
                                      .context = r};
    r->source = (drove_source){.ops = ops,
                               .clock = &time_.clock,
                               .n_workers = WORKERS,
                               .silence = silence,
                               .say = say,
                               .context = r};
    assert_int_equal(ops->init(&r->source, &opt), DROVE_OK);
    r->loop.source = &r->source;
}

/* Positions that a coordinator gives out are batches of one example. */
static void open_rig_to_start(rig *r, const drove_source_ops *ops)
{
    memset(r, 0, sizeof *r);
    for (unsigned i = 0; i < ROWS; i++) atomic_store(&n_times[i], 0);
    atomic_store(&n_begun, 0);
    virtual_clock_open(&time_, START_NS, WORKERS + 1); /* and the controlling thread */
    make_problem(r);
    for (unsigned i = 0; i < WORKERS; i++) {
        r->place[i] = (drove_place){.pu = -1, .core = -1, .node = -1};
        r->planned[i] = (drove_plan_worker){
            .group = i, .n_cores = 1, .core = &r->place[i], .timeout_s = TIMEOUT_S};
    }
    r->plan = (drove_plan){.source = ops,
                           .n_ranks = 1,
                           .n_workers = WORKERS,
                           .n_groups = WORKERS,
                           .n_here = WORKERS,
                           .worker = r->planned};
    r->loop = (drove_loop){.plan = &r->plan,
                           .clock = &time_.clock,
                           .kernels = &r->kernels,
                           .data.train = &r->data,
                           .optim = r->optim,
                           .core_ops = &steady,
                           .order = drove__order_make(ROWS, ops->counts_rows ? 1 : BATCH, 1,
                                                      DROVE_ORDER_SHUFFLE),
                           .sizes.batch = BATCH,
                           .sizes.update_rows = BATCH,
                           .sizes.score_rows = BATCH,
                           .trace.acquire_phase = DROVE_PHASE_ACQUIRE,
                           .trace.publish_phase = DROVE_PHASE_PUBLISH,
                           .worker = r->worker};
    make_source(r, "hogbatch", ops);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(drove__worker_init(&r->worker[i], &r->loop, i), DROVE_OK);
    r->worker[1].engine_ops = &hanging;
    const drove_host_options opt = {.loop = &r->loop, .timeout_s = TIMEOUT_S};
    assert_int_equal(drove__host_create(&drove__host_threads, &opt, &r->loop.host), DROVE_OK);
}

/* Its workers have started. */
static void open_rig(rig *r, const drove_source_ops *ops)
{
    open_rig_to_start(r, ops);
    assert_int_equal(r->loop.host->ops->start(r->loop.host), DROVE_OK);
}

static void close_rig(rig *r)
{
    virtual_clock_end(&time_);
    if (atomic_load(&r->worker[1].health.is_silent))
        while (!atomic_load(&r->worker[1].health.has_ended)) sched_yield();
    assert_true(r->loop.host->ops->stop(r->loop.host));
    drove__host_destroy(r->loop.host);
    for (unsigned i = 0; i < WORKERS; i++) drove__worker_fini(&r->worker[i]);
    r->source.ops->fini(&r->source);
    drove__sync_destroy(r->loop.sync);
    drove__optim_destroy(r->optim);
    drove__spec_fini(&r->spec);
    virtual_clock_close(&time_);
}

static bool train(rig *r, uint64_t limit, uint64_t until_ns)
{
    drove_host *h = r->loop.host;
    const drove_source_coordinator_ops *c = r->source.ops->coordinator;
    if (c != NULL && c->serve != NULL) virtual_clock_threads(&time_, WORKERS + 2);
    r->source.ops->open(&r->source, limit, UINT64_MAX);
    h->ops->go(h, DROVE_DO_TRAIN);
    return h->ops->wait(h, until_ns);
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- the host alone ---- */

/* 40 batches of 10 ms by two workers: 200 ms. */
TEST(training_takes_virtual_time)
{
    rig r;
    atomic_store(&hang_from, UINT64_MAX);
    open_rig(&r, &drove__source_claimed);
    assert_true(train(&r, 40, UINT64_MAX));
    assert_int_equal(drove__clock_now(&time_.clock) - START_NS, 200 * MS);
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_int_equal(r.worker[i].trace.steps, 20);
        uint64_t sum = 0;
        for (int p = 0; p < DROVE_N_PHASES; p++) sum += r.worker[i].trace.phase_ns[p];
        assert_int_equal(sum, 200 * MS);
    }
    close_rig(&r);
}

TEST(waiting_ends_at_its_deadline)
{
    rig r;
    atomic_store(&hang_from, UINT64_MAX);
    open_rig(&r, &drove__source_claimed);
    assert_false(train(&r, 40, START_NS + 55 * MS));
    assert_int_equal(drove__clock_now(&time_.clock) - START_NS, 55 * MS);
    assert_true(r.loop.host->ops->wait(r.loop.host, UINT64_MAX));
    assert_int_equal(drove__clock_now(&time_.clock) - START_NS, 200 * MS);
    close_rig(&r);
}

/* Nobody can take over its batch: the run has failed, once twice the timeout is over. */
TEST(a_host_finds_a_silent_worker)
{
    rig r;
    atomic_store(&hang_from, 3);
    open_rig(&r, &drove__source_claimed);
    assert_true(train(&r, 40, UINT64_MAX));
    double took = seconds(drove__clock_now(&time_.clock) - START_NS);
    assert_true(took > 2 * TIMEOUT_S && took < 2 * TIMEOUT_S + 0.4);
    assert_int_equal(r.loop.host->ops->status(r.loop.host), DROVE_E_SYSTEM);
    assert_non_null(strstr(drove_error_text(), "no answer for 60 s"));
    assert_int_equal(r.loop.host->ops->n_left(r.loop.host), 1);
    assert_int_equal(r.worker[0].trace.steps, 40 - 4);
    close_rig(&r);
}

static drove_status create_slowly(const drove_engine_options *opt, drove_engine **out)
{
    const drove_clock *c = &time_.clock;
    c->sleep_until(c->context, drove__clock_now(c) + 3 * TIMEOUT_S * (uint64_t)SECOND);
    return create(opt, out);
}

/* There are no batches yet: nobody is silent, however long that takes. */
TEST(workers_take_their_time_to_begin)
{
    rig r;
    drove_engine_ops slow = steady;
    slow.create = create_slowly;
    atomic_store(&hang_from, UINT64_MAX);
    open_rig_to_start(&r, &drove__source_claimed);
    for (unsigned i = 0; i < WORKERS; i++) r.worker[i].engine_ops = &slow;
    assert_int_equal(r.loop.host->ops->start(r.loop.host), DROVE_OK);
    assert_int_equal(drove__clock_now(&time_.clock) - START_NS, 3 * TIMEOUT_S * (uint64_t)SECOND);
    assert_int_equal(r.loop.host->ops->n_left(r.loop.host), WORKERS);
    assert_true(train(&r, 40, UINT64_MAX));
    assert_int_equal(r.loop.host->ops->status(r.loop.host), DROVE_OK);
    for (unsigned i = 0; i < WORKERS; i++) assert_int_equal(r.worker[i].trace.steps, 20);
    close_rig(&r);
}

static unsigned n_leaves, who_left;
static char why_left[DROVE_ERROR_TEXT_SIZE];

static bool bears_failures(drove_source *s, unsigned worker)
{
    (void)s, (void)worker;
    return true;
}

static void note_leave(drove_source *s, unsigned worker)
{
    (void)s;
    n_leaves++;
    who_left = worker;
    drove__error_copy(why_left);
}

/* A source that can do without it is told, once, and the run goes on. */
TEST(a_source_is_told_of_a_silent_worker)
{
    rig r;
    drove_source_ops ops = drove__source_claimed;
    ops.coordinator = &(const drove_source_coordinator_ops){.failed = bears_failures};
    ops.leave = note_leave;
    n_leaves = 0;
    atomic_store(&hang_from, 3);
    open_rig(&r, &drove__source_claimed);
    r.source.ops = &ops;
    assert_true(train(&r, 40, UINT64_MAX));
    assert_int_equal(n_leaves, 1);
    assert_int_equal(who_left, 1);
    assert_string_equal(why_left, "no answer for 60 s");
    assert_int_equal(r.loop.host->ops->status(r.loop.host), DROVE_OK);
    assert_int_equal(r.loop.host->ops->n_left(r.loop.host), 1);
    r.loop.host->ops->silence(r.loop.host, 1); /* it is already */
    assert_int_equal(r.loop.host->ops->n_left(r.loop.host), 1);
    assert_true(train(&r, 45, UINT64_MAX)); /* by the one that is left */
    assert_int_equal(r.worker[0].trace.steps, 40 - 4 + 5);
    r.source.ops = &drove__source_claimed;
    close_rig(&r);
}

/* In an evaluation; before there is a source the reason is kept for it. */
TEST(a_silent_worker_waits_for_its_source)
{
    rig r;
    drove_score chunk[20] = {{0}};
    atomic_store(&hang_from, 3);
    open_rig(&r, &drove__source_claimed);
    r.loop.source = NULL;
    r.loop.scoring = (drove_scoring){.data = &r.data,
                                     .theta = r.theta,
                                     .n_rows = 200,
                                     .n_chunks = 20,
                                     .chunk_rows = 10,
                                     .stride = 1,
                                     .chunk = chunk};
    drove_host *h = r.loop.host;
    h->ops->go(h, DROVE_DO_SCORE);
    assert_true(h->ops->wait(h, UINT64_MAX));
    double took = seconds(drove__clock_now(&time_.clock) - START_NS);
    assert_true(took > 2 * TIMEOUT_S && took < 2 * TIMEOUT_S + 0.4);
    assert_string_equal(r.worker[1].error, "no answer for 60 s");
    assert_int_equal(r.worker[1].status, DROVE_OK); /* the source will say what becomes of it */
    assert_int_equal(h->ops->n_left(h), 1);
    unsigned n_scored = 0;
    for (unsigned i = 0; i < 20; i++) n_scored += chunk[i].loss > 0.0;
    assert_int_equal(n_scored, 19);
    r.loop.source = &r.source;
    close_rig(&r);
}

/* The first worker's error is the run's, and all can be stopped. */
TEST(a_worker_that_cannot_begin_fails_the_start)
{
    for (unsigned which = 0; which < WORKERS; which++) {
        rig r;
        atomic_store(&hang_from, UINT64_MAX);
        cannot_create = (int)which;
        n_created = 0;
        open_rig_to_start(&r, &drove__source_claimed);
        assert_int_equal(r.loop.host->ops->start(r.loop.host), DROVE_E_SYSTEM);
        assert_string_equal(drove_error_text(), "no engine");
        cannot_create = -1;
        close_rig(&r);
    }
}

/* ---- with a coordinator ---- */

static void every_row_was_done_once(void)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (atomic_load(&n_times[i]) != 1)
            fail_msg("row %u: expected once, found %u times", i, atomic_load(&n_times[i]));
}

/* Two devices of a thousand examples a second share 4000: two seconds, both busy throughout. */
TEST(a_coordinator_keeps_virtual_time)
{
    rig r;
    drove_assigned_facts facts;
    atomic_store(&hang_from, UINT64_MAX);
    open_rig(&r, &drove__source_assigned);
    assert_true(train(&r, ROWS, UINT64_MAX));
    assert_int_equal(drove__clock_now(&time_.clock) - START_NS, 2 * (uint64_t)SECOND);
    every_row_was_done_once();
    for (unsigned g = 0; g < WORKERS; g++) {
        uint64_t busy = 0;
        drove__assigned_facts(&r.source, g, &facts);
        for (size_t i = 0; i < DROVE_TIMELINE_BUCKETS; i++) busy += facts.busy->busy_ns[i];
        assert_int_equal(busy, 2 * (uint64_t)SECOND);
        assert_int_equal(facts.coord.n_examples, ROWS / 2);
        assert_float_equal(facts.coord.examples_per_s, 1000.0, 1e-6);
        assert_null(facts.lost);
    }
    close_rig(&r);
}

/* The second hangs in its fourth batch, from 30 ms on; what it has in hand is the other's, which
 * has done all else long before, 60 s later. */
TEST(a_coordinator_gives_up_a_silent_device)
{
    rig r;
    drove_assigned_facts facts;
    atomic_store(&hang_from, 3);
    open_rig(&r, &drove__source_assigned);
    uint64_t real_ns = drove__now_ns();
    assert_true(train(&r, ROWS, UINT64_MAX));
    assert_true(drove__now_ns() - real_ns < 30 * (uint64_t)SECOND);
    uint64_t given_up_ns = 30 * MS + 2 * TIMEOUT_S * (uint64_t)SECOND;
    assert_int_equal(drove__clock_now(&time_.clock) - START_NS,
                     given_up_ns + 2 * BATCH * MS); /* it had two batches in hand */
    every_row_was_done_once();
    drove__assigned_facts(&r.source, 1, &facts);
    assert_string_equal(facts.lost, "no answer for 60 s");
    assert_int_equal(facts.coord.n_examples, 3 * BATCH);
    assert_true(atomic_load(&r.worker[1].health.is_silent));
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_OK);
    assert_string_equal(r.said, "worker fake:1 is lost, its batch goes to others: no answer for "
                                "60 s");
    assert_int_equal(r.loop.host->ops->status(r.loop.host), DROVE_OK);
    close_rig(&r);
}

/* Both hang: nobody is left, and that is said after the time of both is over. */
TEST(a_coordinator_without_devices_gives_up)
{
    rig r;
    atomic_store(&hang_from, 0);
    open_rig(&r, &drove__source_assigned);
    r.worker[0].engine_ops = &hanging;
    assert_true(train(&r, ROWS, UINT64_MAX));
    assert_int_equal(drove__clock_now(&time_.clock) - START_NS, 2 * TIMEOUT_S * (uint64_t)SECOND);
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_E_SYSTEM);
    assert_true(r.source.ops->has_undone(&r.source, UINT64_MAX));
    virtual_clock_end(&time_);
    while (!atomic_load(&r.worker[0].health.has_ended)) sched_yield();
    close_rig(&r);
}
