/* Workers that are processes, whose engine does what the test says: computes, ends, is killed,
 * spins, sleeps or stops.  What the parent makes of it: who is lost, why, and whether the run goes
 * on; also where /proc is hidden, by a function in the place of fopen.
 *
 * ctest: wraps=fopen */
#include "base/cpu.h"
#include "loop/host.h"
#include "loop/sources.h"
#include "loop/worker.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WORKERS = 3,
    MOST_WORKERS = 8,
    ROWS = 1000,
    BATCH = 10,
    N_PARAMS = 4,
    MS = 1000000,
    MOST_SAID = 2
};

typedef enum behaviour { COMPUTE, END_WITH_3, BE_KILLED, SPIN, SLEEP, STOP, FAIL } behaviour;

typedef struct rig { /* in memory that all processes share */
    drovek_table kernels;
    drove_storage storage;
    drove_data data;
    drove_optim *optim;
    float theta[N_PARAMS];
    drove_plan_worker planned[MOST_WORKERS];
    drove_place place[MOST_WORKERS];
    drove_plan plan;
    drove_sync sync;
    drove_sync_ops sync_ops;
    drove_source source;
    drove_loop loop;
    drove_worker worker[MOST_WORKERS];
    drove_host_options host;
    behaviour in_create[MOST_WORKERS], in_batch[MOST_WORKERS];
    unsigned at_batch;   /* of the whole run, from which on in_batch holds */
    unsigned kill_after; /* batches begun by all before anybody is killed */
    _Atomic unsigned n_batches, n_left_calls, n_stops, n_source_leaves;
    _Atomic unsigned has_gone; /* worker + 1 that the strategy was told of */
    char said[MOST_SAID][512];
    unsigned n_said;
} rig;

static rig *now_open;

/* ---- states and times of processes ---- */

static bool hides_proc;

FILE *__wrap_fopen(const char *path, const char *how);
FILE *__real_fopen(const char *path, const char *how);

FILE *__wrap_fopen(const char *path, const char *how)
{
    unsigned id;
    if (hides_proc && sscanf(path, "/proc/%u/", &id) == 1) return NULL;
    return __real_fopen(path, how);
}

/* ---- what a child does ---- */

static _Thread_local unsigned child; /* worker of this process */

static void rest(void)
{
    (void)usleep(1000);
}

static drove_status behave(behaviour what)
{
    switch (what) {
    case COMPUTE: break;
    case END_WITH_3: _exit(3);
    case BE_KILLED:
        while (atomic_load(&now_open->n_batches) < now_open->kill_after) rest();
        raise(SIGKILL);
        break;
    case SPIN:
        for (volatile int i = 0;; i = 1) (void)i;
    case SLEEP:
        for (;;) pause();
    case STOP: raise(SIGSTOP); break;
    case FAIL: return drove__fail(DROVE_E_SYSTEM, "engine %u is out of order", child);
    }
    return DROVE_OK;
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    char name[16] = "";
    FILE *file = fopen("/proc/self/comm", "r");
    (void)opt;
    if (file == NULL || fgets(name, sizeof name, file) == NULL) _exit(9);
    fclose(file);
    if (sscanf(name, "drove-%u", &child) != 1) _exit(8);
    DROVE_TRY(behave(now_open->in_create[child]));
    *out = (drove_engine *)malloc(1);
    return *out != NULL ? DROVE_OK : DROVE_E_NOMEM;
}

static void destroy(drove_engine *e)
{
    free(e);
}

static drove_status begin(drove_engine *e, const drove_work *work)
{
    (void)e, (void)work;
    if (atomic_fetch_add(&now_open->n_batches, 1) >= now_open->at_batch)
        DROVE_TRY(behave(now_open->in_batch[child]));
    for (int i = 0; i < N_PARAMS; i++) work->grad->value[i] = 0.0f;
    return DROVE_OK;
}

static drove_status finish(drove_engine *e, uint64_t timeout_ns, drove_work_done *done)
{
    (void)e, (void)timeout_ns, (void)done;
    return DROVE_OK;
}

