/* data/read/table.c - tables as people have them: numbers, categories, dates, missing cells.
 *
 * src/table/ reads and encodes; here are the keys of the spec and the labels.  From training data
 * a schema is learned, which the storage keeps; further data are read by it.
 */
#include "data/read/class_order.h"
#include "data/read/labels.h"
#include "data/read/remarks.h"

#include "base/digits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/spec.h"
#include "data/common.h"
#include "data/parting.h"
#include "table/cell.h"
#include "table/keep.h"
#include "table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct settings {
    drove_table_options opt;
    const char *separator, *comment, *escape, *keep; /* NULL: not given */
    drove_label_options labels;
    bool is_parted; /* ?split= says more than a share */
} settings;

static const char *const headers[] = {
    [DROVE_HEADER_AUTO] = "auto", [DROVE_HEADER_YES] = "yes", [DROVE_HEADER_NO] = "no", NULL};
static const drove_spec_key keys[] = {
    {"label", NULL, DROVE_AS_TEXT(settings, opt.label),
     .help = "column of the label: last, also without it, first, none, its number or its name; "
             "several: a,b"},
    {"weights", NULL, DROVE_AS_TEXT(settings, opt.weights), .help = "column of the rows' weights"},
    {"ignore", NULL, DROVE_AS_TEXT(settings, opt.ignore), .help = "columns to leave out: a,b"},
    {"columns", NULL, DROVE_AS_TEXT(settings, opt.columns), .help = "columns to use, and no other"},
    {"types", NULL, DROVE_AS_TEXT(settings, opt.types),
     .help = "of columns: age:number+zip:category+born:dmy"},
    {"also", NULL, DROVE_AS_TEXT(settings, opt.also),
     .help = "columns of numbers that are categories as well: a,b"},
    {"text", NULL, DROVE_AS_TEXT(settings, opt.text), .help = "columns whose words are hashed"},
    {"sep", NULL, DROVE_AS_TEXT(settings, separator), .help = DROVE_SEPARATOR_HELP},
    {"header", "auto", DROVE_AS_WORD(settings, opt.header, headers),
     .help = "the first line names the columns"},
    {"onehot", NULL, DROVE_AS_COUNT(settings, opt.onehot, 0, DROVE_DICTIONARY_MOST),
     .help = "most values of a category that is not hashed"},
    {"hash", NULL, DROVE_AS_COUNT(settings, opt.hash, 1, 1u << 24),
     .help = "features of a hashed column, a power of two"},
    {"bins", "0", DROVE_AS_COUNT(settings, opt.bins, 0, DROVE_BINS_MOST),
     .help = "most bins of a column of numbers; 0: none"},
    DROVE_SPEC_KEYS_OF(settings, labels, drove_label_options, drove__label_keys),
    {"encoding", NULL, DROVE_AS_TEXT(settings, opt.written.encoding), .help = DROVE_ENCODING_HELP},
    {"comment", NULL, DROVE_AS_TEXT(settings, comment),
     .help = "character that begins a comment at the start of a line"},
    {"escape", NULL, DROVE_AS_TEXT(settings, escape),
     .help = "character that takes a quote behind it as it is"},
    {"skip_lines", "0", DROVE_AS_COUNT(settings, opt.written.skip_lines, 0, UINT32_MAX),
     .help = "lines above the table"},
    {"keep", NULL, DROVE_AS_TEXT(settings, keep), .help = "columns that predictions repeat: a,b"},
    DROVE_SPEC_END,
};

typedef struct table_file { /* being read */
    settings set;
    const drove_storage *like; /* what these data have to match; NULL: training data */
    drove_known_table known;
    drove_labels *labels;
    drove_storage *storage;
    bool *keep; /* [n_rows] rows with a label; NULL: all */
    size_t n_kept;
    bool use_labels;
    char *scratch; /* of a label with "" */
} table_file;

/* ---- the spec ---- */

