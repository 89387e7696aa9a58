/* kernel/x86/linear_wide.h - LANES numbers at a time in 32-bit lanes: every pair of formats of
 * which one is float or one has 4 and one 16 bits, batches with a format of 4 bits, and integers
 * with factors too large for linear_bytes.h, linear_nibbles.h and linear_words.h.
 *
 * It accepts all factors and data: integers by the bounds of kernel/linear.h, floats because the
 * change is limited to +-2^16, beyond which every sum leaves the 16-bit range.
 */
#ifndef DROVEK_X86_LINEAR_WIDE_H
#define DROVEK_X86_LINEAR_WIDE_H

/* ---- numbers to and from lanes ---- */

INLINE ivec wide_load(drove_number d, const uint8_t *p, size_t count)
{
    uint8_t room[2 * LANES] = {0};
    if (count < LANES) {
        memcpy(room, p, drove__numbers_bytes(d, count));
        p = room;
    }
    if (d == DROVE_I4) {
        uint64_t pairs = 0;
        memcpy(&pairs, p, LANES / 2);
        return nibbles_as_32(pairs);
    }
    return d == DROVE_I8 ? load_8_as_32(p) : load_16_as_32(p);
}

INLINE fvec wide_load_float(drove_number d, const uint8_t *p, size_t count)
{
    if (d == DROVE_F32) return as_float(load_part(p, 4 * count));
    return to_float(wide_load(d, p, count));
}

INLINE ivec wide_racy_load(drove_number m, const uint8_t *p)
{
    if (m == DROVE_F32) return racy_load(p);
    if (m == DROVE_I4) return nibbles_as_32(racy_load_pairs(p));
    return m == DROVE_I8 ? racy_load_8_as_32(p) : racy_load_16_as_32(p);
}

/* Pairs of the first `count` numbers; of an odd count the last pair's second half is that of
 * `last`. */
INLINE void wide_pairs(ivec v, size_t count, uint8_t last, uint8_t *room)
{
    uint64_t pairs = nibbles_of_32(v);
    memcpy(room, &pairs, LANES / 2);
    if (count % 2 == 1)
        room[count / 2] = drove__nibble_put(last, 0, drove__nibble_at(room, count - 1));
}

INLINE void wide_racy_store(drove_number m, uint8_t *p, ivec v, size_t count)
{
    uint8_t room[VEC_BYTES / 2];
    if (m == DROVE_I4) {
        wide_pairs(v, count, (uint8_t)racy_load_pairs(p + count / 2), room);
        racy_store_bytes(p, room, drove__numbers_bytes(m, count));
        return;
    }
    if (m == DROVE_F32) {
        racy_store_part(p, v, 4 * count);
    } else if (m == DROVE_I16) {
        racy_store_half_part(p, narrow_32_to_16(v), 2 * count);
    } else {
        __m128i bytes = narrow_32_to_8(v);
        if (count == LANES) racy_store_quarter(p, bytes);
        else {
            memcpy(room, &bytes, LANES);
            racy_store_bytes(p, room, count);
        }
    }
}

/* clamp(sum) of a w of format m. */
INLINE ivec wide_clamp(drove_number m, ivec sum)
{
    int most = drove__number_most(m);
    return min32(max32(sum, set32(-most - 1)), set32(most));
}

/* ---- rounding ---- */

/* (r + 0.5) / 2^16 of LANES words. */
INLINE fvec wide_rounding(const uint8_t *words)
{
    return fma_(to_float(load_unsigned_16_as_32(words)), fset(0x1p-16f), fset(0x1p-17f));
}

/* floor, limited to +-2^16; NaN is the lowest */
INLINE ivec wide_floor(fvec v)
{
    return floor_to_int(fmin_(fmax_(v, fset(-65536.0f)), fset(65536.0f)));
}

/* Registers of a batch's sums at a time: one alone would wait for each of its additions. */
enum { MOST_SUMS = 8 };

