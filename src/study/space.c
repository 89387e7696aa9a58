/* study/space.c - see space.h. */
#include "study/space.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/spec.h"
#include "base/yaml.h"
#include "config/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

/* A rule and the step sizes that it may want; most 0: it has none, or finds its own. */
typedef struct method {
    const char *rule;
    double lr_least, lr_most;
} method;

static const method methods[] = {
    {"", 0.0, 0.0}, /* as the run would choose by itself */
    {"adam", 1e-4, 1e-2}, {"momentum", 1e-3, 1e-1}, {"adagrad", 1e-3, 3e-1},
    {"cocob", 0.0, 0.0},  {"sgd", 1e-2, 1.0},
};

/* ---- the usual space ---- */

typedef struct usual {
    const char *name;
    const char *choice[8]; /* until NULL */
    bool for_values, for_classes, for_wide;
    bool of_any, of_plain; /* for precisions with any rule, or with plain SGD, alone */
} usual;

static const usual usuals[] = {
    {"model",
     {"logistic", "mlp:32", "mlp:128", "mlp:64,64", "mlp:256,256", "mlp:128,128,128"},
     .for_classes = true},
    {"model",
     {"linear", "mlp:32", "mlp:128", "mlp:64,64", "mlp:256,256", "mlp:128,128,128"},
     .for_values = true},
    {"rule",
     {"", "adam", "momentum", "adagrad", "cocob"},
     .for_values = true,
     .for_classes = true,
     .for_wide = true,
     .of_any = true},
    {"rule",
     {"", "sgd"},
     .for_values = true,
     .for_classes = true,
     .for_wide = true,
     .of_plain = true},
    {"weight_decay",
     {"", "", "1e-6", "1e-5", "1e-4", "1e-3", "1e-2"},
     .for_values = true,
     .for_classes = true,
     .for_wide = true},
    {"batch",
     {"", "16", "32", "64", "128", "256"},
     .for_values = true,
     .for_classes = true,
     .for_wide = true},
};

bool drove__names_option(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (drove__option_is(names[i], name)) return true;
    return false;
}

void drove__space_usual(bool values, bool wide, drove_space_rules rules, const char *const *fixed,
                        size_t n_fixed, drove_space *out)
{
    memset(out, 0, sizeof *out);
    out->lr_is_given = drove__names_option("lr", fixed, n_fixed);
    out->rules = rules;
    for (size_t i = 0; i < DROVE_COUNT(usuals); i++) {
        const usual *u = &usuals[i];
        bool is_for = wide ? u->for_wide : values ? u->for_values : u->for_classes;
        if (rules == DROVE_SPACE_PLAIN ? u->of_any : u->of_plain) continue;
        if (!is_for || drove__names_option(u->name, fixed, n_fixed)) continue;
        /* A given step size belongs to a certain rule, and a given rule to certain step sizes. */
        if (strcmp(u->name, "rule") == 0 && out->lr_is_given) continue;
        if (strcmp(u->name, "batch") == 0 && drove__names_option("global_batch", fixed, n_fixed))
            continue; /* which says it */
        drove_dimension *d = &out->dimension[out->n_dimensions++];
        snprintf(d->name, sizeof d->name, "%s", u->name);
        for (; d->n_choices < DROVE_COUNT(u->choice) && u->choice[d->n_choices] != NULL;
             d->n_choices++)
            snprintf(d->choice[d->n_choices], sizeof d->choice[0], "%s", u->choice[d->n_choices]);
    }
}

/* ---- a space from a file ---- */

typedef struct space_file {
    drove_yaml *yaml;
    drove_space *space;
    const char *const *fixed; /* [n_fixed] */
    size_t n_fixed;
} space_file;

drove_status drove__setting_check(const drove_yaml *y, const drove_yaml_item *item,
                                  const char *name)
{
    if (drove__option_check(name, item->text) == DROVE_OK) return DROVE_OK;
    char why[DROVE_ERROR_TEXT_SIZE];
    drove__error_copy(why);
    return drove__yaml_fail(y, item->line, item->column, "%s", why);
}

