/* table/match.c - matches the columns of a further file with a schema, by their names. */
#include "table/table.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct named { /* columns of the file, sorted by name */
    const char *name;
    size_t column;
} named;

static int compare_named(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* source[i] of every column of the schema; *n_extra: columns of the file that it does not have. */
static drove_status find_sources(drove_known_table *known, size_t *n_extra, const char **extra)
{
    const drove_table *t = &known->table;
    const drove_schema *schema = known->schema;
    named *sorted = drove__grow(NULL, t->n_columns, sizeof *sorted);
    bool *is_known = calloc(t->n_columns, sizeof *is_known);
    known->source = drove__grow(NULL, schema->n_columns, sizeof *known->source);
    if (sorted == NULL || is_known == NULL || known->source == NULL) {
        free(sorted);
        free(is_known);
        return drove__fail_nomem("columns of a table", t->n_columns * sizeof *sorted);
    }
    for (size_t i = 0; i < t->n_columns; i++) sorted[i] = (named){t->name[i], i};
    qsort(sorted, t->n_columns, sizeof *sorted, compare_named);
    for (size_t i = 0; i < schema->n_columns; i++) {
        const named wanted = {.name = schema->column[i].name};
        const named *found = bsearch(&wanted, sorted, t->n_columns, sizeof *sorted, compare_named);
        known->source[i] = found != NULL ? found->column : SIZE_MAX;
        if (found != NULL) is_known[found->column] = true;
    }
    *n_extra = 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        if (!is_known[i] && (*n_extra)++ == 0) *extra = t->name[i];
    }
    free(sorted);
    free(is_known);
    return DROVE_OK;
}

static drove_status add_label(void *context, size_t column)
{
    drove_known_table *known = context;
    known->label[known->n_labels++] = column;
    return DROVE_OK;
}

static drove_status find_labels(drove_known_table *known, const char *label, bool use_labels)
{
    const drove_table *t = &known->table;
    const drove_schema *schema = known->schema;
    if (!use_labels) return DROVE_OK;
    known->label = drove__grow(NULL, t->n_columns + schema->n_columns, sizeof *known->label);
    if (known->label == NULL) return drove__fail_nomem("labels", t->n_columns);
    if (label != NULL && strcmp(label, "first") == 0) return add_label(known, 0);
    if (label != NULL && strcmp(label, "last") == 0) return add_label(known, t->n_columns - 1);
    if (label != NULL) return drove__table_list(t, "label", label, add_label, known);
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (schema->column[i].type != DROVE_COLUMN_LABEL) continue;
        if (known->source[i] != SIZE_MAX) {
            known->label[known->n_labels++] = known->source[i];
            continue;
        }
        /* names count by case, but one in another case is a likely mistake */
        const char *name = schema->column[i].name, *other = NULL;
        for (size_t k = 0; k < t->n_columns && other == NULL; k++)
            if (strcasecmp(t->name[k], name) == 0) other = t->name[k];
        if (other == NULL)
            return drove__fail(DROVE_E_SHAPE, "%s: expected the label column \"%.80s\", found none",
                               t->path, name);
        return drove__fail(DROVE_E_SHAPE,
                           "%s: expected the label column \"%.80s\", found \"%.80s\" (--label "
                           "%.80s takes it)",
                           t->path, name, other, other);
    }
    return DROVE_OK;
}

static drove_status find_weights(drove_known_table *known, const char *name, bool use_labels)
{
    const drove_table *t = &known->table;
    const drove_schema *schema = known->schema;
    if (!use_labels || (name != NULL && strcmp(name, "none") == 0)) return DROVE_OK;
    if (name != NULL) return drove__table_find(t, "weights", name, strlen(name), &known->weight);
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (schema->column[i].type != DROVE_COLUMN_WEIGHT) continue;
        if (known->source[i] == SIZE_MAX)
            return drove__fail(DROVE_E_SHAPE,
                               "%s: expected the weights in column \"%.80s\", found none "
                               "(?weights=none counts each row once)",
                               t->path, schema->column[i].name);
        known->weight = known->source[i];
    }
    return DROVE_OK;
}

/* The weights may also be a feature of a model that was trained without them. */
static drove_status scan_weights(drove_known_table *known, const drove_sample *sample,
                                 bool has_comma)
{
    drove_table *t = &known->table;
    if (known->weight == SIZE_MAX) return DROVE_OK;
    drove_scan_column *column = &t->column[known->weight];
    if (column->scan == DROVE_SCAN_NUMBER) return DROVE_OK;
    if (column->scan != DROVE_SCAN_SKIP)
        return drove__fail(DROVE_E_ARG,
                           "weights: expected a column of numbers that is not the label of %s, "
                           "found \"%.80s\"",
                           t->path, t->name[known->weight]);
    column->scan = DROVE_SCAN_NUMBER;
    column->style = drove__sample_style(&sample[known->weight], t->dialect.separator, has_comma);
    column->slot = t->n_slots++;
    return DROVE_OK;
}

