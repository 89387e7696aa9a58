/* table/infer.c - learns a table: roles of its columns from the options, types from a sample, which
 * the whole file then confirms or widens; fill values, categories, the schema.
 *
 * A column is read as number, date or text (drove_scan).  A number or date that some later cell is
 * not is read again as text.  The rest is decided once all cells are known.
 */
#include "table/infer.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ID_LEAST_ROWS = 20,     /* fewer different values are no ids                            */
    COLUMNS_SHOWN = 4,      /* in remarks on words among numbers                            */
    NAME_SHOWN = 120,       /* bytes of a name in a remark that shows how to write it       */
    FEW_VALUES = 10,        /* texts with no more, each in as many rows, are categories     */
    MANY_VALUES = 64,       /* texts with more may be ids or free text                      */
    KEY_LEAST_REPEATS = 10, /* rows of each value of a column called id that is a category  */
    YEAR_LEAST = 1500,      /* numbers that count up between these are years, not ids       */
    YEAR_MOST = 2200
};
static const double ID_LEAST_SHARE = 0.9; /* of different texts in an id's rows */

/* ---- how a column is read ---- */

/* True if the last word of a name is among these: "zip" of "home_zip" and of "homeZip". */
static bool ends_in_word(const char *name, const char *const *words, size_t n_words)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n_words; i++) {
        size_t length = strlen(words[i]);
        if (n < length) continue;
        const char *end = name + n - length;
        bool same = true;
        for (size_t k = 0; k < length; k++) same = same && (end[k] | 0x20) == words[i][k];
        if (!same) continue;
        if (end == name) return true;
        char before = end[-1] | 0x20;
        bool is_camel = *end >= 'A' && *end <= 'Z' && end[-1] >= 'a' && end[-1] <= 'z';
        if (before < 'a' || before > 'z' || is_camel) return true;
    }
    return false;
}

/* By its name, or first without a name, as R and pandas write the names of rows. */
static bool is_id_column(const drove_table *t, size_t column)
{
    const char *name = t->name[column];
    static const char *const words[] = {"id",        "uuid",       "guid",
                                        "rowid",     "unnamed: 0", "rownames",
                                        "row names", "row_names",  "row.names"};
    return ends_in_word(name, words, DROVE_COUNT(words)) ||
           (t->has_header && column == 0 && strcmp(name, "column1") == 0);
}

static drove_scan scan_of_column(drove_table *t, size_t i, const drove_sample *s)
{
    static const char *const codes[] = {"code", "zip",  "zipcode", "postcode",
                                        "plz",  "type", "kind",    "category"};
    if (t->frame != NULL) {
        switch (t->frame->column[i].type) {
        case DROVE_FRAME_NUMBER: return DROVE_SCAN_NUMBER;
        case DROVE_FRAME_BOOLEAN: return DROVE_SCAN_BOOLEAN;
        case DROVE_FRAME_DATE: return DROVE_SCAN_DATE;
        case DROVE_FRAME_CATEGORY: return DROVE_SCAN_TEXT;
        case DROVE_FRAME_INTEGER: break; /* may be codes */
        case DROVE_FRAME_TEXT:
            if (s->n_present == 0) return DROVE_SCAN_TEXT; /* NA and the like alone are texts */
            break;
        }
    }
    drove_scan_column *column = &t->column[i];
    const size_t n_numbers = s->n_form[column->style.form];
    const bool are_dates = drove__sample_is_nearly(s, s->n_date[column->order]);
    if (s->has_word && are_dates) return DROVE_SCAN_DATE; /* 1/5/2020 is no 1 in /5/2020 */
    if (drove__sample_is_nearly(s, n_numbers)) {
        const bool is_integer = s->n_integer == n_numbers && n_numbers > 0;
        const bool is_code = ends_in_word(t->name[i], codes, DROVE_COUNT(codes));
        const bool is_id = is_integer && (is_code || is_id_column(t, i));
        /* 007 and 007.1 are codes; 05.30 beside 12.75 only has as many digits. */
        const bool is_padded = s->n_padded > 0 && (is_integer || s->shortest < s->longest);
        return is_id || is_padded || s->has_equals ? DROVE_SCAN_TEXT : DROVE_SCAN_NUMBER;
    }
    if (are_dates) return DROVE_SCAN_DATE;
    if (!drove__sample_is_nearly(s, s->n_clock)) return DROVE_SCAN_TEXT;
    column->style = (drove_amount_style){.unit = drove__unit_clock()};
    return DROVE_SCAN_NUMBER;
}

