/* run/virtual.c - see virtual.h.
 *
 * What workers on cores cost: of a core with k busy threads each thread works at yield(k) / k of
 * the core's speed, where yield grows from 1 to the machine's smt_yield.  Workers are spread over
 * the sockets unless --bind says how; what counts is who is there, not who is busy.
 */
#include "run/virtual.h"

#include "base/denormals.h"
#include "base/sort.h"
#include "base/virtual.h"
#include "loop/modelled.h"
#include "loop/rule.h"
#include "loop/worker.h"
#include "values/say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 11 };                  /* of a measurement, whose median counts */
static const double MOST_JITTER = 0.5; /* that is believed */

/* ---- the machine ---- */

static drove_status refuse(const char *expected, const char *found)
{
    return drove__fail(DROVE_E_ARG, "--machine: expected %s on a virtual clock, found %s", expected,
                       found);
}

static drove_status read_machine(const drove_config *config, drove_workers *workers,
                                 drove_modelled *out)
{
    drove_topo *topo;
    drove_topo_facts *f = &workers->here;
    DROVE_TRY(drove__topo_create(NULL, &topo));
    drove__topo_facts(topo, f);
    drove__topo_destroy(topo);
    if (!config->machine.models_here) return drove__modelled_read(config->machine.modelled, out);
    unsigned n_sockets = f->n_packages > 0 ? f->n_packages : 1;
    drove__modelled_here(n_sockets, f->n_cores / n_sockets, f->n_pus / f->n_cores, out);
    return DROVE_OK;
}

drove_status drove__virtual_machine(const drove_config *config, drove_workers *workers,
                                    drove_topo **out)
{
    char levels[96];
    if (config->machine.modelled == NULL && !config->machine.models_here)
        return drove__topo_create(NULL, out);
    if (workers->ranks.n > 1) return refuse("workers that are threads", "ranks");
    if (config->method.strategy == NULL)
        return refuse("a --strategy that is named", "auto, which chooses by real speed");
    if (config->files.replay != NULL) return refuse("a new run", "--replay");
    if (config->files.record != NULL)
        return refuse("no --record, as a run repeats by itself", "one");
    if (config->machine.partition != 0) return refuse("workers of one core each", "--partition");
    drove_modelled *m = calloc(1, sizeof *m);
    if (m == NULL) return drove__fail_nomem("a machine", sizeof *m);
    workers->modelled = m;
    drove_status status = read_machine(config, workers, m);
    if (status != DROVE_OK) return drove__fail_in(status, "--machine");
    snprintf(levels, sizeof levels, "synthetic:numa:%u core:%u pu:%u", m->sockets, m->cores,
             m->smt);
    return drove__topo_create(levels, out);
}

/* ---- the clock and the devices ---- */

static drove_status name_devices(const drove_problem *problem, drove_workers *workers)
{
    drove_plan *plan = &workers->plan;
    workers->device_spec = calloc(plan->n_workers, sizeof *workers->device_spec);
    if (workers->device_spec == NULL) return drove__fail_nomem("devices", plan->n_workers);
    for (unsigned i = 0; i < plan->n_workers; i++) {
        drove_plan_worker *w = &plan->worker[i];
        if (w->device == NULL) continue;
        if (strcmp(w->device->name, "fake") != 0) return refuse("devices of the machine", w->name);
        if (w->device->n_args == 0) continue;
        /* fake:NAME becomes the script of the machine's device.  Its parameters and its gradient
         * cross the bus at every batch. */
        const drove_modelled_device *d =
            drove__modelled_device(workers->modelled, w->device->arg[0]);
        char text[256];
        if (d == NULL)
            return drove__fail(DROVE_E_ARG,
                               "--workers fake:%s: expected a device of the machine %s, "
                               "found none of this name",
                               w->device->arg[0], workers->modelled->name);
        double bytes = 2.0 * (double)problem->model->n_params * sizeof(float),
               delay_us = d->delay_us;
        if (d->transfer_gb_s > 0.0) delay_us += bytes / d->transfer_gb_s * 1e-3;
        const double speed = workers->modelled->speed;
        int n = snprintf(text, sizeof text, "fake:?speed=%.9g&delay_us=%.9g",
                         d->examples_per_s * 1e-3 * speed, delay_us / speed);
        if (d->memory_gib > 0.0)
            snprintf(text + n, sizeof text - (size_t)n, "&memory=%.0f", d->memory_gib * 0x1p30);
        DROVE_TRY(drove__spec_parse(text, &workers->device_spec[i]));
        w->device = &workers->device_spec[i];
    }
    return DROVE_OK;
}

