/* run/setup.c - from options to the objects of a run, in the order in which things are needed, and
 * back. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_COUNT */
#endif
#include "run/setup.h"

#include "use/infer.h"
#include "base/available.h"
#include "base/cpu.h"
#include "base/file.h"
#include "engine/fixed/engine.h"
#include "engine/linear/problem.h"
#include "loop/evaluation.h"
#include "loop/host.h"
#include "config/exchange.h"
#include "config/registry.h"
#include "auto/choose.h"
#include "problem/disk.h"
#include "files/facts.h"
#include "files/folder.h"
#include "files/outname.h"
#include "files/output.h"
#include "run/prefetch.h"
#include "problem/problem.h"
#include "values/progress.h"
#include "values/ranks.h"
#include "files/recording.h"
#include "values/say.h"
#include "problem/size.h"
#include "files/state.h"
#include "problem/targets.h"
#include "problem/tuned.h"
#include "run/virtual.h"
#include "run/workers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the machine and the plan ---- */

drove_status drove__setup_places(drove_workers *workers)
{
    free(workers->place);
    workers->place = calloc(workers->plan.n_workers, sizeof *workers->place);
    if (workers->place == NULL)
        return drove__fail_nomem("worker places", workers->plan.n_workers * sizeof *workers->place);
    drove__plan_places(&workers->plan, workers->place);
    return DROVE_OK;
}

/* Notes of the data's reader, and surprises of the machine. */
static void say_notes(const drove_config *config, const drove_problem *problem,
                      const drove_workers *workers, const drove_callbacks *cb)
{
    const drove_storage *s = (problem->input != NULL ? problem->input : problem->train)->storage;
    /* How a table was understood, in a few lines. */
    char text[400];
    const drove_schema *schema = s->schema;
    if (schema != NULL) {
        /* The schema of a model that training goes on from counts no rows. */
        const uint64_t n_rows = schema->n_rows > 0 ? schema->n_rows : problem->n_read;
        drove__run_say(cb,
                       "table: %zu column%s, %llu row%s, %zu feature%s (drove data info shows all)",
                       schema->n_columns, schema->n_columns == 1 ? "" : "s",
                       (unsigned long long)n_rows, n_rows == 1 ? "" : "s", schema->n_features,
                       schema->n_features == 1 ? "" : "s");
        for (unsigned i = 0; drove__schema_summary(schema, i, text, sizeof text); i++)
            drove__run_say(cb, "  %s", text);
    }
    const drove_plan *plan = &workers->plan;
    bool is_procs = plan->host == DROVE_HOST_PROCS, is_listed = config->machine.workers != NULL;
    if (problem->train->storage->notes[0] != '\0')
        drove__run_say(cb, "data: %s", problem->train->storage->notes);
    if (problem->test != NULL && problem->test->storage != problem->train->storage &&
        problem->test->storage->notes[0] != '\0') {
        drove__run_say(cb, "test data: %s", problem->test->storage->notes);
    }
    bool is_chosen = config->chosen.probe.reason != DROVE_STRATEGY_GIVEN;
    bool is_asked = is_procs || (!is_listed && config->machine.n_threads != 0);
    if (config->chosen.pack.n > 0) is_asked = false; /* it has used all */
    if (is_asked && !is_chosen && plan->host != DROVE_HOST_RANKS && plan->partition.n == 0 &&
        plan->n_workers < plan->n_asked)
        drove__run_say(cb, "--strategy %s has one worker, whatever --%s says", plan->spec,
                       is_procs ? "workers" : "threads");
    drove__ranks_say(workers, cb);
    /* threads:N says the same as --threads N, but sounds like N workers. */
    const drove_origin of_workers = drove__config_origin(config, "workers");
    const unsigned n_cores = plan->worker[plan->first_here].n_cores;
    const bool is_named = of_workers == DROVE_FROM_CALLER || of_workers == DROVE_FROM_FILE;
    if (plan->host == DROVE_HOST_RANKS && !is_listed && is_named && plan->partition.n == 0 &&
        n_cores > 1)
        drove__run_say(cb,
                       "--workers threads:%u: a rank is one worker, as with --threads %u: its %u "
                       "threads compute each batch together",
                       n_cores, n_cores, n_cores);
    drove__virtual_say(workers, cb);
    unsigned n_busy = 0;
    for (unsigned i = 0; i < plan->n_workers; i++)
        if (plan->worker[i].device == NULL) n_busy += plan->worker[i].n_cores;
    if (plan->host != DROVE_HOST_RANKS && n_busy > workers->machine.n_pus &&
        workers->repeating == NULL)
        drove__run_say(cb,
                       "%u %s share %u processors: staleness and speed are those of time slices",
                       n_busy, is_procs && n_busy == plan->n_workers ? "processes" : "threads",
                       workers->machine.n_pus);
}

