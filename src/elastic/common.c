/* elastic/common.c - options, workers and steps of the elastic strategies. */
#include "elastic/common.h"

#include "base/cost.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- setting up ---- */

/* --period: a number, or auto: measured. */
static drove_status read_period(drove_elastic *e, const drove_sync *s, const char *text,
                                const drove_elastic_kind *kind)
{
    e->period = kind->period > 0 ? kind->period : 1;
    if (text == NULL || text[0] == '\0') return DROVE_OK;
    if (strcmp(text, "auto") == 0 && kind->may_auto) {
        e->period_is_auto = true;
        e->period = 1;
        return DROVE_OK;
    }
    if (strcmp(text, "auto") == 0)
        return drove__fail(DROVE_E_ARG,
                           "--period auto: expected local or diloco, whose number of local steps "
                           "may change during a run, found %s",
                           s->ops->name);
    DROVE_TRY(drove__parse_u64("--period", text, 1, DROVE_MOST_PERIOD, &e->period));
    if (kind->period > 0 || e->period == 1) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "--period %s: expected 1, since each step of %s is exchanged",
                       text, s->ops->name);
}

static drove_status out_of_range(const drove_elastic *e, const drove_sync *s, double alpha)
{
    return drove__fail(DROVE_E_ARG,
                       "%s: expected step size x --rho below %g, where %u workers are stable, "
                       "found %g",
                       s->ops->name, e->alpha_limit, s->n_workers, alpha);
}

static drove_status read_pull(drove_elastic *e, const drove_sync *s, double rho,
                              const drove_elastic_kind *kind)
{
    double eta = (double)s->optim->lr;
    e->alpha_limit = kind->alpha_limit;
    if (kind->alpha_limit == 0.0 && rho != 0.0)
        return drove__fail(DROVE_E_ARG, "--rho %g: expected 0, since %s has no elastic pull", rho,
                           s->ops->name);
    if (!(rho >= 0.0 && rho <= 1e9))
        return drove__fail(DROVE_E_ARG, "--rho: expected a number from 0 to 1e9, found %g", rho);
    e->rho = (float)rho;
    e->fixed_alpha = rho == 0.0 ? 0.9f / (float)s->n_workers : 0.0f;
    if (rho > 0.0 && !(eta * rho < e->alpha_limit)) return out_of_range(e, s, eta * rho);
    return DROVE_OK;
}

/* True if eta changes from step to step: then workers may differ in a round. */
static bool eta_varies(const drove_optim *optim)
{
    for (unsigned i = 0; i < optim->n_schedules; i++) {
        const drove_schedule_ops *ops = optim->schedule[i].ops;
        if (!ops->by_staleness && strcmp(ops->name, "constant") != 0) return true;
    }
    return false;
}

drove_status drove__elastic_init(drove_elastic *e, drove_sync *s, const drove_sync_options *opt,
                                 const drove_elastic_kind *kind, const drove_params *start)
{
    DROVE_TRY(read_period(e, s, opt->period, kind));
    DROVE_TRY(read_pull(e, s, opt->rho, kind));

    const drove_span whole = {.offset = 0, .length = s->optim->n};
    bool by_layer = opt->by_layer && opt->part != NULL;
    const drove_span *part = by_layer ? opt->part : &whole;
    e->n_parts = by_layer ? opt->n_parts : 1;
    e->part = drove__alloc(e->n_parts, sizeof *e->part);
    if (e->part == NULL) return drove__sync_no_memory(s);
    memcpy(e->part, part, e->n_parts * sizeof *part);

    DROVE_TRY(drove__elastic_read_precision(e, s, opt, kind));
    e->eta_varies = eta_varies(s->optim);
    e->transport = opt->transport;
    if (e->transport == NULL) {
        DROVE_TRY(drove__transport_shared(s->n_workers, false, s->n_vector, s->optim->kernels,
                                          s->topo, s->place, &e->transport));
        e->owns_transport = true;
    }
    e->of = drove__alloc(s->n_workers, sizeof *e->of);
    e->progress = drove__alloc(s->n_workers, DROVE_ELASTIC_PROGRESS * sizeof *e->progress);
    if (e->of == NULL || e->progress == NULL) return drove__sync_no_memory(s);
    for (unsigned w = 0; w < s->n_workers; w++) {
        if (!drove__transport_is_here(e->transport, w)) continue;
        drove_elastic_worker *me = &e->of[w];
        me->period = e->period;
        me->w = drove__sync_first_vector(s, w, start->theta);
        bool is_complete = me->w != NULL;
        if ((kind->vectors & DROVE_ELASTIC_C) != 0) {
            me->c = drove__sync_first_vector(s, w, start->theta);
            is_complete = is_complete && me->c != NULL;
        }
        if ((kind->vectors & DROVE_ELASTIC_SUM) != 0) {
            me->sum = drove__sync_vector(s, w);
            is_complete = is_complete && me->sum != NULL;
        }
        if ((kind->vectors & DROVE_ELASTIC_V) != 0) {
            me->v = drove__sync_vector(s, w);
            is_complete = is_complete && me->v != NULL;
        }
        DROVE_TRY(is_complete ? DROVE_OK : drove__sync_no_memory(s));
        DROVE_TRY(drove__elastic_make_codecs(e, s, w, opt->seed));
    }
    return DROVE_OK;
}

