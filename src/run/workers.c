/* run/workers.c - the plan's workers: their devices, the order of examples, the source that gives
 * out batches, the threads that load them, and the host. */
#include "run/workers.h"

#include "base/spec.h"
#include "config/resolve.h"
#include "engine/linear/problem.h"
#include "loop/evaluation.h"
#include "loop/worker.h"
#include "problem/disk.h"
#include "values/ranks.h"
#include "files/recording.h"
#include "values/say.h"
#include "auto/strategy_counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An example of fewer numbers is loaded in a few microseconds; a hand-over costs about one. */
enum { LARGE_EXAMPLE = 16384 };

drove_status drove__run_make_workers(const drove_workers *workers)
{
    drove_loop *loop = workers->loop;
    loop->worker = drove__alloc(workers->plan.n_workers, sizeof *loop->worker);
    if (loop->worker == NULL)
        return drove__fail_nomem("the workers", workers->plan.n_workers * sizeof *loop->worker);
    for (unsigned i = 0; i < workers->plan.n_workers; i++)
        DROVE_TRY(drove__worker_init(&loop->worker[i], loop, i));
    return DROVE_OK;
}

void drove__run_free_workers(const drove_workers *workers)
{
    drove_worker *all = workers->loop->worker;
    for (unsigned i = 0; all != NULL && i < workers->plan.n_workers; i++)
        drove__worker_fini(&all[i]);
    drove__free(all);
}

/* ---- the order of examples ---- */

/* Examples of one task: of a TYPED engine several updates, so that taking a task costs little. */
static size_t task_rows(const drove_config *config, const drove_problem *problem,
                        const drove_workers *workers)
{
    const drove_loop *loop = workers->loop;
    if (workers->plan.source->counts_rows) return 1; /* positions */
    bool counts_updates = config->length.until.updates != UINT64_MAX ||
                          config->length.save_every.unit == DROVE_SAVE_UPDATES;
    /* On a virtual clock a task is one step: others may run between two steps. */
    if (loop->core_ops != &drove__engine_linear || counts_updates || loop->on != NULL)
        return loop->sizes.update_rows;
    drove_data_facts facts;
    drove_data_describe(problem->train, &facts);
    double per_row =
        (double)facts.n_stored / (double)facts.n_rows * (double)problem->model->n_outputs;
    const drove_turn_limits limits = {.numbers = per_row,
                                      .n_rows = problem->stream != NULL ? problem->n_train_whole
                                                                        : problem->train->n_rows,
                                      .each = loop->sizes.update_rows,
                                      .most_steps = loop->sync->most_steps};
    return drove__linear_turn_rows(&limits);
}

drove_order_kind drove__run_order(const drove_config *config, const drove_workers *workers)
{
    const bool is_auto = config->method.order == DROVE_CHOICE_AUTO;
    if (is_auto && workers->loop->core_ops != &drove__engine_linear) return DROVE_ORDER_SHUFFLE;
    return drove__resolve_order(config);
}

static drove_status make_order(const drove_config *config, const drove_problem *problem,
                               const drove_workers *workers)
{
    drove_loop *loop = workers->loop;
    const unsigned n = workers->plan.n_workers;
    bool is_split = config->exchange.owns_shard;
    loop->order = drove__order_make(problem->n_train_whole, task_rows(config, problem, workers),
                                    config->seed, drove__run_order(config, workers));
    if (problem->stream != NULL) return drove__disk_order(problem, workers);
    if (config->method.global_batch > problem->n_train_whole)
        return drove__fail(DROVE_E_ARG,
                           "--global-batch: expected at most as many as there are training "
                           "examples, %zu, found %llu",
                           problem->n_train_whole, (unsigned long long)config->method.global_batch);
    if (!is_split && config->method.global_batch > 0 && loop->order.batch == config->method.batch)
        drove__order_whole_rounds(&loop->order, n);
    if (!is_split) return DROVE_OK;
    if (workers->plan.source->counts_rows)
        return drove__fail(DROVE_E_ARG,
                           "--shard own: expected a --strategy whose workers take batches "
                           "themselves, found %s, whose coordinator gives out all examples",
                           workers->plan.spec);
    if (problem->n_train_whole < n)
        return drove__fail(DROVE_E_ARG,
                           "--shard own: expected at least as many training examples as workers, "
                           "%u, found %zu",
                           n, problem->n_train_whole);
    drove__order_split(&loop->order, n, workers->plan.host == DROVE_HOST_RANKS);
    return DROVE_OK;
}

