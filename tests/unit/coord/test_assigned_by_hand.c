/* The coordinator's thread and its groups, with workers that the test plays one call at a time and
 * a clock that it moves: a group of two cores, and a device. */
#include "coord/assigned.h"
#include "support/test.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CORE_A, CORE_B, DEVICE, N_WORKERS };
enum { CORES, OF_DEVICE, N_GROUPS };
enum { ROWS = 1000, MS = 1000000 };
static const uint64_t START_NS = 5000000000;

typedef struct rig {
    drove_source source;
    drove_sync sync;
    drove_sync_ops sync_ops;
    drove_spec spec;
    drove_source_worker worker[N_WORKERS];
    pthread_t service;
    char said[2][256];
    unsigned n_said, n_published;
    _Atomic unsigned n_silenced, silenced;
} rig;

static _Atomic uint64_t time_ns;

static uint64_t read_time(void *context)
{
    (void)context;
    return atomic_load(&time_ns);
}

/* Words on which threads have waited. */
static _Atomic(_Atomic uint32_t *) first_word, second_word;

/* Wakes early, as it may. */
static void word_wait(void *context, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns)
{
    (void)context, (void)expected, (void)until_ns;
    _Atomic uint32_t *none = NULL;
    if (!atomic_compare_exchange_strong(&first_word, &none, word) && none != word)
        atomic_store(&second_word, word);
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static const drove_clock by_hand = {.name = "by hand", .now_ns = read_time, .word_wait = word_wait};

static void silence(void *context, unsigned worker)
{
    rig *r = context;
    atomic_store(&r->silenced, worker);
    atomic_fetch_add(&r->n_silenced, 1);
}

static void say(void *context, const char *line)
{
    rig *r = context;
    assert_true(r->n_said < 2);
    snprintf(r->said[r->n_said++], sizeof r->said[0], "%s", line);
}

/* By the coordinator's thread, while the worker waits. */
static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    rig *r = s->impl;
    r->n_published++;
    *info = (drove_publish_info){.attempts = worker + 1, .updated = 1};
    return step->eta > 1.0f ? DROVE_E_NONFINITE : DROVE_OK;
}

static void open_rig_of(rig *r, const char *spec, const char *lost)
{
    memset(r, 0, sizeof *r);
    atomic_store(&time_ns, START_NS);
    assert_int_equal(drove__spec_parse(spec, &r->spec), DROVE_OK);
    for (unsigned i = 0; i < DEVICE; i++)
        r->worker[i] = (drove_source_worker){.name = "threads:2", .n_cores = 1};
    r->worker[DEVICE] = (drove_source_worker){.name = "opencl:0",
                                              .group = OF_DEVICE,
                                              .is_device = true,
                                              .n_cores = 1,
                                              .timeout_s = 0.5,
                                              .lost = lost};
    r->sync_ops = (drove_sync_ops){.name = "counting", .publish = publish};
    r->sync = (drove_sync){.ops = &r->sync_ops, .n_workers = N_WORKERS, .impl = r};
    r->source = (drove_source){.ops = &drove__source_assigned,
                               .clock = &by_hand,
                               .n_workers = N_WORKERS,
                               .silence = silence,
                               .say = say,
                               .context = r};
    const drove_source_options opt = {.spec = &r->spec,
                                      .clock = &by_hand,
                                      .n_workers = N_WORKERS,
                                      .n_groups = N_GROUPS,
                                      .worker = r->worker,
                                      .n_rows = ROWS,
                                      .batch = 7,
                                      .sync = &r->sync};
    if (r->source.ops->init(&r->source, &opt) != DROVE_OK) fail_msg("%s", drove_error_text());
}

static void open_rig(rig *r, const char *spec)
{
    open_rig_of(r, spec, NULL);
}

static void close_rig(rig *r)
{
    r->source.ops->fini(&r->source);
    drove__spec_fini(&r->spec);
}