/* True if the numbers of a column are read as doubles.  A sample without numbers says nothing. */
static bool is_wide(const drove_table *t, size_t i, const drove_sample *s)
{
    const drove_scan_column *column = &t->column[i];
    const drove_digits *d = &s->digits[column->style.form];
    if (column->scan == DROVE_SCAN_DATE) return true;
    if (column->scan != DROVE_SCAN_NUMBER) return false;
    if (drove__unit_is_clock(&column->style.unit)) return false;
    return d->n == 0 || d->is_whole_rounded || drove__digits_are_far(d);
}

/* The order of most dates; where day and month are open: the usual one beside a slash, or not. */
static drove_date_order order_of_sample(const drove_sample *s)
{
    const size_t *n = s->n_date;
    if (n[DROVE_DATE_YMD] >= n[DROVE_DATE_DMY] && n[DROVE_DATE_YMD] >= n[DROVE_DATE_MDY])
        return DROVE_DATE_YMD;
    if (n[DROVE_DATE_DMY] != n[DROVE_DATE_MDY])
        return n[DROVE_DATE_DMY] > n[DROVE_DATE_MDY] ? DROVE_DATE_DMY : DROVE_DATE_MDY;
    return s->has_slash ? DROVE_DATE_MDY : DROVE_DATE_DMY;
}

static void choose_scans(learner *l, bool has_comma)
{
    drove_table *t = l->table;
    for (size_t i = 0; i < t->n_columns; i++) {
        drove_scan_column *column = &t->column[i];
        const drove_sample *s = &l->sample[i];
        column->style = drove__sample_style(s, t->dialect.separator, has_comma);
        column->style.is_unit_optional = l->role[i] == ROLE_FORCED;
        column->order = l->order[i] != DROVE_N_DATE_ORDERS ? l->order[i] : order_of_sample(s);
        if (l->role[i] == ROLE_AUTO) column->scan = scan_of_column(t, i, s);
        if (l->role[i] == ROLE_FORCED) column->scan = drove__scan_of(l->forced[i]);
        if (l->role[i] == ROLE_GROUP) column->scan = DROVE_SCAN_TEXT;
        if (l->role[i] == ROLE_WEIGHT) column->scan = DROVE_SCAN_NUMBER;
        else column->is_wide = is_wide(t, i, s);
        if (column->scan != DROVE_SCAN_SKIP) column->slot = t->n_slots++;
    }
    t->n_labels = l->known->n_labels;
    for (size_t i = 0; i < t->n_labels; i++) {
        drove_scan_column *column = &t->column[l->known->label[i]];
        const drove_sample *s = &l->sample[l->known->label[i]];
        column->scan = DROVE_SCAN_LABEL;
        column->slot = i;
        l->known->label_style = column->style;
        l->known->label_is_number =
            s->n_present > 0 && s->n_form[column->style.form] == s->n_present;
    }
}

/* True if the sample does not tell whether the day or the month comes first. */
static bool is_order_open(const learner *l, size_t column)
{
    const drove_sample *s = &l->sample[column];
    return l->table->column[column].scan == DROVE_SCAN_DATE &&
           l->table->column[column].order != DROVE_DATE_YMD &&
           l->order[column] == DROVE_N_DATE_ORDERS &&
           s->n_date[DROVE_DATE_DMY] == s->n_date[DROVE_DATE_MDY];
}

/* "number", "number with %", "date". */
static const char *describe_cell(const drove_scan_column *column, char *into, size_t size)
{
    const char *unit = drove__unit_text(&column->style.unit);
    if (column->scan == DROVE_SCAN_DATE) return "date";
    if (unit == NULL) return "number";
    snprintf(into, size, "number with %s", unit);
    return into;
}

/* True if a column that was read is to be read again: with day and month the other way round, or
 * as text. */
