/* bench/simulate_accum.c - accumulation on the host, event by event on a virtual clock. */
#include "bench/simulate_accum.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_ITERATIONS = 4 };

/* An event to come, and its time. */
typedef struct moment {
    double at_s;
    uint64_t number; /* of two at one time the one that was known first */
    bool is_layer;   /* the device's backward has passed a layer; else `event` */
    size_t layer;
    drove_accum_event event;
} moment;

typedef struct sim_device {
    double begin_s;                /* of its iteration */
    double backward_end_s;         /* of its iteration, as it will be */
    double done_s, last_done_s;    /* of its last two iterations */
    double collected_s;            /* all sums were there, of its last iteration */
    double ended_s;                /* backward, of its last iteration */
    double down_free_s, up_free_s; /* its link; of shared ones those of device 0 */
    uint64_t iteration;
} sim_device;

typedef struct sim {
    const drove_sim_net *net;
    const drove_sim_options *opt;
    drove_schedule *schedule;
    drove_accum_action *action; /* [most] */
    size_t *part;               /* [n_parts] its layer */
    size_t *of_layer;           /* [n_layers] its part */
    unsigned n_parts;
    sim_device *device; /* [n_devices] */
    double adder_free_s;
    moment *moment; /* [room] */
    size_t n_moments, room;
    uint64_t n_numbered;
} sim;

