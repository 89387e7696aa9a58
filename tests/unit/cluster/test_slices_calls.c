/* What the exchange of slices asks of a transport, and when: the test's own, which notes each call
 * and lets a finish pass when it may; and how a failure reaches other threads.
 *
 * ctest: wraps=drovek_thread_init,pthread_create */
#include "cluster/slices.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum {
    PARTS = 5,
    EACH = DROVE_SLICES_LEAST, /* a bucket each */
    N = PARTS * EACH,
    N_ALL = 4,
    FIRST = 1,
    N_HERE = 2,
    WORKER = 7,
    ETA = 3, /* channel of the step sizes; those of slices are below */
    MOST_CALLS = 64
};
static const drove_span parts[PARTS] = {
    {0, EACH}, {EACH, EACH}, {2 * EACH, EACH}, {3 * EACH, EACH}, {4 * EACH, EACH}};

/* ---- the transport ---- */

typedef struct call {
    bool finishes;
    unsigned channel, worker;
    drove_exchange x;
    float in[N_ALL];
} call;

static call calls[MOST_CALLS];
static _Atomic unsigned n_calls;
static _Atomic unsigned n_may_finish; /* of slices, in all */
static unsigned n_finished;
static _Atomic bool fails, is_in_finish;

static void note(call c)
{
    const unsigned i = atomic_load(&n_calls);
    calls[i % MOST_CALLS] = c;
    atomic_store(&n_calls, i + 1);
}

