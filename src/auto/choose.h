/* auto/choose.h - what auto means to a run, once its data and its model are there.
 *
 * Where drove_config.is_tuned says so, the run chooses what was not given: how long it lasts and
 * which examples it is judged by, the rule, the schedule, the step size.  Of a network in fixed
 * point it chooses schedule and step size alone.  Else auto has the classic meaning of
 * config/resolve.h.
 *
 * Each function reads a configuration that is still open in some places, and adds what it chooses
 * for them to *choice, which drove__config_choose takes.
 */
#ifndef DROVE_AUTO_CHOOSE_H
#define DROVE_AUTO_CHOOSE_H

#include "values/values.h"

/* Sparse data of so many features that a linear model is better, such as texts. */
bool drove__choose_is_wide(const drove_storage *storage);
/* The model of --model default, where no models are compared, now that the data are known. */
void drove__choose_model(const drove_config *config, const drove_problem *problem,
                         drove_choice *choice);
/* The batch for so many workers as there are, unless --batch says it.  Errors: those of
 * drove__resolve_batch_each. */
drove_status drove__choose_batch(const drove_config *config, const drove_workers *workers,
                                 drove_choice *choice);
/* The data are there: batch and budget.  Errors: DROVE_E_ARG (--until: no room for limits;
 * those of drove__choose_batch). */
drove_status drove__choose_until(const drove_config *config, const drove_problem *problem,
                                 const drove_workers *workers, drove_choice *choice);
/* ... evaluations, once validation examples are held out. */
void drove__choose_evaluations(const drove_config *config, const drove_problem *problem,
                               drove_choice *choice);
/* The model is there: rule, state, schedule; the step size unless it takes trials. */
drove_status drove__choose_method(const drove_config *config, const drove_problem *problem,
                                  const drove_workers *workers, drove_choice *choice);
/* Where the rule's state is, for a strategy with these needs. */
void drove__choose_rule_state(const drove_config *config, unsigned needs, drove_choice *choice);
/* The step size by trials from the first parameters; by all ranks, which take that of rank 0.  The
 * choice points to *trials.  Errors: those of drove__trials_run, and of ranks. */
drove_status drove__choose_lr(const drove_config *config, const drove_problem *problem,
                              drove_workers *workers, drove_trials *trials, drove_choice *choice);
/* The step size for so many workers as there are, where the run has chosen it. */
void drove__choose_stretch(const drove_config *config, const drove_workers *workers,
                           drove_choice *choice);
/* The choices, for people: a line, two after a probe of strategies. */
void drove__choose_say(const drove_config *config, const drove_callbacks *cb);

#endif
