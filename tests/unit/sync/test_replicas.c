/* Replicas: what a meeting does to centre and replica, when it happens, what is evaluated and
 * saved, and what each worker is said not to have seen. */
#include "support/strategies.h"

#include <math.h>

enum { N = 64 };

/* Worker's step: subtracts `value` from every parameter. */
static drove_publish_info step(rig *r, unsigned worker, float value)
{
    float g[N];
    drove_publish_info info;
    for (unsigned j = 0; j < N; j++) g[j] = value;
    assert_int_equal(take_step(r, worker, g, 1.0f, NULL, &info), DROVE_OK);
    return info;
}

static const float *view_of(rig *r, unsigned worker, uint64_t *version)
{
    drove_view view;
    assert_int_equal(r->sync->ops->acquire(r->sync, worker, &view), DROVE_OK);
    drove__sync_release(r->sync, worker);
    if (version != NULL) *version = view.version;
    return view.vector;
}

static void expect_all(const float *vector, float expected)
{
    for (unsigned j = 0; j < N; j++)
        if (vector[j] != expected)
            fail_msg("element %u is %g, expected %g", j, (double)vector[j], (double)expected);
}

/* Two replicas, period 2, worked out by hand.  Steps subtract, so the parameters are minus sums. */
static void meets_by_the_equations(const char *variant, float share)
{
    rig r;
    rig_init(&r, (rig_options){.variant = variant, .n_workers = 2});
    step(&r, 0, 1.0f);
    expect_all(view_of(&r, 0, NULL), -1.0f);
    expect_all(view_of(&r, 1, NULL), 0.0f); /* nothing has met yet */
    step(&r, 1, 8.0f);
    expect_all(view_of(&r, 1, NULL), -8.0f);
    step(&r, 0, 2.0f); /* the second: c = share (-3) */
    float c = share * -3.0f;
    expect_all(view_of(&r, 0, NULL), c);
    expect_all(view_of(&r, 1, NULL), -8.0f);
    step(&r, 1, 4.0f); /* c += share (-12 - 0) */
    c += share * -12.0f;
    expect_all(view_of(&r, 1, NULL), c);
    step(&r, 0, 16.0f); /* has not seen it */
    expect_all(view_of(&r, 0, NULL), share * -3.0f - 16.0f);
    step(&r, 0, 32.0f); /* gained -48 since it met share (-3) */
    c += share * -48.0f;
    expect_all(view_of(&r, 0, NULL), c);
    rig_fini(&r);
}

TEST(meetings_follow_the_equations)
{
    meets_by_the_equations("replicas?period=2", 0.5f);
    meets_by_the_equations("replicas:core?period=2&merge=mean", 0.5f);
    meets_by_the_equations("replicas?period=2&merge=sum", 1.0f);
}

TEST(parked_replicas_meet)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=100", .n_workers = 4});
    for (unsigned w = 0; w < 3; w++) step(&r, w, (float)(4 << w)); /* the last one has none */
    step(&r, 0, 4.0f);
    expect_all(r.sync->ops->peek(r.sync).theta, -(8.0f + 8.0f + 16.0f) / 4.0f);
    expect_all(r.sync->ops->peek(r.sync).theta, -8.0f); /* looking again changes nothing */
    for (unsigned w = 0; w < 4; w++) {
        uint64_t version;
        expect_all(view_of(&r, w, &version), -8.0f);
        assert_int_equal(version, 4);
    }
    step(&r, 1, 4.0f); /* counts once, what was there before not again */
    expect_all(r.sync->ops->peek(r.sync).theta, -9.0f);
    rig_fini(&r);
    /* Nothing is left to bring, but the first has still to fetch what the second brought. */
    rig_init(&r, (rig_options){.variant = "replicas?period=1", .n_workers = 2});
    step(&r, 0, 2.0f);
    step(&r, 1, 4.0f);
    expect_all(view_of(&r, 0, NULL), -1.0f);
    expect_all(r.sync->ops->peek(r.sync).theta, -3.0f);
    expect_all(view_of(&r, 0, NULL), -3.0f);
    rig_fini(&r);
}

/* The same, of replicas that stay apart. */
TEST(a_look_is_what_a_meeting_would_find)
{
    static const char *const variant[] = {"replicas?period=3", "replicas?period=3&merge=sum"};
    for (unsigned v = 0; v < DROVE_COUNT(variant); v++) {
        rig r;
        rig_init(&r, (rig_options){.variant = variant[v], .n_workers = 2});
        step(&r, 0, 2.0f);
        step(&r, 1, 4.0f);
        const float seen = v == 0 ? -3.0f : -6.0f;
        expect_all(r.sync->ops->replicas->look(r.sync).theta, seen);
        expect_all(view_of(&r, 0, NULL), -2.0f);
        expect_all(view_of(&r, 1, NULL), -4.0f);
        expect_all(r.sync->ops->replicas->look(r.sync).theta, seen);
        expect_all(r.sync->ops->peek(r.sync).theta, seen);
        rig_fini(&r);
    }
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas", .n_workers = 1});
    step(&r, 0, 2.0f);
    expect_all(r.sync->ops->replicas->look(r.sync).theta, -2.0f);
    rig_fini(&r);
}

