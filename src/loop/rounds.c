/* loop/rounds.c - the source of strategies whose workers step together: in each round worker w of T
 * takes batch round T + w.
 *
 * Over ranks, workers that do not wait for each other are halted in different rounds.  Those that
 * are behind begin the next stretch where they stopped, so that none of their batches is left out;
 * a state has the rounds by which each is behind.  Not of data from disk, whose windows have gone:
 * workers of one process, which alone train on them, halt in the same round.
 *
 * One word holds the number of rounds begun and whether the run is halted.  So a halt knows exactly
 * which rounds all workers still have to finish: a worker that begins another one changes the word,
 * and either sees the halt or is counted by it.  Workers arrive together, at the end of a round; a
 * lock would put most of them to sleep.
 */
#include "loop/sources.h"

#include <string.h>

typedef struct cursor { /* one worker's */
    uint64_t round;     /* the next that it takes */
    bool is_lost;       /* it takes nothing any more */
} DROVE_ALIGNED_CACHE_LINE cursor;

typedef struct rounds {
    bool goes_alone;  /* no worker waits for another's step */
    bool has_cursors; /* goes_alone: at[].round are those of a stretch, or of a state */
    uint64_t first;   /* round of this stretch */
    uint64_t limit;   /* no batch at or above it is given out */
    unsigned n_lost;  /* workers that take nothing any more */
    cursor *at;       /* [n_workers] */
    uint64_t *behind; /* [n_workers], for a state: rounds */
    _Atomic uint64_t begun DROVE_ALIGNED_CACHE_LINE; /* rounds x ROUND, + HALTED */
} rounds;

enum { HALTED = 1, ROUND = 2 };

/* The number of rounds begun.  Relaxed: a number alone, exact once the workers are parked. */
static uint64_t started(const rounds *r)
{
    return atomic_load_explicit(&r->begun, memory_order_relaxed) / ROUND;
}

static drove_status init(drove_source *s, const drove_source_options *opt)
{
    rounds *r = s->impl = drove__alloc(1, sizeof *r);
    if (r == NULL) return drove__fail_nomem("a source of batches", sizeof *r);
    s->width = opt->n_workers;
    const drove_exchange_pattern *pattern =
        opt->sync != NULL ? opt->sync->ops->exchange_pattern : NULL;
    r->goes_alone =
        pattern != NULL && pattern[0].order == DROVE_EXCHANGE_ARRIVAL && !opt->is_windowed;
    r->at = drove__alloc(opt->n_workers, sizeof *r->at);
    r->behind = drove__alloc(opt->n_workers, sizeof *r->behind);
    if (r->at == NULL || r->behind == NULL)
        return drove__fail_nomem("a source of batches", sizeof *r->at);
    return DROVE_OK;
}

static void fini(drove_source *s)
{
    rounds *r = s->impl;
    if (r == NULL) return;
    drove__free(r->at);
    drove__free(r->behind);
    drove__free(r);
}

static void open(drove_source *s, uint64_t limit, uint64_t most_updates)
{
    rounds *r = s->impl;
    (void)most_updates;
    r->limit = (limit + s->width - 1) / s->width * s->width;
    r->first = atomic_load(&s->next) / s->width;
    /* Relaxed: starting the workers orders it. */
    atomic_store_explicit(&r->begun, r->first * ROUND, memory_order_relaxed);
    for (unsigned i = 0; i < s->n_workers; i++) {
        if (!r->has_cursors || r->at[i].round > r->first) r->at[i].round = r->first;
    }
    r->has_cursors = r->goes_alone;
}

static void halt(drove_source *s)
{
    /* Relaxed, here and below: the word itself decides, and passes nothing on. */
    atomic_fetch_or_explicit(&((rounds *)s->impl)->begun, HALTED, memory_order_relaxed);
}

