/* run/setup.c - from options to the objects of a run, in the order in which things are needed, and
 * back. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_COUNT */
#endif
#include "run/run.h"

#include "base/available.h"
#include "base/cpu.h"
#include "base/file.h"
#include "engine/fixed/engine.h"
#include "engine/linear/problem.h"
#include "loop/evaluation.h"
#include "loop/host.h"
#include "run/choose.h"
#include "run/disk.h"
#include "run/exchange.h"
#include "run/outname.h"
#include "run/folder.h"
#include "run/output.h"
#include "run/ranks.h"
#include "run/recording.h"
#include "run/registry.h"
#include "run/targets.h"
#include "run/virtual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the machine and the plan ---- */

static drove_status setup_machine(drove_run *run)
{
    drove_topo_facts facts;
    const drove_ranks *r = &run->ranks;
    const char *cap = run->opt.isa[0] != '\0' ? run->opt.isa : NULL;
    DROVE_TRY(drovek_select(&run->kernels, drove__cpu_features(), cap));
    DROVE_TRY(drove__virtual_machine(run, &run->topo));
    drove__topo_facts(run->topo, &facts);
    const unsigned n_granted = drove__processors_available();
    const unsigned n_recorded = drove__replay_ranks(run); /* of a job, repeated in one process */
    const bool is_real = run->modelled == NULL;
    run->machine = (drove_machine){
        .topo = run->topo,
        .n_pus = is_real && n_granted < facts.n_pus ? n_granted : facts.n_pus,
        .is_bound = (long)facts.n_pus<sysconf(_SC_NPROCESSORS_ONLN), .n_ranks = n_recorded> 1
                        ? n_recorded
                        : r->n,
        .rank = r->rank,
        .n_local = n_recorded > 1 ? n_recorded : r->n_local,
        .local_rank = r->local_rank};
    DROVE_TRY(drove__plan_make(&run->opt, &run->machine, &drove__plan_registry, &run->plan));
    return drove__replay_plan(run);
}

static drove_status place_workers(drove_run *run)
{
    free(run->place);
    run->place = calloc(run->plan.n_workers, sizeof *run->place);
    if (run->place == NULL)
        return drove__fail_nomem("worker places", run->plan.n_workers * sizeof *run->place);
    drove__plan_places(&run->plan, run->place);
    return DROVE_OK;
}

/* How a table was understood, in a few lines. */
static void say_table(const drove_run *run, const drove_storage *s)
{
    char text[400];
    const drove_schema *schema = s->schema;
    if (schema == NULL) return;
    /* The schema of a model that training goes on from counts no rows. */
    const uint64_t n_rows = schema->n_rows > 0 ? schema->n_rows : s->n_rows;
    drove__run_say(run,
                   "table: %zu column%s, %llu row%s, %zu feature%s (drove data info shows all)",
                   schema->n_columns, schema->n_columns == 1 ? "" : "s", (unsigned long long)n_rows,
                   n_rows == 1 ? "" : "s", schema->n_features, schema->n_features == 1 ? "" : "s");
    for (unsigned i = 0; drove__schema_summary(schema, i, text, sizeof text); i++)
        drove__run_say(run, "  %s", text);
}

/* What a reader of the data found out, and what a user may not expect of the machine. */
static void say_notes(const drove_run *run)
{
    say_table(run, (run->input != NULL ? run->input : run->train)->storage);
    const drove_plan *plan = &run->plan;
    bool is_procs = plan->host == DROVE_HOST_PROCS, is_listed = run->opt.workers[0] != '\0';
    if (run->train->storage->notes[0] != '\0')
        drove__run_say(run, "data: %s", run->train->storage->notes);
    if (run->test != NULL && run->test->storage != run->train->storage &&
        run->test->storage->notes[0] != '\0') {
        drove__run_say(run, "test data: %s", run->test->storage->notes);
    }
    bool is_chosen = run->strategy_probe.reason != DROVE_STRATEGY_GIVEN;
    bool is_asked = is_procs || (!is_listed && strcmp(run->opt.threads, "all") != 0);
    if (is_asked && !is_chosen && plan->host != DROVE_HOST_RANKS && plan->partition.n == 0 &&
        plan->n_workers < plan->n_asked)
        drove__run_say(run, "--strategy %s has one worker, whatever --%s says", plan->spec,
                       is_procs ? "workers" : "threads");
    drove__ranks_say(run);
    drove__virtual_say(run);
    unsigned n_busy = 0;
    for (unsigned i = 0; i < plan->n_workers; i++)
        if (plan->worker[i].device == NULL) n_busy += plan->worker[i].n_cores;
    if (plan->host != DROVE_HOST_RANKS && n_busy > run->machine.n_pus && run->repeating == NULL)
        drove__run_say(run,
                       "%u %s share %u processors: staleness and speed are those of time slices",
                       n_busy, is_procs && n_busy == plan->n_workers ? "processes" : "threads",
                       run->machine.n_pus);
}

