/* kernel/x86/linear_memory.h - parts of registers in shared memory, blocks of random bits, and
 * prefetch hints: on top of linear_lanes_avx2.h or linear_lanes_avx512.h. */
#ifndef DROVEK_X86_LINEAR_MEMORY_H
#define DROVEK_X86_LINEAR_MEMORY_H

#include "kernel/linear.h"

#include <string.h>

/* ---- a part of a register to shared memory: pieces of 32, 16, 8, 4, 2 and 1 bytes ---- */

INLINE void racy_store_bytes(uint8_t *p, const uint8_t *from, size_t bytes)
{
    for (; bytes >= 8; bytes -= 8, p += 8, from += 8) {
        uint64_t piece;
        memcpy(&piece, from, sizeof piece);
        __asm__ volatile("movq %1, %0" : "=m"(*(uint8_t(*)[8])p) : "r"(piece));
    }
    if (bytes & 4) {
        uint32_t piece;
        memcpy(&piece, from, sizeof piece);
        __asm__ volatile("movl %1, %0" : "=m"(*(uint8_t(*)[4])p) : "r"(piece));
        p += 4, from += 4;
    }
    if (bytes & 2) {
        uint16_t piece;
        memcpy(&piece, from, sizeof piece);
        __asm__ volatile("movw %1, %0" : "=m"(*(uint8_t(*)[2])p) : "r"(piece));
        p += 2, from += 2;
    }
    if (bytes & 1) __asm__ volatile("movb %1, %0" : "=m"(*p) : "q"(*from));
}

INLINE void racy_store_part(void *p, ivec v, size_t bytes)
{
    vec_bytes room;
    if (bytes == VEC_BYTES) {
        racy_store(p, v);
        return;
    }
    store(room, v);
    racy_store_bytes(p, room, bytes);
}

INLINE void racy_store_half_part(void *p, half_vec v, size_t bytes)
{
    half_bytes room;
    if (bytes == VEC_BYTES / 2) {
        racy_store_half(p, v);
        return;
    }
    memcpy(room, &v, sizeof room);
    racy_store_bytes(p, room, bytes);
}

/* ---- random bits, two registers at a time ---- */

/* Source of the 64-byte blocks; v: the fixed block, or the states. */
typedef struct bit_source {
    ivec           v[2];
    const uint8_t *stream;
} bit_source;

enum { BLOCK_VECS = DROVEK_BLOCK_BYTES / VEC_BYTES };

INLINE bit_source bits_begin(drovek_bits_kind kind, const drovek_bits *bits)
{
    bit_source     source = {{zero(), zero()}, bits->block};
    const uint8_t *from = kind == DROVEK_BITS_XORSHIFT ? (const uint8_t *)bits->state : bits->block;
    if (kind != DROVEK_BITS_STREAM) {
        source.v[0] = load(from);
        source.v[1] = BLOCK_VECS == 1 ? source.v[0] : load(from + VEC_BYTES);
    }
    return source;
}

INLINE void bits_end(drovek_bits_kind kind, const bit_source *source, drovek_bits *bits)
{
    if (kind != DROVEK_BITS_XORSHIFT) return;
    store(bits->state, source->v[0]);
    if (BLOCK_VECS == 2) store((uint8_t *)bits->state + VEC_BYTES, source->v[1]);
}

INLINE ivec xorshift_step(ivec s)
{
    s = bit_xor(s, left64(s, 13));
    s = bit_xor(s, unsigned_right64(s, 7));
    return bit_xor(s, left64(s, 17));
}

/* The next two registers of bits: one block, or two of which the second may not be needed. */
INLINE void next_bits(drovek_bits_kind kind, bit_source *source, int needs_second, ivec r[2])
{
    if (kind == DROVEK_BITS_FIXED) {
        r[0] = source->v[0], r[1] = source->v[1];
    } else if (kind == DROVEK_BITS_STREAM) {
        int exists = BLOCK_VECS == 2 || needs_second;
        r[0] = load(source->stream);
        r[1] = exists ? load(source->stream + VEC_BYTES) : zero();
        source->stream += 2 * VEC_BYTES;
    } else if (BLOCK_VECS == 2) {
        r[0] = source->v[0] = xorshift_step(source->v[0]);
        r[1] = source->v[1] = xorshift_step(source->v[1]);
    } else {
        r[0] = xorshift_step(source->v[0]);
        r[1] = needs_second ? xorshift_step(r[0]) : r[0];
        source->v[0] = r[1];
    }
}

/* The next block, in memory: in room, or in its present location. */
INLINE const uint8_t *next_block(drovek_bits_kind kind, bit_source *source, const drovek_bits *bits,
                                 uint8_t *room)
{
    if (kind == DROVEK_BITS_FIXED) return bits->block;
    if (kind == DROVEK_BITS_STREAM) {
        source->stream += DROVEK_BLOCK_BYTES;
        return source->stream - DROVEK_BLOCK_BYTES;
    }
    UNROLL
    for (int i = 0; i < BLOCK_VECS; i++) {
        source->v[i] = xorshift_step(source->v[i]);
        store(room + i * VEC_BYTES, source->v[i]);
    }
    return room;
}

