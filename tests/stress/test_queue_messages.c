/* A million messages from four producers through a small queue: none is lost, doubled, torn or out
 * of its producer's order.  DROVE_TEST_MESSAGES: another number (the long tests: 10^8). */
#include "coord/queue.h"

#include "support/strategies.h"

#include <pthread.h>
#include <stdlib.h>

enum { PRODUCERS = 4, CAPACITY = 256 };

typedef struct message {
    uint32_t producer;
    uint64_t number, check;
} message;

typedef struct producer {
    drove_queue *q;
    uint64_t n;
    uint32_t index;
    pthread_t thread;
} producer;

static uint64_t check_of(const message *m)
{
    return (m->number ^ ((uint64_t)m->producer << 40)) * 0x9e3779b97f4a7c15u;
}

static void *produce(void *argument)
{
    producer *me = argument;
    for (uint64_t i = 0; i < me->n; i++) {
        message m = {.producer = me->index, .number = i};
        m.check = check_of(&m);
        drove__queue_put(me->q, &m);
    }
    return NULL;
}

static uint64_t n_messages(void)
{
    const char *text = getenv("DROVE_TEST_MESSAGES");
    return text != NULL ? strtoull(text, NULL, 10) : 1000000u / STEPS_DIVISOR;
}

TEST(none_is_lost_or_doubled)
{
    producer producers[PRODUCERS];
    uint64_t n = n_messages() / PRODUCERS, next[PRODUCERS] = {0}, sum = 0;
    drove_queue *q;
    assert_int_equal(drove__queue_create(CAPACITY, sizeof(message), &q), DROVE_OK);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer){.q = q, .n = n, .index = i};
        assert_int_equal(pthread_create(&producers[i].thread, NULL, produce, &producers[i]), 0);
    }
    for (uint64_t i = 0; i < n * PRODUCERS; i++) {
        message m;
        bool is_right = drove__queue_get(q, &m, UINT64_MAX) && m.producer < PRODUCERS &&
                        m.check == check_of(&m) && m.number == next[m.producer];
        if (!is_right)
            fail_msg("message %llu: producer %u, number %llu", (unsigned long long)i, m.producer,
                     (unsigned long long)m.number);
        next[m.producer]++;
        sum += m.number;
    }
    message none;
    for (uint32_t i = 0; i < PRODUCERS; i++) pthread_join(producers[i].thread, NULL);
    assert_false(drove__queue_try_get(q, &none));
    for (uint32_t i = 0; i < PRODUCERS; i++) assert_int_equal(next[i], n);
    assert_int_equal(sum, PRODUCERS * (n * (n - 1) / 2));
    drove__queue_destroy(q);
}
