/* The coordinator against a second one, written plainly from coord.h: random workers and random
 * messages; every action, fact, deadline and range that is left must be the same. */
#include "coord/coord.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 6, UNDONE = 64, CLASSES = 64, ACTIONS = 64, HISTORY = 2000 };
enum { N_CASES = 1500, N_MESSAGES = 150 };

/* ---- the second coordinator ---- */

typedef struct held { /* an assignment */
    uint64_t id, first, n, since_ns;
} held;

typedef struct person { /* a worker */
    drove_coord_worker is;
    bool is_lost, is_away;
    uint64_t batch, least, n_updates, n_examples, n_batches, out_ns;
    double u, u_before, rate; /* updates counted, those of a restored run, examples/s */
    double examples, seconds; /* means of an assignment; 0: none yet */
    double class_examples[CLASSES], class_seconds[CLASSES]; /* of sizes least x factor^i */
    held hand[DROVE_COORD_DEPTH];
    unsigned n_hand;
    drove_batch_change history[HISTORY];
    size_t n_history;
} person;

typedef struct second {
    drove_coord_options opt;
    person who[WORKERS];
    bool is_open, is_halted;
    uint64_t now_ns, next, limit, n_updates, most_updates, last_id;
    drove_range undone[UNDONE]; /* the last one is given out first */
    size_t n_undone;
    const drove_coord_action *said; /* what the coordinator did, checked one by one */
    size_t n_said, n_checked;
} second;

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* An assignment has at least one example, so a mean of 0 is none. */
static void note(double *examples, double *seconds, double n, double s)
{
    *seconds = *examples > 0.0 ? 0.75 * *seconds + 0.25 * s : s;
    *examples = *examples > 0.0 ? 0.75 * *examples + 0.25 * n : n;
}

static double per_second(double examples, double seconds)
{
    return seconds > 0.0 ? examples / seconds : 0.0;
}

static uint64_t left_of(const second *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n_undone; i++) n += c->undone[i].n;
    if (!c->is_halted && c->n_updates < c->most_updates && c->limit > c->next)
        n += c->limit - c->next;
    return n;
}

static double factor_of(const second *c, const person *p)
{
    double range = log((double)p->is.most / (double)p->is.least);
    return fmax(log(c->opt.alpha), range / (CLASSES - 1));
}

static size_t classes_of(const second *c, const person *p)
{
    double range = log((double)p->is.most / (double)p->is.least);
    return least_of((uint64_t)lround(range / factor_of(c, p)) + 1, CLASSES);
}

static void note_rate(const second *c, person *p, uint64_t examples, double s)
{
    uint64_t n = least_of(examples, p->batch);
    note(&p->examples, &p->seconds, (double)examples, s);
    p->rate = per_second(p->examples, p->seconds);
    if (n < p->is.least) return;
    size_t i = (size_t)lround(log((double)n / (double)p->is.least) / factor_of(c, p));
    i = least_of(i, classes_of(c, p) - 1);
    note(&p->class_examples[i], &p->class_seconds[i], (double)examples, s);
}

/* Above every class that was slower than `utilisation` of the best. */
static uint64_t busy_size(const second *c, const person *p)
{
    double best = 0.0, size = (double)p->is.least;
    double rate[CLASSES];
    for (size_t i = 0; i < classes_of(c, p); i++) {
        rate[i] = per_second(p->class_examples[i], p->class_seconds[i]);
        best = fmax(best, rate[i]);
    }
    for (size_t i = classes_of(c, p); i-- > 0;) {
        if (rate[i] == 0.0 || rate[i] >= c->opt.utilisation * best) continue;
        size *= exp((double)(i + 1) * factor_of(c, p));
        break;
    }
    return least_of((uint64_t)ceil(size - 1e-6), p->is.most);
}

static uint64_t adapted(const second *c, const person *p)
{
    double least = INFINITY, most = -INFINITY, size = (double)p->batch, alpha = c->opt.alpha;
    for (unsigned w = 0; w < c->opt.n_workers; w++) {
        if (&c->who[w] == p || c->who[w].is_lost) continue;
        least = fmin(least, c->who[w].u);
        most = fmax(most, c->who[w].u);
    }
    if (c->opt.policy == &drove__policy_fixed || isinf(least)) return p->batch;
    if (p->u < least) size = fmin(round(size / alpha), size - 1);
    else if (p->u > most) size = fmax(round(size * alpha), size + 1);
    return (uint64_t)fmin(fmax(size, (double)p->least), (double)p->is.most);
}

