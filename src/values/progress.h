/* values/progress.h - the standing of a run: interrupts, progress, parameters. */
#ifndef DROVE_VALUES_PROGRESS_H
#define DROVE_VALUES_PROGRESS_H

#include "values/values.h"

/* A word that changes with every drove_train_interrupt: a run compares it with what it was when the
 * run began. */
uint64_t drove__run_interrupts(void);
/* The signal of the last interrupt since that word was `before`; 0: none. */
int drove__run_signal_since(uint64_t before);

/* The signal that has interrupted this run; 0: none. */
int drove__run_signal(const drove_state *state);
/* Training examples that all workers have done. */
uint64_t drove__run_examples(const drove_workers *workers);

/* The present standing; train_ns: the training clock.  Numbers that do not exist are NaN. */
void drove__run_progress(drove_run *run, uint64_t train_ns, int evaluated, drove_progress *out);

/* The parameters as floats [n_params], with batch normalisation's statistics; workers parked, valid
 * until they go on.  Errors: those of the engine that computes statistics. */
drove_status drove__run_theta(const drove_problem *problem, const drove_workers *workers,
                              drove_state *state, const float **out);

/* The source of the model's matrix products: "drove; large: oneDNN 2.6.3 avx512_core" ... */
const char *drove__run_gemm(const drove_problem *problem, const drove_workers *workers);

#endif
