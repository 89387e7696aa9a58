/* study/page/settings.c - see settings.h. */
#include "study/page/settings.h"

#include "base/mem.h"
#include "base/sort.h"
#include "study/expand.h"
#include "study/page/html.h"
#include "study/runs_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 2048 };

double drove__run_figure(const json_t *run, const char *name)
{
    return drove__html_get(json_object_get(run, "figures"), name);
}

bool drove__run_is(const json_t *run, const char *outcome)
{
    return strcmp(drove__html_word(run, "outcome"), outcome) == 0;
}

bool drove__run_is_virtual(const json_t *run)
{
    return drove__html_word(json_object_get(run, "options"), "machine")[0] != '\0';
}

const json_t *drove__settings_run(const drove_page_settings *s, size_t setting, size_t repetition)
{
    return json_array_get(s->runs, s->setting[setting].run[repetition]);
}

/* ---- what a run is a repetition of ---- */

static void name_run(const json_t *run, json_t *varied, bool several, char key[KEY_SIZE])
{
    const json_t *settings = json_object_get(run, "settings");
    size_t used = 0;
    const char *name;
    json_t *is;
    key[0] = '\0';

    /* a run by itself: its options that differ from those of others, but for the seed */
    if (!json_is_object(settings)) {
        json_object_foreach(varied, name, is)
        {
            char text[DROVE_CELL_SIZE];
            const json_t *value = json_object_get(json_object_get(run, "options"), name);
            if (strcmp(name, "seed") == 0 || value == NULL) continue;
            const char *cell = drove__cell_text(value, text);
            const int n = snprintf(key + used, KEY_SIZE - used, "%s%s=%s", used > 0 ? " " : "",
                                   name, cell[0] != '\0' ? cell : "none");
            if (n < 0 || (size_t)n >= KEY_SIZE - used) break;
            used += (size_t)n;
        }
        if (used == 0) snprintf(key, KEY_SIZE, "%s", drove__html_word(run, "run"));
        return;
    }

    /* a run of a sweep: its settings, with the sweep's name if there are several */
    if (several) used = (size_t)snprintf(key, KEY_SIZE, "%.200s: ", drove__html_word(run, "sweep"));
    drove__sweep_text(settings, key + used, KEY_SIZE - used);
}

/* ---- settings ---- */

