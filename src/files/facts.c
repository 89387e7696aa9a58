/* files/facts.c - fills the facts of a run, section by section; the only file that knows both its
 * values and its report.  A section takes the values that it is about. */
#include "files/facts.h"

#include "accum/accum.h"
#include "base/cpu.h"
#include "cluster/messages.h"
#include "elastic/elastic.h"
#include "coord/assigned.h"
#include "loop/host.h"
#include "config/chosen.h"
#include "files/final_metrics.h"
#include "values/progress.h"
#include "values/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- workers ---- */

static drove_status fill_workers(const drove_workers *workers, drove_present_facts *f)
{
    const unsigned n = workers->plan.n_workers;
    const drove_host *h = workers->loop->host;
    drove_worker_facts *worker = calloc(n, sizeof *worker);
    if (worker == NULL) return drove__fail_nomem("facts of workers", n);
    for (unsigned i = 0; i < n; i++) {
        const drove_worker *w = &workers->loop->worker[i];
        worker[i] = (drove_worker_facts){.trace = &w->trace,
                                         .traffic = &w->traffic,
                                         .processor = workers->place[i].pu,
                                         .node = workers->place[i].node};
        /* Threads of a group have its name in the plan; a rank is one worker. */
        bool is_group = workers->plan.source->counts_rows && workers->plan.host != DROVE_HOST_RANKS;
        if (is_group) snprintf(worker[i].name, DROVE_FACTS_NAME_SIZE, "thread:%u", i);
        else snprintf(worker[i].name, DROVE_FACTS_NAME_SIZE, "%s", workers->plan.worker[i].name);
        if (h->ops->process == NULL) continue;
        worker[i].process = h->ops->process(h, i);
        worker[i].lost = h->ops->lost(h, i);
    }
    f->worker = worker;
    f->n_workers = n;
    return DROVE_OK;
}

/* ---- groups that a coordinator gives batches to ---- */

static drove_status fill_groups(const drove_workers *workers, const drove_state *state,
                                drove_present_facts *f)
{
    const drove_source *from = workers->loop->source;
    const unsigned n = drove__assigned_groups(from);
    if (n == 0) return DROVE_OK;
    drove_group_facts *group = calloc(n, sizeof *group);
    if (group == NULL) return drove__fail_nomem("facts of workers", n * sizeof *group);
    f->group = group;
    f->n_groups = n;
    f->groups_since_ns = state->since_ns;
    f->logged_ns = state->logged_ns;
    for (unsigned i = 0; i < n; i++) {
        drove_assigned_facts a;
        drove__assigned_facts(from, i, &a);
        unsigned first = 0; /* the workers of a group follow each other */
        while (workers->plan.worker[first].group != i) first++;
        const drove_worker *w = &workers->loop->worker[first];
        const drove_coord_facts *c = &a.coord;
        group[i] = (drove_group_facts){
            .name = a.name,
            .first = first,
            .n = a.n_workers,
            .batch = c->batch,
            .batch_min = c->least,
            .batch_max = c->most,
            .n_batches = c->n_batches,
            .counted_updates = c->u,
            .examples_per_s = c->examples_per_s,
            .lost = a.lost,
            .device = w->device != NULL ? w->device->facts.name : NULL,
            .copy_s = (double)w->times.copy_ns * 1e-9,
            .compute_s = (double)w->times.compute_ns * 1e-9,
            .hidden_s = (double)w->times.hidden_ns * 1e-9,
            .wait_s = (double)w->times.wait_ns * 1e-9,
            .logged_busy_ns = state->logged_busy_ns != NULL ? state->logged_busy_ns[i] : 0,
            .busy = a.busy,
        };
    }
    return DROVE_OK;
}

/* Every change of a group's batch size. */
static drove_status fill_histories(const drove_problem *problem, const drove_workers *workers,
                                   drove_present_facts *f)
{
    for (unsigned i = 0; i < f->n_groups; i++) {
        drove_assigned_facts a;
        drove__assigned_facts(workers->loop->source, i, &a);
        const drove_coord_facts *c = &a.coord;
        if (c->n_history == 0) continue;
        drove_batch_size *history = calloc(c->n_history, sizeof *history);
        if (history == NULL)
            return drove__fail_nomem("batch sizes", c->n_history * sizeof *history);
        for (size_t k = 0; k < c->n_history; k++) {
            const drove_batch_change *h = &c->history[k];
            history[k] =
                (drove_batch_size){.epochs = (double)h->position / (double)problem->train->n_rows,
                                   .time_s = (double)(h->now_ns - c->history[0].now_ns) * 1e-9,
                                   .batch = h->batch,
                                   .counted_updates = h->u};
        }
        f->group[i].history = history;
        f->group[i].n_history = c->n_history;
    }
    return DROVE_OK;
}

