/* loop/replay.c - see replay.h.
 *
 * Each worker is FREE or has begun its next step.  `place` grows with every publication.  In turn
 *   - a FREE worker begins its next step if its view follows nothing that is still to come;
 *   - a step that nobody else sees ends where it began;
 *   - when no worker can do either, the lowest place of all begun steps is made.
 * A view at place v is taken before publication v is made: every worker has had its turn by then.
 *
 * With data on disk, the window of a worker's batch may not be there yet, because others have still
 * to train batches of the one before.  The worker lets these go first: they began before it in the
 * recorded run, or it could not have had its batch.  So whoever is waited for can go on, and the
 * one thread never sleeps for itself.
 */
#include "loop/replay.h"

#include "base/denormals.h"
#include "loop/batches.h"
#include "loop/step.h"
#include "loop/worker.h"

#include <math.h>
#include <string.h>

enum { MOST_AHEAD = 8 }; /* steps of a worker that are read before they are made */

typedef struct replayed_worker {
    drove_recorded step[MOST_AHEAD]; /* the next ones, in a ring */
    unsigned first, n, n_asked;      /* of them the source has given out n_asked */
    bool has_begun, has_ended;       /* the step; this stretch */
    bool has_retried, is_in_place;
    float eta;
    drove_task task;
    drove_batch batch;
    drove_step_hand hand;
} replayed_worker;

/* ---- the record ---- */

static drove_recorded *step_at(replayed_worker *v, unsigned i)
{
    return &v->step[(v->first + i) % MOST_AHEAD];
}

/* Reads ahead until n steps are there, or all of the stretch. */
static drove_status read_ahead(drove_replay *r, unsigned worker, unsigned n)
{
    replayed_worker *v = &r->worker[worker];
    bool is_there = true;
    while (v->n < n && is_there) {
        DROVE_TRY(drove__recorded_next(r->record, worker, step_at(v, v->n), &is_there));
        v->n += is_there;
    }
    return DROVE_OK;
}

bool drove__replay_next(drove_replay *r)
{
    if (!drove__recorded_stretch(r->record, &r->mark)) return false;
    for (unsigned w = 0; w < r->loop->plan->n_workers; w++) {
        replayed_worker *v = &r->worker[w];
        v->n = v->n_asked = 0;
        v->has_begun = v->has_ended = false;
    }
    return true;
}

static drove_status fail_order(const drove_replay *r, unsigned worker, const drove_recorded *s)
{
    return drove__fail(DROVE_E_DATA,
                       "%s: expected steps that follow one order, found worker %u with batch %llu",
                       drove__recorded_path(r->record), worker, (unsigned long long)s->number);
}

/* ---- the source ---- */

static drove_status source_init(drove_source *s, const drove_source_options *opt)
{
    (void)s;
    (void)opt;
    return DROVE_OK;
}

static void source_fini(drove_source *s)
{
    (void)s;
}

static void source_open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    (void)s, (void)limit, (void)most_updates; /* the record says it */
}

/* A loss that is not finite ended the recorded run by itself. */
static void source_halt(drove_source *s)
{
    drove_replay *r = s->impl;
    if (!atomic_load(&r->loop->ending.nonfinite) || atomic_load(&r->loop->ending.halted))
        r->is_halted = true;
}

static bool source_next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    drove_replay *r = s->impl;
    replayed_worker *v = &r->worker[worker];
    (void)waits;
    if (v->n_asked == MOST_AHEAD) return false;
    drove_status status = read_ahead(r, worker, v->n_asked + 1);
    if (r->status == DROVE_OK) r->status = status;
    if (status != DROVE_OK || v->n_asked == v->n || step_at(v, v->n_asked)->is_settling)
        return false;
    const drove_recorded *step = step_at(v, v->n_asked);

    /* Could a run with these data and batch sizes have had this task? */
    bool is_possible = step->n_steps > 0 && step->n_rows <= r->loop->worker[worker].most_rows;
    if (r->loop->plan->source->counts_rows)
        is_possible = is_possible && step->n_rows > 0 && isfinite(step->lr_factor);
    else is_possible = is_possible && step->n_rows == 0;
    if (!is_possible) {
        r->status = fail_order(r, worker, step);
        return false;
    }
    v->n_asked++;
    *out = (drove_task){.number = step->number,
                        .first = step->first,
                        .n_rows = step->n_rows,
                        .lr_factor = step->lr_factor};
    return true;
}