static void *serve(void *argument)
{
    drove_source *s = argument;
    s->ops->coordinator->serve(s);
    return NULL;
}

static void begin(rig *r, uint64_t limit, uint64_t most_updates)
{
    r->source.ops->open(&r->source, limit, most_updates);
    assert_int_equal(pthread_create(&r->service, NULL, serve, &r->source), 0);
}

static void expect_none(rig *r, unsigned worker)
{
    drove_task task;
    assert_false(r->source.ops->next(&r->source, worker, true, &task));
}

/* The stretch is over: all workers park, and the thread ends. */
static void end(rig *r, uint64_t next)
{
    pthread_join(r->service, NULL);
    for (unsigned i = 0; i < N_WORKERS; i++) expect_none(r, i);
    assert_int_equal(atomic_load(&r->source.next), next);
}

static drove_task expect_task(rig *r, unsigned worker, uint64_t first, uint64_t n)
{
    drove_task task = {0};
    assert_true(r->source.ops->next(&r->source, worker, true, &task));
    assert_int_equal(task.number, first);
    assert_int_equal(task.first, first);
    assert_int_equal(task.n_rows, n);
    return task;
}

static void done(rig *r, unsigned worker, const drove_task *task, uint64_t n_updates)
{
    assert_true(r->source.ops->coordinator->accepts(&r->source, worker));
    r->source.ops->done(&r->source, worker, task, n_updates);
}

static void take(rig *r, unsigned worker, uint64_t first, uint64_t n)
{
    const drove_task task = expect_task(r, worker, first, n);
    done(r, worker, &task, 1);
}

static drove_assigned_facts facts(const rig *r, unsigned group)
{
    drove_assigned_facts f;
    drove__assigned_facts(&r->source, group, &f);
    return f;
}

static uint64_t busy_ns(const drove_assigned_facts *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < DROVE_TIMELINE_BUCKETS; i++) sum += f->busy->busy_ns[i];
    return sum;
}

/* ---- parts ---- */

FIXTURE(limit_time)
{
    (void)alarm(100); /* ends a stretch that nobody ends */
    return 0;
}

GROUP(limit_time, NULL);

/* Seven examples for two threads: four and three, and the second assignment while the first is
 * open.  Both groups get two at once: 0 to 13, and 14 to 27. */
TEST(threads_share_assignments)
{
    rig r;
    drove_task none;
    open_rig(&r, "hogbatch?tail=as-is&lr=linear");
    assert_int_equal(drove__assigned_groups(&r.source), N_GROUPS);
    r.source.train_ns = 10 * MS;
    begin(&r, 35, UINT64_MAX);
    const drove_task a = expect_task(&r, CORE_A, 0, 4), b = expect_task(&r, CORE_B, 4, 3);
    assert_true(a.lr_factor == 4.0 / 7.0 && b.lr_factor == 3.0 / 7.0);
    atomic_store(&time_ns, START_NS + 1 * MS);
    const drove_task c = expect_task(&r, CORE_A, 7, 4), d = expect_task(&r, CORE_A, 11, 3);
    assert_false(r.source.ops->next(&r.source, CORE_B, false, &none)); /* no more in hand */
    atomic_store(&time_ns, START_NS + 2 * MS);
    done(&r, CORE_B, &b, 1);
    assert_false(r.source.ops->next(&r.source, CORE_B, false, &none)); /* half is no report */
    done(&r, CORE_A, &a, 2);                                           /* busy from 0 to 2 ms */
    atomic_store(&time_ns, START_NS + 3 * MS);
    done(&r, CORE_A, &d, 1);
    done(&r, CORE_A, &c, 1); /* from 1 ms on, and from 2 ms on not counted yet */
    atomic_store(&time_ns, START_NS + 5 * MS);
    const drove_task e = expect_task(&r, CORE_B, 28, 4), f = expect_task(&r, CORE_A, 32, 3);
    atomic_store(&time_ns, START_NS + 6 * MS);
    done(&r, CORE_A, &f, 1);
    done(&r, CORE_B, &e, 1);
    take(&r, DEVICE, 14, 7);
    take(&r, DEVICE, 21, 7);
    end(&r, 35);
    const drove_assigned_facts cores = facts(&r, CORES), device = facts(&r, OF_DEVICE);
    assert_string_equal(cores.name, "threads:2");
    assert_int_equal(cores.n_workers, 2);
    assert_int_equal(cores.coord.n_batches, 3);
    assert_int_equal(cores.coord.n_examples, 21);
    assert_int_equal(cores.coord.n_updates, 7);
    assert_int_equal(busy_ns(&cores), 4 * MS);
    assert_int_equal(cores.busy->end_ns, 16 * MS);
    assert_string_equal(device.name, "opencl:0");
    assert_int_equal(device.coord.n_batches, 2);
    assert_int_equal(device.coord.n_updates, 2);
    assert_int_equal(busy_ns(&device), 0);
    assert_int_equal(r.n_said, 0);
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_OK);
    close_rig(&r);
}

