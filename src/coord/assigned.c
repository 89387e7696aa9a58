/* coord/assigned.c - the coordinator's thread, and the inboxes from which workers take batches.
 *
 * Source: Ma and Rusu, Figures 3 and 4, Algorithm 2.  Decisions are messages.c's; here requests are
 * taken from a queue, and actions put into the groups' inboxes.
 *
 * A group's inbox has one consumer at a time: the worker that holds `taking`.  It puts the next
 * assignment into a cell of a ring, and every worker of the group takes parts of it (Algorithm 2,
 * lines 1 to 5: sub-batches) by a compare-and-swap on `ticket`, which holds the assignment's number
 * and the next part.  A worker goes on with the next assignment while others finish the last one.
 * Who finishes the last part reports the assignment.  docs/inside/memory-model.md, A16.
 */
#include "coord/assigned.h"

#include "base/lock.h"
#include "base/futex.h"

#include "coord/groups.h"
#include "coord/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INBOX = 16, /* messages to one group: at most depth, PARK and, to a silent one, another */
    REQUESTS_EACH = 8, /* of each worker: at most depth, a halt for each, a step and a failure */
    DEPTH = 2,         /* the next batch is there, or being copied, while this one is computed */
    CELLS = 4          /* assignments of a group that may be open at once; above DEPTH */
};
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
    drove_group *is;
    unsigned index;
    drove_queue *inbox;     /* of letters */
    pthread_mutex_t taking; /* the inbox's consumer */
    cell cell[CELLS];
    _Atomic uint64_t ticket; /* assignment << PART_BITS | next part */
    _Atomic int is_parked;
    pthread_mutex_t record; /* protects is->busy and busy_until */
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
    _Atomic uint32_t is_answered; /* the coordinator's thread has applied its step */
    drove_status answer;
} member;

typedef struct assigned {
    drove_groups all; /* first member; its coordinator is that of its thread while workers run */
    drove_sync *sync;
    group *group;   /* [all.n] */
    member *member; /* [n_workers] */
    drove_queue *requests;
    drove_coord_message open; /* the next stretch */
    uint64_t started_ns;
    _Atomic unsigned last_lost;
    _Atomic int deserted; /* no group is left */
} assigned;

/* ---- making ---- */

/* The reason is in g->error. */
static void lose(group *g, fate how)
{
    g->is->lost = g->error;
    atomic_store(&g->fate, how);
}

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    assigned *a = s->impl = drove__alloc(1, sizeof *a);
    if (a == NULL) return drove__fail_nomem("a coordinator", sizeof *a);
    const drove_groups_options how = {.source = opt, .depth = DEPTH, .has_timeouts = true};
    DROVE_TRY(drove__groups_init(&a->all, &how));
    a->sync = opt->sync;
    a->group = drove__alloc(opt->n_groups, sizeof *a->group);
    a->member = drove__alloc(opt->n_workers, sizeof *a->member);
    if (a->group == NULL || a->member == NULL)
        return drove__fail_nomem("workers", opt->n_groups * sizeof *a->group);
    for (unsigned i = 0; i < a->all.n; i++) {
        group *g = &a->group[i];
        g->is = &a->all.of[i];
        g->index = i;
        atomic_init(&g->ticket, 0);
        atomic_init(&g->fate, FATE_WORKING);
        if (pthread_mutex_init(&g->taking, NULL) != 0 ||
            pthread_mutex_init(&g->record, NULL) != 0 || pthread_mutex_init(&g->lock, NULL) != 0)
            return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex");
        g->locks_are_made = true;
        DROVE_TRY(drove__queue_create(INBOX, sizeof(letter), &g->inbox));
        drove__queue_use_clock(g->inbox, s->clock);
    }
    for (unsigned i = 0; i < opt->n_workers; i++) {
        const drove_source_worker *w = &opt->worker[i];
        group *g = a->member[i].group = &a->group[w->group];
        if (w->lost == NULL) continue;
        snprintf(g->error, sizeof g->error, "%s", w->lost);
        lose(g, FATE_FAILED);
    }
    s->publishes = a->all.method.by_coordinator;
    DROVE_TRY(drove__queue_create((size_t)opt->n_workers * REQUESTS_EACH + INBOX, sizeof(request),
                                  &a->requests));
    drove__queue_use_clock(a->requests, s->clock);
    return DROVE_OK;
}

