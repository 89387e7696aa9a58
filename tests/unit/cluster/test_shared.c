/* test_shared.c - the transport in shared memory: results of each kind of exchange for 1 to 9
 * workers; workers that stop, leave or do not come. */
#include "cluster/shared_state.h"
#include "cluster/transport.h"
#include "cluster/tree.h"
#include "support/test.h"

#include "base/clock.h"
#include "base/mem.h"
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

enum { N = 40000, MOST = 9, ROUNDS = 6 }; /* N: more than two chunks */

typedef struct table {
    drove_transport *t;
    float *in[MOST], *out[MOST], *sum;
    unsigned wrong[MOST], n_present[MOST];
    drove_status status[MOST];
    char text[MOST][DROVE_ERROR_TEXT_SIZE];
    size_t n;
    bool in_place;
} table;

static void open_table(table *b, unsigned n_workers, size_t n)
{
    *b = (table){.n = n};
    assert_int_equal(
        drove__transport_shared(n_workers, false, N, crowd_kernels(), NULL, NULL, &b->t), DROVE_OK);
    for (unsigned w = 0; w < n_workers; w++) {
        b->in[w] = drove__alloc(N, sizeof(float));
        b->out[w] = drove__alloc(N, sizeof(float));
        assert_true(b->in[w] != NULL && b->out[w] != NULL);
    }
    b->sum = drove__alloc(N, sizeof(float));
}

static void close_table(table *b)
{
    for (unsigned w = 0; w < b->t->n_workers; w++) {
        drove__free(b->in[w]);
        drove__free(b->out[w]);
    }
    drove__free(b->sum);
    b->t->ops->destroy(b->t);
}

/* Numbers whose sum depends on the order of addition. */
static float value_of(unsigned worker, size_t i, unsigned round)
{
    uint32_t x = (uint32_t)(i * 2654435761u) ^ (worker * 40503u + round * 977u);
    x ^= x >> 13, x *= 0x5bd1e995u, x ^= x >> 15;
    return ((float)(x & 0xffff) - 32768.0f) * 1e-3f * (float)(1u << (x >> 28));
}

static void fill_in(table *b, unsigned worker, unsigned round)
{
    for (size_t i = 0; i < b->n; i++) b->in[worker][i] = value_of(worker, i, round);
}

static void fill_sum(table *b, unsigned round)
{
    const float *x[MOST];
    float *copy[MOST];
    static float spare[DROVE_TREE_LEVELS * DROVE_TREE_BLOCK];
    for (unsigned w = 0; w < b->t->n_workers; w++) {
        x[w] = copy[w] = malloc((b->n + 1) * sizeof(float));
        assert_non_null(copy[w]);
        for (size_t i = 0; i < b->n; i++) copy[w][i] = value_of(w, i, round);
    }
    drove__tree_add(crowd_kernels(), x, b->t->n_workers, b->n, b->sum, 1.0f, false, spare);
    for (unsigned w = 0; w < b->t->n_workers; w++) free(copy[w]);
}

static bool equal(const float *a, const float *b, size_t n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

static void all_reduce_once(void *context, unsigned w)
{
    table *b = context;
    fill_in(b, w, 3);
    float *out = b->in_place ? b->in[w] : b->out[w];
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill_in(b, w, 3);
        const drove_exchange x = {
            .kind = DROVE_ALL_REDUCE, .channel = round % 3, .in = b->in[w], .out = out, .n = b->n};
        drove_exchange_info info = {0};
        drove_status status = drove__exchange(b->t, w, &x, &info);
        b->wrong[w] += status != DROVE_OK || !equal(out, b->sum, b->n);
        b->wrong[w] += info.n_present != b->t->n_workers;
        if (!b->in_place) {
            fill_in(b, w, 3);
        }
    }
}

