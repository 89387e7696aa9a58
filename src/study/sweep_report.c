/* study/sweep_report.c - what a sweep has shown: its runs, the best of each group, pairs. */
#include "study/sweep_state.h"

#include "base/alive.h"
#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/spec.h"
#include "study/sweep_results.h"
#include "study/sweep_text.h"

#include "config/config.h"
#include "config/words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 512, MOST_FIGURES = 256, MOST_GROUP = 8, SEED = 1 };

/* ---- reports ---- */

/* A report of this object, taken, and of the text that `print` writes. */
static drove_status make_report(json_t *object, void (*print)(const json_t *object, FILE *stream),
                                drove_sweep_report **out)
{
    size_t size = 0;
    drove_sweep_report *report = drove__alloc(1, sizeof *report);
    *out = NULL;
    FILE *stream = report != NULL ? open_memstream(&report->text, &size) : NULL;
    if (report != NULL)
        report->json = drove__json_dump(object, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    bool is_whole = stream != NULL && report->json != NULL;
    if (is_whole) print(object, stream);
    if (stream != NULL) {
        is_whole = is_whole && ferror(stream) == 0;
        is_whole = fclose(stream) == 0 && is_whole;
    }
    json_decref(object);
    if (is_whole) {
        *out = report;
        return DROVE_OK;
    }
    drove_sweep_report_destroy(report);
    return drove__fail_nomem("report", size);
}

void drove_sweep_report_destroy(drove_sweep_report *report)
{
    if (report == NULL) return;
    DROVE_END(report, "a report");
    free(report->json);
    free(report->text);
    drove__alive_free(report, drove__free);
}

int drove_sweep_interrupted(const drove_sweep_report *report)
{
    DROVE_ALIVE(report, "a report");
    if (report == NULL) return 0;
    return report->signal;
}

const char *drove_sweep_report_json(const drove_sweep_report *report)
{
    DROVE_ALIVE(report, "a report");
    if (report == NULL) return NULL;
    return report->json;
}

drove_status drove_sweep_report_print(const drove_sweep_report *report, FILE *stream)
{
    DROVE_ALIVE(report, "a report");
    DROVE_GIVEN(report);
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    if (fputs(report->text, stream) >= 0) return DROVE_OK;
    return drove__fail_errno(DROVE_E_IO, errno, "cannot write the report");
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void set_setting(json_t **object, const drove_sweep_state *s, size_t setting)
{
    drove__json_set(object, "setting", json_integer((json_int_t)setting + 1));
    drove__json_set(object, "settings", json_deep_copy(drove__sweep_setting(s, setting)));
}

/* ---- the runs ---- */

drove_status drove_sweep_list(const char *study, drove_sweep_report **out)
{
    DROVE_GIVEN(study);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    drove_sweep_state s;
    *out = NULL;
    drove_status status = drove__sweep_open(study, &s);
    if (status == DROVE_OK) {
        json_t *all = json_object(), *runs = json_array();
        for (size_t i = 0; i < drove__sweep_count(&s.runs); i++) {
            size_t setting;
            uint64_t seed;
            drove__sweep_run_at(&s.runs, i, &setting, &seed);
            drove__json_add(&runs, json_pack("{s:I s:I}", "setting", (json_int_t)setting + 1,
                                             "seed", (json_int_t)seed));
        }
        drove__json_set(&all, "options", json_incref(json_object_get(s.study.document, "options")));
        drove__json_set(&all, "settings", json_incref(s.runs.settings));
        drove__json_set(&all, "runs", runs);
        status = make_report(all, drove__sweep_print_list, out);
    }
    drove__sweep_close(&s);
    return status;
}

/* ---- figures ---- */

static drove_status open_results(const char *study, const char *folder, const char *figure,
                                 drove_sweep_state *s)
{
    DROVE_TRY(drove__sweep_open(study, s));
    DROVE_TRY(drove__sweep_claim(s, folder, false));
    DROVE_TRY(drove__sweep_read(s, folder, NULL, NULL));

    /* some record has the figure */
    size_t i, n = 0;
    const json_t *record;
    const char *names[MOST_FIGURES];
    const json_t *most = NULL;
    json_array_foreach(s->results, i, record)
    {
        const json_t *figures = json_object_get(record, "figures");
        if (json_object_get(figures, figure) != NULL) return DROVE_OK;
        if (json_object_size(figures) > json_object_size(most)) most = figures;
    }

    /* none has it: the error names the figures that exist, if any */
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)most, name, value) if (n < MOST_FIGURES) names[n++] = name;
    if (n == 0) return drove__fail(DROVE_E_DATA, "expected results of runs, found none yet");
    return drove__fail_unknown("figure", figure, names, n);
}

