/* One rank of several, on a transport of the test's own: the messages of turns and when they are
 * finished, who halts behind a last round, exchanges that begin before the gradient, what a step
 * reports of its exchange, and what all ranks tell each other at a parking.
 *
 * ctest: apart: its clock_gettime is for all */
#include "elastic/central.h"
#include "elastic/elastic.h"
#include "support/rig.h"

#include "base/clock.h"

#include <time.h>

enum { N = 24, P = 3, MOST_CALLS = 32, TICK_NS = 10 };

/* In the place of the system's: each reading is a tick later. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    static uint64_t ns = 1000000000;
    (void)id;
    ns += TICK_NS;
    now->tv_sec = (time_t)(ns / 1000000000);
    now->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

/* ---- the transport ---- */

typedef struct call {
    bool finishes;
    drove_exchange x; /* as started */
    float first;      /* of what is sent */
} call;

static call calls[MOST_CALLS];
static unsigned n_calls;
static drove_exchange under_way[DROVE_CHANNELS];
static float told;                    /* that the next turn brings */
static uint64_t before;               /* updates before the next RPC */
static drove_exchange_info took;      /* by each exchange */
static uint64_t updates_of_others[P]; /* at a parking */
static bool has_left;
static size_t n_hosted; /* floats of the centre's RPCs */

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    (void)t, (void)worker;
    under_way[x->channel] = *x;
    calls[n_calls] = (call){.x = *x};
    if (x->n > 0 && x->in != NULL) calls[n_calls].first = x->in[0];
    n_calls++;
    assert_true(n_calls < MOST_CALLS);
    return DROVE_OK;
}

static drove_status finish(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info)
{
    const drove_exchange *x = &under_way[channel];
    (void)t, (void)worker;
    calls[n_calls++] = (call){.finishes = true, .x = *x};
    if (x->kind == DROVE_RECEIVE && x->n > 0) x->out[0] = told;
    if (info == NULL) return DROVE_OK;
    info->wait_ns += took.wait_ns;
    info->work_ns += took.work_ns;
    info->centre_ns += took.centre_ns;
    info->bytes += took.bytes;
    info->messages += took.messages;
    if (x->kind == DROVE_RPC) drove__elastic_split(before, info->number);
    return DROVE_OK;
}

static bool is_done(drove_transport *t, unsigned worker, unsigned channel)
{
    (void)t, (void)worker, (void)channel;
    return true;
}

static drove_status host(drove_transport *t, const drove_centre *centre, size_t n)
{
    (void)t, (void)centre;
    n_hosted = n;
    return DROVE_OK;
}

static drove_status gather(drove_transport *t, const void *mine, size_t each_bytes, void *all)
{
    memcpy(all, updates_of_others, sizeof updates_of_others);
    memcpy((char *)all + t->process * each_bytes, mine, each_bytes);
    return DROVE_OK;
}

static void leave(drove_transport *t, unsigned worker, bool goes_on)
{
    (void)t;
    has_left = worker == 1 && goes_on;
}

static const drove_transport_ops ops = {.name = "noting",
                                        .start = start,
                                        .test = is_done,
                                        .finish = finish,
                                        .host = host,
                                        .leave = leave,
                                        .gather = gather};

/* ---- the rig ---- */

static drove_transport transport;
static unsigned driven; /* the worker that the test plays */

typedef struct wanted {
    const char *variant, *schedule, *period;
    double rho;
    bool are_threads; /* all workers are here */
} wanted;

static void open_rig(rig *r, const drove_sync_ops *row, const wanted *x, unsigned me)
{
    driven = me;
    n_calls = 0;
    told = 0.0f;
    before = 0;
    took = (drove_exchange_info){0};
    transport = (drove_transport){.ops = &ops,
                                  .n_workers = P,
                                  .n_processes = x->are_threads ? 1 : P,
                                  .process = x->are_threads ? 0 : me,
                                  .first_worker = x->are_threads ? 0 : me,
                                  .n_here = x->are_threads ? P : 1,
                                  .kernels = &drovek_ref};
    rig_init_row(r, (rig_options){.ops = row,
                                  .variant = x->variant,
                                  .schedule = x->schedule,
                                  .lr = 0.25,
                                  .n = N,
                                  .n_workers = P,
                                  .rho = x->rho,
                                  .period = x->period,
                                  .transport = &transport,
                                  .kernels = &drovek_ref});
}

