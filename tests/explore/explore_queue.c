/* The message queue (src/coord/queue.c): two producers, one consumer, a ring of two cells, so that
 * all sides sleep in turn. */
#include "explorer.h"

#include "coord/queue.h"

typedef struct producer {
    drove_queue *q;
    unsigned first, n;
} producer;

static void produce(void *argument)
{
    const producer *p = argument;
    for (unsigned i = 0; i < p->n; i++) {
        uint64_t item = p->first + i;
        drove__queue_put(p->q, &item);
    }
}

static void consume(unsigned n_first, unsigned n_second)
{
    drove_queue *q;
    if (drove__queue_create(2, sizeof(uint64_t), &q) != DROVE_OK) explore_check(false, "created");
    producer a = {q, 100, n_first}, b = {q, 200, n_second};
    unsigned next_a = 100, next_b = 200;
    explore_spawn(produce, &a);
    if (n_second > 0) explore_spawn(produce, &b);
    for (unsigned i = 0; i < n_first + n_second; i++) {
        uint64_t item = 0;
        drove__queue_get(q, &item, UINT64_MAX);
        if (item == next_a) next_a++;
        else if (item == next_b) next_b++;
        else explore_check(false, "each item once, in its producer's order");
    }
    explore_join_all();
    uint64_t none;
    explore_check(!drove__queue_try_get(q, &none), "nothing is left");
}

static void one_producer(void)
{
    consume(3, 0);
}
static void two_producers(void)
{
    consume(1, 1);
}

/* Both sleep at a full ring: each is woken by a message that is taken. */
static void both_sleep(void)
{
    consume(2, 2);
}
static void both_sleep_often(void)
{
    consume(4, 4);
}

static const explore_survivor survivors[] = {
    {"drove__wait_wake_one: no wake-up", "of one: then all are woken"},
    {"drove__wait_wake_one: not seq_cst",
     "the exchange only decides who wakes: sleepers look again"},
    {"drove__wait_wake_one: no acquire", "the exchange passes nothing on"},
    {"drove__wait_wake_one: no release", "the exchange passes nothing on"},
    {"drove__wait_wake_one: not atomic", "the consumer alone withdraws it, and wakes behind it"},
    {"drove__wait_wake: not seq_cst", "the exchange only decides who wakes: sleepers look again"},
    {"drove__wait_wake: no acquire", "the exchange passes nothing on"},
    {"drove__wait_wake: no release", "the exchange passes nothing on"},
    {"drove__wait_wake: not atomic", "two wake: a sleeper more often awake than needed"},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    const explore_scenario scenarios[] = {
        {.name = "one producer, three items", .run = one_producer},
        {.name = "two producers, one item each", .run = two_producers},
        {.name = "two producers, two items each", .run = both_sleep, .n_preemptions = 1},
        {.name = "two producers, four items each", .run = both_sleep_often, .n_samples = 5000},
        {.name = "two producers, two items each, two stops",
         .run = both_sleep,
         .n_preemptions = 2,
         .is_long = true},
        {.name = NULL},
    };
    return explore_main(argc, argv, scenarios, survivors);
}
