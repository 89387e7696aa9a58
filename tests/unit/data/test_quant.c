/* tests/unit/data/test_quant.c - quantised data sets against a computation of the test's own, and
 * what comes back from them. */
#include "support.h"

#include "base/mem.h"
#include "base/rng.h"
#include "data/quant.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* |value - number * scale| / scale of what is not clamped: half a number, and what the float that
 * comes back is rounded by. */
#define ROUND_TRIP_QUANTA (0.5 + 32767 * (double)FLT_EPSILON)

static const drove_number numbers[] = {DROVE_I8, DROVE_I16, DROVE_F32, DROVE_I4}; /* 4: dense */
enum { SPARSE_NUMBERS = 3, DENSE_NUMBERS = 4 };
static const unsigned index_sizes[] = {8, 16, 32};

/* ---- views made by hand ---- */

static drove_data *make_view(drove_x_kind kind, size_t n_rows, size_t n_features)
{
    drove_data *d = calloc(1, sizeof *d);
    assert_non_null(d);
    assert_int_equal(drove__storage_create(&d->storage), DROVE_OK);
    d->n_rows = d->storage->n_rows = n_rows;
    d->storage->n_features = n_features;
    d->storage->x_kind = kind;
    if (kind == DROVE_X_U8) d->storage->x_u8 = drove__alloc(n_rows, n_features);
    if (kind == DROVE_X_F32) d->storage->x_f32 = drove__alloc(n_rows * n_features, sizeof(float));
    return d;
}

static drove_data *random_dense(drove_x_kind kind, size_t n_rows, size_t n_features)
{
    drove_data *d = make_view(kind, n_rows, n_features);
    drove_rng rng;
    drove__rng_seed(&rng, 5, DROVE_RNG_SPLIT, 0);
    for (size_t i = 0; i < n_rows * n_features; i++) {
        if (kind == DROVE_X_U8) d->storage->x_u8[i] = (uint8_t)drove__rng_below(&rng, 256);
        else d->storage->x_f32[i] = 3.0f * (float)drove__rng_normal(&rng);
    }
    return d;
}

/* One row from n places, and values 1, -2, 3 ... (NULL: all 1). */
static drove_data *one_row(const uint32_t *index, size_t n, bool has_values)
{
    drove_data *d = make_view(DROVE_X_CSR, 1, n > 0 ? (size_t)index[n - 1] + 1 : 1);
    d->storage->row_start = calloc(2, sizeof(uint64_t));
    d->storage->index = calloc(n + 1, sizeof(uint32_t));
    d->storage->row_start[1] = n;
    for (size_t k = 0; k < n; k++) d->storage->index[k] = index[k];
    if (!has_values) return d;
    d->storage->value = calloc(n + 1, sizeof(float));
    for (size_t k = 0; k < n; k++)
        d->storage->value[k] = (float)(k + 1) * (k % 2 == 0 ? 1.0f : -1.0f);
    return d;
}

static drove_data *random_sparse(size_t n_rows, size_t n_features, unsigned one_in, bool has_values)
{
    drove_data *d = make_view(DROVE_X_CSR, n_rows, n_features);
    drove_storage *s = d->storage;
    drove_rng rng;
    drove__rng_seed(&rng, 6, DROVE_RNG_SPLIT, 0);
    s->row_start = calloc(n_rows + 1, sizeof *s->row_start);
    s->index = calloc(n_rows * n_features, sizeof *s->index);
    if (has_values) s->value = calloc(n_rows * n_features, sizeof *s->value);
    uint64_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t f = 0; f < n_features && i % 7 != 3; f++) { /* some rows are empty */
            if (drove__rng_below(&rng, one_in) != 0) continue;
            if (has_values) s->value[n] = (float)drove__rng_normal(&rng);
            s->index[n++] = (uint32_t)f;
        }
        s->row_start[i + 1] = n;
    }
    return d;
}

static void scale_view(drove_data *d)
{
    size_t n = d->storage->n_features;
    d->shift = drove__alloc(n, sizeof(float));
    d->factor = drove__alloc(n, sizeof(float));
    for (size_t f = 0; f < n; f++) {
        d->shift[f] = d->storage->x_kind == DROVE_X_CSR ? 0.0f : (float)(f % 5) - 1.5f;
        d->factor[f] = 0.01f * (float)(1 + f % 11);
    }
}

static void pick_rows(drove_data *d)
{
    d->row = calloc(d->storage->n_rows, sizeof *d->row);
    d->n_rows = 0;
    for (uint32_t i = 1; i < d->storage->n_rows; i += 3) d->row[d->n_rows++] = i;
}

