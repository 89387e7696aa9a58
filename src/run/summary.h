/* run/summary.h - the result of a run for programs and for people. */
#ifndef DROVE_RUN_SUMMARY_H
#define DROVE_RUN_SUMMARY_H

#include "run/run.h"

typedef struct drove_totals { /* over all workers */
    uint64_t        steps, attempts, dropped, clamped;
    uint64_t        phase_ns[DROVE_N_PHASES];
    drove_histogram staleness;
} drove_totals;

/* Text of the JSON object; the caller frees it. */
drove_status drove__summary_json(const drove_run *run, char **out);
drove_status drove__summary_print(const drove_run *run, FILE *stream);

#endif
