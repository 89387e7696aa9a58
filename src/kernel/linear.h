/* kernel/linear.h - dot and AXPY between data and model numbers of different formats.
 *
 * Source: De Sa et al., ISCA 2017, Figure 1 (the two lines of every step of a linear model),
 * section 5.1 (SIMD) and 5.2, equation 4 (rounding).  D = format of the data x, M = of the model w.
 * One table, indexed by formats, is part of drovek_table.  A tier replaces the slots it is faster
 * at, and every version gives the bits of ref, except where sums of floats are said to be in the
 * tier's own order.
 *
 * Exact definition of a step.  Integers (D and M both fixed point):
 *
 *     dot    = sum_i x_i w_i                          exact, then converted to double
 *     delta_i = floor((factor.a * x_i + r_i) / 2^factor.shift)
 *     w_i    = clamp(w_i + delta_i)                   never wraps; clamped writes are counted
 *
 * where r_i is a random integer in [0, 2^shift): the top `shift` bits of a random byte or 16-bit
 * word; of a shift above 16, (word + 1/2) 2^(shift - 16).  clamp is to the whole range of the
 * format: [-8, 7], [-128, 127] or [-32768, 32767].
 * The caller keeps these bounds on shift and on the sum of |a| over the rows of a batch
 * (engine/linear/rounding.h makes such factors).  Random numbers are bytes or words:
 *     one row of D8M8, D4M8, D4M4:  shift <= 8,  |a| <= 256:    bytes; 16-bit lanes suffice
 *     one row of D8M4:              shift <= 12, |a| <= 224:    words; 16-bit lanes suffice
 *     one row of others:            shift <= 15, |a| <= 32767:  words; 32-bit lanes suffice
 *     several rows:                 shift <= 22, sum <= 32767:  words; 32-bit lanes suffice
 * Each factor of a batch is rounded by itself.  With as few bits behind the point as one row has,
 * their errors would add up to more than that of the one rounding of the write.
 * Floats:
 *     D float, M integer:  delta_i = floor(fmaf(factor.f, x_i, (r_i + 0.5) / 2^16)), r_i a 16-bit
 *                          word; w_i + delta_i as above, and NaN counts as the lowest number
 *     M float:             w_i = fmaf(factor.f, x_i, w_i), not rounded further, not clamped
 *     dot with a float on either side: float multiply-adds, within the bound of tests/kernel
 *
 * Random bits come in blocks of 64 bytes: number i uses byte i % 64 or word i % 32 (little endian)
 * of its block; see drovek_bits.  Sparse rows count their stored numbers.  One row of D4M4 and of
 * D8M4 uses blocks two by two: the numbers at even positions use the first one, those at odd
 * positions the second, in order, so that the two halves of a register of pairs need no shuffling.
 * Without rounding (M float, or a share of 1) bits are neither read nor advanced, and may be NULL.
 *
 * Formats of 4 bits have dense kernels alone.  Of an odd n the upper half of w's last byte is not a
 * number of w; it is written back as it was read.
 *
 * Memory: x and w need only the alignment of their own numbers; n may be 0.  w may be read up to 64
 * bytes beyond its end (never written): the owner allocates that much more.
 * [racy: w, everywhere] as in kernel.h: each element is written by one store of its own width or
 * wider, numbers of 4 bits by the byte.  Kernels do not allocate, lock or keep state, except the
 * bits, which the caller owns.
 */
#ifndef DROVEK_LINEAR_H
#define DROVEK_LINEAR_H

#include "base/fixed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DROVEK_BLOCK_BYTES = 64, DROVEK_HINT_BYTES = 16384 };

/* Source of the random blocks of one AXPY. */
typedef enum drovek_bits_kind {
    DROVEK_BITS_FIXED,   /* one block for all numbers: nearest (0x80.. or 0x8000..), shared    */
    DROVEK_BITS_STREAM,  /* block b at block + 64 b: drawn beforehand (Mersenne twister)         */
    DROVEK_BITS_XORSHIFT /* block b = the eight states after one more step of each             */
} drovek_bits_kind;

typedef struct drovek_bits {
    drovek_bits_kind kind;
    const uint8_t   *block;    /* FIXED, STREAM; 64-byte aligned                               */
    uint64_t         state[8]; /* XORSHIFT: Marsaglia's xorshift64, 13, 7, 17; never 0; updated */
} drovek_bits;

/* The next state: Marsaglia's xorshift64. */
static inline uint64_t drovek_xorshift64(uint64_t s)
{
    s ^= s << 13;
    s ^= s >> 7;
    return s ^ (s << 17);
}

/* How the step's factor and the random bits of an AXPY are counted: the bounds above. */
typedef struct drovek_fraction {
    int     shift;    /* most bits behind the point */
    int32_t sum;      /* most of |a|, of integers   */
    bool    is_bytes; /* what is drawn; else words  */
    bool    is_split; /* blocks two by two          */
} drovek_fraction;

/* Of an AXPY of one example, or (is_batch) of several. */
static inline drovek_fraction drovek_fraction_of(drove_number d, drove_number m, bool is_batch)
{
    if (is_batch) return (drovek_fraction){22, 32767, false, false};
    if (d > DROVE_I8 || m > DROVE_I8) return (drovek_fraction){15, 32767, false, false};
    if (d == DROVE_I8 && m == DROVE_I4) return (drovek_fraction){12, 224, false, true};
    return (drovek_fraction){8, 256, true, m == DROVE_I4};
}

