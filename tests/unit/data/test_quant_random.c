/* Random quantised data sets: shaped as asked for, valid as any reader's, and random. */
#include "support.h"

#include "data/quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static drove_quant *make(drove_number number, unsigned index_bits, size_t n, size_t n_stored)
{
    const drove_quant_shape shape = {.number = number,
                                     .index_bits = index_bits,
                                     .n_rows = 200,
                                     .n_features = n,
                                     .n_stored = n_stored,
                                     .seed = 7};
    drove_quant *q;
    if (drove__quant_random(&shape, &q) != DROVE_OK) fail_msg("%s", drove_error_text());
    if (drove__quant_check(q, n, "random") != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_int_equal(q->n_rows, 200);
    assert_int_equal(q->n_features, n);
    return q;
}

/* Mean 0 and variance 1/3 of the uniform numbers, within 5 standard errors; all within [-1, 1]. */
static void expect_uniform(const drove_quant *q, size_t n_stored)
{
    double sum = 0.0, squares = 0.0, n = (double)(q->n_rows * n_stored);
    for (size_t i = 0; i < q->n_rows; i++) {
        drove_quant_walk walk = drove__quant_walk(q, i);
        while (drove__quant_next(q, &walk)) {
            assert_true(fabsf(walk.value) <= 1.0f);
            sum += (double)walk.value;
            squares += (double)walk.value * (double)walk.value;
        }
    }
    assert_true(fabs(sum / n) <= 5.0 * sqrt(1.0 / 3.0 / n));
    const double unit = q->number == DROVE_I4 ? 1.0 / 7.0 : 1.0 / 127.0;
    assert_true(fabs(squares / n - 1.0 / 3.0) <= 5.0 * sqrt(4.0 / 45.0 / n) + unit);
}

TEST(test_dense)
{
    static const size_t sizes[] = {1, 3, 64, 65, 1000};
    for (unsigned number = 0; number < DROVE_NUMBERS; number++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            drove_quant *q = make((drove_number)number, 0, sizes[k], sizes[k]);
            expect_uniform(q, sizes[k]);
            drove__quant_release(q);
        }
    }
}

/* Density 3 % fits differences of 8 bits; one number in 5000 needs bridges there. */
TEST(test_sparse)
{
    static const struct {
        size_t n, n_stored;
        bool has_bridges;
    } shapes[] = {{2000, 60, false}, {5000, 1, true}, {40, 40, false}, {100000, 300, true}};
    for (unsigned number = DROVE_I8; number < DROVE_NUMBERS; number++) {
        for (unsigned bits = 8; bits <= 32; bits *= 2) {
            for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
                drove_quant *q = make((drove_number)number, bits, shapes[k].n, shapes[k].n_stored);
                assert_int_equal(q->n_stored - q->n_bridges, 200 * shapes[k].n_stored);
                assert_int_equal(q->n_bridges > 0, shapes[k].has_bridges && bits == 8);
                expect_uniform(q, shapes[k].n_stored);
                drove__quant_release(q);
            }
        }
    }
}

/* Places cover the features evenly, and rows differ. */
TEST(test_places)
{
    enum { FEATURES = 1000, STORED = 30 };
    drove_quant *q = make(DROVE_I16, 32, FEATURES, STORED);
    unsigned hits[FEATURES] = {0}, n_seen = 0, most = 0;
    for (uint64_t k = 0; k < q->n_stored; k++) hits[((const uint32_t *)q->index)[k]]++;
    for (size_t j = 0; j < FEATURES; j++) {
        n_seen += hits[j] > 0;
        most = hits[j] > most ? hits[j] : most;
    }
    assert_true(n_seen > 980); /* 6 a place expected: 0 in 0.25 % of them */
    assert_true(most < 25);
    assert_int_not_equal(memcmp(q->index, (const uint32_t *)q->index + STORED, STORED * 4), 0);
    drove__quant_release(q);
}
