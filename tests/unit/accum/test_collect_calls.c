/* The collector on a clock of the test's own: what its additions and waits take, whose track of the
 * time line they are on, and which thread makes them; and the threads that it starts.
 *
 * ctest: wraps=drove__spans_add,drovek_thread_init,drove__slices_stop
 * ctest: wraps=pthread_create,pthread_join */
#include "accum/collect.h"
#include "cluster/slices.h"
#include "accum/sum.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 1000, MOST = 4, CHUNK = DROVE_SUM_CHUNK, MOST_SPANS = 64 };

/* ---- in the place of others ---- */

static _Atomic uint64_t n_readings = 1000000;

int clock_gettime(clockid_t id, struct timespec *now)
{
    const uint64_t ns = (atomic_fetch_add(&n_readings, 1) + 1) * TICK_NS;
    (void)id;
    now->tv_sec = (time_t)(ns / 1000000000);
    now->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

static struct {
    _Atomic unsigned n_taken;    /* places */
    _Atomic unsigned n, n_await; /* spans; a thread that adds one waits until so many are there */
    unsigned track[MOST_SPANS];
    drove_time_span span[MOST_SPANS];
} line;

void __wrap_drove__spans_add(drove_spans *spans, unsigned track, const drove_time_span *span);
void __wrap_drove__spans_add(drove_spans *spans, unsigned track, const drove_time_span *span)
{
    (void)spans;
    const unsigned i = atomic_fetch_add(&line.n_taken, 1) % MOST_SPANS;
    line.track[i] = track;
    line.span[i] = *span;
    atomic_fetch_add(&line.n, 1);
    while (atomic_load(&line.n) < atomic_load(&line.n_await))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static struct {
    unsigned n_created, n_joined, fails_at; /* 0: none */
    pthread_t created[MOST], joined[MOST];
    _Atomic unsigned n_begun, n_stops;
} calls;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    if (calls.n_created + 1 == calls.fails_at) return EAGAIN;
    const int error = __real_pthread_create(thread, attributes, run, argument);
    calls.created[calls.n_created++ % MOST] = *thread;
    return error;
}

int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result)
{
    calls.joined[calls.n_joined++ % MOST] = thread;
    return __real_pthread_join(thread, result);
}

void __real_drovek_thread_init(void);
void __wrap_drovek_thread_init(void);
void __wrap_drovek_thread_init(void)
{
    atomic_fetch_add(&calls.n_begun, 1);
    __real_drovek_thread_init();
}

void __real_drove__slices_stop(drove_slice_exchange *x);
void __wrap_drove__slices_stop(drove_slice_exchange *x);
void __wrap_drove__slices_stop(drove_slice_exchange *x)
{
    atomic_fetch_add(&calls.n_stops, 1);
    __real_drove__slices_stop(x);
}

/* ---- the rig ---- */

static const drove_span one_chunk[] = {{0, CHUNK}}, two_chunks[] = {{0, 2 * CHUNK}},
                        three_parts[] = {{0, 2 * CHUNK}, {2 * CHUNK, 64}, {2 * CHUNK + 64, 64}},
                        two_parts[] = {{0, 4 * CHUNK}, {4 * CHUNK, 4 * CHUNK}};
static float g[MOST][8 * CHUNK];
static drovek_table kernels;

static drove_collector_options options(unsigned n_devices, const drove_span *part, size_t n_parts)
{
    const drove_span *last = &part[n_parts - 1];
    memset(&line, 0, sizeof line);
    memset(&calls, 0, sizeof calls);
    assert_int_equal(drovek_select(&kernels, 0, "ref"), DROVE_OK);
    return (drove_collector_options){.n_devices = n_devices,
                                     .part = part,
                                     .n_parts = n_parts,
                                     .n = last->offset + last->length,
                                     .kernels = &kernels,
                                     .n_all = 8,
                                     .first = 3};
}

static drove_collector *create(const drove_collector_options *opt)
{
    drove_collector *c;
    assert_int_equal(drove__collector_create(opt, &c), DROVE_OK);
    return c;
}

static void arrive(drove_collector *c, unsigned device, unsigned part, bool adds)
{
    (void)drove__collect_arrive(c, device, part, g[device], 1.0f, adds);
}

