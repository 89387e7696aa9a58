/* Leashed-SGD, interleaved by hand: the rule's own function lets another worker publish in the
 * middle of an attempt, so every conflict happens exactly where it is wanted. */
#include "sync/leashed.h"
#include "support/strategies.h"

enum { N = 32, BEFORE = 2 }; /* parameters; steps before those of a test */

/* ---- a rule that calls back in the middle of an attempt ---- */

static void (*in_the_middle)(rig *r);
static rig *the_rig;
static uint64_t update; /* that the rule was last told it makes */

static void apply_and_call(const drove_rule *rule, const drovek_table *k, const drovek_update *u,
                           float eta, uint64_t t)
{
    (void)rule;
    update = t;
    k->sgd_f32(u->out, u->in, u->g, u->n, eta);
    if (in_the_middle != NULL) in_the_middle(the_rig);
}

static const drove_rule_ops calling_rule = {.name = "sgd",
                                            .zero_is_noop = true,
                                            .apply = apply_and_call};

static float ones[N], tens[N];

static void begin(rig *r, const char *variant, unsigned n_workers, void (*middle)(rig *))
{
    for (int i = 0; i < N; i++) {
        ones[i] = 1.0f;
        tens[i] = 10.0f;
    }
    rig_init(r, (rig_options){
                    .variant = variant, .n = N, .n_workers = n_workers, .hook = &calling_rule});
    the_rig = r;
    in_the_middle = middle;
}

static void assert_all(const float *vector, float expected)
{
    for (int i = 0; i < N; i++)
        if (vector[i] != expected)
            fail_msg("element %d is %g, expected %g", i, (double)vector[i], (double)expected);
}

static drove_leashed_pool pool_of(const rig *r)
{
    drove_leashed_pool pool;
    drove__leashed_pool(r->sync, &pool);
    return pool;
}

static void assert_quiet(const rig *r, uint64_t published)
{
    drove_leashed_pool pool = pool_of(r);
    assert_int_equal(pool.n_slots, 3 * r->sync->n_workers + 1);
    assert_int_equal(pool.n_in_use, 1);
    assert_int_equal(pool.n_read, 0);
    assert_int_equal(pool.most_passes, 1);
    assert_int_equal(pool.tag, published);
    assert_int_equal(atomic_load(&r->sync->published), published);
}

/* ---- the persistence bound ---- */

static unsigned conflicts_left;

static void other_publishes(rig *r)
{
    if (conflicts_left == 0) return;
    void (*again)(rig *) = in_the_middle;
    conflicts_left--;
    in_the_middle = NULL;
    assert_int_equal(take_step(r, 1, ones, 1.0f, NULL, NULL), DROVE_OK);
    in_the_middle = again;
}

TEST(bound_means_that_many_retries)
{
    const struct {
        const char *variant;
        unsigned conflicts, attempts;
        bool dropped;
    } cases[] = {
        {"leashed:0", 0, 1, false}, {"leashed:0", 1, 1, true},          {"leashed:1", 1, 2, false},
        {"leashed:1", 2, 2, true},  {"leashed:3", 3, 4, false},         {"leashed:3", 4, 4, true},
        {"leashed", 50, 51, false}, {"leashed:inf", 1000, 1001, false},
    };
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        rig r;
        drove_publish_info info;
        begin(&r, cases[c].variant, 2, other_publishes);
        conflicts_left = 0;
        for (unsigned i = 0; i < BEFORE; i++)
            assert_int_equal(take_step(&r, 1, ones, 1.0f, NULL, NULL), DROVE_OK);
        conflicts_left = cases[c].conflicts;
        assert_int_equal(take_step(&r, 0, tens, 1.0f, NULL, &info), DROVE_OK);
        unsigned others = cases[c].conflicts - conflicts_left;
        assert_int_equal(info.attempts, cases[c].attempts);
        assert_int_equal(info.dropped, cases[c].dropped);
        assert_int_equal(info.updated, !cases[c].dropped);
        /* What others published before the last attempt looked. */
        assert_int_equal(info.staleness, cases[c].attempts - 1);
        /* The first attempt was made where the step lay; the last one's place is what it gets. */
        assert_int_equal(info.retried, cases[c].attempts > 1 ? BEFORE + 1 : 0);
        if (!cases[c].dropped) assert_int_equal(info.order, BEFORE + others);
        float expected = -(float)(BEFORE + others) - (cases[c].dropped ? 0.0f : 10.0f);
        assert_all(r.sync->ops->peek(r.sync).theta, expected);
        assert_quiet(&r, BEFORE + others + !cases[c].dropped);
        rig_fini(&r);
    }
}

