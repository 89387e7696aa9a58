/* trace/timeline.h - how busy a worker was over time, in a bounded number of equal intervals.
 *
 * Time begins at 0 and is cut into buckets; when the last bucket is passed, neighbours are merged
 * and the width doubles, so that a run of any length has at most DROVE_TIMELINE_BUCKETS of them.
 * One thread at a time.
 */
#ifndef DROVE_TRACE_TIMELINE_H
#define DROVE_TRACE_TIMELINE_H

#include <stdint.h>

enum { DROVE_TIMELINE_BUCKETS = 256 };

typedef struct drove_timeline {
    uint64_t width_ns;                        /* of a bucket; 0: nothing was added */
    uint64_t end_ns;                          /* of the last interval that was added */
    uint64_t busy_ns[DROVE_TIMELINE_BUCKETS]; /* in each bucket */
} drove_timeline;

/* Busy from begin_ns to end_ns; intervals come in order and do not overlap. */
void drove__timeline_add(drove_timeline *t, uint64_t begin_ns, uint64_t end_ns);

#endif
