/* tests/fuzz/fuzz_schema.c - the schema of a table as it stands in a model file: what is accepted
 * has columns whose features follow each other, and is written as a text that gives it again. */
#include "table/schema.h"

#include "fuzz_text.h"

enum { FEATURES_MOST = 2000 };

static void check_features(const drove_schema *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_columns; i++) {
        if (s->column[i].name == NULL) abort();
        if (s->column[i].first_feature != n) abort();
        n += s->column[i].n_features;
    }
    if (n != s->n_features || n == 0) abort();
    for (size_t i = 0; i < n && i < FEATURES_MOST; i++) (void)drove__schema_is_binary(s, i);
}

static void check_printed(const drove_schema *s)
{
    char line[160], *text;
    FILE *none = fopen("/dev/null", "w");
    if (none == NULL) abort();
    drove__schema_print(s, none);
    fclose(none);
    for (unsigned i = 0; drove__schema_summary(s, i, line, sizeof line); i++) {
        if (i >= DROVE_SUMMARY_LINES_MOST || strpbrk(line, "\r\n") != NULL) abort();
    }
    if (drove__schema_columns_json(s, &text) != DROVE_OK) abort();
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    drove_schema *s, *again;
    char *printed, *second;
    char *text = fuzz_text(data, size_bytes);
    if (fuzz_is_ok(drove__schema_from_json(text, &s))) {
        check_features(s);
        check_printed(s);
        if (drove__schema_to_json(s, &printed) != DROVE_OK) abort();
        if (drove__schema_from_json(printed, &again) != DROVE_OK) abort();
        if (!drove__schema_equal(s, again)) abort();
        if (drove__schema_to_json(again, &second) != DROVE_OK) abort();
        if (strcmp(printed, second) != 0) abort();
        free(printed);
        free(second);
        drove__schema_release(again);
        drove__schema_release(s);
    } else if (s != NULL) {
        abort();
    }
    free(text);
    return 0;
}
