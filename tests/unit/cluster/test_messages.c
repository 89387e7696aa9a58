/* test_messages.c - the transport over messages, on mailboxes with random delays: all kinds of
 * exchange against the fixed tree, RPCs, requests to halt, silent ranks, ranks that disagree. */
#include "base/clock.h"
#include "base/mem.h"
#include "cluster/codec.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "cluster/request.h"
#include "cluster/tree.h"
#include "crowd.h"
#include "exchange_cases.h"
#include "support/test.h"

#include <stdint.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct ranks {
    unsigned n;
    drove_wire *wire[CROWD_MOST];
    drove_transport *t[CROWD_MOST];
    unsigned n_wrong[CROWD_MOST];
    drove_status status[CROWD_MOST];
    char text[CROWD_MOST][DROVE_ERROR_TEXT_SIZE];
    exchange_cases cases;
} ranks;

static void open_ranks(ranks *r, unsigned n, bool has_progress_thread, double timeout_s,
                       uint64_t seed)
{
    drove_mailbox_options box = {
        .n_ranks = n, .seed = seed, .most_delay_us = 200, .ns_per_byte = 0.1, .n_eager = 4096};
    drove_messages_options opt = {.timeout_s = timeout_s,
                                  .has_progress_thread = has_progress_thread,
                                  .piece_bytes = 8192,
                                  .ends_wire = false};
    memset(r, 0, sizeof *r);
    r->n = n;
    assert_int_equal(drove__mailbox_create(&box, r->wire), DROVE_OK);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(drove__transport_messages(r->wire[i], crowd_kernels(), &opt, &r->t[i]),
                         DROVE_OK);
    }
}

static void close_ranks(ranks *r)
{
    for (unsigned i = 0; i < r->n; i++) r->t[i]->ops->destroy(r->t[i]);
    for (unsigned i = 0; i < r->n; i++) r->wire[i]->ops->fini(r->wire[i]);
}

static void keep(ranks *r, unsigned worker, drove_status status)
{
    r->status[worker] = status;
    snprintf(r->text[worker], sizeof r->text[worker], "%s",
             status == DROVE_OK ? "" : drove_error_text());
}

/* ---- opposite contents ---- */

static const drove_wire_ops *boxes;
static size_t n_sent, longest; /* messages of contents, and bytes of the longest */

static int send_counted(drove_wire *w, const void *bytes, size_t n_bytes, unsigned to, unsigned tag,
                        drove_wire_request *r)
{
    if (n_bytes > sizeof(drove_message)) n_sent++;
    longest = n_bytes > longest ? n_bytes : longest;
    return boxes->isend(w, bytes, n_bytes, to, tag, r);
}

/* An all-reduce of two ranks, by one thread: n_alone messages of contents before the second rank
 * has begun. */
