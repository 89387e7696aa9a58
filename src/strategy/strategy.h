/* strategy/strategy.h - how workers share a model: the table that every strategy fills.  No
 * strategy lives here.
 *
 * Every worker runs the same loop (loop/step.c):
 *     acquire -> gradient at the view -> release -> publish
 * A strategy sees a flat vector and a step, never a layer, a batch or an example, and does not know
 * what computes the gradient or where a worker lives.  It is one file in sync/ (or accum/, coord/,
 * elastic/) and one line in config/registry.c.
 *
 * Thread rules: init, fini, peek, tensors and restore are called while all workers are parked, stop
 * by any thread, snapshot by the controlling one at any time; the other slots by worker `worker` on
 * its own thread, at most one at a time per worker.
 */
#ifndef DROVE_STRATEGY_STRATEGY_H
#define DROVE_STRATEGY_STRATEGY_H

#include "base/mem.h"
#include "base/fixed.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "base/spec_keys.h"
#include "base/status.h"
#include "base/topo.h"
#include "base/virtual.h"
#include "optim/optim.h"
#include "trace/spans.h"

#include <stdatomic.h>
#include <stdbool.h>

/* Promises; the stress tests check each one that is claimed (thesis Table 3.2).
 *   SNAPSHOT    a reader never sees half of an update: the table's "consistent"
 *   NO_LOSS     every published step that is not reported dropped is in the parameters
 *   LOCK_FREE   a stopped worker cannot stop the others
 *   REPEATABLE  same bits for the same seed and number of workers, whatever the timing
 *   SEQUENTIAL  one worker gives the same bits as `sequential`, by every rule
 *   ORDERED     a view and a publication say their places in one order (drove_view.order), and any
 *               run that keeps to the order has the same bits
 *
 * Where workers may live is no bit: a row says why they may not (drove_sync_places). */
enum {
    DROVE_SYNC_SNAPSHOT = 1u << 0,
    DROVE_SYNC_NO_LOSS = 1u << 1,
    DROVE_SYNC_LOCK_FREE = 1u << 2,
    DROVE_SYNC_REPEATABLE = 1u << 3,
    DROVE_SYNC_SEQUENTIAL = 1u << 4,
    DROVE_SYNC_ORDERED = 1u << 5,
};

/* Requirements of a strategy, and facts that the runner goes by.
 *   DENSE     gradients must be complete: no spans
 *   ONE       exactly one worker
 *   LIVE      steps of any batch size go straight into the shared parameters; without it `live` is
 *             used for batches of one example only
 *   BACKOFF   may wait by the back-off; drove__sync_create refuses one for any other strategy
 *   TYPED     accepts a layout: parameters that are words, read and written through `live` alone;
 *             with SPREAD each worker has its own, and floats are exchanged (elastic/typed.h)
 *   SPREAD    workers have parameters of their own and exchange through opt->transport alone, so
 *             that they may be threads, processes or ranks
 *   OWN_STATE the rule's state belongs to each worker (--rule-state worker)
 *   MOMENTUM  the rule is momentum
 *   MASTER    a fact: they exchange with a master, the paper's CPU
 *   ELASTIC   a fact: they are drawn to a centre that no gradient moves
 *   RACY        a fact: workers meet in numbered races (docs/inside/memory-model.md)
 *   OWN_VECTOR  a fact: a worker reads a vector of its own or its node's, and `version` counts the
 *             updates in it; SPREAD implies it */
enum {
    DROVE_SYNC_DENSE = 1u << 0,
    DROVE_SYNC_ONE = 1u << 1,
    DROVE_SYNC_LIVE = 1u << 2,
    DROVE_SYNC_BACKOFF = 1u << 3,
    DROVE_SYNC_TYPED = 1u << 4,
    DROVE_SYNC_SPREAD = 1u << 5,
    DROVE_SYNC_OWN_STATE = 1u << 6,
    DROVE_SYNC_MOMENTUM = 1u << 7,
    DROVE_SYNC_MASTER = 1u << 8,
    DROVE_SYNC_ELASTIC = 1u << 9,
    DROVE_SYNC_OWN_VECTOR = 1u << 10,
    DROVE_SYNC_RACY = 1u << 11,
};

typedef struct drove_sync drove_sync;

