/* auto/choose.h - what auto means to a run, once its data and its model are there.
 *
 * Where drove__resolve_is_tuned says so, the run chooses what was not given: how long it lasts and
 * which examples it is judged by, the rule, the schedule, the step size.  Of a network in fixed
 * point it chooses schedule and step size alone.  Else auto has the classic meaning of
 * config/resolve.h.  Either way config->opt says what was meant: run.json and the summary show
 * it, and a resumed run goes on with it.
 */
#ifndef DROVE_AUTO_CHOOSE_H
#define DROVE_AUTO_CHOOSE_H

#include "values/values.h"

/* Sparse data of so many features that a linear model is better, such as texts. */
bool drove__choose_is_wide(const drove_storage *storage);
/* Before the data are opened: the inputs' scaling, and whether the run chooses. */
void drove__choose_begin(drove_config *config, drove_state *state);
/* The model of --model default, where no models are compared, now that the data are known. */
void drove__choose_model(drove_config *config, const drove_problem *problem);
/* The data are there: batch, budget, evaluations; moves the validation examples out of
 * problem->train. Errors: DROVE_E_ARG (--until validation: too many rows, or ranks with parts of
 * their own). */
drove_status drove__choose_lengths(drove_config *config, drove_problem *problem,
                                   const drove_workers *workers);
/* The model is there: rule, state, schedule; the step size unless it takes trials. */
drove_status drove__choose_method(drove_config *config, const drove_problem *problem,
                                  const drove_workers *workers);
/* The step size by trials from theta[n_params]; by all ranks, which take that of rank 0.  Errors:
 * those of drove__trials_run, and of ranks. */
drove_status drove__choose_lr(drove_run *run, const float *theta);
/* The step size for so many workers as there are. */
void drove__choose_stretch(drove_config *config, const drove_workers *workers);
/* The choices, for people: a line, two after a probe of strategies. */
void drove__choose_say(const drove_config *config, const drove_workers *workers);

#endif
