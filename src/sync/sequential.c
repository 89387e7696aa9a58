/* sync/sequential.c - plain SGD: one worker, one vector, every step in place.
 *
 * The measure of all others: one worker of any strategy gives the same bits as this one.
 */
#include "sync/sync.h"

#include <string.h>

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    (void)opt;
    drove_params *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p; /* the strategy's own: the vector, of floats or words */
    *p = drove__sync_first_params(s, 0, start);
    return drove__params_bytes(p) != NULL ? DROVE_OK : drove__sync_no_memory(s);
}

static void fini(drove_sync *s)
{
    drove__sync_params_free(s, s->impl);
    drove__free(s->impl);
}

static drove_params vector_of(const drove_sync *s)
{
    return *(const drove_params *)s->impl;
}

/* Relaxed throughout: one thread counts, others may look. */
static uint64_t n_published(const drove_sync *s)
{
    return atomic_load_explicit(&s->published, memory_order_relaxed);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    (void)worker;
    *view = (drove_view){.vector = vector_of(s).theta, .version = n_published(s)};
    return DROVE_OK;
}

static void count_updates(drove_sync *s, uint64_t n, drove_publish_info *info)
{
    atomic_store_explicit(&s->published, n_published(s) + n, memory_order_relaxed);
    *info = (drove_publish_info){.attempts = 1, .updated = 1};
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    (void)worker;
    float *theta = vector_of(s).theta;
    drove__optim_apply(s->optim, step, 0, n_published(s) + 1, 0, s->optim->n, theta, theta);
    count_updates(s, 1, info);
    return DROVE_OK;
}

static drove_params live_begin(drove_sync *s, unsigned worker)
{
    (void)worker;
    return vector_of(s);
}

static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    (void)worker;
    count_updates(s, n_steps, info);
    return DROVE_OK;
}

static uint64_t next_step(drove_sync *s, unsigned worker)
{
    (void)worker;
    return n_published(s) + 1;
}

static drove_params peek(drove_sync *s)
{
    return vector_of(s);
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    (void)st;
    memcpy(drove__params_bytes(s->impl), drove__params_bytes(vector), s->n_vector * sizeof(float));
    return DROVE_OK;
}

static const char *const variants[] = {"sequential", NULL};

static const drove_sync_places places = {
    .not_ranks = "it has one worker",
    .not_beside = "its worker steps in place and without a lock, so that a copy of the parameters "
                  "holds part of an update",
};
static const drove_sync_live_ops live = {.begin = live_begin,
                                         .done = live_done,
                                         .next_step = next_step};

const drove_sync_ops drove__sync_sequential = {
    .name = "sequential",
    .help = "plain SGD with one worker",
    .source = "thesis section 2.1, equation 2.3",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_LOCK_FREE |
                DROVE_SYNC_REPEATABLE | DROVE_SYNC_SEQUENTIAL,
    .needs = DROVE_SYNC_ONE | DROVE_SYNC_TYPED,
    .variants = variants,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .places = &places,
    .live = &live,
};
