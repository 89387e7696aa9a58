/* run/worker.c - the one loop that every worker runs, whatever the strategy.
 *
 *     batch = claim;  view = acquire;  g = gradient(view);  step = prepare(g);  release;
 *     publish(step);  trace
 *
 * Clock readings per step: eight of about 25 ns each, three of them the engine's; nothing
 * allocates, prints or locks here but the strategy itself.
 */
#include "run/run.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A lane's or a leader's own, and the engine that its group computes with. */
static drove_status join_group(drove_worker *w, drove_engine_options *opt)
{
    drove_group *g = w->group;
    size_t n_params = w->run->optim->n;
    w->engine_ops = g->engine_ops;
    opt->max_rows = g->engine_rows;
    opt->device = g->device;
    if (!drove__group_leads(w))
        return drove__queue_create(DROVE_LANE_JOBS, sizeof(drove_lane_job), &w->jobs);
    bool in_pieces = g->device != NULL && w->run->opt.batch > g->engine_rows;
    in_pieces |=
        g->device != NULL && (g->plan->batch > g->engine_rows || g->plan->most > g->engine_rows ||
                              g->plan->least > g->engine_rows);
    if (!in_pieces) return DROVE_OK;
    g->sum = drove__alloc(n_params, sizeof *g->sum);
    return g->sum != NULL ? DROVE_OK
                          : drove__fail_nomem("a gradient in pieces", n_params * sizeof *g->sum);
}

drove_status drove__worker_alloc(drove_worker *w)
{
    drove_run *run = w->run;
    if (!run->use_live && run->devices.n == 0) { /* those are lent their gradient */
        w->grad = drove__alloc(run->optim->n, sizeof *w->grad);
        if (w->grad == NULL)
            return drove__fail_nomem("a gradient", run->optim->n * sizeof *w->grad);
    }
    return drove__optim_worker_init(&w->optim, run->optim);
}

drove_status drove__worker_setup(drove_worker *w)
{
    drove_run *run = w->run;
    DROVE_TRY(drove__topo_bind_self(run->topo, &run->place[w->index]));
    drovek_thread_init();
    size_t rows = drove__run_score_rows(run);
    if (run->batcher.batch > rows) rows = run->batcher.batch;
    drove_engine_options opt = {.model = run->model,
                                .kernels = &run->kernels,
                                .data = run->train,
                                .max_rows = rows,
                                .rows = run->update_rows,
                                .seed = run->opt.seed,
                                .shared = run->shared};
    w->engine_ops = run->engine_ops;
    if (w->group != NULL) DROVE_TRY(join_group(w, &opt));
    if (run->devices.n > 0) drove__devices_engine(w, &opt);
    drove__ranks_engine(w, &opt);
    DROVE_TRY(drove__partition_join(w, &opt));
    w->row = drove__alloc(opt.max_rows, sizeof *w->row);
    if (w->row == NULL) return drove__fail_nomem("rows of a batch", opt.max_rows * sizeof *w->row);
    if (run->procs == NULL) DROVE_TRY(drove__worker_alloc(w)); /* else it is there */
    if (run->loader != NULL) DROVE_TRY(drove__loader_join(run->loader, w->index));
    return w->engine_ops->create(&opt, &w->engine);
}

void drove__worker_fini(drove_worker *w)
{
    if (w->engine != NULL) w->engine_ops->destroy(w->engine);
    drove__optim_worker_fini(&w->optim);
    drove__queue_destroy(w->jobs);
    drove__free(w->grad);
    drove__free(w->row);
    w->jobs = NULL;
    w->engine = NULL;
    w->grad = NULL;
    w->row = NULL;
}

void drove__run_halt(drove_run *run)
{
    if (run->ranks.n > 1) {
        atomic_store(&run->transport->halt_wished, 1);
        return;
    }
    drove__batcher_halt(&run->batcher);
    if (run->crew.n_groups > 0) drove__crew_halt(run);
}

void drove__worker_keep_error(drove_worker *w, drove_status status)
{
    w->status = status;
    drove__error_copy(w->error);
}

void drove__worker_fail(drove_worker *w, drove_status status)
{
    drove__worker_keep_error(w, status);
    atomic_store(&w->run->halted, 1);
    drove__run_halt(w->run);
    if (w->run->sync->ops->stop != NULL) w->run->sync->ops->stop(w->run->sync);
}

/* A batch whose loss is not finite ends the run: the thesis's "crashed". */
void drove__worker_check_finite(drove_worker *w, double loss)
{
    if (isfinite(loss)) return;
    atomic_store(&w->run->nonfinite, 1);
    drove__run_halt(w->run);
}