static const drove_engine_ops engine = {
    .name = "as told", .create = create, .destroy = destroy, .begin = begin, .finish = finish};

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)s, (void)worker;
    *view = (drove_view){.vector = now_open->theta};
    return DROVE_OK;
}

static void release(drove_sync *s, unsigned worker)
{
    (void)s, (void)worker;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    (void)worker, (void)step;
    atomic_fetch_add(&s->published, 1);
    *info = (drove_publish_info){.attempts = 1, .updated = 1};
    return DROVE_OK;
}

static void leave(drove_sync *s, unsigned worker)
{
    (void)s;
    atomic_store(&now_open->has_gone, worker + 1);
    atomic_fetch_add(&now_open->n_left_calls, 1);
}

static void stop(drove_sync *s)
{
    (void)s;
    atomic_fetch_add(&now_open->n_stops, 1);
}

/* ---- the parent ---- */

static void say(void *context, const char *line)
{
    rig *r = context;
    assert_true(r->n_said < MOST_SAID);
    snprintf(r->said[r->n_said++], sizeof r->said[0], "%s", line);
}

static void saved(void *context, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "go on from DIR");
}

/* Time that passes `fast` times as fast as it does. */
static unsigned fast;

static uint64_t fast_now(void *context)
{
    (void)context;
    return drove__now_ns() * fast;
}

static void fast_sleep(void *context, uint64_t until_ns)
{
    (void)context;
    drove__clock_real.sleep_until(NULL, until_ns / fast);
}

static void fast_word_wait(void *context, _Atomic uint32_t *word, uint32_t expected,
                           uint64_t until_ns)
{
    (void)context;
    drove__clock_real.word_wait(NULL, word, expected, until_ns / fast);
}

static const drove_clock fast_clock = {
    .name = "fast", .now_ns = fast_now, .sleep_until = fast_sleep, .word_wait = fast_word_wait};

static void make_workers(rig *r)
{
    for (unsigned i = 0; i < r->plan.n_workers; i++) {
        r->place[i] = (drove_place){.pu = -1, .core = -1, .node = -1};
        r->planned[i] = (drove_plan_worker){.group = i, .n_cores = 1, .core = &r->place[i]};
        assert_int_equal(drove__worker_init(&r->worker[i], &r->loop, i), DROVE_OK);
        assert_int_equal(drove__worker_alloc(&r->worker[i]), DROVE_OK);
    }
}

static rig *open_rig(unsigned n_workers, double timeout_s)
{
    drove__memory_share_begin();
    rig *r = now_open = drove__alloc(1, sizeof *r);
    assert_non_null(r);
    fast = 1;
    assert_int_equal(drovek_select(&r->kernels, drove__cpu_features(), "ref"), DROVE_OK);
    const drove_optim_options optim = {.rule = "sgd",
                                       .schedule = "constant",
                                       .lr = 0.1,
                                       .n_params = N_PARAMS,
                                       .n_workers = n_workers,
                                       .kernels = &r->kernels};
    assert_int_equal(drove__optim_create(&optim, &r->optim), DROVE_OK);
    r->data = (drove_data){.storage = &r->storage, .n_rows = ROWS};
    r->sync_ops = (drove_sync_ops){.name = "counting",
                                   .acquire = acquire,
                                   .release = release,
                                   .publish = publish,
                                   .leave = leave,
                                   .stop = stop};
    r->sync = (drove_sync){.ops = &r->sync_ops, .n_workers = n_workers, .optim = r->optim};
    r->plan = (drove_plan){.source = &drove__source_claimed,
                           .host = DROVE_HOST_PROCS,
                           .n_ranks = 1,
                           .n_workers = n_workers,
                           .n_groups = n_workers,
                           .n_here = n_workers,
                           .worker = r->planned};
    r->source = (drove_source){.ops = &drove__source_claimed, .n_workers = n_workers};
    const drove_source_options source = {.n_workers = n_workers, .sync = &r->sync};
    assert_int_equal(drove__source_claimed.init(&r->source, &source), DROVE_OK);
    r->loop = (drove_loop){.plan = &r->plan,
                           .clock = &fast_clock,
                           .kernels = &r->kernels,
                           .data.train = &r->data,
                           .optim = r->optim,
                           .core_ops = &engine,
                           .order = drove__order_make(ROWS, BATCH, 1, DROVE_ORDER_SHUFFLE),
                           .sizes.batch = BATCH,
                           .sizes.update_rows = BATCH,
                           .sizes.score_rows = BATCH,
                           .sync = &r->sync,
                           .source = &r->source,
                           .worker = r->worker};
    make_workers(r);
    r->host = (drove_host_options){
        .loop = &r->loop, .timeout_s = timeout_s, .say = say, .saved = saved, .context = r};
    assert_int_equal(drove__host_create(&drove__host_procs, &r->host, &r->loop.host), DROVE_OK);
    drove__memory_share_end();
    return r;
}