/* fmaf over the rows, of n_sums registers of `count` numbers each; c[] is added before the last
 * one, and becomes the sums. */
INLINE void wide_float_rows(drove_number d, const linear_step *s, size_t at, size_t count,
                            size_t n_sums, fvec *c)
{
    const size_t last = s->n_rows - 1;
    fvec         sum[MOST_SUMS];
    UNROLL
    for (size_t v = 0; v < n_sums; v++) sum[v] = fset(-0.0f);
    for (size_t k = 0; k < last; k++) {
        fvec f = fset(s->factor[k].f);
        UNROLL
        for (size_t v = 0; v < n_sums; v++) {
            const uint8_t *x = number_at(d, s->x[k], at + v * LANES);
            sum[v] = fma_(f, wide_load_float(d, x, count), sum[v]);
        }
    }
    fvec f = fset(s->factor[last].f);
    UNROLL
    for (size_t v = 0; v < n_sums; v++) {
        const uint8_t *x = number_at(d, s->x[last], at + v * LANES);
        fvec           so_far = last == 0 ? c[v] : fadd(sum[v], c[v]);
        c[v] = fma_(f, wide_load_float(d, x, count), so_far);
    }
}

INLINE ivec wide_integer_rows(drove_number d, const linear_step *s, size_t at, size_t count)
{
    ivec sum = zero();
    for (size_t k = 0; k < s->n_rows; k++) {
        ivec numbers = wide_load(d, number_at(d, s->x[k], at), count);
        sum = add32(sum, mul32(numbers, set32(s->factor[k].a)));
    }
    return sum;
}

/* r points at the random bits of the first lane. */
INLINE ivec wide_delta(drove_number d, drove_number m, const linear_step *s, size_t at,
                       size_t count, const uint8_t *r)
{
    if (d == DROVE_F32) {
        fvec c = wide_rounding(r);
        wide_float_rows(d, s, at, count, 1, &c);
        return wide_floor(c);
    }
    int  shift = s->factor->shift;
    ivec random = drovek_fraction_of(d, m, s->n_rows > 1).is_bytes
                      ? unsigned_right32(load_unsigned_8_as_32(r), 8 - shift)
                      : random_fraction(load_unsigned_16_as_32(r), shift);
    return right32(add32(wide_integer_rows(d, s, at, count), random), shift);
}

/* The random bits of the next drovek_per_draw numbers, in the order of the numbers. */
INLINE const uint8_t *wide_draw(drovek_fraction f, bit_source *source, const drovek_bits *bits,
                                uint8_t room[2 * DROVEK_BLOCK_BYTES])
{
    const size_t size = f.is_bytes ? 1 : 2;
    uint8_t      block[2][DROVEK_BLOCK_BYTES];
    if (!f.is_split) return next_block(bits->kind, source, bits, room);
    for (size_t b = 0; b < 2; b++) {
        uint8_t drawn[DROVEK_BLOCK_BYTES];
        memcpy(block[b], next_block(bits->kind, source, bits, drawn), DROVEK_BLOCK_BYTES);
    }
    for (size_t at = 0; at < DROVEK_BLOCK_BYTES; at += size) {
        memcpy(room + 2 * at, block[0] + at, size);
        memcpy(room + 2 * at + size, block[1] + at, size);
    }
    return room;
}

/* ---- integer models ---- */

/* The numbers of one wide_draw, of which n exist.  Returns the sum of the products with next
 * (has_dot: D float) in lanes. */
