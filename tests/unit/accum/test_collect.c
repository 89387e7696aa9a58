/* The collector driven by one thread: gradients of small integers come part by part, so every mean
 * is exact; what it counts is counted again by hand. */
#include "accum/collect.h"
#include "support/test.h"

#include "accum/sum.h"
#include "base/clock.h"
#include "base/mem.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 20576, N_PARTS = 3, MOST = 4, ROUNDS = 3 };

static const drove_span parts[N_PARTS] = {{0, 20000}, {20000, 64}, {20064, 512}};

typedef struct rig {
    drovek_table kernels;
    drove_collector *c;
    unsigned n_devices;
    float *gradient[MOST]; /* [N] */
} rig;

static void open_rig(rig *r, unsigned n_devices, drove_accum_order order, const bool *is_resident)
{
    memset(r, 0, sizeof *r);
    r->n_devices = n_devices;
    assert_int_equal(drovek_select(&r->kernels, 0, "ref"), DROVE_OK);
    const drove_collector_options opt = {.n_devices = n_devices,
                                         .part = parts,
                                         .n_parts = N_PARTS,
                                         .n = N,
                                         .order = order,
                                         .kernels = &r->kernels,
                                         .is_resident = is_resident,
                                         .n_all = n_devices};
    assert_int_equal(drove__collector_create(&opt, &r->c), DROVE_OK);
    for (unsigned d = 0; d < n_devices; d++) r->gradient[d] = drove__alloc(N, sizeof(float));
}

static void close_rig(rig *r)
{
    drove__collector_destroy(r->c);
    for (unsigned d = 0; d < r->n_devices; d++) drove__free(r->gradient[d]);
}

static float value_at(size_t i, unsigned device, unsigned round)
{
    return (float)((i * 5 + device * 11 + round * 3) % 23) - 11.0f;
}

static float mean_at(const rig *r, size_t i, unsigned round)
{
    float sum = 0.0f;
    for (unsigned d = 0; d < r->n_devices; d++) sum += value_at(i, d, round);
    return sum / (float)r->n_devices; /* 1, 2 or 4: exact */
}

/* The last part first, as backward has it; every second device adds when it comes.  Step sizes are
 * 1, 3, 5 ...: their mean is the number of devices. */
static void bring_all(rig *r, unsigned round)
{
    for (unsigned d = 0; d < r->n_devices; d++) {
        for (size_t i = 0; i < N; i++) r->gradient[d][i] = value_at(i, d, round);
        for (unsigned p = N_PARTS; p-- > 0;) {
            assert_int_equal(drove__collect_n_arrived(r->c, d), N_PARTS - 1 - p);
            (void)drove__collect_arrive(r->c, d, p, r->gradient[d], 1.0f + 2.0f * (float)d,
                                        d % 2 == 1);
        }
    }
}

static void take(rig *r, unsigned device, unsigned round)
{
    float *mean, eta;
    drove_collect_times times;
    assert_true(drove__collect_finish(r->c, device, &mean, &eta, &times));
    assert_true(eta == (float)r->n_devices);
    for (size_t i = 0; i < N; i++) assert_true(mean[i] == mean_at(r, i, round));
}

