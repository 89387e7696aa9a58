/* model/model.h - a model: a graph of layers over one flat parameter vector, with forward and
 * backward passes.
 *
 * No threads, no allocation after creation: a model is immutable and shared by all workers; the
 * caller's drove_pass holds the memory of a pass.
 *
 * Blobs: blob 0 is the model's input, blob l + 1 the output of layer l.  Layers are in an order in
 * which each one's bottoms (the blobs that it reads) come before it.  A chain of dense layers is
 * the simplest graph.
 *
 * Parameters theta[n_params]: layer after layer, its weights, then its biases; each view starts on
 * a 16-float boundary (the gap is zero and stays zero: its gradient is zero).  Weights are stored
 * input-major: dense W[n_in][n_out], so that a sparse example or a zero input touches whole
 * contiguous rows; convolution W[groups][kh][kw][c / groups][o / groups].  After all layers come
 * the population statistics of batch normalisation, whose gradient is zero.
 */
#ifndef DROVE_MODEL_MODEL_H
#define DROVE_MODEL_MODEL_H

#include "base/rng.h"
#include "base/spec_keys.h"
#include "base/status.h"
#include "kernel/conv/conv.h"
#include "kernel/kernel.h"
#include "kernel/span.h"

#include <float.h>
#include <stdio.h>

enum {
    DROVE_LAYER_NAME_SIZE = 64,
    DROVE_LAYER_MOST_BOTTOMS = 32, /* of one layer */
    DROVE_MODEL_MOST_HEADS = 8
};

typedef struct drove_layer_ops drove_layer_ops; /* model/layer.h */
typedef struct drove_kinds     drove_kinds;     /* model/custom.h */
typedef struct drove_custom    drove_custom;    /* base/options.h */

/* Shape of one example: channels, height, width; a vector of n numbers is {n, 1, 1}. */
typedef struct drove_shape {
    size_t c, h, w;
} drove_shape;
static inline size_t drove__shape_floats(drove_shape s)
{
    return s.c * s.h * s.w;
}

/* Initial values that a model's description gives to a layer; kind NULL: by --init or its
 * default. */
typedef struct drove_filler {
    const char *kind;  /* an initialiser's name, or "constant"; static text */
    float       value; /* gain, deviation, or the constant */
} drove_filler;

/* Fixed numbers of a layer: memory of malloc, owned by the graph's node or by the model's layer. */
typedef struct drove_floats {
    size_t n;
    float *value;
} drove_floats;

/* The same of places in a vector. */
typedef struct drove_indices {
    size_t    n;
    uint32_t *value;
} drove_indices;

/* Local response normalisation: (kappa + alpha / size * sum of squares) ^ beta. */
typedef struct drove_lrn {
    size_t size; /* channels summed over */
    float  alpha, beta, kappa;
} drove_lrn;

typedef struct drove_bounds {
    float low, high;
} drove_bounds;

/* What stands beside a window's zeros above and left (window.ph, window.pw). */
typedef struct drove_padding {
    size_t below, right; /* zeros there */
    bool   is_uncounted; /* average pooling: they are no part of a window's area */
} drove_padding;

/* Sides of an image that a layer reshapes to. */
typedef struct drove_image_sides {
    size_t height, width;
    bool   is_last; /* its numbers are in the order [h][w][c], as TensorFlow has them */
} drove_image_sides;

/* Sides of an image along which numbers are normalised together. */
typedef struct drove_over {
    bool channels, height, width;
} drove_over;

/* As w_lr and b_lr, of what no step changes: model files say 0. */
#define DROVE_LR_NONE (-1.0f)

