/* study/sweep_study.c - see sweep_study.h. */
#include "study/sweep_study.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/spec.h"
#include "config/words.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, MOST_SEEDS = 10000, MOST_SETS = 10000 };

typedef struct study_file {
    drove_yaml *yaml;
    drove_sweep_study *study;
    /* the parts of the document that are read; NULL: not yet */
    json_t *options, *grid, *list, *sample, *repeat, *limit, *seed;
} study_file;

/* ---- names ---- */

const char *drove__sweep_option(const char *name)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++)
        if (drove__option_is(info[i].name, name)) return info[i].name;
    return NULL;
}

static bool has(const json_t *object, const char *name)
{
    return json_object_get(object, name) != NULL;
}

/* An item that names an option, which runs may share and `into` does not have yet. */
static drove_status read_name(const study_file *f, const drove_yaml_item *item, const json_t *into,
                              const char **out)
{
    static const struct {
        const char *name, *instead;
    } own[] = {{"seed", "repeat: has the seeds"},
               {"out", "a sweep keeps runs in its own folder"},
               {"resume", "each run begins anew"},
               {"replay", "each run begins anew"},
               {"record", "runs would write one file"},
               {"timeline", "runs would write one file"},
               {"log", "a sweep keeps the log of each run"}};
    if (item->kind != DROVE_YAML_VALUE)
        return drove__yaml_unexpected(f->yaml, item, "the name of an option");
    DROVE_TRY(drove__option_name_check(f->yaml, item));
    for (size_t i = 0; i < DROVE_COUNT(own); i++)
        if (drove__option_is(own[i].name, item->text))
            return drove__yaml_fail(f->yaml, item->line, item->column,
                                    "expected an option that runs may share, found \"%s\" (%s)",
                                    own[i].name, own[i].instead);
    *out = drove__sweep_option(item->text);
    if (*out == NULL)
        return drove__yaml_fail(f->yaml, item->line, item->column, "unknown option \"%.40s\"",
                                item->text);
    if (!has(into, *out)) return DROVE_OK;
    return drove__yaml_fail(f->yaml, item->line, item->column,
                            "expected each option once, found \"%s\" again", *out);
}

/* ---- options, grid, list ---- */

/* {name: value}, after its "{". */
static drove_status read_set(const study_file *f, json_t **into)
{
    for (;;) {
        const char *name;
        char expected[64];
        drove_yaml_item item;
        DROVE_TRY(drove__yaml_next(f->yaml, &item));
        if (item.kind == DROVE_YAML_MAPPING_END) return DROVE_OK;
        DROVE_TRY(read_name(f, &item, *into, &name));
        snprintf(expected, sizeof expected, "one value for \"%.32s\"", name);
        DROVE_TRY(drove__yaml_expect(f->yaml, DROVE_YAML_VALUE, expected, &item));
        DROVE_TRY(drove__setting_check(f->yaml, &item, name));
        drove__json_set(into, name, json_string_nocheck(item.text));
    }
}

static drove_status read_options(study_file *f)
{
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_expect(f->yaml, DROVE_YAML_MAPPING, "options: {name: value}", &item));
    f->options = json_object();
    return read_set(f, &f->options);
}

static drove_status read_choices(const study_file *f, const char *name, json_t **choices)
{
    drove_yaml_item item = {0};
    char expected[64];
    snprintf(expected, sizeof expected, "a list of values for \"%.32s\"", name);
    DROVE_TRY(drove__yaml_expect(f->yaml, DROVE_YAML_LIST, expected, &item));
    for (;;) {
        DROVE_TRY(drove__yaml_next(f->yaml, &item));
        if (item.kind == DROVE_YAML_LIST_END) break;
        if (item.kind != DROVE_YAML_VALUE)
            return drove__yaml_unexpected(f->yaml, &item, "a value of the option");
        DROVE_TRY(drove__setting_check(f->yaml, &item, name));
        drove__json_add(choices, json_string_nocheck(item.text));
    }
    if (*choices == NULL || json_array_size(*choices) > 0) return DROVE_OK;
    return drove__yaml_fail(f->yaml, item.line, item.column,
                            "expected at least one value for \"%s\", found none", name);
}

