/* Transfers part by part over a transport of the test, which writes down what is started and
 * finished; when the mean of replicas in several processes is asked for; and what the processes of
 * a centre tell each other when they park. */
#include "support/strategies.h"

#include "elastic/common.h"
#include "elastic/elastic.h"

enum { N = 24, WORKER = 2, FIRST_CHANNEL = 3, MOST_PARTS = 7, MOST_CALLS = 40 };

typedef struct note {
    bool is_start;
    unsigned channel;
    drove_exchange x; /* of a start */
} note;

static struct {
    note of[MOST_CALLS];
    unsigned n, n_finished, n_wrong;
    float others;  /* what all others bring to a sum; or what is broadcast to them */
    uint64_t mine; /* updates that were gathered */
    bool has_failed;
} told;

static note *write_down(unsigned worker, unsigned channel, bool is_start)
{
    told.n_wrong += worker != WORKER || told.n == MOST_CALLS;
    note *next = &told.of[told.n < MOST_CALLS ? told.n++ : 0];
    *next = (note){.is_start = is_start, .channel = channel};
    return next;
}

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    (void)t;
    write_down(worker, x->channel, true)->x = *x;
    for (size_t i = 0; x->out != NULL && i < x->n; i++) {
        x->out[i] = (x->in != NULL ? x->in[i] : 0.0f) + told.others;
    }
    return DROVE_OK;
}

/* Each number of the k-th part is k + 1 times that of the first. */
static drove_status finish(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info)
{
    (void)t;
    write_down(worker, channel, false);
    const unsigned k = ++told.n_finished;
    if (info == NULL) return DROVE_OK;
    info->wait_ns += 10 * k;
    info->work_ns += 200 * k;
    info->centre_ns += 3000 * k;
    info->transit_ns += 40000 * k;
    info->bytes += 500000 * k;
    info->messages += 6000000 * k;
    info->number[0] = (float)(76 + k);
    return DROVE_OK;
}

static drove_status host(drove_transport *t, const drove_centre *centre, size_t n)
{
    (void)t, (void)n;
    told.n_wrong += centre->vector != NULL; /* it is rank 0's */
    return DROVE_OK;
}

/* Process i of the others has made 10 (i + 1) updates. */
static drove_status gather(drove_transport *t, const void *mine, size_t each_bytes, void *all)
{
    told.n_wrong += each_bytes != sizeof told.mine;
    memcpy(&told.mine, mine, sizeof told.mine);
    for (unsigned i = 0; i < t->n_processes; i++)
        ((uint64_t *)all)[i] = i == t->process ? told.mine : 10 * (i + 1);
    return told.has_failed ? drove__fail(DROVE_E_SYSTEM, "nobody answers") : DROVE_OK;
}

static const drove_transport_ops ops = {
    .name = "told", .start = start, .finish = finish, .host = host, .gather = gather};

/* ---- transfers ---- */

static void expect(unsigned i, bool is_start, unsigned channel)
{
    if (told.of[i].is_start != is_start || told.of[i].channel != channel)
        fail_msg("call %u: expected a %s in channel %u, found a %s in %u", i,
                 is_start ? "start" : "finish", channel, told.of[i].is_start ? "start" : "finish",
                 told.of[i].channel);
}

static void expect_part(unsigned i, const drove_exchange *whole, const drove_span *part, unsigned k)
{
    const drove_exchange *x = &told.of[i].x;
    assert_int_equal(x->kind, whole->kind);
    assert_int_equal(x->peer, whole->peer);
    assert_ptr_equal(x->in, whole->in + part->offset);
    assert_ptr_equal(x->out, whole->out + part->offset);
    assert_int_equal(x->n, part->length);
    assert_true(x->number[0] == 5.0f && x->number[3] == (float)k);
    assert_null(x->codec);
}