/* As the adaptive policy does it, a size that min_b has overtaken is raised. */
static void adapt(const second *c, person *p)
{
    if (c->opt.utilisation > 0.0) p->least = busy_size(c, p);
    p->batch = adapted(c, p);
    if (c->opt.policy == &drove__policy_adaptive)
        p->batch = least_of(p->batch < p->least ? p->least : p->batch, p->is.most);
}

/* Examples that the worker has still to do. */
static double load(const second *c, const person *p)
{
    double n = 0.0;
    if (p->rate <= 0.0) return 0.0;
    for (unsigned i = 0; i < p->n_hand; i++) {
        double gone = i == 0 ? (double)(c->now_ns - p->hand[i].since_ns) / 1e9 * p->rate : 0.0;
        n += fmax((double)p->hand[i].n - gone, 0.0);
    }
    return n;
}

/* The size that lets the worker end with all others, who share the rest; `shift` moves it a little,
 * for the two roundings that are allowed. */
static uint64_t fitted(const second *c, const person *p, uint64_t n, double shift)
{
    double rate = 0.0, work = (double)left_of(c), fastest = 0.0;
    for (unsigned w = 0; w < c->opt.n_workers; w++) {
        if (c->who[w].is_lost || c->who[w].is_away) continue;
        rate += c->who[w].rate;
        work += load(c, &c->who[w]);
        fastest = fmax(fastest, c->who[w].rate);
    }
    if (p->rate <= 0.0 || rate - p->rate <= 0.0) return n;
    double share = p->rate * work / rate - load(c, p);
    share += shift * (1.0 + fabs(share));
    if (share >= (double)n) return n;
    if (share < (double)p->is.least) return p->n_hand > 0 || p->rate < fastest ? 0 : p->is.least;
    uint64_t size = (uint64_t)share, rest = left_of(c) - least_of(size, left_of(c));
    return rest < p->is.least && p->rate == fastest ? n : size;
}

static uint64_t size_of(const second *c, const person *p, double shift)
{
    uint64_t left = left_of(c), n = p->batch;
    double several = p->is.assignment_s * p->rate / (double)p->batch;
    if (left == 0) return 0;
    if (c->most_updates == UINT64_MAX && several >= 2.0)
        n *= (uint64_t)fmin(floor(several), 1024.0);
    if (c->opt.fit_tail) n = fitted(c, p, n, shift);
    return least_of(n, left);
}

/* The next action must be this. */
static const drove_coord_action *expect(second *c, drove_coord_do verb)
{
    assert_true(c->n_checked < c->n_said);
    const drove_coord_action *a = &c->said[c->n_checked++];
    assert_int_equal(a->verb, verb);
    return a;
}

/* An assignment, whose size may be either of two where a share lies at a whole number. */
static void give(second *c, unsigned w)
{
    person *p = &c->who[w];
    const drove_coord_action *a = expect(c, DROVE_COORD_EXECUTE);
    uint64_t n = size_of(c, p, 0.0), room, first;
    if (a->range.n != n) n = size_of(c, p, a->range.n > n ? 1e-9 : -1e-9);
    if (c->n_undone > 0) {
        drove_range *back = &c->undone[c->n_undone - 1];
        room = back->n;
        first = back->first;
        n = least_of(n, room);
        *back = (drove_range){first + n, room - n};
        if (room == n) c->n_undone--;
    } else {
        first = c->next;
        room = c->opt.n_rows - c->next % c->opt.n_rows;
        n = least_of(n, room);
        c->next += n;
    }
    p->hand[p->n_hand++] = (held){++c->last_id, first, n, c->now_ns};
    if (p->n_history == 0 || p->history[p->n_history - 1].batch != p->batch)
        p->history[p->n_history++] = (drove_batch_change){first, c->now_ns, p->batch, p->u};
    if (a->worker != w || a->id != c->last_id || a->range.first != first || a->range.n != n ||
        a->batch != p->batch || a->is_silent)
        fail_msg("expected %u to get %llu from %llu, found %u, %llu from %llu", w,
                 (unsigned long long)n, (unsigned long long)first, a->worker,
                 (unsigned long long)a->range.n, (unsigned long long)a->range.first);
}

