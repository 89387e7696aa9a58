/* table/schema_json.c - the schema in a model file.
 *
 *   {"version": 1, "header": true, "sparse": false, "columns": [
 *     {"name": "age", "type": "number", "missing": true, "fill": 28, "centre": 0,
 *      "edges": [1, 20, 33, 80]},
 *     {"name": "month", "type": "number", "missing": false, "fill": 6, "centre": 0,
 *      "levels": [1, 2, 3]},
 *     {"name": "sex", "type": "category", "missing": false, "values": ["man", "woman"]},
 *     {"name": "zip", "type": "hashed", "missing": false, "size": 1024},
 *     {"name": "born", "type": "date", "missing": false, "fill_seconds": 5000, "time": false,
 *      "centre": 0},
 *     {"name": "fee", "type": "number", "missing": false, "fill": 0, "centre": 0, "as": "$",
 *      "comma": true},
 *     {"name": "ms", "type": "number", "missing": false, "fill": 1.7e12, "centre": 1.7e12,
 *      "double": true},
 *     {"name": "survived", "type": "label"}]}
 */
#include "table/schema.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/sort.h"
#include "table/dictionary.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, COLUMNS_MOST = 1 << 20 };

/* ---- writing ---- */

static json_t *column_as_json(const drove_column *c)
{
    json_t *o = json_object();
    bool is_date = c->type == DROVE_COLUMN_DATE;
    drove__json_set(&o, "name", json_string(c->name));
    drove__json_set(&o, "type", json_string(drove__column_type_name(c->type)));
    if (!drove__column_is_used(c)) return o;
    drove__json_set(&o, "missing", json_boolean(c->has_missing));
    if (c->type == DROVE_COLUMN_NUMBER || c->type == DROVE_COLUMN_BOOLEAN)
        drove__json_set(&o, "fill", json_real(c->fill));
    if (is_date) drove__json_set(&o, "fill_seconds", json_real(c->fill));
    if (is_date) drove__json_set(&o, "time", json_boolean(c->has_time));
    if (is_date || c->type == DROVE_COLUMN_NUMBER)
        drove__json_set(&o, "centre", json_real(c->centre));
    if (drove__column_notation(c) != NULL)
        drove__json_set(&o, "as", json_string(drove__column_notation(c)));
    if (c->has_comma) drove__json_set(&o, "comma", json_true());
    if (c->is_wide) drove__json_set(&o, "double", json_true());
    if (c->bins.n > 0) {
        json_t *edges = json_array();
        for (size_t i = 0; i <= c->bins.n; i++) drove__json_add(&edges, json_real(c->bins.edge[i]));
        drove__json_set(&o, "edges", edges);
    }
    if (c->levels.n > 0) {
        json_t *levels = json_array();
        for (size_t i = 0; i < c->levels.n; i++)
            drove__json_add(&levels, json_real(c->levels.value[i]));
        drove__json_set(&o, "levels", levels);
    }
    if (c->type == DROVE_COLUMN_CATEGORY) {
        json_t *values = json_array();
        for (size_t i = 0; i < c->n_values; i++) drove__json_add(&values, json_string(c->value[i]));
        drove__json_set(&o, "values", values);
    }
    if (c->n_hash > 0) drove__json_set(&o, "size", json_integer(c->n_hash));
    return o;
}