TEST(an_all_reduce_gives_the_tree_to_all)
{
    static const size_t length[] = {0, 1, 15, 1000, 16384, 16385, N};
    for (unsigned n_workers = 1; n_workers <= MOST; n_workers++) {
        for (size_t i = 0; i < DROVE_COUNT(length); i++) {
            table b;
            open_table(&b, n_workers, length[i]);
            b.in_place = i % 2;
            fill_sum(&b, 3);
            crowd_run(n_workers, all_reduce_once, &b);
            for (unsigned w = 0; w < n_workers; w++) assert_int_equal(b.wrong[w], 0);
            close_table(&b);
        }
    }
}

static void reduce_and_broadcast(void *context, unsigned w)
{
    table *b = context;
    for (unsigned root = 0; root < b->t->n_workers; root++) {
        fill_in(b, w, root);
        memset(b->out[w], 0, b->n * sizeof(float));
        const drove_exchange reduce = {.kind = DROVE_REDUCE,
                                       .channel = 1,
                                       .peer = root,
                                       .in = b->in[w],
                                       .out = w == root ? b->out[w] : NULL,
                                       .n = b->n};
        b->wrong[w] += drove__exchange(b->t, w, &reduce, NULL) != DROVE_OK;
        if (w == root) {
            fill_sum(b, root);
            b->wrong[w] += !equal(b->out[w], b->sum, b->n);
        }
        const drove_exchange barrier = {.kind = DROVE_BARRIER, .channel = 1};
        b->wrong[w] += drove__exchange(b->t, w, &barrier, NULL) != DROVE_OK;
        const drove_exchange spread = {.kind = DROVE_BROADCAST,
                                       .channel = 1,
                                       .peer = root,
                                       .in = w == root ? b->out[w] : NULL,
                                       .out = b->out[w],
                                       .n = b->n};
        b->wrong[w] += drove__exchange(b->t, w, &spread, NULL) != DROVE_OK;
        b->wrong[w] += !equal(b->out[w], b->sum, b->n);
        b->wrong[w] += drove__exchange(b->t, w, &barrier, NULL) != DROVE_OK;
    }
}

TEST(a_reduce_goes_to_its_root_and_a_broadcast_comes_from_it)
{
    for (unsigned n_workers = 1; n_workers <= 5; n_workers++) {
        table b;
        open_table(&b, n_workers, N);
        crowd_run(n_workers, reduce_and_broadcast, &b);
        for (unsigned w = 0; w < n_workers; w++) assert_int_equal(b.wrong[w], 0);
        close_table(&b);
    }
}

static void pass_on(void *context, unsigned w)
{
    table *b = context;
    unsigned n = b->t->n_workers;
    for (unsigned round = 0; round < 100; round++) {
        fill_in(b, w, round);
        const drove_exchange send = {
            .kind = DROVE_SEND, .channel = 0, .peer = (w + 1) % n, .in = b->in[w], .n = b->n};
        const drove_exchange receive = {.kind = DROVE_RECEIVE,
                                        .channel = 1,
                                        .peer = (w + n - 1) % n,
                                        .out = b->out[w],
                                        .n = b->n};
        /* A receive meets the send of the same channel. */
        drove_exchange there = receive, here = send;
        there.channel = here.channel = round % 2 ? 0 : 5;
        if (w == 0) b->wrong[w] += drove__exchange(b->t, w, &here, NULL) != DROVE_OK;
        b->wrong[w] += drove__exchange(b->t, w, &there, NULL) != DROVE_OK;
        for (size_t i = 0; i < b->n; i++)
            b->wrong[w] += b->out[w][i] != value_of(receive.peer, i, round);
        if (w != 0) b->wrong[w] += drove__exchange(b->t, w, &here, NULL) != DROVE_OK;
    }
}

TEST(a_message_goes_round_a_ring)
{
    for (unsigned n_workers = 2; n_workers <= 5; n_workers++) {
        for (size_t n = 0; n <= 50; n += 50) {
            table b;
            open_table(&b, n_workers, n);
            crowd_run(n_workers, pass_on, &b);
            for (unsigned w = 0; w < n_workers; w++) assert_int_equal(b.wrong[w], 0);
            close_table(&b);
        }
    }
}

