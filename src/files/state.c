/* files/state.c - state.safetensors: all that a run needs to go on as if it had never stopped.
 *
 * One worker, or a synchronous strategy, continues to the same bits: the shared vector, the rule's
 * state, the batch counter and the evaluations' plan are all there is.  (Low-precision parameters
 * with weight decay: where the save stands at an evaluation, as parking makes a pass of decay.)  An
 * asynchronous run continues with all its counters.  Tensors and metadata are described in
 * docs/inside/formats.md.
 */
#include "data/scale.h"
#include "base/file.h"
#include "data/fingerprint.h"
#include "files/state.h"

#include "files/folder.h"
#include "files/left_out.h"
#include "files/other_number.h"
#include "files/output.h"
#include "problem/problem.h"
#include "values/progress.h"
#include "values/ranks.h"
#include "files/recording.h"
#include "values/say.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_FORMAT "drove-state-6"

#define MOST_COUNT ((uint64_t)1 << 62)

enum {
    N_COUNTERS = 8,
    N_STANDING_HEAD = 17,
    N_STANDING = N_STANDING_HEAD + 4 * DROVE_N_MARKS,
    N_TRACE_HEAD = 8,
    N_TRACE = N_TRACE_HEAD + DROVE_N_PHASES,
    N_STALENESS = DROVE_HIST_BUCKETS + 3,
    TENSORS_PER_WORKER = 2 + DROVE_RULE_MAX_STATE,
    MOST_FIXED = 24, /* options that the metadata name */
    MOST_STRATEGY_TENSORS = 16,
    STRATEGY_TENSORS_PER_WORKER = 4
};

/* value: [DROVE_TEXT_SIZE].  The strategy as resolved: auto may mean another one by now. */
static void get_fixed(const drove_config *config, const drove_workers *workers, const char *name,
                      char *value)
{
    if (strcmp(name, "strategy") == 0) snprintf(value, DROVE_TEXT_SIZE, "%s", workers->plan.spec);
    else drove__config_text(config, name, value);
}

/* ---- packing ---- */

/* A count that is kept as a real number; one that is none counts as 0. */
static uint64_t count_of(double value)
{
    return value >= 0.0 && value < 0x1p63 ? (uint64_t)value : 0;
}

static void pack_standing(const drove_standing *st, double v[N_STANDING])
{
    const double head[N_STANDING_HEAD] = {st->loss_initial,
                                          st->loss,
                                          st->accuracy,
                                          st->test_loss,
                                          st->test_accuracy,
                                          st->best_loss,
                                          st->patience_loss,
                                          st->validation_loss,
                                          st->validation_accuracy,
                                          st->stall_loss,
                                          st->back_loss,
                                          st->back_epochs,
                                          st->back_off,
                                          (double)st->n_stalled,
                                          (double)st->n_cuts,
                                          (double)st->n_recoveries,
                                          st->recovers ? 1.0 : 0.0};
    memcpy(v, head, sizeof head);
    for (int i = 0; i < DROVE_N_MARKS; i++) {
        const drove_mark *m = &st->mark[i];
        const double part[4] = {m->train_s, m->epochs, (double)m->updates, m->met ? 1.0 : 0.0};
        memcpy(v + N_STANDING_HEAD + 4 * i, part, sizeof part);
    }
}

static void unpack_standing(drove_standing *st, const double v[N_STANDING])
{
    st->loss_initial = v[0];
    st->loss = v[1];
    st->accuracy = v[2];
    st->test_loss = v[3];
    st->test_accuracy = v[4];
    st->best_loss = v[5];
    st->patience_loss = v[6];
    st->validation_loss = v[7];
    st->validation_accuracy = v[8];
    st->stall_loss = v[9];
    st->back_loss = v[10];
    st->back_epochs = v[11];
    st->back_off = v[12];
    st->n_stalled = count_of(v[13]);
    st->n_cuts = count_of(v[14]);
    st->n_recoveries = count_of(v[15]);
    st->recovers = v[16] != 0.0;
    for (int i = 0; i < DROVE_N_MARKS; i++) {
        const double *part = v + N_STANDING_HEAD + 4 * i;
        st->mark[i] = (drove_mark){.train_s = part[0],
                                   .epochs = part[1],
                                   .updates = count_of(part[2]),
                                   .met = part[3] != 0.0};
    }
}

/* ---- saving ---- */

