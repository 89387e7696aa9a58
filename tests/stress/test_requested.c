/* The coordinator over ranks: threads as ranks, each with a strategy and a source of its own, over
 * messages that take a random time.  Every position below the limit is done exactly once, and every
 * step is in the parameters. */
#include "support/strategies.h"

#include "base/mem.h"
#include "base/rng.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "coord/assigned.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    MOST_RANKS = 4,
    N = 2, /* parameters: fewer than a question has words */
    ROWS = 1000,
    BATCH = 16,
    POSITIONS = DROVE_TSAN ? 4000 : 20000,
    STOPPER_TASKS = 10
};

typedef struct job job;

typedef struct rank { /* a thread */
    job *job;
    unsigned index;
    drove_transport *transport;
    drovek_table kernels;
    drove_optim *optim;
    drove_sync *sync;
    drove_source source;
    uint64_t next[8], updates; /* at the end of each stretch */
    float theta;
    unsigned n_tasks;
    drove_status status;
    pthread_t thread;
} rank;

typedef struct stretch {
    uint64_t limit, most_updates; /* 0: no limit of updates */
    uint64_t halt_at;             /* positions done; 0: nobody halts */
} stretch;

struct job {
    const char *spec;
    unsigned n;
    unsigned rest_us[MOST_RANKS]; /* for a task */
    const stretch *stretch;
    unsigned n_stretches;
    unsigned stops; /* this rank stops in the first stretch; MOST_RANKS: none does */
    drove_source_worker worker[MOST_RANKS];
    _Atomic uint8_t *times; /* [POSITIONS] how often each was done */
    _Atomic uint64_t n_done;
    _Atomic unsigned n_of_stopper; /* tasks that the rank that stops has done */
    rank rank[MOST_RANKS];
};

/* ---- a rank ---- */

