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

/* What begin is asked for.  The caller keeps all of it until finish has returned. */
typedef struct drove_work {
    const drove_batch *batch;
    /* [n_params] where the gradient is taken; read by the time finish returns, by a device by the
     * time begin returns.  NULL: at the parameters that the device keeps (RESIDENT). */
    const float *theta;
    /* The mean gradient; its after_layer is called for each layer as its slice becomes complete,
     * inside begin, part or finish.  NULL: a score alone, as for evaluation (no dropout, no
     * augmentation).  RESIDENT: value is set by the engine, memory of its own that the caller may
     * overwrite slice by slice once after_layer was called. */
    drove_gradient     *grad;
    drove_device_update update; /* RESIDENT: what finish does with the sums that were given */
} drove_work;

typedef struct drove_work_done { /* added to */
    drove_score        score;
    drove_engine_times times;
} drove_work_done;

/* ---- devices that keep parameters of their own, and update them ---- */

/* A rule of optim/rules.c as a device carries it out: the same formulas, state and order. */
typedef struct drove_device_rule {
    const char *name;    /* "sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam" */
    unsigned    n_state; /* vectors [n_params] that follow theta */
    float       mu, beta1, beta2, epsilon;
    float       weight_decay, clip; /* of the mean gradient, in this order; clip 0: none */
} drove_device_rule;

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

typedef struct drove_steps {        /* made by one call of steps */
    uint64_t    n_steps, n_clamped; /* updates; writes of parameters that were saturated */
    bool        is_finite;          /* every output was */
    drove_score score;              /* FUSED */
} drove_steps;

/* What an engine can do beyond begin and finish.  The runner asks for these, never for a name.
 *   FUSED      steps: plain SGD straight into shared floats, no gradient vector
 *   TYPED      the shared parameters are words in its own number format: prepare ... set_range;
 *              steps goes straight into them; it gives no gradients
 *   RESIDENT   keeps parameters of its own, takes sums, updates itself: set_params ... give
 *   TEAM       n_threads of the options may be above 1
 *   STATISTICS batch normalisation's population statistics */
enum {
    DROVE_ENGINE_FUSED = 1u << 0,
    DROVE_ENGINE_TYPED = 1u << 1,
    DROVE_ENGINE_RESIDENT = 1u << 2,
    DROVE_ENGINE_TEAM = 1u << 3,
    DROVE_ENGINE_STATISTICS = 1u << 4,
};

/* The protocol, one batch at a time on the thread that owns the engine:
 *
 *     begin;  while (n_left > 0) part;  finish
 *
 * An engine on the host completes in begin, and part is NULL.  A device computes while its caller
 * does something else; a batch of more rows than its memory holds it computes in pieces, of which
 * it takes the weighted mean.  Errors of all: DROVE_E_SYSTEM (the device is lost, or silent for too long);
 * after one the engine can only be destroyed. */
