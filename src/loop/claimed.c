/* loop/claimed.c - the source of most strategies: a free worker takes the next batches.
 *
 * One atomic counter.  It never passes the limit, so once all workers are parked it is exactly the
 * number of batches that were trained.  Relaxed: the number is all that is passed on; parameters
 * are ordered by the strategy.
 *
 * The counter's cache line goes from core to core with every claim, which takes as long as a step
 * of a small sparse model.  Where steps are that short (drove_source_options.most_claimed) a worker
 * claims several batches in a row.  Its claims shrink towards the limit, so that all workers end
 * about together.
 */
#include "loop/sources.h"

/* One of T workers claims at most 1/(CLAIMS T) of the batches that are left. */
enum { CLAIMS = 8 };

typedef struct claim { /* batches [next, end) are one worker's own */
    uint64_t next, end;
} DROVE_ALIGNED_CACHE_LINE claim;

typedef struct claimed {
    claim *claim; /* [n_workers] */
    uint64_t most, n_workers;
    _Atomic uint64_t limit DROVE_ALIGNED_CACHE_LINE; /* no batch at or above it is given out */
} claimed;

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    claimed *c = s->impl = drove__alloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("a source of batches", sizeof *c);
    c->n_workers = opt->n_workers;
    c->most = opt->most_claimed > 1 ? opt->most_claimed : 1;
    c->claim = drove__alloc(opt->n_workers, sizeof *c->claim);
    return c->claim != NULL
               ? DROVE_OK
               : drove__fail_nomem("a source of batches", opt->n_workers * sizeof *c->claim);
}

static void fini(drove_source *s)
{
    claimed *c = s->impl;
    if (c != NULL) drove__free(c->claim);
    drove__free(c);
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

/* Batches of one claim while so many are left. */
static uint64_t size_of_claim(const claimed *c, uint64_t n_left)
{
    const uint64_t n = n_left / (CLAIMS * c->n_workers);
    if (n > c->most) return c->most;
    return n > 1 ? n : 1;
}

static bool claim_more(drove_source *s, claim *mine)
{
    claimed *c = s->impl;
    uint64_t number = atomic_load_explicit(&s->next, memory_order_relaxed), n;
    do {
        const uint64_t limit = atomic_load_explicit(&c->limit, memory_order_relaxed);
        if (number >= limit) return false;
        n = size_of_claim(c, limit - number);
    } while (!atomic_compare_exchange_weak_explicit(&s->next, &number, number + n,
                                                    memory_order_relaxed, memory_order_relaxed));
    *mine = (claim){.next = number, .end = number + n};
    return true;
}

/* The next of the batches that the worker has claimed, also after a halt; never waits. */
static bool more(drove_source *s, unsigned worker, drove_task *out)
{
    claim *mine = &((claimed *)s->impl)->claim[worker];
    if (mine->next == mine->end) return false;
    *out = (drove_task){.number = mine->next++, .lr_factor = 1.0};
    return true;
}

static bool next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    claim *mine = &((claimed *)s->impl)->claim[worker];
    (void)waits;
    if (mine->next == mine->end && !claim_more(s, mine)) return false;
    return more(s, worker, out);
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
    .more = more,
    .leave = leave,
};
