/* kernel/kernel.h - the numeric kernels (slots.def): one table, filled per ISA tier, chosen once.
 *
 * ref/ (plain C) defines every kernel; x86/ and arm/ hold the tiers' own; onednn.c is the
 * library's matrix product, for shapes that the tiers' own is not made for.  Tests compare each
 * version with ref at edge lengths and alignments, within the bound named beside the kernel in
 * tests/kernel.  Within one tier a kernel gives the same bits for the same input, whatever the
 * alignment and the calling thread.
 *
 * Formats: f32 = IEEE single.  All matrices are row-major.  n may be 0.  No kernel allocates, locks
 * or keeps state, so any number of threads may call it at the same time.  (A library's own
 * threading is off: one caller, one core.)
 *
 * Shared elements: kernels marked [racy] may run while other threads read and write the same
 * elements (docs/inside/memory-model.md).  They access each shared element by one load and one
 * store of its own width or wider, which the compiler can neither split nor repeat.
 */
#ifndef DROVE_KERNEL_H
#define DROVE_KERNEL_H

#include "base/status.h"
#include "kernel/bf16.h"
#include "kernel/codes.h"
#include "kernel/curves.h"
#include "kernel/image.h"
#include "kernel/linear.h"
#include "kernel/strips.h"
#include "kernel/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first four are the ends of products, with slopes from y; the others, curves, have theirs from
 * x and work by themselves (curve_f32). */
typedef enum drovek_act {
    DROVEK_LINEAR,
    DROVEK_RELU,
    DROVEK_SIGMOID,
    DROVEK_TANH,
#define X(name) DROVEK_CURVE_##name,
    DROVE_CURVES(X)
#undef X
} drovek_act;

static inline bool drovek_is_curve(drovek_act act)
{
    return act > DROVEK_TANH;
}

/* windows_f32: C[i][j] = (adds: +=) sum over s < n_segments and p < k of A[i][s][p] B[s][p][j], the
 * products of convolutions on images in place, whose windows are overlapping rows of a matrix.
 *   A[i][s][p] = a[i * a_row + s * a_segment + p * a_step]
 *   B[s][p][j] = b[s * b_segment + p * b_step + j * b_column]
 *   C[i][j] = c[i * c_row + j]                               all of m, n, k, n_segments >= 1
 * b_column is 1; or more if a_step and b_step are 1: few rows, sums along k.
 * Order of a sum: s, then p ascending, by fused multiply-add (ref: as written); along k by lanes,
 * which are added at the end.  [racy: a, b, c] */
typedef struct drovek_windows {
    size_t       m, n, k, n_segments;
    const float *a;
    size_t       a_row, a_step, a_segment;
    const float *b;
    size_t       b_step, b_segment, b_column;
    float       *c;
    size_t       c_row;
    bool         adds;
} drovek_windows;

/* W[.][n] -= eta A^T B, by gemm_f32 with alpha -eta and beta 1, has the bits of the product and
 * then sgd_f32 up to this n and k: for these no version leaves it to a library, or adds to W before
 * it has summed all of k. */
enum { DROVEK_STEP_N = 512, DROVEK_STEP_K = 64 };

/* The update of n parameters with vectors of state by their gradient.  out may be in, and the same
 * for each state. [racy: all but g] */
enum { DROVEK_MOST_STATES = 4 };
typedef struct drovek_update {
    size_t       n;
    const float *g, *in, *state_in[DROVEK_MOST_STATES];
    float       *out, *state_out[DROVEK_MOST_STATES];
} drovek_update;

#define SLOT(name, result, arguments) typedef result drovek_##name##_fn arguments;
#include "kernel/slots.def"
typedef drovek_encode_i16_fn drovek_encode_fn; /* of all codes */
typedef drovek_decode_i16_fn drovek_decode_fn;

/* What factors are rounded to; or what the caller promises that they are, so that products of
 * narrower numbers give what those of singles would: integers of 8 or 16 bits, each array's times a
 * power of two; I8_I16: of the two factors of a product one has 8. */
typedef enum drovek_factors {
    DROVEK_FACTORS_F32,
    DROVEK_FACTORS_BF16,
    DROVEK_FACTORS_I8,
    DROVEK_FACTORS_I16,
    DROVEK_FACTORS_I8_I16
} drovek_factors;

/* The kernels that multiply factors, with these rounded to bf16. */
typedef struct drovek_products {
#define PRODUCT(name, result, arguments) drovek_##name##_f32_fn *name;
#include "kernel/slots.def"
    const char              *source; /* "drove avx512_bf16": as gemm_source */
    const drovek_strips_ops *strips; /* packed factors (strips.h); NULL: no gain */
} drovek_products;

/* A choice (drovek_select), where every kernel is there; or what one file of a tier replaces, where
 * NULL keeps the slower tier's version. */
typedef struct drovek_table {
    const char *isa; /* of a choice: "ref", "avx2", "avx512", "neon" ...: in logs and results */
#define SLOT(name, result, arguments) drovek_##name##_fn *name;
#include "kernel/slots.def"
    const char *gemm_source; /* "plain C", "drove; large: oneDNN 2.6.3 avx512_core" ... */
    /* Small products by the tier, large ones by the library: the choice's gemm_f32; NULL: none */
    drovek_gemm_f32_fn     *gemm_beside;
    drovek_products         bf16;
    drovek_gemm_f32_fn     *gemm_i8, *gemm_i16; /* for factors that are integers; NULL: gemm_f32 */
    const drovek_words_ops *words; /* NULL: widening them first is as fast; else used with bf16 */
    drovek_factors factors;        /* what the slots above round their factors to: drovek_narrow */
    /* Arrays of integers kept as bytes; NULL: floats are faster.  In a table narrowed to integers
     * `planes` is what layers use, elsewhere NULL. */
    const drovek_planes_ops *integers, *planes;
    const drovek_strips_ops *strips; /* bf16.strips, in a table narrowed to bf16; else NULL */
    drovek_linear            linear;
} drovek_table;

/* Fills *out with the best version of each kernel that the features `have` allow, up to the tier
 * called `cap` (NULL: no limit).  cap "ref" also bypasses every library; a lower cap limits the
 * library too (the library accepts this once per process, before its first product).
 * Errors: DROVE_E_ARG (cap is not a tier's name), DROVE_E_UNSUPPORTED (the
 * processor cannot run that tier). */
drove_status drovek_select(drovek_table *out, uint32_t have, const char *cap);

/* Out of a chosen table the one whose products round their factors, or may take them to be
 * integers; no other slot differs.  Where singles are the fastest for integers, the same table. */
drovek_table drovek_narrow(const drovek_table *chosen, drovek_factors factors);

/* Names of the tiers compiled in, slowest first; NULL-terminated. */
const char *const *drovek_tiers(void);

/* Every thread of ours calls it once before it uses the table: denormal numbers count as zero
 * (base/denormals.h), and a library's threading is off.  Not for a caller's thread. */
void drovek_thread_init(void);

/* The same in a thread of the caller's, from borrow until give_back. */
typedef struct drovek_thread {
    uint64_t denormals;
    int      n_library_threads;
} drovek_thread;
drovek_thread drovek_thread_borrow(void);
void          drovek_thread_give_back(drovek_thread before);

#endif