/* Every RPC adds its message to the centre and gets the values before it. */
static void serve_add(void *context, unsigned worker, float *message, size_t n, float *number)
{
    float *centre = context;
    for (size_t i = 0; i < n; i++) {
        float before = centre[i];
        centre[i] = before + message[i];
        message[i] = before;
    }
    number[0] += (float)worker;
}

static void call_often(void *context, unsigned w)
{
    table *b = context;
    float latest = -1.0f;
    for (unsigned round = 0; round < 500; round++) {
        for (size_t i = 0; i < b->n; i++) b->in[w][i] = 1.0f;
        const drove_exchange call = {.kind = DROVE_RPC,
                                     .channel = 2,
                                     .in = b->in[w],
                                     .out = b->out[w],
                                     .n = b->n,
                                     .number = {10.0f}};
        drove_exchange_info info = {0};
        b->wrong[w] += drove__exchange(b->t, w, &call, &info) != DROVE_OK;
        b->wrong[w] += info.number[0] != 10.0f + (float)w;
        for (size_t i = 1; i < b->n; i++) b->wrong[w] += b->out[w][i] != b->out[w][0];
        b->wrong[w] += !(b->out[w][0] > latest);
        latest = b->out[w][0];
    }
}

TEST(rpcs_to_an_exclusive_centre_are_served_one_by_one)
{
    for (unsigned n_workers = 1; n_workers <= 4; n_workers++) {
        table b;
        open_table(&b, n_workers, 100);
        float *vector = drove__alloc(100, sizeof *vector);
        const drove_centre centre = {
            .vector = vector, .serve = serve_add, .context = vector, .is_exclusive = true};
        assert_int_equal(b.t->ops->host(b.t, &centre, 100), DROVE_OK);
        crowd_run(n_workers, call_often, &b);
        for (unsigned w = 0; w < n_workers; w++) assert_int_equal(b.wrong[w], 0);
        for (size_t i = 0; i < 100; i++) assert_true(vector[i] == 500.0f * (float)n_workers);
        drove__free(vector);
        close_table(&b);
    }
}

/* ---- what an exchange reports ---- */

enum { ADDED = 1 << 20 }; /* there before; numbers are added to it */

typedef struct report_case {
    drove_exchange_kind kind;
    bool sends[2]; /* workers 0 and 1 */
} report_case;

/* Of two workers, with worker 0 as the root; a send meets a receive. */
static const report_case reports[] = {
    {DROVE_ALL_REDUCE, {true, true}}, {DROVE_REDUCE, {false, true}},
    {DROVE_BROADCAST, {true, false}}, {DROVE_BARRIER, {false, false}},
    {DROVE_SEND, {true, false}},      {DROVE_RPC, {true, true}},
};

typedef struct reporting {
    table b;
    const report_case *how;
} reporting;

static void serve_slowly(void *context, unsigned worker, float *message, size_t n, float *number)
{
    (void)context, (void)worker, (void)message, (void)n, (void)number;
    const uint64_t until_ns = drove__now_ns() + 1000000;
    while (drove__now_ns() < until_ns) {}
}

static void report(void *context, unsigned w)
{
    reporting *r = context;
    table *b = &r->b;
    const bool receives = r->how->kind == DROVE_SEND && w == 1;
    const drove_exchange x = {.kind = receives ? DROVE_RECEIVE : r->how->kind,
                              .peer = r->how->kind == DROVE_SEND ? 1 - w : 0,
                              .in = b->in[w],
                              .out = b->out[w],
                              .n = r->how->kind == DROVE_BARRIER ? 0 : b->n};
    drove_exchange_info info = {.wait_ns = ADDED,
                                .work_ns = ADDED,
                                .centre_ns = ADDED,
                                .transit_ns = ADDED,
                                .bytes = ADDED,
                                .messages = ADDED};
    const unsigned n_times = 3, sent = r->how->sends[w] ? n_times : 0;
    const uint64_t begin_ns = drove__now_ns();
    for (unsigned i = 0; i < n_times; i++)
        b->wrong[w] += drove__exchange(b->t, w, &x, &info) != DROVE_OK;
    const uint64_t took_ns = drove__now_ns() - begin_ns;
    const uint64_t served_ns = r->how->kind == DROVE_RPC ? n_times * UINT64_C(1000000) : 0;
    b->wrong[w] += info.messages != ADDED + sent;
    b->wrong[w] += info.bytes != ADDED + sent * b->n * sizeof(float);
    b->wrong[w] += info.wait_ns < ADDED || info.work_ns < ADDED + served_ns;
    b->wrong[w] += info.wait_ns + info.work_ns - 2 * ADDED > took_ns;
    b->wrong[w] += info.centre_ns < ADDED + served_ns;
    b->wrong[w] += info.centre_ns - ADDED > (served_ns > 0 ? took_ns : 0);
    b->wrong[w] += info.transit_ns != ADDED; /* nothing is under way in shared memory */
}

