/* cluster/lifeline.h - notices at once that a process of the job on another machine ends.
 *
 * A connection over TCP, on which nothing travels: who watches connects to who is watched, and says
 * a random number that the other's card has.  Its kernel closes the connection when the process
 * ends, however that is.  A process that leaves, or that was told to end, says so by a byte before.
 * A connection that breaks otherwise (a reset, a time that is over) says nothing of the process:
 * then, as where no connection comes about, a death goes unnoticed here.
 *
 * One thread, which sleeps.  One lifeline in a process at a time.  Not there without Linux.
 */
#ifndef DROVE_CLUSTER_LIFELINE_H
#define DROVE_CLUSTER_LIFELINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct drove_lifeline drove_lifeline;

enum { DROVE_LIFELINE_ADDRESSES = 6 };
typedef struct drove_lifeline_card { /* all zero: nothing listens */
    uint64_t token;
    uint32_t address[DROVE_LIFELINE_ADDRESSES]; /* IPv4, as on the network; 0: no more */
    uint32_t port;                              /* the same */
} drove_lifeline_card;

/* Listens.  *mine: for all others.  *out: NULL where it cannot be. */
void drove__lifeline_create(drove_lifeline **out, drove_lifeline_card *mine);
/* Connects to the process of this card.  ended: on the thread of the lifeline, once, when that
 * process has ended without a word.  l may be NULL. */
void drove__lifeline_begin(drove_lifeline *l, const drove_lifeline_card *next,
                           void (*ended)(void *context), void           *context);
/* This process ends in order: who watches it need not tell.  Async-signal-safe; any thread. */
void drove__lifeline_say_end(void);
/* Says so, and ends.  NULL accepted. */
void drove__lifeline_destroy(drove_lifeline *l);

#endif
