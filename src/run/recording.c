/* run/recording.c - see recording.h. */
#include "run/recording.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/locale.h"
#include "report/report.h"
#include "run/facts.h"
#include "run/output.h"
#include "run/progress.h"
#include "strategy/serialised.h"

#include <drove/version.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 };

/* What a record says of itself, in the object "record" of its header. */
typedef struct header {
    char isa[NAME_SIZE], gemm[DROVE_TEXT_SIZE], version[NAME_SIZE];
    char data[DROVE_STATE_DATA_SIZE], first[DROVE_CHECKSUM_TEXT_SIZE];
    unsigned width, n_workers;
    bool recovers;
} header;

struct drove_repeating { /* of a run with --replay */
    drove_replay replay;
    header header;
    drove_recorded_run *record;
    drove_writer *steps; /* --replay-steps; NULL: not wanted */
    uint64_t n_marks;    /* compared */
    bool has_mark;       /* replay.mark is that of the last stretch */
    bool is_shorter;     /* --until is not the recorded one */
};

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
    static const char *const host[] = {"threads", "processes", "ranks of a job"};
    if (run->plan.host != DROVE_HOST_THREADS)
        return refuse(run, "workers that are threads", host[run->plan.host]);
    if (run->opt.resume[0] != '\0') return refuse(run, "a run from its beginning", "--resume");
    if (run->repeating != NULL && run->opt.record[0] != '\0')
        return refuse(run, "no --record", run->opt.record);
    return DROVE_OK;
}

