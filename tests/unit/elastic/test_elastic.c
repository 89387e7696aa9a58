/* test_elastic.c - the elastic methods apart from their equations (test_equations.c): equal bits,
 * turns, ranges, counts of updates, resuming, --period auto, fewer bits. */
#include "unit/elastic/methods.h"

#include "base/rng.h"
#include "elastic/elastic.h"
#include "sync/sync.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST_STEPS = 64 };

/* ---- workers that train on something that depends on what they see ---- */

typedef struct training {
    unsigned first, steps;
    bool is_delayed;
    bool eta_differs; /* from worker to worker, and step to step */
    _Atomic unsigned n_failed;
    _Atomic unsigned ticket, n_inside;
    unsigned order[MOST_STEPS * 8]; /* worker of each step, where one works at a time */
    _Atomic unsigned most_inside;
} training;

static void fill_gradient(const float *theta, unsigned worker, unsigned t, float *g)
{
    drove_rng rng;
    drove__rng_seed(&rng, 21, DROVE_RNG_TEST, (uint64_t)worker << 32 | t);
    for (unsigned j = 0; j < N; j++) g[j] = 0.3f * theta[j] - (float)drove__rng_normal(&rng);
}

static void train(rig *r, unsigned worker, void *arg)
{
    training *c = arg;
    drove_sync *s = r->sync;
    float *g = drove__alloc(N, sizeof *g);
    drove_rng rng;
    drove__rng_seed(&rng, 4, DROVE_RNG_TEST, worker);
    for (unsigned i = 0; i < c->steps; i++) {
        drove_view view;
        drove_publish_info info;
        drove_step step = {.value = g, .eta = 0.1f};
        if (c->eta_differs) step.eta = 0.1f / (float)(1 + worker + i % 3);
        if (c->is_delayed) rest_us((unsigned)drove__rng_below(&rng, 500));
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) {
            atomic_fetch_add(&c->n_failed, 1);
            break;
        }
        unsigned inside = atomic_fetch_add(&c->n_inside, 1) + 1;
        if (inside > atomic_load(&c->most_inside)) atomic_store(&c->most_inside, inside);
        c->order[atomic_fetch_add(&c->ticket, 1) % DROVE_COUNT(c->order)] = worker;
        fill_gradient(view.vector, worker, c->first + i, g);
        drove__sync_release(s, worker);
        atomic_fetch_sub(&c->n_inside, 1);
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) atomic_fetch_add(&c->n_failed, 1);
    }
    drove__free(g);
}

static const drove_span layers[] = {{0, 320}, {320, 16}, {336, 640}, {976, 32}};

/* Centre and all replicas after `steps` of each worker, into result [(1 + P) N]. */
static void train_all(rig_options o, unsigned steps, bool is_delayed, float *result)
{
    rig r;
    training c = {.steps = steps, .is_delayed = is_delayed, .eta_differs = o.schedule != NULL};
    rig_init(&r, o);
    run_workers(&r, train, &c);
    assert_int_equal(c.n_failed, 0);
    memcpy(result, r.sync->ops->peek(r.sync).theta, N * sizeof *result);
    for (unsigned i = 0; i < o.n_workers; i++)
        memcpy(result + (size_t)(1 + i) * N, r.sync->ops->replicas->vector(r.sync, i),
               N * sizeof *result);
    rig_fini(&r);
}

static float *result_of(unsigned n_workers)
{
    return calloc((size_t)(1 + n_workers) * N, sizeof(float));
}

/* ---- bits ---- */

/* Place of the centre, time of the exchange and number of messages change no bit. */
TEST(the_three_sync_easgd_are_one)
{
    static const drove_sync_ops *const ops[] = {&drove__sync_easgd_sync2, &drove__sync_easgd_sync3,
                                                &drove__sync_easgd_sync3};
    static const char *const variant[] = {"easgd-sync2", "easgd-sync3", "easgd-sync3?centre=one"};
    for (unsigned n_workers = 1; n_workers <= 6; n_workers++) {
        float *a = result_of(n_workers), *b = result_of(n_workers);
        rig_options o = options(&drove__sync_easgd_sync1, "easgd-sync1", n_workers);
        o.period = n_workers % 2 == 0 ? "3" : NULL;
        train_all(o, 12, false, a);
        for (unsigned k = 0; k < 6; k++) {
            o.ops = ops[k % 3];
            o.variant = variant[k % 3];
            o.part = k < 3 ? NULL : layers;
            o.n_parts = k < 3 ? 0 : DROVE_COUNT(layers);
            train_all(o, 12, true, b);
            assert_memory_equal(a, b, (size_t)(1 + n_workers) * N * sizeof *a);
        }
        free(a);
        free(b);
    }
}