static void source_settle(drove_source *s)
{
    const drove_replay *r = s->impl;
    if (!r->is_cut && !r->is_halted) atomic_store(&s->next, r->mark.next);
}

static const drove_source_ops source = {
    .name = "recorded",
    .help = "each worker takes the batches that it had in a recorded run",
    .source = "docs/methods/replay.md",
    .init = source_init,
    .fini = source_fini,
    .open = source_open,
    .halt = source_halt,
    .next = source_next,
    .settle = source_settle,
};

void drove__replay_source(drove_replay *r, const drove_source_ops *row, unsigned width,
                          drove_source *out)
{
    r->source = source;
    r->source.counts_rows = row->counts_rows;
    out->ops = &r->source;
    out->width = width;
    out->impl = r;
}

/* ---- steps ---- */

static void say_step(drove_replay *r, unsigned worker, bool is_live)
{
    replayed_worker *v = &r->worker[worker];
    const drove_replayed_step step = {
        .worker = worker,
        .recorded = step_at(v, 0),
        .is_in_place = is_live,
        .loss = is_live ? NAN : drove__score_mean_loss(&v->hand.done.score),
        .gradient_norm = is_live ? NAN : v->hand.gradient_norm,
        .eta = v->eta,
    };
    r->n_steps++;
    if (r->stepped != NULL) r->stepped(r->context, &step);
}

/* The step is through; the next one comes first. */
static void pass(replayed_worker *v)
{
    v->first = (v->first + 1) % MOST_AHEAD;
    v->n--;
    v->n_asked--;
    v->has_begun = false;
}

/* Can it be had without a batch of another worker being trained first? */
static bool batch_comes(const drove_replay *r, unsigned worker)
{
    const drove_loop *loop = r->loop;
    if (loop->data.stream == NULL) return true;
    const uint64_t number = step_at(&r->worker[worker], 0)->number;
    return drove__stream_comes(loop->data.stream, drove__order_window(&loop->order, number));
}

/* Takes the batch, and, unless it steps in place, the view, and computes. */
static drove_status begin(drove_replay *r, unsigned worker)
{
    drove_worker *w = &r->loop->worker[worker];
    replayed_worker *v = &r->worker[worker];
    drove_status status;
    if (!drove__batches_next(w, &v->task, &v->batch, &status))
        return r->status != DROVE_OK ? r->status : fail_order(r, worker, step_at(v, 0));
    DROVE_TRY(status);
    v->has_begun = true;
    v->has_retried = false;
    v->eta = drove__step_size(r->loop, &v->task);
    v->is_in_place = drove__steps_in_place(w, v->batch.n_rows);
    if (v->is_in_place) return DROVE_OK;
    return drove__step_begin(w, &v->task, &v->batch, v->eta, &v->hand);
}

/* A step that was dropped then is dropped. */
static drove_status end(drove_replay *r, unsigned worker)
{
    drove_worker *w = &r->loop->worker[worker];
    replayed_worker *v = &r->worker[worker];
    const drove_recorded *step = step_at(v, 0);
    const bool is_live = v->is_in_place;
    if (!is_live) say_step(r, worker, false); /* before the value is used up */
    drove_sync_worker *its = &r->loop->sync->worker[worker];
    its->stays = step->order == DROVE_NO_ORDER;
    its->staleness = step->staleness;
    its->is_repeated = true;
    if (is_live) DROVE_TRY(drove__step(w, &v->task, &v->batch, v->eta));
    else if (step->is_dropped) drove__step_drop(w, &v->hand);
    else DROVE_TRY(drove__step_end(w, &v->hand));
    if (is_live) say_step(r, worker, true);
    if (r->loop->data.stream != NULL) drove__batches_end(w); /* others may wait for its window */
    pass(v);
    return DROVE_OK;
}

/* An attempt that failed, at the place at which it did. */
static void retry(drove_replay *r, unsigned worker)
{
    drove_sync *s = r->loop->sync;
    replayed_worker *v = &r->worker[worker];
    const drove_recorded *step = step_at(v, 0);
    uint64_t retried = step->retried;
    if (retried == 0 || step->is_dropped || v->has_retried || retried - 1 > r->place ||
        s->ops->replay == NULL || s->ops->replay->retry == NULL)
        return;
    s->ops->replay->retry(s, worker, &v->hand.step);
    v->has_retried = true;
}

