/* data/read/arrow_type.c - reads the format strings of the Arrow C data interface.
 *
 * Source: "Data type description - format strings" of its specification.
 */
#include "data/read/arrow_type.h"

#include "base/mem.h"
#include "base/spec.h"
#include "table/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DECIMAL_DIGITS_MOST = 76, FORMAT_SHOWN = 40 };

#define SECONDS_OF_DAY 86400

static const struct {
    const char *format;
    drove_arrow_type type;
} plain[] = {
    {"n", {.kind = DROVE_ARROW_NULL}},
    {"b", {.kind = DROVE_ARROW_BOOL}},
    {"c", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 1}},
    {"C", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 1, .is_unsigned = true}},
    {"s", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 2}},
    {"S", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 2, .is_unsigned = true}},
    {"i", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 4}},
    {"I", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 4, .is_unsigned = true}},
    {"l", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 8}},
    {"L", {.kind = DROVE_ARROW_INTEGER, .n_bytes = 8, .is_unsigned = true}},
    {"e", {.kind = DROVE_ARROW_FLOAT, .n_bytes = 2}},
    {"f", {.kind = DROVE_ARROW_FLOAT, .n_bytes = 4}},
    {"g", {.kind = DROVE_ARROW_FLOAT, .n_bytes = 8}},
    {"u", {.kind = DROVE_ARROW_TEXT, .n_bytes = 4}},
    {"U", {.kind = DROVE_ARROW_TEXT, .n_bytes = 8}},
    {"vu", {.kind = DROVE_ARROW_VIEW, .n_bytes = 16}},
    {"tdD", {.kind = DROVE_ARROW_DATE, .n_bytes = 4, .per_day = 1}},
    {"tdm", {.kind = DROVE_ARROW_DATE, .n_bytes = 8, .per_day = SECONDS_OF_DAY * INT64_C(1000)}},
    {"tts", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 4, .per_second = 1}},
    {"ttm", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 4, .per_second = 1000}},
    {"ttu", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 8, .per_second = 1000000}},
    {"ttn", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 8, .per_second = 1000000000}},
    {"tDs", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 8, .per_second = 1}},
    {"tDm", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 8, .per_second = 1000}},
    {"tDu", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 8, .per_second = 1000000}},
    {"tDn", {.kind = DROVE_ARROW_SECONDS, .n_bytes = 8, .per_second = 1000000000}},
};

static const struct {
    const char *start;
    int64_t per_day;
} stamps[] = {{"tss:", SECONDS_OF_DAY},
              {"tsm:", SECONDS_OF_DAY *INT64_C(1000)},
              {"tsu:", SECONDS_OF_DAY *INT64_C(1000000)},
              {"tsn:", SECONDS_OF_DAY *INT64_C(1000000000)}};

static const struct {
    const char *start, *name;
} refused[] = {{"z", "binary"},
               {"Z", "large_binary"},
               {"vz", "binary_view"},
               {"w:", "fixed_size_binary"},
               {"+l", "list"},
               {"+L", "large_list"},
               {"+vl", "list_view"},
               {"+vL", "large_list_view"},
               {"+w:", "fixed_size_list"},
               {"+s", "struct"},
               {"+m", "map"},
               {"+u", "union"},
               {"+r", "run_end_encoded"},
               {"ti", "interval"}};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS" */
static bool read_decimal(const char *format, drove_arrow_type *out)
{
    const char *at = format + 2, *end = format + strlen(format);
    uint64_t precision, scale, bits = 128;
    if (!drove__scan_u64(at, end, &at, &precision) || *at++ != ',') return false;
    const bool is_negative = *at == '-';
    at += is_negative;
    if (!drove__scan_u64(at, end, &at, &scale)) return false;
    if (*at == ',' && !drove__scan_u64(at + 1, end, &at, &bits)) return false;
    const bool is_size = bits == 32 || bits == 64 || bits == 128 || bits == 256;
    if (*at != '\0' || !is_size || precision == 0 || precision > DECIMAL_DIGITS_MOST ||
        scale > DECIMAL_DIGITS_MOST)
        return false;
    *out = (drove_arrow_type){.kind = DROVE_ARROW_DECIMAL,
                              .n_bytes = (unsigned)bits / 8,
                              .scale = is_negative ? -(int)scale : (int)scale};
    return true;
}

