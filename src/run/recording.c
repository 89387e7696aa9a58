/* run/recording.c - see recording.h. */
#include "run/recording.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "loop/host.h"
#include "report/report.h"
#include "run/facts.h"
#include "run/progress.h"
#include "run/ranks.h"
#include "strategy/serialised.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const hosts[] = {"threads", "processes", "ranks"};

bool drove__record_host_find(const char *name, drove_host_kind *out)
{
    for (size_t i = 0; i < DROVE_COUNT(hosts); i++) {
        if (strcmp(name, hosts[i]) != 0) continue;
        *out = (drove_host_kind)i;
        return true;
    }
    return false;
}

static bool is_recorded(const drove_run *run)
{
    return run->opt.record[0] != '\0' || run->repeating != NULL;
}

static const char *flag_of(const drove_run *run)
{
    return run->repeating != NULL ? "--replay" : "--record";
}

/* ---- what can be recorded ---- */

static drove_status refuse(const drove_run *run, const char *expected, const char *found)
{
    return drove__fail(DROVE_E_ARG, "%s: expected %s, found %s", flag_of(run), expected, found);
}

static drove_status check_run(const drove_run *run)
{
    if (run->repeating != NULL && run->opt.record[0] != '\0')
        return refuse(run, "no --record", run->opt.record);
    if (run->repeating != NULL && run->ranks.n > 1)
        return refuse(run, "one process, which repeats all workers", "the ranks of a job");
    if (run->ranks.n > 1 && strcmp(run->opt.shard, "own") == 0)
        return refuse(run, "ranks that have all examples (--shard whole)", "--shard own");
    if (run->ranks.n > 1 && run->opt.partition[0] != '\0')
        return refuse(run, "no --partition, among ranks", run->opt.partition);
    return DROVE_OK;
}

/* Exchanges in several messages, between which those of others may come. */
static bool by_layer(const drove_run *run)
{
    return (run->loop->sync->needs & DROVE_SYNC_SPREAD) != 0 &&
           strcmp(run->opt.messages, "layers") == 0;
}

/* Of a method that is repeated step by step. */
static drove_status check_steps(const drove_run *run)
{
    const drove_sync *s = run->loop->sync;
    const bool is_racy = (s->needs & DROVE_SYNC_RACY) != 0;
    if (is_racy && run->ranks.n > 1)
        return refuse(run, "a strategy without races, among ranks", run->plan.spec);
    if (is_racy && strstr(run->plan.spec, "overlap=1") != NULL)
        return refuse(run, "exchanges without overlap=1, as they race", run->plan.spec);
    if (by_layer(run) && run->ranks.n > 1)
        return refuse(run, "--messages packed, among ranks",
                      "layers, which take their turns one by one");
    if (by_layer(run) && strstr(run->plan.spec, "overlap=1") != NULL)
        return refuse(run, "--messages packed with overlap=1",
                      "layers, which take their turns one by one while a worker computes");
    if (is_racy || (s->ops->promises & DROVE_SYNC_ORDERED) != 0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s: expected a strategy whose steps have an order, or that repeats by "
                       "itself, found %s%s%s",
                       flag_of(run), run->plan.spec, run->opt.period[0] != '\0' ? " --period " : "",
                       run->opt.period);
}

