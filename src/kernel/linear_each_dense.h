/* kernel/linear_each_dense.h - includes a file once for every dense combination of formats.
 *
 *     #define EACH_BODY "kernel/linear_dense_body.h"
 *     #include "kernel/linear_each_dense.h"
 *
 * With DENSE_WHOLE_BYTES defined before the first #include: but those of 4 bits.
 * The body sees DATA and MODEL (i4, i8, i16, f32) and uses them through
 *
 *     DATA_NUMBER, MODEL_NUMBER    the drove_number of each
 *     DENSE_NAME(op)               op_i8_i8, ...: the name that DENSE_SLOTS expects
 *     MODEL_NAME(op)               op_i8, ...: of functions without data
 *     IS_FIRST_DATA                1 once for each MODEL
 *
 * DENSE_SLOTS(op) initialises a [DATA][MODEL] array of drovek_linear, as SPARSE_SLOTS does in
 * linear_each_sparse.h; DENSE_TABLE all of its dense members, from linear_dense_body.h. */
#ifndef DROVEK_LINEAR_EACH_DENSE_H
#define DROVEK_LINEAR_EACH_DENSE_H

#define DENSE_NUMBER_i4  DROVE_I4
#define DENSE_NUMBER_i8  DROVE_I8
#define DENSE_NUMBER_i16 DROVE_I16
#define DENSE_NUMBER_f32 DROVE_F32

#define DENSE_IS_FIRST_i4  0
#define DENSE_IS_FIRST_i8  1
#define DENSE_IS_FIRST_i16 0
#define DENSE_IS_FIRST_f32 0

#define DENSE_NUMBER_2(format) DENSE_NUMBER_##format
#define DENSE_NUMBER_1(format) DENSE_NUMBER_2(format)
#define DENSE_NAME_2(op, d, m) op##_##d##_##m
#define DENSE_NAME_1(op, d, m) DENSE_NAME_2(op, d, m)
#define MODEL_NAME_2(op, m)    op##_##m
#define MODEL_NAME_1(op, m)    MODEL_NAME_2(op, m)

#define DATA_NUMBER    DENSE_NUMBER_1(DATA)
#define MODEL_NUMBER   DENSE_NUMBER_1(MODEL)
#define DENSE_NAME(op) DENSE_NAME_1(op, DATA, MODEL)
#define MODEL_NAME(op) MODEL_NAME_1(op, MODEL)
#define IS_FIRST_DATA  DENSE_NAME_1(DENSE, IS_FIRST, DATA)

#ifdef DENSE_WHOLE_BYTES
#define DENSE_SLOT_I4(slot)
#else
#define DENSE_SLOT_I4(slot) [DROVE_I4] = slot,
#endif
#define DENSE_SLOTS_D(op, d)                                                                       \
    {                                                                                              \
        DENSE_SLOT_I4(op##_##d##_i4)                                                               \
        [DROVE_I8] = op##_##d##_i8, [DROVE_I16] = op##_##d##_i16, [DROVE_F32] = op##_##d##_f32     \
    }
#ifdef DENSE_WHOLE_BYTES
#define DENSE_SLOTS_I4(op)
#else
#define DENSE_SLOTS_I4(op) [DROVE_I4] = DENSE_SLOTS_D(op, i4),
#endif
#define DENSE_SLOTS(op)                                                                            \
    {                                                                                              \
        DENSE_SLOTS_I4(op)                                                                         \
        [DROVE_I8] = DENSE_SLOTS_D(op, i8), [DROVE_I16] = DENSE_SLOTS_D(op, i16),                  \
        [DROVE_F32] = DENSE_SLOTS_D(op, f32)                                                       \
    }
#define MODEL_SLOTS(op)                                                                            \
    {                                                                                              \
        DENSE_SLOT_I4(op##_i4)                                                                     \
        [DROVE_I8] = op##_i8, [DROVE_I16] = op##_i16, [DROVE_F32] = op##_f32                       \
    }
#define DENSE_TABLE                                                                                \
    {                                                                                              \
        .dot = DENSE_SLOTS(dot), .axpy = DENSE_SLOTS(axpy), .axpy_dot = DENSE_SLOTS(axpy_dot),     \
        .merge = MODEL_SLOTS(merge), .decay = MODEL_SLOTS(decay)                                   \
    }

#endif

/* Recursion: this file includes itself until both are chosen. */
#if !defined(DATA)
#ifndef DENSE_WHOLE_BYTES
#define DATA i4
#include "kernel/linear_each_dense.h"
#undef DATA
#endif
#define DATA i8
#include "kernel/linear_each_dense.h"
#undef DATA
#define DATA i16
#include "kernel/linear_each_dense.h"
#undef DATA
#define DATA f32
#include "kernel/linear_each_dense.h"
#undef DATA
#undef EACH_BODY

#elif !defined(MODEL)
#ifndef DENSE_WHOLE_BYTES
#define MODEL i4
#include "kernel/linear_each_dense.h"
#undef MODEL
#endif
#define MODEL i8
#include "kernel/linear_each_dense.h"
#undef MODEL
#define MODEL i16
#include "kernel/linear_each_dense.h"
#undef MODEL
#define MODEL f32
#include "kernel/linear_each_dense.h"
#undef MODEL

#else
#include EACH_BODY
#endif
