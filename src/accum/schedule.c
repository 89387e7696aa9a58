/* accum/schedule.c - see schedule.h. */
#include "accum/schedule.h"

#include "cluster/tree.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { N_PARITIES = 2 };

typedef enum node_state { NODE_MISSING, NODE_ORDERED, NODE_THERE } node_state;

typedef struct part_state { /* of one part in one iteration */
    uint64_t iteration;
    unsigned n_arrived, n_given;
    unsigned n_added;     /* FIRST_COME: gradients that are in the running sum or ordered */
    bool is_adding;       /* FIRST_COME: an addition is under way */
    unsigned char *node;  /* [n_nodes] node_state */
    unsigned char *given; /* [n_devices] 1: on its way, 2: there */
    unsigned *came;       /* [n_devices] FIRST_COME: devices in the order of arrival */
} part_state;

typedef struct device_state {
    uint64_t iteration;
    unsigned n_arrived, n_given; /* parts, of this iteration */
} device_state;

struct drove_schedule {
    unsigned n_devices, n_parts, n_nodes;
    drove_accum_order order;
    drove_accum_node *tree; /* [n_nodes] */
    part_state *part;       /* [N_PARITIES][n_parts] */
    device_state *device;   /* [n_devices] */
    unsigned char *marks;   /* memory behind node and given */
    unsigned *came;         /* memory behind came */
};

/* ---- creation ---- */

/* Sums of the devices first .. first + n - 1 behind what is there; the number of the last. */
static unsigned grow_tree(drove_schedule *s, unsigned first, unsigned n)
{
    if (n == 1) return first;
    unsigned half = drove__tree_split(n);
    unsigned left = grow_tree(s, first, half), right = grow_tree(s, first + half, n - half);
    s->tree[s->n_nodes] = (drove_accum_node){left, right, first, n};
    return s->n_nodes++;
}

static drove_status allocate(drove_schedule *s)
{
    size_t n_states = (size_t)N_PARITIES * s->n_parts, n_nodes = 2 * (size_t)s->n_devices;
    s->tree = calloc(n_nodes, sizeof *s->tree);
    s->part = calloc(n_states, sizeof *s->part);
    s->device = calloc(s->n_devices, sizeof *s->device);
    s->marks = calloc(n_states, n_nodes + s->n_devices);
    s->came = calloc(n_states, s->n_devices * sizeof *s->came);
    if (s->tree == NULL || s->part == NULL || s->device == NULL || s->marks == NULL ||
        s->came == NULL)
        return drove__fail_nomem("a schedule", n_states * (n_nodes + sizeof *s->part));
    for (unsigned d = 0; d < s->n_devices; d++) s->tree[d] = (drove_accum_node){d, d, d, 1};
    s->n_nodes = s->n_devices;
    (void)grow_tree(s, 0, s->n_devices);
    for (size_t i = 0; i < n_states; i++) {
        s->part[i].node = s->marks + i * (n_nodes + s->n_devices);
        s->part[i].given = s->part[i].node + n_nodes;
        s->part[i].came = s->came + i * s->n_devices;
    }
    return DROVE_OK;
}

drove_status drove__schedule_create(unsigned n_devices, unsigned n_parts, drove_accum_order order,
                                    drove_schedule **out)
{
    *out = NULL;
    if (n_devices == 0 || n_devices > DROVE_ACCUM_MOST_DEVICES || n_parts == 0)
        return drove__fail(DROVE_E_ARG,
                           "accumulation: expected 1 to %d devices and at least one layer with "
                           "parameters, found %u and %u",
                           DROVE_ACCUM_MOST_DEVICES, n_devices, n_parts);
    drove_schedule *s = calloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("a schedule", sizeof *s);
    s->n_devices = n_devices;
    s->n_parts = n_parts;
    s->order = order;
    drove_status status = allocate(s);
    if (status != DROVE_OK) {
        drove__schedule_destroy(s);
        return status;
    }
    drove__schedule_restart(s, 0);
    *out = s;
    return DROVE_OK;
}

void drove__schedule_destroy(drove_schedule *s)
{
    if (s == NULL) return;
    free(s->tree);
    free(s->part);
    free(s->device);
    free(s->marks);
    free(s->came);
    free(s);
}

