/* kernel/x86/linear_nibbles.h - data or model of 4 bits, the other of 4 or 8: D4M4 and D8M4 whole,
 * and the products of D4M8, whose passes are those of linear_bytes.h.
 *
 * Data of 4 bits have 16 values, so a x is a look-up (vpshufb) in a table that is made for each
 * AXPY; with a in units of 2^-8,
 *
 *     floor((a x + r) / 2^8) = quotient[x] + (r > limit[x]),
 *     quotient[x] = floor(a x / 2^8),  limit[x] = 255 - (a x mod 2^8)
 *
 * for every byte r.  Pairs are never put in order: even numbers (lower halves) and odd ones are two
 * registers, each with random bits of its own (kernel/linear.h).
 *
 * A model of 4 bits is updated in the upper bits of wider lanes, where addition saturates as it
 * should.  D4M4: bytes of 16 w + 8.  A sum that does not saturate keeps the 8, one that does has
 * 127 or -128, so the lower halves of the sums tell which were clamped; they are counted without a
 * branch, as with 16 values some are clamped often.  D8M4: words of 2^12 w, to
 * which a x + r is added in units of 2^-12: the sum's upper 4 bits are w + floor((a x + r) / 2^12).
 */
#ifndef DROVEK_X86_LINEAR_NIBBLES_H
#define DROVEK_X86_LINEAR_NIBBLES_H

/* Registers before a sum is totalled. */
enum { NIBBLES_CHUNK = 4096 };

/* ---- numbers ---- */

/* VEC_BYTES numbers as pairs in 16 bits each, of which `count` exist. */
INLINE ivec nibbles_load(const uint8_t *p, size_t count)
{
    half_bytes room = {0};
    if (count == VEC_BYTES) return load_bytes_as_16(p);
    memcpy(room, p, drove__numbers_bytes(DROVE_I4, count));
    return load_bytes_as_16(room);
}

/* Of such pairs: the numbers' bits in bytes, in order; the numbers times 16. */
INLINE ivec nibbles_index(ivec pairs)
{
    return or_and(pairs, left16_by4(pairs), set8(0x0f));
}

INLINE ivec nibbles_times16(ivec pairs)
{
    return or_and(left16_by4(pairs), left16_by8(pairs), set8(-16));
}

/* ---- products with data of 4 bits ---- */

typedef struct nibble_table {
    ivec quotient, limit;
    ivec one; /* in the unit of the quotients */
} nibble_table;

/* unit 16 for |a| <= 256, 1 for |a| <= 4096: the quotients are bytes. */
INLINE nibble_table nibble_table_of(int a, int unit)
{
    uint8_t quotient[16], limit[16];
    for (int i = 0; i < 16; i++) {
        int product = a * (i < 8 ? i : i - 16);
        quotient[i] = (uint8_t)((product >> 8) * unit);
        limit[i] = (uint8_t)(255 - (product & 255));
    }
    return (nibble_table){load_table(quotient), load_table(limit), set8(unit)};
}

/* floor((a x + r) / 2^8) of the numbers with the bits `index`, in the table's unit. */
INLINE ivec nibble_delta(const nibble_table *t, ivec index, ivec r)
{
    return add_if_above8(look_up(t->quotient, index), t->one, r, look_up(t->limit, index));
}

/* ---- D4M4: a register of pairs ---- */

INLINE double nibbles_dot(const uint8_t *x, const uint8_t *w, size_t n)
{
    const ivec   upper = set8(-16);
    const size_t n_bytes = drove__numbers_bytes(DROVE_I4, n), chunk = NIBBLES_CHUNK * VEC_BYTES;
    int64_t      total = 0;
    for (size_t begin = 0; begin < n_bytes; begin += chunk) {
        size_t   end = begin + smaller(n_bytes - begin, chunk);
        byte_sum even = byte_sum_zero(), odd = byte_sum_zero();
        for (size_t i = begin; i < end; i += VEC_BYTES) {
            ivec numbers = load_part(x + i, smaller(end - i, VEC_BYTES)), pairs = racy_load(w + i);
            even = byte_sum_add(even, bit_and(left16_by4(numbers), upper),
                                bit_and(left16_by4(pairs), upper));
            odd = byte_sum_add(odd, bit_and(numbers, upper), bit_and(pairs, upper));
        }
        total += byte_sum_total(even) + byte_sum_total(odd);
    }
    return (double)(total / 256);
}

