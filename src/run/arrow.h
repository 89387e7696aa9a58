/* run/arrow.h - predictions in the structs of the Arrow C data interface. */
#ifndef DROVE_RUN_ARROW_H
#define DROVE_RUN_ARROW_H

#include <drove/arrow.h>

/* Type of a batch of this model's predictions, the caller's to release.  Errors: DROVE_E_NOMEM, and
 * nothing is to be released. */
drove_status drove__arrow_schema(const drove_predictor *predictor, struct ArrowSchema *out);
/* A copy of value[n_rows][n], a column for each of n; else as drove__arrow_schema. */
drove_status drove__arrow_batch(const float *value, size_t n_rows, size_t n,
                                struct ArrowArray *out);

/* One more user, who calls drove_predictor_destroy as well.  Thread-safe. */
void drove__predictor_retain(drove_predictor *predictor);

#endif