/* ---- objects ---- */

drove_status drove__run_prepare_precision(const drove_config *config, const drove_problem *problem,
                                          const drove_workers *workers)
{
    drove_loop *loop = workers->loop;
    if ((loop->core_ops->can & DROVE_ENGINE_TYPED) == 0 || loop->shared != NULL) return DROVE_OK;
    if (loop->core_ops == &drove__engine_linear && drove__augment_is_on(&problem->train->augment)) {
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: expected data without augmentation (crop, mirror ...)",
                           config->low.precision);
    }
    if (loop->core_ops == &drove__engine_linear && problem->model->label_smoothing > 0.0f) {
        return drove__fail(DROVE_E_ARG, "--precision %s: expected --label-smoothing 0, found %g",
                           config->low.precision, (double)problem->model->label_smoothing);
    }
    drove_prepare_options opt = {.model = problem->model,
                                 .kernels = &workers->kernels,
                                 .data = problem->train,
                                 .n_rows = problem->stream != NULL ? problem->n_train_whole : 0,
                                 .theta = problem->first,
                                 .precision = config->low.precision,
                                 .rounding = config->low.rounding,
                                 .model_range = config->low.model_range,
                                 .eta = config->method.lr,
                                 .weight_decay = config->method.weight_decay,
                                 .each = drove__update_rows(config, problem),
                                 .seed = config->seed,
                                 .by_rule = strcmp(config->method.rule, "sgd") != 0,
                                 .reorder = drove__run_order(config, workers) == DROVE_ORDER_BLOCKS,
                                 .hints = config->machine.hints};
    return loop->core_ops->typed->prepare(&opt, &loop->shared);
}

/* The transport of workers that exchange parameters. */
static drove_status setup_transport(const drove_config *config, const drove_problem *problem,
                                    drove_workers *workers)
{
    bool is_procs = workers->plan.host == DROVE_HOST_PROCS;
    if (workers->plan.host == DROVE_HOST_RANKS) {
        workers->loop->ending.halt_wished = &workers->transport->halt_wished;
        workers->loop->ending.halt_seen = &workers->transport->halt_seen;
        return DROVE_OK;
    }
    if ((workers->plan.ops->needs & DROVE_SYNC_SPREAD) == 0) return DROVE_OK;
    size_t n_most = workers->optim->n_vector; /* of TYPED engines as floats */
    if (n_most < problem->model->n_params) n_most = problem->model->n_params;
    DROVE_TRY(drove__transport_shared(workers->plan.n_workers, is_procs, n_most, &workers->kernels,
                                      workers->topo, workers->place, &workers->transport));
    /* The host of processes finds out sooner that one hangs, and which. */
    workers->transport->timeout_s = config->exchange.timeout * (is_procs ? 10.0 : 1.0);
    return DROVE_OK;
}

/* --timeline; with --out, that of strategies whose gradients come in slices. */
static drove_status setup_spans(const drove_config *config, const drove_workers *workers)
{
    const drove_plan *plan = &workers->plan;
    bool is_kept = config->files.out != NULL && plan->ops->slices != NULL;
    if (config->files.timeline == NULL && !is_kept) return DROVE_OK;
    if (plan->host == DROVE_HOST_PROCS)
        return config->files.timeline == NULL
                   ? DROVE_OK
                   : drove__fail(DROVE_E_ARG,
                                 "--timeline %s: expected workers of one process, found --workers "
                                 "%s",
                                 config->files.timeline, config->machine.workers);
    DROVE_TRY(drove__spans_create(plan->n_workers, &workers->loop->trace.spans));
    for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++)
        drove__spans_name(workers->loop->trace.spans, i, plan->worker[i].name);
    return DROVE_OK;
}