static bool widen(learner *l, size_t i)
{
    drove_scan_column *column = &l->table->column[i];
    column->is_done = true;
    const drove_column_count *count = &l->table->count[i];
    if (count->odd.n == 0) return false;
    if (is_order_open(l, i) && !l->was_turned[i] && count->odd.n_written > 0) {
        column->order = column->order == DROVE_DATE_DMY ? DROVE_DATE_MDY : DROVE_DATE_DMY;
        l->was_turned[i] = true;
    } else if (l->role[i] == ROLE_AUTO &&
               drove__odd_are_words(&count->odd, l->n_rows - count->n_missing + count->odd.n,
                                    l->sample[i].n_values == DROVE_RICH_LEAST)) {
        if (++l->n_with_words > COLUMNS_SHOWN) return false; /* the first few by name */
        char cell[32], key[NAME_SHOWN], words[DROVE_ODD_TEXT_SIZE];
        const drove_odd *odd = &count->odd;
        drove__known_note(
            l->known,
            "column \"%.40s\": %llu cell%s no %s and count%s as missing: %s, first in row "
            "%llu (?types=%s:text reads the column as text)",
            l->table->name[i], (unsigned long long)odd->n, odd->n == 1 ? " is" : "s are",
            describe_cell(column, cell, sizeof cell), odd->n == 1 ? "s" : "",
            drove__odd_list(odd, words), (unsigned long long)odd->first + 1,
            drove__spec_escape(l->table->name[i], key, sizeof key));
        return false;
    } else if (l->role[i] == ROLE_AUTO) {
        char cell[32], key[NAME_SHOWN];
        drove__known_note(l->known,
                          "column \"%.40s\": read as text, since row %llu holds no %s "
                          "(?types=%s:%s makes such cells missing)",
                          l->table->name[i], (unsigned long long)l->table->count[i].odd.first + 1,
                          describe_cell(column, cell, sizeof cell),
                          drove__spec_escape(l->table->name[i], key, sizeof key),
                          column->scan == DROVE_SCAN_DATE ? "date" : "number");
        l->was_widened[i] = true;
        column->scan = DROVE_SCAN_TEXT;
        column->is_wide = false;
    } else {
        if (l->role[i] == ROLE_FORCED)
            drove__known_note(l->known,
                              "column \"%.40s\": %llu cells are no %s and count as missing",
                              l->table->name[i], (unsigned long long)l->table->count[i].odd.n,
                              drove__column_type_name(l->forced[i]));
        return false;
    }
    column->is_done = false;
    return true;
}

/* Reads all cells; a column whose type does not hold is read again. */
static drove_status scan_and_widen(learner *l)
{
    drove_table *t = l->table;
    bool is_first = true, is_again = true;
    while (is_again) {
        is_again = false;
        DROVE_TRY(drove__table_scan(t));
        if (is_first) {
            if (!l->opt->has_classes) drove__known_settle_label(l->known, false);
            DROVE_TRY(drove__known_leave_out(l->known, &l->n_rows));
        }

        /* all cells but the words again, now without the rows that have no label */
        if (is_first && t->left_out != NULL) {
            for (size_t i = 0; i < t->n_columns; i++)
                t->column[i].is_done =
                    t->column[i].scan == DROVE_SCAN_WORDS || t->column[i].scan == DROVE_SCAN_LABEL;
            DROVE_TRY(drove__table_scan(t));
        }
        is_first = false;
        for (size_t i = 0; i < t->n_columns; i++) {
            if (t->column[i].is_done) continue;
            if (widen(l, i)) is_again = true;
        }
    }
    if (l->n_with_words > COLUMNS_SHOWN)
        drove__known_note(l->known, "%zu more column%s of numbers or dates with such cells",
                          l->n_with_words - COLUMNS_SHOWN,
                          l->n_with_words - COLUMNS_SHOWN == 1 ? "" : "s");

    /* no cell of the whole file says if the day comes first or the month */
    for (size_t i = 0; i < t->n_columns; i++) {
        char key[NAME_SHOWN];
        const bool is_day_first = t->column[i].order == DROVE_DATE_DMY;
        if (!is_order_open(l, i) || t->count[i].is_ordered) continue;
        drove__known_note(l->known,
                          "column \"%.40s\": day or month may come first; read as %s "
                          "(?types=%s:%s reads the %s first)",
                          t->name[i], is_day_first ? "day first" : "month first",
                          drove__spec_escape(t->name[i], key, sizeof key),
                          is_day_first ? "mdy" : "dmy", is_day_first ? "month" : "day");
    }

    for (size_t i = 0; i < t->n_columns; i++)
        drove__known_note_infinite(l->known, t->name[i], &t->count[i]);
    return DROVE_OK;
}

/* ---- texts ---- */

/* Two texts that are the words of one pair, such as yes and No. */
static bool is_boolean(const drove_dictionary *d)
{
    float value[2];
    size_t length[2], n = 0;
    if (d->n != 2 || d->is_full) return false;
    for (size_t i = 0; i < d->n; i++) {
        const drove_cell *cell = &d->entry[i].cell;
        if (!drove__cell_boolean(cell->text, cell->length, &value[n])) return false;
        length[n++] = cell->length;
    }
    if (value[0] == value[1]) return false;
    size_t of_false = value[0] == 0 ? length[0] : length[1];
    size_t of_true = value[0] == 0 ? length[1] : length[0];
    return (of_true == 4 && of_false == 5) || (of_true == 3 && of_false == 2) ||
           (of_true == 1 && of_false == 1);
}

