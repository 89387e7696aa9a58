/* coord/assigned.c - the coordinator's thread, and the inboxes from which workers take batches.
 *
 * Source: Ma and Rusu, Figures 3 and 4, Algorithm 2.  Decisions are messages.c's; here requests are
 * taken from a queue, and actions put into the groups' inboxes.
 *
 * A group's inbox has one consumer at a time: the worker that holds `taking`.  It puts the next
 * assignment into a cell of a ring, and every worker of the group takes parts of it (Algorithm 2,
 * lines 1 to 5: sub-batches) by a compare-and-swap on `ticket`, which holds the assignment's number
 * and the next part.  A worker goes on with the next assignment while others finish the last one.
 * Who finishes the last part reports the assignment.  docs/memory-model.md, A16.
 */
#include "coord/assigned.h"

#include "coord/method.h"
#include "coord/queue.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INBOX = 16, /* messages to one group: at most depth, PARK and, to a silent one, another */
    REQUESTS_EACH = 8, /* of each worker: at most depth, a halt for each, a step and a failure */
    DEPTH = 2,         /* the next batch is there, or being copied, while this one is computed */
    CELLS = 4,         /* assignments of a group that may be open at once; above DEPTH */
    NUMBERS = 2        /* of a group in a saved state: counted updates and batch size */
};
/* Of cores, in one assignment: long beside a message and beside waiting for the last thread. */
static const double CORE_ASSIGNMENT_S = 0.005;

/* State of a group.  The first change from WORKING wins. */
typedef enum fate {
    FATE_WORKING,
    FATE_FAILED, /* by its own word: its worker still parks with the others */
    FATE_SILENT  /* given up by the coordinator: its worker never comes back */
} fate;

typedef struct letter { /* to a group */
    enum { LETTER_EXECUTE, LETTER_PARK } verb;
    drove_coord_action action;
} letter;

typedef struct request { /* to the coordinator's thread */
    enum { REQUEST_MESSAGE, REQUEST_PUBLISH } verb;
    drove_coord_message message;
    unsigned publisher; /* PUBLISH: this and below */
    drove_task task;
    const drove_step *step;
    drove_publish_info *info;
} request;

/* One assignment.  Written by the holder of `taking` before the ticket names it; atomic, since a
 * worker may read a cell that is being reused, and then fails to swap the ticket. */
typedef struct cell {
    _Atomic uint64_t first, n_rows, each, id;
    _Atomic uint64_t n_left; /* parts that are not done */
    _Atomic uint64_t n_updates, begin_ns;
    _Atomic int is_open; /* from there until its report was made up */
} cell;

typedef struct group {
    char name[64];
    unsigned index, n_workers, n_cores; /* cores of each worker */
    bool is_device;
    double timeout_s;
    uint64_t batch, least, most;
    drove_queue *inbox;     /* of letters */
    pthread_mutex_t taking; /* the inbox's consumer */
    cell cell[CELLS];
    _Atomic uint64_t ticket; /* assignment << PART_BITS | next part */
    _Atomic int is_parked;
    pthread_mutex_t record; /* protects busy and busy_until */
    drove_timeline busy;
    uint64_t busy_until_ns;
    /* Of a device: held from accepts until the step is in the parameters and its message in the
     * queue (update=coordinator: until the step is in the queue), and while the coordinator looks
     * for silent groups: a batch that was published is never given to another. */
    pthread_mutex_t lock;
    bool locks_are_made;
    _Atomic int fate;                  /* changed under lock */
    char error[DROVE_ERROR_TEXT_SIZE]; /* of a lost group */
    bool is_told, is_retired;          /* said to people; to the coordinator */
} DROVE_ALIGNED_CACHE_LINE group;

enum { PART_BITS = 32 };
static const uint64_t PART_MASK = ((uint64_t)1 << PART_BITS) - 1;

typedef struct member { /* a worker */
    group *group;
    sem_t answered; /* the coordinator's thread has applied its step */
    drove_status answer;
} member;