/* allreduce is sync without shared memory: with equal trees of sums it has its bits, and equal
 * replicas. */
TEST(allreduce_is_sync)
{
    static const char *const rules[] = {"sgd", "momentum", "adam"};
    for (unsigned n_workers = 1; n_workers <= 8; n_workers *= 2) {
        for (size_t k = 0; k < DROVE_COUNT(rules); k++) {
            float *a = result_of(n_workers);
            rig r;
            training c = {.steps = 10};
            rig_options o = options(&drove__sync_allreduce, "allreduce", n_workers);
            o.rule = rules[k];
            train_all(o, 10, true, a);
            o.ops = &drove__sync_sync;
            o.variant = "sync";
            rig_init(&r, o);
            run_workers(&r, train, &c);
            for (unsigned i = 0; i <= n_workers; i++)
                assert_memory_equal(r.sync->ops->peek(r.sync).theta, a + (size_t)i * N,
                                    N * sizeof *a);
            free(a);
            rig_fini(&r);
        }
    }
}

/* One worker without a pull is sequential SGD bit for bit, also in rules that use the number of the
 * update. */
TEST(one_worker_is_sequential)
{
    static const drove_sync_ops *const ops[] = {&drove__sync_psgd_async, &drove__sync_psgd_hogwild,
                                                &drove__sync_allreduce, &drove__sync_local};
    static const char *const rules[] = {"sgd", "nesterov", "adam"};
    for (size_t k = 0; k < DROVE_COUNT(ops) * DROVE_COUNT(rules); k++) {
        rig a, b;
        training c = {.steps = 20};
        rig_options o = options(&drove__sync_sequential, "sequential", 1);
        o.rule = rules[k % DROVE_COUNT(rules)];
        rig_init(&a, o);
        o.ops = ops[k / DROVE_COUNT(rules)];
        o.variant = o.ops->name;
        rig_init(&b, o);
        run_workers(&a, train, &c);
        run_workers(&b, train, &c);
        if (memcmp(a.sync->ops->peek(a.sync).theta, b.sync->ops->peek(b.sync).theta,
                   N * sizeof(float)) != 0)
            fail_msg("%s, %s: other bits than sequential", o.variant, o.rule);
        rig_fini(&a);
        rig_fini(&b);
    }
}

/* Under a schedule step sizes may differ in a round: workers agree on their mean. */
TEST(workers_agree_on_a_step_size_that_changes)
{
    for (unsigned n_workers = 2; n_workers <= 4; n_workers++) {
        float *a = result_of(n_workers), *b = result_of(n_workers);
        rig_options o = options(&drove__sync_easgd_sync1, "easgd-sync1", n_workers);
        o.schedule = "exponential:0.9";
        o.rho = 2.0;
        train_all(o, 12, false, a);
        o.ops = &drove__sync_easgd_sync3;
        o.variant = "easgd-sync3";
        train_all(o, 12, true, b);
        assert_memory_equal(a, b, (size_t)(1 + n_workers) * N * sizeof *a);
        o.ops = &drove__sync_allreduce;
        o.variant = "allreduce";
        o.rho = 0.0;
        train_all(o, 12, true, b);
        for (unsigned i = 1; i <= n_workers; i++)
            assert_memory_equal(b, b + (size_t)i * N, N * sizeof *b);
        free(a);
        free(b);
    }
}

/* ---- turns ---- */

TEST(turns_go_round)
{
    for (const char *const *v = drove__sync_easgd.variants; *v != NULL; v++) {
        for (unsigned n_workers = 1; n_workers <= 5; n_workers++) {
            rig r;
            training c = {.steps = 20, .is_delayed = true};
            rig_init(&r, options(&drove__sync_easgd, *v, n_workers));
            for (unsigned round = 0; round < 2; round++) { /* parked in between */
                run_workers(&r, train, &c);
                c.first += c.steps;
            }
            assert_int_equal(c.n_failed, 0);
            assert_int_equal(c.most_inside, 1);
            assert_int_equal(c.ticket, 40 * n_workers);
            for (unsigned t = 0; t < c.ticket; t++) assert_int_equal(c.order[t], t % n_workers);
            rig_fini(&r);
        }
    }
}

