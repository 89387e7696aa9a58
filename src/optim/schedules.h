/* optim/schedules.h - factors of the step size: a row for each schedule.
 *
 * What a run has of them is a part of drove_optim (optim/optim.h). */
#ifndef DROVE_OPTIM_SCHEDULES_H
#define DROVE_OPTIM_SCHEDULES_H

#include "base/spec.h"
#include "base/status.h"

typedef struct drove_progress_point {
    double   epoch;     /* examples claimed so far / examples in the training set */
    uint64_t staleness; /* tau of this step; 0 if not known yet                      */
} drove_progress_point;

typedef struct drove_schedule drove_schedule;

/* One row of optim/schedules.c or optim/staleness.c. */
typedef struct drove_schedule_ops {
    const char *name, *help, *source;
    bool        by_staleness; /* its factor is only known when the step is published */
    drove_status (*parse)(const drove_spec *spec, unsigned n_workers, drove_schedule *schedule);
    /* Factor of eta. */
    double (*factor)(const drove_schedule *schedule, const drove_progress_point *at);
} drove_schedule_ops;

struct drove_schedule {
    const drove_schedule_ops *ops;
    double                    p[6];  /* the schedule's own numbers                   */
    double                   *table; /* precomputed factors by staleness, or NULL    */
    size_t                    n_table;
};
extern const drove_schedule_ops *const drove__schedules[]; /* NULL-terminated */

/* ---- between the files of schedules ---- */

/* Refuses unknown keys (NULL-terminated list, may be NULL) and any number of arguments but n_args;
 * form is the expected notation.  Errors: DROVE_E_ARG. */
drove_status drove__schedule_needs(const drove_spec *spec, unsigned n_args, const char *const *keys,
                                   const char *form);

extern const drove_schedule_ops drove__schedule_plateau;
extern const drove_schedule_ops drove__schedule_staleness;
extern const drove_schedule_ops drove__schedule_mindthestep;

#endif
