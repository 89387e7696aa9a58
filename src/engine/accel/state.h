/* engine/accel/state.h - an engine on an accelerator: what its files share.
 *
 * Each of these calls those below it alone:
 *
 *   engine.c      creation, and the engine's table
 *   batch.c       one batch from begin to finish
 *   times.c       what overlapped what
 *   staging.c     a batch in a staging buffer: gathered, laid out, copied to the device
 *   repeat.c      passes that are repeated, recorded
 *   pass.c        forward, loss and backward, put on the queue
 *   size.c        how much memory a batch and a model take
 *   plan.c        what a pass needs beside parameters and examples
 *   layers.h      the kinds of layers: layers.c, conv.c, norm.c, layer_norm.c
 *   operations.h  what layers are made of
 *   params.c      parameters to the device, gradients from it
 *   resident.c    parameters that stay on the device, and their update
 *   state.c       a device that fails is lost; events
 *
 * Queues: `up` copies to the device, `work` computes, `down` copies back; they meet through events.
 * Threads: one at a time.
 */
#ifndef DROVE_ENGINE_ACCEL_STATE_H
#define DROVE_ENGINE_ACCEL_STATE_H

#include "engine/accel/kind.h"
#include "engine/gather.h"
#include "engine/pieces.h"
#include "engine/touched.h"

enum { DROVE_ACCEL_N_STAGINGS = 2 };

/* A part of the device's clock, ns; both 0: nothing. */
typedef struct drove_accel_interval {
    uint64_t begin, end;
} drove_accel_interval;

/* Where the parts of a batch are in its staging buffer, in elements of 4 bytes; each part begins a
 * cache line. */
typedef struct drove_accel_layout {
    size_t x;                          /* dense: [n_rows][n_inputs] floats or bytes */
    size_t start, index, value;        /* sparse: rows, touched features counted from 0 */
    size_t t_start, t_index, t_value;  /* the transpose: touched features, rows */
    size_t target, label_start, label; /* [n_rows], values [n_rows][n]; [n_rows + 1], [.] */
    size_t weight;                     /* [n_rows] weighted examples */
    size_t n;                          /* elements of all */
} drove_accel_layout;

/* Of examples that go over as bytes: shift[n_inputs], factor[n_inputs]. */
typedef struct drove_accel_scaling {
    float              *host;   /* pinned [2][n_inputs]; NULL: none was needed yet */
    drove_accel_buffer *device; /* a copy of host, or being copied */
    bool                is_set;
} drove_accel_scaling;

typedef struct drove_accel_staging {
    float              *host;   /* pinned [n_room] */
    drove_accel_buffer *device; /* [n_room] */
    size_t              n_room;
    drove_accel_layout  at;

    bool              is_full; /* holds a batch: these rows of these data */
    bool              is_sparse, has_value;
    bool              is_bytes, is_scaled; /* dense: widened on the device, by scaling */
    const drove_data *data;
    uint32_t         *row; /* [max_rows] */
    size_t            n_rows;
    uint64_t          number;      /* of the batch, and whether it was loaded to train: */
    bool              is_training; /* both decide what becomes of an image              */

    drove_span *span; /* [n_spans] sparse: the touched features, ascending */
    size_t      n_spans, n_touched, n_span_room;

    drove_accel_scaling scaling;

    drove_accel_event *begun, *done; /* of its copy */
} drove_accel_staging;

/* Of one batch, or one piece of it.  NULL: not recorded. */
typedef struct drove_accel_events {
    drove_accel_event  *params_begun, *params_done, *work_begun, *scored, *scored_read;
    drove_accel_event **layer_done, **layer_read; /* [n_layers]; NULL: no parameters */
} drove_accel_events;

/* Derivatives share buffers, others do not (plan.c). */
typedef struct drove_accel_plan {
    size_t *delta_of;                /* [n_layers] number of a buffer */
    size_t  n_deltas, *delta_floats; /* buffers; floats of an example in each */
    bool    converts_input;          /* some layer reads the input as NHWC, ... */
    bool    reads_plain;             /* ... or as it is */
} drove_accel_plan;

typedef struct drove_accel_resident drove_accel_resident; /* resident.c */
typedef struct drove_accel_repeat   drove_accel_repeat;   /* repeat.c */

/* Parameters on the device: dense data, all of theta as it is; sparse data, what follows the first
 * layer's W (from `base` on), then the touched rows of that W. */
typedef struct drove_accel_params {
    size_t              base, n_rest, n_room;
    drove_accel_buffer *theta, *grad;           /* [n_room] */
    float              *theta_host, *grad_host; /* pinned, the same */
    drove_accel_buffer *frozen, *unwanted; /* [n_frozen] of frozen layers, their gradients; NULL */
} drove_accel_params;