typedef struct assigned {
    drove_method method;
    drove_sync *sync;
    uint64_t batch, n_rows;
    unsigned n_groups;
    group *group;       /* [n_groups] */
    member *member;     /* [n_workers] */
    drove_coord *coord; /* its thread's while workers run */
    drove_queue *requests;
    drove_coord_action *action; /* [most] */
    drove_coord_message open;   /* the next stretch */
    uint64_t started_ns;
    _Atomic unsigned last_lost;
    _Atomic int deserted; /* no group is left */
    double saved[];       /* [n_groups][NUMBERS] for tensors */
} assigned;

/* ---- batch sizes ---- */

static uint64_t clamp(uint64_t n, uint64_t least, uint64_t most)
{
    return n < least ? least : n > most ? most : n;
}

/* Algorithm 1: the same b everywhere.  Else section 6: cores begin at their least, one example
 * each, devices at their most.  What was asked for of this group goes before the defaults. */
static void settle_sizes(const assigned *a, group *g, const drove_source_worker *w)
{
    bool is_equal = a->method.is_equal;
    uint64_t each = g->is_device ? 1 : (uint64_t)g->n_workers * g->n_cores;
    uint64_t batch = w->batch * each;
    g->least = w->measured_least;
    g->most = w->measured_most != 0 ? w->measured_most : DROVE_MOST_DEVICE_BATCH;
    if (is_equal && batch == 0) batch = a->batch;
    if (is_equal || !g->is_device) {
        g->least = is_equal ? batch : each;
        g->most = is_equal ? batch : each * DROVE_MOST_CORE_BATCH;
    }
    if (w->least != 0) g->least = w->least * each;
    if (w->most != 0) g->most = w->most * each;
    if (batch == 0) batch = g->is_device ? g->most : g->least;
    if (w->most == 0 && g->least > g->most) g->most = g->least;
    if (w->most == 0 && batch > g->most) g->most = batch;
    if (w->least == 0 && batch < g->least) g->least = batch;
    g->most = clamp(g->most, 1, a->n_rows);
    g->least = clamp(g->least, 1, g->most);
    g->batch = clamp(batch, g->least, g->most);
}

static bool wants_probe(const drove_spec *spec, const drove_source_worker *w)
{
    drove_method method;
    if (!w->is_device || (w->least != 0 && w->most != 0)) return false;
    return drove__method_parse(spec, &method) == DROVE_OK && !method.is_equal;
}

/* ---- making ---- */

static drove_status init_group(assigned *a, unsigned i, const drove_source_worker *w,
                               const drove_clock *clock)
{
    group *g = &a->group[i];
    snprintf(g->name, sizeof g->name, "%s", w->name);
    g->index = i;
    g->is_device = w->is_device;
    g->n_cores = w->n_cores;
    g->timeout_s = w->timeout_s;
    atomic_init(&g->ticket, 0);
    atomic_init(&g->fate, w->lost != NULL ? FATE_FAILED : FATE_WORKING);
    if (w->lost != NULL) snprintf(g->error, sizeof g->error, "%s", w->lost);
    if (pthread_mutex_init(&g->taking, NULL) != 0 || pthread_mutex_init(&g->record, NULL) != 0 ||
        pthread_mutex_init(&g->lock, NULL) != 0)
        return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex");
    g->locks_are_made = true;
    DROVE_TRY(drove__queue_create(INBOX, sizeof(letter), &g->inbox));
    drove__queue_use_clock(g->inbox, clock);
    return DROVE_OK;
}