/* ---- objects ---- */

drove_status drove__run_prepare_precision(drove_run *run, const float *theta)
{
    drove_loop *loop = run->loop;
    if ((loop->core_ops->can & DROVE_ENGINE_TYPED) == 0 || loop->shared != NULL) return DROVE_OK;
    if (loop->core_ops == &drove__engine_linear && drove__augment_is_on(&run->train->augment)) {
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: expected data without crop, pad and mirror",
                           run->opt.precision);
    }
    drove_prepare_options opt = {.model = run->model,
                                 .kernels = &run->kernels,
                                 .data = run->train,
                                 .n_rows = run->stream != NULL ? run->n_train_whole : 0,
                                 .theta = theta,
                                 .precision = run->opt.precision,
                                 .rounding = run->opt.rounding,
                                 .model_range = run->opt.model_range,
                                 .eta = run->opt.lr,
                                 .weight_decay = run->opt.weight_decay,
                                 .each = drove__update_rows(run),
                                 .seed = run->opt.seed,
                                 .by_rule = strcmp(run->opt.rule, "sgd") != 0,
                                 .reorder = drove__run_order(run) == DROVE_ORDER_BLOCKS,
                                 .hints = drove__prefetch_wants_hints(run->opt.prefetch)};
    return loop->core_ops->prepare(&opt, &loop->shared);
}

/* Prepared from a sample, trained on the windows of what is on disk. */
static drove_status follow_windows(drove_run *run)
{
    drove_loop *loop = run->loop;
    if (run->stream == NULL || loop->shared == NULL) return DROVE_OK;
    return loop->core_ops->follow(loop->shared, loop->train);
}

/* Where the parameters differ from the strategy's vector: as floats, or with statistics. */
static drove_status setup_theta(drove_run *run)
{
    const size_t n = run->model->n_params;
    if (run->loop->shared == NULL && run->model->n_statistics == 0) return DROVE_OK;
    run->theta = drove__alloc(n, sizeof *run->theta);
    run->loop->statistics = run->theta;
    return run->theta != NULL ? DROVE_OK
                              : drove__fail_nomem("the model's parameters", n * sizeof *run->theta);
}

/* A TYPED engine decays its words itself. */
static drove_status setup_optim(drove_run *run)
{
    const bool own = run->loop->shared != NULL;
    const size_t n_theta = run->model->n_params;
    drove_optim_options opt = {
        .rule = run->opt.rule,
        .schedule = run->opt.schedule,
        .lr = run->opt.lr,
        .weight_decay = own ? 0.0 : run->opt.weight_decay,
        .clip = run->opt.clip,
        .state =
            strcmp(run->opt.rule_state, "worker") == 0 ? DROVE_STATE_WORKER : DROVE_STATE_SHARED,
        .n_params = own ? run->loop->core_ops->n_words(run->loop->shared) : n_theta,
        .n_theta = n_theta,
        .n_workers = run->plan.n_workers,
        .kernels = &run->kernels,
    };
    DROVE_TRY(drove__optim_create(&opt, &run->optim));
    run->loop->optim = run->optim;
    return DROVE_OK;
}

/* What a strategy of low-precision parameters cannot do; the rest is its own to say. */
static drove_status check_words(const drove_run *run)
{
    const drove_optim *optim = run->optim;
    const bool any_rule = (run->loop->core_ops->can & DROVE_ENGINE_RULES) != 0;
    const bool is_known = any_rule ? !optim->by_staleness : optim->fusable;
    if (run->loop->sync->ops->live != NULL && is_known) return DROVE_OK;
    if (any_rule)
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: expected no --schedule by staleness, found %s",
                           run->opt.precision, run->opt.schedule);
    return drove__fail(DROVE_E_ARG,
                       "--precision %s: expected --rule sgd, no --clip and no --schedule by "
                       "staleness, found --rule %s --clip %g --schedule %s",
                       run->opt.precision, run->opt.rule, run->opt.clip, run->opt.schedule);
}

