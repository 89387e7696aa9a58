/* loop/worker.c - a worker from its setup to its end; train is the one loop. */
#include "loop/worker.h"

#include "loop/batches.h"
#include "loop/evaluation.h"
#include "loop/modelled.h"
#include "loop/rule.h"
#include "loop/step.h"
#include "model/custom.h"

#include <stdlib.h>

/* ---- setup ---- */

drove_status drove__worker_init(drove_worker *w, drove_loop *loop, unsigned index)
{
    w->loop = loop;
    w->index = index;
    w->plan = &loop->plan->worker[index];
    w->data = loop->data.train;
    w->engine_ops = loop->core_ops;
    w->timeout_ns = UINT64_MAX;
    if (!drove__plan_is_here(loop->plan, index) || w->plan->device == NULL) return DROVE_OK;
    drove_status status = drove__device_open(w->plan->device, &w->device);
    if (status != DROVE_OK) return drove__fail_in(status, "--workers %s", w->plan->name);
    w->engine_ops = w->device->engine;
    if (w->plan->timeout_s > 0.0) w->timeout_ns = (uint64_t)(w->plan->timeout_s * 1e9);
    return DROVE_OK;
}

void drove__worker_fini(drove_worker *w)
{
    drove__optim_worker_fini(&w->optim);
    drove__modelled_fini(w);
    drove__free(w->grad);
    w->grad = NULL;
    drove__device_close(w->device);
    drove_data_destroy(w->own_data);
}

/* Cores of a team but the first, which is the worker's own thread's. */
static drove_status bind_part(void *context, unsigned part)
{
    const drove_worker *w = context;
    return drove__topo_bind_self(w->loop->topo, &w->plan->core[part]);
}

/* Largest batch of one call: what the source gives out, or an evaluation's chunk. */
size_t drove__worker_most_rows(const drove_worker *w)
{
    const drove_loop *loop = w->loop;
    size_t rows = loop->sizes.score_rows;
    if (loop->order.batch > rows) rows = (size_t)loop->order.batch;
    if (!loop->plan->source->counts_rows) return rows;
    const size_t each = w->plan->n_cores; /* sizes of cores are meant for each of them */
    size_t most = w->device != NULL ? DROVE_MOST_DEVICE_BATCH : each * DROVE_MOST_CORE_BATCH;
    const uint64_t asked[] = {each * w->plan->batch, each * w->plan->least, each * w->plan->most,
                              loop->sizes.batch};
    for (size_t i = 0; i < DROVE_COUNT(asked); i++)
        if (asked[i] > most) most = (size_t)asked[i];
    if (most > loop->data.train->n_rows) most = loop->data.train->n_rows;
    return most > rows ? most : rows;
}

drove_status drove__worker_alloc(drove_worker *w)
{
    const drove_loop *loop = w->loop;
    const drove_sync_ops *ops = loop->sync->ops;
    w->resident.is_there = w->device != NULL && ops->slices != NULL &&
                           (w->engine_ops->can & DROVE_ENGINE_RESIDENT) != 0;
    bool is_lent = ops->slices != NULL && ops->gradient != NULL;
    bool is_needed =
        loop->plan->source->counts_rows || !drove__steps_in_place(w, loop->sizes.update_rows);
    if (is_needed && !is_lent && loop->shared == NULL) {
        w->grad = drove__alloc(loop->optim->n, sizeof *w->grad);
        if (w->grad == NULL)
            return drove__fail_nomem("a gradient", loop->optim->n * sizeof *w->grad);
    }
    return drove__optim_worker_init(&w->optim, loop->optim);
}

drove_status drove__worker_setup(drove_worker *w)
{
    DROVE_TRY(drove__topo_bind_self(w->loop->topo, &w->plan->core[0]));
    drovek_thread_init();
    return drove__worker_make(w);
}