/* A step that lies elsewhere is added anew by each attempt: none changes its bits. */
TEST(a_step_of_other_memory_is_not_changed)
{
    rig r;
    drove_view view;
    drove_publish_info info;
    const drove_step step = {.value = tens, .eta = 1.0f};
    begin(&r, "leashed:inf", 2, other_publishes);
    conflicts_left = 2;
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    drove__sync_release(r.sync, 0);
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    assert_int_equal(info.attempts, 3);
    assert_int_equal(info.retried, 0);
    assert_int_equal(info.order, 2);
    rig_fini(&r);
}

/* ---- consistency ---- */

TEST(a_view_never_changes)
{
    rig r;
    drove_view held, view;
    begin(&r, "leashed:inf", 3, NULL);
    assert_int_equal(take_step(&r, 1, ones, 1.0f, NULL, NULL), DROVE_OK);
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &held), DROVE_OK);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(take_step(&r, 1 + i % 2, ones, 1.0f, &view, NULL), DROVE_OK);
        assert_int_equal(view.version, i + 1);
        assert_all(held.vector, -1.0f);
    }
    drove_leashed_pool pool = pool_of(&r);
    assert_int_equal(pool.n_in_use, 1);
    assert_int_equal(pool.n_read, 1);
    drove__sync_release(r.sync, 0);
    drove_publish_info info;
    drove_step step = {.value = tens, .eta = 1.0f};
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    assert_int_equal(info.staleness, 1000);
    assert_all(r.sync->ops->peek(r.sync).theta, -1011.0f);
    assert_quiet(&r, 1002);
    rig_fini(&r);
}

/* ---- the bound of the pool: every worker holds a view, the latest and its own, all different */

enum { T = 5 };
static unsigned depth, n_busy_most;

static void plain_publish(rig *r, unsigned worker)
{
    drove_publish_info info;
    drove_step step = {.value = ones, .eta = 1.0f};
    void (*again)(rig *) = in_the_middle;
    in_the_middle = NULL;
    assert_int_equal(r->sync->ops->publish(r->sync, worker, &step, &info), DROVE_OK);
    in_the_middle = again;
}

/* Each level of the nest is a worker in the middle of an attempt, who also holds a view. */
static void next_worker_too(rig *r)
{
    unsigned worker = ++depth;
    drove_leashed_pool pool = pool_of(r);
    if (worker >= T) {
        n_busy_most = pool.n_in_use + pool.n_read;
        return;
    }
    drove_view view;
    drove_publish_info info;
    drove_step step = {.value = ones, .eta = 1.0f};
    plain_publish(r, worker);
    assert_int_equal(r->sync->ops->acquire(r->sync, worker, &view), DROVE_OK);
    plain_publish(r, worker);
    assert_int_equal(r->sync->ops->publish(r->sync, worker, &step, &info), DROVE_OK);
    drove__sync_release(r->sync, worker);
}