static drove_status check_value(const drove_yaml *y, const drove_yaml_item *item, const char *name)
{
    if (strlen(item->text) < DROVE_CHOICE_SIZE) return drove__setting_check(y, item, name);
    return drove__yaml_fail(y, item->line, item->column,
                            "expected at most %d bytes, found \"%.40s...\"", DROVE_CHOICE_SIZE - 1,
                            item->text);
}

static drove_status read_list(drove_yaml *y, drove_dimension *d)
{
    drove_yaml_item item;
    for (;;) {
        DROVE_TRY(drove__yaml_next(y, &item));
        if (item.kind == DROVE_YAML_LIST_END) break;
        if (item.kind != DROVE_YAML_VALUE)
            return drove__yaml_unexpected(y, &item, "a value of the option");
        if (d->n_choices == DROVE_MOST_CHOICES)
            return drove__yaml_fail(y, item.line, item.column, "expected at most %d values",
                                    DROVE_MOST_CHOICES);
        DROVE_TRY(check_value(y, &item, d->name));
        snprintf(d->choice[d->n_choices++], sizeof d->choice[0], "%s", item.text);
    }
    if (d->n_choices > 0) return DROVE_OK;
    return drove__yaml_fail(y, item.line, item.column, "expected at least one value, found none");
}

static drove_status read_bound(drove_yaml *y, const drove_dimension *d, double *out)
{
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_expect(y, DROVE_YAML_VALUE, "a number", &item));
    DROVE_TRY(check_value(y, &item, d->name));
    drove_status status = drove__parse_real(d->name, item.text, -HUGE_VAL, HUGE_VAL, out);
    if (status == DROVE_OK) return DROVE_OK;
    return drove__yaml_fail(y, item.line, item.column, "expected a number, found \"%.40s\"",
                            item.text);
}

/* {log: [1e-4, 1e-1]}, after its "{". */
static drove_status read_range(drove_yaml *y, drove_dimension *d)
{
    drove_yaml_item item = {0};
    DROVE_TRY(drove__yaml_expect(y, DROVE_YAML_VALUE, "log or uniform", &item));
    d->is_log = strcmp(item.text, "log") == 0;
    if (!d->is_log && strcmp(item.text, "uniform") != 0)
        return drove__yaml_fail(y, item.line, item.column,
                                "expected log or uniform, found \"%.40s\"", item.text);
    DROVE_TRY(drove__yaml_expect(y, DROVE_YAML_LIST, "[LEAST, MOST]", &item));
    DROVE_TRY(read_bound(y, d, &d->least));
    DROVE_TRY(read_bound(y, d, &d->most));
    if (d->least > d->most || (d->is_log && d->least <= 0.0))
        return drove__yaml_fail(y, item.line, item.column,
                                "expected LEAST <= MOST%s, found [%g, %g]",
                                d->is_log ? ", both above 0" : "", d->least, d->most);
    DROVE_TRY(drove__yaml_expect(y, DROVE_YAML_LIST_END, "two numbers alone", &item));
    return drove__yaml_expect(y, DROVE_YAML_MAPPING_END, "log or uniform alone", &item);
}

static bool is_whole(const char *name)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++)
        if (drove__option_is(info[i].name, name)) return info[i].kind == DROVE_OPTION_COUNT;
    return false;
}

drove_status drove__dimension_read(drove_yaml *y, const char *name, drove_dimension *d)
{
    drove_yaml_item item = {0};
    snprintf(d->name, sizeof d->name, "%s", name);
    d->is_whole = is_whole(d->name);
    DROVE_TRY(drove__yaml_next(y, &item));
    if (item.kind == DROVE_YAML_LIST) return read_list(y, d);
    if (item.kind == DROVE_YAML_MAPPING) return read_range(y, d);
    return drove__yaml_unexpected(y, &item, "a list of values or {log: [LEAST, MOST]}");
}

