/* Machine files: what they say, what they leave out, and where they are wrong. */
#include "plan/modelled.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

static drove_status parse(const char *text, drove_modelled *out)
{
    return drove__modelled_parse(text, strlen(text), "m.yaml", out);
}

TEST(keys_go_where_they_belong)
{
    static const char text[] = "name: big\nsource: a paper, section 5\nassumed: [jitter, line_ns]\n"
                               "sockets: 2\ncores: 8\nsmt: 2\nsmt_yield: 1.3\nspeed: 0.5\n"
                               "jitter: 0.1\nmemory_gb_s: 40\nbatch_us: 5\nexample_us: 2.5\n"
                               "copy_gb_s: measured\nupdate_gb_s: 3\nline_ns: 70\n"
                               "far_line_ns: 150\nwindow_ns: 60\nhand_over_us: 4\n"
                               "take_gb_s: 11\nrace_gb_s: 33\ndevices:\n"
                               "  - name: gpu\n    examples_per_s: 1e6\n    delay_us: 10\n"
                               "    transfer_gb_s: 12\n    memory_gib: 16\n"
                               "  - {name: other, examples_per_s: 5}\n";
    drove_modelled m;
    if (parse(text, &m) != DROVE_OK) fail_msg("%s", drove_error_text());
    assert_string_equal(m.name, "big");
    assert_string_equal(m.source, "a paper, section 5");
    assert_string_equal(m.assumed, "jitter, line_ns");
    assert_int_equal(m.sockets, 2);
    assert_int_equal(m.cores, 8);
    assert_int_equal(m.smt, 2);
    assert_true(m.smt_yield == 1.3 && m.speed == 0.5 && m.jitter == 0.1 && m.memory_gb_s == 40.0);
    assert_true(m.batch_us == 5.0 && m.example_us == 2.5 && m.update_gb_s == 3.0);
    assert_true(isnan(m.copy_gb_s));
    assert_true(m.line_ns == 70.0 && m.far_line_ns == 150.0 && m.window_ns == 60.0);
    assert_true(m.hand_over_us == 4.0 && m.take_gb_s == 11.0 && m.race_gb_s == 33.0);
    assert_int_equal(m.n_devices, 2);
    const drove_modelled_device *d = drove__modelled_device(&m, "gpu");
    assert_non_null(d);
    assert_true(d->examples_per_s == 1e6 && d->delay_us == 10.0);
    assert_true(d->transfer_gb_s == 12.0 && d->memory_gib == 16.0);
    assert_true(drove__modelled_device(&m, "other")->examples_per_s == 5.0);
    assert_null(drove__modelled_device(&m, "third"));
}

TEST(what_is_left_out_is_measured)
{
    drove_modelled m, here;
    assert_int_equal(parse("name: small\nsockets: 1\ncores: 3\n", &m), DROVE_OK);
    drove__modelled_here(1, 3, 1, &here);
    for (int i = 0; i < 2; i++, m = here) {
        assert_int_equal(m.smt, 1);
        assert_true(m.speed == 1.0 && m.memory_gb_s == 0.0);
        assert_true(i == 0 ? m.jitter == 0.0 : isnan(m.jitter)); /* a file says it if it wants it */
        assert_true(isnan(m.batch_us) && isnan(m.example_us) && isnan(m.copy_gb_s));
        assert_true(isnan(m.update_gb_s) && isnan(m.line_ns) && isnan(m.hand_over_us));
        assert_true(i == 0 ? m.take_gb_s == 0.0 : isnan(m.take_gb_s)); /* the same */
        assert_true(m.race_gb_s == 0.0);
    }
    assert_string_equal(here.name, "here");
}

TEST(mistakes_have_their_place)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "m.yaml:1:1: expected a machine, found nothing"},
        {"name: a\nsockets: 1\n", "m.yaml:1:1: expected a line \"cores: ...\", found none"},
        {"name: a\nsokets: 1\n",
         "m.yaml:2:1: expected a key of a machine file, found \"sokets\"; did you mean sockets?"},
        {"name: a\nsockets: 1\ncores: 2\ncores: 3\n",
         "m.yaml:4:1: expected each key once, found \"cores\" again (first on line 3)"},
        {"name: a\nsockets: 0\ncores: 2\n", "m.yaml:2:10: sockets: expected "},
        {"name: a\nsockets: 1\ncores: 4096\nsmt: 2\n",
         "m.yaml:1:1: expected at most 4096 threads (sockets x cores x smt), found 8192"},
        {"name: a\nsockets: 1\ncores: 1\nline_ns: 1e10\n", "m.yaml:4:10: line_ns: expected "},
        {"name: a\nsockets: 1\ncores: many\n", "m.yaml:3:8: cores: expected "},
        {"name: a\nsockets: 1\ncores: 1\njitter: 1\n", "m.yaml:4:9: jitter: expected "},
        {"name: a\nsockets: 1\ncores: 1\nspeed: measured\n", "m.yaml:4:8: speed: expected "},
        {"name: a\nsockets: 1\ncores: 1\nline_ns: x\n", "m.yaml:4:10: line_ns: expected measured"},
        {"name: a\nsockets: 1\ncores: [1]\n", "m.yaml:3:8: expected one value for \"cores\""},
        {"name: a\nsockets: 1\ncores: 1\nassumed: [speeed]\n",
         "m.yaml:4:11: expected a key of this file, found \"speeed\"; did you mean speed?"},
        {"name: a\nsockets: 1\ncores: 1\nbatch_us: 3\n",
         "m.yaml:1:1: expected both batch_us and example_us, or neither, found one"},
        {"name: a\nsockets: 1\ncores: 1\ndevices: gpu\n",
         "m.yaml:4:10: expected a list of devices"},
        {"name: a\nsockets: 1\ncores: 1\ndevices:\n  - name: g\n",
         "m.yaml:5:1: expected a line \"examples_per_s: ...\", found none"},
        {"name: a\nsockets: 1\ncores: 1\ndevices:\n  - {name: g, examples_per_s: 1}\n"
         "  - {name: g, examples_per_s: 1}\n",
         "m.yaml:6:5: expected each device once, found \"g\" again"},
        {"name: a\nsockets: 1\ncores: 1\nname\n", "m.yaml:"},
        {"- a\n", "m.yaml:1:1: expected "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drove_modelled m;
        assert_int_equal(parse(cases[i].text, &m), DROVE_E_DATA);
        if (strncmp(drove_error_text(), cases[i].error, strlen(cases[i].error)) != 0)
            fail_msg("%zu: expected \"%s\", found \"%s\"", i, cases[i].error, drove_error_text());
    }
}

TEST(no_file_is_an_error)
{
    drove_modelled m;
    assert_int_equal(drove__modelled_read("no/such.yaml", &m), DROVE_E_FILE);
}