static drove_collect_times finish(drove_collector *c, unsigned device, float expected_eta)
{
    drove_collect_times times;
    float *mean, eta;
    assert_true(drove__collect_finish(c, device, &mean, &eta, &times));
    assert_true(eta == expected_eta);
    return times;
}

/* ---- times ---- */

/* Readings of an iteration: two arrivals, a chunk's begin and end, finish, the other chunk's begin
 * and end, the end. */
TEST(additions_are_timed_chunk_by_chunk)
{
    const drove_collector_options opt = options(2, two_chunks, 1);
    drove_collector *c = create(&opt);
    drove_accum_facts facts;
    for (unsigned t = 1; t <= 3; t++) {
        const float eta = (float)t;
        assert_int_equal(drove__collect_arrive(c, 0, 0, g[0], eta, true), 0);
        assert_int_equal(drove__collect_arrive(c, 1, 0, g[1], eta, true), TICK_NS);
        const drove_collect_times first = finish(c, 0, eta);
        assert_int_equal(first.exchange_ns, 3 * TICK_NS);
        assert_int_equal(first.accumulate_ns, 0);
        assert_int_equal(first.wait_ns, 0);
        const drove_collect_times second = finish(c, 1, eta);
        assert_int_equal(second.exchange_ns, TICK_NS);
        drove__collect_facts(c, &facts);
        assert_int_equal(facts.part[0].add_ns, t * 2 * TICK_NS);
        assert_int_equal(facts.part[0].add_span_ns, t * 4 * TICK_NS);
        assert_int_equal(facts.part[0].add_exposed_ns, t * 4 * TICK_NS);
    }
    assert_int_equal(line.n, 6);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(line.track[i],
                         3 + (i % 2 == 0 ? 1 : 0)); /* device 1 is the first to add */
        assert_int_equal(line.span[i].end_ns - line.span[i].begin_ns, TICK_NS);
        assert_int_equal(line.span[i].iteration, i / 2);
        assert_int_equal(line.span[i].part, 0);
        assert_int_equal(line.span[i].kind, DROVE_SPAN_ADD);
    }
    drove__collector_destroy(c);
}

/* Readings: arrivals 1, 2; 0 + 1 at 3 to 4; arrivals 5, 6; 2 + 3 at 7 to 8; all at 9 to 10. */
TEST(additions_before_the_last_arrival_are_hidden)
{
    drove_collector_options opt = options(4, one_chunk, 1);
    opt.order = DROVE_ACCUM_PAIRS;
    drove_collector *c = create(&opt);
    for (unsigned t = 1; t <= 3; t++) {
        drove_accum_facts facts = {.receive_vectors = 9.0};
        for (unsigned d = 0; d < 4; d++) arrive(c, d, 0, d % 2 == 1);
        for (unsigned d = 0; d < 4; d++) (void)finish(c, d, 1.0f);
        drove__collect_facts(c, &facts);
        assert_int_equal(facts.part[0].add_ns, t * 3 * TICK_NS);
        assert_int_equal(facts.part[0].add_span_ns, t * 7 * TICK_NS);
        assert_int_equal(facts.part[0].add_exposed_ns, t * 4 * TICK_NS);
        assert_true(facts.receive_vectors == 0.0);
    }
    drove__collector_destroy(c);
}

static drove_collect_times times_of_first;

static void *finish_first(void *argument)
{
    times_of_first = finish(argument, 0, 1.0f);
    return NULL;
}

/* Readings: device 0 begins to wait; adds what is there, begin and end; device 1 comes; the rest,
 * begin and end; the end. */
TEST(additions_while_another_computes_are_no_wait)
{
    static const drove_span parts[] = {{0, 64}, {64, 64}};
    const drove_collector_options opt = options(2, parts, 2);
    drove_collector *c = create(&opt);
    for (unsigned t = 1; t <= 2; t++) {
        pthread_t thread;
        arrive(c, 0, 1, false);
        arrive(c, 0, 0, false);
        arrive(c, 1, 1, false);
        assert_int_equal(pthread_create(&thread, NULL, finish_first, c), 0);
        while (atomic_load(&line.n) < 2 * t - 1)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        arrive(c, 1, 0, false);
        pthread_join(thread, NULL);
        assert_int_equal(times_of_first.accumulate_ns, TICK_NS);
        assert_int_equal(times_of_first.wait_ns, 2 * TICK_NS);
        assert_int_equal(times_of_first.exchange_ns, 3 * TICK_NS);
        (void)finish(c, 1, 1.0f);
    }
    drove__collector_destroy(c);
}