static drove_status make_coordinator(assigned *a)
{
    drove_coord_worker *worker = calloc(a->n_groups, sizeof *worker);
    if (worker == NULL) return drove__fail_nomem("a coordinator", a->n_groups * sizeof *worker);
    for (unsigned i = 0; i < a->n_groups; i++) {
        const group *g = &a->group[i];
        bool is_shared = !g->is_device && g->n_cores == 1;
        worker[i] = (drove_coord_worker){
            .batch = g->batch,
            .least = g->least,
            .most = g->most,
            .depth = a->method.by_coordinator ? 1 : DEPTH,
            .survival = is_shared ? a->method.beta : 1.0,
            .assignment_s = is_shared ? CORE_ASSIGNMENT_S : 0.0,
            .timeout_s = 2.0 * g->timeout_s, /* twice: the engine's own error comes first */
        };
        snprintf(worker[i].name, sizeof worker[i].name, "%s", g->name);
    }
    const drove_coord_options opt = {.policy = a->method.policy,
                                     .alpha = a->method.alpha,
                                     .utilisation = a->method.utilisation,
                                     .fit_tail = a->method.fit_tail,
                                     .n_rows = a->n_rows,
                                     .n_workers = a->n_groups,
                                     .worker = worker};
    drove_status status = drove__coord_create(&opt, &a->coord);
    free(worker);
    DROVE_TRY(status);
    size_t most = drove__coord_most_actions(a->coord);
    a->action = calloc(most, sizeof *a->action);
    return a->action != NULL ? DROVE_OK : drove__fail_nomem("actions", most * sizeof *a->action);
}

static drove_status make_groups(drove_source *s, const drove_source_options *opt)
{
    assigned *a = s->impl;
    for (unsigned i = 0; i < opt->n_workers; i++) {
        const drove_source_worker *w = &opt->worker[i];
        group *g = &a->group[w->group];
        if (g->n_workers == 0) DROVE_TRY(init_group(a, w->group, w, s->clock));
        g->n_workers++;
        a->member[i].group = g;
        sem_init(&a->member[i].answered, 0, 0);
    }
    for (unsigned i = 0; i < opt->n_workers; i++)
        settle_sizes(a, &a->group[opt->worker[i].group], &opt->worker[i]);
    return DROVE_OK;
}

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    const size_t size = sizeof(assigned) + opt->n_groups * NUMBERS * sizeof(double);
    assigned *a = s->impl = drove__alloc(1, size);
    if (a == NULL) return drove__fail_nomem("a coordinator", size);
    DROVE_TRY(drove__method_parse(opt->spec, &a->method));
    a->sync = opt->sync;
    a->batch = opt->batch;
    a->n_rows = opt->n_rows;
    a->n_groups = opt->n_groups;
    a->group = drove__alloc(opt->n_groups, sizeof *a->group);
    a->member = drove__alloc(opt->n_workers, sizeof *a->member);
    if (a->group == NULL || a->member == NULL)
        return drove__fail_nomem("workers", opt->n_groups * sizeof *a->group);
    DROVE_TRY(make_groups(s, opt));
    s->publishes = a->method.by_coordinator;
    DROVE_TRY(drove__queue_create((size_t)opt->n_workers * REQUESTS_EACH + INBOX, sizeof(request),
                                  &a->requests));
    drove__queue_use_clock(a->requests, s->clock);
    return make_coordinator(a);
}

static void fini(drove_source *s)
{
    assigned *a = s->impl;
    if (a == NULL) return;
    for (unsigned i = 0; a->group != NULL && i < a->n_groups; i++) {
        group *g = &a->group[i];
        drove__queue_destroy(g->inbox);
        if (!g->locks_are_made) continue;
        pthread_mutex_destroy(&g->taking);
        pthread_mutex_destroy(&g->record);
        pthread_mutex_destroy(&g->lock);
    }
    drove__queue_destroy(a->requests);
    drove__coord_destroy(a->coord);
    drove__free(a->group);
    drove__free(a->member);
    free(a->action);
    drove__free(a);
}

/* ---- a worker: taking parts ---- */

static bool is_working(const group *g)
{
    return atomic_load(&g->fate) == FATE_WORKING;
}

/* Relaxed loads of a cell: the swap of the ticket (acquire) says whether they belong together; it
 * pairs with the release in open_assignment. */