/* ---- low-precision parameters that workers exchange ---- */

static void unpack(void *context, const uint32_t *words, float *theta)
{
    const drove_loop *loop = context;
    loop->core_ops->typed->unpack(loop->shared, words, theta);
}

static void pack(void *context, unsigned worker, uint64_t number, const float *theta,
                 uint32_t *words)
{
    const drove_loop *loop = context;
    drove_rng rng;
    bool is_exact = worker == DROVE_SYNC_SHARED;
    if (!is_exact)
        drove__rng_seed(&rng, loop->seed, DROVE_RNG_MERGE, number * DROVE_MOST_THREADS + worker);
    loop->core_ops->typed->pack(loop->shared, is_exact ? NULL : &rng, theta, words);
}

static drove_status create_strategy(const drove_config *config, const drove_problem *problem,
                                    const drove_workers *workers, const drove_spec *spec,
                                    const bool *is_device, const bool *is_resident)
{
    drove_loop *loop = workers->loop;
    drove_sync_options opt = {
        .spec = spec,
        .backoff = config->method.backoff,
        .n_workers = workers->plan.n_workers,
        .optim = workers->optim,
        .topo = workers->topo,
        .place = workers->place,
        .seed = config->seed,
        .is_deep = is_device,
        .part = loop->slices.slice,
        .n_parts = loop->slices.n,
        .is_resident = is_resident,
        .spans = loop->trace.spans,
        .transport = workers->transport,
        .is_read_beside = config->length.is_beside,
    };
    drove__exchange_options(config, &opt);
    drove_params start = {.theta = problem->first};
    if (loop->shared == NULL)
        return drove__sync_create(workers->plan.ops, &opt, &start, &loop->sync);
    start = (drove_params){.words = drove__alloc(workers->optim->n, sizeof *start.words)};
    if (start.words == NULL)
        return drove__fail_nomem("the model's parameters", workers->optim->n * 4);
    const drove_sync_convert convert = {
        .n_floats = problem->model->n_params, .unpack = unpack, .pack = pack, .context = loop};
    loop->core_ops->typed->pack(loop->shared, NULL, problem->first, start.words);
    opt.convert = &convert;
    opt.layout = loop->core_ops->typed->layout(loop->shared);
    drove_status status = drove__sync_create(workers->plan.ops, &opt, &start, &loop->sync);
    drove__free(start.words);
    DROVE_TRY(status);
    /* The limits of a strategy of low-precision parameters; the rest is its own to say. */
    const drove_optim *optim = workers->optim;
    const bool any_rule = (workers->loop->core_ops->can & DROVE_ENGINE_RULES) != 0;
    const bool is_known = any_rule ? !optim->by_staleness : optim->fusable;
    if (workers->loop->sync->live != NULL && is_known) return DROVE_OK;
    if (any_rule)
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: expected no --schedule by staleness, found %s",
                           config->low.precision, config->method.schedule);
    return drove__fail(DROVE_E_ARG,
                       "--precision %s: expected --rule sgd, no --clip and no --schedule by "
                       "staleness, found --rule %s --clip %g --schedule %s",
                       config->low.precision, config->method.rule, config->method.clip,
                       config->method.schedule);
}

