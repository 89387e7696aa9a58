/* Measured throughput: every signature with kernels runs, by every strategy that can, and the
 * figures belong together.  How large they are is not tested. */
#include "bench/program.h"
#include "support/test.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const double SECONDS = 0.004; /* one window */

static drove_measure_options quick(void)
{
    drove_measure_options o = drove_measure_options_default();
    o.seconds = SECONDS;
    o.n_bytes = 1 << 18;
    return o;
}

static drove_status measure(const char *text, const drove_dmgc_setting *setting,
                            const drove_measure_options *o, drove_measurement *out)
{
    drove_dmgc s;
    if (drove_dmgc_parse(text, &s) != DROVE_OK) fail_msg("%s", drove_error_text());
    return drove_dmgc_measure(&s, setting, o, out);
}

static void expect_measured(const char *text, const drove_dmgc_setting *setting,
                            const drove_measure_options *o, double bytes)
{
    drove_measurement m;
    if (measure(text, setting, o, &m) != DROVE_OK) fail_msg("%s: %s", text, drove_error_text());
    double n = setting->density > 0.0 ? round(setting->density * (double)setting->n_features)
                                      : (double)setting->n_features;
    assert_true(m.gnps > 0.0 && m.gnps_median > 0.0 && isfinite(m.gnps));
    assert_true(m.read_gb_per_s > 0.0 && isfinite(m.read_gb_per_s));
    assert_true(m.bytes_per_number == bytes);
    assert_true(fabs(m.gb_per_s - m.gnps * bytes) <= 1e-9 * m.gb_per_s);
    assert_true(fabs(m.steps_per_s * n * (double)o->batch - m.gnps * 1e9) <= 1e-6 * m.gnps * 1e9);
    assert_true(m.n_windows >= 1 && m.n_undisturbed <= m.n_windows);
    assert_true(m.n_bytes >= o->n_bytes / 2 && m.n_bytes <= 2 * o->n_bytes);
}

TEST(test_signatures)
{
    static const char *const d[] = {"D8", "D16", "D32f"}, *const m[] = {"M8", "M16", "M32f"};
    static const unsigned bytes[] = {1, 2, 4}, index[] = {8, 16, 32};
    const drove_measure_options o = quick();
    drove_dmgc_setting setting = drove_dmgc_setting_default();
    setting.n_features = 500;
    char text[DROVE_DMGC_TEXT_SIZE];
    for (int i = 0; i < 9; i++) {
        setting.n_threads = 1 + (unsigned)i % 2;
        setting.density = 0.0;
        snprintf(text, sizeof text, "%s%s", d[i / 3], m[i % 3]);
        expect_measured(text, &setting, &o, bytes[i / 3]);
        setting.density = 0.03;
        snprintf(text, sizeof text, "%s[i%u]%s", d[i / 3], index[i % 3], m[i % 3]);
        expect_measured(text, &setting, &o, bytes[i / 3] + index[i % 3] / 8);
    }
}

TEST(test_options)
{
    static const char *const strategies[] = {"hogwild", "replicas:core?period=4", "replicas:node"};
    static const char *const roundings[] = {"nearest", "mt19937", "xorshift", "shared?bits=256"};
    drove_dmgc_setting setting = drove_dmgc_setting_default();
    setting.n_features = 300;
    for (int i = 0; i < 4; i++) {
        drove_measure_options o = quick();
        setting.n_threads = 1 + (unsigned)i;
        o.strategy = strategies[i % 3];
        o.rounding = roundings[i];
        o.batch = 1 + (uint64_t)i * 40;
        o.prefetch = i % 2 == 0 ? "on" : "hardware";
        o.isa = i % 2 == 0 ? "ref" : NULL;
        expect_measured("D8M8", &setting, &o, 1);
    }
}

/* One feature, a row longer than all the bytes asked for. */
TEST(test_extremes)
{
    drove_measure_options o = quick();
    drove_measurement m;
    drove_dmgc_setting setting = drove_dmgc_setting_default();
    setting.n_features = 1;
    assert_int_equal(measure("D16M16", &setting, &o, &m), DROVE_OK);
    /* A step of one feature is all but the reading of it. */
    assert_true(m.read_gb_per_s > 4 * m.gb_per_s);
    setting.n_features = 1000000;
    o.n_bytes = 1;
    assert_int_equal(measure("D8M32f", &setting, &o, &m), DROVE_OK);
    assert_true(m.n_examples >= 2);
    setting.density = 1e-9;
    assert_int_equal(measure("D8i8M8", &setting, &o, &m), DROVE_OK);
}

static void expect_refused(const char *text, const drove_dmgc_setting *setting,
                           const drove_measure_options *o, drove_status expected)
{
    drove_measurement m = {.gnps = 77.0};
    drove_status status = measure(text, setting, o, &m);
    if (status != expected)
        fail_msg("%s: expected %d, found %d: %s", text, expected, status, drove_error_text());
    assert_true(m.gnps == 77.0); /* untouched */
    assert_null(strchr(drove_error_text(), '\n'));
}

TEST(test_refusals)
{
    drove_dmgc_setting setting = drove_dmgc_setting_default();
    drove_measure_options o = quick();
    expect_refused("D3M5", &setting, &o, DROVE_E_UNSUPPORTED);
    expect_refused("D8M8C32f", &setting, &o, DROVE_E_UNSUPPORTED);
    o.strategy = "mutex";
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    o.strategy = "hogwilt";
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    o = quick();
    o.rounding = "up";
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    o = quick();
    o.isa = "mmx";
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    o = quick();
    o.batch = 0;
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    o = quick();
    o.seconds = NAN;
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    o = quick();
    o.prefetch = "none";
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    o = quick();
    setting.n_features = 1000000000000000; /* four examples are more than any memory */
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
    setting.n_features = 0;
    expect_refused("D8M8", &setting, &o, DROVE_E_ARG);
}

TEST(test_words)
{
    drove_measure_options o = drove_measure_options_default();
    assert_int_equal(drove_measure_options_set(&o, "bytes", "3MiB"), DROVE_OK);
    assert_int_equal(o.n_bytes, 3 << 20);
    assert_int_equal(drove_measure_options_set(&o, "seconds", "0.25"), DROVE_OK);
    assert_true(o.seconds == 0.25);
    assert_int_equal(drove_measure_options_set(&o, "batch", "16"), DROVE_OK);
    assert_int_equal(o.batch, 16);
    assert_int_equal(drove_measure_options_set(&o, "batch", "0"), DROVE_E_ARG);
    assert_int_equal(drove_measure_options_set(&o, "bytes", "3MB"), DROVE_E_ARG);
    assert_int_equal(drove_measure_options_set(&o, "byte", "3"), DROVE_E_ARG);
    assert_int_equal(o.batch, 16);
}