TEST(copies_are_on_the_track_of_their_device)
{
    const drove_collector_options opt = options(2, three_parts, 3);
    drove_collector *c = create(&opt);
    for (unsigned d = 0; d < 2; d++) {
        const drove_slice_copy copy = {.offset = 2 * CHUNK + 64,
                                       .iteration = 5,
                                       .begin_ns = 100,
                                       .end_ns = 300,
                                       .is_up = d == 1};
        drove__collect_note_copy(c, d, &copy);
        assert_int_equal(line.n, d + 1);
        assert_int_equal(line.track[d], 3 + d);
        assert_int_equal(line.span[d].kind, d == 1 ? DROVE_SPAN_COPY_UP : DROVE_SPAN_COPY_DOWN);
        assert_int_equal(line.span[d].part, 2);
        assert_int_equal(line.span[d].iteration, 5);
        assert_int_equal(line.span[d].begin_ns, 100);
        assert_int_equal(line.span[d].end_ns, 300);
    }
    drove__collector_destroy(c);
}

/* ---- who adds ---- */

/* Parts are ready in the order of their sums; a call adds as little as gets it one. */
TEST(a_resident_adds_until_a_part_is_ready)
{
    static const bool is_resident[] = {true, false};
    drove_collector_options opt = options(2, three_parts, 3);
    opt.is_resident = is_resident;
    drove_collector *c = create(&opt);
    for (unsigned t = 0; t < 2; t++) {
        const unsigned before = line.n;
        const float *mean;
        unsigned part = 9;
        for (unsigned p = 3; p-- > 0;) arrive(c, 0, p, false);
        arrive(c, 1, 2, t == 1); /* t 1: device 1 makes this sum */
        arrive(c, 1, 1, false);
        arrive(c, 1, 0, false);
        assert_int_equal(line.n, before + t);
        assert_true(drove__collect_next(c, 0, t == 0, &part, &mean));
        assert_int_equal(part, 2);
        assert_int_equal(line.n, before + 1);
        assert_true(drove__collect_next(c, 0, false, &part, &mean));
        assert_int_equal(part, 1);
        assert_int_equal(line.n, before + 2);
        assert_false(drove__collect_next(c, 0, false, &part, &mean)); /* one of two chunks */
        assert_int_equal(line.n, before + 3);
        assert_true(drove__collect_next(c, 0, true, &part, &mean));
        assert_int_equal(part, 0);
        assert_int_equal(line.n, before + 4);
        for (unsigned d = 0; d < 2; d++) (void)finish(c, d, 1.0f);
    }
    drove__collector_destroy(c);
}

/* Two parts of four chunks: of each of them a device that brings it adds two, in every iteration,
 * whatever it has added of the other one. */
TEST(shares_are_counted_for_each_part)
{
    const drove_collector_options opt = options(2, two_parts, 2);
    drove_collector *c = create(&opt);
    for (unsigned t = 0; t < 3; t++) {
        for (unsigned p = 2; p-- > 0;) arrive(c, 1, p, true);
        for (unsigned p = 2; p-- > 0;)
            assert_int_equal(drove__collect_arrive(c, 0, p, g[0], 1.0f, true), 2 * TICK_NS);
        for (unsigned d = 0; d < 2; d++) (void)finish(c, d, 1.0f);
    }
    drove__collector_destroy(c);
}

/* Of six chunks: half. */
TEST(a_share_is_a_part_of_the_chunks)
{
    static const drove_span six_chunks[] = {{0, 6 * CHUNK}};
    const drove_collector_options opt = options(2, six_chunks, 1);
    drove_collector *c = create(&opt);
    arrive(c, 1, 0, true);
    assert_int_equal(drove__collect_arrive(c, 0, 0, g[0], 1.0f, true), 3 * TICK_NS);
    drove__collector_destroy(c);
}

/* ---- kernels in the place of others ---- */

static struct {
    unsigned n;
    float *to[MOST_SPANS];
    bool streams[MOST_SPANS];
} adds;