static drove_tensor flat(const char *name, drove_tensor_type type, size_t n, const void *bytes)
{
    drove_tensor t = {.type = type, .rank = 1, .shape = {n}, .bytes = bytes};
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static size_t list_worker(const drove_workers *workers, unsigned i, uint64_t *trace,
                          drove_tensor *t)
{
    char name[DROVE_TENSOR_NAME_SIZE];
    size_t n = 0;
    const drove_worker *w = &workers->loop->worker[i];
    const drove_trace_worker *counts = &w->trace;
    const uint64_t head[N_TRACE_HEAD] = {atomic_load(&counts->examples),
                                         atomic_load(&counts->updates),
                                         counts->steps,
                                         counts->attempts,
                                         counts->dropped,
                                         counts->busy_ns,
                                         w->optim.t,
                                         counts->clamped};
    memcpy(trace, head, sizeof head);
    memcpy(trace + N_TRACE_HEAD, counts->phase_ns, sizeof counts->phase_ns);
    uint64_t *h = trace + N_TRACE;
    memcpy(h, counts->staleness.count, sizeof counts->staleness.count);
    h[DROVE_HIST_BUCKETS] = counts->staleness.n;
    h[DROVE_HIST_BUCKETS + 1] = counts->staleness.max;
    h[DROVE_HIST_BUCKETS + 2] = count_of(counts->staleness.sum);
    snprintf(name, sizeof name, "worker.%u.trace", i);
    t[n++] = flat(name, DROVE_T_U64, N_TRACE + N_STALENESS, trace);
    for (unsigned k = 0; k < DROVE_RULE_MAX_STATE; k++) {
        if (w->optim.state[k] == NULL) continue;
        snprintf(name, sizeof name, "worker.%u.state.%u", i, k);
        t[n++] = flat(name, DROVE_T_F32, workers->optim->n_theta, w->optim.state[k]);
    }
    return n;
}

/* Tensors of the strategy: its own, and those for each worker. */
static size_t most_kept(const drove_workers *workers)
{
    return MOST_STRATEGY_TENSORS + (size_t)workers->plan.n_workers * STRATEGY_TENSORS_PER_WORKER;
}

/* The tensors of a state file; they borrow from the run. */
typedef struct tensors {
    drove_tensor *tensor; /* [most] */
    size_t n, most;
    uint64_t counters[N_COUNTERS];
    double standing[N_STANDING];
    uint64_t *trace; /* [n_workers][N_TRACE + N_STALENESS] */
    void **memory;   /* what came from other ranks, up to a NULL; NULL: nothing */
} tensors;

static void tensors_fini(tensors *all)
{
    for (size_t i = 0; all->memory != NULL && all->memory[i] != NULL; i++) free(all->memory[i]);
    free(all->memory);
    free(all->trace);
    free(all->tensor);
}

/* By all ranks: those of the others are sent to rank 0.  all: zeroed; tensors_fini, also after an
 * error. */
static drove_status list_tensors(const drove_problem *problem, const drove_workers *workers,
                                 const drove_state *state, tensors *all)
{
    drove_sync *sync = workers->loop->sync;
    drove_source *from = workers->loop->source;
    const unsigned n_workers = workers->plan.n_workers;
    const drove_standing *st = &state->standing;
    all->most = 7 + most_kept(workers) + (size_t)n_workers * TENSORS_PER_WORKER;
    all->tensor = calloc(all->most, sizeof *all->tensor);
    all->trace = calloc((size_t)n_workers * (N_TRACE + N_STALENESS), sizeof *all->trace);
    if (all->tensor == NULL || all->trace == NULL)
        return drove__fail_nomem("a state file", all->most * sizeof *all->tensor);
    const uint64_t counters[N_COUNTERS] = {atomic_load(&from->next),
                                           atomic_load(&sync->published),
                                           st->train_ns,
                                           st->n_evaluations,
                                           st->since_best,
                                           st->evaluation_slot,
                                           n_workers,
                                           problem->n_train_whole};
    memcpy(all->counters, counters, sizeof counters);
    pack_standing(st, all->standing);
    drove_tensor *t = all->tensor;
    size_t n = 0;
    const drove_params at = sync->ops->peek(sync);
    const void *vector = at.words != NULL ? (const void *)at.words : at.theta;
    t[n++] = flat("vector", DROVE_T_F32, sync->n_vector, vector);
    t[n++] = flat("best", DROVE_T_F32, problem->model->n_params, state->best);
    if (state->back != NULL) t[n++] = flat("back", DROVE_T_F32, sync->n_vector, state->back);
    t[n++] = flat("counters", DROVE_T_U64, N_COUNTERS, all->counters);
    t[n++] = flat("standing", DROVE_T_F64, N_STANDING, all->standing);
    if (sync->ops->tensors != NULL) {
        const size_t n_kept = sync->ops->tensors(sync, t + n, most_kept(workers));
        DROVE_TRY(drove__ranks_rows(workers, t + n, n_kept));
        n += n_kept;
    }
    if (from->ops->tensors != NULL) n += from->ops->tensors(from, t + n, all->most - n);
    for (unsigned i = 0; i < n_workers; i++)
        n += list_worker(workers, i, all->trace + (size_t)i * (N_TRACE + N_STALENESS), t + n);
    all->n = n;
    if (workers->ranks.n <= 1) return DROVE_OK;
    return drove__ranks_gather(workers, t, &all->n, all->most, &all->memory);
}

/* Keys and values, NULL behind the last, and the texts of some. */
typedef struct metadata {
    const char *word[2 * (MOST_FIXED + 8) + 1];
    size_t n;
    char option[MOST_FIXED][DROVE_TEXT_SIZE];
    char range[40], turn[40], window[40], data[DROVE_PROBLEM_TEXT_SIZE];
} metadata;

static void append(metadata *meta, const char *key, const char *value)
{
    assert(meta->n + 2 < DROVE_COUNT(meta->word));
    meta->word[meta->n++] = key;
    meta->word[meta->n++] = value;
}

/* meta: zeroed; it stays where it is. */
static drove_status list_metadata(const drove_config *config, const drove_problem *problem,
                                  const drove_workers *workers, metadata *meta)
{
    const drove_loop *loop = workers->loop;
    size_t n_options, n_fixed = 0;
    const drove_option_info *info = drove_options_table(&n_options);
    append(meta, "format", STATE_FORMAT);
    for (size_t i = 0; i < n_options; i++) {
        if (!info[i].is_fixed) continue;
        assert(n_fixed < MOST_FIXED);
        get_fixed(config, workers, info[i].name, meta->option[n_fixed]);
        append(meta, info[i].name, meta->option[n_fixed++]);
    }
    snprintf(meta->turn, sizeof meta->turn, "%llu", (unsigned long long)loop->order.batch);
    append(meta, "scale", drove__scaling_name(drove__data_scale(problem->train).scaling));
    append(meta, "turn_rows", meta->turn);
    if (problem->stream != NULL) {
        snprintf(meta->window, sizeof meta->window, "%llu",
                 (unsigned long long)loop->order.windows->per_window);
        append(meta, "window_blocks", meta->window);
    }
    append(meta, "workers", config->machine.workers != NULL ? config->machine.workers : "");
    DROVE_TRY(drove__problem_describe(problem, meta->data));
    append(meta, "train_data", meta->data);
    if (problem->model->graph_text != NULL) append(meta, "graph", problem->model->graph_text);
    if (loop->shared == NULL) return DROVE_OK;
    drove_engine_facts facts;
    loop->core_ops->typed->facts(loop->shared, &facts);
    snprintf(meta->range, sizeof meta->range, "%.17g", facts.model_range);
    append(meta, "found_range", meta->range);
    return DROVE_OK;
}

/* The records of the log and the model are written before the state that counts them.  Ranks but
 * rank 0 send it their part. */
drove_status drove__state_save(drove_run *run)
{
    const char *out = run->config.files.out;
    drove_state *state = &run->state;
    const drove_workers *workers = &run->workers;
    bool are_finite;
    DROVE_TRY(drove__run_check_theta(&run->problem, workers, state, &are_finite));
    if (atomic_load(&workers->loop->ending.nonfinite)) return DROVE_OK;
    state->save = (drove_saving){.done_batches = atomic_load(&workers->loop->source->next),
                                 .done_updates = atomic_load(&workers->loop->sync->published),
                                 .done_ns = state->standing.train_ns,
                                 .is_there = state->save.is_there && out != NULL};
    if (out == NULL) return DROVE_OK;
    const bool writes = workers->ranks.rank == 0;
    drove_status status = DROVE_OK;
    tensors all = {0};
    metadata meta = {0};
    char *model = NULL, *path = NULL;
    if (writes) {
        if ((status = drove__jsonl_sync(run->output.log)) != DROVE_OK) goto fail;
        if ((status = drove__events_sync(run->output.events)) != DROVE_OK) goto fail;
        model = drove__path_join(out, "model.safetensors");
        path = drove__path_join(out, DROVE_STATE_NAME);
        if (model == NULL || path == NULL) status = drove__fail_nomem("a path", strlen(out));
        if (status != DROVE_OK) goto fail;
        status = drove__output_model(&run->problem, workers, state, model);
        if (status != DROVE_OK) goto fail;
        if ((status = drove__folder_keep_state(&run->config)) != DROVE_OK) goto fail;
    }
    status = list_tensors(&run->problem, workers, state, &all);
    if (status != DROVE_OK || !writes) goto fail;
    status = list_metadata(&run->config, &run->problem, workers, &meta);
    if (status == DROVE_OK) status = drove__safetensors_write(path, all.tensor, all.n, meta.word);
fail:
    tensors_fini(&all);
    free(model);
    free(path);
    if (status == DROVE_OK) state->save.is_there = true;
    return drove__output_status(status);
}

/* ---- loading ---- */

static drove_status check_options(const drove_config *config, const drove_workers *workers,
                                  const drove_safetensors *st)
{
    const char *format = drove__safetensors_meta(st, "format");
    if (format == NULL || strcmp(format, STATE_FORMAT) != 0)
        return drove__fail(DROVE_E_DATA,
                           "expected metadata format \"" STATE_FORMAT "\", found \"%s\"",
                           format != NULL ? format : "none");
    if (!st->is_checked)
        return drove__fail(DROVE_E_DATA, "format %s: expected its checksums, found none", format);
    size_t n_options;
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; i < n_options; i++) {
        if (!info[i].is_fixed) continue;
        if (strcmp(info[i].name, "batch") == 0 && config->method.global_batch > 0) continue;
        char now[DROVE_TEXT_SIZE], flag[DROVE_FLAG_SIZE];
        const char *then = drove__safetensors_meta(st, info[i].name);
        if (then == NULL) continue; /* saved before there was this option */
        get_fixed(config, workers, info[i].name, now);
        /* The model in the run's own folder is the one that it has, whatever it was called. */
        if (strcmp(then, now) != 0 &&
            !(strcmp(info[i].name, "model") == 0 && config->files.resume != NULL &&
              strcmp(config->problem.model, config->files.resume) == 0)) {
            return drove__fail(DROVE_E_ARG,
                               "%s: expected \"%s\" as in the run to be continued, found \"%s\"",
                               drove_flag_text(info[i].name, flag), then, now);
        }
    }
    return DROVE_OK;
}