static void reduce_counted(bool is_one_host, size_t *n_alone)
{
    enum { N_SUM = 1 << 18 };
    const drove_messages_options opt = {.timeout_s = 60};
    const drove_mailbox_options box = {.n_ranks = 2, .seed = 3, .n_eager = 64 << 10};
    float *x[2] = {drove__alloc(N_SUM, sizeof(float)), drove__alloc(N_SUM, sizeof(float))};
    drove_wire *wire[2];
    drove_transport *t[2];
    assert_int_equal(drove__mailbox_create(&box, wire), DROVE_OK);
    boxes = wire[0]->ops;
    drove_wire_ops counted = *boxes;
    counted.isend = send_counted;
    for (unsigned i = 0; i < 2; i++) {
        wire[i]->ops = &counted;
        if (is_one_host) strcpy(wire[i]->host[1], wire[i]->host[0]);
        assert_int_equal(drove__transport_messages(wire[i], crowd_kernels(), &opt, &t[i]),
                         DROVE_OK);
        for (size_t j = 0; j < N_SUM; j++) x[i][j] = (float)(j % 1000 * (i + 1));
    }
    n_sent = longest = 0;
    for (unsigned i = 0; i < 2; i++) {
        drove_exchange sum = {.kind = DROVE_ALL_REDUCE, .in = x[i], .out = x[i], .n = N_SUM};
        assert_int_equal(t[i]->ops->start(t[i], i, &sum), DROVE_OK);
        for (int k = 0; k < 100; k++) assert_false(t[i]->ops->test(t[i], i, 0));
        if (i == 0) *n_alone = n_sent;
    }
    bool is_done[2] = {false, false};
    while (!is_done[0] || !is_done[1]) { /* each test moves its own rank on */
        for (unsigned i = 0; i < 2; i++) is_done[i] = t[i]->ops->test(t[i], i, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(t[i]->ops->finish(t[i], i, 0, NULL), DROVE_OK);
        for (size_t j = 0; j < N_SUM; j++) assert_true(x[i][j] == (float)(j % 1000 * 3));
    }
    for (unsigned i = 0; i < 2; i++) t[i]->ops->destroy(t[i]);
    for (unsigned i = 0; i < 2; i++) {
        wire[i]->ops->fini(wire[i]);
        drove__free(x[i]);
    }
}

/* Between hosts in messages that the library sends without an answer, when the other rank is there;
 * within one in one message, at once. */
TEST(opposite_contents_between_hosts_go_eagerly)
{
    size_t n_alone, slice = sizeof(float) << 17;
    reduce_counted(false, &n_alone);
    assert_int_equal(n_alone, 0);
    assert_int_equal(longest, boxes->eager_bytes);
    assert_int_equal(n_sent, 4 * ((slice + longest - 1) / longest));
    reduce_counted(true, &n_alone);
    assert_int_equal(n_alone, 1);
    assert_int_equal(longest, slice);
    assert_int_equal(n_sent, 4);
}

/* ---- all kinds ---- */

static void run_cases(void *context, unsigned worker)
{
    ranks *r = context;
    r->n_wrong[worker] = exchange_cases_run(r->t[worker], worker, &r->cases);
}

static void all_kinds(bool has_progress_thread, unsigned n_most)
{
    static const unsigned counts[] = {1, 2, 3, 4, 7, 8};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        unsigned n = counts[k];
        ranks r;
        open_ranks(&r, n, has_progress_thread, 60, n);
        r.cases =
            (exchange_cases){.seed = 10 + n, .n_times = 1, .n_most = n_most, .most_rest_us = 300};
        crowd_run(n, run_cases, &r);
        for (unsigned i = 0; i < n; i++) assert_int_equal(r.n_wrong[i], 0);
        close_ranks(&r);
    }
}

TEST(exchanges_give_the_tree)
{
    all_kinds(true, 60000);
}

TEST(exchanges_go_on_without_a_progress_thread)
{
    all_kinds(false, 40000);
}

/* ---- times ---- */

enum { N_TIMED = 1 << 20, MOST_TRIES = 20 };

typedef struct timed {
    ranks r;
    float *in[2], *out[2];
    uint64_t took_ns[2];
    drove_exchange_info info[2];
} timed;

static void reduce_timed(void *context, unsigned worker)
{
    timed *c = context;
    const drove_exchange x = {
        .kind = DROVE_ALL_REDUCE, .in = c->in[worker], .out = c->out[worker], .n = N_TIMED};
    c->info[worker] = (drove_exchange_info){0};
    uint64_t begin_ns = drove__now_ns();
    keep(&c->r, worker, drove__exchange(c->r.t[worker], worker, &x, &c->info[worker]));
    c->took_ns[worker] = drove__now_ns() - begin_ns;
}

/* Without a progress thread additions are made in finish: work and waiting are together all the
 * time from start to finish, but for what the machine takes away between two looks at the clock. */
