/* run/crew.c - the coordinator's thread, and the groups as a whole; see crew.h.
 *
 * Source: Ma and Rusu, Figures 3 and 4.  What is decided is decided by coord/coord.c; here requests
 * are taken from the queue, actions put into the leaders' inboxes, and the training clock's share
 * of each stretch remembered for the time lines.
 */
#include "run/run.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INBOX = 16,        /* orders to one leader: at most depth, PARK and, to a silent one, another */
    REQUESTS_EACH = 8, /* of each thread: at most depth, a halt for each, a step and a failure */
    DEPTH = 2          /* the next batch is there, or being copied, while this one is computed */
};
static const uint64_t MOST_DEVICE_BATCH = 8192; /* Table 2 of the paper */
/* Of cores, in one assignment: long beside a message and beside waiting for the last thread. */
static const double CORE_STRETCH_S = 0.005;
static const uint64_t MOST_CORE_BATCH = 64; /* of each thread, Table 2 */

/* ---- opening ---- */

static drove_status init_group(drove_run *run, unsigned i, unsigned first)
{
    drove_crew *crew = &run->crew;
    drove_group *g = &crew->group[i];
    g->run = run;
    g->plan = &crew->plan.group[i];
    g->index = i;
    g->first = first;
    g->n_threads = g->plan->n_threads;
    g->engine_ops = &drove__engine_host;
    if (pthread_mutex_init(&g->lock, NULL) != 0)
        return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex");
    g->lock_is_made = true;
    DROVE_TRY(drove__queue_create(INBOX, sizeof(drove_task), &g->inbox));
    DROVE_TRY(drove__queue_create(g->n_threads, sizeof(drove_lane_done), &g->done));
    if (!g->plan->is_device) return DROVE_OK;
    drove_status status = drove__device_open(&g->plan->spec, &g->device);
    if (status != DROVE_OK) return drove__fail_in(status, "--workers %s", g->plan->name);
    g->engine_ops = g->device->engine;
    return DROVE_OK;
}

/* Threads of cores that were named stand there; a device's thread may run anywhere. */
static void place_threads(drove_run *run, const drove_group *g)
{
    for (unsigned k = 0; k < g->n_threads; k++) {
        drove_place *place = &run->place[g->first + k];
        *place = (drove_place){.pu = -1, .core = -1, .node = -1};
        if (g->plan->pu[k] >= 0) (void)drove__topo_find(run->topo, g->plan->pu[k], place);
        run->crew.is_deep[g->first + k] = g->device != NULL;
    }
}

drove_status drove__crew_open(drove_run *run)
{
    drove_crew *crew = &run->crew;
    drove_spec spec;
    DROVE_TRY(drove__spec_parse(run->plan.spec, &spec));
    drove_status status = drove__method_parse(&spec, &crew->method);
    drove__spec_fini(&spec);
    DROVE_TRY(status);
    DROVE_TRY(drove__crew_plan_parse(run->opt.workers, run->topo, run->plan.n_threads, false,
                                     &crew->plan));
    run->n_workers = crew->plan.n_threads;
    run->place = calloc(run->n_workers, sizeof *run->place);
    crew->is_deep = calloc(run->n_workers, sizeof *crew->is_deep);
    crew->group = drove__alloc(crew->plan.n_groups, sizeof *crew->group);
    if (run->place == NULL || crew->is_deep == NULL || crew->group == NULL)
        return drove__fail_nomem("workers", crew->plan.n_groups * sizeof *crew->group);
    for (unsigned i = 0, first = 0; i < crew->plan.n_groups; i++) {
        crew->n_groups = i + 1;
        DROVE_TRY(init_group(run, i, first));
        place_threads(run, &crew->group[i]);
        first += crew->group[i].n_threads;
    }
    return drove__queue_create((size_t)run->n_workers * REQUESTS_EACH + INBOX,
                               sizeof(drove_request), &crew->requests);
}

/* ---- batch sizes ---- */

static uint64_t at_least_1(uint64_t n)
{
    return n > 0 ? n : 1;
}

