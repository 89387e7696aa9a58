/* bench/simulate_coord.c - the coordinator with scripted workers on a virtual clock. */
#include "bench/simulate_coord.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct actor {
    drove_sim_worker is;
    drove_coord_action hand[DROVE_COORD_DEPTH]; /* the first is being carried out */
    unsigned n_hand;
    uint64_t begin_ns, end_ns; /* of the first; end UINT64_MAX: it hangs */
    bool fails;                /* the first does, at end_ns */
    bool is_retired;           /* what it still says comes too late */
    uint64_t n_begun, busy_ns;
} actor;

struct drove_sim {
    drove_sim_options opt;
    actor *actor;
    drove_coord_action *action; /* [most_actions] */
    drove_sim_facts facts;
    bool is_over;
    drove_sim_end end;
};

drove_status drove__sim_create(const drove_sim_options *opt, drove_sim **out)
{
    *out = NULL;
    drove_sim *s = drove__alloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("simulation", sizeof *s);
    s->opt = *opt;
    s->actor = drove__alloc(opt->n_workers, sizeof *s->actor);
    s->action = drove__alloc(drove__coord_most_actions(opt->coord), sizeof *s->action);
    if (s->actor == NULL || s->action == NULL) {
        drove__sim_destroy(s);
        return drove__fail_nomem("simulation", opt->n_workers * sizeof *s->actor);
    }
    for (unsigned w = 0; w < opt->n_workers; w++) s->actor[w].is = opt->worker[w];
    *out = s;
    return DROVE_OK;
}

void drove__sim_destroy(drove_sim *s)
{
    if (s == NULL) return;
    drove__free(s->actor);
    drove__free(s->action);
    drove__free(s);
}

/* The parts of a batch are of one size, but for one example; the largest takes longest. */
static uint64_t largest_part(const drove_sim_worker *worker, uint64_t n)
{
    unsigned parts = worker->n_threads > 1 ? worker->n_threads : 1;
    return (n + parts - 1) / parts;
}

static void begin_next(drove_sim *s, actor *a)
{
    uint64_t n = largest_part(&a->is, a->hand[0].range.n);
    drove_fake_outcome outcome = drove__fake_batch(&a->is.script, a->n_begun++, n);
    a->begin_ns = s->facts.now_ns;
    a->fails = outcome.fate == DROVE_FAKE_FAILS;
    a->end_ns = outcome.fate == DROVE_FAKE_HANGS ? UINT64_MAX : a->begin_ns + outcome.duration_ns;
}

static void say(drove_sim *s, const drove_coord_message *message)
{
    size_t n;
    drove__coord_handle(s->opt.coord, message, s->facts.now_ns, s->action, &n);
    s->facts.n_messages++;
    for (size_t i = 0; i < n; i++) {
        const drove_coord_action *action = &s->action[i];
        actor *a = &s->actor[action->worker];
        switch (action->verb) {
        case DROVE_COORD_EXECUTE:
            a->hand[a->n_hand++] = *action;
            if (a->n_hand == 1) begin_next(s, a);
            break;
        case DROVE_COORD_RETIRE:
            a->is_retired = true;
            if (a->n_hand > 1)
                a->n_hand = 1; /* it goes on with what it is at, unless it has failed */
            if (!action->is_silent) a->n_hand = 0;
            break;
        case DROVE_COORD_PARKED:
        case DROVE_COORD_DESERTED:
            s->is_over = true;
            s->end = action->verb == DROVE_COORD_PARKED ? DROVE_SIM_PARKED : DROVE_SIM_DESERTED;
            break;
        }
    }
}