/* ---- the best ---- */

typedef struct grouping {
    const char *name[MOST_GROUP]; /* of options */
    size_t n;
    char text[256];
} grouping;

static drove_status parse_group(const char *list, grouping *g)
{
    if (strlen(list) >= sizeof g->text)
        return drove__fail(DROVE_E_ARG, "--group: expected names of options, found \"%.40s...\"",
                           list);
    strcpy(g->text, list);
    for (char *rest = g->text, *part; (part = strsep(&rest, ",")) != NULL;) {
        if (drove__option_check(part, NULL) != DROVE_OK)
            return drove__fail_in(DROVE_E_ARG, "--group");
        if (g->n == MOST_GROUP)
            return drove__fail(DROVE_E_ARG, "--group: expected at most %d options, found \"%s\"",
                               MOST_GROUP, list);
        g->name[g->n++] = drove__sweep_option(part);
    }
    return DROVE_OK;
}

/* Numbers the groups by their first settings.  A key of *keys has the options of the group that a
 * setting has, itself or fixed. */
static drove_status number_groups(const drove_sweep_state *s, const grouping *g,
                                  drove_sweep_row *row, json_t **keys)
{
    for (size_t i = 0; i < s->runs.n_settings; i++) {
        json_t *key = json_object();
        size_t at = 0;
        for (size_t k = 0; k < g->n; k++) {
            json_t *value = json_object_get(drove__sweep_setting(s, i), g->name[k]);
            if (value == NULL)
                value = json_object_get(json_object_get(s->study.document, "options"), g->name[k]);
            if (value != NULL) drove__json_set(&key, g->name[k], json_incref(value));
        }
        while (at < json_array_size(*keys) && !json_equal(json_array_get(*keys, at), key)) at++;
        row[i].group = at;
        if (at == json_array_size(*keys)) drove__json_add(keys, key);
        else json_decref(key);
        if (*keys == NULL) return drove__fail_nomem("groups", sizeof *row);
    }
    return DROVE_OK;
}

/* *out: array of the groups. */
static drove_status find_all_best(const drove_sweep_state *s, const grouping *g, const char *figure,
                                  json_t **out)
{
    const size_t n = s->runs.n_settings;
    drove_sweep_row *row = drove__alloc(n, sizeof *row);
    json_t *keys = json_array(), *all = json_array();
    drove_status status = row != NULL ? DROVE_OK : drove__fail_nomem("settings", n * sizeof *row);
    for (size_t i = 0; status == DROVE_OK && i < n; i++)
        status = drove__sweep_row(s, i, figure, &row[i]);
    if (status == DROVE_OK) status = number_groups(s, g, row, &keys);
    for (size_t k = 0; status == DROVE_OK && k < json_array_size(keys); k++) {
        drove_sweep_fastest best;
        json_t *group = json_object();
        drove__sweep_find_best(row, n, k, &best);
        drove__json_set(&group, "group", json_deep_copy(json_array_get(keys, k)));
        drove__json_set(&group, "n_settings", json_integer((json_int_t)best.n_settings));
        drove__json_set(&group, "n_allowed", json_integer((json_int_t)best.n_allowed));
        drove__json_set(&group, "n_crashed", json_integer((json_int_t)best.n_crashed));
        if (best.best != SIZE_MAX) {
            set_setting(&group, s, best.best);
            drove__json_set(&group, "median", real(row[best.best].median_s));
            drove__json_set(&group, "n_runs", json_integer((json_int_t)row[best.best].n_runs));
            drove__json_set(&group, "n_near", json_integer((json_int_t)best.n_near));
            drove__json_set(&group, "slowest_near", real(best.slowest_s));
        }
        drove__json_add(&all, group);
    }
    json_decref(keys);
    drove__free(row);
    *out = all;
    return status;
}