drove_status drove__option_name_check(const drove_yaml *y, const drove_yaml_item *item)
{
    char why[DROVE_ERROR_TEXT_SIZE];
    drove_status status = drove__option_check(item->text, NULL);
    if (status == DROVE_OK && strlen(item->text) >= DROVE_NAME_SIZE)
        status = drove__fail(DROVE_E_ARG, "unknown option \"%.40s\"", item->text);
    if (status == DROVE_OK) return DROVE_OK;
    drove__error_copy(why);
    return drove__yaml_fail(y, item->line, item->column, "%s", why);
}

/* Options that say what is searched, and for how long, are not searched themselves. */
static drove_status check_name(const space_file *f, const drove_yaml_item *item)
{
    static const char *const kept[] = {"data",    "test", "label", "weights",  "out", "resume",
                                       "metrics", "seed", "until", "timeline", "log"};
    const drove_yaml *y = f->yaml;
    const drove_space *space = f->space;
    DROVE_TRY(drove__option_name_check(y, item));
    if (drove__names_option(item->text, kept, DROVE_COUNT(kept)))
        return drove__yaml_fail(y, item->line, item->column,
                                "expected an option of the model or the method, found \"%s\"",
                                item->text);
    if (drove__names_option(item->text, f->fixed, f->n_fixed))
        return drove__yaml_fail(y, item->line, item->column,
                                "expected an option that was not given, found \"%s\"", item->text);
    for (unsigned i = 0; i < space->n_dimensions; i++)
        if (drove__option_is(space->dimension[i].name, item->text))
            return drove__yaml_fail(y, item->line, item->column,
                                    "expected each option once, found \"%s\" again", item->text);
    if (space->n_dimensions < DROVE_MOST_DIMENSIONS) return DROVE_OK;
    return drove__yaml_fail(y, item->line, item->column, "expected at most %d options",
                            DROVE_MOST_DIMENSIONS);
}

drove_status drove__space_load(const char *path, const char *const *fixed, size_t n_fixed,
                               drove_space *out)
{
    char *text = NULL;
    size_t size_bytes;
    space_file f = {.space = out, .fixed = fixed, .n_fixed = n_fixed};
    memset(out, 0, sizeof *out);
    out->lr_is_given = drove__names_option("lr", fixed, n_fixed);
    drove_status status = drove__file_load(path, MOST_BYTES, &text, &size_bytes);
    if (status != DROVE_OK) goto fail;
    status = drove__yaml_open(text, size_bytes, path, DROVE_E_ARG, "option: [value, ...]", &f.yaml);
    if (status != DROVE_OK) goto fail;
    int is_empty;
    drove_yaml_item item = {0};
    status = drove__yaml_begin(f.yaml, "lines of the form option: [value, ...]", &is_empty);
    if (status != DROVE_OK) goto fail;
    while (!is_empty) {
        if ((status = drove__yaml_next(f.yaml, &item)) != DROVE_OK) goto fail;
        if (item.kind == DROVE_YAML_MAPPING_END) break;
        if (item.kind != DROVE_YAML_VALUE) {
            status = drove__yaml_unexpected(f.yaml, &item, "the name of an option");
            goto fail;
        }
        if ((status = check_name(&f, &item)) != DROVE_OK) goto fail;
        drove_dimension *d = &out->dimension[out->n_dimensions++];
        if ((status = drove__dimension_read(f.yaml, item.text, d)) != DROVE_OK) goto fail;
    }
    if (!is_empty && (status = drove__yaml_finish(f.yaml)) != DROVE_OK) goto fail;
    if (out->n_dimensions == 0)
        status = drove__fail(DROVE_E_ARG, "%s: expected at least one option, found none", path);

fail:
    drove__yaml_close(f.yaml);
    free(text);
    return status;
}

