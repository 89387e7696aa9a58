/* bench/micro/coord.c - the coordinator and its messages: how many a second, how fast an answer,
 * how much of a core with 64 workers.  JSON lines.
 *
 *   queue        messages of 1 to 4 producers through one queue, and of 63 through one that is
 *                nearly always full; fastest of REPEATS
 *   round_trip   from a worker's ScheduleWork to the assignment in its hands, by way of a
 *                coordinator's thread; median and 99th percentile; both awake, and with a
 *                coordinator that has gone to sleep
 *   pool         64 workers that sleep as long as a batch takes: processor time of the
 *                coordinator's thread, as a share of a core
 */
#include "base/clock.h"
#include "base/mem.h"
#include "coord/coord.h"
#include "coord/queue.h"
#include "engine/fake/script.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PRODUCERS = 63 };
enum { REPEATS = 5, MESSAGES = 2000000, TRIPS = 20000, TRIPS_ASLEEP = 2000, WORKERS = 64 };

static void must(drove_status status)
{
    if (status == DROVE_OK) return;
    fprintf(stderr, "%s\n", drove_error_text());
    exit(1);
}

/* ---- queue ---- */

typedef struct producer {
    drove_queue *q;
    uint64_t n;
    pthread_t thread;
} producer;

static void *produce(void *argument)
{
    producer *me = argument;
    drove_coord_message m = {.verb = DROVE_COORD_SCHEDULE};
    for (m.id = 0; m.id < me->n; m.id++) drove__queue_put(me->q, &m);
    return NULL;
}

static double put_and_get(unsigned n_producers, size_t n_cells, uint64_t n_messages)
{
    producer p[MOST_PRODUCERS];
    drove_queue *q;
    must(drove__queue_create(n_cells, sizeof(drove_coord_message), &q));
    uint64_t begin_ns = drove__now_ns(), n = n_messages / n_producers;
    for (unsigned i = 0; i < n_producers; i++) {
        p[i] = (producer){.q = q, .n = n};
        pthread_create(&p[i].thread, NULL, produce, &p[i]);
    }
    for (uint64_t i = 0; i < n * n_producers; i++) {
        drove_coord_message m;
        (void)drove__queue_get(q, &m, UINT64_MAX);
    }
    double seconds = (double)(drove__now_ns() - begin_ns) / 1e9;
    for (unsigned i = 0; i < n_producers; i++) pthread_join(p[i].thread, NULL);
    drove__queue_destroy(q);
    return (double)(n * n_producers) / seconds;
}

static void bench_queue_of(unsigned n_producers, size_t n_cells, uint64_t n_messages)
{
    double best = 0.0;
    for (int r = 0; r < REPEATS; r++) {
        double rate = put_and_get(n_producers, n_cells, n_messages);
        if (rate > best) best = rate;
    }
    printf("{\"bench\": \"queue\", \"producers\": %u, \"cells\": %zu, \"item_bytes\": %zu, "
           "\"messages_per_s\": %.0f, \"ns\": %.1f}\n",
           n_producers, n_cells, sizeof(drove_coord_message), best, 1e9 / best);
}

static void bench_queue(void)
{
    for (unsigned n = 1; n <= 4; n++) bench_queue_of(n, 1024, MESSAGES);
    bench_queue_of(MOST_PRODUCERS, 16, MESSAGES / 50); /* most of them sleep */
}

/* ---- a coordinator with its thread ---- */

typedef struct pool {
    drove_coord *coord;
    drove_queue *to_coord, *to_worker[WORKERS];
    unsigned n_workers;
    uint64_t end_ns; /* when it is halted; UINT64_MAX: when the stretch is done */
    uint64_t cpu_ns; /* of the coordinator's thread */
    uint64_t n_messages, took_ns;
    drove_fake_script script[WORKERS];
} pool;

typedef struct member {
    pool *in;
    unsigned index;
    pthread_t thread;
} member;

