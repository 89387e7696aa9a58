/* run/virtual_measure.c - what two threads of this machine cost each other. */
#include "run/virtual.h"

#include "base/futex.h"
#include "base/relax.h"
#include "base/sort.h"

#include <errno.h>
#include <string.h>

/* Two threads change one word in turn: awake, then asleep between their turns.  On a busy machine a
 * round may take a time slice; the median of many does not. */
enum { SAMPLES = 101, SPINS = 64 /* there and back, of a sample */, LOOKS = 1 << 16 };

typedef struct ball { /* even: the caller's turn */
    _Atomic uint32_t word DROVE_ALIGNED_CACHE_LINE;
    _Atomic int sleeps; /* both sleep until it is their turn */
    _Atomic int is_over;
} ball;

/* Sequentially consistent throughout: nothing here is in a hurry but the line itself. */
static void await(ball *b, uint32_t parity)
{
    uint32_t now;
    for (unsigned i = 0; (now = atomic_load(&b->word)) % 2 != parity; i++) {
        if (atomic_load(&b->is_over)) return;
        if (atomic_load(&b->sleeps) || i > LOOKS) /* the other has no processor */
            drove__futex_wait(&b->word, now, drove__now_ns() + 1000000);
        else drove__relax();
    }
}

static void pass(ball *b)
{
    atomic_fetch_add(&b->word, 1);
    if (atomic_load(&b->sleeps)) drove__futex_wake(&b->word);
}

static void *other_main(void *argument)
{
    ball *b = argument;
    while (!atomic_load(&b->is_over)) {
        await(b, 1);
        if (!atomic_load(&b->is_over)) pass(b);
    }
    return NULL;
}

/* ns of one way. */
static double time_turns(ball *b, unsigned n_turns)
{
    double took[SAMPLES];
    for (unsigned i = 0; i < SAMPLES; i++) {
        uint64_t begin_ns = drove__now_ns();
        for (unsigned k = 0; k < n_turns; k++) {
            pass(b);
            await(b, 0);
        }
        took[i] = (double)(drove__now_ns() - begin_ns) / (2.0 * n_turns);
    }
    drove__sort(took, SAMPLES);
    return took[SAMPLES / 2];
}

drove_status drove__virtual_measure_threads(double *line_ns, double *hand_over_ns)
{
    pthread_t other;
    ball *b = drove__alloc(1, sizeof *b);
    if (b == NULL) return drove__fail_nomem("a measurement", sizeof *b);
    int error = pthread_create(&other, NULL, other_main, b);
    if (error == 0) {
        *line_ns = time_turns(b, SPINS);
        atomic_store(&b->sleeps, 1);
        *hand_over_ns = time_turns(b, 1);
        atomic_store(&b->is_over, 1);
        drove__futex_wake(&b->word);
        pthread_join(other, NULL);
    }
    drove__free(b);
    if (error == 0) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "cannot start a thread: %s", strerror(error));
}
