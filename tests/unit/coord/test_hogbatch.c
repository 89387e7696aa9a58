/* How hogbatch merges the steps of a device and of a core, driven by hand: against the rule alone,
 * and with small integers where two workers' steps overlap. */
#include "coord/method.h"
#include "support/rig.h"

#include "base/rng.h"

enum { N = 64, N_STEPS = 6 };

/* Workers 0 and 2 are devices, worker 1 a core. */
static void open_rig(rig *r, const char *variant, const char *rule, unsigned n_workers)
{
    static const bool is_deep[] = {true, false, true};
    rig_init_row(r, (rig_options){.ops = &drove__sync_hogbatch,
                                  .variant = variant,
                                  .rule = rule,
                                  .lr = 0.5,
                                  .n = N,
                                  .n_workers = n_workers,
                                  .is_deep = is_deep,
                                  .kernels = &drovek_ref});
}

static const float *acquire(rig *r, unsigned worker)
{
    drove_view view;
    assert_int_equal(r->sync->ops->acquire(r->sync, worker, &view), DROVE_OK);
    return view.vector;
}

static uint64_t publish(rig *r, unsigned worker, const float *value, float eta)
{
    const drove_step step = {.value = value, .eta = eta};
    drove_publish_info info;
    drove__sync_release(r->sync, worker);
    assert_int_equal(r->sync->ops->publish(r->sync, worker, &step, &info), DROVE_OK);
    assert_int_equal(info.updated, 1);
    assert_int_equal(info.attempts, 1);
    return info.staleness;
}

/* A device alone makes the rule's steps 1, 2, 3 ..., whichever way they are merged. */
TEST(one_worker_follows_the_rule)
{
    static const char *const variants[] = {"hogbatch", "hogbatch?merge=replace"};
    static const char *const rules[] = {"sgd", "momentum", "adagrad", "adam"};
    for (size_t v = 0; v < DROVE_COUNT(variants); v++) {
        for (size_t k = 0; k < DROVE_COUNT(rules); k++) {
            rig r;
            drove_rng rng;
            float value[N], *plain;
            open_rig(&r, variants[v], rules[k], 1);
            drove__rng_seed(&rng, 4, DROVE_RNG_TEST, k);
            plain = drove__alloc(r.optim->n_vector, sizeof *plain);
            assert_non_null(plain);
            for (unsigned t = 1; t <= N_STEPS; t++) {
                assert_memory_equal(acquire(&r, 0), plain, N * sizeof *plain);
                for (unsigned i = 0; i < N; i++) value[i] = (float)drove__rng_normal(&rng);
                assert_int_equal(publish(&r, 0, value, 0.5f), 0);
                const drove_step step = {.value = value, .eta = 0.5f};
                drove__optim_apply(r.optim, &step, 0, t, 0, N, plain, plain);
                assert_memory_equal(r.sync->ops->peek(r.sync).theta, plain,
                                    r.optim->n_vector * sizeof *plain);
            }
            drove__free(plain);
            rig_fini(&r);
        }
    }
}

/* The core's step comes between the device's view and its step: added to, or written over. */
TEST(steps_meet_as_the_spec_says)
{
    for (unsigned replaces = 0; replaces < 2; replaces++) {
        rig r;
        float of_device[N], of_core[N];
        open_rig(&r, replaces ? "hogbatch?merge=replace" : "hogbatch", "sgd", 2);
        for (unsigned i = 0; i < N; i++) of_device[i] = 4.0f, of_core[i] = -(float)i;
        const float *seen = acquire(&r, 0);
        (void)acquire(&r, 1);
        assert_int_equal(publish(&r, 1, of_core, 1.0f), 0);
        assert_true(seen[N - 1] == (replaces ? 0.0f : (float)(N - 1))); /* a copy, or live */
        assert_int_equal(publish(&r, 0, of_device, 1.0f), 1);
        const float *theta = r.sync->ops->peek(r.sync).theta;
        for (unsigned i = 0; i < N; i++)
            assert_true(theta[i] == (replaces ? -4.0f : (float)i - 4.0f));
        assert_int_equal(atomic_load(&r.sync->published), 2);
        rig_fini(&r);
    }
}

/* Each device has a copy of its own where steps replace, and takes a new one for each view. */
TEST(devices_have_copies_where_steps_replace)
{
    rig r;
    float ones[N];
    for (unsigned i = 0; i < N; i++) ones[i] = 1.0f;
    open_rig(&r, "hogbatch", "sgd", 3);
    for (unsigned w = 0; w < 3; w++) assert_null(r.sync->worker[w].copy);
    rig_fini(&r);
    open_rig(&r, "hogbatch?merge=replace", "sgd", 3);
    assert_true(r.sync->worker[0].copy != NULL && r.sync->worker[1].copy == NULL &&
                r.sync->worker[2].copy != NULL);
    (void)acquire(&r, 1);
    assert_int_equal(publish(&r, 1, ones, 1.0f), 0);
    for (unsigned w = 0; w < 3; w += 2) {
        const float *seen = acquire(&r, w);
        assert_ptr_equal(seen, r.sync->worker[w].copy);
        for (unsigned i = 0; i < N; i++) assert_true(seen[i] == -1.0f - (float)(w / 2));
        assert_int_equal(publish(&r, w, ones, 1.0f), 0);
    }
    rig_fini(&r);
}

/* What others publish meanwhile, for each of the steps that were made in place. */
TEST(steps_in_place_are_counted)
{
    static const struct {
        uint64_t n_others, n_steps, staleness;
    } rounds[] = {{10, 5, 2}, {7, 2, 3}, {0, 3, 0}};
    rig r;
    const float zeros[N] = {0};
    uint64_t published = 0;
    open_rig(&r, "hogbatch", "sgd", 2);
    for (size_t k = 0; k < DROVE_COUNT(rounds); k++) {
        drove_publish_info info = {0};
        assert_ptr_equal(r.sync->live->begin(r.sync, 0).theta, r.sync->ops->peek(r.sync).theta);
        for (uint64_t i = 0; i < rounds[k].n_others; i++) {
            (void)acquire(&r, 1);
            assert_int_equal(publish(&r, 1, zeros, 1.0f), 0);
        }
        assert_int_equal(r.sync->live->done(r.sync, 0, rounds[k].n_steps, &info), DROVE_OK);
        assert_int_equal(info.staleness, rounds[k].staleness);
        assert_true(info.attempts == 1 && info.updated == 1 && info.dropped == 0);
        published += rounds[k].n_others + rounds[k].n_steps;
        assert_int_equal(atomic_load(&r.sync->published), published);
    }
    rig_fini(&r);
}

TEST(a_saved_run_has_its_state_again)
{
    rig r;
    float saved[2 * N];
    for (unsigned i = 0; i < 2 * N; i++) saved[i] = (float)i + 1.0f;
    open_rig(&r, "hogbatch", "momentum", 1);
    assert_int_equal(r.optim->n_vector, 2 * N);
    assert_int_equal(drove__sync_restore(r.sync, 9, &(drove_params){.theta = saved}, NULL),
                     DROVE_OK);
    assert_memory_equal(r.sync->ops->peek(r.sync).theta, saved, sizeof saved);
    assert_int_equal(atomic_load(&r.sync->published), 9);
    rig_fini(&r);
}