/* The same names for the data may mean other data by now. */
static drove_status check_data(const drove_config *config, const drove_problem *problem,
                               const drove_workers *workers, const drove_safetensors *st)
{
    char now[DROVE_PROBLEM_TEXT_SIZE];
    const char *then = drove__safetensors_meta(st, "train_data"); /* those of rank 0 */
    if (then == NULL || workers->ranks.rank != 0) return DROVE_OK;
    DROVE_TRY(drove__problem_describe(problem, now));
    if (strcmp(then, now) == 0) return DROVE_OK;
    /* Features and classes, without which the model is another one. */
    const size_t n = strcspn(now, ",") + 1;
    const size_t shape = n + strcspn(now + n, ",");
    const bool may_go_on =
        strncmp(then, now, shape) == 0 && (then[shape] == ',' || then[shape] == '\0');
    const bool had_rows = strstr(then, " rows") != NULL;
    if (may_go_on && config->files.data_may_change) return DROVE_OK;
    if (may_go_on &&
        had_rows != (problem->stream == NULL)) /* other examples are held out, in blocks */
        return drove__fail(DROVE_E_ARG,
                           "--data %s: expected examples %s, as in the run to be continued, found "
                           "them %s, by the memory (a %s --memory makes them so)",
                           config->problem.data, had_rows ? "in memory" : "read from disk",
                           had_rows ? "read from disk" : "in memory",
                           had_rows ? "larger" : "smaller");
    return drove__fail(DROVE_E_ARG,
                       "--data %s: expected the training data of the run to be continued (%.127s), "
                       "found others (%s)%s",
                       config->problem.data, then, now,
                       may_go_on ? "; --data-changed goes on with them" : ", for another model");
}