TEST(work_and_waiting_are_all_the_time)
{
    static timed c;
    bool is_all = false;
    open_ranks(&c.r, 2, false, 60, 1);
    for (unsigned i = 0; i < 2; i++) {
        c.in[i] = drove__alloc(N_TIMED, sizeof(float));
        c.out[i] = drove__alloc(N_TIMED, sizeof(float));
    }
    for (unsigned try = 0; try < MOST_TRIES && !is_all; try++) {
        is_all = true;
        crowd_run(2, reduce_timed, &c);
        for (unsigned i = 0; i < 2; i++) {
            const drove_exchange_info *info = &c.info[i];
            assert_int_equal(c.r.status[i], DROVE_OK);
            assert_true(info->work_ns > 0 && info->work_ns <= c.took_ns[i]);
            assert_true(info->wait_ns + info->work_ns <= c.took_ns[i]);
            is_all &= 100 * (info->wait_ns + info->work_ns) > 99 * c.took_ns[i];
        }
    }
    assert_true(is_all);
    for (unsigned i = 0; i < 2; i++) {
        drove__free(c.in[i]);
        drove__free(c.out[i]);
    }
    close_ranks(&c.r);
}

/* ---- codes ---- */

enum { N_CODED = 20011, N_TIMES_CODED = 3 };

typedef struct coded {
    ranks r;
    drove_codec *codec[CROWD_MOST];
    float *in[CROWD_MOST], *out[CROWD_MOST];
} coded;

static void create_codecs(drove_codec **codec, unsigned n, unsigned bits)
{
    for (unsigned i = 0; i < n; i++) {
        drove_codec_options opt = {.bits = bits,
                                   .n = N_CODED,
                                   .n_workers = n,
                                   .worker = i,
                                   .seed = 3,
                                   .kernels = crowd_kernels()};
        assert_int_equal(drove__codec_create(&opt, &codec[i]), DROVE_OK);
    }
}

static void reduce_codes(void *context, unsigned worker)
{
    coded *c = context;
    drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                        .in = c->in[worker],
                        .out = c->out[worker],
                        .n = N_CODED,
                        .codec = c->codec[worker]};
    keep(&c->r, worker, drove__exchange(c->r.t[worker], worker, &x, NULL));
}

/* What codec.h says, slice by slice, without messages. */
static void reduce_plainly(drove_codec **codec, float **in, unsigned n, float *out)
{
    static float spare[DROVE_TREE_LEVELS * DROVE_TREE_BLOCK], sum[N_CODED];
    const void *code[CROWD_MOST];
    for (unsigned i = 0; i < n; i++) (void)drove__codec_encode(codec[i], in[i]);
    for (unsigned w = 0; w < n; w++) {
        size_t first, length;
        drove__codec_slice(codec[0], w, &first, &length);
        size_t begin = drove__codec_bytes(codec[0], first);
        if (length == 0) continue;
        for (unsigned i = 0; i < n; i++) {
            code[i] = (const char *)drove__codec_code(codec[i]) + begin;
        }
        drove__codec_add(codec[w], code, n, length, sum, spare);
        const void *of_sum = drove__codec_encode_sum(codec[w], first, length, sum);
        drove__codec_decode(codec[w], out + first, of_sum, length);
    }
}

static void check_coded(unsigned n, unsigned bits)
{
    static float expected[N_CODED];
    coded c = {0};
    drove_codec *plain[CROWD_MOST] = {NULL};
    open_ranks(&c.r, n, n % 2 == 0, 60, n);
    create_codecs(c.codec, n, bits);
    create_codecs(plain, n, bits);
    for (unsigned i = 0; i < n; i++) {
        c.in[i] = drove__alloc(N_CODED, sizeof(float));
        c.out[i] = drove__alloc(N_CODED, sizeof(float));
    }
    for (unsigned time = 0; time < N_TIMES_CODED; time++) {
        for (unsigned i = 0; i < n; i++) exchange_cases_fill(c.in[i], N_CODED, time, i, true);
        reduce_plainly(plain, c.in, n, expected);
        crowd_run(n, reduce_codes, &c);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(c.r.status[i], DROVE_OK);
            assert_memory_equal(c.out[i], expected, sizeof expected);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        drove__codec_destroy(c.codec[i]);
        drove__codec_destroy(plain[i]);
        drove__free(c.in[i]);
        drove__free(c.out[i]);
    }
    close_ranks(&c.r);
}

