/* run/group.c - a leader: takes orders from the coordinator, has its threads or its device carry
 * them out, and asks for more; see crew.h.
 *
 * Source: Ma and Rusu, Algorithm 2, ExecuteWork.  Cores: the batch is split into sub-batches, and
 * each thread steps for itself (HOGWILD!), or all compute one gradient, which the leader publishes.
 * Device: the gradient of the whole batch, while the examples of the next one are being copied.
 */
#include "run/run.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

/* ---- talking ---- */

bool drove__group_leads(const drove_worker *w)
{
    return w->group != NULL && w->index == w->group->first;
}

static void next_task(drove_group *g, drove_task *out)
{
    if (!g->has_ahead) {
        (void)drove__queue_get(g->inbox, out, UINT64_MAX);
        return;
    }
    *out = g->ahead;
    g->has_ahead = false;
}

/* The order after this one, if it is there already; it stays to be taken. */
static const drove_task *peek_task(drove_group *g)
{
    if (!g->has_ahead) g->has_ahead = drove__queue_try_get(g->inbox, &g->ahead);
    return g->has_ahead ? &g->ahead : NULL;
}

static drove_coord_message done_message(const drove_group *g, const drove_coord_action *a)
{
    return (drove_coord_message){.verb = DROVE_COORD_SCHEDULE, .worker = g->index, .id = a->id};
}

static void send(drove_group *g, const drove_coord_message *message)
{
    drove_request request = {.verb = DROVE_REQUEST_MESSAGE, .message = *message};
    drove__queue_put(g->run->crew.requests, &request);
}

static drove_range slice(drove_range whole, unsigned i, unsigned n)
{
    uint64_t first = whole.n * i / n, end = whole.n * (i + 1) / n;
    return (drove_range){.first = whole.first + first, .n = end - first};
}

/* ---- any thread of a group ---- */

static drove_batch take_rows(drove_worker *w, drove_range range, uint64_t id)
{
    drove_run *run = w->run;
    drove__batcher_span(&run->batcher, &w->cursor, range.first, (size_t)range.n, w->row);
    return (
        drove_batch){.data = run->train, .row = w->row, .n_rows = (size_t)range.n, .number = id};
}

/* Step size of a (sub-)batch: section 6.2. */
static float eta_of(const drove_run *run, drove_range range)
{
    const drove_crew *crew = &run->crew;
    double epoch = (double)range.first / (double)run->train->n_rows;
    double factor = drove__method_lr_factor(&crew->method, (size_t)range.n, (size_t)run->opt.batch);
    return (float)((double)drove__optim_eta(run->optim, epoch) * factor);
}

uint64_t drove__group_timeout_ns(const drove_group *g)
{
    return g->plan->timeout_s > 0.0 ? (uint64_t)(g->plan->timeout_s * 1e9) : UINT64_MAX;
}

static drove_status score_batch(drove_worker *w, const float *theta, const drove_batch *batch,
                                drove_score *score)
{
    const drove_engine_ops *ops = w->engine_ops;
    if (ops->submit == NULL) return ops->score(w->engine, theta, batch, score);
    DROVE_TRY(ops->submit(w->engine, theta, batch, false));
    return ops->collect(w->engine, NULL, score, NULL, drove__group_timeout_ns(w->group));
}

static drove_status score_rows(drove_worker *w, drove_range range, drove_score *score)
{
    const drove_scoring *sc = &w->run->scoring;
    const size_t most = w->group->engine_rows;
    for (uint64_t done = 0; done < range.n;) {
        size_t n = range.n - done < most ? (size_t)(range.n - done) : most;
        for (size_t i = 0; i < n; i++)
            w->row[i] = (uint32_t)((range.first + done + i) * sc->data->n_rows / sc->n_rows);
        drove_batch batch = {.data = sc->data, .row = w->row, .n_rows = n};
        DROVE_TRY(score_batch(w, sc->theta, &batch, score));
        done += n;
    }
    return DROVE_OK;
}

/* ---- cores: lanes ---- */

/* This thread's part of the mean of all lanes' gradients, into the leader's. */
static void sum_part(drove_worker *w, drove_range part)
{
    const drove_group *g = w->group;
    float *to = w->run->worker[g->first].grad + part.first;
    for (unsigned i = 0; i < g->n_threads; i++) {
        const drove_worker *lane = &w->run->worker[g->first + i];
        const float *from = lane->grad + part.first;
        if (lane->lane_share <= 0.0f) continue;
        if (i == 0) w->run->kernels.scale_f32(to, part.n, lane->lane_share);
        else w->run->kernels.axpy_f32(to, from, part.n, lane->lane_share);
    }
}