static unsigned count_cores(const drove_plan *plan)
{
    unsigned n = 0;
    for (unsigned i = 0; i < plan->n_workers; i++)
        if (plan->worker[i].device == NULL) n += plan->worker[i].n_cores;
    return n;
}

drove_status drove__virtual_open(const drove_config *config, const drove_problem *problem,
                                 drove_workers *workers)
{
    const drove_plan *plan = &workers->plan;
    const drove_modelled *m = workers->modelled;
    if (m == NULL) return DROVE_OK;
    if (plan->host != DROVE_HOST_THREADS) return refuse("workers that are threads", "processes");
    const char *why = drove__sync_places(plan->ops)->not_virtual;
    if (why != NULL)
        return drove__fail(DROVE_E_ARG, "--machine: --strategy %s: %s", plan->spec, why);
    if (count_cores(plan) > workers->machine.n_pus)
        return drove__fail(DROVE_E_ARG,
                           "--machine %s: expected at most %u workers (%u x %u x %u), found %u",
                           m->name, workers->machine.n_pus, m->sockets, m->cores, m->smt,
                           count_cores(plan));
    DROVE_TRY(name_devices(problem, workers));
    /* The coordinator's thread, and the one that controls the run. */
    DROVE_TRY(drove__virtual_create(plan->n_workers + 2, config->seed, &workers->loop->on));
    workers->loop->clock = drove__virtual_clock(workers->loop->on);
    return DROVE_OK;
}

drove_status drove__virtual_check(const drove_problem *problem, const drove_workers *workers)
{
    const drove_loop *loop = workers->loop;
    if (loop->on == NULL) return DROVE_OK;
    if (problem->stream != NULL) return refuse("training data in memory", "data on disk");
    if ((loop->sync->needs & DROVE_SYNC_LIVE) != 0)
        return refuse("steps that are published when they are computed", workers->plan.spec);
    if (loop->shared != NULL) { /* steps on copies: loop/modelled.h */
        if (loop->sync->layout.in_bf16) return refuse("floats or integers", "bf16");
        if (loop->sync->ops->exchange_pattern != NULL)
            return refuse("low-precision parameters in one vector", workers->plan.spec);
        for (unsigned i = 0; i < workers->plan.n_workers; i++)
            DROVE_TRY(drove__modelled_init(&loop->worker[i]));
        return DROVE_OK;
    }
    if ((loop->sync->needs & DROVE_SYNC_RACY) == 0) return DROVE_OK;
    return drove__virtual_scratch(loop->on, loop->sync->n_vector);
}

void drove__virtual_say(const drove_workers *workers, const drove_callbacks *cb)
{
    const drove_modelled *m = workers->modelled;
    if (m == NULL) return;
    drove__run_say(cb,
                   "clock: virtual, of the machine %s (%u x %u x %u): all seconds of training are "
                   "modelled",
                   m->name, m->sockets, m->cores, m->smt);
    if (m->assumed[0] != '\0') drove__run_say(cb, "machine: assumed: %s", m->assumed);
}

void drove__virtual_close(drove_workers *workers)
{
    for (unsigned i = 0; workers->device_spec != NULL && i < workers->plan.n_workers; i++)
        drove__spec_fini(&workers->device_spec[i]);
    free(workers->device_spec);
    free(workers->modelled);
    workers->modelled = NULL;
    workers->device_spec = NULL;
}

/* ---- measuring ---- */

/* What a worker's gradient is measured with: theta and room for a gradient or, of low precision, a
 * copy of the words, which are stepped on as they would be. */
typedef struct sample {
    const float *theta;
    float *grad;
    drove_params copy;
} sample;

static drove_status compute(drove_worker *w, const sample *s, const drove_batch *batch)
{
    const float eta = drove__optim_eta(w->loop->optim, 0.0);
    drove_gradient gradient = {.value = s->grad};
    drove_steps made = {0};
    const drove_work work = {.batch = batch, .theta = s->theta, .grad = &gradient};
    return s->theta != NULL ? drove__engine_do(w->engine_ops, w->engine, &work, UINT64_MAX, NULL)
                            : w->engine_ops->steps(w->engine, &s->copy, batch, eta, &made);
}

/* The first n examples by the first worker's engine; ns of this thread, and how far all but the
 * fastest and the slowest are off, relative. */