static void ignore(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static void silence(void *context, unsigned worker)
{
    (void)context;
    (void)worker;
}

static drove_status make_source(rank *r)
{
    drove_spec spec;
    const job *j = r->job;
    DROVE_TRY(drove__spec_parse(j->spec, &spec));
    const drove_source_options opt = {.spec = &spec,
                                      .clock = &drove__clock_real,
                                      .n_workers = j->n,
                                      .n_groups = j->n,
                                      .worker = j->worker,
                                      .n_rows = ROWS,
                                      .batch = BATCH,
                                      .per_epoch = ROWS / BATCH + 1,
                                      .sync = r->sync,
                                      .is_elsewhere = r->index != 0,
                                      .silence = silence,
                                      .say = ignore,
                                      .context = r};
    r->source = (drove_source){.ops = &drove__source_requested,
                               .clock = &drove__clock_real,
                               .n_workers = j->n};
    drove_status status = r->source.ops->init(&r->source, &opt);
    drove__spec_fini(&spec);
    return status;
}

static drove_status make_rank(rank *r)
{
    const float zero[N] = {0};
    drove_params start = {.theta = (float *)(uintptr_t)zero};
    DROVE_TRY(drovek_select(&r->kernels, 0, "ref"));
    const drove_optim_options optim = {.rule = "sgd",
                                       .schedule = "constant",
                                       .lr = 1.0,
                                       .n_params = N,
                                       .n_workers = r->job->n,
                                       .kernels = &r->kernels};
    DROVE_TRY(drove__optim_create(&optim, &r->optim));
    const drove_sync_options sync = {
        .n_workers = r->job->n, .optim = r->optim, .seed = 1, .transport = r->transport};
    DROVE_TRY(drove__sync_create(find_strategy("psgd-async"), &sync, &start, &r->sync));
    return make_source(r);
}

static void free_rank(rank *r)
{
    r->source.ops->fini(&r->source);
    drove__sync_destroy(r->sync);
    drove__optim_destroy(r->optim);
}

/* Adds the task's examples to the first parameter. */
static drove_status compute(rank *r, const drove_task *task)
{
    drove_sync *s = r->sync;
    drove_view view;
    drove_publish_info info;
    job *j = r->job;
    DROVE_TRY(s->ops->acquire(s, r->index, &view));
    float *g = s->ops->gradient(s, r->index);
    g[0] = -(float)task->n_rows;
    g[1] = 0.0f;
    drove__sync_release(s, r->index);
    if (j->rest_us[r->index] > 0) rest_us(j->rest_us[r->index]);
    const drove_step step = {.value = g, .eta = 1.0f};
    DROVE_TRY(s->ops->publish(s, r->index, &step, &info));
    for (uint64_t i = task->first; i < task->first + task->n_rows; i++)
        if (i < POSITIONS) atomic_fetch_add(&j->times[i], 1);
    r->n_tasks++;
    r->source.ops->done(&r->source, r->index, task, 1);
    return DROVE_OK;
}

/* The rank that stops is to come that far whatever the scheduler does. */
static void leave_some(rank *r)
{
    job *j = r->job;
    if (j->stops >= j->n || j->stops == r->index) return;
    while (atomic_load(&j->n_of_stopper) < STOPPER_TASKS) rest_us(100);
}

static drove_status train(rank *r, const stretch *at)
{
    job *j = r->job;
    drove_task task;
    r->source.ops->open(&r->source, at->limit,
                        at->most_updates > 0 ? at->most_updates : UINT64_MAX);
    while (r->source.ops->next(&r->source, r->index, true, &task)) {
        leave_some(r);
        DROVE_TRY(compute(r, &task));
        uint64_t before = atomic_fetch_add(&j->n_done, task.n_rows);
        bool halts = at->halt_at > before && at->halt_at <= before + task.n_rows;
        if (halts) atomic_store(&r->transport->halt_wished, 1);
        if (atomic_load(&r->transport->halt_seen)) r->source.ops->halt(&r->source);
        if (j->stops != r->index) continue;
        if (atomic_fetch_add(&j->n_of_stopper, 1) + 1 < STOPPER_TASKS) continue;
        r->transport->ops->stop(r->transport);
        return DROVE_E_SYSTEM;
    }
    return DROVE_OK;
}

/* As the ranks of a run meet behind a stretch. */
static drove_status meet(rank *r, unsigned number)
{
    uint64_t all[MOST_RANKS], next = 0;
    drove_transport *t = r->transport;
    const uint64_t mine = atomic_load(&r->source.next);
    r->source.ops->settle(&r->source);
    DROVE_TRY(t->ops->gather(t, &mine, sizeof mine, all));
    atomic_store(&t->halt_wished, 0);
    atomic_store(&t->halt_seen, 0);
    for (unsigned i = 0; i < r->job->n; i++) next = all[i] > next ? all[i] : next;
    atomic_store(&r->source.next, next);
    r->next[number] = next;
    DROVE_TRY(t->ops->gather(t, &mine, sizeof mine, all));
    return drove__sync_parked(r->sync);
}

static void *rank_main(void *argument)
{
    rank *r = argument;
    const job *j = r->job;
    for (unsigned i = 0; i < j->n_stretches && r->status == DROVE_OK; i++) {
        if (r->index == 0 && i % 2 == 1) rest_us(3000); /* the others come too early */
        r->status = train(r, &j->stretch[i]);
        if (r->status == DROVE_OK) r->status = meet(r, i);
    }
    r->updates = atomic_load(&r->sync->published);
    /* After a failure others may still send what the centre adds. */
    if (r->status == DROVE_OK) r->theta = r->sync->ops->peek(r->sync).theta[0];
    return NULL;
}

/* ---- a job ---- */

static void run_job(job *j)
{
    drove_wire *wire[MOST_RANKS];
    const drove_mailbox_options box = {
        .n_ranks = j->n, .seed = 5, .most_delay_us = 100, .ns_per_byte = 0.1, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 60, .has_progress_thread = true};
    j->times = calloc(POSITIONS, sizeof *j->times);
    assert_non_null(j->times);
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    for (unsigned i = 0; i < j->n; i++) {
        rank *r = &j->rank[i];
        *r = (rank){.job = j, .index = i};
        assert_int_equal(drovek_select(&r->kernels, 0, "ref"), DROVE_OK);
        assert_int_equal(drove__transport_messages(wire[i], &r->kernels, &opt, &r->transport),
                         DROVE_OK);
        if (make_rank(r) != DROVE_OK) fail_msg("%s: %s", j->spec, drove_error_text());
    }
    for (unsigned i = 0; i < j->n; i++)
        assert_int_equal(pthread_create(&j->rank[i].thread, NULL, rank_main, &j->rank[i]), 0);
    for (unsigned i = 0; i < j->n; i++) pthread_join(j->rank[i].thread, NULL);
    for (unsigned i = 0; i < j->n; i++) j->rank[i].transport->ops->destroy(j->rank[i].transport);
    for (unsigned i = 0; i < j->n; i++) {
        free_rank(&j->rank[i]);
        wire[i]->ops->fini(wire[i]);
    }
}

static void check_done_once(const job *j, uint64_t n)
{
    for (uint64_t i = 0; i < POSITIONS; i++)
        if (j->times[i] != (i < n))
            fail_msg("%s, %u ranks: position %llu of %llu: found %u times", j->spec, j->n,
                     (unsigned long long)i, (unsigned long long)n, j->times[i]);
}

/* All ranks have the same counts and parameters, with every example in them. */
static void check_job(const job *j)
{
    uint64_t n_tasks = 0, n = j->rank[0].next[j->n_stretches - 1];
    for (unsigned i = 0; i < j->n; i++) n_tasks += j->rank[i].n_tasks;
    for (unsigned i = 0; i < j->n; i++) {
        const rank *r = &j->rank[i];
        assert_int_equal(r->status, DROVE_OK);
        assert_memory_equal(r->next, j->rank[0].next, sizeof r->next);
        assert_int_equal(r->updates, n_tasks);
        assert_float_equal(r->theta, (double)n, 0.0);
    }
    check_done_once(j, n);
}

static const char *const specs[] = {
    "hogbatch", "hogbatch:mixed",           "hogbatch?update=coordinator",
    "adaptive", "adaptive?utilisation=0.5", "adaptive?tail=as-is",
    NULL};

/* A team, a core, a device with sizes, a slow device. */
static void fill_workers(job *j)
{
    const drove_source_worker all[MOST_RANKS] = {
        {.name = "rank:0", .n_cores = 2},
        {.name = "rank:1", .n_cores = 1},
        {.name = "rank:2 fake", .is_device = true, .n_cores = 1, .least = 8, .most = 128},
        {.name = "rank:3 fake", .is_device = true, .n_cores = 1, .least = 4, .most = 64}};
    memcpy(j->worker, all, sizeof all);
}

TEST(every_position_once)
{
    static const stretch all[] = {{.limit = 1}, /* one worker has it */
                                  {.limit = 1}, /* nobody has anything */
                                  {.limit = 777},
                                  {.limit = POSITIONS / 2 + 3},
                                  {.limit = POSITIONS}};
    for (size_t i = 0; specs[i] != NULL; i++) {
        for (unsigned n = 2; n <= MOST_RANKS; n++) {
            job j = {.spec = specs[i], .n = n, .stretch = all, .stops = MOST_RANKS};
            j.n_stretches = DROVE_COUNT(all);
            j.rest_us[n - 1] = 300;
            fill_workers(&j);
            run_job(&j);
            for (unsigned k = 0; k < j.n_stretches; k++)
                assert_int_equal(j.rank[0].next[k], all[k].limit);
            check_job(&j);
            free(j.times);
        }
    }
}

TEST(halts_leave_no_gap)
{
    static const stretch all[] = {{.limit = POSITIONS, .halt_at = 50},
                                  {.limit = POSITIONS, .halt_at = 700},
                                  {.limit = POSITIONS, .most_updates = 60},
                                  {.limit = POSITIONS, .halt_at = 3000}};
    for (size_t i = 0; specs[i] != NULL; i++) {
        job j = {.spec = specs[i], .n = 3, .stretch = all, .stops = MOST_RANKS};
        j.n_stretches = DROVE_COUNT(all);
        for (unsigned r = 0; r < j.n; r++) j.rest_us[r] = 100 * (r + 1);
        fill_workers(&j);
        run_job(&j);
        assert_true(j.rank[0].next[0] >= 50 && j.rank[0].next[0] < POSITIONS);
        assert_true(j.rank[0].next[2] > j.rank[0].next[1]);
        if (!DROVE_TSAN) assert_true(j.rank[0].next[2] < POSITIONS); /* 60 of 128 are fewer */
        check_job(&j);
        free(j.times);
    }
}

/* Every rank ends, whatever it waits for. */
TEST(a_stopped_rank_ends_all)
{
    static const stretch all[] = {{.limit = POSITIONS}};
    for (unsigned stops = 0; stops < 3; stops++) {
        job j = {.spec = "adaptive", .n = 3, .stretch = all, .n_stretches = 1, .stops = stops};
        fill_workers(&j);
        for (unsigned r = 0; r < j.n; r++) j.rest_us[r] = 100;
        run_job(&j);
        for (unsigned r = 0; r < j.n; r++) assert_int_equal(j.rank[r].status, DROVE_E_SYSTEM);
        for (uint64_t i = 0; i < POSITIONS; i++) assert_true(j.times[i] <= 1);
        free(j.times);
    }
}

/* ---- one process in the place of all: what a source says and refuses ---- */

static drove_status no_answer(drove_sync *s, unsigned worker, drove_question *question)
{
    (void)s, (void)worker, (void)question;
    return DROVE_E_SYSTEM;
}

TEST(wrong_methods_are_refused)
{
    const drove_sync_replica_ops asks = {.ask = no_answer};
    const drove_sync_ops mute = {.name = "mute"}, deaf = {.name = "deaf", .replicas = &asks};
    drove_sync sync = {.ops = &deaf};
    job j = {.spec = "hogbatch?merge=replace", .n = 2};
    rank r = {.job = &j, .sync = &sync};
    fill_workers(&j);
    assert_int_equal(make_source(&r), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "merge=replace: over ranks"));
    r.source.ops->fini(&r.source);
    j.spec = "hogbatch";
    sync.ops = &mute;
    assert_int_equal(make_source(&r), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "found mute"));
    r.source.ops->fini(&r.source);
}