/* Options of all kinds of layers; each kind uses its own part. */
typedef struct drove_layer_options {
    size_t        n_out;     /* dense: units; convolution: channels; 0: as many as the data require;
                             prelu: slopes; 0: one a channel */
    size_t        groups;    /* convolution; 0 counts as 1 */
    drovek_window window;    /* convolution, pooling; a size of 0 counts as 1 */
    drove_padding padding;   /* convolution, pooling */
    bool          is_global; /* pooling: the window is the whole image */
    bool      rounds_up; /* pooling: a last window may extend beyond the edge (Caffe), else not */
    drove_lrn lrn;
    float     ratio;                                 /* dropout: part of the numbers set to 0 */
    float     epsilon;                               /* batch and layer normalisation */
    bool      no_bias;                               /* dense, convolution */
    float     coefficient[DROVE_LAYER_MOST_BOTTOMS]; /* sum, one for each bottom */
    /* Factors of the step size: 1 unless a file says so, and 0 counts as 1; DROVE_LR_NONE. */
    float             w_lr, b_lr;
    drove_filler      w_filler, b_filler;
    drove_image_sides sides;      /* reshape, with n_out channels; n_out 0: all numbers, a vector */
    drove_over        over;       /* layer normalisation */
    drove_floats  offset, factor; /* scale: none, 1, one a channel, or one a number, [c][h][w] */
    drove_bounds  bounds;         /* clip */
    float         slope, level;   /* activation: its numbers, or DROVE_ACT_OWN */
    size_t        power;          /* normalize: 1 or 2 */
    drove_indices index;          /* gather: the input number of each output, of [c][h][w] */
} drove_layer_options;

/* The lists of options: offset, factor, index.  Copies replace those of *o, which has none after a
 * failure.  Errors: DROVE_E_NOMEM. */
drove_status drove__layer_lists_copy(drove_layer_options *o);
void         drove__layer_lists_free(drove_layer_options *o);

/* What training does with a layer. */
typedef struct drove_layer_training {
    bool is_only;         /* no path leads to the main head: evaluation leaves it out */
    bool is_frozen;       /* its parameters are views into model->frozen, which nothing changes */
    bool is_constant;     /* no parameter of theta changes its output: it has no derivative */
    bool is_above_matrix; /* of a part (freeze.h): a layer that is cut off has a weight matrix */
} drove_layer_training;

typedef struct drove_layer {
    const drove_layer_ops *ops;
    char                   name[DROVE_LAYER_NAME_SIZE]; /* "conv1"; in a chain "layer0" ... */
    unsigned               n_bottoms;
    uint32_t               bottom[DROVE_LAYER_MOST_BOTTOMS]; /* blobs */
    bool adds[DROVE_LAYER_MOST_BOTTOMS]; /* backward: another layer has already written its delta */
    drove_layer_training training;

    drove_shape         in, out;     /* of the first bottom, of the output */
    size_t              n_in, n_out; /* floats per example of in and out */
    drovek_act          act;         /* applied to the output */
    drove_layer_options opt;

    size_t   w_offset, b_offset; /* views into theta (or frozen); equal if there are none */
    size_t   n_w, n_b;           /* numbers in them */
    size_t   w_shape[5];         /* of the weights, outermost first */
    unsigned w_rank;
    size_t   n_params;               /* n_w + n_b, without the gaps */
    size_t   fan_in, fan_out;        /* of the weights: inputs of an output, outputs of an input */
    size_t   n_statistics, s_offset; /* batch normalisation: [2][c] means, variances */
} drove_layer;

typedef struct drove_loss_ops drove_loss_ops; /* model/loss.h */

/* A layer whose output has a loss, and the weight of that loss. */
typedef struct drove_head {
    size_t layer;
    float  weight;
} drove_head;