/* The longest turn is a period, and the period is counted from the last meeting. */
TEST(a_period_is_steps_of_one_worker)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=5&merge=sum", .n_workers = 2});
    assert_int_equal(r.sync->most_steps, 5);
    step(&r, 1, 1.0f);
    (void)r.sync->ops->peek(r.sync);
    for (unsigned i = 0; i < 4; i++) step(&r, 1, 1.0f);
    step(&r, 0, 100.0f);
    expect_all(view_of(&r, 1, NULL), -5.0f);
    for (unsigned i = 0; i < 4; i++) step(&r, 0, 100.0f); /* its fifth: meets */
    expect_all(view_of(&r, 0, NULL), -501.0f);
    step(&r, 1, 1.0f); /* its fifth since the look */
    expect_all(view_of(&r, 1, NULL), -506.0f);
    rig_fini(&r);
    rig_init(&r, (rig_options){.variant = "replicas", .n_workers = 2});
    assert_int_equal(r.sync->most_steps, 256);
    rig_fini(&r);
    rig_init(&r, (rig_options){.variant = "replicas?merge=sum", .n_workers = 2});
    assert_int_equal(r.sync->most_steps, 16);
    rig_fini(&r);
    rig_init(&r, (rig_options){.variant = "replicas?period=5"});
    assert_true(r.sync->most_steps == UINT64_MAX); /* nobody to meet */
    rig_fini(&r);
}

TEST(staleness_is_what_the_replica_lacks)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=3", .n_workers = 2});
    for (unsigned i = 0; i < 2; i++) assert_int_equal(step(&r, 0, 1.0f).staleness, 0);
    assert_int_equal(step(&r, 1, 1.0f).staleness, 2);
    assert_int_equal(step(&r, 1, 1.0f).staleness, 2); /* not anew at each step: still lacking */
    assert_int_equal(step(&r, 0, 1.0f).staleness,
                     2); /* then meets; the others' two are not there */
    assert_int_equal(step(&r, 0, 1.0f).staleness, 2);
    assert_int_equal(step(&r, 1, 1.0f).staleness, 4); /* then meets, and finds the first three */
    uint64_t version;
    (void)view_of(&r, 1, &version);
    assert_int_equal(version, 6);
    assert_int_equal(step(&r, 1, 1.0f).staleness, 1);
    (void)r.sync->ops->peek(r.sync);
    assert_int_equal(step(&r, 0, 1.0f).staleness, 0);
    rig_fini(&r);
}

/* Turns of several fused steps: what was lacking at first counts for each, what came meanwhile for
 * half of them. */
TEST(staleness_of_a_turn_is_a_mean)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=100", .n_workers = 2});
    drove_sync *s = r.sync;
    drove_publish_info info;
    float *first = s->live->begin(s, 0).theta;
    assert_ptr_equal(first, view_of(&r, 0, NULL));
    assert_ptr_equal(s->live->begin(s, 0).theta, first);
    s->live->done(s, 0, 7, &info);
    assert_int_equal(info.staleness, 0);
    assert_ptr_not_equal(s->live->begin(s, 1).theta, first);
    assert_int_equal(s->worker[1].version, 0);
    (void)s->live->begin(s, 0);
    assert_int_equal(s->worker[0].version, 7);
    s->live->done(s, 0, 10, &info);
    s->live->done(s, 1, 4, &info); /* 7 lacked before, 10 came in between: 7 + 10 * 5 / 8 */
    assert_int_equal(info.staleness, 13);
    assert_int_equal(atomic_load(&s->published), 21);
    rig_fini(&r);
}

TEST(live_turns_meet_too)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=4&merge=sum", .n_workers = 2});
    drove_sync *s = r.sync;
    drove_publish_info info;
    for (unsigned w = 0; w < 2; w++) {
        float *theta = s->live->begin(s, w).theta;
        for (unsigned j = 0; j < N; j++) theta[j] += 1.0f;
        s->live->done(s, w, 4, &info);
        expect_all(theta, (float)(w + 1));
    }
    rig_fini(&r);
}

/* What a worker settles before it is parked is no step, and counts all the same, whether its
 * replica has just met the centre or not. */
TEST(what_is_settled_is_kept)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=1&merge=sum", .n_workers = 2});
    step(&r, 0, 1.0f);
    float *theta = r.sync->live->begin(r.sync, 0).theta;
    for (unsigned j = 0; j < N; j++) theta[j] -= 2.0f;
    expect_all(r.sync->ops->peek(r.sync).theta, -3.0f);
    rig_fini(&r);
}