TEST(codes_give_what_the_codec_says)
{
    static const unsigned bits[] = {16, 8, 1};
    for (unsigned i = 0; i < DROVE_COUNT(bits); i++) {
        for (unsigned n = 1; n <= 5; n++) check_coded(n, bits[i]);
    }
}

/* ---- RPCs ---- */

enum { N_RPCS = 40, N_CENTRE = 5000 };

typedef struct desk {
    ranks r;
    float vector[N_CENTRE];
    _Atomic unsigned n_inside, n_most_inside, n_rpcs;
    bool is_exclusive;
} desk;

/* Adds the message; replies with the centre after it. */
static void serve_desk(void *context, unsigned worker, float *message, size_t n, float *number)
{
    desk *d = context;
    unsigned inside = atomic_fetch_add(&d->n_inside, 1) + 1, most = atomic_load(&d->n_most_inside);
    while (inside > most && !atomic_compare_exchange_weak(&d->n_most_inside, &most, inside)) {}
    if (d->is_exclusive) {
        for (size_t i = 0; i < n; i++) message[i] = d->vector[i] += message[i];
    } else {
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        for (size_t i = 0; i < n; i++) message[i] = (float)worker;
    }
    number[1] = number[0] + (float)worker;
    atomic_fetch_add(&d->n_rpcs, 1);
    atomic_fetch_sub(&d->n_inside, 1);
}

static void call_often(void *context, unsigned worker)
{
    desk *d = context;
    drove_transport *t = d->r.t[worker];
    static const size_t sizes[] = {N_CENTRE, 0, 1, 2048, 3000};
    float *message = drove__alloc(N_CENTRE, sizeof *message);
    float *back = drove__alloc(N_CENTRE, sizeof *back);
    for (unsigned i = 0; i < N_RPCS && d->r.n_wrong[worker] == 0; i++) {
        size_t n = sizes[i % DROVE_COUNT(sizes)];
        for (size_t j = 0; j < N_CENTRE; j++) message[j] = 1.0f;
        drove_exchange x = {.kind = DROVE_RPC,
                            .channel = i % 3,
                            .in = message,
                            .out = i % 2 == 0 ? back : message,
                            .n = n,
                            .number = {(float)i}};
        drove_exchange_info info = {0};
        drove_status status = drove__exchange(t, worker, &x, &info);
        bool is_right = status == DROVE_OK && info.number[1] == (float)(i + worker);
        for (size_t j = 0; j < n && is_right && !d->is_exclusive; j++) {
            is_right = x.out[j] == (float)worker;
        }
        for (size_t j = 1; j < n && is_right && d->is_exclusive; j++) {
            is_right = x.out[j] >= 1.0f && x.out[j] <= (float)(N_RPCS * d->r.n);
        }
        d->r.n_wrong[worker] += !is_right;
    }
    drove_status status =
        drove__exchange(t, worker, &(drove_exchange){.kind = DROVE_BARRIER, .channel = 7}, NULL);
    d->r.n_wrong[worker] += status != DROVE_OK;
    drove__free(message);
    drove__free(back);
}

static void host_and_call(unsigned n, bool has_progress_thread, bool is_exclusive)
{
    static desk d;
    memset(&d, 0, sizeof d);
    open_ranks(&d.r, n, has_progress_thread, 60, n);
    d.is_exclusive = is_exclusive;
    for (unsigned i = 0; i < n; i++) {
        drove_centre c = {.vector = i == 0 ? d.vector : NULL,
                          .serve = serve_desk,
                          .context = &d,
                          .is_exclusive = is_exclusive};
        assert_int_equal(d.r.t[i]->ops->host(d.r.t[i], &c, N_CENTRE), DROVE_OK);
    }
    crowd_run(n, call_often, &d);
    for (unsigned i = 0; i < n; i++) assert_int_equal(d.r.n_wrong[i], 0);
    close_ranks(&d.r);
    assert_int_equal(d.n_rpcs, n * N_RPCS);
    if (is_exclusive) {
        assert_int_equal(d.n_most_inside, 1);
        assert_true(d.vector[0] == (float)(n * N_RPCS / 5 * 4));
        assert_true(d.vector[2500] == (float)(n * N_RPCS / 5 * 2));
    } else if (n > 2 && has_progress_thread) {
        assert_true(d.n_most_inside > 1);
    }
}

