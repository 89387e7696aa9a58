/* A whole source of batches: workers take eight at a time; explained in docs/inside/adding.md. */
#include "strategy/source.h"

enum { CHUNK = 8 };

typedef struct chunk { /* a worker's own; padded, as others write their own beside it */
    uint64_t at, end;
} DROVE_ALIGNED_CACHE_LINE chunk;

typedef struct chunked {
    _Atomic uint64_t limit DROVE_ALIGNED_CACHE_LINE; /* no batch at or above it is given out */
    chunk *of;                                       /* [n_workers] */
} chunked;

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    chunked *c = s->impl = drove__alloc(1, sizeof *c);
    if (c != NULL) c->of = drove__alloc(opt->n_workers, sizeof *c->of);
    return c != NULL && c->of != NULL ? DROVE_OK
                                      : drove__fail_nomem("a source of batches", sizeof *c);
}
static void fini(drove_source *s)
{
    chunked *c = s->impl;
    if (c != NULL) drove__free(c->of);
    drove__free(c);
}
static void open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    (void)most_updates; /* each batch is one update: the limit says it */
    atomic_store(&((chunked *)s->impl)->limit, limit);
}
static void halt(drove_source *s)
{
    atomic_store(&((chunked *)s->impl)->limit, 0); /* chunks that were begun are finished */
}
static bool take_chunk(drove_source *s, chunk *me)
{
    const chunked *c = s->impl; /* relaxed: the numbers are all that is passed on */
    uint64_t first = atomic_load_explicit(&s->next, memory_order_relaxed), end;
    do {
        uint64_t limit = atomic_load_explicit(&c->limit, memory_order_relaxed);
        if (first >= limit) return false;
        end = limit - first < CHUNK ? limit : first + CHUNK;
    } while (!atomic_compare_exchange_weak_explicit(&s->next, &first, end, memory_order_relaxed,
                                                    memory_order_relaxed));
    *me = (chunk){first, end};
    return true;
}
static bool next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    chunk *me = &((chunked *)s->impl)->of[worker];
    (void)waits; /* there is nothing to wait for */
    if (me->at == me->end && !take_chunk(s, me)) return false;
    *out = (drove_task){.number = me->at++, .lr_factor = 1.0};
    return true;
}
static void leave(drove_source *s, unsigned worker)
{
    (void)s, (void)worker; /* the rest of its chunk is lost; others take later ones */
}
const drove_source_ops drove__source_chunked = {
    .name = "chunked",
    .help = "a free worker takes the next eight batches",
    .source = "Kruskal and Weiss, 1985",
    .init = init,
    .fini = fini,
    .open = open,
    .halt = halt,
    .next = next,
    .leave = leave,
};
