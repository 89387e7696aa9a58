/* run/setup.c - from options to the objects of a run, in the order in which things are needed,
 * and back.  See setup.h. */
#include "run/setup.h"

#include "run/control.h"
#include "run/exchange.h"
#include "run/output.h"
#include "run/procs.h"
#include "run/registry.h"

#include "base/file.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "engine/linear/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static drove_status setup_machine(drove_run *run)
{
    drove_topo_facts facts;
    const char *cap = run->opt.isa[0] != '\0' ? run->opt.isa : NULL;
    DROVE_TRY(drovek_select(&run->kernels, drove__cpu_features(), cap));
    DROVE_TRY(drove__topo_create(NULL, &run->topo));
    drove__topo_facts(run->topo, &facts);
    DROVE_TRY(drove__resolve_workers(&run->opt, facts.n_pus, &run->plan));
    if (run->ranks.n > 1) return drove__ranks_place(run);
    if ((run->plan.ops->needs & DROVE_SYNC_ASSIGNED) != 0) return drove__crew_open(run);
    if ((run->plan.ops->needs & DROVE_SYNC_DEVICES) != 0) return drove__devices_open(run);
    run->n_workers = run->plan.n_workers;
    run->place = calloc(run->n_workers, sizeof *run->place);
    if (run->place == NULL)
        return drove__fail_nomem("worker places", run->n_workers * sizeof *run->place);
    drove__topo_place(run->topo, run->plan.bind, run->n_workers, run->place);
    return DROVE_OK;
}

/* What a reader of the data found out, and what a user may not expect of the machine. */
static void say_notes(const drove_run *run)
{
    drove_topo_facts facts;
    drove__topo_facts(run->topo, &facts);
    if (run->train->storage->notes[0] != '\0')
        drove__run_say(run, "data: %s", run->train->storage->notes);
    if (run->test != NULL && run->test->storage != run->train->storage &&
        run->test->storage->notes[0] != '\0') {
        drove__run_say(run, "test data: %s", run->test->storage->notes);
    }
    bool is_asked = run->plan.is_procs || strcmp(run->opt.threads, "all") != 0;
    if (run->crew.n_groups == 0 && run->n_workers < run->plan.n_threads && is_asked) {
        drove__run_say(run, "--strategy %s has one worker, whatever --%s says", run->plan.spec,
                       run->plan.is_procs ? "workers" : "threads");
    }
    drove__ranks_say(run);
    if (run->ranks.n <= 1 && run->n_workers > facts.n_pus) {
        drove__run_say(run,
                       "%u %s share %u processors: staleness and speed are those of time slices",
                       run->n_workers, run->plan.is_procs ? "processes" : "threads", facts.n_pus);
    }
}

static drove_order order_of(const drove_options *opt)
{
    if (strcmp(opt->order, "random") == 0) return DROVE_ORDER_RANDOM;
    if (strcmp(opt->order, "blocks") == 0) return DROVE_ORDER_BLOCKS;
    bool is_auto = strcmp(opt->order, "auto") == 0;
    return is_auto && drove__resolve_is_low(opt) ? DROVE_ORDER_BLOCKS : DROVE_ORDER_SHUFFLE;
}

/* With --precision: the parameters in numbers of the engine's own. */
static drove_status setup_precision(drove_run *run, const float *theta)
{
    if (run->engine_ops->prepare == NULL) return DROVE_OK;
    if (drove__augment_is_on(&run->train->augment)) {
        return drove__fail(DROVE_E_ARG,
                           "--precision %s: expected data without crop, pad and mirror",
                           run->opt.precision);
    }
    drove_prepare_options opt = {.model = run->model,
                                 .kernels = &run->kernels,
                                 .data = run->train,
                                 .theta = theta,
                                 .precision = run->opt.precision,
                                 .rounding = run->opt.rounding,
                                 .model_range = run->opt.model_range,
                                 .eta = run->opt.lr,
                                 .weight_decay = run->opt.weight_decay,
                                 .each = run->update_rows,
                                 .seed = run->opt.seed,
                                 .reorder = order_of(&run->opt) == DROVE_ORDER_BLOCKS,
                                 .hints = drove__prefetch_wants_hints(run->opt.prefetch)};
    DROVE_TRY(run->engine_ops->prepare(&opt, &run->shared));
    run->theta = drove__alloc(run->model->n_params, sizeof *run->theta);
    return run->theta != NULL ? DROVE_OK
                              : drove__fail_nomem("the model's parameters",
                                                  run->model->n_params * sizeof *run->theta);
}

