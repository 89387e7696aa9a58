/* coord/messages.c - the coordinator: life cycle, messages, facts; see coord.h.
 *
 * Cost: a message touches each worker a constant number of times at most; nothing is allocated
 * after creation.  The lists of returned ranges are long enough: a range is put back only when the
 * worker that holds it is lost, each worker is lost once, with at most `depth` assignments; taking
 * a part of a range makes none longer.  So there are never more than the sum of all depths.
 */
#include "coord/coord.h"

#include "base/mem.h"
#include "coord/state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- life cycle ---- */

static uint64_t timeout_ns(double timeout_s)
{
    return timeout_s < 1e9 ? (uint64_t)ceil(timeout_s * 1e9) : 0; /* 30 years: for ever */
}

static drove_status fill(drove_coord *c, const drove_coord_options *opt)
{
    c->opt = *opt;
    c->opt.worker = NULL;
    c->n_alive = opt->n_workers;
    c->member = drove__alloc(opt->n_workers, sizeof *c->member);
    c->u = drove__alloc(opt->n_workers, sizeof *c->u);
    c->is_lost = drove__alloc(opt->n_workers, sizeof *c->is_lost);
    c->is_away = drove__alloc(opt->n_workers, sizeof *c->is_away);
    if (c->member == NULL || c->u == NULL || c->is_lost == NULL || c->is_away == NULL)
        return drove__fail_nomem("coordinator", opt->n_workers * sizeof *c->member);
    for (unsigned w = 0; w < opt->n_workers; w++) {
        drove_coord_member *m = &c->member[w];
        m->is = opt->worker[w];
        m->timeout_ns = timeout_ns(m->is.timeout_s);
        m->batch = m->is.batch;
        m->least = m->is.least;
        drove__sizes_init(&m->sizes, m->is.least, m->is.most, opt->alpha);
        c->n_slots += m->is.depth;
        c->n_slots_alive += m->is.depth;
        m->history = malloc(DROVE_COORD_HISTORY * sizeof *m->history);
        if (m->history == NULL)
            return drove__fail_nomem("batch sizes", DROVE_COORD_HISTORY * sizeof *m->history);
    }
    c->returned.room = c->n_slots;
    c->returned.range = malloc(c->n_slots * sizeof *c->returned.range);
    if (c->returned.range == NULL)
        return drove__fail_nomem("returned ranges", c->n_slots * sizeof(drove_range));
    return DROVE_OK;
}

drove_status drove__coord_create(const drove_coord_options *opt, drove_coord **out)
{
    *out = NULL;

    if (!(opt->alpha > 1.0 && isfinite(opt->alpha)))
        return drove__fail(DROVE_E_ARG, "alpha: expected above 1, found %g", opt->alpha);
    if (!(opt->utilisation >= 0.0 && opt->utilisation < 1.0))
        return drove__fail(DROVE_E_ARG, "utilisation: expected 0 to below 1, found %g",
                           opt->utilisation);
    if (opt->n_workers < 1 || opt->n_rows < 1)
        return drove__fail(DROVE_E_ARG, "expected a worker and an example, found %u and %llu",
                           opt->n_workers, (unsigned long long)opt->n_rows);
    for (unsigned i = 0; i < opt->n_workers; i++) {
        const drove_coord_worker *w = &opt->worker[i];
        if (w->least < 1 || w->least > w->most || w->batch < w->least || w->batch > w->most)
            return drove__fail(
                DROVE_E_ARG,
                "worker %s: batch: expected 1 <= least <= batch <= most, found %llu, %llu, %llu",
                w->name, (unsigned long long)w->least, (unsigned long long)w->batch,
                (unsigned long long)w->most);
        if (w->depth < 1 || w->depth > DROVE_COORD_DEPTH)
            return drove__fail(DROVE_E_ARG, "worker %s: depth: expected 1 to %d, found %u", w->name,
                               DROVE_COORD_DEPTH, w->depth);
        if (!(w->survival >= 0.0 && w->survival <= 1.0))
            return drove__fail(DROVE_E_ARG, "worker %s: survival: expected 0 to 1, found %g",
                               w->name, w->survival);
        if (!(w->timeout_s >= 0.0))
            return drove__fail(DROVE_E_ARG, "worker %s: timeout: expected at least 0, found %g",
                               w->name, w->timeout_s);
    }

    drove_coord *c = drove__alloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("coordinator", sizeof *c);
    drove_status status = fill(c, opt);
    if (status != DROVE_OK) {
        drove__coord_destroy(c);
        return status;
    }
    *out = c;
    return DROVE_OK;
}

