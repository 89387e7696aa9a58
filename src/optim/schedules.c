/* optim/schedules.c - step-size schedules by epoch: factors that multiply the step size.
 *
 * Source: thesis Table 2.3, "adaptive learning rate" (eta_t), which leaves the sequence open; these
 * are the usual ones.  optim/staleness.c has those that depend on staleness.  An epoch is a real
 * number: 2.5 = two and a half passes over the training set claimed.
 */
#include "optim/schedules.h"

#include <float.h>
#include <math.h>

static const double epochs_least = 1e-9, epochs_most = 1e9;

drove_status drove__schedule_needs(const drove_spec *spec, unsigned n_args, const char *const *keys,
                                   const char *form)
{
    DROVE_TRY(drove__spec_check(spec, n_args, keys));
    if (spec->n_args == n_args) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "%s: expected %s, found %u argument%s", spec->name, form,
                       spec->n_args, spec->n_args == 1 ? "" : "s");
}

/* ---- constant ---- */

static drove_status parse_constant(const drove_spec *spec, unsigned n_workers,
                                   drove_schedule *schedule)
{
    (void)n_workers, (void)schedule;
    return drove__spec_check(spec, 0, NULL);
}

static double factor_constant(const drove_schedule *schedule, const drove_progress_point *at)
{
    (void)schedule, (void)at;
    return 1.0;
}

static const drove_schedule_ops schedule_constant = {
    .name = "constant",
    .help = "constant step size",
    .source = "thesis Table 2.3, learning rate",
    .parse = parse_constant,
    .factor = factor_constant,
};

/* ---- step: p[0] factor, p[1] epochs ---- */

static drove_status parse_step(const drove_spec *spec, unsigned n_workers, drove_schedule *schedule)
{
    (void)n_workers;
    DROVE_TRY(drove__schedule_needs(spec, 2, NULL, "step:FACTOR,EPOCHS"));
    DROVE_TRY(drove__spec_arg_real(spec, 0, DBL_MIN, 1.0, &schedule->p[0]));
    return drove__spec_arg_real(spec, 1, epochs_least, epochs_most, &schedule->p[1]);
}

static double factor_step(const drove_schedule *schedule, const drove_progress_point *at)
{
    return pow(schedule->p[0], floor(at->epoch / schedule->p[1]));
}

static const drove_schedule_ops schedule_step = {
    .name = "step",
    .help = "times FACTOR after every EPOCHS epochs; step:FACTOR,EPOCHS",
    .source = "thesis Table 2.3, adaptive learning rate",
    .parse = parse_step,
    .factor = factor_step,
};

/* ---- exponential: p[0] factor ---- */

static drove_status parse_exponential(const drove_spec *spec, unsigned n_workers,
                                      drove_schedule *schedule)
{
    (void)n_workers;
    DROVE_TRY(drove__schedule_needs(spec, 1, NULL, "exponential:FACTOR"));
    return drove__spec_arg_real(spec, 0, DBL_MIN, 1.0, &schedule->p[0]);
}

static double factor_exponential(const drove_schedule *schedule, const drove_progress_point *at)
{
    return pow(schedule->p[0], at->epoch);
}

static const drove_schedule_ops schedule_exponential = {
    .name = "exponential",
    .help = "times FACTOR per epoch, applied at every batch; exponential:FACTOR",
    .source = "thesis Table 2.3, adaptive learning rate",
    .parse = parse_exponential,
    .factor = factor_exponential,
};

/* ---- inverse: p[0] = K ---- */

static drove_status parse_inverse(const drove_spec *spec, unsigned n_workers,
                                  drove_schedule *schedule)
{
    (void)n_workers;
    DROVE_TRY(drove__schedule_needs(spec, 1, NULL, "inverse:K"));
    return drove__spec_arg_real(spec, 0, 0.0, 1e9, &schedule->p[0]);
}

static double factor_inverse(const drove_schedule *schedule, const drove_progress_point *at)
{
    return 1.0 / (1.0 + schedule->p[0] * at->epoch);
}

static const drove_schedule_ops schedule_inverse = {
    .name = "inverse",
    .help = "1 / (1 + K epoch); inverse:K",
    .source = "thesis Table 2.3, adaptive learning rate",
    .parse = parse_inverse,
    .factor = factor_inverse,
};

/* ---- cosine, linear, warmup: p[0] epochs, p[1] floor ---- */

static drove_status parse_ramp(const drove_spec *spec, drove_schedule *schedule, const char *form)
{
    static const char *const keys[] = {"floor", NULL};
    DROVE_TRY(drove__schedule_needs(spec, 1, keys, form));
    schedule->p[1] = 0.0;
    DROVE_TRY(drove__spec_arg_real(spec, 0, epochs_least, epochs_most, &schedule->p[0]));
    return drove__spec_real(spec, "floor", 0.0, 1.0, &schedule->p[1]);
}