typedef struct nibble_pass {
    nibble_table table;  /* D4M4: products times 16 */
    ivec         factor; /* D8M4: a in units of 2^-12, in words */
    bit_source   source;
    byte_sum     even, odd;
    size_t       n_clamped;
} nibble_pass;

/* D4M4: `count` bytes of pairs; r: random bytes of even and of odd numbers. */
INLINE void nibble_step_4(nibble_pass *pass, uint8_t *w, const uint8_t *x, const uint8_t *next,
                          size_t count, ivec r_even, ivec r_odd, bool has_dot)
{
    const ivec upper = set8(-16), lower = set8(0x0f), middle = set8(8);
    ivec       numbers = load_part(x, count), pairs = racy_load(w);
    ivec       delta_even = nibble_delta(&pass->table, bit_and(numbers, lower), r_even);
    ivec       delta_odd =
        nibble_delta(&pass->table, bit_and(unsigned_right16_by4(numbers), lower), r_odd);
    ivec even = adds8(and_or(left16_by4(pairs), upper, middle), delta_even);
    ivec odd = adds8(and_or(pairs, upper, middle), delta_odd);
    racy_store_part(w, choose(upper, odd, unsigned_right16_by4(even)), count);
    pass->n_clamped += count_differing8(bit_and(even, lower), middle) +
                       count_differing8(bit_and(odd, lower), middle);
    if (!has_dot) return;
    numbers = load_part(next, count);
    pass->even =
        byte_sum_add(pass->even, bit_and(left16_by4(numbers), upper), bit_and(even, upper));
    pass->odd = byte_sum_add(pass->odd, bit_and(numbers, upper), bit_and(odd, upper));
}

/* ---- D8M4: a register of data ---- */

INLINE double nibbles_dot_8(const uint8_t *x, const uint8_t *w, size_t n)
{
    const size_t chunk = NIBBLES_CHUNK * VEC_BYTES;
    int64_t      total = 0;
    for (size_t begin = 0; begin < n; begin += chunk) {
        size_t   end = begin + smaller(n - begin, chunk);
        byte_sum sum = byte_sum_zero();
        for (size_t i = begin; i < end; i += VEC_BYTES) {
            ivec pairs = racy_load_bytes_as_16(w + i / 2);
            sum = byte_sum_add(sum, load_part(x + i, smaller(end - i, VEC_BYTES)),
                               nibbles_times16(pairs));
        }
        total += byte_sum_total(sum);
    }
    return (double)(total / 16);
}

/* `count` numbers; r: random words of even and of odd numbers. */
INLINE void nibble_step_8(nibble_pass *pass, uint8_t *w, const uint8_t *x, const uint8_t *next,
                          size_t count, ivec r_even, ivec r_odd, bool has_dot)
{
    ivec numbers = load_part(x, count), pairs = racy_load_bytes_as_16(w);
    ivec move_even =
        add16(mul16(right16_by8(left16_by8(numbers)), pass->factor), unsigned_right16_by4(r_even));
    ivec move_odd = add16(mul16(right16_by8(numbers), pass->factor), unsigned_right16_by4(r_odd));
    ivec was_even = left16_by12(pairs), was_odd = bit_and(left16_by8(pairs), set16(0xf000));
    ivec even = adds16(was_even, move_even), odd = adds16(was_odd, move_odd);
    ivec now = choose(set16(0x00f0), unsigned_right16_by8(odd), unsigned_right16_by12(even));
    now = bit_and(now, set16(0x00ff));
    racy_store_half_part(w, narrow_16_to_bytes(now), drove__numbers_bytes(DROVE_I4, count));
    pass->n_clamped += count_differing16(even, add16(was_even, move_even)) +
                       count_differing16(odd, add16(was_odd, move_odd));
    if (has_dot)
        pass->even = byte_sum_add(pass->even, load_part(next, count), nibbles_times16(now));
}