static drove_status set_values(drove_column *c, const drove_dictionary *d)
{
    c->value = calloc(d->n, sizeof *c->value);
    c->hash = calloc(d->n, sizeof *c->hash);
    if (c->value == NULL || c->hash == NULL) return drove__fail_nomem("categories", d->n);
    for (size_t i = 0; i < d->n; i++) {
        const drove_cell *cell = &d->entry[i].cell;
        char *text = malloc(cell->length + 1);
        if (text == NULL) return drove__fail_nomem("categories", cell->length);
        memcpy(text, cell->text, cell->length);
        text[cell->is_doubled ? drove__cell_unquote(cell, text) : cell->length] = '\0';
        c->value[c->n_values++] = text;
    }
    qsort(c->value, c->n_values, sizeof *c->value, drove__compare_texts);
    for (size_t i = 0; i < c->n_values; i++)
        c->hash[i] = drove__text_hash(c->value[i], strlen(c->value[i]));
    return DROVE_OK;
}

static drove_column_type type_of_text(const learner *l, size_t column, const drove_column *c,
                                      uint64_t n_present)
{
    const drove_table *t = l->table;
    const drove_sample *s = &l->sample[column];
    bool is_many = c->n_distinct > l->opt->onehot || t->count[column].dictionary.is_full;
    if (l->role[column] == ROLE_FORCED)
        return is_many ? DROVE_COLUMN_HASHED : DROVE_COLUMN_CATEGORY;
    if (c->n_distinct == 0 || (c->n_distinct == 1 && c->n_missing == 0))
        return DROVE_COLUMN_CONSTANT;
    if (t->frame != NULL && t->frame->column[column].type == DROVE_FRAME_CATEGORY)
        return is_many ? DROVE_COLUMN_HASHED : DROVE_COLUMN_CATEGORY;
    if (is_boolean(&t->count[column].dictionary)) return DROVE_COLUMN_BOOLEAN;
    bool has_many = c->n_distinct > MANY_VALUES;
    if (has_many && s->n_words > 3 * s->n_present) return DROVE_COLUMN_FREE_TEXT;
    bool is_unique =
        n_present >= ID_LEAST_ROWS && (double)c->n_distinct >= ID_LEAST_SHARE * (double)n_present;
    bool is_key =
        is_id_column(t, column) && (has_many || n_present < KEY_LEAST_REPEATS * c->n_distinct);
    if (is_unique || is_key) return DROVE_COLUMN_ID;
    return is_many ? DROVE_COLUMN_HASHED : DROVE_COLUMN_CATEGORY;
}

static uint32_t n_hash(const learner *l, uint32_t usual)
{
    return l->opt->hash != 0 ? (uint32_t)l->opt->hash : usual;
}

static drove_status settle_text(learner *l, size_t column, drove_column *c)
{
    drove_table *t = l->table;
    const drove_dictionary *d = &t->count[column].dictionary;
    c->n_distinct = d->n;
    if (d->is_full)
        DROVE_TRY(drove__table_count_distinct(t, t->column[column].slot, &c->n_distinct));
    const drove_sample *s = &l->sample[column];
    c->type = type_of_text(l, column, c, l->n_rows - c->n_missing);
    c->is_whole = s->n_integer == s->n_present;
    c->has_missing = c->n_missing > 0;
    if (c->type == DROVE_COLUMN_HASHED) c->n_hash = n_hash(l, DROVE_HASH_DEFAULT);
    if (c->type == DROVE_COLUMN_CATEGORY) return set_values(c, d);
    if (c->type != DROVE_COLUMN_BOOLEAN) return DROVE_OK;
    for (size_t i = 0; i < d->n; i++) {
        float value = 0;
        const drove_entry *e = &d->entry[i];
        if (!drove__cell_boolean(e->cell.text, e->cell.length, &value)) continue;
        if (2 * d->n_cells[i] > l->n_rows - c->n_missing) c->fill = (double)value;
    }

    /* hashes become 1 and 0 */
    uint32_t hash_of_true = 0;
    for (size_t i = 0; i < d->n; i++) {
        float value = 0;
        const drove_cell *cell = &d->entry[i].cell;
        if (drove__cell_boolean(cell->text, cell->length, &value) && value == 1)
            hash_of_true = d->entry[i].hash;
    }
    for (size_t row = 0; row < t->n_rows; row++) {
        uint32_t *raw = &t->raw[row * t->n_slots + t->column[column].slot];
        *raw = drove__raw_of_float(*raw == 0 ? NAN : *raw == hash_of_true ? 1.0f : 0.0f);
    }
    t->column[column].scan = DROVE_SCAN_BOOLEAN;
    return DROVE_OK;
}

/* ---- numbers and dates ---- */

