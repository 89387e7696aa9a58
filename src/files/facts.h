/* files/facts.h - the facts of a run, for its report (report/facts.h).
 *
 * They borrow from the run.  Threads: the caller's of drove_train, workers parked.
 */
#ifndef DROVE_FILES_FACTS_H
#define DROVE_FILES_FACTS_H

#include "report/facts.h"
#include "use/importance.h"
#include "values/values.h"

/* Errors of all: DROVE_E_NOMEM.  Each fini accepts zeroed ones. */

/* Once the workers are there; drove__facts_start_fini. */
drove_status drove__facts_start(const drove_config *config, const drove_problem *problem,
                                const drove_workers *workers, drove_start_facts *out);
void         drove__facts_start_fini(drove_start_facts *f);

/* At an evaluation p; drove__facts_present_fini. */
drove_status drove__facts_present(const drove_workers *workers, const drove_state *state,
                                  const drove_progress *p, drove_present_facts *out);
void         drove__facts_present_fini(drove_present_facts *f);
/* The log has its record of now: the next one says what happens from here on. */
void drove__facts_logged(const drove_workers *workers, drove_state *state);

typedef struct drove_final_facts { /* with what they borrow besides */
    drove_facts      facts;
    drove_metrics   *metrics, *test_metrics;
    drove_importance importance;
} drove_final_facts;

/* All facts, at the end of a run.  Metrics that data or model lack become a message.  The caller
 * calls drove__facts_final_fini, also after an error.  Errors: also those of drove__run_metrics
 * that are the system's. */
drove_status drove__facts_final(drove_run *run, drove_final_facts *out);
void         drove__facts_final_fini(drove_final_facts *f);

#endif
