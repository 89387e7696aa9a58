/* kernel/lanes/matvec.h - one example at a time, vectorised.
 *
 * A dense input becomes a list (index, value) of its non-zero elements, so that dense and sparse
 * inputs share the code on rows of W[n_in][n_out].  n_out is cut into blocks of WIDE, HALF or one
 * register; a block of y or dy stays in registers over all rows.  Each y[o] is one chain of fused
 * multiply-adds in the order of the list: the bits of ref/matvec.c.  W is shared memory.
 */
#ifndef DROVEK_LANES_MATVEC_H
#define DROVEK_LANES_MATVEC_H

#define PRODUCT(name)            name##_f32
#define FACTOR(v)                (v)
#define ONE_FACTOR(v)            (v)
#define FMA_AT(sum, x, p, count) racy_fma(sum, x, p, count)
#include "kernel/lanes/matvec_body.h"
#undef PRODUCT
#undef FACTOR
#undef ONE_FACTOR
#undef FMA_AT

#endif
