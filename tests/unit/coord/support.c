/* See support.h. */
#include "support.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

drove_coord_worker a_worker(const char *name, uint64_t least, uint64_t batch, uint64_t most)
{
    drove_coord_worker w = {
        .batch = batch, .least = least, .most = most, .depth = 1, .survival = 1.0};
    (void)snprintf(w.name, sizeof w.name, "%s", name);
    return w;
}

hand *hand_create(const drove_coord_options *opt)
{
    hand *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->opt = *opt;
    if (drove__coord_create(opt, &h->c) != DROVE_OK) fail_msg("%s", drove_error_text());
    h->last = calloc(drove__coord_most_actions(h->c), sizeof *h->last);
    assert_non_null(h->last);
    return h;
}

void hand_destroy(hand *h)
{
    drove__coord_destroy(h->c);
    free(h->last);
    free(h);
}

static void execute(hand *h, const drove_coord_action *a)
{
    assert_true(a->worker < h->opt.n_workers && a->range.n > 0);
    assert_true(h->n_given[a->worker] < h->opt.worker[a->worker].depth);
    drove_coord_facts facts = hand_facts(h, a->worker);
    assert_false(facts.is_lost);
    bool may_be_several = h->opt.worker[a->worker].assignment_s > 0.0;
    assert_true(a->range.n <= a->batch || may_be_several);
    assert_true(a->batch >= facts.least && a->batch <= facts.most);
    assert_true(a->range.first / h->opt.n_rows ==
                (a->range.first + a->range.n - 1) / h->opt.n_rows);
    h->given[a->worker][h->n_given[a->worker]++] = *a;
}

void hand_send(hand *h, const drove_coord_message *message)
{
    drove__coord_handle(h->c, message, h->now_ns, h->last, &h->n_last);
    assert_true(h->n_last <= drove__coord_most_actions(h->c));
    for (size_t i = 0; i < h->n_last; i++) {
        const drove_coord_action *a = &h->last[i];
        switch (a->verb) {
        case DROVE_COORD_EXECUTE: execute(h, a); break;
        case DROVE_COORD_RETIRE:
            h->n_retired++;
            h->n_given[a->worker] = 0;
            break;
        case DROVE_COORD_PARKED: h->n_parked++; break;
        case DROVE_COORD_DESERTED: h->n_deserted++; break;
        }
        if (a->verb == DROVE_COORD_PARKED || a->verb == DROVE_COORD_DESERTED) {
            assert_true(i == h->n_last - 1);
            for (unsigned w = 0; w < h->opt.n_workers; w++) assert_int_equal(h->n_given[w], 0);
        }
    }
}

void hand_open(hand *h, uint64_t limit)
{
    hand_send(h, &(drove_coord_message){
                     .verb = DROVE_COORD_OPEN, .limit = limit, .most_updates = UINT64_MAX});
}

void hand_done(hand *h, unsigned worker, uint64_t n_updates, uint64_t took_ns)
{
    assert_true(h->n_given[worker] > 0);
    drove_coord_action a = h->given[worker][0];
    memmove(&h->given[worker][0], &h->given[worker][1],
            (DROVE_COORD_DEPTH - 1) * sizeof h->given[worker][0]);
    h->n_given[worker]--;
    const drove_coord_message message = {
        .verb = DROVE_COORD_SCHEDULE, .worker = worker, .id = a.id, .n_updates = n_updates};
    for (uint64_t i = 0; i < a.range.n; i++) {
        assert_true(a.range.first + i < HAND_MOST_ROWS);
        h->n_done[a.range.first + i]++;
    }
    h->now_ns += took_ns;
    hand_send(h, &message);
}

void hand_fail(hand *h, unsigned worker)
{
    hand_send(h, &(drove_coord_message){.verb = DROVE_COORD_FAILED, .worker = worker});
}

void hand_check_all_done(const hand *h, uint64_t limit)
{
    for (uint64_t i = 0; i < HAND_MOST_ROWS; i++)
        if (h->n_done[i] != (i < limit))
            fail_msg("position %llu was done %u times", (unsigned long long)i, h->n_done[i]);
}

drove_coord_facts hand_facts(const hand *h, unsigned worker)
{
    drove_coord_facts facts;
    drove__coord_facts(h->c, worker, &facts);
    return facts;
}