static uint64_t clamp(uint64_t n, uint64_t least, uint64_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Largest batch that one call of the group's engine will get; before there are engines. */
drove_status drove__crew_size_engines(drove_run *run)
{
    for (unsigned i = 0; i < run->crew.n_groups; i++) {
        drove_group *g = &run->crew.group[i];
        uint64_t most = g->device != NULL ? MOST_DEVICE_BATCH : MOST_CORE_BATCH;
        if (g->plan->most > most) most = g->plan->most;
        if (g->plan->batch > most) most = g->plan->batch;
        if (g->plan->least > most) most = g->plan->least;
        if (run->opt.batch > most) most = run->opt.batch;
        if (most > run->train->n_rows) most = run->train->n_rows;
        if (most < drove__run_score_rows(run)) most = drove__run_score_rows(run);
        g->engine_rows = (size_t)most;
        if (g->device == NULL || g->engine_ops->most_rows == NULL) continue;
        drove_engine_options opt = {.model = run->model,
                                    .kernels = &run->kernels,
                                    .data = run->train,
                                    .max_rows = g->engine_rows,
                                    .device = g->device};
        g->engine_rows = g->engine_ops->most_rows(&opt);
        if (g->engine_rows == 0) {
            return drove__fail(DROVE_E_ARG,
                               "--workers %s: expected memory for the model and one example, found "
                               "%llu bytes",
                               g->plan->name, (unsigned long long)g->device->facts.memory_bytes);
        }
    }
    return DROVE_OK;
}

/* Algorithm 1: the same b everywhere.  Else section 6: cores begin at their least, one example
 * each, devices at their most.  What was asked for of this group goes before what was not. */
static void settle_group(drove_run *run, drove_group *g)
{
    const drove_group_plan *p = g->plan;
    bool is_equal = run->crew.method.is_equal, is_device = g->device != NULL;
    uint64_t each = is_device ? 1 : g->n_threads, n = run->train->n_rows;
    uint64_t batch = p->batch * each;
    if (is_equal && batch == 0) batch = run->opt.batch;
    if (is_equal || !is_device) {
        g->least = is_equal ? batch : each;
        g->most = is_equal ? batch : each * MOST_CORE_BATCH;
    }
    if (p->least != 0) g->least = p->least * each;
    if (p->most != 0) g->most = p->most * each;
    if (batch == 0) batch = is_device ? g->most : g->least;
    if (p->most == 0 && g->least > g->most) g->most = g->least;
    if (p->most == 0 && batch > g->most) g->most = batch;
    if (p->least == 0 && batch < g->least) g->least = batch;
    g->most = clamp(g->most, 1, n);
    g->least = clamp(g->least, 1, g->most);
    g->batch = clamp(batch, g->least, g->most);
}

static drove_status make_coordinator(drove_run *run)
{
    drove_crew *crew = &run->crew;
    drove_coord_worker *worker = calloc(crew->n_groups, sizeof *worker);
    if (worker == NULL) return drove__fail_nomem("a coordinator", crew->n_groups * sizeof *worker);
    for (unsigned i = 0; i < crew->n_groups; i++) {
        const drove_group *g = &crew->group[i];
        bool steps_of_threads = g->device == NULL && !g->plan->one_gradient;
        worker[i] = (drove_coord_worker){
            .batch = g->batch,
            .least = g->least,
            .most = g->most,
            .most_score = at_least_1((uint64_t)g->engine_rows * g->n_threads),
            .depth = crew->method.by_coordinator ? 1 : DEPTH,
            .survival = steps_of_threads ? crew->method.beta : 1.0,
            .stretch_s = steps_of_threads ? CORE_STRETCH_S : 0.0,
            /* twice: the engine's own word comes first */
            .timeout_s = 2.0 * g->plan->timeout_s,
        };
        snprintf(worker[i].name, sizeof worker[i].name, "%s", g->plan->name);
    }
    const drove_coord_options opt = {.policy = crew->method.policy,
                                     .alpha = crew->method.alpha,
                                     .utilisation = crew->method.utilisation,
                                     .fit_tail = crew->method.fit_tail,
                                     .n_rows = run->train->n_rows,
                                     .n_workers = crew->n_groups,
                                     .worker = worker};
    drove_status status = drove__coord_create(&opt, &crew->coord);
    free(worker);
    DROVE_TRY(status);
    size_t most = drove__coord_most_actions(crew->coord);
    crew->action = calloc(most, sizeof *crew->action);
    return crew->action != NULL ? DROVE_OK
                                : drove__fail_nomem("actions", most * sizeof *crew->action);
}

/* A silent group: whatever its leader does now, it will not publish, and it ends when it looks into
 * its inbox.  The caller holds its lock. */
static void silence(drove_run *run, drove_group *g)
{
    const drove_task parking = {.verb = DROVE_TASK_PARK};
    if (atomic_load(&g->fate) != DROVE_FATE_WORKING) return;
    snprintf(g->error, sizeof g->error, "no answer for %g s", 2.0 * g->plan->timeout_s);
    atomic_store(&g->fate, DROVE_FATE_SILENT);
    drove__queue_put(g->inbox, &parking);
    drove__gang_silence(run);
}

/* All devices measure; who has not come to an end long after its time-out is lost. */
static void probe_all(drove_run *run)
{
    drove_crew *crew = &run->crew;
    uint64_t start_ns = drove__now_ns();
    drove__gang_go(run, DROVE_DO_PROBE);
    for (unsigned i = 0; i < crew->n_groups; i++) {
        drove_group *g = &crew->group[i];
        double most_s = DROVE_PROBE_MOST_S + 2.0 * g->plan->timeout_s;
        if (g->plan->timeout_s <= 0.0 || most_s > 1e9) continue;
        if (drove__gang_wait(run, start_ns + (uint64_t)(most_s * 1e9))) return;
        pthread_mutex_lock(&g->lock);
        if (!g->is_measured) silence(run, g);
        pthread_mutex_unlock(&g->lock);
    }
    drove__gang_wait(run, UINT64_MAX);
}

/* To the coordinator: those that were lost while they measured. */
static void retire_lost(drove_run *run)
{
    drove_crew *crew = &run->crew;
    for (unsigned i = 0; i < crew->n_groups; i++) {
        const drove_coord_message failed = {.verb = DROVE_COORD_FAILED, .worker = i};
        size_t n;
        if (atomic_load(&crew->group[i].fate) == DROVE_FATE_WORKING) continue;
        drove__coord_handle(crew->coord, &failed, drove__now_ns(), crew->action, &n);
        crew->last_lost = i;
    }
}

drove_status drove__crew_settle(drove_run *run)
{
    drove_crew *crew = &run->crew;
    bool probes = false;
    for (unsigned i = 0; i < crew->n_groups; i++) {
        drove_group *g = &crew->group[i];
        bool is_known = g->plan->least != 0 && g->plan->most != 0;
        g->is_measured = g->device == NULL || is_known || crew->method.is_equal;
        probes |= !g->is_measured;
    }
    if (probes) probe_all(run);
    DROVE_TRY(drove__gang_status(run));
    for (unsigned i = 0; i < crew->n_groups; i++) settle_group(run, &crew->group[i]);
    DROVE_TRY(make_coordinator(run));
    retire_lost(run);
    drove__crew_tell(run);
    return DROVE_OK;
}

void drove__crew_close(drove_run *run)
{
    drove_crew *crew = &run->crew;
    for (unsigned i = 0; i < crew->n_groups; i++) {
        drove_group *g = &crew->group[i];
        drove__queue_destroy(g->inbox);
        drove__queue_destroy(g->done);
        drove__device_close(g->device);
        drove__free(g->sum);
        if (g->lock_is_made) pthread_mutex_destroy(&g->lock);
    }
    drove__queue_destroy(crew->requests);
    drove__coord_destroy(crew->coord);
    drove__free(crew->group);
    free(crew->is_deep);
    free(crew->action);
    drove__crew_plan_fini(&crew->plan);
}

/* ---- any thread ---- */

void drove__crew_halt(drove_run *run)
{
    drove_request request = {.message = {.verb = DROVE_COORD_HALT}};
    (void)drove__queue_try_put(run->crew.requests, &request); /* REQUESTS_EACH: there is room */
}

drove_status drove__crew_publish(drove_worker *w, const drove_step *step,
                                 const drove_coord_message *done, drove_publish_info *info)
{
    drove_request request = {.verb = DROVE_REQUEST_PUBLISH,
                             .message = *done,
                             .publisher = w,
                             .step = step,
                             .info = info};
    drove__queue_put(w->run->crew.requests, &request);
    while (sem_wait(&w->answered) != 0) continue; /* a signal handler may have run */
    return w->answer;
}

bool drove__crew_has_undone(const drove_run *run)
{
    const drove_range *undone;
    return run->crew.n_groups > 0 && drove__coord_undone(run->crew.coord, &undone) > 0;
}

drove_status drove__crew_status(const drove_run *run)
{
    if (!atomic_load(&run->crew.deserted)) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "no worker is left of %u: the last one said: %s",
                       run->crew.n_groups, run->crew.group[run->crew.last_lost].error);
}