drove_status drove__schema_to_json(const drove_schema *schema, char **out)
{
    json_t *root = json_object(), *columns = json_array();
    drove__json_set(&root, "version", json_integer(VERSION));
    drove__json_set(&root, "header", json_boolean(schema->has_header));
    drove__json_set(&root, "sparse", json_boolean(schema->is_sparse));
    for (size_t i = 0; i < schema->n_columns; i++)
        drove__json_add(&columns, column_as_json(&schema->column[i]));
    drove__json_set(&root, "columns", columns);
    *out = drove__json_dump(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(root);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("table", 0);
}

/* ---- for programs ---- */

drove_status drove__schema_columns_json(const drove_schema *schema, char **out)
{
    json_t *columns = json_array();
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        bool is_counted = c->n_distinct > 0 || c->type == DROVE_COLUMN_CONSTANT;
        drove__json_add(
            &columns,
            json_pack("{s:s, s:s, s:s?, s:o, s:I, s:I, s:I}", "name", c->name, "type",
                      drove__column_type_name(c->type), "as", drove__column_notation(c), "distinct",
                      is_counted ? json_integer((json_int_t)c->n_distinct) : json_null(), "missing",
                      (json_int_t)c->n_missing, "features", (json_int_t)c->n_features, "levels",
                      (json_int_t)c->levels.n));
    }
    bool is_whole = json_array_size(columns) == schema->n_columns;
    *out = is_whole ? drove__json_dump(columns, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(columns);
    return *out != NULL ? DROVE_OK : drove__fail_nomem("table", 0);
}

/* ---- reading ---- */

static drove_status fail(const char *column, const char *expected)
{
    return drove__fail(DROVE_E_DATA, "table: column \"%.80s\": expected %s", column, expected);
}

static drove_status read_real(const json_t *o, const char *key, const char *column, double *out)
{
    const json_t *value = json_object_get(o, key);
    if (!json_is_number(value) || !isfinite(json_number_value(value)))
        return drove__fail(DROVE_E_DATA, "table: column \"%.80s\": expected a number as \"%s\"",
                           column, key);
    *out = json_number_value(value);
    return DROVE_OK;
}

static drove_status read_values(const json_t *o, drove_column *c)
{
    const json_t *values = json_object_get(o, "values");
    size_t n = json_array_size(values);
    if (n == 0 || n > DROVE_DICTIONARY_MOST) return fail(c->name, "1 to 4096 values");
    c->value = calloc(n, sizeof *c->value);
    c->hash = calloc(n, sizeof *c->hash);
    c->n_values = n;
    if (c->value == NULL || c->hash == NULL) return drove__fail_nomem("table", n * sizeof(char *));
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(values, i));
        if (text == NULL) return fail(c->name, "texts as values");
        if (i > 0 && strcmp(c->value[i - 1], text) >= 0)
            return fail(c->name, "ascending values, each once");
        c->value[i] = strdup(text);
        if (c->value[i] == NULL) return drove__fail_nomem("table", strlen(text));
        c->hash[i] = drove__text_hash(text, strlen(text));
    }
    return DROVE_OK;
}

/* An array of finite ascending numbers, which may be missing: *out NULL then. */
static drove_status read_ascending(const json_t *o, const char *key, size_t least, size_t most,
                                   const char *column, double **out, size_t *n_out)
{
    const json_t *list = json_object_get(o, key);
    const size_t n = json_array_size(list);
    if (list == NULL) return DROVE_OK;
    if (n < least || n > most)
        return drove__fail(DROVE_E_DATA,
                           "table: column \"%.80s\": expected %zu to %zu numbers as \"%s\"", column,
                           least, most, key);
    *out = drove__grow(NULL, n, sizeof **out);
    if (*out == NULL) return drove__fail_nomem("table", n * sizeof **out);
    for (size_t i = 0; i < n; i++) {
        const json_t *number = json_array_get(list, i);
        (*out)[i] = json_number_value(number);
        if (!json_is_number(number) || !(fabs((*out)[i]) <= (double)FLT_MAX) ||
            (i > 0 && !((*out)[i] > (*out)[i - 1])))
            return drove__fail(
                DROVE_E_DATA,
                "table: column \"%.80s\": expected finite ascending numbers as \"%s\"", column,
                key);
    }
    *n_out = n;
    return DROVE_OK;
}

