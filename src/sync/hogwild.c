/* sync/hogwild.c - HOGWILD!: everyone reads and writes one vector at once, without any protection.
 *
 * Source: Niu et al., NIPS 2011; thesis section 3.1 (Algorithm 2 without its locks).  Three ways to
 * read:
 *   hogwild        the view is the shared vector itself, read while others write (races R1, R2)
 *   hogwild:copy   each step works on a private copy, itself made while others write (R3): the
 *                  thesis's reading.  A dense step makes the next one's copy as it is published
 *   hogwild:live   steps of any batch size are put straight into the shared parameters, element by
 *                  element, while the gradient is being computed (R4); plain SGD only
 * Low-precision parameters are changed in place by steps of any batch size (R8).
 * The numbers are those of docs/inside/memory-model.md.  An update may be lost where two workers
 * write one element at once.
 *
 * Staleness comes from the counter of begun updates, the only ordered thing here.
 */
#include "strategy/shared.h"
#include "sync/sync.h"

#include <string.h>

typedef struct settings {
    enum { SHARED, COPY, LIVE } mode;
} settings;

static const char *const modes[] = {[SHARED] = "", [COPY] = "copy", [LIVE] = "live", NULL};
static const drove_spec_key keys[] = {
    {"MODE", "", DROVE_AS_WORD(settings, mode, modes), .is_argument = true,
     .help = "read a copy, or write each product as it is computed (sgd)"},
    DROVE_SPEC_END,
};

typedef struct copier { /* a worker's; others change it only while it is parked */
    bool has_copied;    /* its copy is that of its last publication */
} DROVE_ALIGNED_CACHE_LINE copier;

typedef struct hogwild_impl {
    drove_params shared; /* of floats or words */
    copier *copier;      /* [n_workers]; NULL unless copies are made */
} hogwild_impl;

static drove_status init(drove_sync *s, const drove_sync_options *opt, const drove_params *start)
{
    settings set;
    DROVE_TRY(drove__spec_take(opt->spec, keys, &set));
    const bool copy = set.mode == COPY, live = set.mode == LIVE;
    if (live && !s->optim->fusable)
        return drove__fail(DROVE_E_ARG,
                           "hogwild:live writes while it computes: expected --rule sgd "
                           "without --weight-decay, --clip and a --schedule by "
                           "staleness, found another step");
    hogwild_impl *p = drove__alloc(1, sizeof *p);
    if (p == NULL) return drove__sync_no_memory(s);
    s->impl = p;
    p->shared = drove__sync_first_params(s, DROVE_SYNC_SHARED, start);
    if (drove__params_bytes(&p->shared) == NULL) return drove__sync_no_memory(s);
    if (copy && opt->layout != NULL)
        return drove__fail(DROVE_E_ARG, "hogwild:copy: expected parameters that are floats, found "
                                        "low-precision ones, which are changed in place");
    if (live) s->needs |= DROVE_SYNC_LIVE;
    if (!copy) return DROVE_OK;
    s->needs &= ~(unsigned)DROVE_SYNC_TYPED;
    s->live = NULL;
    p->copier = drove__alloc(s->n_workers, sizeof *p->copier);
    if (p->copier == NULL) return drove__sync_no_memory(s);
    return drove__sync_copies(s);
}

static void fini(drove_sync *s)
{
    hogwild_impl *p = s->impl;
    if (p == NULL) return;
    drove__sync_params_free(s, &p->shared);
    drove__free(p->copier);
    drove__free(p);
}

static drove_params shared(const drove_sync *s)
{
    return ((const hogwild_impl *)s->impl)->shared;
}

/* Takes the shared vector, or (a worker with a copy) copies it as it is being written, unless its
 * last publication has. */
static drove_status acquire(drove_sync *s, unsigned worker, drove_view *view)
{
    drove_sync_worker *me = &s->worker[worker];
    const copier *c = ((const hogwild_impl *)s->impl)->copier;
    if (c == NULL || !c[worker].has_copied) {
        /* Relaxed here and below: the count says how many and orders nothing, as nothing here is.
         */
        me->version = atomic_load_explicit(&s->published, memory_order_relaxed);
        if (me->copy != NULL) drove__sync_copy_from(s, shared(s).theta, me->copy);
    }
    *view = (drove_view){.vector = me->copy != NULL ? me->copy : shared(s).theta,
                         .version = me->version};
    return DROVE_OK;
}

/* Takes the next n numbers of updates; returns how many came before them.  The updates that
 * others published meanwhile are spread over the n. */
static uint64_t count_updates(drove_sync *s, unsigned worker, uint64_t n, drove_publish_info *info)
{
    uint64_t before = atomic_fetch_add_explicit(&s->published, n, memory_order_relaxed);
    *info = (drove_publish_info){.staleness = (before - s->worker[worker].version + n / 2) / n,
                                 .attempts = 1,
                                 .updated = 1};
    return before;
}

static drove_status publish(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info)
{
    copier *c = ((hogwild_impl *)s->impl)->copier;
    uint64_t before = count_updates(s, worker, 1, info), t = before + 1;
    if (c == NULL) {
        drove__sync_apply_from(s, step, worker, s->n_workers, info->staleness, t, shared(s).theta);
        return DROVE_OK;
    }
    c[worker].has_copied =
        drove__sync_apply_and_copy(s, step, worker, s->n_workers, info->staleness, t,
                                   shared(s).theta, s->worker[worker].copy);
    s->worker[worker].version = t;
    return DROVE_OK;
}

static drove_params live_begin(drove_sync *s, unsigned worker)
{
    s->worker[worker].version = atomic_load_explicit(&s->published, memory_order_relaxed);
    return shared(s);
}

static drove_status live_done(drove_sync *s, unsigned worker, uint64_t n_steps,
                              drove_publish_info *info)
{
    (void)count_updates(s, worker, n_steps, info);
    return DROVE_OK;
}

static uint64_t next_step(drove_sync *s, unsigned worker)
{
    (void)worker;
    return atomic_load_explicit(&s->published, memory_order_relaxed) + 1;
}

static drove_params peek(drove_sync *s)
{
    return shared(s);
}

static drove_status restore(drove_sync *s, const drove_params *vector, const drove_safetensors *st)
{
    hogwild_impl *p = s->impl;
    (void)st;
    memcpy(drove__params_bytes(&p->shared), drove__params_bytes(vector),
           s->n_vector * sizeof(float));
    for (unsigned w = 0; p->copier != NULL && w < s->n_workers; w++)
        p->copier[w].has_copied = false;
    return DROVE_OK;
}

/* Its last write is there in part, as anybody's is while it writes. */
static void leave(drove_sync *s, unsigned worker)
{
    (void)s;
    (void)worker;
}

static const char *const variants[] = {"hogwild", "hogwild:copy", "hogwild:live", NULL};

static const drove_sync_live_ops live = {.begin = live_begin,
                                         .done = live_done,
                                         .next_step = next_step};

const drove_sync_ops drove__sync_hogwild = {
    .name = "hogwild",
    .help = "no protection: all read and write the shared vector in place",
    .source = "Niu et al., NIPS 2011; thesis section 3.1",
    .promises = DROVE_SYNC_LOCK_FREE | DROVE_SYNC_SEQUENTIAL,
    .needs = DROVE_SYNC_TYPED | DROVE_SYNC_RACY,
    .variants = variants,
    .keys = keys,
    .init = init,
    .fini = fini,
    .acquire = acquire,
    .publish = publish,
    .peek = peek,
    .restore = restore,
    .leave = leave,
    .places = &drove__sync_one_vector,
    .live = &live,
};