INLINE fvec wide_block(drove_number d, drove_number m, const linear_step *s, size_t at, size_t n,
                       const uint8_t *r, size_t *n_clamped, fvec dot, bool has_dot)
{
    const size_t bits_bytes = drovek_fraction_of(d, m, s->n_rows > 1).is_bytes ? 1 : 2;
    const bool   is_float_batch = d == DROVE_F32 && s->n_rows > 1 && n == 32;
    fvec         change[32 / LANES];
    if (is_float_batch) {
        for (size_t v = 0; v < 32 / LANES; v++) change[v] = wide_rounding(r + 2 * v * LANES);
        wide_float_rows(d, s, at, LANES, 32 / LANES, change);
    }
    for (size_t i = 0; i < n; i += LANES) {
        size_t   count = smaller(n - i, LANES);
        uint8_t *place = model_at(m, s->w, at + i);
        ivec     delta = is_float_batch ? wide_floor(change[i / LANES])
                                        : wide_delta(d, m, s, at + i, count, r + i * bits_bytes);
        ivec     sum = add32(wide_racy_load(m, place), delta), now = wide_clamp(m, sum);
        wide_racy_store(m, place, now, count);
        *n_clamped += differ_count32(sum, now, count);
        if (has_dot) {
            fvec numbers = wide_load_float(d, number_at(d, s->next, at + i), count);
            if (count < LANES) now = first_lanes(now, count);
            dot = fma_(numbers, to_float(now), dot);
        }
    }
    return dot;
}

/* Whether s.n_rows is 1 is known in every caller. */
INLINE double wide_pass(drove_number d, drove_number m, linear_step s, bool has_dot)
{
    const drovek_fraction fraction = drovek_fraction_of(d, m, s.n_rows > 1);
    const size_t          block = drovek_per_draw(d, m, s.n_rows > 1);
    _Alignas(64) uint8_t  room[2 * DROVEK_BLOCK_BYTES];
    bit_source            source = bits_begin(s.bits->kind, s.bits);
    fvec                  dot[2] = {fset(0.0f), fset(0.0f)};
    size_t                i = 0, clamped = 0;
    for (; i + block <= s.n; i += block) {
        const uint8_t *r = wide_draw(fraction, &source, s.bits, room);
        dot[0] = wide_block(d, m, &s, i, block, r, &clamped, dot[0], has_dot);
        if (has_dot)
            fetch(s.next, s.ahead, drove__numbers_bytes(d, i), drove__numbers_bytes(d, block));
    }
    if (i < s.n) {
        const uint8_t *r = wide_draw(fraction, &source, s.bits, room);
        dot[1] = wide_block(d, m, &s, i, s.n - i, r, &clamped, dot[1], has_dot);
    }
    bits_end(s.bits->kind, &source, s.bits);
    *s.n_clamped += clamped;
    return fsum(fadd(dot[0], dot[1]));
}

/* Dot of integers, one of 4 bits and one of at most 16: products below 2^18. */
INLINE double wide_integer_dot(drove_number d, drove_number m, const void *x, const void *w,
                               size_t n)
{
    const size_t chunk = 8192 * LANES;
    int64_t      total = 0;
    for (size_t begin = 0; begin < n; begin += chunk) {
        size_t end = begin + smaller(n - begin, chunk);
        ivec   sum = zero();
        for (size_t i = begin; i < end; i += LANES) {
            ivec numbers = wide_load(d, number_at(d, x, i), smaller(end - i, LANES));
            ivec weights = wide_racy_load(m, number_at(m, w, i));
            sum = add32(sum, mul32(numbers, weights));
        }
        total += sum_of_32(sum);
    }
    return (double)total;
}

/* ---- float models, and dot with a float on either side ---- */

enum { FLOAT_VECS = 4, FLOAT_BLOCK = FLOAT_VECS * LANES };

INLINE fvec wide_model(drove_number m, const uint8_t *p)
{
    ivec v = wide_racy_load(m, p);
    return m == DROVE_F32 ? as_float(v) : to_float(v);
}

