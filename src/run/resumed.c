/* run/resumed.c - what a run that goes on can still do, for people.  Declared in run/control.h. */
#include "run/control.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below this part of --lr a step changes next to nothing. */
static const double LEAST_FACTOR = 1e-3;

static double epochs_done(const drove_run *run)
{
    return (double)atomic_load(&run->loop->source->next) / (double)run->loop->order.per_epoch;
}

/* Factor of the step size by the schedules, at this epoch. */
static double factor_at(const drove_run *run, double epoch)
{
    const drove_optim *o = run->optim;
    double whole = (double)o->lr * o->back_off;
    return whole > 0.0 ? (double)drove__optim_eta(o, epoch) / whole : 1.0;
}

/* Whether the schedule is at its end: from here to `end` no step counts. */
static bool has_no_steps(const drove_run *run, double end)
{
    return factor_at(run, epochs_done(run)) < LEAST_FACTOR && factor_at(run, end) < LEAST_FACTOR;
}

/* The same ramp up to another epoch, or a constant step. */
static void offer_schedule(const drove_run *run, double end, char *into, size_t size)
{
    const char *schedule = run->opt.schedule;
    const size_t n_name = strcspn(schedule, ":");
    const bool is_ramp = strchr(schedule, '+') == NULL && (strncmp(schedule, "cosine:", 7) == 0 ||
                                                           strncmp(schedule, "linear:", 7) == 0);
    if (!is_ramp) snprintf(into, size, "--schedule constant");
    else snprintf(into, size, "--schedule %.*s:%g", (int)n_name, schedule, end);
}

/* Which condition of --until holds. */
static void describe_end(const drove_run *run, char *into, size_t size)
{
    const drove_standing *st = &run->standing;
    const drove_until *u = &run->until;
    if (run->outcome == DROVE_REACHED) snprintf(into, size, "the target is reached");
    else if (epochs_done(run) >= u->epochs)
        snprintf(into, size, "%.4g epochs are done", epochs_done(run));
    else if (atomic_load(&run->loop->sync->published) >= u->updates)
        snprintf(into, size, "%llu updates are done",
                 (unsigned long long)atomic_load(&run->loop->sync->published));
    else if (u->patience > 0 && st->since_best >= u->patience)
        snprintf(into, size, "%llu evaluations brought no better loss",
                 (unsigned long long)st->since_best);
    else snprintf(into, size, "%.3g s of training are done", (double)st->train_ns * 1e-9);
}

void drove__run_say_nothing_to_do(const drove_run *run)
{
    char end[64], schedule[DROVE_TEXT_SIZE + 32] = "";
    double next = fmax(ceil(2.0 * epochs_done(run)), 1.0);
    if (run->outcome == DROVE_CRASHED || run->outcome == DROVE_INTERRUPTED) return;
    describe_end(run, end, sizeof end);
    if (has_no_steps(run, next)) offer_schedule(run, next, schedule, sizeof schedule);
    drove__run_say(run,
                   "--resume: nothing to do: %s (--until %s); to train on: --until epochs=%g%s%s",
                   end, run->opt.until, next, *schedule != '\0' ? " " : "", schedule);
}

void drove__run_say_no_steps(const drove_run *run)
{
    char schedule[DROVE_TEXT_SIZE + 32];
    double now = epochs_done(run), end = fmin(run->until.epochs, now + 1.0);
    if (!has_no_steps(run, end)) return;
    offer_schedule(run, isfinite(run->until.epochs) ? run->until.epochs : 2.0 * now, schedule,
                   sizeof schedule);
    drove__run_say(run,
                   "--resume: the step size is %.2g from here on (--schedule %s), so that training "
                   "on changes next to nothing; %s gives it steps again",
                   (double)drove__optim_eta(run->optim, now), run->opt.schedule, schedule);
}
