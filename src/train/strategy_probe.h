/* train/strategy_probe.h - --strategy auto: the strategy and the number of threads with the fastest
 * progress on these data and this machine.
 *
 * Candidates, rows of the table in strategy_probe.c, train by turns, each from the run's first
 * parameters, with its rule, step size and batch, in pieces that double.  After each piece the loss
 * on a fixed sample of the training data is measured.  A candidate's rate, one thread being 1, is
 * the product of two factors: its speed in examples per second, over pairs of pieces that follow
 * each other; and the part of its examples that one thread would have needed for the same loss, at
 * most 1.  So steps alone make no choice, a lucky loss makes none either, and a short disturbance
 * of the machine or a cold cache changes neither factor much.  What the probe trains is thrown
 * away.
 *
 * A run that is too short by its counts alone takes one thread, without a clock: such a choice, and
 * so such a run, is the same each time.
 *
 * Threads: the caller's of drove_train, before the run has workers.
 */
#ifndef DROVE_TRAIN_STRATEGY_PROBE_H
#define DROVE_TRAIN_STRATEGY_PROBE_H

#include "values/values.h"

/* Seconds that a probe may take of a run of so many. */
double drove__strategy_probe_budget(double run_s);
/* Progress of `other` per second, that of `one` being 1, from their pieces; NaN: either has none,
 * or `one` has made no progress. */
double drove__strategy_probe_rate(const drove_rival *one, const drove_rival *other,
                                  double loss_first);
/* The same by the speed of their fastest pieces alone, in runs whose progress is known to be
 * alike. */
double drove__strategy_probe_speed(const drove_rival *one, const drove_rival *other);
/* The least rates that beat one thread, where losses are compared and by speed alone. */
extern const double drove__strategy_probe_margin, drove__strategy_speed_margin;
/* The choice: the fewest threads whose rate is about the best; rival 0 unless another is measured
 * and has at least the margin. */
unsigned drove__strategy_probe_choose(const drove_strategy_probe *probe);
/* Is rival i, not 0, so slow that it need not go on?  Is one so fast that the probe may end? */
bool drove__strategy_probe_is_out(const drove_strategy_probe *probe, unsigned i);
bool drove__strategy_probe_is_clear(const drove_strategy_probe *probe);

/* Chooses strategy and threads for --strategy auto, where the run may: threads of this process,
 * more than one allowed, a new run, not --defaults classic; else out->reason is
 * DROVE_STRATEGY_GIVEN.
 * After rule and step size are known, before there are workers.  The choice points to *out.
 * Errors: DROVE_E_NOMEM, those of low-precision parameters; candidates that fail are left out. */
drove_status drove__strategy_probe_run(const drove_config *config, const drove_problem *problem,
                                       drove_workers *workers, const drove_interrupt *interrupt,
                                       drove_strategy_probe *out, drove_choice *choice);

#endif
