/* Sparse dot and AXPY of low-precision linear models: plain C against what the header says in
 * words, computed here from expanded places; every tier against plain C, bit for bit but for dots
 * with a float.  Saturation, lost elements, bias, stores beside the places of the row. */
#include "support.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STORED = 1000, N_BLOCKS = MAX_STORED / 32 + 2, READABLE = 64, GUARD = 0x5a };

/* Dots with a float: relative to the sum of |x w|, the roundings of a lane's run (linear_sparse.h
 * sums at most 256 in float) and of the conversion. */
#define DOT_BOUND (258 * 0x1p-24)

/* ---- a row ---- */

typedef enum gaps { GAPS_SMALL, GAPS_LARGE, GAPS_MEETING, N_GAPS } gaps;

typedef struct row {
    drove_number data, model;
    int index_format; /* 0, 1, 2: 8, 16, 32 bits */
    size_t n_stored, n_features;
    uint64_t place[MAX_STORED];
    double value[MAX_STORED];
    drovek_pairs pairs;
} row;

static drove_rng rng;

FIXTURE(seed)
{
    drove__rng_seed(&rng, 20, DROVE_RNG_TEST, 0);
    return 0;
}

static double draw_value(drove_number data)
{
    int64_t most = drove__number_most(data);
    if (data == DROVE_F32) return (float)(drove__rng_uniform(&rng) * 4.0 - 2.0);
    switch (drove__rng_below(&rng, 8)) {
    case 0: return (double)most;
    case 1: return (double)-most;
    default: return (double)((int64_t)drove__rng_below(&rng, (uint64_t)(2 * most + 1)) - most);
    }
}

/* Distance from one stored number to the next non-zero one. */
static uint64_t draw_gap(gaps kind)
{
    if (kind == GAPS_LARGE && drove__rng_below(&rng, 16) == 0)
        return drove__rng_below(&rng, 4) == 0 ? 150000 : 200 + drove__rng_below(&rng, 700);
    return 1 + drove__rng_below(&rng, kind == GAPS_SMALL ? 60 : 5);
}

static void put_pair(row *r, uint64_t at, double value)
{
    r->place[r->n_stored] = at;
    r->value[r->n_stored++] = value;
}

/* n_stored pairs; first: place of the first; bridges as the format needs them.  Meeting: some pairs
 * of value 0 stand on the place of the pair before or after (differences only). */
static void draw_pairs(row *r, size_t n_stored, gaps kind, uint64_t first)
{
    const uint64_t most = r->index_format == 0   ? UINT8_MAX
                          : r->index_format == 1 ? UINT16_MAX
                                                 : UINT32_MAX;
    uint64_t at = 0, wanted = first;
    r->n_stored = 0;
    while (r->n_stored < n_stored) {
        bool meets = kind == GAPS_MEETING && r->index_format < 2;
        if (wanted - at > most) {
            put_pair(r, at += most, 0.0);
            continue;
        }
        if (meets && r->n_stored + 3 < n_stored && drove__rng_below(&rng, 7) == 0)
            put_pair(r, wanted, 0.0);
        put_pair(r, at = wanted, draw_value(r->data));
        if (meets && r->n_stored < n_stored && drove__rng_below(&rng, 5) == 0)
            put_pair(r, wanted, 0.0);
        wanted = at + draw_gap(kind);
    }
    r->n_features = n_stored == 0 ? 1 : (size_t)r->place[n_stored - 1] + 1; /* the last one of w */
}

/* The arrays as the kernels read them, in guarded memory. */
static void encode(row *r, place where)
{
    size_t index_bytes = (size_t)1 << r->index_format, number = drove__number_size(r->data);
    char *index = guarded(r->n_stored * index_bytes, index_bytes, where);
    char *value = guarded(r->n_stored * number, number, where);
    uint64_t at = 0;
    for (size_t k = 0; k < r->n_stored; k++) {
        uint64_t step = r->index_format == 2 ? r->place[k] : r->place[k] - at;
        at = r->place[k];
        memcpy(index + k * index_bytes, &step, index_bytes); /* little endian */
        if (r->data == DROVE_F32) ((float *)(void *)value)[k] = (float)r->value[k];
        else if (r->data == DROVE_I16) ((int16_t *)(void *)value)[k] = (int16_t)r->value[k];
        else value[k] = (char)(int8_t)r->value[k];
    }
    r->pairs = (drovek_pairs){.index = index, .value = value, .n_stored = r->n_stored};
}

