/* kernel/x86/linear_bytes.h - a model of 8 bits with data of 8, or of 4 (linear_nibbles.h has their
 * products).
 *
 * One example: the step's factor is scaled to a / 2^8, so that the quotient is the upper half of 16
 * bits:
 *
 *     delta = floor((a x + r) / 2^8),  |a| < 256
 *
 * With a shift s < 8, a becomes a 2^(8-s), and the whole random byte is used: a x is then a
 * multiple of 2^(8-s), so the lower bits of the byte change no quotient.  Even and odd numbers use
 * separate registers of 16-bit products; the quotients of the odd ones are then already in their
 * position.  vpmaddubsw with (|a|, 0) and (0, |a|) multiplies without unpacking, and cannot
 * saturate because one of its two products is 0.  A negative a subtracts floor((|a| x + 255 - r) /
 * 2^8), which is the same number.
 *
 * A batch: two examples at a time, whose numbers are interleaved as words, so that vpmaddwd with
 * (a, b) multiplies both and adds them up in 32 bits.
 */
#ifndef DROVEK_X86_LINEAR_BYTES_H
#define DROVEK_X86_LINEAR_BYTES_H

/* Numbers of two registers; numbers before a sum is totalled. */
enum { BYTES_PAIR = 2 * VEC_BYTES, BYTES_CHUNK = 8192 * VEC_BYTES };

/* `count` numbers; those of 4 bits times 16. */
INLINE ivec bytes_load(drove_number d, const uint8_t *x, size_t count)
{
    return d == DROVE_I4 ? nibbles_times16(nibbles_load(x, count)) : load_part(x, count);
}

/* The sum of products with such numbers. */
INLINE int64_t bytes_total(drove_number d, byte_sum sum)
{
    return byte_sum_total(sum) / (d == DROVE_I4 ? 16 : 1);
}

INLINE double bytes_dot(drove_number d, const void *x, const int8_t *w, size_t n)
{
    int64_t total = 0;
    size_t  i = 0;
    while (i < n) {
        byte_sum sum[2] = {byte_sum_zero(), byte_sum_zero()};
        size_t   end = i + smaller(n - i, BYTES_CHUNK);
        for (; i + BYTES_PAIR <= end; i += BYTES_PAIR) {
            UNROLL
            for (size_t v = 0; v < 2; v++) {
                size_t at = i + v * VEC_BYTES;
                sum[v] = byte_sum_add(sum[v], bytes_load(d, number_at(d, x, at), VEC_BYTES),
                                      racy_load(w + at));
            }
        }
        for (; i < end; i += VEC_BYTES) {
            size_t count = smaller(end - i, VEC_BYTES);
            sum[0] =
                byte_sum_add(sum[0], bytes_load(d, number_at(d, x, i), count), racy_load(w + i));
        }
        i = end;
        total += bytes_total(d, sum[0]) + bytes_total(d, sum[1]);
    }
    return (double)total;
}

/* ---- AXPY ---- */

typedef struct byte_factor {
    ivec even, odd; /* (|a|, 0), (0, |a|), unsigned bytes */
} byte_factor;

INLINE ivec byte_delta(ivec x, byte_factor f, ivec r)
{
    ivec even = add16(pairs8(f.even, x), bit_and(r, set16(0xff)));
    ivec odd = add16(pairs8(f.odd, x), unsigned_right16_by8(r));
    return odd_bytes(unsigned_right16_by8(even), odd);
}

/* w +- delta, saturating; *clamped: where it did. */
INLINE ivec byte_update(int8_t *w, ivec delta, bool is_minus, size_t count, differ *clamped)
{
    ivec was = racy_load(w);
    ivec now = is_minus ? subs8(was, delta) : adds8(was, delta);
    *clamped = differ_at(now, is_minus ? sub8(was, delta) : add8(was, delta));
    racy_store_part(w, now, count);
    return now;
}

typedef struct byte_pass {
    byte_factor  factor; /* of data of 8 bits */
    nibble_table table;  /* of data of 4 bits */
    bit_source   source;
    byte_sum     sum;
    size_t       n_clamped;
} byte_pass;

INLINE ivec byte_pass_delta(const byte_pass *pass, drove_number d, const uint8_t *x, size_t count,
                            ivec r)
{
    if (d == DROVE_I4) return nibble_delta(&pass->table, nibbles_index(nibbles_load(x, count)), r);
    return byte_delta(load_part(x, count), pass->factor, r);
}