/* A count so large can be no sum of others any more. */
static drove_status check_counts(const char *name, const uint64_t *count, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (count[i] <= MOST_COUNT) continue;
        return drove__fail(DROVE_E_DATA, "tensor \"%s\": expected counts up to 2^62, found %llu",
                           name, (unsigned long long)count[i]);
    }
    return DROVE_OK;
}

/* *t: the largest step of a rule so far. */
static drove_status load_worker(const drove_workers *workers, const drove_safetensors *st,
                                unsigned i, bool is_same, uint64_t *t)
{
    char name[DROVE_TENSOR_NAME_SIZE];
    const void *bytes;
    uint64_t trace[N_TRACE + N_STALENESS];
    drove_worker *w = &workers->loop->worker[i % workers->plan.n_workers];
    snprintf(name, sizeof name, "worker.%u.trace", i);
    DROVE_TRY(drove__safetensors_want(st, name, DROVE_T_U64, N_TRACE + N_STALENESS, &bytes));
    memcpy(trace, bytes, sizeof trace);
    DROVE_TRY(check_counts(name, trace, N_TRACE + N_STALENESS));
    /* Adds, so that the counts of workers that no longer exist live on in those that do. */
    drove_trace_worker *counts = &w->trace;
    atomic_fetch_add(&counts->examples, trace[0]);
    atomic_fetch_add(&counts->updates, trace[1]);
    counts->steps += trace[2];
    counts->attempts += trace[3];
    counts->dropped += trace[4];
    counts->busy_ns += trace[5];
    counts->clamped += trace[7];
    for (int p = 0; p < DROVE_N_PHASES; p++) counts->phase_ns[p] += trace[N_TRACE_HEAD + p];
    const uint64_t *h = trace + N_TRACE;
    drove_histogram saved = {.n = h[DROVE_HIST_BUCKETS],
                             .max = h[DROVE_HIST_BUCKETS + 1],
                             .sum = (double)h[DROVE_HIST_BUCKETS + 2]};
    memcpy(saved.count, h, sizeof saved.count);
    drove__hist_merge(&counts->staleness, &saved);
    if (trace[6] > *t) *t = trace[6];
    if (is_same || w->optim.state[0] == NULL) w->optim.t = trace[6];
    for (unsigned k = 0; k < DROVE_RULE_MAX_STATE && is_same; k++) {
        if (w->optim.state[k] == NULL) continue;
        snprintf(name, sizeof name, "worker.%u.state.%u", i, k);
        DROVE_TRY(drove__safetensors_want(st, name, DROVE_T_F32, workers->optim->n_theta, &bytes));
        memcpy(w->optim.state[k], bytes, workers->optim->n_theta * sizeof(float));
    }
    return DROVE_OK;
}

