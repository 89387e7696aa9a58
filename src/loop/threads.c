/* loop/threads.c - workers that are threads of this process: started once, parked between two
 * commands.  A source with a thread of its own (strategy/source.h: serve) gets it here.
 *
 * One mutex and two condition variables: `go` wakes the workers when the generation changes,
 * `parked` wakes the controlling thread when the last one is done.  The mutex orders everything
 * that the controlling thread reads or writes while they are parked.
 *
 * On a virtual clock (base/virtual.h) all of them, the controlling thread included, are its actors
 * while they train or are measured: worker i is actor i, then come the source's thread and the
 * controlling one.
 *
 * While they train, a source that serves finds out which worker is silent; at any other time the
 * controlling thread does, by the heartbeats of workers with a timeout.
 */
#include "loop/host.h"

#include "base/locale.h"

#include "loop/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const uint64_t WATCH_NS = 100000000; /* between two looks at the heartbeats */

typedef struct watch { /* of one worker; the controlling thread's */
    uint64_t heartbeat, since_ns;
} watch;

typedef struct threads {
    pthread_mutex_t lock; /* protects the five fields below */
    pthread_cond_t go, parked;
    uint64_t generation; /* of the last command */
    drove_command command;
    unsigned n_busy, n_silent;
    bool is_made;      /* lock and conditions */
    pthread_t *thread; /* [n_workers] */
    bool *is_started;  /* [n_workers] */
    bool *is_busy;     /* [n_workers] under lock: has not parked since the last command */
    pthread_t service;
    uint64_t service_seen; /* commands before it was started are not for it */
    bool service_is_started;
    watch *watch; /* [n_workers] */
} threads;

static void finish(threads *t, bool *is_busy)
{
    pthread_mutex_lock(&t->lock);
    if (is_busy != NULL) *is_busy = false;
    if (--t->n_busy == 0) drove__clock_cond_wake(&t->parked);
    pthread_mutex_unlock(&t->lock);
}

static drove_command next_command(const drove_host *h, uint64_t *seen)
{
    threads *t = h->impl;
    const drove_clock *clock = h->loop->clock;
    pthread_mutex_lock(&t->lock);
    while (t->generation == *seen)
        (void)clock->cond_wait(clock->context, &t->go, &t->lock, UINT64_MAX);
    *seen = t->generation;
    drove_command command = t->command;
    pthread_mutex_unlock(&t->lock);
    return command;
}

/* ---- the threads ---- */

/* Evaluations are outside the clock. */
static bool is_virtual(const drove_host *h, drove_command command)
{
    return h->loop->on != NULL && (command == DROVE_DO_TRAIN || command == DROVE_DO_PROBE);
}

static void enter(const drove_host *h, drove_command command, unsigned actor)
{
    if (is_virtual(h, command)) drove__virtual_enter(h->loop->on, actor);
}

static void leave(void)
{
    if (drove__actor != NULL) drove__virtual_leave();
}

static void *worker_main(void *argument)
{
    DROVE_IN_C_LOCALE;
    drove_worker *w = argument;
    threads *t = w->loop->host->impl;
    uint64_t seen = 0;
    drove_status status = drove__worker_setup(w);
    if (status != DROVE_OK) drove__worker_keep_error(w, status);
    finish(t, &t->is_busy[w->index]);
    for (;;) {
        drove_command command = next_command(w->loop->host, &seen);
        enter(w->loop->host, command, w->index);
        if (!drove__worker_obey(w, command)) break;
        pthread_mutex_lock(&t->lock);
        bool is_silent = atomic_load(&w->health.is_silent);
        pthread_mutex_unlock(&t->lock);
        if (!is_silent) finish(t, &t->is_busy[w->index]);
        leave();
        if (is_silent) break;
    }
    atomic_store(&w->health.has_ended, 1);
    return NULL;
}

static void *service_main(void *argument)
{
    DROVE_IN_C_LOCALE;
    drove_host *h = argument;
    threads *t = h->impl;
    uint64_t seen = t->service_seen;
    for (;;) {
        drove_command command = next_command(h, &seen);
        if (command == DROVE_DO_QUIT) return NULL;
        enter(h, command, h->loop->plan->n_workers);
        if (command == DROVE_DO_TRAIN) h->loop->source->ops->coordinator->serve(h->loop->source);
        finish(t, NULL);
        leave();
    }
}

/* ---- starting ---- */

