/* optim/optim.c - chooses rule and schedules, and applies a step.
 *
 * A step has three stages:
 *   prepare   on the worker's own memory: weight decay, clipping, the rule if its state is there
 *   publish   by the strategy: lock, retry, average ...
 *   apply     theta and the shared state, in pieces of any size, in place or into another vector
 * Nothing here allocates after creation, or keeps anything of a step except the worker's own state.
 */
#include "optim/optim.h"

#include "base/cost.h"

#include "base/mem.h"
#include "optim/schedules.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 1024, /* floats of stack: stays in the first-level cache */
    ZEROS = 2048, /* as long as what an engine of words steps at once */
    MOST_NAMES = 32
};

/* ---- creation ---- */

static drove_status choose_rule(const char *text, drove_rule *rule)
{
    const char *names[MOST_NAMES];
    size_t n_names = 0;
    drove_spec spec;
    DROVE_TRY(drove__spec_parse(text, &spec));
    for (; drove__rules[n_names] != NULL; n_names++) {
        names[n_names] = drove__rules[n_names]->name;
        if (strcmp(names[n_names], spec.name) == 0) rule->ops = drove__rules[n_names];
    }
    drove_status status = rule->ops == NULL ? drove__fail_unknown("rule", spec.name, names, n_names)
                                            : drove__spec_read(&spec, rule->ops->keys, rule);
    drove__spec_fini(&spec);
    return status;
}

bool drove__rule_by_matrix(const char *rule)
{
    const size_t n = strcspn(rule, ":?");
    for (size_t i = 0; drove__rules[i] != NULL; i++)
        if (strlen(drove__rules[i]->name) == n && strncmp(drove__rules[i]->name, rule, n) == 0)
            return drove__rules[i]->by_matrix;
    return false;
}

static drove_status choose_schedule(const char *text, unsigned n_workers, drove_schedule *schedule)
{
    const char *names[MOST_NAMES];
    size_t n_names = 0;
    drove_spec spec;
    DROVE_TRY(drove__spec_parse(text, &spec));
    for (; drove__schedules[n_names] != NULL; n_names++) {
        names[n_names] = drove__schedules[n_names]->name;
        if (strcmp(names[n_names], spec.name) == 0) schedule->ops = drove__schedules[n_names];
    }
    /* Every other worker publishes once meanwhile. */
    schedule->tau.mean = n_workers > 1 ? (double)(n_workers - 1) : 0.0;
    drove_status status = schedule->ops == NULL
                              ? drove__fail_unknown("schedule", spec.name, names, n_names)
                              : drove__spec_read(&spec, schedule->ops->keys, schedule);
    if (status == DROVE_OK && schedule->ops->init != NULL) status = schedule->ops->init(schedule);
    drove__spec_fini(&spec);
    return status;
}

/* Parses the list joined by '+'. */
static drove_status choose_schedules(const char *text, unsigned n_workers, drove_optim *o)
{
    char *copy = strdup(text);
    if (copy == NULL) return drove__fail_nomem("schedule", strlen(text) + 1);
    drove_status status = DROVE_OK;
    for (char *part = copy; part != NULL && status == DROVE_OK;) {
        char *plus = strchr(part, '+');
        if (plus != NULL) *plus++ = '\0';
        if (o->n_schedules == DROVE_MAX_SCHEDULES) {
            status =
                drove__fail(DROVE_E_ARG, "schedule \"%s\": expected at most %d factors, found more",
                            text, DROVE_MAX_SCHEDULES);
            break;
        }
        drove_schedule *schedule = &o->schedule[o->n_schedules++];
        status = choose_schedule(part, n_workers, schedule);
        if (status == DROVE_OK && schedule->ops->by_staleness) o->by_staleness = true;
        part = plus;
    }
    free(copy);
    return status;
}