static drove_status read_grid(study_file *f)
{
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_expect(f->yaml, DROVE_YAML_MAPPING, "grid: {name: [value]}", &item));
    f->grid = json_object();
    for (;;) {
        const char *name;
        DROVE_TRY(drove__yaml_next(f->yaml, &item));
        if (item.kind == DROVE_YAML_MAPPING_END) break;
        DROVE_TRY(read_name(f, &item, f->grid, &name));
        json_t *choices = json_array();
        drove_status status = read_choices(f, name, &choices);
        drove__json_set(&f->grid, name, choices);
        DROVE_TRY(status);
    }
    if (f->grid == NULL || json_object_size(f->grid) > 0) return DROVE_OK;
    return drove__yaml_fail(f->yaml, item.line, item.column,
                            "expected at least one option in grid, found none");
}

static drove_status read_sets(study_file *f)
{
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_expect(f->yaml, DROVE_YAML_LIST, "list: [{name: value}]", &item));
    f->list = json_array();
    for (;;) {
        DROVE_TRY(drove__yaml_next(f->yaml, &item));
        if (item.kind == DROVE_YAML_LIST_END) break;
        if (item.kind != DROVE_YAML_MAPPING)
            return drove__yaml_unexpected(f->yaml, &item, "a set of options, {name: value}");
        if (json_array_size(f->list) == MOST_SETS)
            return drove__yaml_fail(f->yaml, item.line, item.column,
                                    "expected at most %d sets of options", MOST_SETS);
        json_t *set = json_object();
        drove_status status = read_set(f, &set);
        drove__json_add(&f->list, set);
        DROVE_TRY(status);
    }
    if (f->list == NULL || json_array_size(f->list) > 0) return DROVE_OK;
    return drove__yaml_fail(f->yaml, item.line, item.column,
                            "expected at least one set of options in list, found none");
}

/* ---- numbers ---- */

static drove_status parse_count(const study_file *f, const drove_yaml_item *item, const char *what,
                                uint64_t least, uint64_t most, uint64_t *out)
{
    char why[DROVE_ERROR_TEXT_SIZE];
    if (item->kind != DROVE_YAML_VALUE)
        return drove__yaml_unexpected(f->yaml, item, "a whole number");
    if (drove__parse_u64(what, item->text, least, most, out) == DROVE_OK) return DROVE_OK;
    drove__error_copy(why);
    return drove__yaml_fail(f->yaml, item->line, item->column, "%s", why);
}

static drove_status read_count(const study_file *f, const char *what, uint64_t least, uint64_t most,
                               json_t **into)
{
    uint64_t value = 0;
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_next(f->yaml, &item));
    DROVE_TRY(parse_count(f, &item, what, least, most, &value));
    json_decref(*into);
    *into = json_integer((json_int_t)value);
    return *into != NULL ? DROVE_OK : drove__fail_nomem(what, sizeof(json_t));
}

/* A number of seeds, 1 to N, or a list of seeds. */
static drove_status read_repeat(study_file *f)
{
    uint64_t n = 0;
    size_t i;
    const json_t *other;
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_next(f->yaml, &item));
    f->repeat = json_array();
    if (item.kind == DROVE_YAML_VALUE) {
        DROVE_TRY(parse_count(f, &item, "repeat", 1, MOST_SEEDS, &n));
        for (uint64_t seed = 1; seed <= n; seed++)
            drove__json_add(&f->repeat, json_integer((json_int_t)seed));
        return DROVE_OK;
    }
    if (item.kind != DROVE_YAML_LIST)
        return drove__yaml_unexpected(f->yaml, &item, "a number of seeds, or a list of them");
    for (;;) {
        DROVE_TRY(drove__yaml_next(f->yaml, &item));
        if (item.kind == DROVE_YAML_LIST_END) break;
        DROVE_TRY(parse_count(f, &item, "repeat: a seed", 0, INT64_MAX, &n));
        json_array_foreach(f->repeat, i, other)
        {
            if (json_integer_value(other) == (json_int_t)n)
                return drove__yaml_fail(f->yaml, item.line, item.column,
                                        "expected each seed once, found %s again", item.text);
        }
        if (i == MOST_SEEDS)
            return drove__yaml_fail(f->yaml, item.line, item.column, "expected at most %d seeds",
                                    MOST_SEEDS);
        drove__json_add(&f->repeat, json_integer((json_int_t)n));
    }
    if (f->repeat == NULL || json_array_size(f->repeat) > 0) return DROVE_OK;
    return drove__yaml_fail(f->yaml, item.line, item.column,
                            "expected at least one seed, found none");
}