static bool take_part(const drove_source *s, group *g, drove_task *out)
{
    const assigned *a = s->impl;
    uint64_t ticket = atomic_load_explicit(&g->ticket, memory_order_acquire);
    for (;;) {
        const cell *c = &g->cell[(ticket >> PART_BITS) % CELLS];
        uint64_t part = ticket & PART_MASK;
        uint64_t first = atomic_load_explicit(&c->first, memory_order_relaxed);
        uint64_t n = atomic_load_explicit(&c->n_rows, memory_order_relaxed);
        uint64_t each = atomic_load_explicit(&c->each, memory_order_relaxed);
        uint64_t id = atomic_load_explicit(&c->id, memory_order_relaxed);
        if (part * each >= n) return false;
        if (!atomic_compare_exchange_weak_explicit(&g->ticket, &ticket, ticket + 1,
                                                   memory_order_acq_rel, memory_order_acquire))
            continue;
        uint64_t left = n - part * each;
        *out = (drove_task){.number = id,
                            .first = first + part * each,
                            .n_rows = left < each ? left : each,
                            .id = (ticket >> PART_BITS) % CELLS};
        out->lr_factor = drove__method_lr_factor(&a->method, (size_t)out->n_rows, (size_t)a->batch);
        return true;
    }
}

/* By the holder of `taking`, when every part of the last assignment was taken. */
static void open_assignment(const drove_source *s, group *g, const drove_coord_action *action)
{
    uint64_t sequence = (atomic_load_explicit(&g->ticket, memory_order_relaxed) >> PART_BITS) + 1;
    /* A thread may take longer for one part than others for whole assignments.  Acquire: pairs with
     * report; DEPTH - 1 others at most are open. */
    while (atomic_load_explicit(&g->cell[sequence % CELLS].is_open, memory_order_acquire))
        sequence++;
    cell *c = &g->cell[sequence % CELLS];
    uint64_t each = (action->batch + g->n_workers - 1) / g->n_workers;
    atomic_store_explicit(&c->first, action->range.first, memory_order_relaxed);
    atomic_store_explicit(&c->n_rows, action->range.n, memory_order_relaxed);
    atomic_store_explicit(&c->each, each, memory_order_relaxed);
    atomic_store_explicit(&c->id, action->id, memory_order_relaxed);
    atomic_store_explicit(&c->n_updates, 0, memory_order_relaxed);
    atomic_store_explicit(&c->n_left, (action->range.n + each - 1) / each, memory_order_relaxed);
    atomic_store_explicit(&c->begin_ns, drove__clock_now(s->clock), memory_order_relaxed);
    atomic_store_explicit(&c->is_open, 1, memory_order_relaxed);
    /* Release: the cell; pairs with take_part. */
    atomic_store_explicit(&g->ticket, sequence << PART_BITS, memory_order_release);
}

static bool has_parts(const group *g)
{
    uint64_t ticket = atomic_load_explicit(&g->ticket, memory_order_acquire);
    const cell *c = &g->cell[(ticket >> PART_BITS) % CELLS];
    return (ticket & PART_MASK) * atomic_load_explicit(&c->each, memory_order_relaxed) <
           atomic_load_explicit(&c->n_rows, memory_order_relaxed);
}

/* The inbox's next letter, unless there are parts or no more letters.  False: nothing came. */
static bool refill(const drove_source *s, group *g, bool waits)
{
    letter l;
    if (waits) pthread_mutex_lock(&g->taking);
    else if (pthread_mutex_trylock(&g->taking) != 0) return false;
    bool came = has_parts(g);
    if (!came && !atomic_load(&g->is_parked) && is_working(g)) {
        came =
            waits ? drove__queue_get(g->inbox, &l, UINT64_MAX) : drove__queue_try_get(g->inbox, &l);
        if (came && l.verb == LETTER_PARK) atomic_store(&g->is_parked, 1);
        else if (came) open_assignment(s, g, &l.action);
    }
    pthread_mutex_unlock(&g->taking);
    return came;
}

static bool next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    const assigned *a = s->impl;
    group *g = a->member[worker].group;
    for (;;) {
        if (!is_working(g)) return false;
        if (take_part(s, g, out)) return true;
        if (!refill(s, g, waits) || (atomic_load(&g->is_parked) && !has_parts(g))) return false;
    }
}

/* ---- a worker: reporting ---- */

