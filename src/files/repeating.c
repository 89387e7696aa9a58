/* files/repeating.c - --replay: reads a record, and compares the run with it.  See recording.h. */
#include "files/output.h"
#include "problem/problem.h"
#include "values/interrupt.h"
#include "values/progress.h"
#include "files/recording.h"
#include "values/say.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/given.h"
#include "base/json.h"
#include "base/memfile.h"
#include "config/saved.h"

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

/* ---- what a record says of a run ---- */

static const char *const hosts[] = {"threads", "processes", "ranks"};

const char *drove__record_host(drove_host_kind kind)
{
    return hosts[kind];
}

uint64_t drove__run_checksum(const drove_workers *workers)
{
    drove_sync *s = workers->loop->sync;
    const drove_params at = s->ops->peek(s);
    return drove__checksum(drove__params_bytes(&at), s->n_vector * sizeof(float));
}

drove_recorded_mark drove__run_record_mark(const drove_workers *workers, const drove_state *state)
{
    return (drove_recorded_mark){.next = atomic_load(&workers->loop->source->next),
                                 .published = atomic_load(&workers->loop->sync->published),
                                 .checksum = drove__run_checksum(workers),
                                 .train_ns = state->standing.train_ns};
}

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
    size_t i = 0;
    while (host != NULL && i < DROVE_COUNT(hosts) && strcmp(host, hosts[i]) != 0) i++;
    if (host == NULL || i == DROVE_COUNT(hosts)) return false;
    h->host = (drove_host_kind)i;
    return take_count(record, "ranks", &h->n_ranks) && take_count(record, "cores", &h->n_cores) &&
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

/* --until may end the run sooner, by a whole number of updates or epochs. */
static drove_status compare_ends(drove_repeating *p, const drove_config *now,
                                 const drove_config *then)
{
    const drove_until *wanted = &now->length.until, *had = &then->length.until;
    char text[DROVE_TEXT_SIZE], recorded[DROVE_TEXT_SIZE];
    drove__config_text(now, "until", text);
    drove__config_text(then, "until", recorded);
    /* As many updates as --until now says, if it says something else. */
    p->replay.most_updates = wanted->updates < had->updates ? wanted->updates : UINT64_MAX;
    p->is_shorter = strcmp(text, recorded) != 0;
    if (p->is_shorter && (isfinite(wanted->seconds) ||
                          (wanted->updates != UINT64_MAX && wanted->updates > had->updates)))
        return drove__fail(DROVE_E_ARG,
                           "--replay: expected --until with fewer updates or epochs than %s, found "
                           "%s",
                           recorded, text);
    if (wanted->validation == had->validation &&
        wanted->validation_is_part == had->validation_is_part)
        return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--replay: expected --until with the same validation examples as %s, found "
                       "%s",
                       recorded, text);
}

static drove_status compare_option(const char *name, const drove_config *now,
                                   const drove_config *then)
{
    char flag[DROVE_FLAG_SIZE], a[DROVE_TEXT_SIZE], b[DROVE_TEXT_SIZE];
    drove__config_text(now, name, a);
    drove__config_text(then, name, b);
    if (strcmp(a, b) == 0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "--replay: expected %s %s, as it was recorded, found %s",
                       drove_flag_text(name, flag), b, a);
}

/* All that decides the bits is as it was, and the end is no later one. */
static drove_status compare(drove_repeating *p, const drove_config *now, const drove_config *then)
{
    size_t n_options;
    const drove_option_info *info = drove_options_table(&n_options);
    for (size_t i = 0; i < n_options; i++)
        if (!may_differ(&info[i])) DROVE_TRY(compare_option(info[i].name, now, then));
    DROVE_TRY(compare_ends(p, now, then));
    DROVE_TRY(compare_option("threads", now, then));
    return compare_option("isa", now, then);
}

