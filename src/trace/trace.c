/* trace/trace.c - names of the phases; mean and quantiles of a histogram. */
#include "trace/trace.h"

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