static bool is_enough(const drove_replay *r)
{
    return atomic_load(&r->loop->sync->published) >= r->most_updates;
}

/* The place at which its view is taken; a step in place has none. */
static uint64_t view_of(const drove_replay *r, unsigned worker)
{
    const drove_recorded *step = step_at(&r->worker[worker], 0);
    const bool is_in_place = drove__steps_in_place(&r->loop->worker[worker], (size_t)step->n_rows);
    return is_in_place ? 0 : step->view_order;
}

/* Everything that this worker can do without others.  *waits: it lets others go first. */
static drove_status advance(drove_replay *r, unsigned worker, bool *waits, bool *goes_on)
{
    replayed_worker *v = &r->worker[worker];
    *waits = false;
    while (!v->has_ended && r->status == DROVE_OK && !is_enough(r)) {
        DROVE_TRY(read_ahead(r, worker, 1));
        if (v->n == 0) { /* a settling with a place of its own is a step of the record */
            drove_worker *w = &r->loop->worker[worker];
            v->has_ended = true;
            const drove_sync_replay_ops *replay = r->loop->sync->ops->replay;
            if (replay == NULL || replay->live_end == NULL || r->loop->shared == NULL)
                DROVE_TRY(drove__step_settle(w));
            drove__batches_end(w);
            return DROVE_OK;
        }
        const drove_recorded *step = step_at(v, 0);
        if (step->is_settling) return DROVE_OK;
        if (!v->has_begun && (step->is_early || view_of(r, worker) > r->place)) return DROVE_OK;
        if (!v->has_begun && !batch_comes(r, worker)) {
            *waits = true;
            return DROVE_OK;
        }
        if (!v->has_begun) {
            DROVE_TRY(begin(r, worker));
            *goes_on = true;
        }
        retry(r, worker);
        if (step->order != DROVE_NO_ORDER && !step->is_early) return DROVE_OK;
        DROVE_TRY(end(r, worker));
    }
    return r->status;
}

/* The worker whose step has the next place; n_workers: none. */
static unsigned next_worker(const drove_replay *r)
{
    const unsigned n = r->loop->plan->n_workers;
    unsigned best = n;
    uint64_t lowest = DROVE_NO_ORDER;
    for (unsigned w = 0; w < n; w++) {
        replayed_worker *v = &r->worker[w];
        if (v->has_ended || v->n == 0) continue;
        const drove_recorded *step = step_at(v, 0);
        if (!v->has_begun && !step->is_early && !step->is_settling) continue;
        if (step->order >= lowest) continue;
        lowest = step->order;
        best = w;
    }
    return best;
}

/* The next place. */
static drove_status publish(drove_replay *r, unsigned worker)
{
    const drove_recorded step = *step_at(&r->worker[worker], 0);
    if (step.order < r->place) return fail_order(r, worker, &step);
    r->place = step.order + 1;
    if (step.is_settling) { /* a step of its own, which the source never gave out */
        replayed_worker *v = &r->worker[worker];
        DROVE_TRY(drove__step_settle(&r->loop->worker[worker]));
        v->n_asked++;
        pass(v);
        return DROVE_OK;
    }
    if (step.is_early) DROVE_TRY(begin(r, worker));
    return end(r, worker);
}

/* A stretch begins at the first place that any worker has to do with. */
static drove_status find_place(drove_replay *r)
{
    r->place = UINT64_MAX;
    for (unsigned w = 0; w < r->loop->plan->n_workers; w++) {
        replayed_worker *v = &r->worker[w];
        DROVE_TRY(read_ahead(r, w, 1));
        if (v->n == 0) continue;
        const drove_recorded *step = step_at(v, 0);
        uint64_t first = step->is_early || step->is_settling ? step->order : view_of(r, w);
        if (first < r->place) r->place = first;
    }
    return DROVE_OK;
}

/* All that can be done before the next place. */
static drove_status advance_all(drove_replay *r)
{
    for (bool again = true; again;) {
        bool any_waits = false, any_goes_on = false;
        for (unsigned w = 0; w < r->loop->plan->n_workers; w++) {
            bool waits;
            DROVE_TRY(advance(r, w, &waits, &any_goes_on));
            any_waits = any_waits || waits;
        }
        again = any_waits && any_goes_on; /* the window may come now */
    }
    return DROVE_OK;
}

