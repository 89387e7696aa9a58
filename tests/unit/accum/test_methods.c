/* accumulate and tree, with all their variants, against the same method in double: each worker
 * brings a gradient and a step size of its own; weight decay, the limit of the norm, and the rule
 * are of the mean.  Then what they check, say, refuse and restore. */
#include "accum/accum.h"
#include "accum/replica.h"
#include "support/rig.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { N = 9001, MOST = 5, STEPS = 4, N_PARTS = 3 }; /* N: three blocks of an update's, and more */
static const double LR = 0.25, DECAY = 0.125, CLIP = 20.0, MU = 0.5;
static const drove_span parts[N_PARTS] = {{0, 1000}, {1000, 7000}, {8000, 1001}};

typedef struct method {
    const drove_sync_ops *ops;
    const char *variant;
    unsigned n_workers;
    bool is_apart; /* sites of their own, as processes are */
} method;

static const method methods[] = {
    {&drove__accum_accumulate, "accumulate", 1, false},
    {&drove__accum_accumulate, "accumulate", 2, false},
    {&drove__accum_accumulate, "accumulate", 5, false},
    {&drove__accum_accumulate, "accumulate:at-end", 3, false},
    {&drove__accum_accumulate, "accumulate?order=pairs", 4, false},
    {&drove__accum_accumulate, "accumulate?order=first-come", 3, false},
    {&drove__accum_accumulate, "accumulate?helpers=2", 3, false},
    {&drove__accum_tree, "tree", 1, false},
    {&drove__accum_tree, "tree", 5, false},
    {&drove__accum_tree, "tree:0,2,1,3", 4, false},
    {&drove__accum_tree, "tree?links=nodes", 3, false},
    {&drove__accum_accumulate, "accumulate", 2, true},
    {&drove__accum_accumulate, "accumulate:at-end", 3, true},
    {&drove__accum_tree, "tree", 1, true},
    {&drove__accum_tree, "tree", 5, true},
    {&drove__accum_tree, "tree?links=nodes", 2, true},
};

static float first_theta(size_t i)
{
    return (float)(i % 7) - 3.0f;
}

static rig_options options(const method *m, const char *rule, bool has_limits)
{
    static const bool nobody[MOST];
    static float theta[N];
    for (size_t i = 0; i < N; i++) theta[i] = first_theta(i);
    return (rig_options){.ops = m->ops,
                         .variant = m->variant,
                         .rule = rule,
                         .lr = LR,
                         .weight_decay = has_limits ? DECAY : 0.0,
                         .clip = has_limits ? CLIP : 0.0,
                         .n = N,
                         .n_workers = m->n_workers,
                         .theta0 = theta,
                         .part = parts,
                         .n_parts = N_PARTS,
                         .is_resident = nobody,
                         .kernels = &drovek_ref};
}

static drove_status try_open(rig *r, const method *m, rig_options o)
{
    if (m->is_apart) drove__memory_share_begin();
    const drove_status status = rig_try_row(r, o);
    if (m->is_apart) drove__memory_share_end();
    return status;
}

static void open_rig(rig *r, const method *m, const char *rule, bool has_limits)
{
    if (try_open(r, m, options(m, rule, has_limits)) != DROVE_OK)
        fail_msg("%s: %s", m->variant, drove_error_text());
}

/* ---- workers ---- */

static float gradient_of(unsigned worker, unsigned step, size_t i)
{
    uint64_t mixed = ((uint64_t)worker * 31 + step * 7 + 1) * (i * 2654435761u + 12345);
    return (float)((mixed >> 20) % 1001) / 1000.0f - 0.4f;
}

static float eta_of(unsigned worker)
{
    return 0.1f * (float)(worker + 1);
}

typedef struct member {
    rig *r;
    unsigned index;
    bool by_layer;
    uint64_t first;
    unsigned n_wrong;
    _Atomic int publishes; /* or has failed to begin; seq_cst */
} member;