static drove_status lane_gradient(drove_worker *w, drove_range range, uint64_t id)
{
    drove_batch batch = take_rows(w, range, id);
    return drove__worker_gradient(w, &batch);
}

/* Algorithm 2, lines 1 to 5: one sub-batch after the other, whoever is free takes the next. */
static drove_status lane_steps(drove_worker *w, const drove_lane_job *job)
{
    for (;;) {
        uint64_t i = atomic_fetch_add_explicit(&w->group->n_taken, 1, memory_order_relaxed);
        uint64_t first = i * job->each;
        if (first >= job->range.n) return DROVE_OK;
        drove_range range = {.first = job->range.first + first, .n = job->range.n - first};
        if (range.n > job->each) range.n = job->each;
        drove_batch batch = take_rows(w, range, job->id);
        DROVE_TRY(drove__worker_step(w, &batch, eta_of(w->run, range)));
    }
}

static drove_status do_lane(drove_worker *w, const drove_lane_job *job, drove_score *score)
{
    switch (job->verb) {
    case DROVE_LANE_STEP: return lane_steps(w, job);
    case DROVE_LANE_GRADIENT: return lane_gradient(w, job->range, job->id);
    case DROVE_LANE_SUM: sum_part(w, job->range); return DROVE_OK;
    case DROVE_LANE_SCORE: return score_rows(w, job->range, score);
    case DROVE_LANE_END: break;
    }
    return DROVE_OK;
}

void drove__group_lane(drove_worker *w)
{
    drove_lane_job job;
    drove__cursor_init(&w->cursor, &w->run->batcher);
    for (;;) {
        (void)drove__queue_get(w->jobs, &job, UINT64_MAX);
        if (job.verb == DROVE_LANE_END) return;
        drove_lane_done done = {0};
        done.status = do_lane(w, &job, &done.score);
        if (done.status != DROVE_OK) drove__worker_keep_error(w, done.status);
        drove__queue_put(w->group->done, &done);
    }
}

/* Has `n` threads do a slice each of the range (STEP: what they take of it), the leader the first;
 * the first failure, the sum of the scores. */
static drove_status all_lanes(drove_worker *w, unsigned n, drove_lane_job job, drove_score *score)
{
    drove_group *g = w->group;
    drove_range whole = job.range;
    drove_score mine = {0};
    for (unsigned i = 1; i < n; i++) {
        if (job.verb != DROVE_LANE_STEP) job.range = slice(whole, i, n);
        drove__queue_put(w->run->worker[g->first + i].jobs, &job);
    }
    if (job.verb != DROVE_LANE_STEP) job.range = slice(whole, 0, n);
    drove_status status = do_lane(w, &job, &mine);
    if (score != NULL) drove__score_add(score, &mine);
    for (unsigned i = 1; i < n; i++) {
        drove_lane_done done;
        (void)drove__queue_get(g->done, &done, UINT64_MAX);
        if (status == DROVE_OK) status = done.status;
        if (score != NULL) drove__score_add(score, &done.score);
    }
    return status;
}

static void end_lanes(drove_worker *w)
{
    const drove_lane_job end = {.verb = DROVE_LANE_END};
    for (unsigned i = 1; i < w->group->n_threads; i++)
        drove__queue_put(w->run->worker[w->group->first + i].jobs, &end);
}

/* ---- cores: orders ---- */

static void add_busy(drove_worker *w, uint64_t begin, uint64_t end)
{
    const drove_crew *crew = &w->run->crew;
    drove__timeline_add(&w->group->busy, crew->clock_ns + (begin - crew->started_ns),
                        crew->clock_ns + (end - crew->started_ns));
}

static unsigned lanes_for(const drove_group *g, uint64_t n_rows)
{
    return n_rows < g->n_threads ? (unsigned)n_rows : g->n_threads;
}

static drove_status one_gradient(drove_worker *w, const drove_coord_action *a, unsigned n_lanes)
{
    drove_run *run = w->run;
    const drove_group *g = w->group;
    for (unsigned i = 0; i < g->n_threads; i++) {
        uint64_t rows = i < n_lanes ? slice(a->range, i, n_lanes).n : 0;
        run->worker[g->first + i].lane_share = (float)rows / (float)a->range.n;
    }
    DROVE_TRY(all_lanes(
        w, n_lanes, (drove_lane_job){.verb = DROVE_LANE_GRADIENT, .range = a->range, .id = a->id},
        NULL));
    const drove_range all = {.n = run->optim->n};
    DROVE_TRY(all_lanes(w, n_lanes, (drove_lane_job){.verb = DROVE_LANE_SUM, .range = all}, NULL));
    return drove__worker_publish_gradient(w, (size_t)a->range.n, eta_of(run, a->range));
}