static bool gets_one(const second *c, unsigned w)
{
    const person *p = &c->who[w];
    if (p->is_lost || p->is_away || p->n_hand == p->is.depth) return false;
    uint64_t a = size_of(c, p, -1e-9), b = size_of(c, p, 1e-9);
    if ((a > 0) == (b > 0)) return a > 0;
    return c->n_checked < c->n_said && c->said[c->n_checked].verb == DROVE_COORD_EXECUTE &&
           c->said[c->n_checked].worker == w;
}

static unsigned held_of_all(const second *c)
{
    unsigned n = 0;
    for (unsigned w = 0; w < c->opt.n_workers; w++) n += c->who[w].n_hand;
    return n;
}

static void give_out(second *c, unsigned first)
{
    if (!c->is_open) return;
    while (first < c->opt.n_workers && gets_one(c, first)) give(c, first);
    for (unsigned w = 0; w < c->opt.n_workers; w++)
        while (gets_one(c, w)) give(c, w);
    if (held_of_all(c) > 0) return;
    c->is_open = false;
    (void)expect(c, left_of(c) == 0 ? DROVE_COORD_PARKED : DROVE_COORD_DESERTED);
}

static void lose(second *c, unsigned w, bool is_silent)
{
    person *p = &c->who[w];
    const drove_coord_action *a = expect(c, DROVE_COORD_RETIRE);
    assert_int_equal(a->worker, w);
    assert_int_equal(a->is_silent, is_silent);
    p->is_lost = true;
    while (p->n_hand > 0) {
        const held *h = &p->hand[--p->n_hand];
        c->undone[c->n_undone++] = (drove_range){h->first, h->n};
    }
}

static uint64_t deadline_of(const person *p)
{
    uint64_t limit_ns = (uint64_t)ceil(p->is.timeout_s * 1e9);
    return p->n_hand == 0 || limit_ns == 0 ? UINT64_MAX : p->hand[0].since_ns + limit_ns;
}

/* False: nothing that the worker holds. */
static bool finish(second *c, const drove_coord_message *m)
{
    person *p = &c->who[m->worker];
    for (unsigned i = 0; i < p->n_hand; i++) {
        held h = p->hand[i];
        uint64_t took_ns = c->now_ns - h.since_ns;
        if (h.id != m->id) continue;
        for (unsigned k = i + 1; k < p->n_hand; k++) p->hand[k - 1] = p->hand[k];
        p->n_hand--;
        p->hand[0].since_ns = c->now_ns; /* without one: not read */
        note_rate(c, p, h.n, (double)took_ns / 1e9);
        p->out_ns += took_ns;
        p->n_batches++;
        p->n_examples += h.n;
        p->n_updates += m->n_updates;
        c->n_updates += m->n_updates;
        p->u = p->u_before + p->is.survival * (double)p->n_updates;
        adapt(c, p);
        return true;
    }
    return false;
}

static void handle(second *c, const drove_coord_message *m)
{
    switch (m->verb) {
    case DROVE_COORD_OPEN:
        c->is_open = true;
        c->is_halted = false;
        c->limit = m->limit;
        c->most_updates = m->most_updates;
        c->n_updates = 0;
        for (unsigned w = 0; w < WORKERS; w++) c->who[w].is_away = false;
        break;
    case DROVE_COORD_HALT: c->is_halted = true; break;
    case DROVE_COORD_WITHDRAW: c->who[m->worker].is_away = true; break;
    case DROVE_COORD_FAILED:
        if (!c->who[m->worker].is_lost) lose(c, m->worker, false);
        break;
    case DROVE_COORD_TICK:
        for (unsigned w = 0; w < c->opt.n_workers; w++)
            if (deadline_of(&c->who[w]) <= c->now_ns) lose(c, w, true);
        break;
    case DROVE_COORD_SCHEDULE:
        if (!finish(c, m)) return;
        give_out(c, m->worker);
        return;
    }
    give_out(c, c->opt.n_workers);
}

/* ---- both of them ---- */

typedef struct pair {
    second plain;
    drove_coord *c;
    drove_coord_worker worker[WORKERS];
    drove_coord_action action[ACTIONS];
    drove_rng rng;
} pair;