/* state[k] of all that are saved, their mean. */
static drove_status mean_state(const drove_safetensors *st, unsigned n_saved, unsigned k, size_t n,
                               float *mean)
{
    memset(mean, 0, n * sizeof *mean);
    for (unsigned i = 0; i < n_saved; i++) {
        char name[DROVE_TENSOR_NAME_SIZE];
        const void *bytes;
        snprintf(name, sizeof name, "worker.%u.state.%u", i, k);
        DROVE_TRY(drove__safetensors_want(st, name, DROVE_T_F32, n, &bytes));
        for (size_t j = 0; j < n; j++) mean[j] += ((const float *)bytes)[j] / (float)n_saved;
    }
    return DROVE_OK;
}

/* Workers of another number, each with a state of the rule of its own, begin with the mean of those
 * before, at the step that the last of them had reached. */
static drove_status load_mean_states(const drove_workers *workers, const drove_safetensors *st,
                                     unsigned n_saved, uint64_t t)
{
    const size_t n = workers->optim->n_theta;
    const float *mean[DROVE_RULE_MAX_STATE] = {NULL};
    for (unsigned i = 0; i < workers->plan.n_workers; i++) {
        drove_optim_worker *o = &workers->loop->worker[i].optim;
        for (unsigned k = 0; k < DROVE_RULE_MAX_STATE; k++) {
            if (o->state[k] == NULL) continue; /* shared, or another rank's */
            o->t = t;
            if (mean[k] != NULL) memcpy(o->state[k], mean[k], n * sizeof(float));
            else DROVE_TRY(mean_state(st, n_saved, k, n, o->state[k]));
            mean[k] = o->state[k];
        }
    }
    return DROVE_OK;
}

/* Windows of data on disk follow from the memory, also from that which happens to be in use.  This
 * goes on with the windows of now, where the examples of the epoch that are counted end: some come
 * twice or not at all in this epoch. */
