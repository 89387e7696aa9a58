/* optim/staleness.c - step sizes that depend on the staleness tau of the step being published.
 *
 * staleness    eta / tau for tau >= 1, eta for tau = 0.
 *              Source: Zhang, Gupta, Lian, Liu, IJCAI 2016 (thesis reference [25]).
 *
 * mindthestep  tau is modelled as random with probabilities P(tau).  In expectation a step then is
 *                  E[theta(t+1) - theta(t)] = - sum over i of P(i) alpha(i) E[g(t-i)],
 *              so the step size alpha sets the weight of old gradients.
 *              Source: Backstrom, Papatriantafilou, Tsigas, IEEE Big Data 2019 (thesis reference
 *              [11]); the derivation in docs/methods/optim.md is ours.
 *
 *   geometric  P(i) = p (1-p)^i with p = 1 / (1 + mean).  alpha(i) = C^-i / p makes the weights
 *              ((1-p)/C)^i: momentum mu = (1-p)/C.  The user gives mu; the default is mu = (1-p)^2,
 *              which is C = 1/(1-p).
 *   cmp        P(i) = lambda^i / (i!)^nu / Z (Conway, Maxwell, Poisson); poisson is nu = 1.
 *              alpha(i) = c(i) lambda^-i (i!)^nu with c(i) = 1 - K sum over j < i of P(j) makes the
 *              change of the weights from one age to the next proportional to P.  K = 1 is the
 *              largest value that leaves every step positive: alpha(i) = P(tau >= i) / P(tau = i)
 *              up to a constant, which falls with i.
 *
 * Every alpha is then scaled and capped, factor(i) = min(cap, c alpha(i)), with c such that the
 * mean factor under the model is 1, so --lr keeps its meaning.
 *
 * Tables are built at creation and constant afterwards; any thread may read them.
 */
#include "optim/schedules.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>

static const double tail = 40.0; /* the table ends where P has fallen by about e^-40 */

/* ---- staleness ---- */

static double factor_staleness(const drove_schedule *schedule, const drove_progress_point *at)
{
    (void)schedule;
    return at->staleness > 1 ? 1.0 / (double)at->staleness : 1.0;
}

const drove_schedule_ops drove__schedule_staleness = {
    .name = "staleness",
    .help = "1 / tau, and 1 for tau = 0; tau = updates by others since the view was taken",
    .source = "Zhang et al., IJCAI 2016",
    .by_staleness = true,
    .factor = factor_staleness,
};

/* ---- mindthestep ---- */

/* Scales log_p[n] to probabilities that sum to 1, in place. */
static void normalise(double *log_p, size_t n)
{
    double top = -INFINITY, sum = 0.0;
    for (size_t i = 0; i < n; i++) top = fmax(top, log_p[i]);
    for (size_t i = 0; i < n; i++) sum += log_p[i] = exp(log_p[i] - top);
    for (size_t i = 0; i < n; i++) log_p[i] /= sum;
}

/* p[n] of the CMP distribution. */
static void cmp_probabilities(double log_lambda, double nu, double *p, size_t n)
{
    double log_factorial = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0) log_factorial += log((double)i);
        p[i] = (double)i * log_lambda - nu * log_factorial;
    }
    normalise(p, n);
}

/* log lambda for which the CMP distribution has this mean > 0, by bisection; overwrites p[n] with
 * that distribution.  The mode is lambda^(1/nu), within about (1 + 1/nu) of the mean, which gives
 * the bracket. */
static double fit_cmp(const drove_tau *tau, double *p, size_t n)
{
    double low = tau->nu * log(tau->mean) - 50.0,
           high = tau->nu * log(tau->mean + 2.0 + 2.0 / tau->nu);
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (low + high), mean = 0.0;
        cmp_probabilities(middle, tau->nu, p, n);
        for (size_t k = 0; k < n; k++) mean += (double)k * p[k];
        if (mean < tau->mean) low = middle;
        else high = middle;
    }
    return 0.5 * (low + high);
}

/* p[n] and alpha[n], the latter up to a constant; entries may be infinite: the cap bounds them
 * later. */
static void fill_cmp(const drove_tau *tau, double *p, double *alpha, size_t n)
{
    double log_lambda = tau->model == DROVE_TAU_POISSON ? log(tau->mean) : fit_cmp(tau, p, n);
    cmp_probabilities(log_lambda, tau->nu, p, n);
    /* P(tau >= i) / P(i) = 1 + P(tau >= i+1) / P(i+1) * P(i+1) / P(i), from the far end, where
     * it tends to 1 */
    double ratio = 1.0;
    for (size_t i = n; i-- > 0;) {
        alpha[i] = ratio;
        if (i > 0) ratio = 1.0 + ratio * exp(log_lambda - tau->nu * log((double)i));
    }
}