typedef struct drove_model {
    char        spec[1024]; /* "mlp:128,128,128", "lenet", "nets/mine.yaml" */
    char        activation[32];
    char       *graph_text; /* a model from a file: its description as YAML; else NULL */
    char       *notes;      /* parts of its file that drove does not support, a line each; NULL */
    float      *initial;    /* [n_params] that its file has, from drove__alloc; NULL: none */
    float      *frozen; /* [n_frozen] parameters and statistics of frozen layers (freeze.h); NULL */
    drove_shape input;
    size_t      n_inputs, n_outputs; /* floats per example */
    size_t      n_params;            /* length of theta, gaps and statistics included */
    size_t      n_weights;           /* trained numbers (134,794 for the thesis's MLP) */
    size_t      n_statistics;        /* the last numbers of theta: not trained */
    size_t      n_frozen;            /* length of frozen, gaps included */
    size_t      n_layers;
    bool        is_chain;      /* of dense layers, each reading the previous one */
    bool        is_random;     /* has dropout: passes of training need a seed */
    bool        has_new_heads; /* the last layer of each head is drawn, whatever `initial` has */
    /* What its products round their factors to: engines narrow their kernels to it.  Set by who
     * creates the model; DROVEK_FACTORS_F32 of a new one. */
    drovek_factors factors;
    /* Label smoothing of the loss in training, in [0, 1): targets of 0 and 1 are that much of the
     * way to equal ones.  Set by who creates the model; 0 of a new one. */
    float label_smoothing;

    drove_layer          *layer;
    unsigned              n_heads; /* the last one is the main head, used in evaluation */
    drove_head            head[DROVE_MODEL_MOST_HEADS];
    const drove_loss_ops *loss;  /* of all heads */
    drove_kinds          *kinds; /* the program's own loss and layers; NULL: none */
} drove_model;

/* Requirements of the data on a model (from the data set, or from a model file). */
typedef struct drove_model_io {
    size_t      n_features;
    size_t      n_classes; /* classes or labels; 0 = values */
    size_t      n_values;  /* of an example, with values; 0 counts as 1 */
    int         is_multi_label;
    drove_shape image; /* of an example; all 0: not an image */
    /* The last layer of each head is made anew, with as many outputs as these data require. */
    bool makes_heads;
    /* The program's own loss and layers, borrowed while a model is made; NULL: none. */
    const drove_custom *custom;
} drove_model_io;

/* A family: one row of model/zoo.c; `drove list models` walks it. */
typedef struct drove_model_ops {
    const char           *name, *help, *source;
    const char           *default_loss; /* NULL: by the target (softmax, sigmoid, squared) */
    const char           *default_rule; /* the rule that it was published with; NULL: sgd */
    const drove_spec_key *keys;         /* of its spec, which `build` takes; NULL: none */
    drove_status (*build)(const drove_spec *spec, const drove_model_io *io, drovek_act act,
                          drove_model *model);
} drove_model_ops;
extern const drove_model_ops *const drove__models[]; /* NULL-terminated */

/* The rule that a model's family was published with; "sgd" for all others. */
const char *drove__model_default_rule(const char *spec);

/* A number of an activation: what it is without one, and in ONNX, whose attribute it is there
 * (NULL: ONNX has none). */
typedef struct drove_act_number {
    const char *attribute;
    float       value, onnx_value;
} drove_act_number;

/* Activations that a network's hidden layers can have; `drove list activations` walks it. */
typedef struct drove_activation {
    const char      *name, *help, *source;
    drovek_act       act;
    const char      *onnx; /* the operator that is it, and takes no more than its numbers; NULL */
    drove_act_number slope, level; /* the options of these names; value 0: it has none */
} drove_activation;
extern const drove_activation drove__activations[];              /* ends with name NULL */
const drove_activation       *drove__activation(drovek_act act); /* NULL: linear */
/* As a layer's slope or level: that of its activation. */
#define DROVE_ACT_OWN FLT_MAX

/* The model where no other is named. */
#define DROVE_MODEL_USUAL "mlp:128,128,128"

/* spec: "" = DROVE_MODEL_USUAL; a family, or a file that describes a network (drove__graph_is_file)
 * with its activations.
 * activation NULL or "": relu (linear models have none and ignore it).  loss NULL or "": the
 * family's default.  *out owns copies of everything it needs.  Errors: DROVE_E_ARG (unknown name,
 * with the nearest; sizes), DROVE_E_SHAPE (loss and target do not match), DROVE_E_NOMEM; for files
 * also DROVE_E_FILE, DROVE_E_IO, DROVE_E_DATA. */