/* ---- what is refused ---- */

static void expect_refused(rig_options o, const char *word)
{
    rig r;
    assert_int_equal(rig_try(&r, o), DROVE_E_ARG);
    if (strstr(drove_error_text(), word) == NULL)
        fail_msg("%s: expected \"%s\" in: %s", o.variant, word, drove_error_text());
    rig_fini(&r);
}

static void expect_accepted(rig_options o)
{
    rig r;
    rig_init(&r, o);
    rig_fini(&r);
}

TEST(pull_has_a_range)
{
    for (unsigned n_workers = 1; n_workers <= 5; n_workers++) {
        rig_options one = options(&drove__sync_easgd_async, "easgd-async", n_workers);
        rig_options all = options(&drove__sync_easgd_sync3, "easgd-sync3", n_workers);
        one.rho = 0.999 / 0.1;
        all.rho = 0.999 * 2.0 / (n_workers + 1.0) / 0.1;
        expect_accepted(one);
        expect_accepted(all);
        one.rho = 1.001 / 0.1;
        all.rho = 1.001 * 2.0 / (n_workers + 1.0) / 0.1;
        expect_refused(one, "below 1,");
        expect_refused(all, "--rho below");
        one.ops = &drove__sync_easgd;
        one.variant = "easgd";
        expect_refused(one, "below 1,");
    }
    rig_options o = options(&drove__sync_local, "local", 2);
    o.rho = 0.1;
    expect_refused(o, "no elastic pull");
}

/* A schedule may leave the range during the run. */
TEST(a_step_size_that_grows_is_noticed)
{
    rig r;
    float g[N] = {0};
    rig_options o = options(&drove__sync_easgd_async, "easgd-async", 2);
    o.rho = 9.0;
    rig_init(&r, o);
    assert_int_equal(take_step(&r, 0, g, 0.1f, NULL, NULL), DROVE_OK);
    assert_int_equal(take_step(&r, 0, g, 0.2f, NULL, NULL), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "--rho below 1,"));
    rig_fini(&r);
}

TEST(other_refusals)
{
    static const struct {
        const drove_sync_ops *ops;
        const char *variant, *period, *wire, *word;
    } cases[] = {
        {&drove__sync_easgd_sync3, "easgd-sync3?centre=two", NULL, NULL, "two"},
        {&drove__sync_easgd_sync3, "easgd-sync3", "auto", NULL, "local or diloco"},
        {&drove__sync_easgd_sync3, "easgd-sync3", "0", NULL, "--period"},
        {&drove__sync_psgd_async, "psgd-async", "2", NULL, "expected 1"},
        {&drove__sync_allreduce, "allreduce", "2", NULL, "expected 1"},
        {&drove__sync_easgd_async, "easgd-async", NULL, "C8s", "expected C32f"},
        {&drove__sync_easgd_sync2, "easgd-sync2", NULL, "G1C1s", "easgd-sync3"},
        {&drove__sync_easgd, "easgd?overlap=2", NULL, NULL, "overlap"},
        {&drove__sync_diloco, "diloco?lr=0", NULL, NULL, "lr"},
        {&drove__sync_local, "local?h=3", NULL, NULL, "h"},
    };
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        rig_options o = options(cases[i].ops, cases[i].variant, 2);
        o.period = cases[i].period;
        o.wire_format = cases[i].wire;
        expect_refused(o, cases[i].word);
    }
}

/* ---- numbers of updates ---- */