/* ---- passes ---- */

/* The numbers from i on, at most those of one draw. */
INLINE void nibble_draw(nibble_pass *pass, drove_number d, uint8_t *w, const void *x,
                        const void *next, size_t i, size_t n, drovek_bits_kind kind, bool has_dot)
{
    const size_t step = d == DROVE_I4 ? 2 * VEC_BYTES : VEC_BYTES; /* numbers of a register */
    ivec         even[BLOCK_VECS], odd[BLOCK_VECS];
    next_split_bits(kind, &pass->source, even, odd);
    UNROLL
    for (size_t v = 0; v < BLOCK_VECS; v++) {
        size_t at = i + v * step;
        if (at >= n) break;
        size_t         count = smaller(n - at, step);
        const uint8_t *row = number_at(d, x, at), *ahead = number_at(d, next, at);
        if (d == DROVE_I4)
            nibble_step_4(pass, w + at / 2, row, ahead, drove__numbers_bytes(d, count), even[v],
                          odd[v], has_dot);
        else nibble_step_8(pass, w + at / 2, row, ahead, count, even[v], odd[v], has_dot);
    }
}

INLINE int64_t nibble_total(nibble_pass *pass, drove_number d)
{
    int64_t total = byte_sum_total(pass->even) + byte_sum_total(pass->odd);
    pass->even = pass->odd = byte_sum_zero();
    return total / (d == DROVE_I4 ? 256 : 16);
}

/* a: in units of 2^-8 (D4M4) or 2^-12 (D8M4).  d, kind and has_dot (next and ahead are used) are
 * constants in every caller. */
INLINE double nibbles_pass(drove_number d, linear_step s, int a, drovek_bits_kind kind,
                           bool has_dot)
{
    const size_t per_draw = drovek_per_draw(d, DROVE_I4, false), chunk = NIBBLES_CHUNK * per_draw;
    nibble_pass  pass = {.source = bits_begin(kind, s.bits),
                         .even = byte_sum_zero(),
                         .odd = byte_sum_zero()};
    int64_t      total = 0;
    if (d == DROVE_I4) pass.table = nibble_table_of(a, 16);
    else pass.factor = set16(a);
    const void  *x = s.x[0], *next = has_dot ? s.next : x;
    const size_t n = s.n;
    for (size_t begin = 0; begin < n; begin += chunk) {
        size_t end = begin + smaller(n - begin, chunk), i = begin;
        for (; i + per_draw <= end; i += per_draw) {
            nibble_draw(&pass, d, s.w, x, next, i, i + per_draw, kind, has_dot);
            if (has_dot)
                fetch(next, s.ahead, drove__numbers_bytes(d, i), drove__numbers_bytes(d, per_draw));
        }
        if (i < end) nibble_draw(&pass, d, s.w, x, next, i, n, kind, has_dot);
        if (has_dot) total += nibble_total(&pass, d);
    }
    bits_end(kind, &pass.source, s.bits);
    *s.n_clamped += pass.n_clamped;
    return (double)total;
}

/* The step's factor in the passes' unit; false: it is too large for them. */
INLINE bool nibbles_factor(drove_number d, const drovek_factor *factor, int *a)
{
    const drovek_fraction f = drovek_fraction_of(d, DROVE_I4, false);
    *a = factor->a * (1 << (f.shift - factor->shift));
    return *a <= f.sum && *a >= -f.sum;
}

#endif