static drove_quant *create(const drove_data *d, drove_number number, unsigned index_bits,
                           float scale, const uint32_t *order)
{
    drove_quant *q;
    const drove_quant_options opt = {number, index_bits, scale, order};
    drove_status status = drove__quant_create(d, &opt, &q);
    if (status != DROVE_OK) fail_msg("%s", drove_error_text());
    return q;
}

static void expect_no_quant(const drove_data *d, drove_number number, unsigned index_bits,
                            float scale, drove_status status, const char *word)
{
    drove_quant *q = (drove_quant *)d; /* to see that it becomes NULL */
    const drove_quant_options opt = {number, index_bits, scale, NULL};
    assert_int_equal(drove__quant_create(d, &opt, &q), status);
    assert_null(q);
    if (strstr(drove_error_text(), word) == NULL)
        fail_msg("\"%s\" is not in: %s", word, drove_error_text());
    assert_null(strchr(drove_error_text(), '\n'));
}

/* ---- the test's own reading ---- */

static int32_t number_at(const drove_quant *q, const void *value, uint64_t at)
{
    if (q->number == DROVE_I4) {
        int bits = ((const uint8_t *)value)[at / 2] >> (4 * (at % 2)) & 15;
        return bits < 8 ? bits : bits - 16;
    }
    return q->number == DROVE_I8 ? ((const int8_t *)value)[at] : ((const int16_t *)value)[at];
}

/* What value/scale has to be as a number; *clamped counts. */
static int32_t expected_number(float x, float scale, drove_number number, uint64_t *clamped)
{
    long double most = number == DROVE_I4 ? 7 : number == DROVE_I8 ? 127 : 32767;
    long double nearest = rintl((long double)x / (long double)scale); /* ties to even */
    *clamped += nearest > most || nearest < -most;
    return (int32_t)(nearest > most ? most : nearest < -most ? -most : nearest);
}

static float largest_of(const drove_data *d)
{
    float largest = 0;
    for (size_t i = 0; i < d->n_rows; i++) {
        for (size_t f = 0; f < d->storage->n_features; f++)
            largest = fmaxf(largest, fabsf(scaled_at(d, i, f)));
    }
    return largest;
}

static void check_dense(const drove_data *d, const drove_quant *q, const uint32_t *order)
{
    const size_t n = d->storage->n_features, bits = drove__number_bits(q->number);
    const size_t used = (n * bits + 7) / 8;
    uint64_t n_clamped = 0;
    float *x = calloc(n, sizeof *x);
    assert_int_equal(q->n_rows, d->n_rows);
    assert_int_equal(q->n_features, n);
    assert_int_equal(q->index_bits, 0);
    assert_int_equal(q->row_bytes % 64, 0);
    assert_true(q->row_bytes >= used && q->row_bytes < used + 64);
    for (size_t i = 0; i < q->n_rows; i++) {
        const char *row = (const char *)q->value + i * q->row_bytes;
        assert_int_equal((uintptr_t)row % 64, 0);
        assert_int_equal(drove__quant_row(q, i, NULL, x), n);
        for (size_t f = 0; f < n; f++) {
            float value = scaled_at(d, order != NULL ? order[i] : i, f);
            if (q->number == DROVE_F32) {
                assert_true(((const float *)row)[f] == value && x[f] == value);
                continue;
            }
            int32_t number = number_at(q, row, f);
            assert_int_equal(number, expected_number(value, q->scale, q->number, &n_clamped));
            assert_true(x[f] == (float)number * q->scale);
        }
        for (size_t at = used; at < q->row_bytes; at++) assert_int_equal(row[at], 0);
        if (q->number == DROVE_I4 && n % 2 == 1) assert_int_equal(number_at(q, row, n), 0);
    }
    assert_int_equal(q->n_clamped, n_clamped);
    free(x);
}