void drove__coord_destroy(drove_coord *c)
{
    if (c == NULL) return;
    for (unsigned w = 0; c->member != NULL && w < c->opt.n_workers; w++) free(c->member[w].history);
    free(c->returned.range);
    drove__free(c->member);
    drove__free(c->u);
    drove__free(c->is_lost);
    drove__free(c->is_away);
    drove__free(c);
}

size_t drove__coord_most_actions(const drove_coord *c)
{
    return c->n_slots + c->opt.n_workers + 1;
}

/* ---- messages ---- */

static void lose(drove_coord *c, unsigned worker, bool is_silent, drove_coord_action *out,
                 size_t *n_out)
{
    drove_coord_member *m = &c->member[worker];
    c->is_lost[worker] = true;
    c->n_alive--;
    if (c->is_away[worker]) c->n_away--;
    c->n_slots_alive -= m->is.depth;
    for (unsigned i = m->n_hand; i-- > 0;) drove__coord_put_back(c, m->hand[i].range);
    c->n_out -= m->n_hand;
    m->n_hand = 0;
    out[(*n_out)++] =
        (drove_coord_action){.verb = DROVE_COORD_RETIRE, .worker = worker, .is_silent = is_silent};
}

static uint64_t deadline_of(const drove_coord *c, unsigned worker)
{
    const drove_coord_member *m = &c->member[worker];
    if (m->n_hand == 0 || m->timeout_ns == 0) return UINT64_MAX;
    return m->hand[0].begin_ns + m->timeout_ns;
}

/* Takes the assignment out of the worker's hand; what it took counts in the means. */
static bool finish(drove_coord_member *m, const drove_coord_message *message, uint64_t now_ns,
                   drove_assignment *out)
{
    unsigned i = 0;
    while (i < m->n_hand && m->hand[i].id != message->id) i++;
    if (i == m->n_hand) return false;
    *out = m->hand[i];
    memmove(&m->hand[i], &m->hand[i + 1], (m->n_hand - i - 1) * sizeof m->hand[0]);
    m->n_hand--;
    if (m->n_hand > 0) m->hand[0].begin_ns = now_ns; /* from now on it works on that one */
    uint64_t took_ns = now_ns - out->begin_ns;
    m->out_ns += took_ns;
    const double took_s = (double)took_ns / 1e9;
    drove__pace_add(&m->mean, (double)out->range.n, took_s);
    m->rate = drove__pace_rate(&m->mean);
    drove__sizes_add(&m->sizes, out->range.n < m->batch ? out->range.n : m->batch, out->range.n,
                     took_s);
    return true;
}

/* Counts what an assignment brought; false: it had been taken away. */
static bool count(drove_coord *c, const drove_coord_message *message, uint64_t now_ns)
{
    drove_coord_member *m = &c->member[message->worker];
    drove_assignment done;
    if (!finish(m, message, now_ns, &done)) return false;
    c->n_out--;
    m->n_batches++;
    m->n_examples += done.range.n;
    m->n_updates += message->n_updates;
    c->n_updates += message->n_updates;
    c->u[message->worker] = m->u_restored + m->is.survival * (double)m->n_updates;

    /* Algorithm 2, lines 1 to 5: the worker's b for what it will be given next. */
    drove_policy_view view = {.alpha = c->opt.alpha,
                              .u = c->u[message->worker],
                              .min_u = INFINITY,
                              .max_u = -INFINITY,
                              .batch = m->batch,
                              .most = m->is.most};
    for (unsigned w = 0; w < c->opt.n_workers; w++) {
        if (w == message->worker || c->is_lost[w]) continue;
        view.n_others++;
        view.min_u = fmin(view.min_u, c->u[w]);
        view.max_u = fmax(view.max_u, c->u[w]);
    }
    if (c->opt.utilisation > 0.0) m->least = drove__sizes_least(&m->sizes, c->opt.utilisation);
    view.least = m->least;
    m->batch = c->opt.policy->next(&view);
    return true;
}

