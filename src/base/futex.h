/* base/futex.h - sleeping until a 32-bit word changes.
 *
 * Whoever changes the word wakes the sleepers afterwards.  Nothing records who sleeps, so a thread
 * or process that ends while asleep leaves no state that could block the others, unlike with a
 * condition variable.  The word may lie in memory shared by processes.  Wake-ups may be spurious:
 * the caller checks the word again.
 *
 * Linux: a futex.  Elsewhere: sleeps of a tenth of a millisecond.
 */
#ifndef DROVE_BASE_FUTEX_H
#define DROVE_BASE_FUTEX_H

#include "base/virtual.h"
#include "base/waiting.h"

/* Sleeps while *word == seen, until woken or until_ns (drove__now_ns; UINT64_MAX: never).  Gives no
 * ordering: the caller loads the word again, with the order that it needs. */
static inline void drove__futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
    if (drove__actor == NULL) drove__real_word_wait(word, seen, until_ns);
    /* nobody changes the word between the look and the sleep */
    else if (atomic_load_explicit(word, memory_order_relaxed) == seen)
        (void)drove__virtual_wait(word, until_ns);
}

/* Wakes all sleepers on the word; call it after changing the word. */
static inline void drove__futex_wake(_Atomic uint32_t *word)
{
    if (drove__actor != NULL) drove__virtual_wake(word, UINT_MAX);
    drove__real_word_wake(word);
}

#endif
