/* loop/rounds.c - the source of strategies whose workers step together: in each round worker w of T
 * takes batch round T + w.
 *
 * A round is begun under the lock, so that a halt can tell exactly which rounds must still be
 * finished by all.  The lock is robust (base/lock.h): a worker that dies while holding
 * it leaves consistent data, as one counter changes under it.
 */
#include "loop/sources.h"

#include "base/lock.h"

typedef struct cursor { /* one worker's */
    uint64_t round;
} DROVE_ALIGNED_CACHE_LINE cursor;

typedef struct rounds {
    pthread_mutex_t lock; /* protects started and limit */
    bool lock_is_made;
    uint64_t first, started; /* rounds: first of this stretch; begun by somebody */
    uint64_t limit;          /* no batch at or above it is given out */
    unsigned n_lost;         /* workers that take nothing any more */
    cursor *at;              /* [n_workers] */
} rounds;

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    rounds *r = s->impl = drove__alloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem("a source of batches", sizeof *r);
    s->width = opt->n_workers;
    r->at = drove__alloc(opt->n_workers, sizeof *r->at);
    if (r->at == NULL) return drove__fail_nomem("a source of batches", sizeof *r->at);
    DROVE_TRY(drove__lock_init(&r->lock));
    r->lock_is_made = true;
    return DROVE_OK;
}

static void fini(drove_source *s)
{
    rounds *r = s->impl;
    if (r == NULL) return;
    if (r->lock_is_made) pthread_mutex_destroy(&r->lock);
    drove__free(r->at);
    drove__free(r);
}

static void open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    rounds *r = s->impl;
    (void)most_updates;
    r->limit = (limit + s->width - 1) / s->width * s->width;
    r->first = r->started = atomic_load(&s->next) / s->width;
    for (unsigned i = 0; i < s->n_workers; i++) r->at[i].round = r->first;
}

static void halt(drove_source *s)
{
    rounds *r = s->impl;
    (void)drove__lock(&r->lock);
    r->limit = r->started * s->width;
    drove__unlock(&r->lock);
}

static bool next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    rounds *r = s->impl;
    cursor *me = &r->at[worker];
    (void)waits;
    (void)drove__lock(&r->lock);
    bool is_open = me->round * s->width < r->limit;
    if (is_open && me->round >= r->started) r->started = me->round + 1;
    drove__unlock(&r->lock);
    if (!is_open) return false;
    *out = (drove_task){.number = me->round * s->width + worker, .lr_factor = 1.0};
    me->round++;
    atomic_fetch_add(&s->next, 1);
    return true;
}

static void leave(drove_source *s, unsigned worker)
{
    (void)worker;
    ((rounds *)s->impl)->n_lost++;
}

/* Batches that lost workers should have taken in the rounds that are over count as given out,
 * though nobody has computed them. */
static void settle(drove_source *s)
{
    const rounds *r = s->impl;
    uint64_t reached = r->started * s->width;
    if (r->n_lost > 0 && atomic_load(&s->next) < reached) atomic_store(&s->next, reached);
}

static uint64_t begun(const drove_source *s)
{
    uint64_t next = atomic_load(&s->next), started = ((const rounds *)s->impl)->started * s->width;
    return next > started ? next : started;
}

const drove_source_ops drove__source_rounds = {
    .name = "rounds",
    .help = "in each round worker w of T takes batch round T + w",
    .source = "thesis section 2.2.1",
    .init = init,
    .fini = fini,
    .open = open,
    .halt = halt,
    .next = next,
    .leave = leave,
    .settle = settle,
    .begun = begun,
};
