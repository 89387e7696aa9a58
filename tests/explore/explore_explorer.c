/* The explorer itself: small programs with a mistake that only a wake-up for no reason, a time
 * limit or a kill brings to light.  Each must be found; the same program without it must not. */
#include "explorer.h"

#include "base/futex.h"
#include "base/lock.h"

#include <stdlib.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_ready;
    unsigned n; /* plain, under the lock */
    _Atomic uint32_t word;
    bool loops; /* who is woken looks again */
} * run;

static void make(bool loops)
{
    run = aligned_alloc(64, 256);
    run->is_ready = false;
    run->n = 0;
    run->loops = loops;
    atomic_init(&run->word, 0);
    explore_check(drove__lock_init(&run->lock) == DROVE_OK, "a lock is made");
    (void)pthread_cond_init(&run->changed, NULL);
}

/* ---- a condition ---- */

static void set_ready(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&run->lock);
    run->is_ready = true;
    pthread_cond_signal(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

static void await_ready(bool loops, bool has_limit)
{
    make(loops);
    explore_spawn(set_ready, NULL);
    pthread_mutex_lock(&run->lock);
    while (!run->is_ready) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec++;
        if (has_limit) (void)pthread_cond_timedwait(&run->changed, &run->lock, &until);
        else pthread_cond_wait(&run->changed, &run->lock);
        if (!run->loops) break;
    }
    explore_check(run->is_ready, "what was waited for is there");
    pthread_mutex_unlock(&run->lock);
    explore_join_all();
}

static void looks_again(void)
{
    await_ready(true, false);
}
static void believes_a_wake(void)
{
    await_ready(false, false);
}
static void looks_again_in_time(void)
{
    await_ready(true, true);
}
static void believes_a_timeout(void)
{
    await_ready(false, true);
}

/* ---- a futex ---- */

static void set_word(void *unused)
{
    (void)unused;
    atomic_store(&run->word, 1);
    drove__futex_wake(&run->word);
}

static void await_word(bool loops)
{
    make(loops);
    explore_spawn(set_word, NULL);
    do {
        if (atomic_load(&run->word) == 0) drove__futex_wait(&run->word, 0, UINT64_MAX);
    } while (loops && atomic_load(&run->word) == 0);
    explore_check(atomic_load(&run->word) == 1, "what was waited for is there");
    explore_join_all();
}

static void word_looked_at_again(void)
{
    await_word(true);
}
static void word_believed(void)
{
    await_word(false);
}

/* ---- a lock, and who is killed with it ---- */

static void count(void *unused)
{
    (void)unused;
    (void)drove__lock(&run->lock);
    run->n++;
    pthread_mutex_unlock(&run->lock);
}

static void kill_the_holder(bool is_robust)
{
    make(true);
    if (!is_robust) (void)pthread_mutex_init(&run->lock, NULL);
    explore_spawn(count, NULL);
    explore_may_die(1);
    explore_spawn(count, NULL);
    explore_join_all();
    explore_check(run->n == 2 || explore_is_dead(1), "all are counted");
}

static void lock_goes_on(void)
{
    kill_the_holder(true);
}
static void lock_is_lost(void)
{
    kill_the_holder(false);
}

/* Looks every 20 ms for one that is dead and will never answer. */
static void await_the_dead(void)
{
    make(true);
    explore_spawn(set_word, NULL);
    explore_may_die(1);
    for (uint64_t until_ns = 1; atomic_load(&run->word) == 0; until_ns += 20000000)
        drove__futex_wait(&run->word, 0, until_ns);
    explore_join_all();
}

static void notice_the_dead(void)
{
    make(true);
    explore_spawn(set_word, NULL);
    explore_may_die(1);
    uint64_t until_ns = UINT64_C(1001000000000);
    while (atomic_load(&run->word) == 0 && !explore_is_dead(1)) {
        drove__futex_wait(&run->word, 0, until_ns);
        until_ns += 20000000;
    }
    explore_join_all();
}

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "a condition, looked at again", .run = looks_again},
        {.name = "a wake-up for no reason is believed",
         .run = believes_a_wake,
         .n_wakes = 1,
         .must_find = "what was waited for is there"},
        {.name = "a condition with a time limit", .run = looks_again_in_time},
        {.name = "a time limit is taken for an event",
         .run = believes_a_timeout,
         .n_timeouts = 1,
         .must_find = "what was waited for is there"},
        {.name = "a word, looked at again", .run = word_looked_at_again},
        {.name = "a word that has not changed",
         .run = word_believed,
         .n_wakes = 1,
         .must_find = "what was waited for is there"},
        {.name = "the holder of a robust lock is killed", .run = lock_goes_on, .n_kills = 1},
        {.name = "the holder of another lock is killed",
         .run = lock_is_lost,
         .n_kills = 1,
         .must_find = "nobody can go on"},
        {.name = "who is dead is noticed",
         .run = notice_the_dead,
         .n_kills = 1,
         .needs_time = true},
        {.name = "who is dead is waited for",
         .run = await_the_dead,
         .n_kills = 1,
         .needs_time = true,
         .must_find = "a run that does not end"},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, NULL);
}
