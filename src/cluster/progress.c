/* cluster/progress.c - the progress thread, waiting, heartbeats and stopping.
 *
 * MPI libraries advance a started message only inside their calls.  The progress thread makes these
 * calls while the worker computes; a worker that waits makes them itself.  Between two calls the
 * thread sleeps 20 us after progress, up to 200 us without, and 5 ms with nothing under way, so
 * that the worker keeps the core.
 *
 * Ranks also send each other control messages: heartbeats, asked for by a rank that waits, and
 * orders to stop.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cluster/request.h"

#include "base/denormals.h"
#include "base/relax.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
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

/* ---- what ranks tell each other ---- */

void drove__messages_send_control(messages *m, unsigned to, control_kind kind, const char *text)
{
    control_send *s = &m->sending[2 * to + (kind == CONTROL_STOP)];
    if (s->is_open) return; /* an equal one is still under way */
    s->message = (control){.magic = MESSAGE_MAGIC, .kind = kind, .worker = m->wire->rank};
    if (text != NULL)
        snprintf(s->message.text, sizeof s->message.text, "%.*s", CONTROL_TEXT_SIZE - 1, text);
    s->is_open = m->wire->ops->isend(m->wire, &s->message, sizeof s->message, to, TAG_CONTROL,
                                     &s->request) == 0;
}

static void stop_all(messages *m, bool tells_others)
{
    if (atomic_load_explicit(&m->is_stopped, memory_order_relaxed)) return; /* lock held */
    drove__error_copy(m->text);
    atomic_store_explicit(&m->is_stopped, 1, memory_order_release); /* acquired by stopped */
    for (unsigned i = 0; i < m->wire->n_ranks && tells_others; i++) {
        if (i != m->wire->rank) drove__messages_send_control(m, i, CONTROL_STOP, m->text);
    }
}

drove_status drove__messages_fail(messages *m, const char *format, ...)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it was begun in the line before */
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    drove__fail(DROVE_E_SYSTEM, "%s", text);
    stop_all(m, true);
    return DROVE_E_SYSTEM;
}

drove_status drove__messages_stopped(const messages *m)
{
    if (!atomic_load_explicit(&m->is_stopped, memory_order_acquire)) return DROVE_OK;
    return drove__fail(DROVE_E_SYSTEM, "%s", m->text);
}

/* Stops all: the rank whose message is lost here would wait for an answer. */
static bool fail_to_hear(messages *m)
{
    if (drove__messages_stopped(m) != DROVE_OK) return false;
    drove__messages_fail(m, "rank %u on host %s: messages from any rank: %s", m->wire->rank,
                         host_of(m, m->wire->rank), m->wire->error);
    return false;
}

bool drove__messages_hear(messages *m, void *into, size_t size, unsigned tag,
                          drove_wire_request *pending, bool *is_listening, unsigned *from,
                          size_t *n_bytes)
{
    const drove_wire_ops *ops = m->wire->ops;
    bool is_done = false;
    if (!*is_listening && ops->irecv(m->wire, into, size, DROVE_WIRE_ANY, tag, pending) != 0)
        return fail_to_hear(m);
    *is_listening = true;
    const int failed = ops->test(m->wire, pending, &is_done, from, n_bytes);
    *is_listening = !is_done; /* also where the library had it and could not say how long it is */
    return failed != 0 ? fail_to_hear(m) : is_done;
}

static void take_control(messages *m, unsigned from)
{
    control *c = &m->heard;
    if (c->magic != MESSAGE_MAGIC || from >= m->wire->n_ranks) return;
    m->peer[from].heard_ns = drove__now_ns();
    if (c->kind == CONTROL_PING) drove__messages_send_control(m, from, CONTROL_PONG, NULL);
    if (c->kind != CONTROL_STOP) return;
    c->text[sizeof c->text - 1] = '\0';
    drove__fail(DROVE_E_SYSTEM, "%s", c->text);
    stop_all(m, false);
}

static void advance_control(messages *m)
{
    const drove_wire_ops *ops = m->wire->ops;
    bool is_done = false;
    unsigned from = 0;
    for (unsigned i = 0; i < 2 * m->wire->n_ranks; i++) {
        control_send *s = &m->sending[i];
        if (s->is_open && ops->test(m->wire, &s->request, &is_done, NULL, NULL) == 0) {
            s->is_open = !is_done;
        }
    }
    if (!drove__messages_hear(m, &m->heard, sizeof m->heard, TAG_CONTROL, &m->heard_request,
                              &m->is_listening, &from, NULL))
        return;
    take_control(m, from);
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
    if (!has_moved) advance_control(m);
    return has_moved;
}

void drove__messages_lock(messages *m)
{
    atomic_fetch_add_explicit(&m->n_wanting, 1, memory_order_relaxed); /* a hint */
    pthread_mutex_lock(&m->lock);
    atomic_fetch_sub_explicit(&m->n_wanting, 1, memory_order_relaxed);
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