static drove_status read_column(const json_t *o, drove_column *c)
{
    const char *name = json_string_value(json_object_get(o, "name"));
    const char *type = json_string_value(json_object_get(o, "type"));
    if (name == NULL) return drove__fail(DROVE_E_DATA, "table: expected columns with names");
    c->name = strdup(name);
    if (c->name == NULL) return drove__fail_nomem("table", strlen(name));
    if (type == NULL || !drove__column_type_find(type, &c->type)) return fail(name, "a known type");
    if (!drove__column_is_used(c)) return DROVE_OK;
    c->has_missing = json_is_true(json_object_get(o, "missing"));
    c->has_time = json_is_true(json_object_get(o, "time"));
    c->has_comma = json_is_true(json_object_get(o, "comma"));
    c->is_wide = json_is_true(json_object_get(o, "double"));
    if (c->type == DROVE_COLUMN_CATEGORY) return read_values(o, c);
    if (c->type == DROVE_COLUMN_HASHED || c->type == DROVE_COLUMN_TEXT) {
        json_int_t n = json_integer_value(json_object_get(o, "size"));
        if (n < 1 || n > 1 << 24 || (n & (n - 1)) != 0)
            return fail(c->name, "a power of two as \"size\"");
        c->n_hash = (uint32_t)n;
        return DROVE_OK;
    }
    const bool is_date = c->type == DROVE_COLUMN_DATE;
    DROVE_TRY(read_real(o, is_date ? "fill_seconds" : "fill", name, &c->fill));
    if (is_date && !(fabs(c->fill) <= DROVE_SECONDS_MOST))
        return fail(name, "a date between the years -9999 and 9999 to fill in");
    if (!(fabs(c->fill) <= (double)FLT_MAX)) return fail(name, "a finite float as \"fill\"");
    if (c->type == DROVE_COLUMN_NUMBER) {
        size_t n_edges = 0; /* none: no bins */
        DROVE_TRY(
            read_ascending(o, "edges", 2, DROVE_BINS_MOST + 1, name, &c->bins.edge, &n_edges));
        c->bins.n = n_edges > 0 ? n_edges - 1 : 0;
        DROVE_TRY(read_ascending(o, "levels", 1, DROVE_DICTIONARY_MOST, name, &c->levels.value,
                                 &c->levels.n));
    }
    if (c->type != DROVE_COLUMN_BOOLEAN) {
        /* "as" of a number or a date may be missing: the usual notation. */
        const json_t *value = json_object_get(o, "as");
        const char *text = json_string_value(value);
        if (value != NULL) {
            bool is_known = text != NULL && (c->type == DROVE_COLUMN_DATE
                                                 ? drove__date_order_find(text, &c->order)
                                                 : drove__unit_set(text, strlen(text), &c->unit));
            if (!is_known) return fail(c->name, "a unit, dmy or mdy as \"as\"");
        }
    }
    return c->type == DROVE_COLUMN_BOOLEAN ? DROVE_OK : read_real(o, "centre", name, &c->centre);
}

static drove_status read_root(const json_t *root, drove_schema **out)
{
    const json_t *columns = json_object_get(root, "columns");
    size_t n = json_array_size(columns);
    if (json_integer_value(json_object_get(root, "version")) != VERSION)
        return drove__fail(DROVE_E_DATA, "table: expected version %d of the description", VERSION);
    if (n == 0 || n > COLUMNS_MOST)
        return drove__fail(DROVE_E_DATA, "table: expected 1 to %d columns, found %zu", COLUMNS_MOST,
                           n);
    DROVE_TRY(drove__schema_create(n, out));
    drove_schema *schema = *out;
    schema->has_header = json_is_true(json_object_get(root, "header"));
    schema->is_sparse = json_is_true(json_object_get(root, "sparse"));
    for (size_t i = 0; i < n; i++) schema->column[i].type = DROVE_COLUMN_IGNORED;
    for (size_t i = 0; i < n; i++)
        DROVE_TRY(read_column(json_array_get(columns, i), &schema->column[i]));
    /* Data are matched by name. */
    const char **name = drove__grow(NULL, schema->n_columns, sizeof *name);
    drove_status status = DROVE_OK;
    if (name == NULL) return drove__fail_nomem("table", schema->n_columns * sizeof *name);
    for (size_t i = 0; i < schema->n_columns; i++) name[i] = schema->column[i].name;
    qsort(name, schema->n_columns, sizeof *name, drove__compare_texts);
    for (size_t i = 1; i < schema->n_columns && status == DROVE_OK; i++) {
        if (strcmp(name[i - 1], name[i]) == 0) status = fail(name[i], "each name once");
    }
    free(name);
    DROVE_TRY(status);
    return drove__schema_finish(schema);
}

drove_status drove__schema_from_json(const char *text, drove_schema **out)
{
    json_t *root;
    json_error_t error;
    *out = NULL;
    drove_status status = drove__json_parse(text, strlen(text), 0, &error, &root);
    if (status == DROVE_E_NOMEM) return status;
    status = json_is_object(root) ? read_root(root, out)
                                  : drove__fail(DROVE_E_DATA, "table: expected a JSON object");
    json_decref(root);
    if (status == DROVE_OK) return DROVE_OK;
    drove__schema_release(*out);
    *out = NULL;
    return status;
}
