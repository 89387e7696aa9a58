/* files/final_metrics.h - the metrics of a run's last parameters, for its summary. */
#ifndef DROVE_FILES_FINAL_METRICS_H
#define DROVE_FILES_FINAL_METRICS_H

#include <drove/metrics.h>

#include "use/importance.h"
#include "values/values.h"

/* Workers parked, on the caller's thread of drove_train.  NULL where there are none: no such data,
 * or more work than a summary is worth (docs/use/metrics.md).  with_training: of the training data,
 * too.  Every rank gets the same.  The caller calls drove_metrics_destroy.  Errors: what the data
 * or the model lack; DROVE_E_NOMEM, DROVE_E_IO, DROVE_E_SYSTEM. */
drove_status drove__run_metrics(const drove_problem *problem, const drove_workers *workers,
                                drove_state *state, bool with_training, drove_metrics **train,
                                drove_metrics **test);

/* The same of the columns of a table, of the held-out data or else of the training data; all zero
 * where there are none, or several ranks.  The caller calls drove__importance_fini, also after an
 * error. */
drove_status drove__run_importance(const drove_problem *problem, const drove_workers *workers,
                                   drove_state *state, uint64_t seed, drove_importance *out);

#endif
