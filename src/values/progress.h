/* values/progress.h - the standing of a run: progress, parameters. */
#ifndef DROVE_VALUES_PROGRESS_H
#define DROVE_VALUES_PROGRESS_H

#include "values/values.h"

/* Training examples that all workers have done. */
uint64_t drove__run_examples(const drove_workers *workers);

/* Seconds of training that end the run; none where a record says where it ends. */
double drove__run_most_seconds(const drove_until *until, const drove_workers *workers);
/* The present standing; train_ns: the training clock.  Numbers that do not exist are NaN. */
void drove__run_progress(const drove_until *until, const drove_workers *workers, drove_state *state,
                         uint64_t train_ns, drove_progress *out);

/* The parameters as floats [n_params], with batch normalisation's statistics; workers parked, valid
 * until they go on.  Errors: those of the engine that computes statistics. */
drove_status drove__run_theta(const drove_problem *problem, const drove_workers *workers,
                              drove_state *state, const float **out);
/* Are they finite?  If not, sets loop->ending.nonfinite: one that no example of an evaluation meets
 * does not show in the loss.  Errors: as above. */
drove_status drove__run_check_theta(const drove_problem *problem, const drove_workers *workers,
                                    drove_state *state, bool *are_finite);

/* The source of the model's matrix products: "drove; large: oneDNN 2.6.3 avx512_core" ... */
const char *drove__run_gemm(const drove_problem *problem, const drove_workers *workers);

#endif