static int by_number(const void *a, const void *b)
{
    const drove_page_setting *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static drove_status group(drove_page_settings *s)
{
    const size_t n = json_array_size(s->runs);
    const json_t *sweep = json_object_get(json_array_get(s->runs, 0), "sweep");
    bool several = false; /* sweeps */
    for (size_t i = 1; i < n; i++)
        several |= !json_equal(json_object_get(json_array_get(s->runs, i), "sweep"), sweep);
    char(*keys)[KEY_SIZE] = drove__alloc(n, sizeof *keys), key[KEY_SIZE];
    json_t *varied = drove__runs_varied(s->runs);
    s->setting = drove__alloc(n, sizeof *s->setting);
    drove_status status = keys != NULL && varied != NULL && s->setting != NULL
                              ? DROVE_OK
                              : drove__fail_nomem("settings", n * sizeof *keys);
    for (size_t i = 0; status == DROVE_OK && i < n; i++) {
        name_run(json_array_get(s->runs, i), varied, several, key);
        size_t at = 0;
        while (at < s->n && strcmp(keys[at], key) != 0) at++;
        drove_page_setting *setting = &s->setting[at];
        if (at == s->n) {
            snprintf(keys[at], KEY_SIZE, "%s", key);
            drove__html_copy(setting->name, sizeof setting->name, key);
            s->n++;
        }
        size_t *grown = drove__grow(setting->run, setting->n_runs + 1, sizeof *grown);
        if (grown == NULL) {
            status = drove__fail_nomem("runs", sizeof *grown);
            break;
        }
        setting->run = grown;
        grown[setting->n_runs++] = i;
    }
    json_decref(varied);
    drove__free(keys);
    return status;
}

/* Of one sweep: as it numbers them, whatever was run first or is still to come. */
static void number(drove_page_settings *s)
{
    const json_t *sweep = json_object_get(json_array_get(s->runs, 0), "sweep");
    bool is_one = json_is_string(sweep);
    for (size_t i = 0; i < s->n; i++) {
        const json_t *run = drove__settings_run(s, i, 0);
        const json_int_t given = json_integer_value(json_object_get(run, "setting"));
        s->setting[i].number = given > 0 ? (size_t)given : 0;
        is_one &= given > 0 && json_equal(json_object_get(run, "sweep"), sweep);
        for (size_t k = 0; k < i; k++) is_one &= s->setting[k].number != s->setting[i].number;
    }
    if (is_one) qsort(s->setting, s->n, sizeof *s->setting, by_number);
    for (size_t i = 0; i < s->n && !is_one; i++) s->setting[i].number = i + 1;
}

/* Of runs by themselves a setting with one run has its folder's name, too: the last part of the
 * path, or the whole path where another run's is called the same. */
static void name_folder(const drove_page_settings *s, drove_page_setting *x)
{
    const json_t *run = json_array_get(s->runs, x->run[0]);
    const char *path = drove__html_word(run, "run");
    const char *slash = strrchr(path, '/'), *folder = slash != NULL ? slash + 1 : path;
    char name[2 * DROVE_PLOT_TEXT];
    if (x->n_runs > 1 || json_is_string(json_object_get(run, "sweep"))) return;
    for (size_t i = 0; i < json_array_size(s->runs); i++) {
        const char *other = drove__html_word(json_array_get(s->runs, i), "run");
        const char *cut = strrchr(other, '/');
        if (i != x->run[0] && strcmp(cut != NULL ? cut + 1 : other, folder) == 0) folder = path;
    }
    drove__html_copy(x->label, sizeof x->label, folder);
    if (strcmp(x->name, path) == 0) snprintf(name, sizeof name, "%.150s", folder);
    else snprintf(name, sizeof name, "%.80s: %s", folder, x->name);
    drove__html_copy(x->name, sizeof x->name, name);
}

/* ---- what is known of a setting ---- */

const drove_page_metric drove__page_metrics[DROVE_PAGE_METRICS] = {
    {"test_loss", "loss"},
    {"test_metrics.accuracy", "accuracy"},
    {"test_metrics.balanced_accuracy", "balanced accuracy"},
    {"test_metrics.auc", "AUC"},
    {"test_metrics.average_precision", "average precision"},
    {"test_metrics.f1_macro", "F1 (mean)"},
    {"test_metrics.f1_micro", "micro-F1"},
    {"test_metrics.rmse", "RMSE"},
    {"test_metrics.mae", "MAE"},
    {"test_metrics.r2", "R\302\262"}};

static double metric_of(const json_t *run, const char *key)
{
    const double value = drove__html_get(json_object_get(run, "final"), key);
    return isnan(value) ? drove__run_figure(run, key) : value;
}

static drove_status median_of(const drove_page_settings *s, size_t setting, const char *figure,
                              double *out)
{
    const size_t n = s->setting[setting].n_runs;
    double *x = drove__alloc(n, sizeof *x);
    if (x == NULL) return drove__fail_nomem("figures", n * sizeof *x);
    for (size_t r = 0; r < n; r++) {
        const double value = drove__run_figure(drove__settings_run(s, setting, r), figure);
        x[r] = isnan(value) ? INFINITY : value;
    }
    drove__sort(x, n);
    *out = drove__quantile(x, n, 0.5);
    drove__free(x);
    return DROVE_OK;
}

static drove_status measure_held_out(const drove_page_settings *s, drove_page_setting *x)
{
    double *value = drove__alloc(x->n_runs, sizeof *value);
    if (value == NULL) return drove__fail_nomem("figures", x->n_runs * sizeof *value);
    for (size_t k = 0; k < DROVE_PAGE_METRICS; k++) {
        size_t n = 0;
        for (size_t r = 0; r < x->n_runs; r++) {
            value[n] = metric_of(json_array_get(s->runs, x->run[r]), drove__page_metrics[k].key);
            n += isfinite(value[n]);
        }
        drove__sort(value, n);
        x->held_out[k] = n > 0 ? drove__quantile(value, n, 0.5) : NAN;
    }
    drove__free(value);
    return DROVE_OK;
}

/* True if a is better: it meets the target sooner, or else ends with less loss. */
static bool is_better(const drove_page_setting *a, const drove_page_setting *b)
{
    if (a->target_s != b->target_s) return a->target_s < b->target_s;
    return a->loss < b->loss;
}

drove_status drove__settings_init(drove_page_settings *s, const json_t *runs)
{
    *s = (drove_page_settings){.runs = runs};
    DROVE_TRY(group(s));
    number(s);
    for (size_t i = 0; i < s->n; i++) {
        drove_page_setting *x = &s->setting[i];
        for (size_t r = 0; r < x->n_runs; r++) {
            const json_t *run = drove__settings_run(s, i, r);
            if (drove__run_is(run, "reached")) x->n_reached++;
            else if (drove__run_is(run, "crashed")) x->n_crashed++;
            else if (drove__run_is(run, "missed") || drove__run_is(run, "timed_out")) x->n_missed++;
            else x->n_other++;
        }
        s->has_target = s->has_target || x->n_reached > 0;
        DROVE_TRY(median_of(s, i, "target_s", &x->target_s));
        DROVE_TRY(median_of(s, i, "loss", &x->loss));
        DROVE_TRY(measure_held_out(s, x));
        drove__html_copy(x->label, sizeof x->label, x->name);
        if (s->n > 1) name_folder(s, x);
    }

    /* the best settings: by their numbers, and the very best by how good they are */
    s->n_best = s->n < DROVE_PAGE_BEST ? s->n : DROVE_PAGE_BEST;
    for (size_t i = 0; i < s->n; i++) {
        size_t n_better = 0;
        for (size_t k = 0; k < s->n; k++) {
            const bool is_equal = !is_better(&s->setting[k], &s->setting[i]) &&
                                  !is_better(&s->setting[i], &s->setting[k]);
            n_better += is_equal ? k < i : is_better(&s->setting[k], &s->setting[i]);
        }
        if (n_better < DROVE_PLOT_MOST_SERIES) s->shown[s->n_shown++] = i;
        if (n_better < DROVE_PAGE_BEST) s->best[n_better] = i;
    }
    return DROVE_OK;
}

void drove__settings_fini(drove_page_settings *s)
{
    for (size_t i = 0; i < s->n; i++) free(s->setting[i].run);
    drove__free(s->setting);
    *s = (drove_page_settings){.n = 0};
}

void drove__setting_label(const drove_page_settings *s, size_t setting, char *into, size_t size)
{
    char text[DROVE_PLOT_TEXT + 16];
    if (s->n == 1) snprintf(text, sizeof text, "%s", s->setting[setting].name);
    else
        snprintf(text, sizeof text, "%zu: %s", s->setting[setting].number,
                 s->setting[setting].label);
    drove__html_copy(into, size, text);
}