/* In the place of a place: what others see has not changed. */
#define DROVE_NO_ORDER UINT64_MAX

typedef struct drove_view {
    const float *vector;     /* [n_vector] theta first; valid until release by the same worker */
    uint64_t     version;    /* number of updates published before this view was taken */
    uint64_t     wait_ns;    /* spent waiting for a lock or for others */
    uint64_t     backoff_ns; /* the part of wait_ns spent in back-off */
    /* ORDERED: the view follows all publications whose places are below it, and no other. */
    uint64_t order;
} drove_view;

typedef struct drove_publish_info {
    uint64_t staleness;           /* updates published by others between acquire and publish */
    uint64_t wait_ns, backoff_ns; /* as in drove_view */
    /* Of the call, beside wait_ns: exposed behind the last worker's backward until all gradients
     * were summed; additions before; the update; copying parameters from where it was made. */
    uint64_t exchange_ns, accumulate_ns, update_ns, broadcast_ns;
    /* Of strategies that exchange through a transport: at the centre, of exchange_ns; from start to
     * arrival of exchanges while the worker computed; what was sent; |W - c| before it moved. */
    uint64_t centre_ns, hidden_ns, bytes, messages;
    double   distance;
    /* ORDERED: this publication's place; DROVE_NO_ORDER: it is seen by nobody else yet. */
    uint64_t order;
    /* ORDERED: 1 + the place at which an attempt failed that has changed the step's bits; 0: none
     * has. */
    uint64_t retried;
    uint32_t attempts; /* 1 = first try; more = contention */
    uint8_t  dropped;  /* 1 = gave up, the step is not in the parameters */
    uint8_t  updated;  /* 1 = this call completed an update (softsync, sync: the last) */
    uint8_t  is_early; /* 1 = the publication was made in acquire */
} drove_publish_info;

/* One finished slice of the workers' mean gradient. */
typedef struct drove_sum {
    size_t       offset, length;
    const float *value; /* [optim->n]; this slice may be read until the step's publish */
} drove_sum;

/* Between the words of a layout and the floats that workers exchange. */
typedef struct drove_sync_convert {
    size_t n_floats; /* of the model */
    /* theta[n_floats] of words. */
    void (*unpack)(void *context, const uint32_t *words, float *theta);
    /* And back, rounded as the engine rounds its steps, by the random numbers of this worker and
     * its exchange `number`; worker DROVE_SYNC_SHARED: to the nearest.  Any thread, several at
     * once. */
    void (*pack)(void *context, unsigned worker, uint64_t number, const float *theta,
                 uint32_t *words);
    void *context;
} drove_sync_convert;

/* One copy of the slice at offset between a device and the host, for a strategy's record. */
typedef struct drove_slice_copy {
    size_t   offset;
    bool     is_up; /* a sum, to the device; else a gradient, from it */
    uint64_t iteration, begin_ns, end_ns;
    uint64_t hidden_ns; /* while the device computed */
} drove_slice_copy;

typedef struct drove_sync_options {
    const drove_spec  *spec;    /* "leashed:inf", valid during init only; NULL: the bare name */
    const char        *backoff; /* "exponential?first_us=1&max_us=100"; NULL: "none" */
    unsigned           n_workers;
    const drove_optim *optim; /* borrowed until fini */
    const drove_topo  *topo;  /* borrowed until fini; NULL: plain memory */
    const drove_place *place; /* [n_workers]; NULL: not bound */
    uint64_t           seed;
    /* Number formats of the words; copied.  NULL: floats.  Needs TYPED. */
    const drove_layout *layout;
    /* SPREAD with a layout: copied, its context borrowed until fini.  A transport that is given
     * must hold vectors of n_floats. */
    const drove_sync_convert *convert;
    /* [n_workers] which of them compute on memory of their own, far away: their gradient belongs to
     * the parameters as they were at acquire.  NULL: none. */
    const bool *is_deep;
    /* [n_parts] of theta, ascending, without gaps: what a layer's gradient covers.  NULL: one. */
    const drove_span *part;
    size_t            n_parts;
    /* [n_workers] devices that keep and update parameters of their own (DROVE_ENGINE_RESIDENT); for
     * strategies with slices.  NULL: none. */
    const bool *is_resident;
    /* Where to write down what is done when, a lane for each worker; NULL: nowhere. */
    drove_spans *spans;
    /* SPREAD: borrowed until fini; NULL: init makes one for the threads of this process. */
    struct drove_transport *transport;
    const char *period;      /* steps between two exchanges, or "auto"; NULL: the strategy's own */
    double      rho;         /* pull; 0: eta rho = 0.9 / P */
    bool        by_layer;    /* a message for each part of theta instead of a packed one */
    const char *wire_format; /* communication's number format, "C8s"; NULL: floats */
    bool        is_read_beside; /* places->snapshot will be called */
} drove_sync_options;