static uint64_t below(pair *p, uint64_t n)
{
    return drove__rng_below(&p->rng, n);
}

static void compare_worker(const pair *p, unsigned w)
{
    const person *q = &p->plain.who[w];
    drove_coord_facts f;
    drove__coord_facts(p->c, w, &f);
    assert_int_equal(f.batch, q->batch);
    assert_int_equal(f.least, q->least);
    assert_int_equal(f.most, q->is.most);
    assert_true(f.u == q->u);
    assert_int_equal(f.n_updates, q->n_updates);
    assert_int_equal(f.n_examples, q->n_examples);
    assert_int_equal(f.n_batches, q->n_batches);
    assert_int_equal(f.out_ns, q->out_ns);
    assert_true(fabs(f.examples_per_s - q->rate) <= 1e-9 * q->rate);
    assert_int_equal(f.is_lost, q->is_lost);
    assert_int_equal(f.n_history, q->n_history);
    for (size_t i = 0; i < f.n_history; i++) {
        const drove_batch_change *a = &f.history[i], *b = &q->history[i];
        assert_true(a->position == b->position && a->now_ns == b->now_ns && a->batch == b->batch &&
                    a->u == b->u);
    }
}

static void compare(const pair *p)
{
    const second *c = &p->plain;
    const drove_range *undone;
    uint64_t earliest = UINT64_MAX;
    for (unsigned w = 0; w < c->opt.n_workers; w++) {
        compare_worker(p, w);
        earliest = least_of(earliest, deadline_of(&c->who[w]));
    }
    assert_true(drove__coord_deadline(p->c) == earliest);
    assert_int_equal(drove__coord_next(p->c), c->next);
    assert_int_equal(drove__coord_undone(p->c, &undone), c->n_undone);
    for (size_t i = 0; i < c->n_undone; i++)
        assert_true(undone[i].first == c->undone[i].first && undone[i].n == c->undone[i].n);
}

static void send(pair *p, const drove_coord_message *m)
{
    second *c = &p->plain;
    drove__coord_handle(p->c, m, c->now_ns, p->action, &c->n_said);
    c->said = p->action;
    c->n_checked = 0;
    assert_true(c->n_said <= drove__coord_most_actions(p->c));
    handle(c, m);
    assert_int_equal(c->n_checked, c->n_said);
    compare(p);
}

/* ---- random runs ---- */

static void make_worker(pair *p, unsigned w)
{
    static const double survivals[] = {1.0, 1.0, 0.25, 0.0};
    static const double timeouts[] = {0.0, 0.0, 0.02, 0.0000001, 1e10};
    static const double assignments[] = {0.0, 0.0, 0.005, 5.0};
    drove_coord_worker *k = &p->worker[w];
    k->least = 1 + below(p, 20);
    k->most = k->least + below(p, below(p, 2) ? 1000 : 4);
    k->batch = k->least + below(p, k->most - k->least + 1);
    k->depth = 1 + (unsigned)below(p, DROVE_COORD_DEPTH);
    k->survival = survivals[below(p, DROVE_COUNT(survivals))];
    k->timeout_s = timeouts[below(p, DROVE_COUNT(timeouts))];
    k->assignment_s = assignments[below(p, DROVE_COUNT(assignments))];
    person *q = &p->plain.who[w];
    *q = (person){.is = *k, .batch = k->batch, .least = k->least};
    if (k->timeout_s > 1e9) q->is.timeout_s = 0.0; /* for ever */
}

/* What a saved run left: counted updates, sizes that may lie outside, ranges to do first. */
static void go_on(pair *p)
{
    second *c = &p->plain;
    c->next = c->opt.n_rows + below(p, 1000);
    drove__coord_restore(p->c, c->next);
    for (unsigned w = 0; w < c->opt.n_workers; w++) {
        person *q = &c->who[w];
        uint64_t batch = 1 + below(p, 2000);
        q->u = q->u_before = (double)below(p, 10);
        q->batch = least_of(batch < q->is.least ? q->is.least : batch, q->is.most);
        drove__coord_restore_worker(p->c, w, q->u, batch);
    }
    drove_range left[3];
    size_t n = 1 + below(p, 3);
    for (size_t i = 0; i < n; i++)
        left[i] = (drove_range){i * (c->opt.n_rows / 4), 1 + below(p, (c->opt.n_rows + 3) / 4)};
    assert_int_equal(drove__coord_restore_undone(p->c, left, n), DROVE_OK);
    for (size_t i = n; i-- > 0;) c->undone[c->n_undone++] = left[i];
    compare(p);
}

