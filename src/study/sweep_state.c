/* study/sweep_state.c - see sweep_state.h. */
#include "study/sweep_state.h"

#include "base/mem.h"
#include "study/journal.h"
#include "study/sweep_results.h"

#include "base/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* ---- settings that a run takes ---- */

static drove_status set_all(drove_options *options, const json_t *settings)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)settings, name, value)
        DROVE_TRY(drove_options_set(options, name, json_string_value(value)));
    return DROVE_OK;
}

drove_status drove__sweep_open(const char *study, drove_sweep_state *s)
{
    size_t n;
    char text[256];
    const drove_option_info *info = drove_options_table(&n);
    drove_options *base = NULL, *options;
    memset(s, 0, sizeof *s);
    DROVE_TRY(drove__sweep_study_load(study, &s->study));
    drove_status status = drove__sweep_expand(&s->study, &s->runs);
    if (status == DROVE_OK) status = drove_options_create(&base);
    if (status != DROVE_OK) goto fail;

    /* the options that runs share, then those of each setting */
    for (size_t i = 0; i < n; i++) {
        if (info[i].program_text != NULL)
            status = drove_options_set(base, info[i].name, info[i].program_text);
        if (status != DROVE_OK) goto fail;
    }
    status = set_all(base, json_object_get(s->study.document, "options"));
    for (size_t i = 0; i < s->runs.n_settings && status == DROVE_OK; i++) {
        const json_t *setting = json_array_get(s->runs.settings, i);
        if ((status = drove_options_copy(base, &options)) != DROVE_OK) goto fail;
        status = set_all(options, setting);
        if (status == DROVE_OK) status = drove_options_validate(options);
        drove_options_destroy(options);
        if (status == DROVE_OK) continue;
        drove__sweep_text(setting, text, sizeof text);
        status = drove__fail_in(status, "setting %zu (%s)", i + 1, text);
    }

fail:
    drove_options_destroy(base);
    return status == DROVE_OK ? DROVE_OK : drove__fail_in(status, "%s", study);
}

void drove__sweep_close(drove_sweep_state *s)
{
    json_decref(s->results);
    drove__sweep_runs_fini(&s->runs);
    drove__sweep_study_fini(&s->study);
    memset(s, 0, sizeof *s);
}

/* ---- the folder ---- */

drove_status drove__sweep_claim(const drove_sweep_state *s, const char *folder, bool begins)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/study.json", folder);
    if (!begins && access(path, F_OK) != 0)
        return drove__fail(DROVE_E_FILE,
                           "--out: expected the folder of a sweep, found %s without study.json",
                           folder);
    json_t *all = json_object();
    drove__json_set(&all, "sweep", json_incref(s->study.document));
    drove__json_set(&all, "runs", json_integer((json_int_t)drove__sweep_count(&s->runs)));
    const drove_status status = drove__study_claim(folder, all, "sweep", JSON_INDENT(2));
    json_decref(all);
    return status;
}

drove_status drove__sweep_read(drove_sweep_state *s, const char *folder, drove_jsonl **journal,
                               bool *had_half)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/results.jsonl", folder);
    return drove__sweep_results_read(path, drove__sweep_count(&s->runs), &s->results, journal,
                                     had_half);
}

/* ---- what is known of a setting ---- */

const json_t *drove__sweep_setting(const drove_sweep_state *s, size_t setting)
{
    return json_array_get(s->runs.settings, setting);
}

const json_t *drove__sweep_find(const drove_sweep_state *s, size_t setting, size_t repetition)
{
    const json_t *record =
        json_array_get(s->results, drove__sweep_run_of(&s->runs, setting, repetition));
    return json_is_object(record) ? record : NULL;
}

drove_status drove__sweep_row(const drove_sweep_state *s, size_t setting, const char *figure,
                              drove_sweep_row *row)
{
    double *x = drove__alloc(s->runs.n_seeds, sizeof *x);
    if (x == NULL) return drove__fail_nomem("figures", s->runs.n_seeds * sizeof *x);
    row->n_runs = row->n_crashed = 0;
    for (size_t r = 0; r < s->runs.n_seeds; r++) {
        const json_t *record = drove__sweep_find(s, setting, r);
        if (record == NULL) continue;
        const double value = drove__sweep_figure(record, figure);
        row->n_crashed += drove__sweep_has_crashed(record);
        x[row->n_runs++] = isnan(value) ? INFINITY : value;
    }
    row->median_s = row->n_runs > 0 ? drove__median(x, row->n_runs) : INFINITY;
    drove__free(x);
    return DROVE_OK;
}
