/* engine/engine.h - an engine computes "the gradient of this batch at these parameters".
 *
 * Rows: host (the calling thread, or a team of cores), linear (low precision), accel (OpenCL and
 * CUDA), fake.  One protocol serves them all; abilities that only some have are capabilities
 * (`can`).  How to write one: docs/inside/adding.md.
 *
 * Threads: an engine is used by one thread at a time.  Engines share no mutable state, so any
 * number of them compute at once.
 */
#ifndef DROVE_ENGINE_ENGINE_H
#define DROVE_ENGINE_ENGINE_H

#include "base/fixed.h"
#include "base/rng.h"
#include "data/data.h"
#include "kernel/kernel.h"
#include "model/model.h"

typedef struct drove_engine        drove_engine;
typedef struct drove_engine_shared drove_engine_shared; /* what all engines of one run share */
typedef struct drove_device        drove_device;        /* engine/device.h */

/* The examples of a batch as a pass takes them, and their targets. */
typedef struct drove_loaded {
    drove_input  in;
    drove_target target;
} drove_loaded;

/* A choice of examples; row numbers are those of the view (0 .. data->n_rows-1). */
typedef struct drove_batch {
    const drove_data *data;
    const uint32_t   *row;    /* [n_rows] */
    size_t            n_rows; /* 1 .. max_rows; a device takes more, in pieces */
    uint64_t          number; /* of the batch in its run: the key of its random numbers */
    /* The same examples, loaded for training by another thread: in host memory, as engine/gather.h
     * makes them; a score ignores them.  NULL: the engine loads them. */
    const drove_loaded *loaded;
} drove_batch;

typedef struct drove_gradient {
    float *value;        /* [n_params] caller's; mean over the batch */
    bool   spans_wanted; /* in: spans that are zero may be left unwritten */

    const drove_span *span;    /* out: the spans that were written, ascending; NULL: all */
    size_t            n_spans; /* span is the engine's memory, valid until its next call */

    drove_layer_done_fn *after_layer; /* in: may be NULL */
    void                *context;

    /* in: host, one thread: gets weights' gradients, which are then not in value; NULL: none */
    const drove_taker *taker;
} drove_gradient;

/* A rule that is more than plain SGD, for engines whose parameters are words (RULES): they compute
 * a gradient and write the step, and the rule, its state and whose it is are their caller's.  All
 * calls by the engine's thread, inside `steps`.  step: which of that call's updates, from 0. */
typedef struct drove_engine_rule {
    /* g[n], the gradient of numbers [offset, offset + n) of theta, becomes the step to be added;
     * with shared floats theta[n] (racy) these move by it, and g is used up. */
    void (*step)(void *context, uint64_t step, size_t offset, size_t n, float *theta, float *g,
                 float eta);
    /* Before the steps: scales the whole gradient g[n_params], decay included.  NULL: parts of it
     * may be stepped as soon as they are there. */
    void (*clip)(void *context, float *g);
    /* theta[n] += mu v: the gradient is taken there.  NULL: at the parameters. */
    void (*look_ahead)(void *context, size_t offset, size_t n, float *theta);
    void *context;
} drove_engine_rule;

typedef struct drove_engine_options {
    const drove_model  *model; /* borrowed, as is the table: both outlive the engine */
    const drovek_table *kernels;
    const drove_data   *data;        /* shapes of what will be loaded (scratch for gathering) */
    size_t              max_rows;    /* largest batch that is computed at once */
    size_t              rows;        /* usual number of examples of a batch; 0: max_rows */
    uint64_t            seed;        /* of dropout's masks */
    bool                infers_only; /* no gradient, steps or statistics will be asked for */
    /* TEAM: threads, the caller's included; 0 counts as 1.  bind (may be NULL) is called by each of
     * them but the caller. */
    unsigned n_threads;
    drove_status (*bind)(void *context, unsigned part);
    void                      *bind_context;
    const drove_engine_shared *shared; /* TYPED: made by prepare, borrowed */
    const drove_engine_rule   *rule;   /* RULES: of steps, borrowed; NULL: plain SGD */
    const drove_round         *round;  /* host, one thread: of gradients' passes; NULL: none */
    drove_device              *device; /* engines on a device (engine/device.h): opened, borrowed */
} drove_engine_options;

