/* kernel/x86/linear_words.h - fixed point with data, model or both of 16 bits.
 *
 * One example: as in linear_bytes.h, the factor is scaled to a denominator that is half a lane
 * wide:
 *
 *     delta = floor((a x + r) / 2^16)
 *
 * by shifting a, and data of 8 bits, to the left; the whole random word is used.  vpmaddwd with
 * (a, 0) and (0, a) multiplies even and odd numbers into 32 bits without unpacking; the quotients
 * of the odd ones are then already in their position.
 *
 * A batch: as in linear_bytes.h.
 *
 * Factors too large for this (delta beyond half of the 16-bit range) use linear_wide.h.
 */
#ifndef DROVEK_X86_LINEAR_WORDS_H
#define DROVEK_X86_LINEAR_WORDS_H

/* Numbers of one register and of two; numbers before a sum is totalled. */
enum { WORDS = VEC_BYTES / 2, WORDS_PAIR = 2 * WORDS, WORDS_CHUNK = 8192 * WORDS };

/* Sum of 32-bit numbers p >= -2^31 + 2^16, at most 65535 of them in a lane, without widening: low
 * is the sum modulo 2^32, high the sum of floor(p / 2^16).  2^16 high is less than 2^32 below the
 * sum, so it tells which number with the remainder low the sum is. */
typedef struct word_sum {
    ivec low, high;
} word_sum;

INLINE word_sum word_sum_zero(void)
{
    return (word_sum){zero(), zero()};
}

/* x never holds -32768, so every pair of products fits 32 bits. */
INLINE word_sum word_sum_add(word_sum sum, ivec x, ivec w)
{
    ivec pair = pairs16(x, w);
    return (word_sum){add32(sum.low, pair), add32(sum.high, right32_by16(pair))};
}

INLINE int64_t word_sum_total(word_sum sum)
{
    return sum_of_split(sum.low, sum.high);
}

INLINE ivec words_load(drove_number d, const uint8_t *p, size_t count)
{
    uint8_t room[VEC_BYTES / 2] = {0};
    if (d == DROVE_I16) return load_part(p, 2 * count);
    if (count == WORDS) return load_8_as_16(p);
    memcpy(room, p, count);
    return load_8_as_16(room);
}

INLINE ivec words_racy_load(drove_number m, const uint8_t *p)
{
    return m == DROVE_I8 ? racy_load_8_as_16(p) : racy_load(p);
}

INLINE double words_dot(drove_number d, drove_number m, const void *x, const void *w, size_t n)
{
    int64_t total = 0;
    size_t  i = 0;
    while (i < n) {
        word_sum sum[2] = {word_sum_zero(), word_sum_zero()};
        size_t   end = i + smaller(n - i, WORDS_CHUNK);
        for (; i + WORDS_PAIR <= end; i += WORDS_PAIR) {
            UNROLL
            for (size_t v = 0; v < 2; v++) {
                size_t at = i + v * WORDS;
                sum[v] = word_sum_add(sum[v], words_load(d, number_at(d, x, at), WORDS),
                                      words_racy_load(m, number_at(m, w, at)));
            }
        }
        for (; i < end; i += WORDS) {
            size_t count = smaller(end - i, WORDS);
            sum[0] = word_sum_add(sum[0], words_load(d, number_at(d, x, i), count),
                                  words_racy_load(m, number_at(m, w, i)));
        }
        i = end;
        total += word_sum_total(sum[0]) + word_sum_total(sum[1]);
    }
    return (double)total;
}

/* w + delta, saturating; *clamped: where it did. */
INLINE ivec word_update(drove_number m, uint8_t *w, ivec delta, size_t count, differ *clamped)
{
    ivec was = words_racy_load(m, w), now = adds16(was, delta);
    if (m == DROVE_I16) {
        *clamped = differ_at(now, add16(was, delta));
        racy_store_part(w, now, 2 * count);
        return now;
    }
    ivec within = min16(max16(now, set16(-128)), set16(127));
    *clamped = differ_at(now, within);
    racy_store_half_part(w, narrow_16_to_8(within), count);
    return within;
}

/* ---- one example ---- */