void drove__crew_tell(drove_run *run)
{
    for (unsigned i = 0; i < run->crew.n_groups; i++) {
        drove_group *g = &run->crew.group[i];
        if (g->error_is_told || atomic_load(&g->fate) == DROVE_FATE_WORKING) continue;
        pthread_mutex_lock(&g->lock); /* behind who is writing the text */
        pthread_mutex_unlock(&g->lock);
        g->error_is_told = true;
        drove__run_say(run, "worker %s is lost, its batch goes to others: %s", g->plan->name,
                       g->error);
    }
}

/* ---- the coordinator's thread ---- */

static void hand(const drove_group *g, const drove_task *task)
{
    drove__queue_put(g->inbox, task);
}

static void park(drove_run *run)
{
    const drove_task parking = {.verb = DROVE_TASK_PARK};
    for (unsigned i = 0; i < run->crew.n_groups; i++) {
        const drove_group *g = &run->crew.group[i];
        if (atomic_load(&g->fate) == DROVE_FATE_WORKING) hand(g, &parking);
    }
}

/* true: parked. */
static bool carry_out(drove_run *run, const drove_coord_action *a)
{
    drove_crew *crew = &run->crew;
    switch (a->verb) {
    case DROVE_COORD_EXECUTE:
        hand(&crew->group[a->worker], &(drove_task){.verb = DROVE_TASK_EXECUTE, .action = *a});
        return false;
    case DROVE_COORD_RETIRE:
        crew->last_lost = a->worker;
        if (a->is_silent) silence(run, &crew->group[a->worker]);
        return false;
    case DROVE_COORD_DESERTED: atomic_store(&crew->deserted, 1); break;
    case DROVE_COORD_PARKED: break;
    }
    park(run);
    return true;
}

