/* run/workers.h - the plan's workers: engines, source of batches, host. */
#ifndef DROVE_RUN_WORKERS_H
#define DROVE_RUN_WORKERS_H

#include "values/values.h"

/* --order, for the engine of the workers. */
drove_order_kind drove__run_order(const drove_config *config, const drove_workers *workers);

/* workers->loop->worker: devices are opened.  Errors: those of drove__worker_init,
 * DROVE_E_NOMEM. */
drove_status drove__run_make_workers(const drove_workers *workers);
void         drove__run_free_workers(const drove_workers *workers);
/* The order of examples, the source of batches, loaders, the host.  workers->context is there.
 * Errors: DROVE_E_ARG (--shard, --loaders), those of the parts. */
drove_status drove__run_prepare_workers(const drove_config *config, const drove_problem *problem,
                                        const drove_workers *workers);
/* Starts them.  Errors: those of host, engines and source. */
drove_status drove__run_start_workers(const drove_config *config, const drove_problem *problem,
                                      drove_workers *workers);

#endif
