/* kernel/ref/strips.c - products with packed factors in plain C: the definition, as
 * kernel/strips.h states it. */
#include "kernel/bf16.h"
#include "kernel/tiers.h"

enum { WORD = 4, BYTES_K = 64, BF16_K = 32, ROW_BYTES = 64 };

/* The place of term k, of term_bytes, of row or column i in its tile. */
static size_t place_in_tile(bool of_b, size_t i, size_t k, size_t term_bytes)
{
    const size_t byte = k * term_bytes;
    if (!of_b) return i * ROW_BYTES + byte;
    return (byte / WORD * DROVEK_STRIP + i) * WORD + byte % WORD;
}

/* Number `at` of x becomes a term. */
static void put_byte(uint8_t *to, const uint8_t *x, size_t at)
{
    *to = x != NULL ? x[at] : 0;
}

static void put_bf16(uint8_t *to, const uint8_t *x, size_t at)
{
    float v = 0.0f;
    uint32_t bits;
    if (x != NULL) v = drove__racy_load((const float *)(const void *)x + at);
    v = drovek_bf16(v);
    memcpy(&bits, &v, sizeof bits);
    to[0] = (uint8_t)(bits >> 16), to[1] = (uint8_t)(bits >> 24);
}

typedef void put_fn(uint8_t *to, const uint8_t *x, size_t at);

static void pack_by(put_fn *put, size_t term_bytes, bool of_b, uint8_t *to, size_t apart,
                    const uint8_t *x, size_t step, bool along, size_t n, size_t k)
{
    const size_t tile_k = BYTES_K / term_bytes;
    const size_t n_rows = drovek_strips_of(n) * DROVEK_STRIP;
    const size_t n_terms = (k + tile_k - 1) / tile_k * tile_k;
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t p = 0; p < n_terms; p++) {
            uint8_t *tile = to + i / DROVEK_STRIP * apart + p / tile_k * DROVEK_TILE;
            put(tile + place_in_tile(of_b, i % DROVEK_STRIP, p % tile_k, term_bytes),
                i < n && p < k ? x : NULL, along ? i * step + p : p * step + i);
        }
    }
}

static void pack(bool of_b, uint8_t *to, size_t apart, const uint8_t *x, size_t step, bool along,
                 size_t n, size_t k)
{
    pack_by(put_byte, 1, of_b, to, apart, x, step, along, n, k);
}

static void pack_bf16(bool of_b, uint8_t *to, size_t apart, const uint8_t *x, size_t step,
                      bool along, size_t n, size_t k)
{
    pack_by(put_bf16, 2, of_b, to, apart, x, step, along, n, k);
}

/* ---- sums ---- */

/* The sum of the products of a row of op(A), from byte `at` on, and of column j of a tile of op(B):
 * exact, if the terms are integers. */
typedef double sum_fn(const drovek_planes *a, size_t at, const drovek_planes *b, size_t tile,
                      size_t j);

static double sum_of_bytes(const drovek_planes *a, size_t at, const drovek_planes *b, size_t tile,
                           size_t j)
{
    int64_t sum = 0;
    for (size_t k = 0; k < BYTES_K; k++)
        sum += (int64_t)drovek_planes_at(a, at + k) *
               drovek_planes_at(b, tile * DROVEK_TILE + place_in_tile(true, j, k, 1));
    return (double)sum;
}