INLINE double float_dot(drove_number d, drove_number m, const void *x, const void *w, size_t n)
{
    fvec   sum[FLOAT_VECS] = {fset(0.0f), fset(0.0f), fset(0.0f), fset(0.0f)};
    size_t i = 0;
    for (; i + FLOAT_BLOCK <= n; i += FLOAT_BLOCK) {
        UNROLL
        for (size_t v = 0; v < FLOAT_VECS; v++) {
            size_t at = i + v * LANES;
            sum[v] = fma_(wide_load_float(d, number_at(d, x, at), LANES),
                          wide_model(m, number_at(m, w, at)), sum[v]);
        }
    }
    for (; i < n; i += LANES) {
        size_t count = smaller(n - i, LANES);
        fvec   model = wide_model(m, number_at(m, w, i));
        if (count < LANES) model = as_float(first_lanes(as_bits(model), count));
        sum[0] = fma_(wide_load_float(d, number_at(d, x, i), count), model, sum[0]);
    }
    return fsum(sum[0]) + fsum(sum[1]) + fsum(sum[2]) + fsum(sum[3]);
}

INLINE fvec float_step(drove_number d, const linear_step *s, size_t at, size_t count, fvec dot,
                       bool has_dot)
{
    uint8_t *place = model_at(DROVE_F32, s->w, at);
    fvec     now = as_float(racy_load(place));
    wide_float_rows(d, s, at, count, 1, &now);
    racy_store_part(place, as_bits(now), 4 * count);
    if (!has_dot) return dot;
    if (count < LANES) now = as_float(first_lanes(as_bits(now), count));
    return fma_(wide_load_float(d, number_at(d, s->next, at), count), now, dot);
}

/* One example. */
INLINE double float_pass(drove_number d, linear_step s, bool has_dot)
{
    fvec   sum[FLOAT_VECS] = {fset(0.0f), fset(0.0f), fset(0.0f), fset(0.0f)};
    size_t i = 0;
    /* A copy, since stores to w might alias the caller's memory. */
    const drovek_factor first = s.factor[0];
    const void         *row = s.x[0];
    s.factor = &first, s.x = &row;
    for (; i + FLOAT_BLOCK <= s.n; i += FLOAT_BLOCK) {
        UNROLL
        for (size_t v = 0; v < FLOAT_VECS; v++)
            sum[v] = float_step(d, &s, i + v * LANES, LANES, sum[v], has_dot);
        if (has_dot)
            fetch(s.next, s.ahead, drove__numbers_bytes(d, i),
                  drove__numbers_bytes(d, FLOAT_BLOCK));
    }
    for (; i < s.n; i += LANES) {
        size_t count = smaller(s.n - i, LANES);
        sum[0] = float_step(d, &s, i, count, sum[0], has_dot);
    }
    return fsum(sum[0]) + fsum(sum[1]) + fsum(sum[2]) + fsum(sum[3]);
}

INLINE void float_batch(drove_number d, linear_step s)
{
    size_t i = 0;
    for (; i + MOST_SUMS * LANES <= s.n; i += MOST_SUMS * LANES) {
        fvec     now[MOST_SUMS];
        uint8_t *place = model_at(DROVE_F32, s.w, i);
        UNROLL
        for (size_t v = 0; v < MOST_SUMS; v++) now[v] = as_float(racy_load(place + v * VEC_BYTES));
        wide_float_rows(d, &s, i, LANES, MOST_SUMS, now);
        UNROLL
        for (size_t v = 0; v < MOST_SUMS; v++) racy_store(place + v * VEC_BYTES, as_bits(now[v]));
    }
    for (; i < s.n; i += LANES) float_step(d, &s, i, smaller(s.n - i, LANES), fset(0.0f), false);
}

/* ---- merge and decay ---- */

INLINE void wide_store(drove_number m, uint8_t *p, ivec v, size_t count)
{
    uint8_t room[4 * LANES];
    if (m == DROVE_I4) {
        wide_pairs(v, count, count % 2 == 1 ? p[count / 2] : 0, room);
    } else if (m == DROVE_F32) {
        store(room, v);
    } else if (m == DROVE_I16) {
        half_vec words = narrow_32_to_16(v);
        memcpy(room, &words, sizeof words);
    } else {
        __m128i bytes = narrow_32_to_8(v);
        memcpy(room, &bytes, LANES);
    }
    memcpy(p, room, drove__numbers_bytes(m, count));
}