static drove_view acquire(rig *r)
{
    drove_view view;
    n_calls = 0;
    assert_int_equal(r->sync->ops->acquire(r->sync, driven, &view), DROVE_OK);
    return view;
}

static drove_publish_info publish(rig *r)
{
    static const float g[N];
    const drove_step step = {.value = g, .eta = 0.25f};
    drove_publish_info info;
    n_calls = 0;
    assert_int_equal(r->sync->ops->publish(r->sync, driven, &step, &info), DROVE_OK);
    return info;
}

static unsigned count(drove_exchange_kind kind, bool finishes)
{
    unsigned n = 0;
    for (unsigned i = 0; i < n_calls; i++)
        n += calls[i].x.kind == kind && calls[i].finishes == finishes;
    return n;
}

static const call *find(drove_exchange_kind kind)
{
    for (unsigned i = 0; i < n_calls; i++)
        if (calls[i].x.kind == kind && !calls[i].finishes) return &calls[i];
    return NULL;
}

/* ---- turns ---- */

static const wanted plain = {.variant = "easgd"};

/* A turn comes from the worker before, and goes to the next one: a number over ranks, among threads
 * nothing.  Its SEND is finished before the next RECEIVE. */
TEST(turns_go_round)
{
    static const wanted threads = {.variant = "easgd", .are_threads = true};
    for (unsigned k = 0; k < 2 * P; k++) {
        const unsigned me = k % P, n = k < P ? 1 : 0;
        rig r;
        open_rig(&r, &drove__sync_easgd, k < P ? &plain : &threads, me);
        for (unsigned t = 0; t < 4; t++) {
            const bool receives = me > 0 || t > 0;
            took.wait_ns = 5;
            const drove_view view = acquire(&r);
            assert_int_equal(count(DROVE_SEND, true), t > 0);
            assert_int_equal(count(DROVE_RECEIVE, false), receives);
            assert_int_equal(count(DROVE_RECEIVE, true), receives);
            if (t > 0) assert_true(calls[0].finishes && calls[0].x.kind == DROVE_SEND);
            assert_int_equal(view.wait_ns, 5 * (receives + (t > 0)));
            if (receives) {
                const drove_exchange *x = &find(DROVE_RECEIVE)->x;
                assert_int_equal(x->channel, DROVE_CHANNEL_TURN);
                assert_int_equal(x->peer, (me + P - 1) % P);
                assert_int_equal(x->n, n);
            }
            (void)publish(&r);
            const call *sent = find(DROVE_SEND);
            assert_non_null(sent);
            assert_int_equal(count(DROVE_SEND, true), 0);
            assert_int_equal(sent->x.channel, DROVE_CHANNEL_TURN);
            assert_int_equal(sent->x.peer, (me + 1) % P);
            assert_int_equal(sent->x.n, n);
            assert_true(sent->first == 0.0f);
            assert_int_equal(atomic_load(&transport.halt_seen), 0);
        }
        rig_fini(&r);
    }
}

/* Worker 0 decides, and begins the next stretch without a turn. */
TEST(the_first_worker_ends_a_round)
{
    rig r;
    open_rig(&r, &drove__sync_easgd, &plain, 0);
    (void)acquire(&r);
    atomic_store(&transport.halt_wished, 1);
    (void)publish(&r);
    assert_true(find(DROVE_SEND)->first == 1.0f);
    assert_int_equal(atomic_load(&transport.halt_seen), 1);
    atomic_store(&transport.halt_wished, 0);
    atomic_store(&transport.halt_seen, 0);
    (void)acquire(&r);
    assert_int_equal(count(DROVE_RECEIVE, false), 0);
    assert_int_equal(count(DROVE_SEND, true), 1);
    (void)publish(&r);
    assert_true(find(DROVE_SEND)->first == 0.0f);
    assert_int_equal(atomic_load(&transport.halt_seen), 0);
    told = 1.0f; /* of a round that is over: it decides by itself */
    (void)acquire(&r);
    assert_int_equal(count(DROVE_RECEIVE, false), 1);
    (void)publish(&r);
    assert_true(find(DROVE_SEND)->first == 0.0f);
    assert_int_equal(atomic_load(&transport.halt_seen), 0);
    rig_fini(&r);
}