static void note_busy(drove_source *s, group *g, uint64_t begin_ns)
{
    const assigned *a = s->impl;
    uint64_t end_ns = drove__clock_now(s->clock);
    pthread_mutex_lock(&g->record);
    if (begin_ns < g->busy_until_ns) begin_ns = g->busy_until_ns;
    if (begin_ns < end_ns)
        drove__timeline_add(&g->busy, s->train_ns + (begin_ns - a->started_ns),
                            s->train_ns + (end_ns - a->started_ns));
    g->busy_until_ns = end_ns;
    pthread_mutex_unlock(&g->record);
}

/* Fills the assignment's report if this was its last part; false: other parts are not done. */
static bool report(drove_source *s, unsigned worker, const drove_task *task, uint64_t n_updates,
                   drove_coord_message *out)
{
    const assigned *a = s->impl;
    group *g = a->member[worker].group;
    cell *c = &g->cell[task->id];
    atomic_fetch_add_explicit(&c->n_updates, n_updates, memory_order_relaxed);
    uint64_t begin_ns = atomic_load_explicit(&c->begin_ns, memory_order_relaxed);
    /* Acquire and release: the sums of all who counted down before. */
    if (atomic_fetch_sub_explicit(&c->n_left, 1, memory_order_acq_rel) > 1) return false;
    *out = (drove_coord_message){.verb = DROVE_COORD_SCHEDULE,
                                 .worker = g->index,
                                 .id = task->number,
                                 .n_updates = atomic_load(&c->n_updates)};
    /* Release: the cell was read; pairs with open_assignment. */
    atomic_store_explicit(&c->is_open, 0, memory_order_release);
    note_busy(s, g, begin_ns);
    return true;
}

static void send(const assigned *a, const drove_coord_message *message)
{
    const request r = {.verb = REQUEST_MESSAGE, .message = *message};
    drove__queue_put(a->requests, &r);
}

static bool accepts(drove_source *s, unsigned worker)
{
    const assigned *a = s->impl;
    group *g = a->member[worker].group;
    if (!g->is_device) return true;
    pthread_mutex_lock(&g->lock);
    if (is_working(g)) return true;
    pthread_mutex_unlock(&g->lock);
    return false;
}

static void done(drove_source *s, unsigned worker, const drove_task *task, uint64_t n_updates)
{
    const assigned *a = s->impl;
    group *g = a->member[worker].group;
    drove_coord_message message;
    if (report(s, worker, task, n_updates, &message)) send(a, &message);
    if (g->is_device) pthread_mutex_unlock(&g->lock);
}

/* Synchronous updates, section 5.1: one after the other, by the coordinator's thread, which counts
 * the part as done behind them. */
static drove_status publish(drove_source *s, unsigned worker, const drove_task *task,
                            const drove_step *step, drove_publish_info *info)
{
    const assigned *a = s->impl;
    member *me = &a->member[worker];
    const request r = {
        .verb = REQUEST_PUBLISH, .publisher = worker, .task = *task, .step = step, .info = info};
    if (!accepts(s, worker)) return DROVE_E_SYSTEM; /* perhaps nobody would answer */
    drove__queue_put(a->requests, &r);
    if (me->group->is_device) pthread_mutex_unlock(&me->group->lock);
    while (sem_wait(&me->answered) != 0) continue; /* a signal handler may have run */
    return me->answer;
}

/* A lost device costs its batch, which others get; where cores fail it is the run that has. */
static bool fail(drove_source *s, unsigned worker)
{
    const assigned *a = s->impl;
    group *g = a->member[worker].group;
    const drove_coord_message failed = {.verb = DROVE_COORD_FAILED, .worker = g->index};
    const letter parking = {.verb = LETTER_PARK};
    pthread_mutex_lock(&g->lock);
    if (is_working(g)) {
        drove__error_copy(g->error);
        atomic_store(&g->fate, FATE_FAILED);
        send(a, &failed);
    }
    pthread_mutex_unlock(&g->lock);
    /* Another thread of the group may be waiting for a letter. */
    if (!g->is_device) drove__queue_put(g->inbox, &parking);
    return g->is_device;
}