static bool handle(drove_run *run, const drove_coord_message *message)
{
    drove_crew *crew = &run->crew;
    size_t n;
    bool parked = false;
    drove__coord_handle(crew->coord, message, drove__now_ns(), crew->action, &n);
    for (size_t i = 0; i < n; i++) parked |= carry_out(run, &crew->action[i]);
    return parked;
}

/* Synchronous updates, section 5.1: one after the other, in the order in which they come. */
static void apply(drove_run *run, const drove_request *request)
{
    drove_worker *w = request->publisher;
    bool is_ours = atomic_load(&w->group->fate) == DROVE_FATE_WORKING;
    w->answer = is_ours ? run->sync->ops->publish(run->sync, w->index, request->step, request->info)
                        : DROVE_E_SYSTEM;
    sem_post(&w->answered);
}

static bool take(drove_run *run, const drove_request *request)
{
    if (request->verb == DROVE_REQUEST_PUBLISH) {
        apply(run, request);
        if (request->message.id == 0) return false;
    }
    return handle(run, &request->message);
}

/* Has a group been silent for too long?  No group publishes meanwhile, and what any of them has
 * said by now is heard first. */
static bool tick(drove_run *run)
{
    drove_crew *crew = &run->crew;
    const drove_coord_message message = {.verb = DROVE_COORD_TICK};
    drove_request request;
    bool parked = false;
    for (unsigned i = 0; i < crew->n_groups; i++) pthread_mutex_lock(&crew->group[i].lock);
    while (!parked && drove__queue_try_get(crew->requests, &request)) parked = take(run, &request);
    if (!parked) parked = handle(run, &message);
    for (unsigned i = crew->n_groups; i-- > 0;) pthread_mutex_unlock(&crew->group[i].lock);
    return parked;
}

static drove_coord_message opening(drove_run *run, drove_job job)
{
    drove_crew *crew = &run->crew;
    drove_coord_message m = {.verb = DROVE_COORD_OPEN, .job = job, .most_updates = UINT64_MAX};
    if (job == DROVE_JOB_SCORE) {
        m.limit = run->scoring.n_rows;
        return m;
    }
    m.limit = atomic_load(&run->batcher.limit);
    if (crew->most_updates != UINT64_MAX) {
        uint64_t published = atomic_load(&run->sync->published);
        m.most_updates = crew->most_updates > published ? crew->most_updates - published : 0;
    }
    crew->clock_ns = run->standing.train_ns;
    crew->started_ns = drove__now_ns();
    return m;
}

void drove__crew_clear(drove_run *run)
{
    drove_request request;
    while (drove__queue_try_get(run->crew.requests, &request))
        if (request.verb == DROVE_REQUEST_PUBLISH) apply(run, &request); /* refused: it is lost */
}

void drove__crew_coordinate(drove_run *run, drove_job job)
{
    drove_crew *crew = &run->crew;
    drove_request request;
    drove_coord_message open = opening(run, job);
    bool parked = handle(run, &open);
    while (!parked) {
        uint64_t deadline = drove__coord_deadline(crew->coord);
        parked =
            drove__queue_get(crew->requests, &request, deadline) ? take(run, &request) : tick(run);
    }
    if (job == DROVE_JOB_TRAIN) atomic_store(&run->batcher.next, drove__coord_next(crew->coord));
}