/* ---- loaders ---- */

static bool is_large(const drove_data *data)
{
    const drove_storage *s = data->storage;
    bool is_dense = s->x_kind == DROVE_X_U8 || (s->x_kind == DROVE_X_F32 && data->factor != NULL);
    return is_dense && s->n_features >= LARGE_EXAMPLE;
}

static bool all_on_cores(const drove_workers *workers)
{
    for (unsigned i = 0; i < workers->plan.n_workers; i++)
        if (workers->loop->worker[i].device != NULL) return false;
    return true;
}

static drove_status make_loaders(const drove_config *config, const drove_problem *problem,
                                 const drove_workers *workers)
{
    drove_loop *loop = workers->loop;
    const bool is_auto = config->machine.loaders_are_auto,
               cuts = drove__augment_is_on(&problem->train->augment);
    unsigned n = config->machine.n_loaders;
    if (loop->shared != NULL && n > 0)
        return drove__fail(DROVE_E_ARG,
                           "--loaders %u: expected 0 or auto, as workers of --precision %s load "
                           "for themselves",
                           n, config->low.precision);
    if (loop->shared != NULL) return DROVE_OK;
    if (loop->on != NULL && n > 0)
        return drove__fail(DROVE_E_ARG,
                           "--loaders %u: expected 0 or auto on a virtual clock, which does not "
                           "model loading",
                           n);
    bool is_usual = all_on_cores(workers) && !workers->plan.source->counts_rows;
    if (is_auto && is_usual && loop->on == NULL && (cuts || is_large(problem->train))) {
        /* One for each worker as long as there are processors for both. */
        const drove_plan *plan = &workers->plan;
        unsigned n_busy = 0;
        for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++)
            n_busy += plan->worker[i].n_cores;
        if (plan->host == DROVE_HOST_RANKS) n_busy *= workers->ranks.n_local;
        unsigned n_spare = workers->machine.n_pus > n_busy ? workers->machine.n_pus - n_busy : 0;
        n = n_spare < plan->n_here ? n_spare : plan->n_here;
    }
    /* A loader's thread waits for windows in the order in which it was asked, which is another one
     * here; the examples are the same. */
    if (problem->stream != NULL && drove__run_replay(workers) != NULL) n = 0;
    if (n == 0 && !(cuts && is_usual)) return DROVE_OK;
    loop->loading.is_wanted = true;
    loop->loading.n_threads = n;
    if (workers->plan.host == DROVE_HOST_PROCS) return DROVE_OK; /* each has its own */
    size_t most = (size_t)loop->order.batch;                     /* of a batch that is loaded */
    for (unsigned i = 0; workers->plan.source->counts_rows && i < workers->plan.n_workers; i++) {
        const size_t rows = drove__worker_most_rows(&loop->worker[i]);
        if (rows > most) most = rows;
    }
    const drove_loader_options opt = {.data = loop->data.train,
                                      .kernels = &workers->kernels,
                                      .max_rows = most,
                                      .n_workers = workers->plan.n_workers,
                                      .n_threads = n,
                                      .clock = loop->clock,
                                      .stream = loop->data.stream,
                                      .order = &loop->order};
    return drove__loader_create(&opt, &loop->loading.loader);
}

/* ---- the source ---- */

/* Does it give each worker batches of a size of its own? */
static bool sizes_batches(const drove_workers *workers)
{
    return workers->plan.source->coordinator != NULL;
}

static void silence(void *context, unsigned worker)
{
    drove_host *host = ((const drove_run_context *)context)->loop->host;
    host->ops->silence(host, worker);
}

