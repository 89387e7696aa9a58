/* run/report.h - what the groups of a crew did: for the summary, the log, TensorBoard and people.
 *
 * Source of what is measured: Ma and Rusu, Figures 7 (share of the updates) and 8 (utilisation over
 * time).  Called with all workers parked.  Keys and units: docs/formats.md.
 */
#ifndef DROVE_RUN_REPORT_H
#define DROVE_RUN_REPORT_H

#include "run/run.h"

#include <jansson.h>
#include <stdio.h>

/* One object for each group: the whole run (the summary's `workers`). */
json_t *drove__report_summary(const drove_run *run);
/* One object for each group: since the last record (the log's `workers`). */
json_t *drove__report_record(drove_run *run);
/* Scalars of each group at this step. */
drove_status drove__report_events(drove_run *run, int64_t step);
/* A line for each group. */
void drove__report_print(const drove_run *run, FILE *f);

#endif
