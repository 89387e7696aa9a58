/* engine/accel/layers.h - the kinds of layers that accelerators have: one row each of the table in
 * layers.c.
 *
 * Every function puts operations on the engine's queue `work`.  Images are NHWC.
 */
#ifndef DROVE_ENGINE_ACCEL_LAYERS_H
#define DROVE_ENGINE_ACCEL_LAYERS_H

#include "engine/accel/operations.h"

typedef struct drove_accel_layer {
    const drove_layer_ops *ops;
    bool has_own_act; /* forward and weights deal with y->act; else the pass does */
    drove_status (*forward)(drove_engine *e, size_t layer);
    /* From the derivative at the output: before the activation, where has_own_act, and the
     * parameters' gradient.  NULL: nothing. */
    drove_status (*weights)(drove_engine *e, size_t layer);
    /* Then that of bottom i, which is a blob of a layer. */
    drove_status (*data)(drove_engine *e, size_t layer, unsigned i);
    size_t (*kept)(const drove_layer *y,
                   size_t             rows); /* floats from forward to backward; or NULL */
    size_t (*scratch)(const drove_layer *y, size_t rows); /* floats of scratch; or NULL */
} drove_accel_layer;

/* NULL: accelerators do not have it. */
const drove_accel_layer *drove__accel_layer(const drove_layer *y);

/* conv.c */
drove_status drove__accel_conv_forward(drove_engine *e, size_t layer);
drove_status drove__accel_conv_weights(drove_engine *e, size_t layer);
drove_status drove__accel_conv_data(drove_engine *e, size_t layer, unsigned i);
size_t       drove__accel_conv_scratch(const drove_layer *y, size_t rows);
/* Of any layer: where the kind has a library of convolutions, prepares e->pass.conv[layer]. */
drove_status drove__accel_conv_prepare(drove_engine *e, size_t layer);

/* norm.c */
drove_status drove__accel_lrn_forward(drove_engine *e, size_t layer);
drove_status drove__accel_lrn_data(drove_engine *e, size_t layer, unsigned i);
drove_status drove__accel_batch_norm_forward(drove_engine *e, size_t layer);
drove_status drove__accel_batch_norm_weights(drove_engine *e, size_t layer);
drove_status drove__accel_batch_norm_data(drove_engine *e, size_t layer, unsigned i);
size_t       drove__accel_batch_norm_kept(const drove_layer *y, size_t rows);
size_t       drove__accel_batch_norm_scratch(const drove_layer *y, size_t rows);

/* layer_norm.c */
drove_status drove__accel_layer_norm_forward(drove_engine *e, size_t layer);
drove_status drove__accel_layer_norm_weights(drove_engine *e, size_t layer);
drove_status drove__accel_layer_norm_data(drove_engine *e, size_t layer, unsigned i);
size_t       drove__accel_layer_norm_kept(const drove_layer *y, size_t rows);
size_t       drove__accel_layer_norm_scratch(const drove_layer *y, size_t rows);
drove_status drove__accel_prelu_forward(drove_engine *e, size_t layer);
drove_status drove__accel_prelu_weights(drove_engine *e, size_t layer);
drove_status drove__accel_prelu_data(drove_engine *e, size_t layer, unsigned i);
size_t       drove__accel_prelu_scratch(const drove_layer *y, size_t rows);

#endif
