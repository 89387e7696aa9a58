/* base/virtual.h - a virtual clock: threads that do real work while the seconds are modelled.
 *
 * A thread that takes part is an actor.  One actor runs at a time: the one whose virtual time comes
 * first, and of equals the one that asked first.  It runs in no virtual time at all until it says
 * what its work costs (drove__spend_*) or waits for another actor; then the next one goes on.  So
 * whatever actors do to shared memory happens in the order of the modelled machine, and the same
 * costs and the same seed give the same order every time.
 *
 * Waiting in base/ (futexes, locks, clock) knows of actors: for an actor it takes virtual time, for
 * any other thread real time.  A thread is an actor from enter to leave.
 *
 * Virtual time is a double in ns: multiplying all costs by a power of two multiplies all times by
 * exactly that.
 *
 * Threads: an actor's functions by its own thread, while it is one.
 */
#ifndef DROVE_BASE_VIRTUAL_H
#define DROVE_BASE_VIRTUAL_H

#include "base/status.h"
#include "base/waiting.h"

#include <stddef.h>

typedef struct drove_virtual drove_virtual;
typedef struct drove_actor   drove_actor;

/* The calling thread's part on a virtual clock; NULL: it lives in real time. */
extern _Thread_local drove_actor *drove__actor;
uint64_t                          drove__actor_now(const drove_actor *actor);

typedef struct drove_costs {     /* of one actor, in ns of the modelled machine */
    double   copy_ns, update_ns; /* for each byte that is copied; of parameters that are updated */
    double   memory_ns; /* for each byte through the memory of its socket, which all who move bytes
                         there at once share; 0: no limit */
    double   line_ns, far_line_ns; /* a cache line that a core of its, or of another socket has */
    double   take_ns, far_take_ns; /* for each byte of shared vectors that it takes from there */
    double   race_ns;   /* the same of vectors without protection, for each actor of its socket that
                         takes bytes of such vectors at once; 0: others change nothing */
    double   window_ns; /* from an unprotected load of a number to the store that follows it */
    double   hand_over_ns; /* from an unlock, or a change, until a sleeper goes on */
    double   jitter;       /* work takes 1 - jitter to 1 + jitter times as long */
    unsigned socket;
} drove_costs;

enum { DROVE_MOST_SOCKETS = 64 };

/* Actors 0 .. n - 1; the last is the controlling thread's, which comes first among equals.
 * Errors: DROVE_E_NOMEM, DROVE_E_SYSTEM. */
drove_status drove__virtual_create(unsigned n_actors, uint64_t seed, drove_virtual **out);
void         drove__virtual_destroy(drove_virtual *v); /* NULL accepted */
/* No actor runs.  socket < DROVE_MOST_SOCKETS. */
void drove__virtual_set_costs(drove_virtual *v, unsigned actor, const drove_costs *costs);
/* Gives each actor `scratch` [n]; no actor runs.  Errors: DROVE_E_NOMEM. */
drove_status drove__virtual_scratch(drove_virtual *v, size_t n);
/* From now on actors pay for cache lines that they take from each other (base/holders.h), of
 * n_vectors vectors of so many bytes in all.  Costs are set; no actor runs.  Errors: DROVE_E_NOMEM.
 */
drove_status drove__virtual_hold(drove_virtual *v, size_t n_vectors, size_t size_bytes);
/* The clock of its actors and of whoever looks at them; lives as long as v.  For threads that are
 * no actors its waits are real. */
const drove_clock *drove__virtual_clock(const drove_virtual *v);

/* By the controlling thread, which becomes an actor and runs: this actor is to run too, from now
 * on, as soon as its thread enters.  The first call before all others. */
void drove__virtual_begin(drove_virtual *v);
void drove__virtual_admit(drove_virtual *v, unsigned actor);
/* By the controlling thread, whose wait ends, with false and in no virtual time, once sees(context)
 * is true; it is asked whenever an actor has run.  Behind it the actors go on as if nothing had
 * been.  NULL: no longer. */
void drove__virtual_watch(drove_virtual *v, bool (*sees)(const void *context), const void *context);
/* By the controlling thread: it is an actor no longer; all others have left or wait for ever. */
void drove__virtual_end(drove_virtual *v);
/* The calling thread becomes an actor that was admitted, and returns when it is to run. */
void drove__virtual_enter(drove_virtual *v, unsigned actor);
void drove__virtual_leave(void);

/* ---- by an actor; drove__actor is not NULL ---- */

void drove__virtual_spend(double ns);
/* Takes the lines of at[n] that the actor's core needs for reading, or for writing.  Returns the ns
 * that this costs one core alone; the caller passes them to one of the four below with the work. */
double drove__virtual_take(const float *at, size_t n, bool writes);
/* ... work of so many ns, which vary by the actor's jitter. */
void drove__virtual_work(double ns, double taken_ns);
void drove__virtual_copy(double bytes, double taken_ns);
void drove__virtual_update(double bytes, double taken_ns);
/* An update without protection: returns between the loads and the stores; what is left is spent by
 * virtual_stored. */
double drove__virtual_loaded(double bytes, double taken_ns);
void   drove__virtual_stored(double left_ns);
void   drove__virtual_line(const void *word);
/* Before a walk through a vector that all cores walk through in the same order, one behind the
 * other: as each of its lines goes to another core at most once in line_ns, so do walks begin. */
void drove__virtual_pass(const void *vector);
/* Sleeps until woken at this address or until_ns (UINT64_MAX: never); false: the latter.  The
 * controlling thread may come back sooner, with false, to look whether it is interrupted. */
bool drove__virtual_wait(const void *word, uint64_t until_ns);
/* Wakes at most so many of those who sleep there, in the order in which they came. */
void     drove__virtual_wake(const void *word, unsigned most);
unsigned drove__virtual_sleepers(const void *word);
float   *drove__virtual_own_scratch(void);
/* Parameters that others have stored since this actor has loaded them, and that it overwrites; how
 * many there were since the last call of overwritten. */
void     drove__virtual_overwrite(uint64_t n);
uint64_t drove__virtual_overwritten(void);

/* ---- by any thread: nothing, unless it is an actor ---- */

/* For the next two: at[n], which others have, is about to be read or written. */
static inline double drove__take(const float *at, size_t n, bool writes)
{
    return drove__actor != NULL ? drove__virtual_take(at, n, writes) : 0.0;
}

static inline void drove__spend_copy(size_t n_floats, double taken_ns)
{
    if (drove__actor != NULL) drove__virtual_copy((double)n_floats * sizeof(float), taken_ns);
}

static inline void drove__spend_update(size_t n_floats, double taken_ns)
{
    if (drove__actor != NULL) drove__virtual_update((double)n_floats * sizeof(float), taken_ns);
}

/* A vector is about to be read or written from its beginning to its end. */
static inline void drove__spend_pass(const void *vector)
{
    if (drove__actor != NULL) drove__virtual_pass(vector);
}

/* The word is about to be changed by an atomic operation. */
static inline void drove__spend_line(const void *word)
{
    if (drove__actor != NULL) drove__virtual_line(word);
}

#endif
