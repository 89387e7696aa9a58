/* Places in the one order of a strategy's publications: every row that promises ORDERED, by several
 * workers at once.  Each step changes a parameter of its own, so a view shows which publications it
 * follows. */
#include "support/strategies.h"

enum { WORKERS = 4, STEPS = 40, N = WORKERS * STEPS };

typedef struct step_note {
    uint64_t view_order, order;
    bool is_dropped;
    bool is_seen[N]; /* steps that are in the view */
} step_note;

typedef struct notes {
    step_note of[WORKERS][STEPS];
    bool has_failed[WORKERS];
} notes;

static void work(rig *r, unsigned worker, void *arg)
{
    notes *all = arg;
    for (unsigned i = 0; i < STEPS; i++) {
        step_note *note = &all->of[worker][i];
        float value[N] = {0};
        drove_view view = {.order = 1u << 30};
        drove_publish_info info = {.order = 1u << 30};
        value[worker * STEPS + i] = -1.0f;
        if (r->sync->ops->acquire(r->sync, worker, &view) != DROVE_OK)
            all->has_failed[worker] = true;
        for (unsigned k = 0; k < N; k++) note->is_seen[k] = view.vector[k] != 0.0f;
        float *lent =
            r->sync->ops->gradient != NULL ? r->sync->ops->gradient(r->sync, worker) : NULL;
        const drove_step step = {.value = lent != NULL ? memcpy(lent, value, sizeof value) : value,
                                 .eta = 1.0f};
        drove__sync_release(r->sync, worker);
        if (r->sync->ops->publish(r->sync, worker, &step, &info) != DROVE_OK)
            all->has_failed[worker] = true;
        note->is_dropped = info.dropped != 0;
        note->view_order = view.order;
        note->order = info.order;
    }
}

/* A step that nobody else sees yet becomes visible with the worker's next publication that is. */
static uint64_t place_of(const notes *all, unsigned worker, unsigned i)
{
    if (all->of[worker][i].is_dropped) return DROVE_NO_ORDER;
    while (i < STEPS && all->of[worker][i].order == DROVE_NO_ORDER) i++;
    return i < STEPS ? all->of[worker][i].order : DROVE_NO_ORDER;
}

static void check_places(const notes *all, const char *variant)
{
    unsigned n_with[N] = {0}, n = 0;
    for (unsigned w = 0; w < WORKERS; w++) {
        for (unsigned i = 0; i < STEPS; i++) {
            const uint64_t order = all->of[w][i].order;
            if (order == DROVE_NO_ORDER || all->of[w][i].is_dropped) continue;
            if (order >= N) fail_msg("%s: place %llu", variant, (unsigned long long)order);
            n_with[order]++;
            n++;
        }
    }
    for (unsigned k = 0; k < n; k++)
        if (n_with[k] != 1) fail_msg("%s: %u publications have place %u", variant, n_with[k], k);
}

/* n_pending: publications that a view may follow and not show, as they wait for others. */
static void check_views(const notes *all, unsigned n_pending, const char *variant)
{
    for (unsigned w = 0; w < WORKERS; w++) {
        for (unsigned i = 0; i < STEPS; i++) {
            const step_note *note = &all->of[w][i];
            unsigned n_unseen = 0;
            for (unsigned k = 0; k < N; k++) {
                const bool is_before = place_of(all, k / STEPS, k % STEPS) < note->view_order;
                n_unseen += is_before && !note->is_seen[k];
                if (note->is_seen[k] && !is_before)
                    fail_msg("%s: worker %u, step %u: a view at %llu has a later publication",
                             variant, w, i, (unsigned long long)note->view_order);
            }
            if (n_unseen > n_pending)
                fail_msg("%s: worker %u, step %u: a view at %llu lacks %u publications before it",
                         variant, w, i, (unsigned long long)note->view_order, n_unseen);
        }
    }
}

/* A vector of the worker's own follows the publications up to its last one that had a place; once
 * all are parked, every one. */
static void check_own_views(rig *r, const notes *all, const char *variant)
{
    uint64_t n_places = 0;
    for (unsigned w = 0; w < WORKERS; w++) {
        uint64_t expected = 0;
        for (unsigned i = 0; i < STEPS; i++) {
            const step_note *note = &all->of[w][i];
            if (note->view_order != expected)
                fail_msg("%s: worker %u, step %u: a view at %llu, expected %llu", variant, w, i,
                         (unsigned long long)note->view_order, (unsigned long long)expected);
            if (note->order != DROVE_NO_ORDER) expected = note->order + 1;
        }
        if (expected > n_places) n_places = expected;
    }
    assert_true(n_places > 0);
    (void)r->sync->ops->peek(r->sync);
    for (unsigned w = 0; w < WORKERS; w++) {
        drove_view view;
        assert_int_equal(r->sync->ops->acquire(r->sync, w, &view), DROVE_OK);
        drove__sync_release(r->sync, w);
        assert_int_equal(view.order, n_places);
    }
}

static unsigned n_checked, n_own;

static void check_variant(const drove_sync_ops *ops, const char *variant)
{
    static notes all;
    const rig_options o = {.variant = variant, .ops = ops, .n = N, .n_workers = WORKERS};
    const variant_facts facts = facts_of(ops, variant, WORKERS);
    if ((facts.promises & DROVE_SYNC_ORDERED) == 0 || (facts.needs & DROVE_SYNC_SPREAD) != 0)
        return;
    rig r;
    memset(&all, 0, sizeof all);
    rig_init(&r, o);
    run_workers(&r, work, &all);
    for (unsigned w = 0; w < WORKERS; w++) assert_false(all.has_failed[w]);
    check_places(&all, variant);
    /* A worker's own vector changes with its own publications alone, wherever they come. */
    if ((facts.needs & DROVE_SYNC_OWN_VECTOR) == 0)
        check_views(&all, facts.batches_per_update - 1, variant);
    else if (strchr(variant, '?') != NULL) { /* a period that is shorter than the test */
        check_own_views(&r, &all, variant);
        n_own++;
    }
    rig_fini(&r);
    n_checked++;
}

TEST(publications_have_places_in_one_order)
{
    for_each_variant(check_variant);
    assert_true(n_checked >= 6 && n_own >= 1);
}
