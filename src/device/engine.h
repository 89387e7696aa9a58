/* device/engine.h - an engine computes "the gradient of this batch at these parameters".
 *
 * The host engine computes with the calling thread; engines on accelerators come as further rows. 
 * An engine keeps nothing global: many may compute at once, each used by one thread at a time.
 */
#ifndef DROVE_DEVICE_ENGINE_H
#define DROVE_DEVICE_ENGINE_H

#include "data/data.h"
#include "kernel/kernel.h"
#include "model/model.h"

typedef struct drove_engine drove_engine;

/* A choice of examples; row numbers are those of the view (0 .. data->n_rows-1). */
typedef struct drove_batch {
    const drove_data *data;
    const uint32_t   *row;    /* [n_rows] */
    size_t            n_rows; /* 1 .. max_rows */
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
    const drove_data   *data;     /* shapes of what will be loaded (scratch for gathering) */
    size_t              max_rows; /* largest batch */
} drove_engine_options;

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
} drove_engine_ops;

extern const drove_engine_ops drove__engine_host;

#endif
