/* study/runs_read.h - what folders of runs and of sweeps hold, as JSON objects.
 *
 * A run:
 *   "run"          its folder
 *   "sweep"        folder of its sweep, or null
 *   "outcome"      word; null: it goes on or was killed
 *   "message"      the last line that a failed run of a sweep said; null
 *   "setting"      of a run of a sweep, the number of its setting; else null
 *   "settings"     of a run of a sweep, the options that its study varies; else null
 *   "options"      {name: value}; of a run of a sweep as resolved, else those of its setting
 *   "evaluations"  [records of log.jsonl], of a long one about DROVE_RUNS_MOST_EVALUATIONS, evenly;
 *                  of a run of a sweep without a log its end, as one record
 *   "log"          the file of these records; null: there is none
 *   "lines"        how many it has
 *   "final"        {"test_metrics.auc": number, "staleness.mean": number ...}
 *   "figures"      {"target_s": number or null ...}, as in results.jsonl
 *   "summary"      the whole summary; null: there is none
 */
#ifndef DROVE_STUDY_RUNS_READ_H
#define DROVE_STUDY_RUNS_READ_H

#include "base/json.h"

#include <drove/report.h>

enum { DROVE_RUNS_MOST_EVALUATIONS = 4096 }; /* many times what a figure draws */

/* Reads the runs of all folders, in their order.  Lines that cannot be read are left out with a
 * message.  *out: new array; NULL on failure.
 * Errors: DROVE_E_FILE (no run in a folder), DROVE_E_DATA, DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__runs_read(const drove_report_options *options, json_t **out);

/* The same without logs and summaries of a sweep's runs, each of which is then one evaluation. */
drove_status drove__runs_read_ends(const drove_report_options *options, json_t **out);

/* The options that have different values in two of the runs, but for files that a run writes:
 * {name: true}.  A run that does not know an option differs in none.  New; NULL: no memory. */
json_t *drove__runs_varied(const json_t *runs);

enum { DROVE_CELL_SIZE = 64 };
/* The shortest text that reads back as a value: "" for null.  Borrowed from it, or in text. */
const char *drove__cell_text(const json_t *value, char text[DROVE_CELL_SIZE]);

#endif