/* The one character of ?comment= or ?escape=. */
static drove_status read_mark(const char *key, const char *text, char *out)
{
    if (text == NULL) return DROVE_OK;
    if (text[0] > ' ' && text[1] == '\0' && *text != '"' &&
        strchr("+-.0123456789", *text) == NULL) {
        *out = *text;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG, "%s: expected one character, such as %s, found \"%.40s\"", key,
                       strcmp(key, "escape") == 0 ? "\\" : "#", text);
}

static drove_status read_settings(const drove_spec *spec, settings *set)
{
    drove_table_options *opt = &set->opt;
    *set = (settings){.opt = {.path = spec->arg[0],
                              .written = {.piece = spec->piece},
                              .onehot = DROVE_ONEHOT_DEFAULT},
                      .labels = {.target = DROVE_TARGET_UNSAID, .of_table = true}};
    DROVE_TRY(drove__spec_take(spec, keys, set));
    drove_common_options common;
    DROVE_TRY(drove__common_read(spec, &common));
    opt->group = common.split.column;
    set->is_parted = common.split.by != DROVE_SPLIT_DRAWN;
    DROVE_TRY(drove__read_separator("table?sep", set->separator, &opt->written.separator));
    DROVE_TRY(read_mark("comment", set->comment, &opt->written.comment));
    DROVE_TRY(read_mark("escape", set->escape, &opt->written.escape));
    opt->has_classes = set->labels.target == DROVE_TARGET_CLASS || set->labels.n_classes > 0;
    if ((opt->hash & (opt->hash - 1)) == 0) return DROVE_OK;
    return drove__fail(DROVE_E_ARG, "hash: expected a power of two, found %llu",
                       (unsigned long long)opt->hash);
}

drove_status drove__table_read_options(const drove_spec *spec, drove_table_options *opt)
{
    settings set;
    DROVE_TRY(read_settings(spec, &set));
    *opt = set.opt;
    return DROVE_OK;
}

/* ---- labels ---- */

/* Rows without a label cannot be learned from, nor scored. */
static drove_status keep_labelled(table_file *f)
{
    const drove_table *t = &f->known.table;
    size_t n_without = 0;
    f->n_kept = t->n_rows;
    if (f->like != NULL && f->like->y_kind == DROVE_Y_VALUE)
        drove__known_settle_label(&f->known, true);
    for (size_t row = 0; row < t->n_rows; row++) {
        if (drove__known_has_label(&f->known, row)) continue;
        if (f->keep == NULL) {
            f->keep = malloc(t->n_rows);
            if (f->keep == NULL) return drove__fail_nomem("rows", t->n_rows);
            memset(f->keep, true, t->n_rows);
        }
        f->keep[row] = false;
        n_without++;
    }
    if (n_without == 0) return DROVE_OK;
    const char *name = t->name[f->known.label[0]];
    if (n_without == t->n_rows)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected labels in column \"%.80s\", found none (--label names "
                           "another column)",
                           t->path, name);
    f->n_kept -= n_without;
    drove__known_note(&f->known, "%zu row%s without a label in column \"%.40s\" left out",
                      n_without, n_without == 1 ? "" : "s", name);
    return DROVE_OK;
}

static drove_status add_label(table_file *f, const drove_cell *cell)
{
    const drove_known_table *known = &f->known;
    double number;
    const char *next, *end = cell->text + cell->length;
    const bool is_plain = !known->label_is_number ||
                          (drove__scan_double(cell->text, end, &next, &number) && next == end);
    if (!is_plain && drove__cell_amount(&known->label_style, cell->text, cell->length, &number))
        return drove__labels_add_number(f->labels, number);
    if (!cell->is_doubled)
        return drove__labels_add(f->labels, NULL, cell->text, cell->length, true);
    char *scratch = realloc(f->scratch, cell->length);
    if (scratch == NULL) return drove__fail_nomem("a label", cell->length);
    f->scratch = scratch;
    size_t n = drove__cell_unquote(cell, scratch);
    return drove__labels_add(f->labels, NULL, scratch, n, true);
}