/* ---- a model ---- */

static double element(const row *r, const void *w, uint64_t at)
{
    if (r->model == DROVE_F32) return ((const float *)w)[at];
    return r->model == DROVE_I16 ? ((const int16_t *)w)[at] : ((const int8_t *)w)[at];
}

static void set_element(const row *r, void *w, uint64_t at, double value)
{
    if (r->model == DROVE_F32) ((float *)w)[at] = (float)value;
    else if (r->model == DROVE_I16) ((int16_t *)w)[at] = (int16_t)value;
    else ((int8_t *)w)[at] = (int8_t)value;
}

static size_t model_bytes(const row *r)
{
    return r->n_features * drove__number_size(r->model);
}

/* Both ends of the format and everything between them; READABLE bytes of GUARD behind. */
static void *draw_model(const row *r, place where)
{
    size_t size = model_bytes(r);
    char *w = guarded(size + READABLE, drove__number_size(r->model), where);
    memset(w + size, GUARD, READABLE);
    for (size_t i = 0; i < r->n_features; i++) {
        int64_t least = r->model == DROVE_I8 ? INT8_MIN : INT16_MIN;
        double v = (double)(least + (int64_t)drove__rng_below(&rng, (uint64_t)(-2 * least)));
        if (i % 5 == 0) v = (double)least;
        if (i % 5 == 1) v = (double)(-least - 1);
        if (r->model == DROVE_F32) v = (float)(v / 32768.0);
        set_element(r, w, i, v);
    }
    return w;
}

static void *copy_of(const row *r, const void *w, place where)
{
    void *copy = guarded(model_bytes(r) + READABLE, drove__number_size(r->model), where);
    return memcpy(copy, w, model_bytes(r) + READABLE);
}

/* ---- random bits ---- */

static _Alignas(64) uint8_t blocks[N_BLOCKS * DROVEK_BLOCK_BYTES];
enum { KIND_NEAREST, KIND_SHARED, KIND_STREAM, KIND_XORSHIFT, N_KINDS };

static drovek_bits bits_of(int kind)
{
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = blocks};
    for (size_t i = 0; i < sizeof blocks; i++) blocks[i] = (uint8_t)drove__rng_u64(&rng);
    for (size_t i = 0; i < 8; i++) bits.state[i] = drove__rng_u64(&rng) | 1;
    if (kind == KIND_NEAREST) {
        for (size_t i = 0; i < 64; i++) blocks[i] = i % 2 == 0 ? 0 : 0x80; /* words of 0x8000 */
    }
    if (kind == KIND_STREAM) bits.kind = DROVEK_BITS_STREAM;
    if (kind == KIND_XORSHIFT) bits.kind = DROVEK_BITS_XORSHIFT;
    return bits;
}

/* All blocks written out, by the recipe. */
static void expand(const drovek_bits *bits, uint8_t all[N_BLOCKS * DROVEK_BLOCK_BYTES])
{
    uint64_t state[8];
    memcpy(state, bits->state, sizeof state);
    for (size_t b = 0; b < N_BLOCKS; b++) {
        uint8_t *to = all + 64 * b;
        if (bits->kind == DROVEK_BITS_FIXED) memcpy(to, bits->block, 64);
        if (bits->kind == DROVEK_BITS_STREAM) memcpy(to, bits->block + 64 * b, 64);
        for (size_t i = 0; bits->kind == DROVEK_BITS_XORSHIFT && i < 8; i++) {
            state[i] ^= state[i] << 13;
            state[i] ^= state[i] >> 7;
            state[i] ^= state[i] << 17;
            memcpy(to + 8 * i, &state[i], 8);
        }
    }
}

/* ---- the header's words ---- */

static double expected_dot(const row *r, const void *w, double *size)
{
    double sum = 0.0;
    *size = 0.0;
    for (size_t k = 0; k < r->n_stored; k++) {
        double product = r->value[k] * element(r, w, r->place[k]);
        sum += product; /* integers: below 2^53, exact */
        *size += fabs(product);
    }
    return sum;
}