drove_status drove_sweep_best(const char *study, const char *folder, const char *group,
                              const char *figure, drove_sweep_report **out)
{
    DROVE_GIVEN(study);
    DROVE_GIVEN(folder);
    DROVE_GIVEN(group);
    DROVE_GIVEN(figure);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    drove_sweep_state s = {0};
    grouping g = {.n = 0};
    json_t *all = json_object(), *names = json_array(), *best = NULL;
    *out = NULL;
    drove_status status = parse_group(group, &g);
    if (status == DROVE_OK) status = open_results(study, folder, figure, &s);
    if (status == DROVE_OK) status = find_all_best(&s, &g, figure, &best);
    for (size_t i = 0; i < g.n; i++) drove__json_add(&names, json_string_nocheck(g.name[i]));
    drove__json_set(&all, "figure", json_string_nocheck(figure));
    drove__json_set(&all, "group_by", names);
    drove__json_set(&all, "best", best != NULL ? best : json_null());
    if (status == DROVE_OK) status = make_report(all, drove__sweep_print_best, out);
    else json_decref(all);
    drove__sweep_close(&s);
    return status;
}

/* ---- at the end of a sweep ---- */

drove_status drove__sweep_summarise(const drove_sweep_state *s, const char *folder, int signal,
                                    drove_sweep_report **out)
{
    size_t i, n_done = 0;
    const json_t *record;
    const grouping whole = {.n = 0};
    json_t *all = json_object(), *outcomes = json_object(), *best = NULL;
    json_array_foreach(s->results, i, record)
    {
        const char *outcome = json_string_value(json_object_get(record, "outcome"));
        if (outcome == NULL) continue;
        const json_int_t before = json_integer_value(json_object_get(outcomes, outcome));
        drove__json_set(&outcomes, outcome, json_integer(before + 1));
        n_done++;
    }
    drove_status status = find_all_best(s, &whole, "target_s", &best);
    drove__json_set(&all, "runs", json_integer((json_int_t)drove__sweep_count(&s->runs)));
    drove__json_set(&all, "done", json_integer((json_int_t)n_done));
    drove__json_set(&all, "outcomes", outcomes);
    drove__json_set(&all, "figure", json_string("target_s"));
    drove__json_set(&all, "best", best);
    drove__json_set(&all, "out", json_string_nocheck(folder));
    drove__json_set(&all, "signal", json_integer(signal));
    if (status != DROVE_OK) {
        json_decref(all);
        return status;
    }
    status = make_report(all, drove__sweep_print_summary, out);
    if (status == DROVE_OK) (*out)->signal = signal;
    return status;
}

/* ---- pairs ---- */

/* True if every word "name=value" of text is one of the setting. */
static bool has_words(const json_t *setting, const char *text, size_t n)
{
    char copy[TEXT_SIZE];
    if (n == 0 || n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL;) {
        char *equals = strchr(word, '=');
        if (*word == '\0') continue;
        if (equals == NULL) return false;
        *equals = '\0';
        const char *name = drove__sweep_option(word);
        const char *value = name != NULL ? json_string_value(json_object_get(setting, name)) : NULL;
        if (value == NULL || strcmp(value, equals + 1) != 0) return false;
    }
    return true;
}

