/* engine/engine.h - an engine computes "the gradient of this batch at these parameters".
 *
 * The host engine computes with the calling thread; engines on accelerators come as further rows. 
 * An engine keeps nothing global: many may compute at once, each used by one thread at a time.
 */
#ifndef DROVE_ENGINE_ENGINE_H
#define DROVE_ENGINE_ENGINE_H

#include "base/fixed.h"
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
    size_t            n_rows; /* 1 .. max_rows */
    uint64_t          number; /* of the batch in its run: what random numbers are keyed by */
    /* The same examples, loaded to train by somebody else; NULL: the engine loads them.  An engine
     * on an accelerator loads them itself in any case. */
    const drove_loaded *loaded;
} drove_batch;

typedef struct drove_gradient {
    float *value;        /* [n_params] caller's; mean over the batch */
    bool   spans_wanted; /* in: parts that are zero may be left unwritten */

    const drove_span *span;    /* out: the parts that were written, ascending; NULL: all */
    size_t            n_spans; /* span is the engine's memory, valid until its next call */

    drove_layer_done_fn *after_layer; /* in: may be NULL */
    void                *context;
} drove_gradient;

typedef struct drove_engine_options {
    const drove_model  *model; /* borrowed, as is the table: both outlive the engine */
    const drovek_table *kernels;
    const drove_data   *data;        /* shapes of what will be loaded (scratch for gathering) */
    size_t              max_rows;    /* largest batch */
    size_t              rows;        /* usual number of examples of a batch; 0: max_rows */
    uint64_t            seed;        /* of dropout's masks */
    bool                infers_only; /* score and predict alone will be called */
    /* Cores that compute as one device: threads with the caller's; 0 counts as 1.  bind (may be
     * NULL) is called by each of them but the caller. */
    unsigned n_threads;
    drove_status (*bind)(void *context, unsigned part);
    void *bind_context;
    /* Of an engine with numbers of its own: made by prepare, borrowed. */
    const drove_engine_shared *shared;
    /* Of an engine that computes on a device (engine/device.h): opened, borrowed. */
    drove_device *device;
} drove_engine_options;

typedef struct drove_engine_times { /* of one batch on a device, in ns */
    uint64_t copy_ns;               /* the device was copying, either way */
    uint64_t compute_ns;            /* it was computing */
    uint64_t hidden_ns;             /* of copy_ns: while it was computing */
    uint64_t wait_ns;               /* the caller was asleep in collect */
} drove_engine_times;

/* ---- devices that keep parameters of their own, and update them ---- */

/* A rule of optim/rules.c as a device carries it out: the same formulas, state and order. */
typedef struct drove_device_rule {
    const char *name;    /* "sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam" */
    unsigned    n_state; /* vectors [n_params] that follow theta */
    float       mu, beta1, beta2, epsilon;
    float       weight_decay, clip; /* of the mean gradient, in this order; clip 0: none */
} drove_device_rule;

typedef struct drove_device_update {
    float    scale; /* what was given is multiplied by it first: 1 / number of devices */
    float    eta;
    uint64_t t; /* the update's number, from 1 */
} drove_device_update;

/* One copy of the part of a gradient or sum at offset: when, and how much of it while the device
 * computed. */
typedef struct drove_device_copy {
    size_t   offset;
    bool     is_up;
    uint64_t begin_ns, end_ns; /* of drove__now_ns, to within the moment at which it was noticed */
    uint64_t hidden_ns;
} drove_device_copy;
typedef void drove_device_copy_fn(void *context, const drove_device_copy *copy);

/* ---- engines that keep the shared parameters in numbers of their own ---- */

typedef struct drove_prepare_options { /* all borrowed until dismiss, but for the texts */
    const drove_model  *model;
    const drovek_table *kernels;
    const drove_data   *data; /* the training set */
    /* [n_params] where training starts; read by prepare alone, and only to find a range */
    const float *theta;
    const char  *precision, *rounding;
    double       model_range;       /* largest magnitude of a parameter; 0: from the data */
    double       eta, weight_decay; /* first step size; L2 */
    size_t       each;              /* examples of an update */
    uint64_t     seed;
    bool         reorder; /* the examples may be laid out in an order drawn by the seed */
    bool         hints;   /* software prefetching */
} drove_prepare_options;

typedef struct drove_engine_facts { /* for results */
    char     precision[32];
    double   model_range;           /* 0: floats have none */
    double   data_scale;            /* value of the data's integer 1; 1 for floats */
    uint64_t data_clamped, bridges; /* numbers out of range; sparse gaps that were too large */
    double   bytes_per_example;     /* that a step reads, mean */
} drove_engine_facts;

typedef struct drove_steps {
    uint64_t n_steps, n_clamped; /* updates made, writes of parameters that were saturated */
    bool     is_finite;          /* every output was */
} drove_steps;