static void fini(drove_source *s)
{
    assigned *a = s->impl;
    if (a == NULL) return;
    for (unsigned i = 0; a->group != NULL && i < a->all.n; i++) {
        group *g = &a->group[i];
        drove__queue_destroy(g->inbox);
        if (!g->locks_are_made) continue;
        pthread_mutex_destroy(&g->taking);
        pthread_mutex_destroy(&g->record);
        pthread_mutex_destroy(&g->lock);
    }
    drove__queue_destroy(a->requests);
    drove__groups_fini(&a->all);
    drove__free(a->group);
    drove__free(a->member);
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
        if (part * each >= n) return false;
        if (!atomic_compare_exchange_weak_explicit(&g->ticket, &ticket, ticket + 1,
                                                   memory_order_acq_rel, memory_order_acquire))
            continue;
        uint64_t left = n - part * each;
        *out = (drove_task){.number = first + part * each,
                            .first = first + part * each,
                            .n_rows = left < each ? left : each,
                            .id = (ticket >> PART_BITS) % CELLS};
        out->lr_factor = drove__groups_lr_factor(&a->all, out->n_rows);
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
    uint64_t each = (action->batch + g->is->n_workers - 1) / g->is->n_workers;
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
    if (waits) (void)drove__lock(&g->taking);
    else if (pthread_mutex_trylock(&g->taking) != 0) return false;
    bool came = has_parts(g);
    if (!came && !atomic_load(&g->is_parked) && is_working(g)) {
        came =
            waits ? drove__queue_get(g->inbox, &l, UINT64_MAX) : drove__queue_try_get(g->inbox, &l);
        if (came && l.verb == LETTER_PARK) atomic_store(&g->is_parked, 1);
        else if (came) open_assignment(s, g, &l.action);
    }
    drove__unlock(&g->taking);
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
                                 .id = atomic_load_explicit(&c->id, memory_order_relaxed),
                                 .n_updates = atomic_load(&c->n_updates)};
    /* Release: the cell was read; pairs with open_assignment. */
    atomic_store_explicit(&c->is_open, 0, memory_order_release);
    uint64_t end_ns = drove__clock_now(s->clock);
    (void)drove__lock(&g->record);
    if (begin_ns < g->busy_until_ns) begin_ns = g->busy_until_ns;
    if (begin_ns < end_ns)
        drove__timeline_add(&g->is->busy, s->train_ns + (begin_ns - a->started_ns),
                            s->train_ns + (end_ns - a->started_ns));
    g->busy_until_ns = end_ns;
    drove__unlock(&g->record);
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
    if (!g->is->is_device) return true;
    (void)drove__lock(&g->lock);
    if (is_working(g)) return true;
    drove__unlock(&g->lock);
    return false;
}

static void done(drove_source *s, unsigned worker, const drove_task *task, uint64_t n_updates)
{
    const assigned *a = s->impl;
    group *g = a->member[worker].group;
    drove_coord_message message;
    if (report(s, worker, task, n_updates, &message)) send(a, &message);
    if (g->is->is_device) drove__unlock(&g->lock);
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
    if (me->group->is->is_device) drove__unlock(&me->group->lock);
    /* Acquire: what the step has changed, and `answer`; pairs with apply. */
    while (atomic_exchange_explicit(&me->is_answered, 0, memory_order_acquire) == 0)
        drove__futex_wait(&me->is_answered, 0, UINT64_MAX);
    return me->answer;
}