static drove_status setup_strategy(const drove_config *config, const drove_problem *problem,
                                   drove_workers *workers)
{
    drove_loop *loop = workers->loop;
    drove_spec spec;
    bool exchanges = (workers->plan.ops->needs & DROVE_SYNC_SPREAD) != 0;
    DROVE_TRY(drove__spec_parse(workers->plan.spec, &spec));
    bool is_own = strcmp(spec.name, workers->plan.ops->name) == 0; /* no other row's in its place */
    /* The strategy may know of its workers which compute on devices, and which of these keep
     * parameters of their own. */
    const unsigned n = workers->plan.n_workers;
    bool *is_device = calloc(n, sizeof *is_device), *is_resident = calloc(n, sizeof *is_resident);
    drove_status status = DROVE_OK;
    if (is_device == NULL || is_resident == NULL) status = drove__fail_nomem("workers", 2 * n);
    for (unsigned i = 0; i < n && status == DROVE_OK; i++) {
        const drove_worker *w = &loop->worker[i];
        is_device[i] = w->device != NULL;
        is_resident[i] = is_device[i] && workers->plan.ops->slices != NULL &&
                         (w->engine_ops->can & DROVE_ENGINE_RESIDENT) != 0;
    }
    if (status == DROVE_OK)
        status = create_strategy(config, problem, workers, is_own ? &spec : NULL, is_device,
                                 is_resident);
    free(is_device);
    free(is_resident);
    drove__spec_fini(&spec);
    if (status != DROVE_OK) return drove__fail_in(status, "--strategy %s", workers->plan.spec);
    DROVE_TRY(drove__virtual_check(problem, workers));
    DROVE_TRY(drove__run_record_strategy(config, problem, workers));
    if (config->length.is_beside) {
        const size_t n_vector = loop->sync->n_vector;
        loop->scoring.beside.copy = drove__alloc(n_vector, sizeof(float));
        if (loop->scoring.beside.copy == NULL)
            return drove__fail_nomem("a copy of the parameters", n_vector * sizeof(float));
    }
    loop->trace.acquire_phase = exchanges ? DROVE_PHASE_EXCHANGE : DROVE_PHASE_ACQUIRE;
    loop->trace.publish_phase = exchanges ? DROVE_PHASE_EXCHANGE : DROVE_PHASE_PUBLISH;
    loop->spans_wanted = workers->optim->spans_ok && !(loop->sync->needs & DROVE_SYNC_DENSE);
    /* A strategy whose steps all go in place needs engines that can. */
    if ((loop->sync->needs & DROVE_SYNC_LIVE) == 0 || loop->shared != NULL) return DROVE_OK;
    if (!workers->optim->fusable)
        return drove__fail(
            DROVE_E_ARG,
            "--strategy %s: expected the rule sgd without decay, clipping and staleness, found %s",
            workers->plan.spec, config->method.rule);
    for (unsigned i = workers->plan.first_here; i < workers->plan.first_here + workers->plan.n_here;
         i++) {
        const drove_worker *w = &loop->worker[i];
        if ((w->engine_ops->can & DROVE_ENGINE_FUSED) != 0 && w->plan->n_cores == 1) continue;
        return drove__fail(DROVE_E_ARG,
                           "--strategy %s: it writes the shared parameters while it computes: "
                           "expected workers of one core each, found %s",
                           workers->plan.spec, w->plan->name);
    }
    return DROVE_OK;
}

/* ---- the first half ---- */

/* The machine, the plan and its places. */
static drove_status place_workers(const drove_config *config, drove_workers *workers)
{
    drove_topo_facts facts;
    const drove_ranks *r = &workers->ranks;
    DROVE_TRY(drovek_select(&workers->kernels, drove__cpu_features(), config->machine.isa));
    DROVE_TRY(drove__virtual_machine(config, workers, &workers->topo));
    drove__topo_facts(workers->topo, &facts);
    const unsigned n_granted = drove__processors_available();
    const unsigned n_recorded =
        drove__replay_ranks(workers); /* of a job, repeated in one process */
    const bool is_real = workers->modelled == NULL;
    const bool is_bound = (long)facts.n_pus < sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned n_ranks = n_recorded > 1 ? n_recorded : r->n;
    workers->machine =
        (drove_machine){.topo = workers->topo,
                        .n_pus = is_real && n_granted < facts.n_pus ? n_granted : facts.n_pus,
                        .is_bound = is_bound,
                        .n_ranks = n_ranks,
                        .rank = r->rank,
                        .n_local = n_recorded > 1 ? n_recorded : r->n_local,
                        .local_rank = r->local_rank};
    const drove_plan_wanted wanted = drove__config_plan(config);
    DROVE_TRY(drove__plan_make(&wanted, &workers->machine, &drove__plan_registry, &workers->plan));
    DROVE_TRY(drove__replay_plan(workers));
    return drove__setup_places(workers);
}

