/* kernel/lanes/vector.h - whole vectors, vectorised with the lanes of one tier. */
#ifndef DROVEK_LANES_VECTOR_H
#define DROVEK_LANES_VECTOR_H

#include "kernel/kernel.h"
#include "kernel/lanes/blocks.h"

#include <string.h>

/* ---- the kernels ---- */

static void copy_f32(float *to, const float *from, size_t n)
{
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec part[4];
        UNROLL
        for (size_t v = 0; v < 4; v++) part[v] = racy_load(from + i + v * LANES, LANES);
        UNROLL
        for (size_t v = 0; v < 4; v++) racy_store(to + i + v * LANES, part[v], LANES);
    }
    for (; i + LANES <= n; i += LANES) racy_store(to + i, racy_load(from + i, LANES), LANES);
    if (i < n) racy_store(to + i, racy_load(from + i, n - i), n - i);
}

INLINE vec axpy_at(const float *y, const float *x, vec a, size_t count)
{
    return vec_fma(a, vec_load(x, count), racy_load(y, count));
}

static void axpy_f32(float *y, const float *x, size_t n, float a)
{
    vec    factor = vec_set(a);
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec next[4];
        UNROLL
        for (size_t v = 0; v < 4; v++)
            next[v] = axpy_at(y + i + v * LANES, x + i + v * LANES, factor, LANES);
        UNROLL
        for (size_t v = 0; v < 4; v++) racy_store(y + i + v * LANES, next[v], LANES);
    }
    for (; i < n; i += LANES) {
        size_t count = lanes_left(i, n);
        racy_store(y + i, axpy_at(y + i, x + i, factor, count), count);
    }
}

static void scale_f32(float *y, size_t n, float a)
{
    vec    factor = vec_set(a);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_mul(vec_load(y + i, LANES), factor), LANES);
    if (i < n) vec_store(y + i, vec_mul(vec_load(y + i, n - i), factor), n - i);
}

/* a x + b y; y NULL: a x */
INLINE vec blend_at(const float *x, const float *y, vec a, vec b, size_t i, size_t count)
{
    vec first = vec_load(x + i, count);
    return y != NULL ? vec_fma(a, first, vec_mul(b, vec_load(y + i, count))) : vec_mul(a, first);
}

INLINE void blend(float *to, const float *x, const float *y, size_t n, float a, float b)
{
    vec    va = vec_set(a), vb = vec_set(b);
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec part[4];
        UNROLL
        for (size_t v = 0; v < 4; v++) part[v] = blend_at(x, y, va, vb, i + v * LANES, LANES);
        block_store(to + i, part, 4, LANES);
    }
    for (; i < n; i += LANES) {
        size_t count = lanes_left(i, n);
        vec_store(to + i, blend_at(x, y, va, vb, i, count), count);
    }
}

static void blend_f32(float *to, const float *x, const float *y, size_t n, float a, float b)
{
    if (y != NULL) blend(to, x, y, n, a, b);
    else blend(to, x, NULL, n, a, b);
}

INLINE vec add_at(const float *x, const float *y, vec a, size_t count)
{
    return vec_mul(vec_add(vec_load(x, count), vec_load(y, count)), a);
}

/* For large vectors: elements before the first whole vector of `to`, and after the last one, are
 * written through the caches. */
static size_t add_streaming(float *to, const float *x, const float *y, size_t n, vec a)
{
    const size_t size = LANES * sizeof *to;
    size_t       i = (size - (uintptr_t)to % size) % size / sizeof *to;
    if (i > n) i = n;
    if (i > 0) vec_store(to, add_at(x, y, a, i), i);
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec sum[4];
        UNROLL
        for (size_t v = 0; v < 4; v++)
            sum[v] = add_at(x + i + v * LANES, y + i + v * LANES, a, LANES);
        UNROLL
        for (size_t v = 0; v < 4; v++) vec_stream(to + i + v * LANES, sum[v]);
    }
    vec_stream_end();
    return i;
}

static void add_f32(float *to, const float *x, const float *y, size_t n, float a, bool streams)
{
    vec    factor = vec_set(a);
    size_t i = streams ? add_streaming(to, x, y, n, factor) : 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        vec sum[4];
        UNROLL
        for (size_t v = 0; v < 4; v++)
            sum[v] = add_at(x + i + v * LANES, y + i + v * LANES, factor, LANES);
        UNROLL
        for (size_t v = 0; v < 4; v++) vec_store(to + i + v * LANES, sum[v], LANES);
    }
    for (; i < n; i += LANES) {
        size_t count = lanes_left(i, n);
        vec_store(to + i, add_at(x + i, y + i, factor, count), count);
    }
}