static drove_status start(rig *r)
{
    return r->loop.host->ops->start(r->loop.host);
}

static rig *open_started(unsigned n_workers, double timeout_s)
{
    rig *r = open_rig(n_workers, timeout_s);
    if (start(r) != DROVE_OK) fail_msg("%s", drove_error_text());
    return r;
}

static int process(const rig *r, unsigned worker)
{
    return r->loop.host->ops->process(r->loop.host, worker);
}

static void free_rig(rig *r)
{
    drove__host_destroy(r->loop.host);
    for (unsigned i = 0; i < r->plan.n_workers; i++) drove__worker_fini(&r->worker[i]);
    r->source.ops->fini(&r->source);
    drove__optim_destroy(r->optim);
    drove__free(r);
}

/* All children have ended, and been waited for. */
static void close_rig(rig *r)
{
    drove_host *h = r->loop.host;
    assert_true(h->ops->stop(h));
    for (unsigned i = 0; i < r->plan.n_workers; i++) {
        assert_null(r->worker[i].engine);
        assert_null(r->worker[i].batches.row[0]);
        assert_int_equal(kill(process(r, i), 0), -1);
        assert_int_equal(errno, ESRCH);
    }
    free_rig(r);
}

static drove_status train(rig *r, uint64_t limit)
{
    r->source.ops->open(&r->source, limit, UINT64_MAX);
    return drove__host_do(r->loop.host, DROVE_DO_TRAIN);
}

static unsigned n_left(const rig *r)
{
    return r->loop.host->ops->n_left(r->loop.host);
}

/* A machine with much to do looks later: at least `least` seconds, and less than `below`. */
static void expect_still(const rig *r, unsigned worker, double least, double below)
{
    double found_s = 0.0;
    const char *found = r->loop.host->ops->lost(r->loop.host, worker);
    assert_non_null(found);
    assert_int_equal(sscanf(found, "did nothing for %lf s and was ended", &found_s), 1);
    assert_true(found_s > least - 1e-9 && found_s < below);
}

static void expect_reason(const rig *r, unsigned worker, const char *why)
{
    const char *found = r->loop.host->ops->lost(r->loop.host, worker);
    if (why == NULL || found == NULL) assert_true(why == found);
    else assert_string_equal(found, why);
}

/* The run goes on with one less, and says so. */
static void expect_lost(const rig *r, unsigned worker, const char *why, const char *what)
{
    char line[512];
    snprintf(line, sizeof line,
             "worker %u (process %d) %s after %llu updates: %s is lost, the run goes on with %u of "
             "%u workers",
             worker, process(r, worker), why,
             (unsigned long long)atomic_load(&r->worker[worker].trace.updates), what,
             r->plan.n_workers - 1, r->plan.n_workers);
    assert_int_equal(r->n_said, 1);
    assert_string_equal(r->said[0], line);
    assert_int_equal(atomic_load(&r->n_left_calls), 1);
    assert_int_equal(atomic_load(&r->has_gone), worker + 1);
    assert_int_equal(n_left(r), r->plan.n_workers - 1);
    for (unsigned i = 0; i < r->plan.n_workers; i++) expect_reason(r, i, i == worker ? why : NULL);
}