/* Answers that are no assignment end the worker's stretch. */
static uint64_t bad[DROVE_QUESTION_WORDS];

static drove_status answer_badly(drove_sync *s, unsigned worker, drove_question *question)
{
    (void)s, (void)worker;
    memcpy(question->word, bad, sizeof bad);
    return DROVE_OK;
}

static size_t n_stops;

static void count_stop(drove_sync *s)
{
    (void)s;
    n_stops++;
}

TEST(wrong_answers_are_refused)
{
    /* verb, -, id, first, n, batch */
    enum { UNANSWERED = 1, EXECUTE = 17, UNKNOWN = 99 };
    static const uint64_t words[][DROVE_QUESTION_WORDS] = {
        {EXECUTE, 0, 1, 0, 0, 16},              /* no example */
        {EXECUTE, 0, 1, 0, ROWS + 1, 16},       /* more than an epoch */
        {EXECUTE, 0, 1, ROWS - 1, 2, 16},       /* of two epochs */
        {EXECUTE, 0, 1, UINT64_MAX - 3, 5, 16}, /* beyond what is counted */
        {EXECUTE, 0, 1, 0, 16, 0},              /* no batch */
        {EXECUTE, 0, 1, 0, 16, BATCH + 1},      /* more than its most */
        {UNKNOWN, 0, 1, 0, 16, 16},
        {UNANSWERED, 0, 1, 0, 16, 16},
        {0, 0, 0, 0, 0, 0},
    };
    const drove_sync_replica_ops asks = {.ask = answer_badly};
    const drove_sync_ops ops = {.name = "bad", .replicas = &asks, .stop = count_stop};
    drove_sync sync = {.ops = &ops};
    job j = {.spec = "hogbatch", .n = 2};
    rank r = {.job = &j, .index = 1, .sync = &sync};
    drove_task task;
    fill_workers(&j);
    assert_int_equal(make_source(&r), DROVE_OK);
    for (size_t i = 0; i < DROVE_COUNT(words); i++) {
        memcpy(bad, words[i], sizeof bad);
        r.source.ops->open(&r.source, POSITIONS, UINT64_MAX);
        assert_false(r.source.ops->next(&r.source, 1, true, &task));
        assert_int_equal(n_stops, i + 1); /* the run ends */
    }
    assert_int_equal(atomic_load(&r.source.next), 0);
    r.source.ops->fini(&r.source);
}
