/* loop/loop.h - what workers share while they train, and what each of them has.
 *
 *   worker.c      a worker from setup to its end: the one loop
 *   step.c        one step: acquire, gradient, release, publish
 *   batches.c     the next batch, loaded ahead where that pays; loader.h: the threads that load
 *   order.h       which examples a batch has
 *   sources.h     who takes which batch
 *   host.h        how workers run and park: threads.c, procs.c
 *   evaluation.h  losses in parts, batch normalisation's statistics, measuring devices
 *
 * The loop asks strategies, engines and sources for promises, capabilities and slots, never for a
 * name.
 *
 * Threads: after setup the controlling thread owns everything here while the workers are parked; a
 * running worker touches its own drove_worker, the source, the strategy, and what is immutable
 * after setup.  With workers that are processes, drove_loop, workers, source and strategy lie in
 * memory that they share (base/mem.h).
 */
#ifndef DROVE_LOOP_LOOP_H
#define DROVE_LOOP_LOOP_H

#include "base/clock.h"
#include "base/virtual.h"
#include "engine/device.h"
#include "engine/engine.h"
#include "loop/loader.h"
#include "loop/order.h"
#include "optim/optim.h"
#include "plan/plan.h"
#include "strategy/source.h"
#include "strategy/strategy.h"
#include "stream/stream.h"
#include "trace/recording.h"
#include "trace/spans.h"
#include "trace/trace.h"

typedef struct drove_loop   drove_loop;
typedef struct drove_worker drove_worker;
typedef struct drove_host   drove_host; /* host.h */

#define DROVE_NO_PART ((size_t)-1)

/* Slices of theta that layers with parameters cover, ascending. */
typedef struct drove_slices {
    size_t      n;
    drove_span *slice;    /* [n] */
    size_t     *of_layer; /* [n_layers] its slice; DROVE_NO_PART: none */
    size_t     *layer;    /* [n] */
} drove_slices;

/* The batch in hand and those ahead: batches.c. */
typedef struct drove_worker_batches {
    uint32_t     *row[2];           /* [max_rows] of the batch in hand and the one ahead */
    drove_loader *loader;           /* NULL: its engine gathers batches itself */
    uint64_t      window;           /* of the stream, of batches ... */
    uint64_t      n_trained;        /* ... that are trained and not yet said to be */
    bool          is_training;      /* the batch in hand is of that window too */
    drove_task    ahead[2];         /* tasks taken from the source before their time */
    unsigned      n_ahead, in_hand; /* of ahead; row[in_hand] is the batch in hand's */
    size_t        staged_rows;      /* examples of ahead[0], staged */
} drove_worker_batches;

/* The rule of parameters that are words: rule.h. */
typedef struct drove_worker_rule {
    drove_engine_rule ops;
    float            *state; /* shared, behind the words that are lent; NULL: its own */
    uint64_t          t;     /* of the next update in these; 0: not found yet */
} drove_worker_rule;

/* Seen by other threads.  heartbeat and is_computing relaxed: no other data depends on them. */
typedef struct drove_worker_health {
    _Atomic uint64_t heartbeat;    /* lets a monitor tell a slow worker from a hung one */
    _Atomic int      is_computing; /* its engine has a batch in hand */
    _Atomic int      is_lost;      /* takes no further part; it still parks */
    _Atomic int      is_silent;    /* its thread is not waited for any more ... */
    _Atomic int      has_ended;    /* ... and came back after all, and is gone */
} drove_worker_health;

typedef struct drove_worker_resident { /* parameters that its device keeps and updates */
    bool is_there;
    bool has_params; /* it was given them */
} drove_worker_resident;

typedef struct drove_worker_modelled { /* loop->on */
    double batch_ns, example_ns;       /* of a gradient on cores */
    /* of low-precision parameters: modelled.h */
    uint32_t   *words;  /* [optim->n_vector] as stepped; state of a rule that is measured */
    uint32_t   *before; /* [optim->n] as they were */
    drovek_bits bits;
} drove_worker_modelled;

typedef struct drove_worker_probe { /* batch sizes by probe.c; 0: not measured */
    bool     is_wanted;
    uint64_t least, most;
} drove_worker_probe;

struct drove_worker {
    drove_loop              *loop;
    unsigned                 index;
    const drove_plan_worker *plan;
    const drove_data        *data;     /* that it trains on: the run's, or own_data */
    drove_data              *own_data; /* a copy near it; NULL: none */
    drove_device            *device;   /* opened; NULL: it computes on cores */
    const drove_engine_ops  *engine_ops;
    drove_engine            *engine; /* made by the worker's own thread, near its memory */
    uint64_t                 timeout_ns;
    drove_worker_resident    resident;
    float                   *grad; /* [n_params]; NULL where the strategy lends one */
    drove_worker_batches     batches;
    drove_optim_worker       optim;
    drove_worker_rule        word_rule;
    drove_order_cursor       cursor;
    drove_trace_worker       trace;
    drove_traffic            traffic;
    drove_engine_times       times; /* of a device, summed */
    drove_worker_modelled    modelled;
    drove_worker_health      health;
    drove_status             status; /* first failure, with its text */
    char                     error[DROVE_ERROR_TEXT_SIZE];
    size_t                   most_rows; /* of one batch */
    drove_worker_probe       probe;
} DROVE_ALIGNED_CACHE_LINE;

