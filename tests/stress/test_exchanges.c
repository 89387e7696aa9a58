/* The transport in shared memory under random delays: all kinds of exchange in random order and in
 * several channels at once, with whole numbers, whose sums are exact; RPCs that would show a lost
 * update; stop and leave at any time; killed processes.
 *
 */
#define _GNU_SOURCE
#include "cluster/transport.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/racy.h"
#include "base/rng.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 6, N = 40000, ROUNDS = DROVE_TSAN ? 60 : 600, N_VECTORS = 3 };

typedef struct table {
    drove_transport *t;
    float *vector[MOST][N_VECTORS]; /* [n] */
    size_t n;
    unsigned rounds, victim, victim_rounds;
    uint64_t seed;
    _Atomic unsigned wrong;
    unsigned n_done[MOST];
    drove_status status[MOST];
} table;

static drovek_table kernels;

/* ---- workers ---- */

typedef struct member {
    pthread_t thread;
    void (*work)(table *b, unsigned worker);
    table *b;
    unsigned worker;
} member;

static void *run_member(void *argument)
{
    member *m = argument;
    m->work(m->b, m->worker);
    return NULL;
}

static void run(table *b, void (*work)(table *b, unsigned worker))
{
    member all[MOST];
    for (unsigned i = 0; i < b->t->n_workers; i++) {
        all[i] = (member){.work = work, .b = b, .worker = i};
        assert_int_equal(pthread_create(&all[i].thread, NULL, run_member, &all[i]), 0);
    }
    for (unsigned i = 0; i < b->t->n_workers; i++) pthread_join(all[i].thread, NULL);
}

static table *open_table(unsigned n_workers, size_t n, bool is_procs)
{
    if (is_procs) drove__memory_share_begin();
    table *b = drove__alloc(1, sizeof *b);
    assert_non_null(b);
    b->n = n;
    assert_int_equal(drove__transport_shared(n_workers, is_procs, n, &kernels, NULL, NULL, &b->t),
                     DROVE_OK);
    for (unsigned w = 0; w < n_workers; w++) {
        for (unsigned v = 0; v < N_VECTORS; v++) {
            b->vector[w][v] = drove__alloc(n, sizeof(float));
            assert_non_null(b->vector[w][v]);
        }
    }
    if (is_procs) drove__memory_share_end();
    return b;
}

static void close_table(table *b)
{
    for (unsigned w = 0; w < b->t->n_workers; w++)
        for (unsigned v = 0; v < N_VECTORS; v++) drove__free(b->vector[w][v]);
    b->t->ops->destroy(b->t);
    drove__free(b);
}

static void rest(drove_rng *rng)
{
    uint64_t what = drove__rng_below(rng, 16);
    const struct timespec moment = {.tv_nsec = (long)drove__rng_below(rng, 200000)};
    if (what == 0) nanosleep(&moment, NULL);
    else
        for (volatile uint64_t i = 0; i < what * 200; i++) continue;
}

/* ---- whole numbers: sums of six are exact ---- */

static float value_of(unsigned worker, unsigned round, size_t i)
{
    return (float)((worker + 1) * (1 + (i + 7 * round) % 1000) + round % 16);
}

static void fill(table *b, unsigned worker, unsigned vector, unsigned round, size_t n)
{
    for (size_t i = 0; i < n; i++) b->vector[worker][vector][i] = value_of(worker, round, i);
}

/* Sum over the workers; `without`: one that is not among them, or MOST. */
static float sum_of(unsigned n_workers, unsigned without, unsigned round, size_t i)
{
    float sum = 0.0f;
    for (unsigned w = 0; w < n_workers; w++)
        if (w != without) sum += value_of(w, round, i);
    return sum;
}

static void check_sum(table *b, const float *got, unsigned round, size_t n, unsigned without)
{
    for (size_t i = 0; i < n; i++) {
        if (got[i] == sum_of(b->t->n_workers, without, round, i)) continue;
        b->wrong++;
        return;
    }
}

/* ---- every kind, in a random order that all know ---- */

typedef struct plan { /* of a round, the same for all workers */
    unsigned kind, channel, other_channel, root;
    bool in_place;
    size_t n;
} plan;

