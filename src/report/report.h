/* report/report.h - what a run tells: the summary for programs and for people, run.json, the log's
 * records, TensorBoard's events and the time line.  Keys and units: docs/use/files.md.
 *
 * All of it is made from facts (facts.h).  Any thread; one at a time for each file.
 */
#ifndef DROVE_REPORT_REPORT_H
#define DROVE_REPORT_REPORT_H

#include "report/facts.h"

#include "base/status.h"

#include <stdio.h>

/* The summary: one JSON object; the caller frees *out.  Errors: DROVE_E_NOMEM. */
drove_status drove__report_json(const drove_facts *f, char **out);
/* The summary for people.  Errors: DROVE_E_IO. */
drove_status drove__report_print(const drove_facts *f, FILE *stream);

/* run.json: every option, and the machine; the caller frees *out.  Errors: DROVE_E_NOMEM. */
drove_status drove__report_run(const drove_start_facts *f, char **out);

/* An evaluation: its record in log.jsonl, one line; the caller frees *out.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__report_evaluation(const drove_present_facts *f, char **out);
/* The same as scalars and histograms.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__report_events(const drove_present_facts *f, drove_events *events);

/* f->spans as a time line in the file at `path`.  Errors: DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__report_timeline(const drove_facts *f, const char *path);

#endif