static void say(void *context, const char *line)
{
    drove__run_warn(((const drove_run_context *)context)->cb, "%s", line);
}

/* Batches that a worker may claim at once: as many as last CLAIM_S by counts, so that to claim them
 * costs little beside them.  One at a time with a loss or layers of the program's own, whose times
 * counts do not know, on a virtual clock, whose steps have modelled times, of processes, so that
 * one that is killed takes at most one with it, and of data on disk, whose windows are done
 * sooner. */
static drove_status most_claimed(const drove_config *config, const drove_problem *problem,
                                 const drove_workers *workers, uint64_t *out)
{
    static const double CLAIM_S = 50e-6, MOST_CLAIMED = 32.0;
    double example_s;
    *out = 1;
    if (workers->loop->on != NULL || workers->loop->shared != NULL ||
        workers->plan.source->counts_rows || problem->stream != NULL ||
        workers->plan.host != DROVE_HOST_THREADS || !all_on_cores(workers) ||
        problem->model->kinds != NULL)
        return DROVE_OK;
    DROVE_TRY(drove__strategy_example_s(config, problem, workers, &example_s));
    *out = (uint64_t)fmin(CLAIM_S / (example_s * (double)workers->loop->sizes.update_rows),
                          MOST_CLAIMED);
    return DROVE_OK;
}

static drove_status init_source(const drove_config *config, const drove_problem *problem,
                                const drove_workers *workers, const drove_spec *spec,
                                const drove_source_worker *worker)
{
    drove_loop *loop = workers->loop;
    void *given = (void *)(uintptr_t)&workers->context; /* read alone */
    uint64_t claimed;
    DROVE_TRY(most_claimed(config, problem, workers, &claimed));
    const drove_source_options opt = {.spec = spec,
                                      .clock = loop->clock,
                                      .n_workers = workers->plan.n_workers,
                                      .n_groups = workers->plan.n_groups,
                                      .worker = worker,
                                      .n_rows = loop->order.n_rows,
                                      .batch = config->method.batch,
                                      .per_epoch = loop->order.per_epoch,
                                      .sync = loop->sync,
                                      .is_elsewhere = workers->ranks.rank != 0,
                                      .is_windowed = problem->stream != NULL,
                                      .most_claimed = claimed,
                                      .silence = silence,
                                      .say = say,
                                      .context = given};
    drove_source *s = loop->source = drove__alloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("a source of batches", sizeof *s);
    *s = (drove_source){.ops = workers->plan.source,
                        .clock = loop->clock,
                        .n_workers = workers->plan.n_workers,
                        .silence = silence,
                        .say = say,
                        .context = given};
    drove_replay *replay = drove__run_replay(workers);
    if (replay == NULL) return s->ops->init(s, &opt);
    drove__replay_source(replay, workers->plan.source, drove__run_replay_width(workers), s);
    return DROVE_OK;
}

static drove_status make_source(const drove_config *config, const drove_problem *problem,
                                const drove_workers *workers)
{
    const unsigned n = workers->plan.n_workers;
    drove_source_worker *worker = calloc(n, sizeof *worker);
    char(*name)[DROVE_RANKS_NAME_SIZE] = calloc(n, sizeof *name);
    drove_spec spec = {0};
    drove_status status = drove__spec_parse(workers->plan.spec, &spec);
    if (status != DROVE_OK) goto fail;
    if (worker == NULL || name == NULL)
        status = drove__fail_nomem("a source of batches", n * sizeof *worker);
    if (status != DROVE_OK) goto fail;
    for (unsigned i = 0; i < workers->plan.n_workers; i++) {
        const drove_worker *w = &workers->loop->worker[i];
        const drove_plan_worker *p = w->plan;
        worker[i] =
            (drove_source_worker){.name = p->name,
                                  .group = p->group,
                                  .is_device = w->device != NULL,
                                  .n_cores = p->n_cores,
                                  .batch = p->batch,
                                  .least = p->least,
                                  .most = p->most,
                                  .measured_least = w->probe.least,
                                  .measured_most = w->probe.most,
                                  .timeout_s = p->timeout_s,
                                  .lost = atomic_load(&w->health.is_lost) ? w->error : NULL};
    }
    if (sizes_batches(workers) &&
        (status = drove__ranks_describe(config, workers, worker, name)) != DROVE_OK)
        goto fail;
    status = init_source(config, problem, workers, &spec, worker);
fail:
    drove__spec_fini(&spec);
    free(worker);
    free(name);
    return status;
}