static drove_status convert_windows(const drove_workers *workers, const drove_callbacks *cb,
                                    const drove_safetensors *st, uint64_t rows, uint64_t next)
{
    const drove_order *order = &workers->loop->order;
    const char *text = drove__safetensors_meta(st, "window_blocks");
    uint64_t n_blocks = order->windows->per_window;
    if (text != NULL) DROVE_TRY(drove__parse_u64("window_blocks", text, 1, UINT32_MAX, &n_blocks));
    if (n_blocks == order->windows->per_window && rows == order->batch) return DROVE_OK;
    const drove_windows then = drove__windows_with(order->windows, n_blocks);
    const uint64_t per_epoch = drove__windows_batches(&then, rows);
    const uint64_t examples = drove__windows_examples(&then, rows, next % per_epoch);
    const uint64_t inside = drove__windows_reach(order->windows, order->batch, examples);
    atomic_store(&workers->loop->source->next, next / per_epoch * order->per_epoch + inside);
    if (inside > 0)
        drove__run_say(cb,
                       "data: windows of %llu blocks instead of %llu, by the memory: some "
                       "examples of this epoch come twice or not at all",
                       (unsigned long long)order->windows->per_window,
                       (unsigned long long)n_blocks);
    return DROVE_OK;
}

/* The counter of batches was in turns of that run.  Where turns have another size now, this goes on
 * at the turn that the counted examples reach. */
static drove_status convert_turns(const drove_problem *problem, const drove_workers *workers,
                                  const drove_callbacks *cb, const drove_safetensors *st,
                                  drove_left_out *then)
{
    uint64_t rows, n = workers->loop->order.n_rows,
                   next = atomic_load(&workers->loop->source->next);
    const char *text = drove__safetensors_meta(st, "turn_rows");
    if (text == NULL)
        return drove__fail(DROVE_E_DATA, "expected metadata \"turn_rows\", found none");
    DROVE_TRY(drove__parse_u64("turn_rows", text, 1, UINT32_MAX, &rows));
    then->rows = rows;
    then->next = next;
    if (problem->stream != NULL) return convert_windows(workers, cb, st, rows, next);
    if (rows == workers->loop->order.batch) return DROVE_OK;
    uint64_t per_epoch = (n + rows - 1) / rows;
    uint64_t inside = next % per_epoch * rows / workers->loop->order.batch;
    atomic_store(&workers->loop->source->next,
                 next / per_epoch * workers->loop->order.per_epoch + inside);
    return DROVE_OK;
}

/* Refuses the file of a run with other options, data or model.  counters: its own. */
static drove_status check_all(const drove_config *config, const drove_problem *problem,
                              const drove_workers *workers, const drove_safetensors *st,
                              uint64_t counters[N_COUNTERS])
{
    const void *bytes;
    DROVE_TRY(check_options(config, workers, st));
    /* The scaling that data have by default may be another one in another version. */
    const char *scale = drove__scaling_name(drove__data_scale(problem->train).scaling);
    const char *saved_scale = drove__safetensors_meta(st, "scale");
    if (saved_scale == NULL) saved_scale = "";
    if (strcmp(saved_scale, scale) != 0)
        return drove__fail(
            DROVE_E_ARG,
            "--data %s: the run to be continued has ?scale=%s where this version takes "
            "%s; expected a new run (--model MODEL_FILE begins with its parameters)",
            config->problem.data, saved_scale, scale);
    /* A network from a file: the file may have changed. */
    const char *graph = problem->model->graph_text,
               *saved_graph = drove__safetensors_meta(st, "graph");
    if (graph != NULL && (saved_graph == NULL || strcmp(graph, saved_graph) != 0))
        return drove__fail(
            DROVE_E_ARG,
            "--model %s: expected the network of the run to be continued, found another",
            config->problem.model);
    DROVE_TRY(check_data(config, problem, workers, st));
    DROVE_TRY(drove__safetensors_want(st, "counters", DROVE_T_U64, N_COUNTERS, &bytes));
    memcpy(counters, bytes, N_COUNTERS * sizeof *counters);
    DROVE_TRY(check_counts("counters", counters, N_COUNTERS));
    if (!drove__run_takes_number(workers, counters[6]))
        return drove__fail(DROVE_E_ARG,
                           "--%s: expected %llu %sas in the run to be continued, found %u",
                           workers->plan.source->counts_rows ? "workers" : "threads",
                           (unsigned long long)counters[6],
                           workers->plan.source->counts_rows ? "threads in all " : "",
                           workers->plan.n_workers);
    /* --global-batch says another batch for another number of workers alone. */
    const char *batch = drove__safetensors_meta(st, "batch");
    const uint64_t global = batch != NULL ? strtoull(batch, NULL, 10) * counters[6] : 0;
    if (config->method.global_batch != 0 && counters[6] == workers->plan.n_workers && global != 0 &&
        global != config->method.global_batch)
        return drove__fail(
            DROVE_E_ARG, "--global-batch: expected %llu as in the run to be continued, found %llu",
            (unsigned long long)global, (unsigned long long)config->method.global_batch);
    /* --until may have changed which of them are for validation. */
    if (counters[7] == problem->n_train_whole) return DROVE_OK;
    if (problem->stream != NULL)
        return drove__fail(
            DROVE_E_ARG,
            "--memory: expected as much as the run to be continued had, since it took other "
            "examples for testing and validation: %llu training examples without them, found "
            "%zu",
            (unsigned long long)counters[7], problem->n_train_whole);
    return drove__fail(DROVE_E_ARG,
                       "--until: expected the same validation examples as in the run to be "
                       "continued, %llu training examples without them, found %zu",
                       (unsigned long long)counters[7], problem->n_train_whole);
}