/* What passes write. */
typedef struct drove_accel_pass {
    uint64_t             seed; /* of dropout's masks */
    drove_accel_plan     plan;
    drove_accel_buffer **out;     /* [n_layers] outputs, [max_rows][n_out] */
    drove_accel_buffer **kept;    /* [n_layers] from forward to backward; NULL: nothing */
    drove_accel_buffer **delta;   /* [plan.n_deltas] derivatives */
    drove_accel_buffer  *input;   /* the examples as NHWC; NULL: not needed */
    drove_accel_buffer  *wide;    /* those that came as bytes, as floats; NULL: not needed */
    drove_accel_buffer  *scratch; /* of the layer that is computed; NULL: none needs it */
    drove_accel_conv   **conv;    /* [n_layers] of the kind's library; NULL: im2col */
    drove_accel_buffer *result; /* [max_rows] losses, [max_rows][3] counts; twice: of other heads */
    uint32_t           *result_host;
    float              *prob_host;       /* [max_rows][n_outputs]; NULL until predict */
    float              *statistics_host; /* [2][largest c]; NULL until they are asked for */
} drove_accel_pass;

/* The present batch, or the present piece of one. */
typedef struct drove_accel_now {
    drove_gradient     *wanted; /* NULL: a score alone */
    drove_device_update update; /* is_resident: of its parameters */
    bool                is_resident, is_predicting, is_training;
    bool                is_recording; /* repeat.c */
    size_t              next; /* slices of the layers below this one are still to be delivered */
    uint64_t            slept_ns;
    drove_accel_events  events;
} drove_accel_now;

/* When the parts of a batch were done. */
typedef struct drove_accel_times {
    drove_accel_interval  examples, params, compute, results;
    size_t                n_reads;      /* [n_layers] or 0 */
    drove_accel_interval *read;         /* by layer, the last one first */
    drove_accel_interval  last_compute; /* of the batch before */
    uint64_t              clock_shift;  /* drove__now_ns less the device's clock, batch.c */
} drove_accel_times;

/* The device failed; is_silent: nothing of it may be waited for. */
typedef struct drove_accel_failure {
    bool is_lost, is_silent;
    char why[DROVE_ERROR_TEXT_SIZE];
} drove_accel_failure;

struct drove_engine {
    const drove_model     *model;
    const drovek_table    *kernels;
    const drove_accel_ops *ops;
    drove_accel           *accel;
    size_t                 max_rows;

    bool          is_sparse;   /* the data are */
    bool          takes_bytes; /* examples that are stored as bytes go over as such */
    drove_gather  gather;
    drove_touched touched; /* of sparse data, else empty */
    uint32_t     *place;   /* [n_inputs] sparse: number among the touched features */

    drove_accel_queue   *up, *work, *down;
    drove_accel_staging  staging[DROVE_ACCEL_N_STAGINGS];
    drove_accel_staging *staged, *present; /* NULL: none */

    drove_accel_params    params;
    drove_accel_pass      pass;
    drove_pieces          pieces;
    drove_accel_now       now;
    drove_accel_times     times;
    drove_accel_resident *resident; /* NULL: parameters come with each batch */
    drove_accel_repeat   *repeat;   /* NULL: passes are not recorded */
    drove_accel_failure   failure;
};

/* Forwards a device's failure: the engine is lost from then on. */
drove_status drove__accel_try(drove_engine *e, drove_status status);
#define DROVE_ACCEL_TRY(e, call) DROVE_TRY(drove__accel_try(e, call))
/* Errors: DROVE_E_SYSTEM, the text of the failure by which the device was lost. */
drove_status drove__accel_check_alive(const drove_engine *e);
/* Puts it on `work`. */
drove_status drove__accel_job(drove_engine *e, const drove_accel_job *job);
void         drove__accel_events_drop(drove_engine *e, drove_accel_events *of); /* destroys them */

/* Pinned memory of n numbers of 4 bytes; `what` begins the error. */
static inline drove_status drove__accel_host_alloc(drove_engine *e, size_t n, const char *what,
                                                   void **out)
{
    drove_status status = e->ops->host_alloc(e->accel, n * sizeof(float), out);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "%s", what);
}

static inline drove_accel_view drove__accel_view(drove_accel_buffer *buffer, size_t offset)
{
    return (drove_accel_view){.buffer = buffer, .offset = offset};
}

/* ---- size.c ---- */

/* The most labels of an example of the view; 0 where there are none. */
size_t drove__accel_longest_labels(const drove_data *data);
/* Sparse: n_pairs and n_touched, else 0; in_bytes: of dense examples. */
drove_accel_layout drove__accel_layout(const drove_model *model, const drove_data *data,
                                       bool in_bytes, size_t n_rows, size_t n_pairs,
                                       size_t n_touched, size_t n_labels);
/* Features that max_rows examples can touch. */
size_t drove__accel_most_touched(const drove_model *model, const drove_data *data, size_t max_rows);
size_t drove__accel_most_rows(const drove_engine_options *opt);

/* ---- plan.c ---- */

drove_status drove__accel_plan_make(const drove_model *model, drove_accel_plan *out);
void         drove__accel_plan_fini(drove_accel_plan *p); /* a zeroed one is accepted */
/* Floats of scratch of all layers, and of what a layer keeps, for batches of `rows`. */
size_t drove__accel_scratch(const drove_model *model, size_t rows);
size_t drove__accel_kept(const drove_layer *y, size_t rows);

