/* kernel/x86/planes_copies_avx2.h - copies integers kept as bytes (kernel/planes.h) into lanes of
 * 32 bits, pairs of words or quads of bytes, for planes_lanes_avx2.h.
 *
 * Up to 31 bytes behind those that are wanted are read: DROVEK_PLANES_SLACK.
 */
#ifndef DROVEK_X86_PLANES_COPIES_AVX2_H
#define DROVEK_X86_PLANES_COPIES_AVX2_H

#include "kernel/lanes/panel.h"
#include "kernel/planes.h"

#include <stdalign.h>

enum {
    LANE_COLS = PANEL * LANES, /* of a panel of op(B) */
    WIDENED = 16               /* bytes that are widened together */
};

/* What the lanes of a factor hold. */
typedef enum lane_kind {
    HIGH_WORDS,   /* the bytes of the high plane */
    LOW_WORDS,    /* those of the low one, unsigned */
    WHOLE_WORDS,  /* both planes */
    SIGNED_QUADS, /* the high plane's */
    RAISED_QUADS  /* 128 more, unsigned */
} lane_kind;

/* k runs along the rows, or across them. */
typedef struct lane_factor {
    const uint8_t *high, *low;
    size_t         step;
    bool           along;
} lane_factor;

INLINE __m128i bytes_at(const uint8_t *p)
{
    return _mm_loadu_si128((const void *)p);
}

/* WIDENED terms from number `at` on; kind: a constant, of words. */
INLINE __m256i words_of(const lane_factor *f, size_t at, lane_kind kind)
{
    if (kind == LOW_WORDS) return _mm256_cvtepu8_epi16(bytes_at(f->low + at));
    const __m256i high = _mm256_cvtepi8_epi16(bytes_at(f->high + at));
    if (kind == HIGH_WORDS) return high;
    return _mm256_or_si256(_mm256_slli_epi16(high, 8), _mm256_cvtepu8_epi16(bytes_at(f->low + at)));
}

/* Eight lanes along k from number `at` on: the first n terms, and zeros. */
INLINE __m256i lanes_along(const lane_factor *f, size_t at, size_t n, lane_kind kind)
{
    const __m256i count = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    if (kind < SIGNED_QUADS) {
        const __m256i words = words_of(f, at, kind);
        if (n >= WIDENED) return words;
        const __m256i whole = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n / 2), count);
        const __m256i last =
            _mm256_and_si256(_mm256_cmpeq_epi32(_mm256_set1_epi32(n % 2 ? (int)n / 2 : -1), count),
                             _mm256_set1_epi32(0xffff));
        return _mm256_and_si256(words, _mm256_or_si256(whole, last));
    }
    __m256i bytes = _mm256_loadu_si256((const void *)(f->high + at));
    if (kind == RAISED_QUADS) bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)0x80));
    if (n >= 2 * WIDENED) return bytes;
    alignas(32) uint8_t part[2 * WIDENED] = {0};
    _mm256_store_si256((void *)part, bytes);
    for (size_t i = n; i < 2 * WIDENED; i++) part[i] = 0;
    return _mm256_load_si256((const void *)part);
}

/* to[2][8]: pairs of WIDENED columns, of rows w0 and w1 */
INLINE void put_pairs(int32_t *to, __m256i w0, __m256i w1)
{
    const __m256i low = _mm256_unpacklo_epi16(w0, w1), high = _mm256_unpackhi_epi16(w0, w1);
    _mm256_store_si256((void *)to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_store_si256((void *)(to + LANES), _mm256_permute2x128_si256(low, high, 0x31));
}

/* to[4][4]: quads of WIDENED columns */
INLINE void put_quads(int32_t *to, const __m128i row[4])
{
    const __m128i a = _mm_unpacklo_epi8(row[0], row[1]), b = _mm_unpackhi_epi8(row[0], row[1]),
                  c = _mm_unpacklo_epi8(row[2], row[3]), d = _mm_unpackhi_epi8(row[2], row[3]);
    _mm_store_si128((void *)to, _mm_unpacklo_epi16(a, c));
    _mm_store_si128((void *)(to + 4), _mm_unpackhi_epi16(a, c));
    _mm_store_si128((void *)(to + 8), _mm_unpacklo_epi16(b, d));
    _mm_store_si128((void *)(to + 12), _mm_unpackhi_epi16(b, d));
}

/* to[lane][width] of columns [at, at + n), terms [k0, k0 + n_k), of a factor across whose rows k
 * runs.  Columns are copied WIDENED at a time. */
INLINE void lanes_across(int32_t *to, size_t width, const lane_factor *f, size_t at, size_t n,
                         size_t k0, size_t n_k, lane_kind kind)
{
    const size_t  terms = kind < SIGNED_QUADS ? 2 : 4;
    const __m128i raised = _mm_set1_epi8(kind == RAISED_QUADS ? (char)0x80 : 0);
    for (size_t p = 0; p < n_k; p += terms, to += width) {
        const size_t row = (k0 + p) * f->step + at;
        for (size_t j = 0; j < n; j += WIDENED) {
            if (kind < SIGNED_QUADS) {
                const bool has_next = p + 1 < n_k;
                put_pairs(to + j, words_of(f, row + j, kind),
                          has_next ? words_of(f, row + f->step + j, kind) : _mm256_setzero_si256());
                continue;
            }
            __m128i quad[4];
            UNROLL
            for (size_t r = 0; r < 4; r++)
                quad[r] = p + r < n_k
                              ? _mm_xor_si128(bytes_at(f->high + row + r * f->step + j), raised)
                              : _mm_setzero_si128();
            put_quads(to + j, quad);
        }
    }
}

/* The same, of n <= LANE_COLS columns, of a factor along whose rows k runs. */
INLINE void lanes_turned(int32_t *to, const lane_factor *f, size_t at, size_t n, size_t k0,
                         size_t n_k, lane_kind kind)
{
    const size_t terms = (kind < SIGNED_QUADS ? 2 : 4) * LANES;
    for (size_t j = 0; j < n; j += LANES) {
        int32_t *here = to + j;
        for (size_t p = 0; p < n_k; p += terms, here += LANES * LANE_COLS) {
            vec part[LANES];
            UNROLL
            for (size_t q = 0; q < LANES; q++) {
                part[q] = vec_set(0.0f);
                if (j + q < n)
                    part[q] = _mm256_castsi256_ps(
                        lanes_along(f, (at + j + q) * f->step + k0 + p, n_k - p, kind));
            }
            vec_transpose(part);
            UNROLL
            for (size_t q = 0; q < LANES; q++)
                _mm256_store_ps((float *)(void *)(here + q * LANE_COLS), part[q]);
        }
    }
}

#endif