drove_status drove__setup_problem(drove_run *run)
{
    drove_config *config = &run->config;
    drove_problem *problem = &run->problem;
    drove_workers *workers = &run->workers;
    drove_state *state = &run->state;
    const drove_callbacks *cb = &run->output.cb;
    drove_choice choice = {0};
    state->beginning.begun_ns = drove__now_ns(); /* real, whatever the clock of the training */
    state->standing = (drove_standing){.loss_initial = NAN,
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
                                       .back_off = 1.0,
                                       .recovers = config->is_tuned};
    DROVE_TRY(drove__outname_choose(config, &choice));
    DROVE_TRY(drove__config_choose(config, &choice));
    if (config->files.resume != NULL && workers->ranks.rank == 0)
        DROVE_TRY(drove__folder_claim("resume", config->files.out, &run->output));
    workers->loop->core_ops = config->low.is_low ? &drove__engine_linear : &drove__engine_host;
    DROVE_TRY(place_workers(config, workers));
    /* Data, and what they leave open. */
    const uint64_t begun_ns = drove__now_ns();
    DROVE_TRY(drove__problem_open(config, problem, workers, cb));
    state->beginning.data_ns = drove__now_ns() - begun_ns;
    DROVE_TRY(drove__run_features(config, problem, workers, cb));
    drove__choose_model(config, problem, &choice);
    if (choice.n > 0)
        drove__run_say(cb, "model: %s (%s; --model names another)", choice.setting[0].value,
                       drove__choose_is_wide(problem->train->storage) ? "wide sparse data"
                                                                      : "few rows");
    DROVE_TRY(drove__config_choose(config, &choice));
    DROVE_TRY(drove__choose_until(config, problem, workers, &choice));
    DROVE_TRY(drove__config_choose(config, &choice));
    DROVE_TRY(drove__problem_hold_out(config, problem, workers));
    drove__choose_evaluations(config, problem, &choice);
    DROVE_TRY(drove__config_choose(config, &choice));
    DROVE_TRY(drove__problem_check_target(config, problem));
    /* The model and its method. */
    DROVE_TRY(drove__problem_model(config, problem, workers, cb));
    /* Words of a network, or simulated ones, are another engine's than those of a linear model. */
    if (config->low.is_low &&
        (!drove__model_is_linear(problem->model) || drove__fixed_is_own(config->low.precision)))
        workers->loop->core_ops = &drove__engine_fixed;
    DROVE_TRY(drove__choose_method(config, problem, workers, &choice));
    DROVE_TRY(drove__config_choose(config, &choice));
    DROVE_TRY(drove__targets_standardise(config, problem, workers));
    return drove__ranks_check_model(config, problem, workers);
}

/* ---- the second half ---- */

/* --partition, now that data and model are known. */
static drove_status setup_partition(const drove_config *config, const drove_problem *problem,
                                    drove_workers *workers, const drove_callbacks *cb)
{
    drove_data_facts facts;
    char asked[DROVE_TEXT_SIZE];
    const drove_partition *p = &workers->plan.partition;
    if (config->machine.partition == 0) return DROVE_OK;
    if (workers->loop->core_ops != &drove__engine_host)
        return drove__fail(DROVE_E_ARG, "--partition %s: expected no low --precision, found %s",
                           drove__config_text(config, "partition", asked), config->low.precision);
    drove_data_describe(problem->train, &facts);
    double copy_bytes =
        (double)facts.memory_bytes + (double)problem->model->n_params * sizeof(float);
    DROVE_TRY(drove__plan_partition(&workers->plan, config->machine.partition, &workers->machine,
                                    copy_bytes));
    DROVE_TRY(drove__setup_places(workers));
    drove__run_say(cb,
                   "partition: %u group%s of %u core%s: copies of %.1f MB each, %.1f MB in all, %s "
                   "in %.1f MB of fast memory (%s); suggested: %u",
                   p->n, p->n == 1 ? "" : "s", p->group[0].n_cores,
                   p->group[0].n_cores == 1 ? "" : "s", p->copy_bytes / 1e6,
                   p->n * p->copy_bytes / 1e6, drove__partition_fits(p) ? "which fit" : "too much",
                   p->fast_bytes / 1e6, p->fast_name, p->suggested);
    return drove__run_check_memory(config, problem, workers);
}

