/* tests/unit/table/support.c - see support.h. */
#include "support.h"

#include <stdio.h>
#include <string.h>

drove_table_options options_of(const char *path, const char *label)
{
    return (drove_table_options){.path = path, .label = label, .onehot = DROVE_ONEHOT_DEFAULT};
}

void learn(const drove_table_options *opt, drove_known_table *out)
{
    if (drove__table_learn(opt, out) != DROVE_OK) fail_msg("%s: %s", opt->path, drove_error_text());
}

void expect_refusal(const drove_table_options *opt, drove_status status, ...)
{
    drove_known_table known;
    drove_status found = drove__table_learn(opt, &known);
    drove__known_table_fini(&known);
    if (found != status)
        fail_msg("%s: expected %s, found %s: %s", opt->path, drove_status_name(status),
                 drove_status_name(found), drove_error_text());
    va_list words;
    va_start(words, status);
    for (const char *word; (word = va_arg(words, const char *)) != NULL;) assert_error_has(word);
    va_end(words);
    assert_null(strchr(drove_error_text(), '\n'));
}

const drove_column *column_of(const drove_known_table *known, const char *name)
{
    for (size_t i = 0; i < known->schema->n_columns; i++)
        if (strcmp(known->schema->column[i].name, name) == 0) return &known->schema->column[i];
    fail_msg("no column %s", name);
    return NULL;
}

void name_feature(const drove_schema *schema, size_t feature, char name[FEATURE_NAME_SIZE])
{
    static const char *const parts[] = {"days",      "year",       "month sine",   "month cosine",
                                        "day sine",  "day cosine", "weekday sine", "weekday cosine",
                                        "hour sine", "hour cosine"};
    const drove_column *c = schema->column;
    while (feature >= c->first_feature + c->n_features) c++;
    const size_t k = feature - c->first_feature;
    if (c->has_missing && k + 1 == c->n_features)
        snprintf(name, FEATURE_NAME_SIZE, "%.80s missing", c->name);
    else if (c->type == DROVE_COLUMN_DATE)
        snprintf(name, FEATURE_NAME_SIZE, "%.80s %s", c->name, parts[k]);
    else if (c->type == DROVE_COLUMN_NUMBER && k > 0)
        snprintf(name, FEATURE_NAME_SIZE, "%.80s from %.6g to %.6g", c->name, c->bins.edge[k - 1],
                 c->bins.edge[k]);
    else if (c->type == DROVE_COLUMN_CATEGORY)
        snprintf(name, FEATURE_NAME_SIZE, "%.80s=%.70s", c->name, c->value[k]);
    else if (c->type == DROVE_COLUMN_HASHED || c->type == DROVE_COLUMN_TEXT)
        snprintf(name, FEATURE_NAME_SIZE, "%.80s #%zu", c->name, k);
    else snprintf(name, FEATURE_NAME_SIZE, "%.150s", c->name);
}

float feature_of(const drove_known_table *known, const float *x, const char *name)
{
    char own[FEATURE_NAME_SIZE];
    for (size_t f = 0; f < known->schema->n_features; f++) {
        name_feature(known->schema, f, own);
        if (strcmp(own, name) == 0) return x[f];
    }
    fail_msg("no feature %s", name);
    return 0;
}
