/* Constants of the throughput model as a file: what is written is read back, what is malformed is
 * refused in one line, and predictions use them. */
#include "engine/linear/throughput.h"
#include "support/files.h"
#include "support/test.h"

#include "base/cpu.h"
#include "base/topo.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double digits = 1e-5; /* relative: six digits are written */

static void expect_near(double found, double expected)
{
    if (!(fabs(found - expected) <= digits * fabs(expected)))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

static unsigned processors(void)
{
    drove_topo *topo;
    drove_topo_facts facts;
    assert_int_equal(drove__topo_create(NULL, &topo), DROVE_OK);
    drove__topo_facts(topo, &facts);
    drove__topo_destroy(topo);
    return facts.n_pus;
}

static drove_throughput made_up(void)
{
    drove_throughput c = {
        .machine = "Some Processor", .date = "2024-02-29", .version = "0.1", .n_cores = 12};
    for (int s = 0; s < 2; s++) {
        for (unsigned i = 0; i < DROVE_THROUGHPUT_ROWS; i++)
            c.row[s][i] = (drove_throughput_row){.gnps = 1.5 + i + 10 * s,
                                                 .step_ns = 20.0 * i,
                                                 .spill_ns = 0.01 * i,
                                                 .cache_bytes = (1 << 17) * i,
                                                 .parallel = {0.25 + s, 2960.0 + s + 5 * i,
                                                              0.98 - s - 0.01 * i, -INFINITY}};
    }
    return c;
}

static void save(const drove_throughput *c, const char *path)
{
    if (drove__throughput_save(c, path) != DROVE_OK) fail_msg("%s", drove_error_text());
}

static drove_throughput *open_file(const char *which)
{
    drove_throughput *c;
    if (drove_throughput_open(which, &c) != DROVE_OK) fail_msg("%s", drove_error_text());
    return c;
}

TEST(test_round_trip)
{
    drove_throughput c = made_up();
    c.row[1][4] = (drove_throughput_row){0}; /* not known */
    save(&c, "deep/er/constants.json");
    drove_throughput *back = open_file("deep/er/constants.json");
    assert_string_equal(back->machine, c.machine);
    assert_string_equal(back->date, c.date);
    assert_string_equal(back->version, c.version);
    assert_int_equal(back->n_cores, 12);
    assert_string_equal(back->source, "Some Processor, 12 processors, measured 2024-02-29");
    for (int s = 0; s < 2; s++) {
        for (unsigned i = 0; i < DROVE_THROUGHPUT_ROWS; i++) {
            const drove_throughput_row *found = &back->row[s][i], *want = &c.row[s][i];
            expect_near(found->gnps, want->gnps);
            expect_near(found->step_ns, want->step_ns);
            expect_near(found->spill_ns, want->spill_ns);
            expect_near(found->cache_bytes, want->cache_bytes);
            expect_near(found->parallel.slope, want->parallel.slope);
            expect_near(found->parallel.zero_features, want->parallel.zero_features);
            expect_near(found->parallel.most, want->parallel.most);
        }
    }
    drove_throughput_close(back);
}

/* By hand: D8M8 is the last row, model of 4 MiB, cache of 1 MiB, two threads. */
TEST(test_prediction)
{
    drove_throughput c = made_up();
    drove_dmgc s;
    drove_dmgc_prediction p;
    drove_dmgc_setting setting = {.n_features = 1 << 22, .n_threads = 2, .constants = &c};
    assert_int_equal(drove_dmgc_parse("D8M8", &s), DROVE_OK);
    assert_int_equal(drove_dmgc_predict(&s, &setting, &p), DROVE_OK);
    double t1 = 1.0 / (1.0 / 9.5 + 160.0 / 4194304.0 + 0.08 * 0.75);
    expect_near(p.base_gnps, t1);
    expect_near(p.parallel_fraction, 0.9);
    expect_near(p.gnps, t1 / (0.1 + 0.45));
    assert_true(p.is_bandwidth_bound);

    setting.n_features = 100; /* p = 0.25 ln(100 / 3000), below 0 */
    assert_int_equal(drove_dmgc_predict(&s, &setting, &p), DROVE_OK);
    double fraction = 0.25 * log(100.0 / 3000.0);
    t1 = 1.0 / (1.0 / 9.5 + 160.0 / 100.0);
    expect_near(p.parallel_fraction, fraction);
    expect_near(p.gnps, t1 / (1.0 - fraction / 2.0));
    assert_true(p.gnps < p.base_gnps);

    setting =
        (drove_dmgc_setting){.n_features = 1000, .n_threads = 1, .density = 0.05, .constants = &c};
    assert_int_equal(drove_dmgc_parse("D8i8M8", &s), DROVE_OK);
    assert_int_equal(drove_dmgc_predict(&s, &setting, &p), DROVE_OK);
    expect_near(p.gnps, 1.0 / (1.0 / 19.5 + 160.0 / 50.0)); /* a step has 50 numbers */

    c.row[1][8].gnps = 0.0;
    assert_int_equal(drove_dmgc_predict(&s, &setting, &p), DROVE_E_UNSUPPORTED);
}

/* "auto": the usual file, if it is of this machine. */
TEST(test_auto)
{
    char here[4096], path[8192];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(setenv("XDG_CONFIG_HOME", here, 1), 0);
    snprintf(path, sizeof path, "%s/drove/throughput.json", here);
    remove(path);
    drove_throughput *c = open_file(NULL);
    assert_string_equal(c->source, drove__throughput_paper.source);
    drove_throughput_close(c);

    drove_throughput mine = made_up();
    save(&mine, path); /* of another machine */
    c = open_file("auto");
    assert_string_equal(c->source, drove__throughput_paper.source);
    drove_throughput_close(c);

    snprintf(mine.machine, sizeof mine.machine, "%s", drove__cpu_model());
    mine.n_cores = processors();
    save(&mine, path);
    c = open_file("auto");
    assert_string_equal(c->machine, drove__cpu_model());
    expect_near(c->row[0][0].gnps, 1.5);
    drove_throughput_close(c);
    c = open_file("paper");
    expect_near(c->row[0][8].gnps, 3.339);
    drove_throughput_close(c);

    mine.n_cores++; /* the same processor, but more of it */
    save(&mine, path);
    c = open_file("");
    assert_string_equal(c->source, drove__throughput_paper.source);
    drove_throughput_close(c);
    remove(path);
}

/* The good file with one text in place of another must be refused with this in the message. */
static void expect_refused(const char *good, const char *from, const char *to, const char *says)
{
    char text[16384];
    const char *at = strstr(good, from);
    drove_throughput *c = (drove_throughput *)&text;
    if (at == NULL) fail_msg("no \"%s\" in the file", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    write_text("bad.json", text);
    drove_status status = drove_throughput_open("bad.json", &c);
    assert_int_equal(status, DROVE_E_DATA);
    assert_null(c);
    const char *error = drove_error_text();
    if (strstr(error, "bad.json: ") != error || strstr(error, says) == NULL ||
        strchr(error, '\n') != NULL)
        fail_msg("expected \"bad.json: ... %s\", found \"%s\"", says, error);
}

TEST(test_malformed)
{
    char good[16384];
    const drove_throughput c = made_up();
    save(&c, "good.json");
    FILE *f = fopen("good.json", "r");
    assert_non_null(f);
    good[fread(good, 1, sizeof good - 1, f)] = '\0';
    fclose(f);
    expect_refused(good, "\"throughput\": 2", "\"throughput\": 3", "throughput: expected");
    expect_refused(good, "\"throughput\": 2", "\"throughput\": \"2\"", "found none");
    expect_refused(good, "\"throughput\": 2", "\"throughput\": 1", "calibrate anew");
    expect_refused(good, "\"throughput\": 2,", "", "throughput");
    expect_refused(good, "Some Processor\"", "Some Processor\", \"machine\": \"\"", "line 3");
    expect_refused(good, "\"Some Processor\"", "7", "machine: expected a short text");
    expect_refused(good, "\"n_cores\": 12", "\"n_cores\": 0", "n_cores: expected");
    expect_refused(good, "\"most\": 0.98", "\"most\": 1.5",
                   "rows[0].dense.parallel.most: expected");
    expect_refused(good, "\"slope\": 1.25", "\"slope\": -1",
                   "rows[0].sparse.parallel.slope: expected");
    expect_refused(good, "\"sparse\": {", "\"sparse\": 1, \"x\": {", "rows[0].sparse: expected");
    expect_refused(good, "\"parallel\": {", "\"parallel\": 1, \"x\": {",
                   "rows[0].dense.parallel: expected");
    expect_refused(good, "\"cache_bytes\": 0.0", "\"cache_bytes\": -1",
                   "rows[0].dense.cache_bytes: expected");
    expect_refused(good, "\"rows\": [", "\"rows\": 3, \"x\": [", "rows: expected an array");
    expect_refused(good, "D32f[i32]M8\"", "D3M5\"", "rows[0].signature: expected one of");
    expect_refused(good, "\"gnps\": 1.5", "\"gnps\": 0", "rows[0].dense.gnps: expected");
    expect_refused(good, "\"gnps\": 1.5", "\"gnps\": null", "rows[0].dense.gnps: expected");
    expect_refused(good, "}", "", "expected JSON");
    expect_refused(good, good, "[]", "expected an object");
    expect_refused(good, good, "", "expected JSON");
}

TEST(test_missing)
{
    drove_throughput *c;
    assert_int_equal(drove_throughput_open("no/such.json", &c), DROVE_E_FILE);
    assert_null(c);
    const drove_throughput good = made_up();
    assert_int_not_equal(drove__throughput_save(&good, "/proc/no/such.json"), DROVE_OK);
}