/* ---- the coordinator's thread ---- */

static void park(assigned *a)
{
    const letter parking = {.verb = LETTER_PARK};
    for (unsigned i = 0; i < a->n_groups; i++)
        if (is_working(&a->group[i])) drove__queue_put(a->group[i].inbox, &parking);
}

/* Whatever its worker does now, it will not publish, and it ends when it looks into its inbox.  The
 * caller holds its lock. */
static bool silence(group *g)
{
    const letter parking = {.verb = LETTER_PARK};
    if (!is_working(g)) return false;
    snprintf(g->error, sizeof g->error, "no answer for %g s", 2.0 * g->timeout_s);
    atomic_store(&g->fate, FATE_SILENT);
    drove__queue_put(g->inbox, &parking);
    return true;
}

static void give_up(drove_source *s, group *g)
{
    const assigned *a = s->impl;
    if (!silence(g)) return;
    for (unsigned i = 0; i < s->n_workers; i++)
        if (a->member[i].group == g) s->silence(s->context, i);
}

/* true: parked. */
static bool carry_out(drove_source *s, const drove_coord_action *action)
{
    assigned *a = s->impl;
    const letter execute = {.verb = LETTER_EXECUTE, .action = *action};
    switch (action->verb) {
    case DROVE_COORD_EXECUTE:
        drove__queue_put(a->group[action->worker].inbox, &execute);
        return false;
    case DROVE_COORD_RETIRE:
        a->last_lost = action->worker;
        a->group[action->worker].is_retired = true;
        if (action->is_silent) give_up(s, &a->group[action->worker]);
        return false;
    case DROVE_COORD_DESERTED: atomic_store(&a->deserted, 1); break;
    case DROVE_COORD_PARKED: break;
    }
    park(a);
    return true;
}

static bool handle(drove_source *s, const drove_coord_message *message)
{
    assigned *a = s->impl;
    size_t n;
    bool parked = false;
    drove__coord_handle(a->coord, message, drove__clock_now(s->clock), a->action, &n);
    for (size_t i = 0; i < n; i++) parked |= carry_out(s, &a->action[i]);
    return parked;
}

/* False: refused, its group is lost. */
static bool apply(assigned *a, const request *r)
{
    member *w = &a->member[r->publisher];
    bool is_held = is_working(w->group);
    w->answer =
        is_held ? a->sync->ops->publish(a->sync, r->publisher, r->step, r->info) : DROVE_E_SYSTEM;
    sem_post(&w->answered);
    return is_held;
}

static bool take(drove_source *s, const request *r)
{
    drove_coord_message done = r->message;
    if (r->verb == REQUEST_PUBLISH &&
        (!apply(s->impl, r) || !report(s, r->publisher, &r->task, 1, &done)))
        return false;
    return handle(s, &done);
}

/* Has a group been silent for too long?  No group publishes meanwhile, and what was sent by now is
 * heard first. */
static bool tick(drove_source *s)
{
    assigned *a = s->impl;
    const drove_coord_message message = {.verb = DROVE_COORD_TICK};
    request r;
    bool parked = false;
    for (unsigned i = 0; i < a->n_groups; i++) pthread_mutex_lock(&a->group[i].lock);
    while (!parked && drove__queue_try_get(a->requests, &r)) parked = take(s, &r);
    if (!parked) parked = handle(s, &message);
    for (unsigned i = a->n_groups; i-- > 0;) pthread_mutex_unlock(&a->group[i].lock);
    return parked;
}

static void serve(drove_source *s)
{
    assigned *a = s->impl;
    request r;
    bool parked = handle(s, &a->open);
    while (!parked) {
        uint64_t deadline = drove__coord_deadline(a->coord);
        parked = drove__queue_get(a->requests, &r, deadline) ? take(s, &r) : tick(s);
    }
    atomic_store(&s->next, drove__coord_next(a->coord));
}

/* ---- the controlling thread ---- */