void drove__facts_logged(const drove_workers *workers, drove_state *state)
{
    const unsigned n = drove__assigned_groups(workers->loop->source);
    state->logged_ns = state->standing.train_ns;
    if (n > 0 && state->logged_busy_ns == NULL)
        state->logged_busy_ns = calloc(n, sizeof *state->logged_busy_ns);
    if (state->logged_busy_ns == NULL) return;
    memset(state->logged_busy_ns, 0, n * sizeof *state->logged_busy_ns);
    for (unsigned i = 0; i < workers->plan.n_workers; i++)
        state->logged_busy_ns[workers->plan.worker[i].group] +=
            workers->loop->worker[i].trace.busy_ns;
}

drove_status drove__facts_present(const drove_workers *workers, const drove_state *state,
                                  const drove_progress *p, drove_present_facts *out)
{
    *out = (drove_present_facts){.progress = *p,
                                 .validation_loss = state->standing.validation_loss,
                                 .train_ns = state->standing.train_ns,
                                 .parked = {.n = state->parkings.n,
                                            .s = (double)state->parkings.ns * 1e-9,
                                            .n_beside = state->parkings.n_beside},
                                 .exchanges = (workers->plan.ops->needs & DROVE_SYNC_SPREAD) != 0};
    if (workers->loop->scoring.beside.is_on) return DROVE_OK; /* they write their traces */
    drove_status status = fill_workers(workers, out);
    if (status == DROVE_OK) status = fill_groups(workers, state, out);
    if (status != DROVE_OK) drove__facts_present_fini(out);
    return status;
}

void drove__facts_present_fini(drove_present_facts *f)
{
    for (unsigned i = 0; i < f->n_groups; i++) free(f->group[i].history);
    free(f->group);
    free(f->worker);
    *f = (drove_present_facts){0};
}

/* ---- at the start ---- */

static void fill_pack(const drove_config *config, drove_pack_facts *out)
{
    _Static_assert((int)DROVE_PACK_MOST_MEMBERS <= (int)DROVE_FACTS_MOST_MEMBERS,
                   "room for all members");
    const drove_pack_record *r = &config->chosen.pack;
    *out = (drove_pack_facts){.n = r->n,
                              .best = r->best,
                              .n_divisions = r->n_divisions,
                              .n_networks = r->n_networks,
                              .n_rows = r->n_rows,
                              .n_judged = r->n_judged,
                              .loss = r->loss,
                              .error = r->error,
                              .best_loss = r->best_loss,
                              .constant_loss = r->constant_loss,
                              .sharpness = r->sharpness,
                              .seconds = r->seconds};
    for (unsigned i = 0; i < r->n; i++) {
        const drove_pack_member *m = &r->member[i];
        out->member[i] = (drove_member_facts){.name = m->name,
                                              .loss = isfinite(m->loss) ? m->loss : NAN,
                                              .epochs = m->epochs,
                                              .share = m->share,
                                              .n_divisions = m->n_divisions};
    }
}

static void fill_strategy(const drove_config *config, drove_strategy_facts *out)
{
    _Static_assert((int)DROVE_MOST_RIVALS <= (int)DROVE_FACTS_MOST_RIVALS, "room for all rivals");
    static const char *const how[] = {[DROVE_STRATEGY_GIVEN] = NULL,
                                      [DROVE_STRATEGY_SHORT] = "short",
                                      [DROVE_STRATEGY_SKIPPED] = "skipped",
                                      [DROVE_STRATEGY_PROBED] = "probe"};
    const drove_strategy_probe *p = &config->chosen.probe;
    *out = (drove_strategy_facts){.how = how[p->reason],
                                  .n_allowed = p->n_allowed,
                                  .n = p->n,
                                  .chosen = p->chosen,
                                  .seconds = p->seconds,
                                  .margin = p->margin};
    for (unsigned i = 0; i < p->n; i++) {
        const drove_rival *r = &p->rival[i];
        const drove_probe_piece *last = r->n_pieces > 0 ? &r->piece[r->n_pieces - 1] : NULL;
        out->rival[i] =
            (drove_rival_facts){.strategy = r->strategy,
                                .n_threads = r->n_threads,
                                .rate = r->rate,
                                .is_measured = drove__strategy_probe_is_measured(r),
                                .train_s = last != NULL ? last->train_s : NAN,
                                .examples_per_s =
                                    last != NULL ? (double)last->n_examples / last->train_s : NAN,
                                .loss = last != NULL ? last->loss : NAN};
    }
}

