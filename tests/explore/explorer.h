/* tests/explore/explorer.h - runs real code under every interleaving and every value that a weak
 * memory may give.
 *
 * The sources under test and the scenarios are compiled with -fsanitize=thread, but linked with the
 * explorer in the place of ThreadSanitizer's library: so each atomic access, with its order, and
 * each plain one calls the explorer.  Threads are coroutines of one thread.  Before each atomic
 * access, lock, sleep and wake-up the explorer chooses who goes on; at each atomic load, which of
 * the values that the C11 memory model allows is read.  It walks through all choices, and passes
 * over those that lead to a state that it has seen: what each thread has done and read, and in
 * which order each word was written.
 *
 * The memory model: each atomic word has the list of its values, in the order of execution.  A
 * thread may read any value that is not older than one that it knows of; acquire takes over what
 * the writer knew at its release, and release sequences are those of read-modify-writes (as in
 * C++20: fewer than C11).  A sequentially consistent load reads nothing older than the last
 * sequentially consistent store.  Not modelled: values that are read before they are written (load
 * buffering), and stores that take effect in another order than that of execution (2+2W).
 *
 * Who waits awake, and has read the same as before, either reads it for as long as it looks, or
 * goes on when there is something new, which it then reads: news come at last.
 *
 * Reported: a data race of plain accesses, a failed check, a state in which nobody can go on (a
 * lost wake-up, a deadlock, or waiting awake for what never comes).
 *
 * Time, wake-ups and kills.  Sleeps with a time limit are taken as without one, so that nothing
 * rests on the limit.  Each scenario in which somebody sleeps runs a second time, disturbed: one
 * sleep ends by its limit although others could go on (n_timeouts), and one sleeper is woken for no
 * reason (n_wakes), whichever and whenever.  With needs_time, time passes as soon as nobody can go
 * on.  A thread that stands for a process may be killed before any of its atomic accesses, plain
 * stores and calls, or while it sleeps (n_kills): it stops for good, and keeps the locks that it
 * holds.  A robust mutex then goes to the next one, with EOWNERDEAD.
 *
 * Then mistakes are planted, one at each place of the sources: an order made weaker, a
 * read-modify-write that is not atomic, a wake-up that is left out, a lock that is not taken, a
 * call that a scenario leaves out.  Each must be found by a scenario, or stand in the list of those
 * that make no difference, with the reason.
 */
#ifndef DROVE_TESTS_EXPLORER_H
#define DROVE_TESTS_EXPLORER_H

#include <stdbool.h>
#include <stdint.h>

/* A mistake that makes no difference.  It is an error if no place has it any more. */
typedef struct explore_survivor {
    const char *mistake; /* "FUNCTION: KIND", "*: KIND", or a file to leave out */
    const char *reason;
} explore_survivor;

typedef struct explore_scenario {
    const char *name;
    void (*run)(void);      /* on thread 0: sets up, spawns, joins, checks */
    unsigned n_preemptions; /* 0: all choices; else a thread that could go on is stopped so often */
    uint64_t n_samples;     /* 0: all choices; else so many runs at random */
    bool     is_slow;       /* not with --scenarios */
    bool     is_long;       /* with --all alone, and without mistakes */
    bool     spins_for_ever; /* who waits awake never does anything else: fewer choices */
    bool     is_undisturbed; /* no second time with a wake-up and a time-out more */
    unsigned n_wakes;        /* sleepers woken for no reason, in a run at most */
    unsigned n_timeouts;     /* sleeps that end by their limit while others could go on */
    unsigned n_kills;        /* threads killed, of those that may die */
    bool     needs_time;     /* where nobody can go on, time passes to the next limit of a sleep */
    const char *must_find;   /* the scenario is wrong on purpose: part of what must be reported */
} explore_scenario;

/* Threads of a scenario, with thread 0; they start at once. */
enum { EXPLORE_MOST_THREADS = 6 };
void explore_spawn(void (*body)(void *argument), void *argument);
void explore_end(void) __attribute__((noreturn)); /* the calling thread */
void explore_join(int thread);
void explore_join_all(void);
/* The thread stands for a process that may be killed, or is killed by the caller; it is dead before
 * others see it.  has_ended: by itself too. */
void explore_may_die(int thread);
void explore_kill(int thread);
bool explore_is_dead(int thread);
bool explore_has_ended(int thread);
/* A place of the sources where a mistake can be planted: true: leave out the call. */
bool explore_leaves_out(void);
/* Fails the scenario. */
void explore_check(bool is_true, const char *what);

/* Scenarios end with a name of NULL, survivors with a mistake of NULL.  Arguments of the program:
 *   none           the scenarios that are not long, then the mistakes
 *   --scenarios    without the slow ones and the mistakes
 *   --all          the long ones too
 *   NAME           this scenario alone
 * Exit status: 0 all as expected, 1 not. */
int explore_main(int argc, char **argv, const explore_scenario *scenario,
                 const explore_survivor *survivors);

#endif
