/* kernel/ref/planes.c - products, rounding and derivatives of integers in plain C: the definition,
 * as kernel/planes.h states it. */
#include "kernel/ref/bits.h"
#include "kernel/tiers.h"

#include <math.h>

/* ---- products ---- */

/* One S(b): terms [first, first + n) along k. */
static float sum_of_terms(bool trans_a, bool trans_b, const drovek_planes *a, size_t lda,
                          const drovek_planes *b, size_t ldb, size_t i, size_t j, size_t first,
                          size_t n)
{
    int64_t sum = 0;
    for (size_t p = first; p < first + n; p++)
        sum += (int64_t)drovek_planes_at(a, trans_a ? p * lda + i : i * lda + p) *
               drovek_planes_at(b, trans_b ? j * ldb + p : p * ldb + j);
    return (float)sum * a->unit * (trans_b ? b->unit : drovek_planes_unit(b, j));
}

static void gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const drovek_planes *a,
                 size_t lda, const drovek_planes *b, size_t ldb, bool adds, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            float *to = c + i * ldc + j;
            size_t p = 0;
            do {
                const size_t n_k = k - p < DROVEK_PLANES_K ? k - p : DROVEK_PLANES_K;
                const float s = sum_of_terms(trans_a, trans_b, a, lda, b, ldb, i, j, p, n_k);
                *to = adds || p > 0 ? *to + s : s;
                p += n_k;
            } while (p < k);
        }
    }
}

/* ---- rounding ---- */

static void round_numbers(const drovek_planes *planes, float *to, const float *x, size_t n,
                          drovek_bits *bits)
{
    const float most = planes->low != NULL ? 32767.0f : 127.0f, inverse = 1.0f / planes->unit;
    bit_reader r;
    bit_reader_init(&r, bits);
    for (size_t i = 0; i < n; i++) {
        const float random = ((float)next_word(&r) + 0.5f) * 0x1p-16f;
        float v = floorf(fmaf(inverse, x[i], random));
        v = v > most ? most : v >= -most - 1.0f ? v : -most - 1.0f;
        const int32_t q = (int32_t)v;
        planes->high[i] = (uint8_t)(planes->low != NULL ? q >> 8 : q);
        if (planes->low != NULL) planes->low[i] = (uint8_t)(q & 255);
        if (to != NULL) to[i] = (float)q * planes->unit;
    }
}

/* ---- derivatives ---- */

static void back(const drovek_planes *dy, const drovek_planes *y, size_t rows, size_t cols,
                 bool relu, float *db)
{
    for (size_t o = 0; o < cols; o++) {
        int64_t sum = 0;
        for (size_t i = 0; i < rows; i++) {
            const size_t at = i * cols + o;
            if (relu && drovek_planes_at(y, at) <= 0) {
                dy->high[at] = 0;
                if (dy->low != NULL) dy->low[at] = 0;
            }
            sum += drovek_planes_at(dy, at);
        }
        db[o] = (float)sum * drovek_planes_unit(dy, o);
    }
}

static void turn(uint8_t *to, const uint8_t *from, size_t c, size_t n)
{
    for (size_t i = 0; i < c; i++)
        for (size_t p = 0; p < n; p++) to[p * c + i] = from[i * n + p];
}

const drovek_planes_ops drovek_planes_ref = {
    .gemm = gemm, .round = round_numbers, .back = back, .turn = turn, .source = "plain C"};
