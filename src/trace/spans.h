/* trace/spans.h - a timeline: spans of time in tracks; each track keeps the latest.  It is written
 * as Chrome trace events, which Perfetto and browsers open.
 *
 * A track belongs to one thread, and only that thread adds to it; all other calls need it parked.
 * Adding costs one store of 32 bytes: no allocation, output or lock.
 */
#ifndef DROVE_TRACE_SPANS_H
#define DROVE_TRACE_SPANS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { DROVE_SPANS_KEPT = 16384, DROVE_TRACK_NAME_SIZE = 64 };

typedef enum drove_span_kind {
    DROVE_SPAN_FORWARD,
    DROVE_SPAN_BACKWARD, /* of one part */
    DROVE_SPAN_COPY_DOWN,
    DROVE_SPAN_ADD,
    DROVE_SPAN_COPY_UP,
    DROVE_SPAN_WAIT,
    DROVE_SPAN_EXCHANGE, /* exposed */
    DROVE_SPAN_UPDATE,
    DROVE_SPAN_BROADCAST,
    DROVE_SPAN_LOAD, /* of a batch, by any thread; added when the batch is taken */
    DROVE_N_SPAN_KINDS
} drove_span_kind;
extern const char *const drove__span_names[DROVE_N_SPAN_KINDS];

typedef struct drove_time_span {
    uint64_t begin_ns, end_ns; /* drove__now_ns */
    uint64_t iteration;
    uint32_t part; /* UINT32_MAX: none */
    uint32_t kind;
} drove_time_span;

typedef struct drove_spans drove_spans;

/* Errors: DROVE_E_NOMEM. */
drove_status drove__spans_create(unsigned n_tracks, drove_spans **out);
void         drove__spans_destroy(drove_spans *spans); /* NULL accepted */
/* Names a track, as "host:0".  Tracks without a name are not written. */
void drove__spans_name(drove_spans *spans, unsigned track, const char *name);
/* spans NULL, or no such track: does nothing. */
void drove__spans_add(drove_spans *spans, unsigned track, const drove_time_span *span);
/* part_name [n_parts], or NULL: numbers.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__spans_write(const drove_spans *spans, const char *path,
                                const char *const *part_name, size_t n_parts);

#endif