INLINE size_t merge_step(drove_number m, void *centre, void *w, void *last, size_t at, size_t count,
                         float share, const uint8_t *r)
{
    uint8_t *c = model_at(m, centre, at), *replica = model_at(m, w, at),
            *was = model_at(m, last, at);
    ivec gain = sub32(wide_racy_load(m, replica), wide_load(m, was, count));
    if (r != NULL) gain = wide_floor(fma_(fset(share), to_float(gain), wide_rounding(r)));
    ivec sum = add32(wide_racy_load(m, c), gain), met = wide_clamp(m, sum);
    wide_racy_store(m, c, met, count);
    wide_racy_store(m, replica, met, count);
    wide_store(m, was, met, count);
    return differ_count32(sum, met, count);
}

INLINE size_t merge_floats(void *centre, void *w, void *last, size_t n, float share)
{
    for (size_t i = 0; i < n; i += LANES) {
        size_t   count = smaller(n - i, LANES);
        uint8_t *c = model_at(DROVE_F32, centre, i), *replica = model_at(DROVE_F32, w, i),
                *was = model_at(DROVE_F32, last, i);
        fvec gain = fsub(as_float(racy_load(replica)), as_float(load_part(was, 4 * count)));
        ivec met = as_bits(fma_(fset(share), gain, as_float(racy_load(c))));
        racy_store_part(c, met, 4 * count);
        racy_store_part(replica, met, 4 * count);
        wide_store(DROVE_F32, was, met, count);
    }
    return 0;
}

INLINE size_t merge(drove_number m, void *centre, void *w, void *last, size_t n, float share,
                    drovek_bits *bits)
{
    _Alignas(64) uint8_t room[DROVEK_BLOCK_BYTES];
    bool                 is_rounded = share != 1.0f;
    bit_source           source = {0};
    const uint8_t       *r = NULL;
    size_t               n_clamped = 0;
    if (m == DROVE_F32) return merge_floats(centre, w, last, n, share);
    if (is_rounded) source = bits_begin(bits->kind, bits);
    for (size_t i = 0; i < n; i += LANES) {
        size_t count = smaller(n - i, LANES);
        if (is_rounded && i % 32 == 0) r = next_block(bits->kind, &source, bits, room);
        n_clamped +=
            merge_step(m, centre, w, last, i, count, share, is_rounded ? r + 2 * (i % 32) : NULL);
    }
    if (is_rounded) bits_end(bits->kind, &source, bits);
    return n_clamped;
}

INLINE void decay_floats(void *w, size_t n, float kappa)
{
    for (size_t i = 0; i < n; i += LANES) {
        uint8_t *place = model_at(DROVE_F32, w, i);
        fvec     was = as_float(racy_load(place));
        fvec     now = fma_(fset(-kappa), was, was);
        racy_store_part(place, as_bits(now), 4 * smaller(n - i, LANES));
    }
}

INLINE void decay(drove_number m, void *w, size_t n, float kappa, drovek_bits *bits)
{
    if (m == DROVE_F32) {
        decay_floats(w, n, kappa);
        return;
    }
    _Alignas(64) uint8_t room[DROVEK_BLOCK_BYTES];
    bit_source           source = bits_begin(bits->kind, bits);
    const uint8_t       *r = NULL;
    for (size_t i = 0; i < n; i += LANES) {
        uint8_t *place = model_at(m, w, i);
        if (i % 32 == 0) r = next_block(bits->kind, &source, bits, room);
        ivec was = wide_racy_load(m, place), minus = sub32(zero(), was);
        ivec delta =
            wide_floor(fma_(fset(kappa), to_float(minus), wide_rounding(r + 2 * (i % 32))));
        wide_racy_store(m, place, add32(was, delta), smaller(n - i, LANES));
    }
    bits_end(bits->kind, &source, bits);
}

#endif
