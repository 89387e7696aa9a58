/* run/devices.c - see devices.h. */
#include "run/devices.h"

#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static drove_status check_plan(const drove_group_plan *g)
{
    if (g->batch == 0 && g->least == 0 && g->most == 0 && !g->one_gradient) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--workers %s: expected no batch, min, max or gradient, which a coordinator "
                       "reads: --batch is of each device",
                       g->name);
}

static drove_status open_named(drove_run *run, unsigned i)
{
    drove_worker_device *d = &run->devices.device[i];
    const drove_group_plan *g = &run->devices.plan.group[i];
    DROVE_TRY(check_plan(g));
    snprintf(d->name, sizeof d->name, "%s", g->name);
    d->n_threads = g->n_threads;
    d->place = calloc(g->n_threads, sizeof *d->place);
    if (d->place == NULL) return drove__fail_nomem("places", g->n_threads * sizeof *d->place);
    for (unsigned k = 0; k < g->n_threads; k++) {
        d->place[k] = (drove_place){.pu = -1, .core = -1, .node = -1};
        if (g->pu[k] >= 0) (void)drove__topo_find(run->topo, g->pu[k], &d->place[k]);
    }
    run->place[i] = d->place[0];
    if (!g->is_device) return DROVE_OK;
    if (g->timeout_s > 0.0) d->timeout_ns = (uint64_t)(g->timeout_s * 1e9);
    drove_status status = drove__device_open(&g->spec, &d->device);
    if (status != DROVE_OK) return drove__fail_in(status, "--workers %s", g->name);
    d->engine_ops = d->device->engine;
    return DROVE_OK;
}

drove_status drove__devices_open(drove_run *run)
{
    drove_devices *all = &run->devices;
    bool is_named = run->opt.workers[0] != '\0';
    if (is_named)
        DROVE_TRY(drove__crew_plan_parse(run->opt.workers, run->topo, run->plan.n_threads, true,
                                         &all->plan));
    run->n_workers = is_named ? all->plan.n_groups : run->plan.n_workers;
    run->place = calloc(run->n_workers, sizeof *run->place);
    all->device = calloc(run->n_workers, sizeof *all->device);
    all->is_resident = calloc(run->n_workers, sizeof *all->is_resident);
    if (run->place == NULL || all->device == NULL || all->is_resident == NULL)
        return drove__fail_nomem("workers", run->n_workers * sizeof *all->device);
    drove__topo_place(run->topo, run->plan.bind, run->n_workers, run->place);
    all->n = run->n_workers;
    for (unsigned i = 0; i < run->n_workers; i++) {
        drove_worker_device *d = &all->device[i];
        *d = (drove_worker_device){.run = run,
                                   .engine_ops = &drove__engine_host,
                                   .n_threads = 1,
                                   .timeout_ns = UINT64_MAX};
        snprintf(d->name, sizeof d->name, "thread:%u", i);
    }
    for (unsigned i = 0; is_named && i < run->n_workers; i++) DROVE_TRY(open_named(run, i));
    return DROVE_OK;
}

drove_status drove__devices_split(drove_run *run)
{
    drove_devices *all = &run->devices;
    const drove_model *m = run->model;
    if (all->n == 0 && (run->plan.ops->needs & DROVE_SYNC_SPREAD) == 0) return DROVE_OK;
    all->part = calloc(m->n_layers, sizeof *all->part);
    all->of_layer = calloc(m->n_layers, sizeof *all->of_layer);
    all->layer = calloc(m->n_layers, sizeof *all->layer);
    if (all->part == NULL || all->of_layer == NULL || all->layer == NULL)
        return drove__fail_nomem("parts of a gradient", m->n_layers * sizeof *all->part);
    for (size_t l = 0; l < m->n_layers; l++) {
        drove_span part;
        drove__model_layer_part(m, l, &part.offset, &part.length);
        all->of_layer[l] = part.length > 0 ? all->n_parts : DROVE_NO_PART;
        if (part.length == 0) continue;
        all->layer[all->n_parts] = l;
        all->part[all->n_parts++] = part;
    }
    for (unsigned i = 0; i < all->n; i++)
        all->is_resident[i] = all->device[i].engine_ops->set_params != NULL &&
                              strcmp(run->plan.ops->name, "accumulate") == 0;
    if (all->n == 0 || (run->opt.timeline[0] == '\0' && run->opt.out[0] == '\0')) return DROVE_OK;
    DROVE_TRY(drove__spans_create(all->n, &all->spans));
    for (unsigned i = 0; i < all->n; i++) drove__spans_name(all->spans, i, all->device[i].name);
    return DROVE_OK;
}

void drove__devices_close(drove_run *run)
{
    drove_devices *all = &run->devices;
    for (unsigned i = 0; i < all->n; i++) {
        drove__device_close(all->device[i].device);
        free(all->device[i].place);
    }
    drove__crew_plan_fini(&all->plan);
    drove__spans_destroy(all->spans);
    free(all->device);
    free(all->is_resident);
    free(all->part);
    free(all->of_layer);
    free(all->layer);
    *all = (drove_devices){0};
}

bool drove__devices_are_far(const drove_run *run)
{
    for (unsigned i = 0; i < run->devices.n; i++) {
        if (run->devices.device[i].device != NULL) return true;
    }
    return false;
}

/* ---- engines ---- */

/* The other threads of a group of cores. */
static drove_status bind_part(void *context, unsigned part)
{
    const drove_worker_device *d = context;
    return drove__topo_bind_self(d->run->topo, &d->place[part]);
}

void drove__devices_engine(drove_worker *w, drove_engine_options *opt)
{
    drove_worker_device *d = &w->run->devices.device[w->index];
    w->engine_ops = d->engine_ops;
    opt->device = d->device;
    if (d->device != NULL || d->n_threads == 1) return;
    opt->n_threads = d->n_threads;
    opt->bind = bind_part;
    opt->bind_context = d;
}