/* Several exchanges into one report: messages and bytes of who sends, times within those taken. */
TEST(reports_are_added)
{
    for (size_t k = 0; k < DROVE_COUNT(reports); k++) {
        reporting r = {.how = &reports[k]};
        open_table(&r.b, 2, 1000);
        const drove_centre centre = {.vector = r.b.sum,
                                     .serve = serve_slowly,
                                     .is_exclusive = true};
        assert_int_equal(r.b.t->ops->host(r.b.t, &centre, 1000), DROVE_OK);
        crowd_run(2, report, &r);
        for (unsigned w = 0; w < 2; w++)
            if (r.b.wrong[w] != 0) fail_msg("kind %d, worker %u", (int)reports[k].kind, w);
        close_table(&r.b);
    }
}

/* Whether finish would wait, for each of three workers, one exchange after the other. */
TEST(a_test_says_whether_finish_would_wait)
{
    table b;
    open_table(&b, 3, 100);
    const drove_transport_ops *ops = b.t->ops;
    for (unsigned from = 0; from < 3; from++) {
        unsigned to = (from + 1) % 3;
        const drove_exchange sent = {
            .kind = DROVE_SEND, .channel = 1, .peer = to, .in = b.in[from], .n = 100};
        const drove_exchange received = {
            .kind = DROVE_RECEIVE, .channel = 1, .peer = from, .out = b.out[to], .n = 100};
        fill_in(&b, from, from);
        assert_int_equal(ops->start(b.t, to, &received), DROVE_OK);
        assert_false(ops->test(b.t, to, 1));
        assert_int_equal(ops->start(b.t, from, &sent), DROVE_OK);
        assert_false(ops->test(b.t, from, 1)); /* offered, not taken */
        assert_true(ops->test(b.t, to, 1));
        assert_int_equal(ops->finish(b.t, to, 1, NULL), DROVE_OK);
        assert_true(ops->test(b.t, from, 1));
        assert_int_equal(ops->finish(b.t, from, 1, NULL), DROVE_OK);
        assert_memory_equal(b.in[from], b.out[to], 100 * sizeof(float));
    }
    const drove_exchange barrier = {.kind = DROVE_BARRIER, .channel = 2};
    for (unsigned w = 0; w < 3; w++) {
        assert_int_equal(ops->start(b.t, w, &barrier), DROVE_OK);
        for (unsigned other = 0; other <= w; other++)
            assert_int_equal(ops->test(b.t, other, 2), w == 2);
    }
    for (unsigned w = 0; w < 3; w++) assert_int_equal(ops->finish(b.t, w, 2, NULL), DROVE_OK);
    close_table(&b);
}

/* ---- faults ---- */

static void exchange_but_the_last(void *context, unsigned w)
{
    table *b = context;
    fill_in(b, w, 0);
    if (w + 1 == b->t->n_workers) {
        if (b->n == 1) b->t->ops->stop(b->t);
        if (b->n == 2) b->t->ops->leave(b->t, w, false);
        if (b->n == 3) b->t->ops->leave(b->t, w, true);
        return; /* 4: silent */
    }
    const drove_exchange x = {
        .kind = DROVE_ALL_REDUCE, .channel = 0, .in = b->in[w], .out = b->out[w], .n = b->n};
    drove_exchange_info info = {0};
    b->status[w] = drove__exchange(b->t, w, &x, &info);
    b->n_present[w] = info.n_present;
    if (b->status[w] != DROVE_OK) drove__error_copy(b->text[w]);
}

