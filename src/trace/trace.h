/* trace/trace.h - a worker's counters while it runs, and the files made from them.
 *
 * Each worker owns one drove_trace_worker and is its only writer.  Others read it while the worker
 * is parked, except `examples` and `updates`, relaxed atomics that the progress display may read
 * at any time.
 */
#ifndef DROVE_TRACE_TRACE_H
#define DROVE_TRACE_TRACE_H

#include "base/mem.h"
#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>

/* Mean seconds per step in the summary; the order is the order of the keys there. */
typedef enum drove_phase {
    DROVE_PHASE_WAIT,    /* for a lock or for other workers, without back-off             */
    DROVE_PHASE_BACKOFF, /* in back-off                                                   */
    DROVE_PHASE_ACQUIRE, /* pull: taking the view, without waiting                        */
    DROVE_PHASE_LOAD,    /* waiting for the batch to be loaded, or loading it             */
    DROVE_PHASE_FORWARD,
    DROVE_PHASE_BACKWARD,
    DROVE_PHASE_EXCHANGE,
    DROVE_PHASE_ACCUMULATE,
    DROVE_PHASE_BROADCAST, /* fetching parameters that another device has updated        */
    DROVE_PHASE_UPDATE,    /* the worker's own part of the rule (decay, clip, own state)    */
    DROVE_PHASE_PUBLISH,   /* publishing, without waiting                                   */
    DROVE_PHASE_OTHER,     /* the rest of the loop                                          */
    DROVE_N_PHASES
} drove_phase;
extern const char *const drove__phase_names[DROVE_N_PHASES];

/* Histogram of non-negative integers: exact below 256, then one bucket per power of two. */
enum { DROVE_HIST_EXACT = 256, DROVE_HIST_BUCKETS = 256 + 56 };
typedef struct drove_histogram {
    uint64_t count[DROVE_HIST_BUCKETS];
    uint64_t n, max;
    double   sum;
} drove_histogram;
static inline unsigned drove__hist_bucket(uint64_t value)
{
    if (value < DROVE_HIST_EXACT) return (unsigned)value;
    return (unsigned)(DROVE_HIST_EXACT + (63 - __builtin_clzll(value)) - 8);
}
static inline void drove__hist_add(drove_histogram *h, uint64_t value)
{
    h->count[drove__hist_bucket(value)]++;
    h->n++;
    h->sum += (double)value;
    if (value > h->max) h->max = value;
}
static inline void drove__hist_add_many(drove_histogram *h, uint64_t value, uint64_t n)
{
    if (n == 0) return;
    drove__hist_add(h, value);
    h->count[drove__hist_bucket(value)] += n - 1;
    h->n += n - 1;
    h->sum += (double)value * (double)(n - 1);
}
void   drove__hist_merge(drove_histogram *to, const drove_histogram *from);
double drove__hist_mean(const drove_histogram *h); /* 0 if nothing was counted */
/* Smallest v with P(x <= v) >= q; above 255 the lower end of v's bucket; 0 if nothing was
 * counted. */
uint64_t drove__hist_quantile(const drove_histogram *h, double q);
uint64_t drove__hist_least(unsigned bucket); /* smallest value in it */

typedef struct drove_trace_worker {
    _Atomic uint64_t examples, updates; /* relaxed: a display may be a step behind       */
    uint64_t         steps;             /* gradients computed                            */
    uint64_t         attempts, dropped;
    uint64_t         clamped;     /* writes of low-precision parameters, saturated */
    uint64_t         overwritten; /* parameters, others' stores to which it lost; virtual time */
    uint64_t         phase_ns[DROVE_N_PHASES];
    uint64_t         busy_ns; /* forward, backward, accumulate, update, publish          */
    /* Of the first step behind each parking, if a second follows: from when the workers are woken,
     * and the examples that it counted.  Rates leave both out. */
    uint64_t        start_ns, start_examples;
    drove_histogram staleness;
} DROVE_ALIGNED_CACHE_LINE drove_trace_worker;

typedef struct drove_traffic { /* of a worker that exchanges parameters, since its process began */
    uint64_t bytes, messages;  /* sent */
    uint64_t hidden_ns;        /* of exchanges under way while it computed */
    uint64_t centre_ns;        /* spent at the centre for it */
    double   distance;         /* |W - c| at its last exchange, before it moved */
} drove_traffic;

/* ---- output files; one thread at a time each ---- */

/* log.jsonl: one JSON record per line.  When append returns, the whole line is in the file.
 * Opening an existing file continues it, after removing a half line that a killed run left. */
typedef struct drove_jsonl drove_jsonl;

/* Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__jsonl_open(const char *path, drove_jsonl **out);
/* json_line: without a line break.  Errors: DROVE_E_ARG, DROVE_E_IO (the file is unchanged),
 * DROVE_E_NOMEM. */
drove_status drove__jsonl_append(drove_jsonl *log, const char *json_line);
/* All records are on the disk.  log may be NULL.  Errors: DROVE_E_IO. */
drove_status drove__jsonl_sync(const drove_jsonl *log);
void         drove__jsonl_close(drove_jsonl *log); /* NULL accepted */

/* TensorBoard event file: folder/events.out.tfevents.SECONDS.HOST.PID, in a folder that exists. */
typedef struct drove_events drove_events;

/* Errors of all: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__events_open(const char *folder, drove_events **out);
drove_status drove__events_scalar(drove_events *e, const char *tag, int64_t step, double value);
drove_status drove__events_histogram(drove_events *e, const char *tag, int64_t step,
                                     const drove_histogram *h);
/* As drove__jsonl_sync. */
drove_status drove__events_sync(const drove_events *e);
void         drove__events_close(drove_events *e); /* NULL accepted */

#endif