drove_scan drove__scan_of(drove_column_type type)
{
    switch (type) {
    case DROVE_COLUMN_NUMBER: return DROVE_SCAN_NUMBER;
    case DROVE_COLUMN_BOOLEAN: return DROVE_SCAN_BOOLEAN;
    case DROVE_COLUMN_DATE: return DROVE_SCAN_DATE;
    case DROVE_COLUMN_CATEGORY:
    case DROVE_COLUMN_HASHED: return DROVE_SCAN_TEXT;
    case DROVE_COLUMN_TEXT: return DROVE_SCAN_WORDS;
    default: return DROVE_SCAN_SKIP;
    }
}

/* Numbers may be written in another form than in the training data. */
static drove_status choose_scans(drove_known_table *known)
{
    drove_table *t = &known->table;
    drove_sample *sample = calloc(t->n_columns, sizeof *sample);
    bool has_comma;
    if (sample == NULL) return drove__fail_nomem("columns", t->n_columns * sizeof *sample);
    drove__table_sample(t, known->label, known->n_labels, sample, &has_comma);
    /* No column has a decimal point that is none of thousands; between commas it is decimal. */
    bool no_point = t->dialect.separator != ',';
    for (size_t i = 0; i < t->n_columns && no_point; i++) {
        const size_t *n = sample[i].n_form;
        no_point = n[DROVE_FORM_POINT] <= n[DROVE_FORM_COMMA] ||
                   n[DROVE_FORM_POINT] <= n[DROVE_FORM_COMMA_GROUPS];
    }
    for (size_t i = 0; i < known->schema->n_columns; i++) {
        const drove_column *c = &known->schema->column[i];
        size_t from = known->source[i];
        if (!drove__column_is_used(c)) continue;
        drove_scan_column *column = &t->column[from];
        column->scan = drove__scan_of(c->type);
        column->style = drove__sample_style(&sample[from], t->dialect.separator, has_comma);
        if (c->has_comma) {
            /* Reads 1,234 as in the training data if it may be either; so 1.234 if no_point. */
            const drove_sample *s = &sample[from];
            const size_t *n = s->n_form;
            if (column->style.form == DROVE_FORM_POINT_GROUPS &&
                n[DROVE_FORM_COMMA] >= n[DROVE_FORM_POINT_GROUPS])
                column->style.form = DROVE_FORM_COMMA;
            if (column->style.form == DROVE_FORM_POINT && n[DROVE_FORM_POINT] > s->n_integer &&
                no_point && n[DROVE_FORM_COMMA_GROUPS] >= n[DROVE_FORM_POINT])
                column->style.form = DROVE_FORM_COMMA_GROUPS;
        }
        if (drove__unit_is_clock(&c->unit)) column->style.form = DROVE_FORM_POINT;
        column->style.unit = c->unit;
        column->style.is_unit_optional = true;
        column->order = c->order;
        column->takes_ymd = true;
        column->is_wide =
            column->scan == DROVE_SCAN_DATE || (column->scan == DROVE_SCAN_NUMBER && c->is_wide);
        column->slot = t->n_slots++;
    }
    if (known->group != SIZE_MAX && t->column[known->group].scan == DROVE_SCAN_SKIP) {
        t->column[known->group].scan = DROVE_SCAN_TEXT;
        t->column[known->group].slot = t->n_slots++;
    }
    t->n_labels = known->n_labels;
    for (size_t i = 0; i < known->n_labels; i++) {
        size_t from = known->label[i];
        const drove_sample *s = &sample[from];
        t->column[from].scan = DROVE_SCAN_LABEL;
        t->column[from].style = drove__sample_style(s, t->dialect.separator, has_comma);
        t->column[from].slot = i;
        known->label_style = t->column[from].style;
        known->label_is_number =
            s->n_present > 0 && s->n_form[known->label_style.form] == s->n_present;
    }
    drove_status status = scan_weights(known, sample, has_comma);
    free(sample);
    return status;
}

/* ---- remarks ---- */

