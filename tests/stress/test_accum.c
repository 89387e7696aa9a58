/* Several devices at once through accumulate and tree, with gradients of small integers that come
 * layer by layer in random orders and with random delays: every sum is exact, in every iteration
 * and on every device; all parameters are the same.  A kernel that loses an addition is seen. */
#include "support/strategies.h"

#include "accum/accum.h"
#include "base/clock.h"
#include "base/rng.h"

#include <stdlib.h>

enum { MOST_PARTS = 12, MOST_N = DROVE_TSAN ? 20000 : 80000 };

typedef struct field { /* one run */
    unsigned n_parts, n_steps;
    size_t n;
    drove_span part[MOST_PARTS];
    bool delays;
    bool own_eta; /* each device has a step size of its own */
    _Atomic unsigned n_failed, n_wrong, n_unequal;
} field;

/* Integer, different for each element, device and step; sums below 2^24 are exact. */
static float value_at(size_t i, unsigned worker, unsigned step)
{
    return (float)((i * 7 + worker * 13 + step * 3) % 31) - 15.0f;
}

static float eta_of(const field *f, unsigned worker)
{
    return f->own_eta ? 1.0f + (float)worker : 1.0f;
}

static void split(field *f, size_t n, unsigned n_parts, uint64_t seed)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_TEST, 5);
    size_t at = 0;
    for (unsigned p = 0; p < n_parts; p++) {
        size_t left = n - at, rest = (n_parts - 1 - p) * 16;
        size_t length =
            p + 1 == n_parts ? left : 16 + drove__rng_below(&rng, (left - rest) / 16) / 2 * 16;
        if (length > left - rest) length = left - rest;
        f->part[p] = (drove_span){at, length};
        at += length;
    }
    f->n = n;
    f->n_parts = n_parts;
}

