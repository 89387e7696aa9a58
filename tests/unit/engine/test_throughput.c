/* The throughput model against values worked out by hand from equations 2 and 3 and the printed
 * Table 2. */
#include "engine/linear/throughput.h"
#include "support/test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SATURATED = 176048 }; /* first model size above 256 exp(0.98 / 0.15) = 176047.79 */

static const double bound = 1e-12;  /* relative error of a few operations in double */
static const double printed = 1e-6; /* ... of a value written here with seven digits */

static void expect_near(double found, double expected, double relative)
{
    if (!(fabs(found - expected) <= relative * fabs(expected))) {
        fail_msg("expected %.17g, found %.17g", expected, found);
    }
}

static drove_dmgc parsed(const char *text)
{
    drove_dmgc s;
    if (drove_dmgc_parse(text, &s) != DROVE_OK) fail_msg("%s", drove_error_text());
    return s;
}

static drove_dmgc_prediction predicted(const char *text, uint64_t n, uint64_t t, double density)
{
    drove_dmgc s = parsed(text);
    drove_dmgc_setting setting = {.n_features = n, .n_threads = t, .density = density};
    drove_dmgc_prediction p;
    if (drove_dmgc_predict(&s, &setting, &p) != DROVE_OK) fail_msg("%s", drove_error_text());
    return p;
}

static double paper_fraction(uint64_t n)
{
    return drove__throughput_parallel_fraction(&drove__throughput_paper.row[0][8].parallel, n);
}

/* ---- the equations ---- */

TEST(test_amdahl)
{
    expect_near(drove__throughput_amdahl(3.339, 0.98, 1), 3.339, bound);
    expect_near(drove__throughput_amdahl(3.339, 0.0, 18), 3.339, bound);
    expect_near(drove__throughput_amdahl(2.0, 1.0, 16), 32.0, bound);
    expect_near(drove__throughput_amdahl(1.0, 0.5, 2), 4.0 / 3.0, bound);
    expect_near(drove__throughput_amdahl(1.0, 0.98, 18), 900.0 / 67.0, bound); /* 1/(.02+.98/18) */
    expect_near(drove__throughput_amdahl(1.0, 0.98, 1000000000), 50.0, printed);
}

TEST(test_parallel_fraction)
{
    assert_true(paper_fraction(1) == 0.0); /* 0.15 ln(1/256) is below 0 */
    assert_true(paper_fraction(255) == 0.0);
    assert_true(paper_fraction(256) == 0.0);
    expect_near(paper_fraction(257), 0.0005847961, printed);
    expect_near(paper_fraction(1024), 0.2079442, printed);  /* 0.15 ln 4 */
    expect_near(paper_fraction(65536), 0.8317766, printed); /* 0.15 ln 256 */
    expect_near(paper_fraction(176000), 0.9799592, printed);
    assert_true(paper_fraction(SATURATED - 1) < 0.98);
    assert_true(paper_fraction(SATURATED) == 0.98);
    assert_true(paper_fraction(UINT64_C(1) << 18) == 0.98); /* else 1.04 */
    assert_true(paper_fraction(UINT64_MAX) == 0.98);
}

/* ---- Table 2 ---- */

typedef struct measured {
    const char *dense, *sparse, *either;
    double dense_gnps, sparse_gnps;
    double dense_bytes, sparse_bytes; /* of a dataset number */
} measured;