/* One thread has a part of the first assignment in hand while the other makes whole ones: more than
 * there are cells for, so that these are used again, but not the first. */
TEST(a_slow_part_keeps_its_assignment)
{
    enum { N = 11, OF_EACH = 7 };
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    (void)drove__fail(DROVE_E_SYSTEM, "absent");
    r.source.ops->leave(&r.source, DEVICE);
    begin(&r, N * OF_EACH, UINT64_MAX);
    const drove_task slow = expect_task(&r, CORE_A, 0, 4);
    take(&r, CORE_B, 4, 3);
    for (uint64_t i = 1; i < N; i++) {
        take(&r, CORE_B, i * OF_EACH, 4);
        take(&r, CORE_B, i * OF_EACH + 4, 3);
    }
    done(&r, CORE_A, &slow, 1);
    end(&r, N * OF_EACH);
    const drove_assigned_facts cores = facts(&r, CORES);
    assert_int_equal(cores.coord.n_batches, N);
    assert_int_equal(cores.coord.n_examples, N * OF_EACH);
    assert_int_equal(cores.coord.n_updates, 2 * N);
    close_rig(&r);
}

/* Both groups work in every stretch.  A halt that comes between two of them is of neither. */
TEST(stretches_follow_each_other)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    for (uint64_t first = 0; first < 3 * 42; first += 42) {
        begin(&r, first + 42, UINT64_MAX);
        for (uint64_t at = first; at < first + 14; at += 7) {
            take(&r, DEVICE, at + 14, 7);
            take(&r, CORE_A, at, 4);
            take(&r, CORE_A, at + 4, 3);
        }
        take(&r, DEVICE, first + 28, 7); /* by the first reports */
        take(&r, CORE_A, first + 35, 4);
        take(&r, CORE_A, first + 39, 3);
        end(&r, first + 42);
        r.source.ops->halt(&r.source);
    }
    assert_int_equal(facts(&r, CORES).coord.n_batches, 9);
    assert_int_equal(facts(&r, OF_DEVICE).coord.n_batches, 9);
    close_rig(&r);
}

TEST(a_halt_gives_out_nothing_new)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    begin(&r, 900, UINT64_MAX);
    const drove_task a = expect_task(&r, DEVICE, 14, 7);
    r.source.ops->halt(&r.source);
    done(&r, DEVICE, &a, 1); /* after the halt, in the same queue */
    for (uint64_t first = 0; first < 14; first += 7) {
        take(&r, CORE_A, first, 4);
        take(&r, CORE_B, first + 4, 3);
    }
    take(&r, DEVICE, 21, 7);
    end(&r, 28);
    begin(&r, 35, UINT64_MAX); /* the next stretch goes on there, with another group */
    take(&r, CORE_A, 28, 4);
    take(&r, CORE_A, 32, 3);
    end(&r, 35);
    close_rig(&r);
}

