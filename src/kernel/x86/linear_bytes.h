/* kernel/x86/linear_bytes.h - a model of 8 bits with data of 8, or of 4 (linear_nibbles.h has their
 * products).
 *
 * The step's factor is scaled to a / 2^8, so that the quotient is the upper half of 16 bits:
 *
 *     delta = floor((a x + r) / 2^8),  |a| <= 256
 *
 * With a shift s < 8, a becomes a 2^(8-s), and the whole random byte is used: a x is then a
 * multiple of 2^(8-s), so the lower bits of the byte change no quotient.  Even and odd numbers use
 * separate registers of 16-bit products; the quotients of the odd ones are then already in their
 * position.  One example: vpmaddubsw with (|a|, 0) and (0, |a|) multiplies without unpacking, and
 * cannot saturate because one of its two products is 0.  A negative a subtracts floor((|a| x + 255
 * - r) / 2^8), which is the same number.
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

/* ---- one example ---- */

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

/* ---- a batch, or |a| = 256 ---- */

INLINE void bytes_batch_pair(int8_t *w, const void *const *x, size_t at,
                             const drovek_factor *factor, size_t n_rows, const size_t count[2],
                             ivec r[2], size_t *n_clamped)
{
    int    up = 8 - factor[0].shift;
    ivec   even[2], odd[2];
    differ clamped[2];
    clamped[1] = differ_at(r[0], r[0]);
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        even[v] = bit_and(r[v], set16(0xff));
        odd[v] = unsigned_right16_by8(r[v]);
    }
    for (size_t k = 0; k < n_rows; k++) {
        const int8_t *row = (const int8_t *)x[k] + at;
        ivec          a = set16(factor[k].a * (1 << up));
        UNROLL
        for (size_t v = 0; v < 2; v++) {
            if (count[v] == 0) break;
            ivec numbers = load_part(row + v * VEC_BYTES, count[v]);
            even[v] = add16(even[v], mul16(right16_by8(left16_by8(numbers)), a));
            odd[v] = add16(odd[v], mul16(right16_by8(numbers), a));
        }
    }
    UNROLL
    for (size_t v = 0; v < 2; v++) {
        if (count[v] == 0) break;
        byte_update(w + at + v * VEC_BYTES, odd_bytes(unsigned_right16_by8(even[v]), odd[v]), false,
                    count[v], &clamped[v]);
    }
    if (__builtin_expect(differ_anywhere(clamped[0], clamped[1]), 0))
        *n_clamped += differ_count(clamped[0], 1) + differ_count(clamped[1], 1);
}

static __attribute__((noinline)) size_t bytes_batch(int8_t *w, const void *const *x,
                                                    const drovek_factor *factor, size_t n_rows,
                                                    size_t n, drovek_bits *bits)
{
    const size_t whole[2] = {VEC_BYTES, VEC_BYTES};
    bit_source   source = bits_begin(bits->kind, bits);
    size_t       n_clamped = 0, i = 0;
    ivec         r[2];
    for (; i + BYTES_PAIR <= n; i += BYTES_PAIR) {
        next_bits(bits->kind, &source, 1, r);
        bytes_batch_pair(w, x, i, factor, n_rows, whole, r, &n_clamped);
    }
    if (i < n) {
        size_t first = smaller(n - i, VEC_BYTES), rest[2] = {first, n - i - first};
        next_bits(bits->kind, &source, rest[1] > 0, r);
        bytes_batch_pair(w, x, i, factor, n_rows, rest, r, &n_clamped);
    }
    bits_end(bits->kind, &source, bits);
    return n_clamped;
}

/* Sum of |a| over the rows, in units of 2^-8; above 256 the quotient needs more than 8 bits. */
INLINE int64_t bytes_factor_sum(const drovek_factor *factor, size_t n_rows)
{
    int64_t sum = 0;
    for (size_t k = 0; k < n_rows; k++)
        sum += factor[k].a < 0 ? -(int64_t)factor[k].a : factor[k].a;
    return sum << (8 - factor[0].shift);
}

#endif
