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

/* A run on data that are read already, whose targets it may standardise in place, up to its
 * first evaluation: no files, no messages.  shared: what a TYPED engine has prepared for the
 * same data and options, borrowed; else NULL.  of, parent: the run that it is part of, which is
 * cancelled with it; borrowed.  *out: closed by drove__run_close; NULL after a failure. Errors:
 * those of drove_train. */
drove_status drove__run_open(const drove_config *of, const drove_state *parent,
                             const drove_options *opt, const drove_data *given,
                             drove_engine_shared *shared, drove_run **out);
void         drove__run_close(drove_run *run);
/* Such a run as a whole.  Errors: the same. */
drove_status drove__run_trial(const drove_config *of, const drove_state *parent,
                              const drove_options *opt, const drove_data *given,
                              drove_trial_result *out);

/* A run of these options, which only names what it will have; freed by drove__free.  NULL: no
 * memory. */
drove_run *drove__run_alloc(const drove_options *options);

#endif