static size_t expected_axpy(const row *r, void *w, const drovek_factor *factor, const uint8_t *all)
{
    double least = r->model == DROVE_I8 ? INT8_MIN : INT16_MIN;
    size_t n_clamped = 0;
    for (size_t k = 0; k < r->n_stored; k++) {
        double x = r->value[k], was = element(r, w, r->place[k]), delta;
        int byte = all[k], word = all[2 * k < N_BLOCKS * 64 ? 2 * k : 0] |
                                  all[2 * k < N_BLOCKS * 64 ? 2 * k + 1 : 0] << 8;
        if (r->model == DROVE_F32) {
            set_element(r, w, r->place[k], fmaf(factor->f, (float)x, (float)was));
            continue;
        }
        if (r->data == DROVE_F32) {
            delta = floor((double)fmaf(factor->f, (float)x, (float)((word + 0.5) / 65536.0)));
        } else {
            bool bytes = r->data == DROVE_I8 && r->model == DROVE_I8;
            double whole = ldexp(1.0, factor->shift);
            double random = floor(bytes ? byte * whole / 256.0 : word * whole / 65536.0);
            delta = floor((factor->a * x + random) / whole);
        }
        double wanted = was + delta, most = -least - 1;
        double now = wanted < least ? least : wanted > most ? most : wanted;
        n_clamped += now != wanted;
        set_element(r, w, r->place[k], now);
    }
    return n_clamped;
}

/* ---- every version against them ---- */

static size_t n_seen_clamped; /* by all cases together: the tests below do saturate */

static void check_dot(const drovek_table *t, const row *r, const void *w)
{
    double size, wanted = expected_dot(r, w, &size);
    double got = t->linear.spdot[r->data][r->index_format][r->model](&r->pairs, w);
    if (r->data != DROVE_F32 && r->model != DROVE_F32) assert_true(got == wanted);
    else assert_true(fabs(got - wanted) <= DOT_BOUND * size);
}

static void check_axpy(const drovek_table *t, const row *r, const void *before,
                       const drovek_factor *factor, int kind, place where)
{
    static uint8_t all[N_BLOCKS * DROVEK_BLOCK_BYTES];
    drovek_bits bits = bits_of(kind), ref_bits = bits;
    char *w = copy_of(r, before, where), *wanted = copy_of(r, before, where);
    char *ref = copy_of(r, before, where);

    expand(&bits, all);
    size_t n_wanted = expected_axpy(r, wanted, factor, all);
    bool rounds = r->model != DROVE_F32;
    size_t n = t->linear.spaxpy[r->data][r->index_format][r->model](w, &r->pairs, factor,
                                                                    rounds ? &bits : NULL);
    drovek_linear_sparse_ref.linear.spaxpy[r->data][r->index_format][r->model](ref, &r->pairs,
                                                                               factor, &ref_bits);
    assert_int_equal(n, n_wanted);
    assert_memory_equal(w, wanted, model_bytes(r) + READABLE);
    assert_memory_equal(w, ref, model_bytes(r) + READABLE);
    assert_memory_equal(bits.state, ref_bits.state, sizeof bits.state);
    n_seen_clamped += n;
}

static void check_row(const drovek_table *t, row *r, place where)
{
    static const drovek_factor bytes[] = {{.a = 77, .shift = 8},
                                          {.a = -256, .shift = 8},
                                          {.a = 256, .shift = 3},
                                          {.a = -1, .shift = 0}};
    static const drovek_factor words[] = {{.a = 77, .shift = 13, .f = 0.37f},
                                          {.a = -32767, .shift = 15, .f = -3.9f},
                                          {.a = 32767, .shift = 2, .f = 1e9f},
                                          {.a = -1, .shift = 0, .f = -1e30f}};
    bool has_bytes = r->data == DROVE_I8 && r->model == DROVE_I8;
    encode(r, where);
    void *w = draw_model(r, where);
    check_dot(t, r, w);
    for (int kind = 0; kind < N_KINDS; kind++)
        check_axpy(t, r, w, &(has_bytes ? bytes : words)[drove__rng_below(&rng, 4)], kind, where);
    guarded_free_all();
}

