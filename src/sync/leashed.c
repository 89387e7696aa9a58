/* sync/leashed.c - Leashed-SGD: immutable vectors, replaced as a whole by compare-and-swap.
 *
 * Source: Backstrom et al., IPDPS 2021; thesis Algorithm 3, made safe (docs/inside/memory-model.md,
 * "Leashed-SGD", has the proof; tests/spin/leashed.pml is this file as a model).
 *
 * A pool of 3 T + 1 vectors ("slots") lives as long as the run.  One 64-bit word, `latest` (the
 * paper's P), names the current slot and, above it, its tag: the number of updates that it holds.
 * Tags never repeat, so equal words mean that nothing was published in between.  Each slot has one
 * word: IN_USE (a writer owns it, or it is current) plus READER for everyone who reads it.
 *
 *   protect   load latest; slot += READER; load latest again: unchanged -> the slot is protected,
 *             else undo and retry
 *   claim     a slot whose word is 0 becomes IN_USE by compare-and-swap: nobody reads it, nobody
 *             else owns it
 *   publish   claim; repeat { protect latest; new = rule(latest, step); CAS latest to
 *             {tag + 1, new}; unprotect }.  Success: the old slot loses IN_USE; a failed attempt
 *             beyond the persistence bound gives the claim back
 *
 * Safety: a slot is written by its owner between claim and CAS only.  While a slot is current it is
 * IN_USE, and while someone protects it its word is not 0: no claim succeeds in either case.  A
 * reader that was late sees that latest has changed, undoes its count and never touches the
 * vector.  Counts are only added and subtracted, never set.
 *
 * A worker may compute its gradient right in the slot that it will publish (`gradient`): an
 * uncontended publication then moves no more memory than an update in place.  If the swap fails,
 * the step is the difference to what it was added to, and goes through a second slot from there.
 *
 * Pool: a worker holds at most three slots at a time (a view or the latest, its own, a kept step),
 * so with the current one the others leave at least two free at every moment.  A thread that copies
 * the parameters beside the workers (snapshot) holds one, and the pool has one more for it.
 *
 * Progress: an attempt fails only because another worker published; a pass over the pool finds no
 * free slot only because others claimed or published meanwhile.  A worker that is killed leaves its
 * slots in use for good: the others' 3 (T - 1) + 1 are what they need.
 */
#include "sync/leashed.h"

#include "base/relax.h"
#include "base/cost.h"
#include "sync/sync.h"

#include <assert.h>
#include <string.h>

enum { SLOTS_PER_WORKER = 3 };
#define SLOT_BITS  16u
#define MOST_SLOTS (1u << SLOT_BITS)
/* 2^48 updates: nine years at a million a second. */
#define TAG_MASK ((UINT64_C(1) << (64 - SLOT_BITS)) - 1)
#define READER   UINT64_C(2)
#define IN_USE   UINT64_C(1)
#define FOREVER  UINT64_MAX

typedef struct leashed_slot {
    _Atomic uint64_t word; /* IN_USE + READER * number of readers */
    float *vector;         /* [n_vector]; written by the owner, read under protection */
} DROVE_ALIGNED_CACHE_LINE leashed_slot;

typedef struct publication {
    drove_step step;
    unsigned own;  /* slot that is to become current */
    unsigned kept; /* slot in which the step is kept between attempts ... */
    bool has_kept; /* ... if there is one */
    bool in_place; /* the step's value lies in `own`, and is overwritten by the first attempt */
    drove_publish_info info;
} publication;

typedef struct leashed_worker { /* its worker's alone */
    uint64_t view;              /* the word of the view in hand */
    uint64_t most_passes;
    unsigned lent;     /* the slot whose vector `gradient` has lent ... */
    bool has_lent;     /* ... until the next publish */
    bool has_tried;    /* retry has made the first attempt of ... */
    publication tried; /* ... this one */
} DROVE_ALIGNED_CACHE_LINE leashed_worker;

typedef struct leashed_impl {
    /* [n_slots]; 0 is the first vector, 1 + 3 w ... 3 + 3 w near worker w; one more: a reader's */
    leashed_slot *slot;
    leashed_worker *worker; /* [n_workers] */
    unsigned n_slots;
    uint64_t persistence; /* T_p: retries after the first attempt; FOREVER = no bound */
    _Atomic uint64_t latest DROVE_ALIGNED_CACHE_LINE; /* tag << SLOT_BITS | slot */
} leashed_impl;

