/* kernel/x86/planes_step_amx.h - weights of 8 bits written by the product that is their gradient
 * (step of kernel/planes.h), by the tile registers of AMX_INT8.
 *
 * Sums become changes of weights in registers: they are neither written as floats nor read again.
 * A pass takes 32 rows of w, two tiles by two, and writes the rows of the pass before meanwhile.
 * Four tiles are the sums of 64 columns; tile t has column 16 (c / 4) + 4 t + c % 4 as its column
 * c, so that packing sums of 32 bits to bytes, lane by lane, puts columns in order.
 *
 * Where no change can leave 8 bits, by the factors and the number of terms, the sum of weight and
 * change saturates in 8 bits; else in 16, from where it is packed.
 */
#ifndef DROVEK_X86_PLANES_STEP_AMX_H
#define DROVEK_X86_PLANES_STEP_AMX_H

#include "kernel/x86/planes_amx.h"
#include "kernel/x86/planes_avx512.h"

enum {
    STEP_COLUMNS = 512, /* at most */
    STEP_ROWS = 2 * SIDE,
    STEP_PAIRS = STEP_COLUMNS / (2 * SIDE),
    STEP_STRIPS = STEP_COLUMNS / SIDE
};

/* The random numbers of the next 64 weights, in the order of the tiles' columns.  One block for a
 * whole draw is drawn a draw ahead: it is written by narrower stores, for which a load of all of it
 * would wait. */
typedef struct step_random {
    const drovek_draws *draws;
    drovek_bits        *bits; /* NULL: none yet */
    const uint8_t      *block;
    __m512i             state; /* xorshift */
    vec                 of[4];
} step_random;

typedef struct step_product {
    byte_source a, b;
    size_t      m, n, k, n_tiles;
    int8_t     *w; /* [m][n], racy */
    bool        is_narrow;
    size_t      n_clamped;
    step_random random;
    alignas(64) float factor[STEP_COLUMNS]; /* of tile t: [column / 64][t][16] */
    byte_tile resident[ROOM_TILES];         /* of op(B): [strip][tile along k] */
    byte_tile moving[2][GROUP]
                    [MOST_TILES]; /* of op(A): these and the next, [strip][tile along k] */
    /* Of these rows and of those before: [pair of strips of columns][strip of rows][..] */
    int32_t sum[2][STEP_PAIRS][2][2][SIDE * SIDE];
} step_product;

/* ---- random bits ---- */

/* (r + 0.5) / 2^16 of two blocks of 32 words, for 64 weights */
INLINE void spread_words(vec of[4], __m512i first_block, __m512i second_block)
{
    __m512i v[4];
    v[0] = _mm512_castps_si512(random_of(_mm512_castsi512_si256(first_block)));
    v[1] = _mm512_castps_si512(random_of(_mm512_extracti64x4_epi64(first_block, 1)));
    v[2] = _mm512_castps_si512(random_of(_mm512_castsi512_si256(second_block)));
    v[3] = _mm512_castps_si512(random_of(_mm512_extracti64x4_epi64(second_block, 1)));
    transpose_lanes(v);
    UNROLL
    for (size_t t = 0; t < 4; t++) of[t] = _mm512_castsi512_ps(v[t]);
}

INLINE void end_draw(step_random *r)
{
    if (r->bits != NULL && r->bits->kind == DROVEK_BITS_XORSHIFT)
        _mm512_storeu_si512(r->bits->state, r->state);
}

INLINE void draw(step_random *r, size_t left)
{
    r->bits =
        r->draws->next(r->draws->context, left < DROVEK_PLANES_DRAW ? left : DROVEK_PLANES_DRAW);
    r->block = r->bits->block;
}

/* left: weights, of which these are the next DROVEK_PLANES_DRAW. */
INLINE void begin_draw(step_random *r, size_t left)
{
    const bool is_first = r->bits == NULL;
    end_draw(r);
    if (is_first || r->bits->kind != DROVEK_BITS_FIXED) draw(r, left);
    if (r->bits->kind == DROVEK_BITS_XORSHIFT) r->state = _mm512_loadu_si512(r->bits->state);
    if (r->bits->kind != DROVEK_BITS_FIXED) return;
    const __m512i block = _mm512_loadu_si512(r->block);
    spread_words(r->of, block, block);
    if (left > DROVEK_PLANES_DRAW) draw(r, left - DROVEK_PLANES_DRAW);
}

INLINE void next_random(step_random *r)
{
    if (r->bits->kind == DROVEK_BITS_FIXED) return;
    if (r->bits->kind == DROVEK_BITS_STREAM) {
        spread_words(r->of, _mm512_loadu_si512(r->block), _mm512_loadu_si512(r->block + 64));
        r->block += 128;
        return;
    }
    const __m512i once = xorshift_states(r->state);
    r->state = xorshift_states(once);
    spread_words(r->of, once, r->state);
}

/* ---- weights ---- */

typedef uint8_t weights_at[64];

