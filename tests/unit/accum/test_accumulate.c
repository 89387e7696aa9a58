/* accumulate step by step, all workers by the test's thread: what goes to the collector and when,
 * what residents get, what a step that was given up leaves; and workers that are processes, each
 * with a collector of its own.
 *
 * ctest: wraps=drove__collect_arrive,drove__spans_add */
#include "accum/accum.h"
#include "accum/collect.h"
#include "support/rig.h"

#include "base/mem.h"

#include <pthread.h>

enum { N = 64, N_PARTS = 3, MOST = 3 };
static const drove_span parts[N_PARTS] = {{0, 16}, {16, 40}, {56, 8}};

/* ---- in the place of the collector's and the time line's ---- */

static struct {
    _Atomic unsigned n_arrivals, n_adding; /* calls; those that may add */
} seen;

uint64_t __real_drove__collect_arrive(drove_collector *c, unsigned device, unsigned part,
                                      float *gradient, float eta, bool adds);
uint64_t __wrap_drove__collect_arrive(drove_collector *c, unsigned device, unsigned part,
                                      float *gradient, float eta, bool adds);
uint64_t __wrap_drove__collect_arrive(drove_collector *c, unsigned device, unsigned part,
                                      float *gradient, float eta, bool adds)
{
    (void)__real_drove__collect_arrive(c, device, part, gradient, eta, adds);
    seen.n_adding += adds;
    return 1000 + ++seen.n_arrivals; /* ns spent adding, as told */
}

static unsigned last_track;

void __wrap_drove__spans_add(drove_spans *spans, unsigned track, const drove_time_span *span);
void __wrap_drove__spans_add(drove_spans *spans, unsigned track, const drove_time_span *span)
{
    (void)spans, (void)span;
    last_track = track;
}

/* ---- the rig ---- */

static float own[MOST][N]; /* gradients in the workers' memory */

static drove_status try_open(rig *r, const char *variant, unsigned n_workers,
                             const bool *is_resident)
{
    memset(&seen, 0, sizeof seen);
    return rig_try_row(r, (rig_options){.ops = &drove__accum_accumulate,
                                        .variant = variant,
                                        .n = N,
                                        .n_workers = n_workers,
                                        .part = parts,
                                        .n_parts = N_PARTS,
                                        .is_resident = is_resident,
                                        .kernels = &drovek_ref});
}

/* Devices alone and cores alone clip alike among themselves; both together do not. */
TEST(clipping_needs_workers_of_one_kind)
{
    static const bool all[] = {true, true}, some[] = {true, false};
    const bool *const kinds[] = {all, NULL, some};
    for (size_t k = 0; k < 3; k++)
        for (int clips = 0; clips < 2; clips++) {
            rig r;
            const drove_status status =
                rig_try_row(&r, (rig_options){.ops = &drove__accum_accumulate,
                                              .variant = "accumulate",
                                              .n = N,
                                              .n_workers = 2,
                                              .clip = clips,
                                              .is_resident = kinds[k],
                                              .kernels = &drovek_ref});
            assert_int_equal(status, k == 2 && clips ? DROVE_E_ARG : DROVE_OK);
            if (status != DROVE_OK)
                assert_non_null(strstr(drove_error_text(), "expected no --clip with devices"));
            rig_fini(&r);
        }
}

static void open_rig(rig *r, const char *variant, unsigned n_workers, const bool *is_resident)
{
    if (try_open(r, variant, n_workers, is_resident) != DROVE_OK)
        fail_msg("%s: %s", variant, drove_error_text());
}

static void begin(rig *r, unsigned worker, float value)
{
    drove_view view;
    assert_int_equal(r->sync->ops->acquire(r->sync, worker, &view), DROVE_OK);
    for (size_t i = 0; i < N; i++) own[worker][i] = value;
}

static uint64_t bring(rig *r, unsigned worker, unsigned part, float *g)
{
    return r->sync->ops->slices->ready(r->sync, worker, parts[part].offset, parts[part].length, g,
                                       1.0f);
}