/* Four running sums per lane, added in a fixed tree. */
static double dot_f32(const float *x, const float *y, size_t n)
{
    double_sum even = double_sum_zero(), odd = double_sum_zero();
    size_t     i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        even = double_sum_add(even, vec_load(x + i, LANES), vec_load(y + i, LANES));
        odd = double_sum_add(odd, vec_load(x + i + LANES, LANES), vec_load(y + i + LANES, LANES));
    }
    for (; i < n; i += LANES) {
        size_t count = lanes_left(i, n);
        even = double_sum_add(even, vec_load(x + i, count), vec_load(y + i, count));
    }
    return double_sum_total(even, odd);
}

static uint32_t largest_f32(const float *x, size_t n)
{
    magnitude even = magnitude_zero(), odd = magnitude_zero();
    size_t    i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        even = magnitude_max(even, vec_load(x + i, LANES));
        odd = magnitude_max(odd, vec_load(x + i + LANES, LANES));
    }
    for (; i < n; i += LANES) even = magnitude_max(even, vec_load(x + i, lanes_left(i, n)));
    const uint32_t of_even = magnitude_largest(even), of_odd = magnitude_largest(odd);
    return of_even > of_odd ? of_even : of_odd;
}

static bool finite_f32(const float *x, size_t n)
{
    return largest_f32(x, n) < 0x7f800000u;
}

static void widen_i16_f32(float *to, const int16_t *from, size_t n, float factor)
{
    const vec by = vec_set(factor);
    size_t    i = 0;
    for (; i + LANES <= n; i += LANES)
        vec_store(to + i, vec_mul(by, vec_widen_i16(from + i, LANES)), LANES);
    if (i < n) vec_store(to + i, vec_mul(by, vec_widen_i16(from + i, n - i)), n - i);
}

/* Eight registers of running results: enough to keep both load ports busy. */
static uint64_t xor_u64(const uint64_t *x, size_t n)
{
    enum { WORDS = LANES / 2 };
    vec      sum[WIDE];
    uint64_t word[WORDS], all = 0;
    size_t   i = 0;
    UNROLL
    for (size_t v = 0; v < WIDE; v++) sum[v] = vec_set(0.0f);
    for (; i + WIDE * WORDS <= n; i += WIDE * WORDS) {
        UNROLL
        for (size_t v = 0; v < WIDE; v++)
            sum[v] = vec_xor(sum[v], vec_load((const float *)(x + i + v * WORDS), LANES));
    }
    UNROLL
    for (size_t v = 1; v < WIDE; v++) sum[0] = vec_xor(sum[0], sum[v]);
    memcpy(word, sum, sizeof word);
    for (size_t v = 0; v < WORDS; v++) all ^= word[v];
    for (; i < n; i++) all ^= x[i];
    return all;
}

INLINE void affine_at(float *to, vec from, const float *shift, const float *factor, size_t count)
{
    vec_store(to, vec_mul(vec_sub(from, vec_load(shift, count)), vec_load(factor, count)), count);
}

static void widen_u8_f32(float *to, const uint8_t *from, const float *shift, const float *factor,
                         size_t n)
{
    size_t i = 0;
    if (shift == NULL) {
        for (; i + LANES <= n; i += LANES) vec_store(to + i, vec_widen_u8(from + i, LANES), LANES);
        if (i < n) vec_store(to + i, vec_widen_u8(from + i, n - i), n - i);
        return;
    }
    for (; i + LANES <= n; i += LANES) {
        affine_at(to + i, vec_widen_u8(from + i, LANES), shift + i, factor + i, LANES);
    }
    if (i < n) affine_at(to + i, vec_widen_u8(from + i, n - i), shift + i, factor + i, n - i);
}

static void affine_f32(float *to, const float *from, const float *shift, const float *factor,
                       size_t n)
{
    size_t i = 0;
    if (shift == NULL) {
        memmove(to, from, n * sizeof *to);
        return;
    }
    for (; i + LANES <= n; i += LANES)
        affine_at(to + i, vec_load(from + i, LANES), shift + i, factor + i, LANES);
    if (i < n) affine_at(to + i, vec_load(from + i, n - i), shift + i, factor + i, n - i);
}

#endif