TEST(rpcs_to_an_exclusive_centre_are_served_one_by_one)
{
    host_and_call(1, true, true);
    host_and_call(4, true, true);
    host_and_call(7, true, true);
    host_and_call(3, false, true);
}

TEST(rpcs_to_an_open_centre_are_served_at_once)
{
    host_and_call(5, true, false);
}

/* ---- wishes ---- */

typedef struct halting {
    ranks r;
    drove_exchange_kind kind;
    unsigned seen_after[CROWD_MOST];
} halting;

static void halt_together(void *context, unsigned worker)
{
    halting *h = context;
    drove_transport *t = h->r.t[worker];
    float in[100] = {0}, out[100];
    for (unsigned i = 0; i < 20; i++) {
        if (i == 7 && worker == h->r.n - 1) atomic_store(&t->halt_wished, 1);
        drove_exchange x = {.kind = h->kind, .in = in, .out = out, .n = 100};
        if (x.kind == DROVE_REDUCE) { /* learns of it from the next broadcast */
            if (drove__exchange(t, worker, &x, NULL) != DROVE_OK) return;
            x.kind = DROVE_BROADCAST;
        }
        if (drove__exchange(t, worker, &x, NULL) != DROVE_OK) return;
        if (h->seen_after[worker] == 0 && atomic_load(&t->halt_seen)) h->seen_after[worker] = i;
    }
}

TEST(a_request_to_halt_is_seen_by_all_after_the_same_exchange)
{
    static const drove_exchange_kind kinds[] = {DROVE_ALL_REDUCE, DROVE_BARRIER, DROVE_REDUCE};
    for (unsigned i = 0; i < DROVE_COUNT(kinds); i++) {
        for (unsigned n = 1; n <= 6; n++) {
            halting h = {.kind = kinds[i]};
            open_ranks(&h.r, n, true, 60, n);
            crowd_run(n, halt_together, &h);
            for (unsigned w = 0; w < n; w++) assert_int_equal(h.seen_after[w], 7);
            close_ranks(&h.r);
        }
    }
}

/* ---- faults ---- */

static void refuse(drove_transport *t, const drove_exchange *x, const char *text)
{
    assert_int_equal(drove__exchange(t, t->first_worker, x, NULL), DROVE_E_ARG);
    if (strstr(drove_error_text(), text) == NULL)
        fail_msg("expected \"%s\", found \"%s\"", text, drove_error_text());
}

/* Before anything is sent, so one rank alone is told; what fits is carried out afterwards. */
TEST(exchanges_that_cannot_be_are_refused)
{
    ranks r;
    float in[100] = {0}, out[100];
    drove_codec *codec[CROWD_MOST] = {NULL};
    open_ranks(&r, 2, false, 60, 1);
    create_codecs(codec, 2, 8);
    static const char of_codec[] = "a codec goes with an all-reduce of its own length";
    drove_exchange x = {.kind = DROVE_BROADCAST, .in = in, .out = out, .n = 100, .peer = 2};
    refuse(r.t[0], &x, "expected a rank below 2, found 2");
    x = (drove_exchange){.kind = DROVE_SEND, .in = in, .n = 100, .peer = 1};
    refuse(r.t[1], &x, "expected another rank as peer, found rank 1 itself");
    x = (drove_exchange){.kind = DROVE_ALL_REDUCE, .in = in, .out = out, .n = 100};
    x.codec = codec[0]; /* it is longer */
    refuse(r.t[0], &x, of_codec);
    x = (drove_exchange){.kind = DROVE_BARRIER, .codec = codec[0]};
    refuse(r.t[0], &x, of_codec);
    for (unsigned i = 0; i < 2; i++) drove__codec_destroy(codec[i]);
    close_ranks(&r);
}

static void all_but_the_last_meet(void *context, unsigned worker)
{
    ranks *r = context;
    if (worker == r->n - 1) return;
    keep(r, worker,
         drove__exchange(r->t[worker], worker, &(drove_exchange){.kind = DROVE_BARRIER}, NULL));
}

