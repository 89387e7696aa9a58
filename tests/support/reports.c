#include "reports.h"

#include "base/clock.h"

enum { N = 300, STEPS = 12, WORKERS = 3 };

typedef struct report { /* of one worker */
    uint64_t n_updated, n_dropped, most_staleness, last_version;
    char wrong[160]; /* "": nothing */
} report;

typedef struct reports {
    report of[WORKERS];
} reports;

static void note(report *m, const char *what, uint64_t found)
{
    if (m->wrong[0] == '\0')
        (void)snprintf(m->wrong, sizeof m->wrong, "%s, found %llu", what,
                       (unsigned long long)found);
}

static void check_step(const rig *r, report *m, const drove_view *view,
                       const drove_publish_info *info, uint64_t took_ns)
{
    uint64_t published = atomic_load(&r->sync->published);
    uint64_t named_ns = info->wait_ns + info->exchange_ns + info->accumulate_ns + info->update_ns +
                        info->broadcast_ns;
    bool may_retry = (r->sync->needs & DROVE_SYNC_BACKOFF) != 0;
    /* A replica that is due and finds the centre taken has tried in vain, once. */
    unsigned most_attempts = (r->sync->needs & DROVE_SYNC_OWN_VECTOR) != 0 ? 2 : 1;
    if (info->attempts < 1 || (info->attempts > most_attempts && !may_retry))
        note(m, "expected fewer attempts", info->attempts);
    if (info->updated > 1 || info->dropped > 1 || (info->updated && info->dropped))
        note(m, "expected an update or a drop", info->updated + 2u * info->dropped);
    /* A replica's version counts its own steps. */
    bool is_own = (r->sync->needs & DROVE_SYNC_SPREAD) != 0;
    if (view->version > published && !is_own)
        note(m, "expected a version that exists", view->version);
    if (view->version < m->last_version) note(m, "expected a later version", view->version);
    /* Steps of the others may be at the centre before they are counted. */
    uint64_t uncounted = is_own ? r->sync->n_workers - 1u : 0;
    if (info->staleness > published + uncounted)
        note(m, "expected less staleness", info->staleness);
    if (named_ns > took_ns) note(m, "expected less time", named_ns - took_ns);
    if (info->backoff_ns > info->wait_ns) note(m, "expected back-off as a wait", info->backoff_ns);
    if (view->backoff_ns > view->wait_ns) note(m, "expected back-off as a wait", view->backoff_ns);
    if ((r->sync->needs & DROVE_SYNC_SPREAD) == 0 && info->bytes + info->messages > 0)
        note(m, "expected no messages", info->messages);
    m->last_version = view->version;
    m->n_updated += info->updated;
    m->n_dropped += info->dropped;
    if (info->staleness > m->most_staleness) m->most_staleness = info->staleness;
}

static void work(rig *r, unsigned worker, void *arg)
{
    report *m = &((reports *)arg)->of[worker];
    for (unsigned i = 0; i < STEPS; i++) {
        float value[N];
        drove_view view;
        drove_publish_info info;
        for (size_t k = 0; k < N; k++) value[k] = (float)(k % 5) * 0.01f;
        uint64_t begin_ns = drove__now_ns();
        if (take_step(r, worker, value, 0.125f, &view, &info) != DROVE_OK) {
            note(m, "expected a step", i);
            return;
        }
        check_step(r, m, &view, &info, drove__now_ns() - begin_ns);
    }
}

static void check_variant(const drove_sync_ops *ops, const char *variant, unsigned n_workers)
{
    rig r;
    reports all = {{{0}}};
    const rig_options o = {.variant = variant, .ops = ops, .n = N, .n_workers = n_workers};
    uint64_t n_updated = 0;
    if (!rig_accepts(o)) return; /* one worker alone, perhaps */
    rig_init(&r, o);
    run_workers(&r, work, &all);
    for (unsigned w = 0; w < n_workers; w++) {
        const report *m = &all.of[w];
        if (m->wrong[0] != '\0') fail_msg("%s: worker %u: %s", variant, w, m->wrong);
        if (n_workers == 1 && m->most_staleness != 0)
            fail_msg("%s: one worker is stale by %llu", variant,
                     (unsigned long long)m->most_staleness);
        n_updated += m->n_updated;
    }
    if (n_updated != atomic_load(&r.sync->published))
        fail_msg("%s, %u workers: %llu steps made an update, %llu are published", variant,
                 n_workers, (unsigned long long)n_updated,
                 (unsigned long long)atomic_load(&r.sync->published));
    rig_fini(&r);
}

void check_reports(const drove_sync_ops *ops)
{
    for (unsigned n_workers = 1; n_workers <= WORKERS; n_workers += WORKERS - 1)
        for (size_t i = 0; ops->variants[i] != NULL; i++)
            check_variant(ops, ops->variants[i], n_workers);
}
