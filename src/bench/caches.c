/* bench/caches.c - sets, ways and a directory. */
#include "bench/caches.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

const drove_caches_options drove__caches_of_the_paper = {
    .n_cores = 18,
    .n_fills = 10,
    .l1 = {512, 8},
    .l2 = {4096, 8},
    .l3 = {737280, 20},
    .l1_cycles = 4,
    .l2_cycles = 12,
    .l3_cycles = 36,
    .transfer_cycles = 36,
    .memory_cycles = 200,
};

typedef enum state { INVALID, SHARED, EXCLUSIVE, MODIFIED } state;

enum { NOBODY = 255 };

/* A line in one cache.  used: 0 = the way is empty. */
typedef struct way {
    uint64_t line, used;
    uint64_t ready;   /* private: the cycle at which it is there */
    uint64_t sharers; /* L3: bit i = core i has a copy */
    uint64_t version; /* private, of the model: writes that the copy has seen */
    uint8_t state;    /* private */
    uint8_t owner;    /* L3: the core in state E or M, or NOBODY */
} way;

typedef struct cache {
    way *way; /* [n_sets][n_ways] */
    uint64_t n_sets;
    uint32_t n_ways;
} cache;

typedef struct core {
    cache l1, l2;
    uint64_t *fill; /* [n_fills] the cycle at which each buffer is free */
    drove_caches_counts n;
} core;

struct drove_caches {
    drove_caches_options opt;
    core core[DROVE_CACHES_MOST_CORES];
    cache l3;
    uint64_t *version; /* [n_model_lines] writes so far */
    uint64_t tick;     /* of the order of uses */
    drove_rng rng;
};

/* ---- one cache ---- */

static drove_status make(cache *c, drove_cache_size size, const char *name)
{
    if (size.n_ways == 0 || size.n_lines == 0 || size.n_lines % size.n_ways != 0)
        return drove__fail(DROVE_E_ARG, "%s: expected whole sets, found %u lines in %u ways", name,
                           size.n_lines, size.n_ways);
    c->n_ways = size.n_ways;
    c->n_sets = size.n_lines / size.n_ways;
    c->way = drove__alloc(size.n_lines, sizeof *c->way);
    return c->way != NULL ? DROVE_OK : drove__fail_nomem(name, size.n_lines * sizeof *c->way);
}

static way *set_of(const cache *c, uint64_t line)
{
    return c->way + line % c->n_sets * c->n_ways;
}

/* NULL: not there. */
static way *find(const cache *c, uint64_t line)
{
    way *set = set_of(c, line);
    for (uint32_t i = 0; i < c->n_ways; i++)
        if (set[i].used != 0 && set[i].line == line) return &set[i];
    return NULL;
}

/* The way that a new line takes. */
static way *victim(const cache *c, uint64_t line)
{
    way *set = set_of(c, line), *oldest = set;
    for (uint32_t i = 1; i < c->n_ways; i++)
        if (set[i].used < oldest->used) oldest = &set[i];
    return oldest;
}

static void drop(const cache *c, uint64_t line)
{
    way *w = find(c, line);
    if (w != NULL) *w = (way){0};
}

/* ---- lines leave ---- */

static void forget(drove_caches *c, unsigned who, uint64_t line)
{
    drop(&c->core[who].l1, line);
    drop(&c->core[who].l2, line);
}

static way *new_in_l2(drove_caches *c, unsigned who, uint64_t line)
{
    way *w = victim(&c->core[who].l2, line);
    if (w->used != 0) { /* the core loses that one; where it had changed it, L3 has the change */
        way *d = find(&c->l3, w->line);
        forget(c, who, w->line);
        if (d != NULL) d->sharers &= ~(UINT64_C(1) << who);
        if (d != NULL && d->owner == who) d->owner = NOBODY;
    }
    *w = (way){.line = line};
    return w;
}

/* ---- coherence ---- */

