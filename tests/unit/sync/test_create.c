/* What each strategy accepts, refuses and declares. */
#include "support/strategies.h"

#include "sync/sync.h"

static void refused(rig_options o, drove_status expected, const char *part)
{
    rig r;
    drove_status status = rig_try(&r, o);
    assert_int_equal(status, expected);
    assert_null(r.sync);
    if (strstr(drove_error_text(), part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, drove_error_text());
    rig_fini(&r);
}

TEST(wrong_arguments_are_refused)
{
    static const char *const specs[] = {"sequential:1",
                                        "sync:2",
                                        "ssp:x",
                                        "ssp:-1",
                                        "ssp:1,2",
                                        "softsync:0",
                                        "softsync:2,3",
                                        "mutex:1",
                                        "mutex?a=b",
                                        "rwlock?prefer=dogs",
                                        "rwlock?favour=readers",
                                        "hogwild:cpoy",
                                        "hogwild:copy,live",
                                        "replicas:cores",
                                        "replicas:core,node",
                                        "replicas?period=0",
                                        "replicas?period=x",
                                        "replicas?merge=median",
                                        "replicas?perod=4",
                                        "leashed:-1",
                                        "leashed:1.5",
                                        "leashed:4294967296",
                                        "leashed:1,2",
                                        "leashed?bound=3"};
    for (size_t i = 0; i < DROVE_COUNT(specs); i++) {
        rig r;
        if (rig_try(&r, (rig_options){.variant = specs[i]}) != DROVE_E_ARG)
            fail_msg("%s was accepted", specs[i]);
        assert_null(r.sync);
        rig_fini(&r);
    }
    refused((rig_options){.variant = "hogwild:cpoy"}, DROVE_E_ARG, "did you mean copy?");
    refused((rig_options){.variant = "sequential", .n_workers = 2}, DROVE_E_ARG,
            "expected one worker, found 2");
    refused((rig_options){.variant = "leashed", .n_workers = 30000}, DROVE_E_ARG,
            "at most 21845 workers");
    refused((rig_options){.variant = "hogwild:live", .rule = "adam"}, DROVE_E_ARG,
            "expected --rule sgd");
}

TEST(back_off_only_where_it_is_used)
{
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        const drove_sync_ops *ops = *row;
        rig r;
        drove_status status =
            rig_try(&r, (rig_options){.variant = ops->name, .backoff = "exponential"});
        assert_int_equal(status, (ops->needs & DROVE_SYNC_BACKOFF) != 0 ? DROVE_OK : DROVE_E_ARG);
        rig_fini(&r);
    }
    refused((rig_options){.variant = "mutex", .backoff = "expnential"}, DROVE_E_ARG,
            "did you mean exponential?");
}

/* Thesis Table 3.2, and what this program adds to it. */
TEST(promises_are_those_of_the_table)
{
    enum {
        S = DROVE_SYNC_SNAPSHOT,
        N = DROVE_SYNC_NO_LOSS,
        L = DROVE_SYNC_LOCK_FREE,
        R = DROVE_SYNC_REPEATABLE,
        Q = DROVE_SYNC_SEQUENTIAL,
        O = DROVE_SYNC_ORDERED
    };
    const struct {
        const char *name;
        unsigned promises;
    } table[] = {{"mutex", S | N | Q | O},    {"rwlock", S | N | Q | O},
                 {"hogwild", L | Q},          {"leashed", S | N | L | Q | O},
                 {"sync", S | N | R | Q},     {"ssp", S | N | Q | O},
                 {"softsync", S | N | Q | O}, {"sequential", S | N | L | R | Q},
                 {"replicas", S | L | Q | O}};
    for (size_t i = 0; i < DROVE_COUNT(table); i++)
        assert_int_equal(find_strategy(table[i].name)->promises, table[i].promises);
}