/* Numbers and a few labels that are none, such as "0.5 kg": one wrong cell makes no classes. */
static drove_status check_numbers(const table_file *f)
{
    enum { LEAST = 20, SHARE = 5 };
    const drove_storage *s = f->storage;
    const drove_table *t = &f->known.table;
    const char *other = NULL;
    size_t n_others = 0, row = 0;
    double number;
    if (s->class_name == NULL || drove__known_label_is_category(&f->known)) return DROVE_OK;
    for (size_t i = 0; i < s->n_classes; i++) {
        const char *name = s->class_name[i];
        if (drove__label_number(name, strlen(name), &number)) continue;
        if (n_others++ == 0) other = name;
    }
    if (n_others == 0 || s->n_classes - n_others <= LEAST || n_others * SHARE > s->n_classes)
        return DROVE_OK;
    const size_t n = strlen(other);
    while (row + 1 < t->n_rows &&
           (t->label[row].length != n || memcmp(t->label[row].text, other, n) != 0))
        row++;
    return drove__fail(
        DROVE_E_DATA,
        "%s: row %zu: column \"%.80s\": expected a number, as %zu of its %zu different "
        "labels are, found \"%.40s\" (an empty cell leaves the row out, "
        "?target=class takes all as classes)",
        t->path, row + 1, t->name[f->known.label[0]], s->n_classes - n_others, s->n_classes, other);
}

/* Remarks on the names of classes: two that differ in case alone, dates, others with digits. */
static void note_classes(table_file *f)
{
    enum { LOOKED_AT = 200 };
    const drove_storage *s = f->storage;
    if (f->like != NULL || s->y_kind != DROVE_Y_CLASS || s->class_name == NULL) return;
    const size_t n = s->n_classes < LOOKED_AT ? s->n_classes : LOOKED_AT;
    size_t n_dates = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = s->class_name[i];
        int64_t seconds;
        bool has_time, is_date = false;
        for (int order = 0; order < DROVE_N_DATE_ORDERS && !is_date; order++)
            is_date =
                drove__cell_date((drove_date_order)order, name, strlen(name), &seconds, &has_time);
        n_dates += is_date;
        for (size_t k = 0; k < i; k++) {
            if (strcasecmp(s->class_name[k], name) != 0) continue;
            drove__known_note(&f->known, "classes \"%.40s\" and \"%.40s\" differ in case alone",
                              s->class_name[k], name);
        }
    }
    if (n == 0 || n_dates < n) {
        /* Many classes of few rows, most of them names with digits: numbers among words, or
         * amounts in two units, which may be meant as values. */
        enum { CLASSES_LEAST = 21, ROWS_MOST = 4, SHOWN = 3 };

        size_t n_digits = 0;
        char shown[64] = "";
        if (!f->known.label_is_number && f->set.labels.target == DROVE_TARGET_UNSAID &&
            s->n_classes >= CLASSES_LEAST && s->n_classes * ROWS_MOST >= f->n_kept) {
            for (size_t i = 0; i < s->n_classes; i++) {
                const size_t used = strlen(shown);
                if (strpbrk(s->class_name[i], "0123456789") == NULL) continue;
                if (++n_digits <= SHOWN)
                    snprintf(shown + used, sizeof shown - used, "%s%.16s", used > 0 ? " | " : "",
                             s->class_name[i]);
            }
            if (2 * n_digits >= s->n_classes)
                drove__known_note(
                    &f->known,
                    "label \"%.40s\": %zu classes in %zu rows, most with digits (%s): not all are "
                    "numbers of one unit, so a model learns no order of them",
                    f->known.table.name[f->known.label[0]], s->n_classes, f->n_kept, shown);
        }
    } else
        drove__known_note(&f->known, "the labels are dates, read as classes: a model learns no "
                                     "order of them (a number of days can be learned)");
}

static drove_status fail_label(const table_file *f, size_t row, size_t k, const char *expected);