/* Decay is the engine's own affair there. */
static drove_status setup_optim(drove_run *run)
{
    bool own = run->shared != NULL;
    drove_optim_options opt = {
        .rule = run->opt.rule,
        .schedule = run->opt.schedule,
        .lr = run->opt.lr,
        .weight_decay = own ? 0.0 : run->opt.weight_decay,
        .clip = run->opt.clip,
        .state =
            strcmp(run->opt.rule_state, "worker") == 0 ? DROVE_STATE_WORKER : DROVE_STATE_SHARED,
        .n_params = own ? run->engine_ops->n_words(run->shared) : run->model->n_params,
        .n_workers = run->n_workers,
        .kernels = &run->kernels,
    };
    return drove__optim_create(&opt, &run->optim);
}

/* What a strategy of low-precision parameters cannot do; the rest is its own to say. */
static drove_status check_words(const drove_run *run)
{
    if (run->sync->ops->live != NULL && run->optim->fusable) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--precision %s: expected --rule sgd without --clip and a --schedule by "
                       "staleness, found --rule %s --clip %g --schedule %s",
                       run->opt.precision, run->opt.rule, run->opt.clip, run->opt.schedule);
}

/* Through which workers exchange that have parameters of their own. */
static drove_status setup_transport(drove_run *run)
{
    if ((run->plan.ops->needs & DROVE_SYNC_SPREAD) == 0 || run->ranks.n > 1) return DROVE_OK;
    DROVE_TRY(drove__transport_shared(run->n_workers, run->plan.is_procs, run->optim->n_vector,
                                      &run->kernels, run->topo, run->place, &run->transport));
    /* Of processes the run finds out sooner that one hangs, and which. */
    run->transport->timeout_s = run->opt.timeout * (run->plan.is_procs ? 10.0 : 1.0);
    return DROVE_OK;
}

static drove_status create_strategy(drove_run *run, const drove_spec *spec, const float *theta)
{
    drove_sync_options opt = {
        .spec = spec,
        .backoff = run->opt.backoff,
        .n_workers = run->n_workers,
        .optim = run->optim,
        .topo = run->topo,
        .place = run->place,
        .seed = run->opt.seed,
        .is_deep = run->crew.is_deep,
        .part = run->devices.part,
        .n_parts = run->devices.n_parts,
        .is_resident = run->devices.is_resident,
        .spans = run->devices.spans,
        .transport = run->transport,
    };
    drove__exchange_options(&run->opt, &opt);
    if (run->shared == NULL) return drove__sync_create(run->plan.ops, &opt, theta, &run->sync);
    uint32_t *words = drove__alloc(run->optim->n, sizeof *words);
    if (words == NULL) return drove__fail_nomem("the model's parameters", run->optim->n * 4);
    run->engine_ops->pack(run->shared, theta, words);
    opt.layout = run->engine_ops->layout(run->shared);
    drove_status status = drove__sync_create(run->plan.ops, &opt, (const float *)words, &run->sync);
    drove__free(words);
    return status == DROVE_OK ? check_words(run) : status;
}

static drove_status setup_strategy(drove_run *run, const float *theta)
{
    drove_spec spec;
    DROVE_TRY(drove__spec_parse(run->plan.spec, &spec));
    drove_status status = create_strategy(run, &spec, theta);
    drove__spec_fini(&spec);
    if (status != DROVE_OK) return drove__fail_in(status, "--strategy %s", run->plan.spec);
    bool every_batch = (run->sync->needs & DROVE_SYNC_LIVE) != 0;
    bool offered = run->sync->ops->live != NULL && run->engine_ops->step_fused != NULL &&
                   drove__model_fuses(run->model);
    run->use_live = offered && run->optim->fusable && (every_batch || run->opt.batch == 1);
    if (run->shared != NULL) run->use_live = true;
    if (run->crew.n_groups > 0) run->use_live = false; /* each batch goes its own way */
    run->spans_wanted = run->optim->spans_ok && !(run->sync->needs & DROVE_SYNC_DENSE);
    if (every_batch && !run->use_live) {
        return drove__fail(
            DROVE_E_ARG,
            "--strategy %s: expected the rule sgd without decay, clipping and staleness, found %s",
            run->plan.spec, run->opt.rule);
    }
    return DROVE_OK;
}

