/* cluster/witness.h - notices at once that a process of the job dies, among those of one machine.
 *
 * Each process has a page of shared memory that the others map, found by the card that all exchange
 * when they begin: process, descriptor and a random number, which the page repeats.  A thread of
 * each process, the witness, holds a word of its own page and sleeps on that of the next process.
 * Linux keeps a list of such words for every thread (set_robust_list(2)).  However a thread ends,
 * the kernel marks its word and wakes a sleeper, before memory and files of the process are torn
 * down, so before its launcher can know.  Nothing is polled, and no process number can be mistaken
 * for that of a later process.  A process that leaves in order changes its word itself.
 *
 * The processes stand in a ring: each watches the next one that neither has left nor is known to be
 * dead, so a death has one witness.  Of the witnesses of several deaths one tells: who claims the
 * word `teller` in the page of the lowest rank.
 *
 * No death is told of a process that was told to end (SIGINT, SIGTERM), nor of any once one of them
 * ends the job with an error of its own: its launcher kills the others then.
 *
 * Not there without Linux, without /proc, or where processes may not see each other: *out is NULL,
 * or the witness knows fewer others.  Then deaths go unnoticed here.
 *
 * Memory model: beside the code, in witness.c.
 */
#ifndef DROVE_CLUSTER_WITNESS_H
#define DROVE_CLUSTER_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct drove_witness drove_witness;

typedef struct drove_witness_card { /* all zero: no page */
    uint64_t token;                 /* of the page, random */
    uint64_t machine;               /* and the name space of its processes */
    int32_t  process, descriptor;   /* of the page there */
} drove_witness_card;

/* On the witness's thread. */
typedef struct drove_witness_listener {
    void *context;
    /* An error that another rank tells is about to end the job.  NULL: never. */
    bool (*is_ending)(void *context);
    /* A rank has died, and this one is to tell: called once, in one process. */
    void (*died)(void *context, unsigned rank, int process);
    /* After it: no other will tell any more.  NULL: nothing. */
    void (*told)(void *context);
} drove_witness_listener;

/* Begins to hold the page's word.  *mine: for all others.  *out: NULL where it cannot be. */
void drove__witness_create(drove_witness **out, drove_witness_card *mine);
/* all[n]: the cards of all ranks.  w may be NULL.  Returns how many others it may watch. */
unsigned drove__witness_begin(drove_witness *w, const drove_witness_card *all, unsigned n,
                              unsigned rank, const drove_witness_listener *listener);
/* This process has an error of its own, which ends the job.  w may be NULL. */
void drove__witness_fail(drove_witness *w);
/* This process was told to end.  Async-signal-safe; from any thread. */
void drove__witness_end_is_wished(void);
/* Does a process of this machine tell of a death, or has it? */
bool drove__witness_is_told(const drove_witness *w);
/* Leaves; the listener is not called any more.  NULL accepted. */
void drove__witness_destroy(drove_witness *w);

#endif