/* May the worker's next round be taken?  One that nobody has begun begins with it. */
static bool begin(rounds *r, uint64_t round)
{
    uint64_t begun = atomic_load_explicit(&r->begun, memory_order_relaxed);
    const bool is_behind = round < r->first; /* nobody waits for it */
    do {
        const bool is_halted = begun % ROUND == HALTED;
        if (round < begun / ROUND) return !(is_behind && is_halted);
        if (is_halted) return false;
    } while (!atomic_compare_exchange_weak_explicit(&r->begun, &begun, (round + 1) * ROUND,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static bool next(drove_source *s, unsigned worker, bool waits, drove_task *out)
{
    rounds *r = s->impl;
    cursor *me = &r->at[worker];
    (void)waits;
    const bool is_behind = me->round < r->first;
    if (me->round * s->width >= r->limit || !begin(r, me->round)) return false;
    *out = (drove_task){.number = me->round * s->width + worker, .lr_factor = 1.0};
    me->round++;
    if (!is_behind) atomic_fetch_add(&s->next, 1);
    return true;
}

static void leave(drove_source *s, unsigned worker)
{
    rounds *r = s->impl;
    r->at[worker].is_lost = true;
    r->n_lost++;
}

/* Batches that lost workers should have taken in the rounds that are over count as given out,
 * though nobody has computed them. */
static void settle(drove_source *s)
{
    const rounds *r = s->impl;
    uint64_t reached = started(r) * s->width;
    if (r->n_lost > 0 && atomic_load(&s->next) < reached) atomic_store(&s->next, reached);
}

static uint64_t begun(const drove_source *s, unsigned worker)
{
    const rounds *r = s->impl;
    if (r->has_cursors) return r->at[worker].round * s->width;
    uint64_t next = atomic_load(&s->next), reached = started(r) * s->width;
    return next > reached ? next : reached;
}

static void hear(drove_source *s, unsigned worker, uint64_t begun)
{
    rounds *r = s->impl;
    if (r->has_cursors) r->at[worker].round = begun / s->width;
}

/* ---- who is behind ---- */

/* Below s->next, and below the rounds that open gives out for this limit. */
static uint64_t rounds_behind(const drove_source *s, unsigned worker, uint64_t limit)
{
    const rounds *r = s->impl;
    uint64_t reached = atomic_load(&s->next) / s->width, last = limit / s->width;
    if (last < reached) reached = last + (limit % s->width > 0);
    if (!r->has_cursors || r->at[worker].is_lost || r->at[worker].round >= reached) return 0;
    return reached - r->at[worker].round;
}

static bool has_undone(const drove_source *s, uint64_t limit)
{
    for (unsigned i = 0; i < s->n_workers; i++) {
        if (rounds_behind(s, i, limit) > 0) return true;
    }
    return false;
}

/* Without a worker that is behind a state has nothing of this source. */
static size_t tensors(drove_source *s, drove_tensor *out, size_t most)
{
    rounds *r = s->impl;
    if (most == 0 || !has_undone(s, UINT64_MAX)) return 0;
    for (unsigned i = 0; i < s->n_workers; i++) r->behind[i] = rounds_behind(s, i, UINT64_MAX);
    out[0] = (drove_tensor){.name = "behind",
                            .type = DROVE_T_U64,
                            .rank = 1,
                            .shape = {s->n_workers},
                            .bytes = r->behind};
    return 1;
}

static drove_status restore(drove_source *s, const drove_safetensors *st, bool is_same)
{
    rounds *r = s->impl;
    const void *bytes;
    const uint64_t reached = atomic_load(&s->next) / s->width;
    if (!is_same || !r->goes_alone || drove__safetensors_find(st, "behind") == NULL)
        return DROVE_OK;
    DROVE_TRY(drove__safetensors_want(st, "behind", DROVE_T_U64, s->n_workers, &bytes));
    memcpy(r->behind, bytes, s->n_workers * sizeof *r->behind);
    for (unsigned i = 0; i < s->n_workers; i++)
        r->at[i].round = r->behind[i] < reached ? reached - r->behind[i] : 0;
    r->has_cursors = true;
    return DROVE_OK;
}

static const drove_source_rank_ops ranks = {.begun = begun, .hear = hear};

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
    .has_undone = has_undone,
    .tensors = tensors,
    .restore = restore,
    .ranks = &ranks,
};
