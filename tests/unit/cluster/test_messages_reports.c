/* What is said of exchanges over messages: how many messages and bytes each rank sends, by every
 * way of cluster/rounds.c; the time at the centre; which exchanges are done. */
#include "base/clock.h"
#include "base/mem.h"
#include "cluster/codec.h"
#include "cluster/mailbox.h"
#include "cluster/messages.h"
#include "crowd.h"
#include "support/test.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

enum {
    HEADER = 64,   /* bytes of a message's head */
    INLINE = 8192, /* most bytes that lie behind it */
    PIECE = 12000, /* most bytes of a message of contents alone */
    N_MOST = 16 * 16 * 313,
    MOST_CASES = 40
};

typedef struct ranks {
    unsigned n;
    drove_wire *wire[CROWD_MOST];
    drove_transport *t[CROWD_MOST];
    drove_status status[CROWD_MOST];
    float *in[CROWD_MOST], *out[CROWD_MOST]; /* [N_MOST] */
} ranks;

static void open_ranks(ranks *r, unsigned n, bool has_progress_thread)
{
    const drove_mailbox_options box = {.n_ranks = n, .seed = 1, .n_eager = 4096};
    const drove_messages_options opt = {.timeout_s = 60,
                                        .has_progress_thread = has_progress_thread,
                                        .piece_bytes = PIECE};
    memset(r, 0, sizeof *r);
    r->n = n;
    assert_int_equal(drove__mailbox_create(&box, r->wire), DROVE_OK);
    for (unsigned i = 0; i < n; i++) {
        r->in[i] = drove__alloc(N_MOST, sizeof(float));
        r->out[i] = drove__alloc(N_MOST, sizeof(float));
        assert_int_equal(drove__transport_messages(r->wire[i], crowd_kernels(), &opt, &r->t[i]),
                         DROVE_OK);
    }
}

static void close_ranks(ranks *r)
{
    for (unsigned i = 0; i < r->n; i++) r->t[i]->ops->destroy(r->t[i]);
    for (unsigned i = 0; i < r->n; i++) {
        r->wire[i]->ops->fini(r->wire[i]);
        drove__free(r->in[i]);
        drove__free(r->out[i]);
    }
}

/* ---- messages and bytes ---- */

typedef struct sent {
    uint64_t messages, bytes;
} sent;

/* n times contents of so many bytes. */
static void send(sent *s, size_t n, size_t n_bytes)
{
    s->messages += n * (1 + (n_bytes > INLINE ? (n_bytes + PIECE - 1) / PIECE : 0));
    s->bytes += n * (HEADER + n_bytes);
}

static unsigned levels_of(unsigned n_ranks)
{
    unsigned levels = 0;
    while (1u << levels < n_ranks) levels++;
    return levels;
}

/* To how many a rank passes on what comes down the tree; v: its distance from the root. */
static unsigned children_of(unsigned v, unsigned n_ranks)
{
    unsigned n = 0;
    for (unsigned d = 1; v + d < n_ranks && (v & d) == 0; d *= 2) n++;
    return n;
}

/* Long sums: in slices with few ranks, or where no halves are; else half of the rest each round. */
static sent expected_sum(bool all, size_t n_bytes, unsigned n_ranks, bool is_root)
{
    sent s = {0};
    const unsigned levels = levels_of(n_ranks);
    const bool is_power = 1u << levels == n_ranks;
    const bool by_slices = (n_ranks <= 8 && n_bytes / n_ranks > INLINE) || !is_power;
    if (by_slices) send(&s, (all ? 2 : 1) * (n_ranks - 1), n_bytes / n_ranks);
    for (unsigned l = 1; l <= levels && !by_slices; l++) send(&s, all ? 2 : 1, n_bytes >> l);
    if (!all && !is_root) send(&s, 1, n_bytes / n_ranks); /* its part to the root */
    return s;
}