/* Batch sizes may have to be measured first, by workers that are started; of ranks all must know
 * those of all. */
static bool waits_for_start(const drove_workers *workers)
{
    return sizes_batches(workers) && (workers->ranks.n > 1 || !all_on_cores(workers));
}

/* Measures batch sizes.  A rank cannot go on without its worker. */
static drove_status probe(const drove_workers *workers)
{
    const drove_worker *w = &workers->loop->worker[workers->plan.first_here];
    drove_spec spec;
    DROVE_TRY(drove__spec_parse(workers->plan.spec, &spec));
    const drove_status status = drove__probe_run(workers->loop, &spec);
    drove__spec_fini(&spec);
    DROVE_TRY(status);
    if (workers->ranks.n <= 1 || !atomic_load(&w->health.is_lost)) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "worker %s: %s", w->plan->name, w->error);
}

/* ---- the host ---- */

/* How to go on where the run cannot. */
static void describe_saved(void *context, char *text, size_t size)
{
    const drove_run_context *c = context;
    if (c->files->out == NULL) snprintf(text, size, "nothing is saved without --out");
    else if (!c->save->is_there && c->files->resume != NULL)
        snprintf(text, size, "nothing has changed in %.500s", c->files->resume);
    else if (!c->save->is_there) snprintf(text, size, "nothing was saved yet");
    else
        snprintf(text, size, "the state after %llu updates is saved: drove train --resume %.500s",
                 (unsigned long long)c->save->done_updates, c->files->out);
}

drove_status drove__run_prepare_workers(const drove_config *config, const drove_problem *problem,
                                        const drove_workers *workers)
{
    drove_loop *loop = workers->loop;
    size_t most = config->length.eval_examples;
    DROVE_TRY(make_order(config, problem, workers));
    if (!waits_for_start(workers)) DROVE_TRY(make_source(config, problem, workers));
    DROVE_TRY(make_loaders(config, problem, workers));
    if (most == 0 || most > problem->train->n_rows) most = problem->train->n_rows;
    if (problem->test != NULL && problem->test->n_rows > most) most = problem->test->n_rows;
    if (problem->validation != NULL && problem->validation->n_rows > most)
        most = problem->validation->n_rows;
    DROVE_TRY(drove__scoring_init(loop, most));
    const bool is_procs = workers->plan.host == DROVE_HOST_PROCS;
    for (unsigned i = 0; is_procs && i < workers->plan.n_workers; i++)
        DROVE_TRY(drove__worker_alloc(&loop->worker[i]));
    const drove_host_options opt = {.loop = loop,
                                    .timeout_s = config->exchange.timeout,
                                    .say = say,
                                    .saved = describe_saved,
                                    .context = (void *)(uintptr_t)&workers->context,
                                    .replay = drove__run_replay(workers)};
    if (opt.replay != NULL) return drove__host_create(&drove__host_replay, &opt, &loop->host);
    return drove__host_create(is_procs ? &drove__host_procs : &drove__host_threads, &opt,
                              &loop->host);
}

drove_status drove__run_start_workers(const drove_config *config, const drove_problem *problem,
                                      drove_workers *workers)
{
    drove_host *host = workers->loop->host;
    drove_status status = host->ops->start(host);
    if (!waits_for_start(workers)) return status;
    if (status == DROVE_OK) status = probe(workers);
    DROVE_TRY(drove__ranks_agree(workers, status)); /* before they exchange */
    DROVE_TRY(make_source(config, problem, workers));
    (void)drove__source_check(workers->loop->source); /* says who was lost */
    return DROVE_OK;
}