/* The transport of workers that exchange parameters. */
static drove_status setup_transport(drove_run *run)
{
    bool is_procs = run->plan.host == DROVE_HOST_PROCS;
    if (run->plan.host == DROVE_HOST_RANKS) {
        run->loop->halt_wished = &run->transport->halt_wished;
        run->loop->halt_seen = &run->transport->halt_seen;
        return DROVE_OK;
    }
    if ((run->plan.ops->needs & DROVE_SYNC_SPREAD) == 0) return DROVE_OK;
    size_t n_most = run->optim->n_vector; /* of TYPED engines as floats */
    if (n_most < run->model->n_params) n_most = run->model->n_params;
    DROVE_TRY(drove__transport_shared(run->plan.n_workers, is_procs, n_most, &run->kernels,
                                      run->topo, run->place, &run->transport));
    /* Of processes the host finds out sooner that one hangs, and which. */
    run->transport->timeout_s = run->opt.timeout * (is_procs ? 10.0 : 1.0);
    return DROVE_OK;
}

/* Slices of theta: one for each layer with parameters. */
static drove_status setup_slices(drove_run *run)
{
    drove_slices *all = &run->loop->slices;
    const drove_model *m = run->model;
    all->slice = calloc(m->n_layers, sizeof *all->slice);
    all->of_layer = calloc(m->n_layers, sizeof *all->of_layer);
    all->layer = calloc(m->n_layers, sizeof *all->layer);
    if (all->slice == NULL || all->of_layer == NULL || all->layer == NULL)
        return drove__fail_nomem("slices of a gradient", m->n_layers * sizeof *all->slice);
    for (size_t l = 0; l < m->n_layers; l++) {
        drove_span slice;
        drove__model_layer_part(m, l, &slice.offset, &slice.length);
        all->of_layer[l] = slice.length > 0 ? all->n : DROVE_NO_PART;
        if (slice.length == 0) continue;
        all->layer[all->n] = l;
        all->slice[all->n++] = slice;
    }
    return DROVE_OK;
}

/* --timeline; with --out, that of strategies whose gradients come in slices. */
static drove_status setup_spans(drove_run *run)
{
    const drove_plan *plan = &run->plan;
    bool is_kept = run->opt.out[0] != '\0' && plan->ops->layer_ready != NULL;
    if (run->opt.timeline[0] == '\0' && !is_kept) return DROVE_OK;
    if (plan->host == DROVE_HOST_PROCS)
        return run->opt.timeline[0] == '\0'
                   ? DROVE_OK
                   : drove__fail(DROVE_E_ARG,
                                 "--timeline %s: expected workers of one process, found --workers "
                                 "%s",
                                 run->opt.timeline, run->opt.workers);
    DROVE_TRY(drove__spans_create(plan->n_workers, &run->loop->spans));
    for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++)
        drove__spans_name(run->loop->spans, i, plan->worker[i].name);
    return DROVE_OK;
}

/* ---- low-precision parameters that workers exchange ---- */

static void unpack(void *context, const uint32_t *words, float *theta)
{
    const drove_loop *loop = context;
    loop->core_ops->unpack(loop->shared, words, theta);
}

static void pack(void *context, unsigned worker, uint64_t number, const float *theta,
                 uint32_t *words)
{
    const drove_loop *loop = context;
    drove_rng rng;
    bool is_exact = worker == DROVE_SYNC_SHARED;
    if (!is_exact)
        drove__rng_seed(&rng, loop->seed, DROVE_RNG_MERGE, number * DROVE_MOST_THREADS + worker);
    loop->core_ops->pack(loop->shared, is_exact ? NULL : &rng, theta, words);
}

