/* cluster/shared_rpc.c - RPCs to a centre in shared memory, served by the caller's thread.
 *
 * One word names the holder of an exclusive centre.  A waiting worker has written the time it came;
 * the earliest is next.  A worker that is killed as holder or in the queue is removed by
 * drove__shared_release_centre; its RPC is then served in part, element by element.
 */
#include "cluster/shared_state.h"

#include "base/clock.h"
#include "base/cost.h"

/* The worker that has waited longest, or NOBODY. */
static uint32_t earliest(const drove_shared *s)
{
    uint64_t first_ns = UINT64_MAX;
    uint32_t first = DROVE_NOBODY;
    for (unsigned i = 0; i < s->t.n_workers; i++) {
        uint64_t queued_ns = atomic_load(&s->worker[i].queued_ns);
        if (queued_ns == 0 || queued_ns >= first_ns) continue;
        first_ns = queued_ns;
        first = i;
    }
    return first;
}

/* Takes the centre if it is free and no worker came earlier. */
static uint32_t waits_for_centre(const drove_shared *s, unsigned worker, unsigned channel)
{
    (void)channel;
    uint32_t holder = atomic_load(&s->holder);
    if (holder == worker + 1) return DROVE_NOBODY;
    if (holder != 0) return holder - 1;
    uint32_t first = earliest(s);
    if (first != worker) return first;
    _Atomic uint32_t *door = &((drove_shared *)s)->holder;
    /* Acquire; pairs with the store in release: what the last holder did to the centre. */
    if (atomic_compare_exchange_strong(door, &holder, worker + 1)) return DROVE_NOBODY;
    return holder != 0 ? holder - 1 : worker;
}

static void wake_next(drove_shared *s)
{
    uint32_t next = earliest(s);
    if (next != DROVE_NOBODY) drove__shared_wake(s, next);
}

static void release(drove_shared *s, unsigned worker)
{
    atomic_store(&s->worker[worker].queued_ns, 0);
    atomic_store(&s->holder, 0);
    wake_next(s);
}

drove_status drove__shared_rpc(drove_shared *s, unsigned worker, unsigned channel)
{
    drove_shared_worker *me = &s->worker[worker];
    drove_exchange *x = &me->channel[channel].mine;
    drove_exchange_info *took = &me->channel[channel].took;
    uint64_t begin_ns = drove__now_ns();
    if (x->out != x->in && x->n > 0) s->t.kernels->copy_f32(x->out, x->in, x->n);
    drove__spend_copy(x->n, 0.0);
    took->work_ns += drove__now_ns() - begin_ns;
    if (s->centre.is_exclusive) {
        atomic_store(&me->queued_ns, begin_ns + 1); /* 0: not queued; a clock may begin there */
        drove_status status =
            drove__shared_await(s, worker, channel, waits_for_centre, &took->wait_ns);
        if (status != DROVE_OK) {
            atomic_store(&me->queued_ns, 0);
            return status;
        }
    }
    begin_ns = drove__now_ns();
    for (unsigned i = 0; i < DROVE_EXCHANGE_NUMBERS; i++) took->number[i] = x->number[i];
    s->centre.serve(s->centre.context, worker, x->out, x->n, took->number);
    drove__spend_change(s->centre.vector, x->n);
    uint64_t centre_ns = drove__now_ns() - begin_ns;
    took->work_ns += centre_ns;
    took->centre_ns += centre_ns;
    if (s->centre.is_exclusive) release(s, worker);
    return DROVE_OK;
}

void drove__shared_release_centre(drove_shared *s, unsigned lost)
{
    uint32_t holder = lost + 1;
    atomic_store(&s->worker[lost].queued_ns, 0);
    (void)atomic_compare_exchange_strong(&s->holder, &holder, 0);
    wake_next(s);
}