/* r of kernel/linear.h of random words in 32 bits. */
INLINE ivec random_fraction(ivec words, int shift)
{
    ivec odd = add32(add32(words, words), set32(1)); /* word + 1/2, in halves */
    return shift < 17 ? unsigned_right32(odd, 17 - shift) : left32(odd, shift - 17);
}

/* Two blocks that are used together: even[] and odd[] are one block each. */
INLINE void next_split_bits(drovek_bits_kind kind, bit_source *source, ivec even[BLOCK_VECS],
                            ivec odd[BLOCK_VECS])
{
    ivec r[2][2];
    next_bits(kind, source, 1, r[0]);
    if (BLOCK_VECS == 2) next_bits(kind, source, 1, r[1]);
    UNROLL
    for (int v = 0; v < BLOCK_VECS; v++) {
        even[v] = r[0][v];
        odd[v] = BLOCK_VECS == 2 ? r[1][v] : r[0][1];
    }
}

/* ---- hints ---- */

/* Distance at which a line of the next example is prefetched to the first-level cache: it covers
 * the latency of memory, for a line whose earlier hints came to nothing. */
enum { NEAR_BYTES = 4096 };

/* Prefetches examples: `next` is at byte `at` now, and `ahead` (NULL: no hint at all) lies behind
 * it.  A hint for the second-level cache is dropped where too many are under way, and a step that
 * meets such a line waits for memory; so each line is asked for three times. */
INLINE void fetch(const void *next, const void *ahead, size_t at, size_t bytes)
{
    const char *here = (const char *)next + at;
    if (ahead == NULL) return;
    UNROLL
    for (size_t line = 0; line < bytes; line += 64) {
        _mm_prefetch(here + line + DROVEK_HINT_BYTES, _MM_HINT_T1);
        _mm_prefetch(here + line + DROVEK_HINT_BYTES * 3 / 4, _MM_HINT_T1);
        _mm_prefetch(here + line + DROVEK_HINT_BYTES / 2, _MM_HINT_T1);
        _mm_prefetch(here + line + NEAR_BYTES, _MM_HINT_T0);
    }
}

/* Rows of a batch, from asking for a line of one to reading it.  Where the lines of all rows share
 * a set of the cache, more would throw each other out. */
enum { ROWS_AHEAD = 2 };

/* Asks for `bytes` from byte `at` on of the two rows ROWS_AHEAD behind row k. */
INLINE void fetch_rows(const void *const *x, size_t k, size_t n_rows, size_t at, size_t bytes)
{
    if (k + ROWS_AHEAD + 2 > n_rows) return;
    UNROLL
    for (size_t line = 0; line < bytes; line += 64) {
        _mm_prefetch((const char *)x[k + ROWS_AHEAD] + at + line, _MM_HINT_T0);
        _mm_prefetch((const char *)x[k + ROWS_AHEAD + 1] + at + line, _MM_HINT_T0);
    }
}

/* Everything that is read from x and y afterwards is computed after these two sums: where the
 * compiler mixes the work on several registers, it keeps some of their sums in memory. */
INLINE void keep_apart(const uint8_t **x, const uint8_t **y, ivec *low, ivec *high)
{
    __asm__("" : "+r"(*x), "+r"(*y), "+v"(*low), "+v"(*high));
}

/* ---- places; of pairs of 4 bits: of even numbers ---- */

INLINE const uint8_t *number_at(drove_number d, const void *x, size_t i)
{
    return (const uint8_t *)x + drove__numbers_bytes(d, i);
}

INLINE uint8_t *model_at(drove_number m, void *w, size_t i)
{
    return (uint8_t *)w + drove__numbers_bytes(m, i);
}

INLINE size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- a step ---- */

/* An AXPY of n_rows examples; and, of one, the dot of the next with the new w (next NULL: none).
 * Passed by value: stores to w might alias the caller's memory. */
typedef struct linear_step {
    void                *w;
    const void *const   *x;
    const drovek_factor *factor;
    size_t               n_rows, n;
    const void          *next, *ahead; /* ahead: a hint to prefetch, or NULL */
    drovek_bits         *bits;
    size_t              *n_clamped; /* added to */
} linear_step;

/* Whether the quotients of a batch fit 16 bits. */
INLINE bool batch_fits(drove_number d, const drovek_factor *factor, size_t n_rows)
{
    int64_t sum = 0;
    for (size_t k = 0; k < n_rows; k++)
        sum += factor[k].a < 0 ? -(int64_t)factor[k].a : factor[k].a;
    return sum * drove__number_most(d) >> factor->shift < 32767;
}

#endif
