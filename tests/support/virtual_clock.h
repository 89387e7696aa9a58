/* A clock whose time stands still while any thread works, and jumps to the earliest deadline when
 * all of them wait: what takes a minute takes milliseconds, and the same events get the same times.
 *
 * It is told how many threads take part; they wait by this clock alone.  A thread that waits looks
 * again every few hundred microseconds, so nobody need tell the clock of a wake-up.  Time moves
 * when every thread has looked several times and found nothing.
 */
#ifndef DROVE_TESTS_VIRTUAL_CLOCK_H
#define DROVE_TESTS_VIRTUAL_CLOCK_H

#include "base/clock.h"

enum { VIRTUAL_MOST_THREADS = 32 };

typedef struct virtual_waiter { /* what a thread waits for; a word or a condition */
    pthread_t   thread;
    const void *place;
    uint64_t    until_ns;
    bool        is_waiting; /* now; between two looks it may be away for a moment */
    unsigned    n_looks;    /* without an event of any thread in between */
} virtual_waiter;

typedef struct virtual_clock {
    drove_clock     clock; /* its context is this struct */
    pthread_mutex_t lock;  /* protects the fields below */
    uint64_t        now_ns;
    unsigned        n_threads; /* that take part */
    unsigned        n_waiters;
    virtual_waiter  waiter[VIRTUAL_MOST_THREADS];
    bool            is_over; /* every wait ends at once, as if its time had come */
} virtual_clock;

void virtual_clock_open(virtual_clock *c, uint64_t now_ns, unsigned n_threads);
void virtual_clock_close(virtual_clock *c);
/* So many threads take part from now on. */
void virtual_clock_threads(virtual_clock *c, unsigned n_threads);
/* Sleepers wake, those who sleep for ever too. */
void virtual_clock_end(virtual_clock *c);

#endif
