/* files/recording.c - see recording.h. */
#include "files/recording.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "loop/host.h"
#include "report/report.h"
#include "strategy/serialised.h"
#include "files/facts.h"
#include "problem/problem.h"
#include "values/progress.h"
#include "values/ranks.h"
#include "values/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *flag_of(const drove_workers *workers)
{
    return workers->repeating != NULL ? "--replay" : "--record";
}

/* ---- what can be recorded ---- */

static drove_status refuse(const drove_workers *workers, const char *expected, const char *found)
{
    return drove__fail(DROVE_E_ARG, "%s: expected %s, found %s", flag_of(workers), expected, found);
}

/* Exchanges in several messages, between which those of others may come. */
static bool by_layer(const drove_config *config, const drove_workers *workers)
{
    return (workers->loop->sync->needs & DROVE_SYNC_SPREAD) != 0 && config->exchange.by_layer;
}

static drove_status settle_method(const drove_config *config, drove_workers *workers)
{
    drove_sync *s = workers->loop->sync;
    workers->repeat = DROVE_REPEAT_ORDER;
    if ((s->promises & DROVE_SYNC_REPEATABLE) == 0) {
        const bool is_racy = (s->needs & DROVE_SYNC_RACY) != 0;
        if (is_racy && workers->ranks.n > 1)
            return refuse(workers, "a strategy without races, among ranks", workers->plan.spec);
        if (is_racy && strstr(workers->plan.spec, "overlap=1") != NULL)
            return refuse(workers, "exchanges without overlap=1, as they race", workers->plan.spec);
        if (by_layer(config, workers) && workers->ranks.n > 1)
            return refuse(workers, "--messages packed, among ranks",
                          "layers, which take their turns one by one");
        if (by_layer(config, workers) && strstr(workers->plan.spec, "overlap=1") != NULL)
            return refuse(workers, "--messages packed with overlap=1",
                          "layers, which take their turns one by one while a worker computes");
        if (!is_racy && (s->promises & DROVE_SYNC_ORDERED) == 0)
            return drove__fail(
                DROVE_E_ARG,
                "%s: expected a strategy whose steps have an order, or that repeats by "
                "itself, found %s%s%s",
                flag_of(workers), workers->plan.spec,
                config->exchange.period != NULL ? " --period " : "",
                config->exchange.period != NULL ? config->exchange.period : "");
        if ((s->needs & DROVE_SYNC_RACY) == 0 && !by_layer(config, workers)) return DROVE_OK;
        return drove__sync_serialise(s, workers->loop->shared != NULL);
    }
    workers->repeat = DROVE_REPEAT_AGAIN;
    if (config->files.replay_steps == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--replay-steps: expected a method that is repeated step by step, found "
                       "%s, which is run again",
                       workers->plan.spec);
}

/* Among ranks, rank 0 has the file, and the others keep their steps until they are parked. */
drove_status drove__run_record_strategy(const drove_config *config, const drove_problem *problem,
                                        drove_workers *workers)
{
    char text[DROVE_TEXT_SIZE];
    if (config->files.record == NULL && workers->repeating == NULL) return DROVE_OK;
    if (workers->repeating != NULL && config->files.record != NULL)
        return refuse(workers, "no --record", config->files.record);
    if (workers->repeating != NULL && workers->ranks.n > 1)
        return refuse(workers, "one process, which repeats all workers", "the ranks of a job");
    if (workers->ranks.n > 1 && config->exchange.owns_shard)
        return refuse(workers, "ranks that have all examples (--shard whole)", "--shard own");
    if (workers->ranks.n > 1 && config->machine.partition != 0)
        return refuse(workers, "no --partition, among ranks",
                      drove__config_text(config, "partition", text));
    DROVE_TRY(settle_method(config, workers));
    if (config->files.record == NULL || problem->given != NULL) return DROVE_OK; /* or a trial */
    return drove__recording_open(workers->ranks.rank == 0 ? config->files.record : NULL,
                                 workers->plan.n_workers, &workers->loop->trace.recording);
}

/* ---- recording ---- */