static void add_noted(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)x, (void)y, (void)n, (void)a;
    adds.to[adds.n % MOST_SPANS] = to;
    adds.streams[adds.n++ % MOST_SPANS] = streams;
}

TEST(long_sums_go_past_the_caches)
{
    static const drove_span little[] = {{0, 64}};
    for (unsigned k = 0; k < 2; k++) {
        drove_collector_options opt = options(2, little, 1);
        kernels.add_f32 = add_noted;
        opt.n = ((size_t)1 << 22) - k;
        drove_collector *c = create(&opt);
        adds.n = 0;
        for (unsigned d = 0; d < 2; d++) arrive(c, d, 0, false);
        (void)finish(c, 0, 1.0f);
        assert_int_equal(adds.n, 1);
        assert_int_equal(adds.streams[0], k == 0);
        drove__collector_destroy(c);
    }
}

/* Of three devices 0 + 1 goes into memory of the thread that adds. */
TEST(sums_in_between_lie_apart)
{
    static const drove_span parts[] = {{0, 64}, {64, 64}};
    const drove_collector_options opt = options(3, parts, 2);
    kernels.add_f32 = add_noted;
    drove_collector *c = create(&opt);
    adds.n = 0;
    for (unsigned p = 2; p-- > 0;) {
        for (unsigned d = 0; d < 3; d++) arrive(c, (d + p) % 3, p, d == 2);
    }
    assert_int_equal(adds.n, 4); /* device 0 of part 1, device 2 of part 0 */
    assert_int_equal(adds.to[2] - adds.to[0], 2 * DROVE_SUM_LEVELS * DROVE_SUM_BLOCK);
    drove__collector_destroy(c);
}

/* ---- helpers ---- */

/* Each adds one of two chunks, since the first of them waits for the other one. */
TEST(helpers_have_tracks_behind_all_devices)
{
    drove_collector_options opt = options(2, two_chunks, 1);
    opt.n_helpers = 2;
    line.n_await = 2;
    drove_collector *c = create(&opt);
    for (unsigned d = 0; d < 2; d++) arrive(c, d, 0, false);
    while (atomic_load(&line.n) < 2) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    assert_int_equal(line.track[0] + line.track[1], 8 + 9);
    assert_in_range(line.track[0], 8, 9);
    for (unsigned d = 0; d < 2; d++) (void)finish(c, d, 1.0f);
    drove__collector_destroy(c);
    assert_int_equal(calls.n_begun, 2);
    assert_int_equal(calls.n_created, 2);
    assert_int_equal(calls.n_joined, 2);
    for (unsigned i = 0; i < 2; i++) assert_true(calls.created[i] == calls.joined[i]);
}

TEST(a_helper_that_cannot_start_ends_the_others)
{
    drove_collector *c = NULL;
    drove_collector_options opt = options(2, one_chunk, 1);
    opt.n_helpers = 3;
    calls.fails_at = 2;
    assert_int_equal(drove__collector_create(&opt, &c), DROVE_E_SYSTEM);
    assert_null(c);
    assert_non_null(strstr(drove_error_text(), "cannot start helper 2 of 3"));
    assert_int_equal(calls.n_joined, 1);
    assert_true(calls.created[0] == calls.joined[0]);
}

/* ---- with other processes ---- */

TEST(a_stop_ends_the_exchange)
{
    drove_transport nobody = {.n_workers = 8, .n_processes = 4};
    drove_collector_options opt = options(2, one_chunk, 1);
    opt.transport = &nobody;
    drove_collector *c = create(&opt);
    assert_int_equal(calls.n_stops, 0);
    drove__collect_stop(c);
    assert_int_equal(calls.n_stops, 1);
    drove__collector_destroy(c);
}

/* The thread that would exchange does not start: who waits for the sum is let go. */
TEST(an_exchange_that_cannot_start_stops_the_collector)
{
    drove_transport nobody = {.n_workers = 8, .n_processes = 4};
    float *mean, eta;
    drove_collect_times times;
    drove_collector_options opt = options(1, one_chunk, 1);
    opt.transport = &nobody;
    drove_collector *c = create(&opt);
    calls.fails_at = 1;
    arrive(c, 0, 0, false);
    assert_false(drove__collect_finish(c, 0, &mean, &eta, &times));
    drove__collector_destroy(c);
}
