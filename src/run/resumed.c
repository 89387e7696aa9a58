/* run/resumed.c - what a run that goes on can still do, for people.  Declared in run/control.h. */
#include "run/control.h"
#include "values/say.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this part of --lr a step changes next to nothing. */
static const double LEAST_FACTOR = 1e-3;

static double epochs_done(const drove_workers *workers)
{
    return (double)atomic_load(&workers->loop->source->next) /
           (double)workers->loop->order.per_epoch;
}

/* Factor of the step size by the schedules, at this epoch. */
static double factor_at(const drove_workers *workers, double epoch)
{
    const drove_optim *o = workers->optim;
    double whole = (double)o->lr * o->back_off;
    return whole > 0.0 ? (double)drove__optim_eta(o, epoch) / whole : 1.0;
}

/* True if the schedule is at its end: from here to `end` no step counts. */
static bool has_no_steps(const drove_workers *workers, double end)
{
    return factor_at(workers, epochs_done(workers)) < LEAST_FACTOR &&
           factor_at(workers, end) < LEAST_FACTOR;
}

/* The same ramp up to another epoch, or a constant step. */
static void offer_schedule(const drove_config *config, double end, char *into, size_t size)
{
    const char *schedule = config->method.schedule;
    const size_t n_name = strcspn(schedule, ":");
    const bool is_ramp = strchr(schedule, '+') == NULL && (strncmp(schedule, "cosine:", 7) == 0 ||
                                                           strncmp(schedule, "linear:", 7) == 0);
    if (!is_ramp) snprintf(into, size, "--schedule constant");
    else snprintf(into, size, "--schedule %.*s:%g", (int)n_name, schedule, end);
}

void drove__run_say_nothing_to_do(const drove_config *config, const drove_workers *workers,
                                  const drove_state *state, const drove_callbacks *cb)
{
    char until[DROVE_TEXT_SIZE], end[64], schedule[DROVE_TEXT_SIZE + 32] = "";
    double next = fmax(ceil(2.0 * epochs_done(workers)), 1.0);
    if (state->outcome == DROVE_CRASHED || state->outcome == DROVE_INTERRUPTED) return;
    /* Which condition of --until holds. */
    const drove_standing *st = &state->standing;
    if (state->outcome == DROVE_REACHED) snprintf(end, sizeof end, "the target is reached");
    else if (epochs_done(workers) >= config->length.until.epochs)
        snprintf(end, sizeof end, "%.4g epochs are done", epochs_done(workers));
    else if (atomic_load(&workers->loop->sync->published) >= config->length.until.updates)
        snprintf(end, sizeof end, "%llu updates are done",
                 (unsigned long long)atomic_load(&workers->loop->sync->published));
    else if (config->length.until.patience > 0 && st->since_best >= config->length.until.patience)
        snprintf(end, sizeof end, "%llu evaluations brought no better loss",
                 (unsigned long long)st->since_best);
    else snprintf(end, sizeof end, "%.3g s of training are done", (double)st->train_ns * 1e-9);
    if (has_no_steps(workers, next)) offer_schedule(config, next, schedule, sizeof schedule);
    drove__run_say(cb,
                   "--resume: nothing to do: %s (--until %s); to train on: --until epochs=%g%s%s",
                   end, drove__config_text(config, "until", until), next,
                   *schedule != '\0' ? " " : "", schedule);
}

void drove__run_say_no_steps(const drove_config *config, const drove_workers *workers,
                             const drove_callbacks *cb)
{
    char schedule[DROVE_TEXT_SIZE + 32];
    double now = epochs_done(workers), end = fmin(config->length.until.epochs, now + 1.0);
    if (!has_no_steps(workers, end)) return;
    offer_schedule(config,
                   isfinite(config->length.until.epochs) ? config->length.until.epochs : 2.0 * now,
                   schedule, sizeof schedule);
    drove__run_say(cb,
                   "--resume: the step size is %.2g from here on (--schedule %s), so that training "
                   "on changes next to nothing; %s gives it steps again",
                   (double)drove__optim_eta(workers->optim, now), config->method.schedule,
                   schedule);
}
