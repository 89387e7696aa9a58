/* The coordinator as a source of batches: several groups of several threads, some of which fail,
 * fall silent or are slow, and halts at any moment.  Whatever happens, every position below the
 * limit is done exactly once.  ctest: timeout=600 */
#include "source_cases.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/racy.h"
#include "base/rng.h"
#include "coord/assigned.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Two groups of cores, of four and three threads, and two devices. */
enum { THREADS_A = 4, THREADS_B = 3, DEVICES = 2, WORKERS = THREADS_A + THREADS_B + DEVICES };
enum { GROUPS = 2 + DEVICES, FIRST_DEVICE = THREADS_A + THREADS_B, FIRST_DEVICE_GROUP = 2 };
enum { ROWS = 5000, POSITIONS = DROVE_TSAN ? 20000 : 60000, BATCH = 16 };

static drove_source_worker worker[WORKERS];

static void make_workers(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        bool is_device = i >= FIRST_DEVICE;
        worker[i] = (drove_source_worker){.name = is_device ? "fake" : "cpu",
                                          .group = is_device ? FIRST_DEVICE_GROUP + i - FIRST_DEVICE
                                                             : i >= THREADS_A,
                                          .is_device = is_device,
                                          .n_cores = 1,
                                          .least = is_device ? 8 : 0,
                                          .most = is_device ? 64 : 0};
    }
}

static const char *const specs[] = {"adaptive", "hogbatch", "hogbatch:mixed",
                                    "adaptive?update=coordinator", "hogbatch?update=coordinator"};

static source_setup setup_of(const char *spec)
{
    make_workers();
    return (source_setup){.ops = &drove__source_assigned,
                          .spec = spec,
                          .n_workers = WORKERS,
                          .n_groups = GROUPS,
                          .worker = worker,
                          .n_rows = ROWS,
                          .batch = BATCH};
}

/* What the coordinator has counted is what was done. */
static void check_counts(const source_rig *rig, uint64_t n)
{
    uint64_t n_updates = 0, n_examples = 0;
    for (unsigned g = 0; g < drove__assigned_groups(&rig->source); g++) {
        drove_assigned_facts facts;
        drove__assigned_facts(&rig->source, g, &facts);
        n_updates += facts.coord.n_updates;
        n_examples += facts.coord.n_examples;
    }
    assert_int_equal(atomic_load(&rig->source.next), n);
    source_rig_check(rig, n);
    assert_int_equal(n_examples, n);
    assert_int_equal(n_updates, atomic_load(&rig->n_tasks));
    assert_int_equal(atomic_load(&rig->sync.published), atomic_load(&rig->n_tasks));
}

/* Groups were busy while they trained. */
static void check_busy(const source_rig *rig, uint64_t trained_ns)
{
    uint64_t sum = 0;
    for (unsigned g = 0; g < drove__assigned_groups(&rig->source); g++) {
        drove_assigned_facts facts;
        drove__assigned_facts(&rig->source, g, &facts);
        assert_true(facts.busy->end_ns <= trained_ns);
        for (unsigned i = 0; i < DROVE_TIMELINE_BUCKETS; i++) sum += facts.busy->busy_ns[i];
    }
    assert_true(sum > 0 && sum <= trained_ns * drove__assigned_groups(&rig->source));
}

TEST(every_position_once)
{
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        const source_setup setup = setup_of(specs[i]);
        source_rig rig;
        source_rig_open(&rig, &setup, POSITIONS);
        for (uint64_t limit = POSITIONS / 4; limit <= POSITIONS; limit += POSITIONS / 4) {
            uint64_t begin_ns = drove__now_ns();
            source_rig_train(&rig, limit);
            rig.source.train_ns += drove__now_ns() - begin_ns;
            check_counts(&rig, limit);
            check_busy(&rig, rig.source.train_ns);
        }
        source_rig_close(&rig);
    }
}

TEST(halts_at_any_moment)
{
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        const source_setup setup = setup_of(specs[i]);
        source_check_all(&setup);
    }
}

/* ---- slow threads ---- */

static void rest_us(unsigned n)
{
    const struct timespec t = {.tv_nsec = (long)n * 1000};
    (void)nanosleep(&t, NULL);
}

/* One thread of each group of cores is now and then slower than the others are with many whole
 * assignments. */
static bool dawdle(source_rig *rig, unsigned w, const drove_task *task)
{
    if ((w == 0 || w == THREADS_A) && rig->n_by[w] % 16 == 3) rest_us(4000);
    if (task->number % 64 == 5) sched_yield();
    return true;
}