TEST(a_silent_worker_is_named)
{
    static const char *const text[] = {
        [1] = "all-reduce of worker 0: stopped",
        [2] = "all-reduce of worker 0: worker 2 of 3 was lost",
        [4] = "all-reduce of worker 0: worker 2 of 3 has not been heard of for 2 s",
    };
    for (size_t n = 1; n <= 4; n++) {
        table b;
        open_table(&b, 3, n);
        if (n == 4) b.t->timeout_s = 2.0; /* long for the other, who comes */
        crowd_run(3, exchange_but_the_last, &b);
        for (unsigned w = 0; w < 2; w++)
            assert_int_equal(b.status[w], n == 3 ? DROVE_OK : DROVE_E_SYSTEM);
        if (n == 3) {
            assert_int_equal(b.n_present[0], 2);
            for (size_t i = 0; i < n; i++)
                assert_true(b.out[0][i] == value_of(0, i, 0) + value_of(1, i, 0));
        } else {
            assert_string_equal(b.text[0], text[n]);
            const drove_exchange later = {.kind = DROVE_BARRIER, .channel = 3};
            assert_int_equal(b.t->ops->start(b.t, 0, &later), DROVE_E_SYSTEM);
        }
        close_table(&b);
    }
}

/* The state that worker 1 leaves when killed in phase `phase` of chunk 1 of an all-reduce in place.
 * Earlier blocks are done; a block whose sum is in the stage may be copied in part. */
static void leave_half_done(table *b, unsigned phase)
{
    drove_shared *s = b->t->impl;
    float *sum = b->sum + DROVE_SHARED_CHUNK;
    size_t n_done = (size_t)(phase - 1) / 2 * DROVE_TREE_BLOCK;
    if (phase % 2 == 0) {
        memcpy(s->worker[1].stage, sum + n_done, DROVE_TREE_BLOCK * sizeof *sum);
        memcpy(b->in[0] + DROVE_SHARED_CHUNK + n_done, sum + n_done, 1000 * sizeof *sum);
    }
    for (unsigned w = 0; w < 2; w++)
        memcpy(b->in[w] + DROVE_SHARED_CHUNK, sum, n_done * sizeof *sum);
    atomic_store(&s->chunk[0][1], (uint64_t)1 << 24 | 1u << 8 | phase);
}

TEST(messages_to_and_from_a_worker_that_left_fail)
{
    table b;
    open_table(&b, 3, 10);
    const drove_exchange send = {
        .kind = DROVE_SEND, .channel = 2, .peer = 1, .in = b.in[0], .n = 10};
    const drove_exchange receive = {
        .kind = DROVE_RECEIVE, .channel = 2, .peer = 1, .out = b.out[0], .n = 10};
    const drove_exchange last = {
        .kind = DROVE_SEND, .channel = 2, .peer = 0, .in = b.in[1], .n = 10};
    b.in[1][3] = 7.0f;
    assert_int_equal(b.t->ops->start(b.t, 1, &last), DROVE_OK); /* what it had sent arrives */
    b.t->ops->leave(b.t, 1, true);
    assert_true(b.t->ops->has_left(b.t, 1) && !b.t->ops->has_left(b.t, 0));
    assert_int_equal(drove__exchange(b.t, 0, &receive, NULL), DROVE_OK);
    assert_true(b.out[0][3] == 7.0f);
    assert_int_equal(drove__exchange(b.t, 0, &receive, NULL), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "receive of worker 0 in channel 2: worker 1 has left");
    assert_int_equal(drove__exchange(b.t, 0, &send, NULL), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "send of worker 0 in channel 2: worker 1 has left");
    const drove_exchange spread = {
        .kind = DROVE_BROADCAST, .channel = 2, .peer = 1, .out = b.out[0], .n = 10};
    assert_int_equal(b.t->ops->start(b.t, 2, &spread), DROVE_OK);
    assert_int_equal(drove__exchange(b.t, 0, &spread, NULL), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "broadcast in channel 2: its root, worker 1, has left");
    close_table(&b);
}