typedef struct drove_engine_times {   /* of one batch, in ns */
    uint64_t forward_ns, backward_ns; /* the host's; a device has one phase: */
    uint64_t compute_ns;              /* it was computing */
    uint64_t copy_ns;                 /* it was copying, either way */
    uint64_t hidden_ns;               /* of copy_ns: while it was computing */
    uint64_t wait_ns;                 /* the caller was asleep in part or finish */
} drove_engine_times;

/* ---- one batch ---- */

typedef struct drove_device_update {
    float    scale; /* the sum that was given is multiplied by it first: 1 / number of workers */
    float    eta;
    uint64_t t; /* the update's number, from 1 */
} drove_device_update;

/* The input of begin.  The caller keeps all of it but theta, the structs included, until finish has
 * returned. */
typedef struct drove_work {
    const drove_batch *batch;
    /* [n_params] where the gradient is taken; has been read when begin returns.  NULL: at the
     * parameters that the device keeps (RESIDENT). */
    const float *theta;
    /* Host, of gradients: [n_layers] weights to read as words (model.h: drove_pass); may be NULL.
     */
    const uint16_t *const *words;
    /* Receives the mean gradient.  after_layer is called once for each layer, from the last to the
     * first, inside begin, part or finish, as soon as the layer's slice is complete.
     * RESIDENT: the engine sets value to memory of its own, which the caller may overwrite slice by
     * slice once after_layer was called; after_layer may call give.
     * NULL: a score alone, as for evaluation (no dropout, no augmentation, no update). */
    drove_gradient *grad;
    /* Of a score: its predictions, as by predict, from the same pass; [n_rows][n_outputs].  NULL:
     * not wanted.  By the host engine alone. */
    float              *prob;
    drove_device_update update; /* RESIDENT: how finish applies the sums that were given */
} drove_work;

typedef struct drove_work_done { /* results are added to it */
    drove_score        score;
    drove_engine_times times;
} drove_work_done;

/* ---- RESIDENT: devices that keep and update parameters of their own ---- */

/* A rule of optim/rules.c; the device uses the same formulas, state and order. */
typedef struct drove_device_rule {
    const char *name;    /* "sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam" */
    unsigned    n_state; /* vectors [n_params] that follow theta */
    float       mu, beta1, beta2, epsilon;
    float       weight_decay, clip; /* of the mean gradient, in this order; clip 0: none */
} drove_device_rule;

/* One copy of the slice of a gradient or sum at offset. */
typedef struct drove_device_copy {
    size_t   offset;
    bool     is_up;
    uint64_t begin_ns, end_ns; /* of drove__now_ns; late by the time until its end was noticed */
    uint64_t hidden_ns;        /* while the device computed */
} drove_device_copy;
typedef void drove_device_copy_fn(void *context, const drove_device_copy *copy);

/* ---- TYPED: shared parameters in the engine's own number format ---- */

typedef struct drove_prepare_options { /* borrowed until dismiss, except the texts */
    const drove_model  *model;
    const drovek_table *kernels;
    const drove_data   *data;   /* the training set, or a sample of it: then follow comes next */
    size_t              n_rows; /* of the training set; 0: those of data */
    /* [n_params] where training starts; prepare reads it to find a range */
    const float *theta;
    const char  *precision, *rounding;
    double       model_range;       /* largest magnitude of a parameter; 0: from the data */
    double       eta, weight_decay; /* first step size; L2 */
    size_t       each;              /* examples of an update */
    uint64_t     seed;
    bool         by_rule; /* RULES: steps are a rule's, not those of plain SGD */
    bool         reorder; /* the examples may be laid out in an order drawn by the seed */
    bool         hints;   /* software prefetching */
} drove_prepare_options;

typedef struct drove_engine_facts { /* for results */
    char     precision[64];
    double   model_range;           /* 0: floats have none */
    double   data_scale;            /* value of the data's integer 1; 1 for floats */
    uint64_t data_clamped, bridges; /* numbers out of range; sparse gaps that were too large */
    double   bytes_per_example;     /* mean number that a step reads */
} drove_engine_facts;