/* Examples of a turn: what a worker takes at once. */
static size_t turn_rows(const drove_run *run)
{
    if (run->crew.n_groups > 0) return 1; /* positions: the coordinator makes the batches */
    bool counts_updates =
        run->until.updates != UINT64_MAX || run->save.every.unit == DROVE_SAVE_UPDATES;
    if (run->shared == NULL || counts_updates) return run->update_rows;
    drove_data_facts facts;
    drove_data_describe(run->train, &facts);
    double per_row = (double)facts.n_stored / (double)facts.n_rows * (double)run->model->n_outputs;
    const drove_turn_limits limits = {.numbers = per_row,
                                      .n_rows = run->train->n_rows,
                                      .each = run->update_rows,
                                      .most_steps = run->sync->most_steps};
    return drove__linear_turn_rows(&limits);
}

static drove_status setup_workers(drove_run *run)
{
    unsigned width = run->sync->needs & DROVE_SYNC_ROUNDS ? run->n_workers : 0;
    bool is_split = strcmp(run->opt.shard, "own") == 0, is_held = is_split && run->ranks.n > 1;
    size_t n_rows = run->n_train_whole;
    if (is_split && n_rows < run->n_workers)
        return drove__fail(DROVE_E_ARG,
                           "--shard own: expected at least as many training examples as workers, "
                           "%u, found %zu",
                           run->n_workers, n_rows);
    DROVE_TRY(drove__batcher_init(&run->batcher, n_rows, turn_rows(run), run->opt.seed,
                                  order_of(&run->opt), width));
    if (is_split) drove__batcher_split(&run->batcher, run->n_workers, is_held);
    DROVE_TRY(drove__run_loading(run));
    run->worker = drove__alloc(run->n_workers, sizeof *run->worker);
    run->best = drove__alloc(run->model->n_params, sizeof *run->best);
    if (run->worker == NULL || run->best == NULL) {
        return drove__fail_nomem("the workers", run->n_workers * sizeof *run->worker);
    }
    for (unsigned i = 0; i < run->n_workers; i++) {
        run->worker[i].run = run;
        run->worker[i].index = i;
        run->worker[i].data = run->train;
        sem_init(&run->worker[i].answered, 0, 0);
    }
    for (unsigned i = 0; i < run->crew.n_groups; i++) {
        drove_group *g = &run->crew.group[i];
        for (unsigned k = 0; k < g->n_threads; k++) run->worker[g->first + k].group = g;
    }
    if (run->crew.n_groups == 0) DROVE_TRY(drove__gang_prepare(run));
    if (!run->plan.is_procs) return DROVE_OK;
    for (unsigned i = 0; i < run->n_workers; i++) DROVE_TRY(drove__worker_alloc(&run->worker[i]));
    return drove__procs_create(run);
}

static drove_status start_workers(drove_run *run)
{
    if (run->plan.is_procs) DROVE_TRY(drove__procs_check(run));
    if (run->crew.n_groups == 0) return drove__gang_start(run);
    DROVE_TRY(drove__crew_size_engines(run));
    DROVE_TRY(drove__gang_start(run));
    return drove__crew_settle(run);
}

static drove_status setup_resume(drove_run *run)
{
    if (run->opt.resume[0] == '\0') return DROVE_OK;
    char *path = drove__path_join(run->opt.resume, "state.safetensors");
    if (path == NULL) return drove__fail_nomem("a path", sizeof run->opt.resume);
    drove_status status = drove__state_load(run, path);
    free(path);
    return status;
}

/* What auto means to this strategy: what is written down with the run. */
static void resolve_rule(drove_run *run)
{
    drove_options *opt = &run->opt;
    unsigned needs = run->plan.ops->needs;
    const char *rule = drove__resolve_rule(opt, needs);
    const char *state = drove__resolve_rule_state(opt, needs);
    opt->lr = drove__resolve_lr(opt, needs, run->n_workers);
    if (rule != opt->rule) snprintf(opt->rule, sizeof opt->rule, "%s", rule);
    char schedule[DROVE_TEXT_SIZE];
    drove__resolve_schedule(opt, schedule);
    memcpy(opt->schedule, schedule, sizeof schedule);
    if (state != opt->rule_state) snprintf(opt->rule_state, sizeof opt->rule_state, "%s", state);
}