drove_status drove__optim_create(const drove_optim_options *opt, drove_optim **out)
{
    *out = NULL;
    if (!((float)opt->lr > 0.0f && opt->lr <= 1e9)) { /* in float, as steps are computed */
        return drove__fail(DROVE_E_ARG, "--lr: expected a number from 1e-45 to 1e9, found %g",
                           opt->lr);
    }
    if (!(opt->weight_decay >= 0.0 && opt->weight_decay <= 1e9)) {
        return drove__fail(DROVE_E_ARG, "weight-decay: expected a number from 0 to 1e9, found %g",
                           opt->weight_decay);
    }
    if (!(opt->clip >= 0.0 && opt->clip <= FLT_MAX)) {
        return drove__fail(DROVE_E_ARG, "clip: expected a norm above 0, or 0 for none, found %g",
                           opt->clip);
    }
    if (opt->n_params > SIZE_MAX / sizeof(float) / (1 + DROVE_RULE_MAX_STATE)) {
        return drove__fail_nomem("rule state", SIZE_MAX);
    }

    drove_optim *o = drove__alloc(1, sizeof *o);
    if (o == NULL) return drove__fail_nomem("optimiser", sizeof *o);
    drove_status status = choose_rule(opt->rule, &o->rule);
    if (status == DROVE_OK) status = choose_schedules(opt->schedule, opt->n_workers, o);
    if (status != DROVE_OK) {
        drove__optim_destroy(o);
        return status;
    }
    const drove_rule_ops *rule = o->rule.ops;
    o->lr = (float)opt->lr;
    o->back_off = 1.0;
    if (rule->is_decoupled) o->shrink = (float)opt->weight_decay;
    else o->weight_decay = (float)opt->weight_decay;
    o->clip = (float)opt->clip;
    /* A rule without state gives the same in both; the shared form rounds once less. */
    o->state = rule->n_state == 0 ? DROVE_STATE_SHARED : opt->state;
    if (rule->by_matrix) {
        o->state = DROVE_STATE_WORKER;
        o->n_matrices = opt->n_matrices;
        o->matrix = drove__alloc(o->n_matrices + 1, sizeof *o->matrix);
        if (o->matrix == NULL) {
            status = drove__fail_nomem("matrices of a rule", o->n_matrices * sizeof *o->matrix);
            drove__optim_destroy(o);
            return status;
        }
        for (size_t i = 0; i < o->n_matrices; i++) o->matrix[i] = opt->matrix[i];
    }
    o->n = opt->n_params;
    o->n_theta = opt->n_theta > 0 ? opt->n_theta : o->n;
    o->n_vector = o->n + (o->state == DROVE_STATE_SHARED ? rule->n_state : 0) * o->n_theta;
    o->spans_ok = rule->zero_is_noop && o->weight_decay == 0.0f && o->shrink == 0.0f;
    o->fusable =
        rule->n_state == 0 && o->weight_decay == 0.0f && o->clip == 0.0f && !o->by_staleness;
    o->kernels = opt->kernels;
    *out = o;
    return DROVE_OK;
}

void drove__optim_destroy(drove_optim *optim)
{
    if (optim == NULL) return;
    for (unsigned i = 0; i < optim->n_schedules; i++) drove__free(optim->schedule[i].table);
    drove__free(optim->matrix);
    drove__free(optim);
}

/* ---- one worker ---- */

drove_status drove__optim_worker_init(drove_optim_worker *w, const drove_optim *optim)
{
    const drove_rule_ops *rule = optim->rule.ops;
    memset(w, 0, sizeof *w);
    bool complete = true;
    if (rule->lookahead) {
        w->lookahead = drove__alloc(optim->n, sizeof *w->lookahead);
        complete = w->lookahead != NULL;
    }
    if (optim->state == DROVE_STATE_WORKER) {
        for (unsigned i = 0; i < rule->n_state; i++) {
            w->state[i] = drove__alloc(optim->n_theta, sizeof *w->state[i]);
            complete = complete && w->state[i] != NULL;
        }
    }
    size_t n_scratch = 0;
    for (size_t i = 0; i < optim->n_matrices; i++) {
        const size_t n = drove__muon_scratch(&optim->matrix[i]);
        n_scratch = n > n_scratch ? n : n_scratch;
    }
    if (n_scratch > 0) {
        w->scratch = drove__alloc(n_scratch, sizeof *w->scratch);
        complete = complete && w->scratch != NULL;
    }
    if (complete) return DROVE_OK;
    drove__optim_worker_fini(w);
    return drove__fail_nomem("rule state of a worker", optim->n_theta * sizeof(float));
}