static drove_status read_limit(study_file *f)
{
    double seconds = 0.0;
    char why[DROVE_ERROR_TEXT_SIZE];
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_expect(f->yaml, DROVE_YAML_VALUE, "seconds of one run", &item));
    if (drove__parse_real("limit", item.text, 1e-3, 1e9, &seconds) != DROVE_OK) {
        drove__error_copy(why);
        return drove__yaml_fail(f->yaml, item.line, item.column, "%s", why);
    }
    f->limit = json_real(seconds);
    return DROVE_OK;
}

/* ---- sample ---- */

static drove_status read_drawn(const study_file *f, const drove_yaml_item *item, json_t **options)
{
    const char *name;
    drove_space *space = &f->study->sample;
    DROVE_TRY(read_name(f, item, *options, &name));
    if (space->n_dimensions == DROVE_MOST_DIMENSIONS)
        return drove__yaml_fail(f->yaml, item->line, item->column, "expected at most %d options",
                                DROVE_MOST_DIMENSIONS);
    drove_dimension *d = &space->dimension[space->n_dimensions++];
    DROVE_TRY(drove__dimension_read(f->yaml, name, d));
    json_t *list = json_array(), *range = NULL;
    for (unsigned i = 0; i < d->n_choices; i++)
        drove__json_add(&list, json_string_nocheck(d->choice[i]));
    if (d->n_choices == 0) {
        drove__json_add(&list, json_real(d->least));
        drove__json_add(&list, json_real(d->most));
        range = json_object();
        drove__json_set(&range, d->is_log ? "log" : "uniform", list);
    }
    drove__json_set(options, name, d->n_choices > 0 ? list : range);
    return DROVE_OK;
}

/* draws: N, seed: N, and options with lists or ranges. */
static drove_status read_sample(study_file *f)
{
    drove_yaml_item item = {0};
    drove_status status = DROVE_OK;
    DROVE_TRY(drove__yaml_expect(f->yaml, DROVE_YAML_MAPPING, "sample: {draws: N, ...}", &item));
    json_t *draws = NULL, *seed = json_integer(1), *options = json_object();
    f->study->sample.lr_is_given = true; /* no step size but by its own range */
    while (status == DROVE_OK) {
        status = drove__yaml_next(f->yaml, &item);
        if (status != DROVE_OK || item.kind == DROVE_YAML_MAPPING_END) break;
        const char *key = item.kind == DROVE_YAML_VALUE ? item.text : "";
        if (strcmp(key, "draws") == 0)
            status = read_count(f, "draws", 1, DROVE_SWEEP_MOST_RUNS, &draws);
        else if (strcmp(key, "seed") == 0) status = read_count(f, "seed", 0, INT64_MAX, &seed);
        else status = read_drawn(f, &item, &options);
    }
    if (status == DROVE_OK && draws == NULL)
        status = drove__yaml_fail(f->yaml, item.line, item.column,
                                  "expected draws: N in sample, found none");
    if (status == DROVE_OK && f->study->sample.n_dimensions == 0)
        status = drove__yaml_fail(f->yaml, item.line, item.column,
                                  "expected at least one option in sample, found none");
    f->sample = json_object();
    drove__json_set(&f->sample, "draws", draws != NULL ? draws : json_null());
    drove__json_set(&f->sample, "seed", seed);
    drove__json_set(&f->sample, "options", options);
    return status;
}

/* ---- the file ---- */

static drove_status read_seed(study_file *f)
{
    return read_count(f, "seed", 0, INT64_MAX, &f->seed);
}

static const struct {
    const char *name;
    drove_status (*read)(study_file *f);
    size_t part; /* of study_file */
} keys[] = {
    {"options", read_options, offsetof(study_file, options)},
    {"grid", read_grid, offsetof(study_file, grid)},
    {"list", read_sets, offsetof(study_file, list)},
    {"sample", read_sample, offsetof(study_file, sample)},
    {"repeat", read_repeat, offsetof(study_file, repeat)},
    {"limit", read_limit, offsetof(study_file, limit)},
    {"seed", read_seed, offsetof(study_file, seed)},
};

static json_t **part_of(study_file *f, size_t key)
{
    return (json_t **)(void *)((char *)f + keys[key].part);
}