/* Two registers, of which count[0] >= 1 and count[1] numbers exist. */
INLINE void byte_pair(byte_pass *pass, drove_number d, int8_t *w, const uint8_t *x,
                      const uint8_t *next, size_t count0, size_t count1, drovek_bits_kind kind,
                      bool is_minus, bool has_dot)
{
    ivec   r[2], flip = set8(is_minus ? -1 : 0);
    differ clamped[2];
    size_t count[2] = {count0, count1};
    next_bits(kind, &pass->source, count1 > 0, r);
    clamped[1] = differ_at(flip, flip);
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        size_t at = v * VEC_BYTES;
        if (count[v] == 0) break;
        ivec delta = byte_pass_delta(pass, d, number_at(d, x, at), count[v], bit_xor(r[v], flip));
        ivec now = byte_update(w + at, delta, is_minus, count[v], &clamped[v]);
        if (has_dot)
            pass->sum =
                byte_sum_add(pass->sum, bytes_load(d, number_at(d, next, at), count[v]), now);
    }
    if (__builtin_expect(differ_anywhere(clamped[0], clamped[1]), 0))
        pass->n_clamped += differ_count(clamped[0], 1) + differ_count(clamped[1], 1);
}

/* d, kind, is_minus (never of data of 4 bits) and has_dot (next and ahead are used) are constants
 * in every caller. */
INLINE double bytes_pass(drove_number d, linear_step s, int a, drovek_bits_kind kind, bool is_minus,
                         bool has_dot)
{
    int8_t   *w = s.w;
    byte_pass pass = {.source = bits_begin(kind, s.bits), .sum = byte_sum_zero()};
    if (d == DROVE_I4) {
        pass.table = nibble_table_of(a, 1);
    } else {
        int size = is_minus ? -a : a;
        pass.factor = (byte_factor){set16(size), set16(size << 8)};
    }
    const void  *x = s.x[0], *next = has_dot ? s.next : x;
    const size_t n = s.n;
    int64_t      total = 0;
    size_t       i = 0;
    while (n - i >= BYTES_PAIR) {
        size_t end = i + smaller(n - i, BYTES_CHUNK);
        for (; i + BYTES_PAIR <= end; i += BYTES_PAIR) {
            byte_pair(&pass, d, w + i, number_at(d, x, i), number_at(d, next, i), VEC_BYTES,
                      VEC_BYTES, kind, is_minus, has_dot);
            if (has_dot)
                fetch(next, s.ahead, drove__numbers_bytes(d, i),
                      drove__numbers_bytes(d, BYTES_PAIR));
        }
        if (has_dot) total += bytes_total(d, pass.sum);
        pass.sum = byte_sum_zero();
    }
    if (i < n) {
        size_t count = smaller(n - i, VEC_BYTES);
        byte_pair(&pass, d, w + i, number_at(d, x, i), number_at(d, next, i), count, n - i - count,
                  kind, is_minus, has_dot);
        if (has_dot) total += bytes_total(d, pass.sum);
    }
    bits_end(kind, &pass.source, s.bits);
    *s.n_clamped += pass.n_clamped;
    return (double)total;
}

/* ---- a batch ---- */

/* Numbers of a register of bytes are summed in four of 32 bits: even and odd ones, each from the
 * lower and the upper half of every 16 bytes.  Numbers are multiplied by 256: they then are words
 * without their signs being spread. */
typedef struct byte_batch {
    ivec even_low, even_high, odd_low, odd_high;
} byte_batch;

/* Sums that begin with the random words of VEC_BYTES numbers. */
INLINE byte_batch byte_batch_begin(const ivec words[2], int shift)
{
    ivec low = even_sixteens(words[0], words[1]), high = odd_sixteens(words[0], words[1]);
    return (byte_batch){random_fraction(bit_and(low, set32(0xffff)), shift + 8),
                        random_fraction(bit_and(high, set32(0xffff)), shift + 8),
                        random_fraction(unsigned_right32_by16(low), shift + 8),
                        random_fraction(unsigned_right32_by16(high), shift + 8)};
}

/* Adds a x + b y; factors: pairs of words (a, b). */
INLINE void byte_batch_add(byte_batch *sum, ivec x, ivec y, ivec factors)
{
    const ivec odd = set16(-256);
    ivec       x_even = left16_by8(x), x_odd = bit_and(x, odd);
    ivec       y_even = left16_by8(y), y_odd = bit_and(y, odd);
    sum->even_low = add_pairs16(sum->even_low, low_pairs16(x_even, y_even), factors);
    sum->even_high = add_pairs16(sum->even_high, high_pairs16(x_even, y_even), factors);
    sum->odd_low = add_pairs16(sum->odd_low, low_pairs16(x_odd, y_odd), factors);
    sum->odd_high = add_pairs16(sum->odd_high, high_pairs16(x_odd, y_odd), factors);
}

