/* kernel/linear_each_sparse.h - includes a file once for every sparse combination of formats.
 *
 *     #define EACH_BODY "kernel/ref/linear_sparse_body.h"
 *     #include "kernel/linear_each_sparse.h"
 *
 * The body sees DATA (8, 16, 32f), INDEX (8, 16, 32) and MODEL (8, 16, 32f) and uses them through
 *
 *     DATA_TYPE, INDEX_TYPE, MODEL_TYPE        the types of the arrays
 *     PLACE(previous, index)                   the position that an index number stands for
 *     NAME(op)                                 op_d8_i8_m8, ...: the name that SPARSE_SLOTS expects
 *     FOR_FORMATS(name)                        name_8_8, ...: by data and model
 *
 * SPARSE_SLOTS(op) initialises a [DATA][INDEX][MODEL] array of drovek_linear, SPARSE_TABLE all of
 * its sparse members.  Function and slot names come from the same macros: a missing body does not
 * compile, and a body that no slot uses is an unused function. */
#ifndef DROVEK_LINEAR_EACH_SPARSE_H
#define DROVEK_LINEAR_EACH_SPARSE_H

#define TYPE_8           int8_t
#define TYPE_16          int16_t
#define TYPE_32f         float
#define INDEX_TYPE_8     uint8_t
#define INDEX_TYPE_16    uint16_t
#define INDEX_TYPE_32    uint32_t
#define IS_DIFFERENCE_8  1
#define IS_DIFFERENCE_16 1
#define IS_DIFFERENCE_32 0

#define JOIN_2(a, b)              a##b
#define JOIN(a, b)                JOIN_2(a, b)
#define NAME_2(op, d, i, m)       op##_d##d##_i##i##_m##m
#define NAME_1(op, d, i, m)       NAME_2(op, d, i, m)
#define FOR_FORMATS_2(name, d, m) name##_##d##_##m
#define FOR_FORMATS_1(name, d, m) FOR_FORMATS_2(name, d, m)

#define DATA_TYPE              JOIN(TYPE_, DATA)
#define INDEX_TYPE             JOIN(INDEX_TYPE_, INDEX)
#define MODEL_TYPE             JOIN(TYPE_, MODEL)
#define NAME(op)               NAME_1(op, DATA, INDEX, MODEL)
#define FOR_FORMATS(name)      FOR_FORMATS_1(name, DATA, MODEL)
#define PLACE(previous, index) (JOIN(IS_DIFFERENCE_, INDEX) ? (previous) + (index) : (index))

#define NUMBER_8       DROVE_I8
#define NUMBER_16      DROVE_I16
#define NUMBER_32f     DROVE_F32
#define INDEX_PLACE_8  0
#define INDEX_PLACE_16 1
#define INDEX_PLACE_32 2

#define SPARSE_SLOT(op, d, i, m) [NUMBER_##d][INDEX_PLACE_##i][NUMBER_##m] = op##_d##d##_i##i##_m##m
#define SPARSE_SLOTS_DI(op, d, i)                                                                  \
    SPARSE_SLOT(op, d, i, 8), SPARSE_SLOT(op, d, i, 16), SPARSE_SLOT(op, d, i, 32f)
#define SPARSE_SLOTS_D(op, d)                                                                      \
    SPARSE_SLOTS_DI(op, d, 8), SPARSE_SLOTS_DI(op, d, 16), SPARSE_SLOTS_DI(op, d, 32)
#define SPARSE_SLOTS(op)                                                                           \
    {                                                                                              \
        SPARSE_SLOTS_D(op, 8), SPARSE_SLOTS_D(op, 16), SPARSE_SLOTS_D(op, 32f)                     \
    }
#define SPARSE_TABLE                                                                               \
    {                                                                                              \
        .spdot = SPARSE_SLOTS(spdot), .spaxpy = SPARSE_SLOTS(spaxpy)                               \
    }

#endif

/* Recursion: this file includes itself until all three are chosen. */
#if !defined(DATA)
#define DATA 8
#include "kernel/linear_each_sparse.h"
#undef DATA
#define DATA 16
#include "kernel/linear_each_sparse.h"
#undef DATA
#define DATA 32f
#include "kernel/linear_each_sparse.h"
#undef DATA
#undef EACH_BODY

#elif !defined(INDEX)
#define INDEX 8
#include "kernel/linear_each_sparse.h"
#undef INDEX
#define INDEX 16
#include "kernel/linear_each_sparse.h"
#undef INDEX
#define INDEX 32
#include "kernel/linear_each_sparse.h"
#undef INDEX

#elif !defined(MODEL)
#define MODEL 8
#include "kernel/linear_each_sparse.h"
#undef MODEL
#define MODEL 16
#include "kernel/linear_each_sparse.h"
#undef MODEL
#define MODEL 32f
#include "kernel/linear_each_sparse.h"
#undef MODEL

#else
#include EACH_BODY
#endif
