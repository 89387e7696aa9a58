/* model/layer.h - the interface of a kind of layer.  One file per kind, one row in
 * drove__layer_kinds; slots are called once per pass, never per element.
 *
 * Several threads may work on one batch (drove_call.part of n_parts): forward and backward of all
 * parts run concurrently, then, after a barrier, their _finish.  A layer that works by example
 * takes the rows [first_row, last_row) of the call.  Results may depend on n_parts, never on
 * timing.
 *
 * Images come in blocks: blob[n_rows][c / block][h * w][block], with block = c (NHWC), 8 or 16
 * (NCHW8, NCHW16); vectors are one block of n numbers.
 */
#ifndef DROVE_MODEL_LAYER_H
#define DROVE_MODEL_LAYER_H

#include "model/model.h"

#include <drove/custom.h>

typedef enum drove_layer_format {
    DROVE_FORMAT_SAME,  /* bottoms and output have one format, NHWC or blocks */
    DROVE_FORMAT_PLAIN, /* NHWC; the model's input as it is */
    DROVE_FORMAT_OWN    /* as the slot `formats` says */
} drove_layer_format;

typedef struct drove_call { /* one pass of one layer */
    const drove_layer  *layer;
    size_t              index; /* of the layer */
    const drovek_table *k;
    const float        *theta;
    const drove_input  *input; /* the model's input; n_rows is that of all parts */
    drove_pass         *pass;
    void               *own; /* pass->own[index] */
    size_t              n_rows;
    unsigned            part, n_parts;
    size_t              first_row, last_row; /* of this part */
    const drove_bottom *bottom; /* [n_bottoms]; the first's x is not NULL if input->dense is not */
    /* Integers to read and write in place of floats (model/integers.h); NULL: floats. */
    struct drove_layer_integers *integers;
    const uint16_t *words;  /* a dense layer's weights in the place of theta's; NULL: none */
    drovek_format   format; /* of the output */
    float          *y;      /* [n_rows][n_out] */
    /* backward only */
    float *dy; /* [n_rows][n_out] derivative at the output; may be overwritten */
    /* [n_params] writes this layer's views and the gaps after them; of a frozen layer scratch for
     * these, which it may leave alone. */
    float *grad;
    bool   spans_wanted;
    bool   adds; /* to grad: a dense layer, of more than a few rows, by one part */
} drove_call;

struct drove_layer_ops {
    const char *name, *help, *source; /* "convolution": its name in model files and summaries */
    unsigned    least_bottoms, most_bottoms;
    drove_layer_format format;
    bool               takes_act;   /* an activation right after it can be merged into it (act) */
    bool               reads_words; /* reads weights that are words of bf16 (kernel/words.h) */
    const struct drove_integer_ops *integers; /* model/integers.h; NULL: works on floats alone */
    /* From l->opt and bottom[n]: l->in, out, n_w, n_b, w_shape, w_rank, fan_in, fan_out,
     * n_statistics.  n_outputs: of the whole model, for opt.n_out 0.  Errors: DROVE_E_ARG,
     * DROVE_E_SHAPE (the text lacks the layer's name: the caller adds it). */
    drove_status (*shape)(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                          size_t n_outputs);
    /* Multiply-adds of one example, forward.  NULL: 0. */
    uint64_t (*multiply_adds)(const drove_layer *l);
    /* FORMAT_OWN: chooses the working formats from in[n_bottoms], those of the bottoms.
     * Errors: DROVE_E_NOMEM. */
    drove_status (*formats)(const drove_pass_options *opt, const drove_layer *l,
                            const drovek_format *in, drovek_format *want, drovek_format *out);
    /* Bytes of scratch (mask, positions of maxima, columns) for opt->max_rows; NULL: none. */
    size_t (*scratch_bytes)(const drove_pass_options *opt, const drove_layer *l);
    /* Called after all pointers of the pass are set: *own becomes call->own of the slots below.
     * NULL: nothing to prepare.  release accepts own NULL.  Errors: DROVE_E_NOMEM. */
    drove_status (*prepare)(const drove_pass_options *opt, const drove_pass *pass, size_t index,
                            void **own);
    void (*release)(void *own);

    void (*forward)(const drove_call *c);
    void (*forward_finish)(const drove_call *c); /* NULL: nothing */
    /* dy -> bottom[i].dx (if not NULL; added to it if bottom[i].adds) and grad. */
    void (*backward)(const drove_call *c);
    void (*backward_finish)(const drove_call *c); /* NULL: nothing */
    /* dx, where backward has left it: the layer's gradient is complete, and others may change it
     * meanwhile.  NULL: backward leaves nothing. */
    void (*backward_input)(const drove_call *c);
    /* One part: applies the step directly to theta; db[n_out] is scratch.  NULL: not supported. */
    void (*backward_fused)(const drove_call *c, float *theta, float *db, float eta);
    /* With factors in singles and dense input: whether that has the bits of backward and then the
     * rule sgd.  Where backward_fused is. */
    bool (*fuses_exactly)(const drove_layer *l, size_t n_rows);
    /* Batch normalisation: [2][c] means and variances of the last forward pass in training. */
    const float *(*statistics)(const void *own);
    const drove_custom_layer *custom; /* a program's own kind; else NULL */
};

/* All kinds: a new one is its file and its name here. */
#define DROVE_LAYER_KINDS(X)                                                                       \
    X(dense)                                                                                       \
    X(convolution)                                                                                 \
    X(max_pool)                                                                                    \
    X(average_pool)                                                                                \
    X(lrn)                                                                                         \
    X(dropout)                                                                                     \
    X(batch_norm)                                                                                  \
    X(layer_norm)                                                                                  \
    X(concat)                                                                                      \
    X(sum)                                                                                         \
    X(product)                                                                                     \
    X(flatten)                                                                                     \
    X(activation)                                                                                  \
    X(prelu)                                                                                       \
    X(softmax)                                                                                     \
    X(reshape)                                                                                     \
    X(scale)                                                                                       \
    X(normalize)                                                                                   \
    X(clip)                                                                                        \
    X(gather)

#define X(name) extern const drove_layer_ops drove__layer_##name;
DROVE_LAYER_KINDS(X)
#undef X
extern const drove_layer_ops *const drove__layer_kinds[]; /* all of them; NULL-terminated */

/* The layer at which backward first writes the derivative of layer l's output; n_layers: the loss
 * does. */
size_t drove__model_first_writer(const drove_model *model, size_t l);

/* to[n] = the sum of from[n_parts][stride]'s first n, in the order of the parts. */
void drove__layer_sum_parts(const drove_call *c, const float *from, size_t stride, size_t n,
                            float *to);

/* For kinds that take an activation, on this part's rows: y = act(y), backward: dy *= act'(y). */
void drove__layer_act(const drove_call *c);
void drove__layer_act_back(const drove_call *c);

/* Slots that several kinds fill alike: the output has the shape of the only input; input and output
 * have channels last. */
drove_status drove__layer_shape_same(drove_layer *l, const drove_shape *bottom, unsigned n_bottoms,
                                     size_t n_outputs);
drove_status drove__layer_formats_last(const drove_pass_options *opt, const drove_layer *l,
                                       const drovek_format *in, drovek_format *want,
                                       drovek_format *out);

/* Writes zeros into the gaps after the layer's views of grad. */
void drove__layer_zero_gaps(const drove_layer *l, float *grad);

#endif