typedef struct drove_steps {        /* made by one call of steps */
    uint64_t    n_steps, n_clamped; /* updates; writes of parameters that were saturated */
    bool        is_finite;          /* every output was */
    drove_score score;              /* FUSED */
    uint64_t    forward_ns;         /* FUSED: of the time, up to the loss; 0: not known */
} drove_steps;

/* Capabilities beyond begin and finish.  The runner asks for these, never for a name.
 *   FUSED      steps: plain SGD straight into shared floats, without a gradient vector
 *   TYPED      the shared parameters are words in the engine's own number format: the table typed;
 *              steps goes straight into them; there are no gradients
 *   RESIDENT   keeps parameters of its own, takes sums, updates itself: the table resident
 *   TEAM       n_threads of the options may be above 1
 *   STATISTICS batch normalisation's population statistics
 *   RULES      TYPED: steps by any rule of the options, not by plain SGD alone */
enum {
    DROVE_ENGINE_FUSED = 1u << 0,
    DROVE_ENGINE_TYPED = 1u << 1,
    DROVE_ENGINE_RESIDENT = 1u << 2,
    DROVE_ENGINE_TEAM = 1u << 3,
    DROVE_ENGINE_STATISTICS = 1u << 4,
    DROVE_ENGINE_RULES = 1u << 5,
};

/* RESIDENT: a device keeps parameters of its own, takes sums and updates itself.
 *
 *     set_params;  then for each batch:  begin (theta NULL);  part, give ... ;  finish
 *
 * Gradients come down behind each layer's backward and sums go up on a queue of their own, both
 * while backward goes on.  Batches at a caller's theta may come in between, and leave the
 * device's parameters alone.  Further errors: DROVE_E_UNSUPPORTED (a rule it does not have),
 * DROVE_E_NOMEM. */
typedef struct drove_resident_ops {
    /* vector[n_params (1 + n_state)]: theta, then the rule's state; has been read on return. */
    drove_status (*set_params)(drove_engine *e, const drove_device_rule *rule, const float *vector);
    /* The same back, behind every update that was begun. */
    drove_status (*get_params)(drove_engine *e, float *vector);
    /* Begins to copy sum[length] to the slice of the gradient at offset; sum is left alone until
     * finish has returned. */
    drove_status (*give)(drove_engine *e, size_t offset, size_t length, const float *sum);
    /* Calls tell for each slice's copy of the batch that was finished last, down and up.  NULL: not
     * offered. */
    drove_status (*copies)(drove_engine *e, drove_device_copy_fn *tell, void *context);
} drove_resident_ops;

/* TYPED: the shared parameters are words in the engine's own number format. */
typedef struct drove_typed_ops {
    /* Once a run, before any engine is made.  Errors: DROVE_E_ARG, DROVE_E_UNSUPPORTED,
     * DROVE_E_DATA, DROVE_E_SHAPE, DROVE_E_NOMEM. */
    drove_status (*prepare)(const drove_prepare_options *opt, drove_engine_shared **out);
    void (*dismiss)(drove_engine_shared *shared); /* NULL accepted */
    size_t (*n_words)(const drove_engine_shared *shared);
    const drove_layout *(*layout)(const drove_engine_shared *shared);
    /* rng: rounds without bias, where the run does; NULL: to the nearest. */
    void (*pack)(const drove_engine_shared *shared, drove_rng *rng, const float *theta,
                 uint32_t *words);
    void (*unpack)(const drove_engine_shared *shared, const uint32_t *words, float *theta);
    void (*facts)(const drove_engine_shared *shared, drove_engine_facts *out);
    /* Applies the updates that this engine still owes the shared words, before its worker parks. */
    void (*settle)(drove_engine *e, uint32_t *words);
    /* The range that a saved run had found, before any step; ignored by floats.  Errors:
     * DROVE_E_ARG. */
    drove_status (*set_range)(drove_engine_shared *shared, double range);
    /* Rows are numbers of these data from now on: quantised like those of prepare, and other rows
     * whenever no batch of them is computed.  Before any engine is made; the data outlive it. */
    drove_status (*follow)(drove_engine_shared *shared, const drove_data *data);
} drove_typed_ops;

