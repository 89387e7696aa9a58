/* optim/schedules.h - shared by the files of schedules; used inside optim/ only. */
#ifndef DROVE_OPTIM_SCHEDULES_H
#define DROVE_OPTIM_SCHEDULES_H

#include "optim/optim.h"

/* Refuses unknown keys (NULL-terminated list, may be NULL) and any number of arguments but n_args;
 * form is the expected notation.  Errors: DROVE_E_ARG. */
drove_status drove__schedule_needs(const drove_spec *spec, unsigned n_args, const char *const *keys,
                                   const char *form);

extern const drove_schedule_ops drove__schedule_plateau;
extern const drove_schedule_ops drove__schedule_staleness;
extern const drove_schedule_ops drove__schedule_mindthestep;

#endif