TEST(every_device_gets_the_mean)
{
    static const drove_accum_order orders[] = {DROVE_ACCUM_ONCE, DROVE_ACCUM_PAIRS,
                                               DROVE_ACCUM_FIRST_COME};
    /* sums on the host: of all; and of both pairs; of two iterations */
    static const double vectors[] = {1.0, 3.0, 2.0};
    for (size_t k = 0; k < DROVE_COUNT(orders); k++) {
        for (unsigned n = 1; n <= MOST; n *= 2) {
            rig r;
            drove_accum_facts facts;
            open_rig(&r, n, orders[k], NULL);
            for (unsigned round = 0; round < ROUNDS; round++) {
                bring_all(&r, round);
                for (unsigned d = n; d-- > 0;) take(&r, d, round);
            }
            drove__collect_facts(r.c, &facts);
            assert_int_equal(facts.n_devices, n);
            assert_int_equal(facts.n_parts, N_PARTS);
            for (unsigned p = 0; p < N_PARTS; p++) {
                assert_int_equal(facts.part[p].n_iterations, ROUNDS);
                assert_int_equal(facts.part[p].offset, parts[p].offset);
                assert_int_equal(facts.part[p].length, parts[p].length);
                assert_true(facts.part[p].add_exposed_ns <= facts.part[p].add_span_ns);
                assert_int_equal(facts.part[p].add_ns > 0, n > 1); /* each its own additions */
            }
            if (n == MOST) assert_true(facts.host_vectors == vectors[k]);
            if (n == 1) assert_true(facts.host_vectors == 0.0);
            assert_int_equal(facts.is_first_come, orders[k] == DROVE_ACCUM_FIRST_COME);
            /* the first 4096 of each part; integers are the same in any order */
            size_t compared = n > 1 && facts.is_first_come ? ROUNDS * (4096 + 64 + 512) : 0;
            assert_int_equal(facts.error.n_compared, compared);
            assert_int_equal(facts.error.n_different, 0);
            close_rig(&r);
        }
    }
}

/* Devices come one after the other, from the last to the first.  Differences by hand, in means: the
 * largest one and the largest part of the tree's mean may be different elements'. */
TEST(differences_from_the_tree_are_measured)
{
    static const float value[][4] = {
        {1.0f, 2.0f, 3.0f, 4.0f},
        {16777216.0f, 2.0f, 0.0f, 0.0f},
        /* (2^24 + 1) + (1 + 1) = 2^24 + 2, but ((1 + 1) + 1) + 2^24 = 2^24 + 4 */
        {16777216.0f, 1.0f, 1.0f, 1.0f},
        /* (1 - 2^25) + (2^25 + 3) = -2^25 + 2^25 + 4, but ((3 + 2^25) - 2^25) + 1 = 5 */
        {1.0f, -33554432.0f, 33554432.0f, 3.0f},
    };
    rig r;
    drove_accum_facts facts;
    open_rig(&r, 4, DROVE_ACCUM_FIRST_COME, NULL);
    for (unsigned d = 4; d-- > 0;) {
        for (size_t i = 0; i < N; i++) r.gradient[d][i] = value[i % 4][d];
        for (unsigned p = N_PARTS; p-- > 0;)
            (void)drove__collect_arrive(r.c, d, p, r.gradient[d], 1.0f, false);
    }
    for (unsigned d = 0; d < 4; d++) {
        float *mean, eta;
        drove_collect_times times;
        assert_true(drove__collect_finish(r.c, d, &mean, &eta, &times));
        assert_true(mean[1] == 4194304.5f && mean[2] == 4194305.0f && mean[3] == 1.25f);
    }
    drove__collect_facts(r.c, &facts);
    assert_int_equal(facts.error.n_compared, 4096 + 64 + 512);
    assert_int_equal(facts.error.n_different, (4096 + 64 + 512) / 2);
    assert_true(facts.error.most == 0.5);      /* of 2^24 + 2 and 2^24 + 4 */
    assert_true(facts.error.relative == 0.25); /* of 4 and 5 */
    close_rig(&r);
}

/* All gradients are there before the first device asks: it awaits nobody, and all its time goes
 * into sums that nothing hides. */
TEST(sums_that_nothing_hides_are_exchange)
{
    rig r;
    float *mean, eta;
    open_rig(&r, 2, DROVE_ACCUM_ONCE, NULL);
    for (unsigned d = 0; d < 2; d++) {
        for (size_t i = 0; i < N; i++) r.gradient[d][i] = value_at(i, d, 0);
        for (unsigned p = N_PARTS; p-- > 0;)
            (void)drove__collect_arrive(r.c, d, p, r.gradient[d], 1.0f, false);
    }
    drove_collect_times times = {.wait_ns = 1, .accumulate_ns = 1};
    uint64_t begin_ns = drove__now_ns();
    assert_true(drove__collect_finish(r.c, 0, &mean, &eta, &times));
    uint64_t took_ns = drove__now_ns() - begin_ns;
    assert_true(times.exchange_ns > 0 && times.exchange_ns <= took_ns);
    assert_int_equal(times.wait_ns, 0);
    assert_int_equal(times.accumulate_ns, 0);
    assert_true(drove__collect_finish(r.c, 1, &mean, &eta, &times));
    close_rig(&r);
}

