/* files/other_number.h - what another number of workers means to a run that goes on. */
#ifndef DROVE_FILES_OTHER_NUMBER_H
#define DROVE_FILES_OTHER_NUMBER_H

#include "values/values.h"

/* True if a state of n_saved workers can be gone on with here: not where rounds are more than the
 * steps of an update.  Workers that exchange parameters begin at the centre. */
bool drove__run_takes_number(const drove_workers *workers, uint64_t n_saved);
/* One line: what became of replicas, step size, alpha and batch; nothing if the number is the
 * same. */
void drove__run_say_other_number(const drove_config *config, const drove_workers *workers,
                                 const drove_callbacks *cb, const drove_safetensors *st,
                                 unsigned n_saved);

#endif