static drove_column_type type_of_number(const learner *l, size_t column, const drove_slot_stats *s)
{
    const drove_table *t = l->table;
    bool is_date = t->column[column].scan == DROVE_SCAN_DATE;
    if (l->role[column] == ROLE_FORCED) return l->forced[column];
    if (s->n == 0 || (s->n_distinct == 1 && s->n == l->n_rows)) return DROVE_COLUMN_CONSTANT;
    if (is_date) return DROVE_COLUMN_DATE;
    if (t->column[column].scan == DROVE_SCAN_BOOLEAN) return DROVE_COLUMN_BOOLEAN;
    const bool has_unit = t->column[column].style.unit.text[0] != '\0';
    if (s->n_distinct == 2 && s->least == 0 && s->most == 1 && !has_unit)
        return DROVE_COLUMN_BOOLEAN;
    bool is_year = s->least >= YEAR_LEAST && s->most <= YEAR_MOST;
    const drove_sample *cells = &l->sample[column];
    const bool is_integer = cells->n_integer == cells->n_form[t->column[column].style.form];
    if (s->is_consecutive && !is_year && s->n == l->n_rows && s->n >= ID_LEAST_ROWS && is_integer &&
        !l->takes_counters)
        return DROVE_COLUMN_ID;
    return DROVE_COLUMN_NUMBER;
}

/* True if these numbers, or dates in days, are no longer apart as floats. */
static bool is_far(const drove_column *c, const drove_slot_stats *s)
{
    const double unit = c->type == DROVE_COLUMN_DATE ? 86400 : 1;
    const drove_digits d = {.n = s->n,
                            .least = s->least / unit,
                            .most = s->most / unit,
                            .is_rounded =
                                c->type == DROVE_COLUMN_DATE ? c->has_time : s->is_rounded};
    return s->n > 0 && drove__digits_are_far(&d);
}

static drove_status settle_number(learner *l, size_t column, drove_column *c)
{
    drove_table *t = l->table;
    const drove_slot_stats *s = &l->stats[t->column[column].slot];
    double middle = s->n > 0 ? s->sum / (double)s->n : 0;
    c->type = type_of_number(l, column, s);
    c->n_distinct = s->n_distinct;
    c->is_distinct_least = s->n_distinct > DROVE_DISTINCT_MOST;
    if (c->is_distinct_least) c->n_distinct = DROVE_DISTINCT_MOST;
    c->has_missing = c->n_missing > 0;
    c->has_time = t->count[column].has_time;
    c->is_whole = c->type == DROVE_COLUMN_ID;
    if (c->type == DROVE_COLUMN_NUMBER) {
        c->unit = t->column[column].style.unit;
        c->has_comma = t->column[column].style.form >= DROVE_FORM_COMMA;
    }
    if (c->type == DROVE_COLUMN_DATE) c->order = t->column[column].order;
    if (s->n == 0 || !drove__column_is_used(c)) return DROVE_OK;
    /* If no cell is missing, the mean, which is at hand: sorting every column takes longer. */
    if (c->has_missing) DROVE_TRY(drove__table_median(t, &t->column[column], &middle));
    if (c->type == DROVE_COLUMN_BOOLEAN) c->fill = middle > 0.5 ? 1 : 0;
    else if (c->type == DROVE_COLUMN_DATE) c->fill = floor(middle);
    else c->fill = t->column[column].is_wide ? middle : (double)(float)middle;
    if (c->type != DROVE_COLUMN_BOOLEAN && t->column[column].is_wide && is_far(c, s)) {
        /* Whole where that is near enough, and days always: the hour of a date is the rest. */
        const double mean = s->sum / (double)s->n;
        if (c->type == DROVE_COLUMN_DATE) c->centre = floor(mean / 86400);
        else c->centre = s->most - s->least >= 1 ? rint(mean) : mean;
        c->is_wide = c->type == DROVE_COLUMN_NUMBER;
    }
    const drove_sample *sample = &l->sample[column];
    c->is_whole = c->type == DROVE_COLUMN_NUMBER &&
                  sample->n_integer == sample->n_form[t->column[column].style.form];
    /* Levels, and how rare the rarest is. */
    const bool may_be_both = c->is_whole && c->n_distinct <= DROVE_BOTH_MOST;
    if (c->type == DROVE_COLUMN_NUMBER && (l->is_both[column] || may_be_both)) {
        const size_t most = l->is_both[column] ? l->opt->onehot : DROVE_BOTH_MOST;
        size_t n_levels;
        uint64_t *n_rows;
        DROVE_TRY(drove__table_levels(t, &t->column[column], c->is_wide, most, &c->levels.value,
                                      &n_rows, &n_levels));
        for (size_t i = 0; may_be_both && n_levels <= most && i < n_levels; i++)
            if (i == 0 || n_rows[i] < c->levels.n_rarest) c->levels.n_rarest = n_rows[i];
        free(n_rows);
        if (l->is_both[column] && n_levels > most)
            return drove__fail(DROVE_E_ARG,
                               "also: expected a column of %s of at most %zu values, found more in "
                               "\"%.80s\" (onehot=N allows more)",
                               t->path, most, c->name);
        if (l->is_both[column]) {
            c->levels.n = n_levels;
        } else {
            free(c->levels.value);
            c->levels.value = NULL;
        }
    }
    /* Bins: two values are told apart by the number itself. */
    size_t n_edges;
    if (c->type != DROVE_COLUMN_NUMBER || l->opt->bins == 0 || c->n_distinct <= 2) return DROVE_OK;
    DROVE_TRY(drove__table_quantiles(t, &t->column[column], l->opt->bins, &c->bins.edge, &n_edges));
    c->bins.n = n_edges > 2 ? n_edges - 1 : 0; /* one bin says no more than the number */
    if (c->bins.n > 0) return DROVE_OK;
    free(c->bins.edge);
    c->bins.edge = NULL;
    return DROVE_OK;
}