drove_status drove__worker_make(drove_worker *w)
{
    drove_loop *loop = w->loop;
    size_t max_rows = drove__worker_most_rows(w);
    if (w->plan->copies_data && w->device == NULL) { /* touched first by this thread: near it */
        DROVE_TRY(drove__data_copy(loop->data.train, &w->own_data));
        w->data = w->own_data;
    }
    for (unsigned i = 0; i < DROVE_COUNT(w->batches.row); i++) {
        w->batches.row[i] = drove__alloc(max_rows, sizeof *w->batches.row[i]);
        if (w->batches.row[i] == NULL)
            return drove__fail_nomem("rows of a batch", max_rows * sizeof *w->batches.row[i]);
    }
    if (loop->plan->host != DROVE_HOST_PROCS) DROVE_TRY(drove__worker_alloc(w));
    if (loop->loading.is_wanted) {
        if (loop->plan->host != DROVE_HOST_PROCS) {
            w->batches.loader = loop->loading.loader;
        } else { /* its own: threads do not live on in a forked process */
            const drove_loader_options opt = {.data = w->data,
                                              .kernels = loop->kernels,
                                              .max_rows = max_rows,
                                              .n_workers = loop->plan->n_workers,
                                              .n_threads = loop->loading.n_threads > 0 ? 1 : 0,
                                              .clock = loop->clock};
            DROVE_TRY(drove__loader_create(&opt, &w->batches.loader));
        }
        DROVE_TRY(drove__loader_join(w->batches.loader, w->index));
    }

    drove_engine_options opt = {.model = loop->model,
                                .kernels = loop->kernels,
                                .data = w->data,
                                .max_rows = max_rows,
                                .rows = loop->sizes.update_rows,
                                .seed = loop->seed,
                                .shared = loop->shared,
                                .rule = drove__worker_rule(w),
                                .device = w->device};
    if (w->device == NULL && w->plan->n_cores > 1) {
        opt.n_threads = w->plan->n_cores;
        opt.bind = bind_part;
        opt.bind_context = w;
    }
    if (w->engine_ops->most_rows != NULL) opt.max_rows = w->engine_ops->most_rows(&opt);
    if (opt.max_rows == 0)
        return drove__fail(DROVE_E_ARG,
                           "--workers %s: expected memory for the model and one example, found "
                           "%llu bytes",
                           w->plan->name, (unsigned long long)w->device->facts.memory_bytes);
    w->most_rows = opt.max_rows;
    return w->engine_ops->create(&opt, &w->engine);
}

void drove__worker_leave(drove_worker *w)
{
    if (w->engine != NULL) w->engine_ops->destroy(w->engine);
    for (unsigned i = 0; i < DROVE_COUNT(w->batches.row); i++) {
        drove__free(w->batches.row[i]);
        w->batches.row[i] = NULL;
    }
    w->engine = NULL;
}

/* ---- training ---- */

/* A lost device costs its batch where the source can give it to others; else the run has failed. */
static void give_up(drove_worker *w, drove_status status)
{
    drove_source *from = w->loop->source;
    const bool is_second =
        atomic_load(&w->loop->ending.halted) != 0; /* another's failure is the run's */
    if (atomic_exchange(&w->health.is_lost, 1) != 0) return;
    /* A source that waits for this worker's word must have it, whoever failed first. */
    const bool is_borne = drove__source_failed(from, w->index);
    if (is_second) return;
    /* A function of the program's own would fail for the others, too. */
    if (is_borne && !drove__custom_has_failed(w->loop->model)) return; /* it says so */
    if (w->device != NULL) status = drove__fail_in(status, "worker %s", w->plan->name);
    drove__worker_fail(w, status);
}

static uint64_t named_ns(const drove_worker *w)
{
    uint64_t sum = 0;
    for (int p = 0; p < DROVE_N_PHASES; p++) sum += w->trace.phase_ns[p];
    return sum;
}

static void train(drove_worker *w)
{
    drove_loop *loop = w->loop;
    drove_task task;
    drove_batch batch;
    drove_status status = DROVE_OK;
    uint64_t before = named_ns(w), started = drove__clock_now(loop->clock);
    uint64_t n_steps = 0, first_ns = 0, first_examples = 0;           /* of the first step */
    const uint64_t examples_before = atomic_load(&w->trace.examples); /* its own alone */
    drove__order_cursor_init(&w->cursor);
    while (!atomic_load(&w->health.is_lost) && drove__batches_next(w, &task, &batch, &status)) {
        drove__heartbeat(w);
        if (status == DROVE_OK)
            status = drove__step(w, &task, &batch, drove__step_size(loop, &task));
        if (status != DROVE_OK) break;
        if (++n_steps == 1) {
            first_ns = drove__clock_now(loop->clock) - loop->source->open_ns;
            first_examples = atomic_load(&w->trace.examples) - examples_before;
        }
        /* Somebody wishes it, and all see it behind the same exchange. */
        if (loop->ending.halt_seen != NULL && atomic_load(loop->ending.halt_seen))
            loop->source->ops->halt(loop->source);
    }
    if (status == DROVE_OK && !atomic_load(&w->health.is_lost)) status = drove__step_settle(w);
    drove__batches_end(w);
    if (status != DROVE_OK) give_up(w, status);
    if (drove__actor != NULL) w->trace.overwritten += drove__virtual_overwritten();
    if (n_steps > 1) {
        w->trace.start_ns += first_ns;
        w->trace.start_examples += first_examples;
    }
    uint64_t spent = drove__clock_now(loop->clock) - started, named = named_ns(w) - before;
    w->trace.phase_ns[DROVE_PHASE_OTHER] += spent > named ? spent - named : 0;
}

bool drove__worker_obey(drove_worker *w, drove_command command)
{
    switch (command) {
    case DROVE_DO_TRAIN: train(w); return true;
    case DROVE_DO_SCORE: drove__worker_score(w); return true;
    case DROVE_DO_STATISTICS: drove__worker_statistics(w); return true;
    case DROVE_DO_PROBE: drove__worker_probe(w); return true;
    case DROVE_DO_QUIT: break;
    }
    return false;
}
