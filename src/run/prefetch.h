/* run/prefetch.h - the processor's prefetchers while the workers train. */
#ifndef DROVE_RUN_PREFETCH_H
#define DROVE_RUN_PREFETCH_H

#include "values/values.h"

/* Switches the prefetchers of the workers' processors off if --prefetch says so; where that cannot
 * be done, a message says why, and they stay as they are.  Sets workers->prefetch_hardware. */
void drove__run_prefetch_begin(const drove_config *config, drove_workers *workers,
                               const drove_callbacks *cb);
/* Puts them back as they were; outcome: how the run ended. */
void drove__run_prefetch_end(const drove_config *config, drove_workers *workers,
                             drove_outcome outcome, const drove_callbacks *cb);

#endif
