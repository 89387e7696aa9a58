/* coord/requested.c - the coordinator over ranks: workers ask rank 0 for their next assignment.
 *
 * Source: Ma and Rusu, section 5, whose workers are processes that send ScheduleWork to a
 * coordinator and get ExecuteWork.  Decisions are messages.c's, as in assigned.c.
 *
 * One question reports the last assignment and asks for the next.  The strategy carries it to the
 * process of rank 0 (drove_sync_replica_ops), where answer() is the coordinator's only caller while
 * workers run: it needs no thread and no queue.  An answer never waits:
 *
 *   EXECUTE   the worker's next assignment
 *   PARK      nothing for this worker; it has withdrawn until the next stretch
 *   LATER     rank 0 has not opened this stretch yet: ask again after a moment
 *
 * So a worker without work parks, and its rank waits for the others in the exchange that follows a
 * stretch, which names a rank that is silent.  A rank that is lost ends the run, as MPI cannot go
 * on without it; so no assignment is ever taken away, and there are no time-outs.
 *
 * Threads: a `seat` is its worker's; a `hand` and the coordinator are answer()'s while workers run,
 * and the controlling thread's of rank 0 while they are parked.  docs/inside/memory-model.md, A17.
 */
#include "coord/assigned.h"
#include "coord/groups.h"

#include "base/mem.h"

/* Words of a question and of its answer. */
enum { WORD_VERB, WORD_STRETCH, WORD_ID, WORD_UPDATES, WORD_N, WORD_BATCH };
enum { WORD_FIRST = WORD_UPDATES };
_Static_assert((int)WORD_BATCH < (int)DROVE_QUESTION_WORDS, "a question holds an assignment");

enum { ASK_REPORTS = 1, ASK_HALTS = 2 }; /* bits of a question's verb */
/* An answer's verb: none is that of a question, which comes back as it was where nobody answers. */
enum { ANSWER_LATER = 16, ANSWER_EXECUTE, ANSWER_PARK };

static const uint64_t FIRST_WAIT_NS = 50000, MOST_WAIT_NS = 10000000; /* after LATER */

typedef struct seat { /* a worker's assignment */
    drove_range range;
    uint64_t id, batch;
    uint64_t n_taken; /* examples of the range that are tasks already ... */
    uint64_t n_open;  /* ... and tasks that are not done */
    uint64_t n_updates;
    bool has_report, is_parked;
} DROVE_ALIGNED_CACHE_LINE seat;

typedef struct hand { /* what the coordinator has given a worker */
    drove_coord_action action;
    uint64_t since_ns;
    bool is_waiting; /* the worker has not asked for it yet */
    bool is_out;     /* the worker has it */
} hand;

typedef struct requested {
    drove_groups all; /* first member */
    drove_sync *sync;
    seat *seat; /* [n_workers] */
    hand *hand; /* [n_workers] */
    bool is_elsewhere;
    bool has_undone;         /* the run that goes on has left examples undone */
    bool is_halt_told;       /* to the coordinator */
    uint64_t stretch;        /* number of the present one, the same at all ranks */
    uint64_t started_ns;     /* of it */
    _Atomic uint64_t opened; /* stretch that the coordinator has opened */
    _Atomic int is_halted;
} requested;

/* ---- the coordinator: at rank 0 ---- */

static void tell(drove_source *s, const drove_coord_message *message)
{
    requested *r = s->impl;
    size_t n;
    drove__coord_handle(r->all.coord, message, drove__clock_now(s->clock), r->all.action, &n);
    for (size_t i = 0; i < n; i++) {
        const drove_coord_action *action = &r->all.action[i];
        if (action->verb != DROVE_COORD_EXECUTE) continue;
        r->hand[action->worker] = (hand){.action = *action, .is_waiting = true};
    }
}

/* A report about anything but what the worker has is ignored. */
static void take_report(drove_source *s, unsigned worker, const drove_question *asked)
{
    requested *r = s->impl;
    hand *h = &r->hand[worker];
    uint64_t id = asked->word[WORD_ID], n_updates = asked->word[WORD_UPDATES];
    if (!h->is_out || id != h->action.id || n_updates > h->action.range.n) return;
    h->is_out = false;
    drove__timeline_add(&r->all.of[worker].busy, s->train_ns + (h->since_ns - r->started_ns),
                        s->train_ns + (drove__clock_now(s->clock) - r->started_ns));
    const drove_coord_message done = {
        .verb = DROVE_COORD_SCHEDULE, .worker = worker, .id = id, .n_updates = n_updates};
    tell(s, &done);
}