static void open_pair(pair *p, uint64_t seed)
{
    static const double alphas[] = {1.01, 1.5, 2.0, 8.0}, busy[] = {0.0, 0.5, 0.9};
    memset(p, 0, sizeof *p);
    drove__rng_seed(&p->rng, seed, DROVE_RNG_TEST, 0);
    unsigned n = 1 + (unsigned)below(p, WORKERS);
    size_t n_slots = 0;
    for (unsigned w = 0; w < n; w++) {
        make_worker(p, w);
        n_slots += p->worker[w].depth;
    }
    p->plain.opt = (drove_coord_options){.policy = below(p, 4) == 0 ? &drove__policy_fixed
                                                                    : &drove__policy_adaptive,
                                         .alpha = alphas[below(p, DROVE_COUNT(alphas))],
                                         .utilisation = busy[below(p, DROVE_COUNT(busy))],
                                         .fit_tail = below(p, 2) == 0,
                                         .n_rows = 1 + below(p, below(p, 2) ? 5000 : 50),
                                         .n_workers = n,
                                         .worker = p->worker};
    assert_int_equal(drove__coord_create(&p->plain.opt, &p->c), DROVE_OK);
    assert_int_equal(drove__coord_most_actions(p->c), n_slots + n + 1); /* all, all lost, the end */
    p->plain.now_ns = below(p, 1000);
    if (below(p, 2)) go_on(p);
    else compare(p);
}

static void schedule(pair *p)
{
    second *c = &p->plain;
    unsigned w = (unsigned)below(p, c->opt.n_workers);
    drove_coord_message m = {
        .verb = DROVE_COORD_SCHEDULE, .worker = w, .n_updates = below(p, 4), .id = 1000000};
    if (c->who[w].n_hand == 0) {
        if (below(p, 8) == 0) send(p, &m); /* about nothing that it has */
        return;
    }
    uint64_t i = below(p, 4) ? 0 : below(p, c->who[w].n_hand);
    m.id = c->who[w].hand[i].id;
    if (below(p, 8) > 0) c->now_ns += 1 + below(p, 20000000) / (w + 1);
    send(p, &m);
}

static void act(pair *p)
{
    second *c = &p->plain;
    unsigned w = (unsigned)below(p, c->opt.n_workers);
    uint64_t what = below(p, 100);
    drove_coord_message m = {.worker = w};
    if (!c->is_open && what < 60) {
        m.verb = DROVE_COORD_OPEN;
        m.limit = c->next + below(p, 3 * least_of(c->opt.n_rows, 2000));
        if (below(p, 8) == 0) m.limit = c->next / 2;
        m.most_updates = below(p, 4) ? UINT64_MAX : below(p, 20);
    } else if (what < 94) {
        schedule(p);
        return;
    } else if (what == 94) {
        m.verb = DROVE_COORD_FAILED;
        if (below(p, 2)) return;
    } else if (what == 95) {
        m.verb = DROVE_COORD_HALT;
    } else if (what == 96) {
        m.verb = DROVE_COORD_WITHDRAW;
        if (c->who[w].n_hand > 0 || c->who[w].is_lost) return;
    } else {
        m.verb = DROVE_COORD_TICK;
        uint64_t deadline = drove__coord_deadline(p->c);
        if (deadline != UINT64_MAX && deadline > c->now_ns && below(p, 2))
            c->now_ns = deadline - below(p, 2);
    }
    send(p, &m);
}

TEST(both_say_the_same)
{
    pair *p = malloc(sizeof *p);
    uint64_t n_given = 0, n_lost = 0;
    assert_non_null(p);
    for (uint64_t seed = 0; seed < N_CASES; seed++) {
        open_pair(p, seed);
        for (int i = 0; i < N_MESSAGES; i++) act(p);
        n_given += p->plain.last_id;
        for (unsigned w = 0; w < WORKERS; w++) n_lost += p->plain.who[w].is_lost;
        drove__coord_destroy(p->c);
    }
    assert_true(n_given > 50 * N_CASES && n_lost > N_CASES / 4); /* there was something to see */
    free(p);
}
