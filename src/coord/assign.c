/* coord/assign.c - how many examples a worker is given, and which; see coord.h.
 *
 * A worker gets b examples, or fewer where the epoch or the stretch ends before.  Near the end of a
 * stretch it gets no more than it can do while all others do the rest.
 */
#include "base/mem.h"
#include "coord/state.h"

#include <math.h>
#include <string.h>

/* Batches of one assignment: so few that a speed which was far off does no harm for long. */
#define MOST_BATCHES UINT64_C(1024)

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t drove__coord_left(const drove_coord *c)
{
    bool may_go_on = !c->is_halted && c->n_updates < c->most_updates;
    uint64_t left = c->returned.n_left;
    if (may_go_on && c->limit > c->next) left += c->limit - c->next;
    return left;
}

/* ---- speeds ---- */

/* Examples that the worker has still to do of what it has in hand, by its speed. */
static double still_in_hand(const drove_coord *c, unsigned worker, uint64_t now_ns)
{
    const drove_coord_member *m = &c->member[worker];
    double n = 0.0;
    if (m->n_hand == 0 || m->rate <= 0.0) return 0.0;
    for (unsigned i = 1; i < m->n_hand; i++) n += (double)m->hand[i].range.n;
    double elapsed_s = (double)(now_ns - m->hand[0].begin_ns) / 1e9;
    return n + fmax((double)m->hand[0].range.n - elapsed_s * m->rate, 0.0);
}

/* ---- sizes ---- */

/* Cuts n so that the worker is done no later than all others together with the rest, if it takes
 * them now:  (h + n) / s = (H + left - n) / S,  with s its speed and h what it has in hand, S and
 * H the same of all others.  Where that is less than `least`: 0 if somebody does it faster, or if
 * the worker has something to do.  So the fastest worker is never sent away empty-handed, and what
 * is left is always in somebody's way. */
static uint64_t fit(const drove_coord *c, unsigned worker, uint64_t now_ns, uint64_t n,
                    uint64_t least)
{
    double s = c->member[worker].rate, others = c->pace.rate - s;
    if (s <= 0.0 || others <= 0.0) return n;
    double own = still_in_hand(c, worker, now_ns), in_hand = c->pace.in_hand - own;
    double share = (s * ((double)drove__coord_left(c) + in_hand) - others * own) / (s + others);
    if (share >= (double)n) return n;
    if (share >= (double)least) {
        uint64_t rest = drove__coord_left(c) - least_of((uint64_t)share, drove__coord_left(c));
        bool is_crumb = rest < least && s == c->pace.fastest; /* nobody else would be given it */
        return is_crumb ? n : (uint64_t)share;
    }
    return c->member[worker].n_hand > 0 || s < c->pace.fastest ? 0 : least;
}

static uint64_t size_for(drove_coord *c, unsigned worker, uint64_t now_ns)
{
    const drove_coord_member *m = &c->member[worker];
    const uint64_t left = drove__coord_left(c);
    if (left == 0) return 0;
    /* b, or several of them, by the speed of the last ones. */
    uint64_t n = m->batch;
    const double n_batches = m->is.assignment_s * m->rate / (double)m->batch;
    if (c->most_updates == UINT64_MAX && n_batches >= 2.0)
        n *= n_batches < (double)MOST_BATCHES ? (uint64_t)n_batches : MOST_BATCHES;
    if (!c->opt.fit_tail) return least_of(n, left);
    if (!c->pace.is_known) {
        c->pace = (drove_pace){.is_known = true};
        for (unsigned w = 0; w < c->opt.n_workers; w++) {
            if (c->is_lost[w] || c->is_away[w]) continue;
            c->pace.rate += c->member[w].rate;
            c->pace.fastest = fmax(c->pace.fastest, c->member[w].rate);
            c->pace.in_hand += still_in_hand(c, w, now_ns);
        }
    }
    return least_of(fit(c, worker, now_ns, n, m->is.least), left);
}

/* ---- ranges ---- */

static drove_range take(drove_coord *c, uint64_t n)
{
    drove_returned *back = &c->returned;
    if (back->n > 0) {
        drove_range *last = &back->range[back->n - 1];
        drove_range taken = {last->first, least_of(n, last->n)};
        last->first += taken.n;
        last->n -= taken.n;
        if (last->n == 0) back->n--;
        back->n_left -= taken.n;
        return taken;
    }
    drove_range taken = {c->next, least_of(n, c->opt.n_rows - c->next % c->opt.n_rows)};
    c->next += taken.n;
    return taken;
}

void drove__coord_put_back(drove_coord *c, drove_range range)
{
    drove_returned *back = &c->returned;
    back->range[back->n++] = range;
    back->n_left += range.n;
}

/* ---- assignments ---- */

bool drove__coord_give(drove_coord *c, unsigned worker, uint64_t now_ns, drove_coord_action *out)
{
    drove_coord_member *m = &c->member[worker];
    if (c->is_lost[worker] || c->is_away[worker] || m->n_hand == m->is.depth) return false;
    uint64_t n = size_for(c, worker, now_ns);
    if (n == 0) return false;
    drove_range range = take(c, n);
    m->hand[m->n_hand++] = (drove_assignment){++c->last_id, range, now_ns};
    c->n_out++;
    if (c->pace.is_known && m->rate > 0.0) c->pace.in_hand += (double)range.n;
    if (m->n_history == 0 || m->history[m->n_history - 1].batch != m->batch) {
        enum { HALF = DROVE_COORD_HISTORY / 2, BLOCK = DROVE_COORD_HISTORY / 4 };
        if (m->n_history == DROVE_COORD_HISTORY) { /* the middle goes, a block at a time */
            memmove(m->history + HALF, m->history + HALF + BLOCK,
                    (DROVE_COORD_HISTORY - HALF - BLOCK) * sizeof *m->history);
            m->n_history -= BLOCK;
        }
        m->history[m->n_history++] =
            (drove_batch_change){range.first, now_ns, m->batch, c->u[worker]};
    }
    *out = (drove_coord_action){.verb = DROVE_COORD_EXECUTE,
                                .worker = worker,
                                .id = c->last_id,
                                .range = range,
                                .batch = m->batch};
    return true;
}
