/* table/schema.c - see schema.h. */
#include "table/schema.h"

#include "base/mem.h"
#include "base/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DATE_FEATURES = 8, TIME_FEATURES = 2, FEATURES_MOST = 1 << 28 };

/* clang-format off */
static const char *const type_names[DROVE_N_COLUMN_TYPES] = {
    [DROVE_COLUMN_NUMBER] = "number",       [DROVE_COLUMN_BOOLEAN] = "boolean",
    [DROVE_COLUMN_DATE] = "date",           [DROVE_COLUMN_CATEGORY] = "category",
    [DROVE_COLUMN_HASHED] = "hashed",       [DROVE_COLUMN_TEXT] = "text",
    [DROVE_COLUMN_LABEL] = "label",         [DROVE_COLUMN_WEIGHT] = "weight",
    [DROVE_COLUMN_GROUP] = "group",
    [DROVE_COLUMN_ID] = "id",               [DROVE_COLUMN_CONSTANT] = "constant",
    [DROVE_COLUMN_FREE_TEXT] = "free text", [DROVE_COLUMN_IGNORED] = "ignored"};
/* clang-format on */

drove_status drove__schema_create(size_t n_columns, drove_schema **out)
{
    *out = NULL;
    drove_schema *schema = calloc(1, sizeof *schema);
    if (schema == NULL) return drove__fail_nomem("table", sizeof *schema);
    atomic_init(&schema->n_users, 1);
    schema->column = calloc(n_columns > 0 ? n_columns : 1, sizeof *schema->column);
    if (schema->column == NULL) {
        drove__schema_release(schema);
        return drove__fail_nomem("table", n_columns * sizeof *schema->column);
    }
    schema->n_columns = n_columns;
    *out = schema;
    return DROVE_OK;
}

drove_schema *drove__schema_retain(drove_schema *schema)
{
    /* Relaxed: the caller holds a reference already, so the count cannot reach 0 meanwhile. */
    if (schema != NULL) atomic_fetch_add_explicit(&schema->n_users, 1, memory_order_relaxed);
    return schema;
}

void drove__schema_release(drove_schema *schema)
{
    if (schema == NULL) return;
    /* Release: this user's reads are done.  Acquire, by the last user: so are all others' reads. */
    if (atomic_fetch_sub_explicit(&schema->n_users, 1, memory_order_acq_rel) > 1) return;
    for (size_t i = 0; i < schema->n_columns; i++) {
        drove_column *c = &schema->column[i];
        drove__texts_free(c->value, c->n_values);
        free(c->hash);
        free(c->bins.edge);
        free(c->levels.value);
        free(c->name);
    }
    free(schema->column);
    free(schema);
}

const char *drove__column_type_name(drove_column_type type)
{
    return type_names[type];
}

bool drove__column_type_find(const char *word, drove_column_type *out)
{
    for (int i = 0; i < DROVE_N_COLUMN_TYPES; i++) {
        if (strcmp(type_names[i], word) != 0) continue;
        *out = (drove_column_type)i;
        return true;
    }
    return false;
}

static const char *const order_names[DROVE_N_DATE_ORDERS] = {NULL, "dmy", "mdy"};

const char *drove__column_notation(const drove_column *column)
{
    if (column->type == DROVE_COLUMN_NUMBER) return drove__unit_text(&column->unit);
    return column->type == DROVE_COLUMN_DATE ? order_names[column->order] : NULL;
}

bool drove__date_order_find(const char *word, drove_date_order *out)
{
    for (int i = DROVE_DATE_DMY; i < DROVE_N_DATE_ORDERS; i++) {
        if (strcmp(order_names[i], word) != 0) continue;
        *out = (drove_date_order)i;
        return true;
    }
    return false;
}

bool drove__column_is_used(const drove_column *column)
{
    return column->type < DROVE_COLUMN_LABEL;
}

static size_t count_features(const drove_column *c)
{
    switch (c->type) {
    case DROVE_COLUMN_NUMBER: return 1 + c->bins.n + c->levels.n;
    case DROVE_COLUMN_BOOLEAN: return 1;
    case DROVE_COLUMN_DATE: return c->has_time ? DATE_FEATURES + TIME_FEATURES : DATE_FEATURES;
    case DROVE_COLUMN_CATEGORY: return c->n_values;
    case DROVE_COLUMN_HASHED:
    case DROVE_COLUMN_TEXT: return c->n_hash;
    default: return 0;
    }
}