/* Those of a strategy may exchange already. */
static drove_status make_objects(const drove_config *config, const drove_problem *problem,
                                 drove_workers *workers, const drove_callbacks *cb)
{
    drove_loop *loop = workers->loop;
    const drove_model *m = problem->model;
    DROVE_TRY(drove__virtual_open(config, problem, workers));
    /* The workers' part of the run. */
    loop->plan = &workers->plan;
    loop->topo = workers->topo;
    loop->kernels = &workers->kernels;
    loop->model = m;
    loop->data.train = loop->data.sample = problem->train;
    loop->sizes.batch = config->method.batch;
    loop->sizes.update_rows = drove__update_rows(config, problem);
    loop->sizes.score_rows = drove__score_rows(m, loop->sizes.update_rows);
    loop->seed = config->seed;
    DROVE_TRY(drove__disk_begin(config, problem, workers, cb));
    DROVE_TRY(drove__run_make_workers(workers));
    /* Slices of theta: one for each layer with parameters. */
    drove_slices *all = &loop->slices;
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
    DROVE_TRY(setup_spans(config, workers));
    DROVE_TRY(drove__run_prepare_precision(config, problem, workers));
    /* Prepared from a sample, trained on the windows of data on disk. */
    if (problem->stream != NULL && loop->shared != NULL)
        DROVE_TRY(loop->core_ops->typed->follow(loop->shared, loop->data.train));
    /* A TYPED engine decays its words itself. */
    const bool own = loop->shared != NULL;
    drove_optim_options opt = {
        .rule = config->method.rule,
        .schedule = config->method.schedule,
        .lr = config->method.lr,
        .weight_decay = own ? 0.0 : config->method.weight_decay,
        .clip = config->method.clip,
        .state = config->method.rule_state == DROVE_RULE_STATE_WORKER ? DROVE_STATE_WORKER
                                                                      : DROVE_STATE_SHARED,
        .n_params = own ? loop->core_ops->typed->n_words(loop->shared) : m->n_params,
        .n_theta = m->n_params,
        .n_workers = workers->plan.n_workers,
        .kernels = &workers->kernels,
    };
    drove_weight_matrix *matrix = calloc(m->n_layers, sizeof *matrix);
    if (matrix == NULL) return drove__fail_nomem("matrices", m->n_layers * sizeof *matrix);
    opt.matrix = matrix;
    opt.n_matrices = drove__model_matrices(m, matrix);
    drove_status status = drove__optim_create(&opt, &workers->optim);
    free(matrix);
    DROVE_TRY(status);
    if (workers->optim->rule.ops->by_matrix && workers->optim->n_matrices == 0)
        return drove__fail(
            DROVE_E_ARG,
            "--rule %s: expected a model with a trained dense layer or convolution between "
            "its first and its last, found %s",
            workers->optim->rule.ops->name, m->spec);
    loop->optim = workers->optim;
    DROVE_TRY(setup_transport(config, problem, workers));
    return setup_strategy(config, problem, workers);
}

/* The parameters, if they differ from the strategy's vector: as floats, or with statistics; and the
 * best ones. */
static drove_status make_state(const drove_problem *problem, const drove_workers *workers,
                               drove_state *state)
{
    drove_loop *loop = workers->loop;
    const size_t n = problem->model->n_params;
    if (loop->shared != NULL || problem->model->n_statistics != 0) {
        state->theta = drove__alloc(n, sizeof *state->theta);
        loop->statistics.theta = state->theta;
        if (state->theta == NULL)
            return drove__fail_nomem("the model's parameters", n * sizeof *state->theta);
    }
    state->best = drove__alloc(n, sizeof *state->best);
    return state->best != NULL ? DROVE_OK : drove__fail_nomem("the best parameters", n);
}