static void note_unseen(drove_known_table *known, const drove_column *c, const drove_dictionary *d)
{
    uint64_t n = 0;
    const drove_entry *shown = NULL;
    for (size_t i = 0; i < d->n; i++) {
        const drove_entry *e = &d->entry[i];
        size_t k = 0;
        while (k < c->n_values && c->hash[k] != e->hash) k++;
        if (k < c->n_values) continue; /* the training data have it */
        n += d->n_cells[i];
        if (shown == NULL || e->cell.text < shown->cell.text) shown = e;
    }
    if (n == 0) return;
    drove__known_note(known,
                      "column \"%.40s\": %s%llu cell%s with a value that the training data do not "
                      "have count%s as missing (\"%.*s\")",
                      c->name, d->is_full ? "at least " : "", (unsigned long long)n,
                      n == 1 ? "" : "s", n == 1 ? "s" : "",
                      (int)(shown->cell.length < 40 ? shown->cell.length : 40), shown->cell.text);
}

drove_status drove__table_match(const drove_table_options *opt, drove_schema *schema,
                                bool use_labels, drove_known_table *out)
{
    *out = (drove_known_table){.weight = SIZE_MAX, .group = SIZE_MAX};
    drove_header header = opt->header;
    const char **name = drove__grow(NULL, schema->n_columns, sizeof *name);
    if (name == NULL) return drove__fail_nomem("columns of a table", schema->n_columns);
    for (size_t i = 0; i < schema->n_columns; i++) name[i] = schema->column[i].name;
    if (header == DROVE_HEADER_AUTO && !schema->has_header) header = DROVE_HEADER_NO;
    drove_status status =
        drove__table_open(opt->path, &opt->written, header, name,
                          schema->has_header ? schema->n_columns : 0, &out->table);
    free(name);
    if (status != DROVE_OK) return status;
    out->schema = drove__schema_retain(schema);

    size_t n_extra;
    const char *extra = "";
    DROVE_TRY(find_sources(out, &n_extra, &extra));

    /* all columns of the features are there */
    char names[256] = "";
    size_t n_lacking = 0, used = 0;
    for (size_t i = 0; i < schema->n_columns; i++) {
        if (!drove__column_is_used(&schema->column[i]) || out->source[i] != SIZE_MAX) continue;
        if (n_lacking < 4)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%.40s\"",
                                     n_lacking > 0 ? ", " : "", schema->column[i].name);
        n_lacking++;
    }
    if (n_lacking > 0)
        return drove__fail(DROVE_E_SHAPE,
                           "%s: expected the columns of the training data; %zu missing: %s%s%s",
                           out->table.path, n_lacking, names, n_lacking > 4 ? " ..." : "",
                           schema->has_header && !out->table.has_header
                               ? " (a first line with their names was not found)"
                               : "");

    DROVE_TRY(find_labels(out, opt->label, use_labels));
    DROVE_TRY(find_weights(out, opt->weights, use_labels));
    if (use_labels && opt->group != NULL)
        DROVE_TRY(drove__table_find(&out->table, "split=group", opt->group, strlen(opt->group),
                                    &out->group));
    drove__known_note_file(out, false);
    if (n_extra > 0)
        drove__known_note(out, "%zu column%s of no use to the model left out (\"%.40s\"%s)",
                          n_extra, n_extra == 1 ? "" : "s", extra, n_extra > 1 ? " ..." : "");
    DROVE_TRY(choose_scans(out));
    DROVE_TRY(drove__table_scan(&out->table));

    /* remarks on cells that are unlike those of the training data */
    const uint64_t least_rows = 10, n_rows = out->table.n_rows;
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (!drove__column_is_used(c)) continue;
        const drove_column_count *count = &out->table.count[out->source[i]];
        /* an empty column of a few rows is nothing unusual */
        if (n_rows >= least_rows && count->odd.n == 0 && count->n_infinite == 0 &&
            count->n_missing >= n_rows)
            drove__known_note(out, "column \"%.40s\": all %llu cells are missing", c->name,
                              (unsigned long long)n_rows);
        if (c->type == DROVE_COLUMN_CATEGORY) note_unseen(out, c, &count->dictionary);
        drove__known_note_infinite(out, c->name, count);
        if (count->odd.n == 0) continue;
        drove__known_note(out,
                          "column \"%.40s\": %llu cell%s no %s and count%s as missing, first "
                          "in row %llu",
                          c->name, (unsigned long long)count->odd.n,
                          count->odd.n == 1 ? " is" : "s are", drove__column_type_name(c->type),
                          count->odd.n == 1 ? "s" : "", (unsigned long long)count->odd.first + 1);
    }
    return DROVE_OK;
}