/* Decodes pair by pair; bridges must be where they have to be and nowhere else. */
static void check_sparse(const drove_data *d, const drove_quant *q, const uint32_t *order)
{
    const drove_storage *s = d->storage;
    const uint64_t most = q->index_bits == 8 ? 255 : 65535;
    uint64_t n_clamped = 0, n_bridges = 0, at = 0;
    assert_int_equal(q->n_rows, d->n_rows);
    for (size_t i = 0; i < q->n_rows; i++) {
        size_t row = drove__data_row(d, order != NULL ? order[i] : i);
        uint64_t place = 0;
        assert_int_equal(q->row_start[i], at);
        for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++, at++) {
            for (; q->index_bits != 32 && s->index[k] - place > most; at++, n_bridges++) {
                uint64_t step = q->index_bits == 8 ? ((const uint8_t *)q->index)[at]
                                                   : ((const uint16_t *)q->index)[at];
                assert_int_equal(step, most);
                if (q->number == DROVE_F32) assert_true(((const float *)q->value)[at] == 0);
                else assert_int_equal(number_at(q, q->value, at), 0);
                place += step;
            }
            if (q->index_bits == 8) place += ((const uint8_t *)q->index)[at];
            else if (q->index_bits == 16) place += ((const uint16_t *)q->index)[at];
            else place = ((const uint32_t *)q->index)[at];
            assert_int_equal(place, s->index[k]);
            float value = s->value != NULL ? s->value[k] : 1.0f;
            if (d->factor != NULL) value *= d->factor[s->index[k]];
            if (q->number == DROVE_F32) assert_true(((const float *)q->value)[at] == value);
            else
                assert_int_equal(number_at(q, q->value, at),
                                 expected_number(value, q->scale, q->number, &n_clamped));
        }
    }
    assert_int_equal(q->row_start[q->n_rows], at);
    assert_int_equal(q->n_stored, at);
    assert_int_equal(q->n_bridges, n_bridges);
    assert_int_equal(q->n_clamped, n_clamped);
}

/* Rows come back at their places, each value within half a number. */
static void check_rows(const drove_data *d, const drove_quant *q, const uint32_t *order)
{
    size_t n_features = d->storage->n_features;
    float *dense = calloc(n_features, sizeof *dense), *x = calloc(n_features, sizeof *x);
    uint64_t most = n_features;
    for (size_t i = 0; i < q->n_rows && q->index_bits != 0; i++)
        most += q->row_start[i + 1] - q->row_start[i];
    uint32_t *index = calloc(most, sizeof *index);
    float *value = calloc(most, sizeof *value);
    for (size_t i = 0; i < q->n_rows; i++) {
        size_t n = drove__quant_row(q, i, index, value);
        memset(x, 0, n_features * sizeof *x);
        for (size_t k = 0; k < n; k++) {
            size_t place = q->index_bits == 0 ? k : index[k];
            assert_true(place < n_features);
            if (q->index_bits != 0 && k > 0) assert_true(index[k] > index[k - 1]);
            x[place] = value[k];
        }
        for (size_t f = 0; f < n_features; f++) {
            double off = (double)x[f] - (double)scaled_at(d, order != NULL ? order[i] : i, f);
            double bound = q->number == DROVE_F32 ? 0.0 : ROUND_TRIP_QUANTA * (double)q->scale;
            if (fabs(off) > bound) fail_msg("row %zu feature %zu: off by %g", i, f, off);
        }
    }
    free(dense);
    free(x);
    free(index);
    free(value);
}

static uint32_t *reversed(size_t n)
{
    uint32_t *order = calloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)(n - 1 - i);
    return order;
}

/* ---- tests ---- */

TEST(test_dense)
{
    static const size_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 1023, 1024, 1025, 2500};
    for (size_t k = 0; k < 2 * DROVE_COUNT(sizes) * DENSE_NUMBERS; k++) {
        drove_number number = numbers[k % DENSE_NUMBERS];
        drove_x_kind kind = k / DENSE_NUMBERS % 2 == 0 ? DROVE_X_U8 : DROVE_X_F32;
        const size_t which = k / (2 * DENSE_NUMBERS);
        drove_data *d = random_dense(kind, 11, sizes[which]);
        if (which % 2 == 1) scale_view(d);
        if (which % 3 == 1) pick_rows(d);
        uint32_t *order = which % 4 == 3 ? reversed(d->n_rows) : NULL;
        drove_quant *q = create(d, number, 0, 0, order);
        int32_t most = number == DROVE_I4 ? 7 : number == DROVE_I8 ? 127 : 32767;
        assert_true(q->scale == (number == DROVE_F32 ? 1.0f : largest_of(d) / (float)most));
        assert_int_equal(q->n_clamped, 0);
        check_dense(d, q, order);
        check_rows(d, q, order);
        drove__quant_release(q);
        free(order);
        drove_data_destroy(d);
    }
}

TEST(test_sparse)
{
    for (unsigned k = 0; k < SPARSE_NUMBERS * 3 * 8; k++) {
        drove_data *d = random_sparse(30, 1500, k / 9 % 2 == 0 ? 2 : 500, k / 18 % 2 == 0);
        if (k / 36 == 1) scale_view(d);
        if (k / 9 % 3 == 1) pick_rows(d);
        uint32_t *order = k / 9 % 4 >= 2 ? reversed(d->n_rows) : NULL;
        drove_quant *q = create(d, numbers[k % SPARSE_NUMBERS], index_sizes[k / 3 % 3], 0, order);
        check_sparse(d, q, order);
        check_rows(d, q, order);
        drove__quant_release(q);
        free(order);
        drove_data_destroy(d);
    }
}

