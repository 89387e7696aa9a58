/* study/sweep_results.h - results.jsonl of a sweep: a line for each run that has ended.
 *
 * A record: {"run", "setting", "settings", "seed", "outcome", "status", "signal", "message",
 * "resolved", "figures", "version", "processor", "cores"}.  Figures are numbers or null; that of a
 * nested object of the summary is named "metrics.auc".
 */
#ifndef DROVE_STUDY_SWEEP_RESULTS_H
#define DROVE_STUDY_SWEEP_RESULTS_H

#include "base/json.h"
#include "study/runner.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stddef.h>

/* Reads the records of a sweep of n_runs runs.  *out: array [n_runs], null for a run that has not
 * ended; of two records of a run the first counts.  journal and had_half as of drove__journal_open.
 * Errors: DROVE_E_DATA (file:line), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__sweep_results_read(const char *path, size_t n_runs, json_t **out,
                                       drove_jsonl **journal, bool *had_half);
/* Checks that a record is of a run from 1 to n_runs and has outcome and figures: DROVE_E_DATA. */
drove_status drove__sweep_result_check(const json_t *record, size_t n_runs);

/* How a child that was started ended, a constant; NULL: somebody told it to end, by SIGINT or
 * SIGTERM, which is no result.  summary: what it printed; NULL: nothing, or half of it. */
const char *drove__sweep_outcome(const drove_child *child, const json_t *summary);
/* Adds to the record of a run how its child ended; message: its last line of standard error;
 * n_cores: of this machine.  *record NULL: no memory. */
void drove__sweep_record(const drove_child *child, const json_t *summary, const char *outcome,
                         const char *message, unsigned n_cores, json_t **record);

/* The figures of a run, as a record has them, but for the time of its process.  New; NULL: no
 * memory. */
json_t *drove__summary_figures(const json_t *summary, const char *outcome);
/* Adds the numbers of a part of a summary by names such as "metrics.auc"; with_null: also those
 * that are null. */
void drove__summary_add_part(json_t **all, const json_t *summary, const char *part, bool with_null);

/* A number of a record's figures; NaN: there is none. */
double drove__sweep_figure(const json_t *record, const char *name);
bool   drove__sweep_has_crashed(const json_t *record);
/* Whether it was made by this version, on a machine with this processor and so many cores. */
bool drove__sweep_is_from(const json_t *record, unsigned n_cores);

#endif