static void check_combination(const drovek_table *t, row *r)
{
    for (size_t i = 0; edge_lengths[i] <= MAX_STORED; i++) {
        check_row(t, (draw_pairs(r, edge_lengths[i], GAPS_SMALL, 0), r), PLACE_END);
        check_row(t, (draw_pairs(r, edge_lengths[i], GAPS_SMALL, 300), r), PLACE_SHIFTED);
        check_row(t, (draw_pairs(r, edge_lengths[i], GAPS_MEETING, 7), r), PLACE_START);
    }
    check_row(t, (draw_pairs(r, 100, GAPS_LARGE, 70000), r), PLACE_TURN);
    check_row(t, (draw_pairs(r, 33, GAPS_LARGE, 1000), r), PLACE_TURN);
}

static void for_each_combination(const drovek_table *t,
                                 void (*check)(const drovek_table *t, row *r))
{
    static row r;
    for (int d = DROVE_I8; d < DROVE_NUMBERS; d++) {
        for (int i = 0; i < 3; i++) {
            for (int m = DROVE_I8; m < DROVE_NUMBERS; m++) {
                r = (row){.data = (drove_number)d, .index_format = i, .model = (drove_number)m};
                check(t, &r);
            }
        }
    }
}

static void check_all_combinations(const drovek_table *t)
{
    for_each_combination(t, check_combination);
}

/* By hand: two differences, one bridge; values and words small enough to check with a pencil. */
static void check_by_hand(const drovek_table *t)
{
    static _Alignas(64) const uint8_t halves[64] = {0x80, 0x80, 0x80};
    const uint8_t index[] = {0, 255, 3};
    const int8_t value[] = {10, 0, -20};
    int8_t w[259 + READABLE] = {0};
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = halves};
    drovek_pairs x = {index, value, 3};
    drovek_factor factor = {.a = 100, .shift = 4};
    assert_int_equal(t->linear.spaxpy[DROVE_I8][0][DROVE_I8](w, &x, &factor, &bits), 0);
    assert_int_equal(w[0], 63);     /* floor(1008 / 16) */
    assert_int_equal(w[258], -125); /* floor(-1992 / 16) */
    assert_true(t->linear.spdot[DROVE_I8][0][DROVE_I8](&x, w) == 630 + 2500);
    assert_int_equal(t->linear.spaxpy[DROVE_I8][0][DROVE_I8](w, &x, &factor, &bits), 1);
    assert_int_equal(w[0], 126);
    assert_int_equal(w[258], -128);
    assert_int_equal(w[255], 0);
}

/* The half in (r + 0.5) / 2^16, r = 0x8000: a quarter of 2^-16 on either side of it. */
static void check_half(const drovek_table *t)
{
    static _Alignas(64) const uint8_t halves[64] = {0, 0x80, 0, 0x80};
    const uint32_t index[] = {0, 1};
    const float value[] = {-32768.25f / 65536.0f, -32768.75f / 65536.0f};
    int16_t w[2 + READABLE] = {0};
    drovek_bits bits = {.kind = DROVEK_BITS_FIXED, .block = halves};
    drovek_pairs x = {index, value, 2};
    drovek_factor factor = {.f = 1.0f};
    assert_int_equal(t->linear.spaxpy[DROVE_F32][2][DROVE_I16](w, &x, &factor, &bits), 0);
    assert_int_equal(w[0], 0);
    assert_int_equal(w[1], -1);
}

TEST_WITH(test_by_hand, seed, NULL)
{
    for_each_tier(check_by_hand);
    for_each_tier(check_half);
}

TEST_WITH(test_rows, seed, NULL)
{
    n_seen_clamped = 0;
    for_each_tier(check_all_combinations);
    assert_true(n_seen_clamped > 1000);
}

/* Sums that no 32-bit lane holds: exact. */
static void check_largest_sums(const drovek_table *t, row *r)
{
    if (r->data == DROVE_F32 || r->model == DROVE_F32) return;
    draw_pairs(r, MAX_STORED, GAPS_SMALL, 3);
    for (int sign = -1; sign <= 1; sign += 2) {
        double least = r->model == DROVE_I8 ? INT8_MIN : INT16_MIN;
        for (size_t k = 0; k < MAX_STORED; k++)
            r->value[k] = r->value[k] == 0.0 ? 0.0 : sign * (double)drove__number_most(r->data);
        encode(r, PLACE_TURN);
        void *w = draw_model(r, PLACE_TURN);
        for (size_t i = 0; i < r->n_features; i++) set_element(r, w, i, least);
        check_dot(t, r, w);
        guarded_free_all();
    }
}

