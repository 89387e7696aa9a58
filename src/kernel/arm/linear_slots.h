/* kernel/arm/linear_slots.h - the dense kernels as functions, one per pair of formats, and their
 * table. */
#ifndef DROVEK_ARM_LINEAR_SLOTS_H
#define DROVEK_ARM_LINEAR_SLOTS_H

#include "kernel/arm/linear.h"
#include "kernel/arm/replicas.h"

#define DENSE_WHOLE_BYTES
#define EACH_BODY "kernel/linear_dense_body.h"
#include "kernel/linear_each_dense.h"

static size_t merge_i8(void *centre, void *w, void *last, size_t n, float share, drovek_bits *bits)
{
    return merge(DROVE_I8, centre, w, last, n, share, bits);
}

static void decay_i8(void *w, size_t n, float kappa, drovek_bits *bits)
{
    decay(DROVE_I8, w, n, kappa, bits);
}

static size_t merge_i16(void *centre, void *w, void *last, size_t n, float share, drovek_bits *bits)
{
    return merge(DROVE_I16, centre, w, last, n, share, bits);
}

static void decay_i16(void *w, size_t n, float kappa, drovek_bits *bits)
{
    decay(DROVE_I16, w, n, kappa, bits);
}

static size_t merge_f32(void *centre, void *w, void *last, size_t n, float share, drovek_bits *bits)
{
    return merge(DROVE_F32, centre, w, last, n, share, bits);
}

static void decay_f32(void *w, size_t n, float kappa, drovek_bits *bits)
{
    decay(DROVE_F32, w, n, kappa, bits);
}

static const drovek_linear dense = {
    .dot = DENSE_SLOTS(dot),
    .axpy = DENSE_SLOTS(axpy),
    .axpy_dot = DENSE_SLOTS(axpy_dot),
    .merge = MERGE_SLOTS,
    .decay = DECAY_SLOTS,
};

#endif