static void check_info(member *m, const drove_publish_info *info, uint64_t took_ns)
{
    uint64_t named = info->wait_ns + info->exchange_ns + info->accumulate_ns + info->update_ns +
                     info->broadcast_ns;
    m->n_wrong += info->attempts != 1 || info->updated != (m->index == 0) || info->dropped != 0;
    m->n_wrong += info->staleness != 0 || named > took_ns;
}

/* Slices come from the last to the first, as backward brings them.  Every other gradient lies in
 * memory of the caller's own. */
static void *member_main(void *argument)
{
    member *m = argument;
    float own[N];
    drove_sync *s = m->r->sync;
    const drove_sync_ops *ops = s->ops;
    for (unsigned t = 0; t < STEPS; t++) {
        drove_view view;
        drove_publish_info info;
        float *g = t % 2 == 0 ? ops->gradient(s, m->index) : own;
        m->n_wrong += ops->acquire(s, m->index, &view) != DROVE_OK;
        m->n_wrong +=
            view.vector != ops->replicas->vector(s, m->index) || view.version != m->first + t;
        for (size_t i = 0; i < N; i++) g[i] = gradient_of(m->index, t, i);
        uint64_t begin_ns = drove__now_ns();
        for (unsigned p = N_PARTS; m->by_layer && p-- > 0;)
            (void)ops->slices->ready(s, m->index, parts[p].offset, parts[p].length, g,
                                     eta_of(m->index));
        const drove_step step = {.value = g, .eta = eta_of(m->index)};
        drove__sync_release(s, m->index);
        m->n_wrong += ops->publish(s, m->index, &step, &info) != DROVE_OK;
        check_info(m, &info, drove__now_ns() - begin_ns);
    }
    return NULL;
}

static void run(rig *r, bool by_layer, uint64_t first)
{
    pthread_t thread[MOST];
    member m[MOST];
    for (unsigned w = 0; w < r->sync->n_workers; w++) {
        m[w] = (member){.r = r, .index = w, .by_layer = by_layer, .first = first};
        assert_int_equal(pthread_create(&thread[w], NULL, member_main, &m[w]), 0);
    }
    for (unsigned w = 0; w < r->sync->n_workers; w++) {
        pthread_join(thread[w], NULL);
        assert_int_equal(m[w].n_wrong, 0);
    }
    assert_int_equal(drove__sync_parked(r->sync), DROVE_OK);
    assert_int_equal(atomic_load(&r->sync->published), first + STEPS);
}

/* ---- the same in double ---- */

typedef struct reference {
    double theta[N], velocity[N];
} reference;

static void reference_step(reference *x, unsigned n_workers, unsigned t, bool has_limits, double mu)
{
    static double g[N];
    double eta = 0.0, square = 0.0, scale = 1.0;
    for (unsigned w = 0; w < n_workers; w++) eta += (double)eta_of(w) / n_workers;
    for (size_t i = 0; i < N; i++) {
        g[i] = has_limits ? DECAY * x->theta[i] : 0.0;
        for (unsigned w = 0; w < n_workers; w++) g[i] += (double)gradient_of(w, t, i) / n_workers;
        square += g[i] * g[i];
    }
    if (has_limits && sqrt(square) > CLIP) scale = CLIP / sqrt(square);
    if (has_limits) assert_true(sqrt(square) > CLIP); /* there is something to limit */
    for (size_t i = 0; i < N; i++) {
        x->velocity[i] = mu * x->velocity[i] - eta * scale * g[i];
        x->theta[i] += x->velocity[i];
    }
}

static void compare(const rig *r, const reference *x, const char *what)
{
    for (unsigned w = 0; w < r->sync->n_workers; w++) {
        const float *theta = r->sync->ops->replicas->vector(r->sync, w);
        for (size_t i = 0; i < N; i++)
            if (fabs((double)theta[i] - x->theta[i]) > 1e-4)
                fail_msg("%s: worker %u, number %zu: expected %.9g, found %.9g", what, w, i,
                         x->theta[i], (double)theta[i]);
    }
    assert_ptr_equal(r->sync->ops->peek(r->sync).theta, r->sync->ops->replicas->vector(r->sync, 0));
}