/* A core writes: the others lose the line, but for the obstinate. */
static void take_from_others(drove_caches *c, unsigned who, way *d)
{
    const uint64_t others = d->sharers & ~(UINT64_C(1) << who);
    if (others != 0) c->core[who].n.transfers++;
    for (unsigned i = 0; i < c->opt.n_cores; i++) {
        if (!(others >> i & 1)) continue;
        if (d->line < c->opt.n_model_lines && c->opt.obstinacy > 0.0 &&
            drove__rng_uniform(&c->rng) < c->opt.obstinacy) {
            find(&c->core[i].l2, d->line)->state = SHARED;
            c->core[i].n.kept++;
            continue;
        }
        forget(c, i, d->line);
        c->core[i].n.taken++;
    }
    d->sharers = UINT64_C(1) << who;
    d->owner = (uint8_t)who;
}

/* ---- an access ---- */

/* Brings the line to a core whose caches do not have it: cycles, and the state it comes with. */
static uint64_t fetch(drove_caches *c, unsigned who, uint64_t line, bool writes, state *as)
{
    core *me = &c->core[who];
    uint64_t cycles = c->opt.l3_cycles;
    way *d = find(&c->l3, line);
    if (d == NULL) {
        cycles += c->opt.memory_cycles;
        d = victim(&c->l3, line);
        for (unsigned i = 0; d->used != 0 && i < c->opt.n_cores; i++)
            if (d->sharers >> i & 1) forget(c, i, d->line);
        *d = (way){.line = line, .owner = NOBODY};
        me->n.memory++;
    } else {
        const bool is_held = d->owner != NOBODY || (writes && d->sharers != 0);
        if (is_held) cycles += c->opt.transfer_cycles;
        me->n.l3++;
    }
    d->used = c->tick;
    if (writes) {
        take_from_others(c, who, d);
        *as = MODIFIED;
        return cycles;
    }
    if (d->owner != NOBODY) {
        /* Another core reads a line that one had to itself. */
        find(&c->core[d->owner].l2, d->line)->state = SHARED;
        d->owner = NOBODY;
        me->n.transfers++;
    }
    *as = d->sharers == 0 ? EXCLUSIVE : SHARED;
    d->sharers |= UINT64_C(1) << who;
    if (*as == EXCLUSIVE) d->owner = (uint8_t)who;
    return cycles;
}

/* A write to a copy in state S.  *came: it was one that L3 does not know of. */
static uint64_t write_shared(drove_caches *c, unsigned who, uint64_t line, bool *came)
{
    state as;
    way *d = find(&c->l3, line);
    *came = d == NULL || (d->sharers >> who & 1) == 0;
    if (*came) return fetch(c, who, line, true, &as);

    /* Now the core has the line to itself. */
    const bool others = (d->sharers & ~(UINT64_C(1) << who)) != 0;
    d->used = c->tick;
    c->core[who].n.l3++;
    take_from_others(c, who, d);
    return c->opt.l3_cycles + (others ? c->opt.transfer_cycles : 0);
}

drove_access_done drove__caches_access(drove_caches *c, unsigned who, uint64_t line,
                                       drove_access kind, uint64_t now)
{
    core *me = &c->core[who];
    const bool writes = kind == DROVE_ACCESS_WRITE;
    drove_access_done done = {.begun = now};
    uint64_t cycles = c->opt.l1_cycles;
    way *near = find(&me->l1, line), *mine = find(&me->l2, line);
    c->tick++;
    me->n.accesses++;
    if (mine == NULL) {
        state as;
        cycles = fetch(c, who, line, writes, &as);
        mine = new_in_l2(c, who, line);
        mine->state = (uint8_t)as;
        done.came = true;
    } else if (writes && mine->state == SHARED) {
        cycles = write_shared(c, who, line, &done.came);
    } else if (near == NULL) {
        cycles = c->opt.l2_cycles;
        me->n.l2++;
    } else {
        me->n.l1++;
    }
    if (near == NULL) {
        near = victim(&me->l1, line); /* what it held stays in L2 */
        *near = (way){.line = line};
    }
    near->used = mine->used = c->tick;
    if (cycles > c->opt.l1_cycles) {
        uint64_t *fill = me->fill; /* the fill buffer that is free first */
        for (unsigned i = 1; i < c->opt.n_fills; i++)
            if (me->fill[i] < *fill) fill = &me->fill[i];
        if (*fill > done.begun) done.begun = *fill;
        *fill = done.begun + cycles;
    }
    done.ready = done.begun + cycles;
    if (done.came) {
        if (line < c->opt.n_model_lines) mine->version = c->version[line];
        mine->ready = done.ready;
    } else if (mine->ready > done.ready) {
        done.ready = mine->ready; /* it is on its way */
    }
    if (writes) {
        mine->state = MODIFIED;
        if (line < c->opt.n_model_lines) mine->version = ++c->version[line];
    } else if (line < c->opt.n_model_lines && mine->version < c->version[line]) {
        me->n.old_reads += kind == DROVE_ACCESS_READ;
    }
    return done;
}