static drove_status start(drove_transport *t, unsigned worker, const drove_exchange *x)
{
    (void)t;
    call c = {.channel = x->channel, .worker = worker, .x = *x};
    if (x->channel == ETA) memcpy(c.in, x->in, sizeof c.in);
    note(c);
    return DROVE_OK;
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static drove_status finish(drove_transport *t, unsigned worker, unsigned channel,
                           drove_exchange_info *info)
{
    (void)t, (void)info;
    atomic_store(&is_in_finish, true);
    while (channel != ETA && n_finished == atomic_load(&n_may_finish)) rest();
    n_finished += channel != ETA;
    note((call){.finishes = true, .channel = channel, .worker = worker});
    atomic_store(&is_in_finish, false);
    return atomic_load(&fails) ? drove__fail(DROVE_E_SYSTEM, "the line is cut") : DROVE_OK;
}

static bool test(drove_transport *t, unsigned worker, unsigned channel)
{
    (void)t, (void)worker, (void)channel;
    return n_finished < atomic_load(&n_may_finish);
}

static const drove_transport_ops ops = {
    .name = "noting", .start = start, .test = test, .finish = finish};

static void scale_nothing(float *y, size_t n, float a)
{
    (void)y, (void)n, (void)a;
}
static const drovek_table scales_nothing = {.scale_f32 = scale_nothing}; /* there are no values */

static _Atomic unsigned n_begun; /* threads */

void __real_drovek_thread_init(void);
void __wrap_drovek_thread_init(void);
void __wrap_drovek_thread_init(void)
{
    atomic_fetch_add(&n_begun, 1);
    __real_drovek_thread_init();
}

static bool cannot_start;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return cannot_start ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

/* ---- the rig ---- */

typedef struct rig {
    drovek_table kernels;
    drove_transport t;
    drove_slice_exchange *x;
    _Atomic unsigned n_done;
    size_t done[2 * PARTS];
    float eta[2 * PARTS]; /* as told; 0: none */
} rig;

static void done(void *context, size_t part, const float *eta)
{
    rig *r = context;
    const unsigned i = atomic_load(&r->n_done) % (2 * PARTS);
    r->done[i] = part;
    r->eta[i] = eta != NULL ? *eta : 0.0f;
    atomic_fetch_add(&r->n_done, 1);
}

static void open_rig(rig *r)
{
    memset(r, 0, sizeof *r);
    atomic_store(&n_calls, 0);
    atomic_store(&n_begun, 0);
    atomic_store(&n_may_finish, 0);
    n_finished = 0;
    atomic_store(&fails, false);
    cannot_start = false;
    assert_int_equal(drovek_select(&r->kernels, 0, "ref"), DROVE_OK);
    r->t = (drove_transport){.ops = &ops};
    const drove_slice_exchange_options opt = {.transport = &r->t,
                                              .worker = WORKER,
                                              .n_all = N_ALL,
                                              .first = FIRST,
                                              .n_here = N_HERE,
                                              .part = parts,
                                              .n_parts = PARTS,
                                              .kernels = &r->kernels,
                                              .done = done,
                                              .context = r};
    assert_int_equal(drove__slices_create(&opt, &r->x), DROVE_OK);
}

static void await_calls(unsigned n)
{
    while (atomic_load(&n_calls) < n) rest();
}

static void rest_a_while(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void expect_start(unsigned i, size_t part, const float *value)
{
    assert_false(calls[i].finishes);
    assert_int_equal(calls[i].worker, WORKER);
    assert_int_equal(calls[i].x.kind, DROVE_ALL_REDUCE);
    assert_int_equal(calls[i].channel, (PARTS - 1 - part) % ETA);
    assert_int_equal(calls[i].x.n, parts[part].length);
    assert_ptr_equal(calls[i].x.in, value + parts[part].offset);
    assert_ptr_equal(calls[i].x.out, value + parts[part].offset);
}

static void expect_finish(unsigned i, unsigned channel)
{
    assert_true(calls[i].finishes);
    assert_int_equal(calls[i].channel, channel);
    assert_int_equal(calls[i].worker, WORKER);
}

/* ---- the order ---- */

/* From the last slice to the first, whichever is offered first; three are under way at most.  Step
 * sizes go with the first slice, 0 for those of others, and come back with the last one. */
TEST(three_slices_are_under_way)
{
    static float value[N];
    static const float eta[2][N_HERE] = {{1.0f, 3.0f}, {6.0f, 2.0f}};
    rig r;
    open_rig(&r);
    for (unsigned t = 0; t < 2; t++) {
        const unsigned at = t * 2 * (PARTS + 1);
        for (size_t i = 0; i < N; i++) value[i] = (float)(4 * (i % 1000 + 1));
        for (size_t p = 0; p + 1 < PARTS; p++)
            assert_int_equal(drove__slices_offer(r.x, p, value, eta[t]), DROVE_OK);
        rest_a_while();
        assert_int_equal(n_calls, at); /* the last slice is missing */
        assert_int_equal(drove__slices_offer(r.x, PARTS - 1, value, eta[t]), DROVE_OK);
        await_calls(at + 4);
        rest_a_while();
        assert_int_equal(n_calls, at + 4); /* step sizes and three slices */
        assert_int_equal(calls[at].channel, ETA);
        assert_int_equal(calls[at].x.n, N_ALL);
        const float expected[N_ALL] = {0.0f, eta[t][0], eta[t][1], 0.0f};
        assert_memory_equal(calls[at].in, expected, sizeof expected);
        for (unsigned i = 0; i < 3; i++) expect_start(at + 1 + i, PARTS - 1 - i, value);
        atomic_fetch_add(&n_may_finish, PARTS);
        await_calls(at + 2 * (PARTS + 1));
        while (atomic_load(&r.n_done) < (t + 1) * PARTS) rest();
        expect_finish(at + 4, 0);
        expect_start(at + 5, 1, value);
        expect_finish(at + 6, 1);
        expect_start(at + 7, 0, value);
        expect_finish(at + 8, 2);
        expect_finish(at + 9, 0);
        expect_finish(at + 10, 1);
        expect_finish(at + 11, ETA);
        for (size_t i = 0; i < N; i++) assert_true(value[i] == (float)(i % 1000 + 1));
        for (unsigned i = 0; i < PARTS; i++) {
            assert_int_equal(r.done[t * PARTS + i], PARTS - 1 - i);
            assert_true(r.eta[t * PARTS + i] == (i + 1 < PARTS ? 0.0f : t == 0 ? 1.0f : 2.0f));
        }
        assert_int_equal(drove__slices_status(r.x), DROVE_OK);
    }
    assert_int_equal(n_begun, 1);
    drove__slices_destroy(r.x);
}

/* ---- ends ---- */

TEST(a_slice_that_is_missing_does_not_hold_the_others)
{
    static float value[N];
    static const float eta[N_HERE] = {1.0f, 1.0f};
    rig r;
    open_rig(&r);
    assert_int_equal(drove__slices_offer(r.x, PARTS - 1, value, eta), DROVE_OK);
    await_calls(2);
    atomic_fetch_add(&n_may_finish, 1);
    while (atomic_load(&r.n_done) < 1) rest();
    assert_int_equal(r.done[0], PARTS - 1);
    drove__slices_destroy(r.x);
    assert_int_equal(n_calls, 3);
}

TEST(destroy_waits_for_the_thread)
{
    static float value[N];
    static const float eta[N_HERE] = {1.0f, 1.0f};
    rig r;
    open_rig(&r);
    assert_int_equal(drove__slices_offer(r.x, PARTS - 1, value, eta), DROVE_OK);
    await_calls(2);
    while (!atomic_load(&is_in_finish)) rest();
    atomic_fetch_add(&n_may_finish, 1);
    drove__slices_destroy(r.x);
    assert_int_equal(r.n_done, 1); /* what was under way */
}

TEST(a_failure_is_told_to_all)
{
    static float value[N];
    static const float eta[N_HERE] = {1.0f, 1.0f};
    rig r;
    open_rig(&r);
    (void)drove__fail(DROVE_E_ARG, "an older error");
    assert_int_equal(drove__slices_status(r.x), DROVE_OK);
    assert_string_equal(drove_error_text(), "an older error");
    atomic_store(&fails, true);
    atomic_store(&n_may_finish, 1);
    assert_int_equal(drove__slices_offer(r.x, PARTS - 1, value, eta), DROVE_OK);
    while (atomic_load(&r.n_done) < 1) rest();
    assert_int_equal(r.done[0], PARTS); /* none: it has failed */
    for (unsigned i = 0; i < 2; i++) {
        (void)drove__fail(DROVE_E_ARG, "an older error");
        assert_int_equal(drove__slices_status(r.x), DROVE_E_SYSTEM);
        assert_string_equal(drove_error_text(), "the line is cut");
    }
    drove__slices_destroy(r.x);
}

TEST(a_thread_that_cannot_start_is_told)
{
    static float value[N];
    static const float eta[N_HERE] = {1.0f, 1.0f};
    rig r;
    open_rig(&r);
    cannot_start = true;
    assert_int_equal(drove__slices_offer(r.x, PARTS - 1, value, eta), DROVE_E_SYSTEM);
    assert_non_null(strstr(drove_error_text(), "cannot start a thread that exchanges slices"));
    drove__slices_destroy(r.x);
}

/* ---- buckets ---- */

enum { ODD_PARTS = 6 };

static void expect_buckets(const drove_span *part, size_t n_parts, const size_t *length,
                           unsigned n_buckets)
{
    static float value[1];
    static const float eta[N_HERE] = {1.0f, 1.0f};
    rig r;
    size_t end = part[n_parts - 1].offset + part[n_parts - 1].length;
    open_rig(&r);
    drove__slices_destroy(r.x);
    const drove_slice_exchange_options opt = {.transport = &r.t,
                                              .worker = WORKER,
                                              .n_all = N_ALL,
                                              .first = FIRST,
                                              .n_here = N_HERE,
                                              .part = part,
                                              .n_parts = n_parts,
                                              .kernels = &scales_nothing,
                                              .done = done,
                                              .context = &r};
    assert_int_equal(drove__slices_create(&opt, &r.x), DROVE_OK);
    atomic_store(&n_may_finish, MOST_CALLS);
    for (size_t i = n_parts; i-- > 0;)
        assert_int_equal(drove__slices_offer(r.x, i, value, eta), DROVE_OK);
    while (atomic_load(&r.n_done) < n_parts) rest();
    unsigned n_found = 0;
    for (unsigned i = 0; i < atomic_load(&n_calls); i++) {
        if (calls[i].finishes || calls[i].channel == ETA) continue;
        assert_true(n_found < n_buckets);
        assert_int_equal(calls[i].x.n, length[n_found++]);
        end -= calls[i].x.n;
        assert_ptr_equal(calls[i].x.in, value + end);
    }
    assert_int_equal(n_found, n_buckets);
    assert_int_equal(end, 0);
    for (unsigned i = 0; i < n_parts; i++) assert_int_equal(r.done[i], n_parts - 1 - i);
    drove__slices_destroy(r.x);
}

/* At most an eighth, 4 MB and no less than 64 KiB; equal but for the cache lines' sake. */
TEST(slices_are_joined_and_split)
{
    const drove_span odd[ODD_PARTS] = {{0, 7},           {7, 200001},     {200008, 30000},
                                       {230008, 100000}, {330008, 69992}, {400000, 8}};
    const size_t of_odd[] = {35008, 34992, 50000, 50000, 30000, 40001,
                             40000, 40000, 40000, 40000, 7};
    expect_buckets(odd, ODD_PARTS, of_odd, 11);
    const drove_span small[] = {{0, 100}, {100, 3000}, {3100, 5}};
    const size_t of_small[] = {3105};
    expect_buckets(small, 3, of_small, 1);
    const drove_span one[] = {{0, (size_t)9 << 20}};
    const size_t of_one[] = {1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20,
                             1 << 20, 1 << 20, 1 << 20, 1 << 20};
    expect_buckets(one, 1, of_one, 9);
}

/* An exchange of these parts in the place of the rig's. */
static void replace_exchange(rig *r, const drove_span *part, size_t n_parts)
{
    drove__slices_destroy(r->x);
    const drove_slice_exchange_options opt = {.transport = &r->t,
                                              .worker = WORKER,
                                              .n_all = N_ALL,
                                              .first = FIRST,
                                              .n_here = N_HERE,
                                              .part = part,
                                              .n_parts = n_parts,
                                              .kernels = &scales_nothing,
                                              .done = done,
                                              .context = r};
    assert_int_equal(drove__slices_create(&opt, &r->x), DROVE_OK);
}

/* A bucket of a split slice waits for that slice alone, a joined one for all that it has. */
TEST(a_bucket_waits_for_its_slices)
{
    static float value[1];
    static const float eta[N_HERE] = {1.0f, 1.0f};
    const drove_span part[] = {{0, EACH}, {EACH, EACH / 4}, {EACH + EACH / 4, EACH / 4}};
    rig r;
    open_rig(&r);
    replace_exchange(&r, part, 3);
    atomic_store(&n_may_finish, MOST_CALLS);
    assert_int_equal(drove__slices_offer(r.x, 2, value, eta), DROVE_OK);
    rest_a_while();
    assert_int_equal(n_calls, 0);
    assert_int_equal(drove__slices_offer(r.x, 1, value, eta), DROVE_OK);
    while (atomic_load(&r.n_done) < 2) rest();
    assert_int_equal(r.n_done, 2);
    assert_int_equal(drove__slices_offer(r.x, 0, value, eta), DROVE_OK);
    while (atomic_load(&r.n_done) < 3) rest();
    drove__slices_destroy(r.x);
}

/* While slices are still to come, what makes them has the core: no finish that would wait. */
TEST(finish_does_not_wait_during_backward)
{
    static float value[1];
    static const float eta[N_HERE] = {1.0f, 1.0f};
    const drove_span part[] = {{0, EACH}, {EACH, EACH}};
    rig r;
    open_rig(&r);
    r.t.in_background = true;
    replace_exchange(&r, part, 2);
    assert_int_equal(drove__slices_offer(r.x, 1, value, eta), DROVE_OK);
    await_calls(2);
    rest_a_while();
    assert_false(is_in_finish);
    atomic_store(&n_may_finish, 1); /* the transport's own thread has moved the messages */
    while (atomic_load(&r.n_done) < 1) rest();
    assert_int_equal(drove__slices_offer(r.x, 0, value, eta), DROVE_OK);
    while (!atomic_load(&is_in_finish)) rest();
    atomic_store(&n_may_finish, 2);
    while (atomic_load(&r.n_done) < 2) rest();
    drove__slices_destroy(r.x);
}