/* What a worker and its source's part at rank 0 tell each other. */
enum { DROVE_QUESTION_WORDS = 6 };
typedef struct drove_question {
    uint64_t word[DROVE_QUESTION_WORDS];
} drove_question;
typedef void drove_answer_fn(void *context, unsigned worker, drove_question *question);

/* How the workers of a variant exchange, for simulations on a virtual clock (bench/). */
typedef struct drove_exchange_pattern {
    enum {
        DROVE_EXCHANGE_TURNS,   /* with the centre, one worker after the other, in a fixed order */
        DROVE_EXCHANGE_ARRIVAL, /* with the centre, each when it is ready */
        DROVE_EXCHANGE_ROUNDS   /* all together */
    } order;
    /* What of the exchange goes on while workers compute; BROADCAST: the first half. */
    enum { DROVE_OVERLAP_NONE, DROVE_OVERLAP_BROADCAST, DROVE_OVERLAP_ALL } overlap;
    bool is_all_reduce;   /* ROUNDS: an all-reduce; else a broadcast and a reduction along a tree */
    bool at_master;       /* ROUNDS: the root is the master, which updates after the workers; else
                           worker 0 is, and they do so at the same time */
    bool is_exclusive;    /* ARRIVAL: one update at a time */
    bool has_centre;      /* that an exchange updates */
    bool steps_at_centre; /* the rule's step is the centre's, and workers make none */
} drove_exchange_pattern;

/* ---- concerns that most methods do not have: each a table of its own ---- */

/* Where its workers cannot be, and why: clauses that complete "NAME: "; NULL: they can.  And how
 * their parameters are copied while they run. */
typedef struct drove_sync_places {
    /* Processes of one machine: all that workers share is memory that init got from drove__alloc or
     * drove__sync_vector, locks are of base/lock.h, and waiting is on a futex (base/futex.h), so
     * that a killed worker leaves nothing behind that holds up the others.
     * Ranks of a job: workers share nothing but opt->transport. */
    const char *not_procs, *not_ranks;
    /* Name of the row that shares the parameters in this one's place over ranks, with a bare spec;
     * the batches are still this row's, and its spec is read by their source.  NULL: this one. */
    const char *over_ranks;
    /* On a layout; without TYPED and NULL: it works on gradients, which low-precision steps do not
     * give. */
    const char *not_typed;
    const char *not_virtual; /* on a virtual clock (base/virtual.h) */
    /* Evaluation beside the workers: copies the vector[n_vector] as it is behind some update, with
     * no other half made, while they run; returns how many updates it holds.  By one thread that is
     * none of theirs; a variant with opt->is_read_beside.  NULL: not_beside says why, or what the
     * row needs (drove__sync_not_beside). */
    uint64_t (*snapshot)(drove_sync *s, float *out);
    const char *not_beside;
} drove_sync_places;

/* Steps in place, on parameters that are lent. */
typedef struct drove_sync_live_ops {
    /* Lends the shared parameters for s->most_steps steps in place by this worker (engine.h:
     * steps). */
    drove_params (*begin)(drove_sync *s, unsigned worker);
    /* Counts them, with the mean staleness of one in info, and exchanges with others where it is
     * time.  Errors: DROVE_E_SYSTEM. */
    drove_status (*done)(drove_sync *s, unsigned worker, uint64_t n_steps,
                         drove_publish_info *info);
    /* Of words with the state of the rule behind them: the number, from 1, that the next update of
     * both has; by the worker to whom they are lent.  NULL: floats, or OWN_STATE. */
    uint64_t (*next_step)(drove_sync *s, unsigned worker);
} drove_sync_live_ops;