/* ---- the schema ---- */

static drove_status settle_column(learner *l, size_t i)
{
    const drove_table *t = l->table;
    drove_column *c = &l->known->schema->column[i];
    c->n_missing = t->count[i].n_missing;
    c->n_infinite = t->count[i].n_infinite;
    memcpy(c->examples, l->sample[i].examples, sizeof c->examples);
    c->name = strdup(t->name[i]);
    if (c->name == NULL) return drove__fail_nomem("table", strlen(t->name[i]));
    if (i == l->known->weight) {
        c->type = DROVE_COLUMN_WEIGHT;
        return DROVE_OK;
    }
    if (l->role[i] == ROLE_GROUP) {
        c->type = DROVE_COLUMN_GROUP;
        return drove__table_count_distinct(t, t->column[i].slot, &c->n_distinct);
    }
    switch (t->column[i].scan) {
    case DROVE_SCAN_LABEL: c->type = DROVE_COLUMN_LABEL; return DROVE_OK;
    case DROVE_SCAN_SKIP:
        c->type = l->forced[i] == DROVE_COLUMN_ID ? DROVE_COLUMN_ID : DROVE_COLUMN_IGNORED;
        return DROVE_OK;
    case DROVE_SCAN_TEXT: return settle_text(l, i, c);
    case DROVE_SCAN_WORDS:
        c->type = DROVE_COLUMN_TEXT;
        c->n_hash = n_hash(l, DROVE_HASH_WORDS_DEFAULT);
        return DROVE_OK;
    default: return settle_number(l, i, c);
    }
}

/* Sparse where that takes a quarter of the memory or less.  Its numbers are then centred here,
 * since the scaling only divides sparse data. */
static void choose_storage(learner *l)
{
    enum { SPARSE_LEAST = 256, GAIN_LEAST = 4 };
    drove_schema *schema = l->known->schema;
    double dense_bytes = 4.0 * (double)schema->n_features;

    /* Numbers expected in a row of sparse data. */
    const drove_table *t = l->table;
    double n_stored = 0, n_words = 0, n_rows = (double)t->n_rows;
    for (size_t i = 0; i < t->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (!drove__column_is_used(c)) continue;
        if (c->type == DROVE_COLUMN_DATE) n_stored += (double)c->n_features;
        else if (c->type != DROVE_COLUMN_TEXT)
            n_stored += 1 + (double)c->bins.n + (c->levels.n > 0) + (double)c->n_missing / n_rows;
    }
    for (size_t b = 0; b < t->n_blocks; b++) n_words += (double)t->block[b].n_words;
    double sparse_bytes = 8.0 * (n_stored + n_words / n_rows) + 8.0;
    schema->is_sparse =
        schema->n_features >= SPARSE_LEAST && dense_bytes >= GAIN_LEAST * sparse_bytes;
    for (size_t i = 0; i < schema->n_columns && schema->is_sparse; i++) {
        drove_column *c = &schema->column[i];
        if (c->type != DROVE_COLUMN_NUMBER && c->type != DROVE_COLUMN_DATE) continue;
        const drove_slot_stats *s = &l->stats[l->table->column[i].slot];
        if (s->n == 0 || c->centre != 0) continue;
        c->centre = s->sum / (double)s->n;
        if (c->type == DROVE_COLUMN_DATE) c->centre = floor(c->centre / 86400);
    }
}

/* Why no column is left to learn from, and the spec that takes one. */
static drove_status explain_finish(const learner *l, drove_status status)
{
    const drove_table *t = l->table;
    const drove_schema *schema = l->known->schema;
    char key[NAME_SHOWN];
    if (schema->n_features > 0) return drove__fail_in(status, "%s", t->path);
    DROVE_TRY(drove__shape_check_cells(t));
    if (l->n_rows == 1)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected rows that differ in a column to learn from, found one row "
                           "with a label",
                           t->path);
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (c->type != DROVE_COLUMN_ID) continue;
        const drove_sample *s = &l->sample[i];
        const bool is_text = s->n_words > s->n_present;
        const bool is_number =
            t->column[i].scan == DROVE_SCAN_NUMBER && s->n_padded == 0 && s->n_present > 0;
        drove__spec_escape(c->name, key, sizeof key);
        return drove__fail(DROVE_E_DATA,
                           "%s: expected a column to learn from, found none: \"%.60s\" was taken "
                           "for an id ('%s?%s=%s%s' uses it)",
                           t->path, c->name, t->path, is_text ? "text" : "types", key,
                           is_text     ? ""
                           : is_number ? ":number"
                                       : ":category");
    }
    return drove__fail_in(status, "%s", t->path);
}

