/* tests/unit/model/one_layer.h - one layer on its own: its slots are called as a pass calls them,
 * by several parts one after the other, in any format, on inputs and derivatives that the caller
 * gives in NHWC.
 */
#ifndef DROVE_TESTS_MODEL_ONE_LAYER_H
#define DROVE_TESTS_MODEL_ONE_LAYER_H

#include "model/layer.h"

enum { ONE_LAYER_BOTTOMS = 3 };

typedef struct one_layer_options {
    const drove_layer_ops *ops;
    drove_layer_options    opt;
    drovek_act             act;
    unsigned               n_bottoms;
    drove_shape            bottom[ONE_LAYER_BOTTOMS];
    size_t                 n_rows;
    const char            *isa;
    drovek_format          format; /* of the bottoms */
    unsigned               n_parts;
    bool                   adds, inference;
    uint64_t               seed, batch;
} one_layer_options;

typedef struct one_layer {
    one_layer_options  given;
    drovek_table       kernels;
    drove_model        model; /* layers 0 .. are the bottoms' makers, the last is the layer */
    drove_layer        layers[ONE_LAYER_BOTTOMS + 1];
    drove_pass         pass;
    drove_pass_options options;
    drove_bottom       bottom[ONE_LAYER_BOTTOMS];
    void              *own;
    float             *x[ONE_LAYER_BOTTOMS], *dx[ONE_LAYER_BOTTOMS], *y, *dy, *theta, *grad;
    drovek_format      out_format;
} one_layer;

/* The layer's shape alone, into *l. */
drove_status one_layer_shape(const one_layer_options *opt, drove_layer *l);

void               one_layer_init(one_layer *t, const one_layer_options *opt);
void               one_layer_fini(one_layer *t);
const drove_layer *one_layer_of(const one_layer *t);

/* x[i][n_rows][.] in NHWC -> y[n_rows][n_out] in NHWC. */
void one_layer_forward(one_layer *t, float *const *x, float *y);
/* dy[n_rows][n_out] -> dx[i][n_rows][.], both in NHWC; with adds, dx is what is added to. */
void one_layer_backward(one_layer *t, const float *dy, float *const *dx);

#endif
