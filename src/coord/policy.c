/* coord/policy.c - see policy.h. */
#include "coord/policy.h"

#include "coord/sizes.h"

#include <math.h>
#include <string.h>

static uint64_t fixed_next(const drove_policy_view *view)
{
    return view->batch;
}

/* Lines 1 to 5.  A worker that lags behind all others gets smaller batches, one that is ahead of
 * all larger ones.  The assignments to min_u and max_u in lines 2 and 4 have no place here: both
 * are found anew at each request. */
static uint64_t adaptive_next(const drove_policy_view *view)
{
    const double batch = (double)view->batch;
    double size = batch;
    /* Whole examples, and at least one of them more or fewer: where alpha is near 1, rounding would
     * leave a small b as it is for ever. */
    if (view->n_others > 0 && view->u < view->min_u)
        size = fmin(round(batch / view->alpha), batch - 1);
    else if (view->n_others > 0 && view->u > view->max_u)
        size = fmax(round(batch * view->alpha), batch + 1);
    if (size <= (double)view->least) return view->least;
    if (size >= (double)view->most) return view->most;
    return (uint64_t)size;
}

const drove_policy_ops drove__policy_fixed = {
    .name = "fixed",
    .help = "every worker keeps the batch size that it was given",
    .source = "Ma and Rusu, sections 6.1 and 6.2",
    .next = fixed_next,
};

const drove_policy_ops drove__policy_adaptive = {
    .name = "adaptive",
    .help = "batches shrink where updates lag behind all others and grow where they lead",
    .source = "Ma and Rusu, Algorithm 2",
    .next = adaptive_next,
};

/* ---- speeds at each size of batch; see sizes.h ---- */

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
