/* files/repeating.c - --replay: reads a record, and compares the run with it.  See recording.h. */
#include "files/output.h"
#include "problem/problem.h"
#include "values/progress.h"
#include "files/recording.h"
#include "values/say.h"

#include "base/alive.h"
#include "base/checksum.h"
#include "base/file.h"
#include "base/given.h"
#include "base/json.h"
#include "base/locale.h"
#include "base/memfile.h"
#include "plan/workers.h"

#include <drove/version.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 };

/* A record's own description, in the object "record" of its header. */
typedef struct header {
    char isa[NAME_SIZE], gemm[DROVE_TEXT_SIZE], version[NAME_SIZE];
    char data[DROVE_PROBLEM_TEXT_SIZE], first[DROVE_CHECKSUM_TEXT_SIZE];
    unsigned width, n_workers, n_ranks, n_cores;
    drove_host_kind host;
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

/* ---- the header of a record ---- */

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

/* How its workers lived. */
static bool take_place(const json_t *record, header *h)
{
    const char *host = json_string_value(json_object_get(record, "host"));
    return host != NULL && drove__record_host_find(host, &h->host) &&
           take_count(record, "ranks", &h->n_ranks) && take_count(record, "cores", &h->n_cores) &&
           h->n_ranks >= 1 && h->n_cores >= 1 && h->n_workers % h->n_ranks == 0;
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
                   take_count(record, "width", &h->width) && take_place(record, h);
    if (!is_good) {
        return drove__fail(DROVE_E_DATA, "%s: expected a header with %s, found none",
                           drove__recorded_path(p->record), "\"record\"");
    }
    h->recovers = json_is_true(json_object_get(record, "recovers"));
    if (h->n_workers != drove__recorded_workers(p->record))
        return drove__fail(DROVE_E_DATA, "%s: expected %u workers, as its header says, found %u",
                           drove__recorded_path(p->record), h->n_workers,
                           drove__recorded_workers(p->record));
    if ((uint64_t)h->n_workers * h->n_cores > DROVE_MOST_THREADS)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected at most %d cores of all workers, found %u workers of %u",
                           drove__recorded_path(p->record), DROVE_MOST_THREADS, h->n_workers,
                           h->n_cores);
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
    DROVE_GIVEN(options);
    DROVE_GIVEN(path);
    DROVE_IN_C_LOCALE;
    DROVE_ALIVE(options, "options");
    drove_recorded_run *record;
    json_t *object = NULL;
    drove_options result = *options;
    drove_status status = drove__recorded_open(path, &record);
    if (status == DROVE_OK) status = parse_header(record, &object);
    if (status == DROVE_OK) status = recorded_options(record, object, &result);
    json_decref(object);
    drove__recorded_close(record);
    if (status != DROVE_OK) return drove__fail_in(status, "--replay");
    static const char *const none[] = {"out",      "resume", "log",
                                       "timeline", "record", "replay_steps"};
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

unsigned drove__replay_ranks(const drove_workers *workers)
{
    return workers->repeating != NULL ? workers->repeating->header.n_ranks : 1;
}

drove_status drove__replay_plan(drove_workers *workers)
{
    if (workers->repeating == NULL) return DROVE_OK;
    const header *h = &workers->repeating->header;
    if (h->host == DROVE_HOST_THREADS) return DROVE_OK;
    return drove__plan_gather(&workers->plan, h->n_cores);
}

bool drove__replay_has_state(const drove_workers *workers)
{
    return workers->repeating != NULL && drove__recorded_has_state(workers->repeating->record);
}

drove_status drove__replay_state(const drove_workers *workers, drove_safetensors *st)
{
    drove_memfile *file;
    char *bytes, name[DROVE_NAMED_SIZE];
    size_t size;
    DROVE_TRY(drove__recorded_state(workers->repeating->record, &bytes, &size));
    drove_status status = drove__memfile_create(NULL, 0, false, &file);
    if (status != DROVE_OK) {
        free(bytes);
        return status;
    }
    drove__memfile_replace(file, bytes, size);
    drove__named_print(&file->named, name);
    status = drove__safetensors_load(name, st);
    drove__memfile_release(file);
    return status == DROVE_OK
               ? DROVE_OK
               : drove__fail_in(status, "%s", drove__recorded_path(workers->repeating->record));
}

drove_status drove__replay_open(drove_config *config, drove_workers *workers)
{
    if (config->opt.replay[0] == '\0') return DROVE_OK;
    drove_repeating *p = workers->repeating = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__fail_nomem("a replay", sizeof *p);
    drove_status status = drove__recorded_open(config->opt.replay, &p->record);
    if (status != DROVE_OK) return drove__fail_in(status, "--replay");
    json_t *object;
    drove_options recorded = drove__options_default();
    DROVE_TRY(parse_header(p->record, &object));
    status = read_record(p, object);
    if (status == DROVE_OK) status = recorded_options(p->record, object, &recorded);
    json_decref(object);
    DROVE_TRY(status);
    char flag[DROVE_FLAG_SIZE], now[DROVE_TEXT_SIZE], then[DROVE_TEXT_SIZE];
    size_t n_options;
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; i < n_options; i++) {
        if (may_differ(&info[i])) continue;
        DROVE_TRY(drove_options_get(&config->opt, info[i].name, now, sizeof now));
        DROVE_TRY(drove_options_get(&recorded, info[i].name, then, sizeof then));
        DROVE_TRY(expect_same(drove_flag_text(info[i].name, flag), then, now));
    }
    /* As many updates as --until now says, if it says something else. */
    drove_until wanted, had;
    DROVE_TRY(drove__until_parse(config->opt.until, &wanted));
    DROVE_TRY(drove__until_parse(recorded.until, &had));
    workers->repeating->replay.most_updates =
        wanted.updates < had.updates ? wanted.updates : UINT64_MAX;
    workers->repeating->is_shorter = strcmp(config->opt.until, recorded.until) != 0;
    if (workers->repeating->is_shorter &&
        (isfinite(wanted.seconds) ||
         (wanted.updates != UINT64_MAX && wanted.updates > had.updates)))
        return drove__fail(DROVE_E_ARG,
                           "--replay: expected --until with fewer updates or epochs than %s, found "
                           "%s",
                           recorded.until, config->opt.until);
    if (wanted.validation != had.validation || wanted.validation_is_part != had.validation_is_part)
        return drove__fail(
            DROVE_E_ARG,
            "--replay: expected --until with the same validation examples as %s, found "
            "%s",
            recorded.until, config->opt.until);
    /* All that depends on the machine is as it was. */
    const header *h = &workers->repeating->header;
    char n[NAME_SIZE];
    DROVE_TRY(expect_same("--threads", recorded.threads, config->opt.threads));
    DROVE_TRY(expect_same("--isa", recorded.isa, config->opt.isa));
    snprintf(n, sizeof n, "%u", h->n_workers);
    if (config->opt.workers[0] == '\0' && h->host == DROVE_HOST_THREADS)
        DROVE_TRY(drove_options_set(&config->opt, "threads", n));
    DROVE_TRY(drove_options_set(&config->opt, "isa", h->isa));
    memcpy(config->opt.memory, recorded.memory, sizeof config->opt.memory);
    memcpy(config->opt.data_changed, recorded.data_changed, sizeof config->opt.data_changed);
    p->replay.record = p->record;
    if (config->opt.replay_steps[0] == '\0') return DROVE_OK;
    status = drove__writer_create(config->opt.replay_steps, &p->steps);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "--replay-steps");
}

