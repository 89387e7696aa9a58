/* A whole strategy: asynchronous SGD under a spin lock; explained in docs/inside/adding.md. */
#include "base/relax.h"
#include "strategy/strategy.h"
#include <string.h>

typedef struct spin_impl {
    float *vector; /* [n_vector]; like s->published, written under the lock only */
    _Atomic int locked DROVE_ALIGNED_CACHE_LINE;
} spin_impl;

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    (void)opt; /* the row has no keys, so there is nothing to take from opt->spec */
    spin_impl *p = s->impl = drove__alloc(1, sizeof *p);
    if (p != NULL) p->vector = drove__sync_first_vector(s, DROVE_SYNC_SHARED, start->theta);
    return p != NULL && p->vector != NULL ? drove__sync_copies(s) : drove__sync_no_memory(s);
}
static void fini(drove_sync *s)
{
    drove__sync_vector_free(s, ((spin_impl *)s->impl)->vector);
    drove__free(s->impl);
}
static spin_impl *lock(drove_sync *s)
{
    spin_impl *p = s->impl; /* acquire: what the last holder wrote; pairs with unlock */
    while (atomic_exchange_explicit(&p->locked, 1, memory_order_acquire)) drove__relax();
    return p;
}
static void unlock(spin_impl *p)
{
    atomic_store_explicit(&p->locked, 0, memory_order_release);
}
static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    spin_impl *p = lock(s);
    drove_sync_worker *me = &s->worker[worker];
    s->optim->kernels->copy_f32(me->copy, p->vector, s->n_vector);
    me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
    unlock(p);
    *view = (drove_view){.vector = me->copy, .version = me->version, .order = me->version};
    return DROVE_OK;
}
static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    spin_impl *p = lock(s);
    uint64_t before = atomic_fetch_add_explicit(&s->published, 1, memory_order_relaxed);
    uint64_t tau = before - s->worker[worker].version; /* staleness */
    drove__optim_apply(s->optim, step, tau, before + 1, 0, s->optim->n, p->vector, p->vector);
    unlock(p);
    *info = (drove_publish_info){.staleness = tau, .order = before, .attempts = 1, .updated = 1};
    return DROVE_OK;
}
static drove_params peek(drove_sync *s)
{
    return (drove_params){.theta = ((spin_impl *)s->impl)->vector};
}
static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    (void)st;
    memcpy(((spin_impl *)s->impl)->vector, vector->theta, s->n_vector * sizeof(float));
    return DROVE_OK;
}
static const char *const variants[] = {"spin", NULL};
static const drove_sync_places places = {
    .not_procs = "a worker that is killed leaves the lock locked",
    .not_ranks = "its workers step on one vector in shared memory",
};
const drove_sync_ops drove__sync_spin = {
    .name = "spin",
    .help = "asynchronous SGD under a spin lock",
    .source = "thesis Algorithm 2",
    .promises =
        DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_SEQUENTIAL | DROVE_SYNC_ORDERED,
    .variants = variants,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .places = &places,
};
