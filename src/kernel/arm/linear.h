/* kernel/arm/linear.h - the dense kernels of kernel/linear.h, sixteen numbers at a time.
 *
 * Every function here is for formats d (data) and m (model), which are constants of its caller, a
 * slot of linear_each_dense.h.  A vector is processed in blocks of random bits, 64 bytes each; the
 * rest in groups of sixteen, of which the last is short.  Integers of one example of D8M8 are
 * summed in 16 bits, all others in 32; the bounds of the factors allow it.
 */
#ifndef DROVEK_ARM_LINEAR_H
#define DROVEK_ARM_LINEAR_H

#include "kernel/arm/sixteen.h"
#include "kernel/linear.h"

enum { RUN = 16384 }; /* numbers of a dot before the sums are widened: whole blocks */

/* 16-bit lanes; updates from one example: random bytes */
INLINE bool is_bytes(drove_number d, drove_number m)
{
    return d == DROVE_I8 && m == DROVE_I8;
}

/* ---- random bits ---- */

/* is_fixed (a constant): always the same block. */
typedef struct bit_source {
    drovek_bits   *bits;
    const uint8_t *at; /* STREAM: the next block  */
    uint64x2_t     state[4];
    sixteen        block;
} bit_source;

/* Requires n > 0. */
INLINE bit_source bit_source_begin(drovek_bits *bits)
{
    bit_source s = {.bits = bits, .at = bits->block};
    if (bits->kind == DROVEK_BITS_FIXED) s.block = load_parts(bits->block, 4);
    UNROLL
    for (size_t k = 0; k < 4; k++) s.state[k] = vld1q_u64(bits->state + 2 * k);
    return s;
}

INLINE void bit_source_next(bit_source *s, bool is_fixed)
{
    if (is_fixed) return;
    if (s->bits->kind == DROVEK_BITS_STREAM) {
        s->block = load_parts(s->at, 4);
        s->at += DROVEK_BLOCK_BYTES;
        return;
    }
    UNROLL
    for (size_t k = 0; k < 4; k++) {
        uint64x2_t a = s->state[k];
        a = veorq_u64(a, vshlq_n_u64(a, 13));
        a = veorq_u64(a, vshrq_n_u64(a, 7));
        a = veorq_u64(a, vshlq_n_u64(a, 17));
        s->state[k] = a;
        s->block.part[k] = vreinterpretq_u8_u64(a);
    }
}

INLINE void bit_source_end(bit_source *s)
{
    if (s->bits->kind != DROVEK_BITS_XORSHIFT) return;
    UNROLL
    for (size_t k = 0; k < 4; k++) vst1q_u64(s->bits->state + 2 * k, s->state[k]);
}

/* The bits of one group: a byte or a word per number. */
typedef struct group_bits {
    uint8x16_t part[2];
} group_bits;

INLINE group_bits bits_of_group(const sixteen *block, size_t group, bool bytes)
{
    if (bytes) return (group_bits){{block->part[group], block->part[group]}};
    return (group_bits){{block->part[2 * group], block->part[2 * group + 1]}};
}

/* The top `shift` bits of each byte. */
INLINE halves random_halves(group_bits bits, int shift)
{
    uint8x16_t r = vshlq_u8(bits.part[0], vdupq_n_s8((int8_t)(shift - 8)));
    return (halves){
        {vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(r))), vreinterpretq_s16_u16(vmovl_high_u8(r))}};
}

INLINE words words_of_bits(uint16x8_t low, uint16x8_t high)
{
    return (words){{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))),
                    vreinterpretq_s32_u32(vmovl_high_u16(low)),
                    vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))),
                    vreinterpretq_s32_u32(vmovl_high_u16(high))}};
}