static drove_status create_strategy(drove_run *run, const drove_spec *spec, const float *theta,
                                    const bool *is_device, const bool *is_resident)
{
    drove_loop *loop = run->loop;
    drove_sync_options opt = {
        .spec = spec,
        .backoff = run->opt.backoff,
        .n_workers = run->plan.n_workers,
        .optim = run->optim,
        .topo = run->topo,
        .place = run->place,
        .seed = run->opt.seed,
        .is_deep = is_device,
        .part = loop->slices.slice,
        .n_parts = loop->slices.n,
        .is_resident = is_resident,
        .spans = loop->spans,
        .transport = run->transport,
    };
    drove__exchange_options(&run->opt, &opt);
    drove_params start = {.theta = (float *)(uintptr_t)theta};
    if (loop->shared == NULL) return drove__sync_create(run->plan.ops, &opt, &start, &loop->sync);
    start = (drove_params){.words = drove__alloc(run->optim->n, sizeof *start.words)};
    if (start.words == NULL) return drove__fail_nomem("the model's parameters", run->optim->n * 4);
    const drove_sync_convert convert = {
        .n_floats = run->model->n_params, .unpack = unpack, .pack = pack, .context = loop};
    loop->core_ops->pack(loop->shared, NULL, theta, start.words);
    opt.convert = &convert;
    opt.layout = loop->core_ops->layout(loop->shared);
    drove_status status = drove__sync_create(run->plan.ops, &opt, &start, &loop->sync);
    drove__free(start.words);
    return status == DROVE_OK ? check_words(run) : status;
}

/* What the strategy may know of its workers: which compute on devices, and which of these keep
 * parameters of their own. */
static drove_status describe_and_create(drove_run *run, const drove_spec *spec, const float *theta)
{
    const unsigned n = run->plan.n_workers;
    bool *is_device = calloc(n, sizeof *is_device), *is_resident = calloc(n, sizeof *is_resident);
    drove_status status = DROVE_OK;
    if (is_device == NULL || is_resident == NULL) status = drove__fail_nomem("workers", 2 * n);
    for (unsigned i = 0; i < n && status == DROVE_OK; i++) {
        const drove_worker *w = &run->loop->worker[i];
        is_device[i] = w->device != NULL;
        is_resident[i] = is_device[i] && run->plan.ops->next_sum != NULL &&
                         (w->engine_ops->can & DROVE_ENGINE_RESIDENT) != 0;
    }
    if (status == DROVE_OK) status = create_strategy(run, spec, theta, is_device, is_resident);
    free(is_device);
    free(is_resident);
    return status;
}

/* A strategy whose steps all go in place needs engines that can. */
static drove_status check_live(const drove_run *run)
{
    const drove_loop *loop = run->loop;
    if ((loop->sync->needs & DROVE_SYNC_LIVE) == 0 || loop->shared != NULL) return DROVE_OK;
    if (!run->optim->fusable)
        return drove__fail(
            DROVE_E_ARG,
            "--strategy %s: expected the rule sgd without decay, clipping and staleness, found %s",
            run->plan.spec, run->opt.rule);
    for (unsigned i = run->plan.first_here; i < run->plan.first_here + run->plan.n_here; i++) {
        const drove_worker *w = &loop->worker[i];
        if ((w->engine_ops->can & DROVE_ENGINE_FUSED) != 0 && w->plan->n_cores == 1) continue;
        return drove__fail(DROVE_E_ARG,
                           "--strategy %s: it writes the shared parameters while it computes: "
                           "expected workers of one core each, found %s",
                           run->plan.spec, w->plan->name);
    }
    return DROVE_OK;
}

static drove_status setup_strategy(drove_run *run, const float *theta)
{
    drove_loop *loop = run->loop;
    drove_spec spec;
    bool exchanges = (run->plan.ops->needs & DROVE_SYNC_SPREAD) != 0;
    DROVE_TRY(drove__spec_parse(run->plan.spec, &spec));
    bool is_own = strcmp(spec.name, run->plan.ops->name) == 0; /* no other row's in its place */
    drove_status status = describe_and_create(run, is_own ? &spec : NULL, theta);
    drove__spec_fini(&spec);
    if (status != DROVE_OK) return drove__fail_in(status, "--strategy %s", run->plan.spec);
    DROVE_TRY(drove__virtual_check(run));
    DROVE_TRY(drove__run_record_strategy(run));
    loop->acquire_phase = exchanges ? DROVE_PHASE_EXCHANGE : DROVE_PHASE_ACQUIRE;
    loop->publish_phase = exchanges ? DROVE_PHASE_EXCHANGE : DROVE_PHASE_PUBLISH;
    loop->spans_wanted = run->optim->spans_ok && !(loop->sync->needs & DROVE_SYNC_DENSE);
    return check_live(run);
}