static void expect_sums(const drove_elastic_worker *me, unsigned n_parts, unsigned n_hidden)
{
    const uint64_t all = n_parts * (n_parts + 1) / 2, hidden = n_hidden * (n_hidden + 1) / 2;
    const drove_exchange_info *met = &me->met;
    assert_true(met->wait_ns == 10 * all && met->work_ns == 200 * all);
    assert_true(met->centre_ns == 3000 * all && met->transit_ns == 40000 * all);
    assert_true(met->bytes == 500000 * all && met->messages == 6000000 * all);
    assert_true(me->hidden_ns == (40000 - 10) * hidden); /* of those that were begun early */
    assert_int_equal(me->before, 77);                    /* by the first part's reply */
}

/* So many starts at first; then each finish of the oldest, and a start in its channel if a part is
 * left. */
static void transfer(unsigned n_parts, unsigned n_channels, bool is_early)
{
    static float in[N], out[N];
    drove_span part[MOST_PARTS + 1] = {{0}};
    drove_elastic_worker of[WORKER + 1] = {{0}};
    drove_transport t = {.ops = &ops};
    drove_elastic e = {.transport = &t, .of = of, .part = part, .n_parts = n_parts};
    const drove_exchange x = {.kind = DROVE_RPC,
                              .channel = FIRST_CHANNEL,
                              .peer = 1,
                              .in = in,
                              .out = out,
                              .number = {5.0f}};
    const unsigned n_first = n_parts < n_channels ? n_parts : n_channels;
    drove_transfer p;
    for (unsigned k = 0; k < n_parts; k++) part[k] = (drove_span){.offset = 3 * k, .length = 3};
    memset(&told, 0, sizeof told);
    assert_int_equal(drove__transfer_begin(&e, WORKER, &p, &x, n_channels, is_early), DROVE_OK);
    assert_int_equal(told.n, n_first);
    assert_true(p.is_open);
    assert_int_equal(drove__transfer_end(&e, WORKER, &p), DROVE_OK);
    assert_false(p.is_open);
    unsigned i = 0, n_started = 0;
    for (; n_started < n_first; n_started++, i++) {
        expect(i, true, FIRST_CHANNEL + n_started);
        expect_part(i, &x, &part[n_started], n_started);
    }
    for (unsigned k = 0; k < n_parts; k++) {
        expect(i++, false, FIRST_CHANNEL + k % n_channels);
        if (n_started == n_parts) continue;
        expect(i, true, FIRST_CHANNEL + n_started % n_channels);
        expect_part(i++, &x, &part[n_started], n_started);
        n_started++;
    }
    assert_int_equal(told.n, i);
    assert_int_equal(told.n_wrong, 0);
    expect_sums(&of[WORKER], n_parts, is_early ? n_first : 0);
}

TEST(each_part_is_sent_once_in_its_channel)
{
    for (unsigned n_parts = 1; n_parts <= MOST_PARTS; n_parts++) {
        for (unsigned n_channels = 1; n_channels <= DROVE_CHANNELS_OF_TRANSFER; n_channels++) {
            transfer(n_parts, n_channels, false);
            transfer(n_parts, n_channels, true);
        }
    }
}

/* ---- parked ---- */

static drove_sync *make_sync(const rig *r, const drove_sync_ops *row, drove_transport *t)
{
    static float theta[N];
    drove_sync *s = NULL;
    const drove_sync_options opt = {
        .n_workers = 4, .optim = r->optim, .seed = 1, .period = "3", .transport = t};
    assert_int_equal(drove__sync_create(row, &opt, &(drove_params){.theta = theta}, &s), DROVE_OK);
    return s;
}

/* Each worker a process. */
static drove_transport rank_of_four(void)
{
    return (drove_transport){.ops = &ops,
                             .n_workers = 4,
                             .n_processes = 4,
                             .process = WORKER,
                             .first_worker = WORKER,
                             .n_here = 1};
}

static void step(drove_sync *s, unsigned worker, float value)
{
    float g[N];
    drove_view view;
    drove_publish_info info;
    const drove_step by = {.value = g, .eta = 1.0f};
    for (unsigned i = 0; i < N; i++) g[i] = -value;
    assert_int_equal(s->ops->acquire(s, worker, &view), DROVE_OK);
    drove__sync_release(s, worker);
    assert_int_equal(s->ops->publish(s, worker, &by, &info), DROVE_OK);
}

