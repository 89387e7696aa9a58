/* values/interrupt.h - ends a run early: drove_train_interrupt for all runs, drove_run_cancel for
 * one.
 *
 * Threads: any thread, and signal handlers, may interrupt; the thread that controls a run asks.
 */
#ifndef DROVE_VALUES_INTERRUPT_H
#define DROVE_VALUES_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct drove_interrupt {          /* of one run */
    const struct drove_interrupt *parent; /* of a trial: that of the run it is part of; else NULL */
    uint64_t                      before; /* drove__run_interrupts when the run began */
    /* Relaxed: only a request, which the thread that controls the run looks at. */
    atomic_bool is_cancelled;
} drove_interrupt;

/* A word that changes with every drove_train_interrupt: a run compares it with what it was when the
 * run began. */
uint64_t drove__run_interrupts(void);
/* The signal of the last interrupt since that word was `before`; 0: none. */
int drove__run_signal_since(uint64_t before);
/* Interrupts this run alone; from any thread. */
void drove__run_interrupt(drove_interrupt *interrupt);
/* The signal that has interrupted this run; 0: none. */
int drove__run_signal(const drove_interrupt *interrupt);

#endif
