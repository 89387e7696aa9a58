/* kernel/x86/linear_words.h - fixed point with data, model or both of 16 bits.
 *
 * As in linear_bytes.h, the factor is scaled to a denominator that is half a lane wide:
 *
 *     delta = floor((a x + r) / 2^16)
 *
 * by shifting a, and data of 8 bits, to the left; the whole random word is used.  vpmaddwd with
 * (a, 0) and (0, a) multiplies even and odd numbers into 32 bits without unpacking; the quotients
 * of the odd ones are then already in their position.  Factors too large for this (delta beyond
 * half of the 16-bit range) use linear_wide.h.
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

typedef struct word_pass {
    const void *const   *x;
    const drovek_factor *factor;
    size_t               n_rows;
    int                  left_a, left_x; /* left shifts of factors and of 8-bit data */
    bit_source           source;
    word_sum             sum;
    size_t               n_clamped;
} word_pass;

/* The sums of a x over the rows, added to even[] and odd[]. */
INLINE void word_rows(const word_pass *pass, drove_number d, size_t at, const size_t count[2],
                      ivec even[2], ivec odd[2])
{
    for (size_t k = 0; k < pass->n_rows; k++) {
        int  a = pass->factor[k].a * (1 << pass->left_a);
        ivec a_even = set32(a & 0xffff), a_odd = set32((int)((uint32_t)a << 16));
        UNROLL
        for (size_t v = 0; v < 2; v++) {
            if (count[v] == 0) break;
            ivec x = words_load(d, number_at(d, pass->x[k], at + v * WORDS), count[v]);
            if (d == DROVE_I8) x = left16(x, pass->left_x);
            even[v] = add_pairs16(even[v], x, a_even);
            odd[v] = add_pairs16(odd[v], x, a_odd);
        }
    }
}

/* Two registers, of which count[0] >= 1 and count[1] numbers exist. */
INLINE void word_pair(word_pass *pass, drove_number d, drove_number m, void *w, const void *next,
                      size_t at, size_t count0, size_t count1, drovek_bits_kind kind, bool has_dot)
{
    ivec   r[2], even[2], odd[2];
    differ clamped[2];
    size_t count[2] = {count0, count1};
    next_bits(kind, &pass->source, count1 > 0, r);
    clamped[1] = differ_at(r[0], r[0]);
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        even[v] = bit_and(r[v], set32(0xffff));
        odd[v] = unsigned_right32_by16(r[v]);
    }
    word_rows(pass, d, at, count, even, odd);
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        size_t place = at + v * WORDS;
        if (count[v] == 0) break;
        ivec delta = odd_words(unsigned_right32_by16(even[v]), odd[v]);
        ivec now = word_update(m, model_at(m, w, place), delta, count[v], &clamped[v]);
        if (has_dot) {
            ivec x = words_load(d, number_at(d, next, place), count[v]);
            pass->sum = word_sum_add(pass->sum, x, now);
        }
    }
    if (__builtin_expect(differ_anywhere(clamped[0], clamped[1]), 0))
        pass->n_clamped += differ_count(clamped[0], 2) + differ_count(clamped[1], 2);
}

/* d, m, kind, has_dot (next and ahead are used), and an n_rows of 1, are constants in every
 * caller. */
INLINE double words_pass(drove_number d, drove_number m, linear_step s, drovek_bits_kind kind,
                         bool has_dot)
{
    /* One example: a copy, since stores to w might alias the caller's memory. */
    const drovek_factor first = s.factor[0];
    const void         *row = s.x[0];
    if (s.n_rows == 1) s.factor = &first, s.x = &row;
    const size_t n = s.n;
    int          left = 16 - first.shift, left_x = d == DROVE_I16 ? 0 : left < 8 ? left : 8;
    word_pass    pass = {.x = s.x,
                         .factor = s.factor,
                         .n_rows = s.n_rows,
                         .left_a = left - left_x,
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

/* Whether the shifted factors fit 16 bits, and a quotient of their sum, too. */
INLINE bool words_fit(drove_number d, const drovek_factor *factor, size_t n_rows)
{
    int     left = 16 - factor[0].shift, left_a = d == DROVE_I16 ? left : left < 8 ? 0 : left - 8;
    int64_t sum = 0, most = 0;
    for (size_t k = 0; k < n_rows; k++) {
        int64_t size = (factor[k].a < 0 ? -(int64_t)factor[k].a : factor[k].a) << left_a;
        sum += size;
        most = size > most ? size : most;
    }
    return most <= 32767 && sum <= 65534;
}

#endif
