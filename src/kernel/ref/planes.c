/* kernel/ref/planes.c - products, rounding and derivatives of integers in plain C: the definition,
 * as kernel/planes.h states it. */
#include "base/racy.h"
#include "kernel/ref/bits.h"
#include "kernel/tiers.h"

#include <math.h>
#include <string.h>

/* ---- products ---- */

static void gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, const drovek_planes *a,
                 size_t lda, const drovek_planes *b, size_t ldb, bool adds, float *c, size_t ldc,
                 drovek_planes_end *end)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            float *to = c + i * ldc + j;
            size_t first = 0;
            do { /* S(b): terms [first, last) */
                const size_t last = k - first < DROVEK_PLANES_K ? k : first + DROVEK_PLANES_K;
                int64_t sum = 0;
                for (size_t p = first; p < last; p++)
                    sum += (int64_t)drovek_planes_at(a, trans_a ? p * lda + i : i * lda + p) *
                           drovek_planes_at(b, trans_b ? j * ldb + p : p * ldb + j);
                const float unit = trans_b ? b->unit : drovek_planes_unit(b, j);
                const float s = (float)sum * a->unit * unit;
                *to = adds || first > 0 ? *to + s : s;
                first = last;
            } while (first < k);
        }
        if (end == NULL) continue;
        const drovek_act act = end->relu ? DROVEK_RELU : DROVEK_LINEAR;
        float *row = c + i * ldc;
        if (end->bias != NULL) drovek_bias_act_f32_ref(row, end->bias, 1, n, act);
        const uint32_t largest = drovek_largest_f32_ref(row, n);
        if (largest > end->largest) end->largest = largest;
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

/* ---- weights ---- */

/* *w = clamp(*w + floor(v)), NaN counts as the lowest number; returns whether it was clamped.
 * [racy: w] */
static bool add_floor(int8_t *w, float v)
{
    const float beyond = 65536.0f; /* leaves the range from any w */
    v = v > -beyond ? v : -beyond;
    v = v < beyond ? v : beyond;
    const int32_t sum = drove__racy_load_i8(w) + (int32_t)floorf(v);
    const int32_t now = sum > 127 ? 127 : sum < -128 ? -128 : sum;
    drove__racy_store_i8(w, (int8_t)now);
    return now != sum;
}

static bool step(size_t m, size_t n, size_t k, const drovek_planes *a, size_t lda,
                 const drovek_planes *b, size_t ldb, const float *factor, int8_t *w,
                 const drovek_draws *draws, size_t *n_clamped)
{
    bit_reader r;
    if (k > DROVEK_PLANES_K || a->low != NULL || b->low != NULL) return false;
    for (size_t at = 0; at < m * n; at++) {
        const size_t i = at / n, j = at % n, left = m * n - at;
        int64_t sum = 0;
        if (at % DROVEK_PLANES_DRAW == 0)
            bit_reader_init(&r, draws->next(draws->context,
                                            left < DROVEK_PLANES_DRAW ? left : DROVEK_PLANES_DRAW));
        for (size_t p = 0; p < k; p++)
            sum += (int64_t)drovek_planes_at(a, p * lda + i) * drovek_planes_at(b, p * ldb + j);
        const float random = ((float)next_word(&r) + 0.5f) * 0x1p-16f;
        *n_clamped += add_floor(w + at, fmaf(factor[j], (float)sum, random));
    }
    return true;
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

/* ---- pooling ---- */

/* Element k of window (oy, ox) of image i in x[n][h][w][c], channel 0; SIZE_MAX: in the padding. */
static size_t element_of(const drovek_pool *p, size_t i, size_t oy, size_t ox, size_t k)
{
    const size_t y = oy * p->sh + k / p->kw - p->ph, x = ox * p->sw + k % p->kw - p->pw;
    return y < p->h && x < p->w ? ((i * p->h + y) * p->w + x) * p->c : SIZE_MAX;
}

static void max_pool(const drovek_pool *p, const drovek_planes *x, drovek_planes *y, uint8_t *place,
                     size_t n)
{
    const size_t n_places = p->oh * p->ow, size = p->kh * p->kw;
    y->unit = x->unit;
    for (size_t to = 0; to < n * n_places * p->c; to++) {
        const size_t at = to / p->c, oy = at % n_places / p->ow, ox = at % p->ow;
        size_t best = SIZE_MAX, which = 0;
        for (size_t k = 0; k < size; k++) {
            const size_t from = element_of(p, at / n_places, oy, ox, k);
            if (from == SIZE_MAX) continue;
            if (best != SIZE_MAX &&
                drovek_planes_at(x, from + to % p->c) <= drovek_planes_at(x, best + to % p->c))
                continue;
            best = from;
            which = k;
        }
        y->high[to] = x->high[best + to % p->c];
        if (y->low != NULL) y->low[to] = x->low[best + to % p->c];
        if (place != NULL) place[to] = (uint8_t)which;
    }
}

static void max_pool_back(const drovek_pool *p, const drovek_planes *dy, const uint8_t *place,
                          drovek_planes *dx, size_t n)
{
    const size_t n_places = p->oh * p->ow, n_all = n * p->h * p->w * p->c;
    dx->unit = dy->unit;
    dx->by = dy->by;
    memset(dx->high, 0, n_all);
    if (dx->low != NULL) memset(dx->low, 0, n_all);
    for (size_t from = 0; from < n * n_places * p->c; from++) {
        const size_t at = from / p->c, oy = at % n_places / p->ow, ox = at % p->ow;
        const size_t to = element_of(p, at / n_places, oy, ox, place[from]) + from % p->c;
        dx->high[to] = dy->high[from];
        if (dx->low != NULL) dx->low[to] = dy->low[from];
    }
}

const drovek_planes_ops drovek_planes_ref = {.gemm = gemm,
                                             .round = round_numbers,
                                             .step = step,
                                             .back = back,
                                             .turn = turn,
                                             .max_pool = max_pool,
                                             .max_pool_back = max_pool_back,
                                             .cost = {1, 1, 16, 16, true},
                                             .source = "plain C",
                                             .strips = &drovek_strips_ref};