static const drove_place two_nodes[4] = {
    {.pu = 0, .core = 0, .node = 0},
    {.pu = 2, .core = 2, .node = 1},
    {.pu = 1, .core = 1, .node = 0},
    {.pu = 3, .core = 3, .node = 1},
};

TEST(a_node_shares_a_replica)
{
    rig r;
    rig_init(
        &r, (rig_options){.variant = "replicas:node?period=2", .n_workers = 4, .place = two_nodes});
    assert_ptr_equal(view_of(&r, 0, NULL), view_of(&r, 2, NULL));
    assert_ptr_equal(view_of(&r, 1, NULL), view_of(&r, 3, NULL));
    assert_ptr_not_equal(view_of(&r, 0, NULL), view_of(&r, 1, NULL));
    step(&r, 0, 1.0f);
    assert_int_equal(step(&r, 2, 1.0f).staleness, 0); /* a mate's step is there at once */
    step(&r, 2, 1.0f);
    assert_int_equal(step(&r, 1, 8.0f).staleness, 3);
    expect_all(view_of(&r, 2, NULL), -3.0f);
    step(&r, 0, 1.0f); /* the node's fourth, two for each worker: half of -4 */
    expect_all(view_of(&r, 2, NULL), -2.0f);
    expect_all(r.sync->ops->peek(r.sync).theta, -6.0f);
    assert_int_equal(r.sync->promises, DROVE_SYNC_LOCK_FREE | DROVE_SYNC_SEQUENTIAL);
    rig_fini(&r);
    /* Nothing known of places: one node, which nobody has to meet. */
    rig_init(&r, (rig_options){.variant = "replicas:node?period=2", .n_workers = 3});
    assert_ptr_equal(view_of(&r, 0, NULL), view_of(&r, 2, NULL));
    assert_ptr_equal(view_of(&r, 0, NULL), r.sync->ops->peek(r.sync).theta);
    rig_fini(&r);
}

/* The state of a rule never meets while training: it is averaged when the workers are parked. */
TEST(state_stays_with_its_replica)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=1&merge=sum",
                               .rule = "momentum:0.5",
                               .n_workers = 2});
    step(&r, 0, 8.0f);
    step(&r, 1, 2.0f);
    const float *a = view_of(&r, 0, NULL), *b = view_of(&r, 1, NULL);
    float v0 = a[N], v1 = b[N];
    assert_true(fabsf(v0) == 8.0f && fabsf(v1) == 2.0f);
    expect_all(b, -10.0f);
    const float *vector = r.sync->ops->peek(r.sync).theta;
    expect_all(vector, -10.0f);
    expect_all(vector + N, (v0 + v1) / 2.0f);
    expect_all(a + N, (v0 + v1) / 2.0f);
    rig_fini(&r);
}

/* The number that a rule gets is that of its own state: steps of this replica, and its part of
 * those before. */
static uint64_t seen_t;

static void noting_apply(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                         float eta, uint64_t t)
{
    (void)rule;
    k->sgd_f32(u->out, u->in, u->g, u->n, eta);
    seen_t = t;
}

/* t is the number, and an engine that steps by itself is told the same. */
static void numbered_step(rig *r, unsigned worker, uint64_t t)
{
    assert_int_equal(r->sync->live->next_step(r->sync, worker), t);
    step(r, worker, 1.0f);
    assert_int_equal(seen_t, t);
}

TEST(steps_are_numbered_per_replica)
{
    static const drove_rule_ops noting = {.name = "sgd", .apply = noting_apply};
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas", .n_workers = 2, .hook = &noting});
    for (unsigned i = 1; i <= 6; i++) {
        numbered_step(&r, 0, i);
    }
    numbered_step(&r, 1, 1);
    step(&r, 1, 1.0f);
    (void)r.sync->ops->peek(r.sync); /* 8 updates: 4 for each */
    numbered_step(&r, 0, 5);
    numbered_step(&r, 1, 5);
    float vector[N] = {0};
    assert_int_equal(drove__sync_restore(r.sync, 1000, &(drove_params){.theta = vector}, NULL),
                     DROVE_OK);
    numbered_step(&r, 1, 501);
    rig_fini(&r);
}