/* Gradients that are taken slice by slice, without weight decay and limit of the norm: these are
 * the strategy's to apply (accum/, elastic/averaging.c). */
typedef struct drove_sync_slice_ops {
    /* A slice of the gradient value[optim->n] of this worker's step, whose step size is eta, is
     * complete.  The strategy may read and overwrite it until the step's publish has returned.
     * Called for each part once, in any order, between acquire and publish; where it is not called
     * at all, publish takes the whole.  Returns the time in ns that it spent adding. */
    uint64_t (*ready)(drove_sync *s, unsigned worker, size_t offset, size_t length, float *value,
                      float eta);
    /* For a RESIDENT device: the next slice of the mean that it has not been given yet; false: none
     * (waits: the run is being stopped; else: none now).  Adds meanwhile.  Always there in a row;
     * NULL in s->slices alone: devices are not RESIDENT. */
    bool (*next_sum)(drove_sync *s, unsigned worker, bool waits, drove_sum *out);
    /* A RESIDENT device's copies of one step, after its publish.  NULL: not recorded. */
    void (*note_copy)(drove_sync *s, unsigned worker, const drove_slice_copy *copy);
} drove_sync_slice_ops;

/* Workers with parameters of their own. */
typedef struct drove_sync_replica_ops {
    /* For a strategy whose peek changes them: the current vector with the workers in the middle of
     * their steps, none of whom runs (base/virtual.h), and without a change.  Both pointers NULL
     * without memory.  NULL: peek does. */
    drove_params (*look)(drove_sync *s);
    /* This worker's vector[n_vector]; its thread, or parked.  NULL: words. */
    float *(*vector)(drove_sync *s, unsigned worker);
    /* After the workers were parked: what must hold then.  Over ranks: by all of them, so that peek
     * gives the same everywhere.  Errors: DROVE_E_SYSTEM. */
    drove_status (*parked)(drove_sync *s);
    /* For a source whose workers are ranks: takes question->word to the process of rank 0, has
     * s->answer replace them there, and brings them back.  By the worker's thread, between steps.
     * Errors: DROVE_E_SYSTEM: the run stops.  NULL: not offered. */
    drove_status (*ask)(drove_sync *s, unsigned worker, drove_question *question);
} drove_sync_replica_ops;

/* A run that is recorded, or repeated in its order (trace/recording.h). */
typedef struct drove_sync_replay_ops {
    /* In the place of live->done: no step was made with what was lent.  Returns the place of what
     * was done with it all the same (drove_publish_info.order).  NULL: nothing has to be said. */
    uint64_t (*live_end)(drove_sync *s, unsigned worker);
    /* Makes the attempt of this worker's next publication that failed then (retried); a publication
     * follows.  NULL: none changes a step. */
    void (*retry)(drove_sync *s, unsigned worker, const drove_step *step);
} drove_sync_replay_ops;

