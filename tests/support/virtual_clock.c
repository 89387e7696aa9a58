#include "virtual_clock.h"

#include <assert.h>
#include <errno.h>

static const uint64_t LOOK_NS = 200000; /* real time between two looks of a waiting thread */
/* A message that comes in the microsecond between two waits is taken without an event here; several
 * in a row are not. */
static const unsigned LOOKS = 3;

/* ---- under the lock ---- */

static virtual_waiter *self(virtual_clock *c)
{
    for (unsigned i = 0; i < c->n_waiters; i++)
        if (pthread_equal(c->waiter[i].thread, pthread_self())) return &c->waiter[i];
    assert(c->n_waiters < VIRTUAL_MOST_THREADS);
    virtual_waiter *w = &c->waiter[c->n_waiters++];
    *w = (virtual_waiter){.thread = pthread_self()};
    return w;
}

static void note_event(virtual_clock *c)
{
    for (unsigned i = 0; i < c->n_waiters; i++) c->waiter[i].n_looks = 0;
}

static void advance(virtual_clock *c)
{
    uint64_t earliest = UINT64_MAX;
    unsigned n_idle = 0;
    for (unsigned i = 0; i < c->n_waiters; i++) {
        const virtual_waiter *w = &c->waiter[i];
        if (!w->is_waiting || w->n_looks < LOOKS) continue;
        n_idle++;
        if (w->until_ns < earliest) earliest = w->until_ns;
    }
    if (n_idle < c->n_threads || earliest == UINT64_MAX || earliest <= c->now_ns) return;
    c->now_ns = earliest;
    note_event(c);
}

/* ---- a wait ---- */

static void begin(virtual_clock *c, const void *place, uint64_t until_ns)
{
    pthread_mutex_lock(&c->lock);
    virtual_waiter *w = self(c);
    if (w->place != place || w->until_ns != until_ns) note_event(c);
    else w->n_looks++; /* its caller has looked, and found nothing */
    w->place = place;
    w->until_ns = until_ns;
    w->is_waiting = true;
    pthread_mutex_unlock(&c->lock);
}

/* After a moment of real time, or woken; true: the time has come. */
static bool end(virtual_clock *c, bool is_woken)
{
    pthread_mutex_lock(&c->lock);
    virtual_waiter *w = self(c);
    if (is_woken) note_event(c);
    else advance(c);
    bool is_over = c->is_over || c->now_ns >= w->until_ns;
    w->is_waiting = false;
    if (is_over) w->place = NULL; /* whatever it does next is an event */
    pthread_mutex_unlock(&c->lock);
    return is_over;
}

static struct timespec in_a_moment(void)
{
    uint64_t ns = drove__now_ns() + LOOK_NS;
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

static void rest(void)
{
    const struct timespec moment = {.tv_nsec = (long)LOOK_NS};
    (void)nanosleep(&moment, NULL);
}

/* ---- the table ---- */

static uint64_t now_ns(void *context)
{
    virtual_clock *c = context;
    pthread_mutex_lock(&c->lock);
    uint64_t now = c->now_ns;
    pthread_mutex_unlock(&c->lock);
    return now;
}

static void sleep_until(void *context, uint64_t until_ns)
{
    virtual_clock *c = context;
    do {
        begin(c, c, until_ns);
        rest();
    } while (!end(c, false));
}

/* True also when nobody has signalled: the caller looks again. */
static bool cond_wait(void *context, pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    const struct timespec moment = in_a_moment();
    begin(context, cond, until_ns);
    bool is_woken = pthread_cond_timedwait(cond, lock, &moment) == 0;
    return !end(context, is_woken);
}

static void word_wait(void *context, _Atomic uint32_t *word, uint32_t expected, uint64_t until_ns)
{
    begin(context, word, until_ns);
    if (atomic_load(word) == expected) rest();
    (void)end(context, atomic_load(word) != expected);
}

void virtual_clock_open(virtual_clock *c, uint64_t now, unsigned n_threads)
{
    *c = (virtual_clock){.clock = {.name = "virtual",
                                   .now_ns = now_ns,
                                   .sleep_until = sleep_until,
                                   .cond_wait = cond_wait,
                                   .word_wait = word_wait,
                                   .context = c},
                         .now_ns = now,
                         .n_threads = n_threads};
    (void)pthread_mutex_init(&c->lock, NULL);
}

void virtual_clock_close(virtual_clock *c)
{
    (void)pthread_mutex_destroy(&c->lock);
}

void virtual_clock_threads(virtual_clock *c, unsigned n_threads)
{
    pthread_mutex_lock(&c->lock);
    c->n_threads = n_threads;
    pthread_mutex_unlock(&c->lock);
}

void virtual_clock_end(virtual_clock *c)
{
    pthread_mutex_lock(&c->lock);
    c->is_over = true;
    pthread_mutex_unlock(&c->lock);
}
