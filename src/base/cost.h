/* base/cost.h - what work moves, said for a modelled machine (virtual.h), where it takes time.
 *
 * Code that copies and changes vectors, or takes a cache line from another core, says so here and
 * knows nothing of the clock.  Nothing happens unless the calling thread is an actor.  The rest of
 * this interface, drove__take and drove__spend_*, is in virtual.h.
 */
#ifndef DROVE_BASE_COST_H
#define DROVE_BASE_COST_H

#include "base/virtual.h"

/* Does anything cost time here? */
static inline bool drove__is_modelled(void)
{
    return drove__actor != NULL;
}

/* from[n], which others may have written, was copied. */
static inline void drove__spend_fetch(const float *from, size_t n)
{
    drove__spend_copy(n, drove__take(from, n, false));
}

/* at[n], which others may have, was changed. */
static inline void drove__spend_change(const float *at, size_t n)
{
    drove__spend_update(n, drove__take(at, n, true));
}

/* A gradient was computed. */
static inline void drove__spend_work(double ns, double taken_ns)
{
    if (drove__actor != NULL) drove__virtual_work(ns, taken_ns);
}

/* True: so much modelled time is over, and the caller need not wait for it. */
static inline bool drove__spend_rest(double ns)
{
    if (drove__actor != NULL) drove__virtual_spend(ns);
    return drove__actor != NULL;
}

/* ---- updates without protection, whose loads and stores lie apart in time ---- */

/* Memory for what was loaded; NULL: they are made at once. */
static inline float *drove__spend_scratch(void)
{
    return drove__actor != NULL ? drove__virtual_own_scratch() : NULL;
}

/* Between the loads and the stores of n floats; with scratch alone.  The result goes to the other,
 * behind the stores. */
static inline double drove__spend_loads(size_t n_floats, double taken_ns)
{
    return drove__virtual_loaded((double)n_floats * sizeof(float), taken_ns);
}
/* The stores go over so many numbers that others have stored since the loads. */
static inline void drove__spend_overwrite(uint64_t n_floats)
{
    drove__virtual_overwrite(n_floats);
}
static inline void drove__spend_stores(double left_ns)
{
    drove__virtual_stored(left_ns);
}

#endif
