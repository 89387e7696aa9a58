/* coord/sizes.c - see sizes.h. */
#include "coord/sizes.h"

#include <math.h>
#include <string.h>

void drove__sizes_init(drove_sizes *s, uint64_t least, uint64_t most, double alpha)
{
    memset(s, 0, sizeof *s);
    s->least = least;
    s->most = most;
    double range = log((double)most / (double)least);
    s->log_factor = fmax(log(alpha), range / (DROVE_SIZES_MOST - 1));
    s->n = (size_t)lround(range / s->log_factor) + 1;
    if (s->n > DROVE_SIZES_MOST) s->n = DROVE_SIZES_MOST;
}

void drove__sizes_add(drove_sizes *s, uint64_t n, uint64_t examples, double took_s)
{
    if (n < s->least) return; /* the rest of an epoch says nothing about a size in use */
    size_t class = (size_t)lround(log((double)n / (double)s->least) / s->log_factor);
    if (class >= s->n) class = s->n - 1;
    drove__pace_add(&s->mean[class], (double)examples, took_s);
}

uint64_t drove__sizes_least(const drove_sizes *s, double utilisation)
{
    double best = 0.0;
    size_t above = 0; /* the first class above all bad ones */
    for (size_t i = 0; i < s->n; i++) best = fmax(best, drove__pace_rate(&s->mean[i]));
    for (size_t i = 0; i < s->n; i++) {
        const double rate = drove__pace_rate(&s->mean[i]);
        if (rate > 0.0 && rate < utilisation * best) above = i + 1;
    }
    double size = ceil((double)s->least * exp((double)above * s->log_factor) - 1e-6);
    return size < (double)s->most ? (uint64_t)size : s->most;
}