/* Others halt by the turn, whatever they wish themselves; the last one gives none. */
TEST(others_halt_by_the_turn)
{
    for (unsigned me = 1; me < P; me++) {
        rig r;
        open_rig(&r, &drove__sync_easgd, &plain, me);
        atomic_store(&transport.halt_wished, 1);
        (void)acquire(&r);
        (void)publish(&r);
        assert_true(find(DROVE_SEND)->first == 0.0f);
        assert_int_equal(atomic_load(&transport.halt_seen), 0);
        told = 1.0f;
        (void)acquire(&r);
        (void)publish(&r);
        assert_int_equal(atomic_load(&transport.halt_seen), 1);
        assert_int_equal(count(DROVE_SEND, false), me + 1 < P);
        if (me + 1 < P) assert_true(find(DROVE_SEND)->first == 1.0f);
        told = 0.0f;
        (void)acquire(&r);
        assert_int_equal(count(DROVE_SEND, true), me + 1 < P);
        assert_int_equal(count(DROVE_RECEIVE, true), 1);
        atomic_store(&transport.halt_seen, 0);
        (void)publish(&r);
        assert_true(find(DROVE_SEND)->first == 0.0f);
        assert_int_equal(atomic_load(&transport.halt_seen), 0);
        rig_fini(&r);
    }
}

/* ---- RPCs ---- */

/* Before the gradient, where the pull does not depend on a step size that changes. */
TEST(an_rpc_begins_before_the_gradient_where_it_can)
{
    static const struct {
        const drove_sync_ops *row;
        wanted x;
        bool is_early, halts_later;
    } cases[] = {
        {&drove__sync_easgd, {.variant = "easgd"}, true, true},
        {&drove__sync_easgd, {.variant = "easgd?overlap=0"}, false, true},
        {&drove__sync_easgd_async, {.variant = "easgd-async?overlap=1"}, true, false},
        {&drove__sync_easgd_async, {.variant = "easgd-async"}, false, false},
        {&drove__sync_easgd_async, {.variant = "easgd-async?overlap=1", .rho = 2.0}, true, false},
        {&drove__sync_easgd_async,
         {.variant = "easgd-async?overlap=1", .schedule = "exponential:0.9"},
         true,
         false},
        {&drove__sync_easgd_async,
         {.variant = "easgd-async?overlap=1", .schedule = "exponential:0.9", .rho = 2.0},
         false,
         false},
    };
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        open_rig(&r, cases[k].row, &cases[k].x, 1);
        assert_int_equal(n_hosted, N);
        for (unsigned t = 0; t < 2; t++) {
            before = 10 + 3 * t;
            (void)acquire(&r);
            assert_int_equal(count(DROVE_RPC, false), cases[k].is_early);
            const call *rpc = find(DROVE_RPC);
            if (rpc != NULL) assert_int_equal(rpc->x.halts_later, cases[k].halts_later);
            const drove_publish_info info = publish(&r);
            assert_int_equal(count(DROVE_RPC, false), !cases[k].is_early);
            rpc = find(DROVE_RPC);
            if (rpc != NULL) assert_int_equal(rpc->x.halts_later, cases[k].halts_later);
            assert_int_equal(count(DROVE_RPC, true), 1);
            assert_int_equal(info.is_early, cases[k].is_early);
            assert_int_equal(info.order, before);
            assert_int_equal(info.staleness, t == 0 ? 10 : 2); /* 13, as known was 11 */
        }
        rig_fini(&r);
    }
}

