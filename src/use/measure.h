/* use/measure.h - the metrics of a model on a data set (docs/use/metrics.md). */
#ifndef DROVE_USE_MEASURE_H
#define DROVE_USE_MEASURE_H

#include <drove/metrics.h>

#include "metrics/threshold.h"
#include "use/infer.h"

/* A constant guess follows from the mean of the targets: the share of the rows that have each class
 * or label, or the mean of each value, by the rows' weights.  Numbers in it: */
size_t drove__target_mean_size(const drove_data *data);
void   drove__target_mean(const drove_data *data, double *out);

/* Loss and metrics of the predictions that *on describes (prepare, take, context and with_score are
 * set here).  constant: the mean of the training data's targets, in their own unit; NULL: that of
 * on->data's.  score may be NULL; metrics may be NULL: the loss alone.  The caller calls
 * drove_metrics_destroy.  Errors: those of drove__infer_run, DROVE_E_NOMEM. */
drove_status drove__metrics_measure(const drove_infer *on, const double *constant,
                                    const drove_threshold *threshold, drove_score *score,
                                    drove_metrics **metrics);

#endif
