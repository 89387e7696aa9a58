/* problem/tuned.h - a network of which a part is trained (model/freeze.h): chosen, its data
 * computed once, and put together again where it is saved. */
#ifndef DROVE_PROBLEM_TUNED_H
#define DROVE_PROBLEM_TUNED_H

#include "values/values.h"

/* What the run's model file and ?freeze= leave untrained.  Nothing: problem->tuned stays NULL.
 * Else the problem's model and first parameters become those of the whole network there.
 * Errors: DROVE_E_ARG (names that no layer has, all layers), DROVE_E_NOMEM. */
drove_status drove__tuned_choose(const drove_config *config, drove_problem *problem);
/* Of such a problem: problem->model becomes the part that is trained, problem->first its
 * parameters, and, where the layers below it give the same numbers for an example each time and
 * these fit into memory, the data become these numbers.
 * Errors: DROVE_E_UNSUPPORTED, DROVE_E_NOMEM, those of a pass. */
drove_status drove__tuned_make(const drove_config *config, drove_problem *problem,
                               const drove_workers *workers, const drove_callbacks *cb);
/* The part of a trial run, whose data are those of the run that it is part of. */
drove_status drove__tuned_again(const drove_tuned *tuned, drove_problem *problem);
void         drove__tuned_destroy(drove_tuned *tuned); /* NULL accepted */

/* The network with theta, parameters of problem->model, in the place of those that were trained:
 * *whole for prediction, *out of drove__alloc.  Errors: DROVE_E_NOMEM. */
drove_status drove__tuned_whole(const drove_problem *problem, const float *theta,
                                const drove_model **whole, float **out);

#endif