/* Of every second step; others exchange nothing, and nobody else sees them yet. */
TEST(a_step_without_an_exchange_reports_none)
{
    static const wanted second = {.variant = "easgd-async?overlap=1", .period = "2"};
    rig r;
    open_rig(&r, &drove__sync_easgd_async, &second, 1);
    r.sync->ops->replicas->vector(r.sync, 1)[0] = 3.0f; /* three from the centre */
    for (unsigned t = 0; t < 4; t++) {
        const bool is_due = t % 2 == 1;
        took = (drove_exchange_info){
            .wait_ns = 1, .work_ns = 2, .centre_ns = 4, .bytes = 80, .messages = 2};
        (void)acquire(&r);
        assert_int_equal(count(DROVE_RPC, false), is_due);
        const drove_publish_info info = publish(&r);
        assert_int_equal(info.bytes, is_due ? 80 : 0);
        assert_int_equal(info.messages, is_due ? 2 : 0);
        assert_int_equal(info.centre_ns, is_due ? 4 : 0);
        assert_int_equal(info.wait_ns, is_due ? 1 : 0);
        assert_int_equal(info.exchange_ns, is_due ? 2 : 0);
        assert_true((info.distance > 0.0) == is_due);
        assert_true((info.order == DROVE_NO_ORDER) != is_due);
        assert_int_equal(info.is_early, is_due);
    }
    rig_fini(&r);
}

/* Time that an exchange took in acquire is none of publish. */
TEST(parts_of_a_step_are_no_longer_than_it)
{
    static const wanted x = {.variant = "easgd-async"};
    for (unsigned k = 0; k < 3; k++) {
        rig r;
        open_rig(&r, &drove__sync_easgd_async, &x, 1);
        took.wait_ns = k == 0 ? UINT64_C(1) << 60 : 1;
        took.work_ns = k < 2 ? UINT64_C(1) << 60 : 1;
        (void)acquire(&r);
        const uint64_t begin_ns = drove__now_ns();
        const drove_publish_info info = publish(&r);
        const uint64_t took_ns = drove__now_ns() - begin_ns;
        assert_true(info.wait_ns + info.exchange_ns + info.update_ns <= took_ns);
        if (k == 0) assert_true(info.wait_ns > 0 && info.exchange_ns == 0);
        if (k > 0) assert_int_equal(info.wait_ns, 1);
        if (k < 2) assert_int_equal(info.update_ns, 0);
        else assert_true(info.exchange_ns == 1 && info.update_ns > 0);
        rig_fini(&r);
    }
}

/* ---- rounds ---- */

static const struct {
    const drove_sync_ops *row;
    const char *variant;
    bool is_early, is_one; /* one centre, at rank 0 */
} rounds[] = {
    {&drove__sync_easgd_sync1, "easgd-sync1", false, true},
    {&drove__sync_easgd_sync2, "easgd-sync2", false, true},
    {&drove__sync_easgd_sync3, "easgd-sync3", true, false},
    {&drove__sync_easgd_sync3, "easgd-sync3?centre=one", true, true},
};

static void expect_round(bool is_begun, bool is_one)
{
    assert_int_equal(count(DROVE_BROADCAST, false), is_begun && is_one);
    assert_int_equal(count(DROVE_REDUCE, false), is_begun && is_one);
    assert_int_equal(count(DROVE_ALL_REDUCE, false), is_begun && !is_one);
    const call *down = find(DROVE_BROADCAST), *up = find(DROVE_REDUCE);
    if (down != NULL) assert_int_equal(down->x.in != NULL, driven == 0);
    if (down != NULL) assert_non_null(down->x.out);
    if (up != NULL) assert_int_equal(up->x.out != NULL, driven == 0);
}

/* Of every second step: before the gradient, or behind it. */
TEST(a_round_begins_before_the_gradient_where_it_can)
{
    for (unsigned k = 0; k < 2 * DROVE_COUNT(rounds); k++) {
        const unsigned i = k / 2;
        const wanted x = {.variant = rounds[i].variant, .period = "2"};
        rig r;
        open_rig(&r, rounds[i].row, &x, k % 2);
        for (unsigned t = 0; t < 4; t++) {
            const bool is_due = t % 2 == 1;
            (void)acquire(&r);
            expect_round(is_due && rounds[i].is_early, rounds[i].is_one);
            (void)publish(&r);
            expect_round(is_due && !rounds[i].is_early, rounds[i].is_one);
            assert_int_equal(count(DROVE_REDUCE, true), is_due && rounds[i].is_one);
            assert_int_equal(count(DROVE_ALL_REDUCE, true), is_due && !rounds[i].is_one);
        }
        rig_fini(&r);
    }
}

