/* Each hand-made synchronisation with 64 threads, far more than processors: who waits awake, sleeps
 * or is stopped in the middle is then any of them.  Whole numbers, so that a lost update, a message
 * that comes twice or a wake-up that is missed is a wrong count, or no end.  Strategies with 64
 * workers: test_sync_steps_64.  DROVE_TEST_MANY: so many times as long. */
#include "source_cases.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "config/options.h"
#include "base/racy.h"
#include "cluster/transport.h"
#include "coord/assigned.h"
#include "coord/queue.h"
#include "engine/host/team.h"

#include <drove/drove.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64 };

static unsigned times(unsigned n)
{
    const char *text = getenv("DROVE_TEST_MANY");
    unsigned factor = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 1;
    n = DROVE_TSAN ? n / 10 : n;
    return (n > 0 ? n : 1) * factor;
}

static void run_threads(void *(*body)(void *), void *each, size_t bytes, unsigned n)
{
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, body, (char *)each + i * bytes), 0);
    for (unsigned i = 0; i < n; i++) pthread_join(thread[i], NULL);
}

/* ---- the message queue: 63 producers, 16 cells ---- */

typedef struct producer {
    drove_queue *q;
    uint32_t index, n;
} producer;

static void *produce(void *argument)
{
    const producer *p = argument;
    for (uint32_t i = 0; i < p->n; i++) {
        uint64_t item = (uint64_t)p->index << 32 | i;
        drove__queue_put(p->q, &item);
    }
    return NULL;
}

static void *consume(void *argument)
{
    const producer *p = argument;
    uint32_t *next = calloc(THREADS, sizeof *next);
    uint64_t item, wrong = 0;
    for (uint64_t i = 0; i < (uint64_t)(THREADS - 1) * p->n; i++) {
        (void)drove__queue_get(p->q, &item, UINT64_MAX);
        wrong += next[item >> 32]++ != (uint32_t)item;
    }
    free(next);
    return wrong == 0 ? NULL : argument;
}

TEST(messages_come_once_and_in_order)
{
    drove_queue *q;
    producer each[THREADS];
    pthread_t consumer;
    void *wrong;
    uint64_t none;
    assert_int_equal(drove__queue_create(16, sizeof(uint64_t), &q), DROVE_OK);
    for (uint32_t i = 0; i < THREADS; i++) each[i] = (producer){q, i, times(300)};
    assert_int_equal(pthread_create(&consumer, NULL, consume, &each[0]), 0);
    run_threads(produce, &each[1], sizeof each[0], THREADS - 1);
    pthread_join(consumer, &wrong);
    assert_null(wrong);
    assert_false(drove__queue_try_get(q, &none));
    drove__queue_destroy(q);
}

/* ---- a team of 64 ---- */

typedef struct table {
    unsigned n_meetings;
    uint64_t slot[THREADS], wrong[THREADS];
} table;

static void write_and_read(void *context, const drove_part *part)
{
    table *t = context;
    for (unsigned r = 0; r < t->n_meetings; r++) {
        t->slot[part->part]++;
        part->meet(part->context, part->part);
        for (unsigned i = 0; i < part->n_parts; i++)
            t->wrong[part->part] += t->slot[i] != t->slot[part->part];
        part->meet(part->context, part->part);
    }
}

TEST(all_parts_meet)
{
    table t = {.n_meetings = times(5)};
    drove_team *team;
    unsigned n_jobs = 20;
    assert_int_equal(drove__team_create(THREADS, NULL, NULL, &team), DROVE_OK);
    for (unsigned i = 0; i < n_jobs; i++) drove__team_run(team, write_and_read, &t);
    drove__team_destroy(team);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(t.slot[i], (uint64_t)n_jobs * t.n_meetings);
        assert_int_equal(t.wrong[i], 0);
    }
}

/* ---- exchanges of 64 workers ---- */

enum { N = 100 };

typedef struct exchanger {
    drove_transport *t;
    unsigned worker, n_rounds;
    uint64_t n_wrong;
} exchanger;

static void serve(void *context, unsigned worker, float *message, size_t n, float *number)
{
    float *centre = context;
    (void)worker, (void)number;
    for (size_t i = 0; i < n; i++) message[i] = centre[i] += message[i];
}

static bool exchange(exchanger *e, drove_exchange x)
{
    return e->t->ops->start(e->t, e->worker, &x) == DROVE_OK &&
           e->t->ops->finish(e->t, e->worker, x.channel, NULL) == DROVE_OK;
}