drove_status drove__model_create(const char *spec, const char *activation, const char *loss,
                                 const drove_model_io *io, drove_model **out);
void         drove__model_destroy(drove_model *model); /* may be NULL */

/* Shape of an example in blob 0 (the input) or l + 1 (the output of layer l). */
static inline drove_shape drove__blob_shape(const drove_model *model, uint32_t blob)
{
    return blob == 0 ? model->input : model->layer[blob - 1].out;
}

/* The part of theta that a layer's gradient fills: from its weights to the next layer's (empty if
 * the layer has no parameters); the last layer's part ends at the statistics. */
void drove__model_layer_part(const drove_model *model, size_t layer, size_t *offset, size_t *n);

/* Whether its weights are a matrix: of dense layers and convolutions. */
bool drove__layer_has_matrix(const drove_layer *layer);
/* Weights of hidden layers that are matrices, for rules by matrix: all but the first of the whole
 * network, frozen or not, and the outputs; of these the trained ones.  Writes
 * out[at most n_layers], ascending; returns how many. */
size_t drove__model_matrices(const drove_model *model, drove_weight_matrix *out);
/* Gives every layer its views into theta or, if it is frozen, into `frozen`; sets is_constant and
 * the sizes of both vectors.  Errors: DROVE_E_ARG (too large). */
drove_status drove__model_lay_out(drove_model *model);

/* Multiply-adds of one example, forward. */
uint64_t drove__layer_multiply_adds(const drove_layer *layer);
/* Prints a table for people: layers, shapes, activations, parameters, multiply-adds, heads, and
 * sums.
 * Errors: DROVE_E_IO. */
drove_status drove__model_print(const drove_model *model, FILE *stream);

/* Fills theta[n_params] by an initialiser's spec: "xavier:1", "he:1" (gain), "normal:0.01"
 * (standard deviation).  Biases: 0 for xavier and he; drawn like the weights for normal (the thesis
 * draws all of theta).  "" = the parameters of the model's file, if it has some; else he:1 for
 * relu, xavier:1 otherwise; linear models start at 0. */
typedef struct drove_init_ops {
    const char           *name, *help, *source;
    const drove_spec_key *keys; /* of one double: the gain, or the deviation */
    void (*fill)(double number, const drove_layer *layer, drove_rng *rng, float *theta);
} drove_init_ops;
extern const drove_init_ops *const drove__inits[]; /* NULL-terminated */
/* The same for the last layer of each head alone, as by "" without a file. */
drove_status drove__model_init_heads(const drove_model *model, uint64_t seed, float *theta);
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

/* Exactly one of the three kinds of targets is not NULL, for n_rows examples. */
typedef struct drove_target {
    const int32_t  *y_class;                  /* [n_rows] */
    const float    *y_value;                  /* [n_rows][n_outputs] */
    const uint64_t *label_first, *label_last; /* [n_rows] into label */
    const uint32_t *label;
    const float    *weight; /* [n_rows] of each example's loss, not negative; NULL: 1 */
    /* [n_rows] classes of the examples that these are mixed with, and the share of the own; NULL:
     * not mixed */
    const int32_t *y_other;
    float          own_share;
} drove_target;

/* The targets from example `first` on. */
drove_target drove__target_from(const drove_target *whole, size_t first, size_t n_outputs);

/* Sums over examples, in double, so that parts can be added in a fixed order.  Each example counts
 * by its weight, which is 1 unless the data have weights. */
typedef struct drove_score {
    double loss;
    size_t n_rows;                                        /* examples, whatever their weight */
    double weight;                                        /* of all examples */
    double n_correct;                                     /* classes */
    double true_positive, false_positive, false_negative; /* multi-label, for micro-F1 */
} drove_score;
void drove__score_add(drove_score *to, const drove_score *from);
/* Weighted mean loss of an example; NaN if there is none; 0 if all weigh nothing. */
double drove__score_mean_loss(const drove_score *score);