typedef struct word_pass {
    const void *x;
    ivec        a_even, a_odd; /* (a, 0), (0, a) */
    int         left_x;        /* left shift of 8-bit data */
    bit_source  source;
    word_sum    sum;
    size_t      n_clamped;
} word_pass;

/* Two registers, of which count[0] >= 1 and count[1] numbers exist. */
INLINE void word_pair(word_pass *pass, drove_number d, drove_number m, void *w, const void *next,
                      size_t at, size_t count0, size_t count1, drovek_bits_kind kind, bool has_dot)
{
    ivec   r[2];
    differ clamped[2];
    size_t count[2] = {count0, count1};
    next_bits(kind, &pass->source, count1 > 0, r);
    clamped[1] = differ_at(r[0], r[0]);
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        size_t place = at + v * WORDS;
        if (count[v] == 0) break;
        ivec x = words_load(d, number_at(d, pass->x, place), count[v]);
        if (d == DROVE_I8) x = left16(x, pass->left_x);
        ivec even = add_pairs16(bit_and(r[v], set32(0xffff)), x, pass->a_even);
        ivec odd = add_pairs16(unsigned_right32_by16(r[v]), x, pass->a_odd);
        ivec delta = odd_words(unsigned_right32_by16(even), odd);
        ivec now = word_update(m, model_at(m, w, place), delta, count[v], &clamped[v]);
        if (has_dot) {
            ivec y = words_load(d, number_at(d, next, place), count[v]);
            pass->sum = word_sum_add(pass->sum, y, now);
        }
    }
    if (__builtin_expect(differ_anywhere(clamped[0], clamped[1]), 0))
        pass->n_clamped += differ_count(clamped[0], 2) + differ_count(clamped[1], 2);
}

/* d, m, kind and has_dot (next and ahead are used) are constants in every caller. */
INLINE double words_pass(drove_number d, drove_number m, linear_step s, drovek_bits_kind kind,
                         bool has_dot)
{
    const size_t n = s.n;
    int          left = 16 - s.factor->shift, left_x = d == DROVE_I16 ? 0 : left < 8 ? left : 8;
    int          a = s.factor->a * (1 << (left - left_x));
    word_pass    pass = {.x = s.x[0],
                         .a_even = set32(a & 0xffff),
                         .a_odd = set32((int)((uint32_t)a << 16)),
                         .left_x = left_x,
                         .source = bits_begin(kind, s.bits),
                         .sum = word_sum_zero()};
    size_t       pair_bytes = WORDS_PAIR * drove__number_size(d), i = 0;
    int64_t      total = 0;
    while (n - i >= WORDS_PAIR) {
        size_t end = i + smaller(n - i, WORDS_CHUNK);
        for (; i + WORDS_PAIR <= end; i += WORDS_PAIR) {
            word_pair(&pass, d, m, s.w, s.next, i, WORDS, WORDS, kind, has_dot);
            if (has_dot) fetch(s.next, s.ahead, i * drove__number_size(d), pair_bytes);
        }
        if (has_dot) total += word_sum_total(pass.sum);
        pass.sum = word_sum_zero();
    }
    if (i < n) {
        size_t count = smaller(n - i, WORDS);
        word_pair(&pass, d, m, s.w, s.next, i, count, n - i - count, kind, has_dot);
        if (has_dot) total += word_sum_total(pass.sum);
    }
    bits_end(kind, &pass.source, s.bits);
    *s.n_clamped += pass.n_clamped;
    return (double)total;
}

/* Whether the shifted factor, and so a quotient, fits 16 bits. */
INLINE bool words_fit(drove_number d, const drovek_factor *factor)
{
    int left = 16 - factor->shift, left_a = d == DROVE_I16 ? left : left < 8 ? 0 : left - 8;
    return (factor->a < 0 ? -(int64_t)factor->a : factor->a) << left_a <= 32767;
}

/* ---- a batch ---- */

/* Numbers at a time: whole lines of each example, which are then read once even where the lines of
 * all examples share a set of the cache. */
enum { BATCH = 64, BATCH_VECS = BATCH / WORDS };

/* Sums of products, in the orders of low_pairs16 and high_pairs16. */
typedef struct word_batch {
    ivec low[BATCH_VECS], high[BATCH_VECS];
} word_batch;