TEST(all_follow_the_mean)
{
    static reference x;
    for (size_t k = 0; k < DROVE_COUNT(methods); k++) {
        const method *m = &methods[k];
        for (unsigned how = 0; how < 4; how++) {
            bool has_limits = how % 2 == 1, by_layer = how >= 2;
            double mu = how == 1 || how == 2 ? MU : 0.0;
            rig r;
            open_rig(&r, m, mu > 0.0 ? "momentum:0.5" : "sgd", has_limits);
            for (size_t i = 0; i < N; i++) x.theta[i] = (double)first_theta(i), x.velocity[i] = 0.0;
            run(&r, by_layer, 0);
            for (unsigned t = 0; t < STEPS; t++)
                reference_step(&x, m->n_workers, t, has_limits, mu);
            compare(&r, &x, m->variant);
            rig_fini(&r);
        }
    }
}

/* Number 8 follows number 7, for all who count: the rule adam divides by it. */
TEST(a_restored_run_goes_on)
{
    for (size_t k = 0; k < DROVE_COUNT(methods); k++) {
        rig r, other;
        float *vector;
        open_rig(&r, &methods[k], "adam", false);
        run(&r, true, 0);
        size_t size = r.optim->n_vector * sizeof(float);
        vector = malloc(size);
        assert_non_null(vector);
        memcpy(vector, r.sync->ops->peek(r.sync).theta, size);
        run(&r, true, STEPS);
        open_rig(&other, &methods[k], "adam", false);
        assert_int_equal(drove__sync_restore(other.sync, STEPS, &(drove_params){.theta = vector},
                                             NULL),
                         DROVE_OK);
        assert_memory_equal(other.sync->ops->peek(other.sync).theta, vector, size);
        run(&other, true, STEPS);
        const float *a = r.sync->ops->peek(r.sync).theta,
                    *b = other.sync->ops->peek(other.sync).theta;
        bool same_bits = strstr(methods[k].variant, "first-come") == NULL;
        for (size_t i = 0; i < N; i++)
            if (same_bits ? a[i] != b[i] : fabsf(a[i] - b[i]) > 1e-3f)
                fail_msg("%s: number %zu: %.9g and %.9g", methods[k].variant, i, (double)a[i],
                         (double)b[i]);
        free(vector);
        rig_fini(&other);
        rig_fini(&r);
    }
}

/* Threads of one process read a gradient where it is, and copy none. */
TEST(a_gradient_stays_where_it_is)
{
    static float own[N];
    static const method two = {&drove__accum_accumulate, "accumulate", 2, false};
    rig r;
    drove_view view;
    open_rig(&r, &two, "sgd", false);
    float *slot = two.ops->gradient(r.sync, 0);
    for (size_t i = 0; i < N; i++) own[i] = 2.0f, slot[i] = 7.0f;
    assert_int_equal(two.ops->acquire(r.sync, 0, &view), DROVE_OK);
    for (unsigned p = N_PARTS; p-- > 0;)
        (void)two.ops->slices->ready(r.sync, 0, parts[p].offset, parts[p].length, own, 1.0f);
    for (size_t i = 0; i < N; i++) assert_true(slot[i] == 7.0f);
    rig_fini(&r);
}

