/* values/interrupt.c - see interrupt.h. */
#include "values/interrupt.h"

#include "cluster/lifeline.h"
#include "cluster/witness.h"

#include <drove/train.h>

#include <signal.h>

/* How many interrupts there have been << SIGNAL_BITS | the number of the last one's signal.  Signal
 * handlers and any thread write it; runs compare it with what it was when they began, so nobody has
 * to clear it.  Relaxed: the word is all that is passed on. */
static _Atomic uint64_t interrupts;
enum { SIGNAL_BITS = 8, SIGNAL_MASK = (1 << SIGNAL_BITS) - 1 };
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a signal handler writes `interrupts`");

void drove_train_interrupt(int signal_number)
{
    bool is_signal = signal_number > 0 && signal_number <= SIGNAL_MASK;
    uint64_t number = is_signal ? (uint64_t)signal_number : SIGINT;
    uint64_t word = atomic_load_explicit(&interrupts, memory_order_relaxed), next;
    do next = ((word >> SIGNAL_BITS) + 1) << SIGNAL_BITS | number;
    while (!atomic_compare_exchange_weak_explicit(&interrupts, &word, next, memory_order_relaxed,
                                                  memory_order_relaxed));
    if (!is_signal) return;
    drove__witness_end_is_wished();
    drove__lifeline_say_end();
}

uint64_t drove__run_interrupts(void)
{
    return atomic_load_explicit(&interrupts, memory_order_relaxed);
}

int drove__run_signal_since(uint64_t before)
{
    uint64_t word = drove__run_interrupts();
    return word != before ? (int)(word & SIGNAL_MASK) : 0;
}

int drove__run_signal(const drove_interrupt *interrupt)
{
    for (const drove_interrupt *i = interrupt; i != NULL; i = i->parent)
        if (atomic_load_explicit(&i->is_cancelled, memory_order_relaxed)) return SIGINT;
    return drove__run_signal_since(interrupt->before);
}

void drove__run_interrupt(drove_interrupt *interrupt)
{
    atomic_store_explicit(&interrupt->is_cancelled, true, memory_order_relaxed);
}