void drove__coord_handle(drove_coord *c, const drove_coord_message *message, uint64_t now_ns,
                         drove_coord_action *out, size_t *n_out)
{
    unsigned first = c->opt.n_workers;
    *n_out = 0;
    c->pace.is_known = false;
    switch (message->verb) {
    case DROVE_COORD_OPEN:
        assert(!c->is_open && c->n_out == 0);
        c->is_open = true;
        c->is_halted = false;
        c->limit = message->limit;
        c->n_updates = 0;
        c->most_updates = message->most_updates;
        memset(c->is_away, 0, c->opt.n_workers * sizeof *c->is_away);
        c->n_away = 0;
        break;
    case DROVE_COORD_HALT: c->is_halted = true; break;
    case DROVE_COORD_TICK:
        for (unsigned w = 0; w < c->opt.n_workers; w++)
            if (deadline_of(c, w) <= now_ns) lose(c, w, true, out, n_out);
        break;
    case DROVE_COORD_FAILED:
        if (!c->is_lost[message->worker]) lose(c, message->worker, false, out, n_out);
        break;
    case DROVE_COORD_WITHDRAW:
        assert(c->member[message->worker].n_hand == 0);
        if (c->is_lost[message->worker] || c->is_away[message->worker]) break;
        c->is_away[message->worker] = true;
        c->n_away++;
        break;
    case DROVE_COORD_SCHEDULE:
        if (!count(c, message, now_ns)) return;
        first = message->worker;
        break;
    }
    if (!c->is_open) return;
    /* Gives out what there is: to who has asked first, then to all others with room in their
     * hands. */
    while (first < c->opt.n_workers && drove__coord_give(c, first, now_ns, &out[*n_out]))
        (*n_out)++;
    for (unsigned w = 0; w < c->opt.n_workers && c->n_out < c->n_slots_alive; w++)
        while (drove__coord_give(c, w, now_ns, &out[*n_out])) (*n_out)++;
    if (c->n_out > 0) return;
    c->is_open = false;
    bool is_done = drove__coord_left(c) == 0;
    assert(is_done || c->n_alive == c->n_away);
    out[(*n_out)++] =
        (drove_coord_action){.verb = is_done ? DROVE_COORD_PARKED : DROVE_COORD_DESERTED};
}

uint64_t drove__coord_deadline(const drove_coord *c)
{
    uint64_t earliest = UINT64_MAX;
    for (unsigned w = 0; w < c->opt.n_workers; w++)
        if (deadline_of(c, w) < earliest) earliest = deadline_of(c, w);
    return earliest;
}

/* ---- facts ---- */

void drove__coord_facts(const drove_coord *c, unsigned worker, drove_coord_facts *out)
{
    const drove_coord_member *m = &c->member[worker];
    *out = (drove_coord_facts){.batch = m->batch,
                               .least = m->least,
                               .most = m->is.most,
                               .u = c->u[worker],
                               .n_updates = m->n_updates,
                               .n_examples = m->n_examples,
                               .n_batches = m->n_batches,
                               .out_ns = m->out_ns,
                               .examples_per_s = m->rate,
                               .is_lost = c->is_lost[worker],
                               .history = m->history,
                               .n_history = m->n_history};
}

uint64_t drove__coord_next(const drove_coord *c)
{
    return c->next;
}

size_t drove__coord_undone(const drove_coord *c, const drove_range **out)
{
    *out = c->returned.range;
    return c->returned.n;
}

/* ---- a saved run ---- */

void drove__coord_restore(drove_coord *c, uint64_t next)
{
    assert(c->last_id == 0);
    c->next = next;
}

drove_status drove__coord_restore_undone(drove_coord *c, const drove_range *range, size_t n)
{
    drove_returned *back = &c->returned;
    assert(c->last_id == 0);
    drove_range *grown = drove__grow(back->range, back->room + n, sizeof *grown);
    if (grown == NULL) return drove__fail_nomem("returned ranges", n * sizeof *range);
    back->range = grown;
    back->room += n;
    for (size_t i = n; i-- > 0;) {
        back->range[back->n++] = range[i];
        back->n_left += range[i].n;
    }
    return DROVE_OK;
}

void drove__coord_restore_worker(drove_coord *c, unsigned worker, double u, uint64_t batch)
{
    drove_coord_member *m = &c->member[worker];
    m->u_restored = u;
    c->u[worker] = u;
    m->batch = batch < m->is.least ? m->is.least : batch > m->is.most ? m->is.most : batch;
}