/* The same for runs longer than one widening: 70,000 pairs. */
static void check_long_sum(const drovek_table *t)
{
    enum { N = 70000 };
    uint16_t *index = drove__alloc(N, sizeof *index);
    int16_t *value = drove__alloc(N, sizeof *value), *w = drove__alloc(N + 32, sizeof *w);
    assert_true(index != NULL && value != NULL && w != NULL);
    for (size_t k = 0; k < N; k++) index[k] = k > 0, value[k] = -INT16_MAX, w[k] = INT16_MIN;
    drovek_pairs x = {index, value, N};
    double wanted = 70000.0 * 32767.0 * 32768.0;
    assert_true(t->linear.spdot[DROVE_I16][1][DROVE_I16](&x, w) == wanted);
    drove__free(index), drove__free(value), drove__free(w);
}

static void check_sums(const drovek_table *t)
{
    for_each_combination(t, check_largest_sums);
    check_long_sum(t);
}

TEST_WITH(test_exact_sums, seed, NULL)
{
    for_each_tier(check_sums);
}

/* ---- bias ---- */

enum { N_ROUNDINGS = 1000000 };

/* Mean of N_ROUNDINGS deltas of one x, from w = 0, within 4 standard errors of the exact one. */
static void check_mean(const drovek_table *t, row *r, int kind, double exact,
                       const drovek_factor *factor)
{
    static _Alignas(64) uint8_t drawn[2 * 64 * 16]; /* blocks of 1024 words */
    bool bytes = r->data == DROVE_I8 && r->model == DROVE_I8;
    size_t n = kind == KIND_SHARED ? (bytes ? 64 : 32) : 960;
    double sum = 0.0, n_done = 0.0;
    drovek_bits bits = bits_of(kind);
    if (bits.kind != DROVEK_BITS_XORSHIFT) bits.block = drawn;

    r->n_stored = n, r->n_features = n;
    for (size_t k = 0; k < n; k++) r->place[k] = k, r->value[k] = r->data == DROVE_F32 ? 0.5 : -37;
    encode(r, PLACE_TURN);
    void *w = draw_model(r, PLACE_TURN);
    for (; n_done < N_ROUNDINGS; n_done += (double)n) {
        memset(w, 0, model_bytes(r));
        for (size_t i = 0; i < sizeof drawn; i += 8) {
            uint64_t fresh = drove__rng_u64(&rng);
            memcpy(drawn + i, &fresh, 8);
            if (kind == KIND_SHARED && i == 56) break;
        }
        t->linear.spaxpy[r->data][r->index_format][r->model](w, &r->pairs, factor, &bits);
        for (size_t i = 0; i < n; i++) sum += element(r, w, i);
    }
    double part = exact - floor(exact), error = sqrt(part * (1.0 - part) / n_done);
    if (fabs(sum / n_done - exact) > 4.0 * error) {
        print_error("%s, data %d, model %d, kind %d: mean %.6f, not %.6f +- %.6f\n", t->isa,
                    (int)r->data, (int)r->model, kind, sum / n_done, exact, error);
        fail();
    }
    guarded_free_all();
}

static void check_bias(const drovek_table *t, row *r)
{
    drovek_factor factor = {.a = 77, .shift = 8, .f = -0.37f};
    double exact = r->data == DROVE_F32 ? (double)factor.f * 0.5 : -37.0 * 77.0 / 256.0;
    if (r->model == DROVE_F32 || r->index_format != 0) return;
    for (int kind = KIND_SHARED; kind < N_KINDS; kind++) check_mean(t, r, kind, exact, &factor);
}

static void check_all_bias(const drovek_table *t)
{
    for_each_combination(t, check_bias);
}

TEST_WITH(test_unbiased, seed, NULL)
{
    for_each_tier(check_all_bias);
}
