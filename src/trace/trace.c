/* trace/trace.c - names of the phases; mean and quantiles of a histogram; busy time in buckets that
 * double in width. */
#include "trace/trace.h"

#include "trace/timeline.h"

#include <string.h>

const char *const drove__phase_names[DROVE_N_PHASES] = {
    [DROVE_PHASE_WAIT] = "wait",           [DROVE_PHASE_BACKOFF] = "backoff",
    [DROVE_PHASE_ACQUIRE] = "acquire",     [DROVE_PHASE_LOAD] = "load",
    [DROVE_PHASE_FORWARD] = "forward",     [DROVE_PHASE_BACKWARD] = "backward",
    [DROVE_PHASE_EXCHANGE] = "exchange",   [DROVE_PHASE_ACCUMULATE] = "accumulate",
    [DROVE_PHASE_BROADCAST] = "broadcast", [DROVE_PHASE_UPDATE] = "update",
    [DROVE_PHASE_PUBLISH] = "publish",     [DROVE_PHASE_OTHER] = "other",
};

void drove__hist_merge(drove_histogram *to, const drove_histogram *from)
{
    for (unsigned i = 0; i < DROVE_HIST_BUCKETS; i++) to->count[i] += from->count[i];
    to->n += from->n;
    to->sum += from->sum;
    if (from->max > to->max) to->max = from->max;
}

double drove__hist_mean(const drove_histogram *h)
{
    return h->n == 0 ? 0.0 : h->sum / (double)h->n;
}

uint64_t drove__hist_least(unsigned bucket)
{
    return bucket < DROVE_HIST_EXACT ? bucket : (uint64_t)1 << (bucket - DROVE_HIST_EXACT + 8);
}

/* Compares counts as a quotient, not as q times n: 7 of 100 then are a share of 0.07 whatever q n
 * rounds to. */
uint64_t drove__hist_quantile(const drove_histogram *h, double q)
{
    uint64_t below = 0;
    unsigned last = 0;
    for (unsigned i = 0; i < DROVE_HIST_BUCKETS; i++) {
        if (h->count[i] == 0) continue;
        last = i;
        below += h->count[i];
        if ((double)below / (double)h->n >= q) break;
    }
    return drove__hist_least(last);
}

/* ---- busy time ---- */

static const uint64_t FIRST_WIDTH_NS = 10000000; /* 10 ms: 2.5 s before the first doubling */

void drove__timeline_add(drove_timeline *t, uint64_t begin_ns, uint64_t end_ns)
{
    if (end_ns <= begin_ns) return;
    if (t->width_ns == 0) t->width_ns = FIRST_WIDTH_NS;
    while ((end_ns - 1) / t->width_ns >= DROVE_TIMELINE_BUCKETS) {
        const unsigned half = DROVE_TIMELINE_BUCKETS / 2;
        for (unsigned i = 0; i < half; i++)
            t->busy_ns[i] = t->busy_ns[2 * i] + t->busy_ns[2 * i + 1];
        memset(t->busy_ns + half, 0, half * sizeof *t->busy_ns);
        t->width_ns *= 2;
    }
    for (uint64_t at = begin_ns; at < end_ns;) {
        uint64_t bucket = at / t->width_ns, end = (bucket + 1) * t->width_ns;
        if (end > end_ns) end = end_ns;
        t->busy_ns[bucket] += end - at;
        at = end;
    }
    t->end_ns = end_ns;
}
