/* The schedule of accumulation against every order of events that can be, for small numbers of
 * devices, parts and iterations: each sum is made of the right gradients in the right order, each
 * device gets each sum once, nothing is ever stuck, nothing can come that should not.
 */
#include "accum/schedule.h"
#include "cluster/tree.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 64, MOST_ENABLED = 64, TEXT = 64, MOST_D = 5, MOST_P = 3, MOST_NODES = 10 };

typedef struct world { /* what an executor would know */
    unsigned n_devices, n_parts, n_iterations;
    drove_accum_order order;
    bool loses; /* forgets to report the first addition */
    bool has_lost;
    drove_schedule *schedule;
    drove_accum_event pending[MOST_ENABLED]; /* additions and copies that are under way */
    size_t n_pending;
    char node[2][MOST_P][MOST_NODES][TEXT]; /* what a node is the sum of, by parity */
    unsigned n_given[MOST_D][MOST_P];
    size_t n_finished; /* devices that are through */
} world;

/* ---- what is expected ---- */

static void write_tree(char *into, unsigned first, unsigned n)
{
    char left[TEXT], right[TEXT];
    if (n == 1) {
        snprintf(into, TEXT, "%u", first);
        return;
    }
    unsigned half = drove__tree_split(n);
    write_tree(left, first, half);
    write_tree(right, first + half, n - half);
    snprintf(into, TEXT, "(%.25s+%.25s)", left, right);
}

static bool has_all(const char *text, unsigned n_devices)
{
    for (unsigned d = 0; d < n_devices; d++) {
        unsigned count = 0;
        for (const char *c = text; *c != '\0'; c++) count += *c == (char)('0' + d);
        if (count != 1) return false;
    }
    return true;
}

/* ---- one event ---- */

static void carry_out(world *w, const drove_accum_action *a)
{
    char(*node)[TEXT] = w->node[a->iteration % 2][a->part];
    drove_accum_event done = {
        .iteration = a->iteration, .part = a->part, .device = a->device, .node = a->node};
    if (a->verb == DROVE_ACCUM_ADD) {
        char text[TEXT];
        assert_true(a->n_terms >= 2);
        if (w->order == DROVE_ACCUM_ONCE) {
            assert_int_equal(a->n_terms, w->n_devices);
            write_tree(text, 0, w->n_devices);
        } else {
            snprintf(text, sizeof text, "%s", node[a->term[0]]);
            for (unsigned i = 1; i < a->n_terms; i++) {
                char longer[TEXT];
                assert_true(node[a->term[i]][0] != '\0');
                snprintf(longer, sizeof longer, "(%.28s+%.28s)", text, node[a->term[i]]);
                snprintf(text, sizeof text, "%s", longer);
            }
        }
        assert_int_equal(a->is_last, has_all(text, w->n_devices));
        snprintf(node[a->node], TEXT, "%s", text);
        done.verb = DROVE_ACCUM_ADDED;
        if (w->loses && !w->has_lost) {
            w->has_lost = true;
            return;
        }
    } else {
        char expected[TEXT];
        write_tree(expected, 0, w->n_devices);
        assert_int_equal(a->node, drove__schedule_root(w->schedule));
        if (w->order == DROVE_ACCUM_FIRST_COME) assert_true(has_all(node[a->node], w->n_devices));
        else assert_string_equal(node[a->node], expected);
        done.verb = DROVE_ACCUM_GIVEN;
        w->n_given[a->device][a->part]++;
    }
    assert_true(w->n_pending < MOST_ENABLED);
    w->pending[w->n_pending++] = done;
}

static void happen(world *w, const drove_accum_event *event)
{
    drove_accum_action action[MOST_D + 1];
    size_t n;
    assert_true(drove__schedule_most_actions(w->schedule) <= MOST_D + 1);
    if (event->verb == DROVE_ACCUM_ARRIVED) {
        char(*node)[TEXT] = w->node[event->iteration % 2][event->part];
        snprintf(node[event->device], TEXT, "%u", event->device);
    }
    assert_int_equal(drove__schedule_handle(w->schedule, event, action, &n), DROVE_OK);
    for (size_t i = 0; i < n; i++) carry_out(w, &action[i]);
}

/* What can happen next; parts of a device come from the last to the first. */
static size_t enabled(const world *w, drove_accum_event *out)
{
    size_t n = 0;
    for (unsigned d = 0; d < w->n_devices; d++) {
        uint64_t iteration = drove__schedule_iteration(w->schedule, d);
        unsigned n_arrived = drove__schedule_n_arrived(w->schedule, d);
        if (iteration == w->n_iterations || n_arrived == w->n_parts) continue;
        out[n++] = (drove_accum_event){.verb = DROVE_ACCUM_ARRIVED,
                                       .iteration = iteration,
                                       .part = w->n_parts - 1 - n_arrived,
                                       .device = d};
    }
    for (size_t i = 0; i < w->n_pending; i++) out[n++] = w->pending[i];
    return n;
}