/* run.json, and what a replay needs besides; the caller frees *out. */
static drove_status make_header(const drove_config *config, const drove_problem *problem,
                                const drove_workers *workers, bool recovers, char **out)
{
    char data[DROVE_PROBLEM_TEXT_SIZE], first[DROVE_CHECKSUM_TEXT_SIZE];
    drove_start_facts facts;
    json_error_t error;
    json_t *object = NULL;
    char *text = NULL;
    DROVE_TRY(drove__problem_describe(problem, data));
    DROVE_TRY(drove__facts_start(config, problem, workers, &facts));
    drove_status status = drove__report_run(&facts, &text);
    drove__facts_start_fini(&facts);
    if (status == DROVE_OK) status = drove__json_parse(text, strlen(text), 0, &error, &object);
    free(text);
    DROVE_TRY(status);
    const drove_plan *plan = &workers->plan;
    drove__checksum_print(drove__run_checksum(workers), first);
    json_t *own = json_pack("{s:s, s:b, s:i, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:s}", "repeat",
                            workers->repeat == DROVE_REPEAT_AGAIN ? "again" : "order", "recovers",
                            recovers ? 1 : 0, "workers", (int)plan->n_workers, "host",
                            drove__record_host(plan->host), "ranks", (int)workers->ranks.n, "cores",
                            (int)plan->worker[plan->first_here].n_cores, "width",
                            (int)workers->loop->source->width, "isa", workers->kernels.isa, "gemm",
                            drove__run_gemm(problem, workers), "data", data, "first", first);
    drove__json_set(&object, "record", own);
    if (object != NULL) *out = drove__json_dump(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    const bool is_made = object != NULL && *out != NULL;
    json_decref(object);
    return is_made ? DROVE_OK : drove__fail_nomem("a record", 1);
}

drove_status drove__run_record_begin(const drove_config *config, const drove_problem *problem,
                                     const drove_workers *workers, bool recovers,
                                     const char *resumed_name)
{
    drove_recording *recording = workers->loop->trace.recording;
    char *text;
    DROVE_TRY(make_header(config, problem, workers, recovers, &text));
    drove_status status = drove__recording_begin(recording, text);
    free(text);
    if (status != DROVE_OK || resumed_name == NULL) return status;
    /* The file that the run goes on from, into the record. */
    enum { PIECE = 1 << 20 };
    drove_reader *reader = NULL;
    char *path = drove__path_join(config->files.resume, resumed_name), *piece = malloc(PIECE);
    status = path != NULL && piece != NULL ? DROVE_OK : drove__fail_nomem("a state", PIECE);
    if (status == DROVE_OK) status = drove__reader_open(path, &reader);
    for (size_t n = 1; status == DROVE_OK && n > 0;) {
        status = drove__reader_read_some(reader, piece, PIECE, &n);
        if (status == DROVE_OK && n > 0) status = drove__recording_state(recording, piece, n);
    }
    drove__reader_close(reader);
    free(piece);
    free(path);
    return status;
}

/* The run goes on without its record, which is good up to its last mark. */
static void leave_record(const drove_workers *workers)
{
    drove__recording_close(workers->loop->trace.recording);
    workers->loop->trace.recording = NULL;
}

/* Processes alone: any other worker comes to the end of its step. */
static bool has_lost_one(const drove_workers *workers)
{
    const drove_host *host = workers->loop->host;
    for (unsigned i = 0; host->ops->lost != NULL && i < workers->plan.n_workers; i++)
        if (host->ops->lost(host, i) != NULL) return true;
    return false;
}

static void give_up(const drove_workers *workers, drove_state *state, const drove_callbacks *cb)
{
    drove__error_copy(state->record_failure);
    drove__run_warn(cb, "%s; the run goes on without its record, which is good up to its last mark",
                    state->record_failure);
    leave_record(workers);
}

static void write_mark(const drove_workers *workers, drove_state *state, uint64_t outcome,
                       const drove_callbacks *cb)
{
    drove_recorded_mark mark = drove__run_record_mark(workers, state);
    mark.outcome = outcome;
    if (drove__recording_mark(workers->loop->trace.recording, &mark) != DROVE_OK)
        give_up(workers, state, cb);
}

drove_status drove__run_record_parked(const char *record, const drove_workers *workers,
                                      drove_state *state, const drove_callbacks *cb)
{
    if (workers->repeating != NULL) DROVE_TRY(drove__replay_parked(workers, state));
    if (record == NULL) return DROVE_OK;
    if (workers->ranks.n > 1) DROVE_TRY(drove__ranks_record(workers));
    if (workers->loop->trace.recording == NULL || workers->ranks.rank != 0) return DROVE_OK;
    if (has_lost_one(workers)) {
        drove__run_warn(cb,
                        "record: %s ends at its last mark: nobody knows how far the lost worker's "
                        "last step came",
                        record);
        leave_record(workers);
        return DROVE_OK;
    }
    write_mark(workers, state, 0, cb);
    return DROVE_OK;
}

/* A run that ends in its first failure, whose text stays. */
drove_status drove__run_record_failed(const drove_workers *workers, drove_state *state,
                                      drove_status status, const drove_callbacks *cb)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    if (workers->loop->trace.recording == NULL || workers->ranks.n > 1 || has_lost_one(workers))
        return status;
    drove__error_copy(text);
    /* A round that one worker did not end is not repeated. */
    if (workers->repeat == DROVE_REPEAT_ORDER) write_mark(workers, state, 0, cb);
    if (workers->loop->trace.recording != NULL)
        write_mark(workers, state, DROVE_RECORDED_FAILED, cb);
    return drove__fail(status, "%s", text);
}

drove_status drove__run_record_end(const char *record, const drove_workers *workers,
                                   drove_state *state, const drove_callbacks *cb)
{
    if (workers->loop->trace.recording != NULL && workers->ranks.rank == 0) {
        drove_recording *r = workers->loop->trace.recording;
        drove_recorded_mark mark = drove__run_record_mark(workers, state);
        mark.outcome = 1 + (unsigned)state->outcome;
        if (drove__recording_mark(r, &mark) != DROVE_OK) give_up(workers, state, cb);
        else
            drove__run_say(
                cb, "record: %s: %" PRIu64 " steps of %u worker%s, %.1f bytes each", record,
                mark.n_steps, workers->plan.n_workers, workers->plan.n_workers == 1 ? "" : "s",
                mark.n_steps == 0 ? 0.0 : (double)drove__recording_bytes(r) / (double)mark.n_steps);
    }
    return workers->repeating != NULL ? drove__replay_end(workers, state, cb) : DROVE_OK;
}

drove_status drove__run_record_status(const drove_state *state)
{
    if (state->record_failure[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_IO,
                       "%s; the run itself is complete, and the record is good up to "
                       "its last mark",
                       state->record_failure);
}
