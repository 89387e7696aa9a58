/* report/sections.h - the sections of a report: each has its file, with the form for programs
 * beside the one for people; used inside report/ only. */
#ifndef DROVE_REPORT_SECTIONS_H
#define DROVE_REPORT_SECTIONS_H

#include "base/json.h"
#include "report/facts.h"

#include <stdio.h>

typedef struct drove_totals { /* over some workers */
    uint64_t        examples, updates, steps, attempts, dropped, clamped, overwritten, busy_ns;
    uint64_t        phase_ns[DROVE_N_PHASES];
    drove_histogram staleness;
} drove_totals;

/* totals.c; over workers first .. first + n - 1 */
void drove__report_add_up(const drove_present_facts *f, unsigned first, unsigned n,
                          drove_totals *out);
/* The whole run, 1/s; NaN before it has trained.  Without each worker's start behind a parking
 * (trace/trace.h: start_ns): the rate of a worker is that of its other steps over the rest of the
 * training time, and the run's is their sum. */
typedef struct drove_rates {
    double examples, updates;
    double start_s; /* what was left out, mean of the workers */
} drove_rates;
drove_rates drove__report_rates(const drove_present_facts *f);
/* Updates that others' stores went over, parameter by parameter: so many whole ones' worth.  NaN in
 * real time, where nobody sees them. */
double drove__report_lost(const drove_facts *f, const drove_totals *total);
/* 1234567 -> "1,234,567"; valid until the fourth call after it on this thread. */
const char *drove__report_grouped(double value);

/* log.c: every option by name, as resolved */
json_t *drove__report_options_json(const drove_start_facts *f);

/* modelled.c: the virtual clock */
const char *drove__report_clock(const drove_start_facts *f);            /* "virtual" or "real" */
json_t     *drove__report_modelled_json(const drove_modelled_facts *m); /* null: real time */
void        drove__report_modelled_print(const drove_modelled_facts *m, FILE *stream);

/* groups.c: the names in --workers to which a coordinator gives batches */
json_t *drove__report_groups_json(const drove_present_facts *f); /* the whole run */
json_t *drove__report_groups_log(
    const drove_present_facts *f); /* since the last record of the log */
void drove__report_groups_print(const drove_present_facts *f, FILE *stream);
/* Part of the training time since the last record of the log in which the group computed. */
double drove__report_utilisation(const drove_present_facts *f, const drove_group_facts *g);

/* communication.c: workers that exchange parameters, ranks; null where there are none */
json_t *drove__report_communication_json(const drove_facts *f);
json_t *drove__report_cluster_json(const drove_start_facts *f);
void    drove__report_communication_print(const drove_facts *f, FILE *stream);
/* Mean |W - c| of the workers; NaN where nothing is exchanged. */
double drove__report_distance(const drove_present_facts *f);

/* replicas.c: devices with parameters of their own */
void drove__report_replicas_json(const drove_facts *f, json_t **summary);
void drove__report_replicas_print(const drove_facts *f, FILE *stream);

/* choices.c: --model auto and --strategy auto; null where nothing was compared */
json_t *drove__report_pack_json(const drove_pack_facts *p);
void    drove__report_pack_print(const drove_pack_facts *p, FILE *stream);
json_t *drove__report_strategy_json(const drove_strategy_facts *s);
void    drove__report_strategy_print(const drove_strategy_facts *s, FILE *stream);

/* importance.c: columns of a table; null where they were not measured */
json_t *drove__report_importance_json(const drove_importance_facts *f);
void    drove__report_importance_print(const drove_importance_facts *f, FILE *stream);

/* metrics.c: the metrics of the model at the end; null where there are none */
json_t *drove__report_metrics_json(const drove_metrics *m, bool with_points);
/* The leading figures of the held-out data, or else of the training data. */
void drove__report_metrics_print(const drove_facts *f, FILE *stream);

#endif