/* The run has failed. */
static void expect_failed(const rig *r, unsigned worker, const char *why, const char *when)
{
    char text[1024], host[64] = "";
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    snprintf(text, sizeof text, "worker %u (process %d on %s) %s %s; go on from DIR", worker,
             process(r, worker), host, why, when);
    assert_int_equal(r->loop.host->ops->status(r->loop.host), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), text);
    assert_int_equal(atomic_load(&r->loop.ending.halted), 1);
    assert_int_equal(r->n_said, 0);
    expect_reason(r, worker, why);
}

/* ---- tests ---- */

static void *wait_for_the_end(void *argument)
{
    _Atomic int *is_over = argument;
    while (!atomic_load(is_over)) rest();
    return NULL;
}

FIXTURE(limit_time)
{
    (void)alarm(150); /* ends a start that waits for ever for a worker */
    return 0;
}

GROUP(limit_time, NULL);

TEST(processes_train)
{
    rig *r = open_started(WORKERS, 60.0);
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_true(process(r, i) > 0 && process(r, i) != getpid());
        for (unsigned k = 0; k < i; k++) assert_true(process(r, i) != process(r, k));
        assert_int_equal(kill(process(r, i), 0), 0);
        expect_reason(r, i, NULL);
    }
    for (uint64_t limit = 50; limit <= 100; limit += 50) {
        uint64_t sum = 0;
        assert_int_equal(train(r, limit), DROVE_OK);
        for (unsigned i = 0; i < WORKERS; i++) sum += atomic_load(&r->worker[i].trace.updates);
        assert_int_equal(sum, limit);
        assert_int_equal(atomic_load(&r->sync.published), limit);
        assert_int_equal(atomic_load(&r->n_batches), limit);
    }
    assert_int_equal(n_left(r), WORKERS);
    assert_int_equal(r->n_said + atomic_load(&r->n_stops) + atomic_load(&r->n_left_calls), 0);
    close_rig(r);
}

TEST(waiting_ends_at_its_deadline)
{
    rig *r = open_rig(WORKERS, 60.0);
    r->in_batch[1] = SLEEP;
    assert_int_equal(start(r), DROVE_OK);
    drove_host *h = r->loop.host;
    r->source.ops->open(&r->source, UINT64_MAX, UINT64_MAX);
    h->ops->go(h, DROVE_DO_TRAIN);
    uint64_t until = drove__clock_now(&fast_clock) + 20 * MS;
    assert_false(h->ops->wait(h, until));
    assert_true(drove__clock_now(&fast_clock) >= until);
    assert_int_equal(r->n_said, 0);
    assert_int_equal(kill(process(r, 1), SIGKILL), 0);
    r->source.ops->halt(&r->source);
    assert_true(h->ops->wait(h, UINT64_MAX));
    expect_lost(r, 1, "was ended by signal 9 (Killed)", "the step that it was making");
    close_rig(r);
}

TEST(a_run_goes_on_without_one)
{
    static const struct {
        behaviour what;
        unsigned needs;
        const char *why, *lost;
    } cases[] = {
        {BE_KILLED, 0, "was ended by signal 9 (Killed)", "the step that it was making"},
        {END_WITH_3, DROVE_SYNC_SPREAD, "ended by itself with status 3",
         "its work since its last exchange"},
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        rig *r = open_rig(WORKERS, 60.0);
        r->sync.needs = cases[i].needs;
        r->at_batch = 20;
        r->in_batch[1] = cases[i].what;
        assert_int_equal(start(r), DROVE_OK);
        for (uint64_t limit = 1000; n_left(r) == WORKERS; limit += 1000)
            assert_int_equal(train(r, limit), DROVE_OK);
        expect_lost(r, 1, cases[i].why, cases[i].lost);
        uint64_t before = atomic_load(&r->sync.published), next = atomic_load(&r->source.next);
        assert_int_equal(train(r, next + 30), DROVE_OK);
        assert_int_equal(atomic_load(&r->sync.published), before + 30);
        assert_int_equal(atomic_load(&r->n_stops), 0);
        close_rig(r);
    }
}

