/* cluster/control.c - what ranks tell each other beside their exchanges: heartbeats, asked for by a
 * rank that waits, and orders to stop.
 */
#include "cluster/request.h"

#include <stdarg.h>
#include <stdio.h>

void drove__messages_lock(messages *m)
{
    atomic_fetch_add_explicit(&m->n_wanting, 1, memory_order_relaxed); /* a hint */
    pthread_mutex_lock(&m->lock);
    atomic_fetch_sub_explicit(&m->n_wanting, 1, memory_order_relaxed);
}

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

/* The error of this thread is the reason here, `text` that of the others; NULL: they know. */
static void stop_all(messages *m, messages_stop how, const char *text)
{
    if (atomic_load_explicit(&m->is_stopped, memory_order_relaxed)) return; /* lock held */
    drove__error_copy(m->text);
    atomic_store_explicit(&m->is_stopped, (int)how, memory_order_release); /* acquired by stopped */
    for (unsigned i = 0; i < m->wire->n_ranks && text != NULL; i++) {
        if (i != m->wire->rank) drove__messages_send_control(m, i, CONTROL_STOP, text);
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
    stop_all(m, STOPPED_HERE, text);
    return DROVE_E_SYSTEM;
}

void drove__messages_fail_told(messages *m, const char *text)
{
    drove__fail(DROVE_E_SYSTEM, "%s", text);
    stop_all(m, STOPPED_HERE, "");
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
                         m->wire->host[m->wire->rank], m->wire->error);
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
    stop_all(m, STOPPED_BY_OTHER, NULL);
}

void drove__messages_advance_control(messages *m)
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
