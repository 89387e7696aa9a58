/* kernel/arm/linear_slots.h - the dense kernels as functions of their own, one for each pair of
 * formats, and the table of them. */
#ifndef DROVEK_ARM_LINEAR_SLOTS_H
#define DROVEK_ARM_LINEAR_SLOTS_H

#include "kernel/arm/linear.h"
#include "kernel/arm/replicas.h"

static double dot_i8_i8(const void *x, const void *w, size_t n)
{
    return dot(DROVE_I8, DROVE_I8, x, w, n);
}

static size_t axpy_i8_i8(void *w, const void *const *x, const drovek_factor *factor, size_t n_rows,
                         size_t n, drovek_bits *bits)
{
    return axpy(DROVE_I8, DROVE_I8, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_i8_i8(void *w, const void *x, const drovek_factor *factor, const void *next,
                             const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped)
{
    return axpy_dot(DROVE_I8, DROVE_I8, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_i8_i16(const void *x, const void *w, size_t n)
{
    return dot(DROVE_I8, DROVE_I16, x, w, n);
}

static size_t axpy_i8_i16(void *w, const void *const *x, const drovek_factor *factor, size_t n_rows,
                          size_t n, drovek_bits *bits)
{
    return axpy(DROVE_I8, DROVE_I16, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_i8_i16(void *w, const void *x, const drovek_factor *factor, const void *next,
                              const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped)
{
    return axpy_dot(DROVE_I8, DROVE_I16, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_i8_f32(const void *x, const void *w, size_t n)
{
    return dot(DROVE_I8, DROVE_F32, x, w, n);
}

static size_t axpy_i8_f32(void *w, const void *const *x, const drovek_factor *factor, size_t n_rows,
                          size_t n, drovek_bits *bits)
{
    return axpy(DROVE_I8, DROVE_F32, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_i8_f32(void *w, const void *x, const drovek_factor *factor, const void *next,
                              const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped)
{
    return axpy_dot(DROVE_I8, DROVE_F32, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_i16_i8(const void *x, const void *w, size_t n)
{
    return dot(DROVE_I16, DROVE_I8, x, w, n);
}

static size_t axpy_i16_i8(void *w, const void *const *x, const drovek_factor *factor, size_t n_rows,
                          size_t n, drovek_bits *bits)
{
    return axpy(DROVE_I16, DROVE_I8, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_i16_i8(void *w, const void *x, const drovek_factor *factor, const void *next,
                              const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped)
{
    return axpy_dot(DROVE_I16, DROVE_I8, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_i16_i16(const void *x, const void *w, size_t n)
{
    return dot(DROVE_I16, DROVE_I16, x, w, n);
}

static size_t axpy_i16_i16(void *w, const void *const *x, const drovek_factor *factor,
                           size_t n_rows, size_t n, drovek_bits *bits)
{
    return axpy(DROVE_I16, DROVE_I16, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_i16_i16(void *w, const void *x, const drovek_factor *factor,
                               const void *next, const void *ahead, size_t n, drovek_bits *bits,
                               size_t *n_clamped)
{
    return axpy_dot(DROVE_I16, DROVE_I16, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_i16_f32(const void *x, const void *w, size_t n)
{
    return dot(DROVE_I16, DROVE_F32, x, w, n);
}

static size_t axpy_i16_f32(void *w, const void *const *x, const drovek_factor *factor,
                           size_t n_rows, size_t n, drovek_bits *bits)
{
    return axpy(DROVE_I16, DROVE_F32, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_i16_f32(void *w, const void *x, const drovek_factor *factor,
                               const void *next, const void *ahead, size_t n, drovek_bits *bits,
                               size_t *n_clamped)
{
    return axpy_dot(DROVE_I16, DROVE_F32, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_f32_i8(const void *x, const void *w, size_t n)
{
    return dot(DROVE_F32, DROVE_I8, x, w, n);
}

static size_t axpy_f32_i8(void *w, const void *const *x, const drovek_factor *factor, size_t n_rows,
                          size_t n, drovek_bits *bits)
{
    return axpy(DROVE_F32, DROVE_I8, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_f32_i8(void *w, const void *x, const drovek_factor *factor, const void *next,
                              const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped)
{
    return axpy_dot(DROVE_F32, DROVE_I8, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_f32_i16(const void *x, const void *w, size_t n)
{
    return dot(DROVE_F32, DROVE_I16, x, w, n);
}

static size_t axpy_f32_i16(void *w, const void *const *x, const drovek_factor *factor,
                           size_t n_rows, size_t n, drovek_bits *bits)
{
    return axpy(DROVE_F32, DROVE_I16, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_f32_i16(void *w, const void *x, const drovek_factor *factor,
                               const void *next, const void *ahead, size_t n, drovek_bits *bits,
                               size_t *n_clamped)
{
    return axpy_dot(DROVE_F32, DROVE_I16, w, x, factor, next, ahead, n, bits, n_clamped);
}

static double dot_f32_f32(const void *x, const void *w, size_t n)
{
    return dot(DROVE_F32, DROVE_F32, x, w, n);
}

static size_t axpy_f32_f32(void *w, const void *const *x, const drovek_factor *factor,
                           size_t n_rows, size_t n, drovek_bits *bits)
{
    return axpy(DROVE_F32, DROVE_F32, w, x, factor, n_rows, n, bits);
}

static double axpy_dot_f32_f32(void *w, const void *x, const drovek_factor *factor,
                               const void *next, const void *ahead, size_t n, drovek_bits *bits,
                               size_t *n_clamped)
{
    return axpy_dot(DROVE_F32, DROVE_F32, w, x, factor, next, ahead, n, bits, n_clamped);
}

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
    .dot[DROVE_I8] = {dot_i8_i8, dot_i8_i16, dot_i8_f32},
    .dot[DROVE_I16] = {dot_i16_i8, dot_i16_i16, dot_i16_f32},
    .dot[DROVE_F32] = {dot_f32_i8, dot_f32_i16, dot_f32_f32},
    .axpy[DROVE_I8] = {axpy_i8_i8, axpy_i8_i16, axpy_i8_f32},
    .axpy[DROVE_I16] = {axpy_i16_i8, axpy_i16_i16, axpy_i16_f32},
    .axpy[DROVE_F32] = {axpy_f32_i8, axpy_f32_i16, axpy_f32_f32},
    .axpy_dot[DROVE_I8] = {axpy_dot_i8_i8, axpy_dot_i8_i16, axpy_dot_i8_f32},
    .axpy_dot[DROVE_I16] = {axpy_dot_i16_i8, axpy_dot_i16_i16, axpy_dot_i16_f32},
    .axpy_dot[DROVE_F32] = {axpy_dot_f32_i8, axpy_dot_f32_i16, axpy_dot_f32_f32},
    .merge = {merge_i8, merge_i16, merge_f32},
    .decay = {decay_i8, decay_i16, decay_f32},
};

#endif