static void fill_modelled(const drove_workers *workers, drove_modelled_facts *out)
{
    const drove_modelled *m = workers->modelled;
    if (m == NULL) return;
    *out = (drove_modelled_facts){.is_there = true,
                                  .is_measured = workers->has_measured_costs,
                                  .name = m->name,
                                  .source = m->source,
                                  .assumed = m->assumed,
                                  .sockets = m->sockets,
                                  .cores = m->cores,
                                  .smt = m->smt,
                                  .smt_yield = m->smt_yield,
                                  .speed = m->speed,
                                  .jitter = m->jitter,
                                  .memory_gb_s = m->memory_gb_s,
                                  .batch_us = m->batch_us,
                                  .example_us = m->example_us,
                                  .copy_gb_s = m->copy_gb_s,
                                  .update_gb_s = m->update_gb_s,
                                  .line_ns = m->line_ns,
                                  .far_line_ns = m->far_line_ns,
                                  .window_ns = m->window_ns,
                                  .hand_over_us = m->hand_over_us,
                                  .take_gb_s = m->take_gb_s,
                                  .race_gb_s = m->race_gb_s};
}

drove_status drove__facts_start(const drove_config *config, const drove_problem *problem,
                                const drove_workers *workers, drove_start_facts *f)
{
    _Static_assert((int)DROVE_FEATURES_TEXT_SIZE <= (int)DROVE_FACTS_TEXT_SIZE, "room for a spec");
    const drove_config *c = config;
    const drove_plan *plan = &workers->plan;
    *f = (drove_start_facts){.said = {.options = c->said,
                                      .data = c->problem.data,
                                      .rule = c->method.rule,
                                      .schedule = c->method.schedule,
                                      .rounding = c->low.rounding,
                                      .out = c->files.out,
                                      .record = c->files.record != NULL ? c->files.record
                                                                        : c->files.replay,
                                      .lr = c->method.lr,
                                      .seed = c->seed},
                             .n_workers = plan->n_workers,
                             .update_rows = workers->loop->sizes.update_rows,
                             .n_params = problem->model->n_params,
                             .strategy = plan->spec,
                             .model = problem->model->spec,
                             .isa = workers->kernels.isa};
    f->said.option = drove_options_table(&f->said.n_options);
    drove__config_text(c, "until", f->said.until);
    drove__config_text(c, "prefetch", f->said.prefetch);
    switch (plan->host) {
    case DROVE_HOST_RANKS: f->kind = DROVE_WORKER_RANK; break;
    case DROVE_HOST_PROCS: f->kind = DROVE_WORKER_PROCESS; break;
    case DROVE_HOST_THREADS:
        f->kind = plan->partition.n > 0 ? DROVE_WORKER_CORES : DROVE_WORKER_THREAD;
        break;
    }
    bool is_scripted = workers->modelled != NULL && !workers->has_measured_costs;
    f->is_repeatable = (plan->n_workers == 1 || is_scripted ||
                        (workers->loop->sync->promises & DROVE_SYNC_REPEATABLE) != 0) &&
                       !drove__strategy_probe_is_timed(&c->chosen.probe);
    drove__features_print(&problem->features, f->features);
    drove_topo_facts topo = workers->here; /* workers->topo may be that of a modelled machine */
    if (workers->modelled == NULL) drove__topo_facts(workers->topo, &topo);
    f->machine = (drove_machine_facts){.cpu = drove__cpu_model(),
                                       .n_cores = topo.n_cores,
                                       .n_processors = topo.n_pus,
                                       .n_nodes = topo.n_nodes,
                                       .gemm = drove__run_gemm(problem, workers)};
    gethostname(f->machine.host, sizeof f->machine.host - 1);
    fill_modelled(workers, &f->modelled);
    const drove_partition *part = &plan->partition;
    if (part->n != 0)
        f->partition = (drove_partition_facts){.n = part->n,
                                               .copies_bytes = part->n * part->copy_bytes,
                                               .fast_bytes = part->fast_bytes,
                                               .fast_name = part->fast_name,
                                               .fits = drove__partition_fits(part),
                                               .suggested = part->suggested};
    fill_pack(config, &f->pack);
    fill_strategy(config, &f->strategy_choice);
    /* The hosts of a job's ranks. */
    const drove_wire *wire =
        workers->ranks.n > 1 ? drove__transport_wire(workers->transport) : NULL;
    if (wire == NULL) return DROVE_OK;
    const char **host = calloc(wire->n_ranks, sizeof *host);
    if (host == NULL) return drove__fail_nomem("names of hosts", wire->n_ranks * sizeof *host);
    for (unsigned i = 0; i < wire->n_ranks; i++) host[i] = wire->host[i];
    f->cluster = (drove_cluster_facts){.is_there = true,
                                       .transport = workers->transport->ops->name,
                                       .mpi_library = wire->library,
                                       .n_ranks = workers->ranks.n,
                                       .n_local = workers->ranks.n_local,
                                       .n_threads = plan->worker[plan->first_here].n_cores,
                                       .host = host};
    return DROVE_OK;
}