/* Of 12 updates 10 are published: two more, and what was given out by then. */
TEST(updates_have_a_limit)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    atomic_store(&r.sync.published, 10);
    begin(&r, 900, 12);
    take(&r, CORE_A, 0, 4);
    take(&r, CORE_A, 4, 3);
    take(&r, CORE_A, 7, 4);
    take(&r, CORE_A, 11, 3);
    take(&r, DEVICE, 14, 7);
    take(&r, DEVICE, 21, 7);
    end(&r, 28);
    atomic_store(&r.sync.published, 15);
    begin(&r, 900, 12);
    end(&r, 28);
    begin(&r, 35, UINT64_MAX);
    take(&r, CORE_B, 28, 4);
    take(&r, CORE_B, 32, 3);
    end(&r, 35);
    close_rig(&r);
}

/* ---- steps by the coordinator ---- */

TEST(the_coordinator_publishes)
{
    rig r;
    const drove_step step = {.eta = 0.5f}, bad = {.eta = 2.0f};
    drove_publish_info info = {0};
    open_rig(&r, "hogbatch?tail=as-is&update=coordinator");
    assert_true(r.source.publishes);
    begin(&r, 14, UINT64_MAX); /* one assignment each */
    const drove_task a = expect_task(&r, CORE_A, 0, 4), b = expect_task(&r, CORE_A, 4, 3),
                     c = expect_task(&r, DEVICE, 7, 7);
    assert_int_equal(r.source.ops->coordinator->publish(&r.source, CORE_A, &a, &step, &info),
                     DROVE_OK);
    assert_int_equal(info.attempts, 1);
    assert_int_equal(r.n_published, 1);
    assert_int_equal(r.source.ops->coordinator->publish(&r.source, CORE_B, &b, &bad, &info),
                     DROVE_E_NONFINITE);
    assert_int_equal(info.attempts, 2);
    assert_int_equal(r.source.ops->coordinator->publish(&r.source, DEVICE, &c, &step, &info),
                     DROVE_OK);
    assert_int_equal(info.attempts, 3);
    end(&r, 14);
    assert_int_equal(r.n_published, 3);
    assert_int_equal(facts(&r, CORES).coord.n_updates, 2);
    assert_int_equal(facts(&r, OF_DEVICE).coord.n_updates, 1);
    begin(&r, 28, UINT64_MAX); /* the device's lock is free again */
    const drove_task d = expect_task(&r, DEVICE, 21, 7);
    assert_int_equal(r.source.ops->coordinator->publish(&r.source, DEVICE, &d, &step, &info),
                     DROVE_OK);
    take(&r, CORE_A, 14, 4);
    take(&r, CORE_A, 18, 3);
    end(&r, 28);
    assert_int_equal(facts(&r, CORES).coord.n_updates, 4);
    assert_int_equal(facts(&r, OF_DEVICE).coord.n_updates, 2);
    close_rig(&r);
    open_rig(&r, "hogbatch");
    assert_false(r.source.publishes);
    close_rig(&r);
}

/* ---- workers that are lost ---- */

static void expect_lost(rig *r, const char *reason)
{
    char line[256];
    snprintf(line, sizeof line, "worker opencl:0 is lost, its batch goes to others: %s", reason);
    assert_int_equal(r->source.ops->coordinator->check(&r->source), DROVE_OK);
    assert_int_equal(r->source.ops->coordinator->check(&r->source), DROVE_OK); /* said once */
    assert_int_equal(r->n_said, 1);
    assert_string_equal(r->said[0], line);
    assert_string_equal(facts(r, OF_DEVICE).lost, reason);
    assert_true(facts(r, OF_DEVICE).coord.is_lost);
    assert_null(facts(r, CORES).lost);
    assert_false(r->source.ops->coordinator->accepts(&r->source, DEVICE));
    const drove_step step = {.eta = 0.5f};
    const drove_task task = {0};
    drove_publish_info info;
    assert_int_equal(r->source.ops->coordinator->publish(&r->source, DEVICE, &task, &step, &info),
                     DROVE_E_SYSTEM);
}