static plan plan_of(const table *b, unsigned round)
{
    drove_rng rng;
    drove__rng_seed(&rng, b->seed, DROVE_RNG_TEST, round);
    plan p = {.kind = (unsigned)drove__rng_below(&rng, 6)};
    p.channel = (unsigned)drove__rng_below(&rng, DROVE_CHANNELS);
    p.other_channel = (p.channel + 1) % DROVE_CHANNELS;
    p.root = (unsigned)drove__rng_below(&rng, b->t->n_workers);
    p.in_place = drove__rng_below(&rng, 2) != 0;
    p.n = drove__rng_below(&rng, 4) == 0 ? b->n : (size_t)drove__rng_below(&rng, 300);
    return p;
}

static void must_start(table *b, unsigned w, const drove_exchange *x)
{
    if (b->t->ops->start(b->t, w, x) != DROVE_OK) b->wrong++;
}

static void must_finish(table *b, unsigned w, unsigned channel)
{
    if (b->t->ops->finish(b->t, w, channel, NULL) != DROVE_OK) b->wrong++;
}

/* Two all-reduces under way at once, finished in a random order. */
static void two_sums(table *b, unsigned w, const plan *p, unsigned round, drove_rng *rng)
{
    float **v = b->vector[w];
    fill(b, w, 0, round, p->n);
    fill(b, w, 1, round + 1, p->n);
    drove_exchange first = {.kind = DROVE_ALL_REDUCE,
                            .channel = p->channel,
                            .in = v[0],
                            .out = p->in_place ? v[0] : v[2],
                            .n = p->n};
    drove_exchange second = {
        .kind = DROVE_ALL_REDUCE, .channel = p->other_channel, .in = v[1], .out = v[1], .n = p->n};
    must_start(b, w, &first);
    rest(rng);
    must_start(b, w, &second);
    rest(rng);
    bool turned = drove__rng_below(rng, 2) != 0;
    must_finish(b, w, turned ? second.channel : first.channel);
    must_finish(b, w, turned ? first.channel : second.channel);
    check_sum(b, first.out, round, p->n, MOST);
    check_sum(b, second.out, round + 1, p->n, MOST);
}

static void reduce_then_broadcast(table *b, unsigned w, const plan *p, unsigned round,
                                  drove_rng *rng)
{
    float **v = b->vector[w];
    fill(b, w, 0, round, p->n);
    drove_exchange x = {.kind = DROVE_REDUCE,
                        .channel = p->channel,
                        .peer = p->root,
                        .in = v[0],
                        .out = w != p->root  ? NULL
                               : p->in_place ? v[0]
                                             : v[1],
                        .n = p->n};
    float *sum = x.out;
    must_start(b, w, &x);
    rest(rng);
    must_finish(b, w, p->channel);
    x = (drove_exchange){.kind = DROVE_BROADCAST,
                         .channel = p->channel,
                         .peer = p->root,
                         .in = sum,
                         .out = w == p->root ? sum : v[2],
                         .n = p->n};
    must_start(b, w, &x);
    rest(rng);
    must_finish(b, w, p->channel);
    check_sum(b, x.out, round, p->n, MOST);
}

/* Everybody to its neighbour at once. */
static void ring(table *b, unsigned w, const plan *p, unsigned round, drove_rng *rng)
{
    unsigned n = b->t->n_workers, before = (w + n - 1) % n;
    if (n == 1) return;
    fill(b, w, 0, round, p->n);
    const drove_exchange out = {.kind = DROVE_SEND,
                                .channel = p->channel,
                                .peer = (w + 1) % n,
                                .in = b->vector[w][0],
                                .n = p->n};
    drove_exchange in = {.kind = DROVE_RECEIVE,
                         .channel = p->channel,
                         .peer = before,
                         .out = b->vector[w][1],
                         .n = p->n};
    if (w % 2 == 0 && w + 1 < n) { /* in one channel one after the other: a ring has to begin */
        must_start(b, w, &out);
        rest(rng);
        must_finish(b, w, p->channel);
        must_start(b, w, &in);
        must_finish(b, w, p->channel);
    } else {
        must_start(b, w, &in);
        rest(rng);
        must_finish(b, w, p->channel);
        must_start(b, w, &out);
        must_finish(b, w, p->channel);
    }
    for (size_t i = 0; i < p->n; i++) {
        if (in.out[i] == value_of(before, round, i)) continue;
        b->wrong++;
        break;
    }
}

