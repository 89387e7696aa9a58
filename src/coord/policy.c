/* coord/policy.c - see policy.h. */
#include "coord/policy.h"

#include <math.h>

static uint64_t fixed_next(const drove_policy_view *view)
{
    return view->batch;
}

static uint64_t within(double size, uint64_t least, uint64_t most)
{
    if (size <= (double)least) return least;
    if (size >= (double)most) return most;
    return (uint64_t)size;
}

/* Whole examples, and at least one of them more or fewer: where alpha is near 1, rounding would
 * leave a small b as it is for ever. */
static double grown(uint64_t batch, double alpha)
{
    return fmax(round((double)batch * alpha), (double)batch + 1);
}

static double shrunk(uint64_t batch, double alpha)
{
    return fmin(round((double)batch / alpha), (double)batch - 1);
}

/* Lines 1 to 5.  Who lags behind all others gets smaller batches, who is ahead of all larger ones.
 * The assignments to min_u and max_u in lines 2 and 4 have no place here: both are found anew at
 * each request. */
static uint64_t adaptive_next(const drove_policy_view *view)
{
    double size = (double)view->batch;
    if (view->n_others > 0 && view->u < view->min_u) size = shrunk(view->batch, view->alpha);
    else if (view->n_others > 0 && view->u > view->max_u) size = grown(view->batch, view->alpha);
    return within(size, view->least, view->most);
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