/* Adds a x + b y. */
INLINE void words_add_two(drove_number d, word_batch *sum, const uint8_t *x, const uint8_t *y,
                          int32_t a, int32_t b, const size_t count[BATCH_VECS])
{
    ivec factors = set32((int)((uint16_t)a | (uint32_t)b << 16));
    UNROLL
    for (size_t v = 0; v < BATCH_VECS; v++) {
        size_t bytes = v * WORDS * drove__number_size(d);
        if (count[v] == 0) break;
        ivec one = words_load(d, x + bytes, count[v]), other = words_load(d, y + bytes, count[v]);
        sum->low[v] = add_pairs16(sum->low[v], low_pairs16(one, other), factors);
        sum->high[v] = add_pairs16(sum->high[v], high_pairs16(one, other), factors);
        keep_apart(&x, &y, &sum->low[v], &sum->high[v]);
    }
}

/* BATCH numbers from `at` on, or fewer, in registers of count[] numbers; r: their random words.
 * Returns how many were clamped. */
INLINE size_t words_batch_block(drove_number d, drove_number m, const linear_step *s, size_t at,
                                const size_t count[BATCH_VECS], const ivec r[BATCH_VECS])
{
    const int  shift = s->factor->shift;
    size_t     n_clamped = 0, k = 0;
    size_t     offset = at * drove__number_size(d);
    word_batch sum;
    UNROLL
    for (size_t v = 0; v < BATCH_VECS; v++) {
        sum.low[v] = random_fraction(low_pairs16(r[v], zero()), shift);
        sum.high[v] = random_fraction(high_pairs16(r[v], zero()), shift);
    }
    for (; k + 2 <= s->n_rows; k += 2) {
        const uint8_t *x = (const uint8_t *)s->x[k] + offset,
                      *y = (const uint8_t *)s->x[k + 1] + offset;
        fetch_rows(s->x, k, s->n_rows, offset, BATCH * drove__number_size(d));
        words_add_two(d, &sum, x, y, s->factor[k].a, s->factor[k + 1].a, count);
    }
    if (k < s->n_rows) {
        const uint8_t *x = (const uint8_t *)s->x[k] + offset;
        words_add_two(d, &sum, x, x, s->factor[k].a, 0, count);
    }
    UNROLL
    for (size_t v = 0; v < BATCH_VECS; v++) {
        differ clamped;
        if (count[v] == 0) continue;
        ivec delta = join32(right32(sum.low[v], shift), right32(sum.high[v], shift));
        word_update(m, model_at(m, s->w, at + v * WORDS), delta, count[v], &clamped);
        if (__builtin_expect(differ_anywhere(clamped, clamped), 0))
            n_clamped += differ_count(clamped, 2);
    }
    return n_clamped;
}

INLINE void words_batch(drove_number d, drove_number m, linear_step s)
{
    const drovek_bits_kind kind = s.bits->kind;
    bit_source             source = bits_begin(kind, s.bits);
    size_t                 whole[BATCH_VECS], rest[BATCH_VECS], n_clamped = 0, i = 0;
    ivec                   r[BATCH_VECS] = {zero()};
    UNROLL
    for (size_t v = 0; v < BATCH_VECS; v++) whole[v] = WORDS;
    for (; i + BATCH <= s.n; i += BATCH) {
        UNROLL
        for (size_t v = 0; v < BATCH_VECS; v += 2) next_bits(kind, &source, 1, r + v);
        n_clamped += words_batch_block(d, m, &s, i, whole, r);
    }
    if (i < s.n) {
        for (size_t v = 0; v < BATCH_VECS; v++)
            rest[v] = i + v * WORDS < s.n ? smaller(s.n - i - v * WORDS, WORDS) : 0;
        for (size_t v = 0; v < BATCH_VECS && rest[v] > 0; v += 2)
            next_bits(kind, &source, rest[v + 1] > 0, r + v);
        n_clamped += words_batch_block(d, m, &s, i, rest, r);
    }
    bits_end(kind, &source, s.bits);
    *s.n_clamped += n_clamped;
}

#endif
