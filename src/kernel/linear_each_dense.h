/* kernel/linear_each_dense.h - includes a file once for every dense combination of formats.
 *
 *     #define EACH_BODY "kernel/linear_dense_body.h"
 *     #include "kernel/linear_each_dense.h"
 *
 * The body sees DATA and MODEL (i8, i16, f32) and uses them through
 *
 *     DATA_NUMBER, MODEL_NUMBER    the drove_number of each
 *     DENSE_NAME(op)               op_i8_i8, ...: the name that DENSE_SLOTS expects
 *
 * DENSE_SLOTS(op) initialises a [DATA][MODEL] array of drovek_linear, as SPARSE_SLOTS does in
 * linear_each_sparse.h. */
#ifndef DROVEK_LINEAR_EACH_DENSE_H
#define DROVEK_LINEAR_EACH_DENSE_H

#define DENSE_NUMBER_i8  DROVE_I8
#define DENSE_NUMBER_i16 DROVE_I16
#define DENSE_NUMBER_f32 DROVE_F32

#define DENSE_NUMBER_2(format) DENSE_NUMBER_##format
#define DENSE_NUMBER_1(format) DENSE_NUMBER_2(format)
#define DENSE_NAME_2(op, d, m) op##_##d##_##m
#define DENSE_NAME_1(op, d, m) DENSE_NAME_2(op, d, m)

#define DATA_NUMBER    DENSE_NUMBER_1(DATA)
#define MODEL_NUMBER   DENSE_NUMBER_1(MODEL)
#define DENSE_NAME(op) DENSE_NAME_1(op, DATA, MODEL)

#define DENSE_SLOTS_D(op, d)                                                                       \
    {                                                                                              \
        [DROVE_I8] = op##_##d##_i8, [DROVE_I16] = op##_##d##_i16, [DROVE_F32] = op##_##d##_f32     \
    }
#define DENSE_SLOTS(op)                                                                            \
    {                                                                                              \
        [DROVE_I8] = DENSE_SLOTS_D(op, i8), [DROVE_I16] = DENSE_SLOTS_D(op, i16),                  \
        [DROVE_F32] = DENSE_SLOTS_D(op, f32)                                                       \
    }

#endif

/* Recursion: this file includes itself until both are chosen. */
#if !defined(DATA)
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
