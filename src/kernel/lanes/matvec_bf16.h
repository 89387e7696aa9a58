/* kernel/lanes/matvec_bf16.h - the products of matvec.h with factors in bf16 (kernel/bf16.h): the
 * same lists, blocks and order of sums, so the bits of ref/matvec.c. */
#ifndef DROVEK_LANES_MATVEC_BF16_H
#define DROVEK_LANES_MATVEC_BF16_H

#define PRODUCT(name)            name##_bf16
#define FACTOR(v)                vec_bf16(v)
#define ONE_FACTOR(v)            drovek_bf16(v)
#define FMA_AT(sum, x, p, count) vec_fma(x, vec_bf16(racy_load(p, count)), sum)
#include "kernel/lanes/matvec_body.h"
#undef PRODUCT
#undef FACTOR
#undef ONE_FACTOR
#undef FMA_AT

#endif
