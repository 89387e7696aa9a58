/* Memory, locks and sleeping that processes share: what a child writes is there for its parent, and
 * a child that is killed holding a lock, or sleeping, holds up nobody. */
#include "support.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/topo.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

typedef struct board { /* what parent and children share */
    pthread_mutex_t lock;
    _Atomic uint32_t word;
    _Atomic uint32_t ready;
} board;

static board *make_board(void)
{
    drove__memory_share_begin();
    board *b = drove__alloc(1, sizeof *b);
    assert_non_null(b);
    assert_int_equal(drove__lock_init(&b->lock), DROVE_OK);
    drove__memory_share_end();
    return b;
}

static void wait_until(_Atomic uint32_t *word, uint32_t value)
{
    uint32_t seen;
    while ((seen = atomic_load(word)) != value) drove__futex_wait(word, seen, UINT64_MAX);
}

static void set_word(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store(word, value);
    drove__futex_wake(word);
}

static void end(pid_t child)
{
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Writes into the last byte of a block, in a child; true: the parent sees it. */
static bool is_seen(char *block, size_t size_bytes)
{
    block[size_bytes - 1] = 1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        block[size_bytes - 1] = 2;
        _exit(0);
    }
    end(child);
    return block[size_bytes - 1] == 2;
}

TEST(test_memory_is_shared_inside_the_scope)
{
    static const size_t sizes[] = {1, 100, 4096, 100000, 4 * MIB - 1, 4 * MIB, 7 * MIB};
    drove_topo *topo;
    assert_int_equal(drove__topo_create(NULL, &topo), DROVE_OK);
    assert_false(drove__memory_is_shared());
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        drove__memory_share_begin();
        drove__memory_share_begin(); /* they nest */
        drove__memory_share_end();
        assert_true(drove__memory_is_shared());
        unsigned char *inside = drove__alloc(sizes[i], 1);
        char *vector = drove__topo_alloc(topo, sizes[i], 0);
        drove__memory_share_end();
        char *outside = drove__alloc(sizes[i], 1);
        assert_non_null(inside);
        assert_non_null(vector);
        assert_non_null(outside);
        assert_int_equal((uintptr_t)inside % 64, 0);
        for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(inside[j], 0);
        assert_true(is_seen((char *)inside, sizes[i]));
        assert_true(is_seen(vector, sizes[i]));
        assert_false(is_seen(outside, sizes[i]));
        drove__free(inside);
        drove__free(outside);
        drove__topo_free(topo, vector, sizes[i]);
    }
    assert_null((drove__memory_share_begin(), drove__alloc(SIZE_MAX, 1)));
    drove__memory_share_end();
    drove__topo_destroy(topo);
}

static void *ask(void *argument)
{
    *(bool *)argument = drove__memory_is_shared();
    return NULL;
}

TEST(test_the_scope_is_of_one_thread)
{
    pthread_t thread;
    bool shared = true;
    drove__memory_share_begin();
    assert_int_equal(pthread_create(&thread, NULL, ask, &shared), 0);
    pthread_join(thread, NULL);
    drove__memory_share_end();
    assert_false(shared);
}

TEST(test_a_lock_outlives_the_process_that_held_it)
{
    board *b = make_board();
    assert_true(drove__lock(&b->lock));
    pthread_mutex_unlock(&b->lock);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)drove__lock(&b->lock);
        set_word(&b->ready, 1);
        for (;;) pause();
    }
    wait_until(&b->ready, 1);
    assert_false(drove__lock_taken(&b->lock, pthread_mutex_trylock(&b->lock), NULL));
    kill(child, SIGKILL);
    end(child);
    assert_false(drove__lock(&b->lock)); /* what it protects may be half changed */
    pthread_mutex_unlock(&b->lock);
    assert_true(drove__lock(&b->lock)); /* that is told once */
    pthread_mutex_unlock(&b->lock);
    pthread_mutex_destroy(&b->lock);
    drove__free(b);
}

/* Three sleep on a word; one is killed asleep; the other two are woken. */
TEST(test_a_killed_sleeper_holds_up_nobody)
{
    board *b = make_board();
    pid_t child[3];
    for (int i = 0; i < 3; i++) {
        child[i] = fork();
        assert_true(child[i] >= 0);
        if (child[i] != 0) continue;
        atomic_fetch_add(&b->ready, 1);
        drove__futex_wake(&b->ready);
        wait_until(&b->word, 1);
        _exit(0);
    }
    wait_until(&b->ready, 3);
    kill(child[0], SIGKILL);
    end(child[0]);
    set_word(&b->word, 1);
    end(child[1]);
    end(child[2]);
    pthread_mutex_destroy(&b->lock);
    drove__free(b);
}

TEST(test_a_sleep_ends_at_its_time)
{
    _Atomic uint32_t word = 7;
    uint64_t begin = drove__now_ns();
    drove__futex_wait(&word, 6, UINT64_MAX); /* it has changed: no sleep */
    while (drove__now_ns() < begin + 2000000u) drove__futex_wait(&word, 7, begin + 2000000u);
    assert_true(drove__now_ns() >= begin + 2000000u);
}
