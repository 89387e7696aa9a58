/* model/layer.h - what every layer provides.  One file per layer; slots are called once per pass,
 * never per element. */
#ifndef DROVE_MODEL_LAYER_H
#define DROVE_MODEL_LAYER_H

#include "model/model.h"

struct drove_layer_ops {
    const char *name; /* "dense" */
    /* y[n_rows][n_out] = layer(x).  in is the model's input for the first layer, else a dense view
     * of the layer below. */
    void (*forward)(const drove_layer *l, const drovek_table *k, const float *theta,
                    const drove_input *in, float *y);
    /* dy [n_rows][n_out] in: derivative at the output (overwritten by the derivative before the
     * activation). grad: this layer's W and b parts are written.  dx NULL: nothing below needs it;
     * else [n_rows][n_in] written. */
    void (*backward)(const drove_layer *l, const drovek_table *k, const float *theta,
                     const drove_input *in, const float *y, float *dy, float *dx, float *grad,
                     bool spans_wanted);
    void (*backward_fused)(const drove_layer *l, const drovek_table *k, float *theta,
                           const drove_input *in, const float *y, float *dy, float *dx, float *db,
                           float eta);
};

extern const drove_layer_ops drove__layer_dense;

#endif