static bool same(const drove_accum_event *a, const drove_accum_event *b)
{
    return a->verb == b->verb && a->iteration == b->iteration && a->part == b->part &&
           a->device == b->device && a->node == b->node;
}

static void take(world *w, const drove_accum_event *event)
{
    for (size_t i = 0; i < w->n_pending; i++) {
        if (!same(&w->pending[i], event)) continue;
        w->pending[i] = w->pending[--w->n_pending];
        break;
    }
    happen(w, event);
}

/* ---- all orders ---- */

typedef struct search {
    unsigned n_devices, n_parts, n_iterations;
    drove_accum_order order;
    bool loses;
    drove_accum_event path[MOST_EVENTS];
    uint64_t n_orders, n_stuck;
} search;

static void replay(const search *s, size_t n, world *w)
{
    *w = (world){.n_devices = s->n_devices,
                 .n_parts = s->n_parts,
                 .n_iterations = s->n_iterations,
                 .order = s->order,
                 .loses = s->loses};
    assert_int_equal(drove__schedule_create(s->n_devices, s->n_parts, s->order, &w->schedule),
                     DROVE_OK);
    for (size_t i = 0; i < n; i++) take(w, &s->path[i]);
}

static bool is_complete(const world *w)
{
    for (unsigned d = 0; d < w->n_devices; d++) {
        if (drove__schedule_iteration(w->schedule, d) != w->n_iterations) return false;
        for (unsigned p = 0; p < w->n_parts; p++)
            if (w->n_given[d][p] != w->n_iterations) return false;
    }
    return drove__schedule_is_idle(w->schedule);
}

static void explore(search *s, size_t n)
{
    static world w;
    drove_accum_event next[MOST_ENABLED];
    assert_true(n < MOST_EVENTS);
    replay(s, n, &w);
    size_t n_next = enabled(&w, next);
    bool complete = is_complete(&w);
    drove__schedule_destroy(w.schedule);
    if (n_next == 0) {
        s->n_orders++;
        s->n_stuck += !complete;
    }
    for (size_t i = 0; i < n_next; i++) {
        s->path[n] = next[i];
        explore(s, n + 1);
    }
}

TEST(trees_by_hand)
{
    drove_schedule *s;
    unsigned n;
    assert_int_equal(drove__schedule_create(5, 1, DROVE_ACCUM_PAIRS, &s), DROVE_OK);
    const drove_accum_node *t = drove__schedule_tree(s, &n);
    assert_int_equal(n, 9); /* ((0+1)+(2+3))+4 */
    static const unsigned pair[][2] = {{0, 1}, {2, 3}, {5, 6}, {7, 4}};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(t[5 + i].left, pair[i][0]);
        assert_int_equal(t[5 + i].right, pair[i][1]);
    }
    drove__schedule_destroy(s);
}

static drove_status tell(drove_schedule *s, int verb, uint64_t iteration, unsigned part,
                         unsigned device, unsigned node)
{
    drove_accum_action action[MOST_D + 1];
    size_t n;
    drove_accum_event event = {
        .iteration = iteration, .part = part, .device = device, .node = node};
    event.verb = (unsigned)verb;
    return drove__schedule_handle(s, &event, action, &n);
}

TEST(mistakes_are_refused)
{
    drove_schedule *s;
    assert_int_equal(drove__schedule_create(0, 1, DROVE_ACCUM_ONCE, &s), DROVE_E_ARG);
    assert_int_equal(drove__schedule_create(2, 0, DROVE_ACCUM_ONCE, &s), DROVE_E_ARG);
    assert_int_equal(drove__schedule_create(257, 1, DROVE_ACCUM_ONCE, &s), DROVE_E_ARG);
    assert_null(s);
    assert_int_equal(drove__schedule_create(2, 2, DROVE_ACCUM_ONCE, &s), DROVE_OK);
    assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 0, 0, 0, 0), DROVE_OK);
    assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 0, 0, 0, 0), DROVE_E_ARG); /* twice */
    assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 1, 1, 0, 0), DROVE_E_ARG); /* too early */
    assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 0, 2, 0, 0), DROVE_E_ARG); /* no such part */
    assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 0, 0, 2, 0), DROVE_E_ARG); /* nor device */
    assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, 2), DROVE_E_ARG);   /* not ordered */
    assert_int_equal(tell(s, DROVE_ACCUM_GIVEN, 0, 0, 0, 2), DROVE_E_ARG);
    assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 0, 0, 1, 0), DROVE_OK); /* as if nothing was */
    assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, 2), DROVE_OK);
    assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, 2), DROVE_E_ARG);
    assert_int_equal(tell(s, DROVE_ACCUM_GIVEN, 0, 0, 1, 2), DROVE_OK);
    assert_int_equal(tell(s, DROVE_ACCUM_GIVEN, 0, 0, 1, 2), DROVE_E_ARG);
    assert_int_equal(drove__schedule_n_given(s, 1), 1);
    assert_false(drove__schedule_is_idle(s));
    drove__schedule_restart(s, 7);
    assert_true(drove__schedule_is_idle(s));
    assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 7, 0, 0, 0), DROVE_OK);
    drove__schedule_destroy(s);
    drove__schedule_destroy(NULL);
}