static const measured table_2[] = {
    {"D32fM8", "D32fi32M8", "D32f[i32]M8", 0.203, 0.103, 4.0, 8.0},
    {"D32fM16", "D32fi32M16", "D32f[i32]M16", 0.208, 0.080, 4.0, 8.0},
    {"D32fM32f", "D32fi32M32f", "D32f[i32]M32f", 0.936, 0.101, 4.0, 8.0},
    {"D8M32f", "D8i8M32f", "D8[i8]M32f", 0.999, 0.089, 1.0, 2.0},
    {"D16M32f", "D16i16M32f", "D16[i16]M32f", 1.183, 0.089, 2.0, 4.0},
    {"D16M16", "D16i16M16", "D16[i16]M16", 1.739, 0.106, 2.0, 4.0},
    {"D8M16", "D8i8M16", "D8[i8]M16", 2.238, 0.105, 1.0, 2.0},
    {"D16M8", "D16i16M8", "D16[i16]M8", 2.526, 0.172, 2.0, 4.0},
    {"D8M8", "D8i8M8", "D8[i8]M8", 3.339, 0.166, 1.0, 2.0},
};

static void expect_row(const char *text, double density, int is_sparse, double gnps, double bytes)
{
    drove_dmgc_prediction p = predicted(text, UINT64_C(1) << 18, 1, density);
    assert_int_equal(p.is_sparse, is_sparse);
    assert_true(p.base_gnps == gnps);
    assert_true(p.bytes_per_number == bytes);
    expect_near(p.gnps, gnps, bound);
    /* 1 / (0.02 + 0.98 / 18) */
    p = predicted(text, UINT64_C(1) << 18, 18, density);
    expect_near(p.gnps, gnps * 900.0 / 67.0, bound);
}

TEST(test_table_2)
{
    assert_int_equal(COUNT(table_2), DROVE_THROUGHPUT_ROWS);
    for (size_t i = 0; i < COUNT(table_2); i++) {
        const measured *m = &table_2[i];
        expect_row(m->dense, 0.0, 0, m->dense_gnps, m->dense_bytes);
        expect_row(m->either, 0.0, 0, m->dense_gnps, m->dense_bytes);
        expect_row(m->either, 0.03, 1, m->sparse_gnps, m->sparse_bytes);
        expect_row(m->sparse, 0.0, 1, m->sparse_gnps, m->sparse_bytes);
        expect_row(m->sparse, 0.5, 1, m->sparse_gnps, m->sparse_bytes);
        assert_string_equal(drove__throughput_signature[i], m->either);
    }
    /* what is omitted means full precision; a dense problem does not ask for the index */
    expect_row("M8", 0.0, 0, 0.203, 4.0);
    expect_row("D16", 0.0, 0, 1.183, 2.0);
    expect_row("G32f", 0.0, 0, 0.936, 4.0);
    expect_row("i32", 0.0, 1, 0.101, 8.0);
    expect_row("D8[i16]M8", 0.0, 0, 3.339, 1.0);
}

TEST(test_prediction)
{
    /* 3.339 / (0.1682234 + 0.8317766 / 2) */
    drove_dmgc_prediction p = predicted("D8M8", 65536, 2, 0.0);
    expect_near(p.gnps, 5.716373, printed);
    expect_near(p.parallel_fraction, 0.8317766, printed);
    assert_false(p.is_bandwidth_bound);
    assert_non_null(strstr(p.source, "Xeon E7-8890"));
    /* one weight too few, one enough */
    assert_false(predicted("D8M8", SATURATED - 1, 2, 0.0).is_bandwidth_bound);
    assert_true(predicted("D8M8", SATURATED, 2, 0.0).is_bandwidth_bound);
    /* a small model: more threads give nothing */
    p = predicted("D16i16M16", 100, 18, 0.03);
    expect_near(p.gnps, 0.106, bound);
    assert_true(p.parallel_fraction == 0.0);
    assert_false(p.is_bandwidth_bound);
}

/* ---- refusals ---- */

static void expect_refusal(const char *text, drove_dmgc_setting setting, drove_status status,
                           const char *expected)
{
    drove_dmgc s = parsed(text);
    drove_dmgc_prediction p = {.gnps = 77.0};
    assert_int_equal(drove_dmgc_predict(&s, &setting, &p), status);
    assert_true(p.gnps == 77.0); /* untouched */
    if (strstr(drove_error_text(), expected) == NULL) {
        fail_msg("expected \"%s\" in: %s", expected, drove_error_text());
    }
}