static void meet(table *b, unsigned w, unsigned channel)
{
    const drove_exchange x = {.kind = DROVE_BARRIER, .channel = channel};
    if (drove__exchange(b->t, w, &x, NULL) != DROVE_OK) b->wrong++;
}

static void all_kinds(table *b, unsigned w)
{
    drove_rng rng;
    drove__rng_seed(&rng, b->seed + 1000, DROVE_RNG_TEST, w);
    for (unsigned round = 0; round < b->rounds; round++) {
        plan p = plan_of(b, round);
        rest(&rng);
        if (p.kind <= 2) two_sums(b, w, &p, round, &rng);
        else if (p.kind == 3) reduce_then_broadcast(b, w, &p, round, &rng);
        else if (p.kind == 4) ring(b, w, &p, round, &rng);
        else meet(b, w, p.channel);
    }
}

FIXTURE(select_kernels)
{
    return drovek_select(&kernels, drove__cpu_features(), NULL) != DROVE_OK;
}

GROUP(select_kernels, NULL);

TEST(every_kind_is_exact_whatever_the_delays)
{
    for (unsigned n_workers = 1; n_workers <= MOST; n_workers++) {
        table *b = open_table(n_workers, N, false);
        b->rounds = ROUNDS / n_workers;
        b->seed = n_workers;
        run(b, all_kinds);
        assert_int_equal(b->wrong, 0);
        close_table(b);
    }
}

/* ---- RPCs ---- */

typedef struct counter {
    float vector[64];
    uint64_t n_rpcs;
    unsigned inside;
} counter;

/* Plain reads and writes, far enough apart for a second caller to come between. */
static void add_one(void *context, unsigned worker, float *message, size_t n, float *number)
{
    counter *c = context;
    (void)worker;
    unsigned inside = ++c->inside;
    for (size_t i = 0; i < n; i++) {
        float before = c->vector[i];
        for (volatile int pause = 0; pause < 20; pause++) continue;
        c->vector[i] = before + message[i];
        message[i] = before;
    }
    c->n_rpcs++;
    number[0] = (float)inside;
    c->inside--;
}

static void call_often(table *b, unsigned w)
{
    drove_rng rng;
    drove__rng_seed(&rng, b->seed, DROVE_RNG_TEST, w);
    for (unsigned round = 0; round < b->rounds; round++) {
        for (size_t i = 0; i < 64; i++) b->vector[w][0][i] = 1.0f;
        const drove_exchange x = {.kind = DROVE_RPC,
                                  .channel = round % DROVE_CHANNELS,
                                  .in = b->vector[w][0],
                                  .out = b->vector[w][0],
                                  .n = 64};
        drove_exchange_info info = {0};
        if (drove__exchange(b->t, w, &x, &info) != DROVE_OK || info.number[0] != 1.0f) b->wrong++;
        for (size_t i = 1; i < 64; i++)
            if (x.out[i] != x.out[0]) b->wrong++;
        rest(&rng);
    }
}

TEST(no_rpc_is_lost)
{
    for (unsigned n_workers = 2; n_workers <= MOST; n_workers += 2) {
        table *b = open_table(n_workers, 64, false);
        counter c = {.n_rpcs = 0};
        const drove_centre centre = {
            .vector = c.vector, .serve = add_one, .context = &c, .is_exclusive = true};
        assert_int_equal(b->t->ops->host(b->t, &centre, 64), DROVE_OK);
        b->rounds = ROUNDS;
        run(b, call_often);
        assert_int_equal(b->wrong, 0);
        assert_int_equal(c.n_rpcs, (uint64_t)ROUNDS * n_workers);
        for (size_t i = 0; i < 64; i++) assert_true(c.vector[i] == (float)(ROUNDS * n_workers));
        close_table(b);
    }
}

/* ---- stop and leave in the middle ---- */