/* A lost device costs its batch, which others get; where cores fail it is the run that has. */
static bool fail(drove_source *s, unsigned worker)
{
    const assigned *a = s->impl;
    group *g = a->member[worker].group;
    const drove_coord_message failed = {.verb = DROVE_COORD_FAILED, .worker = g->index};
    const letter parking = {.verb = LETTER_PARK};
    (void)drove__lock(&g->lock);
    if (is_working(g)) {
        drove__error_copy(g->error);
        lose(g, FATE_FAILED);
        send(a, &failed);
    }
    drove__unlock(&g->lock);
    /* Another thread of the group may be waiting for a letter. */
    if (!g->is->is_device) drove__queue_put(g->inbox, &parking);
    return g->is->is_device;
}

/* ---- the coordinator's thread ---- */

/* Whatever its worker does now, it will not publish, and it ends when it looks into its inbox.  The
 * caller holds its lock. */
static bool silence(group *g)
{
    const letter parking = {.verb = LETTER_PARK};
    if (!is_working(g)) return false;
    snprintf(g->error, sizeof g->error, "no answer for %g s", 2.0 * g->is->timeout_s);
    lose(g, FATE_SILENT);
    drove__queue_put(g->inbox, &parking);
    return true;
}

static bool handle(drove_source *s, const drove_coord_message *message)
{
    assigned *a = s->impl;
    size_t n;
    bool parked = false;
    drove__coord_handle(a->all.coord, message, drove__clock_now(s->clock), a->all.action, &n);
    for (size_t i = 0; i < n; i++) {
        const drove_coord_action *action = &a->all.action[i];
        const letter execute = {.verb = LETTER_EXECUTE, .action = *action};
        group *g = &a->group[action->worker];
        switch (action->verb) {
        case DROVE_COORD_EXECUTE: drove__queue_put(g->inbox, &execute); continue;
        case DROVE_COORD_RETIRE:
            a->last_lost = action->worker;
            g->is_retired = true;
            if (!action->is_silent || !silence(g)) continue;
            for (unsigned w = 0; w < s->n_workers; w++)
                if (a->member[w].group == g) s->silence(s->context, w);
            continue;
        case DROVE_COORD_DESERTED: atomic_store(&a->deserted, 1); break;
        case DROVE_COORD_PARKED: break;
        }
        const letter parking = {.verb = LETTER_PARK};
        for (unsigned k = 0; k < a->all.n; k++)
            if (is_working(&a->group[k])) drove__queue_put(a->group[k].inbox, &parking);
        parked = true;
    }
    return parked;
}

/* False: refused, its group is lost. */
static bool apply(assigned *a, const request *r)
{
    member *w = &a->member[r->publisher];
    bool is_held = is_working(w->group);
    w->answer =
        is_held ? a->sync->ops->publish(a->sync, r->publisher, r->step, r->info) : DROVE_E_SYSTEM;
    atomic_store_explicit(&w->is_answered, 1, memory_order_release); /* pairs with publish */
    drove__futex_wake(&w->is_answered);
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
    for (unsigned i = 0; i < a->all.n; i++) (void)drove__lock(&a->group[i].lock);
    while (!parked && drove__queue_try_get(a->requests, &r)) parked = take(s, &r);
    if (!parked) parked = handle(s, &message);
    for (unsigned i = a->all.n; i-- > 0;) drove__unlock(&a->group[i].lock);
    return parked;
}

static void serve(drove_source *s)
{
    assigned *a = s->impl;
    request r;
    bool parked = handle(s, &a->open);
    while (!parked) {
        uint64_t deadline = drove__coord_deadline(a->all.coord);
        parked = drove__queue_get(a->requests, &r, deadline) ? take(s, &r) : tick(s);
    }
    atomic_store(&s->next, drove__coord_next(a->all.coord));
}

/* ---- the controlling thread ---- */