/* An evaluation of a copy of the parameters, by the controlling thread, while the workers train.
 * That thread's alone. */
typedef struct drove_beside {
    float   *copy;    /* [sync->n_vector]; NULL: evaluations park the workers */
    bool     is_on;   /* one is going on, of `copy` ... */
    uint64_t updates; /* ... which holds so many */
    /* Called between two chunks. */
    void (*look)(void *context);
    void *context;
} drove_beside;

typedef struct drove_scoring { /* one evaluation in chunks */
    const drove_data *data;
    const float      *theta;
    size_t            n_rows, n_chunks;
    size_t            chunk_rows;    /* examples of a chunk */
    unsigned          first, stride; /* of the chunks that are scored here: over ranks */
    drove_score      *chunk;         /* of all chunks of the largest evaluation */
    drove_beside      beside;
    _Atomic size_t    next;
} drove_scoring;

typedef struct drove_loop_data {
    const drove_data *train;
    const drove_data *sample; /* train, or, of data on disk, examples in memory */
    drove_stream     *stream; /* that train's rows are windows of; NULL: all are in memory */
} drove_loop_data;

typedef struct drove_loop_sizes { /* examples */
    uint64_t batch;               /* --batch */
    size_t   update_rows;         /* of an update */
    size_t   score_rows;          /* of an evaluation's chunk */
} drove_loop_sizes;

typedef struct drove_loop_loading {
    bool          is_wanted; /* batches go through a loader */
    unsigned      n_threads;
    drove_loader *loader; /* of threads; NULL: none, or each process has its own */
} drove_loop_loading;

typedef struct drove_loop_trace {                  /* what is kept of each step */
    drove_phase      acquire_phase, publish_phase; /* exchange, where that is what it is */
    drove_spans     *spans;                        /* time line; NULL: not wanted */
    drove_recording *recording;                    /* NULL: not wanted */
    bool             measures_gradients;           /* their norms are wanted */
} drove_loop_trace;

typedef struct drove_loop_statistics { /* of batch normalisation: population.c */
    float   *theta;                    /* [n_params] with them behind the parameters */
    unsigned worker;                   /* the one that computes them */
} drove_loop_statistics;

typedef struct drove_loop_ending {
    _Atomic int *halt_seen; /* over ranks: all are to stop; NULL: one process */
    _Atomic int *halt_wished;
    _Atomic int  halted;    /* a worker failed */
    _Atomic int  nonfinite; /* a loss or parameters are not finite */
} drove_loop_ending;

struct drove_loop {
    /* constant while the workers train */
    const drove_plan       *plan;
    const drove_clock      *clock;
    drove_virtual          *on; /* the virtual clock that workers keep to; NULL: real time */
    const drove_topo       *topo;
    const drovek_table     *kernels;
    const drove_model      *model;
    const drove_optim      *optim;
    drove_loop_data         data;
    drove_order             order;
    const drove_engine_ops *core_ops; /* engine of workers on cores */
    drove_engine_shared    *shared;   /* TYPED: of all its engines; NULL: floats */
    drove_loop_loading      loading;
    drove_loop_sizes        sizes;
    uint64_t                seed;
    bool                    spans_wanted; /* gradients may leave parts unwritten */
    drove_slices            slices;
    drove_loop_trace        trace;
    /* of all workers together */
    drove_sync           *sync;
    drove_source         *source;
    drove_worker         *worker; /* [plan->n_workers]; only those here have engines */
    drove_host           *host;
    drove_scoring         scoring;
    drove_loop_statistics statistics;
    drove_loop_ending     ending;
};

/* No further batch is begun, or, among ranks, none after the next exchange; by any thread. */
void drove__loop_halt(drove_loop *loop);

/* True if the controlling thread evaluates with the workers in the middle of their steps: on a
 * virtual clock, where none of them runs meanwhile, or a copy. */
static inline bool drove__loop_in_flight(const drove_loop *loop)
{
    return drove__actor != NULL || loop->scoring.beside.is_on;
}

/* The vector to look at: the copy that is being evaluated, or the current one, workers parked or on
 * a virtual clock. */
static inline drove_params drove__loop_now(const drove_loop *loop)
{
    const drove_beside *b = &loop->scoring.beside;
    return b->is_on ? (drove_params){.theta = b->copy} : drove__sync_now(loop->sync);
}

static inline void drove__heartbeat(drove_worker *w)
{
    uint64_t n = atomic_load_explicit(&w->health.heartbeat, memory_order_relaxed);
    atomic_store_explicit(&w->health.heartbeat, n + 1, memory_order_relaxed);
}

/* The status with its text, for the controlling thread; by the worker's thread. */
void drove__worker_keep_error(drove_worker *w, drove_status status);
/* ... which also ends the run. */
void drove__worker_fail(drove_worker *w, drove_status status);
/* A batch whose loss is not finite ends the run: the thesis's "crashed". */
void drove__worker_check_finite(drove_worker *w, double loss);

#endif
