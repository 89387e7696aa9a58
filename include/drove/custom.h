/* drove/custom.h - losses and layers of the program's own, as functions that drove calls.
 *
 * They are given to options, and hold for each run, trainer or predictor that is made with them and
 * for nothing else in the process.  A saved model names them; its file holds no code.
 *
 * Threads: drove calls the functions from several worker threads at once, with the same context and
 * batches of their own.  With workers "procs:N" they run in processes that were forked from the
 * program: what they write to memory stays there.  They return before the run does, must not call
 * longjmp or exit, and may not train, cancel excepted, with the run that calls them.
 *
 * Failure: a function that cannot go on returns a status other than DROVE_OK and may write one line
 * to why[why_size].  The run, or the call of a trainer or predictor, then ends with this status,
 * and drove_error_text() is "loss NAME: WHY" or "layer NAME: WHY".  A status without a name counts
 * as DROVE_E_SYSTEM.
 *
 * Where they work: on the processor's cores, with every strategy, rule and number of ranks, on
 * floats, also beside bf16 products.  Devices and parameters in a low precision are refused with
 * DROVE_E_UNSUPPORTED.
 */
#ifndef DROVE_CUSTOM_H
#define DROVE_CUSTOM_H

#include <drove/metrics.h>
#include <drove/options.h>
#include <drove/predictor.h>
#include <drove/status.h>
#include <drove/train.h>

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* Limits of what options can hold. */
enum {
    DROVE_CUSTOM_NAME_SIZE = 64, /* bytes of the longest name, with the NUL */
    DROVE_CUSTOM_LAYERS = 8,     /* kinds of layers of a program */
    DROVE_LOSS_ROWS = 1024       /* most examples of one call of a loss */
};

/* ---- a loss ---- */

/* What the outputs of a network with this loss mean: how predictions follow from them. */
typedef enum drove_outputs {
    DROVE_OUTPUTS_PLAIN,   /* values, or scores of classes or labels, as they are */
    DROVE_OUTPUTS_SIGMOID, /* the sigmoid of each is a probability: labels, or two classes */
    DROVE_OUTPUTS_SOFTMAX  /* their softmax is the probability of each class */
} drove_outputs;

/* Outputs and targets of some examples, and where their losses go.  One kind of target is there:
 * class_of, values, or the labels; the other pointers are NULL.  All memory is drove's and valid
 * during the call. */
typedef struct drove_loss_batch {
    size_t         n_rows;    /* examples, 1 to DROVE_LOSS_ROWS */
    size_t         n_outputs; /* of the network, for one example */
    const float   *outputs;   /* [n_rows][n_outputs] */
    const int32_t *class_of;  /* [n_rows] from 0 */
    const float   *values;    /* [n_rows][n_outputs] targets of regression */
    /* [n_rows] the labels of row i are label[label_first[i]] to label[label_last[i] - 1] */
    const uint64_t *label_first;
    const uint64_t *label_last; /* [n_rows] end of each row's labels */
    const uint32_t *label;      /* numbers of labels, < n_outputs */
    float          *loss;       /* out [n_rows] the loss of each example, without its weight */
    /* out [n_rows][n_outputs] of each example's loss by its outputs; NULL: not wanted */
    float *derivative;
    char  *why;      /* out [why_size] why the function failed, one line; "" before */
    size_t why_size; /* bytes of why, with the NUL */
} drove_loss_batch;

/* A loss.  An example's loss depends on its own outputs and target alone: drove adds the losses,
 * weighs them, and calls in pieces.  The number of outputs follows from the data: one for each
 * class, label or value. */
typedef struct drove_custom_loss {
    /* Letters, digits and _, and no loss of drove: in results and saved models */
    const char   *name;
    drove_outputs outputs;        /* what the outputs mean */
    int           has_one_output; /* not 0: two classes have one output, above 0 for class 1 */
    void         *context;        /* first argument of eval */
    /* Fills in batch->loss and, where it is wanted, batch->derivative. */
    drove_status (*eval)(void *context, const drove_loss_batch *batch);
} drove_custom_loss;

/* Gives the options this loss, and sets the option loss to its name.  *loss is copied, its context
 * is borrowed until everything made with the options is gone.  NULL: none any more.  Errors:
 * DROVE_E_ARG (no name or function, a name that drove or another loss has). */
drove_status drove_options_set_loss(drove_options *options, const drove_custom_loss *loss);

/* Compares the derivatives of eval with differences of its losses, output by output, and calls it
 * with one example too, whose loss must be the same.  batch: outputs and targets of at most
 * DROVE_LOSS_ROWS examples, where the loss is smooth; its loss, derivative and why are not used.
 * *worst: largest |difference - derivative| / max(1, |derivative|, |loss| / 100); may be NULL.
 * bound: the most that it may be, 0 = 0.005.  Errors: DROVE_E_DATA (which output is beyond the
 * bound, an example's loss that depends on the others), DROVE_E_ARG (no examples or function),
 * DROVE_E_NONFINITE, DROVE_E_NOMEM, those of eval. */
