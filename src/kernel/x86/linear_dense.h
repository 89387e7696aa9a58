/* kernel/x86/linear_dense.h - the dense kernels of kernel/linear.h for every pair of formats; each
 * picks the code for the pair and its factors: linear_bytes.h, linear_nibbles.h, linear_words.h,
 * linear_wide.h.
 *
 * A tier's source file includes its linear_lanes_*.h, then this file, and fills its table.
 */
#ifndef DROVEK_X86_LINEAR_DENSE_H
#define DROVEK_X86_LINEAR_DENSE_H

#include "kernel/linear.h"

#include "kernel/x86/linear_memory.h"

#include "kernel/x86/linear_nibbles.h"

#include "kernel/x86/linear_bytes.h"
#include "kernel/x86/linear_wide.h"
#include "kernel/x86/linear_words.h"

/* ---- a model of 8 bits, data of 8 or 4 ---- */

/* One loop for each sign of the factor. */
INLINE double bytes_signed(drove_number d, void *w, const void *x, int a, const void *next,
                           const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped,
                           drovek_bits_kind kind, bool has_dot)
{
    if (d == DROVE_I8 && a < 0)
        return bytes_pass(d, w, x, a, next, ahead, n, bits, n_clamped, kind, true, has_dot);
    return bytes_pass(d, w, x, a, next, ahead, n, bits, n_clamped, kind, false, has_dot);
}

/* One example, a in units of 2^-8: one loop for each rounding method. */
INLINE double bytes_one(drove_number d, void *w, const void *x, int a, const void *next,
                        const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped,
                        bool has_dot)
{
    switch (bits->kind) {
    case DROVEK_BITS_STREAM:
        return bytes_signed(d, w, x, a, next, ahead, n, bits, n_clamped, DROVEK_BITS_STREAM,
                            has_dot);
    case DROVEK_BITS_XORSHIFT:
        return bytes_signed(d, w, x, a, next, ahead, n, bits, n_clamped, DROVEK_BITS_XORSHIFT,
                            has_dot);
    default:
        return bytes_signed(d, w, x, a, next, ahead, n, bits, n_clamped, DROVEK_BITS_FIXED,
                            has_dot);
    }
}

/* Does bytes_one take this factor?  4096 times a number of 4 bits is as far as a table goes. */
INLINE bool bytes_fit(drove_number d, const drovek_factor *factor)
{
    int64_t size = bytes_factor_sum(factor, 1);
    return d == DROVE_I4 ? size <= 4096 : size < 256;
}

/* Several examples, or a factor that is too large for bytes_one. */
INLINE size_t bytes_axpy_large(drove_number d, void *w, const void *const *x,
                               const drovek_factor *factor, size_t n_rows, size_t n,
                               drovek_bits *bits)
{
    size_t n_clamped = 0;
    if (d == DROVE_I8 && bytes_factor_sum(factor, n_rows) <= 256)
        return bytes_batch(w, x, factor, n_rows, n, bits);
    wide_pass(d, DROVE_I8, w, x, factor, n_rows, NULL, NULL, n, bits, &n_clamped, false);
    return n_clamped;
}

INLINE size_t bytes_axpy(drove_number d, void *w, const void *const *x, const drovek_factor *factor,
                         size_t n_rows, size_t n, drovek_bits *bits)
{
    size_t n_clamped = 0;
    if (n_rows > 1 || !bytes_fit(d, factor))
        return bytes_axpy_large(d, w, x, factor, n_rows, n, bits);
    int a = factor->a * (1 << (8 - factor->shift));
    bytes_one(d, w, *x, a, NULL, NULL, n, bits, &n_clamped, false);
    return n_clamped;
}

INLINE double bytes_axpy_dot(drove_number d, void *w, const void *x, const drovek_factor *factor,
                             const void *next, const void *ahead, size_t n, drovek_bits *bits,
                             size_t *n_clamped)
{
    if (bytes_fit(d, factor)) {
        int a = factor->a * (1 << (8 - factor->shift));
        return bytes_one(d, w, x, a, next, ahead, n, bits, n_clamped, true);
    }
    *n_clamped += bytes_axpy_large(d, w, &x, factor, 1, n, bits);
    return bytes_dot(d, next, w, n);
}

