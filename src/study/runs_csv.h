/* study/runs_csv.h - the evaluations of runs as a table. */
#ifndef DROVE_STUDY_RUNS_CSV_H
#define DROVE_STUDY_RUNS_CSV_H

#include "base/json.h"

/* Writes a row for each evaluation of each run of drove__runs_read.  The file appears whole or not
 * at all.  Errors: DROVE_E_IO, DROVE_E_FILE, DROVE_E_NOMEM. */
drove_status drove__runs_write_csv(const json_t *runs, const char *path);

#endif