static void bring_all(rig *r, unsigned worker)
{
    for (unsigned p = N_PARTS; p-- > 0;) (void)bring(r, worker, p, own[worker]);
}

static void publish(rig *r, unsigned worker)
{
    drove_publish_info info;
    const drove_step step = {.value = own[worker], .eta = 1.0f};
    assert_int_equal(r->sync->ops->publish(r->sync, worker, &step, &info), DROVE_OK);
}

static void expect_replica(const rig *r, unsigned worker, float value)
{
    const float *theta = r->sync->ops->replicas->vector(r->sync, worker);
    for (size_t i = 0; i < N; i++) assert_true(theta[i] == value);
}

static void expect_sum(rig *r, unsigned worker, unsigned part, float value)
{
    drove_sum sum;
    assert_true(r->sync->ops->slices->next_sum(r->sync, worker, false, &sum));
    assert_int_equal(sum.offset, parts[part].offset);
    assert_int_equal(sum.length, parts[part].length);
    for (size_t i = 0; i < sum.length; i++) assert_true(sum.value[sum.offset + i] == value);
}

static void expect_no_sum(rig *r, unsigned worker)
{
    drove_sum sum;
    assert_false(r->sync->ops->slices->next_sum(r->sync, worker, false, &sum));
}

/* ---- one process ---- */

/* A part that follows others may be added to at once; behind the last one the worker only waits. */
TEST(slices_go_to_the_collector_as_they_come)
{
    rig r;
    open_rig(&r, "accumulate", 2, NULL);
    for (unsigned w = 0; w < 2; w++) {
        begin(&r, w, 1.0f + 2.0f * (float)w);
        for (unsigned p = N_PARTS; p-- > 0;) {
            const uint64_t add_ns = bring(&r, w, p, own[w]);
            assert_int_equal(seen.n_arrivals, w * N_PARTS + N_PARTS - p);
            assert_int_equal(add_ns, 1000 + seen.n_arrivals);
            assert_int_equal(seen.n_adding, w * 2 + (p > 0 ? N_PARTS - p : 2));
        }
    }
    for (unsigned w = 0; w < 2; w++) publish(&r, w);
    assert_int_equal(seen.n_arrivals, 2 * N_PARTS);
    for (unsigned w = 0; w < 2; w++) expect_replica(&r, w, -2.0f);
    rig_fini(&r);
}

/* A device that keeps its parameters gets the mean, and its replica on the host stays. */
TEST(residents_get_slices_and_no_update)
{
    static const bool is_resident[] = {true, true, false};
    rig r;
    open_rig(&r, "accumulate", 3, is_resident);
    for (unsigned w = 0; w < 3; w++) begin(&r, w, 2.0f);
    for (unsigned w = 0; w < 3; w++) bring_all(&r, w);
    for (unsigned w = 0; w < 2; w++) {
        for (unsigned p = N_PARTS; p-- > 0;) expect_sum(&r, w, p, 2.0f);
        expect_no_sum(&r, w);
    }
    for (unsigned w = 0; w < 3; w++) publish(&r, w);
    expect_replica(&r, 0, 0.0f);
    expect_replica(&r, 1, 0.0f);
    expect_replica(&r, 2, -2.0f);
    rig_fini(&r);
}

TEST(a_lone_resident_gets_each_slice_at_once)
{
    static const bool is_resident[] = {true};
    rig r;
    open_rig(&r, "accumulate", 1, is_resident);
    begin(&r, 0, 3.0f);
    for (unsigned p = N_PARTS; p-- > 0;) {
        expect_no_sum(&r, 0);
        (void)bring(&r, 0, p, own[0]);
        expect_sum(&r, 0, p, 3.0f);
    }
    rig_fini(&r);
}