static void answer(void *context, unsigned worker, drove_question *question)
{
    drove_source *s = context;
    requested *r = s->impl;
    hand *h = &r->hand[worker];
    const drove_question asked = *question;
    *question = (drove_question){{ANSWER_LATER}};
    /* Acquire: the coordinator as open left it; pairs with open. */
    if (asked.word[WORD_STRETCH] != atomic_load_explicit(&r->opened, memory_order_acquire)) return;
    if ((asked.word[WORD_VERB] & ASK_HALTS) != 0 && !r->is_halt_told) {
        r->is_halt_told = true;
        tell(s, &(drove_coord_message){.verb = DROVE_COORD_HALT});
    }
    if ((asked.word[WORD_VERB] & ASK_REPORTS) != 0) take_report(s, worker, &asked);
    if (h->is_waiting) {
        const drove_coord_action *action = &h->action;
        h->is_waiting = false;
        h->is_out = true;
        h->since_ns = drove__clock_now(s->clock);
        question->word[WORD_VERB] = ANSWER_EXECUTE;
        question->word[WORD_ID] = action->id;
        question->word[WORD_FIRST] = action->range.first;
        question->word[WORD_N] = action->range.n;
        question->word[WORD_BATCH] = action->batch;
    } else if (!h->is_out) {
        tell(s, &(drove_coord_message){.verb = DROVE_COORD_WITHDRAW, .worker = worker});
        question->word[WORD_VERB] = ANSWER_PARK;
    }
}

/* ---- a worker ---- */

/* False: no assignment that this worker can compute. */
static bool take_assignment(drove_source *s, unsigned worker, const drove_question *q)
{
    const requested *r = s->impl;
    seat *me = &r->seat[worker];
    uint64_t first = q->word[WORD_FIRST], n = q->word[WORD_N], n_rows = r->all.n_rows;
    if (n == 0 || n > n_rows || first > UINT64_MAX - n ||
        first / n_rows != (first + n - 1) / n_rows)
        return false;
    if (q->word[WORD_BATCH] == 0 || q->word[WORD_BATCH] > r->all.of[worker].most) return false;
    *me = (seat){.range = {first, n}, .id = q->word[WORD_ID], .batch = q->word[WORD_BATCH]};
    /* s->next is behind all that the workers here were given; over ranks the largest counts.
     * Relaxed: the number is all that is passed on. */
    uint64_t seen = atomic_load_explicit(&s->next, memory_order_relaxed);
    while (seen < first + n &&
           !atomic_compare_exchange_weak_explicit(&s->next, &seen, first + n, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
    return true;
}

/* The worker's next assignment; false: it is parked, or nothing came yet. */
static bool fetch(drove_source *s, unsigned worker, bool waits)
{
    const requested *r = s->impl;
    seat *me = &r->seat[worker];
    uint64_t wait_ns = FIRST_WAIT_NS;
    while (!me->is_parked) {
        drove_question q = {{0}};
        q.word[WORD_STRETCH] = r->stretch;
        if (atomic_load(&r->is_halted)) q.word[WORD_VERB] |= ASK_HALTS;
        if (me->has_report) {
            q.word[WORD_VERB] |= ASK_REPORTS;
            q.word[WORD_ID] = me->id;
            q.word[WORD_UPDATES] = me->n_updates;
        }
        bool is_answered = r->sync->ops->replicas->ask(r->sync, worker, &q) == DROVE_OK;
        if (is_answered && q.word[WORD_VERB] == ANSWER_LATER) {
            if (!waits) return false;
            s->clock->sleep_until(s->clock->context, drove__clock_now(s->clock) + wait_ns);
            if (wait_ns < MOST_WAIT_NS) wait_ns *= 2;
            continue;
        }
        if (is_answered && q.word[WORD_VERB] == ANSWER_EXECUTE && take_assignment(s, worker, &q))
            return true;
        /* The run ends if the exchange fails or the answer makes no sense: all ranks find out when
         * they meet behind the stretch. */
        const bool is_wrong = !is_answered || q.word[WORD_VERB] != ANSWER_PARK;
        if (is_wrong && r->sync->ops->stop != NULL) r->sync->ops->stop(r->sync);
        me->has_report = false;
        me->is_parked = true;
    }
    return false;
}

static bool next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    const requested *r = s->impl;
    seat *me = &r->seat[worker];
    if (me->n_taken == me->range.n && (me->n_open > 0 || !fetch(s, worker, waits))) return false;
    uint64_t left = me->range.n - me->n_taken;
    *out = (drove_task){.number = me->range.first + me->n_taken,
                        .first = me->range.first + me->n_taken,
                        .n_rows = left < me->batch ? left : me->batch,
                        .id = me->id};
    out->lr_factor = drove__groups_lr_factor(&r->all, out->n_rows);
    me->n_taken += out->n_rows;
    me->n_open++;
    return true;
}

static void done(drove_source *s, unsigned worker, const drove_task *task, uint64_t n_updates)
{
    seat *me = &((requested *)s->impl)->seat[worker];
    (void)task;
    me->n_updates += n_updates;
    if (--me->n_open == 0 && me->n_taken == me->range.n) me->has_report = true;
}

/* ---- the controlling thread ---- */

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    requested *r = s->impl = drove__alloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem("a coordinator", sizeof *r);
    const drove_groups_options how = {.source = opt, .is_apart = true, .depth = 1};
    DROVE_TRY(drove__groups_init(&r->all, &how));

    if (r->all.method.replaces)
        return drove__fail(DROVE_E_ARG,
                           "merge=replace: over ranks the parameters are at rank 0, which gets "
                           "gradients and no parameters of a device: expected merge=add");
    if (opt->sync->ops->replicas == NULL || opt->sync->ops->replicas->ask == NULL)
        return drove__fail(DROVE_E_ARG,
                           "expected a strategy that carries questions to rank 0, found %s",
                           opt->sync->ops->name);

    r->sync = opt->sync;
    r->is_elsewhere = opt->is_elsewhere;
    r->seat = drove__alloc(opt->n_workers, sizeof *r->seat);
    r->hand = drove__alloc(opt->n_workers, sizeof *r->hand);
    if (r->seat == NULL || r->hand == NULL)
        return drove__fail_nomem("workers", opt->n_workers * sizeof *r->seat);
    if (r->is_elsewhere) return DROVE_OK;
    r->sync->answer_context = s;
    r->sync->answer = answer;
    return DROVE_OK;
}

