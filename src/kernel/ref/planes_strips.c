/* kernel/ref/planes_strips.c - packed factors of products of integers in plain C: the definition,
 * as kernel/planes.h states it. */
#include "kernel/ref/planes_strips.h"
#include "kernel/tiers.h"

/* The place of term k of row or column i in its tile. */
static size_t place_in_tile(bool of_b, size_t i, size_t k)
{
    enum { WORD = 4 };
    if (!of_b) return i * DROVEK_TILE_K + k;
    return (k / WORD * DROVEK_STRIP + i) * WORD + k % WORD;
}

void drovek_planes_pack_ref(bool of_b, uint8_t *to, size_t apart, const uint8_t *x, size_t step,
                            bool along, size_t n, size_t k)
{
    const size_t n_strips = (n + DROVEK_STRIP - 1) / DROVEK_STRIP;
    const size_t n_terms = (k + DROVEK_TILE_K - 1) / DROVEK_TILE_K * DROVEK_TILE_K;
    for (size_t i = 0; i < n_strips * DROVEK_STRIP; i++) {
        for (size_t p = 0; p < n_terms; p++) {
            uint8_t *tile = to + i / DROVEK_STRIP * apart + p / DROVEK_TILE_K * DROVEK_TILE;
            const uint8_t value = i >= n || p >= k ? 0 : along ? x[i * step + p] : x[p * step + i];
            tile[place_in_tile(of_b, i % DROVEK_STRIP, p % DROVEK_TILE_K)] = value;
        }
    }
}

/* The sum of the products of A's numbers from `at` on and of column j of a tile of op(B). */
static int64_t product_of_tile(const drovek_planes *a, size_t at, const drovek_planes *b,
                               size_t tile, size_t j)
{
    int64_t sum = 0;
    for (size_t k = 0; k < DROVEK_TILE_K; k++)
        sum += (int64_t)drovek_planes_at(a, at + k) *
               drovek_planes_at(b, tile * DROVEK_TILE + place_in_tile(true, j, k));
    return sum;
}

static void end_number(drovek_planes_end *end, float *c, size_t column)
{
    const drovek_act act = end->relu ? DROVEK_RELU : DROVEK_LINEAR;
    if (end->bias != NULL) drovek_ref.bias_act_f32(c, end->bias + column, 1, 1, act);
    const uint32_t largest = drovek_ref.largest_f32(c, 1);
    if (largest > end->largest) end->largest = largest;
}

void drovek_planes_lines_ref(const drovek_strips *b, size_t first, size_t n_lines, size_t m,
                             const drovek_planes *a, size_t apart, bool adds, float *c, size_t ldc,
                             drovek_planes_end *end)
{
    for (size_t s = 0; s < b->n_strips; s++) {
        const drovek_strip *strip = &b->strip[s];
        for (size_t i = 0; i < m; i++) {
            for (size_t j = 0; j < strip->n; j++) {
                const size_t column = strip->c + j;
                float *to = c + i * ldc + column;
                int64_t sum = 0;
                for (size_t q = 0; q < n_lines * strip->n_tiles; q++) {
                    const size_t l = q / strip->n_tiles, t = q % strip->n_tiles;
                    const size_t from = i / DROVEK_STRIP * apart + l * b->line + strip->a + t;
                    const size_t at = from * DROVEK_TILE + i % DROVEK_STRIP * DROVEK_TILE_K;
                    const size_t tile = strip->tile + (first + l) * strip->step + t;
                    sum += product_of_tile(a, at, &b->tiles, tile, j);
                }
                const float v = (float)sum * a->unit * drovek_planes_unit(&b->tiles, column);
                *to = adds ? *to + v : v;
                if (end != NULL) end_number(end, to, column);
            }
        }
    }
}

void drovek_planes_places_ref(size_t m, size_t n, size_t n_places, const drovek_planes *a,
                              const uint32_t *row, const drovek_planes *b, const uint32_t *tile,
                              bool adds, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            float *to = c + i * ldc + j;
            size_t p = 0;
            do {
                int64_t sum = 0;
                const size_t end = n_places - p < DROVEK_PLACES ? n_places : p + DROVEK_PLACES;
                for (size_t q = p; q < end; q++)
                    sum += product_of_tile(a, (row[q] + i) * DROVEK_TILE_K, b,
                                           tile[q] + j / DROVEK_STRIP, j % DROVEK_STRIP);
                const float v = (float)sum * a->unit * drovek_planes_unit(b, j);
                *to = adds || p > 0 ? *to + v : v;
                p = end;
            } while (p < n_places);
        }
    }
}