TEST(tables_are_complete)
{
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        const drove_sync_ops *ops = *row;
        assert_true(ops->name[0] != '\0' && ops->help[0] != '\0' && ops->source[0] != '\0');
        assert_non_null(ops->variants[0]);
        assert_true(ops->acquire && ops->publish && ops->peek && ops->restore && ops->init &&
                    ops->fini);
        const drove_sync_live_ops *live = ops->live;
        assert_true(live == NULL || (live->begin != NULL && live->done != NULL));
        const unsigned words = ops->needs & (DROVE_SYNC_TYPED | DROVE_SYNC_OWN_STATE);
        assert_true((live != NULL && live->next_step != NULL) == (words == DROVE_SYNC_TYPED));
        const drove_sync_slice_ops *slices = ops->slices;
        assert_true(slices == NULL || (slices->ready != NULL && slices->next_sum != NULL));
        const drove_sync_places *places = drove__sync_places(ops);
        assert_true(places->not_procs == NULL || places->not_procs[0] != '\0');
        assert_true(places->not_ranks == NULL || places->not_ranks[0] != '\0');
        if (places->over_ranks == NULL) continue;
        const drove_sync_ops *stand_in = find_strategy(places->over_ranks);
        const drove_sync_places *there = drove__sync_places(stand_in);
        assert_true(there->not_ranks == NULL && there->over_ranks == NULL);
        assert_true((stand_in->needs & DROVE_SYNC_SPREAD) != 0);
    }
}

/* A variant may offer and need something else: read the object, not the table it was made from. */
TEST(variants_of_hogwild_differ)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "hogwild", .n_workers = 2});
    assert_true(r.sync->needs == (DROVE_SYNC_TYPED | DROVE_SYNC_RACY) && r.sync->live != NULL);
    drove_view a, b;
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &a), DROVE_OK);
    assert_int_equal(r.sync->ops->acquire(r.sync, 1, &b), DROVE_OK);
    assert_ptr_equal(a.vector, b.vector);
    assert_ptr_equal(r.sync->live->begin(r.sync, 0).theta, b.vector);
    rig_fini(&r);

    rig_init(&r, (rig_options){.variant = "hogwild:copy", .n_workers = 2});
    assert_true(r.sync->needs == DROVE_SYNC_RACY && r.sync->live == NULL);
    assert_int_equal(r.sync->ops->acquire(r.sync, 0, &a), DROVE_OK);
    assert_ptr_not_equal(a.vector, r.sync->ops->peek(r.sync).theta);
    rig_fini(&r);

    rig_init(&r, (rig_options){.variant = "hogwild:live", .n_workers = 2});
    assert_true((r.sync->needs & DROVE_SYNC_LIVE) != 0 && r.sync->live != NULL);
    rig_fini(&r);
}

static float first_of_view(const rig *r, unsigned worker)
{
    drove_view view;
    assert_int_equal(r->sync->ops->acquire(r->sync, worker, &view), DROVE_OK);
    return view.vector[0];
}

/* Every step adds 1.  A dense one copies as it is published; others come in with the next. */
TEST(a_publication_makes_the_next_copy)
{
    rig r;
    float step[2] = {1.0f, 1.0f}, other[2] = {5.0f, 5.0f};
    drove_publish_info info;
    rig_init(&r, (rig_options){.variant = "hogwild:copy", .n_workers = 2, .n = 2});
    const drove_step minus = {.value = step, .eta = -1.0f};
    const float first = first_of_view(&r, 0);
    assert_true(first_of_view(&r, 1) == first);
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &minus, &info), DROVE_OK);
    assert_int_equal(r.sync->ops->publish(r.sync, 1, &minus, &info), DROVE_OK);
    assert_int_equal(info.staleness, 1);
    assert_true(first_of_view(&r, 0) == first + 1.0f && first_of_view(&r, 1) == first + 2.0f);
    assert_int_equal(r.sync->ops->publish(r.sync, 0, &minus, &info), DROVE_OK);
    assert_int_equal(info.staleness, 1);
    assert_true(first_of_view(&r, 0) == first + 3.0f);

    const drove_params restored = {.theta = other};
    assert_int_equal(r.sync->ops->restore(r.sync, &restored, NULL), DROVE_OK);
    assert_true(first_of_view(&r, 0) == 5.0f && first_of_view(&r, 1) == 5.0f);
    rig_fini(&r);
}