static drove_status read_one_label(table_file *f)
{
    const drove_table *t = &f->known.table;
    if (drove__known_label_is_category(&f->known)) drove__labels_are_names(f->labels);
    for (size_t row = 0; row < t->n_rows; row++) {
        if (f->keep != NULL && !f->keep[row]) continue;
        if (t->n_labels > 0 && drove__cell_is_infinite(t->label[row].text, t->label[row].length))
            return fail_label(f, row, 0, "a finite number up to 3.4e38 as label");
        drove_status status = t->n_labels > 0 ? add_label(f, &t->label[row])
                                              : drove__labels_add(f->labels, NULL, "0", 1, false);
        if (status == DROVE_OK) status = drove__labels_end_row(f->labels, NULL);
        if (status != DROVE_OK) return drove__fail_in(status, "%s", t->path);
    }
    drove_label_options labels = f->set.labels;
    const bool is_value = t->n_labels == 1 && f->known.label[0] < t->content.n_types &&
                          t->content.type[f->known.label[0]] == 'n'; /* of an ARFF file */
    if (is_value && f->like == NULL && labels.target == DROVE_TARGET_UNSAID &&
        labels.n_classes == 0)
        labels.target = DROVE_TARGET_VALUE;
    DROVE_TRY(drove__labels_finish(f->labels, &labels, t->path, f->storage));
    note_classes(f);
    /* A name or a date is no class: a model of as many classes as rows learns nothing, for
     * hours.  The last column, taken for the label because none was named, may be anything. */
    enum { MANY = 100, LEAST_ROWS = 2, ALL_DIFFERENT = 20 };
    const drove_storage *s = f->storage;

    const drove_label_options *asked = &f->set.labels;
    bool is_asked = asked->target != DROVE_TARGET_UNSAID || asked->n_classes > 0;
    bool is_named = f->set.opt.label != NULL;
    if (f->like != NULL || is_asked || !is_named || s->y_kind != DROVE_Y_CLASS || t->n_labels == 0)
        return DROVE_OK;
    DROVE_TRY(check_numbers(f));
    const bool are_all_different = s->n_classes == f->n_kept && s->n_classes >= ALL_DIFFERENT;
    if (!are_all_different && (s->n_classes <= MANY || s->n_classes * LEAST_ROWS <= f->n_kept))
        return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: column \"%.80s\": expected classes with at least %d rows on average, "
                       "found %zu different labels in %zu rows (--label names another column, "
                       "?target=class takes them)",
                       t->path, t->name[f->known.label[0]], LEAST_ROWS, s->n_classes, f->n_kept);
}

/* ---- several columns ---- */

static const drove_cell *label_cell(const table_file *f, size_t row, size_t k)
{
    return &f->known.table.label[row * f->known.table.n_labels + k];
}

static bool read_value(const table_file *f, size_t row, size_t k, double *out)
{
    const drove_table *t = &f->known.table;
    const drove_cell *cell = label_cell(f, row, k);
    const drove_amount_style *style = &t->column[f->known.label[k]].style;
    return drove__cell_amount(style, cell->text, cell->length, out);
}

static drove_status fail_label(const table_file *f, size_t row, size_t k, const char *expected)
{
    const drove_table *t = &f->known.table;
    const drove_cell *cell = label_cell(f, row, k);
    return drove__fail(DROVE_E_DATA, "%s: row %zu: column \"%.60s\": expected %s, found \"%.*s\"",
                       t->path, row + 1, t->name[f->known.label[k]], expected,
                       (int)(cell->length < 40 ? cell->length : 40), cell->text);
}

/* Names of the label columns: of the labels, or of the values. */
static drove_status name_labels(table_file *f)
{
    const drove_table *t = &f->known.table;
    drove_storage *s = f->storage;
    s->class_name = calloc(t->n_labels, sizeof *s->class_name);
    if (s->class_name == NULL) return drove__fail_nomem("labels", t->n_labels * sizeof(char *));
    for (size_t k = 0; k < t->n_labels; k++) {
        s->class_name[k] = strdup(t->name[f->known.label[k]]);
        if (s->class_name[k] == NULL) return drove__fail_nomem("labels", t->n_labels);
    }
    return DROVE_OK;
}

