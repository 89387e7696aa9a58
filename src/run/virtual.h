/* run/virtual.h - --machine: a run whose workers keep to the virtual clock of a modelled machine
 * (base/virtual.h, plan/modelled.h).
 *
 * Threads: the caller's, workers parked.
 */
#ifndef DROVE_RUN_VIRTUAL_H
#define DROVE_RUN_VIRTUAL_H

#include "values/values.h"

/* workers->modelled, where the options name a machine, and its topology in *out.  Errors: those
 * of a machine file, DROVE_E_ARG: options that a virtual clock cannot keep to. */
drove_status drove__virtual_machine(const drove_config *config, drove_workers *workers,
                                    drove_topo **out);
/* The clock, and the devices that the machine describes.  The plan is made.  Does nothing without
 * --machine.  Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
drove_status drove__virtual_open(const drove_config *config, const drove_problem *problem,
                                 drove_workers *workers);
/* The strategy is made: can it keep to the clock?  Errors: DROVE_E_ARG, DROVE_E_NOMEM. */
drove_status drove__virtual_check(const drove_problem *problem, const drove_workers *workers);
/* Sets all costs; measures those that the machine file does not give.  Workers are started.
 * Errors: the engine's, DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__virtual_costs(drove_workers *workers);
void         drove__virtual_say(const drove_workers *workers, const drove_callbacks *cb);
/* Frees the machine's description; the clock itself is gone with workers->loop. */
void drove__virtual_close(drove_workers *workers);

/* Lines between two cores of this machine, and a sleeper's way from its wake-up to its next
 * instruction, in ns; medians.  Errors: DROVE_E_SYSTEM. */
drove_status drove__virtual_measure_threads(double *line_ns, double *hand_over_ns);
/* A core's wait for a byte that another core has in its cache, in ns, as both take bytes from
 * each other.  Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__virtual_measure_taking(double *take_ns);

#endif
