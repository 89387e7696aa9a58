/* study/runs_read.h - what folders of runs and of sweeps hold, as JSON objects.
 *
 * A run: {"run": its folder, "outcome": word or null, "options": {}, "evaluations": [records of
 * log.jsonl], "final": {"test_metrics.auc": number or null}}.  A run of a sweep has one evaluation,
 * its last: no log is kept of it.  A run without a summary goes on or was killed: its outcome is
 * null.
 */
#ifndef DROVE_STUDY_RUNS_READ_H
#define DROVE_STUDY_RUNS_READ_H

#include "base/json.h"

#include <drove/report.h>

/* Reads the runs of all folders, in their order.  Lines that cannot be read are left out with a
 * message.  *out: new array; NULL on failure.
 * Errors: DROVE_E_FILE (no run in a folder), DROVE_E_DATA, DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__runs_read(const drove_report_options *options, json_t **out);

#endif
