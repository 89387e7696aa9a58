/* engine/accel/operations.h - what passes and layers are made of: the places of blobs, the numbers
 * of kernels, activations.
 *
 * What computes is put on the engine's queue `work`.  Images are NHWC.
 */
#ifndef DROVE_ENGINE_ACCEL_OPERATIONS_H
#define DROVE_ENGINE_ACCEL_OPERATIONS_H

#include "engine/accel/state.h"
#include "model/layer.h"

static inline drove_accel_view drove__accel_y(const drove_engine *e, size_t layer)
{
    return drove__accel_view(e->pass.out[layer], 0);
}

/* The derivative at the output. */
static inline drove_accel_view drove__accel_dy(const drove_engine *e, size_t layer)
{
    return drove__accel_view(e->pass.delta[e->pass.plan.delta_of[layer]], 0);
}

/* What bottom i holds: images as NHWC, the model's input for dense layers as it is. */
drove_accel_view drove__accel_x(const drove_engine *e, size_t layer, unsigned i);
/* The derivative there. */
drove_accel_view drove__accel_dx(const drove_engine *e, size_t layer, unsigned i);

/* A vector of n numbers, cut into rows. */
static inline drove_numbers drove__accel_vector(size_t n)
{
    return (drove_numbers){.rows = (unsigned)((n + DROVE_JOB_COLS - 1) / DROVE_JOB_COLS),
                           .cols = DROVE_JOB_COLS,
                           .from_row = DROVE_JOB_COLS,
                           .to_row = DROVE_JOB_COLS,
                           .n = (unsigned)n,
                           .scale = 1.0f};
}

/* Shapes and window of a layer; rows, cols: still to be set. */
drove_numbers drove__accel_numbers(const drove_layer *y);

/* to[n] = act(from); dx[n] (+)= dy act'(.) by the output y.  In place, too. */
drove_status drove__accel_activate(drove_engine *e, drove_accel_view from, drove_accel_view to,
                                   size_t n, drovek_act act);
drove_status drove__accel_derive(drove_engine *e, drove_accel_view dy, drove_accel_view y,
                                 drove_accel_view dx, size_t n, drovek_act act, bool adds);

/* to[c] = scale * sums over all rows by the job of c columns, which writes those of blocks of rows
 * to its place b, in an order that depends on the shape alone; scratch: drove__accel_sum_floats.
 * _all: to[1], over the columns, too. */
drove_status drove__accel_sum(drove_engine *e, drove_accel_job *job, float scale,
                              drove_accel_view to);
drove_status drove__accel_sum_all(drove_engine *e, drove_accel_job *job, float scale,
                                  drove_accel_view to);
size_t       drove__accel_sum_floats(size_t rows, size_t cols);

/* Of a layer with weights, its outputs rows of n: bias and activation; and in backward the
 * derivative before the activation, and the bias's gradient. */
drove_status drove__accel_finish_forward(drove_engine *e, size_t layer, size_t n_rows, size_t n);
drove_status drove__accel_begin_backward(drove_engine *e, size_t layer, size_t n_rows, size_t n);

#endif