/* Workers agree on a step size that varies, if the pull depends on it. */
TEST(step_sizes_are_agreed_on_for_the_pull_alone)
{
    static const struct {
        const char *schedule;
        double rho;
        bool agrees;
    } cases[] = {{"constant", 0.0, false},
                 {"constant", 1.0, false},
                 {"exponential:0.9", 0.0, false},
                 {"exponential:0.9", 1.0, true}};
    for (unsigned k = 0; k < DROVE_COUNT(cases); k++) {
        rig r;
        unsigned n = 0;
        const wanted x = {.variant = "easgd-sync3",
                          .schedule = cases[k].schedule,
                          .rho = cases[k].rho};
        open_rig(&r, &drove__sync_easgd_sync3, &x, 1);
        (void)acquire(&r);
        (void)publish(&r);
        for (unsigned i = 0; i < n_calls; i++) {
            if (calls[i].x.channel != DROVE_CHANNEL_SMALL || calls[i].finishes) continue;
            assert_int_equal(calls[i].x.n, 1);
            assert_true(calls[i].first == 0.25f);
            n++;
        }
        assert_int_equal(n, cases[k].agrees);
        rig_fini(&r);
    }
}

/* The one centre goes from rank 0 to the others, which have a copy to look at. */
TEST(a_parking_brings_the_one_centre)
{
    for (unsigned k = 0; k < 2 * DROVE_COUNT(rounds); k++) {
        const unsigned i = k / 2;
        const wanted x = {.variant = rounds[i].variant};
        float theta[N];
        rig r;
        open_rig(&r, rounds[i].row, &x, k % 2);
        for (unsigned j = 0; j < N; j++) theta[j] = 5.0f;
        assert_int_equal(drove__sync_restore(r.sync, 3, &(drove_params){.theta = theta}, NULL),
                         DROVE_OK);
        const float *seen = r.sync->ops->peek(r.sync).theta;
        assert_memory_equal(seen, theta, sizeof theta);
        n_calls = 0;
        assert_int_equal(drove__sync_parked(r.sync), DROVE_OK);
        assert_int_equal(count(DROVE_BROADCAST, true), rounds[i].is_one);
        if (rounds[i].is_one) {
            const drove_exchange *sent = &find(DROVE_BROADCAST)->x;
            assert_ptr_equal(sent->out, seen);
            assert_ptr_equal(sent->in, driven == 0 ? seen : NULL);
            assert_int_equal(sent->n, N);
        }
        rig_fini(&r);
    }
}

/* ---- parked ---- */

TEST(updates_of_all_ranks_are_counted_once)
{
    static const wanted x = {.variant = "easgd-async"};
    rig r;
    open_rig(&r, &drove__sync_easgd_async, &x, 1);
    const uint64_t others[][P] = {{5, 0, 7}, {1, 0, 1}};
    uint64_t expected = 0;
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned t = 0; t < 2; t++) {
            (void)acquire(&r);
            (void)publish(&r);
        }
        memcpy(updates_of_others, others[k], sizeof updates_of_others);
        n_calls = 0;
        assert_int_equal(drove__sync_parked(r.sync), DROVE_OK);
        expected += 2 + others[k][0] + others[k][2];
        assert_int_equal(atomic_load(&r.sync->published), expected);
        assert_int_equal(count(DROVE_BROADCAST, true), 1);
        assert_null(find(DROVE_BROADCAST)->x.in); /* rank 0 holds the centre */
        assert_ptr_equal(find(DROVE_BROADCAST)->x.out, r.sync->ops->peek(r.sync).theta);
    }
    float theta[N] = {0}; /* a restore begins to count again */
    assert_int_equal(drove__sync_restore(r.sync, 100, &(drove_params){.theta = theta}, NULL),
                     DROVE_OK);
    memcpy(updates_of_others, others[1], sizeof updates_of_others);
    assert_int_equal(drove__sync_parked(r.sync), DROVE_OK);
    assert_int_equal(atomic_load(&r.sync->published), 102);
    r.sync->ops->leave(r.sync, 1);
    assert_true(has_left);
    rig_fini(&r);
    open_rig(&r, &drove__sync_easgd_async, &x, 0);
    n_calls = 0;
    assert_int_equal(drove__sync_parked(r.sync), DROVE_OK);
    assert_ptr_equal(find(DROVE_BROADCAST)->x.in, r.sync->ops->peek(r.sync).theta);
    rig_fini(&r);
}
