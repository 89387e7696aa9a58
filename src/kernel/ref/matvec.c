/* kernel/ref/matvec.c - one example at a time: matrix-vector and outer products, dense and sparse
 * input.
 *
 * W[n_in][n_out] is shared with other threads: each element is loaded and stored once, through
 * base/racy.h.  All tiers use fused multiply-add, so their results are equal bit for bit (except
 * matvec_t, whose sums each tier may order as it likes).
 */
#include "base/racy.h"
#include "kernel/tiers.h"

#include <math.h>

#define REF(name)     drovek_##name##_f32_ref
#define PRODUCT(name) name##_f32
#define FACTOR(v)     (v)
#include "kernel/ref/matvec_body.h"
#undef REF
#undef PRODUCT
#undef FACTOR

#define REF(name)     drovek_##name##_bf16_ref
#define PRODUCT(name) name##_bf16
#define FACTOR(v)     drovek_bf16(v)
#include "kernel/ref/matvec_body.h"