/* A strategy without `leave` cannot, and nobody can without any worker. */
TEST(a_run_ends_with_its_reason)
{
    for (unsigned alone = 0; alone < 2; alone++) {
        char when[128];
        rig *r = open_rig(alone ? 1 : WORKERS, 60.0);
        unsigned worker = alone ? 0 : 1;
        if (!alone) r->sync_ops.leave = NULL;
        r->at_batch = 20;
        r->in_batch[worker] = BE_KILLED;
        assert_int_equal(start(r), DROVE_OK);
        drove_status status = DROVE_OK;
        for (uint64_t limit = 1000; status == DROVE_OK; limit += 1000) status = train(r, limit);
        snprintf(when, sizeof when, "after %llu updates, and %s",
                 (unsigned long long)atomic_load(&r->worker[worker].trace.updates),
                 alone ? "no worker is left" : "this strategy cannot go on without it");
        expect_failed(r, worker, "was ended by signal 9 (Killed)", when);
        assert_int_equal(atomic_load(&r->n_stops), alone ? 0 : 1); /* nobody to wake */
        assert_int_equal(atomic_load(&r->n_left_calls), 0);
        close_rig(r);
    }
}

TEST(errors_of_workers_are_theirs)
{
    rig *r = open_rig(WORKERS, 60.0);
    r->in_create[2] = FAIL;
    assert_int_equal(start(r), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "engine 2 is out of order");
    assert_int_equal(n_left(r), WORKERS);
    close_rig(r);
    r = open_rig(WORKERS, 60.0);
    r->in_batch[0] = FAIL;
    assert_int_equal(start(r), DROVE_OK);
    drove_status status = DROVE_OK;
    for (uint64_t limit = 1000; status == DROVE_OK; limit += 1000) status = train(r, limit);
    assert_int_equal(status, DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "engine 0 is out of order");
    close_rig(r);
}

/* Before the run there is no strategy to go on with: in time a stopped one counts at once, one that
 * sleeps, or whose state is hidden, ten times as long, and one that computes never. */
TEST(a_run_does_not_begin_without_all)
{
    static const struct {
        behaviour what;
        bool hides_proc;
        double least, below; /* seconds that it does nothing; 0: it ends */
    } cases[] = {{END_WITH_3, false, 0.0, 0.0},
                 {STOP, false, 1.0, 10.0},
                 {SLEEP, false, 10.0, 20.0},
                 {STOP, true, 10.0, 20.0}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        rig *r = open_rig(WORKERS, 1.0);
        fast = 20;
        hides_proc = cases[i].hides_proc;
        r->in_create[1] = cases[i].what;
        assert_int_equal(start(r), DROVE_E_SYSTEM);
        if (i > 0) expect_still(r, 1, cases[i].least, cases[i].below);
        else expect_reason(r, 1, "ended by itself with status 3");
        expect_failed(r, 1, r->loop.host->ops->lost(r->loop.host, 1), "before the run began");
        close_rig(r);
        hides_proc = false;
    }
}

/* All have begun, and are what they are to be. */
static void begin_all(rig *r)
{
    r->source.ops->open(&r->source, UINT64_MAX, UINT64_MAX);
    r->loop.host->ops->go(r->loop.host, DROVE_DO_TRAIN);
    while (atomic_load(&r->n_batches) < r->plan.n_workers) rest();
    (void)usleep(20000);
}

static void watch_until_one_is_lost(rig *r)
{
    drove_host *h = r->loop.host;
    while (r->n_said == 0) assert_false(h->ops->wait(h, drove__clock_now(&fast_clock) + MS));
}

/* One that sleeps, or whose state is hidden, may wait for its turn while the other one goes on: for
 * as many timeouts as there are workers. */