/* The protocol, one batch at a time on the thread that owns the engine:
 *
 *     begin;  while (n_left > 0) part;  finish
 *
 * An engine on the host computes everything in begin.  A device computes while its caller does
 * something else, and part may be left out: finish delivers all slices that part has not.
 *
 * A device computes a batch of more than max_rows examples in pieces and delivers their weighted
 * mean with the last piece (engine/pieces.h); not so at its own parameters (RESIDENT).
 *
 * Errors of begin, part and finish: DROVE_E_SYSTEM, the device is lost; the engine can then only be
 * destroyed.  Silence beyond a time-out is an error of finish alone, so a caller that has looked
 * long enough calls finish.  Of begin: DROVE_E_ARG and DROVE_E_SHAPE (a batch that does not fit the
 * engine), DROVE_E_UNSUPPORTED (a gradient of a TYPED engine, predictions beside a score of any but
 * the host engine), DROVE_E_NOMEM; after these another batch can be begun.  A device also refuses a
 * wrong order of calls (DROVE_E_ARG). */
typedef struct drove_engine_ops {
    const char *name, *help, *source;
    unsigned    can; /* DROVE_ENGINE_* */
    drove_status (*create)(const drove_engine_options *opt, drove_engine **out);
    void (*destroy)(drove_engine *e); /* NULL accepted */

    drove_status (*begin)(drove_engine *e, const drove_work *work);
    /* Waits, at most timeout_ns (0: only looks), until at least one more slice of the gradient has
     * come, and calls after_layer for those that have.  *n_left: layers with parameters whose
     * slices are still to come.  NULL: begin has delivered them all. */
    drove_status (*part)(drove_engine *e, uint64_t timeout_ns, size_t *n_left);
    /* Waits, at most timeout_ns, for the end of the batch, or of each of its pieces; delivers the
     * slices that part has not.  Adds to *done (NULL: not wanted).  RESIDENT: every sum was given;
     * begins work->update. */
    drove_status (*finish)(drove_engine *e, uint64_t timeout_ns, drove_work_done *done);

    /* ---- optional ---- */
    /* Begins to copy the examples of the batch that is expected next, for training; between begin
     * and finish, at most once.  The batch, its rows and its loaded examples may change when stage
     * returns.  NULL: not offered. */
    drove_status (*stage)(drove_engine *e, const drove_batch *next);
    /* prob[n_rows][n_outputs].  NULL: not offered. */
    drove_status (*predict)(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob);
    /* The most examples of these data that fit into the device's memory beside the model and the
     * scratch for both, at most opt->max_rows; 0: none fits.  Needs no engine.  create refuses a
     * larger max_rows.  NULL: opt->max_rows. */
    size_t (*most_rows)(const drove_engine_options *opt);

    /* ---- FUSED, TYPED ---- */
    /* Steps over the rows of a batch straight into shared parameters that others may change
     * meanwhile.  FUSED: one step of the whole batch into live->theta (model.h: backward_fused).
     * TYPED: `each` examples an update into live->words; rows are numbers of the training set as
     * prepare laid it out. */
    drove_status (*steps)(drove_engine *e, const drove_params *live, const drove_batch *batch,
                          float eta, drove_steps *out);

    /* ---- STATISTICS ---- */
    /* A training pass at theta: adds share * batch normalisation's statistics of the batch to
     * into[n_params] (model.h). */
    drove_status (*statistics)(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into);

    const drove_resident_ops *resident; /* NULL: not RESIDENT */
    const drove_typed_ops    *typed;    /* NULL: not TYPED */
} drove_engine_ops;

/* A batch at once: begin, then finish, which delivers all slices. */
drove_status drove__engine_do(const drove_engine_ops *ops, drove_engine *e, const drove_work *work,
                              uint64_t timeout_ns, drove_work_done *done);
/* *to += *from */
void drove__work_done_add(drove_work_done *to, const drove_work_done *from);

extern const drove_engine_ops drove__engine_host;

#endif