void drove__elastic_fini(drove_elastic *e, drove_sync *s)
{
    if (e->owns_transport) e->transport->ops->destroy(e->transport);
    for (unsigned w = 0; e->of != NULL && w < s->n_workers; w++) {
        drove__sync_vector_free(s, e->of[w].w);
        drove__sync_vector_free(s, e->of[w].c);
        drove__sync_vector_free(s, e->of[w].sum);
        drove__sync_vector_free(s, e->of[w].v);
        drove__elastic_free_codecs(e, w);
    }
    drove__free(e->of);
    drove__free(e->progress);
    drove__free(e->part);
}

/* ---- a worker's step ---- */

drove_status drove__elastic_view(drove_elastic *e, drove_sync *s, unsigned worker, uint64_t version,
                                 drove_view *view)
{
    drove_elastic_worker *me = &e->of[worker];
    /* Relaxed: only ends the run. */
    if (atomic_load_explicit(&s->stopping, memory_order_relaxed) != 0)
        return drove__fail(DROVE_E_SYSTEM, "%s: stopped", s->ops->name);
    me->met = (drove_exchange_info){0};
    me->hidden_ns = 0;
    me->distance = 0.0;
    *view = (drove_view){.vector = me->w, .version = version};
    return DROVE_OK;
}

drove_status drove__elastic_alpha(const drove_elastic *e, const drove_sync *s, float eta,
                                  float *alpha)
{
    float value = e->fixed_alpha > 0.0f ? e->fixed_alpha : eta * e->rho;
    if (!((double)value < e->alpha_limit)) return out_of_range(e, s, (double)value);
    *alpha = value;
    return DROVE_OK;
}

drove_status drove__elastic_agree(drove_elastic *e, drove_sync *s, unsigned worker, float *eta)
{
    drove_elastic_worker *me = &e->of[worker];
    if (!e->eta_varies || s->n_workers == 1) return DROVE_OK;
    me->agreed[0] = *eta;
    const drove_exchange x = {.kind = DROVE_ALL_REDUCE,
                              .channel = DROVE_CHANNEL_SMALL,
                              .in = me->agreed,
                              .out = me->agreed,
                              .n = 1};
    DROVE_TRY(drove__exchange(e->transport, worker, &x, &me->met));
    *eta = me->agreed[0] / (float)s->n_workers;
    return DROVE_OK;
}

void drove__elastic_step(drove_elastic *e, drove_sync *s, unsigned worker, const drove_step *step,
                         uint64_t staleness)
{
    drove_elastic_worker *me = &e->of[worker];
    me->steps++;
    drove__optim_apply(s->optim, step, staleness, me->steps, 0, s->optim->n, me->w, me->w);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Time that exchanges took in acquire is not of this call. */
void drove__elastic_report(const drove_elastic_worker *me, uint64_t begin_ns,
                           drove_publish_info *info)
{
    uint64_t spent_ns = drove__now_ns() - begin_ns;
    uint64_t wait_ns = least(me->met.wait_ns, spent_ns);
    uint64_t work_ns = least(me->met.work_ns, spent_ns - wait_ns);
    *info = (drove_publish_info){.attempts = 1,
                                 .updated = 1,
                                 .wait_ns = wait_ns,
                                 .exchange_ns = work_ns,
                                 .update_ns = spent_ns - wait_ns - work_ns,
                                 .centre_ns = me->met.centre_ns,
                                 .hidden_ns = me->hidden_ns,
                                 .bytes = me->met.bytes,
                                 .messages = me->met.messages,
                                 .distance = me->distance};
}

/* True if the step is only w += -eta g.  Sets *eta. */
static bool is_plain(const drove_optim *optim, const drove_step *step, float *eta)
{
    bool is_finished = optim->state == DROVE_STATE_WORKER;
    *eta = is_finished ? -1.0f : step->eta;
    return (is_finished || optim->rule.ops->n_state == 0) && !optim->by_staleness &&
           step->span == NULL;
}

void drove__elastic_move(drove_elastic *e, drove_sync *s, unsigned worker, const drove_step *step,
                         uint64_t staleness, float alpha, const float *sum)
{
    drove_elastic_worker *me = &e->of[worker];
    const drovek_table *k = s->optim->kernels;
    size_t n = s->optim->n;
    /* The sum of W^i - c contains c already. */
    float eta, p = me->codec != NULL ? 0.0f : (float)s->n_workers;
    bool plain = is_plain(s->optim, step, &eta);
    const float *g = plain ? step->value : NULL;
    double square = sum != NULL
                        ? k->elastic_centre_f32(me->w, g, me->c, sum, n, eta, alpha, p, true)
                        : k->elastic_f32(me->w, g, me->c, n, eta, alpha, true);
    drove__spend_change(me->w, n); /* others may have read it */
    me->distance = sqrt(square);
    if (plain) me->steps++;
    else drove__elastic_step(e, s, worker, step, staleness);
}

double drove__elastic_distance(const drovek_table *k, float *w, const float *c, size_t n)
{
    return sqrt(k->elastic_f32(w, NULL, c, n, 0.0f, 0.0f, true));
}

void drove__elastic_stop(drove_elastic *e, drove_sync *s)
{
    /* Relaxed: the transport wakes all waiting workers. */
    atomic_store_explicit(&s->stopping, 1, memory_order_relaxed);
    e->transport->ops->stop(e->transport);
}