/* A device that keeps its parameters is handed the mean part by part. */
TEST(a_resident_device_gets_parts)
{
    static const bool is_resident[] = {false, true};
    rig r;
    open_rig(&r, 2, DROVE_ACCUM_ONCE, is_resident);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned part, n_given[N_PARTS] = {0};
        const float *mean;
        assert_false(drove__collect_next(r.c, 1, false, &part, &mean));
        bring_all(&r, round);
        take(&r, 0, round);
        for (unsigned k = 0; k < N_PARTS; k++) {
            assert_true(drove__collect_next(r.c, 1, true, &part, &mean));
            n_given[part]++;
            for (size_t i = 0; i < parts[part].length; i++)
                assert_true(mean[parts[part].offset + i] ==
                            mean_at(&r, parts[part].offset + i, round));
        }
        assert_false(drove__collect_next(r.c, 1, false, &part, &mean));
        for (unsigned p = 0; p < N_PARTS; p++) assert_int_equal(n_given[p], 1);
        take(&r, 1, round);
    }
    close_rig(&r);
}

/* Times of copies are means over the devices. */
TEST(copies_are_counted)
{
    static const drove_slice_copy copies[] = {
        {.offset = 20000, .begin_ns = 1000, .end_ns = 1800, .hidden_ns = 300},
        {.offset = 20000, .begin_ns = 5000, .end_ns = 5080, .hidden_ns = 80},
        {.offset = 20064, .begin_ns = 100, .end_ns = 500, .hidden_ns = 360, .is_up = true},
    };
    static const struct {
        uint64_t down, down_exposed, up, up_exposed;
    } expected[N_PARTS] = {{0, 0, 0, 0}, {220, 125, 0, 0}, {0, 0, 100, 10}};
    rig r;
    drove_accum_facts facts;
    open_rig(&r, 4, DROVE_ACCUM_ONCE, NULL);
    for (unsigned i = 0; i < DROVE_COUNT(copies); i++) drove__collect_note_copy(r.c, i, &copies[i]);
    drove__collect_facts(r.c, &facts);
    for (unsigned p = 0; p < N_PARTS; p++) {
        assert_int_equal(facts.part[p].down_ns, expected[p].down);
        assert_int_equal(facts.part[p].down_exposed_ns, expected[p].down_exposed);
        assert_int_equal(facts.part[p].up_ns, expected[p].up);
        assert_int_equal(facts.part[p].up_exposed_ns, expected[p].up_exposed);
        assert_int_equal(drove__collect_find(r.c, parts[p].offset), p);
        assert_int_equal(drove__collect_part(r.c, p)->length, parts[p].length);
    }
    close_rig(&r);
}

TEST(no_device_is_refused)
{
    rig r;
    open_rig(&r, 1, DROVE_ACCUM_ONCE, NULL);
    drove_collector *c = r.c;
    const drove_collector_options opt = {
        .part = parts, .n_parts = N_PARTS, .n = N, .kernels = &r.kernels};
    assert_int_equal(drove__collector_create(&opt, &c), DROVE_E_ARG);
    assert_null(c);
    close_rig(&r);
}

static drove_collector_options two_devices(const rig *r, const drove_span *part, size_t n)
{
    return (drove_collector_options){.n_devices = 2,
                                     .part = part,
                                     .n_parts = 1,
                                     .n = n,
                                     .order = DROVE_ACCUM_ONCE,
                                     .kernels = &r->kernels,
                                     .n_all = 2};
}