static drove_status read_key(study_file *f, const drove_yaml_item *item)
{
    const char *names[DROVE_COUNT(keys)];
    char why[DROVE_ERROR_TEXT_SIZE];
    if (item->kind != DROVE_YAML_VALUE)
        return drove__yaml_unexpected(f->yaml, item, "a key of a study");
    for (size_t i = 0; i < DROVE_COUNT(keys); i++) {
        names[i] = keys[i].name;
        if (strcmp(item->text, keys[i].name) != 0) continue;
        if (*part_of(f, i) != NULL)
            return drove__yaml_fail(f->yaml, item->line, item->column,
                                    "expected each key once, found \"%s\" again", keys[i].name);
        DROVE_TRY(keys[i].read(f));
        /* A part for which memory ran out is NULL, and would pass for one not in the file. */
        return *part_of(f, i) != NULL ? DROVE_OK : drove__fail_nomem(keys[i].name, sizeof(json_t));
    }
    (void)drove__fail_unknown("key", item->text, names, DROVE_COUNT(names));
    drove__error_copy(why);
    return drove__yaml_fail(f->yaml, item->line, item->column, "%s", why);
}

static drove_status read_keys(study_file *f, const char *path)
{
    int is_empty;
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_begin(f->yaml, "options, grid, list or sample of a study", &is_empty));
    while (!is_empty) {
        DROVE_TRY(drove__yaml_next(f->yaml, &item));
        if (item.kind == DROVE_YAML_MAPPING_END) break;
        DROVE_TRY(read_key(f, &item));
    }
    if (!is_empty) DROVE_TRY(drove__yaml_finish(f->yaml));
    if (f->grid == NULL && f->list == NULL && f->sample == NULL)
        return drove__fail(DROVE_E_ARG, "%s: expected grid, list or sample, found none of them",
                           path);

    /* an option has its values in one place alone */
    size_t n, i;
    const json_t *set;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t k = 0; k < n; k++) {
        const char *name = info[k].name;
        bool in_list = false;
        json_array_foreach(f->list, i, set) in_list |= has(set, name);
        const char *where[] = {has(f->options, name) ? "options" : NULL,
                               has(f->grid, name) ? "grid" : NULL, in_list ? "list" : NULL,
                               has(json_object_get(f->sample, "options"), name) ? "sample" : NULL};
        const char *first = NULL;
        for (i = 0; i < DROVE_COUNT(where); i++) {
            if (first != NULL && where[i] != NULL)
                return drove__fail(DROVE_E_ARG,
                                   "%s: expected \"%s\" in one place, found it in %s and %s", path,
                                   name, first, where[i]);
            if (where[i] != NULL) first = where[i];
        }
    }
    return DROVE_OK;
}

drove_status drove__sweep_study_load(const char *path, drove_sweep_study *out)
{
    char *text = NULL;
    size_t size_bytes;
    study_file f = {.study = out};
    memset(out, 0, sizeof *out);
    drove_status status = drove__file_load(path, MOST_BYTES, &text, &size_bytes);
    if (status == DROVE_OK)
        status = drove__yaml_open(text, size_bytes, path, DROVE_E_ARG, "key: value", &f.yaml);
    if (status == DROVE_OK) status = read_keys(&f, path);
    if (status == DROVE_OK) {
        /* all parts, absent ones as the keys' defaults */
        out->document = json_object();
        if (f.repeat == NULL) {
            f.repeat = json_array();
            drove__json_add(&f.repeat, json_integer(1));
        }
        if (f.options == NULL) f.options = json_object();
        if (f.grid == NULL) f.grid = json_object();
        if (f.list == NULL) f.list = json_array();
        if (f.sample == NULL) f.sample = json_null();
        if (f.limit == NULL) f.limit = json_real(0.0);
        if (f.seed == NULL) f.seed = json_integer(1);
        for (size_t i = 0; i < DROVE_COUNT(keys); i++) {
            drove__json_set(&out->document, keys[i].name, *part_of(&f, i));
            *part_of(&f, i) = NULL;
        }
        if (out->document == NULL) status = drove__fail_nomem("study", size_bytes);
    }
    for (size_t i = 0; i < DROVE_COUNT(keys); i++) json_decref(*part_of(&f, i));
    drove__yaml_close(f.yaml);
    free(text);
    if (status != DROVE_OK) drove__sweep_study_fini(out);
    return status;
}

void drove__sweep_study_fini(drove_sweep_study *study)
{
    json_decref(study->document);
    memset(study, 0, sizeof *study);
}
