/* kernel/x86/linear_dense_avx512.c - dense kernels of low precision: the AVX-512 tier. */
#include "kernel/tiers.h"

#include "kernel/x86/linear_lanes_avx512.h"

#include "kernel/x86/linear_dense.h"

const drovek_linear drovek_linear_dense_avx512 = {
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
