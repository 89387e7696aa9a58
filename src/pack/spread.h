/* pack/spread.h - the units of a pack in several processes: forked ones, or ranks that all make the
 * same pack.
 *
 * Unit i of a round is trained by part i mod n, on its threads; then every part that goes on has
 * the results of all.  A unit is the same wherever it is trained, so the pack is too.
 *
 * Ranks call each function here in the same order; a failure of one is everybody's.  Forked
 * processes live for a round: they write what they have trained into memory that was shared before
 * the fork, and end.
 */
#ifndef DROVE_PACK_SPREAD_H
#define DROVE_PACK_SPREAD_H

#include "pack/exchange.h"
#include "pack/record.h"
#include "pack/unit.h"
#include "table/parallel.h"

#include <stdatomic.h>

enum { DROVE_SPREAD_MOST_UNITS = DROVE_PACK_MOST_MEMBERS }; /* of a round */

typedef struct drove_spread {
    drove_pack_exchange exchange;
    unsigned            n_threads, n_procs; /* of each process; that are forked, with the caller */
    bool (*is_over)(void *context);         /* asked while the caller waits for forked processes */
    void        *context;
    atomic_bool *halt; /* forked processes should end; NULL: there are none */
} drove_spread;

typedef struct drove_spread_unit {
    drove_unit  *unit;
    size_t       n_theta, n_output; /* floats */
    drove_status status;            /* of training it here */
    char         error[DROVE_ERROR_TEXT_SIZE];
} drove_spread_unit;

/* All but `halt` is given.  Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM (processes beside other threads).
 */
drove_status drove__spread_init(drove_spread *spread);
void         drove__spread_fini(drove_spread *spread); /* a zeroed one is accepted */
unsigned     drove__spread_parts(const drove_spread *spread);
/* How often the time of a unit n of them take, on all threads at once: 1 at least, of none 0. */
double drove__spread_waves(const drove_spread *spread, unsigned n);
/* True here if a process that is forked, or the caller's, was told to end. */
bool drove__spread_is_halted(const drove_spread *spread);
/* The first failure of any rank, at all; *is_any: that of any of them. */
drove_status drove__spread_agree(const drove_spread *spread, drove_status status, bool *is_any);
/* Calls work(context, i, thread) for each i < n, in the part that it is of; thread 0 is the
 * caller's.  `before` is how this part came here.  Errors: what the units failed by, DROVE_E_NOMEM,
 * DROVE_E_SYSTEM (a process has died), those of the exchange. */
drove_status drove__spread_run(const drove_spread *spread, drove_status before,
                               drove_spread_unit *unit, unsigned n, drove_table_work *work,
                               void *context);

#endif
