/* run/virtual_measure.c - what two threads of this machine cost each other. */
#include "run/virtual.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/mem.h"
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
    return drove__sort_median(took, SAMPLES);
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
    return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread");
}

/* ---- bytes that others have ---- */

/* In each round both threads write a block of their own, meet, and copy the other's block twice:
 * the first copy takes the lines from the other's cache, the second has them. */
enum { BLOCK = 1 << 16 /* floats: 256 KiB, which any second cache holds */, TAKES = 41 };

typedef struct taking {
    _Atomic unsigned n_met, n_there; /* meetings so far; threads that wait for the next */
    float *block[2], *copy[2];       /* [BLOCK] */
    double extra_ns[2][TAKES];       /* of each round: the first copy less the second */
} taking;

/* Sequentially consistent: passes the blocks on.  A thread without a processor is waited for in
 * naps. */
static void meet(taking *t)
{
    unsigned number = atomic_load(&t->n_met);
    if (atomic_fetch_add(&t->n_there, 1) == 1) {
        atomic_store(&t->n_there, 0);
        atomic_store(&t->n_met, number + 1);
        return;
    }
    for (unsigned i = 0; atomic_load(&t->n_met) == number; i++) {
        if (i < LOOKS) drove__relax();
        else drove__clock_real.sleep_until(NULL, drove__clock_real.now_ns(NULL) + 100000);
    }
}

static double copy_ns(float *to, const float *from)
{
    uint64_t begin_ns = drove__thread_ns();
    memcpy(to, from, BLOCK * sizeof *to);
    return (double)(drove__thread_ns() - begin_ns);
}

static void take_turns(taking *t, unsigned who)
{
    for (unsigned round = 0; round < TAKES; round++) {
        for (size_t i = 0; i < BLOCK; i++) t->block[who][i] = (float)round;
        meet(t);
        double first_ns = copy_ns(t->copy[who], t->block[1 - who]);
        t->extra_ns[who][round] = first_ns - copy_ns(t->copy[who], t->block[1 - who]);
        meet(t);
    }
}

static void *taker_main(void *argument)
{
    take_turns(argument, 1);
    return NULL;
}

drove_status drove__virtual_measure_taking(double *take_ns)
{
    pthread_t other;
    taking *t = drove__alloc(1, sizeof *t);
    float *memory = drove__alloc((size_t)4 * BLOCK, sizeof *memory);
    drove_status status = DROVE_OK;
    if (t == NULL || memory == NULL)
        status = drove__fail_nomem("a measurement", (size_t)4 * BLOCK * sizeof *memory);
    for (unsigned i = 0; i < 2 && status == DROVE_OK; i++) {
        t->block[i] = memory + (size_t)i * 2 * BLOCK;
        t->copy[i] = t->block[i] + BLOCK;
    }
    int error = status == DROVE_OK ? pthread_create(&other, NULL, taker_main, t) : 0;
    if (error != 0) status = drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread");
    if (status == DROVE_OK) {
        take_turns(t, 0);
        pthread_join(other, NULL);
        for (unsigned i = 0; i < 2; i++) drove__sort(t->extra_ns[i], TAKES);
        double ns = (t->extra_ns[0][TAKES / 2] + t->extra_ns[1][TAKES / 2]) / 2.0;
        *take_ns = ns > 0.0 ? ns / (BLOCK * sizeof(float)) : 0.0;
    }
    drove__free(memory);
    drove__free(t);
    return status;
}
