/* optim/schedules.h - factors of the step size: a row for each schedule.
 *
 * What a run has of them is a part of drove_optim (optim/optim.h). */
#ifndef DROVE_OPTIM_SCHEDULES_H
#define DROVE_OPTIM_SCHEDULES_H

#include "base/spec_keys.h"
#include "base/status.h"

typedef struct drove_progress_point {
    double   epoch;     /* examples claimed so far / examples in the training set */
    uint64_t staleness; /* tau of this step; 0 if not known yet                      */
} drove_progress_point;

typedef struct drove_schedule drove_schedule;

/* One row of optim/schedules.c or optim/staleness.c. */
typedef struct drove_schedule_ops {
    const char           *name, *help, *source;
    bool                  by_staleness; /* its factor is only known when the step is published */
    const drove_spec_key *keys;         /* of a drove_schedule; NULL: none */
    /* After they were read; NULL: nothing to do. */
    drove_status (*init)(drove_schedule *schedule);
    /* Factor of eta. */
    double (*factor)(const drove_schedule *schedule, const drove_progress_point *at);
} drove_schedule_ops;

typedef enum drove_tau_model {
    DROVE_TAU_POISSON,
    DROVE_TAU_GEOMETRIC,
    DROVE_TAU_CMP
} drove_tau_model;

/* How staleness is distributed: mindthestep. */
typedef struct drove_tau {
    drove_tau_model model;
    double          mean;
    double          nu;       /* CMP: 1 = Poisson, more = narrower; 0: not given */
    double          momentum; /* GEOMETRIC: mu of the expected step; 0: (1-p)^2 */
    double          cap;      /* largest factor */
} drove_tau;

struct drove_schedule {
    const drove_schedule_ops *ops;
    double                    factor; /* step, exponential, plateau; K of inverse */
    double                    epochs, floor;
    uint64_t                  patience, cuts;
    drove_tau                 tau;
    double                   *table; /* precomputed factors by staleness, or NULL    */
    size_t                    n_table;
};
extern const drove_schedule_ops *const drove__schedules[]; /* NULL-terminated */

/* ---- between the files of schedules ---- */

extern const drove_schedule_ops drove__schedule_plateau;
extern const drove_schedule_ops drove__schedule_staleness;
extern const drove_schedule_ops drove__schedule_mindthestep;

#endif