/* Completed share of the ramp, in [0, 1]. */
static double done(const drove_schedule *schedule, const drove_progress_point *at)
{
    return fmin(at->epoch / schedule->p[0], 1.0);
}

/* floor at height 0, 1 at height 1 */
static double above_floor(const drove_schedule *schedule, double height)
{
    return schedule->p[1] + (1.0 - schedule->p[1]) * height;
}

static drove_status parse_cosine(const drove_spec *spec, unsigned n_workers,
                                 drove_schedule *schedule)
{
    (void)n_workers;
    return parse_ramp(spec, schedule, "cosine:EPOCHS");
}

static double factor_cosine(const drove_schedule *schedule, const drove_progress_point *at)
{
    return above_floor(schedule, 0.5 + 0.5 * cos(acos(-1.0) * done(schedule, at)));
}

static const drove_schedule_ops schedule_cosine = {
    .name = "cosine",
    .help = "half a cosine wave from 1 down to the floor, then the floor; "
            "cosine:EPOCHS?floor=0",
    .source = "Loshchilov, Hutter, ICLR 2017, without restarts",
    .parse = parse_cosine,
    .factor = factor_cosine,
};

static drove_status parse_linear(const drove_spec *spec, unsigned n_workers,
                                 drove_schedule *schedule)
{
    (void)n_workers;
    return parse_ramp(spec, schedule, "linear:EPOCHS");
}

static double factor_linear(const drove_schedule *schedule, const drove_progress_point *at)
{
    return above_floor(schedule, 1.0 - done(schedule, at));
}

static const drove_schedule_ops schedule_linear = {
    .name = "linear",
    .help = "a straight line from 1 down to the floor, then the floor; linear:EPOCHS?floor=0",
    .source = "thesis Table 2.3, adaptive learning rate",
    .parse = parse_linear,
    .factor = factor_linear,
};

static drove_status parse_warmup(const drove_spec *spec, unsigned n_workers,
                                 drove_schedule *schedule)
{
    (void)n_workers;
    return parse_ramp(spec, schedule, "warmup:EPOCHS");
}

static double factor_warmup(const drove_schedule *schedule, const drove_progress_point *at)
{
    return above_floor(schedule, done(schedule, at));
}

static const drove_schedule_ops schedule_warmup = {
    .name = "warmup",
    .help = "a straight line from the floor up to 1, then 1; warmup:EPOCHS?floor=0",
    .source = "Goyal et al., 2017, gradual warm-up",
    .parse = parse_warmup,
    .factor = factor_warmup,
};

/* ---- plateau: p[0] factor, p[1] patience, p[2] cuts ----
 *
 * The controlling thread makes the cuts (run/stopping.c), by the losses that it evaluates; they go
 * into the optimiser's back-off.  The factor by epoch is 1. */

static drove_status parse_plateau(const drove_spec *spec, unsigned n_workers,
                                  drove_schedule *schedule)
{
    static const char *const keys[] = {"patience", "cuts", NULL};
    uint64_t patience = 4, cuts = 3;
    (void)n_workers;
    DROVE_TRY(drove__spec_check(spec, 1, keys));
    schedule->p[0] = 0.2;
    DROVE_TRY(drove__spec_arg_real(spec, 0, DBL_MIN, 1.0, &schedule->p[0]));
    DROVE_TRY(drove__spec_u64(spec, "patience", 1, 1u << 30, &patience));
    DROVE_TRY(drove__spec_u64(spec, "cuts", 0, 1000, &cuts));
    schedule->p[1] = (double)patience;
    schedule->p[2] = (double)cuts;
    return DROVE_OK;
}

const drove_schedule_ops drove__schedule_plateau = {
    .name = "plateau",
    .help = "times FACTOR, from the best parameters, when the validation (else training) loss has "
            "not fallen for so many evaluations; plateau:FACTOR?patience=4&cuts=3, default 0.2",
    .source = "Krizhevsky, Sutskever, Hinton, NIPS 2012, section 5, made automatic",
    .parse = parse_plateau,
    .factor = factor_constant,
};

const drove_schedule_ops *const drove__schedules[] = {
    &schedule_constant,
    &schedule_step,
    &schedule_exponential,
    &schedule_inverse,
    &schedule_cosine,
    &schedule_linear,
    &schedule_warmup,
    &drove__schedule_plateau,
    &drove__schedule_staleness,
    &drove__schedule_mindthestep,
    NULL,
};