static drove_status time_gradient(drove_worker *w, const sample *s, size_t n, double *out_ns,
                                  double *out_spread)
{
    double took[ROUNDS];
    for (size_t i = 0; i < n; i++) w->batches.row[0][i] = (uint32_t)(i % w->data->n_rows);
    const drove_batch batch = {.data = w->data, .row = w->batches.row[0], .n_rows = n};
    for (int i = -1; i < ROUNDS; i++) { /* the first warms up */
        uint64_t begin_ns = drove__thread_ns();
        DROVE_TRY(compute(w, s, &batch));
        if (i >= 0) took[i] = (double)(drove__thread_ns() - begin_ns);
    }
    *out_ns = drove__sort_median(took, ROUNDS); /* which sorts them */
    *out_spread = (took[ROUNDS - 2] - took[1]) / (2.0 * fmax(*out_ns, 1.0));
    return DROVE_OK;
}

/* A straight line through two sizes: batch_us + n example_us. */
static drove_status measure_gradient(const drove_workers *workers, drove_worker *w, float *grad)
{
    drove_modelled *m = workers->modelled;
    const drove_params now = workers->loop->sync->ops->peek(workers->loop->sync);
    sample s = {.theta = now.theta, .grad = grad};
    if (now.words != NULL) {
        s.copy = drove__modelled_begin(w, &now);
        drove__rule_begin(w, &s.copy);
    }
    bool counts_rows = workers->plan.source->counts_rows;
    size_t most = counts_rows ? DROVE_MOST_CORE_BATCH : (size_t)workers->loop->sizes.batch;
    if (most > w->most_rows) most = w->most_rows;
    size_t least = most > 4 ? most / 4 : 1;
    double most_ns, least_ns, spread;
    DROVE_TRY(time_gradient(w, &s, most, &most_ns, &spread));
    if (isnan(m->jitter)) m->jitter = fmin(spread, MOST_JITTER);
    if (!isnan(m->batch_us)) return DROVE_OK;
    if (most == least) {
        m->batch_us = 0.0;
        m->example_us = most_ns * 1e-3 / (double)most;
        return DROVE_OK;
    }
    DROVE_TRY(time_gradient(w, &s, least, &least_ns, &spread));
    double each_ns = fmax((most_ns - least_ns) / (double)(most - least), 0.0);
    if (each_ns * (double)most > most_ns) each_ns = most_ns / (double)most;
    m->example_us = each_ns * 1e-3;
    m->batch_us = (most_ns - each_ns * (double)most) * 1e-3;
    return DROVE_OK;
}

static double gb_s(size_t n_floats, double ns)
{
    return (double)n_floats * sizeof(float) / fmax(ns, 1.0);
}

static drove_worker *worker_on_core(const drove_workers *workers)
{
    for (unsigned i = 0; i < workers->plan.n_workers; i++)
        if (workers->loop->worker[i].device == NULL) return &workers->loop->worker[i];
    return NULL;
}

static drove_status measure_work(const drove_workers *workers, float *grad, float *one,
                                 float *other)
{
    drove_worker *w = worker_on_core(workers);
    if (w == NULL) { /* devices say it themselves */
        if (isnan(workers->modelled->batch_us))
            workers->modelled->batch_us = workers->modelled->example_us = 0;
        if (isnan(workers->modelled->jitter)) workers->modelled->jitter = 0.0;
    }
    uint64_t before = drove__denormals_flush();
    drovek_thread_init();
    drove_status status = DROVE_OK;
    drove_modelled *m = workers->modelled;
    if ((isnan(m->batch_us) || isnan(m->jitter)) && w != NULL)
        status = measure_gradient(workers, w, grad);
    memset(grad, 0, workers->optim->n * sizeof *grad);
    const drove_optim *o = workers->optim;
    const drove_step step = {.value = grad, .eta = 0.0f};
    double copied[ROUNDS], updated[ROUNDS];
    for (int i = -1; i < ROUNDS; i++) {
        uint64_t begin_ns = drove__thread_ns();
        o->kernels->copy_f32(one, other, o->n_vector);
        uint64_t middle_ns = drove__thread_ns();
        drove__optim_apply(o, &step, 0, 1, 0, o->n, one, one);
        uint64_t end_ns = drove__thread_ns();
        if (i < 0) continue;
        copied[i] = (double)(middle_ns - begin_ns);
        updated[i] = (double)(end_ns - middle_ns);
    }
    if (isnan(m->copy_gb_s)) m->copy_gb_s = gb_s(o->n_vector, drove__sort_median(copied, ROUNDS));
    if (isnan(m->update_gb_s))
        m->update_gb_s = gb_s(o->n_vector, drove__sort_median(updated, ROUNDS));
    drove__denormals_restore(before);
    return status;
}