static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Until PARKED, which goes on to the workers. */
static void *coordinate(void *argument)
{
    pool *c = argument;
    drove_coord_action *action = calloc(drove__coord_most_actions(c->coord), sizeof *action);
    drove_coord_message m = {.verb = DROVE_COORD_OPEN,
                             .limit = UINT64_MAX / 2,
                             .most_updates = UINT64_MAX};
    uint64_t begin_ns = drove__now_ns(), cpu_ns = thread_cpu_ns();
    for (bool is_over = false, is_halted = false; !is_over;) {
        size_t n;
        uint64_t now_ns = drove__now_ns();
        drove__coord_handle(c->coord, &m, now_ns, action, &n);
        c->n_messages++;
        for (size_t i = 0; i < n; i++) {
            drove_coord_do verb = action[i].verb;
            if (verb == DROVE_COORD_PARKED || verb == DROVE_COORD_DESERTED) is_over = true;
            else drove__queue_put(c->to_worker[action[i].worker], &action[i]);
        }
        if (is_over) break;
        if (now_ns >= c->end_ns && !is_halted) {
            is_halted = true;
            m = (drove_coord_message){.verb = DROVE_COORD_HALT};
        } else {
            (void)drove__queue_get(c->to_coord, &m, UINT64_MAX);
        }
    }
    c->cpu_ns = thread_cpu_ns() - cpu_ns;
    c->took_ns = drove__now_ns() - begin_ns;
    drove_coord_action over = {.verb = DROVE_COORD_PARKED};
    for (unsigned w = 0; w < c->n_workers; w++) drove__queue_put(c->to_worker[w], &over);
    free(action);
    return NULL;
}

static void create_pool(pool *c, const drove_coord_options *opt)
{
    c->n_workers = opt->n_workers;
    must(drove__coord_create(opt, &c->coord));
    must(drove__queue_create(4 * opt->n_workers, sizeof(drove_coord_message), &c->to_coord));
    for (unsigned w = 0; w < opt->n_workers; w++)
        must(drove__queue_create(4, sizeof(drove_coord_action), &c->to_worker[w]));
}

static void destroy_pool(pool *c)
{
    for (unsigned w = 0; w < c->n_workers; w++) drove__queue_destroy(c->to_worker[w]);
    drove__queue_destroy(c->to_coord);
    drove__coord_destroy(c->coord);
}

/* ---- round trip ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void round_trips(unsigned n, long nap_ns)
{
    pool c = {.end_ns = UINT64_MAX};
    drove_coord_worker one = {
        .name = "one", .batch = 64, .least = 1, .most = 64, .depth = 1, .survival = 1};
    pthread_t thread;
    drove_coord_action a;
    double *us = calloc(n, sizeof *us);
    create_pool(&c, &(drove_coord_options){.policy = &drove__policy_adaptive,
                                           .alpha = 2,
                                           .n_rows = 1u << 30,
                                           .n_workers = 1,
                                           .worker = &one});
    pthread_create(&thread, NULL, coordinate, &c);
    (void)drove__queue_get(c.to_worker[0], &a, UINT64_MAX);
    for (unsigned i = 0; i < n; i++) {
        drove_coord_message m = {.verb = DROVE_COORD_SCHEDULE, .id = a.id, .n_updates = 1};
        if (nap_ns > 0) nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
        uint64_t begin_ns = drove__now_ns();
        drove__queue_put(c.to_coord, &m);
        (void)drove__queue_get(c.to_worker[0], &a, UINT64_MAX);
        us[i] = (double)(drove__now_ns() - begin_ns) / 1e3;
    }
    drove__queue_put(c.to_coord, &(drove_coord_message){.verb = DROVE_COORD_HALT});
    drove__queue_put(c.to_coord, &(drove_coord_message){.verb = DROVE_COORD_FAILED});
    for (;;) { /* RETIRE and the end */
        (void)drove__queue_get(c.to_worker[0], &a, UINT64_MAX);
        if (a.verb != DROVE_COORD_RETIRE) break;
    }
    pthread_join(thread, NULL);
    qsort(us, n, sizeof *us, by_size);
    printf("{\"bench\": \"round_trip\", \"coordinator\": \"%s\", \"median_us\": %.2f, "
           "\"p99_us\": %.2f}\n",
           nap_ns > 0 ? "asleep" : "awake", us[n / 2], us[n * 99 / 100]);
    free(us);
    destroy_pool(&c);
}