/* A step that ends before it is published, as where a device fails, leaves nothing to the next. */
TEST(a_step_that_was_given_up_is_forgotten)
{
    static const method one = {&drove__accum_tree, "tree", 1, false};
    rig r;
    rig_options o = options(&one, "sgd", false);
    o.is_resident = &(bool){true}; /* the mean goes to the device */
    rig_init_row(&r, o);
    for (unsigned t = 0; t < 2; t++) {
        drove_view view;
        drove_sum sum;
        float *g = one.ops->gradient(r.sync, 0);
        assert_int_equal(one.ops->acquire(r.sync, 0, &view), DROVE_OK);
        for (size_t i = 0; i < N; i++) g[i] = gradient_of(0, t, i);
        for (unsigned p = N_PARTS; p-- > 0;)
            (void)one.ops->slices->ready(r.sync, 0, parts[p].offset, parts[p].length, g, 1.0f);
        assert_true(one.ops->slices->next_sum(r.sync, 0, true, &sum));
        for (size_t i = 0; i < sum.length; i++)
            assert_true(sum.value[sum.offset + i] == gradient_of(0, t, sum.offset + i));
    }
    rig_fini(&r);
}

/* ---- checks ---- */

TEST(a_replica_that_differs_is_found)
{
    static const method two[] = {{&drove__accum_accumulate, "accumulate", 3, false},
                                 {&drove__accum_tree, "tree", 3, false}};
    for (size_t k = 0; k < DROVE_COUNT(two); k++) {
        for (unsigned w = 1; w < 3; w++) {
            rig r;
            char text[256];
            drove_accum_facts facts;
            size_t at = w == 1 ? 0 : N - 1;
            open_rig(&r, &two[k], "sgd", false);
            assert_int_equal(drove__sync_parked(r.sync), DROVE_OK);
            r.sync->ops->replicas->vector(r.sync, w)[at] = 17.0f;
            assert_int_equal(drove__sync_parked(r.sync), DROVE_E_SYSTEM);
            snprintf(text, sizeof text,
                     "%s: expected equal parameters on all devices, found that number %zu of "
                     "device 0 is %.9g and of device %u 17",
                     two[k].ops->name, at, (double)first_theta(at), w);
            assert_string_equal(drove_error_text(), text);
            assert_true(drove__accum_facts(r.sync, &facts));
            assert_int_equal(facts.n_checks, 1);
            rig_fini(&r);
        }
    }
}

/* Each rank says what it has: equal, but for the one that the test makes differ. */
static unsigned differs_at;

static drove_status gather(drove_transport *t, const void *mine, size_t size, void *all)
{
    for (unsigned i = 0; i < t->n_processes; i++) {
        memcpy((char *)all + i * size, mine, size);
        if (i == differs_at) ((char *)all)[i * size + size - 1] ^= 1;
    }
    return differs_at == 1000 ? drove__fail(DROVE_E_SYSTEM, "nobody answers") : DROVE_OK;
}

TEST(a_rank_that_differs_is_found)
{
    static const drove_transport_ops ops = {.name = "gathering", .gather = gather};
    static const method m = {&drove__accum_accumulate, "accumulate", 2, false};
    rig r;
    open_rig(&r, &m, "sgd", false);
    drove_transport t = {.ops = &ops, .n_processes = 4};
    float one[2] = {1.0f, 2.0f}, *vector[2] = {one, NULL};
    const drove_site site = {.transport = &t, .first = 0, .n_here = 1};
    drove_replicas replicas = {.vector = vector, .site = &site};
    for (differs_at = 1; differs_at < 4; differs_at++) {
        char text[256];
        assert_int_equal(drove__replicas_check(&replicas, r.sync, 2), DROVE_E_SYSTEM);
        snprintf(text, sizeof text,
                 "accumulate: expected equal parameters on all ranks, found that those of rank %u "
                 "are not those of rank 0",
                 differs_at);
        assert_string_equal(drove_error_text(), text);
    }
    differs_at = 1000;
    assert_int_equal(drove__replicas_check(&replicas, r.sync, 2), DROVE_E_SYSTEM);
    assert_string_equal(drove_error_text(), "nobody answers");
    assert_int_equal(replicas.n_checks, 0);
    differs_at = 4; /* nobody */
    assert_int_equal(drove__replicas_check(&replicas, r.sync, 2), DROVE_OK);
    assert_int_equal(replicas.n_checks, 1);
    t.n_processes = 1; /* alone: asks nobody */
    differs_at = 1000;
    assert_int_equal(drove__replicas_check(&replicas, r.sync, 2), DROVE_OK);
    rig_fini(&r);
}