/* One instruction each, as the racy_ functions of lanes.h, at any address. */
INLINE __m512i racy_load_weights(const int8_t *w)
{
    __m512i v;
    __asm__ volatile("vmovdqu64 %1, %0" : "=v"(v) : "m"(*(const weights_at *)(const void *)w));
    return v;
}

INLINE void racy_store_weights(int8_t *w, __m512i v)
{
    __asm__ volatile("vmovdqu64 %1, %0" : "=m"(*(weights_at *)(void *)w) : "v"(v));
}

/* w + change, saturating, of 64 weights.  Changes of 32 bits in lanes that packing makes adjacent.
 */
INLINE __m512i add_narrow(__m512i w, const __m512i change[4], size_t *n_clamped)
{
    const __m512i all = _mm512_packs_epi16(_mm512_packs_epi32(change[0], change[1]),
                                           _mm512_packs_epi32(change[2], change[3])),
                  now = _mm512_adds_epi8(w, all);
    const __mmask64 clamped = _mm512_cmpneq_epi8_mask(now, _mm512_add_epi8(w, all));
    if (__builtin_expect(clamped != 0, 0)) *n_clamped += (size_t)__builtin_popcountll(clamped);
    return now;
}

INLINE __m512i add_wide(__m512i w, const __m512i change[4], size_t *n_clamped)
{
    const __m512i zero = _mm512_setzero_si512(), least = _mm512_set1_epi16(-128),
                  most = _mm512_set1_epi16(127);
    __m512i now[2] = {_mm512_srai_epi16(_mm512_unpacklo_epi8(zero, w), 8),
                      _mm512_srai_epi16(_mm512_unpackhi_epi8(zero, w), 8)};
    UNROLL
    for (size_t h = 0; h < 2; h++) {
        now[h] = _mm512_adds_epi16(now[h], _mm512_packs_epi32(change[2 * h], change[2 * h + 1]));
        const __mmask32 clamped =
            _mm512_cmpgt_epi16_mask(least, now[h]) | _mm512_cmpgt_epi16_mask(now[h], most);
        *n_clamped += (size_t)__builtin_popcount(clamped);
    }
    return _mm512_packs_epi16(now[0], now[1]);
}

/* Changes of 64 weights, of which from are the sums of the first 16. */
INLINE void find_changes(const int32_t *from, const float *factor, const vec random[4],
                         __m512i change[4])
{
    enum { TILE = SIDE * SIDE };
    static const size_t tile_at[4] = {0, TILE, 4 * TILE, 5 * TILE}; /* [pair][..][t % 2] */
    UNROLL
    for (size_t t = 0; t < 4; t++) {
        const vec v = vec_fma(_mm512_cvtepi32_ps(_mm512_load_si512(from + tile_at[t])),
                              _mm512_load_ps(factor + t * LANES), random[t]);
        change[t] = _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    }
}

/* Rows [from, to) of the 32 from row i on; is_narrow: a constant. */
INLINE void write_rows_as(step_product *s, int32_t (*sum)[2][2][SIDE * SIDE], size_t i, size_t from,
                          size_t to, bool is_narrow)
{
    enum { TWO_PAIRS = 2 * 4 * SIDE * SIDE };
    const size_t n = s->n, end = s->m * n;
    int8_t      *w = s->w;
    step_random  random = s->random;
    size_t       n_clamped = 0, at = (i + from) * n;
    for (size_t r = from; r < to; r++) {
        const int32_t *sums = sum[0][r / SIDE][0] + r % SIDE * SIDE;
        for (size_t j = 0; j < n; j += 64, at += 64, sums += TWO_PAIRS) {
            __m512i change[4];
            if (at % DROVEK_PLANES_DRAW == 0) begin_draw(&random, end - at);
            next_random(&random);
            find_changes(sums, s->factor + j, random.of, change);
            const __m512i was = racy_load_weights(w + at);
            racy_store_weights(w + at, is_narrow ? add_narrow(was, change, &n_clamped)
                                                 : add_wide(was, change, &n_clamped));
        }
    }
    s->random = random;
    s->n_clamped += n_clamped;
}

static void write_rows(step_product *s, size_t turn, size_t i, size_t from, size_t to)
{
    const size_t left = s->m - i, end = to < left ? to : left;
    if (s->is_narrow) write_rows_as(s, s->sum[turn], i, from, end, true);
    else write_rows_as(s, s->sum[turn], i, from, end, false);
}

/* ---- the product ---- */

/* Strips of op(B), columns in the order of the tiles. */
static void fill_resident(step_product *s)
{
    for (size_t j = 0; j < s->n; j += 64) {
        for (size_t p = 0; p < s->n_tiles * BYTE_K; p += 4) {
            __m512i row[4], word[4];
            UNROLL
            for (size_t r = 0; r < 4; r++)
                row[r] = p + r < s->k ? _mm512_loadu_si512(s->b.x + (p + r) * s->b.step + j)
                                      : _mm512_setzero_si512();
            interleave_in_lanes(row, word);
            UNROLL
            for (size_t t = 0; t < 4; t++)
                _mm512_store_si512(s->resident[(j / SIDE + t) * s->n_tiles + p / BYTE_K] +
                                       p % BYTE_K * SIDE,
                                   word[t]);
        }
    }
}

