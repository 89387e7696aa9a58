/* Promises about bits: SEQUENTIAL, REPEATABLE, and states that are restored. */
#include "support/promises.h"

#include "base/rng.h"
#include "base/safetensors.h"

#include <stdlib.h>

enum { N = 1008, STEPS = 40, FEW_STEPS = 12 };

typedef struct rule_case {
    const char *rule, *schedule;
    drove_state_place state;
} rule_case;

static const rule_case cases[] = {
    {"sgd", "constant", DROVE_STATE_SHARED},
    {"sgd", "staleness", DROVE_STATE_SHARED},
    {"momentum:0.9", "constant", DROVE_STATE_SHARED},
    {"momentum:0.9", "constant", DROVE_STATE_WORKER},
    {"adagrad", "constant", DROVE_STATE_SHARED},
    {"adam", "constant", DROVE_STATE_SHARED},
};

/* ---- one worker ---- */

/* STEPS steps whose gradient depends on the view, through the rule's whole path; every third one
 * has spans where the strategy and the rule take them.  result: [n_vector]. */
static void train_alone(rig *r, float *result)
{
    drove_optim_worker own;
    assert_int_equal(drove__optim_worker_init(&own, r->optim), DROVE_OK);
    float *g = drove__alloc(N, sizeof *g);
    drove_rng rng;
    drove__rng_seed(&rng, 7, DROVE_RNG_TEST, 0);
    bool spans_ok = r->optim->spans_ok && (r->sync->needs & DROVE_SYNC_DENSE) == 0;
    const drove_span spans[] = {{16, 48}, {480, 16}, {992, 16}};
    for (unsigned step = 0; step < STEPS; step++) {
        bool with_spans = step % 3 == 2;
        drove_view view;
        drove_publish_info info;
        drove_step made;
        drove_sync *s = r->sync;
        assert_int_equal(s->ops->acquire(s, 0, &view), DROVE_OK);
        assert_int_equal(view.version, step);
        for (size_t i = 0; i < N; i++) {
            bool inside = (i >= 16 && i < 64) || (i >= 480 && i < 496) || i >= 992;
            float noise = (float)drove__rng_normal(&rng);
            g[i] = with_spans && !inside ? 0.0f : 0.1f * view.vector[i] + noise;
        }
        float *lent = step % 2 == 1 && s->ops->gradient != NULL ? s->ops->gradient(s, 0) : NULL;
        float *value = lent != NULL ? memcpy(lent, g, N * sizeof *g) : g;
        const drove_span *span = with_spans && spans_ok ? spans : NULL;
        drove__optim_prepare(r->optim, &own, view.vector, value, span,
                             span != NULL ? DROVE_COUNT(spans) : 0, 0.01f, &made);
        drove__sync_release(s, 0);
        assert_int_equal(s->ops->publish(s, 0, &made, &info), DROVE_OK);
        assert_int_equal(info.staleness, 0);
        assert_int_equal(info.attempts, 1);
        assert_int_equal(info.dropped, 0);
        assert_int_equal(info.updated, 1);
    }
    memcpy(result, r->sync->ops->peek(r->sync).theta, r->sync->n_vector * sizeof *result);
    drove__free(g);
    drove__optim_worker_fini(&own);
}

static void compare_alone(const drove_sync_ops *ops, const char *variant, const rule_case *c)
{
    bool owns_state = (ops->needs & DROVE_SYNC_OWN_STATE) != 0;
    float theta0[N];
    rig a, b;
    for (size_t i = 0; i < N; i++) theta0[i] = 0.001f * (float)i;
    rig_options o = {.variant = "sequential",
                     .rule = c->rule,
                     .schedule = c->schedule,
                     .state = owns_state ? DROVE_STATE_WORKER : c->state,
                     .n = N,
                     .theta0 = theta0};
    rig_init(&a, o);
    o.ops = ops;
    o.variant = variant;
    if (rig_try(&b, o) != DROVE_OK) { /* not by this rule */
        rig_fini(&a);
        rig_fini(&b);
        return;
    }
    size_t n_bytes = a.sync->n_vector * sizeof(float);
    float *expected = drove__alloc(1, n_bytes), *result = drove__alloc(1, n_bytes);
    train_alone(&a, expected);
    train_alone(&b, result);
    assert_memory_not_equal(expected, theta0, sizeof theta0);
    if (memcmp(result, expected, n_bytes) != 0)
        fail_msg("%s with %s differs from sequential", variant, c->rule);
    assert_int_equal(atomic_load(&b.sync->published), STEPS);
    drove__free(expected);
    drove__free(result);
    rig_fini(&a);
    rig_fini(&b);
}

void promise_sequential(const drove_sync_ops *ops, const char *variant)
{
    variant_facts f = facts_of(ops, variant, 1);
    if ((f.promises & DROVE_SYNC_SEQUENTIAL) == 0) return;
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) compare_alone(ops, variant, &cases[c]);
}

/* ---- several workers ---- */

typedef struct training {
    unsigned first, steps;
    bool is_delayed;
    _Atomic unsigned n_failed;
} training;

