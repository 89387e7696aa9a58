/* run/trial.h - runs on data that are there, as parts of other runs. */
#ifndef DROVE_RUN_TRIAL_H
#define DROVE_RUN_TRIAL_H

#include "values/values.h"

typedef struct drove_trial_result {
    drove_outcome outcome;
    double        best_loss, best_epochs; /* on the validation examples; where */
    double        constant_loss;          /* drove__targets_constant_loss */
    double        lr;
} drove_trial_result;

/* A run with these settings, and all others as in `of`, on data that are read already, whose
 * targets it may standardise in place, up to its first evaluation: no messages.  tuned: what
 * they were made by, borrowed; NULL: they are as they were read.  shared: what a
 * TYPED engine has prepared for the same data and options, borrowed; else NULL.  parent: of the run
 * that it is part of, which is cancelled with it; borrowed.  *out: closed by drove__run_close; NULL
 * after a failure.  Errors: those of drove_train. */
drove_status drove__run_open(const drove_config *of, const drove_choice *settings,
                             const drove_interrupt *parent, const drove_data *given,
                             const drove_tuned *tuned, drove_engine_shared *shared,
                             drove_run **out);
void         drove__run_close(drove_run *run, drove_status status); /* how it went */
/* Such a run as a whole.  Errors: the same. */
drove_status drove__run_trial(const drove_config *of, const drove_choice *settings,
                              const drove_interrupt *parent, const drove_data *given,
                              drove_trial_result *out);

/* workers->loop, on the real clock.  Errors: DROVE_E_NOMEM. */
drove_status drove__run_make_loop(drove_workers *workers, bool is_shared);

#endif