/* What came too late for the last stretch: a halt, the word of a silent worker that came back. */
static void clear_requests(assigned *a)
{
    request r;
    while (drove__queue_try_get(a->requests, &r))
        if (r.verb == REQUEST_PUBLISH) (void)apply(a, &r); /* refused: it is lost */
}

/* To the coordinator: groups that were lost while it was not at work. */
static void retire_lost(drove_source *s)
{
    assigned *a = s->impl;
    for (unsigned i = 0; i < a->n_groups; i++) {
        const drove_coord_message failed = {.verb = DROVE_COORD_FAILED, .worker = i};
        size_t n;
        if (is_working(&a->group[i]) || a->group[i].is_retired) continue;
        a->group[i].is_retired = true;
        a->last_lost = i;
        drove__coord_handle(a->coord, &failed, drove__clock_now(s->clock), a->action, &n);
    }
}

static void open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    assigned *a = s->impl;
    uint64_t published = atomic_load(&a->sync->published), left = most_updates;
    clear_requests(a);
    retire_lost(s);
    if (left != UINT64_MAX) left = left > published ? left - published : 0;
    a->open = (drove_coord_message){.verb = DROVE_COORD_OPEN, .limit = limit, .most_updates = left};
    a->started_ns = drove__clock_now(s->clock);
    for (unsigned i = 0; i < a->n_groups; i++) {
        atomic_store(&a->group[i].is_parked, 0);
        a->group[i].busy_until_ns = a->started_ns;
    }
}

static void halt(drove_source *s)
{
    assigned *a = s->impl;
    const request r = {.message = {.verb = DROVE_COORD_HALT}};
    (void)drove__queue_try_put(a->requests, &r); /* REQUESTS_EACH: there is room */
}

static void leave(drove_source *s, unsigned worker)
{
    assigned *a = s->impl;
    group *g = a->member[worker].group;
    pthread_mutex_lock(&g->lock);
    if (is_working(g)) {
        drove__error_copy(g->error);
        atomic_store(&g->fate, FATE_SILENT);
    }
    pthread_mutex_unlock(&g->lock);
}

static bool has_undone(const drove_source *s)
{
    const drove_range *undone;
    return drove__coord_undone(((const assigned *)s->impl)->coord, &undone) > 0;
}

static drove_status check(drove_source *s)
{
    assigned *a = s->impl;
    char line[sizeof a->group->name + DROVE_ERROR_TEXT_SIZE + 64];
    unsigned n_left = 0;
    for (unsigned i = 0; i < a->n_groups; i++) {
        group *g = &a->group[i];
        n_left += is_working(g);
        if (g->is_told || is_working(g)) continue;
        pthread_mutex_lock(&g->lock); /* the text may just be written */
        pthread_mutex_unlock(&g->lock);
        g->is_told = true;
        snprintf(line, sizeof line, "worker %s is lost, its batch goes to others: %s", g->name,
                 g->error);
        s->say(s->context, line);
    }
    if (n_left > 0 && !atomic_load(&a->deserted)) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "no worker is left of %u: the last one said: %s",
                       a->n_groups, a->group[a->last_lost].error);
}

/* ---- a saved state ---- */

