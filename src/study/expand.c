/* study/expand.c - see expand.h. */
#include "study/expand.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* ---- the product ---- */

static size_t at_least_one(size_t n)
{
    return n > 0 ? n : 1;
}

static size_t count_draws(const drove_sweep_study *study)
{
    const json_t *sample = json_object_get(study->document, "sample");
    return (size_t)json_integer_value(json_object_get(sample, "draws"));
}

/* No product of the counts overflows: each is limited, and so is what it is multiplied with. */
static drove_status count_all(const drove_sweep_study *study, size_t *n_grid, size_t *n_all)
{
    const char *name;
    json_t *choices;
    const size_t n_seeds = json_array_size(json_object_get(study->document, "repeat"));
    size_t n_list = json_array_size(json_object_get(study->document, "list"));
    bool is_good = true;
    *n_grid = 1;
    json_object_foreach(json_object_get(study->document, "grid"), name, choices)
    {
        *n_grid *= json_array_size(choices);
        is_good = is_good && *n_grid <= DROVE_SWEEP_MOST_RUNS;
        if (!is_good) break;
    }
    *n_all = *n_grid * at_least_one(n_list);
    is_good = is_good && *n_all <= DROVE_SWEEP_MOST_RUNS;
    if (is_good) *n_all *= at_least_one(count_draws(study));
    is_good = is_good && *n_all <= DROVE_SWEEP_MOST_RUNS;
    if (is_good && *n_all * n_seeds <= DROVE_SWEEP_MOST_RUNS) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "expected a study of at most %d runs, found more",
                       DROVE_SWEEP_MOST_RUNS);
}

static json_t *make_setting(const drove_sweep_study *study, size_t n_grid, size_t i)
{
    const char *name;
    json_t *value, *settings = json_object();
    const size_t n_draws = at_least_one(count_draws(study));
    const json_t *list = json_object_get(study->document, "list");
    const json_t *sample = json_object_get(study->document, "sample");

    /* a set of the list */
    json_object_foreach(json_array_get(list, i / n_grid / n_draws), name, value)
        drove__json_set(&settings, name, json_incref(value));

    /* a draw of the sample */
    if (json_is_object(sample)) {
        drove_point point;
        drove__space_draw(&study->sample,
                          (uint64_t)json_integer_value(json_object_get(sample, "seed")),
                          i / n_grid % n_draws + 1, &point);
        for (unsigned k = 0; k < point.n_settings; k++)
            drove__json_set(&settings, point.setting[k].name,
                            json_string_nocheck(point.setting[k].value));
    }

    /* a point of the grid, the last option fastest */
    size_t left = n_grid, number = i % n_grid;
    json_object_foreach(json_object_get(study->document, "grid"), name, value)
    {
        left /= json_array_size(value);
        drove__json_set(&settings, name, json_incref(json_array_get(value, number / left)));
        number %= left;
    }
    return settings;
}

drove_status drove__sweep_expand(const drove_sweep_study *study, drove_sweep_runs *out)
{
    size_t n_grid, n_all;
    memset(out, 0, sizeof *out);
    DROVE_TRY(count_all(study, &n_grid, &n_all));
    json_t *all = json_array(), *seen = json_object(); /* of settings as text */
    for (size_t i = 0; i < n_all && all != NULL; i++) {
        json_t *settings = make_setting(study, n_grid, i);
        char *text = drove__json_dump(settings, JSON_COMPACT | JSON_SORT_KEYS);
        const bool is_seen = text != NULL && json_object_get(seen, text) != NULL;
        if (text != NULL && !is_seen) drove__json_set(&seen, text, json_true());
        if (is_seen || text == NULL || seen == NULL) {
            json_decref(settings);
            settings = NULL; /* no memory: nothing may be left out in silence */
        }
        free(text);
        if (!is_seen) drove__json_add(&all, settings);
    }
    json_decref(seen);
    if (all == NULL) return drove__fail_nomem("settings", n_all * sizeof(json_t));
    out->settings = all;
    out->n_settings = json_array_size(all);
    out->seeds = json_object_get(study->document, "repeat");
    out->n_seeds = json_array_size(out->seeds);

    /* each repetition takes all settings, in an order of its own */
    drove_permutation order;
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(study->document, "seed"));
    const size_t n = out->n_settings, n_runs = n * out->n_seeds;
    out->setting_of = drove__alloc(n_runs, sizeof *out->setting_of);
    out->run_of = drove__alloc(n_runs, sizeof *out->run_of);
    if (out->setting_of == NULL || out->run_of == NULL) {
        drove__sweep_runs_fini(out);
        return drove__fail_nomem("runs", 2 * n_runs * sizeof *out->run_of);
    }
    for (size_t i = 0; i < n_runs; i++) {
        if (i % n == 0) drove__permutation_init(&order, n, seed, i / n);
        out->setting_of[i] = (uint32_t)drove__permutation_at(&order, i % n);
        out->run_of[i / n * n + out->setting_of[i]] = (uint32_t)i;
    }
    return DROVE_OK;
}

void drove__sweep_runs_fini(drove_sweep_runs *runs)
{
    json_decref(runs->settings);
    drove__free(runs->setting_of);
    drove__free(runs->run_of);
    memset(runs, 0, sizeof *runs);
}

size_t drove__sweep_count(const drove_sweep_runs *runs)
{
    return runs->n_settings * runs->n_seeds;
}

void drove__sweep_run_at(const drove_sweep_runs *runs, size_t i, size_t *setting, uint64_t *seed)
{
    *setting = runs->setting_of[i];
    *seed = (uint64_t)json_integer_value(json_array_get(runs->seeds, i / runs->n_settings));
}

size_t drove__sweep_run_of(const drove_sweep_runs *runs, size_t setting, size_t repetition)
{
    return runs->run_of[repetition * runs->n_settings + setting];
}

void drove__sweep_text(const json_t *settings, char *into, size_t size)
{
    size_t used = 0;
    const char *name;
    json_t *value;
    snprintf(into, size, "the options alone");
    json_object_foreach((json_t *)settings, name, value)
    {
        if (used >= size) break;
        used += (size_t)snprintf(into + used, size - used, "%s%s=%s", used == 0 ? "" : " ", name,
                                 json_string_value(value));
    }
}