drove_status drove__replay_open(const drove_config *config, drove_workers *workers,
                                drove_choice *choice)
{
    if (config->files.replay == NULL) return DROVE_OK;
    drove_repeating *p = workers->repeating = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__fail_nomem("a replay", sizeof *p);
    drove_status status = drove__recorded_open(config->files.replay, &p->record);
    if (status != DROVE_OK) return drove__fail_in(status, "--replay");
    json_t *object;
    drove_config recorded = {0};
    DROVE_TRY(drove__recorded_json(p->record, &object));
    status = read_record(p, object);
    if (status == DROVE_OK) {
        status = drove__config_of_saved(json_object_get(object, "options"), &recorded);
        if (status != DROVE_OK)
            status = drove__fail_in(status, "%s", drove__recorded_path(p->record));
    }
    json_decref(object);
    if (status != DROVE_OK) goto fail;
    if ((status = compare(p, config, &recorded)) != DROVE_OK) goto fail;
    /* All that depends on the machine is as it was. */
    char text[DROVE_TEXT_SIZE];
    const header *h = &p->header;
    if (config->machine.workers == NULL && h->host == DROVE_HOST_THREADS)
        drove__choice_add(choice, "threads", DROVE_FROM_RECORD, "%u", h->n_workers);
    drove__choice_add(choice, "isa", DROVE_FROM_RECORD, "%s", h->isa);
    drove__choice_add(choice, "memory", DROVE_FROM_RECORD, "%s",
                      drove__config_text(&recorded, "memory", text));
    drove__choice_add(choice, "data_changed", DROVE_FROM_RECORD, "%s",
                      recorded.files.data_may_change ? "yes" : "no");
    p->replay.record = p->record;
    if (config->files.replay_steps != NULL) {
        status = drove__writer_create(config->files.replay_steps, &p->steps);
        if (status != DROVE_OK) status = drove__fail_in(status, "--replay-steps");
    }
fail:
    drove__config_fini(&recorded);
    return status;
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

drove_status drove__replay_begin(const drove_problem *problem, const drove_workers *workers,
                                 drove_state *state, const drove_callbacks *cb)
{
    drove_repeating *p = workers->repeating;
    char data[DROVE_PROBLEM_TEXT_SIZE], first[DROVE_CHECKSUM_TEXT_SIZE];
    drove_recorded_mark end;
    if (p == NULL) return DROVE_OK;
    DROVE_TRY(drove__problem_describe(problem, data));
    if (strcmp(data, p->header.data) != 0)
        return drove__fail(DROVE_E_DATA, "--replay: expected the recorded data, %s, found %s",
                           p->header.data, data);
    if (strcmp(p->header.gemm, drove__run_gemm(problem, workers)) != 0)
        drove__run_say(cb, "--replay: recorded with the products of %s, repeated with those of %s",
                       p->header.gemm, drove__run_gemm(problem, workers));
    drove__checksum_print(drove__run_checksum(workers), first);
    if (strcmp(first, p->header.first) != 0)
        return drove__fail(DROVE_E_DATA,
                           "--replay: expected the recorded first parameters, with checksum %s, "
                           "found %s (recorded by drove %s)",
                           p->header.first, first, p->header.version);
    if (!drove__recorded_goes_on(p->record))
        return drove__fail(DROVE_E_DATA, "%s: expected training up to a mark, found none",
                           drove__recorded_path(p->record));
    if (!drove__recorded_end(p->record, &end) || end.outcome == 0)
        drove__run_say(cb,
                       "--replay: the recorded run was killed, or could not write on: %" PRIu64
                       " bytes behind its last mark are left out",
                       drove__recorded_rest(p->record));
    else if (end.outcome == DROVE_RECORDED_FAILED)
        drove__run_say(cb, "--replay: the recorded run ended with an error; all that was "
                           "published before is repeated");
    state->standing.recovers = p->header.recovers; /* it follows from options that were auto */
    if (p->steps != NULL) {
        workers->loop->trace.measures_gradients = true;
        p->replay.stepped = stepped;
        p->replay.context = p;
    }
    return DROVE_OK;
}

drove_replay *drove__run_replay(const drove_workers *workers)
{
    return workers->repeating != NULL && workers->repeat == DROVE_REPEAT_ORDER
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

void drove__replay_stretch(const drove_workers *workers, uint64_t *limit)
{
    drove_repeating *p = workers->repeating;
    if (p == NULL) return;
    p->has_mark = workers->repeat == DROVE_REPEAT_ORDER
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
        drove__run_signal(&state->interrupt) != 0)
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

drove_status drove__replay_end(const drove_workers *workers, const drove_state *state,
                               const drove_callbacks *cb)
{
    drove_repeating *p = workers->repeating;
    drove_writer *steps = p->steps;
    if (!p->is_shorter && state->outcome != DROVE_INTERRUPTED && drove__recorded_goes_on(p->record))
        return drove__fail(DROVE_E_DATA,
                           "--replay: expected the end of the recorded run, found an earlier one "
                           "(%s)",
                           drove_outcome_name(state->outcome));
    if (workers->repeat == DROVE_REPEAT_ORDER)
        drove__run_say(cb,
                       "replay: %" PRIu64 " steps of %u worker%s on one thread: the same bits at "
                       "all of %" PRIu64 " marks",
                       p->replay.n_steps, workers->plan.n_workers,
                       workers->plan.n_workers == 1 ? "" : "s", p->n_marks);
    else
        drove__run_say(cb,
                       "replay: run again, as %s repeats by itself: the same bits at all of "
                       "%" PRIu64 " marks",
                       workers->plan.spec, p->n_marks);
    p->steps = NULL;
    return steps != NULL ? drove__writer_commit(steps) : DROVE_OK;
}