drove_status drove__setup_workers(drove_run *run)
{
    drove_config *config = &run->config;
    drove_problem *problem = &run->problem;
    drove_workers *workers = &run->workers;
    drove_state *state = &run->state;
    const drove_callbacks *cb = &run->output.cb;
    drove_choice choice = {0};

    /* Step size and batch follow from the number of workers, and so from --partition. */
    drove_status status = setup_partition(config, problem, workers, cb);
    if (status == DROVE_OK && workers->plan.partition.n > 0) {
        drove__choose_stretch(config, workers, &choice);
        if (config->method.global_batch > 0) status = drove__choose_batch(config, workers, &choice);
        if (status == DROVE_OK) status = drove__config_choose(config, &choice);
    }
    DROVE_TRY(drove__ranks_agree(workers, status));

    /* All that is allocated in between is there for all processes of the run. */
    workers->context = (drove_run_context){
        .cb = cb, .files = &config->files, .save = &state->save, .loop = workers->loop};
    const bool is_shared = workers->plan.host == DROVE_HOST_PROCS;
    if (is_shared) drove__memory_share_begin();
    status = make_objects(config, problem, workers, cb);
    if (status == DROVE_OK) status = make_state(problem, workers, state);
    if (status == DROVE_OK) status = drove__run_prepare_workers(config, problem, workers);
    if (is_shared) drove__memory_share_end();
    drove__free(problem->first); /* before processes that would keep it are started */
    problem->first = NULL;
    DROVE_TRY(drove__ranks_agree(workers, status));
    DROVE_TRY(drove__ranks_agree(workers, drove__run_start_workers(config, problem, workers)));
    DROVE_TRY(drove__virtual_costs(workers));

    /* The saved state, and the files of the output, which rank 0 has. */
    drove_start_facts facts = {0};
    if ((status = drove__state_load(run)) != DROVE_OK) goto agree;
    say_notes(config, problem, workers, cb);
    drove__choose_say(config, cb);
    if (workers->ranks.rank != 0) goto agree;
    const uint64_t examples = drove__run_examples(workers);
    status = drove__output_open_log(config, examples, state, &run->output);
    if (status != DROVE_OK || config->files.out == NULL) goto agree;
    if ((status = drove__folder_make(config, &choice)) != DROVE_OK) goto agree;
    if ((status = drove__config_choose(config, &choice)) != DROVE_OK) goto agree;
    if ((status = drove__facts_start(config, problem, workers, &facts)) != DROVE_OK) goto agree;
    status = drove__output_open(config, &facts, examples, state, &run->output);
agree:
    drove__facts_start_fini(&facts);
    DROVE_TRY(drove__ranks_agree(workers, status));
    workers->ranks.is_together = true;
    drove_beginning *b = &state->beginning;
    b->start_ns = drove__now_ns() - b->begun_ns - b->data_ns;
    drove__run_prefetch_begin(config, workers, cb);
    return DROVE_OK;
}

void drove__run_teardown(drove_run *run, drove_status status)
{
    drove_host *host = run->workers.loop->host;
    if (host != NULL && !host->ops->stop(host)) run->workers.is_abandoned = true;
    drove__output_close(&run->output);
    if (run->workers.is_abandoned) return;
    drove__recording_close(run->workers.loop->trace.recording);
    drove_loop *loop = run->workers.loop;
    drove__host_destroy(loop->host);
    drove__run_free_workers(&run->workers);
    drove__loader_destroy(loop->loading.loader);
    drove__free(loop->scoring.chunk);
    drove__free(loop->scoring.beside.copy);
    if (loop->source != NULL) loop->source->ops->fini(loop->source);
    drove__free(loop->source);
    drove__sync_destroy(loop->sync);
    drove__spans_destroy(loop->trace.spans);
    free(loop->slices.slice);
    free(loop->slices.of_layer);
    free(loop->slices.layer);
    if (loop->shared != NULL && !run->workers.borrows_shared)
        loop->core_ops->typed->dismiss(loop->shared);
    drove__replay_close(&run->workers);
    drove__virtual_destroy(run->workers.loop->on);
    drove__free(run->workers.loop);
    drove__ranks_leave(&run->workers, status);
    drove__free(run->state.best);
    drove__free(run->state.back);
    drove__optim_destroy(run->workers.optim);
    drove__free(run->state.theta);
    drove__free(run->problem.first);
    drove__model_destroy(run->problem.model);
    drove__tuned_destroy(run->problem.tuned);
    drove_data_destroy(run->problem.train);
    drove_data_destroy(run->problem.test);
    drove__free(run->problem.target_mean);
    drove__free(run->problem.target_shift);
    drove__free(run->problem.target_scale);
    drove_data_destroy(run->problem.validation);
    drove_data_destroy(run->problem.kept);
    drove__stream_destroy(run->problem.stream);
    drove_data_destroy(run->problem.input);
    free(run->workers.place);
    drove__virtual_close(&run->workers);
    free(run->state.logged_busy_ns);
    drove__plan_fini(&run->workers.plan);
    drove__topo_destroy(run->workers.topo);
}