static drove_status settle_method(drove_run *run)
{
    drove_sync *s = run->loop->sync;
    run->repeat = DROVE_REPEAT_ORDER;
    if ((s->ops->promises & DROVE_SYNC_REPEATABLE) == 0) {
        DROVE_TRY(check_steps(run));
        if ((s->needs & DROVE_SYNC_RACY) == 0 && !by_layer(run)) return DROVE_OK;
        return drove__sync_serialise(s, run->loop->shared != NULL);
    }
    run->repeat = DROVE_REPEAT_AGAIN;
    if (run->opt.replay_steps[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--replay-steps: expected a method that is repeated step by step, found "
                       "%s, which is run again",
                       run->plan.spec);
}

/* Of ranks, rank 0 has the file, and the others keep their steps until they are parked. */
drove_status drove__run_record_strategy(drove_run *run)
{
    if (!is_recorded(run)) return DROVE_OK;
    DROVE_TRY(check_run(run));
    DROVE_TRY(settle_method(run));
    if (run->opt.record[0] == '\0' || run->given != NULL) return DROVE_OK; /* or a trial */
    return drove__recording_open(run->ranks.rank == 0 ? run->opt.record : NULL, run->plan.n_workers,
                                 &run->loop->recording);
}

static uint64_t checksum_now(drove_run *run)
{
    drove_sync *s = run->loop->sync;
    const drove_params at = s->ops->peek(s);
    return drove__checksum(drove__params_bytes(&at), s->n_vector * sizeof(float));
}

/* ---- recording ---- */

static json_t *describe(drove_run *run, const char *data)
{
    char first[DROVE_CHECKSUM_TEXT_SIZE];
    const drove_plan *plan = &run->plan;
    drove__checksum_print(checksum_now(run), first);
    return json_pack("{s:s, s:b, s:i, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:s}", "repeat",
                     run->repeat == DROVE_REPEAT_AGAIN ? "again" : "order", "recovers",
                     run->standing.recovers ? 1 : 0, "workers", (int)plan->n_workers, "host",
                     hosts[plan->host], "ranks", (int)run->ranks.n, "cores",
                     (int)plan->worker[plan->first_here].n_cores, "width",
                     (int)run->loop->source->width, "isa", run->kernels.isa, "gemm",
                     drove__run_gemm(run), "data", data, "first", first);
}

/* run.json, and what a replay needs besides; the caller frees it. */
static drove_status make_header(drove_run *run, char **out)
{
    const drove_progress before = {0};
    char data[DROVE_STATE_DATA_SIZE];
    drove_facts facts;
    json_error_t error;
    json_t *object = NULL;
    char *text = NULL;
    DROVE_TRY(drove__state_describe_data(run, data));
    DROVE_TRY(drove__facts_evaluation(run, &before, &facts));
    drove_status status = drove__report_run(&facts, &text);
    drove__facts_fini(&facts);
    if (status == DROVE_OK) status = drove__json_parse(text, strlen(text), 0, &error, &object);
    free(text);
    DROVE_TRY(status);
    drove__json_set(&object, "record", describe(run, data));
    *out =
        object != NULL ? drove__json_dump(object, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("a record", 1);
}

/* The file that the run goes on from, into the record. */
static drove_status copy_state(drove_run *run)
{
    enum { PIECE = 1 << 20 };
    drove_reader *reader = NULL;
    char *path = drove__path_join(run->opt.resume, run->resumed_name), *piece = malloc(PIECE);
    drove_status status =
        path != NULL && piece != NULL ? DROVE_OK : drove__fail_nomem("a state", PIECE);
    if (status == DROVE_OK) status = drove__reader_open(path, &reader);
    for (size_t n = 1; status == DROVE_OK && n > 0;) {
        status = drove__reader_read_some(reader, piece, PIECE, &n);
        if (status == DROVE_OK && n > 0)
            status = drove__recording_state(run->loop->recording, piece, n);
    }
    drove__reader_close(reader);
    free(piece);
    free(path);
    return status;
}

static drove_status begin_file(drove_run *run)
{
    char *text;
    DROVE_TRY(make_header(run, &text));
    drove_status status = drove__recording_begin(run->loop->recording, text);
    free(text);
    if (status != DROVE_OK || run->resumed_name == NULL) return status;
    return copy_state(run);
}

drove_status drove__run_record_begin(drove_run *run)
{
    if (run->loop->recording == NULL) return DROVE_OK;
    return drove__ranks_agree(run, run->ranks.rank == 0 ? begin_file(run) : DROVE_OK);
}

drove_recorded_mark drove__run_record_mark(drove_run *run)
{
    return (drove_recorded_mark){.next = atomic_load(&run->loop->source->next),
                                 .published = atomic_load(&run->loop->sync->published),
                                 .checksum = checksum_now(run),
                                 .train_ns = run->standing.train_ns};
}

/* The run goes on without its record, which is good up to its last mark. */
static void leave_record(drove_run *run)
{
    drove__recording_close(run->loop->recording);
    run->loop->recording = NULL;
}

/* Processes alone: any other worker comes to the end of its step. */
static bool has_lost_one(const drove_run *run)
{
    const drove_host *host = run->loop->host;
    for (unsigned i = 0; host->ops->lost != NULL && i < run->plan.n_workers; i++)
        if (host->ops->lost(host, i) != NULL) return true;
    return false;
}

static void give_up(drove_run *run)
{
    drove__error_copy(run->record_failure);
    drove__run_warn(run,
                    "%s; the run goes on without its record, which is good up to its last mark",
                    run->record_failure);
    leave_record(run);
}

static void write_mark(drove_run *run, uint64_t outcome)
{
    drove_recorded_mark mark = drove__run_record_mark(run);
    mark.outcome = outcome;
    if (drove__recording_mark(run->loop->recording, &mark) != DROVE_OK) give_up(run);
}

static drove_status mark_stretch(drove_run *run)
{
    if (run->ranks.n > 1) DROVE_TRY(drove__ranks_record(run));
    if (run->loop->recording == NULL || run->ranks.rank != 0) return DROVE_OK;
    if (has_lost_one(run)) {
        drove__run_warn(run,
                        "record: %s ends at its last mark: nobody knows how far the lost worker's "
                        "last step came",
                        run->opt.record);
        leave_record(run);
        return DROVE_OK;
    }
    write_mark(run, 0);
    return DROVE_OK;
}

drove_status drove__run_record_parked(drove_run *run)
{
    if (run->repeating != NULL) DROVE_TRY(drove__replay_parked(run));
    return run->opt.record[0] != '\0' && run->given == NULL ? mark_stretch(run) : DROVE_OK;
}

/* A run that ends in its first failure, whose text stays. */
drove_status drove__run_record_failed(drove_run *run, drove_status status)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    if (run->loop->recording == NULL || run->ranks.n > 1 || has_lost_one(run)) return status;
    drove__error_copy(text);
    /* A round that one worker did not end is not repeated. */
    if (run->repeat == DROVE_REPEAT_ORDER) write_mark(run, 0);
    if (run->loop->recording != NULL) write_mark(run, DROVE_RECORDED_FAILED);
    return drove__fail(status, "%s", text);
}

static void end_recording(drove_run *run)
{
    drove_recording *r = run->loop->recording;
    drove_recorded_mark mark = drove__run_record_mark(run);
    mark.outcome = 1 + (unsigned)run->outcome;
    if (drove__recording_mark(r, &mark) != DROVE_OK) {
        give_up(run);
        return;
    }
    drove__run_say(run, "record: %s: %" PRIu64 " steps of %u worker%s, %.1f bytes each",
                   run->opt.record, mark.n_steps, run->plan.n_workers,
                   run->plan.n_workers == 1 ? "" : "s",
                   mark.n_steps == 0 ? 0.0
                                     : (double)drove__recording_bytes(r) / (double)mark.n_steps);
}

drove_status drove__run_record_end(drove_run *run)
{
    if (run->loop->recording != NULL && run->ranks.rank == 0) end_recording(run);
    return run->repeating != NULL ? drove__replay_end(run) : DROVE_OK;
}

drove_status drove__run_record_status(const drove_run *run)
{
    if (run->record_failure[0] == '\0') return DROVE_OK;
    return drove__fail(DROVE_E_IO,
                       "%s; the run itself is complete, and the record is good up to "
                       "its last mark",
                       run->record_failure);
}
