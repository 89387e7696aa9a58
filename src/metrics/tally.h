/* metrics/tally.h - metrics of a model's predictions (drove/metrics.h), from rows that are added
 * one after the other.
 *
 * A tally keeps sums alone, except for the AUC, which needs the scores of all rows
 * (metrics/ranking.h).  Rows are added in order, each by itself: the result depends neither on the
 * number of threads that made the predictions nor on the division into blocks.
 *
 * Threads: one at a time for each tally.
 */
#ifndef DROVE_METRICS_TALLY_H
#define DROVE_METRICS_TALLY_H

#include "base/status.h"
#include "metrics/rows.h"

typedef struct drove_tally drove_tally;

/* *out is NULL unless the result is DROVE_OK.  Errors: DROVE_E_NOMEM. */
drove_status drove__tally_create(const drove_tally_options *opt, drove_tally **out);
void         drove__tally_destroy(drove_tally *t); /* NULL accepted */
/* Errors: DROVE_E_ARG (more rows than were announced). */
drove_status drove__tally_add(drove_tally *t, const drove_tally_rows *rows);
/* The metrics of all rows added so far; the caller calls drove_metrics_destroy.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__tally_metrics(const drove_tally *t, drove_metrics **out);

#endif