TEST(a_lost_worker_does_not_hold_the_centre)
{
    for (int holds = 0; holds < 2; holds++) {
        table b;
        open_table(&b, 2, 100);
        drove_shared *s = b.t->impl;
        b.t->timeout_s = 0.1;
        float *vector = drove__alloc(100, sizeof *vector);
        const drove_centre centre = {
            .vector = vector, .serve = serve_add, .context = vector, .is_exclusive = true};
        assert_int_equal(b.t->ops->host(b.t, &centre, 100), DROVE_OK);
        atomic_store(&s->worker[1].queued_ns, 1); /* as after being killed there */
        atomic_store(&s->holder, holds ? 2 : 0);
        const drove_exchange call = {.kind = DROVE_RPC, .in = b.in[0], .out = b.out[0], .n = 100};
        b.t->ops->leave(b.t, 1, true);
        assert_int_equal(drove__exchange(b.t, 0, &call, NULL), DROVE_OK);
        drove__free(vector);
        close_table(&b);
    }
}

TEST(a_lost_workers_chunk_is_finished_from_every_phase)
{
    enum { PHASES = 2 * DROVE_SHARED_CHUNK / DROVE_TREE_BLOCK };
    for (unsigned phase = 1; phase <= PHASES; phase++) {
        table b;
        open_table(&b, 2, N);
        fill_sum(&b, 0);
        for (unsigned w = 0; w < 2; w++) {
            fill_in(&b, w, 0);
            const drove_exchange x = {
                .kind = DROVE_ALL_REDUCE, .in = b.in[w], .out = b.in[w], .n = N};
            assert_int_equal(b.t->ops->start(b.t, w, &x), DROVE_OK);
        }
        leave_half_done(&b, phase);
        b.t->ops->leave(b.t, 1, true);
        assert_int_equal(b.t->ops->finish(b.t, 0, 0, NULL), DROVE_OK);
        for (unsigned w = 0; w < 2; w++) assert_true(equal(b.in[w], b.sum, N));
        close_table(&b);
    }
}

static void halt_at_barriers(void *context, unsigned w)
{
    table *b = context;
    for (unsigned round = 0; round < 1000; round++) {
        if (w == 0 && round == 500) atomic_store(&b->t->halt_wished, 1);
        const drove_exchange x = {.kind = DROVE_BARRIER, .channel = 0};
        b->wrong[w] += drove__exchange(b->t, w, &x, NULL) != DROVE_OK;
        if (atomic_load(&b->t->halt_seen) == 0) continue;
        b->n_present[w] = round;
        return;
    }
}

TEST(a_request_to_halt_is_seen_by_all_after_the_same_exchange)
{
    table b;
    open_table(&b, 4, 0);
    crowd_run(4, halt_at_barriers, &b);
    for (unsigned w = 0; w < 4; w++) {
        assert_int_equal(b.wrong[w], 0);
        assert_int_equal(b.n_present[w], b.n_present[0]);
        assert_true(b.n_present[w] >= 499 && b.n_present[w] <= 500);
    }
    close_table(&b);
}

/* Exchanges started after it carry it; the order of finishing does not matter. */
TEST(a_request_to_halt_counts_from_the_next_start)
{
    table b;
    open_table(&b, 2, 0);
    const drove_exchange x = {.kind = DROVE_BARRIER};
    for (int wished = 0; wished < 2; wished++) {
        for (unsigned w = 0; w < 2; w++) assert_int_equal(b.t->ops->start(b.t, w, &x), DROVE_OK);
        atomic_store(&b.t->halt_wished, 1);
        for (unsigned w = 0; w < 2; w++) {
            assert_int_equal(b.t->ops->finish(b.t, w, 0, NULL), DROVE_OK);
            assert_int_equal(atomic_load(&b.t->halt_seen), wished);
        }
    }
    close_table(&b);
}