drove_status drove__run_record_strategy(drove_run *run)
{
    drove_sync *s = run->loop->sync;
    if (!is_recorded(run)) return DROVE_OK;
    DROVE_TRY(check_run(run));
    run->repeat = DROVE_REPEAT_ORDER;
    if ((s->ops->promises & DROVE_SYNC_REPEATABLE) != 0) {
        run->repeat = DROVE_REPEAT_AGAIN;
        if (run->opt.replay_steps[0] == '\0') return DROVE_OK;
        return drove__fail(DROVE_E_ARG,
                           "--replay-steps: expected a method that is repeated step by step, found "
                           "%s, which is run again",
                           run->plan.spec);
    }
    /* Its windows are read while all workers train; one thread cannot wait for the others. */
    if (run->stream != NULL)
        return refuse(run, "data in memory (--memory), for an asynchronous method", "data on disk");
    if ((s->needs & DROVE_SYNC_RACY) != 0 && strstr(run->plan.spec, "overlap=1") != NULL)
        return refuse(run, "exchanges without overlap=1, as they race", run->plan.spec);
    if ((s->needs & DROVE_SYNC_SPREAD) != 0 && strcmp(run->opt.messages, "layers") == 0)
        return refuse(run, "--messages packed", "layers, which take their turns one by one");
    if (run->optim->by_staleness && (s->needs & DROVE_SYNC_OWN_VECTOR) != 0)
        return refuse(run, "a schedule without staleness", run->opt.schedule);
    if ((s->needs & DROVE_SYNC_RACY) != 0)
        return drove__sync_serialise(s, run->loop->shared != NULL);
    if ((s->ops->promises & DROVE_SYNC_ORDERED) != 0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "%s: expected a strategy whose steps have an order, or that repeats by "
                       "itself, found %s%s%s",
                       flag_of(run), run->plan.spec, run->opt.period[0] != '\0' ? " --period " : "",
                       run->opt.period);
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
    drove__checksum_print(checksum_now(run), first);
    return json_pack("{s:s, s:b, s:i, s:i, s:s, s:s, s:s, s:s}", "repeat",
                     run->repeat == DROVE_REPEAT_AGAIN ? "again" : "order", "recovers",
                     run->standing.recovers ? 1 : 0, "workers", (int)run->plan.n_workers, "width",
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

drove_status drove__run_record_begin(drove_run *run)
{
    char *text;
    if (run->opt.record[0] == '\0') return DROVE_OK;
    DROVE_TRY(make_header(run, &text));
    drove_status status =
        drove__recording_create(run->opt.record, text, run->plan.n_workers, &run->loop->recording);
    free(text);
    return status;
}

static drove_recorded_mark mark_of(drove_run *run)
{
    return (drove_recorded_mark){.next = atomic_load(&run->loop->source->next),
                                 .published = atomic_load(&run->loop->sync->published),
                                 .checksum = checksum_now(run),
                                 .train_ns = run->standing.train_ns};
}

/* ---- the header of a record ---- */

static drove_status fail_header(const drove_repeating *p, const char *what)
{
    return drove__fail(DROVE_E_DATA, "%s: expected a header with %s, found none",
                       drove__recorded_path(p->record), what);
}

static bool take_text(const json_t *object, const char *key, char *into, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL && (size_t)snprintf(into, size, "%s", text) < size;
}

static bool take_count(const json_t *object, const char *key, unsigned *out)
{
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    *out = (unsigned)number;
    return json_is_integer(value) && number >= 0 && number <= 1 << 16;
}

static drove_status read_record(drove_repeating *p, const json_t *object)
{
    header *h = &p->header;
    const json_t *record = json_object_get(object, "record");
    bool is_good = take_text(object, "drove", h->version, sizeof h->version) &&
                   take_text(record, "isa", h->isa, sizeof h->isa) &&
                   take_text(record, "gemm", h->gemm, sizeof h->gemm) &&
                   take_text(record, "data", h->data, sizeof h->data) &&
                   take_text(record, "first", h->first, sizeof h->first) &&
                   take_count(record, "workers", &h->n_workers) &&
                   take_count(record, "width", &h->width);
    if (!is_good) return fail_header(p, "\"record\"");
    h->recovers = json_is_true(json_object_get(record, "recovers"));
    if (h->n_workers != drove__recorded_workers(p->record))
        return drove__fail(DROVE_E_DATA, "%s: expected %u workers, as its header says, found %u",
                           drove__recorded_path(p->record), h->n_workers,
                           drove__recorded_workers(p->record));
    return DROVE_OK;
}

static drove_status parse_header(const drove_recorded_run *record, json_t **out)
{
    size_t size;
    json_error_t error;
    const char *text = drove__recorded_header(record, &size);
    drove_status status = drove__json_parse(text, size, 0, &error, out);
    if (status == DROVE_E_DATA)
        return drove__fail(DROVE_E_DATA, "%s: expected a header of JSON, found: %s",
                           drove__recorded_path(record), error.text);
    return status;
}

/* The options of the recorded run. */
static drove_status recorded_options(const drove_recorded_run *record, const json_t *object,
                                     drove_options *options)
{
    drove_status status = drove__options_unpack(json_object_get(object, "options"), options);
    return status == DROVE_OK ? DROVE_OK
                              : drove__fail_in(status, "%s", drove__recorded_path(record));
}

drove_status drove_options_replay(drove_options *options, const char *path)
{
    DROVE_IN_C_LOCALE;
    drove_recorded_run *record;
    json_t *object = NULL;
    drove_options result = *options;
    drove_status status = drove__recorded_open(path, &record);
    if (status == DROVE_OK) status = parse_header(record, &object);
    if (status == DROVE_OK) status = recorded_options(record, object, &result);
    json_decref(object);
    drove__recorded_close(record);
    if (status != DROVE_OK) return drove__fail_in(status, "--replay");
    static const char *const none[] = {"out", "resume", "timeline", "record", "replay_steps"};
    for (size_t i = 0; i < DROVE_COUNT(none); i++)
        (void)drove_options_set(&result, none[i], "none"); /* a word of each */
    DROVE_TRY(drove_options_set(&result, "replay", path));
    *options = result;
    return DROVE_OK;
}

/* ---- opening a record ---- */

/* Options that do not decide the bits. */
static bool may_differ(const drove_option_info *info)
{
    static const char *const others[] = {"until", "save_every", "metrics", "resume",
                                         "data_changed"};
    for (size_t i = 0; i < DROVE_COUNT(others); i++)
        if (strcmp(info->name, others[i]) == 0) return true;
    return info->is_local;
}

static drove_status expect_same(const char *flag, const char *then, const char *now)
{
    if (strcmp(then, now) == 0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "--replay: expected %s %s, as it was recorded, found %s", flag,
                       then[0] != '\0' ? then : "auto", now[0] != '\0' ? now : "auto");
}

static drove_status compare_options(const drove_run *run, const drove_options *recorded)
{
    char flag[DROVE_FLAG_SIZE], now[DROVE_TEXT_SIZE], then[DROVE_TEXT_SIZE];
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (may_differ(&info[i])) continue;
        DROVE_TRY(drove_options_get(&run->opt, info[i].name, now, sizeof now));
        DROVE_TRY(drove_options_get(recorded, info[i].name, then, sizeof then));
        DROVE_TRY(expect_same(drove_flag_text(info[i].name, flag), then, now));
    }
    return DROVE_OK;
}

/* As many updates as --until now says, if it says something else. */
static drove_status read_until(drove_run *run, const drove_options *recorded)
{
    drove_until now, then;
    DROVE_TRY(drove__until_parse(run->opt.until, &now));
    DROVE_TRY(drove__until_parse(recorded->until, &then));
    run->repeating->replay.most_updates = now.updates < then.updates ? now.updates : UINT64_MAX;
    run->repeating->is_shorter = strcmp(run->opt.until, recorded->until) != 0;
    if (run->repeating->is_shorter &&
        (isfinite(now.seconds) || (now.updates != UINT64_MAX && now.updates > then.updates)))
        return drove__fail(DROVE_E_ARG,
                           "--replay: expected --until with fewer updates or epochs than %s, found "
                           "%s",
                           recorded->until, run->opt.until);
    if (now.validation == then.validation && now.validation_is_part == then.validation_is_part)
        return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--replay: expected --until with the same validation examples as %s, found "
                       "%s",
                       recorded->until, run->opt.until);
}

