/* loop/claimed.c - the source of most strategies: a free worker takes the next batch.
 *
 * One atomic counter.  It never passes the limit, so it is exactly the number of batches that were
 * given out.  Relaxed: the number is all that is passed on; parameters are ordered by the strategy.
 */
#include "loop/sources.h"

typedef struct claimed {
    _Atomic uint64_t limit DROVE_ALIGNED_CACHE_LINE; /* no batch at or above it is given out */
} claimed;

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    (void)opt;
    s->impl = drove__alloc(1, sizeof(claimed));
    return s->impl != NULL ? DROVE_OK : drove__fail_nomem("a source of batches", sizeof(claimed));
}

static void fini(drove_source *s)
{
    drove__free(s->impl);
}

static void open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    (void)most_updates; /* `limit` says it: each batch is one update, or a known part of one */
    atomic_store(&((claimed *)s->impl)->limit, limit);
}

static void halt(drove_source *s)
{
    atomic_store(&((claimed *)s->impl)->limit, 0);
}

static bool next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    claimed *c = s->impl;
    uint64_t number = atomic_load_explicit(&s->next, memory_order_relaxed);
    (void)worker;
    (void)waits;
    do {
        if (number >= atomic_load_explicit(&c->limit, memory_order_relaxed)) return false;
    } while (!atomic_compare_exchange_weak_explicit(&s->next, &number, number + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    *out = (drove_task){.number = number, .lr_factor = 1.0};
    return true;
}

static void leave(drove_source *s, unsigned worker)
{
    (void)s;
    (void)worker; /* what it had claimed is lost; others claim the rest */
}

const drove_source_ops drove__source_claimed = {
    .name = "claimed",
    .help = "a free worker takes the next batch",
    .source = "Niu et al., NIPS 2011",
    .init = init,
    .fini = fini,
    .open = open,
    .halt = halt,
    .next = next,
    .leave = leave,
};