/* Version, staleness and number of each step; workers exchange in a given order. */
TEST(staleness_is_what_others_brought)
{
    static const unsigned order[] = {0, 0, 1, 2, 2, 2, 0, 1, 1, 2, 0, 2};
    static const drove_sync_ops *const ops[] = {&drove__sync_easgd_async, &drove__sync_psgd_async};
    for (size_t k = 0; k < DROVE_COUNT(ops); k++) {
        rig r;
        uint64_t last[3] = {0};
        float g[N] = {0};
        rig_init(&r, options(ops[k], ops[k]->name, 3));
        for (unsigned t = 0; t < DROVE_COUNT(order); t++) {
            drove_view view;
            drove_publish_info info;
            unsigned i = order[t];
            assert_int_equal(take_step(&r, i, g, 0.1f, &view, &info), DROVE_OK);
            assert_int_equal(view.version, last[i]);
            assert_int_equal(info.staleness, t - last[i]);
            assert_int_equal(info.updated, 1);
            last[i] = t + 1;
        }
        assert_int_equal(atomic_load(&r.sync->published), DROVE_COUNT(order));
        rig_fini(&r);
    }
}

TEST(distance_is_measured)
{
    rig r;
    drove_publish_info info;
    float g[N];
    for (unsigned j = 0; j < N; j++) g[j] = 2.0f;
    rig_init(&r, options(&drove__sync_easgd_async, "easgd-async", 1));
    assert_int_equal(take_step(&r, 0, g, 0.1f, NULL, &info), DROVE_OK);
    assert_true(info.distance == 0.0);
    assert_int_equal(take_step(&r, 0, g, 0.1f, NULL, &info), DROVE_OK);
    assert_true(fabs(info.distance - 0.2 * sqrt(N)) < 1e-5);
    rig_fini(&r);
}

/* ---- a rule that looks ahead ---- */

/* Nesterov's velocity is the centre's, and travels with the parameters: by hand, with g = 1. */
TEST(the_velocity_travels)
{
    static const float theta[] = {-0.5f, -1.25f, -2.125f, -3.0625f};
    static const float velocity[] = {-0.5f, -0.75f, -0.875f, -0.9375f};
    static const unsigned order[] = {0, 1, 1, 0};
    static const drove_sync_ops *const ops[] = {&drove__sync_psgd_async, &drove__sync_psgd_hogwild};
    for (size_t k = 0; k < DROVE_COUNT(ops); k++) {
        rig r;
        rig_options o = options(ops[k], ops[k]->name, 2);
        float g[N];
        for (unsigned j = 0; j < N; j++) g[j] = 1.0f;
        o.rule = "nesterov:0.5";
        rig_init(&r, o);
        assert_int_equal(r.sync->n_vector, 2 * N);
        for (unsigned t = 0; t < DROVE_COUNT(order); t++) {
            assert_int_equal(take_step(&r, order[t], g, 0.5f, NULL, NULL), DROVE_OK);
            const float *w = r.sync->ops->replicas->vector(r.sync, order[t]);
            for (unsigned j = 0; j < N; j++)
                assert_true(w[j] == theta[t] && w[N + j] == velocity[t]);
        }
        rig_fini(&r);
    }
}

/* ---- going on from a saved state ---- */

static void save(rig *r, const char *path)
{
    drove_tensor t[32] = {{.type = DROVE_T_F32, .rank = 1, .shape = {r->sync->n_vector}}};
    strcpy(t[0].name, "vector");
    t[0].bytes = r->sync->ops->peek(r->sync).theta;
    size_t n = 1;
    if (r->sync->ops->tensors != NULL) n += r->sync->ops->tensors(r->sync, t + 1, 31);
    assert_int_equal(drove__safetensors_write(path, t, n, NULL), DROVE_OK);
}

static drove_status load(rig *r, uint64_t published, const char *path)
{
    drove_safetensors st;
    assert_int_equal(drove__safetensors_load(path, &st), DROVE_OK);
    const drove_tensor *vector = drove__safetensors_find(&st, "vector");
    float *theta = drove__alloc(r->sync->n_vector, sizeof *theta);
    assert_non_null(theta);
    memcpy(theta, vector->bytes, r->sync->n_vector * sizeof *theta);
    drove_status status =
        drove__sync_restore(r->sync, published, &(drove_params){.theta = theta}, &st);
    drove__free(theta);
    drove__safetensors_fini(&st);
    return status;
}

