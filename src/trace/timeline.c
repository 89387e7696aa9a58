/* trace/timeline.c - busy time in buckets that double in width. */
#include "trace/timeline.h"

#include <string.h>

static const uint64_t FIRST_WIDTH_NS = 10000000; /* 10 ms: 2.5 s before the first doubling */

static void widen(drove_timeline *t)
{
    const unsigned half = DROVE_TIMELINE_BUCKETS / 2;
    for (unsigned i = 0; i < half; i++) t->busy_ns[i] = t->busy_ns[2 * i] + t->busy_ns[2 * i + 1];
    memset(t->busy_ns + half, 0, half * sizeof *t->busy_ns);
    t->width_ns *= 2;
}

void drove__timeline_add(drove_timeline *t, uint64_t begin_ns, uint64_t end_ns)
{
    if (end_ns <= begin_ns) return;
    if (t->width_ns == 0) t->width_ns = FIRST_WIDTH_NS;
    while ((end_ns - 1) / t->width_ns >= DROVE_TIMELINE_BUCKETS) widen(t);
    for (uint64_t at = begin_ns; at < end_ns;) {
        uint64_t bucket = at / t->width_ns, end = (bucket + 1) * t->width_ns;
        if (end > end_ns) end = end_ns;
        t->busy_ns[bucket] += end - at;
        at = end;
    }
    t->end_ns = end_ns;
}