void drove__replay_close(drove_workers *workers)
{
    drove_repeating *p = workers->repeating;
    if (p == NULL) return;
    drove__writer_abort(p->steps);
    drove__recorded_close(p->record);
    drove__free(p);
    workers->repeating = NULL;
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
    drove_repeating *p = run->workers.repeating;
    char data[DROVE_PROBLEM_TEXT_SIZE], first[DROVE_CHECKSUM_TEXT_SIZE];
    drove_recorded_mark end;
    if (p == NULL) return DROVE_OK;
    DROVE_TRY(drove__problem_describe(&run->problem, data));
    if (strcmp(data, p->header.data) != 0)
        return drove__fail(DROVE_E_DATA, "--replay: expected the recorded data, %s, found %s",
                           p->header.data, data);
    if (strcmp(p->header.gemm, drove__run_gemm(&run->problem, &run->workers)) != 0)
        drove__run_say(&run->config,
                       "--replay: recorded with the products of %s, repeated with those of %s",
                       p->header.gemm, drove__run_gemm(&run->problem, &run->workers));
    drove__checksum_print(drove__run_record_mark(&run->workers, &run->state).checksum, first);
    if (strcmp(first, p->header.first) != 0)
        return drove__fail(DROVE_E_DATA,
                           "--replay: expected the recorded first parameters, with checksum %s, "
                           "found %s (recorded by drove %s)",
                           p->header.first, first, p->header.version);
    if (!drove__recorded_goes_on(p->record))
        return drove__fail(DROVE_E_DATA, "%s: expected training up to a mark, found none",
                           drove__recorded_path(p->record));
    if (!drove__recorded_end(p->record, &end) || end.outcome == 0)
        drove__run_say(&run->config,
                       "--replay: the recorded run was killed, or could not write on: %" PRIu64
                       " bytes behind its last mark are left out",
                       drove__recorded_rest(p->record));
    else if (end.outcome == DROVE_RECORDED_FAILED)
        drove__run_say(&run->config, "--replay: the recorded run ended with an error; all that was "
                                     "published before is repeated");
    run->config.until.seconds = INFINITY;
    run->state.standing.recovers = p->header.recovers; /* it follows from options that were auto */
    if (p->steps != NULL) {
        run->workers.loop->measures_gradients = true;
        p->replay.stepped = stepped;
        p->replay.context = p;
    }
    return DROVE_OK;
}