TEST(a_sleeper_is_given_time)
{
    for (int hides = 0; hides <= 1; hides++) {
        rig *r = open_rig(2, 0.5);
        r->in_batch[1] = hides ? STOP : SLEEP;
        hides_proc = hides != 0;
        assert_int_equal(start(r), DROVE_OK);
        begin_all(r);
        watch_until_one_is_lost(r);
        r->source.ops->halt(&r->source);
        assert_true(r->loop.host->ops->wait(r->loop.host, UINT64_MAX));
        expect_still(r, 1, 1.0, 10.0);
        expect_lost(r, 1, r->loop.host->ops->lost(r->loop.host, 1), "the step that it was making");
        close_rig(r);
        hides_proc = false;
    }
}

/* Of those that are silent a stopped one is the first to be suspected, then one that spins; of
 * those that sleep the first, after one timeout, as nobody goes on.  On a busy machine the one that
 * spins waits for a processor, and that does not count: it has eight timeouts, after which a
 * sleeper among eight workers is suspected. */
TEST(the_most_suspicious_is_ended_first)
{
    static const struct {
        behaviour of_1, of_2; /* the others sleep */
        unsigned first;
    } cases[] = {{SPIN, STOP, 2}, {SPIN, SLEEP, 1}, {SLEEP, SLEEP, 0}};
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        rig *r = open_rig(MOST_WORKERS, 0.4);
        const unsigned first = cases[i].first;
        for (unsigned k = 0; k < MOST_WORKERS; k++) r->in_batch[k] = SLEEP;
        r->in_batch[1] = cases[i].of_1;
        r->in_batch[2] = cases[i].of_2;
        assert_int_equal(start(r), DROVE_OK);
        begin_all(r);
        watch_until_one_is_lost(r);
        drove_host *h = r->loop.host;
        expect_still(r, first, 0.4, 0.4 * MOST_WORKERS);
        expect_lost(r, first, h->ops->lost(h, first), "the step that it was making");
        for (unsigned k = 0; k < MOST_WORKERS; k++)
            if (k != first) assert_int_equal(kill(process(r, k), SIGKILL), 0);
        r->sync_ops.leave = NULL;
        assert_true(h->ops->wait(h, UINT64_MAX));
        close_rig(r);
    }
}

/* A run that ends by one worker gives the others 5 s to park, here a twentieth of that. */
TEST(who_does_not_park_is_ended)
{
    rig *r = open_rig(2, 1000.0);
    fast = 20;
    r->sync_ops.leave = NULL;
    r->kill_after = 2;
    r->in_batch[0] = BE_KILLED;
    r->in_batch[1] = SPIN;
    assert_int_equal(start(r), DROVE_OK);
    r->source.ops->open(&r->source, 100, UINT64_MAX);
    uint64_t began = drove__clock_now(&fast_clock);
    r->loop.host->ops->go(r->loop.host, DROVE_DO_TRAIN);
    assert_true(r->loop.host->ops->wait(r->loop.host, UINT64_MAX));
    assert_true(drove__clock_now(&fast_clock) - began >= UINT64_C(5000) * MS);
    expect_reason(r, 1, "did not park and was ended");
    expect_failed(r, 0, "was ended by signal 9 (Killed)",
                  "after 0 updates, and this strategy cannot go on without it");
    assert_int_equal(n_left(r), 0);
    assert_int_equal(atomic_load(&r->n_stops), 1);
    close_rig(r);
}

/* Another thread would not live on in a child, and might hold a lock.  It is the last: no fork
 * follows it. */
TEST(a_process_of_several_threads_starts_nobody)
{
    _Atomic int is_over = 0;
    pthread_t other;
    rig *r = open_rig(WORKERS, 60.0);
    assert_int_equal(pthread_create(&other, NULL, wait_for_the_end, &is_over), 0);
    const drove_status status = start(r);
    atomic_store(&is_over, 1);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(status, DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(),
                        "--workers procs: expected a process of one thread, which alone lives on "
                        "in forked ones; found 2 threads");
    for (unsigned i = 0; i < WORKERS; i++) assert_int_equal(process(r, i), 0);
    assert_int_equal(n_left(r), 0);
    free_rig(r);
}