void drove__optim_worker_fini(drove_optim_worker *w)
{
    if (w == NULL) return;
    for (unsigned i = 0; i < DROVE_RULE_MAX_STATE; i++) drove__free(w->state[i]);
    drove__free(w->lookahead);
    drove__free(w->scratch);
    memset(w, 0, sizeof *w);
}

/* ---- step size ---- */

/* Product of the factors that depend on staleness, or of those that do not. */
static double factors(const drove_optim *optim, bool by_staleness, const drove_progress_point *at)
{
    double product = 1.0;
    for (unsigned i = 0; i < optim->n_schedules; i++) {
        const drove_schedule *schedule = &optim->schedule[i];
        if (schedule->ops->by_staleness == by_staleness)
            product *= schedule->ops->factor(schedule, at);
    }
    return product;
}

float drove__optim_eta(const drove_optim *optim, double epoch)
{
    drove_progress_point at = {.epoch = epoch};
    return (float)((double)optim->lr * optim->back_off * factors(optim, false, &at));
}

bool drove__optim_plateau(const drove_optim *optim, drove_plateau *out)
{
    for (unsigned i = 0; i < optim->n_schedules; i++) {
        const drove_schedule *s = &optim->schedule[i];
        if (s->ops != &drove__schedule_plateau) continue;
        *out = (drove_plateau){.factor = s->factor, .patience = s->patience, .most_cuts = s->cuts};
        return true;
    }
    return false;
}

/* ---- preparing the gradient ---- */

/* y += a x, x may be written by others: it is copied to private memory, a chunk at a time. */
static void add_shared(const drovek_table *k, float *y, const float *x, size_t n, float a)
{
    float copy[CHUNK];
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t length = n - i < CHUNK ? n - i : CHUNK;
        k->copy_f32(copy, x + i, length);
        k->axpy_f32(y + i, copy, length, a);
    }
}

void drove__optim_look_ahead(const drove_optim *optim, const drove_optim_worker *w,
                             const float *state, size_t offset, size_t length, float *theta)
{
    const float *v = (state != NULL ? state : w->state[0]) + offset;
    if (state == NULL) optim->kernels->axpy_f32(theta, v, length, optim->rule.mu);
    else add_shared(optim->kernels, theta, v, length, optim->rule.mu);
}

const float *drove__optim_theta(const drove_optim *optim, drove_optim_worker *w, const float *view)
{
    if (!optim->rule.ops->lookahead) return view;
    const bool is_own = optim->state == DROVE_STATE_WORKER;
    optim->kernels->copy_f32(w->lookahead, view, optim->n);
    drove__optim_look_ahead(optim, w, is_own ? NULL : view + optim->n, 0, optim->n, w->lookahead);
    return w->lookahead;
}

/* Scales g down to the norm optim->clip if it is longer. */
static void clip(const drove_optim *optim, float *g, const drove_span *span, size_t n_spans)
{
    double square = 0.0;
    for (size_t i = 0; i < n_spans; i++) {
        const float *part = g + span[i].offset;
        square += optim->kernels->dot_f32(part, part, span[i].length);
    }
    double norm = sqrt(square);
    if (!(norm > (double)optim->clip)) return;
    float factor = (float)((double)optim->clip / norm);
    for (size_t i = 0; i < n_spans; i++)
        optim->kernels->scale_f32(g + span[i].offset, span[i].length, factor);
}

void drove__optim_clip(const drove_optim *optim, float *g)
{
    const drove_span all = {0, optim->n_theta};
    clip(optim, g, &all, 1);
}

/* The rule applied to 0 is the step.  With the worker's state parameters that are floats get it
 * added, as publication does it, for the same bits. */