/* What is allocated in between is there for all processes of the run. */
static void share_begin(const drove_run *run)
{
    if (run->plan.host == DROVE_HOST_PROCS) drove__memory_share_begin();
}

static void share_end(const drove_run *run)
{
    if (run->plan.host == DROVE_HOST_PROCS) drove__memory_share_end();
}

/* Words of a network, or simulated ones, are another engine's than those of a linear model. */
static void choose_engine(drove_run *run)
{
    if (!drove__resolve_is_low(&run->opt)) return;
    if (drove__model_is_linear(run->model) && !drove__fixed_is_own(run->opt.precision)) return;
    run->loop->core_ops = &drove__engine_fixed;
}

/* What a rank can do, and fail in, by itself.  theta: [n_params], the caller frees it. */
static drove_status setup_alone(drove_run *run, float **theta)
{
    const drove_standing unknown = {.loss_initial = NAN,
                                    .loss = NAN,
                                    .accuracy = NAN,
                                    .test_loss = NAN,
                                    .test_accuracy = NAN,
                                    .best_loss = INFINITY,
                                    .patience_loss = INFINITY,
                                    .validation_loss = NAN,
                                    .validation_accuracy = NAN,
                                    .stall_loss = INFINITY,
                                    .back_loss = INFINITY,
                                    .back_epochs = NAN,
                                    .back_off = 1.0};
    run->standing = unknown;
    DROVE_TRY(drove__options_validate_for(&run->opt, run->ranks.n));
    DROVE_TRY(drove__outname_choose(run));
    if (run->opt.resume[0] != '\0' && run->ranks.rank == 0) DROVE_TRY(drove__folder_claim(run));
    run->loop->core_ops =
        drove__resolve_is_low(&run->opt) ? &drove__engine_linear : &drove__engine_host;
    drove__choose_begin(run);
    DROVE_TRY(drove__save_every_parse(run->opt.save_every, &run->save.every));
    DROVE_TRY(setup_machine(run));
    DROVE_TRY(place_workers(run));
    DROVE_TRY(drove__problem_open(run));
    DROVE_TRY(drove__run_features(run));
    drove__choose_model(run);
    DROVE_TRY(drove__choose_lengths(run));
    DROVE_TRY(drove__problem_check_target(run));
    DROVE_TRY(drove__problem_model(run, theta));
    choose_engine(run);
    DROVE_TRY(drove__choose_method(run));
    DROVE_TRY(drove__targets_standardise(run, *theta));
    return drove__ranks_check_model(run);
}

/* --partition, now that data and model are known. */
static drove_status setup_partition(drove_run *run)
{
    drove_data_facts facts;
    const drove_partition *p = &run->plan.partition;
    if (run->opt.partition[0] == '\0') return DROVE_OK;
    if (run->loop->core_ops != &drove__engine_host)
        return drove__fail(DROVE_E_ARG, "--partition %s: expected no low --precision, found %s",
                           run->opt.partition, run->opt.precision);
    drove_data_describe(run->train, &facts);
    double copy_bytes = (double)facts.memory_bytes + (double)run->model->n_params * sizeof(float);
    DROVE_TRY(drove__plan_partition(&run->plan, &run->opt, &run->machine, copy_bytes));
    drove__choose_stretch(run); /* it follows from the number of workers */
    DROVE_TRY(place_workers(run));
    drove__run_say(run,
                   "partition: %u group%s of %u core%s: copies of %.1f MB each, %.1f MB in all, %s "
                   "in %.1f MB of fast memory (%s); suggested: %u",
                   p->n, p->n == 1 ? "" : "s", p->group[0].n_cores,
                   p->group[0].n_cores == 1 ? "" : "s", p->copy_bytes / 1e6,
                   p->n * p->copy_bytes / 1e6, drove__partition_fits(p) ? "which fit" : "too much",
                   p->fast_bytes / 1e6, p->fast_name, p->suggested);
    return drove__run_check_memory(run);
}

/* --strategy auto, which may mean fewer workers than were placed for the data. */
static drove_status choose_strategy(drove_run *run, const float *theta)
{
    DROVE_TRY(drove__strategy_probe_run(run, theta));
    return run->strategy_probe.reason == DROVE_STRATEGY_GIVEN ? DROVE_OK : place_workers(run);
}

