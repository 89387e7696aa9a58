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
    const drove_column *c = drove__schema_find(known->schema, name, strlen(name));
    if (c == NULL) fail_msg("no column %s", name);
    return c;
}

float feature_of(const drove_known_table *known, const float *x, const char *name)
{
    char own[DROVE_FEATURE_NAME_SIZE];
    for (size_t f = 0; f < known->schema->n_features; f++) {
        drove__schema_feature(known->schema, f, own);
        if (strcmp(own, name) == 0) return x[f];
    }
    fail_msg("no feature %s", name);
    return 0;
}