/* position[k]: the label column that holds value k: by the names of the data that these are like,
 * else as they were listed. */
static drove_status place_values(const table_file *f, size_t *position)
{
    const drove_table *t = &f->known.table;
    const drove_storage *like = f->like;
    for (size_t k = 0; k < t->n_labels; k++) {
        position[k] = k;
        if (like == NULL || like->class_name == NULL || k >= drove__storage_n_names(like)) continue;
        size_t at = 0;
        while (at < t->n_labels && strcmp(t->name[f->known.label[at]], like->class_name[k]) != 0)
            at++;
        if (at == t->n_labels)
            return drove__fail(DROVE_E_SHAPE,
                               "%s: expected the value \"%.60s\" of the training data among the "
                               "labels, found none",
                               t->path, like->class_name[k]);
        position[k] = at;
    }
    return DROVE_OK;
}

static drove_status fill_values(table_file *f, const size_t *position)
{
    const drove_table *t = &f->known.table;
    drove_storage *s = f->storage;
    float *to = s->y_value;
    s->y_origin = calloc(t->n_labels, sizeof *s->y_origin);
    if (s->y_origin == NULL) return drove__fail_nomem("targets", t->n_labels * sizeof *to);
    bool is_any = false;
    for (size_t k = 0; k < t->n_labels; k++) {
        drove_digits digits = {0};
        for (size_t row = 0; row < t->n_rows; row++) {
            double value;
            if (f->keep != NULL && !f->keep[row]) continue;
            if (!read_value(f, row, position[k], &value))
                return fail_label(f, row, position[k], "a number, as of several values");
            drove__digits_add(&digits, value);
        }
        s->y_origin[k] = drove__digits_origin(&digits);
        is_any = is_any || s->y_origin[k] != 0;
    }
    for (size_t row = 0; row < t->n_rows; row++) {
        if (f->keep != NULL && !f->keep[row]) continue;
        for (size_t k = 0; k < t->n_labels; k++) {
            double value = 0;
            (void)read_value(f, row, position[k], &value);
            *to++ = (float)(value - s->y_origin[k]);
        }
    }
    if (is_any) return DROVE_OK;
    free(s->y_origin);
    s->y_origin = NULL;
    return DROVE_OK;
}

/* Several columns of numbers: a row has a value for each. */
static drove_status read_values(table_file *f)
{
    drove_storage *s = f->storage;
    const size_t n = f->known.table.n_labels;
    s->y_kind = DROVE_Y_VALUE;
    s->n_values = n;
    DROVE_TRY(name_labels(f));
    s->y_value = drove__grow(NULL, f->n_kept * n, sizeof *s->y_value);
    size_t *position = drove__grow(NULL, n, sizeof *position);
    drove_status status = s->y_value != NULL && position != NULL
                              ? place_values(f, position)
                              : drove__fail_nomem("targets", f->n_kept * n * sizeof *s->y_value);
    if (status == DROVE_OK) status = fill_values(f, position);
    free(position);
    return status;
}

/* Several columns of truth values: the labels that a row has are those of its true ones. */
static drove_status read_label_sets(table_file *f)
{
    const drove_table *t = &f->known.table;
    drove_storage *s = f->storage;
    size_t n = 0, at = 0;
    s->y_kind = DROVE_Y_LABELS;
    s->n_classes = t->n_labels;
    DROVE_TRY(name_labels(f));
    s->label_start = calloc(f->n_kept + 1, sizeof *s->label_start);
    s->label = drove__grow(NULL, f->n_kept * t->n_labels, sizeof *s->label);
    if (s->label_start == NULL || s->label == NULL)
        return drove__fail_nomem("labels", f->n_kept * t->n_labels);
    for (size_t row = 0; row < t->n_rows; row++) {
        if (f->keep != NULL && !f->keep[row]) continue;
        for (size_t k = 0; k < t->n_labels; k++) {
            const drove_cell *cell = label_cell(f, row, k);
            float value;
            if (!drove__cell_boolean(cell->text, cell->length, &value))
                return fail_label(f, row, k, "a truth value, as of several labels");
            if (value != 0) s->label[n++] = (uint32_t)k;
        }
        s->label_start[++at] = n;
    }
    return DROVE_OK;
}