/* ---- a model of 4 bits, data of 4 or 8 ---- */

INLINE double nibbles_one(drove_number d, void *w, const void *x, int a, const void *next,
                          const void *ahead, size_t n, drovek_bits *bits, size_t *n_clamped,
                          bool has_dot)
{
    switch (bits->kind) {
    case DROVEK_BITS_STREAM:
        return nibbles_pass(d, w, x, a, next, ahead, n, bits, n_clamped, DROVEK_BITS_STREAM,
                            has_dot);
    case DROVEK_BITS_XORSHIFT:
        return nibbles_pass(d, w, x, a, next, ahead, n, bits, n_clamped, DROVEK_BITS_XORSHIFT,
                            has_dot);
    default:
        return nibbles_pass(d, w, x, a, next, ahead, n, bits, n_clamped, DROVEK_BITS_FIXED,
                            has_dot);
    }
}

INLINE size_t nibbles_axpy(drove_number d, void *w, const void *const *x,
                           const drovek_factor *factor, size_t n_rows, size_t n, drovek_bits *bits)
{
    size_t n_clamped = 0;
    int    a;
    if (nibbles_factor(d, factor, &a) && n_rows == 1)
        nibbles_one(d, w, *x, a, NULL, NULL, n, bits, &n_clamped, false);
    else wide_pass(d, DROVE_I4, w, x, factor, n_rows, NULL, NULL, n, bits, &n_clamped, false);
    return n_clamped;
}

INLINE double nibbles_any_dot(drove_number d, const void *x, const void *w, size_t n)
{
    return d == DROVE_I4 ? nibbles_dot(x, w, n) : nibbles_dot_8(x, w, n);
}

INLINE double nibbles_axpy_dot(drove_number d, void *w, const void *x, const drovek_factor *factor,
                               const void *next, const void *ahead, size_t n, drovek_bits *bits,
                               size_t *n_clamped)
{
    int a;
    if (nibbles_factor(d, factor, &a))
        return nibbles_one(d, w, x, a, next, ahead, n, bits, n_clamped, true);
    wide_pass(d, DROVE_I4, w, &x, factor, 1, NULL, NULL, n, bits, n_clamped, false);
    return nibbles_any_dot(d, next, w, n);
}

/* ---- integers, one of them of 16 bits ---- */

INLINE size_t words_axpy(drove_number d, drove_number m, void *w, const void *const *x,
                         const drovek_factor *factor, size_t n_rows, size_t n, drovek_bits *bits)
{
    size_t n_clamped = 0;
    if (!words_fit(d, factor, n_rows)) {
        wide_pass(d, m, w, x, factor, n_rows, NULL, NULL, n, bits, &n_clamped, false);
    } else if (n_rows == 1 && bits->kind == DROVEK_BITS_FIXED) {
        words_pass(d, m, w, x, factor, 1, NULL, NULL, n, bits, &n_clamped, DROVEK_BITS_FIXED,
                   false);
    } else {
        words_pass(d, m, w, x, factor, n_rows, NULL, NULL, n, bits, &n_clamped, bits->kind, false);
    }
    return n_clamped;
}

INLINE double words_axpy_dot(drove_number d, drove_number m, void *w, const void *x,
                             const drovek_factor *factor, const void *next, const void *ahead,
                             size_t n, drovek_bits *bits, size_t *n_clamped)
{
    if (!words_fit(d, factor, 1)) {
        wide_pass(d, m, w, &x, factor, 1, NULL, NULL, n, bits, n_clamped, false);
        return words_dot(d, m, next, w, n);
    }
    switch (bits->kind) {
    case DROVEK_BITS_STREAM:
        return words_pass(d, m, w, &x, factor, 1, next, ahead, n, bits, n_clamped,
                          DROVEK_BITS_STREAM, true);
    case DROVEK_BITS_XORSHIFT:
        return words_pass(d, m, w, &x, factor, 1, next, ahead, n, bits, n_clamped,
                          DROVEK_BITS_XORSHIFT, true);
    default:
        return words_pass(d, m, w, &x, factor, 1, next, ahead, n, bits, n_clamped,
                          DROVEK_BITS_FIXED, true);
    }
}