/* Others' updates since it was lent the parameters, for each of its own. */
TEST(steps_in_place_know_their_staleness)
{
    static const char *const variants[] = {"hogwild", "hogwild:live", "hogbatch", "adaptive"};
    static const struct {
        unsigned worker, n_steps; /* 0: it is lent the parameters */
        uint64_t staleness;
    } calls[] = {{0, 0, 0}, {1, 0, 0},     {2, 0, 0}, {1, 6, 0},      {2, 3, 6 / 3},
                 {1, 0, 0}, {0, 3, 9 / 3}, {2, 0, 0}, {1, 1, 12 - 9}, {2, 1, 13 - 12}};
    for (size_t i = 0; i < DROVE_COUNT(variants); i++) {
        rig r;
        uint64_t n = 0;
        rig_init(&r, (rig_options){.variant = variants[i], .n_workers = 3});
        for (size_t k = 0; k < DROVE_COUNT(calls); k++) {
            const unsigned w = calls[k].worker;
            drove_publish_info info;
            if (calls[k].n_steps == 0) {
                (void)r.sync->live->begin(r.sync, w);
                continue;
            }
            assert_int_equal(r.sync->live->done(r.sync, w, calls[k].n_steps, &info), DROVE_OK);
            assert_int_equal(info.staleness, calls[k].staleness);
            assert_int_equal(atomic_load(&r.sync->published), n += calls[k].n_steps);
        }
        rig_fini(&r);
    }
}

static unsigned n_lending;

/* By one worker, of every row that lends its parameters: what it says of them is one update made of
 * so many steps, and nothing else. */
static void steps_in_place_are_reported(const drove_sync_ops *ops, const char *variant)
{
    const rig_options o = {.variant = variant, .ops = ops};
    uint64_t n = 0;
    rig r;
    rig_init(&r, o);
    const bool lends = r.sync->live != NULL && (r.sync->needs & DROVE_SYNC_SPREAD) == 0;
    for (uint64_t n_steps = 5; lends && n_steps > 0; n_steps--) {
        drove_publish_info info;
        memset(&info, 0xff, sizeof info);
        assert_non_null(r.sync->live->begin(r.sync, 0).theta);
        if (r.sync->live->next_step != NULL)
            assert_int_equal(r.sync->live->next_step(r.sync, 0), n + 1);
        assert_int_equal(r.sync->live->done(r.sync, 0, n_steps, &info), DROVE_OK);
        assert_int_equal(atomic_load(&r.sync->published), n += n_steps);
        const uint64_t zero = info.staleness | info.wait_ns | info.backoff_ns | info.exchange_ns |
                              info.accumulate_ns | info.update_ns | info.broadcast_ns |
                              info.centre_ns | info.hidden_ns | info.bytes | info.messages |
                              info.retried | info.dropped | info.is_early;
        if (zero != 0 || info.distance != 0.0 || info.attempts != 1 || info.updated != 1)
            fail_msg("%s: %u attempts, %u updates, or another field is not 0", variant,
                     info.attempts, info.updated);
    }
    rig_fini(&r);
    if (lends) n_lending++;
}

TEST(all_report_steps_in_place)
{
    for_each_variant(steps_in_place_are_reported);
    assert_in_range(n_lending, 7, 64);
}

static void starts_with_theta_and_zero_state(const drove_sync_ops *ops, const char *variant)
{
    unsigned n_workers = (ops->needs & DROVE_SYNC_ONE) != 0 ? 1 : 3;
    rig r;
    float theta0[32];
    for (int i = 0; i < 32; i++) theta0[i] = (float)i + 0.5f;
    rig_options o = {.variant = variant,
                     .ops = ops,
                     .rule = "adam",
                     .n = 32,
                     .n_workers = n_workers,
                     .theta0 = theta0};
    if (!rig_accepts(o)) return; /* no rule with state */
    rig_init(&r, o);
    const float *vector = r.sync->ops->peek(r.sync).theta;
    assert_int_equal(r.sync->n_vector, 96);
    assert_memory_equal(vector, theta0, sizeof theta0);
    for (int i = 32; i < 96; i++) assert_true(vector[i] == 0.0f);
    assert_int_equal((uintptr_t)vector % 64, 0);
    rig_fini(&r);
}

TEST(all_start_with_theta_and_zero_state)
{
    for_each_variant(starts_with_theta_and_zero_state);
}

/* What is restored is what peek shows and what the next step begins with, state included (workers
 * that are apart have states of their own, in tensors); what was there before is forgotten. */
