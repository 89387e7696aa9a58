/* cluster/progress.c - the progress thread, and waiting.
 *
 * MPI libraries advance a started message only inside their calls.  The progress thread makes these
 * calls while the worker computes; a worker that waits makes them itself.  Between two calls the
 * thread sleeps 20 us after progress, up to 200 us without, and 5 ms with nothing under way, so
 * that the worker keeps the core.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cluster/request.h"

#include "base/denormals.h"
#include "base/relax.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    NAP_LEAST_NS = 20000,
    NAP_MOST_NS = 200000,
    NAP_IDLE_NS = 5000000,
    N_SPINS = 64,    /* polls before the thread yields its core */
    N_YIELDS = 2000, /* polls before it sleeps in between */
    LATE_FACTOR = 10 /* timeouts until a live rank must have come */
};

static const char *host_of(const messages *m, unsigned rank)
{
    return m->wire->host[rank];
}

/* ---- moving ---- */

bool drove__messages_advance(messages *m)
{
    bool has_moved = false;
    for (unsigned i = 0; i < N_REQUESTS && m->n_pending > 0; i++) {
        request *req = &m->request[i];
        if (!req->is_active || req->n_flows == req->n_flows_done) continue; /* or a local RPC */
        if (atomic_load_explicit(&req->is_done, memory_order_relaxed)) continue; /* lock held */
        if (atomic_load_explicit(&m->is_stopped, memory_order_relaxed)) break;
        if (drove__request_advance(m, req, &has_moved) != DROVE_OK) break; /* has stopped all */
    }
    if (m->centre != NULL) has_moved |= drove__centre_advance(m);
    if (!has_moved) drove__messages_advance_control(m);
    return has_moved;
}

static struct timespec in_ns(uint64_t ns)
{
    uint64_t at = drove__now_ns() + ns;
    return (struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
}

static void *run_progress(void *argument)
{
    messages *m = argument;
    uint64_t nap = NAP_LEAST_NS;
    prctl(PR_SET_TIMERSLACK, 1000UL);
    (void)drove__denormals_flush();
    pthread_mutex_lock(&m->lock);
    while (!m->is_ending) {
        bool others_move = m->n_waiting > 0;
        if (!others_move && drove__messages_advance(m)) {
            nap = NAP_LEAST_NS;
            if (atomic_load_explicit(&m->n_wanting, memory_order_relaxed) == 0) continue;
        }
        uint64_t ns = others_move || (m->n_pending == 0 && m->centre == NULL) ? NAP_IDLE_NS : nap;
        struct timespec until = in_ns(ns);
        bool is_woken = pthread_cond_timedwait(&m->wake, &m->lock, &until) == 0;
        nap = is_woken ? NAP_LEAST_NS : nap * 3 / 2 > NAP_MOST_NS ? NAP_MOST_NS : nap * 3 / 2;
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

drove_status drove__progress_start(messages *m)
{
    sigset_t all, before;
    sigfillset(&all); /* signals go to the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&m->progress_thread, NULL, run_progress, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return drove__fail_errno(DROVE_E_SYSTEM, error, "thread for messages");
    m->has_progress_thread = true;
    return DROVE_OK;
}

void drove__progress_end(messages *m)
{
    if (!m->has_progress_thread) return;
    drove__messages_lock(m);
    m->is_ending = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->progress_thread, NULL);
    m->has_progress_thread = false;
}

/* ---- waiting ---- */

static void rest(const messages *m, unsigned n_looks)
{
    if (n_looks < N_SPINS) {
        drove__relax();
    } else if (n_looks < N_YIELDS || !m->has_progress_thread) { /* a simulator has its own clock */
        sched_yield();
    } else {
        nanosleep(&(struct timespec){0, 50000}, NULL);
    }
}

static double since_s(uint64_t now, uint64_t a, uint64_t b)
{
    uint64_t last = a > b ? a : b;
    return now > last ? (double)(now - last) * 1e-9 : 0.0;
}

static void ask(messages *m, unsigned rank, uint64_t now, uint64_t begun)
{
    peer_news *p = &m->peer[rank];
    double often = m->base.timeout_s / 4;
    if (since_s(now, p->heard_ns, begun) < often || since_s(now, p->asked_ns, begun) < often)
        return;
    p->asked_ns = now;
    drove__messages_send_control(m, rank, CONTROL_PING, NULL);
}

/* Asks silent ranks for a heartbeat: they may compute for long.  Without progress threads no rank
 * could answer. */
static drove_status check_time(messages *m, const request *req, uint64_t now, uint64_t begun)
{
    bool is_sending;
    unsigned awaited = drove__request_awaited(req, &is_sending);
    double timeout = m->base.timeout_s, idle = since_s(now, req->moved_ns, begun);
    for (unsigned i = 0; i < m->wire->n_ranks && m->has_progress_thread; i++) {
        if (i == m->wire->rank) continue;
        if (since_s(now, m->peer[i].heard_ns, begun) > timeout) {
            return drove__messages_fail(m, "rank %u on host %s has not been heard of for %g s", i,
                                        host_of(m, i), timeout);
        }
        ask(m, i, now, begun);
    }
    if (idle <= (m->has_progress_thread ? LATE_FACTOR : 1) * timeout) return DROVE_OK;
    return drove__messages_fail(m, "rank %u on host %s did not %s rank %u for %.3g s, but is alive",
                                awaited, host_of(m, awaited),
                                is_sending ? "receive from" : "send to", m->wire->rank, idle);
}

drove_status drove__messages_wait(messages *m, request *req)
{
    uint64_t begun = drove__now_ns(), last = begun;
    drove_status status = DROVE_OK;
    m->n_waiting++;
    for (unsigned n_looks = 0; status == DROVE_OK; n_looks++) {
        bool has_moved = drove__messages_advance(m);
        if (atomic_load_explicit(&req->is_done, memory_order_relaxed)) break; /* lock held */
        status = drove__messages_stopped(m);
        if (status != DROVE_OK) break;
        if (has_moved) n_looks = 0;
        pthread_mutex_unlock(&m->lock);
        if (!has_moved) rest(m, n_looks);
        drove__messages_lock(m);
        if (n_looks % 32 != 31) continue;
        uint64_t now = drove__now_ns();
        if ((double)(now - last) * 1e-9 > m->base.timeout_s / 2)
            begun = now; /* this process was stopped itself */
        last = now;
        status = check_time(m, req, now, begun);
    }
    m->n_waiting--;
    if (m->has_progress_thread && m->n_pending > 0) pthread_cond_signal(&m->wake);
    return status;
}