/* ---- points ---- */

static void add(drove_point *p, const char *name, const char *value)
{
    if (value[0] == '\0' || p->n_settings == DROVE_MOST_DIMENSIONS) return;
    drove_setting *s = &p->setting[p->n_settings++];
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(s->value, sizeof s->value, "%s", value);
}

static void draw_number(drove_rng *rng, const drove_dimension *d, char *into, size_t size)
{
    double u = drove__rng_uniform(rng), range = d->most - d->least;
    double value =
        d->is_log ? exp(log(d->least) + u * log(d->most / d->least)) : d->least + u * range;
    snprintf(into, size, d->is_whole ? "%.0f" : "%.3g", value);
}

/* The rule has step sizes that suit it, unless they are a dimension of their own or given. */
static void draw_step_size(const drove_space *space, const char *rule, drove_rng *rng,
                           drove_point *out)
{
    char value[DROVE_CHOICE_SIZE] = "";
    if (space->lr_is_given) return;
    for (unsigned i = 0; i < space->n_dimensions; i++)
        if (drove__option_is(space->dimension[i].name, "lr")) return;
    for (size_t i = 0; i < DROVE_COUNT(methods); i++) {
        const drove_dimension d = {.least = methods[i].lr_least,
                                   .most = methods[i].lr_most,
                                   .is_log = true};
        if (strcmp(methods[i].rule, rule) == 0 && d.most > 0.0)
            draw_number(rng, &d, value, sizeof value);
    }
    add(out, "lr", value);
}

bool drove__space_is_linear(const char *model)
{
    static const char *const names[] = {"logistic", "linear", "svm"};
    const size_t n = strcspn(model, ":?");
    for (size_t i = 0; i < DROVE_COUNT(names); i++)
        if (strlen(names[i]) == n && strncmp(names[i], model, n) == 0) return true;
    return false;
}

/* A point without a model is one of wide data, for which networks are not tried. */
static bool draws_linear(const drove_point *p)
{
    for (unsigned i = 0; i < p->n_settings; i++)
        if (strcmp(p->setting[i].name, "model") == 0)
            return drove__space_is_linear(p->setting[i].value);
    return true;
}

void drove__space_draw(const drove_space *space, uint64_t seed, uint64_t number, drove_point *out)
{
    drove_rng rng;
    drove__rng_seed(&rng, seed, DROVE_RNG_STUDY, number);
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < space->n_dimensions; i++) {
        const drove_dimension *d = &space->dimension[i];
        char value[DROVE_CHOICE_SIZE];
        if (d->n_choices == 0) draw_number(&rng, d, value, sizeof value);
        else snprintf(value, sizeof value, "%s", d->choice[drove__rng_below(&rng, d->n_choices)]);
        const bool is_rule = strcmp(d->name, "rule") == 0;
        if (is_rule && space->rules == DROVE_SPACE_PLAIN_IF_LINEAR && value[0] != '\0' &&
            draws_linear(out))
            snprintf(value, sizeof value, "sgd");
        add(out, d->name, value);
        if (is_rule) draw_step_size(space, value, &rng, out);
    }
}

bool drove__point_equal(const drove_point *a, const drove_point *b)
{
    if (a->n_settings != b->n_settings) return false;
    for (unsigned i = 0; i < a->n_settings; i++)
        if (strcmp(a->setting[i].name, b->setting[i].name) != 0 ||
            strcmp(a->setting[i].value, b->setting[i].value) != 0)
            return false;
    return true;
}

void drove__point_text(const drove_point *point, char *into, size_t size)
{
    size_t used = 0;
    snprintf(into, size, "the defaults");
    for (unsigned i = 0; i < point->n_settings && used < size; i++)
        used += (size_t)snprintf(into + used, size - used, "%s%s=%s", i == 0 ? "" : " ",
                                 point->setting[i].name, point->setting[i].value);
}