/* What depends on the machine is as it was. */
static drove_status take_machine(drove_run *run, const drove_options *recorded)
{
    const header *h = &run->repeating->header;
    char n[NAME_SIZE];
    DROVE_TRY(expect_same("--threads", recorded->threads, run->opt.threads));
    DROVE_TRY(expect_same("--isa", recorded->isa, run->opt.isa));
    snprintf(n, sizeof n, "%u", h->n_workers);
    if (run->opt.workers[0] == '\0') DROVE_TRY(drove_options_set(&run->opt, "threads", n));
    DROVE_TRY(drove_options_set(&run->opt, "isa", h->isa));
    memcpy(run->opt.memory, recorded->memory, sizeof run->opt.memory);
    return DROVE_OK;
}

static drove_status open_steps(drove_run *run)
{
    drove_repeating *p = run->repeating;
    if (run->opt.replay_steps[0] == '\0') return DROVE_OK;
    drove_status status = drove__writer_create(run->opt.replay_steps, &p->steps);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "--replay-steps");
}

drove_status drove__replay_open(drove_run *run)
{
    if (run->opt.replay[0] == '\0') return DROVE_OK;
    drove_repeating *p = run->repeating = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__fail_nomem("a replay", sizeof *p);
    drove_status status = drove__recorded_open(run->opt.replay, &p->record);
    if (status != DROVE_OK) return drove__fail_in(status, "--replay");
    json_t *object;
    drove_options recorded = drove__options_default();
    DROVE_TRY(parse_header(p->record, &object));
    status = read_record(p, object);
    if (status == DROVE_OK) status = recorded_options(p->record, object, &recorded);
    json_decref(object);
    DROVE_TRY(status);
    DROVE_TRY(compare_options(run, &recorded));
    DROVE_TRY(read_until(run, &recorded));
    DROVE_TRY(take_machine(run, &recorded));
    p->replay.record = p->record;
    return open_steps(run);
}