/* How many settings are meant by text[n]; the last of them in *out. */
static size_t count_meant(const drove_sweep_state *s, const char *text, size_t n, size_t *out)
{
    uint64_t number;
    const char *next;
    size_t n_meant = 0;
    if (drove__scan_u64(text, text + n, &next, &number) && next == text + n) {
        if (number < 1 || number > s->runs.n_settings) return 0;
        *out = (size_t)number - 1;
        return 1;
    }
    for (size_t i = 0; i < s->runs.n_settings; i++) {
        if (!has_words(drove__sweep_setting(s, i), text, n)) continue;
        *out = i;
        n_meant++;
    }
    return n_meant;
}

/* Values may have commas of their own: the one that parts two settings is taken. */
static drove_status parse_pair(const drove_sweep_state *s, const char *pair, size_t *a, size_t *b)
{
    size_t n_a = 0, n_b = 0;
    for (const char *comma = pair; (comma = strchr(comma, ',')) != NULL; comma++) {
        n_a = count_meant(s, pair, (size_t)(comma - pair), a);
        n_b = count_meant(s, comma + 1, strlen(comma + 1), b);
        if (n_a == 1 && n_b == 1) return DROVE_OK;
    }
    if (strchr(pair, ',') == NULL)
        return drove__fail(DROVE_E_ARG, "--pair: expected two settings, A,B, found \"%.80s\"",
                           pair);
    return drove__fail(DROVE_E_ARG,
                       "--pair: expected one setting on each side of the comma, found %zu and %zu "
                       "in \"%.80s\" (drove sweep --list numbers them)",
                       n_a, n_b, pair);
}

static drove_status compare_pair(const drove_sweep_state *s, size_t a, size_t b, const char *figure,
                                 json_t **all)
{
    size_t n = 0;
    drove_interval found = {0};
    json_t *ratios = json_array();
    double *x = drove__alloc(s->runs.n_seeds, sizeof *x);
    if (x == NULL) {
        json_decref(ratios);
        return drove__fail_nomem("figures", s->runs.n_seeds * sizeof *x);
    }
    for (size_t r = 0; r < s->runs.n_seeds; r++) {
        const double ratio = drove__sweep_figure(drove__sweep_find(s, a, r), figure) /
                             drove__sweep_figure(drove__sweep_find(s, b, r), figure);
        if (!isfinite(ratio)) continue;
        x[n++] = ratio;
        drove__json_add(&ratios, json_pack("{s:O s:f}", "seed", json_array_get(s->runs.seeds, r),
                                           "ratio", ratio));
    }
    drove_status status =
        n > 0 ? drove__bootstrap_median(x, n, SEED, &found)
              : drove__fail(DROVE_E_DATA, "--pair: expected a seed with %s of both, found none",
                            figure);
    drove__free(x);
    drove__json_set(all, "ratios", ratios);
    drove__json_set(all, "n_without", json_integer((json_int_t)(s->runs.n_seeds - n)));
    drove__json_set(all, "median", json_real(found.median));
    drove__json_set(all, "low", json_real(found.low));
    drove__json_set(all, "high", json_real(found.high));
    return status;
}

drove_status drove_sweep_pair(const char *study, const char *folder, const char *pair,
                              const char *figure, drove_sweep_report **out)
{
    DROVE_GIVEN(study);
    DROVE_GIVEN(folder);
    DROVE_GIVEN(pair);
    DROVE_GIVEN(figure);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    size_t side[2] = {0};
    drove_sweep_state s = {0};
    json_t *all = json_object();
    *out = NULL;
    drove_status status = open_results(study, folder, figure, &s);
    if (status != DROVE_OK) goto fail;
    if ((status = parse_pair(&s, pair, &side[0], &side[1])) != DROVE_OK) goto fail;
    drove__json_set(&all, "figure", json_string_nocheck(figure));
    for (size_t i = 0; i < 2; i++) {
        json_t *setting = json_object();
        set_setting(&setting, &s, side[i]);
        drove__json_set(&all, i == 0 ? "a" : "b", setting);
    }
    if ((status = compare_pair(&s, side[0], side[1], figure, &all)) != DROVE_OK) goto fail;
    status = make_report(all, drove__sweep_print_pair, out);
    all = NULL;
fail:
    json_decref(all);
    drove__sweep_close(&s);
    return status;
}
