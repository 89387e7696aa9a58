/* table/schema_print.c - the understood table, for people. */
#include "table/schema.h"

#include "base/print.h"

#include <stdarg.h>
#include <string.h>

enum { TYPE_SIZE = 40, TYPE_WIDTH = 19, NAME_WIDTH_MOST = 32, NAME_SIZE = 8 * NAME_WIDTH_MOST };

static const char *type_text(const drove_column *c, char into[TYPE_SIZE])
{
    switch (c->type) {
    case DROVE_COLUMN_NUMBER:
        if (drove__unit_text(&c->unit) == NULL && c->levels.n == 0) break;
        snprintf(into, TYPE_SIZE, "number%s%s%s", c->levels.n > 0 ? " + category" : "",
                 drove__unit_text(&c->unit) != NULL ? ", " : "",
                 drove__unit_text(&c->unit) != NULL ? drove__unit_text(&c->unit) : "");
        return into;
    case DROVE_COLUMN_DATE:
        if (c->order == DROVE_DATE_DMY) return "date, day first";
        if (c->order == DROVE_DATE_MDY) return "date, month first";
        break;
    case DROVE_COLUMN_GROUP: return "group, left out";
    case DROVE_COLUMN_ID: return "id, left out";
    case DROVE_COLUMN_CONSTANT: return "constant, left out";
    case DROVE_COLUMN_FREE_TEXT: return "free text, left out";
    case DROVE_COLUMN_HASHED: return "category, hashed";
    default: break;
    }
    return drove__column_type_name(c->type);
}

/* Characters of a text in UTF-8, up to NAME_WIDTH_MOST, and their bytes. */
static int count_characters(const char *text, int *n_bytes)
{
    int n = 0, at = 0;
    for (; text[at] != '\0'; at++) {
        if (((unsigned char)text[at] & 0xc0u) == 0x80) continue;
        if (n == NAME_WIDTH_MOST) break;
        n++;
    }
    *n_bytes = at;
    return n;
}

void drove__schema_print(const drove_schema *schema, FILE *stream)
{
    char name[NAME_SIZE], examples[2 * DROVE_EXAMPLES_SIZE];
    int width = 6, n_bytes;
    for (size_t i = 0; i < schema->n_columns; i++) {
        drove__print_plain(schema->column[i].name, name, sizeof name);
        int n = count_characters(name, &n_bytes);
        if (n > width) width = n;
    }
    fprintf(stream, "%-*s  %-19s  %8s  %8s  %-14s  %s\n", width, "column", "type", "distinct",
            "missing", "features", "examples");
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        char features[40], distinct[32], type[TYPE_SIZE];
        const char *type_shown = type_text(c, type);
        int n_type, type_width = count_characters(type_shown, &n_type);
        snprintf(features, sizeof features, "%zu%s", c->n_features - (c->has_missing ? 1 : 0),
                 c->has_missing ? " + missing" : "");
        if (!drove__column_is_used(c)) snprintf(features, sizeof features, "-");
        snprintf(distinct, sizeof distinct, "%s%llu", c->is_distinct_least ? ">" : "",
                 (unsigned long long)c->n_distinct);
        if (c->n_distinct == 0 && c->type != DROVE_COLUMN_CONSTANT) /* not counted */
            snprintf(distinct, sizeof distinct, "-");
        drove__print_plain(c->examples, examples, sizeof examples);
        int n = count_characters(drove__print_plain(c->name, name, sizeof name), &n_bytes);
        fprintf(stream, "%.*s%*s  %s%*s  %8s  %8llu  %-14s  %s\n", n_bytes, name, width - n, "",
                type_shown, TYPE_WIDTH - type_width, "", distinct, (unsigned long long)c->n_missing,
                features, examples);
    }
}

/* ---- the short version ---- */

/* Appends; marks a text that does not fit with "..." at its end. */
static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    if (n >= 0 && (size_t)n >= size - used && size > 4) memcpy(text + size - 4, "...", 4);
}

/* "number: age, fare (1 with missing cells)"; false: there is no such column. */
static bool list_type(const drove_schema *schema, drove_column_type type, char *text, size_t size)
{
    static const char *const advice[DROVE_N_COLUMN_TYPES] = {
        [DROVE_COLUMN_GROUP] = " (left out; ?types=NAME:category uses it)",
        [DROVE_COLUMN_ID] = " (left out; ?types=NAME:category uses one)",
        [DROVE_COLUMN_CONSTANT] = "; left out",
        [DROVE_COLUMN_FREE_TEXT] = " (left out; ?text=NAME uses its words)",
        [DROVE_COLUMN_IGNORED] = " (left out)"};
    enum { NAMES_MOST = 12 };
    size_t n = 0, n_missing = 0, n_features = 0;
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (c->type != type) continue;
        if (n == 0) append(text, size, "%s:", drove__column_type_name(type));
        const bool is_empty = type == DROVE_COLUMN_CONSTANT && c->n_distinct == 0;
        if (n < NAMES_MOST)
            append(text, size, "%s %.40s%s", n > 0 ? "," : "", c->name,
                   !is_empty            ? ""
                   : c->n_infinite == 0 ? " (empty)"
                                        : " (no finite number)");
        n++;
        n_missing += c->has_missing;
        n_features += c->n_features;
    }
    if (n == 0) return false;
    if (n > NAMES_MOST) append(text, size, " ... (%zu)", n);
    if (advice[type] != NULL) append(text, size, "%s", advice[type]);
    if (type >= DROVE_COLUMN_LABEL) return true;
    append(text, size, " -> %zu feature%s", n_features, n_features == 1 ? "" : "s");
    if (n_missing > 0) append(text, size, ", %zu with missing cells", n_missing);
    return true;
}

bool drove__schema_summary(const drove_schema *schema, unsigned line, char *text, size_t size)
{
    unsigned at = 0;
    for (int type = 0; type < DROVE_N_COLUMN_TYPES; type++) {
        text[0] = '\0';
        if (!list_type(schema, (drove_column_type)type, text, size)) continue;
        if (at++ == line) return true;
    }
    return false;
}