/* The standing, and the best parameters. */
static drove_status load_standing(const drove_problem *problem, drove_state *state,
                                  const drove_safetensors *st, const uint64_t counters[N_COUNTERS])
{
    const void *bytes;
    double standing[N_STANDING];
    DROVE_TRY(drove__safetensors_want(st, "standing", DROVE_T_F64, N_STANDING, &bytes));
    memcpy(standing, bytes, sizeof standing);
    unpack_standing(&state->standing, standing);
    /* Without a step it was a pack's time: the training of its network begins now. */
    state->standing.train_ns = counters[1] > 0 ? counters[2] : 0;
    state->standing.n_evaluations = counters[3];
    state->standing.since_best = counters[4];
    state->standing.evaluation_slot = counters[5];
    DROVE_TRY(drove__safetensors_want(st, "best", DROVE_T_F32, problem->model->n_params, &bytes));
    memcpy(state->best, bytes, problem->model->n_params * sizeof(float));
    return DROVE_OK;
}

/* What each worker has counted and its rule has kept, and the range of low-precision words. */
static drove_status load_workers(const drove_config *config, const drove_workers *workers,
                                 const drove_callbacks *cb, const drove_safetensors *st,
                                 unsigned n_saved)
{
    const bool are_as_many = n_saved == workers->plan.n_workers;
    uint64_t t = 0;
    for (unsigned i = 0; i < n_saved; i++) DROVE_TRY(load_worker(workers, st, i, are_as_many, &t));
    if (!are_as_many) DROVE_TRY(load_mean_states(workers, st, n_saved, t));
    drove__run_say_other_number(config, workers, cb, st, n_saved);
    /* The words of low-precision parameters mean what they meant under the range of then. */
    double range;
    if (workers->loop->shared == NULL) return DROVE_OK;
    const char *text = drove__safetensors_meta(st, "found_range");
    if (text == NULL)
        return drove__fail(DROVE_E_DATA, "expected metadata \"found_range\", found none");
    DROVE_TRY(drove__parse_real("found_range", text, 0, FLT_MAX, &range));
    return workers->loop->core_ops->typed->set_range(workers->loop->shared, range);
}

/* The next batch, in the turns and rounds of now.  names: --workers. */
static drove_status load_source(const drove_problem *problem, drove_workers *workers,
                                drove_state *state, const drove_callbacks *cb,
                                const drove_safetensors *st, const uint64_t counters[N_COUNTERS],
                                const char *names)
{
    drove_source *from = workers->loop->source;
    drove_left_out then = {.n_workers = (unsigned)counters[6]};
    atomic_store(&from->next, counters[0]);
    DROVE_TRY(convert_turns(problem, workers, cb, st, &then));
    /* Another number of workers goes on at its next whole round. */
    const uint64_t batch = atomic_load(&from->next), width = from->width;
    if (width > 0) atomic_store(&from->next, (batch + width - 1) / width * width);
    if (from->ops->restore != NULL) {
        const char *saved = drove__safetensors_meta(st, "workers");
        const bool are_as_many = then.n_workers == workers->plan.n_workers;
        bool is_same =
            saved != NULL && strcmp(saved, names != NULL ? names : "") == 0 && are_as_many;
        if (!is_same) {
            /* Work of others counts in the run's sums, but the time was theirs. */
            for (unsigned i = 0; i < workers->plan.n_workers; i++)
                workers->loop->worker[i].trace.busy_ns = 0;
            state->since_ns = state->standing.train_ns;
        }
        if (!from->ops->counts_rows)
            is_same = are_as_many && then.rows == workers->loop->order.batch;
        DROVE_TRY(from->ops->restore(from, st, is_same));
    }
    if (!workers->plan.source->counts_rows)
        drove__run_say_left_out(problem, workers, cb, st, &then);
    return DROVE_OK;
}

