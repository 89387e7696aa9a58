/* One worker of every strategy gives the same bits as sequential, whatever the rule. */
#include "support/strategies.h"

#include "base/rng.h"

enum { N = 1008, STEPS = 40 };

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

/* STEPS steps whose gradient depends on the view, through the rule's whole path; every third one
 * has spans where the strategy and the rule take them.  result: [n_vector]. */
static void train(rig *r, float *result)
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
        s->ops->release(s, 0);
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

static bool needs_plain_sgd(const char *variant)
{
    return strcmp(variant, "hogwild:live") == 0;
}

static void check_variant(const drove_sync_ops *ops, const char *variant, const rule_case *c,
                          const float *theta0, const float *expected)
{
    if (needs_plain_sgd(variant) && c != &cases[0]) return;
    rig r;
    rig_init(&r, (rig_options){.variant = variant,
                               .ops = ops,
                               .rule = c->rule,
                               .schedule = c->schedule,
                               .state = c->state,
                               .n = N,
                               .theta0 = theta0});
    float *result = drove__alloc(r.sync->n_vector, sizeof *result);
    train(&r, result);
    if (memcmp(result, expected, r.sync->n_vector * sizeof *result) != 0)
        fail_msg("%s with %s differs from sequential", variant, c->rule);
    assert_int_equal(atomic_load(&r.sync->published), STEPS);
    drove__free(result);
    rig_fini(&r);
}

static void equals_sequential(void **state)
{
    (void)state;
    float theta0[N];
    for (size_t i = 0; i < N; i++) theta0[i] = 0.001f * (float)i;
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        rig r;
        rig_init(&r, (rig_options){.variant = "sequential",
                                   .rule = cases[c].rule,
                                   .schedule = cases[c].schedule,
                                   .state = cases[c].state,
                                   .n = N,
                                   .theta0 = theta0});
        float *expected = drove__alloc(r.sync->n_vector, sizeof *expected);
        train(&r, expected);
        assert_memory_not_equal(expected, theta0, sizeof theta0);
        for (size_t i = 0; i < N_STRATEGIES; i++)
            for (const char *const *v = all_strategies[i]->variants; *v != NULL; v++)
                check_variant(all_strategies[i], *v, &cases[c], theta0, expected);
        drove__free(expected);
        rig_fini(&r);
    }
}

/* Stopped half-way and restored into a new object: the same bits as never stopped, and the count
 * goes on. */
static void restored_continues(const drove_sync_ops *ops, const char *variant)
{
    rig a, b;
    float g[64];
    bool live = strcmp(variant, "hogwild:live") == 0;
    rig_options o = {
        .variant = variant, .ops = ops, .rule = live ? "sgd" : "adam", .n = 64, .lr = 0.1};
    rig_init(&a, o);
    rig_init(&b, o);
    for (unsigned step = 0; step < 20; step++) {
        for (unsigned i = 0; i < 64; i++) g[i] = (float)(i + step) - 30.0f;
        assert_int_equal(take_step(&a, 0, g, 0.1f, NULL, NULL), DROVE_OK);
        if (step == 9)
            assert_int_equal(drove__sync_restore(
                                 b.sync, 10,
                                 &(drove_params){.theta = a.sync->ops->peek(a.sync).theta}, NULL),
                             DROVE_OK);
        drove_view view;
        if (step >= 10) assert_int_equal(take_step(&b, 0, g, 0.1f, &view, NULL), DROVE_OK);
        if (step >= 10) assert_int_equal(view.version, step);
    }
    assert_memory_equal(a.sync->ops->peek(a.sync).theta, b.sync->ops->peek(b.sync).theta,
                        a.sync->n_vector * sizeof(float));
    assert_int_equal(atomic_load(&b.sync->published), 20);
    rig_fini(&a);
    rig_fini(&b);
}

static void restore_gives_the_same_bits(void **state)
{
    (void)state;
    for_each_variant(restored_continues);
    restored_continues(&drove__sync_sequential, "sequential");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_sequential),
        cmocka_unit_test(restore_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
