/* kernel/x86/linear_dense_avx512vnni.c - dense low-precision kernels of AVX-512 with VNNI, which
 * multiplies and adds bytes, or words, in one instruction.  The other slots are those of the
 * AVX-512 tier, since VNNI would not change an instruction of theirs. */
#include "kernel/tiers.h"

#include "kernel/x86/linear_lanes_avx512.h"

#include "kernel/x86/linear_dense.h"

const drovek_table drovek_linear_dense_avx512vnni = {
    .linear.dot =
        {
            [DROVE_I4] = {[DROVE_I4] = dot_i4_i4, [DROVE_I8] = dot_i4_i8},
            [DROVE_I8] = {[DROVE_I4] = dot_i8_i4, [DROVE_I8] = dot_i8_i8},
        },
    .linear.axpy =
        {
            [DROVE_I8] = {[DROVE_I8] = axpy_i8_i8, [DROVE_I16] = axpy_i8_i16},
            [DROVE_I16] = {[DROVE_I8] = axpy_i16_i8, [DROVE_I16] = axpy_i16_i16},
        },
    .linear.axpy_dot =
        {
            [DROVE_I4] = {[DROVE_I4] = axpy_dot_i4_i4, [DROVE_I8] = axpy_dot_i4_i8},
            [DROVE_I8] = {[DROVE_I4] = axpy_dot_i8_i4,
                          [DROVE_I8] = axpy_dot_i8_i8,
                          [DROVE_I16] = axpy_dot_i8_i16},
            [DROVE_I16] = {[DROVE_I8] = axpy_dot_i16_i8, [DROVE_I16] = axpy_dot_i16_i16},
        },
};