/* False: the stretch is over. */
static bool go_on(drove_replay *r, drove_status *status)
{
    const drove_loop *loop = r->loop;
    const unsigned n = loop->plan->n_workers;
    *status = advance_all(r);
    bool all_have_ended = true;
    for (unsigned i = 0; i < n; i++) all_have_ended &= r->worker[i].has_ended;
    if (*status != DROVE_OK || all_have_ended) return false;
    r->is_cut = is_enough(r);
    if (r->is_cut || r->is_halted || atomic_load(&loop->ending.halted)) return false;
    unsigned next = next_worker(r);
    if (next == n) {
        for (next = 0; r->worker[next].has_ended; next++) continue;
        *status = fail_order(r, next, step_at(&r->worker[next], 0));
        return false;
    }
    *status = publish(r, next);
    return *status == DROVE_OK;
}

/* ---- the host ---- */

static drove_status init(drove_host *h)
{
    drove_replay *r = h->impl = h->opt.replay;
    r->loop = h->loop;
    r->worker = drove__alloc(h->loop->plan->n_workers, sizeof *r->worker);
    return r->worker != NULL ? DROVE_OK : drove__fail_nomem("a replay", sizeof *r->worker);
}

/* The caller's thread stays where it is; of its settings one stays changed: products of the library
 * use one thread (drovek_thread_init). */
static drove_status start(drove_host *h)
{
    drove_status status = DROVE_OK;
    uint64_t before = drove__denormals_flush();
    drovek_thread_init();
    for (unsigned w = 0; w < h->loop->plan->n_workers && status == DROVE_OK; w++)
        status = drove__worker_make(&h->loop->worker[w]);
    drove__denormals_restore(before);
    return status;
}

/* Other commands are carried out at once; training goes on in wait. */
static void go(drove_host *h, drove_command command)
{
    drove_replay *r = h->impl;
    r->is_training = command == DROVE_DO_TRAIN;
    r->is_cut = r->is_halted = false;
    if (r->is_training) {
        for (unsigned w = 0; w < h->loop->plan->n_workers; w++)
            drove__order_cursor_init(&h->loop->worker[w].cursor);
        r->status = find_place(r);
        return;
    }
    uint64_t before = drove__denormals_flush();
    for (unsigned w = 0; w < h->loop->plan->n_workers; w++)
        (void)drove__worker_obey(&h->loop->worker[w], command);
    drove__denormals_restore(before);
}

static bool wait(drove_host *h, uint64_t until_ns)
{
    drove_replay *r = h->impl;
    drove_status status = DROVE_OK;
    if (!r->is_training) return true;
    uint64_t before = drove__denormals_flush();
    bool goes_on = r->status == DROVE_OK;
    if (!goes_on) status = r->status;
    while (goes_on && drove__clock_now(h->loop->clock) < until_ns) goes_on = go_on(r, &status);
    drove__denormals_restore(before);
    drove_worker *w = &h->loop->worker[0]; /* it keeps the error of them all */
    if (status != DROVE_OK && w->status == DROVE_OK) drove__worker_fail(w, status);
    r->is_training = goes_on;
    return !goes_on;
}

static drove_status status(const drove_host *h)
{
    const drove_worker *w = &h->loop->worker[0];
    return w->status == DROVE_OK ? DROVE_OK : drove__fail(w->status, "%s", w->error);
}

static unsigned n_left(const drove_host *h)
{
    return h->loop->plan->n_workers;
}

static void silence(drove_host *h, unsigned worker)
{
    (void)h, (void)worker; /* nobody waits for it */
}

static bool stop(drove_host *h)
{
    for (unsigned w = 0; w < h->loop->plan->n_workers; w++)
        drove__worker_leave(&h->loop->worker[w]);
    return true;
}

static void fini(drove_host *h)
{
    drove_replay *r = h->impl;
    if (r == NULL) return;
    drove__free(r->worker);
    r->worker = NULL;
}

const drove_host_ops drove__host_replay = {
    .name = "replay",
    .help = "steps of recorded workers, one after the other, on the caller's thread",
    .init = init,
    .start = start,
    .go = go,
    .wait = wait,
    .status = status,
    .n_left = n_left,
    .silence = silence,
    .stop = stop,
    .fini = fini,
};