/* What each worker knew of the centre goes on, too: version and staleness by hand. */
TEST(staleness_goes_on)
{
    static const unsigned order[] = {0, 0, 1, 2, 2, 2, 0, 1, 1, 2, 0, 2};
    static const drove_sync_ops *const ops[] = {&drove__sync_easgd_async, &drove__sync_psgd_async};
    for (size_t k = 0; k < DROVE_COUNT(ops) * DROVE_COUNT(order); k++) {
        rig r;
        const rig_options o = options(ops[k % 2], ops[k % 2]->name, 3);
        uint64_t last[3] = {0};
        float g[N] = {0};
        rig_init(&r, o);
        for (unsigned t = 0; t < DROVE_COUNT(order); t++) {
            drove_view view;
            drove_publish_info info;
            unsigned i = order[t];
            if (t == k / 2) {
                save(&r, "elastic.safetensors");
                rig_fini(&r);
                rig_init(&r, o);
                assert_int_equal(load(&r, t, "elastic.safetensors"), DROVE_OK);
            }
            assert_int_equal(take_step(&r, i, g, 0.1f, &view, &info), DROVE_OK);
            assert_int_equal(view.version, last[i]);
            assert_int_equal(info.staleness, t - last[i]);
            last[i] = t + 1;
        }
        rig_fini(&r);
    }
}

static void run_steps(rig *r, unsigned first, unsigned steps)
{
    training c = {.first = first, .steps = steps};
    run_workers(r, train, &c);
    assert_int_equal(c.n_failed, 0);
}

static void resumed(rig_options o, bool has_bits)
{
    rig a, b;
    o.rule = "momentum:0.5"; /* its state in the vector */
    rig_init(&a, o);
    rig_init(&b, o);
    run_steps(&a, 0, 7);
    uint64_t published = atomic_load(&a.sync->published);
    save(&a, "elastic.safetensors");
    assert_int_equal(load(&b, published, "elastic.safetensors"), DROVE_OK);
    assert_memory_equal(a.sync->ops->peek(a.sync).theta, b.sync->ops->peek(b.sync).theta,
                        N * sizeof(float));
    for (unsigned i = 0; i < 3; i++)
        assert_memory_equal(a.sync->ops->replicas->vector(a.sync, i),
                            b.sync->ops->replicas->vector(b.sync, i),
                            a.sync->n_vector * sizeof(float));
    run_steps(&a, 7, 9);
    run_steps(&b, 7, 9);
    assert_int_equal(atomic_load(&a.sync->published), atomic_load(&b.sync->published));
    if (has_bits)
        assert_memory_equal(a.sync->ops->peek(a.sync).theta, b.sync->ops->peek(b.sync).theta,
                            a.sync->n_vector * sizeof(float));
    rig_fini(&a);
    rig_fini(&b);
}

static void resume_method(const drove_sync_ops *ops)
{
    bool has_bits = (ops->promises & DROVE_SYNC_REPEATABLE) != 0;
    bool has_period = (ops->needs & DROVE_SYNC_OWN_STATE) != 0;
    rig_options o = options(ops, ops->name, 3);
    resumed(o, has_bits);
    o.period = "3";
    if (has_period) resumed(o, has_bits);
}

TEST(a_resumed_run_has_the_same_bits)
{
    for_each_method(resume_method);
}

static const struct {
    const drove_sync_ops *ops;
    const char *period;
} encoding[] = {{&drove__sync_easgd_sync3, "1"},
                {&drove__sync_allreduce, NULL},
                {&drove__sync_local, "3"},
                {&drove__sync_diloco, "3"}};
static const char *const wire_formats[] = {"C16s", "C8s", "G1C1s"};

/* |a - b| / |b| */
static double relative_distance(const float *a, const float *b)
{
    double off = 0.0, all = 0.0;
    for (unsigned j = 0; j < N; j++) {
        off += pow((double)a[j] - (double)b[j], 2.0);
        all += pow((double)b[j], 2.0);
    }
    return sqrt(off / all);
}

static rig_options by_layer(rig_options o)
{
    o.part = layers;
    o.n_parts = DROVE_COUNT(layers);
    return o;
}