/* at-end: nothing goes to the collector before the last slice, and then all goes once. */
TEST(at_end_nothing_goes_before_the_last_slice)
{
    static const bool is_resident[] = {true};
    rig r;
    open_rig(&r, "accumulate:at-end", 1, is_resident);
    for (unsigned t = 0; t < 3; t++) {
        begin(&r, 0, 1.0f + (float)t);
        for (unsigned p = N_PARTS; p-- > 0;) {
            expect_no_sum(&r, 0);
            assert_int_equal(bring(&r, 0, p, own[0]), 0);
            assert_int_equal(seen.n_arrivals, t * N_PARTS);
        }
        for (unsigned p = N_PARTS; p-- > 0;) {
            expect_sum(&r, 0, p, 1.0f + (float)t);
            assert_int_equal(seen.n_arrivals, (t + 1) * N_PARTS);
        }
        expect_no_sum(&r, 0);
        publish(&r, 0);
        assert_int_equal(seen.n_arrivals, (t + 1) * N_PARTS);
    }
    assert_int_equal(seen.n_adding, 0);
    rig_fini(&r);
}

/* A step that ends before it is published leaves no slice to the next one, which has none. */
TEST(at_end_a_step_that_was_given_up_leaves_no_slices)
{
    rig r;
    open_rig(&r, "accumulate:at-end", 1, NULL);
    begin(&r, 0, 5.0f);
    (void)bring(&r, 0, 2, own[0]);
    float whole[N];
    drove_view view;
    drove_publish_info info;
    for (size_t i = 0; i < N; i++) whole[i] = 7.0f;
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    const drove_step step = {.value = whole, .eta = 1.0f};
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    expect_replica(&r, 0, -7.0f);
    rig_fini(&r);
}

/* Slices that had come before a restore do not count. */
TEST(a_restore_forgets_slices)
{
    rig r;
    float zero[N] = {0};
    open_rig(&r, "accumulate", 1, NULL);
    begin(&r, 0, 5.0f);
    (void)bring(&r, 0, 2, own[0]);
    assert_int_equal(drove__sync_restore(r.sync, 3, &(drove_params){.theta = zero}, NULL),
                     DROVE_OK);
    drove_view view;
    drove_publish_info info;
    float fresh[N];
    for (size_t i = 0; i < N; i++) fresh[i] = 4.0f;
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    assert_int_equal(view.version, 3);
    for (unsigned p = N_PARTS; p-- > 0;) (void)bring(&r, 0, p, fresh);
    const drove_step step = {.value = fresh, .eta = 1.0f};
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    expect_replica(&r, 0, -4.0f);
    assert_int_equal(atomic_load(&r.sync->published), 4);
    rig_fini(&r);
}

TEST(copies_go_to_the_record_of_their_part)
{
    rig r;
    drove_accum_facts facts;
    open_rig(&r, "accumulate", 2, NULL);
    for (unsigned w = 0; w < 2; w++) {
        const drove_slice_copy copy = {.offset = 16, .begin_ns = 100, .end_ns = 300};
        last_track = 99;
        r.sync->ops->slices->note_copy(r.sync, w, &copy);
        assert_int_equal(last_track, w);
    }
    assert_true(drove__accum_facts(r.sync, &facts));
    assert_int_equal(facts.part[1].down_ns, 200); /* a mean of both devices */
    assert_int_equal(facts.part[0].down_ns + facts.part[2].down_ns, 0);
    rig_fini(&r);
}

TEST(only_an_order_of_arrival_is_not_repeatable)
{
    static const char *const variants[] = {"accumulate", "accumulate:at-end",
                                           "accumulate?order=pairs", "accumulate?order=first-come"};
    for (unsigned i = 0; i < DROVE_COUNT(variants); i++) {
        rig r;
        open_rig(&r, variants[i], 2, NULL);
        assert_int_equal((r.sync->promises & DROVE_SYNC_REPEATABLE) != 0, i < 3);
        rig_fini(&r);
    }
}

