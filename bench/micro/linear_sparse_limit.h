/* bench/micro/linear_sparse_limit.h - reading, and reading and writing back, given places of an
 * array without any arithmetic: what the machine allows a sparse example.
 *
 * Ways: plain loads and stores; gathers and scatters of AVX2 and AVX-512, for reading everything
 * and for writing 32-bit elements (narrower ones have no scatter, and go element by element).
 */
#ifndef BENCH_LINEAR_SPARSE_LIMIT_H
#define BENCH_LINEAR_SPARSE_LIMIT_H

#include "base/cpu.h"
#include "base/fixed.h"
#include "base/racy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LIMIT_PLAIN, LIMIT_AVX2, LIMIT_AVX512, LIMIT_WAYS };

static bool limit_runs(int way)
{
    uint32_t have = drove__cpu_features();
#if defined(__x86_64__)
    if (way == LIMIT_AVX2) return have & DROVE_CPU_AVX2;
    if (way == LIMIT_AVX512) return have & DROVE_CPU_AVX512;
#endif
    (void)have;
    return way == LIMIT_PLAIN;
}

/* Has this way a version of its own of writing elements of m? */
static bool limit_writes(int way, drove_number m)
{
    return way == LIMIT_PLAIN || (way == LIMIT_AVX512 && m == DROVE_F32 && limit_runs(way));
}

static volatile int64_t limit_sink;

static void limit_read_plain(drove_number m, const void *w, const uint32_t *place, size_t n)
{
    int64_t sum = 0;
    float   float_sum[4] = {0.0f}; /* four: no chain of additions */
    switch (m) {
    case DROVE_I8:
        for (size_t k = 0; k < n; k++) sum ^= drove__racy_load_i8((const int8_t *)w + place[k]);
        break;
    case DROVE_I16:
        for (size_t k = 0; k < n; k++) sum ^= drove__racy_load_i16((const int16_t *)w + place[k]);
        break;
    default:
        for (size_t k = 0; k < n; k++)
            float_sum[k & 3] += drove__racy_load((const float *)w + place[k]);
    }
    limit_sink = sum + (int64_t)(float_sum[0] + float_sum[1] + float_sum[2] + float_sum[3]);
}

static void limit_rewrite_plain(drove_number m, void *w, const uint32_t *place, size_t n)
{
    int8_t  *w8 = w;
    int16_t *w16 = w;
    float   *w32 = w;
    switch (m) {
    case DROVE_I8:
        for (size_t k = 0; k < n; k++)
            drove__racy_store_i8(w8 + place[k], drove__racy_load_i8(w8 + place[k]));
        break;
    case DROVE_I16:
        for (size_t k = 0; k < n; k++)
            drove__racy_store_i16(w16 + place[k], drove__racy_load_i16(w16 + place[k]));
        break;
    default:
        for (size_t k = 0; k < n; k++)
            drove__racy_store(w32 + place[k], drove__racy_load(w32 + place[k]));
    }
}

#if defined(__x86_64__)
#define LIMIT_GATHER_256(scale)                                                                    \
    _mm256_i32gather_epi32(w, _mm256_loadu_si256((const __m256i *)(place + k)), scale)
#define LIMIT_GATHER_512(scale) _mm512_i32gather_epi32(_mm512_loadu_si512(place + k), w, scale)

__attribute__((target("avx2"))) static void limit_read_avx2(drove_number m, const int *w,
                                                            const uint32_t *place, size_t n)
{
    __m256i sum = _mm256_setzero_si256();
    size_t  n_full = n - n % 8;
    if (m == DROVE_I8) {
        for (size_t k = 0; k < n_full; k += 8) sum = _mm256_xor_si256(sum, LIMIT_GATHER_256(1));
    } else if (m == DROVE_I16) {
        for (size_t k = 0; k < n_full; k += 8) sum = _mm256_xor_si256(sum, LIMIT_GATHER_256(2));
    } else {
        for (size_t k = 0; k < n_full; k += 8) sum = _mm256_xor_si256(sum, LIMIT_GATHER_256(4));
    }
    limit_sink = _mm256_extract_epi64(_mm256_or_si256(sum, _mm256_srli_si256(sum, 8)), 0);
    _mm256_zeroupper(); /* the compiler's own would come after the next call */
    limit_read_plain(m, w, place + n_full, n - n_full);
}

__attribute__((target("avx512f"))) static void limit_read_avx512(drove_number m, const void *w,
                                                                 const uint32_t *place, size_t n)
{
    __m512i sum = _mm512_setzero_si512();
    size_t  n_full = n - n % 16;
    if (m == DROVE_I8) {
        for (size_t k = 0; k < n_full; k += 16) sum = _mm512_xor_si512(sum, LIMIT_GATHER_512(1));
    } else if (m == DROVE_I16) {
        for (size_t k = 0; k < n_full; k += 16) sum = _mm512_xor_si512(sum, LIMIT_GATHER_512(2));
    } else {
        for (size_t k = 0; k < n_full; k += 16) sum = _mm512_xor_si512(sum, LIMIT_GATHER_512(4));
    }
    limit_sink = _mm512_reduce_or_epi64(sum);
    _mm256_zeroupper(); /* the compiler's own would come after the next call */
    limit_read_plain(m, w, place + n_full, n - n_full);
}

__attribute__((target("avx512f"))) static void limit_rewrite_avx512(void *w, const uint32_t *place,
                                                                    size_t n)
{
    size_t n_full = n - n % 16;
    for (size_t k = 0; k < n_full; k += 16)
        _mm512_i32scatter_epi32(w, _mm512_loadu_si512(place + k), LIMIT_GATHER_512(4), 4);
    _mm256_zeroupper();
    limit_rewrite_plain(DROVE_F32, w, place + n_full, n - n_full);
}
#endif

/* Reads the n places of w. */
static void limit_read(int way, drove_number m, const void *w, const uint32_t *place, size_t n)
{
#if defined(__x86_64__)
    if (way == LIMIT_AVX2) limit_read_avx2(m, w, place, n);
    else if (way == LIMIT_AVX512) limit_read_avx512(m, w, place, n);
    else
#endif
        limit_read_plain(m, w, place, n);
    (void)way;
}

/* Reads them and writes them back. */
static void limit_rewrite(int way, drove_number m, void *w, const uint32_t *place, size_t n)
{
#if defined(__x86_64__)
    if (way == LIMIT_AVX512 && m == DROVE_F32) {
        limit_rewrite_avx512(w, place, n);
        return;
    }
#endif
    (void)way;
    limit_rewrite_plain(m, w, place, n);
}

#endif