static sent expected(const drove_exchange *x, unsigned n_ranks, unsigned rank)
{
    sent s = {0};
    const size_t n_bytes = x->n * sizeof(float);
    const unsigned v = (rank + n_ranks - x->peer) % n_ranks, levels = levels_of(n_ranks);
    const bool is_short = n_bytes <= INLINE, is_root = rank == x->peer;
    if (n_ranks == 1) return s;
    switch (x->kind) {
    case DROVE_ALL_REDUCE:
        if (!is_short) return expected_sum(true, n_bytes, n_ranks, false);
        if (1u << levels == n_ranks) send(&s, levels, n_bytes); /* to rank ^ 1, 2, 4 ... */
        else send(&s, (rank != 0) + children_of(rank, n_ranks), n_bytes);
        break;
    case DROVE_REDUCE:
        if (!is_short) return expected_sum(false, n_bytes, n_ranks, is_root);
        send(&s, rank != 0 || x->peer != 0, n_bytes); /* up to rank 0, from there to the root */
        break;
    case DROVE_BROADCAST:
        if (is_short) send(&s, children_of(v, n_ranks), n_bytes);
        else send(&s, v == 0 ? n_ranks - 1 : n_ranks - 2, n_bytes / (n_ranks - 1));
        break;
    case DROVE_BARRIER: send(&s, levels, 0); break;
    case DROVE_SEND: send(&s, 1, n_bytes); break;
    default: break; /* a RECEIVE sends nothing */
    }
    return s;
}

typedef struct counted {
    ranks r;
    unsigned n_cases;
    drove_exchange of[MOST_CASES];
    drove_exchange_info info[CROWD_MOST][MOST_CASES];
} counted;

static void exchange_all(void *context, unsigned worker)
{
    counted *c = context;
    for (unsigned k = 0; k < c->n_cases; k++) {
        drove_exchange x = c->of[k];
        x.in = c->r.in[worker];
        x.out = c->r.out[worker];
        if (x.kind == DROVE_SEND && worker > 1) continue;
        if (x.kind == DROVE_SEND && worker == 1) x.kind = DROVE_RECEIVE, x.peer = 0;
        c->r.status[worker] = drove__exchange(c->r.t[worker], worker, &x, &c->info[worker][k]);
        if (c->r.status[worker] != DROVE_OK) return;
    }
}

static void add_case(counted *c, drove_exchange_kind kind, size_t n, unsigned peer)
{
    assert_true(c->n_cases < MOST_CASES && n <= N_MOST);
    c->of[c->n_cases++] = (drove_exchange){.kind = kind, .n = n, .peer = peer};
}

/* Lengths at which a way ends, or contents no longer lie behind their head, and others. */
static void add_cases(counted *c, unsigned n_ranks)
{
    const size_t unit = (size_t)16 * n_ranks; /* slices and halves are all of one length */
    const size_t sums[] = {1,          2048,       (2049 + unit - 1) / unit * unit,
                           128 * unit, 129 * unit, 313 * unit};
    const size_t unit_down = (size_t)16 * (n_ranks > 1 ? n_ranks - 1 : 1);
    const size_t down[] = {1, 2048, (2049 + unit_down - 1) / unit_down * unit_down, 129 * unit_down,
                           313 * unit_down};
    for (size_t i = 0; i < DROVE_COUNT(sums); i++) {
        add_case(c, DROVE_ALL_REDUCE, sums[i], 0);
        add_case(c, DROVE_REDUCE, sums[i], 0);
        add_case(c, DROVE_REDUCE, sums[i], n_ranks - 1);
    }
    for (size_t i = 0; i < DROVE_COUNT(down); i++) {
        add_case(c, DROVE_BROADCAST, down[i], 0);
        add_case(c, DROVE_BROADCAST, down[i], n_ranks / 2);
    }
    add_case(c, DROVE_BARRIER, 0, 0);
    for (size_t n = 0; n <= 4096 && n_ranks > 1; n += 2048) add_case(c, DROVE_SEND, n, 1);
}

TEST(every_way_sends_what_it_says)
{
    static const unsigned counts[] = {1, 2, 3, 4, 6, 8, 16};
    static counted c;
    for (size_t i = 0; i < DROVE_COUNT(counts); i++) {
        const unsigned n = counts[i];
        memset(&c, 0, sizeof c);
        open_ranks(&c.r, n, false);
        add_cases(&c, n);
        crowd_run(n, exchange_all, &c);
        for (unsigned r = 0; r < n; r++) {
            assert_int_equal(c.r.status[r], DROVE_OK);
            for (unsigned k = 0; k < c.n_cases; k++) {
                const drove_exchange_info *found = &c.info[r][k];
                const bool is_pair = c.of[k].kind == DROVE_SEND;
                sent s = {0};
                if (!is_pair || r == 0) s = expected(&c.of[k], n, r);
                if (found->messages != s.messages || found->bytes != s.bytes)
                    fail_msg("kind %d, %zu floats, root %u, rank %u of %u: expected %llu messages, "
                             "%llu bytes, found %llu, %llu",
                             c.of[k].kind, c.of[k].n, c.of[k].peer, r, n,
                             (unsigned long long)s.messages, (unsigned long long)s.bytes,
                             (unsigned long long)found->messages, (unsigned long long)found->bytes);
                assert_int_equal(found->n_present, is_pair ? 0 : n);
                assert_int_equal(found->transit_ns > 0, s.messages > 0);
            }
        }
        close_ranks(&c.r);
    }
}