/* Packed and by layer, fewer bits stay near: residuals are sent later. */
TEST(fewer_bits_stay_near)
{
    static const double most[] = {1e-3, 0.03, 1.0}; /* relative distance */
    for (size_t m = 0; m < DROVE_COUNT(encoding); m++) {
        float *exact = result_of(4), *found = result_of(4);
        rig_options o = options(encoding[m].ops, encoding[m].ops->name, 4);
        o.period = encoding[m].period;
        train_all(o, 48, false, exact);
        for (size_t f = 0; f < DROVE_COUNT(wire_formats); f++) {
            o.wire_format = wire_formats[f];
            train_all(o, 48, true, found);
            double packed = relative_distance(found, exact);
            train_all(by_layer(o), 48, true, found);
            double layered = relative_distance(found, exact);
            print_message("%s, %s: %.2g away, by layer %.2g\n", o.variant, o.wire_format, packed,
                          layered);
            assert_true(packed > 0.0 && packed < most[f]);
            assert_true(layered > 0.0 && layered < most[f]);
        }
        free(exact);
        free(found);
    }
}

/* Every worker decodes the same codes, so replicas that a method makes equal have equal bits,
 * packed and by layer, in every run. */
TEST(replicas_in_fewer_bits_are_equal)
{
    enum { WORKERS = 3, STEPS = 12 }; /* the last step exchanges */
    for (size_t k = 0; k < 2 * DROVE_COUNT(encoding) * DROVE_COUNT(wire_formats); k++) {
        size_t m = k / 2 % DROVE_COUNT(encoding), f = k / 2 / DROVE_COUNT(encoding);
        float *a = result_of(WORKERS), *b = result_of(WORKERS);
        rig_options o = options(encoding[m].ops, encoding[m].ops->name, WORKERS);
        o.period = encoding[m].period;
        o.wire_format = wire_formats[f];
        if (k % 2 == 1) o = by_layer(o);
        train_all(o, STEPS, false, a);
        train_all(o, STEPS, true, b);
        assert_memory_equal(a, b, (1 + WORKERS) * N * sizeof *a);
        for (unsigned i = 1; i <= WORKERS && o.ops != &drove__sync_easgd_sync3; i++)
            assert_memory_equal(a, a + (size_t)i * N, N * sizeof *a);
        free(a);
        free(b);
    }
}

TEST(a_resumed_run_in_fewer_bits_has_the_same_bits)
{
    for (size_t m = 0; m < DROVE_COUNT(encoding); m++) {
        rig_options o = options(encoding[m].ops, encoding[m].ops->name, 3);
        o.period = encoding[m].period;
        for (size_t f = 0; f < DROVE_COUNT(wire_formats); f++) {
            o.wire_format = wire_formats[f];
            resumed(o, true);
            resumed(by_layer(o), true);
        }
    }
}

static void start_others(const drove_sync_ops *ops)
{
    rig a, b;
    rig_init(&a, options(ops, ops->name, 3));
    rig_init(&b, options(ops, ops->name, 2));
    run_steps(&a, 0, 7);
    save(&a, "elastic.safetensors");
    uint64_t published = atomic_load(&a.sync->published);
    assert_int_equal(load(&b, published, "elastic.safetensors"), DROVE_OK);
    const float *centre = a.sync->ops->peek(a.sync).theta;
    assert_memory_equal(b.sync->ops->peek(b.sync).theta, centre, N * sizeof(float));
    for (unsigned i = 0; i < 2; i++)
        assert_memory_equal(b.sync->ops->replicas->vector(b.sync, i), centre, N * sizeof(float));
    run_steps(&b, 7, 5);
    assert_true(atomic_load(&b.sync->published) > published);
    rig_fini(&a);
    rig_fini(&b);
}

TEST(other_workers_start_from_the_centre)
{
    for_each_method(start_others);
}

/* A run that goes on knows what each worker, and the centre of each worker, has seen.  Worker 2's
 * next exchange and then worker 1's: versions that they see, and updates by others since. */
