/* study/expand.h - from a study to its runs: settings, their order, their seeds.  Pure. */
#ifndef DROVE_STUDY_EXPAND_H
#define DROVE_STUDY_EXPAND_H

#include "study/sweep_study.h"

typedef struct drove_sweep_runs {
    json_t *settings; /* [n_settings] of {name: value}, without what is fixed */
    size_t  n_settings, n_seeds;
    json_t *seeds; /* [n_seeds], borrowed from the study */
    /* of each run its setting; of repetition r and setting k, at r * n_settings + k, its run */
    uint32_t *setting_of, *run_of;
} drove_sweep_runs;

/* Every set of the list, with every draw of the sample, with every point of the grid; the last
 * option of the grid varies fastest.  Settings that are equal count once.
 * Errors: DROVE_E_ARG (more than DROVE_SWEEP_MOST_RUNS runs), DROVE_E_NOMEM. */
drove_status drove__sweep_expand(const drove_sweep_study *study, drove_sweep_runs *out);
void         drove__sweep_runs_fini(drove_sweep_runs *runs); /* accepts a zeroed one */

size_t drove__sweep_count(const drove_sweep_runs *runs);
/* Run i < count: repetitions outermost, and within each all settings in an order of its own, so
 * that a slow drift of the machine meets all settings alike. */
void drove__sweep_run_at(const drove_sweep_runs *runs, size_t i, size_t *setting, uint64_t *seed);
/* The run of a setting in a repetition. */
size_t drove__sweep_run_of(const drove_sweep_runs *runs, size_t setting, size_t repetition);

/* "strategy=leashed lr=0.01"; "the options alone" without settings. */
void drove__sweep_text(const json_t *settings, char *into, size_t size);

#endif