/* Shared by several threads that work on one batch; a lone thread: {0, 1, NULL, NULL}. */
typedef struct drove_part {
    unsigned part, n_parts;
    void (*meet)(void *context, unsigned part); /* barrier: returns when all parts have called it */
    void *context;
} drove_part;

/* model/integers.h */
typedef struct drove_round    drove_round;
typedef struct drove_taker    drove_taker;
typedef struct drove_integers drove_integers;

typedef struct drove_pass_options {
    const drove_model  *model;
    const drovek_table *kernels;  /* borrowed until fini */
    size_t              rows;     /* usual number of examples; 0: max_rows */
    size_t              max_rows; /* limit */
    unsigned            n_parts;  /* threads that work on one batch; 0 counts as 1 */
    bool                trains;   /* backward will be called  */
    uint64_t            seed;     /* of dropout's masks */
    /* Rounds what every pass reads and writes (model/integers.h), by one part and with kernels
     * narrowed to its factors; NULL: nothing is rounded.  Borrowed until fini. */
    const drove_round *round;
} drove_pass_options;

/* A layer's access to one of its bottoms, in its working format. */
typedef struct drove_bottom {
    const float  *x;    /* [max_rows][.]; NULL: the model's input, in the caller's layout */
    float        *dx;   /* NULL: not wanted */
    bool          adds; /* dx: add instead of write */
    drovek_format format;
    float        *copy, *copy_delta; /* x and dx if the blob has another format, else NULL */
} drove_bottom;

/* The first failure of a program's own loss or layer since drove__pass_outcome.  Parts of a team
 * may fail at once: the one that claims it writes status and text, which are read behind the
 * barrier at the pass's end (docs/inside/memory-model.md). */
typedef struct drove_pass_failure {
    _Atomic int  is_claimed;
    drove_status status;
    char         text[DROVE_ERROR_TEXT_SIZE];
} drove_pass_failure;

/* Scratch for passes of at most max_rows examples; used by the parts of one team at a time. */
typedef struct drove_pass {
    const drove_model *model;
    size_t             max_rows;
    unsigned           n_parts;
    bool               trains;
    float            **out; /* [n_layers][max_rows][n_out] outputs of each layer */
    float **delta; /* [n_layers] derivative at each layer's output, valid while it is needed */
    drovek_format     *format;      /* [n_layers + 1] of each blob */
    drove_bottom      *bottom;      /* [n_layers][DROVE_LAYER_MOST_BOTTOMS] */
    void             **own;         /* [n_layers] set by ops->prepare */
    float             *db;          /* [largest n_out] a layer's bias gradient in a fused step */
    float             *unwanted;    /* [model->n_frozen] gradients of frozen layers; NULL: none */
    float             *memory;      /* one allocation for all outputs and derivatives */
    size_t             n_bytes;     /* of everything here */
    bool               is_training; /* for the current pass; else dropout and such are off */
    drove_integers    *integers;    /* NULL: nothing is rounded */
    const drove_taker *taker;       /* for the current pass; NULL: gradients stay where they are */
    /* [n_layers] for the current pass: shared weights of dense layers to read where they are, in
     * the place of theta's (kernel/words.h); NULL, or an entry NULL: theta's */
    const uint16_t *const *words;
    uint64_t               seed, batch; /* keys of the current batch's masks */
    drove_pass_failure     failure;     /* of a function of the program's own */
} drove_pass;

/* Bytes that a pass will take, without its convolutions' own memory; SIZE_MAX: more than can be
 * counted.  Errors: DROVE_E_NOMEM. */
drove_status drove__pass_bytes(const drove_pass_options *opt, size_t *n_bytes);
/* Errors: DROVE_E_ARG (too large), DROVE_E_NOMEM. */
drove_status drove__pass_create(const drove_pass_options *opt, drove_pass *pass);
/* The same for one training thread, with max_rows as the usual number. */
drove_status drove__pass_init(drove_pass *pass, const drove_model *model,
                              const drovek_table *kernels, size_t max_rows);