drove_replay *drove__run_replay(const drove_config *config, const drove_workers *workers)
{
    return workers->repeating != NULL && config->repeat == DROVE_REPEAT_ORDER
               ? &workers->repeating->replay
               : NULL;
}

unsigned drove__run_replay_width(const drove_workers *workers)
{
    return workers->repeating->header.width;
}

bool drove__replay_goes_on(const drove_workers *workers)
{
    const drove_repeating *p = workers->repeating;
    return p == NULL || drove__recorded_goes_on(p->record);
}

void drove__replay_stretch(const drove_config *config, const drove_workers *workers,
                           uint64_t *limit)
{
    drove_repeating *p = workers->repeating;
    if (p == NULL) return;
    p->has_mark = config->repeat == DROVE_REPEAT_ORDER
                      ? drove__replay_next(&p->replay)
                      : drove__recorded_stretch(p->record, &p->replay.mark);
    if (p->replay.mark.next < *limit) *limit = p->replay.mark.next;
}

drove_status drove__replay_parked(const drove_workers *workers, const drove_state *state)
{
    drove_repeating *p = workers->repeating;
    const drove_replay *r = &p->replay;
    const drove_recorded_mark now = drove__run_record_mark(workers, state);
    if (!p->has_mark || now.next != r->mark.next || r->is_cut || r->is_halted ||
        drove__run_signal(state) != 0)
        return DROVE_OK;
    p->n_marks++;
    if (now.checksum == r->mark.checksum && now.published == r->mark.published) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "--replay: expected the recorded parameters after %" PRIu64
                       " updates, found others after %" PRIu64,
                       r->mark.published, now.published);
}

void drove__replay_outcome(const drove_workers *workers, drove_state *state)
{
    drove_recorded_mark end;
    if (workers->repeating == NULL || drove__recorded_goes_on(workers->repeating->record)) return;
    if (!drove__recorded_end(workers->repeating->record, &end) || end.outcome == 0) return;
    state->outcome = end.outcome - 1 == DROVE_MISSED ? DROVE_MISSED : DROVE_FINISHED;
}

drove_status drove__replay_end(const drove_config *config, const drove_workers *workers,
                               const drove_state *state)
{
    drove_repeating *p = workers->repeating;
    drove_writer *steps = p->steps;
    if (!p->is_shorter && state->outcome != DROVE_INTERRUPTED && drove__recorded_goes_on(p->record))
        return drove__fail(DROVE_E_DATA,
                           "--replay: expected the end of the recorded run, found an earlier one "
                           "(%s)",
                           drove_outcome_name(state->outcome));
    if (config->repeat == DROVE_REPEAT_ORDER)
        drove__run_say(config,
                       "replay: %" PRIu64 " steps of %u worker%s on one thread: the same bits at "
                       "all of %" PRIu64 " marks",
                       p->replay.n_steps, workers->plan.n_workers,
                       workers->plan.n_workers == 1 ? "" : "s", p->n_marks);
    else
        drove__run_say(config,
                       "replay: run again, as %s repeats by itself: the same bits at all of "
                       "%" PRIu64 " marks",
                       workers->plan.spec, p->n_marks);
    p->steps = NULL;
    return steps != NULL ? drove__writer_commit(steps) : DROVE_OK;
}