static bool find_type(const char *format, drove_arrow_type *out)
{
    for (size_t i = 0; i < DROVE_COUNT(plain); i++) {
        if (strcmp(plain[i].format, format) != 0) continue;
        *out = plain[i].type;
        return true;
    }
    for (size_t i = 0; i < DROVE_COUNT(stamps); i++) {
        if (!starts_with(format, stamps[i].start)) continue;
        *out = (drove_arrow_type){.kind = DROVE_ARROW_DATE,
                                  .n_bytes = 8,
                                  .per_day = stamps[i].per_day};
        return true;
    }
    return starts_with(format, "d:") && read_decimal(format, out);
}

static drove_status read_type(const struct ArrowSchema *schema, const char *name,
                              drove_arrow_type *out)
{
    const char *format = schema->format;
    if (schema->release == NULL || format == NULL)
        return drove__fail(DROVE_E_DATA,
                           "arrow: column \"%.80s\": expected a type, found a schema that %s", name,
                           format == NULL ? "has none" : "was released");
    if (find_type(format, out)) {
        if (schema->n_children == 0) return DROVE_OK;
        return drove__fail(
            DROVE_E_DATA,
            "arrow: column \"%.80s\": expected no children of a type \"%.*s\", found "
            "%lld",
            name, FORMAT_SHOWN, format, (long long)schema->n_children);
    }
    for (size_t i = 0; i < DROVE_COUNT(refused); i++) {
        if (!starts_with(format, refused[i].start)) continue;
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "arrow: column \"%.80s\": expected numbers, truth values, dates, texts "
                           "or categories, found the type %s",
                           name, refused[i].name);
    }
    return drove__fail(DROVE_E_DATA,
                       "arrow: column \"%.80s\": expected a format of the Arrow C data interface, "
                       "found \"%.*s\"",
                       name, FORMAT_SHOWN, format);
}

drove_status drove__arrow_field(const struct ArrowSchema *schema, size_t i, drove_arrow_field *out)
{
    *out = (drove_arrow_field){0};
    const struct ArrowSchema *child = schema->children != NULL ? schema->children[i] : NULL;
    if (child == NULL)
        return drove__fail(DROVE_E_DATA, "arrow: column %zu: expected a schema, found none", i + 1);
    /* As in a file, a column without a name is called by its number. */
    char number[32];
    const char *name = child->name;
    if (name == NULL || *name == '\0') {
        snprintf(number, sizeof number, "column%zu", i + 1);
        name = number;
    }
    if (!drove__is_utf8(name, strlen(name)))
        return drove__fail(DROVE_E_DATA,
                           "arrow: column %zu: expected a name in UTF-8, found other bytes", i + 1);
    out->name = strdup(name);
    if (out->name == NULL) return drove__fail_nomem("names of columns", strlen(name));
    DROVE_TRY(read_type(child, out->name, &out->type));
    if (child->dictionary == NULL) return DROVE_OK;
    out->is_dictionary = true;
    if (out->type.kind != DROVE_ARROW_INTEGER)
        return drove__fail(DROVE_E_DATA,
                           "arrow: column \"%.80s\": expected integers as indices of a dictionary, "
                           "found the type \"%.*s\"",
                           out->name, FORMAT_SHOWN, child->format);
    DROVE_TRY(read_type(child->dictionary, out->name, &out->value));
    if (child->dictionary->dictionary == NULL) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "arrow: column \"%.80s\": expected a dictionary of values, found one of "
                       "dictionaries",
                       out->name);
}

drove_frame_type drove__arrow_frame_type(const drove_arrow_type *type)
{
    switch (type->kind) {
    case DROVE_ARROW_BOOL: return DROVE_FRAME_BOOLEAN;
    case DROVE_ARROW_INTEGER: return DROVE_FRAME_INTEGER;
    case DROVE_ARROW_FLOAT:
    case DROVE_ARROW_DECIMAL:
    case DROVE_ARROW_SECONDS: return DROVE_FRAME_NUMBER;
    case DROVE_ARROW_DATE: return DROVE_FRAME_DATE;
    case DROVE_ARROW_NULL:
    case DROVE_ARROW_TEXT:
    case DROVE_ARROW_VIEW: break;
    }
    return DROVE_FRAME_TEXT;
}

bool drove__arrow_is_wide(const drove_arrow_type *type)
{
    return (type->kind == DROVE_ARROW_FLOAT && type->n_bytes == sizeof(double)) ||
           type->kind == DROVE_ARROW_DECIMAL || type->kind == DROVE_ARROW_SECONDS;
}