TEST(test_refusals)
{
    const drove_dmgc_setting usual = drove_dmgc_setting_default();
    drove_dmgc_setting sparse = usual, wrong;
    sparse.density = 0.03;
    static const char *const unmeasured[] = {"D3M5",     "G10",    "D8i16M8", "D8M8G8",
                                             "D8M8C32f", "D32M8",  "C1s",     "D8M8f",
                                             "D16i8M16", "D8fM8f", "D4M4"};
    for (size_t i = 0; i < COUNT(unmeasured); i++) {
        expect_refusal(unmeasured[i], usual, DROVE_E_UNSUPPORTED, unmeasured[i]);
        for (size_t row = 0; row < COUNT(table_2); row++) {
            expect_refusal(unmeasured[i], usual, DROVE_E_UNSUPPORTED, table_2[row].either);
        }
    }
    expect_refusal("D8[i16]M8", sparse, DROVE_E_UNSUPPORTED, "D8[i16]M8");
    expect_refusal("D8M8", sparse, DROVE_E_ARG, "expected an index term for sparse data");
    wrong = usual;
    wrong.n_features = 0;
    expect_refusal("D8M8", wrong, DROVE_E_ARG, "n_features");
    wrong = usual;
    wrong.n_threads = 4097;
    expect_refusal("D8M8", wrong, DROVE_E_ARG, "n_threads");
    wrong = usual;
    wrong.density = NAN;
    expect_refusal("D8i8M8", wrong, DROVE_E_ARG, "density");

    drove_dmgc nothing = {0};
    drove_dmgc_prediction p;
    assert_int_equal(drove_dmgc_predict(&nothing, &usual, &p), DROVE_E_ARG);
}

TEST(test_setting)
{
    static const struct {
        const char *name, *value;
    } refused[] = {{"features", "0"},   {"features", "-1"},  {"features", "1e6"},
                   {"threads", "0"},    {"threads", "4097"}, {"threads", "all"},
                   {"sparse", "0"},     {"sparse", "0%"},    {"sparse", "101%"},
                   {"sparse", "1.5"},   {"sparse", "%"},     {"sparse", ""},
                   {"sparse", "3%%"},   {"sparse", "nan"},   {"sparse", "-3%"},
                   {"density", "0.03"}, {"features", ""},    {"sparse", "three%"}};
    drove_dmgc_setting s = drove_dmgc_setting_default();
    assert_int_equal(s.n_features, 65536);
    assert_int_equal(s.n_threads, 1);
    assert_true(s.density == 0.0);
    for (size_t i = 0; i < COUNT(refused); i++) {
        if (drove_dmgc_setting_set(&s, refused[i].name, refused[i].value) != DROVE_E_ARG) {
            fail_msg("%s = \"%s\" was accepted", refused[i].name, refused[i].value);
        }
    }
    assert_int_equal(s.n_features, 65536);
    assert_int_equal(s.n_threads, 1);
    assert_true(s.density == 0.0);
    assert_int_equal(drove_dmgc_setting_set(&s, "features", "1024"), DROVE_OK);
    assert_int_equal(drove_dmgc_setting_set(&s, "threads", "18"), DROVE_OK);
    assert_int_equal(drove_dmgc_setting_set(&s, "sparse", "3%"), DROVE_OK);
    assert_int_equal(s.n_features, 1024);
    assert_int_equal(s.n_threads, 18);
    expect_near(s.density, 0.03, bound);
    assert_int_equal(drove_dmgc_setting_set(&s, "sparse", "100%"), DROVE_OK);
    assert_true(s.density == 1.0);
    assert_int_equal(drove_dmgc_setting_set(&s, "sparse", "0.25"), DROVE_OK);
    assert_true(s.density == 0.25);
}