/* ---- staging.c ---- */

drove_status drove__staging_init(drove_engine *e, drove_accel_staging *s, const drove_data *data);
void         drove__staging_fini(drove_engine *e, drove_accel_staging *s);
bool drove__staging_holds(const drove_accel_staging *s, const drove_batch *batch, bool is_training);
/* Gathers the batch and begins to copy it.  Errors: those of drove__gather_load, the device's. */
drove_status drove__staging_fill(drove_engine *e, drove_accel_staging *s, const drove_batch *batch,
                                 bool is_training);

/* ---- params.c ---- */

/* n_touched: features that a sparse batch can touch, else 0. */
drove_status drove__params_init(drove_engine *e, size_t n_touched);
void         drove__params_fini(drove_engine *e);
/* W of a layer, and what follows it up to the next layer, on the device. */
drove_accel_view drove__params_w(const drove_engine *e, drove_accel_buffer *of, size_t layer);
drove_accel_view drove__params_b(const drove_engine *e, drove_accel_buffer *of, size_t layer);
/* [2][c] a batch normalisation's population. */
drove_accel_view drove__params_statistics(const drove_engine *e, size_t layer);
/* Reads what the present batch needs of theta[n_params] into pinned memory. */
drove_status drove__params_gather(drove_engine *e, const float *theta);
/* Puts the copying of that on `up`. */
drove_status drove__params_write(drove_engine *e);
/* A layer's part of the gradient on the device; length 0: it has no parameters. */
drove_span drove__params_part(const drove_engine *e, size_t layer);
/* Puts the reading of a layer's gradient on `down`. */
drove_status drove__params_read(drove_engine *e, size_t layer);
/* After it was read: into grad->value. */
void drove__params_take(drove_engine *e, size_t layer, drove_gradient *grad);

/* ---- pass.c ---- */

/* Errors: DROVE_E_UNSUPPORTED (a layer or loss that no accelerator has). */
drove_status drove__accel_pass_supports(const drove_model *model);
/* Errors: DROVE_E_SHAPE: the targets of these data are none for the model's loss. */
drove_status drove__accel_pass_accepts(const drove_model *model, const drove_data *data);
/* Queues the pass over the present batch, which is on the device, on `work`, and the reading of its
 * results on `down`. */
drove_status drove__accel_pass(drove_engine *e);

/* ---- repeat.c ---- */

/* Errors: DROVE_E_NOMEM. */
drove_status drove__repeat_init(drove_engine *e);
void         drove__repeat_fini(drove_engine *e); /* forgotten before */
/* Drops recordings of this staging buffer (NULL: all), of which none is under way. */
void drove__repeat_forget(drove_engine *e, const drove_accel_staging *staging);
/* Puts the present batch on all queues, behind its examples and with the parameters that have been
 * gathered: one by one, or by one call. */
drove_status drove__repeat_pass(drove_engine *e);
/* Passes that were put on the queues by one call. */
uint64_t drove__repeat_runs(const drove_engine *e);
/* Destroys the present batch's events, or gives them back to the recording that lent them. */
void drove__repeat_drop_events(drove_engine *e);

/* ---- batch.c ---- */

extern const drove_piece_ops drove__accel_piece_ops;
drove_status drove__accel_check_free(const drove_engine *e);  /* DROVE_E_ARG: a batch was begun */
drove_status drove__accel_check_begun(const drove_engine *e); /* DROVE_E_ARG: none was */
drove_status drove__accel_stage(drove_engine *e, const drove_batch *next); /* engine.h */

/* ---- resident.c ---- */

/* engine.h: set_params, get_params, give */
drove_status drove__resident_set(drove_engine *e, const drove_device_rule *rule,
                                 const float *vector);
drove_status drove__resident_get(drove_engine *e, float *vector);
void drove__resident_begin(drove_engine *e); /* chooses the parameters of the present batch */
drove_status drove__resident_give(drove_engine *e, size_t offset, size_t length, const float *sum);
/* Behind the last copy of what was given; NULL: nothing was. */
drove_accel_event *drove__resident_last_copy(const drove_engine *e);
/* Place of what was given as number i of the present batch, and the events around its copy; false:
 * there are no more. */
bool         drove__resident_copy(const drove_engine *e, size_t i, size_t *offset,
                                  drove_accel_event **begun, drove_accel_event **done);
drove_status drove__resident_update(drove_engine *e, const drove_device_update *how);
/* Makes e->params.theta a place for parameters that come with a batch. */
drove_status drove__resident_lend(drove_engine *e);
void         drove__resident_release(drove_engine *e); /* what is the device's */
void         drove__resident_fini(drove_engine *e);

/* ---- times.c ---- */

/* Keeps when the present batch was copied and computed in e->times, and adds that to *times. */
drove_status drove__accel_times(drove_engine *e, drove_engine_times *times);
/* engine.h: copies */
drove_status drove__accel_copies(drove_engine *e, drove_device_copy_fn *tell, void *context);

#endif