void drove__worker_count(drove_worker *w, size_t n_rows, uint64_t n_steps,
                         const drove_publish_info *info)
{
    drove_trace_worker *t = &w->trace;
    t->steps += n_steps;
    t->attempts += info->attempts;
    t->dropped += info->dropped;
    atomic_store_explicit(&t->examples,
                          atomic_load_explicit(&t->examples, memory_order_relaxed) + n_rows,
                          memory_order_relaxed);
    if (info->dropped) return;
    atomic_store_explicit(&t->updates,
                          atomic_load_explicit(&t->updates, memory_order_relaxed) + n_steps,
                          memory_order_relaxed);
    drove__hist_add_many(&t->staleness, info->staleness, n_steps);
}

/* Gradient and publication as one pass over the shared parameters (plain SGD only). */
static drove_status step_live(drove_worker *w, const drove_batch *batch, float eta)
{
    drove_run *run = w->run;
    drove_sync *s = run->sync;
    uint64_t *phase = w->trace.phase_ns;
    drove_view view = {0};
    drove_score score = {0};
    drove_publish_info info = {.attempts = 1};
    uint64_t t0 = drove__now_ns();
    float *theta = s->ops->live(s, w->index, &view);
    DROVE_TRY(w->engine_ops->step_fused(w->engine, theta, batch, eta, &score));
    s->ops->live_done(s, w->index, 1, &info);
    uint64_t t1 = drove__now_ns();
    phase[DROVE_PHASE_BACKWARD] += t1 - t0;
    w->trace.busy_ns += t1 - t0;
    drove__worker_count(w, batch->n_rows, 1, &info);
    drove__worker_check_finite(w, score.loss);
    return DROVE_OK;
}

/* A turn of steps by an engine whose numbers the shared words are. */
static drove_status step_words(drove_worker *w, const drove_batch *batch, float eta)
{
    drove_run *run = w->run;
    drove_sync *s = run->sync;
    drove_view view = {0};
    drove_steps made;
    drove_publish_info info = {.attempts = 1};
    uint64_t t0 = drove__now_ns();
    uint32_t *words = (uint32_t *)s->ops->live(s, w->index, &view);
    DROVE_TRY(w->engine_ops->steps(w->engine, words, batch, eta, &made));
    s->ops->live_done(s, w->index, made.n_steps, &info);
    uint64_t t1 = drove__now_ns();
    w->trace.phase_ns[DROVE_PHASE_BACKWARD] += t1 - t0;
    w->trace.busy_ns += t1 - t0;
    w->trace.clamped += made.n_clamped;
    info.attempts += (uint32_t)made.n_steps - 1; /* one each, and the strategy's failed ones */
    drove__worker_count(w, batch->n_rows, made.n_steps, &info);
    if (!made.is_finite) drove__worker_check_finite(w, NAN);
    return DROVE_OK;
}

/* Before the workers are parked. */
static void settle(drove_worker *w)
{
    drove_run *run = w->run;
    drove_view view = {0};
    if (run->shared == NULL) return;
    uint32_t *words = (uint32_t *)run->sync->ops->live(run->sync, w->index, &view);
    w->engine_ops->settle(w->engine, words);
}

/* By this thread, or, where the method says so, by the coordinator's. */
static drove_status publish(drove_worker *w, const drove_step *step, drove_publish_info *info)
{
    drove_sync *s = w->run->sync;
    static const drove_coord_message none = {.id = 0};
    if (w->run->crew.n_groups > 0 && w->run->crew.method.by_coordinator)
        return drove__crew_publish(w, step, &none, info);
    return s->ops->publish(s, w->index, step, info);
}

/* It gets on: what tells one that hangs from one that has much to do. */
static void beat(drove_worker *w)
{
    uint64_t beats = atomic_load_explicit(&w->beats, memory_order_relaxed);
    atomic_store_explicit(&w->beats, beats + 1, memory_order_relaxed);
}

/* Acquire at[0] to at[1] and publish at[2] to at[3] of a strategy that exchanges: but for waiting
 * for a turn, and for the update, they are exchanging. */
