/* bench/limits.h - what `drove bench limits` (limits.c) measures besides products and steps. */
#ifndef DROVE_BENCH_LIMITS_H
#define DROVE_BENCH_LIMITS_H

#include "bench/bench.h"

#include <stddef.h>

/* limits_peak.c: multiply-adds in registers, by the widest vectors that a tier uses. */
typedef struct drove_peak {
    unsigned n_lanes; /* floats of a register */
    unsigned n_flops; /* of a turn; a multiply-add is two */
    /* n turns: adds first * second to as many registers as keep the core busy; returns a number
     * that depends on all of them. */
    float (*turn)(size_t n, float first, float second);
} drove_peak;
drove_peak drove__peak_of(const char *isa);

/* limits_machine.c */

/* ns that a cache line takes from one core to another, one way: the least of all samples, two
 * pinned threads changing a word in turn for so many seconds.  Two processors at least.
 * Errors: DROVE_E_SYSTEM, DROVE_E_NOMEM. */
drove_status drove__limits_line(const drove_topo *topo, double seconds, double *ns);

/* Adds a row for each device of each kind of accelerator, and for each kind without one, to *rows.
 * A device that fails is no error: its row says why. */
void drove__limits_devices(double seconds, json_t **rows);

#endif