typedef struct drove_sync_ops {
    const char *name;   /* CLI word, trace label and test name: "leashed" */
    const char *help;   /* one line, with its arguments */
    const char *source; /* "Backstrom et al., IPDPS 2021; thesis Algorithm 3" */
    unsigned    promises, needs;
    /* Specs that the tests walk: {"leashed:0", "leashed:inf", NULL}. */
    const char *const *variants;
    /* Of the spec: drove__sync_create refuses others, init takes the values.  NULL: none. */
    const drove_spec_key *keys;
    /* Start with start->theta[optim->n] followed by zero state, or with start->words[optim->n]
     * (TYPED, with a layout).  Changes s->promises, s->needs, s->live and s->slices where they are
     * not the variant's.  On failure the caller calls fini if s->impl is set; fini must accept what
     * a failed init left behind. */
    drove_status (*init)(drove_sync *s, const drove_sync_options *opt, const drove_params *start);
    void (*fini)(drove_sync *s);
    /* Lend the shared vector for reading. */
    drove_status (*acquire)(drove_sync *s, unsigned worker, drove_view *view);
    /* Ends the lending.  NULL: nothing has to be done. */
    void (*release)(drove_sync *s, unsigned worker);
    /* Add one step to the shared parameters, or say in *info that it was dropped.  Called after
     * release. */
    drove_status (*publish)(drove_sync *s, unsigned worker, const drove_step *step,
                            drove_publish_info *info);
    /* The current vector, workers parked; valid until they go on. */
    drove_params (*peek)(drove_sync *s);
    /* Continues from vector->theta or ->words [n_vector], workers parked; then the tensors named
     * below.  s->published has its restored value already: call drove__sync_restore.
     * Errors: DROVE_E_DATA. */
    drove_status (*restore)(drove_sync *s, const drove_params *vector, const drove_safetensors *st);

    /* ---- optional ---- */
    /* Says which batch is next: the name of a row of strategy/source.h.  NULL: "claimed". */
    const char *batches;
    /* Memory [optim->n] for the value of this worker's next step, asked for after acquire and used
     * up by that step's publish, which can then make the new parameters where the value lies.
     * Result NULL: not for this rule.  NULL: not offered.  The caller's own memory always does. */
    float *(*gradient)(drove_sync *s, unsigned worker);
    /* What a resume needs besides the vector and `published`: named tensors over live memory.
     * NULL: nothing. */
    size_t (*tensors)(drove_sync *s, drove_tensor *out, size_t most);
    /* Wakes every waiting worker; acquire and publish return DROVE_E_SYSTEM from then on.
     * NULL: nobody ever waits for another worker to make a step. */
    void (*stop)(drove_sync *s);
    /* This worker will never come back; by any thread but its own.  NULL: the run cannot go on. */
    void (*leave)(drove_sync *s, unsigned worker);
    const drove_sync_places      *places;   /* NULL: its workers may be anywhere */
    const drove_sync_live_ops    *live;     /* NULL: every step is published */
    const drove_sync_slice_ops   *slices;   /* NULL: gradients are published whole */
    const drove_sync_replica_ops *replicas; /* NULL: the parameters are shared */
    const drove_sync_replay_ops  *replay;   /* NULL: what a record has says it all */
    /* One for each of `variants`; NULL: they do not exchange by messages. */
    const drove_exchange_pattern *exchange_pattern;
} drove_sync_ops;

/* ---- back-off: waiting after a failed attempt (thesis Algorithm 4, section 3.5) ---- */

typedef enum drove_backoff_kind {
    DROVE_BACKOFF_NONE,
    DROVE_BACKOFF_LINEAR,
    DROVE_BACKOFF_EXPONENTIAL,
    DROVE_BACKOFF_RANDOM
} drove_backoff_kind;

typedef struct drove_backoff { /* one per worker, cache line padded */
    drove_backoff_kind kind;
    double             first_us, step_us, max_us;
    double             next_us; /* 0 = the first wait of this acquisition is still to be drawn */
    drove_rng          rng;
} DROVE_ALIGNED_CACHE_LINE drove_backoff;

/* Errors: DROVE_E_ARG (unknown name or key, a value out of range), DROVE_E_NOMEM. */
drove_status drove__backoff_init(drove_backoff *b, const char *spec, uint64_t seed,
                                 unsigned worker);
void         drove__backoff_begin(drove_backoff *b); /* a new acquisition or publication starts */
uint64_t     drove__backoff_wait(drove_backoff *b);  /* waits once; returns ns waited */

typedef struct drove_named {
    const char           *name, *help, *source;
    const drove_spec_key *keys; /* of its spec; NULL: none */
} drove_named;
extern const drove_named drove__backoffs[]; /* ends with name NULL */

/* ---- the common part of every strategy (strategy/strategy.c) ---- */

typedef struct drove_sync_worker { /* one per worker, cache line padded */
    drove_backoff backoff;
    uint64_t      version; /* of the view in hand */
    float        *copy; /* [n_vector] private copy of the vector; NULL unless the strategy copies */
    void         *own;  /* the strategy's own */
    /* Of a run that is repeated: this worker's next publication stays unseen, as it did then; and
     * its staleness was this one. */
    bool     stays, is_repeated;
    uint64_t staleness;
} DROVE_ALIGNED_CACHE_LINE drove_sync_worker;

