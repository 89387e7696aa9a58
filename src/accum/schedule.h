/* accum/schedule.h - which additions and copies are due when devices collect gradients layer by
 * layer.
 *
 * Source: Le Duc, Sekiyama, Negishi, Imai, Kawachiya, "Accelerating Multi-GPU Deep Learning by
 * Collecting and Accumulating Gradients on CPUs", Algorithms 6 and 7.  The paper's blocking queue
 * of a layer, which carries the count of gradients that were added, is here one state for each
 * part and iteration; the collector decides which thread carries out an addition.
 *
 * A pure state machine: events in (a part of a device's gradient is there; an addition is done; a
 * sum has reached a device), actions out (add these; give this sum to that device).  No thread, no
 * clock, no allocation after creation: the strategy (accum/accumulate.c) and the simulation on a
 * virtual clock (bench/simulate_accum.c) both drive it.
 *
 * Sums: nodes 0 .. D - 1 are the devices' gradients of a slice; those behind them are sums, each of
 * two nodes before it, the last one of all: ((0+1)+(2+3)), ((0+1)+2).  That is the tree of
 * cluster/tree.h, so that devices of several processes add up alike.  It depends on D alone: the
 * bits of a sum never depend on timing.  With FIRST_COME they do: node D is a running sum, to which
 * gradients are added as they come (Algorithm 7 as printed).
 *
 * Iterations: a device begins the next one when all sums of this one have reached it, whatever the
 * others still do.  Two iterations can therefore be under way, never three: each has a state of its
 * own, found by its number's parity.
 *
 * Threads: one at a time.
 */
#ifndef DROVE_ACCUM_SCHEDULE_H
#define DROVE_ACCUM_SCHEDULE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVE_ACCUM_MOST_DEVICES = 256 };

typedef enum drove_accum_order {
    DROVE_ACCUM_ONCE,      /* one addition of all, when the last has come: the fewest bytes */
    DROVE_ACCUM_PAIRS,     /* each sum of the tree as soon as both its nodes are there */
    DROVE_ACCUM_FIRST_COME /* in the order of arrival: the bits depend on timing */
} drove_accum_order;

typedef struct drove_accum_node { /* a sum of the tree; leaves: n 1 */
    unsigned left, right;         /* nodes before this one; of a leaf: itself */
    unsigned first, n;            /* devices first .. first + n - 1 */
} drove_accum_node;

typedef struct drove_accum_event {
    enum {
        DROVE_ACCUM_ARRIVED, /* the part of the device's gradient is in host memory */
        DROVE_ACCUM_ADDED,   /* an addition that was ordered is done: `node` is there */
        DROVE_ACCUM_GIVEN    /* the sum of the part has reached the device */
    } verb;
    uint64_t iteration; /* from 0 */
    unsigned part, device, node;
} drove_accum_event;

typedef struct drove_accum_action {
    enum {
        DROVE_ACCUM_ADD, /* node = sum of `term`s: ONCE by the tree, else from left to right */
        DROVE_ACCUM_GIVE /* the sum of all, in `node`, to the device */
    } verb;
    uint64_t iteration;
    unsigned part, node, device;
    bool     is_last; /* ADD: node is the sum of all */
    unsigned n_terms; /* of ADD; ONCE: all devices, in order */
    unsigned term[DROVE_ACCUM_MOST_DEVICES + 1];
} drove_accum_action;

typedef struct drove_schedule drove_schedule;

/* Errors: DROVE_E_ARG (no device or part, too many), DROVE_E_NOMEM. */
drove_status drove__schedule_create(unsigned n_devices, unsigned n_parts, drove_accum_order order,
                                    drove_schedule **out);
void         drove__schedule_destroy(drove_schedule *s); /* NULL accepted */

/* The tree: [2 n_devices - 1] nodes, the last is the sum of all. */
const drove_accum_node *drove__schedule_tree(const drove_schedule *s, unsigned *n_nodes);
/* The node that stands for the sum of all: of the tree the last, of FIRST_COME the running sum,
 * with one device its gradient. */
unsigned drove__schedule_root(const drove_schedule *s);

/* Most actions that one event makes. */
size_t drove__schedule_most_actions(const drove_schedule *s);

/* action[most_actions].  An event that cannot be (a part that comes twice, an addition that nobody
 * ordered, an iteration that the device is not in) is a mistake of the caller: DROVE_E_ARG, and the
 * state is as before. */
drove_status drove__schedule_handle(drove_schedule *s, const drove_accum_event *event,
                                    drove_accum_action *action, size_t *n_actions);

/* The iteration that a device is in, and how many of its parts have come and were given back. */
uint64_t drove__schedule_iteration(const drove_schedule *s, unsigned device);
unsigned drove__schedule_n_arrived(const drove_schedule *s, unsigned device);
unsigned drove__schedule_n_given(const drove_schedule *s, unsigned device);
/* All that has come has gone back to all: nothing is under way. */
bool drove__schedule_is_idle(const drove_schedule *s);
/* Nothing is under way; what comes next is this iteration of all devices. */
void drove__schedule_restart(drove_schedule *s, uint64_t iteration);

#endif