void         drove__pass_fini(drove_pass *pass);
/* After a pass, by the thread that owns it: DROVE_OK, or the failure of a program's own loss or
 * layer in it, whose numbers then mean nothing.  Clears it. */
drove_status drove__pass_outcome(drove_pass *pass);

/* Whether the layer can read its weights as words (pass->words). */
bool drove__layer_reads_words(const drove_layer *l);

/* out[main head] then holds the raw outputs (logits) of n_rows examples.  pass->is_training,
 * pass->batch, pass->taker and pass->words describe the pass. */
void drove__model_forward(const drove_model *model, const drovek_table *k, const float *theta,
                          const drove_input *in, drove_pass *pass);
/* Adds the main head's loss to *score; with scale > 0 also writes the derivative at each head:
 * scale * the head's weight * the example's weight * dloss/doutput.  Every engine on the host forms
 * its gradient here, so this is where weights of examples act, and in training label smoothing and
 * mixed targets, which count in *score too. */
void drove__model_loss(const drove_model *model, const drovek_table *k, const drove_target *target,
                       size_t n_rows, float scale, drove_pass *pass, drove_score *score);
/* Where backward puts the gradient.  Every element is written, unless the input is sparse and
 * spans_wanted: then rows of the first layer's W that no example touches are unchanged. */
typedef void drove_layer_done_fn(void *context, size_t layer);
typedef struct drove_backward {
    float *grad; /* [n_params] */
    bool   spans_wanted;
    /* To what grad holds, by one part: of a chain of dense layers, where drove__model_fuses. */
    bool adds;
    /* Called when a layer's part of grad is complete, from the last layer to the first; or NULL. */
    drove_layer_done_fn *after_layer;
    void                *context;
} drove_backward;
/* Computes the gradient below the heads' derivatives. */
void drove__model_backward(const drove_model *model, const drovek_table *k, const float *theta,
                           const drove_input *in, drove_pass *pass, const drove_backward *to);
/* The same for a team: every part calls each of them, with barriers of their own inside; part 0
 * calls after_layer.  All parts must pass a barrier between forward and loss (part 0 alone), and
 * before backward. */
void drove__model_forward_part(const drove_model *model, const drovek_table *k, const float *theta,
                               const drove_input *in, drove_pass *pass, const drove_part *part);
void drove__model_backward_part(const drove_model *model, const drovek_table *k, const float *theta,
                                const drove_input *in, drove_pass *pass, const drove_backward *to,
                                const drove_part *part);
/* A linear model: outputs x W + b alone, of one dense layer with biases. */
bool drove__model_is_linear(const drove_model *model);
/* Whether every layer can apply its step directly to theta. */
bool drove__model_fuses(const drove_model *model);
/* Whether they do, and a step of n_rows dense examples has the bits of backward followed by the
 * rule sgd. */
bool drove__model_fuses_exactly(const drove_model *model, size_t n_rows);
/* The same, but every layer applies its step directly to theta (theta -= eta * gradient), without a
 * gradient vector.  A layer's delta is passed down before its W changes.  Of more than a few rows
 * the matrix product accumulates into theta.  Needs drove__model_fuses.  [racy: theta] */
void drove__model_backward_fused(const drove_model *model, const drovek_table *k, float *theta,
                                 const drove_input *in, drove_pass *pass, float eta);
/* Adds share * the statistics of the last training forward pass to those in theta. */
void drove__model_add_statistics(const drove_model *model, const drove_pass *pass, float share,
                                 float *theta);
/* Predictions from the raw outputs: probabilities (softmax, sigmoid, logistic) or values;
 * prob[n_rows][n_outputs]. */
void drove__model_predict(const drove_model *model, size_t n_rows, const drove_pass *pass,
                          float *prob);

#endif
