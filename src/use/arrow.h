/* use/arrow.h - predictions in the structs of the Arrow C data interface. */
#ifndef DROVE_USE_ARROW_H
#define DROVE_USE_ARROW_H

#include <drove/arrow.h>
#include <drove/predictor.h>

/* Type of a batch of this model's predictions, the caller's to release.  Errors: DROVE_E_NOMEM, and
 * nothing is to be released. */
drove_status drove__arrow_schema(const drove_predictor *predictor, struct ArrowSchema *out);
/* A copy of value[n_rows][n], a column for each of n: floats of classes and labels, doubles of
 * values; else as drove__arrow_schema. */
drove_status drove__arrow_batch(const drove_predictor *predictor, const double *value,
                                size_t n_rows, size_t n, struct ArrowArray *out);

/* One more user of the predictor, which lives on when the caller has destroyed it; the user calls
 * drove__predictor_release, and of the functions on predictors only those with two underscores.
 * Thread-safe. */
void drove__predictor_retain(drove_predictor *predictor);
void drove__predictor_release(drove_predictor *predictor);
/* As the public functions. */
const drove_predictor_facts *drove__predictor_facts(const drove_predictor *predictor);
const char                  *drove__predictor_class(const drove_predictor *predictor, size_t i);
drove_status drove__predictor_apply(const drove_predictor *predictor, const char *data,
                                    unsigned threads, double **into, size_t *n_rows);

#endif