/* Takes free text and numbers that count up, if there is nothing else to learn from: reads the
 * words, and the schema begins anew. */
static drove_status take_texts(learner *l, bool *is_any)
{
    drove_table *t = l->table;
    *is_any = false;
    for (size_t i = 0; i < t->n_columns; i++) {
        const drove_column_type type = l->known->schema->column[i].type;
        if (type == DROVE_COLUMN_ID && t->column[i].scan == DROVE_SCAN_NUMBER) {
            *is_any = l->takes_counters = true;
            drove__known_note(l->known,
                              "column \"%.40s\": its numbers count up like an id, and are used, "
                              "since no other column is left to learn from",
                              t->name[i]);
        }
        if (type != DROVE_COLUMN_FREE_TEXT) continue;
        *is_any = true;
        t->column[i].scan = DROVE_SCAN_WORDS;
        t->column[i].is_done = false;
        drove__known_note(l->known,
                          "column \"%.40s\": its words are used, as in ?text=, since no "
                          "other column is left to learn from",
                          t->name[i]);
    }
    if (!*is_any) return DROVE_OK;
    drove__schema_release(l->known->schema);
    free(l->known->source);
    l->known->schema = NULL;
    l->known->source = NULL;
    return drove__table_scan(t);
}

static drove_status settle_columns(learner *l)
{
    drove_table *t = l->table;
    DROVE_TRY(drove__schema_create(t->n_columns, &l->known->schema));
    drove_schema *schema = l->known->schema;
    schema->has_header = t->has_header;
    schema->n_rows = l->n_rows;
    l->known->source = drove__grow(NULL, t->n_columns, sizeof *l->known->source);
    if (l->known->source == NULL) return drove__fail_nomem("table", t->n_columns);
    for (size_t i = 0; i < t->n_columns; i++) {
        l->known->source[i] = i;
        DROVE_TRY(settle_column(l, i));
        const drove_column *c = &schema->column[i];
        if (!l->is_both[i] || c->type == DROVE_COLUMN_NUMBER) continue;
        return drove__fail(DROVE_E_ARG,
                           "also: expected a column of numbers of %s, found \"%.80s\", %s "
                           "(types=COLUMN:number)",
                           t->path, c->name, drove__column_type_name(c->type));
    }
    return DROVE_OK;
}

/* Columns of texts that hold digits, whose cells may be numbers in a spelling that is not known:
 * what became of them, some of them, and the key that decides otherwise. */
static void note_digits(learner *l)
{
    const drove_table *t = l->table;
    for (size_t i = 0; i < t->n_columns; i++) {
        const drove_column *c = &l->known->schema->column[i];
        const drove_sample *s = &l->sample[i];
        const bool is_split = c->type == DROVE_COLUMN_CATEGORY || c->type == DROVE_COLUMN_HASHED;
        const bool is_out = c->type == DROVE_COLUMN_ID || c->type == DROVE_COLUMN_FREE_TEXT;
        const bool is_typed = t->frame != NULL && t->frame->column[i].type == DROVE_FRAME_CATEGORY;
        const bool is_named_id = c->type == DROVE_COLUMN_ID && is_id_column(t, i);
        if (l->role[i] != ROLE_AUTO || l->was_widened[i] || is_typed || is_named_id ||
            (!is_split && !is_out) || 2 * s->n_with_digits < s->n_present)
            continue;
        const bool is_number = 2 * s->n_form[t->column[i].style.form] > s->n_present;
        const bool is_date = 2 * s->n_date[t->column[i].order] > s->n_present;
        /* Few words that many rows share, such as "2nd class", are what they look like. */
        if (is_split && !is_number && !is_date && c->n_distinct <= FEW_VALUES &&
            FEW_VALUES * c->n_distinct <= l->n_rows)
            continue;
        if (++l->n_with_digits > COLUMNS_SHOWN) continue;
        char key[NAME_SHOWN];
        drove__spec_escape(t->name[i], key, sizeof key);
        drove__known_note(l->known,
                          "column \"%.40s\": %llu cells, most with digits (%s), are %s (?%s=%s%s)",
                          t->name[i], (unsigned long long)(l->n_rows - c->n_missing), s->examples,
                          c->type == DROVE_COLUMN_ID          ? "taken for an id and left out"
                          : c->type == DROVE_COLUMN_FREE_TEXT ? "taken for free text and left out"
                                                              : "read as a category",
                          is_number || is_date ? "types"
                          : is_split           ? "ignore"
                                               : "types",
                          key,
                          is_number  ? ":number uses their values"
                          : is_date  ? ":date uses their values"
                          : is_split ? " leaves them out"
                                     : ":category uses them");
    }
    if (l->n_with_digits > COLUMNS_SHOWN)
        drove__known_note(l->known, "%zu more column%s with digits that %s no number",
                          l->n_with_digits - COLUMNS_SHOWN,
                          l->n_with_digits - COLUMNS_SHOWN == 1 ? "" : "s",
                          l->n_with_digits - COLUMNS_SHOWN == 1 ? "is" : "are");
}