/* Every gap around the largest difference and its multiples, behind a feature and as the first. */
TEST(test_gaps)
{
    static const uint32_t gaps[] = {1,     2,      254,    255,    256,    257,    509,
                                    510,   511,    765,    766,    65534,  65535,  65536,
                                    65537, 131069, 131070, 131071, 196605, 196606, 1000000};
    for (size_t g = 0; g < DROVE_COUNT(gaps); g++) {
        for (unsigned k = 0; k < 9; k++) {
            const uint32_t places[] = {0, gaps[g], gaps[g] + 1, 2 * gaps[g] + 1};
            for (size_t first = 0; first < 2; first++) {
                drove_data *d = one_row(places + first, DROVE_COUNT(places) - first, true);
                drove_quant *q =
                    create(d, numbers[k % SPARSE_NUMBERS], index_sizes[k / 3], 0, NULL);
                uint64_t most = k / 3 == 0 ? 255 : 65535;
                uint64_t bridges = k / 3 == 2 ? 0 : 2 * ((gaps[g] - 1) / most);
                assert_int_equal(q->n_bridges, bridges);
                check_sparse(d, q, NULL);
                check_rows(d, q, NULL);
                drove__quant_release(q);
                drove_data_destroy(d);
            }
        }
    }
}

TEST(test_first_place)
{
    static const uint32_t first[] = {0, 1, 255, 256, 65535, 65536, 3000000};
    for (size_t g = 0; g < DROVE_COUNT(first); g++) {
        for (unsigned k = 0; k < 6; k++) {
            drove_data *d = one_row(first + g, 1, k < 3);
            drove_quant *q = create(d, DROVE_I8, index_sizes[k % 3], 0, NULL);
            uint32_t index[16000];
            float x[16000];
            check_sparse(d, q, NULL);
            assert_int_equal(drove__quant_row(q, 0, index, x), 1);
            assert_int_equal(index[0], first[g]);
            assert_true(fabsf(x[0] - 1.0f) < 1e-6f);
            drove__quant_release(q);
            drove_data_destroy(d);
        }
    }
}

TEST(test_clamped_not_wrapped)
{
    static const float values[] = {127.0f,  127.49f,  127.5f,  128.0f,  255.0f,  256.0f, 1e30f,
                                   -127.0f, -127.49f, -127.5f, -128.0f, -1e30f,  126.5f, 0.5f,
                                   -0.5f,   1.5f,     2.5f,    FLT_MAX, -FLT_MAX};
    static const int8_t expected[] = {127,  127,  127, 127, 127, 127, 127, -127, -127, -127,
                                      -127, -127, 126, 0,   0,   2,   2,   127,  -127};
    drove_data *d = make_view(DROVE_X_F32, 1, DROVE_COUNT(values));
    memcpy(d->storage->x_f32, values, sizeof values);
    drove_quant *q = create(d, DROVE_I8, 0, 1.0f, NULL);
    for (size_t f = 0; f < DROVE_COUNT(values); f++)
        assert_int_equal(((const int8_t *)q->value)[f], expected[f]);
    assert_int_equal(q->n_clamped, 10);
    check_dense(d, q, NULL);
    drove__quant_release(q);
    q = create(d, DROVE_I16, 0, 0.25f, NULL); /* 127.5 is 510: only the four huge ones are beyond */
    assert_int_equal(q->n_clamped, 4);
    check_dense(d, q, NULL);
    drove__quant_release(q);
    drove_data_destroy(d);
}

TEST(test_all_zero)
{
    for (unsigned k = 0; k < 2; k++) {
        drove_data *d = make_view(DROVE_X_F32, 3, 70);
        drove_quant *q = create(d, numbers[k], 0, 0, NULL);
        assert_true(q->scale == 1.0f);
        check_dense(d, q, NULL);
        drove__quant_release(q);
        drove_data_destroy(d);
        d = one_row(NULL, 0, true); /* no pair at all */
        q = create(d, numbers[k], 8, 0, NULL);
        assert_true(q->scale == 1.0f);
        assert_int_equal(q->n_stored, 0);
        check_sparse(d, q, NULL);
        assert_int_equal(drove__quant_row(q, 0, NULL, NULL), 0);
        drove__quant_release(q);
        drove_data_destroy(d);
    }
}