static void take_all(rig *r, uint64_t first, uint64_t limit)
{
    for (; first < limit; first += 7) {
        take(r, CORE_A, first, 4);
        take(r, CORE_B, first + 4, 3);
    }
}

TEST(what_a_failed_device_had_goes_to_others)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    begin(&r, 28, UINT64_MAX);
    (void)expect_task(&r, DEVICE, 14, 7);
    (void)drove__fail(DROVE_E_SYSTEM, "burnt");
    assert_true((r.source.ops->coordinator->failed)(&r.source, DEVICE));
    (void)drove__fail(DROVE_E_SYSTEM, "again");
    assert_true(
        (r.source.ops->coordinator->failed)(&r.source, DEVICE)); /* the first reason stays */
    take_all(&r, 0, 28);
    end(&r, 28);
    expect_lost(&r, "burnt");
    assert_int_equal(atomic_load(&r.n_silenced), 0);
    begin(&r, 42, UINT64_MAX); /* without it */
    take_all(&r, 28, 42);
    end(&r, 42);
    assert_false(r.source.ops->has_undone(&r.source, UINT64_MAX));
    close_rig(&r);
}

/* Twice its timeout after it was given the batch. */
TEST(a_silent_device_is_given_up)
{
    rig r;
    open_rig(&r, "hogbatch?tail=as-is");
    begin(&r, 28, UINT64_MAX);
    (void)expect_task(&r, DEVICE, 14, 7);
    take_all(&r, 0, 14);
    atomic_store(&time_ns, START_NS + 999 * MS);
    nanosleep(&(struct timespec){.tv_nsec = 5 * MS}, NULL);
    assert_int_equal(atomic_load(&r.n_silenced), 0);
    atomic_store(&time_ns, START_NS + 1000 * MS);
    take_all(&r, 14, 28);
    end(&r, 28);
    assert_int_equal(atomic_load(&r.n_silenced), 1);
    assert_int_equal(atomic_load(&r.silenced), DEVICE);
    expect_lost(&r, "no answer for 1 s");
    close_rig(&r);
}

/* Between two stretches, before the first, or by the word of the controlling thread. */
TEST(a_lost_device_gets_nothing)
{
    rig r;
    open_rig_of(&r, "hogbatch?tail=as-is", "not there");
    begin(&r, 28, UINT64_MAX);
    take_all(&r, 0, 28);
    end(&r, 28);
    expect_lost(&r, "not there");
    close_rig(&r);

    open_rig(&r, "hogbatch?tail=as-is");
    (void)drove__fail(DROVE_E_SYSTEM, "too slow to score");
    r.source.ops->leave(&r.source, DEVICE);
    (void)drove__fail(DROVE_E_SYSTEM, "again");
    r.source.ops->leave(&r.source, DEVICE);
    begin(&r, 28, UINT64_MAX);
    take_all(&r, 0, 28);
    end(&r, 28);
    expect_lost(&r, "too slow to score");
    close_rig(&r);
}

TEST(nobody_is_left)
{
    rig r;
    drove_task none;
    open_rig(&r, "hogbatch?tail=as-is");
    begin(&r, 35, UINT64_MAX);
    (void)expect_task(&r, CORE_A, 0, 4);
    (void)drove__fail(DROVE_E_SYSTEM, "device");
    assert_true((r.source.ops->coordinator->failed)(&r.source, DEVICE));
    (void)drove__fail(DROVE_E_SYSTEM, "cores");
    assert_false((r.source.ops->coordinator->failed)(&r.source,
                                                     CORE_B)); /* where cores fail, it is the run */
    assert_false(r.source.ops->next(&r.source, CORE_A, true, &none));
    pthread_join(r.service, NULL);
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "no worker is left of 2: the last one said: cores");
    assert_int_equal(r.n_said, 2);
    assert_true(r.source.ops->has_undone(&r.source, UINT64_MAX));
    close_rig(&r);
}

