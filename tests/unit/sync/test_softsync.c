/* n-softsync by hand: what makes an update, its step size and staleness, and what is saved of an
 * unfinished one. */
#include "support/strategies.h"

enum { N = 64 };

static void fill(float *g, float value)
{
    for (int i = 0; i < N; i++) g[i] = value;
}

static void assert_all(rig *r, float expected)
{
    const float *theta = r->sync->ops->peek(r->sync).theta;
    for (int i = 0; i < N; i++)
        if (theta[i] != expected)
            fail_msg("element %d is %g, expected %g", i, (double)theta[i], (double)expected);
}

static drove_publish_info contribute(rig *r, unsigned worker, float value, float eta)
{
    float g[N];
    drove_publish_info info;
    fill(g, value);
    assert_int_equal(take_step(r, worker, g, eta, NULL, &info), DROVE_OK);
    return info;
}

TEST(n_contributions_make_an_update)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "softsync:4", .n = N, .n_workers = 5});
    assert_int_equal(r.sync->batches_per_update, 4);
    for (unsigned round = 0; round < 3; round++) {
        float before = r.sync->ops->peek(r.sync).theta[0];
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(contribute(&r, i, (float)i, 1.0f).updated, 0);
            assert_all(&r, before);
        }
        assert_int_equal(atomic_load(&r.sync->published), round);
        assert_int_equal(contribute(&r, 4, 5.0f, 1.0f).updated, 1);
        assert_int_equal(atomic_load(&r.sync->published), round + 1);
        assert_all(&r, before - 2.0f); /* (0 + 1 + 2 + 5) / 4 */
    }
    rig_fini(&r);
}

TEST(step_sizes_are_averaged)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "softsync", .n = N, .n_workers = 2});
    contribute(&r, 0, 2.0f, 0.5f);
    contribute(&r, 0, 4.0f, 1.5f);
    assert_all(&r, -3.0f);
    rig_fini(&r);
}

TEST(n_is_clamped_to_the_workers)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "softsync:9", .n = N, .n_workers = 2});
    assert_int_equal(r.sync->batches_per_update, 2);
    assert_int_equal(contribute(&r, 0, 1.0f, 1.0f).updated, 0);
    assert_int_equal(contribute(&r, 1, 1.0f, 1.0f).updated, 1);
    rig_fini(&r);
    rig_init(&r, (rig_options){.variant = "softsync:9", .n = N, .n_workers = 1});
    assert_int_equal(contribute(&r, 0, 1.0f, 1.0f).updated, 1);
    rig_fini(&r);
}

/* Worker 0 looks, 1 and 2 make two updates of two contributions each, then 0 contributes:
 * staleness 2. */