static void count_exchange(drove_worker *w, const uint64_t at[4], const drove_view *view,
                           const drove_publish_info *info)
{
    uint64_t *phase = w->trace.phase_ns, published = at[3] - at[2];
    uint64_t update = info->update_ns < published ? info->update_ns : published;
    phase[DROVE_PHASE_WAIT] += view->wait_ns;
    phase[DROVE_PHASE_UPDATE] += update;
    phase[DROVE_PHASE_EXCHANGE] += at[1] - at[0] - view->wait_ns + published - update;
    w->traffic.bytes += info->bytes;
    w->traffic.messages += info->messages;
    w->traffic.hidden_ns += info->hidden_ns;
    w->traffic.centre_ns += info->centre_ns;
    if (info->distance > 0.0) w->traffic.distance = info->distance;
}

static drove_status step_published(drove_worker *w, const drove_batch *batch, float eta)
{
    drove_run *run = w->run;
    drove_sync *s = run->sync;
    uint64_t *phase = w->trace.phase_ns;
    drove_view view = {0};
    drove_score score = {0};
    drove_step step;
    drove_publish_info info = {0};
    drove_gradient grad = {.value = w->grad, .spans_wanted = run->spans_wanted};
    uint64_t forward_ns = 0, backward_ns = 0;

    uint64_t t0 = drove__now_ns();
    DROVE_TRY(s->ops->acquire(s, w->index, &view));
    uint64_t t1 = drove__now_ns();
    beat(w);
    float *lent = s->ops->gradient != NULL ? s->ops->gradient(s, w->index) : NULL;
    if (lent != NULL) grad.value = lent; /* publish will make the new parameters there */
    const float *theta = drove__optim_theta(run->optim, &w->optim, view.vector);
    drove_status status =
        w->engine_ops->gradient(w->engine, theta, batch, &grad, &score, &forward_ns, &backward_ns);
    uint64_t t2 = drove__now_ns();
    if (status == DROVE_OK) {
        drove__optim_prepare(run->optim, &w->optim, view.vector, grad.value, grad.span,
                             grad.n_spans, eta, &step);
    }
    s->ops->release(s, w->index);
    DROVE_TRY(status);
    drove__worker_check_finite(w, score.loss);
    beat(w);
    uint64_t t3 = drove__now_ns();
    DROVE_TRY(publish(w, &step, &info));
    uint64_t t4 = drove__now_ns();

    if (run->transport != NULL) {
        const uint64_t at[] = {t0, t1, t3, t4};
        count_exchange(w, at, &view, &info);
        phase[DROVE_PHASE_UPDATE] += t3 - t2 + (t2 - t1 - forward_ns - backward_ns);
        phase[DROVE_PHASE_FORWARD] += forward_ns;
        phase[DROVE_PHASE_BACKWARD] += backward_ns;
        w->trace.busy_ns += t4 - t0 - view.wait_ns - info.wait_ns;
        drove__worker_count(w, batch->n_rows, 1, &info);
        return DROVE_OK;
    }
    phase[DROVE_PHASE_WAIT] += view.wait_ns - view.backoff_ns + info.wait_ns - info.backoff_ns;
    phase[DROVE_PHASE_BACKOFF] += view.backoff_ns + info.backoff_ns;
    phase[DROVE_PHASE_ACQUIRE] += t1 - t0 - view.wait_ns;
    phase[DROVE_PHASE_FORWARD] += forward_ns;
    phase[DROVE_PHASE_BACKWARD] += backward_ns;
    phase[DROVE_PHASE_UPDATE] += t3 - t2 + (t2 - t1 - forward_ns - backward_ns);
    phase[DROVE_PHASE_PUBLISH] += t4 - t3 - info.wait_ns;
    w->trace.busy_ns += t4 - t0 - view.wait_ns - info.wait_ns;
    drove__worker_count(w, batch->n_rows, 1, &info);
    return DROVE_OK;
}

/* Batches of one example, where the strategy lends its vector to them: section 6.2's HOGWILD!. */
static bool is_live(const drove_worker *w, const drove_batch *batch)
{
    const drove_run *run = w->run;
    if (run->crew.n_groups == 0) return run->use_live;
    return batch->n_rows == 1 && run->sync->ops->live != NULL && run->optim->fusable &&
           w->engine_ops->step_fused != NULL && drove__model_fuses(run->model) &&
           !run->crew.method.by_coordinator;
}

drove_status drove__worker_step(drove_worker *w, const drove_batch *batch, float eta)
{
    if (w->run->shared != NULL) return step_words(w, batch, eta);
    if (w->run->devices.n > 0) return drove__device_step(w, batch, eta);
    return is_live(w, batch) ? step_live(w, batch, eta) : step_published(w, batch, eta);
}