static void open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    assigned *a = s->impl;
    uint64_t published = atomic_load(&a->sync->published), left = most_updates;
    /* What came too late for the last stretch: a halt, a word of a silent worker that is back. */
    request r;
    while (drove__queue_try_get(a->requests, &r))
        if (r.verb == REQUEST_PUBLISH) (void)apply(a, &r); /* refused: it is lost */
    /* To the coordinator: groups that were lost while it was not at work. */
    for (unsigned i = 0; i < a->all.n; i++) {
        const drove_coord_message failed = {.verb = DROVE_COORD_FAILED, .worker = i};
        size_t n;
        if (is_working(&a->group[i]) || a->group[i].is_retired) continue;
        a->group[i].is_retired = true;
        a->last_lost = i;
        drove__coord_handle(a->all.coord, &failed, drove__clock_now(s->clock), a->all.action, &n);
    }
    if (left != UINT64_MAX) left = left > published ? left - published : 0;
    a->open = (drove_coord_message){.verb = DROVE_COORD_OPEN, .limit = limit, .most_updates = left};
    a->started_ns = drove__clock_now(s->clock);
    for (unsigned i = 0; i < a->all.n; i++) {
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
    (void)drove__lock(&g->lock);
    if (is_working(g)) {
        drove__error_copy(g->error);
        lose(g, FATE_SILENT);
    }
    drove__unlock(&g->lock);
}

static bool has_undone(const drove_source *s, uint64_t limit)
{
    (void)limit; /* undone ranges are given out before new ones, whatever the limit */
    const drove_range *undone;
    return drove__coord_undone(((const assigned *)s->impl)->all.coord, &undone) > 0;
}

static drove_status check(drove_source *s)
{
    assigned *a = s->impl;
    char line[sizeof a->all.of->name + DROVE_ERROR_TEXT_SIZE + 64];
    unsigned n_left = 0;
    for (unsigned i = 0; i < a->all.n; i++) {
        group *g = &a->group[i];
        n_left += is_working(g);
        if (g->is_told || is_working(g)) continue;
        (void)drove__lock(&g->lock); /* the text may just be written */
        drove__unlock(&g->lock);
        g->is_told = true;
        snprintf(line, sizeof line, "worker %s is lost, its batch goes to others: %s", g->is->name,
                 g->error);
        s->say(s->context, line);
    }
    if (n_left > 0 && !atomic_load(&a->deserted)) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "no worker is left of %u: the last one said: %s", a->all.n,
                       a->group[a->last_lost].error);
}

/* ---- a saved state ---- */

static size_t tensors(drove_source *s, drove_tensor *out, size_t most)
{
    return drove__groups_tensors(&((assigned *)s->impl)->all, out, most);
}

static drove_status restore(drove_source *s, const drove_safetensors *st, bool is_same)
{
    return drove__groups_restore(&((assigned *)s->impl)->all, st, atomic_load(&s->next), is_same);
}

/* ---- facts ---- */

static const drove_groups *groups_of(const drove_source *s)
{
    bool has = s->ops == &drove__source_assigned || s->ops == &drove__source_requested;
    return has ? s->impl : NULL;
}

unsigned drove__assigned_groups(const drove_source *s)
{
    const drove_groups *g = groups_of(s);
    return g != NULL ? g->n : 0;
}

void drove__assigned_facts(const drove_source *s, unsigned i, drove_assigned_facts *out)
{
    const drove_groups *g = groups_of(s);
    const drove_group *of = &g->of[i];
    *out = (drove_assigned_facts){
        .name = of->name, .n_workers = of->n_workers, .busy = &of->busy, .lost = of->lost};
    drove__coord_facts(g->coord, i, &out->coord);
}

static const drove_source_rank_ops ranks = {.instead = "requested"};

static const drove_source_coordinator_ops coordinator = {
    .serve = serve,
    .wants_probe = drove__groups_want_probe,
    .accepts = accepts,
    .publish = publish,
    .failed = fail,
    .check = check,
};

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
    .done = done,
    .leave = leave,
    .has_undone = has_undone,
    .tensors = tensors,
    .restore = restore,
    .ranks = &ranks,
    .coordinator = &coordinator,
};