/* The vector, handed to the strategy, and the one that the run would step back to. */
static drove_status load_vector(const drove_workers *workers, drove_state *state,
                                const drove_safetensors *st, uint64_t published)
{
    drove_sync *sync = workers->loop->sync;
    const size_t n = sync->n_vector;
    const void *bytes;
    workers->optim->back_off = state->standing.back_off;
    if (drove__safetensors_find(st, "back") != NULL) {
        DROVE_TRY(drove__safetensors_want(st, "back", DROVE_T_F32, n, &bytes));
        state->back = drove__alloc(n, sizeof *state->back);
        if (state->back == NULL) return drove__fail_nomem("parameters to step back to", n);
        memcpy(state->back, bytes, n * sizeof *state->back);
    }
    DROVE_TRY(drove__safetensors_want(st, "vector", DROVE_T_F32, n, &bytes));
    drove_params vector = {.theta = (float *)(uintptr_t)bytes};
    if (workers->loop->shared != NULL)
        vector = (drove_params){.words = (uint32_t *)(uintptr_t)bytes};
    return drove__sync_restore(sync, published, &vector, st);
}

/* *is_damaged: the file is not there, or not as it was written.  Any other error may pass, and the
 * file with it would be lost: the next save puts another in its place. */
static drove_status load_named(const char *folder, const char *name, drove_safetensors *st,
                               bool *is_damaged)
{
    char *path = drove__path_join(folder, name);
    if (path == NULL) return drove__fail_nomem("a path", strlen(folder));
    const drove_status status = drove__safetensors_load(path, st);
    *is_damaged = status == DROVE_E_DATA ||
                  (status == DROVE_E_FILE && access(path, F_OK) != 0 && errno == ENOENT);
    free(path);
    return status;
}

/* The last state, or the one before it if that is damaged or away: a message says so. */
static drove_status load_file(const char *folder, const drove_callbacks *cb, const char **out_name,
                              drove_safetensors *st)
{
    char why[DROVE_ERROR_TEXT_SIZE];
    bool is_damaged;
    const drove_status last = load_named(folder, DROVE_STATE_NAME, st, &is_damaged);
    *out_name = DROVE_STATE_NAME;
    if (last == DROVE_OK || !is_damaged) return last;
    drove__error_copy(why);
    const drove_status status = load_named(folder, DROVE_STATE_PREVIOUS_NAME, st, &is_damaged);
    *out_name = DROVE_STATE_PREVIOUS_NAME;
    if (status == DROVE_OK)
        drove__run_warn(cb, "--resume: %s; this goes on from the save before it, %s", why,
                        DROVE_STATE_PREVIOUS_NAME);
    if (status == DROVE_OK || status == DROVE_E_NOMEM) return status;
    return drove__fail(last, "%s", why);
}

/* The strategy gets its vector last: what can be refused is refused before anything is changed
 * there. */
drove_status drove__state_load(drove_run *run)
{
    const drove_config_files *files = &run->config.files;
    const drove_callbacks *cb = &run->output.cb;
    drove_workers *workers = &run->workers;
    drove_state *state = &run->state;
    drove_safetensors st;
    uint64_t counters[N_COUNTERS];
    const bool is_recorded = drove__replay_has_state(workers);
    const char *flag = is_recorded ? "--replay" : "--resume";
    drove_status status = DROVE_OK;
    if (is_recorded) {
        status = drove__replay_state(workers, &st);
    } else if (files->resume == NULL) {
        return DROVE_OK;
    } else {
        if (workers->ranks.rank == 0)
            status = load_file(files->resume, cb, &state->resumed_name, &st);
        status = drove__ranks_share(workers, status, &st);
    }
    if (status != DROVE_OK) return drove__fail_in(status, "%s", flag);
    status = check_all(&run->config, &run->problem, workers, &st, counters);
    if (status != DROVE_OK) goto fail;
    if ((status = load_standing(&run->problem, state, &st, counters)) != DROVE_OK) goto fail;
    status = load_workers(&run->config, workers, cb, &st, (unsigned)counters[6]);
    if (status != DROVE_OK) goto fail;
    drove__ranks_standing(workers);
    status =
        load_source(&run->problem, workers, state, cb, &st, counters, run->config.machine.workers);
    if (status != DROVE_OK) goto fail;
    state->save = (drove_saving){.is_there = files->resume != NULL,
                                 .done_batches = atomic_load(&workers->loop->source->next),
                                 .done_updates = counters[1],
                                 .done_ns = counters[2]};
    status = load_vector(workers, state, &st, counters[1]);
fail:
    drove__safetensors_fini(&st);
    if (status == DROVE_OK) return DROVE_OK;
    return drove__fail_in(status, "%s: %s", flag, is_recorded ? files->replay : files->resume);
}
