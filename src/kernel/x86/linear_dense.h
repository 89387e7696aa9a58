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

/* ---- a model of 8 bits, data of 8 or 4; one example ---- */

/* One loop for each sign of the factor. */
INLINE double bytes_signed(drove_number d, linear_step s, int a, drovek_bits_kind kind,
                           bool has_dot)
{
    if (d == DROVE_I8 && a < 0) return bytes_pass(d, s, a, kind, true, has_dot);
    return bytes_pass(d, s, a, kind, false, has_dot);
}

/* One example, a factor in units of 2^-8: one loop for each rounding method. */
INLINE double bytes_one(drove_number d, linear_step s, bool has_dot)
{
    int a = s.factor->a * (1 << (8 - s.factor->shift));
    switch (s.bits->kind) {
    case DROVEK_BITS_STREAM: return bytes_signed(d, s, a, DROVEK_BITS_STREAM, has_dot);
    case DROVEK_BITS_XORSHIFT: return bytes_signed(d, s, a, DROVEK_BITS_XORSHIFT, has_dot);
    default: return bytes_signed(d, s, a, DROVEK_BITS_FIXED, has_dot);
    }
}

/* Does bytes_one take this factor?  4096 times a number of 4 bits is as far as a table goes. */
INLINE bool bytes_fit(drove_number d, const drovek_factor *factor)
{
    int64_t size = (factor->a < 0 ? -(int64_t)factor->a : factor->a) << (8 - factor->shift);
    return d == DROVE_I4 ? size <= 4096 : size < 256;
}

INLINE void bytes_axpy(drove_number d, linear_step s)
{
    if (bytes_fit(d, s.factor)) bytes_one(d, s, false);
    else wide_pass(d, DROVE_I8, s, false);
}

INLINE double bytes_axpy_dot(drove_number d, linear_step s)
{
    if (bytes_fit(d, s.factor)) return bytes_one(d, s, true);
    wide_pass(d, DROVE_I8, s, false);
    return bytes_dot(d, s.next, s.w, s.n);
}

/* ---- a model of 4 bits, data of 4 or 8; one example ---- */

INLINE double nibbles_one(drove_number d, linear_step s, int a, bool has_dot)
{
    switch (s.bits->kind) {
    case DROVEK_BITS_STREAM: return nibbles_pass(d, s, a, DROVEK_BITS_STREAM, has_dot);
    case DROVEK_BITS_XORSHIFT: return nibbles_pass(d, s, a, DROVEK_BITS_XORSHIFT, has_dot);
    default: return nibbles_pass(d, s, a, DROVEK_BITS_FIXED, has_dot);
    }
}

INLINE void nibbles_axpy(drove_number d, linear_step s)
{
    int a;
    if (nibbles_factor(d, s.factor, &a)) nibbles_one(d, s, a, false);
    else wide_pass(d, DROVE_I4, s, false);
}

INLINE double nibbles_any_dot(drove_number d, const void *x, const void *w, size_t n)
{
    return d == DROVE_I4 ? nibbles_dot(x, w, n) : nibbles_dot_8(x, w, n);
}

INLINE double nibbles_axpy_dot(drove_number d, linear_step s)
{
    int a;
    if (nibbles_factor(d, s.factor, &a)) return nibbles_one(d, s, a, true);
    wide_pass(d, DROVE_I4, s, false);
    return nibbles_any_dot(d, s.next, s.w, s.n);
}

/* ---- integers, one of them of 16 bits; one example ---- */

INLINE void words_axpy(drove_number d, drove_number m, linear_step s)
{
    if (!words_fit(d, s.factor)) wide_pass(d, m, s, false);
    else if (s.bits->kind == DROVEK_BITS_FIXED) words_pass(d, m, s, DROVEK_BITS_FIXED, false);
    else words_pass(d, m, s, s.bits->kind, false);
}

INLINE double words_axpy_dot(drove_number d, drove_number m, linear_step s)
{
    if (!words_fit(d, s.factor)) {
        wide_pass(d, m, s, false);
        return words_dot(d, m, s.next, s.w, s.n);
    }
    switch (s.bits->kind) {
    case DROVEK_BITS_STREAM: return words_pass(d, m, s, DROVEK_BITS_STREAM, true);
    case DROVEK_BITS_XORSHIFT: return words_pass(d, m, s, DROVEK_BITS_XORSHIFT, true);
    default: return words_pass(d, m, s, DROVEK_BITS_FIXED, true);
    }
}

/* ---- floats, and 4 bits with 16 ---- */

INLINE void wide_axpy(drove_number d, drove_number m, linear_step s)
{
    if (m != DROVE_F32) wide_pass(d, m, s, false);
    else if (s.n_rows > 1) float_batch(d, s);
    else float_pass(d, s, false);
}

INLINE double wide_axpy_dot(drove_number d, drove_number m, linear_step s)
{
    if (m == DROVE_F32) return float_pass(d, s, true);
    if (d == DROVE_F32) return wide_pass(d, m, s, true);
    wide_pass(d, m, s, false);
    return wide_integer_dot(d, m, s.next, s.w, s.n);
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

INLINE void axpy_of_one(drove_number d, drove_number m, linear_step s)
{
    s.n_rows = 1; /* a constant in the loops */
    if (is_bytes(d, m)) bytes_axpy(d, s);
    else if (is_nibbles(d, m)) nibbles_axpy(d, s);
    else if (is_wide(d, m)) wide_axpy(d, m, s);
    else words_axpy(d, m, s);
}

/* s.n_rows > 1, as the compiler sees in its caller. */
INLINE void axpy_of_batch(drove_number d, drove_number m, linear_step s)
{
    if (is_wide(d, m)) wide_axpy(d, m, s);
    else if (!batch_fits(d, s.factor, s.n_rows)) wide_pass(d, m, s, false);
    else if (is_bytes(d, m)) bytes_batch(s);
    else words_batch(d, m, s);
}

INLINE size_t axpy(drove_number d, drove_number m, void *w, const void *const *x,
                   const drovek_factor *factor, size_t n_rows, size_t n, drovek_bits *bits)
{
    size_t            n_clamped = 0;
    const linear_step s = {w, x, factor, n_rows, n, NULL, NULL, bits, &n_clamped};
    if (n_rows > 1) axpy_of_batch(d, m, s);
    else axpy_of_one(d, m, s);
    return n_clamped;
}

INLINE double axpy_dot(drove_number d, drove_number m, void *w, const void *x,
                       const drovek_factor *factor, const void *next, const void *ahead, size_t n,
                       drovek_bits *bits, size_t *n_clamped)
{
    const linear_step s = {w, &x, factor, 1, n, next, ahead, bits, n_clamped};
    if (is_bytes(d, m)) return bytes_axpy_dot(d, s);
    if (is_nibbles(d, m)) return nibbles_axpy_dot(d, s);
    return is_wide(d, m) ? wide_axpy_dot(d, m, s) : words_axpy_dot(d, m, s);
}

#define EACH_BODY "kernel/linear_dense_body.h"
#include "kernel/linear_each_dense.h"

#endif