static bool sum_once(table *b, unsigned w, unsigned round)
{
    fill(b, w, 0, round, b->n);
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                              .channel = round % 2,
                              .in = b->vector[w][0],
                              .out = b->vector[w][round % 3 == 0 ? 0 : 1],
                              .n = b->n};
    drove_exchange_info info = {0};
    b->status[w] = drove__exchange(b->t, w, &x, &info);
    if (b->status[w] != DROVE_OK) return false;
    check_sum(b, x.out, round, b->n, info.n_present == b->t->n_workers ? MOST : b->victim);
    return true;
}

static void sum_until_stopped(table *b, unsigned w)
{
    drove_rng rng;
    drove__rng_seed(&rng, b->seed, DROVE_RNG_TEST, w);
    for (unsigned round = 0;; round++) {
        if (w == b->victim && round == b->victim_rounds) b->t->ops->stop(b->t);
        if (!sum_once(b, w, round)) return;
        rest(&rng);
    }
}

static void sum_until_left(table *b, unsigned w)
{
    drove_rng rng;
    drove__rng_seed(&rng, b->seed, DROVE_RNG_TEST, w);
    for (unsigned round = 0; round < b->rounds; round++) {
        if (w == b->victim && round == b->victim_rounds) {
            rest(&rng);
            b->t->ops->leave(b->t, w, true);
            return;
        }
        if (!sum_once(b, w, round)) b->wrong++;
        b->n_done[w]++;
    }
}

TEST(all_end_when_one_stops_and_go_on_when_one_leaves)
{
    for (unsigned i = 0; i < (DROVE_TSAN ? 6 : 30); i++) {
        for (unsigned stops = 0; stops < 2; stops++) {
            table *b = open_table(2 + i % 4, i % 2 ? N : 100, false);
            b->seed = i;
            b->rounds = 20;
            b->victim = i % b->t->n_workers;
            b->victim_rounds = i % 11;
            run(b, stops ? sum_until_stopped : sum_until_left);
            assert_int_equal(b->wrong, 0);
            for (unsigned w = 0; w < b->t->n_workers; w++) {
                if (stops) assert_int_equal(b->status[w], DROVE_E_SYSTEM);
                else assert_int_equal(b->n_done[w], w == b->victim ? b->victim_rounds : 20);
            }
            close_table(b);
        }
    }
}

/* ---- processes, one of which is killed ---- */

enum { KILLS = DROVE_TSAN ? 4 : 24, N_KILLED = 400000 };

static void run_child(table *b, unsigned w)
{
    for (unsigned round = 0; round < b->rounds || w == b->victim; round++)
        if (!sum_once(b, w, round)) break;
    _exit(b->status[w] == DROVE_OK && b->wrong == 0 ? 0 : 1);
}

TEST(a_killed_process_costs_its_own_part_only)
{
    drove_rng rng;
    drove__rng_seed(&rng, 1, DROVE_RNG_TEST, 0);
    for (unsigned i = 0; i < KILLS; i++) {
        const unsigned n_workers = 2 + i % 3;
        table *b = open_table(n_workers, N_KILLED, true);
        pid_t child[MOST];
        b->victim = i % n_workers;
        b->rounds = 12;
        for (unsigned w = 0; w < n_workers; w++) {
            child[w] = fork();
            assert_true(child[w] >= 0);
            if (child[w] == 0) run_child(b, w);
        }
        const struct timespec a_while = {.tv_nsec = (long)drove__rng_below(&rng, 30000000)};
        nanosleep(&a_while, NULL);
        kill(child[b->victim], SIGKILL);
        int status;
        assert_int_equal(waitpid(child[b->victim], &status, 0), child[b->victim]);
        b->t->ops->leave(b->t, b->victim, true);
        for (unsigned w = 0; w < n_workers; w++) {
            if (w == b->victim) continue;
            assert_int_equal(waitpid(child[w], &status, 0), child[w]);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        assert_int_equal(b->wrong, 0);
        close_table(b);
    }
}

/* ---- vectors that are written past the caches ---- */

static void sum_large(table *b, unsigned w)
{
    for (unsigned round = 1; round < 3; round++)
        if (!sum_once(b, w, round)) b->wrong++;
}

TEST(large_vectors_are_exact_too)
{
    table *b = open_table(2, ((size_t)5 << 20) + 3, false);
    b->victim = MOST;
    run(b, sum_large);
    assert_int_equal(b->wrong, 0);
    close_table(b);
}
