/* files/facts.h - the facts of a run, for its report (report/facts.h).
 *
 * Threads: the caller's of drove_train, workers parked.
 */
#ifndef DROVE_FILES_FACTS_H
#define DROVE_FILES_FACTS_H

#include "report/facts.h"
#include "values/values.h"

/* At an evaluation p of a run whose workers are there: for run.json, the log and the events.
 * *out borrows from the run; drove__facts_fini.  Errors: DROVE_E_NOMEM. */
drove_status drove__facts_evaluation(const drove_run *run, const drove_progress *p,
                                     drove_facts *out);
/* All facts, at the end of a run; the rest as above. */
drove_status drove__facts_summary(const drove_run *run, drove_facts *out);
void         drove__facts_fini(drove_facts *f); /* zeroed or half made ones are accepted */

/* The log has its record of now: the next one says what happens from here on. */
void drove__facts_logged(const drove_workers *workers, drove_state *state);

#endif