/* ---- codes ---- */

enum { N_CODED = 70001 };

typedef struct coded {
    ranks r;
    drove_codec *codec[CROWD_MOST];
    drove_exchange_info info[CROWD_MOST];
} coded;

static void reduce_codes(void *context, unsigned worker)
{
    coded *c = context;
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                              .in = c->r.in[worker],
                              .out = c->r.out[worker],
                              .n = N_CODED,
                              .codec = c->codec[worker]};
    c->r.status[worker] = drove__exchange(c->r.t[worker], worker, &x, &c->info[worker]);
}

static size_t slice_bytes(const drove_codec *codec, unsigned worker)
{
    size_t first, length;
    drove__codec_slice(codec, worker, &first, &length);
    return drove__codec_bytes(codec, first + length) - drove__codec_bytes(codec, first);
}

/* The codes of each slice go to its rank, those of the sum of its own slice to all. */
TEST(codes_are_sent_to_others_alone)
{
    static const unsigned bits[] = {16, 8, 1};
    for (unsigned i = 0; i < 3 * DROVE_COUNT(bits); i++) {
        coded c = {0};
        const unsigned n = 1 + i % 3;
        open_ranks(&c.r, n, false);
        for (unsigned r = 0; r < n; r++) {
            const drove_codec_options opt = {.bits = bits[i / 3],
                                             .n = N_CODED,
                                             .n_workers = n,
                                             .worker = r,
                                             .kernels = crowd_kernels()};
            assert_int_equal(drove__codec_create(&opt, &c.codec[r]), DROVE_OK);
        }
        crowd_run(n, reduce_codes, &c);
        for (unsigned r = 0; r < n; r++) {
            sent s = {0};
            for (unsigned other = 0; other < n; other++)
                if (other != r) send(&s, 1, slice_bytes(c.codec[r], other));
            send(&s, n - 1, slice_bytes(c.codec[r], r));
            assert_int_equal(c.r.status[r], DROVE_OK);
            assert_int_equal(c.info[r].messages, s.messages);
            assert_int_equal(c.info[r].bytes, s.bytes);
            assert_int_equal(c.info[r].n_present, n);
        }
        for (unsigned r = 0; r < n; r++) drove__codec_destroy(c.codec[r]);
        close_ranks(&c.r);
    }
}

/* ---- the centre ---- */

enum { SERVED_NS = 3000000, N_TRIES = 20 };

typedef struct desk {
    ranks r;
    uint64_t took_ns[CROWD_MOST];
    drove_exchange_info info[CROWD_MOST];
} desk;

