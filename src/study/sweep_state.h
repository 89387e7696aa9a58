/* study/sweep_state.h - a sweep as far as it has come: its study, its runs, their records.
 *
 * One thread.
 */
#ifndef DROVE_STUDY_SWEEP_STATE_H
#define DROVE_STUDY_SWEEP_STATE_H

#include "study/compare.h"
#include "study/expand.h"
#include "trace/trace.h"

#include <drove/sweep.h>

#include <stdbool.h>

typedef struct drove_sweep_state {
    drove_sweep_study study;
    drove_sweep_runs  runs;
    json_t           *results; /* [n_runs] records, null where there is none; NULL: not read */
} drove_sweep_state;

/* Reads the study, expands it, and checks that a run takes the options of each setting.  Errors:
 * those of the three; on failure *s is as for fini. */
drove_status drove__sweep_open(const char *study, drove_sweep_state *s);
void         drove__sweep_close(drove_sweep_state *s); /* accepts a zeroed one */
/* Whether the folder is of this study; begins: one without a study becomes its.  Errors:
 * DROVE_E_EXISTS (what differs), DROVE_E_FILE (no study there), DROVE_E_DATA, DROVE_E_IO. */
drove_status drove__sweep_claim(const drove_sweep_state *s, const char *folder, bool begins);
/* Reads the records in the folder; journal and had_half as of drove__journal_open. */
drove_status drove__sweep_read(drove_sweep_state *s, const char *folder, drove_jsonl **journal,
                               bool *had_half);

const json_t *drove__sweep_setting(const drove_sweep_state *s, size_t setting);
/* The record of a setting's repetition; NULL: none. */
const json_t *drove__sweep_find(const drove_sweep_state *s, size_t setting, size_t repetition);
/* Fills row's counts and median, by a figure of which less is better: a run without it counts as
 * infinite.  Errors: DROVE_E_NOMEM. */
drove_status drove__sweep_row(const drove_sweep_state *s, size_t setting, const char *figure,
                              drove_sweep_row *row);

struct drove_sweep_report {
    char *json, *text;
    int   signal;
};
/* What a sweep has come to: counts of outcomes, and the best of all by the target. */
drove_status drove__sweep_summarise(const drove_sweep_state *s, const char *folder, int signal,
                                    drove_sweep_report **out);

#endif