/* Every thread steps for itself.  The range may be several batches: then no thread waits for the
 * others between them. */
static drove_status steps_of_each(drove_worker *w, const drove_coord_action *a, uint64_t *n_updates)
{
    drove_group *g = w->group;
    uint64_t each = (a->batch + g->n_threads - 1) / g->n_threads;
    drove_lane_job job = {.verb = DROVE_LANE_STEP, .range = a->range, .each = each, .id = a->id};
    *n_updates = (a->range.n + each - 1) / each;
    atomic_store_explicit(&g->n_taken, 0, memory_order_relaxed); /* the queues order it */
    return all_lanes(w, lanes_for(g, *n_updates), job, NULL);
}

static drove_status train_cores(drove_worker *w, const drove_coord_action *a)
{
    drove_group *g = w->group;
    uint64_t begin = drove__now_ns();
    drove_coord_message done = done_message(g, a);
    if (g->plan->one_gradient) {
        done.n_updates = 1;
        DROVE_TRY(one_gradient(w, a, lanes_for(g, a->range.n)));
    } else {
        DROVE_TRY(steps_of_each(w, a, &done.n_updates));
    }
    add_busy(w, begin, drove__now_ns());
    send(g, &done);
    return DROVE_OK;
}

static drove_status score_group(drove_worker *w, const drove_coord_action *a)
{
    drove_group *g = w->group;
    drove_coord_message done = done_message(g, a);
    drove_lane_job job = {.verb = DROVE_LANE_SCORE, .range = a->range};
    DROVE_TRY(all_lanes(w, lanes_for(g, a->range.n), job, &done.score));
    send(g, &done);
    return DROVE_OK;
}

/* ---- device: orders ---- */

static void stage_next(drove_worker *w)
{
    drove_group *g = w->group;
    if (g->engine_ops->stage == NULL) return;
    const drove_task *next = peek_task(g);
    if (next == NULL || next->verb != DROVE_TASK_EXECUTE || next->action.job != DROVE_JOB_TRAIN ||
        next->action.range.n > g->engine_rows)
        return;
    drove_batch batch = take_rows(w, next->action.range, next->action.id);
    (void)g->engine_ops->stage(w->engine, &batch); /* what fails here fails again at submit */
}

/* Gradient of a batch into w->grad. */
static drove_status device_gradient(drove_worker *w, const float *theta, const drove_batch *batch,
                                    bool is_last, drove_score *score, drove_engine_times *times)
{
    drove_group *g = w->group;
    drove_gradient grad = {.value = w->grad};
    if (g->engine_ops->submit == NULL)
        return g->engine_ops->gradient(w->engine, theta, batch, &grad, score, NULL, NULL);
    DROVE_TRY(g->engine_ops->submit(w->engine, theta, batch, true));
    if (is_last) stage_next(w);
    return g->engine_ops->collect(w->engine, &grad, score, times, drove__group_timeout_ns(g));
}

/* A batch that is larger than what the device holds: the mean of its pieces' gradients. */
static drove_status gradient_in_pieces(drove_worker *w, const float *theta,
                                       const drove_coord_action *a, drove_score *score,
                                       drove_engine_times *times)
{
    drove_group *g = w->group;
    drove_run *run = w->run;
    const size_t n_params = run->optim->n;
    for (uint64_t done = 0; done < a->range.n;) {
        uint64_t n = a->range.n - done < g->engine_rows ? a->range.n - done : g->engine_rows;
        drove_batch batch =
            take_rows(w, (drove_range){.first = a->range.first + done, .n = n}, a->id);
        DROVE_TRY(device_gradient(w, theta, &batch, false, score, times));
        if (done == 0) memset(g->sum, 0, n_params * sizeof *g->sum);
        run->kernels.axpy_f32(g->sum, w->grad, n_params, (float)n / (float)a->range.n);
        done += n;
    }
    run->kernels.copy_f32(w->grad, g->sum, n_params);
    return DROVE_OK;
}

typedef struct device_batch { /* that is about to be published */
    drove_step step;
    drove_engine_times times;
    uint64_t n_rows, begin_ns;
    double loss;
    drove_coord_message done;
} device_batch;