void drove__optim_step(const drove_optim *optim, const drove_optim_worker *w, float *state,
                       uint64_t t, size_t offset, size_t length, float *theta, float *g, float eta)
{
    static const DROVE_ALIGNED_CACHE_LINE float zero[ZEROS];
    const drove_rule *rule = &optim->rule;
    const bool in_place = theta != NULL && state != NULL;
    for (size_t at = 0, n; at < length; at += n) {
        n = length - at < ZEROS ? length - at : ZEROS;
        drovek_update u = {.n = n,
                           .g = g + at,
                           .in = in_place ? theta + at : zero,
                           .out = in_place ? theta + at : g + at};
        for (unsigned i = 0; i < rule->ops->n_state; i++) {
            float *all = state != NULL ? state + i * optim->n_theta : w->state[i];
            u.state_in[i] = u.state_out[i] = all + offset + at;
        }
        rule->ops->apply(rule, optim->kernels, &u, eta, t);
        if (theta != NULL && !in_place)
            optim->kernels->sgd_f32(theta + at, theta + at, g + at, n, -1.0f);
    }
}

void drove__optim_decay(const drove_optim *optim, const float *view, size_t offset, size_t length,
                        float *g)
{
    if (optim->weight_decay > 0.0f)
        add_shared(optim->kernels, g + offset, view + offset, length, optim->weight_decay);
}

void drove__optim_prepare(const drove_optim *optim, drove_optim_worker *w, const float *view,
                          float *g, const drove_span *span, size_t n_spans, float eta,
                          drove_step *out)
{
    assert(span == NULL || optim->spans_ok);
    *out =
        (drove_step){.value = g, .span = span, .n_spans = span == NULL ? 0 : n_spans, .eta = eta};
    const drove_span all = {0, optim->n};
    if (span == NULL) {
        span = &all;
        n_spans = 1;
    }
    drove__optim_decay(optim, view, 0, optim->n, g);
    if (optim->clip > 0.0f) clip(optim, g, span, n_spans);
    if (optim->state != DROVE_STATE_WORKER) return;
    /* g becomes the finished step d, theta' = theta + d */
    w->t++;
    size_t at = 0; /* of a rule by matrix, which has one span: all before it is done */
    for (size_t i = 0; i < optim->n_matrices; i++) {
        const drove_weight_matrix *m = &optim->matrix[i];
        drove__optim_step(optim, w, NULL, w->t, at, m->offset - at, NULL, g + at, eta);
        drove__muon_step(&optim->rule, optim->kernels, m, w->state[0], w->scratch, g, eta);
        at = m->offset + m->n_groups * m->n_in * m->n_out;
    }
    for (size_t i = 0; i < n_spans; i++)
        drove__optim_step(optim, w, NULL, w->t, span[i].offset + at, span[i].length - at, NULL,
                          g + span[i].offset + at, eta);
    if (optim->shrink > 0.0f) add_shared(optim->kernels, g, view, optim->n, -eta * optim->shrink);
}

/* ---- publication ---- */

/* A step being applied: the values shared by its pieces. */
typedef struct application {
    const drove_optim *optim;
    const float *value;
    float eta;
    uint64_t t;
    unsigned n_state; /* shared ones */
    const float *in;
    float *out;
} application;

static void apply_part(const application *a, size_t offset, size_t length)
{
    const drovek_table *k = a->optim->kernels;
    const drove_rule *rule = &a->optim->rule;
    if (a->optim->state == DROVE_STATE_WORKER) {
        k->sgd_f32(a->out + offset, a->in + offset, a->value + offset, length, a->eta);
        return;
    }
    drovek_update u = {
        .n = length, .g = a->value + offset, .in = a->in + offset, .out = a->out + offset};
    for (unsigned i = 0; i < a->n_state; i++) {
        u.state_in[i] = u.in + (i + 1) * a->optim->n;
        u.state_out[i] = u.out + (i + 1) * a->optim->n;
    }
    if (a->optim->shrink == 0.0f) {
        rule->ops->apply(rule, k, &u, a->eta, a->t);
        return;
    }
    /* theta shrunk first, in private memory, a chunk at a time */
    float shrunk[CHUNK];
    for (size_t at = 0, n; at < length; at += n) {
        n = length - at < CHUNK ? length - at : CHUNK;
        k->copy_f32(shrunk, u.in + at, n);
        k->scale_f32(shrunk, n, 1.0f - a->eta * a->optim->shrink);
        drovek_update part = {.n = n, .g = u.g + at, .in = shrunk, .out = u.out + at};
        for (unsigned i = 0; i < a->n_state; i++) {
            part.state_in[i] = u.state_in[i] + at;
            part.state_out[i] = u.state_out[i] + at;
        }
        rule->ops->apply(rule, k, &part, a->eta, a->t);
    }
}