drove_status drove__schema_finish(drove_schema *schema)
{
    size_t n = 0;
    for (size_t i = 0; i < schema->n_columns; i++) {
        drove_column *c = &schema->column[i];
        c->first_feature = n;
        c->n_features = count_features(c) + (drove__column_is_used(c) && c->has_missing);
        n += c->n_features;
        if (n > FEATURES_MOST)
            return drove__fail(DROVE_E_DATA, "expected at most %d features of a table, found more",
                               FEATURES_MOST);
    }
    schema->n_features = n;
    if (n > 0) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "expected a column to learn from, found none: all are the "
                                     "label, constant, ids or free text (?types= decides it)");
}

double drove__year_centre(const drove_column *c)
{
    return c->centre != 0 ? floor(1970 + c->centre / 365.2425) : 0;
}

/* ---- numbers that are categories as well ---- */

bool drove__column_may_be_both(const drove_column *c)
{
    return c->type == DROVE_COLUMN_NUMBER && c->is_whole && c->levels.n == 0 &&
           c->n_distinct >= DROVE_BOTH_LEAST && c->n_distinct <= DROVE_BOTH_MOST &&
           c->levels.n_rarest >= DROVE_BOTH_ROWS;
}

bool drove__schema_list_both(const drove_schema *schema, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < schema->n_columns; i++) {
        char name[256];
        if (!drove__column_may_be_both(&schema->column[i])) continue;
        const int n = snprintf(text + used, size - used, "%s%s", used > 0 ? "+" : "",
                               drove__spec_escape(schema->column[i].name, name, sizeof name));
        if (n < 0 || (size_t)n >= size - used) return false;
        used += (size_t)n;
    }
    return used > 0;
}

/* ---- features ---- */

static const drove_column *find_feature(const drove_schema *schema, size_t feature)
{
    size_t low = 0, high = schema->n_columns; /* the last column that begins at or before it */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (schema->column[middle].first_feature <= feature) low = middle;
        else high = middle;
    }
    return &schema->column[low];
}

bool drove__schema_is_binary(const drove_schema *schema, size_t feature)
{
    const drove_column *c = find_feature(schema, feature);
    const size_t at = feature - c->first_feature;
    const bool is_level = c->type == DROVE_COLUMN_NUMBER && at > c->bins.n;
    return is_level || at >= count_features(c) ||
           (c->type != DROVE_COLUMN_NUMBER && c->type != DROVE_COLUMN_DATE);
}

static bool same_column(const drove_column *a, const drove_column *b)
{
    if (a->type != b->type || strcmp(a->name, b->name) != 0) return false;
    if (!drove__column_is_used(a)) return true;
    if (a->is_wide != b->is_wide) return false;
    if (a->has_missing != b->has_missing || a->has_time != b->has_time) return false;
    if (a->order != b->order || !drove__unit_is_same(&a->unit, &b->unit)) return false;
    /* Without missing cells it stood for none in these data. */
    if (a->has_missing && !(a->fill == b->fill)) return false;
    if (!(a->centre == b->centre) || a->n_hash != b->n_hash || a->n_values != b->n_values)
        return false;
    if (a->bins.n != b->bins.n || a->levels.n != b->levels.n) return false;
    for (size_t i = 0; i < a->levels.n; i++) {
        if (!(a->levels.value[i] == b->levels.value[i])) return false;
    }
    for (size_t i = 0; a->bins.n > 0 && i <= a->bins.n; i++) {
        if (!(a->bins.edge[i] == b->bins.edge[i])) return false;
    }
    for (size_t i = 0; i < a->n_values; i++) {
        if (strcmp(a->value[i], b->value[i]) != 0) return false;
    }
    return true;
}

/* Columns that have no features may differ. */
bool drove__schema_equal(const drove_schema *a, const drove_schema *b)
{
    size_t i = 0, k = 0;
    if (a->n_features != b->n_features || a->is_sparse != b->is_sparse) return false;
    while (true) {
        while (i < a->n_columns && !drove__column_is_used(&a->column[i])) i++;
        while (k < b->n_columns && !drove__column_is_used(&b->column[k])) k++;
        if (i == a->n_columns || k == b->n_columns) return i == a->n_columns && k == b->n_columns;
        if (!same_column(&a->column[i++], &b->column[k++])) return false;
    }
}