static drove_status measure(drove_workers *workers)
{
    drove_modelled *m = workers->modelled;
    const size_t n = workers->optim->n_vector;
    double line_ns = 0.0, hand_over_ns = 0.0;
    bool wants_threads = isnan(m->line_ns) || isnan(m->hand_over_us);
    bool wants_work =
        isnan(m->batch_us) || isnan(m->jitter) || isnan(m->copy_gb_s) || isnan(m->update_gb_s);
    workers->has_measured_costs = wants_threads || wants_work || isnan(m->take_gb_s);
    double take_ns;
    if (isnan(m->take_gb_s)) {
        DROVE_TRY(drove__virtual_measure_taking(&take_ns));
        m->take_gb_s = take_ns > 0.0 ? 1.0 / take_ns : 0.0;
    }
    if (wants_threads) DROVE_TRY(drove__virtual_measure_threads(&line_ns, &hand_over_ns));
    if (isnan(m->line_ns)) m->line_ns = line_ns;
    if (isnan(m->hand_over_us)) m->hand_over_us = hand_over_ns * 1e-3;
    if (isnan(m->far_line_ns)) m->far_line_ns = 2.0 * m->line_ns;
    if (isnan(m->window_ns)) m->window_ns = m->line_ns;
    if (!wants_work) return DROVE_OK;
    float *memory = drove__alloc(3 * n, sizeof *memory);
    if (memory == NULL) return drove__fail_nomem("a measurement", 3 * n * sizeof *memory);
    drove_status status = measure_work(workers, memory, memory + n, memory + 2 * n);
    drove__free(memory);
    return status;
}

/* ---- costs ---- */

static double yield(const drove_modelled *m, unsigned n_threads)
{
    if (m->smt == 1 || n_threads <= 1) return 1.0;
    return 1.0 + (m->smt_yield - 1.0) * (n_threads - 1) / (m->smt - 1);
}

static double per_byte_ns(const drove_modelled *m, double gb_s)
{
    return gb_s > 0.0 ? 1.0 / (gb_s * m->speed) : 0.0;
}

static drove_costs costs_of(const drove_modelled *m, double slow, int node)
{
    double far = m->line_ns > 0.0 ? m->far_line_ns / m->line_ns : 1.0;
    return (drove_costs){.copy_ns = slow / m->copy_gb_s,
                         .update_ns = slow / m->update_gb_s,
                         .memory_ns = per_byte_ns(m, m->memory_gb_s),
                         .take_ns = per_byte_ns(m, m->take_gb_s),
                         .far_take_ns = per_byte_ns(m, m->take_gb_s) * far,
                         .race_ns = per_byte_ns(m, m->race_gb_s),
                         .line_ns = m->line_ns / m->speed,
                         .far_line_ns = m->far_line_ns / m->speed,
                         .window_ns = m->window_ns / m->speed,
                         .hand_over_ns = m->hand_over_us * 1e3 / m->speed,
                         .jitter = m->jitter,
                         .socket = node > 0 ? (unsigned)node : 0};
}

drove_status drove__virtual_costs(drove_workers *workers)
{
    const drove_plan *plan = &workers->plan;
    if (workers->loop->on == NULL) return DROVE_OK;
    DROVE_TRY(measure(workers));
    drove_place *place = calloc(plan->n_workers, sizeof *place);
    if (place == NULL) return drove__fail_nomem("places", plan->n_workers * sizeof *place);
    drove_bind bind = plan->bind == DROVE_BIND_NONE ? DROVE_BIND_SPREAD : plan->bind;
    drove__topo_place(workers->topo, bind, plan->n_workers, place);
    const drove_modelled *m = workers->modelled;
    const unsigned n = workers->plan.n_workers;
    for (unsigned i = 0; i < n; i++) {
        drove_worker *w = &workers->loop->worker[i];
        unsigned k = 0;
        for (unsigned other = 0; other < n; other++) k += place[other].core == place[i].core;

        double slow = (w->device == NULL ? k / yield(m, k) : 1.0) / m->speed;
        const drove_costs costs = costs_of(m, slow, place[i].node);
        drove__virtual_set_costs(workers->loop->on, i, &costs);
        w->modelled.batch_ns = m->batch_us * 1e3 * slow / w->plan->n_cores;
        w->modelled.example_ns = m->example_us * 1e3 * slow / w->plan->n_cores;
    }
    const drove_costs of_coordinator = costs_of(m, 1.0 / m->speed, 0), none = {0};
    drove__virtual_set_costs(workers->loop->on, n, &of_coordinator);
    drove__virtual_set_costs(workers->loop->on, n + 1, &none);
    free(place);
    if (workers->modelled->take_gb_s > 0.0) {
        /* At most: a worker has a view, a gradient and three vectors that others read (leashed). */
        const size_t n_vectors = 5 * (size_t)workers->plan.n_workers + 2;
        return drove__virtual_hold(workers->loop->on, n_vectors,
                                   n_vectors * workers->optim->n_vector * sizeof(float));
    }
    return DROVE_OK;
}
