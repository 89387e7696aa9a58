/* The message queue: order, full and empty, time-outs, threads that sleep; every message once. */
#include "coord/queue.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/mem.h"
#include "support/actors.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PRODUCERS = 4 };

typedef struct item {
    uint64_t producer, number;
    uint64_t check; /* a third word, so that half an item would be seen */
} item;

static item make_item(uint64_t producer, uint64_t number)
{
    return (item){producer, number, producer * 1000003u + number * 7919u + 1};
}

static drove_queue *make(size_t capacity, size_t item_bytes)
{
    drove_queue *q;
    if (drove__queue_create(capacity, item_bytes, &q) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    return q;
}

TEST(one_thread_puts_and_gets_in_order)
{
    static const size_t capacities[] = {0, 1, 2, 3, 8, 100};
    for (size_t i = 0; i < DROVE_COUNT(capacities); i++) {
        drove_queue *q = make(capacities[i], sizeof(int));
        int in = 0, out = 0, found;
        assert_false(drove__queue_try_get(q, &found));
        for (int round = 0; round < 50; round++) {
            while (drove__queue_try_put(q, &in)) in++;
            assert_true((size_t)(in - out) >= capacities[i] && in > out);
            while (in - out > round % 2) { /* now and then one stays in */
                assert_true(drove__queue_try_get(q, &found));
                assert_int_equal(found, out++);
            }
        }
        while (drove__queue_try_get(q, &found)) assert_int_equal(found, out++);
        assert_int_equal(in, out);
        drove__queue_destroy(q);
    }
    drove__queue_destroy(NULL);
}

TEST(items_of_any_size_come_through_whole)
{
    static const size_t sizes[] = {1, 3, 8, 55, 56, 57, 64, 96, 300};
    for (size_t i = 0; i < DROVE_COUNT(sizes); i++) {
        unsigned char in[300], out[302];
        drove_queue *q = make(4, sizes[i]);
        for (unsigned round = 0; round < 40; round++) {
            for (size_t k = 0; k < sizes[i]; k++) in[k] = (unsigned char)(round * 31 + k);
            memset(out, 0xa5, sizeof out);
            assert_true(drove__queue_try_put(q, in));
            assert_true(drove__queue_try_get(q, out + 1));
            assert_memory_equal(out + 1, in, sizes[i]);
            assert_int_equal(out[0], 0xa5);
            assert_int_equal(out[sizes[i] + 1], 0xa5);
        }
        drove__queue_destroy(q);
    }
}

TEST(too_large_a_queue_is_refused)
{
    drove_queue *q = (drove_queue *)(void *)&q;
    assert_int_equal(drove__queue_create(SIZE_MAX, 8, &q), DROVE_E_NOMEM);
    assert_null(q);
}

TEST(an_empty_queue_keeps_its_time)
{
    drove_queue *q = make(8, sizeof(int));
    int found;
    assert_false(drove__queue_get(q, &found, 0));
    for (uint64_t wait_ns = 1000; wait_ns <= 20000000; wait_ns *= 20) {
        uint64_t until_ns = drove__now_ns() + wait_ns;
        assert_false(drove__queue_get(q, &found, until_ns));
        assert_true(drove__now_ns() >= until_ns);
    }
    int in = 5;
    assert_true(drove__queue_try_put(q, &in));
    assert_true(drove__queue_get(q, &found, 0)); /* what is there is given even then */
    assert_int_equal(found, 5);
    drove__queue_destroy(q);
}

/* ---- threads ---- */

typedef struct scene {
    drove_queue *q;
    uint64_t n_each, pause_every;
    _Atomic uint64_t n_put;
} scene;

typedef struct producer {
    scene *in;
    uint64_t index;
    pthread_t thread;
} producer;

static void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void *produce(void *argument)
{
    producer *me = argument;
    scene *s = me->in;
    for (uint64_t i = 0; i < s->n_each; i++) {
        item it = make_item(me->index, i);
        if (s->pause_every > 0 && i % s->pause_every == me->index) nap(50000);
        drove__queue_put(s->q, &it);
        atomic_fetch_add(&s->n_put, 1);
    }
    return NULL;
}

static void start(scene *s, producer *producers, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        producers[i] = (producer){.in = s, .index = i};
        assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
    }
}