/* Numbers that one block serves, or two that are used together. */
static inline size_t drovek_per_draw(drove_number d, drove_number m, bool is_batch)
{
    drovek_fraction f = drovek_fraction_of(d, m, is_batch);
    return (f.is_bytes ? 64u : 32u) << f.is_split;
}

/* Blocks that an AXPY over n numbers uses. */
static inline size_t drovek_blocks(drove_number d, drove_number m, bool is_batch, size_t n)
{
    size_t per_draw = drovek_per_draw(d, m, is_batch);
    return (n + per_draw - 1) / per_draw << drovek_fraction_of(d, m, is_batch).is_split;
}

typedef struct drovek_factor {
    int32_t a;     /* integers: the step's factor is a / 2^shift, in units of w per unit of x  */
    int     shift; /* the same for all rows of a batch                                         */
    float   f;     /* where D or M is float                                                    */
} drovek_factor;

/* ---- dense: x[n], w[n] ---- */

typedef double drovek_dot_fn(const void *x, const void *w, size_t n);

/* One update from a batch of n_rows >= 1 examples (section 5.4): the products are summed before the
 * one rounding (integers: exactly; floats: row after row from 0, by fmaf; the rounding's constant,
 * or w, is added before the last row, so that one row is the formula above).  Returns the number of
 * clamped writes. */
typedef size_t drovek_axpy_fn(void *w, const void *const *x, const drovek_factor *factor,
                              size_t n_rows, size_t n, drovek_bits *bits);

/* AXPY of one example fused with the dot of the next one, which reads every element after its
 * update: the bits of axpy, then dot.  Adds to *n_clamped.  ahead (NULL: none) is the example after
 * next: a hint to prefetch, nothing else.  It lies behind next in memory, or next is at least
 * DROVEK_HINT_BYTES long, since hints read on from next by as much. */
typedef double drovek_axpy_dot_fn(void *w, const void *x, const drovek_factor *factor,
                                  const void *next, const void *ahead, size_t n, drovek_bits *bits,
                                  size_t *n_clamped);

/* ---- sparse ---- */

/* One example: n_stored pairs.  32-bit indices are positions in w.  8 and 16-bit indices are
 * differences: the position of pair k is that of pair k - 1 (0 before the first) plus index[k].
 * Positions are distinct (and, with differences, ascend), except for a leading 0 and for pairs of
 * value 0, which bridge gaps too large for the format: those may be written back unchanged, or not
 * at all. */
typedef struct drovek_pairs {
    const void *index; /* [n_stored] uint8_t, uint16_t or uint32_t */
    const void *value; /* [n_stored] of D */
    size_t      n_stored;
} drovek_pairs;

typedef double drovek_spdot_fn(const drovek_pairs *x, const void *w);
typedef size_t drovek_spaxpy_fn(void *w, const drovek_pairs *x, const drovek_factor *factor,
                                drovek_bits *bits);

/* ---- replicas ---- */

/* Adds to the centre what `w` has gained since they last met, and continues from there:
 * gain_i = w_i - last_i; centre_i = clamp(centre_i + round(share gain_i)); w_i = last_i = centre_i.
 * share 1: exact in integers (no bits used); else the rounding of D float, M integer with x = gain.
 * Floats: centre_i = fmaf(share, gain_i, centre_i).  Returns the number of clamped writes. */
typedef size_t drovek_merge_fn(void *centre, void *w, void *last, size_t n, float share,
                               drovek_bits *bits);

/* w_i -= round(kappa w_i): the decay of several steps in one pass, rounded as above with
 * x = -w, factor.f = kappa; floats: w_i = fmaf(-kappa, w_i, w_i).  0 <= kappa < 1. */
typedef void drovek_decay_fn(void *w, size_t n, float kappa, drovek_bits *bits);

/* Every member is an array of one function type, so that tiers can be overlaid slot by slot (NULL
 * in a tier's own table: the slower tier's).  spdot and spaxpy of DROVE_I4: NULL everywhere. */
typedef struct drovek_linear {
    drovek_dot_fn      *dot[DROVE_NUMBERS][DROVE_NUMBERS];       /* [D][M] */
    drovek_axpy_fn     *axpy[DROVE_NUMBERS][DROVE_NUMBERS];      /* [D][M] */
    drovek_axpy_dot_fn *axpy_dot[DROVE_NUMBERS][DROVE_NUMBERS];  /* [D][M] */
    drovek_spdot_fn    *spdot[DROVE_NUMBERS][3][DROVE_NUMBERS];  /* [D][0: 8, 1: 16, 2: 32][M] */
    drovek_spaxpy_fn   *spaxpy[DROVE_NUMBERS][3][DROVE_NUMBERS]; /* [D][index][M] */
    drovek_merge_fn    *merge[DROVE_NUMBERS];                    /* [M] */
    drovek_decay_fn    *decay[DROVE_NUMBERS];                    /* [M] */
} drovek_linear;

#endif