/* The two halves of a step whose gradient several threads compute together. */
drove_status drove__worker_gradient(drove_worker *w, const drove_batch *batch)
{
    drove_run *run = w->run;
    drove_sync *s = run->sync;
    drove_view view = {0};
    drove_score score = {0};
    drove_gradient grad = {.value = w->grad};
    uint64_t *phase = w->trace.phase_ns;
    uint64_t start = drove__now_ns();
    DROVE_TRY(s->ops->acquire(s, w->index, &view));
    const float *theta = drove__optim_theta(run->optim, &w->optim, view.vector);
    drove_status status =
        w->engine_ops->gradient(w->engine, theta, batch, &grad, &score, &phase[DROVE_PHASE_FORWARD],
                                &phase[DROVE_PHASE_BACKWARD]);
    s->ops->release(s, w->index);
    DROVE_TRY(status);
    drove__worker_check_finite(w, score.loss);
    w->trace.busy_ns += drove__now_ns() - start;
    return DROVE_OK;
}

drove_status drove__worker_publish_gradient(drove_worker *w, size_t n_rows, float eta)
{
    drove_run *run = w->run;
    drove_sync *s = run->sync;
    drove_view view = {0};
    drove_step step;
    drove_publish_info info = {0};
    uint64_t start = drove__now_ns();
    DROVE_TRY(s->ops->acquire(s, w->index, &view));
    drove__optim_prepare(run->optim, &w->optim, view.vector, w->grad, NULL, 0, eta, &step);
    s->ops->release(s, w->index);
    DROVE_TRY(publish(w, &step, &info));
    uint64_t spent = drove__now_ns() - start;
    w->trace.phase_ns[DROVE_PHASE_PUBLISH] += spent;
    w->trace.busy_ns += spent;
    drove__worker_count(w, n_rows, 1, &info);
    return DROVE_OK;
}

void drove__worker_train(drove_worker *w)
{
    drove_run *run = w->run;
    drove_batch batch;
    drove_status status;
    uint64_t before = 0, started = drove__now_ns();
    for (int p = 0; p < DROVE_N_PHASES; p++) before += w->trace.phase_ns[p];
    drove__cursor_init(&w->cursor, &run->batcher);
    while (drove__worker_next(w, &batch, &status)) {
        beat(w);
        double epoch = drove__batcher_epochs(&run->batcher, batch.number);
        if (status == DROVE_OK)
            status = drove__worker_step(w, &batch, drove__optim_eta(run->optim, epoch));
        if (status != DROVE_OK) {
            if (!atomic_load(&run->halted)) drove__worker_fail(w, status);
            break;
        }
        /* Somebody wishes it, and all see it behind the same exchange. */
        if (run->ranks.n > 1 && atomic_load(&run->transport->halt_seen))
            drove__batcher_halt(&run->batcher);
    }
    settle(w);
    if (!atomic_load(&run->halted)) {
        status = drove__device_settle(w);
        if (status != DROVE_OK) drove__worker_fail(w, status);
    }
    uint64_t after = 0;
    for (int p = 0; p < DROVE_N_PHASES; p++) after += w->trace.phase_ns[p];
    uint64_t spent = drove__now_ns() - started, named = after - before;
    w->trace.phase_ns[DROVE_PHASE_OTHER] += spent > named ? spent - named : 0;
}

/* Takes chunks of the evaluation until none is left; chunk sums are added in chunk order by the
 * caller. */
void drove__worker_score(drove_worker *w)
{
    drove_run *run = w->run;
    drove_scoring *sc = &run->scoring;
    for (;;) {
        size_t chunk = atomic_fetch_add(&sc->next, 1);
        if (run->ranks.n > 1 && !sc->is_own) chunk = chunk * run->ranks.n + run->ranks.rank;
        beat(w);
        if (chunk >= sc->n_chunks) return;
        size_t first = chunk * sc->chunk_rows;
        size_t n = sc->n_rows - first < sc->chunk_rows ? sc->n_rows - first : sc->chunk_rows;
        for (size_t i = 0; i < n; i++) {
            w->row[i] = (uint32_t)((uint64_t)(first + i) * sc->data->n_rows / sc->n_rows);
        }
        drove_batch batch = {.data = sc->data, .row = w->row, .n_rows = n};
        memset(&sc->chunk[chunk], 0, sizeof sc->chunk[chunk]);
        drove_status status = w->engine_ops->score(w->engine, sc->theta, &batch, &sc->chunk[chunk]);
        if (status != DROVE_OK) {
            drove__worker_fail(w, status);
            return;
        }
    }
}