/* Takes all messages and checks that each comes once, whole, and in the order of its producer. */
static void take_all(scene *s, unsigned n_producers, uint64_t consumer_pause_every)
{
    uint64_t next[MOST_PRODUCERS] = {0};
    for (uint64_t i = 0; i < s->n_each * n_producers; i++) {
        item found;
        if (consumer_pause_every > 0 && i % consumer_pause_every == 0) nap(50000);
        assert_true(drove__queue_get(s->q, &found, UINT64_MAX));
        assert_true(found.producer < n_producers);
        item expected = make_item(found.producer, next[found.producer]++);
        assert_memory_equal(&found, &expected, sizeof found);
    }
    item none;
    assert_false(drove__queue_try_get(s->q, &none));
}

TEST(each_message_comes_once_and_in_order)
{
    static const struct {
        size_t capacity;
        uint64_t n_each, producer_pause, consumer_pause;
    } cases[] = {
        {1024, 20000, 0, 0}, /* everyone awake */
        {2, 20000, 0, 0},    /* nearly always full or empty: all sleep all the time */
        {16, 400, 20, 0},    /* the consumer sleeps */
        {16, 400, 0, 20},    /* the producers do */
        {4, 400, 17, 23},    /* in turn */
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        for (unsigned n = 1; n <= MOST_PRODUCERS; n++) {
            producer producers[MOST_PRODUCERS];
            scene s = {.q = make(cases[i].capacity, sizeof(item)),
                       .n_each = cases[i].n_each,
                       .pause_every = cases[i].producer_pause};
            start(&s, producers, n);
            take_all(&s, n, cases[i].consumer_pause);
            for (unsigned p = 0; p < n; p++) pthread_join(producers[p].thread, NULL);
            drove__queue_destroy(s.q);
        }
    }
}

/* A full queue puts its producers to sleep: processor time of the process does not grow. */
TEST(a_full_queue_lets_its_producers_sleep)
{
    enum { CAPACITY = 8, EACH = 10 };
    producer producers[2];
    scene s = {.q = make(CAPACITY, sizeof(item)), .n_each = EACH};
    start(&s, producers, 2);
    while (atomic_load(&s.n_put) < CAPACITY) nap(1000000);
    nap(20000000);
    assert_int_equal(atomic_load(&s.n_put), CAPACITY);
    clock_t before = clock();
    nap(200000000);
    assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 0.05);
    assert_int_equal(atomic_load(&s.n_put), CAPACITY);
    take_all(&s, 2, 0);
    for (unsigned p = 0; p < 2; p++) pthread_join(producers[p].thread, NULL);
    drove__queue_destroy(s.q);
}

/* So does an empty one its consumer, with a deadline and without; a message wakes it at once. */
TEST(an_empty_queue_lets_its_consumer_sleep)
{
    scene s = {.q = make(8, sizeof(item)), .n_each = 1};
    item found;
    clock_t before = clock();
    assert_false(drove__queue_get(s.q, &found, drove__now_ns() + 200000000));
    assert_true((double)(clock() - before) / CLOCKS_PER_SEC < 0.05);
    producer p;
    s.pause_every = 1; /* it comes 50 us late */
    start(&s, &p, 1);
    uint64_t begin_ns = drove__now_ns();
    assert_true(drove__queue_get(s.q, &found, begin_ns + 60000000000u));
    assert_true(drove__now_ns() - begin_ns < 30000000000u);
    pthread_join(p.thread, NULL);
    drove__queue_destroy(s.q);
}

/* ---- a virtual clock ---- */

enum { FULL_NS = 100, N_VIRTUAL = 3, ROOM = 8 };

/* Actor 0 takes everything from FULL_NS on; the others put one message each into a full queue. */
static void put_or_take(unsigned actor, void *context)
{
    scene *s = context;
    if (actor > 0) {
        item more = make_item(actor, 0);
        drove__queue_put(s->q, &more);
        assert_true(drove__now_ns() >= FULL_NS);
        return;
    }
    item found;
    drove__virtual_spend(FULL_NS);
    for (int i = 0; i < ROOM + N_VIRTUAL - 1; i++)
        assert_true(drove__queue_get(s->q, &found, UINT64_MAX));
}

/* The queue is the one on which workers of a modelled machine wait for room. */
TEST(a_full_queue_lets_producers_sleep_on_a_virtual_clock)
{
    scene s = {.q = make(ROOM, sizeof(item))};
    drove_virtual *on;
    assert_int_equal(drove__virtual_create(N_VIRTUAL + 1, 1, &on), DROVE_OK);
    drove__queue_use_clock(s.q, drove__virtual_clock(on));
    item first = make_item(0, 0);
    for (int i = 0; i < ROOM; i++) assert_true(drove__queue_try_put(s.q, &first));
    assert_true(run_actors(on, N_VIRTUAL, put_or_take, &s) >= FULL_NS);
    drove__virtual_destroy(on);
    drove__queue_destroy(s.q);
}