TEST(words_and_numbers_are_checked)
{
    static const struct {
        const char *variant;
        drove_status status;
    } cases[] = {
        {"accumulate?helpers=0", DROVE_OK},        {"accumulate?helpers=257", DROVE_E_ARG},
        {"accumulate?helpers=many", DROVE_E_ARG},  {"accumulate:at-end,at-end", DROVE_E_ARG},
        {"accumulate:at-end?helpers=1", DROVE_OK},
    };
    for (unsigned i = 0; i < DROVE_COUNT(cases); i++) {
        rig r;
        assert_int_equal(try_open(&r, cases[i].variant, 2, NULL), cases[i].status);
        rig_fini(&r);
    }
}

/* ---- workers that are processes ---- */

typedef struct member {
    rig *r;
    unsigned worker;
    bool is_resident, has_parts;
    unsigned n_wrong;
} member;

static void *member_main(void *argument)
{
    member *m = argument;
    const drove_sync_ops *ops = m->r->sync->ops;
    drove_view view;
    drove_publish_info info;
    drove_sum sum;
    float *mine = own[m->worker];
    m->n_wrong += ops->acquire(m->r->sync, m->worker, &view) != DROVE_OK;
    for (size_t i = 0; i < N; i++) mine[i] = (float)(m->worker * 2 + 1) * (float)(i + 1);
    for (unsigned p = N_PARTS; m->has_parts && p-- > 0;)
        (void)ops->slices->ready(m->r->sync, m->worker, parts[p].offset, parts[p].length, mine,
                                 1.0f);
    for (unsigned p = N_PARTS; m->is_resident && p-- > 0;) {
        m->n_wrong += !ops->slices->next_sum(m->r->sync, m->worker, true, &sum);
        m->n_wrong += sum.offset != parts[p].offset || sum.length != parts[p].length;
        for (size_t i = sum.offset; i < sum.offset + sum.length; i++)
            m->n_wrong += sum.value[i] != 2.0f * (float)(i + 1); /* of 1 and 3 times i + 1 */
    }
    const drove_step step = {.value = mine, .eta = 1.0f};
    m->n_wrong += ops->publish(m->r->sync, m->worker, &step, &info) != DROVE_OK;
    return NULL;
}

/* Each has a collector of its own, which sees one device.  They reach each other's shared memory
 * alone: gradients that lie elsewhere are copied there. */
TEST(processes_take_the_mean_of_all)
{
    static const bool is_resident[] = {false, true};
    static rig r;
    for (unsigned how = 0; how < 2; how++) {
        pthread_t thread[2];
        member m[2];
        drove_accum_facts facts;
        drove__memory_share_begin();
        open_rig(&r, "accumulate", 2, how == 0 ? NULL : is_resident);
        drove__memory_share_end();
        for (unsigned w = 0; w < 2; w++) {
            m[w] = (member){&r, w, how == 1 && is_resident[w], how == 1, 0};
            assert_int_equal(pthread_create(&thread[w], NULL, member_main, &m[w]), 0);
        }
        for (unsigned w = 0; w < 2; w++) {
            pthread_join(thread[w], NULL);
            assert_int_equal(m[w].n_wrong, 0);
            const float *g = r.sync->ops->gradient(r.sync, w),
                        *theta = r.sync->ops->replicas->vector(r.sync, w);
            for (size_t i = 0; i < N; i++) {
                assert_true(g[i] == 2.0f * (float)(i + 1)); /* the mean, where all reach it */
                assert_true(theta[i] == (m[w].is_resident ? 0.0f : -2.0f * (float)(i + 1)));
            }
        }
        assert_true(drove__accum_facts(r.sync, &facts));
        assert_int_equal(facts.n_devices, 2);
        assert_null(facts.part); /* each process notes its own */
        rig_fini(&r);
    }
}

TEST(processes_have_no_order_and_no_helpers)
{
    static const char *const variants[] = {"accumulate?order=pairs", "accumulate?helpers=1"};
    for (unsigned i = 0; i < DROVE_COUNT(variants); i++) {
        rig r;
        drove__memory_share_begin();
        const drove_status status = try_open(&r, variants[i], 2, NULL);
        drove__memory_share_end();
        assert_int_equal(status, DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), "expected no order and no helpers"));
        rig_fini(&r);
    }
}
