/* optim/schedules.c - step-size schedules by epoch: factors that multiply the step size.
 *
 * Source: thesis Table 2.3, "adaptive learning rate" (eta_t), which leaves the sequence open; these
 * are the usual ones.  optim/staleness.c has those that depend on staleness.  An epoch is a real
 * number: 2.5 = two and a half passes over the training set claimed.
 */
#include "optim/schedules.h"

#include <float.h>
#include <math.h>

#define FACTOR_AS DROVE_AS_REAL(drove_schedule, factor, DBL_MIN, 1.0)
#define EPOCHS_AS DROVE_AS_REAL(drove_schedule, epochs, 1e-9, 1e9)

/* ---- constant ---- */

static double factor_constant(const drove_schedule *schedule, const drove_progress_point *at)
{
    (void)schedule, (void)at;
    return 1.0;
}

static const drove_schedule_ops schedule_constant = {
    .name = "constant",
    .help = "constant step size",
    .source = "thesis Table 2.3, learning rate",
    .factor = factor_constant,
};

/* ---- step ---- */

static const drove_spec_key step_keys[] = {
    {"FACTOR", NULL, FACTOR_AS, .is_argument = true, .is_needed = true, .help = "of each cut"},
    {"EPOCHS", NULL, EPOCHS_AS, .is_argument = true, .is_needed = true, .help = "between cuts"},
    DROVE_SPEC_END,
};

static double factor_step(const drove_schedule *schedule, const drove_progress_point *at)
{
    return pow(schedule->factor, floor(at->epoch / schedule->epochs));
}

static const drove_schedule_ops schedule_step = {
    .name = "step",
    .help = "times FACTOR after every EPOCHS epochs",
    .source = "thesis Table 2.3, adaptive learning rate",
    .keys = step_keys,
    .factor = factor_step,
};

/* ---- exponential ---- */

static const drove_spec_key exponential_keys[] = {
    {"FACTOR", NULL, FACTOR_AS, .is_argument = true, .is_needed = true, .help = "of an epoch"},
    DROVE_SPEC_END,
};

static double factor_exponential(const drove_schedule *schedule, const drove_progress_point *at)
{
    return pow(schedule->factor, at->epoch);
}

static const drove_schedule_ops schedule_exponential = {
    .name = "exponential",
    .help = "times FACTOR per epoch, applied at every batch",
    .source = "thesis Table 2.3, adaptive learning rate",
    .keys = exponential_keys,
    .factor = factor_exponential,
};

/* ---- inverse ---- */

static const drove_spec_key inverse_keys[] = {
    {"K", NULL, DROVE_AS_REAL(drove_schedule, factor, 0.0, 1e9), .is_argument = true,
     .is_needed = true, .help = "times the epoch, plus 1, is what the step size is divided by"},
    DROVE_SPEC_END,
};

static double factor_inverse(const drove_schedule *schedule, const drove_progress_point *at)
{
    return 1.0 / (1.0 + schedule->factor * at->epoch);
}

static const drove_schedule_ops schedule_inverse = {
    .name = "inverse",
    .help = "1 / (1 + K epoch)",
    .source = "thesis Table 2.3, adaptive learning rate",
    .keys = inverse_keys,
    .factor = factor_inverse,
};

/* ---- cosine, linear, warmup ---- */

static const drove_spec_key ramp_keys[] = {
    {"EPOCHS", NULL, EPOCHS_AS, .is_argument = true, .is_needed = true, .help = "of the ramp"},
    {"floor", "0", DROVE_AS_REAL(drove_schedule, floor, 0.0, 1.0), .help = "least factor"},
    DROVE_SPEC_END,
};

/* Completed share of the ramp, in [0, 1]. */
static double done(const drove_schedule *schedule, const drove_progress_point *at)
{
    return fmin(at->epoch / schedule->epochs, 1.0);
}

/* floor at height 0, 1 at height 1 */
static double above_floor(const drove_schedule *schedule, double height)
{
    return schedule->floor + (1.0 - schedule->floor) * height;
}

static double factor_cosine(const drove_schedule *schedule, const drove_progress_point *at)
{
    return above_floor(schedule, 0.5 + 0.5 * cos(acos(-1.0) * done(schedule, at)));
}

static const drove_schedule_ops schedule_cosine = {
    .name = "cosine",
    .help = "half a cosine wave from 1 down to the floor, then the floor",
    .source = "Loshchilov, Hutter, ICLR 2017, without restarts",
    .keys = ramp_keys,
    .factor = factor_cosine,
};

static double factor_linear(const drove_schedule *schedule, const drove_progress_point *at)
{
    return above_floor(schedule, 1.0 - done(schedule, at));
}

static const drove_schedule_ops schedule_linear = {
    .name = "linear",
    .help = "a straight line from 1 down to the floor, then the floor",
    .source = "thesis Table 2.3, adaptive learning rate",
    .keys = ramp_keys,
    .factor = factor_linear,
};

static double factor_warmup(const drove_schedule *schedule, const drove_progress_point *at)
{
    return above_floor(schedule, done(schedule, at));
}

static const drove_schedule_ops schedule_warmup = {
    .name = "warmup",
    .help = "a straight line from the floor up to 1, then 1",
    .source = "Goyal et al., 2017, gradual warm-up",
    .keys = ramp_keys,
    .factor = factor_warmup,
};

/* ---- plateau ----
 *
 * The controlling thread makes the cuts (run/stopping.c), by the losses that it evaluates; they go
 * into the optimiser's back-off.  The factor by epoch is 1. */

static const drove_spec_key plateau_keys[] = {
    {"FACTOR", "0.2", FACTOR_AS, .is_argument = true, .help = "of each cut"},
    {"patience", "4", DROVE_AS_COUNT(drove_schedule, patience, 1, 1u << 30),
     .help = "evaluations without a better loss before a cut"},
    {"cuts", "3", DROVE_AS_COUNT(drove_schedule, cuts, 0, 1000), .help = "most cuts"},
    DROVE_SPEC_END,
};

const drove_schedule_ops drove__schedule_plateau = {
    .name = "plateau",
    .help = "times FACTOR, from the best parameters, when the validation (else training) loss has "
            "not fallen for so many evaluations",
    .source = "Krizhevsky, Sutskever, Hinton, NIPS 2012, section 5, made automatic",
    .keys = plateau_keys,
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