static void train(rig *r, unsigned worker, void *arg)
{
    training *c = arg;
    drove_sync *s = r->sync;
    float *g = drove__alloc(N, sizeof *g);
    drove_rng noise, delay;
    drove__rng_seed(&delay, 4, DROVE_RNG_TEST, worker);
    for (unsigned t = c->first; t < c->first + c->steps; t++) {
        drove_view view;
        drove_publish_info info;
        drove_step step = {.value = g, .eta = 0.1f};
        if (c->is_delayed) rest_us((unsigned)drove__rng_below(&delay, 500));
        if (s->ops->acquire(s, worker, &view) != DROVE_OK) {
            atomic_fetch_add(&c->n_failed, 1);
            break;
        }
        drove__rng_seed(&noise, 21, DROVE_RNG_TEST, (uint64_t)worker << 32 | t);
        for (unsigned j = 0; j < N; j++)
            g[j] = 0.3f * view.vector[j] - (float)drove__rng_normal(&noise);
        drove__sync_release(s, worker);
        if (s->ops->publish(s, worker, &step, &info) != DROVE_OK) atomic_fetch_add(&c->n_failed, 1);
    }
    drove__free(g);
}

static void run_training(rig *r, unsigned first, unsigned steps, bool is_delayed)
{
    training c = {.first = first, .steps = steps, .is_delayed = is_delayed};
    run_workers(r, train, &c);
    assert_int_equal(c.n_failed, 0);
    assert_int_equal(drove__sync_parked(r->sync), DROVE_OK);
}

/* The parameters of all, and each worker's own. */
static void expect_equal(rig *a, rig *b, const char *variant, const char *what)
{
    drove_sync *x = a->sync, *y = b->sync;
    size_t n_bytes = x->n_vector * sizeof(float);
    if (memcmp(x->ops->peek(x).theta, y->ops->peek(y).theta, n_bytes) != 0)
        fail_msg("%s, %u workers: other bits %s", variant, x->n_workers, what);
    const drove_sync_replica_ops *own = x->ops->replicas;
    for (unsigned i = 0; own != NULL && own->vector != NULL && i < x->n_workers; i++)
        if (memcmp(x->ops->replicas->vector(x, i), y->ops->replicas->vector(y, i),
                   x->optim->n * sizeof(float)) != 0)
            fail_msg("%s, %u workers: worker %u has other bits %s", variant, x->n_workers, i, what);
    assert_int_equal(atomic_load(&x->published), atomic_load(&y->published));
}

void promise_repeatable(const drove_sync_ops *ops, const char *variant)
{
    unsigned most = (ops->needs & DROVE_SYNC_ONE) != 0 ? 1 : 5;
    for (unsigned n_workers = 1; n_workers <= most; n_workers += 2) {
        variant_facts f = facts_of(ops, variant, n_workers);
        rig a, b;
        rig_options o = {.variant = variant, .ops = ops, .n = N, .n_workers = n_workers, .lr = 0.1};
        if ((f.promises & DROVE_SYNC_REPEATABLE) == 0) return;
        rig_init(&a, o);
        rig_init(&b, o);
        run_training(&a, 0, FEW_STEPS, false);
        run_training(&b, 0, FEW_STEPS, true);
        expect_equal(&a, &b, variant, "with delays");
        rig_fini(&a);
        rig_fini(&b);
    }
}

/* ---- a saved state ---- */

enum { MOST_TENSORS = 32 };
static const char state_path[] = "promise.safetensors";

static void save(rig *r)
{
    drove_sync *s = r->sync;
    drove_tensor t[MOST_TENSORS] = {{.type = DROVE_T_F32, .rank = 1, .shape = {s->n_vector}}};
    snprintf(t[0].name, sizeof t[0].name, "vector");
    t[0].bytes = s->ops->peek(s).theta;
    size_t n = 1;
    if (s->ops->tensors != NULL) n += s->ops->tensors(s, t + 1, MOST_TENSORS - 1);
    assert_int_equal(drove__safetensors_write(state_path, t, n, NULL), DROVE_OK);
}

static void load(rig *r, uint64_t published)
{
    drove_safetensors st;
    assert_int_equal(drove__safetensors_load(state_path, &st), DROVE_OK);
    const drove_tensor *vector = drove__safetensors_find(&st, "vector");
    float *theta = drove__alloc(r->sync->n_vector, sizeof *theta);
    assert_non_null(theta);
    memcpy(theta, vector->bytes, r->sync->n_vector * sizeof *theta);
    if (drove__sync_restore(r->sync, published, &(drove_params){.theta = theta}, &st) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    drove__free(theta);
    drove__safetensors_fini(&st);
}

static void resume(const drove_sync_ops *ops, const char *variant, const char *rule,
                   unsigned n_workers)
{
    rig a, b;
    rig_options o = {
        .variant = variant, .ops = ops, .rule = rule, .n = N, .n_workers = n_workers, .lr = 0.1};
    rig_init(&a, o);
    rig_init(&b, o);
    run_training(&a, 0, 7, false);
    save(&a);
    load(&b, atomic_load(&a.sync->published));
    expect_equal(&a, &b, variant, "when restored");
    run_training(&a, 7, 9, false);
    run_training(&b, 7, 9, false);
    expect_equal(&a, &b, variant, "after going on");
    rig_fini(&a);
    rig_fini(&b);
}

void promise_restored(const drove_sync_ops *ops, const char *variant)
{
    static const char *const rules[] = {"sgd", "momentum:0.5", "adam"};
    for (size_t i = 0; i < DROVE_COUNT(rules); i++) {
        rig_options o = {.variant = variant, .ops = ops, .rule = rules[i]};
        if (!rig_accepts(o)) continue;
        resume(ops, variant, rules[i], 1);
        if ((ops->needs & DROVE_SYNC_ONE) != 0) continue;
        if ((facts_of(ops, variant, 3).promises & DROVE_SYNC_REPEATABLE) != 0)
            resume(ops, variant, rules[i], 3);
    }
}