drove_status drove_loss_check(const drove_custom_loss *loss, const drove_loss_batch *batch,
                              double bound, double *worst);

/* ---- a kind of layer ---- */

/* Shape of one example at a layer's input or output; a vector of n numbers is {n, 1, 1}. */
typedef struct drove_layer_shape {
    size_t channels, height, width; /* each at least 1 */
} drove_layer_shape;

/* What a layer of a network is told once, when the network is made. */
typedef struct drove_layer_sizes {
    drove_layer_shape in;           /* of its input */
    size_t            units;        /* the key of its description; 0: not given */
    drove_layer_shape out;          /* of its output: shape sets it */
    size_t            n_parameters; /* shape sets it */
} drove_layer_sizes;

/* A layer's work on some examples.  Numbers of an image lie in the order [row][column][channel].
 * All memory is drove's and valid during the call. */
typedef struct drove_layer_batch {
    const drove_layer_sizes *sizes;      /* of the layer */
    size_t                   n_rows;     /* examples, at least 1 */
    const float             *x;          /* [n_rows][in] */
    const float             *parameters; /* [n_parameters]; others may change them meanwhile */
    float                   *y;          /* [n_rows][out]: forward writes it, backward reads it */
    const float             *dy;         /* backward: [n_rows][out] of the loss by y */
    float                   *dx;         /* backward, out: [n_rows][in]; NULL: not wanted */
    float   *gradient;    /* backward, out: [n_parameters], the sum over the examples */
    int      is_training; /* 0: evaluation or prediction */
    uint64_t seed;        /* of the batch, for random numbers: the same in backward */
    size_t   first_row;   /* number in the batch of the first example here */
    char    *why;         /* out [why_size], as in drove_loss_batch */
    size_t   why_size;    /* bytes of why, with the NUL */
} drove_layer_batch;

/* A kind of layer with one input.  The output of an example depends on its own input and the
 * parameters alone.  In a network's description (docs/use/models.md) the name is a type. */
typedef struct drove_custom_layer {
    /* Letters, digits and _, and no type of drove's own */
    const char *name;
    void       *context; /* first argument of each function */
    /* Sets sizes->out and sizes->n_parameters by sizes->in and sizes->units. */
    drove_status (*shape)(void *context, drove_layer_sizes *sizes, char *why, size_t why_size);
    /* Writes the first parameters[n_parameters]; not called without any.  NULL: they are 0. */
    drove_status (*start)(void *context, const drove_layer_sizes *sizes, uint64_t seed,
                          float *parameters, char *why, size_t why_size);
    /* Writes batch->y. */
    drove_status (*forward)(void *context, const drove_layer_batch *batch);
    /* Writes batch->dx, where it is wanted, and batch->gradient. */
    drove_status (*backward)(void *context, const drove_layer_batch *batch);
} drove_custom_layer;

/* Gives the options this kind of layer, for networks that are read with them.  *layer is copied,
 * its context is borrowed until everything made with the options is gone.  Errors: DROVE_E_ARG (no
 * name or a function missing, a name that drove or another layer has, more than
 * DROVE_CUSTOM_LAYERS). */
drove_status drove_options_add_layer(drove_options *options, const drove_custom_layer *layer);

/* Makes one layer and compares, on random numbers drawn by the seed, dx and gradient with
 * differences of sum(dy * y).  Also: examples one by one have the outputs that they have together;
 * every number of y, dx and gradient is written.  *worst: largest |difference - derivative| /
 * max(1, |derivative|); may be NULL.  bound: the most that it may be, 0 = 0.01.  Errors:
 * DROVE_E_DATA (what is beyond the bound, not written, or depends on other examples), DROVE_E_ARG
 * (functions, shapes), DROVE_E_NONFINITE, DROVE_E_NOMEM, those of the layer. */
drove_status drove_layer_check(const drove_custom_layer *layer, drove_layer_shape in, size_t units,
                               uint64_t seed, double bound, double *worst);

/* ---- saved models with them ----
 *
 * A model with a custom loss predicts without it; training on from it and its loss on data need it.
 * A model with custom layers needs them for everything: without, opening it is DROVE_E_UNSUPPORTED.
 * drove_run and drove_trainer_open take them from their options. */

/* As drove_predictor_open, with the options model and isa, and the layers given to the options.
 * Errors: the same, DROVE_E_UNSUPPORTED (a layer is missing). */
drove_status drove_predictor_open_with(const drove_options *options, drove_predictor **out);
/* As drove_eval_metrics, with the loss and the layers given to the options; all else is use's.
 * metrics may be NULL.  Errors: the same, DROVE_E_UNSUPPORTED (the loss or a layer is missing). */
drove_status drove_eval_with(const drove_options *options, const drove_use_options *use,
                             drove_score_report *out, drove_metrics **metrics);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