/* Label sets or values, by the cells unless ?target= says it. */
static drove_status read_several(table_file *f)
{
    const drove_label_target target = f->set.labels.target;
    bool all_boolean, all_number;
    if (target == DROVE_TARGET_CLASS)
        return drove__fail(DROVE_E_ARG,
                           "table?target: expected auto, labels or value, found \"class\"");
    if (target == DROVE_TARGET_LABELS) return read_label_sets(f);
    if (target == DROVE_TARGET_VALUE) return read_values(f);
    /* Whether every label column holds truth values alone, or numbers alone. */
    const drove_table *t = &f->known.table;
    float value;
    double number;
    all_boolean = all_number = true;
    for (size_t row = 0; row < t->n_rows && (all_boolean || all_number); row++) {
        if (f->keep != NULL && !f->keep[row]) continue;
        for (size_t k = 0; k < t->n_labels; k++) {
            const drove_cell *cell = label_cell(f, row, k);
            all_boolean = all_boolean && drove__cell_boolean(cell->text, cell->length, &value);
            all_number = all_number && read_value(f, row, k, &number);
        }
    }
    if (all_boolean) return read_label_sets(f);
    if (all_number) return read_values(f);
    return drove__fail(DROVE_E_DATA,
                       "%s: expected truth values in all label columns, or numbers in all of them "
                       "(?target=labels or value names the cell that is neither)",
                       f->known.table.path);
}

/* ---- weights ---- */

static drove_status read_weights(table_file *f)
{
    const drove_table *t = &f->known.table;
    const size_t column = f->known.weight;
    size_t n = 0;
    if (column == SIZE_MAX) return DROVE_OK;
    float *weight = drove__grow(NULL, f->n_kept, sizeof *weight);
    if (weight == NULL) return drove__fail_nomem("weights", f->n_kept * sizeof *weight);
    f->storage->weight = weight;
    for (size_t row = 0; row < t->n_rows; row++) {
        if (f->keep != NULL && !f->keep[row]) continue;
        float value = drove__raw_float(t->raw[row * t->n_slots + t->column[column].slot]);
        if (!(value >= 0.0f) || !isfinite(value)) {
            char text[32] = "a cell that is no number";
            if (!isnan(value)) snprintf(text, sizeof text, "%g", (double)value);
            return drove__fail(
                DROVE_E_DATA,
                "%s: row %zu: column \"%.60s\": expected a weight, a finite number that is "
                "not negative, found %s",
                t->path, row + 1, t->name[column], text);
        }
        weight[n++] = value;
    }
    return DROVE_OK;
}

/* ---- groups ---- */

static uint32_t hash_of_value(double value)
{
    uint64_t state;
    memcpy(&state, &value, sizeof state);
    const uint32_t hash = (uint32_t)(drove__splitmix64(&state) >> 32);
    return hash != 0 ? hash : 1;
}

/* By the texts of the column or, where it is a feature too, by its numbers. */
static drove_status read_groups(table_file *f)
{
    const drove_table *t = &f->known.table;
    size_t n = 0;
    if (f->known.group == SIZE_MAX) return DROVE_OK;
    const drove_scan_column *column = &t->column[f->known.group];
    if (column->scan == DROVE_SCAN_WORDS)
        return drove__fail(DROVE_E_ARG,
                           "split=group: expected a column of one value a cell, found the texts of "
                           "\"%.80s\"",
                           t->name[f->known.group]);
    uint32_t *key = drove__grow(NULL, f->n_kept, sizeof *key);
    if (key == NULL) return drove__fail_nomem("groups", f->n_kept * sizeof *key);
    for (size_t row = 0; row < t->n_rows; row++) {
        if (f->keep != NULL && !f->keep[row]) continue;
        if (column->scan == DROVE_SCAN_TEXT) {
            key[n++] = t->raw[row * t->n_slots + column->slot];
            continue;
        }
        const double value = drove__table_value(t, column->slot, row);
        key[n++] = isnan(value) ? 0 : hash_of_value(value);
    }
    drove_status status = drove__parting_of(key, n, &f->storage->parting);
    free(key);
    return status;
}