static void fini(drove_source *s)
{
    requested *r = s->impl;
    if (r == NULL) return;
    if (r->sync != NULL) r->sync->answer = NULL;
    drove__groups_fini(&r->all);
    drove__free(r->seat);
    drove__free(r->hand);
    drove__free(r);
}

static void open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    requested *r = s->impl;
    uint64_t published = atomic_load(&r->sync->published), left = most_updates;
    if (left != UINT64_MAX) left = left > published ? left - published : 0;
    r->stretch++;
    r->started_ns = drove__clock_now(s->clock);
    atomic_store(&r->is_halted, 0);
    for (unsigned i = 0; i < s->n_workers; i++) r->seat[i] = (seat){0};
    if (r->is_elsewhere) return;
    r->is_halt_told = false;
    tell(s, &(drove_coord_message){.verb = DROVE_COORD_OPEN, .limit = limit, .most_updates = left});
    /* Release: all that answer reads; pairs with it. */
    atomic_store_explicit(&r->opened, r->stretch, memory_order_release);
}

/* Each worker here says it with its next question. */
static void halt(drove_source *s)
{
    atomic_store(&((requested *)s->impl)->is_halted, 1);
}

static void leave(drove_source *s, unsigned worker)
{
    (void)s, (void)worker; /* the run ends with its rank */
}

/* A stretch leaves nothing undone, as no assignment is taken away. */
static void settle(drove_source *s)
{
    ((requested *)s->impl)->has_undone = false;
}

static bool has_undone(const drove_source *s, uint64_t limit)
{
    (void)limit; /* undone ranges are given out before new ones, whatever the limit */
    return ((const requested *)s->impl)->has_undone;
}

static size_t tensors(drove_source *s, drove_tensor *out, size_t most)
{
    requested *r = s->impl;
    return r->is_elsewhere ? 0 : drove__groups_tensors(&r->all, out, most);
}

static drove_status restore(drove_source *s, const drove_safetensors *st, bool is_same)
{
    requested *r = s->impl;
    const drove_range *undone;
    DROVE_TRY(drove__groups_restore(&r->all, st, atomic_load(&s->next), is_same));
    r->has_undone = drove__coord_undone(r->all.coord, &undone) > 0;
    return DROVE_OK;
}

static const drove_source_coordinator_ops coordinator = {.wants_probe = drove__groups_want_probe};

const drove_source_ops drove__source_requested = {
    .name = "requested",
    .help = "over ranks: workers ask a coordinator at rank 0, which sizes each one's batches",
    .source = "Ma and Rusu, section 5",
    .counts_rows = true,
    .init = init,
    .fini = fini,
    .open = open,
    .halt = halt,
    .next = next,
    .done = done,
    .leave = leave,
    .settle = settle,
    .has_undone = has_undone,
    .tensors = tensors,
    .restore = restore,
    .coordinator = &coordinator,
};