TEST(a_slow_thread_holds_up_nobody)
{
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        const source_setup setup = setup_of(specs[i]);
        source_rig rig;
        source_rig_open(&rig, &setup, POSITIONS);
        rig.work = dawdle;
        source_rig_train(&rig, POSITIONS);
        check_counts(&rig, POSITIONS);
        source_rig_close(&rig);
    }
}

/* ---- devices that are lost ---- */

/* The first device is to be lost whatever the scheduler does, so the others leave it enough to do:
 * before their first report they are given one batch at a time, and behind one a fast device may be
 * given all that is left. */
static void leave_some(source_rig *rig)
{
    while (!atomic_load(&rig->is_lost[FIRST_DEVICE])) rest_us(100);
}

/* The first device fails in its sixth task; its worker's thread says so. */
static bool fails(source_rig *rig, unsigned w, const drove_task *task)
{
    (void)task;
    if (w != FIRST_DEVICE) leave_some(rig);
    if (w != FIRST_DEVICE || rig->n_by[w] < 5) return true;
    (void)drove__fail(DROVE_E_SYSTEM, "it burns");
    assert_true(
        (rig->source.ops->coordinator->failed)(&rig->source, w)); /* cmocka has a macro fail */
    return false;
}

/* It hangs, is given up, and comes back with its step. */
static bool falls_silent(source_rig *rig, unsigned w, const drove_task *task)
{
    (void)task;
    if (w != FIRST_DEVICE) leave_some(rig);
    if (w != FIRST_DEVICE || rig->n_by[w] < 5) return true;
    while (!atomic_load(&rig->is_lost[w])) rest_us(1000);
    return true;
}

static void lose_a_device(source_work_fn *work, double timeout_s, const char *why)
{
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        const source_setup setup = setup_of(specs[i]);
        drove_assigned_facts facts;
        source_rig rig;
        worker[FIRST_DEVICE].timeout_s = timeout_s;
        source_rig_open(&rig, &setup, POSITIONS);
        rig.work = work;
        for (uint64_t limit = POSITIONS / 2; limit <= POSITIONS; limit += POSITIONS / 2) {
            source_rig_train(&rig, limit);
            source_rig_check(&rig, limit);
            assert_int_equal(rig.source.ops->coordinator->check(&rig.source), DROVE_OK);
        }
        check_counts(&rig, POSITIONS);
        drove__assigned_facts(&rig.source, FIRST_DEVICE_GROUP, &facts);
        assert_true(facts.coord.is_lost);
        assert_non_null(strstr(facts.lost, why));
        assert_true(rig.n_by[FIRST_DEVICE] <= 5);
        assert_int_equal(atomic_load(&rig.n_silenced), work == falls_silent);
        source_rig_close(&rig);
    }
}

TEST(what_a_failed_device_had_is_done_by_others)
{
    lose_a_device(fails, 0.0, "it burns");
}

TEST(what_a_silent_device_had_is_done_by_others)
{
    lose_a_device(falls_silent, 0.05, "no answer for 0.1 s");
}

/* All groups are devices, and all fail: what was not done is told, and nobody hangs. */
static bool all_fail(source_rig *rig, unsigned w, const drove_task *task)
{
    (void)task;
    if (rig->n_by[w] < 5 + w) return true;
    (void)drove__fail(DROVE_E_SYSTEM, "it burns");
    assert_true(
        (rig->source.ops->coordinator->failed)(&rig->source, w)); /* cmocka has a macro fail */
    return false;
}

TEST(nobody_is_left)
{
    source_setup setup = setup_of("hogbatch");
    source_rig rig;
    setup.worker = &worker[FIRST_DEVICE];
    setup.n_workers = setup.n_groups = DEVICES;
    for (unsigned i = 0; i < DEVICES; i++) worker[FIRST_DEVICE + i].group = i;
    source_rig_open(&rig, &setup, POSITIONS);
    rig.work = all_fail;
    source_rig_train(&rig, POSITIONS);
    assert_int_equal(rig.source.ops->coordinator->check(&rig.source), DROVE_E_SYSTEM);
    assert_non_null(strstr(drove_error_text(), "no worker is left of 2: the last one said: it bu"));
    assert_true(rig.source.ops->has_undone(&rig.source, UINT64_MAX));
    for (uint64_t i = 0; i < POSITIONS; i++) assert_true(rig.times[i] <= 1);
    assert_int_equal(atomic_load(&rig.n_tasks), 5 + 6);
    source_rig_close(&rig);
}