typedef struct drove_engine_ops {
    const char *name, *help, *source;
    unsigned    can; /* DROVE_ENGINE_* */
    drove_status (*create)(const drove_engine_options *opt, drove_engine **out);
    void (*destroy)(drove_engine *e); /* NULL accepted */

    drove_status (*begin)(drove_engine *e, const drove_work *work);
    /* Waits, at most timeout_ns (0: only looks), until at least one more slice of the gradient has
     * come, and calls after_layer for those that have.  *n_left: layers with parameters whose
     * slices are still to come.  NULL: begin has delivered all. */
    drove_status (*part)(drove_engine *e, uint64_t timeout_ns, size_t *n_left);
    /* Waits, at most timeout_ns, for the end of the batch; delivers the slices that part has not.
     * Adds to *done (NULL: not wanted).  RESIDENT: every sum was given; begins work->update. */
    drove_status (*finish)(drove_engine *e, uint64_t timeout_ns, drove_work_done *done);

    /* ---- optional ---- */
    /* Begins to copy the examples of the batch that begin will get next; between begin and finish,
     * at most once.  What is needed of the batch, its rows included, is kept.  NULL: not offered. */
    drove_status (*stage)(drove_engine *e, const drove_batch *next);
    /* prob[n_rows][n_outputs].  NULL: not offered. */
    drove_status (*predict)(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob);
    /* Most examples of a batch of these data that the device's memory holds beside the model and
     * the scratch for both; 0: not one.  Needs no engine; max_rows is the answer's upper bound.
     * NULL: max_rows. */
    size_t (*most_rows)(const drove_engine_options *opt);

    /* ---- FUSED, TYPED ---- */
    /* Steps over the rows of a batch straight into shared parameters that others may change
     * meanwhile.  FUSED: one step of the whole batch into live->theta (model.h: backward_fused).
     * TYPED: `each` examples an update into live->words; rows are numbers of the training set as
     * prepare laid it out. */
    drove_status (*steps)(drove_engine *e, const drove_params *live, const drove_batch *batch,
                          float eta, drove_steps *out);

    /* ---- STATISTICS ---- */
    /* Adds share * the statistics that batch normalisation takes from the batch, in a pass of
     * training at theta, to into[n_params] (model.h). */
    drove_status (*statistics)(drove_engine *e, const float *theta, const drove_batch *batch,
                               float share, float *into);

    /* ---- RESIDENT ----
     *
     *     set_params;  then for each batch:  begin (theta NULL);  part, give ... ;  finish
     *
     * Copies down stand on a queue of their own behind each layer's backward, copies up on another,
     * so that both run while backward goes on.  Further errors: DROVE_E_UNSUPPORTED (a rule it does
     * not have), DROVE_E_NOMEM. */
    /* vector[n_params (1 + n_state)]: theta, then the rule's state; has been read on return. */
    drove_status (*set_params)(drove_engine *e, const drove_device_rule *rule, const float *vector);
    /* The same back, behind every update that was begun. */
    drove_status (*get_params)(drove_engine *e, float *vector);
    /* Begins to copy sum[length] to the slice of the gradient at offset; sum is left alone until
     * finish has returned. */
    drove_status (*give)(drove_engine *e, size_t offset, size_t length, const float *sum);
    /* Tells each slice's copy of the batch that was finished last, down and up.  NULL: not
     * offered. */
    drove_status (*copies)(drove_engine *e, drove_device_copy_fn *tell, void *context);

    /* ---- TYPED ---- */
    /* Once a run, before any engine is made.  Errors: DROVE_E_ARG, DROVE_E_UNSUPPORTED,
     * DROVE_E_DATA, DROVE_E_SHAPE, DROVE_E_NOMEM. */
    drove_status (*prepare)(const drove_prepare_options *opt, drove_engine_shared **out);
    void (*dismiss)(drove_engine_shared *shared); /* NULL accepted */
    size_t (*n_words)(const drove_engine_shared *shared);
    const drove_layout *(*layout)(const drove_engine_shared *shared);
    void (*pack)(const drove_engine_shared *shared, const float *theta, uint32_t *words);
    void (*unpack)(const drove_engine_shared *shared, const uint32_t *words, float *theta);
    void (*facts)(const drove_engine_shared *shared, drove_engine_facts *out);
    /* Applies the updates that this engine still owes the shared words, before its worker parks. */
    void (*settle)(drove_engine *e, uint32_t *words);
    /* The range that a saved run had found, before any step; ignored by floats.  Errors:
     * DROVE_E_ARG. */
    drove_status (*set_range)(drove_engine_shared *shared, double range);
} drove_engine_ops;

/* A batch at once: begin, then finish, which delivers all slices. */
drove_status drove__engine_do(const drove_engine_ops *ops, drove_engine *e, const drove_work *work,
                              uint64_t timeout_ns, drove_work_done *done);
/* *to += *from */
void drove__work_done_add(drove_work_done *to, const drove_work_done *from);

extern const drove_engine_ops drove__engine_host;

#endif
