#include "source_cases.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rig ---- */

static drove_status count_publish(drove_sync *s, unsigned worker, const drove_step *step,
                                  drove_publish_info *info)
{
    (void)worker;
    (void)step;
    atomic_fetch_add(&s->published, 1);
    *info = (drove_publish_info){.attempts = 1, .updated = 1};
    return DROVE_OK;
}

/* As a parameter server answers one RPC at a time. */
static drove_status ask(drove_sync *s, unsigned worker, drove_question *question)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    s->answer(s->answer_context, worker, question);
    pthread_mutex_unlock(&lock);
    return DROVE_OK;
}

static void silence(void *context, unsigned worker)
{
    source_rig *rig = context;
    atomic_store(&rig->is_lost[worker], 1);
    atomic_fetch_add(&rig->n_silenced, 1);
}

static void say(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static const drove_sync_replica_ops asking = {.ask = ask};

void source_rig_open(source_rig *rig, const source_setup *setup, uint64_t n_numbers)
{
    drove_spec spec;
    *rig = (source_rig){.setup = *setup, .n_numbers = n_numbers};
    source_setup *s = &rig->setup;
    if (s->spec == NULL) s->spec = "sequential";
    if (s->n_rows == 0) s->n_rows = 100000;
    if (s->batch == 0) s->batch = 64;
    if (s->most_lost == 0) s->most_lost = 1;
    if (s->clock == NULL) s->clock = &drove__clock_real;
    if (s->n_groups == 0) s->n_groups = 1;
    for (unsigned i = 0; i < s->n_workers; i++)
        rig->worker[i] = s->worker != NULL
                             ? s->worker[i]
                             : (drove_source_worker){.name = "threads:4", .n_cores = 1};
    rig->times = calloc(n_numbers, sizeof *rig->times);
    assert_non_null(rig->times);
    rig->sync_ops = (drove_sync_ops){.name = "counting",
                                     .publish = count_publish,
                                     .replicas = &asking,
                                     .exchange_pattern = s->exchange_pattern};
    rig->sync = (drove_sync){.ops = &rig->sync_ops, .n_workers = s->n_workers};
    assert_int_equal(drove__spec_parse(s->spec, &spec), DROVE_OK);
    const drove_source_options opt = {.spec = &spec,
                                      .clock = s->clock,
                                      .n_workers = s->n_workers,
                                      .n_groups = s->n_groups,
                                      .worker = rig->worker,
                                      .most_claimed = s->most_claimed,
                                      .n_rows = s->n_rows,
                                      .batch = s->batch,
                                      .per_epoch = (s->n_rows + s->batch - 1) / s->batch,
                                      .sync = &rig->sync,
                                      .silence = silence,
                                      .say = say,
                                      .context = rig};
    rig->source = (drove_source){.ops = s->ops,
                                 .clock = s->clock,
                                 .n_workers = s->n_workers,
                                 .silence = silence,
                                 .say = say,
                                 .context = rig};
    if (s->ops->init(&rig->source, &opt) != DROVE_OK) fail_msg("%s", drove_error_text());
    drove__spec_fini(&spec);
}

void source_rig_close(source_rig *rig)
{
    rig->source.ops->fini(&rig->source);
    free(rig->times);
}

/* ---- the threads ---- */

typedef struct member {
    source_rig *rig;
    unsigned worker;
} member;

/* By a worker: numbers of the task are done. */
static void count_task(source_rig *rig, unsigned worker, const drove_task *task)
{
    bool counts_rows = rig->source.ops->counts_rows;
    uint64_t first = counts_rows ? task->first : task->number, n = counts_rows ? task->n_rows : 1;
    for (uint64_t i = first; i < first + n; i++)
        if (i < rig->n_numbers) atomic_fetch_add(&rig->times[i], 1);
    rig->n_by[worker]++;
    atomic_fetch_add(&rig->n_tasks, 1);
    uint64_t before = atomic_fetch_add(&rig->n_done, n);
    if (rig->halt_at > before && rig->halt_at <= before + n) rig->source.ops->halt(&rig->source);
}

/* As loop/step.c does it; false: the task was given to another worker. */
static bool finish_task(source_rig *rig, unsigned worker, const drove_task *task)
{
    drove_source *s = &rig->source;
    const drove_step step = {.eta = 1.0f};
    drove_publish_info info;
    if (s->publishes) {
        if (s->ops->coordinator->publish(s, worker, task, &step, &info) != DROVE_OK) return false;
        count_task(rig, worker, task);
        return true;
    }
    const drove_source_coordinator_ops *c = s->ops->coordinator;
    if (c != NULL && c->accepts != NULL && !c->accepts(s, worker)) return false;
    (void)count_publish(&rig->sync, worker, &step, &info);
    count_task(rig, worker, task);
    if (s->ops->done != NULL) s->ops->done(s, worker, task, 1);
    return true;
}

static void *worker_main(void *argument)
{
    const member *m = argument;
    source_rig *rig = m->rig;
    drove_source *s = &rig->source;
    drove_task task;
    while (!atomic_load(&rig->is_lost[m->worker]) && s->ops->next(s, m->worker, true, &task)) {
        bool goes_on = rig->work == NULL || rig->work(rig, m->worker, &task);
        if (!goes_on || !finish_task(rig, m->worker, &task)) {
            atomic_store(&rig->is_lost[m->worker], 1);
            break;
        }
    }
    return NULL;
}

static bool serves(const drove_source_ops *ops)
{
    return ops->coordinator != NULL && ops->coordinator->serve != NULL;
}

static bool bears_failures(const drove_source_ops *ops)
{
    return ops->coordinator != NULL && ops->coordinator->failed != NULL;
}

static void *service_main(void *argument)
{
    drove_source *s = argument;
    s->ops->coordinator->serve(s);
    return NULL;
}

/* As the controlling thread does it for workers that no source could give up by itself. */
static void leave_for_lost(source_rig *rig, const bool *was_lost)
{
    drove_source *s = &rig->source;
    if (s->ops->leave == NULL || bears_failures(s->ops)) return;
    for (unsigned i = 0; i < s->n_workers; i++)
        if (atomic_load(&rig->is_lost[i]) && !was_lost[i]) s->ops->leave(s, i);
}

void source_rig_train(source_rig *rig, uint64_t limit)
{
    pthread_t thread[SOURCE_MOST_WORKERS], service;
    bool was_lost[SOURCE_MOST_WORKERS] = {false};
    member all[SOURCE_MOST_WORKERS];
    drove_source *s = &rig->source;
    s->ops->open(s, limit, UINT64_MAX);
    for (unsigned i = 0; i < s->n_workers; i++) {
        all[i] = (member){.rig = rig, .worker = i};
        was_lost[i] = atomic_load(&rig->is_lost[i]);
        assert_int_equal(pthread_create(&thread[i], NULL, worker_main, &all[i]), 0);
    }
    if (serves(s->ops)) assert_int_equal(pthread_create(&service, NULL, service_main, s), 0);
    for (unsigned i = 0; i < s->n_workers; i++) pthread_join(thread[i], NULL);
    if (serves(s->ops)) pthread_join(service, NULL);
    leave_for_lost(rig, was_lost);
    if (s->ops->settle != NULL) s->ops->settle(s);
}

void source_rig_check(const source_rig *rig, uint64_t n)
{
    for (uint64_t i = 0; i < rig->n_numbers; i++)
        if (rig->times[i] != (i < n))
            fail_msg("%s: number %llu of %llu: expected to be done %d times, found %u",
                     rig->setup.spec, (unsigned long long)i, (unsigned long long)n, i < n,
                     rig->times[i]);
}

/* ---- the checks ---- */

/* Limits are kept to the next whole round. */
static uint64_t whole(const source_rig *rig, uint64_t limit)
{
    uint64_t width = rig->source.width;
    return width == 0 ? limit : (limit + width - 1) / width * width;
}

enum { NUMBERS = 20000 };

void source_gives_each_number_once(const source_setup *setup)
{
    const uint64_t limits[] = {1, 1, 13, 5000, 5001, NUMBERS - SOURCE_MOST_WORKERS};
    source_rig rig;
    source_rig_open(&rig, setup, NUMBERS);
    for (size_t i = 0; i < DROVE_COUNT(limits); i++) {
        source_rig_train(&rig, limits[i]);
        assert_int_equal(atomic_load(&rig.source.next), whole(&rig, limits[i]));
        source_rig_check(&rig, whole(&rig, limits[i]));
    }
    assert_int_equal(atomic_load(&rig.n_silenced), 0);
    source_rig_close(&rig);
}

/* What was given out when the halt came is done, with whole rounds; the next stretch goes on
 * there. */
void source_halts_without_a_gap(const source_setup *setup)
{
    drove_rng rng;
    drove__rng_seed(&rng, 7, 0, 0);
    for (unsigned repeat = 0; repeat < 20; repeat++) {
        source_rig rig;
        source_rig_open(&rig, setup, NUMBERS);
        for (unsigned stretch = 0; stretch < 4; stretch++) {
            uint64_t from = atomic_load(&rig.source.next);
            rig.halt_at = from + 1 + drove__rng_below(&rng, 1000);
            source_rig_train(&rig, NUMBERS - SOURCE_MOST_WORKERS);
            uint64_t next = atomic_load(&rig.source.next);
            assert_true(next >= rig.halt_at || next >= NUMBERS - SOURCE_MOST_WORKERS);
            if (rig.source.width > 0) assert_int_equal(next % rig.source.width, 0);
            assert_int_equal(atomic_load(&rig.n_done), next);
            for (unsigned w = 0; w < setup->n_workers; w++)
                assert_int_equal(drove__source_begun(&rig.source, w), next);
            source_rig_check(&rig, next);
        }
        rig.halt_at = 0;
        source_rig_train(&rig, NUMBERS - SOURCE_MOST_WORKERS);
        source_rig_check(&rig, whole(&rig, NUMBERS - SOURCE_MOST_WORKERS));
        source_rig_close(&rig);
    }
}

/* Worker 1 ends between two tasks. */
static bool ends_after_ten(source_rig *rig, unsigned worker, const drove_task *task)
{
    (void)task;
    return worker != 1 || rig->n_by[worker] < 10;
}

/* Every number but the lost worker's is done once, and all count as given out. */
void source_goes_on_without_a_lost_worker(const source_setup *setup)
{
    source_rig rig;
    uint64_t limit = NUMBERS - SOURCE_MOST_WORKERS, n_missing = 0;
    source_rig_open(&rig, setup, NUMBERS);
    rig.work = ends_after_ten;
    for (unsigned stretch = 1; stretch <= 2; stretch++) {
        source_rig_train(&rig, limit / 2 * stretch);
        assert_int_equal(atomic_load(&rig.source.next), whole(&rig, limit / 2 * stretch));
    }
    for (uint64_t i = 0; i < whole(&rig, limit); i++) {
        assert_true(rig.times[i] <= 1);
        if (rig.times[i] == 1) continue;
        n_missing++;
        if (rig.source.width > 0) assert_int_equal(i % rig.source.width, 1);
    }
    if (rig.source.width == 0) assert_in_range(n_missing, 0, rig.setup.most_lost);
    source_rig_close(&rig);
}

/* One worker alone, first all others' tasks aside: what it may have now it gets, then false. */
void source_never_waits_when_asked_not_to(const source_setup *setup)
{
    source_rig rig;
    drove_task task;
    source_rig_open(&rig, setup, NUMBERS);
    drove_source *s = &rig.source;
    if (!serves(s->ops)) {
        s->ops->open(s, 10, UINT64_MAX);
        while (s->ops->next(s, 0, false, &task)) count_task(&rig, 0, &task);
        assert_false(s->ops->next(s, 0, false, &task));
        assert_true(atomic_load(&rig.n_tasks) > 0);
    } else {
        s->ops->open(s, 10, UINT64_MAX);
        assert_false(s->ops->next(s, 0, false, &task)); /* nobody serves yet */
    }
    source_rig_close(&rig);
}

void source_check_all(const source_setup *setup)
{
    source_gives_each_number_once(setup);
    source_halts_without_a_gap(setup);
    if (!setup->ops->counts_rows) source_goes_on_without_a_lost_worker(setup);
    source_never_waits_when_asked_not_to(setup);
}