/* Four chunks: device 1, which comes last, adds its half of them at once. */
TEST(a_device_adds_its_share)
{
    enum { CHUNKS = 4 };
    static float g[CHUNKS * DROVE_SUM_CHUNK];
    static const drove_span all = {0, DROVE_COUNT(g)};
    rig r;
    float *mean = NULL, eta;
    drove_collect_times times;
    drove_collector *c;
    open_rig(&r, 1, DROVE_ACCUM_ONCE, NULL);
    const drove_collector_options opt = two_devices(&r, &all, DROVE_COUNT(g));
    assert_int_equal(drove__collector_create(&opt, &c), DROVE_OK);
    for (size_t i = 0; i < DROVE_COUNT(g); i++) g[i] = 4.0f;
    assert_int_equal(drove__collect_arrive(c, 0, 0, g, 1.0f, true), 0);
    assert_true(drove__collect_arrive(c, 1, 0, g, 1.0f, true) > 0);
    for (size_t i = 0; i < DROVE_COUNT(g); i++)
        g[i] = 8.0f; /* the other half is read from now on */
    assert_true(drove__collect_finish(c, 0, &mean, &eta, &times));
    for (size_t i = 0; i < DROVE_COUNT(g); i++)
        assert_true(mean[i] == (i < DROVE_COUNT(g) / 2 ? 4.0f : 8.0f));
    drove__collector_destroy(c);
    close_rig(&r);
}

typedef struct finishing {
    drove_collector *c;
    drove_collect_times times;
    bool is_done;
} finishing;

static void *finish_first(void *argument)
{
    finishing *f = argument;
    float *mean, eta;
    f->is_done = drove__collect_finish(f->c, 0, &mean, &eta, &f->times);
    return NULL;
}

/* Who waits for another's backward, with nothing to add before it has come, accumulates nothing. */
TEST(a_wait_without_additions_is_a_wait)
{
    static float g[2][64];
    static const drove_span all = {0, 64};
    rig r;
    pthread_t thread;
    finishing f = {0};
    open_rig(&r, 1, DROVE_ACCUM_ONCE, NULL);
    const drove_collector_options opt = two_devices(&r, &all, 64);
    assert_int_equal(drove__collector_create(&opt, &f.c), DROVE_OK);
    (void)drove__collect_arrive(f.c, 0, 0, g[0], 1.0f, false);
    assert_int_equal(pthread_create(&thread, NULL, finish_first, &f), 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* it waits, unless it is late */
    (void)drove__collect_arrive(f.c, 1, 0, g[1], 1.0f, false);
    pthread_join(thread, NULL);
    assert_true(f.is_done);
    assert_int_equal(f.times.accumulate_ns, 0);
    drove__collector_destroy(f.c);
    close_rig(&r);
}

static unsigned n_threads(void)
{
    unsigned n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *d; (d = readdir(tasks)) != NULL;) n += d->d_name[0] != '.';
    closedir(tasks);
    return n;
}

TEST(as_many_helpers_run_as_are_wanted)
{
    static const drove_span all = {0, 64};
    rig r;
    drove_collector *c;
    open_rig(&r, 1, DROVE_ACCUM_ONCE, NULL);
    drove_collector_options opt = two_devices(&r, &all, 64);
    opt.n_helpers = 2;
    const unsigned before = n_threads();
    assert_int_equal(drove__collector_create(&opt, &c), DROVE_OK);
    assert_int_equal(n_threads(), before + 2);
    drove__collector_destroy(c);
    close_rig(&r);
}

TEST(a_stop_lets_go)
{
    rig r;
    float *mean, eta;
    drove_collect_times times;
    open_rig(&r, 2, DROVE_ACCUM_ONCE, NULL);
    for (unsigned p = 0; p < N_PARTS; p++)
        (void)drove__collect_arrive(r.c, 0, p, r.gradient[0], 1.0f, false);
    drove__collect_stop(r.c);
    assert_false(drove__collect_finish(r.c, 0, &mean, &eta, &times)); /* device 1 never came */
    close_rig(&r);
}
