/* study/runs_csv.h - the evaluations of runs as a table. */
#ifndef DROVE_STUDY_RUNS_CSV_H
#define DROVE_STUDY_RUNS_CSV_H

#include "base/json.h"

#include <drove/report.h>

/* Writes a row for each evaluation of each run of drove__runs_read, with all lines of its log,
 * which is read again.  The file appears whole or not at all.  opt: the file, and who is told of
 * lines that are left out.
 * Errors: DROVE_E_IO, DROVE_E_FILE, DROVE_E_NOMEM. */
drove_status drove__runs_write_csv(const json_t *runs, const drove_report_options *opt);

#endif