TEST(staleness_goes_on_after_a_resume)
{
    static const unsigned order[] = {1, 1, 2, 2, 0, 0, 0, 0, 2};
    static const struct {
        const drove_sync_ops *ops;
        const char *schedule, *period;
        unsigned steps; /* of worker 1 until it exchanges */
        uint64_t version[2], staleness[2];
    } cases[] = {{&drove__sync_easgd_async, NULL, "2", 2, {4 + 1, 2 + 1}, {8 - 4, 10 - 2}},
                 {&drove__sync_easgd_hogwild, NULL, "2", 2, {4 + 1, 2 + 1}, {8 - 4, 10 - 2}},
                 {&drove__sync_psgd_async, "staleness", NULL, 1, {9, 2}, {0, 10 - 2}}};
    float g[N];
    for (unsigned j = 0; j < N; j++) g[j] = 1.0f;
    for (size_t k = 0; k < DROVE_COUNT(cases); k++) {
        rig r[2];
        rig_options o = options(cases[k].ops, cases[k].ops->name, 3);
        o.period = cases[k].period;
        o.schedule = cases[k].schedule;
        for (unsigned i = 0; i < 2; i++) rig_init(&r[i], o);
        for (unsigned t = 0; t < DROVE_COUNT(order); t++)
            assert_int_equal(take_step(&r[0], order[t], g, 0.1f, NULL, NULL), DROVE_OK);
        save(&r[0], "elastic.safetensors");
        assert_int_equal(load(&r[1], DROVE_COUNT(order), "elastic.safetensors"), DROVE_OK);
        for (unsigned i = 0; i < 2; i++) {
            drove_publish_info info;
            drove_view view;
            assert_int_equal(take_step(&r[i], 2, g, 0.1f, &view, &info), DROVE_OK);
            assert_int_equal(view.version, cases[k].version[0]);
            assert_int_equal(info.staleness, cases[k].staleness[0]);
            for (unsigned j = 0; j < cases[k].steps; j++)
                assert_int_equal(take_step(&r[i], 1, g, 0.1f, &view, &info), DROVE_OK);
            assert_int_equal(view.version, cases[k].version[1]);
            assert_int_equal(info.staleness, cases[k].staleness[1]);
            if (cases[k].schedule == NULL) continue;
            /* steps of 0.1 / max(1, staleness): 0 0 2 0 4 0 0 0 4, and 0 8 */
            double sum = 1 + 1 + 1 / 2.0 + 1 + 1 / 4.0 + 3 + 1 / 4.0 + 1 + 1 / 8.0;
            double found = (double)r[i].sync->ops->peek(r[i].sync).theta[0];
            assert_true(fabs(found + 0.1 * sum) < 1e-6);
        }
        for (unsigned i = 0; i < 2; i++) rig_fini(&r[i]);
    }
}

/* ---- the period that is found by measuring ---- */

TEST(period_auto_is_agreed)
{
    static const drove_sync_ops *const ops[] = {&drove__sync_local, &drove__sync_diloco};
    for (size_t k = 0; k < DROVE_COUNT(ops); k++) {
        rig r;
        drove_elastic_facts facts;
        rig_options o = options(ops[k], ops[k]->name, 4);
        o.period = "auto";
        rig_init(&r, o);
        assert_true(drove__elastic_facts(r.sync, &facts) && facts.period_is_auto);
        assert_int_equal(facts.period, 1);
        assert_int_equal(r.sync->promises & DROVE_SYNC_REPEATABLE, 0);
        /* Workers that disagreed about the period would wait for ever. */
        for (unsigned round = 0; round < 4; round++) run_steps(&r, round * 50, 50);
        assert_true(drove__elastic_facts(r.sync, &facts) && facts.period >= 1);
        print_message("%s: %u steps between exchanges, by measuring\n", ops[k]->name,
                      (unsigned)facts.period);
        rig_fini(&r);
    }
}

/* Worker 1 is late eight times, by 10 ms each; that is exchange, and steps do next to nothing.  In
 * a tenth of the time the steps between two exchanges must be many more than nine. */
static void be_late(rig *r, unsigned worker, void *arg)
{
    float g[N] = {0};
    (void)arg;
    for (unsigned i = 0; i < 8; i++) {
        if (worker == 1) rest_us(10000);
        (void)take_step(r, worker, g, 0.1f, NULL, NULL);
    }
}

TEST(period_auto_grows_with_exchanges)
{
    static const drove_sync_ops *const ops[] = {&drove__sync_local, &drove__sync_diloco};
    for (size_t k = 0; k < DROVE_COUNT(ops); k++) {
        rig r;
        drove_elastic_facts facts;
        rig_options o = options(ops[k], ops[k]->name, 2);
        o.period = "auto";
        rig_init(&r, o);
        run_workers(&r, be_late, NULL);
        assert_true(drove__elastic_facts(r.sync, &facts));
        print_message("%s: %u steps between late exchanges\n", ops[k]->name,
                      (unsigned)facts.period);
        assert_true(facts.period > 12);
        rig_fini(&r);
    }
}