static drove_status learn(learner *l)
{
    drove_table *t = l->table;
    bool has_comma;
    l->sample = calloc(t->n_columns, sizeof *l->sample);
    l->role = calloc(t->n_columns, sizeof *l->role);
    l->forced = calloc(t->n_columns, sizeof *l->forced);
    l->order = calloc(t->n_columns, sizeof *l->order);
    l->was_turned = calloc(t->n_columns, sizeof *l->was_turned);
    l->was_widened = calloc(t->n_columns, sizeof *l->was_widened);
    l->is_both = calloc(t->n_columns, sizeof *l->is_both);
    if (l->sample == NULL || l->role == NULL || l->forced == NULL || l->order == NULL ||
        l->was_turned == NULL || l->was_widened == NULL || l->is_both == NULL)
        return drove__fail_nomem("columns of a table", t->n_columns * sizeof *l->sample);
    for (size_t i = 0; i < t->n_columns; i++) l->order[i] = DROVE_N_DATE_ORDERS;
    drove__known_note_file(l->known, l->opt->written.separator == 0);
    DROVE_TRY(drove__learner_give_roles(l));
    drove__table_sample(t, l->known->label, l->known->n_labels, l->sample, &has_comma);
    choose_scans(l, has_comma);
    DROVE_TRY(scan_and_widen(l));
    l->stats = drove__grow(NULL, t->n_slots, sizeof *l->stats);
    if (l->stats == NULL) return drove__fail_nomem("columns", t->n_slots * sizeof *l->stats);
    DROVE_TRY(drove__table_stats(t, l->stats));

    bool is_new;
    DROVE_TRY(settle_columns(l));
    drove_status status = drove__schema_finish(l->known->schema);
    if (status != DROVE_OK && l->known->schema->n_features == 0) {
        DROVE_TRY(take_texts(l, &is_new));
        if (is_new) DROVE_TRY(settle_columns(l));
        if (is_new) status = drove__schema_finish(l->known->schema);
    }
    if (status != DROVE_OK) return explain_finish(l, status);
    note_digits(l);
    choose_storage(l);
    return DROVE_OK;
}

/* Names that make a first record a header: those of the labels. */
static size_t list_labels(const char *label, char *copy, const char **name, size_t most)
{
    static const char *const words[] = {"none", "first", "last"};
    size_t n = 0;
    if (label == NULL || strspn(label, "0123456789+,") == strlen(label)) return 0;
    for (size_t i = 0; i < DROVE_COUNT(words); i++) {
        if (strcmp(words[i], label) == 0) return 0;
    }
    name[n++] = label;
    for (char *word = strtok_r(copy, "+,", &copy); word != NULL && n < most;
         word = strtok_r(NULL, "+,", &copy))
        name[n++] = word;
    return n;
}

drove_status drove__table_learn(const drove_table_options *opt, drove_known_table *out)
{
    enum { NAMES_MOST = 64 };
    const char *name[NAMES_MOST];
    learner l = {.opt = opt, .known = out, .table = &out->table};
    *out = (drove_known_table){.weight = SIZE_MAX, .group = SIZE_MAX};
    char *copy = strdup(opt->label != NULL ? opt->label : "");
    if (copy == NULL) return drove__fail_nomem("table", NAMES_MOST);
    size_t n_names = list_labels(opt->label, copy, name, NAMES_MOST);
    drove_status status =
        drove__table_open(opt->path, &opt->written, opt->header, name, n_names, &out->table);
    if (status == DROVE_OK) status = learn(&l);
    free(copy);
    free(l.sample);
    free(l.role);
    free(l.forced);
    free(l.order);
    free(l.was_turned);
    free(l.was_widened);
    free(l.is_both);
    free(l.stats);
    return status;
}

void drove__known_table_fini(drove_known_table *known)
{
    drove__table_fini(&known->table);
    drove__schema_release(known->schema);
    free(known->source);
    free(known->label);
    *known = (drove_known_table){.weight = SIZE_MAX, .group = SIZE_MAX};
}