/* What is allocated in between is there for all processes of the run. */
static void share_begin(const drove_run *run)
{
    if (run->plan.is_procs) drove__memory_share_begin();
}

static void share_end(const drove_run *run)
{
    if (run->plan.is_procs) drove__memory_share_end();
}

static size_t least_rows(const drove_run *run)
{
    return run->opt.batch < run->train->n_rows ? (size_t)run->opt.batch : run->train->n_rows;
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
                                    .patience_loss = INFINITY};
    run->standing = unknown;
    DROVE_TRY(drove_options_validate(&run->opt));
    run->engine_ops =
        drove__resolve_is_low(&run->opt) ? &drove__engine_linear : &drove__engine_host;
    DROVE_TRY(drove__until_parse(run->opt.until, &run->until));
    DROVE_TRY(drove__save_every_parse(run->opt.save_every, &run->save.every));
    DROVE_TRY(setup_machine(run));
    resolve_rule(run);
    DROVE_TRY(drove__problem_open(run));
    DROVE_TRY(drove__run_features(run));
    run->update_rows = least_rows(run);
    DROVE_TRY(drove__problem_model(run, theta));
    return drove__ranks_check_model(run);
}

/* The objects of the run.  Those of a strategy may exchange already. */
static drove_status setup_objects(drove_run *run, const float *theta)
{
    DROVE_TRY(drove__run_partition(run));
    DROVE_TRY(drove__devices_split(run));
    DROVE_TRY(setup_precision(run, theta));
    DROVE_TRY(drove__run_prepare_population(run));
    DROVE_TRY(setup_optim(run));
    DROVE_TRY(setup_transport(run));
    DROVE_TRY(setup_strategy(run, theta));
    return setup_workers(run);
}

static drove_status setup_rest(drove_run *run)
{
    DROVE_TRY(setup_resume(run));
    say_notes(run);
    return drove__output_open(run);
}

drove_status drove__run_setup(drove_run *run)
{
    float *theta = NULL;
    uint64_t begun_ns = drove__now_ns();
    drove_status status = drove__ranks_agree(run, setup_alone(run, &theta));
    if (status == DROVE_OK) status = drove__ranks_compare(run, theta);
    if (status == DROVE_OK) {
        share_begin(run);
        status = setup_objects(run, theta);
        share_end(run);
        status = drove__ranks_agree(run, status);
    }
    drove__free(theta);
    DROVE_TRY(status);
    DROVE_TRY(drove__ranks_agree(run, start_workers(run)));
    DROVE_TRY(drove__ranks_agree(run, setup_rest(run)));
    run->ranks.is_together = true;
    run->beginning.start_ns = drove__now_ns() - begun_ns - run->beginning.data_ns;
    drove__run_prefetch_begin(run);
    return DROVE_OK;
}

void drove__run_teardown(drove_run *run, drove_status status)
{
    drove__gang_stop(run);
    drove__output_close(run);
    if (run->is_abandoned) return;
    for (unsigned i = 0; run->worker != NULL && i < run->n_workers; i++)
        drove__worker_fini(&run->worker[i]);
    if (run->crew.n_groups > 0) drove__crew_close(run);
    drove__free(run->worker);
    drove__loader_destroy(run->loader);
    drove__free(run->best);
    drove__free(run->scoring.chunk);
    drove__procs_destroy(run);
    drove__batcher_fini(&run->batcher);
    drove__sync_destroy(run->sync);
    drove__ranks_leave(run, status);
    drove__devices_close(run);
    drove__optim_destroy(run->optim);
    if (run->shared != NULL) run->engine_ops->dismiss(run->shared);
    drove__free(run->theta);
    drove__model_destroy(run->model);
    drove__partition_fini(&run->partition);
    drove_data_destroy(run->train);
    drove_data_destroy(run->test);
    drove_data_destroy(run->input);
    free(run->place);
    drove__topo_destroy(run->topo);
}