TEST(staleness_counts_updates)
{
    rig r;
    float g[N];
    drove_view view;
    drove_publish_info info;
    drove_step step = {.value = g, .eta = 1.0f};
    fill(g, 1.0f);
    rig_init(&r, (rig_options){.variant = "softsync:2", .n = N, .n_workers = 3});
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    drove__sync_release(r.sync, 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(contribute(&r, 1 + i % 2, 1.0f, 1.0f).staleness, 0);
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    assert_int_equal(info.staleness, 2);
    assert_int_equal(info.updated, 0);
    rig_fini(&r);
}

static const rig_options by_staleness = {
    .variant = "softsync:2", .schedule = "staleness", .n = N, .n_workers = 3};

/* How far a step of this staleness moves the vector through `mutex`, by the same schedule. */
static float moved_by_mutex(const drove_step *step, unsigned staleness)
{
    rig plain;
    drove_view view;
    drove_publish_info info;
    rig_options o = by_staleness;
    o.variant = "mutex";
    rig_init(&plain, o);
    assert_int_equal(plain.sync->ops->acquire(plain.sync, 0, &view), DROVE_OK);
    for (unsigned i = 0; i < staleness; i++) contribute(&plain, 1, 0.0f, 1.0f);
    assert_int_equal(plain.sync->ops->publish(plain.sync, 0, step, &info), DROVE_OK);
    assert_int_equal(info.staleness, staleness);
    float moved = plain.sync->ops->peek(plain.sync).theta[0];
    rig_fini(&plain);
    return moved;
}

/* The update's own staleness, for a step size that depends on it, is the rounded mean: of 4 and 0
 * here.  The same step of staleness 2 through `mutex` must give the same. */
TEST(update_has_the_mean_staleness)
{
    rig soft;
    float g[N];
    drove_view view;
    drove_publish_info info;
    drove_step step = {.value = g, .eta = 1.0f};
    fill(g, 1.0f);
    rig_init(&soft, by_staleness);
    assert_int_equal(soft.sync->ops->acquire(soft.sync, 0, &view), DROVE_OK);
    for (unsigned i = 0; i < 8; i++) contribute(&soft, 1, 0.0f, 1.0f);
    assert_int_equal(soft.sync->ops->publish(soft.sync, 0, &step, &info), DROVE_OK);
    contribute(&soft, 1, 1.0f, 1.0f);

    float expected = moved_by_mutex(&step, 2);
    assert_true(expected != -1.0f); /* the schedule does depend on it */
    assert_all(&soft, expected);
    rig_fini(&soft);
}

/* Groups of stalenesses 0 + 8, twice: each update has staleness 4. */
TEST(a_group_has_only_its_own_staleness)
{
    rig soft;
    float g[N];
    drove_view view;
    drove_publish_info info;
    drove_step step = {.value = g, .eta = 1.0f};
    fill(g, 1.0f);
    rig_init(&soft, by_staleness);
    float moved[2];
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(soft.sync->ops->acquire(soft.sync, 0, &view), DROVE_OK);
        for (unsigned i = 0; i < 16; i++) contribute(&soft, 1, 0.0f, 1.0f);
        float before = soft.sync->ops->peek(soft.sync).theta[0];
        assert_int_equal(soft.sync->ops->publish(soft.sync, 0, &step, &info), DROVE_OK);
        assert_int_equal(info.staleness, 8);
        contribute(&soft, 1, 1.0f, 1.0f);
        moved[round] = soft.sync->ops->peek(soft.sync).theta[0] - before;
    }

    float expected = moved_by_mutex(&step, 4);
    assert_true(expected == -0.25f); /* 1 / staleness */
    for (unsigned round = 0; round < 2; round++) assert_true(moved[round] == expected);
    rig_fini(&soft);
}

/* The number of an update, which Adam's steps depend on, is the same whatever its contributions. */
TEST(updates_are_numbered_as_steps_are)
{
    for (unsigned n = 1; n <= 2; n++) {
        rig r, plain;
        rig_init(&r, (rig_options){.variant = n == 1 ? "softsync:1" : "softsync:2",
                                   .rule = "adam",
                                   .n = N,
                                   .n_workers = 2});
        rig_init(&plain, (rig_options){.variant = "mutex", .rule = "adam", .n = N, .n_workers = 2});
        for (unsigned step = 0; step < 5; step++) {
            const float value = step % 2 == 0 ? 1.0f : -0.25f;
            contribute(&plain, 0, value, 0.5f);
            for (unsigned i = 0; i < n; i++) contribute(&r, i, value, 0.5f);
            assert_memory_equal(r.sync->ops->peek(r.sync).theta,
                                plain.sync->ops->peek(plain.sync).theta, N * sizeof(float));
        }
        rig_fini(&plain);
        rig_fini(&r);
    }
}

TEST(spans_and_whole_gradients_mix)
{
    static const drove_span spans[] = {{16, 16}, {48, 16}};
    for (unsigned order = 0; order < 2; order++) {
        rig r;
        float some[N], all[N];
        rig_init(&r, (rig_options){.variant = "softsync:2", .n = N, .n_workers = 2});
        fill(some, 100.0f); /* outside the spans: must not count */
        for (int i = 0; i < 16; i++) some[16 + i] = some[48 + i] = 2.0f;
        fill(all, 4.0f);
        drove_step step[2] = {{.value = some, .span = spans, .n_spans = 2, .eta = 1.0f},
                              {.value = all, .eta = 1.0f}};
        for (unsigned i = 0; i < 2; i++) {
            drove_view view;
            drove_publish_info info;
            assert_int_equal(r.sync->ops->acquire(r.sync, i, &view), DROVE_OK);
            drove__sync_release(r.sync, i);
            assert_int_equal(r.sync->ops->publish(r.sync, i, &step[i ^ order], &info), DROVE_OK);
        }
        const float *theta = r.sync->ops->peek(r.sync).theta;
        for (int i = 0; i < N; i++) assert_true(theta[i] == ((i / 16) % 2 == 1 ? -3.0f : -2.0f));
        rig_fini(&r);
    }
}