/* Adds the quotients to `count` numbers of w; returns how many were clamped. */
INLINE size_t byte_batch_write(const byte_batch *sum, int shift, int8_t *w, size_t count)
{
    const int by = shift + 8;
    ivec      was = racy_load(w);
    ivec delta_low = odd_words(right32(sum->even_low, by), left32_by16(right32(sum->odd_low, by)));
    ivec delta_high =
        odd_words(right32(sum->even_high, by), left32_by16(right32(sum->odd_high, by)));
    ivec low = adds16(right16_by8(low_pairs8(zero(), was)), delta_low);
    ivec high = adds16(right16_by8(high_pairs8(zero(), was)), delta_high);
    ivec now = join16(low, high);
    racy_store_part(w, now, count);
    ivec   beyond = or_and(add16(low, set16(128)), add16(high, set16(128)), set16(-256));
    differ any = differ_at(beyond, zero());
    if (__builtin_expect(!differ_anywhere(any, any), 1)) return 0;
    return differ_count(differ_at(low, right16_by8(low_pairs8(zero(), now))), 2) +
           differ_count(differ_at(high, right16_by8(high_pairs8(zero(), now))), 2);
}

/* Adds a x + b y of rows of which count[] numbers exist in each register. */
INLINE void bytes_batch_add(byte_batch sum[2], const uint8_t *x, const uint8_t *y, int32_t a,
                            int32_t b, const size_t count[2])
{
    const ivec factors = set32((int)((uint16_t)a | (uint32_t)b << 16));
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        const size_t at = v * VEC_BYTES;
        if (count[v] == 0) break;
        byte_batch_add(&sum[v], load_part(x + at, count[v]), load_part(y + at, count[v]), factors);
        keep_apart(&x, &y, &sum[v].even_low, &sum[v].even_high);
        keep_apart(&x, &y, &sum[v].odd_low, &sum[v].odd_high);
    }
}

INLINE void bytes_batch_begin(const linear_step *s, const size_t count[2], bit_source *source,
                              byte_batch sum[2])
{
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        ivec words[2] = {zero(), zero()};
        if (count[v] > 0) next_bits(s->bits->kind, source, count[v] > VEC_BYTES / 2, words);
        sum[v] = byte_batch_begin(words, s->factor->shift);
    }
}

/* Two registers from `at` on; fixed: what sums begin with if the random words are always the same.
 * Returns how many numbers were clamped. */
INLINE size_t bytes_batch_pair(const linear_step *s, size_t at, const size_t count[2],
                               bit_source *source, const byte_batch fixed[2])
{
    byte_batch sum[2] = {fixed[0], fixed[1]};
    size_t     n_clamped = 0, k = 0;
    if (s->bits->kind != DROVEK_BITS_FIXED) bytes_batch_begin(s, count, source, sum);
    for (; k + 2 <= s->n_rows; k += 2) {
        fetch_rows(s->x, k, s->n_rows, at, BYTES_PAIR);
        bytes_batch_add(sum, (const uint8_t *)s->x[k] + at, (const uint8_t *)s->x[k + 1] + at,
                        s->factor[k].a, s->factor[k + 1].a, count);
    }
    if (k < s->n_rows) /* the last one of an odd number, with itself */
        bytes_batch_add(sum, (const uint8_t *)s->x[k] + at, (const uint8_t *)s->x[k] + at,
                        s->factor[k].a, 0, count);
    UNROLL
    for (size_t v = 0; v < 2; v++)
        if (count[v] > 0)
            n_clamped += byte_batch_write(&sum[v], s->factor->shift,
                                          (int8_t *)s->w + at + v * VEC_BYTES, count[v]);
    return n_clamped;
}

INLINE void bytes_batch(linear_step s)
{
    const size_t whole[2] = {VEC_BYTES, VEC_BYTES};
    bit_source   source = bits_begin(s.bits->kind, s.bits);
    size_t       n_clamped = 0, i = 0;
    byte_batch   fixed[2] = {{zero(), zero(), zero(), zero()}, {zero(), zero(), zero(), zero()}};
    if (s.bits->kind == DROVEK_BITS_FIXED) bytes_batch_begin(&s, whole, &source, fixed);
    for (; i + BYTES_PAIR <= s.n; i += BYTES_PAIR)
        n_clamped += bytes_batch_pair(&s, i, whole, &source, fixed);
    if (i < s.n) {
        const size_t first = smaller(s.n - i, VEC_BYTES), rest[2] = {first, s.n - i - first};
        n_clamped += bytes_batch_pair(&s, i, rest, &source, fixed);
    }
    bits_end(s.bits->kind, &source, s.bits);
    *s.n_clamped += n_clamped;
}

#endif