void drove__facts_start_fini(drove_start_facts *f)
{
    free(f->cluster.host);
    *f = (drove_start_facts){0};
}

/* ---- at the end ---- */

static uint64_t peak_rss_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024u;
}

/* Numbers of the data set that an example has, stored non-zeros of sparse data. */
static double numbers_per_row(const drove_problem *problem)
{
    drove_data_facts facts;
    if (problem->model->n_layers != 1) return NAN;
    drove_data_describe(problem->train, &facts);
    return (double)facts.n_stored / (double)facts.n_rows;
}

static void fill_tuning(const drove_config *config, const drove_problem *problem,
                        const drove_state *state, drove_tuning_facts *out)
{
    _Static_assert((int)DROVE_MOST_TRIALS <= (int)DROVE_FACTS_MOST_TRIALS, "room for all trials");
    const drove_standing *st = &state->standing;
    const drove_trials *t = &config->chosen.trials;
    const bool is_found = drove__config_origin(config, "lr") > DROVE_BY_KIND;
    if (!is_found && problem->validation == NULL) return;
    *out = (drove_tuning_facts){.is_there = true,
                                .n_trials = t->n_trials,
                                .trial_updates = t->n_steps,
                                .trials_s = t->seconds,
                                .n_validation_rows =
                                    problem->validation != NULL ? problem->validation->n_rows : 0,
                                .validation_loss = st->validation_loss,
                                .validation_accuracy = st->validation_accuracy,
                                .best_epochs = st->back_epochs,
                                .n_cuts = st->n_cuts,
                                .n_recoveries = st->n_recoveries};
    for (unsigned i = 0; i < t->n_trials; i++) {
        out->trial_lr[i] = t->trial[i].lr;
        out->trial_loss[i] = t->trial[i].loss;
    }
}

/* Bytes of one more example of a batch on a device: activations and itself. */
static drove_status example_bytes(const drove_problem *problem, const drove_workers *workers,
                                  double *out)
{
    drove_pass_options pass = {.model = problem->model,
                               .kernels = &workers->kernels,
                               .rows = workers->loop->sizes.update_rows,
                               .max_rows = workers->loop->sizes.update_rows,
                               .n_parts = 1,
                               .trains = true};
    size_t of_batch, of_two;
    DROVE_TRY(drove__pass_bytes(&pass, &of_batch));
    pass.max_rows *= 2;
    DROVE_TRY(drove__pass_bytes(&pass, &of_two));
    *out = ((double)of_two - (double)of_batch) / (double)workers->loop->sizes.update_rows +
           (double)problem->model->n_inputs * sizeof(float);
    return DROVE_OK;
}