TEST(worst_case_fits_the_pool)
{
    rig r;
    drove_view view;
    drove_publish_info info;
    drove_step step = {.value = ones, .eta = 1.0f};
    begin(&r, "leashed:0", T, next_worker_too);
    depth = 0;
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    plain_publish(&r, 0);
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    drove__sync_release(r.sync, 0);
    assert_int_equal(depth, T);
    /* T own ones in use, and the current one that the innermost worker reads; 2 T that are read. */
    assert_int_equal(n_busy_most, T + 1 + 2 * T);
    assert_int_equal(pool_of(&r).most_passes, 1);
    assert_int_equal(pool_of(&r).n_in_use, 1);
    assert_int_equal(pool_of(&r).n_read, 0);
    rig_fini(&r);
}

/* The same where the gradient lies in the slot to be published: every worker but the last has
 * failed once, so it holds its kept step, its own slot and the latest. */
static unsigned n_attempts[T];

static void fail_once_then_next_worker(rig *r)
{
    unsigned worker = depth;
    n_attempts[worker]++;
    if (worker == T - 1) {
        drove_leashed_pool pool = pool_of(r);
        if (n_attempts[worker] == 1) n_busy_most = pool.n_in_use + pool.n_read;
        return;
    }
    if (n_attempts[worker] == 1) plain_publish(r, worker + 1);
    if (n_attempts[worker] != 2) return;
    depth++;
    assert_int_equal(take_step(r, worker + 1, ones, 1.0f, NULL, NULL), DROVE_OK);
    depth--;
}

TEST(worst_case_with_kept_steps_fits)
{
    rig r;
    drove_publish_info info;
    begin(&r, "leashed:inf", T, fail_once_then_next_worker);
    depth = 0;
    memset(n_attempts, 0, sizeof n_attempts);
    assert_int_equal(take_step(&r, 0, tens, 1.0f, NULL, &info), DROVE_OK);
    assert_int_equal(info.attempts, 3);
    /* Three of each of T - 1, the last one's own, and the current one. */
    assert_int_equal(n_busy_most, 3 * (T - 1) + 2);
    /* T - 1 conflicts, T steps, one of them of ten. */
    assert_all(r.sync->ops->peek(r.sync).theta, -(float)(T - 1 + T - 1 + 10));
    assert_quiet(&r, 2 * T - 1);
    rig_fini(&r);
}

/* Between `gradient` and publish the slot is the worker's; rules with shared state get none. */
TEST(memory_is_lent_until_publish)
{
    rig r;
    drove_view view;
    drove_publish_info info;
    begin(&r, "leashed:inf", 2, NULL);
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    float *lent = r.sync->ops->gradient(r.sync, 0);
    assert_ptr_equal(r.sync->ops->gradient(r.sync, 0), lent);
    for (unsigned i = 0; i < 100; i++) {
        for (unsigned j = 0; j < N; j++) lent[j] = 5.0f;
        assert_int_equal(take_step(&r, 1, ones, 1.0f, NULL, NULL), DROVE_OK);
        assert_all(lent, 5.0f);
    }
    drove__sync_release(r.sync, 0);
    drove_step step = {.value = lent, .eta = 2.0f};
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    assert_ptr_equal(r.sync->ops->peek(r.sync).theta, lent);
    assert_all(lent, -110.0f);

    /* A step from elsewhere is welcome although memory was lent. */
    (void)r.sync->ops->gradient(r.sync, 0);
    step.value = ones;
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    assert_all(r.sync->ops->peek(r.sync).theta, -112.0f);
    assert_quiet(&r, 102);
    rig_fini(&r);

    rig_init(&r, (rig_options){.variant = "leashed", .rule = "adam", .n = N});
    assert_null(r.sync->ops->gradient(r.sync, 0));
    rig_fini(&r);
    rig_init(&r, (rig_options){.variant = "leashed", .schedule = "staleness", .n = N});
    assert_null(r.sync->ops->gradient(r.sync, 0));
    rig_fini(&r);
}