/* ---- a pool that sleeps ---- */

static void *work(void *argument)
{
    member *me = argument;
    pool *c = me->in;
    for (uint64_t k = 0;; k++) {
        drove_coord_action a;
        (void)drove__queue_get(c->to_worker[me->index], &a, UINT64_MAX);
        if (a.verb == DROVE_COORD_PARKED) return NULL;
        uint64_t ns = drove__fake_batch(&c->script[me->index], k, a.range.n).duration_ns;
        nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                                     .tv_nsec = (long)(ns % 1000000000u)},
                  NULL);
        drove__queue_put(c->to_coord, &(drove_coord_message){.verb = DROVE_COORD_SCHEDULE,
                                                             .worker = me->index,
                                                             .id = a.id,
                                                             .n_updates = 1});
    }
}

/* n_cpu of the 64 are like a processor of the paper (56 threads, 1 to 64 examples each, 1,500
 * examples/s), the others like an accelerator (512 to 8192, 400,000 examples/s): speeds at which an
 * epoch of covtype takes as long as there. */
static void sleeping_pool(const char *name, const drove_policy_ops *policy, unsigned n_cpu)
{
    static member members[WORKERS];
    drove_coord_worker workers[WORKERS];
    pthread_t thread;
    pool c = {.end_ns = drove__now_ns() + 3000000000u};
    for (unsigned w = 0; w < WORKERS; w++) {
        bool is_cpu = w < n_cpu;
        c.script[w] = drove__fake_script_default();
        c.script[w].speed = is_cpu ? 1500.0 : 400e3;
        workers[w] = (drove_coord_worker){.least = is_cpu ? 56 : 512,
                                          .batch = is_cpu ? 56 : 8192,
                                          .most = is_cpu ? 3584 : 8192,
                                          .depth = 1,
                                          .survival = 1,
                                          .timeout_s = 60};
    }
    create_pool(&c, &(drove_coord_options){.policy = policy,
                                           .alpha = 2,
                                           .fit_tail = true,
                                           .n_rows = 581012,
                                           .n_workers = WORKERS,
                                           .worker = workers});
    pthread_create(&thread, NULL, coordinate, &c);
    for (unsigned w = 0; w < WORKERS; w++) {
        members[w] = (member){.in = &c, .index = w};
        pthread_create(&members[w].thread, NULL, work, &members[w]);
    }
    pthread_join(thread, NULL);
    for (unsigned w = 0; w < WORKERS; w++) pthread_join(members[w].thread, NULL);
    printf("{\"bench\": \"pool\", \"workers\": %d, \"of_cpu\": %u, \"policy\": \"%s\", "
           "\"messages_per_s\": %.0f, \"us_per_message\": %.2f, \"share_of_a_core\": %.4f}\n",
           WORKERS, n_cpu, name, (double)c.n_messages / ((double)c.took_ns / 1e9),
           (double)c.cpu_ns / 1e3 / (double)c.n_messages, (double)c.cpu_ns / (double)c.took_ns);
    destroy_pool(&c);
}

int main(void)
{
    bench_queue();
    round_trips(TRIPS, 0);
    round_trips(TRIPS_ASLEEP, 500000);
    sleeping_pool("fixed", &drove__policy_fixed, 0);
    sleeping_pool("adaptive", &drove__policy_adaptive, 0);
    sleeping_pool("fixed", &drove__policy_fixed, 32);
    sleeping_pool("adaptive", &drove__policy_adaptive, 32);
    return 0;
}
