/* study/page/settings.h - the runs of a page by their settings: runs that differ in the seed alone
 * are repetitions of one setting.
 */
#ifndef DROVE_STUDY_PAGE_SETTINGS_H
#define DROVE_STUDY_PAGE_SETTINGS_H

#include "base/status.h"
#include "study/page/plot.h"

#include <jansson.h>

enum { DROVE_PAGE_BEST = 5, DROVE_PAGE_METRICS = 10 };

/* The figures of the held-out data that runs are compared by, test_loss or of test_metrics. */
typedef struct drove_page_metric {
    const char *key, *name;
} drove_page_metric;
extern const drove_page_metric drove__page_metrics[DROVE_PAGE_METRICS];

typedef struct drove_page_setting {
    char    name[DROVE_PLOT_TEXT];  /* "hogwild, lr 0.05": from files, to be escaped */
    char    label[DROVE_PLOT_TEXT]; /* in legends: of a run by itself its folder, else the name */
    size_t  number;                 /* from 1; of a sweep the sweep's, for --pair */
    size_t *run;                    /* [n_runs] numbers in .runs */
    size_t  n_runs;
    size_t  n_reached, n_missed, n_crashed, n_other; /* other: finished, goes on, refused ... */
    double  target_s, loss;               /* medians; a run without one counts as infinite */
    double  held_out[DROVE_PAGE_METRICS]; /* medians of the runs that have it; NaN: none has */
} drove_page_setting;

typedef struct drove_page_settings {
    const json_t       *runs;    /* of drove__runs_read; borrowed */
    drove_page_setting *setting; /* [n] by their numbers */
    size_t              n;
    size_t              shown[DROVE_PLOT_MOST_SERIES]; /* what pictures of lines have: the best */
    size_t              n_shown;
    size_t              best[DROVE_PAGE_BEST]; /* the best first */
    size_t              n_best;
    bool                has_target; /* a run has met a target */
} drove_page_settings;

/* Errors: DROVE_E_NOMEM; *out is then as for fini. */
drove_status drove__settings_init(drove_page_settings *s, const json_t *runs);
void         drove__settings_fini(drove_page_settings *s); /* accepts a zeroed one */

const json_t *drove__settings_run(const drove_page_settings *s, size_t setting, size_t repetition);
/* A figure of a run, as results.jsonl names it; NaN: it has none. */
double drove__run_figure(const json_t *run, const char *name);
bool   drove__run_is(const json_t *run, const char *outcome);
/* Its seconds are those of a modelled machine: --machine. */
bool drove__run_is_virtual(const json_t *run);
/* Numbers the settings of lines: "3: name", or the name alone where there is one setting. */
void drove__setting_label(const drove_page_settings *s, size_t setting, char *into, size_t size);

#endif