typedef struct drove_engine_ops {
    const char *name, *help, *source;
    drove_status (*create)(const drove_engine_options *opt, drove_engine **out);
    void (*destroy)(drove_engine *e); /* NULL accepted */
    /* Mean gradient of the batch at theta[n_params]; score (may be NULL) receives the batch's loss
     * at no extra cost. forward_ns, backward_ns: time in each phase is added there; NULL: not
     * wanted. */
    drove_status (*gradient)(drove_engine *e, const float *theta, const drove_batch *batch,
                             drove_gradient *grad, drove_score *score, uint64_t *forward_ns,
                             uint64_t *backward_ns);
    /* One whole SGD step on shared parameters, no gradient vector (model.h: backward_fused).  NULL:
     * not offered. */
    drove_status (*step_fused)(drove_engine *e, float *theta, const drove_batch *batch, float eta,
                               drove_score *score);
    /* Adds the batch's loss and counts to *score. */
    drove_status (*score)(drove_engine *e, const float *theta, const drove_batch *batch,
                          drove_score *score);
    /* prob[n_rows][n_outputs] */
    drove_status (*predict)(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob);

    /* Adds share * what batch normalisation sees of the batch, in a pass of training at theta, to
     * the statistics in into[n_params] (model.h).  NULL: not offered. */
    drove_status (*statistics)(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into);

    /* ---- all or none: a device that works while its caller does something else ---- */
    /* Begins gradient (or, not wants_gradient, score) of the batch at theta[n_params], which has
     * been read when submit returns.  One batch at a time: submit, at most one stage, collect.
     * Errors of all three: DROVE_E_SYSTEM (the device is lost, or silent for too long). */
    drove_status (*submit)(drove_engine *e, const float *theta, const drove_batch *batch,
                           bool wants_gradient);
    /* Begins to copy the examples of the batch that will be submitted next; what is needed of the
     * batch, its rows included, is kept.  Without it submit copies them itself. */
    drove_status (*stage)(drove_engine *e, const drove_batch *next);
    /* Waits for the batch that was submitted, at most timeout_ns: fills grad (NULL: not wanted) and
     * calls its after_layer as the layers come, adds to *score and *times (NULL: not wanted). */
    drove_status (*collect)(drove_engine *e, drove_gradient *grad, drove_score *score,
                            drove_engine_times *times, uint64_t timeout_ns);
    /* Most examples of a batch of these data that the device's memory holds beside the model and
     * the scratch for both; 0: not one.  Needs no engine; max_rows is the answer's upper bound. */
    size_t (*most_rows)(const drove_engine_options *opt);

    /* ---- all or none: the device has parameters of its own (accumulation, accum/) ----
     *
     *     set_params;  then for each batch:  begin;  arrived, give ... ;  update
     *
     * Copies down stand on a queue of their own behind each layer's backward, copies up on another,
     * so that both run while backward goes on.  stage is usable between begin and update.  Errors
     * of all: DROVE_E_SYSTEM (the device is lost), DROVE_E_UNSUPPORTED (a rule it does not have),
     * DROVE_E_NOMEM. */
    /* vector[n_params (1 + n_state)]: theta, then the rule's state; has been read on return. */
    drove_status (*set_params)(drove_engine *e, const drove_device_rule *rule, const float *vector);
    /* The same back, behind every update that was begun. */
    drove_status (*get_params)(drove_engine *e, float *vector);
    /* Begins the gradient of the batch at the device's parameters; returns while it computes. */
    drove_status (*begin)(drove_engine *e, const drove_batch *batch);
    /* Waits, at most timeout_ns (0: only looks), until the gradient of one more layer has come to
     * host memory: *layer, from the last that has parameters to the first, and *gradient [n_params]
     * of all layers, in which its part stands until the next begin and may be overwritten.  *layer
     * SIZE_MAX: none came in that time.  *n_left: how many are still to come. */
    drove_status (*arrived)(drove_engine *e, uint64_t timeout_ns, size_t *layer, float **gradient,
                            size_t *n_left);
    /* Begins to copy sum[length] to the part of the gradient at offset; sum is left alone until
     * update has returned. */
    drove_status (*give)(drove_engine *e, size_t offset, size_t length, const float *sum);
    /* All of the gradient was given: waits until it is there (at most timeout_ns), begins the
     * update, adds to *score and *times (NULL: not wanted). */
    drove_status (*update)(drove_engine *e, const drove_device_update *how, drove_score *score,
                           drove_engine_times *times, uint64_t timeout_ns);
    /* Tells each layer's copy of the batch whose update was begun last, down and up.  NULL: not
     * offered. */
    drove_status (*copies)(drove_engine *e, drove_device_copy_fn *tell, void *context);

    /* ---- all or none: the shared parameters are words[n_words], not theta[n_params] ---- */
    /* Once a run, before any engine is made.  Errors: DROVE_E_ARG, DROVE_E_UNSUPPORTED,
     * DROVE_E_DATA, DROVE_E_SHAPE, DROVE_E_NOMEM. */
    drove_status (*prepare)(const drove_prepare_options *opt, drove_engine_shared **out);
    void (*dismiss)(drove_engine_shared *shared); /* NULL accepted */
    size_t (*n_words)(const drove_engine_shared *shared);
    const drove_layout *(*layout)(const drove_engine_shared *shared);
    void (*pack)(const drove_engine_shared *shared, const float *theta, uint32_t *words);
    void (*unpack)(const drove_engine_shared *shared, const uint32_t *words, float *theta);
    void (*facts)(const drove_engine_shared *shared, drove_engine_facts *out);
    /* Steps over the rows of a batch, `each` examples an update, straight into the shared words,
     * which others may change meanwhile.  Rows are numbers of the training set as it was laid out
     * by prepare. */
    drove_status (*steps)(drove_engine *e, uint32_t *words, const drove_batch *batch, float eta,
                          drove_steps *out);
    /* What this engine still owes the shared words, before its worker is parked. */
    void (*settle)(drove_engine *e, uint32_t *words);
    /* The range that a saved run had found, before any step; ignored by floats.  Errors:
     * DROVE_E_ARG. */
    drove_status (*set_range)(drove_engine_shared *shared, double range);
} drove_engine_ops;

extern const drove_engine_ops drove__engine_host;

#endif