void drove__replay_close(drove_run *run)
{
    drove_repeating *p = run->repeating;
    if (p == NULL) return;
    drove__writer_abort(p->steps);
    drove__recorded_close(p->record);
    drove__free(p);
    run->repeating = NULL;
}

/* ---- repeating ---- */

static void print_number(FILE *stream, const char *key, double value)
{
    if (isfinite(value)) fprintf(stream, ", \"%s\": %.9g", key, value);
    else fprintf(stream, ", \"%s\": null", key);
}

static void stepped(void *context, const drove_replayed_step *step)
{
    const drove_repeating *p = context;
    const drove_recorded *r = step->recorded;
    FILE *stream = drove__writer_stream(p->steps);
    fprintf(stream, "{\"step\": %" PRIu64 ", \"worker\": %u, \"batch\": %" PRIu64,
            p->replay.n_steps, step->worker, r->number);
    if (r->n_rows > 0)
        fprintf(stream, ", \"first\": %" PRIu64 ", \"examples\": %" PRIu64, r->first, r->n_rows);
    fprintf(stream, ", \"read\": %" PRIu64, r->read);
    if (r->is_updated) fprintf(stream, ", \"written\": %" PRIu64, r->read + r->staleness + 1);
    fprintf(stream, ", \"staleness\": %" PRIu64 ", \"published\": %s", r->staleness,
            r->is_dropped ? "false" : "true");
    print_number(stream, "eta", (double)step->eta);
    if (!step->is_in_place) {
        print_number(stream, "loss", step->loss);
        print_number(stream, "gradient_norm", step->gradient_norm);
    }
    fputs("}\n", stream);
}

drove_status drove__replay_begin(drove_run *run)
{
    drove_repeating *p = run->repeating;
    char data[DROVE_STATE_DATA_SIZE], first[DROVE_CHECKSUM_TEXT_SIZE];
    drove_recorded_mark end;
    if (p == NULL) return DROVE_OK;
    DROVE_TRY(drove__state_describe_data(run, data));
    if (strcmp(data, p->header.data) != 0)
        return drove__fail(DROVE_E_DATA, "--replay: expected the recorded data, %s, found %s",
                           p->header.data, data);
    if (strcmp(p->header.gemm, drove__run_gemm(run)) != 0)
        drove__run_say(run, "--replay: recorded with the products of %s, repeated with those of %s",
                       p->header.gemm, drove__run_gemm(run));
    drove__checksum_print(checksum_now(run), first);
    if (strcmp(first, p->header.first) != 0)
        return drove__fail(DROVE_E_DATA,
                           "--replay: expected the recorded first parameters, with checksum %s, "
                           "found %s (recorded by drove %s)",
                           p->header.first, first, p->header.version);
    if (!drove__recorded_goes_on(p->record))
        return drove__fail(DROVE_E_DATA, "%s: expected training up to a mark, found none",
                           drove__recorded_path(p->record));
    if (!drove__recorded_end(p->record, &end) || end.outcome == 0)
        drove__run_say(run,
                       "--replay: the recorded run was killed, or failed: %" PRIu64
                       " bytes behind its last mark are left out",
                       drove__recorded_rest(p->record));
    run->until.seconds = INFINITY;
    run->standing.recovers = p->header.recovers; /* it follows from options that were auto */
    if (p->steps != NULL) {
        run->loop->measures_gradients = true;
        p->replay.stepped = stepped;
        p->replay.context = p;
    }
    return DROVE_OK;
}

drove_replay *drove__run_replay(drove_run *run)
{
    return run->repeating != NULL && run->repeat == DROVE_REPEAT_ORDER ? &run->repeating->replay
                                                                       : NULL;
}

unsigned drove__run_replay_width(const drove_run *run)
{
    return run->repeating->header.width;
}