/* A failed attempt in place, with spans: what lies outside them does not change. */
TEST(spans_survive_a_retry)
{
    static const drove_span spans[] = {{16, 16}};
    rig r;
    drove_view view;
    drove_publish_info info;
    begin(&r, "leashed:inf", 2, other_publishes);
    conflicts_left = 3;
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
    float *lent = r.sync->ops->gradient(r.sync, 0);
    for (unsigned j = 0; j < N; j++) lent[j] = j < 16 ? 99.0f : 4.0f;
    drove_step step = {.value = lent, .span = spans, .n_spans = 1, .eta = 1.0f};
    drove__sync_release(r.sync, 0);
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
    assert_int_equal(info.attempts, 4);
    const float *theta = r.sync->ops->peek(r.sync).theta;
    for (unsigned j = 0; j < N; j++) assert_true(theta[j] == (j < 16 ? -3.0f : -7.0f));
    assert_quiet(&r, 4);
    rig_fini(&r);
}

/* A worker that stops for long in the middle of an attempt stops nobody. */
static void others_go_on_for_long(rig *r)
{
    in_the_middle = NULL;
    for (unsigned i = 0; i < 5000; i++) {
        drove_publish_info info;
        assert_int_equal(take_step(r, 1 + i % 2, ones, 1.0f, NULL, &info), DROVE_OK);
        assert_int_equal(info.attempts, 1);
    }
}

TEST(a_stopped_worker_stops_nobody)
{
    rig r;
    drove_publish_info info;
    begin(&r, "leashed:0", 3, others_go_on_for_long);
    assert_int_equal(take_step(&r, 0, tens, 1.0f, NULL, &info), DROVE_OK);
    assert_int_equal(info.dropped, 1); /* it woke up late, and says so */
    assert_all(r.sync->ops->peek(r.sync).theta, -5000.0f);
    assert_quiet(&r, 5000);
    rig_fini(&r);
}

/* ---- waits between attempts ---- */

/* The first wait is below 1 us, each further one 20 us longer; the next acquisition starts anew. */
TEST(waits_are_those_of_the_back_off)
{
    rig r;
    drove_publish_info info;
    begin(&r, "leashed:inf", 2, other_publishes);
    const drove_backoff *of_0 = &r.sync->worker[0].backoff;
    assert_int_equal(drove__backoff_init(&r.sync->worker[0].backoff,
                                         "linear?first_us=1&step_us=20&max_us=1000", 7, 0),
                     DROVE_OK);
    for (unsigned n = 0; n <= 3; n++) {
        conflicts_left = n;
        assert_int_equal(take_step(&r, 0, tens, 1.0f, NULL, &info), DROVE_OK);
        assert_int_equal(info.attempts, n + 1);
        assert_true(info.backoff_ns >= (n < 2 ? 0 : n == 2 ? 20000 : 60000));
        assert_true(info.backoff_ns < UINT64_MAX / 2 && (n > 0 || info.backoff_ns == 0));
        assert_int_equal(info.wait_ns, info.backoff_ns);
        const double first_us = of_0->next_us - 20.0 * n;
        if (n == 0) assert_true(of_0->next_us == 0.0);
        else assert_true(first_us > 0.0 && first_us <= 1.0);
    }
    rig_fini(&r);

    begin(&r, "leashed:1", 2, other_publishes); /* of two attempts, one wait */
    assert_int_equal(drove__backoff_init(&r.sync->worker[0].backoff,
                                         "linear?first_us=1&step_us=20&max_us=1000", 7, 0),
                     DROVE_OK);
    conflicts_left = 2;
    assert_int_equal(take_step(&r, 0, tens, 1.0f, NULL, &info), DROVE_OK);
    assert_int_equal(info.dropped, 1);
    assert_true(r.sync->worker[0].backoff.next_us <= 21.0);
    assert_int_equal(info.wait_ns, info.backoff_ns);
    rig_fini(&r);
}

/* ---- an attempt that is made again, as a record says it failed ---- */

/* What lies in lent memory becomes the step that is left of old + step; the publication adds it to
 * what is the latest by then, and the one after it is its own. */
