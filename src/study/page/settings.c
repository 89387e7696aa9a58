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

/* ---- what is known of a setting ---- */

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
                 s->setting[setting].name);
    drove__html_copy(into, size, text);
}
