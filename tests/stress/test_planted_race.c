/* tests/stress/test_planted_race.c - is ThreadSanitizer awake?
 *
 * Races are planted, one in the neighbourhood of each numbered race and of each kind of
 * synchronisation that is made by hand: a build with ThreadSanitizer must report each of them, or
 * its silence about everything else means nothing.  The same two threads without the mistake must
 * not be reported.  The test runs itself again in a child process for each, because a report ends
 * the process.  Other builds skip it.
 *
 * ctest: apart: starts itself again */
#include "base/cpu.h"
#include "base/racy.h"
#include "engine/host/team.h"
#include "kernel/kernel.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORTED = 66, N_STEPS = 1000, N = 32 };

static float shared_value; /* used by both threads, on purpose without order */
static int16_t shared_word;
static float vector[N], step[N];
static _Atomic unsigned flag;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static drovek_table kernels;

typedef void body_fn(void);

/* ---- R1 to R8: a value that somebody reads or writes plainly ---- */

static void add_plainly(void)
{
    shared_value += 1.0f;
}

static void add_racily(void)
{
    drove__racy_store(&shared_value, drove__racy_load(&shared_value) + 1.0f);
}

static void add_word_plainly(void)
{
    shared_word++;
}

static void add_word_racily(void)
{
    drove__racy_store_i16(&shared_word, (int16_t)(drove__racy_load_i16(&shared_word) + 1));
}

/* The kernels of an update and of a copy (R2, R3). */
static void step_by_kernel(void)
{
    kernels.sgd_f32(vector, vector, step, N, 1.0f);
}

static void copy_by_kernel(void)
{
    float copy[N];
    kernels.copy_f32(copy, vector, N);
}

static void copy_plainly(void)
{
    float copy[N];
    for (unsigned i = 0; i < N; i++) copy[i] = vector[i];
    flag += copy[N - 1] > 1e9f;
}

/* ---- synchronisation made by hand ---- */

/* A vector that is published by a word: Leashed-SGD, windows, the queue. */
static void publish(memory_order order)
{
    if (atomic_load_explicit(&flag, memory_order_acquire) != 0) return;
    vector[0] += 1.0f;
    atomic_store_explicit(&flag, 1, order);
}

static void take(memory_order order)
{
    if (atomic_load_explicit(&flag, order) != 1) return;
    vector[0] += 1.0f;
    atomic_store_explicit(&flag, 0, memory_order_release);
}

static void publish_released(void)
{
    publish(memory_order_release);
}

static void publish_relaxed(void)
{
    publish(memory_order_relaxed);
}

static void take_acquired(void)
{
    take(memory_order_acquire);
}

static void take_relaxed(void)
{
    take(memory_order_relaxed);
}

/* A try-lock of one word: the centre of replicas, of shared memory. */
static void with_word(memory_order taking, memory_order giving)
{
    unsigned is_free = 0;
    if (!atomic_compare_exchange_strong_explicit(&flag, &is_free, 1, taking, memory_order_relaxed))
        return;
    vector[0] += 1.0f;
    atomic_store_explicit(&flag, 0, giving);
}

static void hold_word(void)
{
    with_word(memory_order_acquire, memory_order_release);
}

static void hold_word_relaxed(void)
{
    with_word(memory_order_relaxed, memory_order_relaxed);
}

static void with_lock(void)
{
    pthread_mutex_lock(&lock);
    vector[0] += 1.0f;
    pthread_mutex_unlock(&lock);
}

static void without_lock(void)
{
    vector[0] += 1.0f;
}

/* ---- a team whose parts read what others write ---- */

static bool skips_meeting;

static void write_and_read(void *context, const drove_part *part)
{
    (void)context;
    for (unsigned i = 0; i < 20; i++) {
        vector[part->part] += 1.0f;
        if (!skips_meeting) part->meet(part->context, part->part);
        if (vector[1 - part->part] < 0.0f) abort();
        part->meet(part->context, part->part);
    }
}

static int run_team(bool skips)
{
    drove_team *team;
    skips_meeting = skips;
    if (drove__team_create(2, NULL, NULL, &team) != DROVE_OK) return 2;
    for (unsigned i = 0; i < 20; i++) drove__team_run(team, write_and_read, NULL);
    drove__team_destroy(team);
    return 0;
}

/* ---- the table ---- */

typedef struct planted {
    const char *name;
    body_fn *one, *other;
    bool is_reported;
} planted;

static const planted all[] = {
    {"plain", add_plainly, add_plainly, true},
    {"racy", add_racily, add_racily, false},
    {"racy and plain", add_racily, add_plainly, true},
    {"words, plain", add_word_plainly, add_word_racily, true},
    {"words, racy", add_word_racily, add_word_racily, false},
    {"kernels", step_by_kernel, copy_by_kernel, false},
    {"two kernels", step_by_kernel, step_by_kernel, false},
    {"kernel and plain", step_by_kernel, copy_plainly, true},
    {"published", publish_released, take_acquired, false},
    {"published without release", publish_relaxed, take_acquired, true},
    {"taken without acquire", publish_released, take_relaxed, true},
    {"held", hold_word, hold_word, false},
    {"held without order", hold_word_relaxed, hold_word_relaxed, true},
    {"lock", with_lock, with_lock, false},
    {"lock not taken", with_lock, without_lock, true},
    {"team", NULL, NULL, false},
    {"team, a meeting left out", NULL, NULL, true},
};

static void *run_body(void *body)
{
    for (int i = 0; i < N_STEPS; i++) {
        (*(body_fn **)body)();
        if (i % 16 == 0) sched_yield();
    }
    return NULL;
}

static int run_two(const planted *p)
{
    pthread_t thread[2];
    body_fn *body[2] = {p->one, p->other};
    if (p->one == NULL) return run_team(p->is_reported);
    if (drovek_select(&kernels, drove__cpu_features(), "ref") != DROVE_OK) return 2;
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&thread[i], NULL, run_body, &body[i]) != 0) return 2;
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    return 0;
}

int drove_test_started_again(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc == 2 && strcmp(argv[1], all[i].name) == 0) return run_two(&all[i]);
    return 2;
}

/* Exit status of this program run again with `what`. */
static int status_of_child(const char *what)
{
    if (access("/proc/self/exe", F_OK) != 0) {
        printf("skip: /proc is not mounted, by which this program starts itself\n");
        skip();
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("TSAN_OPTIONS", "exitcode=66:halt_on_error=1", 1);
        execl("/proc/self/exe", "test_planted_race", what, (char *)NULL);
        _exit(3);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(planted_races_are_reported)
{
    if (!DROVE_TSAN) {
        printf("skip: not a build with ThreadSanitizer\n");
        skip();
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int status = status_of_child(all[i].name);
        printf("%s: %s\n", all[i].name, status == REPORTED ? "reported" : "not reported");
        if (status != (all[i].is_reported ? REPORTED : 0))
            fail_msg("%s: status %d", all[i].name, status);
    }
}

TEST(nothing_else_is_reported)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i].is_reported) assert_int_equal(status_of_child(all[i].name), 0);
}