TEST(a_step_is_kept_between_retry_and_publish)
{
    rig r;
    drove_view view;
    drove_publish_info info;
    for (int is_lent = 0; is_lent <= 1; is_lent++) {
        begin(&r, "leashed:inf", 2, NULL);
        assert_int_equal(take_step(&r, 1, ones, 1.0f, NULL, NULL), DROVE_OK);
        assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
        drove__sync_release(r.sync, 0);
        const float *value = tens;
        if (is_lent) {
            float *lent = r.sync->ops->gradient(r.sync, 0);
            for (unsigned i = 0; i < N; i++) lent[i] = 10.0f + (float)i;
            value = lent;
        }
        const drove_step step = {.value = value, .eta = 1.0f};
        update = 0;
        r.sync->ops->replay->retry(r.sync, 0, &step);
        assert_int_equal(update, is_lent ? 2 : 0); /* it was to be the second one */
        assert_int_equal(pool_of(&r).n_read, 0);
        assert_int_equal(pool_of(&r).n_in_use, is_lent ? 3 : 2); /* current, own, kept */
        assert_all(r.sync->ops->peek(r.sync).theta, -1.0f);
        assert_int_equal(take_step(&r, 1, ones, 1.0f, NULL, NULL), DROVE_OK);
        assert_int_equal(r.sync->ops->publish(r.sync, 0, &step, &info), DROVE_OK);
        assert_int_equal(info.attempts, 1);
        assert_int_equal(info.staleness, 1);
        assert_int_equal(info.order, 2);
        for (unsigned i = 0; i < N; i++)
            assert_true(r.sync->ops->peek(r.sync).theta[i] == -12.0f - (is_lent ? (float)i : 0.0f));
        assert_quiet(&r, 3);
        const drove_step next = {.value = ones, .eta = 1.0f};
        assert_int_equal(r.sync->ops->publish(r.sync, 0, &next, &info), DROVE_OK);
        for (unsigned i = 0; i < N; i++)
            assert_true(r.sync->ops->peek(r.sync).theta[i] == -13.0f - (is_lent ? (float)i : 0.0f));
        assert_quiet(&r, 4);
        rig_fini(&r);
    }
}

/* ---- a saved run ---- */

TEST(a_restored_run_goes_on_with_its_number)
{
    rig r;
    drove_view view;
    drove_publish_info info;
    begin(&r, "leashed:inf", 3, NULL);
    assert_int_equal(take_step(&r, 2, ones, 1.0f, NULL, NULL), DROVE_OK); /* not in slot 0 or 1 */
    assert_int_equal(drove__sync_restore(r.sync, 77, &(drove_params){.theta = tens}, NULL),
                     DROVE_OK);
    assert_quiet(&r, 77);
    assert_all(r.sync->ops->peek(r.sync).theta, 10.0f);
    assert_int_equal(take_step(&r, 0, ones, 1.0f, &view, &info), DROVE_OK);
    assert_int_equal(view.version, 77);
    assert_int_equal(view.order, 77);
    assert_int_equal(info.order, 77);
    assert_int_equal(info.staleness, 0);
    assert_all(r.sync->ops->peek(r.sync).theta, 9.0f);
    assert_quiet(&r, 78);
    rig_fini(&r);
}

/* ---- the bounds of the options ---- */

TEST(bounds_are_what_words_hold)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "leashed:4294967294"});
    rig_fini(&r);
    assert_int_equal(rig_try(&r, (rig_options){.variant = "leashed:4294967295"}), DROVE_E_ARG);
    rig_fini(&r);
    /* three slots each and one, of 2^16 */
    rig_init(&r, (rig_options){.variant = "leashed", .n_workers = 21845, .n = 1});
    assert_int_equal(pool_of(&r).n_slots, 65536);
    rig_fini(&r);
    assert_int_equal(rig_try(&r, (rig_options){.variant = "leashed", .n_workers = 21846, .n = 1}),
                     DROVE_E_ARG);
    assert_string_equal(drove_error_text(), "leashed: expected at most 21845 workers, found 21846");
    rig_fini(&r);
}