/* The last one to be lost has the word: by its failure, by its silence, or between stretches. */
TEST(the_last_one_says_why)
{
    rig r;
    drove_task none;
    open_rig(&r, "hogbatch?tail=as-is");
    begin(&r, 35, UINT64_MAX);
    (void)drove__fail(DROVE_E_SYSTEM, "cores");
    assert_false((r.source.ops->coordinator->failed)(&r.source, CORE_A));
    (void)drove__fail(DROVE_E_SYSTEM, "device");
    assert_true((r.source.ops->coordinator->failed)(&r.source, DEVICE));
    pthread_join(r.service, NULL);
    assert_false(r.source.ops->next(&r.source, DEVICE, true, &none));
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "no worker is left of 2: the last one said: device");
    close_rig(&r);

    open_rig(&r, "hogbatch?tail=as-is");
    begin(&r, 21, UINT64_MAX);
    take_all(&r, 0, 14); /* the cores have nothing more in hand, the device has one batch */
    (void)drove__fail(DROVE_E_SYSTEM, "cores");
    assert_false((r.source.ops->coordinator->failed)(&r.source, CORE_A));
    atomic_store(&time_ns, START_NS + 1000 * MS);
    pthread_join(r.service, NULL);
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(),
                        "no worker is left of 2: the last one said: no answer for 1 s");
    assert_true(r.source.ops->has_undone(&r.source, UINT64_MAX)); /* one range */
    close_rig(&r);

    open_rig(&r, "hogbatch?tail=as-is");
    (void)drove__fail(DROVE_E_SYSTEM, "cores");
    r.source.ops->leave(&r.source, CORE_B);
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_OK);
    (void)drove__fail(DROVE_E_SYSTEM, "device");
    r.source.ops->leave(&r.source, DEVICE);
    assert_int_equal(r.source.ops->coordinator->check(&r.source),
                     DROVE_E_SYSTEM); /* without a stretch */
    begin(&r, 14, UINT64_MAX);
    pthread_join(r.service, NULL);
    assert_int_equal(r.source.ops->coordinator->check(&r.source), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "no worker is left of 2: the last one said: device");
    close_rig(&r);
}

static void *wait_for_work(void *argument)
{
    drove_task task;
    rig *r = argument;
    return r->source.ops->next(&r->source, CORE_A, true, &task) ? argument : NULL;
}

/* A core that waits for work, with the coordinator, on words of the given clock: where the other
 * core fails it ends. */
TEST(a_failure_wakes_a_waiting_worker)
{
    rig r;
    pthread_t waiting;
    void *got = &r;
    open_rig(&r, "hogbatch?tail=as-is");
    begin(&r, 28, UINT64_MAX);
    (void)expect_task(&r, CORE_B, 0, 4);
    (void)expect_task(&r, CORE_B, 4, 3);
    (void)expect_task(&r, CORE_B, 7, 4);
    (void)expect_task(&r, CORE_B, 11, 3);
    atomic_store(&first_word, NULL);
    atomic_store(&second_word, NULL);
    assert_int_equal(pthread_create(&waiting, NULL, wait_for_work, &r), 0);
    while (atomic_load(&second_word) == NULL) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    (void)drove__fail(DROVE_E_SYSTEM, "cores");
    assert_false((r.source.ops->coordinator->failed)(&r.source, CORE_B));
    pthread_join(waiting, &got);
    assert_null(got);
    for (uint64_t first = 14; first < 28; first += 7) take(&r, DEVICE, first, 7);
    take(&r, DEVICE, 0, 7);
    take(&r, DEVICE, 7, 7);
    end(&r, 28);
    close_rig(&r);
}
