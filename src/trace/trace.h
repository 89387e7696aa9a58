/* trace/trace.h - what a worker counts while it runs, and what is made of it.
 *
 * Each worker owns one drove_trace_worker and alone writes it; others read it while the worker is parked, except
 * `examples` and `updates`, relaxed atomics that the progress display may read at any time.
 */
#ifndef DROVE_TRACE_TRACE_H
#define DROVE_TRACE_TRACE_H

#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>

typedef enum drove_phase { /* mean seconds per step in the summary; order = order of the keys */
    DROVE_PHASE_WAIT,       /* for a lock or for other workers, without back-off       */
    DROVE_PHASE_BACKOFF,    /* in back-off                                              */
    DROVE_PHASE_ACQUIRE,    /* pull: taking the view, without waiting                   */
    DROVE_PHASE_FORWARD,
    DROVE_PHASE_BACKWARD,
    DROVE_PHASE_EXCHANGE,
    DROVE_PHASE_ACCUMULATE,
    DROVE_PHASE_UPDATE,     /* the worker's own part of the rule (decay, clip, own state) */
    DROVE_PHASE_PUBLISH,    /* publishing, without waiting                               */
    DROVE_PHASE_OTHER,      /* the rest of the loop                                     */
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
    return value < DROVE_HIST_EXACT ? (unsigned)value
                                    : (unsigned)(DROVE_HIST_EXACT + (63 - __builtin_clzll(value)) - 8);
}
static inline void drove__hist_add(drove_histogram *h, uint64_t value)
{
    h->count[drove__hist_bucket(value)]++;
    h->n++;
    h->sum += (double)value;
    if (value > h->max) h->max = value;
}
void     drove__hist_merge(drove_histogram *to, const drove_histogram *from);
double   drove__hist_mean(const drove_histogram *h);
uint64_t drove__hist_quantile(const drove_histogram *h, double q); /* smallest value v: P(x <= v) >= q (bucket's lower end) */

typedef struct drove_trace_worker {
    _Atomic uint64_t examples, updates; /* relaxed: a display may be a step behind           */
    uint64_t steps;                     /* gradients computed                                 */
    uint64_t attempts, dropped;
    uint64_t phase_ns[DROVE_N_PHASES];
    uint64_t busy_ns;                   /* forward, backward, accumulate, update, publish     */
    drove_histogram staleness;
} DROVE_ALIGNED_CACHE_LINE drove_trace_worker;

/* ---- output files ---- */
typedef struct drove_jsonl drove_jsonl;     /* log.jsonl: one record a line, appended and flushed */
typedef struct drove_events drove_events;   /* TensorBoard event file                             */

#include "base/status.h"
drove_status drove__jsonl_open(const char *path, drove_jsonl **out);
drove_status drove__jsonl_append(drove_jsonl *log, const char *json_line);
void         drove__jsonl_close(drove_jsonl *log);

/* folder/events.out.tfevents.SECONDS.HOST.PID */
drove_status drove__events_open(const char *folder, drove_events **out);
drove_status drove__events_scalar(drove_events *e, const char *tag, int64_t step, double value);
drove_status drove__events_histogram(drove_events *e, const char *tag, int64_t step, const drove_histogram *h);
void         drove__events_close(drove_events *e);

#endif