static uint64_t word_of(uint64_t tag, unsigned slot)
{
    return (tag & TAG_MASK) << SLOT_BITS | slot;
}

static uint64_t tag_of(uint64_t word)
{
    return word >> SLOT_BITS;
}

static leashed_slot *slot_of(leashed_impl *p, uint64_t word)
{
    return &p->slot[word & (MOST_SLOTS - 1)];
}

/* Attempts are counted in 32 bits. */
static const drove_spec_key keys[] = {
    {"PERSISTENCE", "inf", DROVE_AS_COUNT(leashed_impl, persistence, 0, UINT32_MAX - 1),
     .word = "inf", .is_argument = true, .help = "retries of a step before it is dropped"},
    DROVE_SPEC_END,
};

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    const unsigned n_others = opt->is_read_beside ? 2 : 1; /* the current one; a reader's */
    if (s->n_workers > (MOST_SLOTS - n_others) / SLOTS_PER_WORKER)
        return drove__fail(DROVE_E_ARG, "leashed: expected at most %u workers, found %u",
                           (MOST_SLOTS - n_others) / SLOTS_PER_WORKER, s->n_workers);
    leashed_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p;
    p->persistence = FOREVER;
    DROVE_TRY(drove__spec_take(opt->spec, keys, p));
    p->n_slots = SLOTS_PER_WORKER * s->n_workers + n_others;
    p->worker = drove__alloc(s->n_workers, sizeof *p->worker);
    p->slot = drove__alloc(p->n_slots, sizeof *p->slot);
    if (p->worker == NULL || p->slot == NULL) return drove__sync_no_memory(s);
    for (unsigned i = 0; i < p->n_slots; i++) {
        const bool is_owned = i > 0 && i <= SLOTS_PER_WORKER * s->n_workers;
        unsigned near = is_owned ? (i - 1) / SLOTS_PER_WORKER : DROVE_SYNC_SHARED;
        p->slot[i].vector =
            i == 0 ? drove__sync_first_vector(s, near, start->theta) : drove__sync_vector(s, near);
        if (p->slot[i].vector == NULL) return drove__sync_no_memory(s);
        atomic_init(&p->slot[i].word, i == 0 ? IN_USE : 0);
    }
    atomic_init(&p->latest, word_of(0, 0));
    return DROVE_OK;
}

static void fini(drove_sync *s)
{
    leashed_impl *p = s->impl;
    for (unsigned i = 0; p->slot != NULL && i < p->n_slots; i++)
        drove__sync_vector_free(s, p->slot[i].vector);
    drove__free(p->slot);
    drove__free(p->worker);
    drove__free(p);
}

/* Ends the protection of a slot.  Release: this worker's reads end before; pairs with the acquire
 * in try_claim. */
static void unprotect(leashed_impl *p, uint64_t word)
{
    atomic_fetch_sub_explicit(&slot_of(p, word)->word, READER, memory_order_release);
}

/* The paper's latest_pointer: the current word, its slot protected.  Goes round only when others
 * have published. */
static uint64_t protect(leashed_impl *p)
{
    /* Acquire: the vector's content; pairs with the release in replace_latest. */
    uint64_t word = atomic_load_explicit(&p->latest, memory_order_acquire);
    for (;;) {
        /* Acquire: if a writer has claimed the slot, what it saw before (the change of latest) is
         * seen by the load below; pairs with the release in try_claim. */
        atomic_fetch_add_explicit(&slot_of(p, word)->word, READER, memory_order_acquire);
        uint64_t now = atomic_load_explicit(&p->latest, memory_order_acquire);
        if (now == word) return word;
        unprotect(p, word);
        word = now;
    }
}

/* Acquire: all reads of former readers and the retirement of the slot; pairs with the releases in
 * unprotect and retire.  Release: passes those on to late readers; pairs with protect. */