TEST(what_they_cannot_is_refused)
{
    static const struct {
        method m;
        const char *text;
    } cases[] = {
        {{&drove__accum_accumulate, "accumulate:later", 2, false},
         "accumulate: expected accumulate or accumulate:at-end, found \"later\""},
        {{&drove__accum_tree, "tree?links=wires", 2, false},
         "tree?links: expected order or nodes, found \"wires\""},
        {{&drove__accum_tree, "tree:0,1?links=nodes", 2, false}, "found \"nodes\""},
        {{&drove__accum_tree, "tree:0,1", 3, false},
         "tree: expected the 3 devices in the order of the leaves, found 2 numbers"},
        {{&drove__accum_tree, "tree:1,0", 2, false}, "once, device 0, the root"},
        {{&drove__accum_accumulate, "accumulate?order=late", 2, false}, "order"},
        {{&drove__accum_accumulate, "accumulate?links=nodes", 2, false}, "links"},
    };
    rig r;
    for (size_t i = 0; i < DROVE_COUNT(cases); i++) {
        assert_int_equal(try_open(&r, &cases[i].m, options(&cases[i].m, "sgd", false)),
                         DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), cases[i].text));
        rig_fini(&r);
    }
    for (size_t k = 0; k < DROVE_COUNT(methods); k++) {
        rig_options o = options(&methods[k], "momentum", false);
        o.state = DROVE_STATE_WORKER;
        assert_int_equal(try_open(&r, &methods[k], o), DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), "expected --rule-state shared, found worker"));
        rig_fini(&r);
    }
}

TEST(nobody_begins_after_a_stop)
{
    for (size_t k = 0; k < DROVE_COUNT(methods); k++) {
        rig r;
        drove_view view;
        char text[64];
        open_rig(&r, &methods[k], "sgd", false);
        r.sync->ops->stop(r.sync);
        assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_E_SYSTEM);
        snprintf(text, sizeof text, "%s: stopped", methods[k].ops->name);
        assert_string_equal(drove_error_text(), text);
        assert_int_equal(r.sync->batches_per_update, methods[k].n_workers);
        rig_fini(&r);
    }
}

/* A worker that waits for another one fails when the run stops. */
static void *wait_alone(void *argument)
{
    member *m = argument;
    drove_sync *s = m->r->sync;
    drove_view view;
    drove_publish_info info;
    const drove_step step = {.value = s->ops->gradient(s, m->index), .eta = 1.0f};
    drove_status status = s->ops->acquire(s, m->index, &view);
    if (status == DROVE_OK) drove__sync_release(s, m->index);
    atomic_store(&m->publishes, 1);
    if (status != DROVE_OK) return NULL;
    return s->ops->publish(s, m->index, &step, &info) == DROVE_E_SYSTEM ? argument : NULL;
}

TEST(a_stop_wakes_who_waits)
{
    for (size_t k = 0; k < DROVE_COUNT(methods); k++) {
        rig r;
        pthread_t thread;
        void *result;
        if (methods[k].n_workers == 1) continue;
        open_rig(&r, &methods[k], "sgd", false);
        member m = {.r = &r, .index = k % 2};
        assert_int_equal(pthread_create(&thread, NULL, wait_alone, &m), 0);
        do {
            drove__clock_real.sleep_until(NULL, drove__now_ns() + 5000000);
        } while (!atomic_load(&m.publishes));
        r.sync->ops->stop(r.sync);
        pthread_join(thread, &result);
        assert_non_null(result);
        rig_fini(&r);
    }
}