/* ---- what is there ---- */

uint64_t drove__caches_lacks(const drove_caches *c, unsigned who, uint64_t line)
{
    const way *mine = find(&c->core[who].l2, line);
    if (mine == NULL || line >= c->opt.n_model_lines) return 0;
    return c->version[line] - mine->version;
}

char drove__caches_state(const drove_caches *c, unsigned who, uint64_t line)
{
    const way *mine = find(&c->core[who].l2, line);
    return "ISEM"[mine != NULL ? mine->state : INVALID];
}

drove_caches_counts drove__caches_counts(const drove_caches *c, unsigned who)
{
    return c->core[who].n;
}

/* ---- making ---- */

drove_status drove__caches_create(const drove_caches_options *opt, drove_caches **out)
{
    *out = NULL;

    if (opt->n_cores < 1 || opt->n_cores > DROVE_CACHES_MOST_CORES)
        return drove__fail(DROVE_E_ARG, "cores: expected 1 to %d, found %u",
                           DROVE_CACHES_MOST_CORES, opt->n_cores);
    if (opt->n_fills < 1) return drove__fail(DROVE_E_ARG, "expected a fill buffer, found none");
    if (!(opt->obstinacy >= 0.0 && opt->obstinacy <= 1.0))
        return drove__fail(DROVE_E_ARG, "obstinacy: expected 0 to 1, found %g", opt->obstinacy);

    drove_caches *c = calloc(1, sizeof *c);
    if (c == NULL) return drove__fail_nomem("caches", sizeof *c);
    c->opt = *opt;
    drove_status status = make(&c->l3, opt->l3, "L3");
    for (unsigned i = 0; i < opt->n_cores && status == DROVE_OK; i++) {
        if ((status = make(&c->core[i].l1, opt->l1, "L1")) != DROVE_OK) goto fail;
        if ((status = make(&c->core[i].l2, opt->l2, "L2")) != DROVE_OK) goto fail;
        c->core[i].fill = drove__alloc(opt->n_fills, sizeof *c->core[i].fill);
        if (c->core[i].fill == NULL) status = drove__fail_nomem("fill buffers", opt->n_fills);
    }
    if (status != DROVE_OK) goto fail;
    c->version = drove__alloc(opt->n_model_lines + 1, sizeof *c->version);
    if (c->version == NULL) {
        status = drove__fail_nomem("lines of the model", opt->n_model_lines * sizeof *c->version);
        goto fail;
    }
    drove__rng_seed(&c->rng, opt->seed, DROVE_RNG_FAKE, 0);
    *out = c;
    return DROVE_OK;

fail:
    drove__caches_destroy(c);
    return status;
}

void drove__caches_destroy(drove_caches *c)
{
    if (c == NULL) return;
    for (unsigned i = 0; i < c->opt.n_cores; i++) {
        drove__free(c->core[i].l1.way);
        drove__free(c->core[i].l2.way);
        drove__free(c->core[i].fill);
    }
    drove__free(c->l3.way);
    drove__free(c->version);
    free(c);
}
