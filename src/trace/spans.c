/* trace/spans.c - keeps spans of time; writes them as Chrome trace events.
 *
 * The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 * ("Trace Event Format"), complete events ("ph": "X") with times in microseconds.  A track is a
 * process; activities that can overlap in it (computing, copying either way, adding) are threads.
 */
#include "trace/spans.h"

#include "base/mem.h"
#include "base/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const drove__span_names[DROVE_N_SPAN_KINDS] = {
    [DROVE_SPAN_FORWARD] = "forward",     [DROVE_SPAN_BACKWARD] = "backward",
    [DROVE_SPAN_COPY_DOWN] = "copy down", [DROVE_SPAN_ADD] = "add",
    [DROVE_SPAN_COPY_UP] = "copy up",     [DROVE_SPAN_WAIT] = "wait",
    [DROVE_SPAN_EXCHANGE] = "exchange",   [DROVE_SPAN_UPDATE] = "update",
    [DROVE_SPAN_BROADCAST] = "broadcast", [DROVE_SPAN_LOAD] = "load",
};

/* The row within a track. */
enum { ROW_COMPUTE, ROW_DOWN, ROW_ADD, ROW_UP, ROW_EXCHANGE, ROW_LOAD, N_ROWS };
static const char *const row_name[N_ROWS] = {"compute", "copy down", "add",
                                             "copy up", "exchange",  "load"};
static const unsigned char row_of[DROVE_N_SPAN_KINDS] = {
    [DROVE_SPAN_FORWARD] = ROW_COMPUTE,    [DROVE_SPAN_BACKWARD] = ROW_COMPUTE,
    [DROVE_SPAN_COPY_DOWN] = ROW_DOWN,     [DROVE_SPAN_ADD] = ROW_ADD,
    [DROVE_SPAN_COPY_UP] = ROW_UP,         [DROVE_SPAN_WAIT] = ROW_EXCHANGE,
    [DROVE_SPAN_EXCHANGE] = ROW_EXCHANGE,  [DROVE_SPAN_UPDATE] = ROW_COMPUTE,
    [DROVE_SPAN_BROADCAST] = ROW_EXCHANGE, [DROVE_SPAN_LOAD] = ROW_LOAD,
};

typedef struct track_spans {
    char name[DROVE_TRACK_NAME_SIZE];
    uint64_t n; /* spans added; the last DROVE_SPANS_KEPT are kept */
    drove_time_span *span;
} DROVE_ALIGNED_CACHE_LINE track_spans;

struct drove_spans {
    unsigned n_tracks;
    track_spans *track;
};

drove_status drove__spans_create(unsigned n_tracks, drove_spans **out)
{
    *out = NULL;
    drove_spans *s = calloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("a timeline", sizeof *s);
    s->track = drove__alloc(n_tracks, sizeof *s->track);
    if (s->track == NULL) goto fail;
    s->n_tracks = n_tracks;
    for (unsigned i = 0; i < n_tracks; i++) {
        s->track[i].span = drove__alloc(DROVE_SPANS_KEPT, sizeof *s->track[i].span);
        if (s->track[i].span == NULL) goto fail;
    }
    *out = s;
    return DROVE_OK;
fail:
    drove__spans_destroy(s);
    return drove__fail_nomem("a timeline",
                             (size_t)n_tracks * DROVE_SPANS_KEPT * sizeof(drove_time_span));
}

void drove__spans_destroy(drove_spans *s)
{
    if (s == NULL) return;
    for (unsigned i = 0; i < s->n_tracks; i++) drove__free(s->track[i].span);
    drove__free(s->track);
    free(s);
}

/* Leaves out characters that JSON would have to escape. */
static void copy_name(char into[DROVE_TRACK_NAME_SIZE], const char *name)
{
    size_t n = 0;
    for (; *name != '\0' && n + 1 < DROVE_TRACK_NAME_SIZE; name++) {
        bool plain = *name != '"' && *name != '\\' && (unsigned char)*name >= ' ';
        if (plain) into[n++] = *name;
    }
    into[n] = '\0';
}

void drove__spans_name(drove_spans *s, unsigned track, const char *name)
{
    if (s != NULL && track < s->n_tracks) copy_name(s->track[track].name, name);
}

void drove__spans_add(drove_spans *s, unsigned track, const drove_time_span *span)
{
    if (s == NULL || track >= s->n_tracks || span->end_ns <= span->begin_ns) return;
    track_spans *l = &s->track[track];
    l->span[l->n++ % DROVE_SPANS_KEPT] = *span;
}

/* ---- writing ---- */

typedef struct output {
    FILE *file;
    bool has_event;
    uint64_t origin_ns;
    const char *const *part_name;
    size_t n_parts;
} output;

static void begin_event(output *o)
{
    fputs(o->has_event ? ",\n " : "\n ", o->file);
    o->has_event = true;
}

static void write_span(output *o, unsigned track, const drove_time_span *span)
{
    char name[DROVE_TRACK_NAME_SIZE] = "";
    if (span->part != UINT32_MAX) {
        if (o->part_name != NULL && span->part < o->n_parts)
            copy_name(name, o->part_name[span->part]);
        else (void)snprintf(name, sizeof name, "part %u", span->part);
    }
    begin_event(o);
    fprintf(
        o->file,
        "{\"ph\": \"X\", \"name\": \"%s%s%s\", \"cat\": \"%s\", \"pid\": %u, \"tid\": %u, \"ts\": "
        "%.3f, \"dur\": %.3f, \"args\": {\"iteration\": %llu}}",
        drove__span_names[span->kind], name[0] != '\0' ? " " : "", name,
        drove__span_names[span->kind], track, row_of[span->kind],
        (double)(span->begin_ns - o->origin_ns) * 1e-3,
        (double)(span->end_ns - span->begin_ns) * 1e-3, (unsigned long long)span->iteration);
}

static uint64_t first_kept(const track_spans *l)
{
    return l->n > DROVE_SPANS_KEPT ? l->n - DROVE_SPANS_KEPT : 0;
}

drove_status drove__spans_write(const drove_spans *s, const char *path,
                                const char *const *part_name, size_t n_parts)
{
    drove_writer *w;
    DROVE_TRY(drove__writer_create(path, &w));

    /* The first span that is kept begins the time line. */
    uint64_t origin_ns = UINT64_MAX;
    for (unsigned i = 0; i < s->n_tracks; i++) {
        const track_spans *l = &s->track[i];
        for (uint64_t k = first_kept(l); k < l->n; k++) {
            uint64_t begin_ns = l->span[k % DROVE_SPANS_KEPT].begin_ns;
            if (begin_ns < origin_ns) origin_ns = begin_ns;
        }
    }
    output o = {.file = drove__writer_stream(w),
                .origin_ns = origin_ns,
                .part_name = part_name,
                .n_parts = n_parts};
    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", o.file);
    for (unsigned i = 0; i < s->n_tracks; i++) {
        const track_spans *l = &s->track[i];
        if (l->name[0] == '\0') continue;
        begin_event(&o);
        fprintf(o.file,
                "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %u, \"args\": "
                "{\"name\": \"%s\"}}",
                i, l->name);
        for (unsigned row = 0; row < N_ROWS; row++) {
            begin_event(&o);
            fprintf(
                o.file,
                "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %u, \"tid\": %u, \"args\": "
                "{\"name\": \"%s\"}}",
                i, row, row_name[row]);
        }
        for (uint64_t k = first_kept(l); k < l->n; k++)
            write_span(&o, i, &l->span[k % DROVE_SPANS_KEPT]);
    }
    fputs("\n]}\n", o.file);
    return drove__writer_commit(w);
}