/* Workers parked: what they made it, and how many exchanges that took. */
static void expect_parked(drove_sync *s, float value, unsigned n_started)
{
    told.n = told.n_finished = 0;
    assert_int_equal(drove__sync_parked(s), DROVE_OK);
    if (told.n != 2 * n_started || told.n_finished != n_started)
        fail_msg("expected %u exchanges, found %u calls", n_started, told.n);
    const float *theta = s->ops->peek(s).theta;
    for (unsigned i = 0; i < N; i++) assert_true(theta[i] == value);
}

/* Ranks have a mean to ask for between two exchanges of parameters alone. */
TEST(ranks_ask_for_the_mean_between_exchanges)
{
    rig r;
    drove_transport t = rank_of_four();
    memset(&told, 0, sizeof told);
    rig_init(&r, (rig_options){.variant = "mutex", .n = N, .n_workers = 4});
    drove_sync *s = make_sync(&r, &drove__sync_local, &t);
    expect_parked(s, 0.0f, 0); /* all are equal at first */
    for (unsigned i = 0; i < 3; i++) {
        told.others = 8.0f; /* of a sum over four */
        if (i > 0) expect_parked(s, ((float)i * 12.0f + 8.0f) / 4.0f, 1);
        step(s, WORKER, 12.0f);
    }
    expect_parked(s, (36.0f + 8.0f) / 4.0f, 0); /* just exchanged: all are the mean */
    assert_int_equal(told.n_wrong, 0);
    drove__sync_destroy(s);
    s = make_sync(&r, &drove__sync_diloco, &t); /* the centre is what counts */
    step(s, WORKER, 12.0f);
    expect_parked(s, 0.0f, 0);
    drove__sync_destroy(s);
    rig_fini(&r);
}

/* In one process the replicas are there: nobody asks. */
TEST(threads_have_the_mean)
{
    rig r;
    memset(&told, 0, sizeof told);
    rig_init(&r, (rig_options){.variant = "mutex", .n = N, .n_workers = 4});
    drove_transport t = {.ops = &ops, .n_workers = 4, .n_processes = 1, .n_here = 4};
    drove_sync *s = make_sync(&r, &drove__sync_local, &t);
    for (unsigned w = 0; w < 4; w++) step(s, w, (float)(4 * w));
    expect_parked(s, (0.0f + 4.0f + 8.0f + 12.0f) / 4.0f, 0);
    drove__sync_destroy(s);
    rig_fini(&r);
}

/* The updates of all, and the centre of rank 0; a transport that fails changes neither. */
TEST(ranks_add_up_their_updates)
{
    static const drove_sync_ops *const rows[] = {&drove__sync_easgd_async,
                                                 &drove__sync_easgd_hogwild};
    for (size_t k = 0; k < DROVE_COUNT(rows); k++) {
        rig r;
        drove_transport t = rank_of_four();
        memset(&told, 0, sizeof told);
        rig_init(&r, (rig_options){.variant = "mutex", .n = N, .n_workers = 4});
        drove_sync *s = make_sync(&r, rows[k], &t);
        uint64_t published = 0;
        for (uint64_t mine = 3; mine <= 5; mine++) {
            atomic_fetch_add(&s->published, mine);
            told.others = (float)mine;
            expect_parked(s, (float)mine, 1);
            assert_int_equal(told.of[0].x.kind, DROVE_BROADCAST);
            assert_int_equal(told.of[0].x.n, N);
            assert_int_equal(told.mine, mine);
            published += 10 + 20 + mine + 40;
            assert_int_equal(atomic_load(&s->published), published);
        }
        told.has_failed = true;
        told.n = 0;
        assert_int_equal(drove__sync_parked(s), DROVE_E_SYSTEM);
        assert_string_equal(drove_error_text(), "nobody answers");
        assert_int_equal(told.n, 0);
        assert_int_equal(atomic_load(&s->published), published);
        assert_int_equal(told.n_wrong, 0);
        drove__sync_destroy(s);
        rig_fini(&r);
    }
}