static drove_status fill_replicas(const drove_problem *problem, const drove_workers *workers,
                                  drove_replica_facts *out)
{
    drove_accum_facts a;
    if (!drove__accum_facts(workers->loop->sync, &a)) return DROVE_OK;
    double vector = (double)workers->optim->n * sizeof(float);
    double state = (double)(workers->optim->n_vector - workers->optim->n) * sizeof(float);
    *out = (drove_replica_facts){.is_there = true,
                                 .n_checks = a.n_checks,
                                 .parameters_bytes = vector,
                                 .gradient_bytes = vector,
                                 .state_bytes = state,
                                 .receive_bytes = a.receive_vectors * vector,
                                 .host_bytes = a.host_vectors * vector,
                                 .is_first_come = a.is_first_come,
                                 .n_compared = a.error.n_compared,
                                 .n_different = a.error.n_different,
                                 .error_max = a.error.most,
                                 .error_relative = a.error.relative};
    DROVE_TRY(example_bytes(problem, workers, &out->example_bytes));
    if (a.part == NULL || a.n_parts == 0) return DROVE_OK;
    drove_layer_facts *layer = calloc(a.n_parts, sizeof *layer);
    if (layer == NULL) return drove__fail_nomem("facts of layers", a.n_parts * sizeof *layer);
    for (size_t i = 0; i < a.n_parts; i++) {
        const drove_layer *l = &problem->model->layer[workers->loop->slices.layer[i]];
        const drove_accum_part *p = &a.part[i];
        layer[i] = (drove_layer_facts){.name = l->name,
                                       .n_params = l->n_params,
                                       .n_iterations = p->n_iterations,
                                       .down_ns = p->down_ns,
                                       .down_exposed_ns = p->down_exposed_ns,
                                       .add_ns = p->add_ns,
                                       .add_span_ns = p->add_span_ns,
                                       .add_exposed_ns = p->add_exposed_ns,
                                       .up_ns = p->up_ns,
                                       .up_exposed_ns = p->up_exposed_ns};
    }
    out->layer = layer;
    out->n_layers = a.n_parts;
    return DROVE_OK;
}

static void fill_communication(const drove_workers *workers, const drove_state *state,
                               drove_communication_facts *out)
{
    const unsigned needs = workers->plan.ops->needs;
    drove_elastic_facts facts = {0};
    if ((needs & DROVE_SYNC_SPREAD) == 0) return;
    (void)drove__elastic_facts(workers->loop->sync, &facts);
    *out = (drove_communication_facts){.is_there = true,
                                       .transport = workers->transport->ops->name,
                                       .period = facts.period,
                                       .alpha = facts.has_pull ? facts.alpha : NAN,
                                       .has_master = (needs & DROVE_SYNC_MASTER) != 0,
                                       .data_s = (double)state->beginning.data_ns * 1e-9,
                                       .start_s = (double)state->beginning.start_ns * 1e-9};
}

/* Engines, loaders, data on disk, replicas, and the time line. */
static drove_status fill_parts(const drove_problem *problem, const drove_workers *workers,
                               drove_facts *f)
{
    const drove_loop *loop = workers->loop;
    drove_engine_facts engine;
    if (problem->model->factors == DROVEK_FACTORS_BF16)
        f->precision = (drove_precision_facts){.is_there = true, .name = "bf16"};
    if (loop->shared != NULL) {
        loop->core_ops->typed->facts(loop->shared, &engine);
        f->precision = (drove_precision_facts){.is_there = true,
                                               .is_words = true,
                                               .model_range = engine.model_range,
                                               .data_scale = engine.data_scale,
                                               .data_clamped = engine.data_clamped,
                                               .bridges = engine.bridges,
                                               .bytes_per_example = engine.bytes_per_example};
        snprintf(f->precision.name, sizeof f->precision.name, "%s", engine.precision);
    }
    /* The loader of this process: the times of an earlier one of a continued run are not known. */
    uint64_t busy_ns, exposed_ns;
    if (loop->loading.loader != NULL) {
        double hidden = drove__loader_times(loop->loading.loader, &busy_ns, &exposed_ns);
        f->loader = (drove_loader_facts){.is_there = true,
                                         .n_threads = loop->loading.n_threads,
                                         .busy_s = (double)busy_ns * 1e-9,
                                         .exposed_s = (double)exposed_ns * 1e-9,
                                         .hidden = hidden};
    }
    drove_stream_facts stream;
    if (problem->stream != NULL) {
        drove__stream_facts(problem->stream, &stream);
        f->disk = (drove_disk_facts){.is_there = true,
                                     .n_blocks = stream.n_blocks,
                                     .n_windows = stream.n_windows,
                                     .n_windows_read = stream.n_windows_read,
                                     .window_bytes = stream.window_bytes,
                                     .read_bytes = stream.read_bytes,
                                     .read_s = (double)stream.read_ns * 1e-9,
                                     .wait_s = (double)stream.wait_ns * 1e-9};
    }
    DROVE_TRY(fill_replicas(problem, workers, &f->replicas));
    /* --timeline */
    const drove_slices *d = &loop->slices;
    if (loop->trace.spans == NULL) return DROVE_OK;
    const char **name = calloc(d->n, sizeof *name);
    if (name == NULL) return drove__fail_nomem("a time line", d->n * sizeof *name);
    for (size_t i = 0; i < d->n; i++) name[i] = problem->model->layer[d->layer[i]].name;
    f->spans = loop->trace.spans;
    f->span_part = name;
    f->n_span_parts = d->n;
    return DROVE_OK;
}