/* Strips of the 64 rows from i on: early, as loads of a tile wait for stores to it. */
static void fill_moving(step_product *s, size_t i)
{
    const size_t width = GROUP * SIDE, left = s->m - i;
    if (i < s->m)
        fill_bytes(s->moving[i / width % 2][0][0], sizeof s->moving[0][0], &s->a, true, i,
                   left < width ? left : width, 0, s->k);
}

static byte_pair moving_pair(step_product *s, size_t i)
{
    byte_tile(*at)[MOST_TILES] = s->moving[i / SIDE / GROUP % 2] + i / SIDE % GROUP;
    return (byte_pair){.x = {at[0][0], s->m - i > SIDE ? at[1][0] : at[0][0]},
                       .step = BYTE_TILE,
                       .stride = BYTE_K};
}

/* The sums of 32 rows, while those of the 32 before are written. */
static void multiply_step(step_product *s, size_t i, size_t turn)
{
    const byte_pair a = moving_pair(s, i);
    const size_t    n_pairs = s->n / (2 * SIDE);
    for (size_t p = 0; p < n_pairs; p++) {
        const byte_pair b = {
            .x = {s->resident[2 * p * s->n_tiles], s->resident[(2 * p + 1) * s->n_tiles]}};
        multiply_bytes(s->sum[turn][p], &a, &b, s->n_tiles, false, false, false);
        if (p == 0 && i % (GROUP * SIDE) == 0) fill_moving(s, i + GROUP * SIDE);
        if (i > 0)
            write_rows(s, turn ^ 1, i - STEP_ROWS, STEP_ROWS * p / n_pairs,
                       STEP_ROWS * (p + 1) / n_pairs);
    }
}

/* factor[n], in the order of the tiles' columns.  Whether no change leaves 32 bits. */
static bool take_factors(step_product *s, const float *factor)
{
    const vec sign = vec_set(-0.0f), most_sum = vec_set((float)s->k * 128.0f * 128.0f);
    vec       most = vec_set(0.0f);
    lane_mask is_small = 0xffff;
    for (size_t j = 0; j < s->n; j += 64) {
        __m512i v[4];
        UNROLL
        for (size_t t = 0; t < 4; t++) {
            const vec here = vec_load(factor + j + t * LANES, LANES),
                      change = vec_mul(_mm512_andnot_ps(sign, here), most_sum);
            is_small &= _mm512_cmp_ps_mask(change, vec_set(0x1p30f), _CMP_LT_OQ);
            most = vec_max(most, change);
            v[t] = _mm512_castps_si512(here);
        }
        transpose_lanes(v);
        UNROLL
        for (size_t t = 0; t < 4; t++) _mm512_store_si512(s->factor + j + t * LANES, v[t]);
    }
    s->is_narrow = _mm512_reduce_max_ps(most) <= 126.0f;
    return is_small == 0xffff;
}

/* Whether the sizes and factors are those of this file. */
static bool takes_step(step_product *s, const float *factor)
{
    if (s->n % 64 != 0 || s->n > STEP_COLUMNS || s->k > DROVEK_PLANES_K || s->k == 0) return false;
    s->n_tiles = (s->k + BYTE_K - 1) / BYTE_K;
    return s->n / SIDE * s->n_tiles <= ROOM_TILES && take_factors(s, factor);
}

/* The tiles of few terms are narrow: rows of op(A), and rows of op(B). */
static void configure_step(size_t k)
{
    const size_t words = k < BYTE_K ? (k + 3) / 4 : SIDE;
    tile_config  config = {.palette = 1};
    for (size_t t = 0; t < 8; t++) {
        config.row_bytes[t] = (uint16_t)(t == 4 || t == 5 ? 4 * words : ROW_BYTES);
        config.rows[t] = (uint8_t)(t >= 6 ? words : SIDE);
    }
    memory_written();
    _tile_loadconfig(&config);
}

static bool planes_step(size_t m, size_t n, size_t k, const drovek_planes *a, size_t lda,
                        const drovek_planes *b, size_t ldb, const float *factor, int8_t *w,
                        const drovek_draws *draws, size_t *n_clamped)
{
    step_product s;
    size_t       turn = 0;
    s.a = (byte_source){a->high, lda, false}, s.b = (byte_source){b->high, ldb, false};
    s.m = m, s.n = n, s.k = k, s.w = w, s.n_clamped = 0;
    s.random.draws = draws, s.random.bits = NULL;
    if (a->low != NULL || b->low != NULL || !takes_step(&s, factor)) return false;
    configure_step(k);
    fill_resident(&s);
    fill_moving(&s, 0);
    for (size_t i = 0; i < m; i += STEP_ROWS, turn ^= 1) multiply_step(&s, i, turn);
    _tile_release();
    if (m > 0) write_rows(&s, turn ^ 1, (m - 1) / STEP_ROWS * STEP_ROWS, 0, STEP_ROWS);
    end_draw(&s.random);
    *n_clamped += s.n_clamped;
    return true;
}

#endif