/* r of kernel/linear.h: (word + 1/2) 2^(shift - 16), its floor. */
INLINE words random_words(group_bits bits, int shift)
{
    words r = words_of_bits(vreinterpretq_u16_u8(bits.part[0]), vreinterpretq_u16_u8(bits.part[1]));
    UNROLL
    for (size_t k = 0; k < 4; k++) {
        uint32x4_t odd = vreinterpretq_u32_s32(vaddq_s32(vshlq_n_s32(r.v[k], 1), vdupq_n_s32(1)));
        r.v[k] = vreinterpretq_s32_u32(vshlq_u32(odd, vdupq_n_s32(shift - 17)));
    }
    return r;
}

/* (word + 0.5) / 2^16: exact */
INLINE floats rounding_of(group_bits bits)
{
    words r = words_of_bits(vreinterpretq_u16_u8(bits.part[0]), vreinterpretq_u16_u8(bits.part[1]));
    floats f;
    UNROLL
    for (size_t k = 0; k < 4; k++) {
        int32x4_t odd = vaddq_s32(vshlq_n_s32(r.v[k], 1), vdupq_n_s32(1));
        f.v[k] = vcvtq_n_f32_s32(odd, 17);
    }
    return f;
}

/* floor(v); beyond 2^16, where every model number clamps, some number beyond; NaN: the lowest.
 * 0 after the first `count`, even if 0 times a factor is not 0. */
INLINE words floor_within(floats f, size_t count)
{
    words w;
    UNROLL
    for (size_t k = 0; k < 4; k++) {
        float32x4_t above = vmaxnmq_f32(f.v[k], vdupq_n_f32(-65536.0f));
        w.v[k] = vcvtmq_s32_f32(vminnmq_f32(above, vdupq_n_f32(65536.0f)));
        if (count == SIXTEEN) continue;
        uint32x4_t lane = vaddq_u32(lane_numbers(), vdupq_n_u32((uint32_t)(k * LANES)));
        uint32x4_t there = vcltq_u32(lane, vdupq_n_u32((uint32_t)count));
        w.v[k] = vandq_s32(w.v[k], vreinterpretq_s32_u32(there));
    }
    return w;
}

INLINE words add_words(words a, words b)
{
    UNROLL
    for (size_t k = 0; k < 4; k++) a.v[k] = vaddq_s32(a.v[k], b.v[k]);
    return a;
}

/* ---- dot ---- */

typedef struct dot_sum {
    int32x4_t   narrow[2]; /* D8M8, of a run    */
    int64x2_t   wide[2];   /* other integers    */
    float32x4_t lane[4];   /* floats, of a run  */
    int64_t     integer;   /* of earlier runs    */
    double      real;
} dot_sum;

INLINE dot_sum dot_zero(void)
{
    dot_sum s = {.integer = 0, .real = 0.0};
    UNROLL
    for (size_t k = 0; k < 2; k++) s.narrow[k] = vdupq_n_s32(0), s.wide[k] = vdupq_n_s64(0);
    UNROLL
    for (size_t k = 0; k < 4; k++) s.lane[k] = vdupq_n_f32(0.0f);
    return s;
}

