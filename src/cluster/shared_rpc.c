/* cluster/shared_rpc.c - RPCs to a centre in shared memory, carried out by the caller.
 *
 * The door of an exclusive centre is one word that says who is inside.  Who waits has written when
 * it came; the earliest enters.  A worker that is killed inside or in the queue is taken out by
 * drove__shared_release_centre: its RPC is then carried out in part, element by element.
 */
#include "cluster/shared_state.h"

#include "base/clock.h"

/* The worker that came first of those that wait, or NOBODY. */
static uint32_t earliest(const drove_shared *s)
{
    uint64_t first_ns = UINT64_MAX;
    uint32_t first = DROVE_NOBODY;
    for (unsigned i = 0; i < s->t.n_workers; i++) {
        uint64_t came_ns = atomic_load(&s->worker[i].came_ns);
        if (came_ns == 0 || came_ns >= first_ns) continue;
        first_ns = came_ns;
        first = i;
    }
    return first;
}

/* Enters when nobody is inside and nobody came earlier. */
static uint32_t waits_at_door(const drove_shared *s, unsigned worker, unsigned channel)
{
    (void)channel;
    uint32_t inside = atomic_load(&s->inside);
    if (inside == worker + 1) return DROVE_NOBODY;
    if (inside != 0) return inside - 1;
    uint32_t first = earliest(s);
    if (first != worker) return first;
    _Atomic uint32_t *door = &((drove_shared *)s)->inside;
    /* Acquire with release in leave_door: what the one before did to the centre. */
    if (atomic_compare_exchange_strong(door, &inside, worker + 1)) return DROVE_NOBODY;
    return inside != 0 ? inside - 1 : worker;
}

static void wake_next(drove_shared *s)
{
    uint32_t next = earliest(s);
    if (next != DROVE_NOBODY) drove__shared_wake(s, next);
}

static void leave_door(drove_shared *s, unsigned worker)
{
    atomic_store(&s->worker[worker].came_ns, 0);
    atomic_store(&s->inside, 0);
    wake_next(s);
}

drove_status drove__shared_rpc(drove_shared *s, unsigned worker, unsigned channel)
{
    drove_shared_worker *me = &s->worker[worker];
    drove_exchange *x = &me->channel[channel].mine;
    drove_exchange_info *took = &me->channel[channel].took;
    uint64_t begin_ns = drove__now_ns();
    if (x->out != x->in && x->n > 0) s->t.kernels->copy_f32(x->out, x->in, x->n);
    took->work_ns += drove__now_ns() - begin_ns;
    if (s->centre.is_exclusive) {
        atomic_store(&me->came_ns, begin_ns);
        drove_status status =
            drove__shared_await(s, worker, channel, waits_at_door, &took->wait_ns);
        if (status != DROVE_OK) {
            atomic_store(&me->came_ns, 0);
            return status;
        }
    }
    begin_ns = drove__now_ns();
    for (unsigned i = 0; i < DROVE_EXCHANGE_NUMBERS; i++) took->number[i] = x->number[i];
    s->centre.serve(s->centre.context, worker, x->out, x->n, took->number);
    uint64_t centre_ns = drove__now_ns() - begin_ns;
    took->work_ns += centre_ns;
    took->centre_ns += centre_ns;
    if (s->centre.is_exclusive) leave_door(s, worker);
    return DROVE_OK;
}

void drove__shared_release_centre(drove_shared *s, unsigned lost)
{
    uint32_t inside = lost + 1;
    atomic_store(&s->worker[lost].came_ns, 0);
    (void)atomic_compare_exchange_strong(&s->inside, &inside, 0);
    wake_next(s);
}