TEST(a_silent_worker_is_named)
{
    ranks r;
    open_ranks(&r, 2, false, 0.3, 1);
    uint64_t begun = drove__now_ns();
    crowd_run(2, all_but_the_last_meet, &r);
    double waited_s = (double)(drove__now_ns() - begun) * 1e-9;
    assert_true(waited_s > 0.25 && waited_s < 60);
    assert_int_equal(r.status[0], DROVE_E_SYSTEM);
    assert_non_null(strstr(r.text[0], "rank 1 on host host1"));
    close_ranks(&r);
}

/* Without a progress thread nobody says that it lives: who was to take or to bring something. */
TEST(what_a_silent_worker_did_not_do_is_said)
{
    enum { LONG = 100000 }; /* floats: no wire keeps them */
    static float value[LONG];
    for (unsigned is_sending = 0; is_sending < 2; is_sending++) {
        ranks r;
        drove_exchange x = {.kind = is_sending ? DROVE_SEND : DROVE_RECEIVE, .peer = 1, .n = LONG};
        if (is_sending) x.in = value;
        else x.out = value;
        open_ranks(&r, 2, false, 0.1, 1);
        keep(&r, 0, drove__exchange(r.t[0], 0, &x, NULL));
        assert_int_equal(r.status[0], DROVE_E_SYSTEM);
        if (strstr(r.text[0], is_sending
                                  ? "rank 1 on host host1 did not receive from rank 0 for 0.1"
                                  : "rank 1 on host host1 did not send to rank 0 for 0.1") == NULL)
            fail_msg("%s", r.text[0]);
        close_ranks(&r);
    }
}

/* Its progress thread answers: a live rank is given more time. */
TEST(a_live_rank_is_given_more_time)
{
    bool is_known_to_live = false;
    /* a busy machine may not let it answer within the shorter times */
    for (double timeout_s = 0.1; timeout_s < 10.0 && !is_known_to_live; timeout_s *= 3.0) {
        ranks r;
        open_ranks(&r, 3, true, timeout_s, 1);
        uint64_t begun = drove__now_ns();
        crowd_run(3, all_but_the_last_meet, &r);
        double waited_s = (double)(drove__now_ns() - begun) * 1e-9;
        assert_int_equal(r.status[0], DROVE_E_SYSTEM);
        is_known_to_live = strstr(r.text[0], "but is alive") != NULL;
        if (is_known_to_live) assert_true(waited_s > 9.0 * timeout_s);
        close_ranks(&r);
    }
    assert_true(is_known_to_live);
}

static void last_stops(void *context, unsigned worker)
{
    ranks *r = context;
    drove_transport *t = r->t[worker];
    if (worker == r->n - 1) {
        nanosleep(&(struct timespec){0, 20000000}, NULL);
        t->ops->stop(t);
    }
    keep(r, worker, drove__exchange(t, worker, &(drove_exchange){.kind = DROVE_BARRIER}, NULL));
}

TEST(one_stop_stops_all)
{
    ranks r;
    open_ranks(&r, 4, true, 60, 1);
    crowd_run(4, last_stops, &r);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(r.status[i], DROVE_E_SYSTEM);
        assert_string_equal(r.text[i], "rank 3 on host host3 has stopped");
    }
    close_ranks(&r);
}

static void disagree(void *context, unsigned worker)
{
    ranks *r = context;
    static float in[CROWD_MOST][50000], out[CROWD_MOST][50000];
    drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                        .in = in[worker],
                        .out = out[worker],
                        .n = worker == 1 ? 40000 : 50000};
    keep(r, worker, drove__exchange(r->t[worker], worker, &x, NULL));
}

TEST(ranks_that_disagree_fail)
{
    for (unsigned n = 2; n <= 3; n++) {
        ranks r;
        open_ranks(&r, n, true, 60, 1);
        crowd_run(n, disagree, &r);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(r.status[i], DROVE_E_SYSTEM);
            assert_non_null(strstr(r.text[i], "rank"));
        }
        close_ranks(&r);
    }
}