struct drove_sync {
    const drove_sync_ops *ops;
    unsigned              n_workers;
    unsigned promises, needs; /* of this variant: the row's, unless init says otherwise ... */
    const drove_sync_live_ops  *live;      /* ... and this ... */
    const drove_sync_slice_ops *slices;    /* ... and this */
    unsigned           batches_per_update; /* 1, unless init says otherwise: sync T, n-softsync n */
    const drove_optim *optim;
    const drove_topo  *topo;
    const drove_place *place;
    size_t             n_vector;
    uint64_t     most_steps;   /* between live->begin and ->done; no limit unless init says so */
    drove_layout layout;       /* of the vector's first optim->n words */
    drove_sync_worker *worker; /* [n_workers] */
    void              *impl;   /* the strategy's own */
    /* Of the source's part at rank 0, which sets it before the workers run; NULL elsewhere.  Called
     * by a thread of that process, one at a time. */
    drove_answer_fn           *answer;
    void                      *answer_context;
    _Atomic uint64_t published DROVE_ALIGNED_CACHE_LINE; /* updates in the parameters */
    _Atomic int                stopping;
    /* Writes of low-precision parameters that the strategy itself has saturated; who reads it while
     * all workers are parked sets it to 0. */
    uint64_t             n_clamped;
    struct drove_serial *serial; /* serialised.h; NULL: it is not */
};

/* Creates s, its workers and back-offs, then calls ops->init.  After it read s->ops, s->promises,
 * s->needs, s->live and s->slices, not `ops`: a variant may differ.
 * Errors: DROVE_E_ARG, DROVE_E_NOMEM, those of init. */
drove_status drove__sync_create(const drove_sync_ops *ops, const drove_sync_options *opt,
                                const drove_params *start, drove_sync **out);
void         drove__sync_destroy(drove_sync *s); /* NULL accepted */

/* Where its workers cannot be; for every row. */
const drove_sync_places *drove__sync_places(const drove_sync_ops *ops);

/* For the rows whose workers step on one vector that they all see: no ranks. */
extern const drove_sync_places drove__sync_one_vector;

/* Why its parameters cannot be copied while its workers run: a clause; NULL: they can. */
const char *drove__sync_not_beside(const drove_sync_ops *ops);

/* Why the row accepts no layout: a clause; NULL: it does. */
const char *drove__sync_not_typed(const drove_sync_ops *ops);

/* Continues a saved run: workers parked, `published` updates are in vector[n_vector].
 * Errors: those of ops->restore. */
drove_status drove__sync_restore(drove_sync *s, uint64_t published, const drove_params *vector,
                                 const drove_safetensors *st);

/* After the workers were parked: what must hold then. */
static inline drove_status drove__sync_parked(drove_sync *s)
{
    const drove_sync_replica_ops *r = s->ops->replicas;
    return r != NULL && r->parked != NULL ? r->parked(s) : DROVE_OK;
}

/* The current vector, workers parked or, on a virtual clock, in the middle of their steps. */
static inline drove_params drove__sync_now(drove_sync *s)
{
    const drove_sync_replica_ops *r = s->ops->replicas;
    return drove__actor != NULL && r != NULL && r->look != NULL ? r->look(s) : s->ops->peek(s);
}

/* Ends the lending of a view. */
static inline void drove__sync_release(drove_sync *s, unsigned worker)
{
    if (s->ops->release != NULL) s->ops->release(s, worker);
}

/* Zeroed vector memory [n_vector] placed by policy: near worker's node, or (DROVE_SYNC_SHARED)
 * interleaved; NULL without memory. */
#define DROVE_SYNC_SHARED (~0u)
float *drove__sync_vector(const drove_sync *s, unsigned worker);
void   drove__sync_vector_free(const drove_sync *s, float *vector);

/* For inits: such a vector of floats that holds theta0[optim->n] and zero state. */
float *drove__sync_first_vector(const drove_sync *s, unsigned worker, const float *theta0);
/* The same in the number format of start; both pointers NULL without memory. */
drove_params drove__sync_first_params(const drove_sync *s, unsigned worker,
                                      const drove_params *start);
void         drove__sync_params_free(const drove_sync *s, drove_params *params);

/* For copies that need not know the number format. */
static inline void *drove__params_bytes(const drove_params *p)
{
    return p->theta != NULL ? (void *)p->theta : (void *)p->words;
}
/* For inits: gives every worker its `copy`; drove__sync_destroy frees them.
 * Errors: DROVE_E_NOMEM. */
drove_status drove__sync_copies(drove_sync *s);
/* For inits: the error of memory that was not there. */
drove_status drove__sync_no_memory(const drove_sync *s);

#endif
