/* train/search_saved.c - the record of a model search, of a run that goes on: read back from
 * run.json, as report/choices.c wrote it.  Declared in train/search.h. */
#include "config/chosen.h"
#include "values/say.h"
#include "train/search.h"

#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_JSON_MOST_BYTES = 1 << 20 };

/* null, which stands for NaN, or a number. */
static bool read_real(const json_t *o, const char *key, double *out)
{
    const json_t *value = json_object_get(o, key);
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return json_is_null(value) || json_is_number(value);
}

static bool read_count(const json_t *o, const char *key, json_int_t most, json_int_t *out)
{
    const json_t *value = json_object_get(o, key);
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0 && *out <= most;
}

static bool read_candidate(const json_t *o, drove_candidate_result *out)
{
    json_int_t n_tried;
    const char *name = json_string_value(json_object_get(o, "model"));
    if (name == NULL || strlen(name) >= sizeof out->name) return false;
    if (!read_count(o, "divisions", UINT16_MAX, &n_tried)) return false;
    strcpy(out->name, name);
    out->n_tried = (unsigned)n_tried;
    return read_real(o, "loss", &out->loss) && read_real(o, "constant_loss", &out->constant_loss) &&
           read_real(o, "epochs", &out->epochs);
}

static bool read_search(const json_t *o, drove_search *out)
{
    const json_t *list = json_object_get(o, "compared");
    const char *chosen = json_string_value(json_object_get(o, "chosen"));
    const size_t n = json_array_size(list);
    json_int_t n_divisions, n_rows, n_held;
    bool is_chosen = false;
    if (n == 0 || n > DROVE_MOST_CANDIDATES || chosen == NULL) return false;
    if (!read_count(o, "divisions", UINT16_MAX, &n_divisions)) return false;
    if (!read_count(o, "examples", INT64_MAX, &n_rows)) return false;
    if (!read_count(o, "validation_examples", n_rows, &n_held)) return false;
    if (!read_real(o, "seconds", &out->seconds)) return false;
    for (unsigned i = 0; i < n; i++) {
        if (!read_candidate(json_array_get(list, i), &out->candidate[i])) return false;
        if (is_chosen || strcmp(out->candidate[i].name, chosen) != 0) continue;
        out->chosen = i;
        is_chosen = true;
    }
    out->n = (unsigned)n;
    out->n_divisions = (unsigned)n_divisions;
    out->n_rows = (size_t)n_rows;
    out->n_held = (size_t)n_held;
    return is_chosen;
}

drove_status drove__search_load(const drove_config *config, const drove_callbacks *cb,
                                drove_search *out, drove_choice *choice)
{
    size_t size;
    *out = (drove_search){0};
    if (config->files.resume == NULL) return DROVE_OK;
    char *path = drove__path_join(config->files.resume, "run.json"), *text;
    if (path == NULL) return drove__fail_nomem("a path", strlen(config->files.resume));
    drove_status status = drove__file_load(path, RUN_JSON_MOST_BYTES, &text, &size);
    json_t *object = NULL;
    json_error_t error;
    drove_status parsed =
        status == DROVE_OK ? drove__json_parse(text, size, 0, &error, &object) : DROVE_OK;
    const json_t *saved = json_object_get(object, "model_search");
    if (json_is_object(saved) && read_search(saved, out)) choice->search = out;
    else if (saved != NULL && !json_is_null(saved))
        drove__run_warn(cb, "model: %s: \"model_search\" is not what a run writes, and is left out",
                        path);
    json_decref(object);
    if (status == DROVE_OK) free(text);
    free(path);
    if (parsed == DROVE_E_NOMEM) return drove__fail_in(parsed, "run.json");
    if (status == DROVE_E_NOMEM || status == DROVE_E_IO) return status;
    return DROVE_OK; /* without the file, the record alone is missing */
}