bool drove__replay_goes_on(const drove_run *run)
{
    const drove_repeating *p = run->repeating;
    return p == NULL || drove__recorded_goes_on(p->record);
}

void drove__replay_stretch(drove_run *run, uint64_t *limit)
{
    drove_repeating *p = run->repeating;
    if (p == NULL) return;
    p->has_mark = run->repeat == DROVE_REPEAT_ORDER
                      ? drove__replay_next(&p->replay)
                      : drove__recorded_stretch(p->record, &p->replay.mark);
    if (p->replay.mark.next < *limit) *limit = p->replay.mark.next;
}

static drove_status compare(drove_run *run)
{
    drove_repeating *p = run->repeating;
    const drove_replay *r = &p->replay;
    const drove_recorded_mark now = mark_of(run);
    if (!p->has_mark || now.next != r->mark.next || r->is_cut || r->is_halted ||
        drove__run_signal(run) != 0)
        return DROVE_OK;
    p->n_marks++;
    if (now.checksum == r->mark.checksum && now.published == r->mark.published) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "--replay: expected the recorded parameters after %" PRIu64
                       " updates, found others after %" PRIu64,
                       r->mark.published, now.published);
}

drove_status drove__run_record_parked(drove_run *run)
{
    if (run->repeating != NULL) DROVE_TRY(compare(run));
    if (run->loop->recording == NULL) return DROVE_OK;
    drove_recorded_mark mark = mark_of(run);
    return drove__recording_mark(run->loop->recording, &mark);
}

void drove__replay_outcome(drove_run *run)
{
    drove_recorded_mark end;
    if (run->repeating == NULL || drove__recorded_goes_on(run->repeating->record)) return;
    if (!drove__recorded_end(run->repeating->record, &end) || end.outcome == 0) return;
    run->outcome = end.outcome - 1 == DROVE_MISSED ? DROVE_MISSED : DROVE_FINISHED;
}

static drove_status end_recording(drove_run *run)
{
    drove_recorded_mark mark = mark_of(run);
    mark.outcome = 1 + (unsigned)run->outcome;
    DROVE_TRY(drove__recording_mark(run->loop->recording, &mark));
    drove__run_say(run, "record: %s: %" PRIu64 " steps of %u worker%s, %.1f bytes each",
                   run->opt.record, mark.n_steps, run->plan.n_workers,
                   run->plan.n_workers == 1 ? "" : "s",
                   mark.n_steps == 0 ? 0.0
                                     : (double)drove__recording_bytes(run->loop->recording) /
                                           (double)mark.n_steps);
    return DROVE_OK;
}

static drove_status end_replay(drove_run *run)
{
    drove_repeating *p = run->repeating;
    drove_writer *steps = p->steps;
    if (!p->is_shorter && run->outcome != DROVE_INTERRUPTED && drove__recorded_goes_on(p->record))
        return drove__fail(DROVE_E_DATA,
                           "--replay: expected the end of the recorded run, found an earlier one "
                           "(%s)",
                           drove_outcome_name(run->outcome));
    if (run->repeat == DROVE_REPEAT_ORDER)
        drove__run_say(run,
                       "replay: %" PRIu64 " steps of %u worker%s on one thread: the same bits at "
                       "all of %" PRIu64 " marks",
                       p->replay.n_steps, run->plan.n_workers, run->plan.n_workers == 1 ? "" : "s",
                       p->n_marks);
    else
        drove__run_say(run,
                       "replay: run again, as %s repeats by itself: the same bits at all of "
                       "%" PRIu64 " marks",
                       run->plan.spec, p->n_marks);
    p->steps = NULL;
    return steps != NULL ? drove__writer_commit(steps) : DROVE_OK;
}

drove_status drove__run_record_end(drove_run *run)
{
    if (run->loop->recording != NULL) DROVE_TRY(end_recording(run));
    return run->repeating != NULL ? end_replay(run) : DROVE_OK;
}
