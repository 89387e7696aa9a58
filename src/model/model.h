/* model/model.h - a model: layers, one flat vector of parameters with views, maths of forward and
 * backward.
 *
 * No threads, no allocation after creation: a model is immutable and shared by all workers; what a
 * pass needs is in the caller's drove_pass.
 *
 * Parameters theta[n_params]: layer after layer, W[n_in][n_out] row-major then b[n_out], each view
 * starting on a 16-float boundary (the gap is zero and stays zero: its gradient is zero).  W is
 * stored input-major, so that a sparse example or a zero input touches whole contiguous rows.
 */
#ifndef DROVE_MODEL_MODEL_H
#define DROVE_MODEL_MODEL_H

#include "base/rng.h"
#include "base/spec.h"
#include "base/status.h"
#include "kernel/kernel.h"
#include "kernel/span.h"

#include <stdio.h>

typedef struct drove_layer_ops drove_layer_ops;

typedef struct drove_layer {
    const drove_layer_ops *ops; /* model/layer.h; today: dense */

    size_t     n_in, n_out; /* floats per example */
    drovek_act act;
    size_t     w_offset, b_offset; /* views into theta */
    size_t     n_params;           /* of W and b, without the gaps */
} drove_layer;

typedef struct drove_loss_ops drove_loss_ops; /* model/loss.h */

typedef struct drove_model {
    char   spec[1024]; /* "mlp:128,128,128" */
    char   activation[32];
    size_t n_inputs, n_outputs; /* floats per example */
    size_t n_params;            /* length of theta, gaps included */
    size_t n_weights;           /* numbers that are trained (134,794 for the thesis's MLP) */
    size_t n_layers;

    drove_layer          *layer;
    const drove_loss_ops *loss;
} drove_model;

/* What the data demand of a model (taken from the data set, or from a model file). */
typedef struct drove_model_io {
    size_t n_features;
    size_t n_classes; /* classes or labels; 0 = values */
    int    is_multi_label;
} drove_model_io;

/* A family: one row of model/zoo.c; `drove list models` walks it. */
typedef struct drove_model_ops {
    const char *name, *help, *source;
    const char *default_loss; /* NULL: by the target (softmax, sigmoid, squared) */
    drove_status (*build)(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                          drove_model *model);
} drove_model_ops;
extern const drove_model_ops *const drove__models[]; /* NULL-terminated */

/* Activations that a network's hidden layers can have; `drove list activations` walks it. */
typedef struct drove_activation {
    const char *name, *help, *source;
    drovek_act  act;
} drove_activation;
extern const drove_activation drove__activations[]; /* ends with name NULL */

/* activation NULL or "": relu (linear models have none and ignore it).  loss NULL or "": the
 * family's default. *out owns copies of everything it needs.  Errors: DROVE_E_ARG (unknown name,
 * with the nearest; sizes), DROVE_E_SHAPE (loss and target do not go together), DROVE_E_NOMEM. */
drove_status drove__model_create(const char *spec, const char *activation, const char *loss,
                                 const drove_model_io *io, drove_model **out);
void         drove__model_destroy(drove_model *model); /* may be NULL */

/* A table for people: layers, shapes, activations, parameters, multiply-adds.  Errors: DROVE_E_IO.
 * */
drove_status drove__model_print(const drove_model *model, FILE *stream);

/* theta[n_params] from an initialiser's spec: "xavier:1", "he:1" (gain), "normal:0.01" (standard
 * deviation). Biases: 0 for xavier and he; drawn like the weights for normal (the thesis draws all
 * of theta). "" = he:1 for relu, xavier:1 otherwise; linear models start at 0. */
typedef struct drove_init_ops {
    const char *name, *help, *source;
    drove_status (*fill)(const drove_spec *spec, const drove_layer *layer, drove_rng *rng,
                         float *theta);
} drove_init_ops;
extern const drove_init_ops *const drove__inits[]; /* NULL-terminated */
drove_status drove__model_init(const drove_model *model, const char *init, uint64_t seed,
                               float *theta);

/* ---- one pass ---- */

/* The examples of one pass: dense, or rows of a sparse matrix. */
typedef struct drove_input {
    size_t          n_rows;
    const float    *dense;        /* [n_rows][n_inputs]; NULL: sparse */
    const uint64_t *first, *last; /* [n_rows] begin and end of each row in index and value */
    const uint32_t *index;
    const float    *value; /* NULL: ones */
} drove_input;

/* Exactly one of the three kinds is not NULL, for n_rows examples. */
typedef struct drove_target {
    const int32_t  *y_class;                  /* [n_rows] */
    const float    *y_value;                  /* [n_rows] */
    const uint64_t *label_first, *label_last; /* [n_rows] into label */
    const uint32_t *label;
} drove_target;

/* Sums over examples, in double, so that parts can be added in a fixed order. */
typedef struct drove_score {
    double loss; /* sum over examples */
    size_t n_rows;
    size_t n_correct;                                     /* classes */
    size_t true_positive, false_positive, false_negative; /* multi-label, for micro-F1 */
} drove_score;
void drove__score_add(drove_score *to, const drove_score *from);

/* A worker's scratch for passes of at most max_rows examples; one thread at a time. */
typedef struct drove_pass {
    size_t  max_rows;
    float **out;    /* [n_layers][max_rows][n_out] outputs of each layer */
    float **delta;  /* [n_layers][max_rows][n_out] derivative at each layer's output */
    float  *db;     /* [largest n_out] a layer's bias gradient, where there is no vector */
    float  *memory; /* one allocation behind all of them */
} drove_pass;
drove_status drove__pass_init(drove_pass *pass, const drove_model *model, size_t max_rows);
void         drove__pass_fini(drove_pass *pass);

/* out[n_layers-1] then holds the raw outputs (logits) of n_rows examples. */
void drove__model_forward(const drove_model *model, const drovek_table *k, const float *theta,
                          const drove_input *in, drove_pass *pass);
/* Adds the loss of the outputs to *score; with scale > 0 also writes delta[n_layers-1] = scale *
 * dloss/doutput. */
void drove__model_loss(const drove_model *model, const drovek_table *k, const drove_target *target,
                       size_t n_rows, float scale, drove_pass *pass, drove_score *score);
/* Gradient of everything below the delta of the last layer, into grad[n_params] (every element is
 * written, unless the input is sparse and spans_wanted: then the rows of the first layer's W that
 * no example touches are left alone). after_layer(context, layer) is called when a layer's part of
 * grad is complete, from the last layer to the first; may be NULL. */
typedef void drove_layer_done_fn(void *context, size_t layer);
void drove__model_backward(const drove_model *model, const drovek_table *k, const float *theta,
                           const drove_input *in, drove_pass *pass, float *grad, bool spans_wanted,
                           drove_layer_done_fn *after_layer, void *context);
/* The same, with every layer's step put straight into theta (theta -= eta * gradient): no gradient
 * vector exists. A layer's delta is passed down before its W changes.  Batch 1: equals backward
 * followed by the rule sgd bit for bit.  Larger batches: the matrix product accumulates into
 * theta.  [racy: theta] */
void drove__model_backward_fused(const drove_model *model, const drovek_table *k, float *theta,
                                 const drove_input *in, drove_pass *pass, float eta);
/* Predictions from the raw outputs: probabilities (softmax, sigmoid, logistic) or values;
 * prob[n_rows][n_outputs]. */
void drove__model_predict(const drove_model *model, size_t n_rows, const drove_pass *pass,
                          float *prob);

#endif