static drove_status init(drove_host *h)
{
    const unsigned n = h->loop->plan->n_workers;
    threads *t = h->impl = drove__alloc(1, sizeof *t);
    if (t == NULL) return drove__fail_nomem("threads", sizeof *t);
    t->thread = drove__alloc(n, sizeof *t->thread);
    t->is_started = drove__alloc(n, sizeof *t->is_started);
    t->is_busy = drove__alloc(n, sizeof *t->is_busy);
    t->watch = drove__alloc(n, sizeof *t->watch);
    if (t->thread == NULL || t->is_started == NULL || t->is_busy == NULL || t->watch == NULL)
        return drove__fail_nomem("threads", n * sizeof *t->thread);
    if (pthread_mutex_init(&t->lock, NULL) != 0 || drove__clock_cond_init(&t->go) != 0 ||
        drove__clock_cond_init(&t->parked) != 0)
        return drove__fail(DROVE_E_SYSTEM, "cannot make a mutex");
    t->is_made = true;
    return DROVE_OK;
}

static bool wait(drove_host *h, uint64_t until_ns);

static drove_status start(drove_host *h)
{
    threads *t = h->impl;
    const drove_plan *plan = h->loop->plan;
    const unsigned first = plan->first_here, end = first + plan->n_here;
    int error = 0;
    t->n_busy = plan->n_here;
    for (unsigned i = first; i < end && error == 0; i++) {
        t->is_busy[i] = true;
        error = pthread_create(&t->thread[i], NULL, worker_main, &h->loop->worker[i]);
        t->is_started[i] = error == 0;
        if (error == 0) continue;
        pthread_mutex_lock(&t->lock); /* the rest will never park */
        t->n_busy -= end - i;
        pthread_mutex_unlock(&t->lock);
    }
    (void)wait(h, UINT64_MAX);
    if (error != 0)
        return drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start a thread of %u",
                                 plan->n_here);
    return h->ops->status(h);
}

/* The source may be made after the workers were started.  False: its thread cannot be started, and
 * the run fails. */
static bool start_service(drove_host *h)
{
    threads *t = h->impl;
    const drove_source *from = h->loop->source;
    if (t->service_is_started || from == NULL || from->ops->coordinator == NULL ||
        from->ops->coordinator->serve == NULL)
        return true;
    t->service_seen = t->generation;
    int error = pthread_create(&t->service, NULL, service_main, h);
    t->service_is_started = error == 0;
    if (error == 0) return true;
    (void)drove__fail_errno(DROVE_E_SYSTEM, error, "cannot start the coordinator");
    drove__worker_keep_error(&h->loop->worker[h->loop->plan->first_here], DROVE_E_SYSTEM);
    return false;
}

/* ---- commands ---- */

static void go(drove_host *h, drove_command command)
{
    threads *t = h->impl;
    const drove_plan *plan = h->loop->plan;
    if (command == DROVE_DO_TRAIN && !start_service(h)) return; /* all stay parked */
    pthread_mutex_lock(&t->lock);
    t->command = command;
    t->n_busy = plan->n_here - t->n_silent + (t->service_is_started ? 1 : 0);
    for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++) {
        t->is_busy[i] = !atomic_load(&h->loop->worker[i].health.is_silent);
        t->watch[i] = (watch){.since_ns = drove__clock_now(h->loop->clock)};
    }
    if (is_virtual(h, command)) {
        /* They become actors, and run once this thread waits. */
        drove__virtual_begin(h->loop->on);
        for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++)
            if (t->is_busy[i]) drove__virtual_admit(h->loop->on, i);
        if (t->service_is_started) drove__virtual_admit(h->loop->on, plan->n_workers);
    }
    t->generation++;
    pthread_cond_broadcast(&t->go);
    pthread_mutex_unlock(&t->lock);
}

/* False: it has just parked, or is about to. */
static bool give_up(drove_host *h, unsigned worker)
{
    threads *t = h->impl;
    drove_worker *w = &h->loop->worker[worker];
    pthread_mutex_lock(&t->lock);
    bool is_silent = t->is_busy[worker] && atomic_exchange(&w->health.is_lost, 1) == 0;
    if (is_silent) {
        atomic_store(&w->health.is_silent, 1);
        t->is_busy[worker] = false;
        t->n_silent++;
        if (--t->n_busy == 0) drove__clock_cond_wake(&t->parked);
    }
    pthread_mutex_unlock(&t->lock);
    return is_silent;
}

static void silence(drove_host *h, unsigned worker)
{
    (void)give_up(h, worker);
}

/* Twice the timeout: the engine's own error comes first.  A worker that comes back sees that it is
 * lost, and leaves its error text alone. */
static void lose(drove_host *h, drove_worker *w, double limit_s)
{
    drove_source *from = h->loop->source;
    if (!give_up(h, w->index)) return;
    if (from != NULL && from->ops->coordinator != NULL && from->ops->coordinator->failed != NULL) {
        (void)drove__fail(DROVE_E_SYSTEM, "no answer for %g s", limit_s);
        from->ops->leave(from, w->index);
    } else if (from == NULL) { /* the source will be told */
        (void)drove__fail(DROVE_E_SYSTEM, "no answer for %g s", limit_s);
        drove__error_copy(w->error);
    } else {
        (void)drove__fail(DROVE_E_SYSTEM, "worker %s: no answer for %g s", w->plan->name, limit_s);
        drove__worker_fail(w, DROVE_E_SYSTEM);
    }
}