/* The worker's first assignment is over, one way or the other. */
static void finish(drove_sim *s, unsigned worker)
{
    actor *a = &s->actor[worker];
    drove_coord_action done = a->hand[0];
    if (a->fails) {
        if (a->is_retired) a->n_hand = 0; /* nobody is told twice */
        say(s, &(drove_coord_message){.verb = DROVE_COORD_FAILED, .worker = worker});
        return;
    }
    memmove(&a->hand[0], &a->hand[1], (DROVE_COORD_DEPTH - 1) * sizeof a->hand[0]);
    drove_sim_step step = {.worker = worker,
                           .range = done.range,
                           .batch = done.batch,
                           .begin_ns = a->begin_ns,
                           .end_ns = a->end_ns};
    step.n_updates = done.range.n < a->is.n_threads ? done.range.n
                     : a->is.n_threads > 1          ? a->is.n_threads
                                                    : 1;
    const drove_coord_message message = {
        .verb = DROVE_COORD_SCHEDULE, .worker = worker, .id = done.id, .n_updates = step.n_updates};
    bool counts = !a->is_retired;
    if (--a->n_hand > 0) begin_next(s, a);
    say(s, &message);
    if (!counts) return;
    a->busy_ns += step.end_ns - step.begin_ns;
    s->facts.n_updates += step.n_updates;
    s->facts.n_examples += step.range.n;

    /* The gap between the updates of the workers that are left. */
    double least = INFINITY, most = -INFINITY;
    for (unsigned w = 0; w < s->opt.n_workers; w++) {
        drove_coord_facts facts;
        drove__coord_facts(s->opt.coord, w, &facts);
        if (facts.is_lost) continue;
        least = fmin(least, facts.u);
        most = fmax(most, facts.u);
    }
    s->facts.gap = most > least ? most - least : 0.0;
    s->facts.most_gap = fmax(s->facts.most_gap, s->facts.gap);

    if (s->opt.hook != NULL) s->opt.hook(s->opt.context, &step);
}

drove_sim_end drove__sim_run(drove_sim *s, const drove_coord_message *open, uint64_t halt_ns)
{
    uint64_t open_ns = s->facts.now_ns;
    s->is_over = false;
    say(s, open);
    while (!s->is_over) {
        /* The worker that is next to finish something; n_workers: none. */
        uint64_t end_ns = UINT64_MAX, deadline_ns = drove__coord_deadline(s->opt.coord);
        unsigned worker = s->opt.n_workers;
        for (unsigned w = 0; w < s->opt.n_workers; w++) {
            const actor *a = &s->actor[w];
            if (a->n_hand == 0 || a->end_ns >= end_ns) continue;
            end_ns = a->end_ns;
            worker = w;
        }
        if (halt_ns <= end_ns && halt_ns <= deadline_ns && halt_ns != UINT64_MAX) {
            if (halt_ns > s->facts.now_ns) s->facts.now_ns = halt_ns;
            halt_ns = UINT64_MAX;
            say(s, &(drove_coord_message){.verb = DROVE_COORD_HALT});
        } else if (worker < s->opt.n_workers && end_ns <= deadline_ns) {
            s->facts.now_ns = end_ns;
            finish(s, worker);
        } else if (deadline_ns != UINT64_MAX) {
            s->facts.now_ns = deadline_ns;
            say(s, &(drove_coord_message){.verb = DROVE_COORD_TICK});
        } else {
            return DROVE_SIM_STUCK;
        }
    }
    s->facts.train_ns += s->facts.now_ns - open_ns;
    return s->end;
}

drove_sim_facts drove__sim_facts(const drove_sim *s)
{
    return s->facts;
}

uint64_t drove__sim_busy_ns(const drove_sim *s, unsigned worker)
{
    return s->actor[worker].busy_ns;
}

double drove__sim_alone(const drove_sim_worker *worker, uint64_t batch)
{
    drove_fake_script plain = worker->script;
    plain.jitter = 0.0;
    plain.fail_after = plain.hang_after = UINT64_MAX;
    uint64_t ns = drove__fake_batch(&plain, 0, largest_part(worker, batch)).duration_ns;
    return (double)batch / ((double)ns / 1e9);
}