static drove_status add_moment(sim *s, moment m)
{
    if (s->n_moments == s->room) {
        size_t room = s->room > 0 ? 2 * s->room : 256;
        moment *grown = drove__grow(s->moment, room, sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("a simulation", room * sizeof *grown);
        s->moment = grown;
        s->room = room;
    }
    m.number = s->n_numbered++;
    s->moment[s->n_moments++] = m;
    return DROVE_OK;
}

static moment take_first(sim *s)
{
    size_t first = 0;
    for (size_t i = 1; i < s->n_moments; i++) {
        const moment *a = &s->moment[i], *b = &s->moment[first];
        if (a->at_s < b->at_s || (a->at_s <= b->at_s && a->number < b->number)) first = i;
    }
    moment m = s->moment[first];
    s->moment[first] = s->moment[--s->n_moments];
    return m;
}

/* A use of something that serves one at a time: when it ends. */
static double use(double *free_s, double now_s, double length_s)
{
    *free_s = (now_s > *free_s ? now_s : *free_s) + length_s;
    return *free_s;
}

/* ---- devices ---- */

/* The moments of all layers' ends; with AT_END all at the end of backward. */
static drove_status begin_iteration(sim *s, unsigned d, double now_s)
{
    const drove_sim_net *net = s->net;
    sim_device *dev = &s->device[d];
    double slow = 1.0 + s->opt->skew * d, at_s = now_s + net->forward_s * slow;
    if (dev->iteration == (s->opt->n_iterations > 0 ? s->opt->n_iterations : FEW_ITERATIONS))
        return DROVE_OK;
    dev->begin_s = now_s;
    for (size_t l = net->n_layers; l-- > 0;)
        at_s += net->layer[l].backward_s * slow * s->opt->stretch;
    dev->backward_end_s = at_s;
    at_s = now_s + net->forward_s * slow;
    for (size_t l = net->n_layers; l-- > 0;) {
        at_s += net->layer[l].backward_s * slow * s->opt->stretch;
        if (net->layer[l].n_params <= 0.0) continue;
        moment m = {.at_s = s->opt->method == DROVE_SIM_AT_END ? dev->backward_end_s : at_s,
                    .is_layer = true,
                    .layer = l,
                    .event = {.device = d, .iteration = dev->iteration}};
        DROVE_TRY(add_moment(s, m));
    }
    return DROVE_OK;
}

/* g += p moves three vectors; one addition of D moves D + 1; in the order of arrival, as Algorithm
 * 7 is printed, each gradient is added, the first one to zeros. */
static double add_time(const sim *s, const drove_accum_action *a)
{
    double one_s = s->net->layer[s->part[a->part]].add_s;
    if (s->opt->order == DROVE_ACCUM_ONCE) return one_s * (s->opt->n_devices + 1) / 3.0;
    if (s->opt->order == DROVE_ACCUM_PAIRS) return one_s;
    unsigned n_gradients = 0;
    for (unsigned i = 0; i < a->n_terms; i++) n_gradients += a->term[i] < s->opt->n_devices;
    return one_s * n_gradients;
}

static drove_status happen(sim *s, const moment *m)
{
    size_t n;

    /* a layer's gradient is ready: the device copies it down */
    if (m->is_layer) {
        unsigned d = m->event.device;
        double *link = &s->device[s->opt->shares_link ? 0 : d].down_free_s;
        moment arrived = {.at_s = use(link, m->at_s, s->net->layer[m->layer].down_s)};
        arrived.event = m->event;
        arrived.event.verb = DROVE_ACCUM_ARRIVED;
        arrived.event.part = (unsigned)s->of_layer[m->layer];
        return add_moment(s, arrived);
    }

    /* all else the schedule answers with additions and copies up */
    DROVE_TRY(drove__schedule_handle(s->schedule, &m->event, s->action, &n));
    for (size_t i = 0; i < n; i++) {
        const drove_accum_action *a = &s->action[i];
        moment next = {.event = {.iteration = a->iteration,
                                 .part = a->part,
                                 .device = a->device,
                                 .node = a->node}};
        if (a->verb == DROVE_ACCUM_ADD) {
            next.event.verb = DROVE_ACCUM_ADDED;
            next.at_s = use(&s->adder_free_s, m->at_s, add_time(s, a));
        } else {
            double *link = &s->device[s->opt->shares_link ? 0 : a->device].up_free_s;
            next.event.verb = DROVE_ACCUM_GIVEN;
            next.at_s = use(link, m->at_s, s->net->layer[s->part[a->part]].up_s);
        }
        DROVE_TRY(add_moment(s, next));
    }

    /* the device has all sums: update, and the next iteration */
    unsigned d = m->event.device;
    if (m->event.verb == DROVE_ACCUM_GIVEN &&
        drove__schedule_iteration(s->schedule, d) > s->device[d].iteration) {
        sim_device *dev = &s->device[d];
        double slow = 1.0 + s->opt->skew * d;
        dev->collected_s = m->at_s;
        dev->ended_s = dev->backward_end_s;
        dev->last_done_s = dev->done_s;
        dev->done_s = (m->at_s > dev->ended_s ? m->at_s : dev->ended_s) + s->net->update_s * slow;
        dev->iteration++;
        return begin_iteration(s, d, dev->done_s);
    }
    return DROVE_OK;
}

/* ---- setting up ---- */

static drove_status run(sim *s, drove_sim_result *out)
{
    s->part = calloc(s->net->n_layers, sizeof *s->part);
    s->of_layer = calloc(s->net->n_layers, sizeof *s->of_layer);
    s->device = calloc(s->opt->n_devices, sizeof *s->device);
    if (s->part == NULL || s->of_layer == NULL || s->device == NULL)
        return drove__fail_nomem("a simulation", s->net->n_layers * sizeof *s->part);

    /* A part for each layer with parameters. */
    const drove_sim_net *net = s->net;
    for (size_t l = 0; l < net->n_layers; l++) {
        if (net->layer[l].n_params <= 0.0) continue;
        s->of_layer[l] = s->n_parts;
        s->part[s->n_parts++] = l;
    }
    DROVE_TRY(drove__schedule_create(s->opt->n_devices, s->n_parts, s->opt->order, &s->schedule));
    s->action = calloc(drove__schedule_most_actions(s->schedule), sizeof *s->action);
    if (s->action == NULL) return drove__fail_nomem("a simulation", sizeof *s->action);

    for (unsigned d = 0; d < s->opt->n_devices; d++) DROVE_TRY(begin_iteration(s, d, 0.0));
    while (s->n_moments > 0) {
        moment m = take_first(s);
        DROVE_TRY(happen(s, &m));
    }

    /* The last iteration, by the device that is last in each. */
    double backward_s = 0.0, collected_s = 0.0, done_s = 0.0, before_s = 0.0, begin_s = 0.0;
    for (unsigned d = 0; d < s->opt->n_devices; d++) {
        const sim_device *dev = &s->device[d];
        backward_s = fmax(backward_s, dev->ended_s);
        collected_s = fmax(collected_s, dev->collected_s);
        done_s = fmax(done_s, dev->done_s);
        before_s = fmax(before_s, dev->last_done_s);
        begin_s = fmax(begin_s, dev->begin_s + s->net->forward_s * (1.0 + s->opt->skew * d));
    }
    *out = (drove_sim_result){.iteration_s = done_s - before_s,
                              .backward_s = backward_s - begin_s,
                              .exchange_s = fmax(0.0, collected_s - backward_s)};

    return DROVE_OK;
}

drove_status drove__simulate_accumulation(const drove_sim_net *net, const drove_sim_options *opt,
                                          drove_sim_result *out)
{
    if (opt->n_devices == 0 || opt->n_devices > DROVE_ACCUM_MOST_DEVICES || net->n_layers == 0 ||
        !(opt->stretch >= 1.0) || !(opt->skew >= 0.0))
        return drove__fail(DROVE_E_ARG,
                           "simulation: expected 1 to %d devices, layers, a stretch of at least 1 "
                           "and a skew of at least 0",
                           DROVE_ACCUM_MOST_DEVICES);
    if (opt->method == DROVE_SIM_TREE) {
        /* Algorithm 4: nothing overlaps; pairs of one level of the tree work at once. */
        double slow = 1.0 + opt->skew * (opt->n_devices - 1), levels = 0.0, backward_s = 0.0;
        for (unsigned n = opt->n_devices; n > 1; n = (n + 1) / 2) levels += 1.0;
        for (size_t l = 0; l < net->n_layers; l++) backward_s += net->layer[l].backward_s * slow;
        *out = (drove_sim_result){.backward_s = backward_s,
                                  .exchange_s = levels * (net->link_s + net->sum_s),
                                  .broadcast_s = levels * net->link_s};
        out->iteration_s = net->forward_s * slow + out->backward_s + out->exchange_s +
                           net->update_s + out->broadcast_s;
        return DROVE_OK;
    }
    sim s = {.net = net, .opt = opt};
    drove_sim_result result = {0};
    drove_status status = run(&s, &result);
    drove__schedule_destroy(s.schedule);
    free(s.action);
    free(s.part);
    free(s.of_layer);
    free(s.device);
    free(s.moment);
    if (status == DROVE_OK) *out = result;
    return status;
}