/* What workers share of the run. */
static void fill_loop(drove_run *run)
{
    drove_loop *loop = run->loop;
    loop->plan = &run->plan;
    loop->topo = run->topo;
    loop->kernels = &run->kernels;
    loop->model = run->model;
    loop->train = loop->sample = run->train;
    loop->batch = run->opt.batch;
    loop->update_rows = drove__update_rows(run);
    loop->score_rows = drove__score_rows(run->model, loop->update_rows);
    loop->seed = run->opt.seed;
}

/* The objects of the run.  Those of a strategy may exchange already. */
static drove_status setup_objects(drove_run *run, const float *theta)
{
    DROVE_TRY(setup_partition(run));
    DROVE_TRY(drove__virtual_open(run));
    fill_loop(run);
    DROVE_TRY(drove__disk_begin(run));
    DROVE_TRY(drove__run_make_workers(run));
    DROVE_TRY(setup_slices(run));
    DROVE_TRY(setup_spans(run));
    DROVE_TRY(drove__run_prepare_precision(run, theta));
    DROVE_TRY(follow_windows(run));
    DROVE_TRY(setup_theta(run));
    DROVE_TRY(setup_optim(run));
    DROVE_TRY(setup_transport(run));
    DROVE_TRY(setup_strategy(run, theta));
    return drove__run_prepare_workers(run);
}

static drove_status setup_rest(drove_run *run)
{
    DROVE_TRY(drove__state_load(run));
    say_notes(run);
    drove__choose_say(run);
    return drove__output_open(run);
}

drove_status drove__run_setup(drove_run *run)
{
    float *theta = NULL;
    uint64_t begun_ns = drove__now_ns(); /* real, whatever the clock of the training */
    drove_status status = drove__ranks_agree(run, setup_alone(run, &theta));
    if (status == DROVE_OK) status = drove__ranks_compare(run, theta);
    if (status == DROVE_OK) status = drove__choose_lr(run, theta);
    if (status == DROVE_OK) status = choose_strategy(run, theta);
    if (status == DROVE_OK) {
        share_begin(run);
        status = setup_objects(run, theta);
        share_end(run);
        status = drove__ranks_agree(run, status);
    }
    drove__free(theta);
    DROVE_TRY(status);
    DROVE_TRY(drove__ranks_agree(run, drove__run_start_workers(run)));
    DROVE_TRY(drove__virtual_costs(run));
    DROVE_TRY(drove__ranks_agree(run, setup_rest(run)));
    run->ranks.is_together = true;
    run->beginning.start_ns = drove__now_ns() - begun_ns - run->beginning.data_ns;
    drove__run_prefetch_begin(run);
    return DROVE_OK;
}

static void free_loop(drove_run *run)
{
    drove_loop *loop = run->loop;
    drove__host_destroy(loop->host);
    drove__run_free_workers(run);
    drove__loader_destroy(loop->loader);
    drove__free(loop->scoring.chunk);
    if (loop->source != NULL) loop->source->ops->fini(loop->source);
    drove__free(loop->source);
    drove__sync_destroy(loop->sync);
    drove__spans_destroy(loop->spans);
    free(loop->slices.slice);
    free(loop->slices.of_layer);
    free(loop->slices.layer);
    if (loop->shared != NULL && !run->borrows_shared) loop->core_ops->dismiss(loop->shared);
}

void drove__run_teardown(drove_run *run, drove_status status)
{
    drove_host *host = run->loop->host;
    if (host != NULL && !host->ops->stop(host)) run->is_abandoned = true;
    drove__output_close(run);
    if (run->is_abandoned) return;
    drove__recording_close(run->loop->recording);
    free_loop(run);
    drove__replay_close(run);
    drove__virtual_destroy(run->loop->on);
    drove__free(run->loop);
    drove__ranks_leave(run, status);
    drove__free(run->best);
    drove__free(run->back);
    drove__optim_destroy(run->optim);
    drove__free(run->theta);
    drove__model_destroy(run->model);
    drove_data_destroy(run->train);
    drove_data_destroy(run->test);
    drove__free(run->target_mean);
    drove__free(run->target_shift);
    drove__free(run->target_scale);
    drove_data_destroy(run->validation);
    drove_data_destroy(run->kept);
    drove__stream_destroy(run->stream);
    drove_data_destroy(run->input);
    free(run->place);
    drove__virtual_close(run);
    free(run->logged_busy_ns);
    drove__plan_fini(&run->plan);
    drove__topo_destroy(run->topo);
}