/* In each round a sum, a message from an even worker to the next one, and an RPC. */
static void *do_rounds(void *argument)
{
    exchanger *e = argument;
    float in[N], out[N], call[N];
    const bool sends = e->worker % 2 == 0;
    for (unsigned r = 0; r < e->n_rounds; r++) {
        const float sum = (float)(r * THREADS + THREADS * (THREADS - 1) / 2);
        for (unsigned i = 0; i < N; i++) in[i] = (float)(r + e->worker), call[i] = 1.0f;
        bool ok =
            exchange(e, (drove_exchange){.kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = N});
        for (unsigned i = 0; i < N; i++) e->n_wrong += out[i] != sum;
        ok = ok && exchange(e, (drove_exchange){.kind = sends ? DROVE_SEND : DROVE_RECEIVE,
                                                .channel = 1,
                                                .peer = sends ? e->worker + 1 : e->worker - 1,
                                                .in = in,
                                                .out = out,
                                                .n = N});
        for (unsigned i = 0; i < N && !sends; i++) e->n_wrong += out[i] != in[i] - 1.0f;
        ok = ok &&
             exchange(e, (drove_exchange){
                             .kind = DROVE_RPC, .channel = 2, .in = call, .out = call, .n = N});
        for (unsigned i = 1; i < N; i++) e->n_wrong += call[i] != call[0];
        e->n_wrong += !ok;
    }
    return NULL;
}

TEST(exchanges_are_whole)
{
    drovek_table kernels;
    drove_transport *t;
    exchanger each[THREADS];
    float centre[N] = {0.0f};
    const drove_centre at = {
        .vector = centre, .serve = serve, .context = centre, .is_exclusive = true};
    unsigned n_rounds = times(300);
    assert_int_equal(drovek_select(&kernels, drove__cpu_features(), NULL), DROVE_OK);
    assert_int_equal(drove__transport_shared(THREADS, false, N, &kernels, NULL, NULL, &t),
                     DROVE_OK);
    assert_int_equal(t->ops->host(t, &at, N), DROVE_OK);
    for (unsigned w = 0; w < THREADS; w++)
        each[w] = (exchanger){.t = t, .worker = w, .n_rounds = n_rounds};
    run_threads(do_rounds, each, sizeof each[0], THREADS);
    for (unsigned w = 0; w < THREADS; w++) assert_int_equal(each[w].n_wrong, 0);
    for (unsigned i = 0; i < N; i++) assert_true(centre[i] == (float)(THREADS * n_rounds));
    t->ops->destroy(t);
}

/* ---- assignments to 64 threads of a group, and to 64 devices ---- */

TEST(every_example_is_given_once)
{
    static drove_source_worker worker[THREADS];
    for (unsigned kind = 0; kind < 2; kind++) {
        for (unsigned i = 0; i < THREADS; i++)
            worker[i] = (drove_source_worker){.name = kind == 0 ? "cpu" : "fake",
                                              .group = kind == 0 ? 0 : i,
                                              .is_device = kind == 1,
                                              .n_cores = 1,
                                              .least = kind == 1 ? 8 : 0,
                                              .most = kind == 1 ? 64 : 0};
        const source_setup setup = {.ops = &drove__source_assigned,
                                    .spec = "adaptive",
                                    .n_workers = THREADS,
                                    .n_groups = kind == 0 ? 1 : THREADS,
                                    .worker = worker,
                                    .n_rows = 5000,
                                    .batch = 16};
        uint64_t n = times(100000);
        source_rig rig;
        source_rig_open(&rig, &setup, n);
        for (uint64_t limit = n / 4; limit <= n; limit += n / 4) {
            source_rig_train(&rig, limit);
            source_rig_check(&rig, limit);
        }
        source_rig_close(&rig);
    }
}

/* ---- 64 workers that park after every epoch ---- */

static void set(drove_options *opt, const char *name, const char *value)
{
    if (drove_options_set(opt, name, value) != DROVE_OK) fail_msg("%s", drove_error_text());
}

TEST(workers_park)
{
    static const char *const strategies[] = {"hogwild", "leashed", "ssp:4", "sync"};
    unsigned n = times(8);
    for (unsigned i = 0; i < n; i++) {
        drove_options opt = drove__options_default();
        drove_progress end;
        drove_result *result;
        set(&opt, "defaults", "classic");
        set(&opt, "data", "synth:logistic?n=1024&d=8&density=1");
        set(&opt, "test", "");
        set(&opt, "model", "mlp:4");
        set(&opt, "threads", "64");
        set(&opt, "batch", "4");
        set(&opt, "strategy", strategies[i % 4]);
        set(&opt, "eval-every", "1");
        set(&opt, "until", "epochs=8");
        if (drove_train(&opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
        drove_result_final(result, &end);
        assert_int_equal(drove_result_outcome(result), DROVE_FINISHED);
        assert_int_equal(end.examples, 8 * 1024);
        drove_result_destroy(result);
    }
}