/* What a batch of a device has cost; by a leader whose group is not lost. */
static void record(drove_worker *w, const device_batch *b, const drove_publish_info *info)
{
    drove_engine_times *sum = &w->group->times;
    uint64_t now = drove__now_ns();
    sum->copy_ns += b->times.copy_ns;
    sum->compute_ns += b->times.compute_ns;
    sum->hidden_ns += b->times.hidden_ns;
    sum->wait_ns += b->times.wait_ns;
    w->trace.phase_ns[DROVE_PHASE_BACKWARD] += b->times.compute_ns;
    w->trace.phase_ns[DROVE_PHASE_EXCHANGE] += b->times.copy_ns - b->times.hidden_ns;
    w->trace.busy_ns += now - b->begin_ns;
    add_busy(w, b->begin_ns, now);
    drove__worker_count(w, (size_t)b->n_rows, 1, info);
    drove__worker_check_finite(w, b->loss); /* what a lost device computes is nobody's affair */
}

/* The step of a device into the parameters, what is known of it into the trace, and the message
 * that says so, together: nobody can take the batch away in between, and who has lost it writes
 * nothing. */
static drove_status publish_device(drove_worker *w, const device_batch *b)
{
    drove_run *run = w->run;
    drove_group *g = w->group;
    drove_publish_info info = {0};
    if (run->crew.method.by_coordinator) {
        DROVE_TRY(drove__crew_publish(w, &b->step, &b->done, &info));
        record(w, b, &info); /* no other batch is in hand: nothing to be late with */
        return DROVE_OK;
    }
    pthread_mutex_lock(&g->lock);
    bool is_ours = atomic_load(&g->fate) == DROVE_FATE_WORKING;
    drove_status status =
        is_ours ? run->sync->ops->publish(run->sync, w->index, &b->step, &info) : DROVE_E_SYSTEM;
    if (status == DROVE_OK) {
        record(w, b, &info);
        send(g, &b->done);
    }
    pthread_mutex_unlock(&g->lock);
    return status;
}

static drove_status train_device(drove_worker *w, const drove_coord_action *a)
{
    drove_run *run = w->run;
    drove_group *g = w->group;
    drove_sync *s = run->sync;
    drove_view view = {0};
    drove_score score = {0};
    device_batch b = {.n_rows = a->range.n,
                      .begin_ns = drove__now_ns(),
                      .done = done_message(g, a)};
    b.done.n_updates = 1;
    DROVE_TRY(s->ops->acquire(s, w->index, &view));
    const float *theta = drove__optim_theta(run->optim, &w->optim, view.vector);
    drove_status status;
    if (a->range.n <= g->engine_rows) {
        drove_batch batch = take_rows(w, a->range, a->id);
        status = device_gradient(w, theta, &batch, true, &score, &b.times);
    } else {
        status = gradient_in_pieces(w, theta, a, &score, &b.times);
    }
    if (status == DROVE_OK) {
        drove__optim_prepare(run->optim, &w->optim, view.vector, w->grad, NULL, 0,
                             eta_of(run, a->range), &b.step);
    }
    s->ops->release(s, w->index);
    DROVE_TRY(status);
    b.loss = score.loss;
    return publish_device(w, &b);
}

/* ---- the leader's loop ---- */

static drove_status execute(drove_worker *w, const drove_coord_action *a)
{
    if (a->job == DROVE_JOB_SCORE) return score_group(w, a);
    return w->group->device != NULL ? train_device(w, a) : train_cores(w, a);
}

bool drove__group_fail(drove_group *g, const drove_coord_message *failed)
{
    pthread_mutex_lock(&g->lock);
    bool is_first = atomic_load(&g->fate) == DROVE_FATE_WORKING;
    if (is_first) {
        drove__error_copy(g->error);
        atomic_store(&g->fate, DROVE_FATE_FAILED);
        if (failed != NULL) send(g, failed);
    }
    pthread_mutex_unlock(&g->lock);
    return is_first;
}

/* A lost device costs its batch, which others get; on cores it is the run that has failed.  false:
 * the coordinator had taken it off before. */
static bool give_up(drove_worker *w, drove_status status)
{
    drove_group *g = w->group;
    const drove_coord_message failed = {.verb = DROVE_COORD_FAILED, .worker = g->index};
    bool is_first = drove__group_fail(g, &failed);
    if (is_first && g->device == NULL) drove__worker_fail(w, status);
    return is_first;
}

static bool work(drove_worker *w)
{
    drove_group *g = w->group;
    drove_task task;
    drove__cursor_init(&w->cursor, &w->run->batcher);
    while (atomic_load(&g->fate) == DROVE_FATE_WORKING) {
        next_task(g, &task);
        if (task.verb == DROVE_TASK_PARK) break;
        drove_status status = execute(w, &task.action);
        if (status != DROVE_OK) return give_up(w, status);
    }
    return atomic_load(&g->fate) != DROVE_FATE_SILENT;
}

bool drove__group_work(drove_worker *w)
{
    bool parks = work(w);
    end_lanes(w);
    if (!parks) atomic_store(&w->group->has_ended, 1);
    return parks;
}