static void shuffle(unsigned *order, unsigned n, drove_rng *rng)
{
    for (unsigned i = 0; i < n; i++) order[i] = i;
    for (unsigned i = n; i-- > 1;) {
        unsigned j = (unsigned)drove__rng_below(rng, i + 1), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
}

/* Brings a part; the additions that it reports are made meanwhile, and none at the end alone. */
static void bring(rig *r, field *f, unsigned worker, const drove_span *p, float *g)
{
    const bool at_end = r->spec.n_args > 0 && strcmp(r->spec.arg[0], "at-end") == 0;
    const uint64_t begin_ns = drove__now_ns();
    const uint64_t added_ns =
        r->sync->ops->slices->ready(r->sync, worker, p->offset, p->length, g, eta_of(f, worker));
    if (added_ns > (at_end ? 0 : drove__now_ns() - begin_ns)) atomic_fetch_add(&f->n_wrong, 1);
}

static drove_status one_step(rig *r, field *f, unsigned worker, unsigned step, drove_rng *rng)
{
    drove_sync *s = r->sync;
    drove_view view;
    drove_publish_info info;
    unsigned order[MOST_PARTS];
    DROVE_TRY(s->ops->acquire(s, worker, &view));
    float *g = s->ops->gradient(s, worker);
    shuffle(order, f->n_parts, rng);
    for (unsigned k = 0; k < f->n_parts; k++) {
        const drove_span *p = &f->part[order[k]];
        for (size_t i = p->offset; i < p->offset + p->length; i++) g[i] = value_at(i, worker, step);
        if (f->delays && drove__rng_below(rng, 4) == 0)
            rest_us((unsigned)drove__rng_below(rng, 200));
        bring(r, f, worker, p, g);
    }
    drove__sync_release(s, worker);
    const drove_step of = {.value = g, .eta = eta_of(f, worker) * (float)s->n_workers};
    const uint64_t begin_ns = drove__now_ns();
    DROVE_TRY(s->ops->publish(s, worker, &of, &info));
    const uint64_t took_ns = drove__now_ns() - begin_ns;
    if (info.wait_ns > took_ns || info.exchange_ns > took_ns || info.accumulate_ns > took_ns ||
        info.update_ns > took_ns || info.broadcast_ns > took_ns)
        atomic_fetch_add(&f->n_wrong, 1);
    return DROVE_OK;
}

/* eta is 1, or the device's own, by layer_ready, and T times that by publish (tree takes that one):
 * either way theta falls by a multiple of the sum. */
static void work(rig *r, unsigned worker, void *arg)
{
    field *f = arg;
    drove_rng rng;
    drove__rng_seed(&rng, 17, DROVE_RNG_TEST, worker);
    for (unsigned step = 0; step < f->n_steps; step++) {
        if (one_step(r, f, worker, step, &rng) != DROVE_OK) {
            atomic_fetch_add(&f->n_failed, 1);
            return;
        }
    }
}

/* theta after all steps: - share * sum, where every number is exact. */
static void check(rig *r, field *f, double share)
{
    unsigned n_workers = r->sync->n_workers;
    const float *theta = r->sync->ops->peek(r->sync).theta;
    for (size_t i = 0; i < f->n; i++) {
        double want = 0.0;
        for (unsigned step = 0; step < f->n_steps; step++)
            for (unsigned w = 0; w < n_workers; w++) want -= share * value_at(i, w, step);
        if ((double)theta[i] != want) atomic_fetch_add(&f->n_wrong, 1);
    }
    if (drove__sync_parked(r->sync) != DROVE_OK) atomic_fetch_add(&f->n_unequal, 1);
}

static drove_status try_rig(rig *r, const field *f, const char *variant, unsigned n_workers,
                            drovek_add_f32_fn *add)
{
    drovek_table kernels = drovek_ref;
    if (add != NULL) kernels.add_f32 = add;
    return rig_try(r, (rig_options){.variant = variant,
                                    .n = f->n,
                                    .n_workers = n_workers,
                                    .part = f->part,
                                    .n_parts = f->n_parts,
                                    .kernels = &kernels});
}

static void open_rig(rig *r, const field *f, const char *variant, unsigned n_workers,
                     drovek_add_f32_fn *add)
{
    assert_int_equal(try_rig(r, f, variant, n_workers, add), DROVE_OK);
}

static const char *const variants[] = {"accumulate",
                                       "accumulate:at-end",
                                       "accumulate?helpers=2",
                                       "accumulate?order=pairs",
                                       "accumulate?order=pairs&helpers=1",
                                       "accumulate?order=first-come",
                                       "tree",
                                       "tree?links=nodes"};

static bool is_tree(const char *variant)
{
    return strncmp(variant, "tree", 4) == 0;
}

static void run_field(const char *variant, unsigned n_workers, field *f, drovek_add_f32_fn *add)
{
    rig r;
    open_rig(&r, f, variant, n_workers, add);
    run_workers(&r, work, f);
    /* The mean of T = 2, 4 or 8 is exact; of tree the step size is T. */
    double eta = f->own_eta ? (n_workers + 1) / 2.0 : 1.0; /* the mean */
    check(&r, f, is_tree(variant) ? eta : eta / n_workers);
    rig_fini(&r);
}

TEST(sums_are_exact)
{
    static const unsigned teams[] = {1, 2, 4, 8};
    for (size_t v = 0; v < DROVE_COUNT(variants); v++) {
        for (size_t t = 0; t < DROVE_COUNT(teams); t++) {
            field f = {.n_steps = 400 / teams[t] / STEPS_DIVISOR + 5, .delays = t % 2 == 1};
            split(&f, 20000 + 16 * v, 1 + (unsigned)(v + 3 * t) % MOST_PARTS, v * 10 + t);
            run_field(variants[v], teams[t], &f, NULL);
            assert_int_equal(f.n_failed, 0);
            assert_int_equal(f.n_wrong, 0);
            assert_int_equal(f.n_unequal, 0);
        }
    }
}

TEST(step_sizes_are_averaged)
{
    for (size_t v = 0; v < DROVE_COUNT(variants); v++) {
        field f = {.n_steps = 6, .own_eta = true};
        split(&f, 1000, 3, v);
        run_field(variants[v], 4, &f, NULL);
        assert_int_equal(f.n_failed, 0);
        assert_int_equal(f.n_wrong, 0);
        assert_int_equal(f.n_unequal, 0);
    }
}

/* ---- rules that look ahead ---- */

enum { N_AHEAD = 96, AHEAD_WORKERS = 4, AHEAD_STEPS = 3 };

/* The same gradient in every step, another one for each worker: 1 + w at every element. */
static void work_ahead(rig *r, unsigned worker, void *arg)
{
    _Atomic unsigned *n_failed = arg;
    float g[N_AHEAD];
    for (unsigned i = 0; i < N_AHEAD; i++) g[i] = 1.0f + (float)worker;
    for (unsigned step = 0; step < AHEAD_STEPS; step++)
        if (take_step(r, worker, g, 0.5f, NULL, NULL) != DROVE_OK) atomic_fetch_add(n_failed, 1);
}

/* Nesterov's gradient is taken at theta + mu v: each worker needs v, not only theta.  With mu 1/2,
 * eta 1/2 and the mean gradient 5/2 the velocity is -5/4, -15/8, -35/16: exact numbers. */
TEST(workers_have_the_velocity)
{
    static const char *const rows[] = {"tree", "tree?links=nodes", "accumulate?order=pairs"};
    for (size_t v = 0; v < DROVE_COUNT(rows); v++) {
        rig r;
        _Atomic unsigned n_failed = 0;
        rig_init(&r, (rig_options){.variant = rows[v],
                                   .rule = "nesterov:0.5",
                                   .n = N_AHEAD,
                                   .n_workers = AHEAD_WORKERS});
        run_workers(&r, work_ahead, &n_failed);
        assert_int_equal(n_failed, 0);
        for (unsigned w = 0; w < AHEAD_WORKERS; w++) {
            drove_view view;
            assert_int_equal(r.sync->ops->acquire(r.sync, w, &view), DROVE_OK);
            for (unsigned i = 0; i < N_AHEAD; i++) {
                assert_true(view.vector[i] == -1.25f - 1.875f - 2.1875f);
                assert_true(view.vector[N_AHEAD + i] == -2.1875f);
            }
            drove__sync_release(r.sync, w);
        }
        rig_fini(&r);
    }
}

TEST(large_parts_in_many_chunks)
{
    for (size_t v = 0; v < DROVE_COUNT(variants); v++) {
        field f = {.n_steps = 40 / STEPS_DIVISOR + 3};
        split(&f, MOST_N, 3, v);
        run_field(variants[v], 4, &f, NULL);
        assert_int_equal(f.n_wrong, 0);
        assert_int_equal(f.n_unequal, 0);
    }
}

/* ---- planted ---- */

static _Atomic unsigned n_adds;

/* One addition in ten leaves its result unwritten. */
static void losing_add(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    (void)streams;
    if (atomic_fetch_add(&n_adds, 1) % 10 == 9) return;
    for (size_t i = 0; i < n; i++) to[i] = a * (x[i] + y[i]);
}

TEST(a_lost_addition_is_seen)
{
    for (size_t v = 0; v < DROVE_COUNT(variants); v++) {
        field f = {.n_steps = 60};
        split(&f, 20000, 5, v);
        atomic_store(&n_adds, 0);
        run_field(variants[v], 2, &f, losing_add);
        assert_true(f.n_wrong > 0);
    }
}

/* ---- the order of the leaves ---- */

/* 1e8 swallows 1: in floats ((0+1)+(2+3)) is 1, ((0+2)+(1+3)) is 0. */
static void publish_far_numbers(rig *r, unsigned worker, void *arg)
{
    static const float values[] = {1e8f, -1e8f, 1.0f, 0.0f};
    field *f = arg;
    drove_view view;
    drove_publish_info info;
    drove_sync *s = r->sync;
    drove_status status = s->ops->acquire(s, worker, &view);
    float *g = s->ops->gradient(s, worker);
    for (size_t i = 0; i < f->n; i++) g[i] = values[worker];
    drove__sync_release(s, worker);
    const drove_step of = {.value = g, .eta = 4.0f};
    if (status == DROVE_OK) status = s->ops->publish(s, worker, &of, &info);
    if (status != DROVE_OK) atomic_fetch_add(&f->n_failed, 1);
}

TEST(leaves_are_added_in_the_order_given)
{
    static const struct {
        const char *variant;
        float sum;
    } rows[] = {
        {"tree", 1.0f}, {"tree:0,1,2,3", 1.0f}, {"tree:0,2,1,3", 0.0f}, {"tree:0,3,2,1", 0.0f}};
    for (size_t i = 0; i < DROVE_COUNT(rows); i++) {
        rig r;
        field f = {0};
        split(&f, 160, 1, i);
        open_rig(&r, &f, rows[i].variant, 4, NULL);
        run_workers(&r, publish_far_numbers, &f);
        assert_int_equal(f.n_failed, 0);
        assert_true(r.sync->ops->peek(r.sync).theta[5] == -rows[i].sum);
        rig_fini(&r);
    }
}

TEST(other_orders_are_refused)
{
    static const char *const refused[] = {"tree:0,1",         "tree:1,0,2,3",
                                          "tree:0,1,1,3",     "tree:0,1,2,4",
                                          "tree?links=rings", "tree:0,1,2,3?links=nodes"};
    for (size_t i = 0; i < DROVE_COUNT(refused); i++) {
        rig r;
        field f = {0};
        split(&f, 160, 1, i);
        assert_int_equal(try_rig(&r, &f, refused[i], 4, NULL), DROVE_E_ARG);
        rig_fini(&r);
    }
}

/* ---- stopping ---- */

static void stop_or_work(rig *r, unsigned worker, void *arg)
{
    field *f = arg;
    drove_rng rng;
    drove__rng_seed(&rng, 23, DROVE_RNG_TEST, worker);
    for (unsigned step = 0; step < 20; step++) {
        if (worker == 1 && step == 10) {
            r->sync->ops->stop(r->sync);
            return;
        }
        if (one_step(r, f, worker, step, &rng) == DROVE_OK) continue;
        atomic_fetch_add(&f->n_failed, 1);
        return;
    }
}

TEST(nobody_waits_for_who_has_stopped)
{
    for (size_t v = 0; v < DROVE_COUNT(variants); v++) {
        rig r;
        field f = {.n_steps = 20, .delays = true};
        split(&f, 20000, 4, v);
        open_rig(&r, &f, variants[v], 4, NULL);
        run_workers(&r, stop_or_work, &f);
        assert_int_equal(f.n_failed, 3);
        rig_fini(&r);
    }
}