/* ---- floats, and 4 bits with 16 ---- */

INLINE size_t wide_axpy(drove_number d, drove_number m, void *w, const void *const *x,
                        const drovek_factor *factor, size_t n_rows, size_t n, drovek_bits *bits)
{
    size_t n_clamped = 0;
    if (m == DROVE_F32) {
        if (n_rows == 1) float_pass(d, w, x, factor, 1, NULL, NULL, n, false);
        else float_pass(d, w, x, factor, n_rows, NULL, NULL, n, false);
    } else if (n_rows == 1) {
        wide_pass(d, m, w, x, factor, 1, NULL, NULL, n, bits, &n_clamped, false);
    } else {
        wide_pass(d, m, w, x, factor, n_rows, NULL, NULL, n, bits, &n_clamped, false);
    }
    return n_clamped;
}

INLINE double wide_axpy_dot(drove_number d, drove_number m, void *w, const void *x,
                            const drovek_factor *factor, const void *next, const void *ahead,
                            size_t n, drovek_bits *bits, size_t *n_clamped)
{
    if (m == DROVE_F32) return float_pass(d, w, &x, factor, 1, next, ahead, n, true);
    if (d != DROVE_F32) {
        wide_pass(d, m, w, &x, factor, 1, NULL, NULL, n, bits, n_clamped, false);
        return wide_integer_dot(d, m, next, w, n);
    }
    return wide_pass(d, m, w, &x, factor, 1, next, ahead, n, bits, n_clamped, true);
}

/* ---- one instance per pair ---- */

INLINE bool is_bytes(drove_number d, drove_number m)
{
    return d <= DROVE_I8 && m == DROVE_I8;
}

INLINE bool is_nibbles(drove_number d, drove_number m)
{
    return d <= DROVE_I8 && m == DROVE_I4;
}

INLINE bool is_float(drove_number d, drove_number m)
{
    return d == DROVE_F32 || m == DROVE_F32;
}

INLINE bool is_wide(drove_number d, drove_number m)
{
    return is_float(d, m) || d == DROVE_I4 || m == DROVE_I4;
}

INLINE double dot(drove_number d, drove_number m, const void *x, const void *w, size_t n)
{
    if (is_bytes(d, m)) return bytes_dot(d, x, w, n);
    if (is_nibbles(d, m)) return nibbles_any_dot(d, x, w, n);
    if (is_float(d, m)) return float_dot(d, m, x, w, n);
    return is_wide(d, m) ? wide_integer_dot(d, m, x, w, n) : words_dot(d, m, x, w, n);
}

INLINE size_t axpy(drove_number d, drove_number m, void *w, const void *const *x,
                   const drovek_factor *factor, size_t n_rows, size_t n, drovek_bits *bits)
{
    if (is_bytes(d, m)) return bytes_axpy(d, w, x, factor, n_rows, n, bits);
    if (is_nibbles(d, m)) return nibbles_axpy(d, w, x, factor, n_rows, n, bits);
    if (is_wide(d, m)) return wide_axpy(d, m, w, x, factor, n_rows, n, bits);
    return words_axpy(d, m, w, x, factor, n_rows, n, bits);
}

INLINE double axpy_dot(drove_number d, drove_number m, void *w, const void *x,
                       const drovek_factor *factor, const void *next, const void *ahead, size_t n,
                       drovek_bits *bits, size_t *n_clamped)
{
    if (is_bytes(d, m)) return bytes_axpy_dot(d, w, x, factor, next, ahead, n, bits, n_clamped);
    if (is_nibbles(d, m)) return nibbles_axpy_dot(d, w, x, factor, next, ahead, n, bits, n_clamped);
    if (is_wide(d, m)) return wide_axpy_dot(d, m, w, x, factor, next, ahead, n, bits, n_clamped);
    return words_axpy_dot(d, m, w, x, factor, next, ahead, n, bits, n_clamped);
}

#define EACH_BODY "kernel/linear_dense_body.h"
#include "kernel/linear_each_dense.h"

#endif