static drove_tensor flat(const char *name, drove_tensor_type type, size_t n, const void *bytes)
{
    drove_tensor t = {.type = type, .rank = 1, .shape = {n}, .bytes = bytes};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static size_t tensors(drove_source *s, drove_tensor *out, size_t most)
{
    assigned *a = s->impl;
    const drove_range *undone;
    size_t n = 0, n_undone = drove__coord_undone(a->coord, &undone);
    for (unsigned i = 0; i < a->n_groups; i++) {
        drove_coord_facts f;
        drove__coord_facts(a->coord, i, &f);
        a->saved[i * NUMBERS] = f.u;
        a->saved[i * NUMBERS + 1] = (double)f.batch;
    }
    if (most < 2) return 0;
    out[n++] = flat("groups", DROVE_T_F64, (size_t)a->n_groups * NUMBERS, a->saved);
    if (n_undone > 0) out[n++] = flat("undone", DROVE_T_U64, 2 * n_undone, undone);
    return n;
}

/* The same groups go on with the sizes and counts that they had; others begin with their own. */
static drove_status restore_groups(assigned *a, const drove_safetensors *st)
{
    const void *bytes;
    size_t n = (size_t)a->n_groups * NUMBERS;
    DROVE_TRY(drove__safetensors_want(st, "groups", DROVE_T_F64, n, &bytes));
    memcpy(a->saved, bytes, n * sizeof *a->saved);
    for (unsigned i = 0; i < a->n_groups; i++) {
        double u = a->saved[i * NUMBERS], batch = a->saved[i * NUMBERS + 1];
        if (!(u >= 0.0 && u < 1e18 && batch >= 1.0 && batch < 1e18))
            return drove__fail(DROVE_E_DATA,
                               "tensor \"groups\": expected updates and a batch size, found %g and "
                               "%g",
                               u, batch);
        drove__coord_restore_worker(a->coord, i, u, (uint64_t)batch);
    }
    return DROVE_OK;
}

static drove_status check_range(const drove_range *r, uint64_t next, uint64_t n_rows)
{
    uint64_t latest = next - (next < r->n ? next : r->n);
    if (r->n > 0 && r->n <= n_rows && r->first <= latest &&
        r->first / n_rows == (r->first + r->n - 1) / n_rows)
        return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "tensor \"undone\": expected positions of one epoch below %llu, found %llu "
                       "and %llu more",
                       (unsigned long long)next, (unsigned long long)r->first,
                       (unsigned long long)r->n);
}

static drove_status restore_undone(assigned *a, const drove_tensor *t, uint64_t next)
{
    if (t->type != DROVE_T_U64 || t->rank != 1 || t->shape[0] % 2 != 0)
        return drove__fail(DROVE_E_DATA, "tensor \"undone\": expected pairs of U64");
    size_t n = (size_t)t->shape[0] / 2;
    drove_range *range = calloc(n, sizeof *range);
    if (range == NULL) return drove__fail_nomem("examples left undone", n * sizeof *range);
    memcpy(range, t->bytes, n * sizeof *range);
    drove_status status = DROVE_OK;
    for (size_t i = 0; i < n && status == DROVE_OK; i++)
        status = check_range(&range[i], next, a->n_rows);
    if (status == DROVE_OK) status = drove__coord_restore_undone(a->coord, range, n);
    free(range);
    return status;
}

static drove_status restore(drove_source *s, const drove_safetensors *st, bool is_same)
{
    assigned *a = s->impl;
    uint64_t at = atomic_load(&s->next);
    const drove_tensor *undone = drove__safetensors_find(st, "undone");
    drove__coord_restore(a->coord, at);
    if (is_same) DROVE_TRY(restore_groups(a, st));
    return undone != NULL ? restore_undone(a, undone, at) : DROVE_OK;
}

/* ---- facts ---- */

unsigned drove__assigned_groups(const drove_source *s)
{
    return s->ops == &drove__source_assigned ? ((const assigned *)s->impl)->n_groups : 0;
}

void drove__assigned_facts(const drove_source *s, unsigned i, drove_assigned_facts *out)
{
    const assigned *a = s->impl;
    const group *g = &a->group[i];
    *out = (drove_assigned_facts){.name = g->name,
                                  .n_workers = g->n_workers,
                                  .busy = &g->busy,
                                  .lost = is_working(g) ? NULL : g->error};
    drove__coord_facts(a->coord, i, &out->coord);
}

const drove_source_ops drove__source_assigned = {
    .name = "assigned",
    .help = "a coordinator gives out batches, of a size for each worker",
    .source = "Ma and Rusu, section 5",
    .counts_rows = true,
    .init = init,
    .fini = fini,
    .open = open,
    .halt = halt,
    .next = next,
    .wants_probe = wants_probe,
    .accepts = accepts,
    .done = done,
    .publish = publish,
    .serve = serve,
    .fail = fail,
    .leave = leave,
    .has_undone = has_undone,
    .check = check,
    .tensors = tensors,
    .restore = restore,
};