/* ---- saving an unfinished group ---- */

/* More contributions than can be counted are refused. */
static void refuse_too_many(rig *r, const drove_safetensors *saved)
{
    for (size_t i = 0; i < saved->n_tensors; i++) {
        if (saved->tensor[i].type != DROVE_T_U64) continue;
        uint64_t *n_pending = (void *)saved->tensor[i].bytes, before = *n_pending;
        *n_pending = (uint64_t)UINT32_MAX + 1;
        const drove_params vector = {.theta = r->sync->ops->peek(r->sync).theta};
        assert_int_equal(drove__sync_restore(r->sync, 1, &vector, saved), DROVE_E_DATA);
        assert_non_null(strstr(drove_error_text(), "4294967295 contributions, found 4294967296"));
        *n_pending = before;
    }
}

TEST(unfinished_group_is_saved)
{
    rig a, b;
    rig_options o = {.variant = "softsync:3", .n = N, .n_workers = 4};
    drove_tensor tensor[8];
    rig_init(&a, o);
    rig_init(&b, o);
    assert_int_equal(a.sync->ops->tensors(a.sync, tensor, DROVE_COUNT(tensor)), 0);
    for (unsigned i = 0; i < 5; i++) contribute(&a, 0, (float)i, 1.0f + (float)i);
    drove_safetensors saved = {.tensor = tensor};
    saved.n_tensors = a.sync->ops->tensors(a.sync, tensor, DROVE_COUNT(tensor));
    assert_int_equal(saved.n_tensors, 3);

    contribute(&b, 0, 77.0f, 1.0f); /* something to be forgotten */
    assert_int_equal(drove__sync_restore(b.sync, 1,
                                         &(drove_params){.theta = a.sync->ops->peek(a.sync).theta},
                                         &saved),
                     DROVE_OK);
    for (unsigned i = 0; i < 4; i++) {
        drove_publish_info x = contribute(&a, 1, 3.0f, 0.5f), y = contribute(&b, 1, 3.0f, 0.5f);
        assert_int_equal(x.updated, y.updated);
    }
    assert_int_equal(atomic_load(&b.sync->published), 3);
    assert_memory_equal(a.sync->ops->peek(a.sync).theta, b.sync->ops->peek(b.sync).theta,
                        N * sizeof(float));

    /* Without the tensors there is no unfinished group. */
    assert_int_equal(drove__sync_restore(b.sync, 1,
                                         &(drove_params){.theta = a.sync->ops->peek(a.sync).theta},
                                         NULL),
                     DROVE_OK);
    for (unsigned i = 0; i < 2; i++) assert_int_equal(contribute(&b, 1, 3.0f, 0.5f).updated, 0);
    assert_int_equal(contribute(&b, 1, 3.0f, 0.5f).updated, 1);

    refuse_too_many(&b, &saved);

    /* A state of another model is refused. */
    for (size_t i = 0; i < saved.n_tensors; i++)
        if (tensor[i].shape[0] == N) tensor[i].shape[0] = N / 2;
    assert_int_equal(drove__sync_restore(b.sync, 1,
                                         &(drove_params){.theta = a.sync->ops->peek(a.sync).theta},
                                         &saved),
                     DROVE_E_DATA);
    rig_fini(&a);
    rig_fini(&b);
}

/* n is at most the number of workers that are left. */
TEST(a_lost_worker_completes_the_group)
{
    rig r;
    float g[N];
    for (int i = 0; i < N; i++) g[i] = 1.0f;
    rig_init(&r, (rig_options){.variant = "softsync:3", .n = N, .n_workers = 3});
    for (unsigned w = 0; w < 2; w++)
        assert_int_equal(take_step(&r, w, g, 1.0f, NULL, NULL), DROVE_OK);
    assert_int_equal(atomic_load(&r.sync->published), 0);
    r.sync->ops->leave(r.sync, 2);
    assert_int_equal(atomic_load(&r.sync->published), 1);
    assert_true(r.sync->ops->peek(r.sync).theta[0] == -1.0f);
    for (unsigned w = 0; w < 2; w++)
        assert_int_equal(take_step(&r, w, g, 1.0f, NULL, NULL), DROVE_OK);
    assert_int_equal(atomic_load(&r.sync->published), 2);
    assert_true(r.sync->ops->peek(r.sync).theta[0] == -2.0f);
    rig_fini(&r);
}