static double bf16_at(const uint8_t *word)
{
    const uint32_t bits = (uint32_t)word[1] << 24 | (uint32_t)word[0] << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static double sum_of_bf16(const drovek_planes *a, size_t at, const drovek_planes *b, size_t tile,
                          size_t j)
{
    double sum = 0;
    for (size_t k = 0; k < BF16_K; k++)
        sum += bf16_at(a->high + at + 2 * k) *
               bf16_at(b->high + tile * DROVEK_TILE + place_in_tile(true, j, k, 2));
    return sum;
}

static void end_number(drovek_planes_end *end, float *c, size_t column)
{
    const drovek_act act = end->relu ? DROVEK_RELU : DROVEK_LINEAR;
    if (end->bias != NULL) drovek_bias_act_f32_ref(c, end->bias + column, 1, 1, act);
    const uint32_t largest = drovek_largest_f32_ref(c, 1);
    if (largest > end->largest) end->largest = largest;
}

static void lines_by(sum_fn *sum_of, const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                     const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                     drovek_planes_end *end)
{
    for (size_t s = 0; s < b->n_strips; s++) {
        const drovek_strip *strip = &b->strip[s];
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < strip->n; j++) {
                const size_t column = strip->c + j;
                float *to = c + i * ldc + column;
                double sum = 0;
                for (size_t q = 0; q < n_lines * strip->n_tiles; q++) {
                    const size_t l = q / strip->n_tiles, t = q % strip->n_tiles;
                    const size_t from = i / DROVEK_STRIP * apart + l * b->line + strip->a + t;
                    const size_t at = from * DROVEK_TILE + i % DROVEK_STRIP * ROW_BYTES;
                    const size_t tile = strip->tile + (first + l) * strip->step + t;
                    sum += sum_of(a, at, &b->tiles, tile, j);
                }
                const float v = (float)sum * a->unit * drovek_planes_unit(&b->tiles, column);
                *to = adds ? *to + v : v;
                if (end != NULL) end_number(end, to, column);
            }
        }
    }
}

static void places_by(sum_fn *sum_of, size_t m, size_t n, size_t n_places, const drovek_planes *a,
                      const uint32_t *row, const drovek_planes *b, const uint32_t *tile, bool adds,
                      float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            float *to = c + i * ldc + j;
            size_t p = 0;
            do {
                double sum = 0;
                const size_t end = n_places - p < DROVEK_PLACES ? n_places : p + DROVEK_PLACES;
                for (size_t q = p; q < end; q++)
                    sum += sum_of(a, (row[q] + i) * ROW_BYTES, b, tile[q] + j / DROVEK_STRIP,
                                  j % DROVEK_STRIP);
                const float v = (float)sum * a->unit * drovek_planes_unit(b, j);
                *to = adds || p > 0 ? *to + v : v;
                p = end;
            } while (p < n_places);
        }
    }
}

/* ---- of bytes, and of bf16 numbers ---- */

static void lines(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                  const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                  drovek_planes_end *end)
{
    lines_by(sum_of_bytes, b, first, n_lines, m, a, apart, adds, c, ldc, end);
}

static void lines_bf16(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                       const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                       drovek_planes_end *end)
{
    lines_by(sum_of_bf16, b, first, n_lines, m, a, apart, adds, c, ldc, end);
}

static void places(size_t m, size_t n, size_t n_places, const drovek_planes *a, const uint32_t *row,
                   const drovek_planes *b, const uint32_t *tile, bool adds, float *c, size_t ldc)
{
    places_by(sum_of_bytes, m, n, n_places, a, row, b, tile, adds, c, ldc);
}

static void places_bf16(size_t m, size_t n, size_t n_places, const drovek_planes *a,
                        const uint32_t *row, const drovek_planes *b, const uint32_t *tile,
                        bool adds, float *c, size_t ldc)
{
    places_by(sum_of_bf16, m, n, n_places, a, row, b, tile, adds, c, ldc);
}

const drovek_strips_ops drovek_strips_ref = {.pack = pack,
                                             .lines = lines,
                                             .places = places,
                                             .tile_k = BYTES_K,
                                             .number_bytes = 1,
                                             .most_planes = 2,
                                             .cost = {1, 1, 16, 16, true}};
const drovek_strips_ops drovek_strips_bf16_ref = {.pack = pack_bf16,
                                                  .lines = lines_bf16,
                                                  .places = places_bf16,
                                                  .tile_k = BF16_K,
                                                  .number_bytes = sizeof(float),
                                                  .most_planes = 1,
                                                  .cost = {BF16_K, DROVEK_STRIP, 16, 64, false}};
