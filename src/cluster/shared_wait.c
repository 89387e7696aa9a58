/* cluster/shared_wait.c - waiting in shared memory: some microseconds of spinning, then sleep on a
 * futex of the worker's own, so that more workers than cores do not starve each other.  A sleeper
 * looks again every NAP_NS, since the worker that should wake it may have been killed.
 * */
#define _DEFAULT_SOURCE /* syscall */
#include "cluster/shared_state.h"

#include "base/clock.h"
#include "base/futex.h"
#include "base/relax.h"

enum { SPIN_ROUNDS = 256 };              /* about 10 us */
static const uint64_t NAP_NS = 20000000; /* longest sleep */

/* ---- waking ---- */

void drove__shared_wake(drove_shared *s, unsigned worker)
{
    drove_shared_worker *w = &s->worker[worker];
    /* Sequentially consistent, as in await: either the sleeper is seen here, or its futex call sees
     * the new word. */
    atomic_fetch_add(&w->event, 1);
    if (atomic_load(&w->sleeps) != 0) drove__futex_wake(&w->event);
}

void drove__shared_wake_all(drove_shared *s)
{
    for (unsigned i = 0; i < s->t.n_workers; i++) drove__shared_wake(s, i);
}

/* ---- what went wrong ---- */

void drove__shared_fail(drove_shared *s, drove_shared_failure why, unsigned worker)
{
    uint64_t none = 0;
    (void)atomic_compare_exchange_strong(&s->failure, &none, (uint64_t)why << 32 | worker);
    drove__shared_wake_all(s);
}

const char *drove__shared_kind_name(drove_exchange_kind kind)
{
    static const char *const name[] = {
        [DROVE_ALL_REDUCE] = "all-reduce",
        [DROVE_REDUCE] = "reduce",
        [DROVE_BROADCAST] = "broadcast",
        [DROVE_BARRIER] = "barrier",
        [DROVE_SEND] = "send",
        [DROVE_RECEIVE] = "receive",
        [DROVE_RPC] = "RPC",
    };
    return (size_t)kind < DROVE_COUNT(name) ? name[kind] : "exchange";
}

drove_status drove__shared_check(const drove_shared *s, unsigned worker, const drove_exchange *x)
{
    uint64_t failure = atomic_load(&s->failure);
    if (failure == 0) return DROVE_OK;
    const char *kind = drove__shared_kind_name(x->kind);
    unsigned whom = (unsigned)(failure & UINT32_MAX);
    switch ((drove_shared_failure)(failure >> 32)) {
    case DROVE_SHARED_LOST:
        return drove__fail(DROVE_E_SYSTEM, "%s of worker %u: worker %u of %u was lost", kind,
                           worker, whom, s->t.n_workers);
    case DROVE_SHARED_LATE:
        return drove__fail(DROVE_E_SYSTEM,
                           "%s of worker %u: worker %u of %u has not been heard of for %g s", kind,
                           worker, whom, s->t.n_workers, s->t.timeout_s);
    case DROVE_SHARED_STOPPED: break;
    }
    return drove__fail(DROVE_E_SYSTEM, "%s of worker %u: stopped", kind, worker);
}

/* ---- waiting ---- */

static bool is_over(const drove_shared *s, unsigned worker, unsigned channel,
                    drove_shared_waits_fn *waits_for)
{
    for (unsigned i = 0; i < SPIN_ROUNDS; i++) {
        if (waits_for(s, worker, channel) == DROVE_NOBODY) return true;
        drove__relax();
    }
    return false;
}

static drove_status sleep_until(drove_shared *s, unsigned worker, unsigned channel,
                                drove_shared_waits_fn *waits_for, uint64_t since_ns)
{
    drove_shared_worker *me = &s->worker[worker];
    uint32_t before = DROVE_NOBODY;
    for (;;) {
        uint32_t seen = atomic_load(&me->event), whom = waits_for(s, worker, channel);
        if (whom == DROVE_NOBODY) return DROVE_OK;
        DROVE_TRY(drove__shared_check(s, worker, &me->channel[channel].mine));
        uint64_t now_ns = drove__now_ns();
        if (before != DROVE_NOBODY && whom != before) since_ns = now_ns; /* progress */
        before = whom;
        if ((double)(now_ns - since_ns) * 1e-9 >= s->t.timeout_s) {
            drove__shared_fail(s, DROVE_SHARED_LATE, whom);
            continue;
        }
        atomic_store(&me->sleeps, 1);
        drove__futex_wait(&me->event, seen, now_ns + NAP_NS);
        atomic_store(&me->sleeps, 0);
    }
}

drove_status drove__shared_await(drove_shared *s, unsigned worker, unsigned channel,
                                 drove_shared_waits_fn *waits_for, uint64_t *wait_ns)
{
    if (waits_for(s, worker, channel) == DROVE_NOBODY) return DROVE_OK;
    uint64_t begin_ns = drove__now_ns();
    drove_status status = DROVE_OK;
    if (!is_over(s, worker, channel, waits_for))
        status = sleep_until(s, worker, channel, waits_for, begin_ns);
    *wait_ns += drove__now_ns() - begin_ns;
    return status;
}