static bool try_claim(leashed_slot *slot)
{
    uint64_t unused = 0;
    if (atomic_load_explicit(&slot->word, memory_order_relaxed) != 0)
        return false; /* spare the line a write */
    return atomic_compare_exchange_strong_explicit(&slot->word, &unused, IN_USE,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

/* A slot nobody uses, now owned by this worker; its own three first. */
static unsigned claim(leashed_impl *p, unsigned worker)
{
    unsigned first = 1 + SLOTS_PER_WORKER * worker;
    for (uint64_t passes = 1;; passes++) {
        if (passes > p->worker[worker].most_passes) p->worker[worker].most_passes = passes;
        for (unsigned i = 0; i < p->n_slots; i++) {
            unsigned slot = first + i < p->n_slots ? first + i : first + i - p->n_slots;
            if (try_claim(&p->slot[slot])) return slot;
        }
        drove__relax();
    }
}

/* A slot that is no longer current, or never became so, loses its owner.  Release: pairs with
 * try_claim. */
static void retire(leashed_slot *slot)
{
    atomic_fetch_sub_explicit(&slot->word, IN_USE, memory_order_release);
}

/* Release: the new vector's content; pairs with the acquires in protect. */
static bool replace_latest(leashed_impl *p, uint64_t from, uint64_t to)
{
    drove__spend_line(&p->latest);
    return atomic_compare_exchange_strong_explicit(&p->latest, &from, to, memory_order_release,
                                                   memory_order_relaxed);
}

static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    leashed_impl *p = s->impl;
    uint64_t word = protect(p);
    p->worker[worker].view = word;
    s->worker[worker].version = tag_of(word);
    *view = (drove_view){.vector = slot_of(p, word)->vector,
                         .version = tag_of(word),
                         .order = tag_of(word)};
    return DROVE_OK;
}

static void release(drove_sync *s, unsigned worker)
{
    leashed_impl *p = s->impl;
    unprotect(p, p->worker[worker].view);
}

/* Only where a step is added and nothing else, so that it can be had back from the sum. */
static float *gradient(drove_sync *s, unsigned worker)
{
    leashed_impl *p = s->impl;
    leashed_worker *me = &p->worker[worker];
    if (s->n_vector != s->optim->n || s->optim->by_staleness) return NULL;
    if (!me->has_lent) me->lent = claim(p, worker);
    me->has_lent = true;
    return p->slot[me->lent].vector;
}

/* A failed attempt in place has left old + step in `own`: makes the step of it, for attempts into
 * another slot.  Exact up to the rounding that the sum has had. */
static void keep_step(drove_sync *s, publication *pub, const float *old)
{
    float *sum = ((leashed_impl *)s->impl)->slot[pub->own].vector;
    s->optim->kernels->axpy_f32(sum, old, s->optim->n, -1.0f);
    drove__spend_update(s->optim->n, 0.0);                /* the attempt has just had both */
    pub->step = (drove_step){.value = sum, .eta = -1.0f}; /* "in - eta value" adds it */
    pub->kept = pub->own;
    pub->has_kept = true;
    pub->in_place = false;
}

/* One attempt; true: published. */
static bool attempt(drove_sync *s, unsigned worker, publication *pub)
{
    leashed_impl *p = s->impl;
    uint64_t word = protect(p);
    leashed_slot *old = slot_of(p, word);
    uint64_t t = tag_of(word) + 1;
    pub->info.staleness = tag_of(word) - s->worker[worker].version;
    pub->info.attempts++;
    drove__optim_apply(s->optim, &pub->step, pub->info.staleness, t, 0, s->optim->n, old->vector,
                       p->slot[pub->own].vector);
    bool published = replace_latest(p, word, word_of(t, pub->own));
    if (published) retire(old);
    else pub->info.dropped = pub->info.attempts > p->persistence; /* T_p + 1 have failed */
    bool keep = !published && !pub->info.dropped && pub->in_place;
    if (published) pub->info.order = t - 1;
    if (keep) pub->info.retried = t;
    if (keep) keep_step(s, pub, old->vector);
    unprotect(p, word); /* not before the swap: what was read is unchanged until then */
    if (keep) pub->own = claim(p, worker);
    return published;
}

static publication begin(drove_sync *s, unsigned worker, const drove_step *step)
{
    leashed_impl *p = s->impl;
    leashed_worker *me = &p->worker[worker];
    publication pub = {.step = *step, .own = me->has_lent ? me->lent : claim(p, worker)};
    pub.in_place = step->value == p->slot[pub.own].vector;
    me->has_lent = false;
    return pub;
}

/* The sum that the failed attempt made, and the step that is left of it. */
static void retry(drove_sync *s, unsigned worker, const drove_step *step)
{
    leashed_impl *p = s->impl;
    leashed_worker *me = &p->worker[worker];
    me->tried = begin(s, worker, step);
    me->has_tried = true;
    if (!me->tried.in_place) return;
    uint64_t word = protect(p);
    const float *old = slot_of(p, word)->vector;
    drove__optim_apply(s->optim, &me->tried.step, 0, tag_of(word) + 1, 0, s->optim->n, old,
                       p->slot[me->tried.own].vector);
    keep_step(s, &me->tried, old);
    unprotect(p, word);
    me->tried.own = claim(p, worker);
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    leashed_impl *p = s->impl;
    leashed_worker *me = &p->worker[worker];
    drove_backoff *backoff = &s->worker[worker].backoff;
    publication pub = me->has_tried ? me->tried : begin(s, worker, step);
    me->has_tried = false;
    drove__backoff_begin(backoff);
    while (!attempt(s, worker, &pub) && !pub.info.dropped)
        pub.info.backoff_ns += drove__backoff_wait(backoff);
    if (pub.info.dropped) retire(&p->slot[pub.own]);
    if (pub.has_kept) retire(&p->slot[pub.kept]);
    pub.info.updated = !pub.info.dropped;
    pub.info.wait_ns = pub.info.backoff_ns;
    /* Relaxed: a count for others to look at; the tag is what orders. */
    if (pub.info.updated) atomic_fetch_add_explicit(&s->published, 1, memory_order_relaxed);
    *info = pub.info;
    return DROVE_OK;
}

/* A reader like a worker: its slot is written by nobody until it is unprotected. */
static uint64_t snapshot(drove_sync *s, float *out)
{
    leashed_impl *p = s->impl;
    uint64_t word = protect(p);
    s->optim->kernels->copy_f32(out, slot_of(p, word)->vector, s->n_vector);
    unprotect(p, word);
    return tag_of(word);
}

static drove_params peek(drove_sync *s)
{
    leashed_impl *p = s->impl;
    uint64_t word = atomic_load_explicit(&p->latest, memory_order_acquire);
    return (drove_params){.theta = slot_of(p, word)->vector};
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    leashed_impl *p = s->impl;
    (void)st;
    /* Relaxed: the workers are parked, and starting them orders this before their first step. */
    uint64_t word = atomic_load_explicit(&p->latest, memory_order_relaxed);
    uint64_t published = atomic_load_explicit(&s->published, memory_order_relaxed);
    memcpy(slot_of(p, word)->vector, vector->theta, s->n_vector * sizeof(float));
    atomic_store_explicit(&p->latest, word_of(published, (unsigned)(word & (MOST_SLOTS - 1))),
                          memory_order_relaxed);
    return DROVE_OK;
}

void drove__leashed_pool(const drove_sync *s, drove_leashed_pool *out)
{
    assert(s->ops == &drove__sync_leashed);
    const leashed_impl *p = s->impl;
    *out = (drove_leashed_pool){.n_slots = p->n_slots, .tag = tag_of(atomic_load(&p->latest))};
    for (unsigned i = 0; i < p->n_slots; i++) {
        uint64_t word = atomic_load(&p->slot[i].word);
        out->n_in_use += (word & IN_USE) != 0;
        out->n_read += word >= READER;
    }
    for (unsigned w = 0; w < s->n_workers; w++)
        if (p->worker[w].most_passes > out->most_passes)
            out->most_passes = p->worker[w].most_passes;
}

/* It held at most three slots, which nobody else needs. */
static void leave(drove_sync *s, unsigned worker)
{
    (void)s;
    (void)worker;
}

static const char *const variants[] = {"leashed:0", "leashed:1", "leashed:inf", NULL};

static const drove_sync_replay_ops replay = {.retry = retry};

static const drove_sync_places places = {
    .not_ranks = "its workers step on one vector in shared memory", .snapshot = snapshot};

const drove_sync_ops drove__sync_leashed = {
    .name = "leashed",
    .help = "lock-free, consistent: each update is a new vector, swapped in as a whole",
    .source = "Backstrom et al., IPDPS 2021; thesis Algorithm 3",
    .promises = DROVE_SYNC_SNAPSHOT | DROVE_SYNC_NO_LOSS | DROVE_SYNC_LOCK_FREE |
                DROVE_SYNC_SEQUENTIAL | DROVE_SYNC_ORDERED,
    .needs = DROVE_SYNC_BACKOFF,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .release = release,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .leave = leave,
    .places = &places,
    .gradient = gradient,
    .replay = &replay,
};