static void fill_geometric(const drove_tau *tau, double *p, double *alpha, size_t n)
{
    double stay = tau->mean / (1.0 + tau->mean); /* 1 - p */
    double momentum = tau->momentum == 0.0 ? stay * stay : tau->momentum;
    for (size_t i = 0; i < n; i++) {
        p[i] = (double)i * log(stay);
        alpha[i] = pow(momentum / stay, (double)i);
    }
    normalise(p, n);
}

static double mean_factor(const double *p, const double *alpha, size_t n, double scale, double cap)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += p[i] * fmin(cap, scale * alpha[i]);
    return sum;
}

/* Number of entries until P is negligible; a larger tau gets the last factor. */
static size_t table_length(const drove_tau *tau)
{
    if (tau->mean == 0.0) return 1;
    if (tau->model == DROVE_TAU_GEOMETRIC) return (size_t)(tail * (1.0 + tau->mean)) + 2;
    double deviation = sqrt(tau->mean / tau->nu);
    return (size_t)(tau->mean + 12.0 * deviation + tail * (1.0 + 1.0 / tau->nu)) + 2;
}

static const char *const models[] = {[DROVE_TAU_POISSON] = "poisson",
                                     [DROVE_TAU_GEOMETRIC] = "geometric",
                                     [DROVE_TAU_CMP] = "cmp",
                                     NULL};
static const drove_spec_key mindthestep_keys[] = {
    {"model", "poisson", DROVE_AS_WORD(drove_schedule, tau.model, models),
     .help = "distribution of staleness"},
    {"mean", NULL, DROVE_AS_REAL(drove_schedule, tau.mean, 0.0, 1e4),
     .help = "mean staleness; without it the workers less one"},
    {"cap", "5", DROVE_AS_REAL(drove_schedule, tau.cap, 1.001, 1e6), .help = "largest factor"},
    {"nu", NULL, DROVE_AS_REAL(drove_schedule, tau.nu, 0.1, 10.0),
     .help = "with model=cmp: 1 = Poisson, more = narrower"},
    {"momentum", NULL, DROVE_AS_REAL(drove_schedule, tau.momentum, 0.001, 0.9999),
     .help = "with model=geometric: that of the expected step"},
    DROVE_SPEC_END,
};

static drove_status init_mindthestep(drove_schedule *schedule)
{
    drove_tau *tau = &schedule->tau;
    if (tau->model != DROVE_TAU_CMP && tau->nu != 0.0) {
        return drove__fail(DROVE_E_ARG,
                           "mindthestep?nu: expected with model=cmp only, found model=%s",
                           models[tau->model]);
    }
    if (tau->model != DROVE_TAU_GEOMETRIC && tau->momentum != 0.0) {
        return drove__fail(
            DROVE_E_ARG, "mindthestep?momentum: expected with model=geometric only, found model=%s",
            models[tau->model]);
    }
    if (tau->nu == 0.0) tau->nu = 1.0;

    size_t n = table_length(tau);
    double *p = drove__alloc(n, sizeof *p);
    double *factor = drove__alloc(n, sizeof *factor);
    if (p == NULL || factor == NULL) {
        drove__free(p);
        drove__free(factor);
        return drove__fail_nomem("mindthestep", 2 * n * sizeof *p);
    }
    if (tau->mean == 0.0) { /* nothing is ever stale */
        factor[0] = 1.0;
    } else {
        if (tau->model == DROVE_TAU_GEOMETRIC) fill_geometric(tau, p, factor, n);
        else fill_cmp(tau, p, factor, n);
        /* alpha[n] -> factors with mean 1 under p[n]. cap > 1, so a scale exists. */
        double low = 0.0, high = 1.0;
        while (mean_factor(p, factor, n, high, tau->cap) < 1.0 && high < DBL_MAX / 2) high *= 2.0;
        for (int i = 0; i < 200; i++) {
            double middle = 0.5 * (low + high);
            if (mean_factor(p, factor, n, middle, tau->cap) < 1.0) low = middle;
            else high = middle;
        }
        for (size_t i = 0; i < n; i++) factor[i] = fmin(tau->cap, high * factor[i]);
    }
    drove__free(p);
    schedule->table = factor;
    schedule->n_table = n;
    return DROVE_OK;
}

static double factor_mindthestep(const drove_schedule *schedule, const drove_progress_point *at)
{
    size_t last = schedule->n_table - 1;
    return schedule->table[at->staleness < last ? at->staleness : last];
}

const drove_schedule_ops drove__schedule_mindthestep = {
    .name = "mindthestep",
    .help = "by a model of staleness, mean factor 1",
    .source = "Backstrom, Papatriantafilou, Tsigas, IEEE Big Data 2019",
    .by_staleness = true,
    .keys = mindthestep_keys,
    .init = init_mindthestep,
    .factor = factor_mindthestep,
};