/* Copies what the step does not change, if the result goes to another vector. */
static void copy_part(const application *a, size_t offset, size_t length)
{
    if (a->out == a->in || length == 0) return;
    for (size_t i = 0; i <= a->n_state; i++) {
        size_t at = i * a->optim->n + offset;
        a->optim->kernels->copy_f32(a->out + at, a->in + at, length);
    }
}

void drove__optim_apply_at_once(const drove_optim *optim, const drove_step *step,
                                uint64_t staleness, uint64_t t, size_t offset, size_t length,
                                const float *in, float *out)
{
    assert(offset <= optim->n && length <= optim->n - offset && t >= 1);
    bool own_state = optim->state == DROVE_STATE_WORKER;
    double factor = 1.0;
    if (optim->by_staleness) {
        drove_progress_point at = {.staleness = staleness};
        factor = factors(optim, true, &at);
    }
    application a = {
        .optim = optim,
        .value = step->value,
        .t = t,
        .in = in,
        .out = out,
        .n_state = own_state ? 0 : optim->rule.ops->n_state,
        .eta = own_state ? (float)-factor
                         : (float)((double)step->eta * factor), /* a finished step is added */
    };
    if (step->span == NULL) {
        apply_part(&a, offset, length);
        return;
    }
    size_t at = offset, end = offset + length; /* everything before `at` is done */
    for (size_t i = 0; i < step->n_spans && step->span[i].offset < end; i++) {
        size_t from = step->span[i].offset, to = from + step->span[i].length;
        if (to <= at) continue;
        if (from < at) from = at;
        if (to > end) to = end;
        copy_part(&a, at, from - at);
        apply_part(&a, from, to - from);
        at = to;
    }
    copy_part(&a, at, end - at);
}

/* The part of a span that lies in [offset, end). */
static drove_span cut(const drove_span *span, size_t offset, size_t end)
{
    size_t from = span->offset, to = from + span->length;
    if (from < offset) from = offset;
    if (to > end) to = end;
    return (drove_span){from, to > from ? to - from : 0};
}

double drove__optim_take(const float *vector, size_t offset, size_t length, const drove_span *span,
                         size_t n_spans, bool writes)
{
    double taken_ns = 0.0;
    size_t end = offset + length;
    if (span == NULL) return drove__take(vector + offset, length, writes);
    for (size_t i = 0; i < n_spans && span[i].offset < end; i++) {
        drove_span part = cut(&span[i], offset, end);
        if (part.length > 0) taken_ns += drove__take(vector + part.offset, part.length, writes);
    }
    return taken_ns;
}

void drove__optim_apply(const drove_optim *optim, const drove_step *step, uint64_t staleness,
                        uint64_t t, size_t offset, size_t length, const float *in, float *out)
{
    drove__optim_apply_at_once(optim, step, staleness, t, offset, length, in, out);
    if (!drove__is_modelled()) return;

    /* On a virtual clock it takes time. */
    const drove_span *span = in == out ? step->span : NULL; /* another vector is written whole */
    double taken_ns = 0.0;
    for (size_t base = 0; base < optim->n_vector; base += optim->n) {
        if (in != out) taken_ns += drove__take(in + base + offset, length, false);
        taken_ns += drove__optim_take(out + base, offset, length, span, step->n_spans, true);
    }
    size_t n = span == NULL ? length : 0;
    for (size_t i = 0; span != NULL && i < step->n_spans; i++)
        n += cut(&span[i], offset, offset + length).length;
    drove__spend_update(n * (optim->n_vector / optim->n), taken_ns);
}