TEST(every_order_of_events)
{
    static const struct {
        unsigned d, p, k;
        drove_accum_order order;
    } of[] = {
        {1, 2, 2, DROVE_ACCUM_ONCE},       {2, 1, 2, DROVE_ACCUM_ONCE},
        {2, 2, 1, DROVE_ACCUM_ONCE},       {3, 1, 2, DROVE_ACCUM_ONCE},
        {4, 1, 1, DROVE_ACCUM_PAIRS},      {3, 1, 2, DROVE_ACCUM_PAIRS},
        {2, 2, 1, DROVE_ACCUM_PAIRS},      {3, 1, 1, DROVE_ACCUM_FIRST_COME},
        {2, 1, 2, DROVE_ACCUM_FIRST_COME}, {4, 1, 1, DROVE_ACCUM_FIRST_COME},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        search s = {.n_devices = of[i].d,
                    .n_parts = of[i].p,
                    .n_iterations = of[i].k,
                    .order = of[i].order};
        explore(&s, 0);
        printf("%u devices, %u parts, %u iterations, order %d: %llu orders of events\n", of[i].d,
               of[i].p, of[i].k, (int)of[i].order, (unsigned long long)s.n_orders);
        assert_true(s.n_orders > 0);
        assert_int_equal(s.n_stuck, 0);
    }
}

TEST(a_lost_addition_is_seen)
{
    for (drove_accum_order order = DROVE_ACCUM_ONCE; order <= DROVE_ACCUM_FIRST_COME; order++) {
        search s = {.n_devices = 3, .n_parts = 1, .n_iterations = 1, .order = order, .loses = true};
        explore(&s, 0);
        assert_int_equal(s.n_stuck, s.n_orders);
    }
}

/* A long walk through a larger one. */
TEST(random_orders)
{
    static world w;
    unsigned seed = 1;
    for (unsigned k = 0; k < 300; k++) {
        w = (world){.n_devices = 1 + k % MOST_D,
                    .n_parts = 1 + k % MOST_P,
                    .n_iterations = 6,
                    .order = (drove_accum_order)(k % 3)};
        assert_int_equal(drove__schedule_create(w.n_devices, w.n_parts, w.order, &w.schedule),
                         DROVE_OK);
        drove_accum_event next[MOST_ENABLED];
        for (size_t n; (n = enabled(&w, next)) > 0;) {
            seed = seed * 1664525u + 1013904223u;
            take(&w, &next[(seed >> 8) % n]);
        }
        assert_true(is_complete(&w));
        drove__schedule_destroy(w.schedule);
    }
}

/* ---- what cannot be ---- */

/* Additions that the schedule does not name are refused, in each order; the named one counts. */
TEST(additions_must_be_ordered)
{
    static const drove_accum_order all[] = {DROVE_ACCUM_ONCE, DROVE_ACCUM_PAIRS,
                                            DROVE_ACCUM_FIRST_COME};
    for (unsigned i = 0; i < 3; i++) {
        drove_schedule *s;
        assert_int_equal(drove__schedule_create(2, 1, all[i], &s), DROVE_OK);
        const unsigned sum = drove__schedule_root(s);
        assert_int_equal(sum, 2); /* behind the two devices' */
        assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 0, 0, 0, 0), DROVE_OK);
        assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, sum),
                         DROVE_E_ARG); /* one is missing */
        assert_int_equal(tell(s, DROVE_ACCUM_ARRIVED, 0, 0, 1, 0), DROVE_OK);
        assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, sum - 1), DROVE_E_ARG); /* a device */
        assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, sum + 1), DROVE_E_ARG);
        assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 1, 0, 0, sum), DROVE_E_ARG); /* the next one */
        assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, sum), DROVE_OK);
        assert_int_equal(tell(s, DROVE_ACCUM_ADDED, 0, 0, 0, sum), DROVE_E_ARG);
        drove__schedule_destroy(s);
    }
}