TEST(restored_replicas_start_together)
{
    rig r;
    float vector[N];
    for (unsigned j = 0; j < N; j++) vector[j] = 3.0f;
    rig_init(&r, (rig_options){.variant = "replicas?period=3&merge=sum", .n_workers = 2});
    step(&r, 0, 1.0f);
    step(&r, 1, 1.0f);
    assert_int_equal(drove__sync_restore(r.sync, 40, &(drove_params){.theta = vector}, NULL),
                     DROVE_OK);
    for (unsigned w = 0; w < 2; w++) {
        uint64_t version;
        expect_all(view_of(&r, w, &version), 3.0f);
        assert_int_equal(version, 40);
    }
    expect_all(r.sync->ops->peek(r.sync).theta, 3.0f); /* what was gained before is forgotten */
    assert_int_equal(step(&r, 0, 1.0f).staleness, 0);
    expect_all(r.sync->ops->peek(r.sync).theta, 2.0f);
    rig_fini(&r);
}

/* Low-precision parameters: 64 numbers of 16 bits and 16 floats behind them. */
static const drove_layout typed = {.number = DROVE_I16, .n_numbers = 64, .tail = 32};
enum { TYPED_N = 48 };

TEST(low_precision_parameters_meet)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=1&merge=sum",
                               .n = TYPED_N,
                               .n_workers = 2,
                               .layout = &typed});
    drove_sync *s = r.sync;
    drove_publish_info info;
    for (unsigned w = 0; w < 2; w++) {
        void *words = s->live->begin(s, w).words;
        int16_t *number = words;
        float *tail = words;
        for (int i = 0; i < 64; i++) number[i] = (int16_t)(number[i] + (w == 0 ? i : -3 * i));
        for (int i = 32; i < TYPED_N; i++) tail[i] += 0.5f;
        s->live->done(s, w, 1, &info);
    }
    const void *words = s->ops->peek(s).words;
    const int16_t *number = words;
    const float *tail = words;
    for (int i = 0; i < 64; i++) assert_int_equal(number[i], -2 * i);
    for (int i = 32; i < TYPED_N; i++) assert_true(tail[i] == 1.0f);
    rig_fini(&r);
}

/* The floats behind the words are averaged when the workers are parked, as those behind floats. */
TEST(state_behind_words_is_averaged)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=1&merge=sum",
                               .rule = "adam",
                               .n = TYPED_N,
                               .n_workers = 2,
                               .layout = &typed});
    drove_sync *s = r.sync;
    drove_publish_info info;
    float *own[2];
    assert_int_equal(s->n_vector, 3 * TYPED_N);
    for (unsigned w = 0; w < 2; w++) {
        own[w] = (float *)(void *)s->live->begin(s, w).words + TYPED_N;
        for (unsigned i = 0; i < 2 * TYPED_N; i++) own[w][i] = (float)(i + 10 * w);
        s->live->done(s, w, 1, &info);
        assert_true(own[w][7] == (float)(7 + 10 * w));
    }
    const float *mean = (const float *)(const void *)s->ops->peek(s).words + TYPED_N;
    for (unsigned i = 0; i < 2 * TYPED_N; i++)
        assert_true(mean[i] == (float)(i + 5) && own[0][i] == mean[i] && own[1][i] == mean[i]);
    rig_fini(&r);
}

/* A gain that the centre cannot hold is saturated there, and counted. */
TEST(saturated_meetings_are_counted)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "replicas?period=1&merge=sum",
                               .n = TYPED_N,
                               .n_workers = 2,
                               .layout = &typed});
    drove_sync *s = r.sync;
    drove_publish_info info;
    for (unsigned w = 0; w < 2; w++) {
        int16_t *number = (int16_t *)(void *)s->live->begin(s, w).words;
        number[5] = INT16_MAX - 10;
        number[6] = -20;
        s->live->done(s, w, 1, &info);
    }
    const int16_t *number = (const int16_t *)(const void *)s->ops->peek(s).words;
    assert_int_equal(number[5], INT16_MAX);
    assert_int_equal(number[6], -40);
    assert_int_equal(s->n_clamped, 1);
    rig_fini(&r);
}

/* An average of two integers is rounded up as often as down: sum over many meetings of a gain of
 * 1 by one of two replicas. */
TEST(averages_round_without_bias)
{
    enum { MEETINGS = 400 };
    rig r;
    rig_init(&r,
             (rig_options){.variant = "replicas", .n = TYPED_N, .n_workers = 2, .layout = &typed});
    drove_sync *s = r.sync;
    drove_publish_info info;
    for (unsigned m = 0; m < MEETINGS; m++) {
        int16_t *number = (int16_t *)(void *)s->live->begin(s, m % 2).words;
        for (int i = 0; i < 64; i++) number[i]++;
        s->live->done(s, m % 2, 1, &info);
        (void)s->ops->peek(s);
    }
    const int16_t *number = (const int16_t *)(const void *)s->ops->peek(s).words;
    double sum = 0.0, n = 64.0 * MEETINGS;
    for (int i = 0; i < 64; i++) sum += number[i];
    if (fabs(sum / n - 0.5) > 4.0 * 0.5 / sqrt(n)) fail_msg("mean of halves is %f", sum / n);
    rig_fini(&r);
}