/* All-zero rows among others, stored zeros, and a feature that never varies, scaled: nothing of it
 * is a reason to refuse. */
TEST(test_constant_features_and_zero_rows)
{
    drove_data *d = open_data("synth:logistic?n=40&d=9&scale=standard");
    for (size_t i = 0; i < 40; i++) d->storage->x_f32[i * 9 + 4] = 5.0f;
    memset(d->storage->x_f32 + 3 * 9, 0, 9 * sizeof(float));
    d->shift[4] = 5.0f;
    d->factor[4] = 1.0f;
    for (unsigned k = 0; k < 3; k++) {
        drove_quant *q = create(d, numbers[k], 0, 0, NULL);
        check_dense(d, q, NULL);
        drove__quant_release(q);
    }
    drove_data_destroy(d);
    const uint32_t places[] = {3, 7, 262};
    d = one_row(places, 3, true);
    memset(d->storage->value, 0, 3 * sizeof(float));
    drove_quant *q = create(d, DROVE_I8, 8, 0, NULL);
    assert_true(q->scale == 1.0f);
    check_sparse(d, q, NULL); /* the zero at a distance of 255 is stored, though it reads as none */
    check_rows(d, q, NULL);
    drove__quant_release(q);
    drove_data_destroy(d);
}

TEST(test_scales)
{
    drove_data *d = make_view(DROVE_X_F32, 2, 2);
    float *x = d->storage->x_f32;
    x[0] = 1e-44f;
    expect_no_quant(d, DROVE_I8, 0, 0, DROVE_E_DATA, "vanishes");
    x[0] = 100.0f * FLT_MIN; /* / 127 is no normal number any more */
    expect_no_quant(d, DROVE_I8, 0, 0, DROVE_E_DATA, "vanishes");
    x[0] = 200.0f * FLT_MIN;
    drove__quant_release(create(d, DROVE_I8, 0, 0, NULL));
    expect_no_quant(d, DROVE_I16, 0, 0, DROVE_E_DATA, "vanishes");
    expect_no_quant(d, DROVE_I8, 0, 1e-40f, DROVE_E_DATA, "vanishes");
    expect_no_quant(d, DROVE_I8, 0, FLT_MAX / 100, DROVE_E_DATA, "overflows");
    expect_no_quant(d, DROVE_I8, 0, INFINITY, DROVE_E_DATA, "inf");
    expect_no_quant(d, DROVE_I8, 0, NAN, DROVE_E_DATA, "nan");
    expect_no_quant(d, DROVE_I8, 0, -1.0f, DROVE_E_DATA, "-1");
    x[0] = 1e30f;
    d->shift = drove__alloc(2, sizeof(float));
    d->factor = drove__alloc(2, sizeof(float));
    d->factor[0] = 1e30f;
    for (unsigned k = 0; k < 3; k++)
        expect_no_quant(d, numbers[k], 0, 0, DROVE_E_DATA, "no finite float");
    drove_data_destroy(d);
}

TEST(test_options)
{
    static const uint32_t place = 4;
    drove_data *dense = random_dense(DROVE_X_U8, 2, 2), *sparse = one_row(&place, 1, true);
    expect_no_quant(dense, DROVE_I8, 8, 0, DROVE_E_ARG, "i8");
    expect_no_quant(dense, DROVE_NUMBERS, 0, 0, DROVE_E_ARG, "format");
    expect_no_quant(dense, DROVE_F32, 0, 2, DROVE_E_ARG, "expected 1");
    expect_no_quant(sparse, DROVE_I8, 0, 0, DROVE_E_ARG, "8, 16 or 32");
    expect_no_quant(sparse, DROVE_I8, 24, 0, DROVE_E_ARG, "24");
    expect_no_quant(sparse, DROVE_I4, 8, 0, DROVE_E_ARG, "expected numbers of 8, 16 or 32 bits");
    drove_data_destroy(dense);
    drove_data_destroy(sparse);
}

/* Large arrays start on a huge page. */
TEST(test_large)
{
    drove_data *d = random_dense(DROVE_X_U8, 5000, 900);
    drove_quant *q = create(d, DROVE_I8, 0, 0, NULL);
    assert_int_equal((uintptr_t)q->value % (2u << 20), 0);
    atomic_fetch_add_explicit(&q->n_users, 1, memory_order_relaxed);
    drove__quant_release(q);
    assert_int_equal(q->n_users, 1);
    check_dense(d, q, NULL);
    drove__quant_release(q);
    drove__quant_release(NULL);
    drove_data_destroy(d);
}