/* ---- the storage ---- */

static drove_status fill_storage(table_file *f)
{
    drove_storage *s = f->storage;
    drove_encoded x;
    DROVE_TRY(drove__labels_create(&f->labels));
    DROVE_TRY(keep_labelled(f));
    s->n_rows = f->n_kept;
    s->n_features = f->known.schema->n_features;
    s->x_kind = f->known.schema->is_sparse ? DROVE_X_CSR : DROVE_X_F32;
    DROVE_TRY(f->known.table.n_labels > 1 ? read_several(f) : read_one_label(f));
    if (f->set.opt.written.piece == NULL) /* pieces: of all of them together */
        drove__classes_note_many(s, s->n_rows);
    /* Cells of ?keep= as the file has them, beside the rows. */
    drove_kept kept;
    const char *list = f->set.keep;
    if (list != NULL) {
        if (f->use_labels || f->n_kept != f->known.table.n_rows)
            return drove__fail(DROVE_E_ARG,
                               "keep: expected data to predict, found data with labels");
        const drove_status status = drove__table_keep(&f->known.table, list, &kept);
        if (status != DROVE_OK) {
            drove__kept_fini(&kept);
            return status;
        }
        s->n_kept = kept.n_columns;
        s->kept_name = kept.name;
        s->row_names = kept.bytes;
        s->row_name_at = kept.at;
    }
    DROVE_TRY(read_weights(f)); /* before encoding, which may take the raw words over */
    DROVE_TRY(read_groups(f));
    if (f->like == NULL && f->set.opt.written.piece == NULL)
        DROVE_TRY(drove__remark_columns(&f->known, f->keep, f->n_kept, f->set.is_parted, s));
    DROVE_TRY(drove__table_encode(&f->known, f->keep, f->n_kept, &x));
    s->x_f32 = x.x;
    s->row_start = x.row_start;
    s->index = x.index;
    s->value = x.value;
    s->schema = drove__schema_retain(f->known.schema);
    if (f->known.notes[0] != '\0') drove__storage_note(s, "%s", f->known.notes);
    return drove__storage_check(s, f->known.table.path);
}

/* f->known was filled, with this status. */
static drove_status finish(table_file *f, drove_status status, drove_storage **out)
{
    if (status == DROVE_OK) status = drove__storage_create(&f->storage);
    if (status == DROVE_OK) status = fill_storage(f);
    drove__labels_destroy(f->labels);
    drove__known_table_fini(&f->known);
    free(f->keep);
    free(f->scratch);
    if (status != DROVE_OK) drove__storage_release(f->storage);
    else *out = f->storage;
    return status;
}

static drove_status read_table(const drove_spec *spec, int part, const drove_shard *shard,
                               drove_storage **out)
{
    table_file f = {.use_labels = true};
    (void)part, (void)shard;
    DROVE_TRY(read_settings(spec, &f.set));
    return finish(&f, drove__table_learn(&f.set.opt, &f.known), out);
}

static drove_status read_like(const drove_spec *spec, const drove_storage *like, bool use_labels,
                              drove_storage **out)
{
    table_file f = {.like = like, .use_labels = use_labels};
    DROVE_TRY(read_settings(spec, &f.set));
    return finish(&f, drove__table_match(&f.set.opt, like->schema, use_labels, &f.known), out);
}

const drove_format_ops drove__format_table = {
    .name = "table",
    .help = "table of numbers, categories, dates and missing cells, as text; a path alone means it",
    .source = "RFC 4180",
    .arguments = "FILE",
    .least_args = 1,
    .most_args = 1,
    .keys = keys,
    .read = read_table,
    .read_like = read_like,
    .reads_pieces = true,
    .default_scaling = DROVE_SCALE_STANDARD,
};