INLINE void dot_bytes(dot_sum *s, sixteen x, sixteen w)
{
    int8x16_t a = vreinterpretq_s8_u8(x.part[0]), b = vreinterpretq_s8_u8(w.part[0]);
#if DROVEK_DOTPROD
    s->narrow[0] = vdotq_s32(s->narrow[0], a, b);
#else
    s->narrow[0] = vpadalq_s16(s->narrow[0], vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    s->narrow[1] = vpadalq_s16(s->narrow[1], vmull_high_s8(a, b));
#endif
}

/* One of the two has 8 bits: four products fit 32 bits. */
INLINE void dot_mixed(dot_sum *s, halves x, halves w)
{
    int32x4_t p = vmull_s16(vget_low_s16(x.v[0]), vget_low_s16(w.v[0]));
    p = vmlal_high_s16(p, x.v[0], w.v[0]);
    p = vmlal_s16(p, vget_low_s16(x.v[1]), vget_low_s16(w.v[1]));
    s->wide[0] = vpadalq_s32(s->wide[0], vmlal_high_s16(p, x.v[1], w.v[1]));
}

INLINE void dot_halves(dot_sum *s, halves x, halves w)
{
    UNROLL
    for (size_t k = 0; k < 2; k++) {
        int16x8_t a = x.v[k], b = w.v[k];
        s->wide[0] = vpadalq_s32(s->wide[0], vmull_s16(vget_low_s16(a), vget_low_s16(b)));
        s->wide[1] = vpadalq_s32(s->wide[1], vmull_high_s16(a, b));
    }
}

INLINE void dot_group(dot_sum *s, drove_number d, drove_number m, sixteen x, sixteen w)
{
    if (is_bytes(d, m)) {
        dot_bytes(s, x, w);
    } else if (d == DROVE_F32 || m == DROVE_F32) {
        floats a = to_floats(d, x), b = to_floats(m, w);
        UNROLL
        for (size_t k = 0; k < 4; k++) s->lane[k] = vfmaq_f32(s->lane[k], a.v[k], b.v[k]);
    } else if (d == DROVE_I16 && m == DROVE_I16) {
        dot_halves(s, to_halves(d, x), to_halves(m, w));
    } else {
        dot_mixed(s, to_halves(d, x), to_halves(m, w));
    }
}

/* At the end of a run: widens sums that could overflow or lose precision. */
INLINE void dot_end_run(dot_sum *s, drove_number d, drove_number m)
{
    if (is_bytes(d, m)) {
        s->integer += vaddlvq_s32(s->narrow[0]) + vaddlvq_s32(s->narrow[1]);
        s->narrow[0] = s->narrow[1] = vdupq_n_s32(0);
    }
    if (d != DROVE_F32 && m != DROVE_F32) return;
    float64x2_t sum = vdupq_n_f64(0.0);
    UNROLL
    for (size_t k = 0; k < 4; k++) {
        sum = vaddq_f64(sum, vcvt_f64_f32(vget_low_f32(s->lane[k])));
        sum = vaddq_f64(sum, vcvt_high_f64_f32(s->lane[k]));
        s->lane[k] = vdupq_n_f32(0.0f);
    }
    s->real += vaddvq_f64(sum);
}

INLINE double dot_total(const dot_sum *s, drove_number d, drove_number m)
{
    if (d == DROVE_F32 || m == DROVE_F32) return s->real;
    return (double)(s->integer + vaddvq_s64(vaddq_s64(s->wide[0], s->wide[1])));
}

INLINE double dot(drove_number d, drove_number m, const void *x, const void *w, size_t n)
{
    dot_sum sum = dot_zero();
    for (size_t i = 0; i < n;) {
        size_t end = n - i < RUN ? n : i + RUN;
        for (; i + 2 * SIXTEEN <= end; i += 2 * SIXTEEN) {
            UNROLL
            for (size_t g = 0; g < 2; g++) {
                size_t at = i + g * SIXTEEN;
                dot_group(&sum, d, m, load(d, x, at, SIXTEEN), shared_load(m, w, at, SIXTEEN));
            }
        }
        for (; i < end; i += SIXTEEN) {
            size_t count = end - i < SIXTEEN ? end - i : SIXTEEN;
            dot_group(&sum, d, m, load(d, x, i, count), shared_load(m, w, i, count));
            if (count < SIXTEEN) break;
        }
        i = end;
        dot_end_run(&sum, d, m);
    }
    return dot_total(&sum, d, m);
}

/* ---- AXPY, alone or with the dot of the next example ---- */

typedef struct axpy_call {
    void                *w;
    const void *const   *x;      /* [n_rows] */
    const drovek_factor *factor; /* [n_rows] */
    size_t               n_rows;
    bool                 by_bytes; /* a constant: is_bytes and one example */
    bool                 with_dot; /* a constant           */
    const void          *next;     /* with_dot: the next example */
    const void          *ahead;    /* NULL: no hint        */
    clamp_count          clamped;
    dot_sum              sum;
} axpy_call;

INLINE sixteen axpy_bytes(axpy_call *c, sixteen w, size_t i, size_t count, group_bits bits)
{
    const int shift = c->factor[0].shift;
    halves    sum = random_halves(bits, shift);
    halves    x = to_halves(DROVE_I8, load(DROVE_I8, c->x[0], i, count));
    UNROLL
    for (size_t k = 0; k < 2; k++)
        sum.v[k] = vmlaq_n_s16(sum.v[k], x.v[k], (int16_t)c->factor[0].a);
    int8x16_t before = vreinterpretq_s8_u8(w.part[0]);
    int16x8_t right = vdupq_n_s16((int16_t)-shift);
    sum.v[0] = vaddw_s8(vshlq_s16(sum.v[0], right), vget_low_s8(before));
    sum.v[1] = vaddw_high_s8(vshlq_s16(sum.v[1], right), before);
    return clamp_halves(sum, &c->clamped);
}

INLINE sixteen axpy_integers(axpy_call *c, drove_number d, drove_number m, sixteen w, size_t i,
                             size_t count, group_bits bits)
{
    const int shift = c->factor[0].shift;
    words     sum = random_words(bits, shift);
    for (size_t row = 0; row < c->n_rows; row++) {
        halves    x = to_halves(d, load(d, c->x[row], i, count));
        int16_t   a = (int16_t)c->factor[row].a;
        int16x8_t factor = vdupq_n_s16(a);
        sum.v[0] = vmlal_s16(sum.v[0], vget_low_s16(x.v[0]), vget_low_s16(factor));
        sum.v[1] = vmlal_high_s16(sum.v[1], x.v[0], factor);
        sum.v[2] = vmlal_s16(sum.v[2], vget_low_s16(x.v[1]), vget_low_s16(factor));
        sum.v[3] = vmlal_high_s16(sum.v[3], x.v[1], factor);
    }
    UNROLL
    for (size_t k = 0; k < 4; k++) sum.v[k] = vshlq_s32(sum.v[k], vdupq_n_s32(-shift));
    return clamp_words(m, add_words(to_words(m, w), sum), &c->clamped);
}

/* fmaf over the rows from 0; `plus` is added before the last one. */
INLINE floats sum_rows(const axpy_call *c, drove_number d, size_t i, size_t count, floats plus)
{
    const size_t last = c->n_rows - 1;
    floats       sum;
    UNROLL
    for (size_t k = 0; k < 4; k++) sum.v[k] = vdupq_n_f32(-0.0f); /* changes no sum */
    for (size_t row = 0; row < last; row++) {
        floats x = to_floats(d, load(d, c->x[row], i, count));
        UNROLL
        for (size_t k = 0; k < 4; k++) sum.v[k] = vfmaq_n_f32(sum.v[k], x.v[k], c->factor[row].f);
    }
    floats x = to_floats(d, load(d, c->x[last], i, count));
    UNROLL
    for (size_t k = 0; k < 4; k++) {
        float32x4_t so_far = last == 0 ? plus.v[k] : vaddq_f32(sum.v[k], plus.v[k]);
        sum.v[k] = vfmaq_n_f32(so_far, x.v[k], c->factor[last].f);
    }
    return sum;
}

INLINE void axpy_group(axpy_call *c, drove_number d, drove_number m, size_t i, size_t count,
                       group_bits bits)
{
    sixteen w = shared_load(m, c->w, i, count);
    if (m == DROVE_F32) {
        w = from_floats(sum_rows(c, d, i, count, to_floats(m, w)));
    } else if (d == DROVE_F32) {
        words delta = floor_within(sum_rows(c, d, i, count, rounding_of(bits)), count);
        w = clamp_words(m, add_words(to_words(m, w), delta), &c->clamped);
    } else if (c->by_bytes) {
        w = axpy_bytes(c, w, i, count, bits);
    } else {
        w = axpy_integers(c, d, m, w, i, count, bits);
    }
    shared_store(m, c->w, i, w, count);
    if (c->with_dot) dot_group(&c->sum, d, m, load(d, c->next, i, count), w);
}

/* The last, incomplete block of n - i numbers. */
INLINE void axpy_rest(axpy_call *c, drove_number d, drove_number m, size_t i, size_t n,
                      const sixteen *block)
{
    const size_t bits_size = (c->by_bytes ? 1 : 2) * SIXTEEN;
    uint8_t      room[DROVEK_BLOCK_BYTES + PART_BYTES];
    store_parts(room, *block, 4);
    for (const uint8_t *at = room; i < n; i += SIXTEEN, at += bits_size) {
        group_bits bits = {{vld1q_u8(at), vld1q_u8(at + bits_size - PART_BYTES)}};
        axpy_group(c, d, m, i, n - i < SIXTEEN ? n - i : SIXTEEN, bits);
        if (n - i < SIXTEEN) break;
    }
}

INLINE void axpy_blocks(axpy_call *c, drove_number d, drove_number m, size_t n, drovek_bits *bits,
                        bool is_fixed)
{
    const bool   has_bits = m != DROVE_F32;
    const size_t per_block = c->by_bytes ? 64 : 32;
    bit_source   random = {.bits = bits};
    size_t       i = 0;
    if (has_bits) random = bit_source_begin(bits);
    for (; i + per_block <= n; i += per_block) {
        if (has_bits) bit_source_next(&random, is_fixed);
        if (c->ahead != NULL) {
            __builtin_prefetch(place_of(d, c->ahead, i));
            if (d == DROVE_F32) __builtin_prefetch(place_of(d, c->ahead, i + per_block / 2));
        }
        UNROLL
        for (size_t g = 0; g < per_block / SIXTEEN; g++) {
            group_bits part = bits_of_group(&random.block, g, c->by_bytes);
            axpy_group(c, d, m, i + g * SIXTEEN, SIXTEEN, part);
        }
        if (c->with_dot && (i + per_block) % RUN == 0) dot_end_run(&c->sum, d, m);
    }
    if (i < n) {
        if (has_bits) bit_source_next(&random, is_fixed);
        axpy_rest(c, d, m, i, n, &random.block);
    }
    if (c->with_dot) dot_end_run(&c->sum, d, m);
    if (has_bits) bit_source_end(&random);
}

/* One copy of the loop for fixed bits, one for bits that change. */
INLINE void axpy_any_bits(axpy_call *c, drove_number d, drove_number m, size_t n, drovek_bits *bits)
{
    if (n == 0) return;
    if (m == DROVE_F32 || bits->kind == DROVEK_BITS_FIXED) axpy_blocks(c, d, m, n, bits, true);
    else axpy_blocks(c, d, m, n, bits, false);
}

INLINE size_t axpy(drove_number d, drove_number m, void *w, const void *const *x,
                   const drovek_factor *factor, size_t n_rows, size_t n, drovek_bits *bits)
{
    axpy_call c = {.w = w, .clamped = clamp_count_zero()};
    if (n_rows == 1) { /* makes n_rows a constant in the loop */
        const void   *only = x[0];
        drovek_factor its = factor[0];
        c.x = &only, c.factor = &its, c.n_rows = 1, c.by_bytes = is_bytes(d, m);
        axpy_any_bits(&c, d, m, n, bits);
    } else {
        c.x = x, c.factor = factor, c.n_rows = n_rows, c.by_bytes = false;
        axpy_any_bits(&c, d, m, n, bits);
    }
    return clamp_count_total(&c.clamped);
}

INLINE double axpy_dot(drove_number d, drove_number m, void *w, const void *x,
                       const drovek_factor *factor, const void *next, const void *ahead, size_t n,
                       drovek_bits *bits, size_t *n_clamped)
{
    drovek_factor its = *factor;
    axpy_call     c = {.w = w,
                       .x = &x,
                       .factor = &its,
                       .n_rows = 1,
                       .by_bytes = is_bytes(d, m),
                       .with_dot = true,
                       .next = next,
                       .ahead = ahead,
                       .clamped = clamp_count_zero(),
                       .sum = dot_zero()};
    axpy_any_bits(&c, d, m, n, bits);
    *n_clamped += clamp_count_total(&c.clamped);
    return dot_total(&c.sum, d, m);
}
#endif