/* What data or model lack becomes a message, since the run itself has not failed; other failures
 * would make a summary without the numbers a lie. */
static drove_status pass_over(const drove_callbacks *cb, const char *what, drove_status status)
{
    if (status == DROVE_OK || drove_status_exit(status) == 1) return status;
    drove__run_warn(cb, "no %s: %s", what, drove_error_text());
    return DROVE_OK;
}

drove_status drove__facts_final(drove_run *run, drove_final_facts *out)
{
    const drove_config *config = &run->config;
    const drove_problem *problem = &run->problem;
    const drove_workers *workers = &run->workers;
    drove_state *state = &run->state;
    const drove_callbacks *cb = &run->output.cb;
    drove_facts *f = &out->facts;
    drove_status status;
    *out = (drove_final_facts){0};

    /* The metrics of the last parameters. */
    drove_progress p;
    drove__run_progress(&config->length.until, workers, state, state->standing.train_ns, &p);
    p.evaluated = 1;
    if (config->tells_metrics && state->outcome != DROVE_CRASHED) {
        status = drove__run_metrics(problem, workers, state, config->length.eval_examples == 0,
                                    &out->metrics, &out->test_metrics);
        DROVE_TRY(pass_over(cb, "metrics", status));
        if (config->problem.features[0] == '\0') {
            status = drove__run_importance(problem, workers, state, config->seed, &out->importance);
            DROVE_TRY(pass_over(cb, "importance of columns", status));
        }
    }

    DROVE_TRY(drove__facts_start(config, problem, workers, &f->start));
    DROVE_TRY(drove__facts_present(workers, state, &p, &f->now));
    DROVE_TRY(fill_histories(problem, workers, &f->now));
    f->metrics = out->metrics;
    f->test_metrics = out->test_metrics;
    f->importance = (drove_importance_facts){.n_columns = out->importance.n_columns,
                                             .n_rows = out->importance.n_rows,
                                             .rmse = out->importance.rmse,
                                             .accuracy = out->importance.accuracy,
                                             .is_held_out = problem->test != NULL,
                                             .column = out->importance.column};
    f->outcome = state->outcome;
    f->signal_number = state->signal_number;
    f->n_test_rows = problem->test != NULL ? problem->test->n_rows : 0;
    f->is_multi_label = problem->train->storage->y_kind == DROVE_Y_LABELS;
    f->weighs_classes = problem->train->class_weight != NULL;
    f->numbers_per_row = numbers_per_row(problem);
    f->peak_rss_bytes = peak_rss_bytes();
    f->prefetch_hardware = drove__prefetch_state_name(workers->prefetch_hardware);
    _Static_assert((int)DROVE_N_MARKS <= (int)DROVE_FACTS_MOST_MARKS, "room for all marks");
    f->n_marks = DROVE_N_MARKS;
    for (int i = 0; i < DROVE_N_MARKS; i++) {
        const drove_mark *m = &state->standing.mark[i];
        f->mark[i] = (drove_mark_facts){.percent = drove__mark_percent[i],
                                        .is_met = m->met,
                                        .train_s = m->train_s,
                                        .epochs = m->epochs,
                                        .updates = m->updates};
    }
    fill_communication(workers, state, &f->communication);
    fill_tuning(config, problem, state, &f->tuning);
    return fill_parts(problem, workers, f);
}

void drove__facts_final_fini(drove_final_facts *f)
{
    drove__facts_start_fini(&f->facts.start);
    drove__facts_present_fini(&f->facts.now);
    free(f->facts.replicas.layer);
    free(f->facts.span_part);
    drove_metrics_destroy(f->metrics);
    drove_metrics_destroy(f->test_metrics);
    drove__importance_fini(&f->importance);
    *f = (drove_final_facts){0};
}