static void find_silent(drove_host *h)
{
    threads *t = h->impl;
    const drove_plan *plan = h->loop->plan;
    uint64_t now = drove__clock_now(h->loop->clock);
    bool is_served = t->service_is_started && t->command == DROVE_DO_TRAIN;
    for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here && !is_served; i++) {
        drove_worker *w = &h->loop->worker[i];
        double limit_s = 2.0 * w->plan->timeout_s;
        if (limit_s <= 0.0 || limit_s > 1e9) continue;
        uint64_t heartbeat = atomic_load_explicit(&w->health.heartbeat, memory_order_relaxed);
        if (heartbeat != t->watch[i].heartbeat)
            t->watch[i] = (watch){.heartbeat = heartbeat, .since_ns = now};
        pthread_mutex_lock(&t->lock);
        bool is_busy = t->is_busy[i];
        pthread_mutex_unlock(&t->lock);
        bool is_late = now - t->watch[i].since_ns > (uint64_t)(limit_s * 1e9);
        /* Elsewhere it is being set up, or may wait for another worker. */
        if (is_busy && is_late && atomic_load(&w->health.is_computing)) lose(h, w, limit_s);
    }
}

static bool wait(drove_host *h, uint64_t until_ns)
{
    threads *t = h->impl;
    const drove_clock *clock = h->loop->clock;
    for (;;) {
        uint64_t now = drove__clock_now(clock);
        uint64_t look_ns = until_ns < now + WATCH_NS ? until_ns : now + WATCH_NS;
        pthread_mutex_lock(&t->lock);
        while (t->n_busy > 0 && clock->cond_wait(clock->context, &t->parked, &t->lock, look_ns))
            continue;
        bool is_parked = t->n_busy == 0;
        pthread_mutex_unlock(&t->lock);
        if (is_parked && drove__actor != NULL) drove__virtual_end(h->loop->on);
        if (is_parked) return true;
        find_silent(h);
        /* On a virtual clock it may have been woken for a look in between. */
        if (drove__actor != NULL || drove__clock_now(clock) >= until_ns) return false;
    }
}

static drove_status status(const drove_host *h)
{
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        const drove_worker *w = &h->loop->worker[i];
        if (w->status != DROVE_OK) return drove__fail(w->status, "%s", w->error);
    }
    return DROVE_OK;
}

static unsigned n_left(const drove_host *h)
{
    const drove_plan *plan = h->loop->plan;
    unsigned n = 0;
    for (unsigned i = plan->first_here; i < plan->first_here + plan->n_here; i++)
        n += !atomic_load(&h->loop->worker[i].health.is_lost);
    return n;
}

/* ---- the end ---- */

/* A silent thread that has not come back by then is left to itself, and the run with it. */
static bool join(drove_host *h, unsigned i)
{
    const drove_clock *clock = h->loop->clock;
    const drove_worker *w = &h->loop->worker[i];
    threads *t = h->impl;
    for (int k = 0;
         k < 100 && atomic_load(&w->health.is_silent) && !atomic_load(&w->health.has_ended); k++)
        clock->sleep_until(clock->context, drove__clock_now(clock) + 10000000);
    if (atomic_load(&w->health.is_silent) && !atomic_load(&w->health.has_ended)) {
        pthread_detach(t->thread[i]);
        return false;
    }
    pthread_join(t->thread[i], NULL);
    return true;
}

static bool stop(drove_host *h)
{
    threads *t = h->impl;
    bool all = true;
    if (!t->is_made) return true;
    go(h, DROVE_DO_QUIT);
    for (unsigned i = 0; i < h->loop->plan->n_workers; i++) {
        if (t->is_started[i]) all &= join(h, i);
        t->is_started[i] = false;
    }
    if (t->service_is_started) pthread_join(t->service, NULL);
    t->service_is_started = false;
    for (unsigned i = 0; all && i < h->loop->plan->n_workers; i++)
        drove__worker_leave(&h->loop->worker[i]);
    return all;
}

static void fini(drove_host *h)
{
    threads *t = h->impl;
    if (t == NULL) return;
    if (t->is_made) {
        pthread_cond_destroy(&t->go);
        pthread_cond_destroy(&t->parked);
        pthread_mutex_destroy(&t->lock);
    }
    drove__free(t->thread);
    drove__free(t->is_started);
    drove__free(t->is_busy);
    drove__free(t->watch);
    drove__free(t);
}

const drove_host_ops drove__host_threads = {
    .name = "threads",
    .help = "workers are threads of this process",
    .init = init,
    .start = start,
    .go = go,
    .wait = wait,
    .status = status,
    .n_left = n_left,
    .silence = silence,
    .stop = stop,
    .fini = fini,
};