static void restores_theta_and_state(const drove_sync_ops *ops, const char *variant)
{
    rig r;
    drove_view view;
    float g[32], saved[96];
    for (int i = 0; i < 32; i++) g[i] = 1.0f + (float)i;
    for (int i = 0; i < 96; i++) saved[i] = 100.0f - (float)i;
    rig_options o = {.variant = variant, .ops = ops, .rule = "adam", .n = 32, .n_workers = 1};
    if (!rig_accepts(o)) o.rule = "sgd";
    rig_init(&r, o);
    size_t size = r.sync->n_vector * sizeof *saved;
    assert_true(size <= sizeof saved);
    assert_int_equal(take_step(&r, 0, g, 0.5f, NULL, NULL), DROVE_OK);
    if ((ops->needs & DROVE_SYNC_SPREAD) != 0) size = 32 * sizeof *saved;
    if (drove__sync_restore(r.sync, 7, &(drove_params){.theta = saved}, NULL) != DROVE_OK)
        fail_msg("%s: %s", variant, drove_error_text());
    if (memcmp(r.sync->ops->peek(r.sync).theta, saved, size) != 0)
        fail_msg("%s: peek does not show what was restored", variant);
    assert_int_equal(atomic_load(&r.sync->published), 7);
    if ((r.sync->needs & DROVE_SYNC_LIVE) == 0) {
        assert_int_equal(r.sync->ops->acquire(r.sync, 0, &view), DROVE_OK);
        if (memcmp(view.vector, saved, 32 * sizeof *saved) != 0)
            fail_msg("%s: a step does not begin with what was restored", variant);
        drove__sync_release(r.sync, 0);
    }
    rig_fini(&r);
}

TEST(all_restore_theta_and_state)
{
    for_each_variant(restores_theta_and_state);
}

TEST(bare_name_and_no_options_do)
{
    rig r;
    rig_init(&r, (rig_options){.variant = "mutex"});
    float theta0[64] = {0};
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        drove_sync *s = NULL;
        drove_sync_options opt = {.n_workers = 1, .optim = r.optim};
        assert_int_equal(drove__sync_create(*row, &opt, &(drove_params){.theta = theta0}, &s),
                         DROVE_OK);
        drove__sync_destroy(s);
        opt.n_workers = 0;
        s = NULL;
        assert_int_equal(drove__sync_create(*row, &opt, &(drove_params){.theta = theta0}, &s),
                         DROVE_E_ARG);
        assert_null(s);
    }
    drove__sync_destroy(NULL);
    rig_fini(&r);
}

/* A recorded machine with two nodes: vectors are made and freed by placement, and work. */
TEST(works_on_placed_memory)
{
    drove_topo *topo = NULL;
    drove_place place[4];
    assert_int_equal(drove__topo_create("synthetic:numa:2 core:2 pu:1", &topo), DROVE_OK);
    drove__topo_place(topo, DROVE_BIND_SPREAD, 4, place);
    rig r;
    rig_init(&r, (rig_options){.variant = "mutex"});
    float theta0[64] = {1.0f}, g[64] = {0.5f};
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        drove_sync *s = NULL;
        unsigned n_workers = ((*row)->needs & DROVE_SYNC_ONE) != 0 ? 1 : 4;
        drove_sync_options opt = {
            .n_workers = n_workers, .optim = r.optim, .topo = topo, .place = place};
        assert_int_equal(drove__sync_create(*row, &opt, &(drove_params){.theta = theta0}, &s),
                         DROVE_OK);
        assert_true(s->ops->peek(s).theta[0] == 1.0f);
        if (s->ops->stop == NULL && s->ops != &drove__sync_softsync) { /* waits for nobody */
            drove_view view;
            drove_publish_info info;
            drove_step step = {.value = g, .eta = 1.0f};
            assert_int_equal(s->ops->acquire(s, n_workers - 1, &view), DROVE_OK);
            drove__sync_release(s, n_workers - 1);
            assert_int_equal(s->ops->publish(s, n_workers - 1, &step, &info), DROVE_OK);
            /* the mean of four replicas has a quarter of one's step */
            float part = s->ops == &drove__sync_replicas ? 0.25f : 1.0f;
            assert_true(s->ops->peek(s).theta[0] == 1.0f - part * 0.5f);
        }
        drove__sync_destroy(s);
    }
    rig_fini(&r);
    drove__topo_destroy(topo);
}