/* ---- what there is ---- */

const drove_accum_node *drove__schedule_tree(const drove_schedule *s, unsigned *n_nodes)
{
    if (n_nodes != NULL) *n_nodes = s->n_nodes;
    return s->tree;
}

unsigned drove__schedule_root(const drove_schedule *s)
{
    if (s->n_devices == 1) return 0;
    return s->order == DROVE_ACCUM_FIRST_COME ? s->n_devices : s->n_nodes - 1;
}

size_t drove__schedule_most_actions(const drove_schedule *s)
{
    return (size_t)s->n_devices + 1;
}

uint64_t drove__schedule_iteration(const drove_schedule *s, unsigned device)
{
    return s->device[device].iteration;
}

unsigned drove__schedule_n_arrived(const drove_schedule *s, unsigned device)
{
    return s->device[device].n_arrived;
}

unsigned drove__schedule_n_given(const drove_schedule *s, unsigned device)
{
    return s->device[device].n_given;
}

bool drove__schedule_is_idle(const drove_schedule *s)
{
    for (unsigned d = 0; d < s->n_devices; d++) {
        if (s->device[d].n_arrived != 0 || s->device[d].iteration != s->device[0].iteration)
            return false;
    }
    return true;
}

static part_state *state_of(const drove_schedule *s, unsigned part, uint64_t iteration)
{
    return &s->part[(size_t)(iteration % N_PARITIES) * s->n_parts + part];
}

static void clear(const drove_schedule *s, part_state *p, uint64_t iteration)
{
    p->iteration = iteration;
    p->n_arrived = p->n_given = p->n_added = 0;
    p->is_adding = false;
    memset(p->node, NODE_MISSING, s->n_nodes + 1);
    memset(p->given, 0, s->n_devices);
}

void drove__schedule_restart(drove_schedule *s, uint64_t iteration)
{
    for (unsigned i = 0; i < s->n_parts; i++) {
        clear(s, state_of(s, i, iteration), iteration);
        clear(s, state_of(s, i, iteration + 1), iteration + 1);
    }
    for (unsigned d = 0; d < s->n_devices; d++)
        s->device[d] = (device_state){.iteration = iteration};
}

/* ---- orders ---- */

typedef struct orders {
    const drove_accum_event *event;
    drove_accum_action *action;
    size_t n;
} orders;

static drove_accum_action *order(orders *o)
{
    drove_accum_action *a = &o->action[o->n++];
    a->iteration = o->event->iteration;
    a->part = o->event->part;
    a->n_terms = 0;
    a->device = 0;
    a->is_last = false;
    return a;
}

static void order_sum(const drove_schedule *s, part_state *p, unsigned node, orders *o)
{
    drove_accum_action *a = order(o);
    a->verb = DROVE_ACCUM_ADD;
    a->node = node;
    if (s->order == DROVE_ACCUM_ONCE) {
        for (unsigned d = 0; d < s->n_devices; d++) a->term[a->n_terms++] = d;
    } else {
        a->term[a->n_terms++] = s->tree[node].left;
        a->term[a->n_terms++] = s->tree[node].right;
    }
    a->is_last = node == s->n_nodes - 1;
    p->node[node] = NODE_ORDERED;
}

/* The running sum and all gradients that have come meanwhile; the first sum is of gradients alone.
 * */
static void order_first_come(const drove_schedule *s, part_state *p, orders *o)
{
    if (p->is_adding || p->n_arrived < 2 || p->n_added == p->n_arrived) return;
    drove_accum_action *a = order(o);
    a->verb = DROVE_ACCUM_ADD;
    a->node = s->n_devices;
    if (p->n_added > 0) a->term[a->n_terms++] = s->n_devices;
    while (p->n_added < p->n_arrived) a->term[a->n_terms++] = p->came[p->n_added++];
    a->is_last = p->n_added == s->n_devices;
    p->is_adding = true;
}

static void order_gifts(const drove_schedule *s, part_state *p, orders *o)
{
    for (unsigned d = 0; d < s->n_devices; d++) {
        drove_accum_action *a = order(o);
        a->verb = DROVE_ACCUM_GIVE;
        a->node = drove__schedule_root(s);
        a->device = d;
        p->given[d] = 1;
    }
}