static void serve_slowly(void *context, unsigned worker, float *message, size_t n, float *number)
{
    const uint64_t until = drove__now_ns() + SERVED_NS;
    (void)context, (void)worker, (void)message, (void)n, (void)number;
    while (drove__now_ns() < until) nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void call(void *context, unsigned worker)
{
    desk *d = context;
    const drove_exchange x = {
        .kind = DROVE_RPC, .in = d->r.in[worker], .out = d->r.out[worker], .n = 3000};
    const uint64_t begun = drove__now_ns();
    d->info[worker] = (drove_exchange_info){0};
    d->r.status[worker] = drove__exchange(d->r.t[worker], worker, &x, &d->info[worker]);
    d->took_ns[worker] = drove__now_ns() - begun;
}

/* To the callers here and elsewhere: in one of the tries, as a machine may let none wait so long
 * once they have called. */
TEST(the_time_at_the_centre_is_told)
{
    static desk d;
    unsigned n_told[2] = {0};
    const drove_centre centre = {.serve = serve_slowly, .context = &d, .is_exclusive = true};
    open_ranks(&d.r, 2, true);
    for (unsigned r = 0; r < 2; r++)
        assert_int_equal(d.r.t[r]->ops->host(d.r.t[r], &centre, 3000), DROVE_OK);
    for (unsigned try = 0; try < N_TRIES && (n_told[0] == 0 || n_told[1] == 0); try++) {
        crowd_run(2, call, &d);
        for (unsigned r = 0; r < 2; r++) {
            const drove_exchange_info *info = &d.info[r];
            assert_int_equal(d.r.status[r], DROVE_OK);
            assert_true(info->centre_ns <= info->work_ns);
            assert_true(info->work_ns + info->wait_ns <= d.took_ns[r]);
            assert_int_equal(info->messages, r == 0 ? 0 : 2); /* a head and a piece */
            assert_int_equal(info->bytes, r == 0 ? 0 : HEADER + 3000 * sizeof(float));
            n_told[r] += info->centre_ns >= SERVED_NS;
        }
    }
    assert_true(n_told[0] > 0 && n_told[1] > 0);
    close_ranks(&d.r);
}

/* Rank 1 has the reply and both ranks end, though rank 0 has not looked whether it was sent.
 * (LeakSanitizer sees a send that nobody ended.) */
TEST(a_reply_that_has_arrived_is_ended)
{
    const drove_centre centre = {.serve = serve_slowly, .is_exclusive = true};
    ranks r;
    open_ranks(&r, 2, false);
    assert_int_equal(r.t[0]->ops->host(r.t[0], &centre, 3000), DROVE_OK);
    const drove_exchange x = {.kind = DROVE_RPC, .in = r.in[1], .out = r.out[1], .n = 3000};
    const uint64_t until = drove__now_ns() + 10000000000u;
    assert_int_equal(r.t[1]->ops->start(r.t[1], 1, &x), DROVE_OK);
    while (!r.t[1]->ops->test(r.t[1], 1, 0) && drove__now_ns() < until)
        r.t[0]->ops->test(r.t[0], 0, 0);
    assert_true(r.t[1]->ops->test(r.t[1], 1, 0));
    assert_int_equal(r.t[1]->ops->finish(r.t[1], 1, 0, NULL), DROVE_OK);
    close_ranks(&r);
}

/* ---- which are done ---- */

static bool is_done(ranks *r, unsigned channel)
{
    return r->t[0]->ops->test(r->t[0], 0, channel);
}

/* A receive in each channel; the other rank sends to one after the other. */
TEST(test_tells_which_exchange_is_done)
{
    for (unsigned has_thread = 0; has_thread < 2; has_thread++) {
        ranks r;
        open_ranks(&r, 2, has_thread != 0);
        for (unsigned c = 0; c < DROVE_CHANNELS; c++) {
            const drove_exchange x = {
                .kind = DROVE_RECEIVE, .channel = c, .peer = 1, .out = r.out[0] + c, .n = 1};
            assert_int_equal(r.t[0]->ops->start(r.t[0], 0, &x), DROVE_OK);
        }
        for (unsigned i = 0; i < DROVE_CHANNELS; i++) {
            const unsigned c = i * 3 % DROVE_CHANNELS;
            const drove_exchange x = {
                .kind = DROVE_SEND, .channel = c, .peer = 0, .in = r.in[1], .n = 1};
            for (unsigned k = i; k < DROVE_CHANNELS; k++)
                assert_false(is_done(&r, k * 3 % DROVE_CHANNELS));
            r.in[1][0] = (float)(c + 1);
            assert_int_equal(drove__exchange(r.t[1], 1, &x, NULL), DROVE_OK);
            const uint64_t until = drove__now_ns() + 10000000000u;
            while (!is_done(&r, c) && drove__now_ns() < until)
                nanosleep(&(struct timespec){0, 50000}, NULL);
            for (unsigned k = 0; k <= i; k++) assert_true(is_done(&r, k * 3 % DROVE_CHANNELS));
        }
        for (unsigned c = 0; c < DROVE_CHANNELS; c++) {
            assert_int_equal(r.t[0]->ops->finish(r.t[0], 0, c, NULL), DROVE_OK);
            assert_true(r.out[0][c] == (float)(c + 1));
        }
        close_ranks(&r);
    }
}