/* A node of the tree has come to be: those above it that can be made now. */
static void climb(const drove_schedule *s, part_state *p, orders *o)
{
    if (s->order == DROVE_ACCUM_ONCE) {
        if (p->n_arrived == s->n_devices && p->node[s->n_nodes - 1] == NODE_MISSING)
            order_sum(s, p, s->n_nodes - 1, o);
        return;
    }
    for (unsigned i = s->n_devices; i < s->n_nodes; i++) {
        if (p->node[i] == NODE_MISSING && p->node[s->tree[i].left] == NODE_THERE &&
            p->node[s->tree[i].right] == NODE_THERE)
            order_sum(s, p, i, o);
    }
}

/* ---- events ---- */

static drove_status impossible(const drove_accum_event *e, const char *what)
{
    return drove__fail(DROVE_E_ARG, "accumulation: %s, iteration %llu, part %u, device %u, node %u",
                       what, (unsigned long long)e->iteration, e->part, e->device, e->node);
}

static drove_status arrived(drove_schedule *s, const drove_accum_event *e, orders *o)
{
    device_state *d = &s->device[e->device];
    part_state *p = state_of(s, e->part, e->iteration);
    if (e->iteration != d->iteration) return impossible(e, "a gradient of another iteration");
    if (p->iteration != e->iteration) return impossible(e, "a state that is still in use");
    if (p->node[e->device] != NODE_MISSING) return impossible(e, "a gradient that came twice");
    p->node[e->device] = NODE_THERE;
    p->came[p->n_arrived++] = e->device;
    d->n_arrived++;
    if (s->n_devices == 1) order_gifts(s, p, o);
    else if (s->order == DROVE_ACCUM_FIRST_COME) order_first_come(s, p, o);
    else climb(s, p, o);
    return DROVE_OK;
}

static drove_status added(drove_schedule *s, const drove_accum_event *e, orders *o)
{
    part_state *p = state_of(s, e->part, e->iteration);
    if (p->iteration != e->iteration) return impossible(e, "an addition of another iteration");
    if (s->order == DROVE_ACCUM_FIRST_COME) {
        if (e->node != s->n_devices || !p->is_adding)
            return impossible(e, "an addition that was not ordered");
        p->is_adding = false;
        if (p->n_added == s->n_devices) order_gifts(s, p, o);
        else order_first_come(s, p, o);
        return DROVE_OK;
    }
    if (e->node >= s->n_nodes || p->node[e->node] != NODE_ORDERED)
        return impossible(e, "an addition that was not ordered");
    p->node[e->node] = NODE_THERE;
    if (e->node == s->n_nodes - 1) order_gifts(s, p, o);
    else climb(s, p, o);
    return DROVE_OK;
}

/* The last sum ends the device's iteration, the last device the part's. */
static drove_status given(drove_schedule *s, const drove_accum_event *e)
{
    device_state *d = &s->device[e->device];
    part_state *p = state_of(s, e->part, e->iteration);
    if (p->iteration != e->iteration || p->given[e->device] != 1)
        return impossible(e, "a sum that was not on its way");
    p->given[e->device] = 2;
    if (++p->n_given == s->n_devices) clear(s, p, e->iteration + N_PARITIES);
    if (++d->n_given == s->n_parts) *d = (device_state){.iteration = e->iteration + 1};
    return DROVE_OK;
}

drove_status drove__schedule_handle(drove_schedule *s, const drove_accum_event *event,
                                    drove_accum_action *action, size_t *n_actions)
{
    orders o = {.event = event, .action = action};
    *n_actions = 0;
    if (event->part >= s->n_parts || event->device >= s->n_devices)
        return impossible(event, "no such part or device");
    drove_status status = DROVE_OK;
    switch (event->verb) {
    case DROVE_ACCUM_ARRIVED: status = arrived(s, event, &o); break;
    case DROVE_ACCUM_ADDED: status = added(s, event, &o); break;
    case DROVE_ACCUM_GIVEN: status = given(s, event); break;
    }
    *n_actions = o.n;
    return status;
}
