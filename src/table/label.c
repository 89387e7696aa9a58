/* table/label.c - the label columns: their names, rows that have labels, words among numbers. */
#include "table/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MOST = 20 }; /* whole numbers with no more different values may be classes */

drove_status drove__label_check_name(const drove_table *t, size_t column)
{
    const char *name = t->name[column];
    if (!t->has_header || t->frame != NULL) return DROVE_OK; /* a frame's names differ */
    const char *at = t->content.text, *start, *end;
    size_t n = 0;
    bool more = drove__record_next(&t->dialect, &at, t->content.end, &start, &end);
    while (more) {
        drove_cell cell;
        more = drove__cell_next(&t->dialect, &start, end, &cell) && !cell.is_broken;
        n += cell.length == strlen(name) && memcmp(cell.text, name, cell.length) == 0;
    }
    if (n < 2) return DROVE_OK;
    return drove__fail(
        DROVE_E_ARG,
        "label: expected one column called \"%.80s\" in %s, found %zu (a number names "
        "one: --label %zu is the first)",
        name, t->path, n, column + 1);
}

/* True if "None" stands for no label; in a frame it is a text. */
static bool is_none(const drove_table *t, const drove_cell *cell)
{
    return t->frame == NULL && drove__cell_is_none(cell->text, cell->length);
}

bool drove__known_label_is_category(const drove_known_table *known)
{
    const drove_table *t = &known->table;
    if (t->n_labels == 1 && known->label[0] < t->content.n_types)
        return t->content.type[known->label[0]] == 'c';
    return t->n_labels == 1 && t->frame != NULL &&
           t->frame->column[known->label[0]].type == DROVE_FRAME_CATEGORY;
}

bool drove__known_has_label(const drove_known_table *known, size_t row)
{
    const drove_table *t = &known->table;
    bool is_word = t->n_labels == 1 && !known->label_is_number;
    for (size_t k = 0; k < t->n_labels; k++) {
        const drove_cell *cell = &t->label[row * t->n_labels + k];
        double number;
        if (cell->length == 0) return false;
        if (!is_word && is_none(t, cell)) return false;
        if (known->drops_words && !drove__cell_is_infinite(cell->text, cell->length) &&
            !drove__cell_amount(&known->label_style, cell->text, cell->length, &number))
            return false;
    }
    return true;
}

typedef struct values { /* different ones, as far as they are needed */
    double value[CLASSES_MOST];
    size_t n; /* at most CLASSES_MOST + 1, which means more */
    bool has_fraction;
} values;

static void add_value(values *v, double number)
{
    v->has_fraction = v->has_fraction || floor(number) != number;
    if (v->n > CLASSES_MOST) return;
    for (size_t i = 0; i < v->n; i++) {
        if (v->value[i] == number) return;
    }
    if (v->n < CLASSES_MOST) v->value[v->n] = number;
    v->n++;
}

/* True if half of the labels or more are times of day or durations. */
static bool are_clocks(const drove_table *t)
{
    size_t n = 0, n_clocks = 0;
    for (size_t row = 0; row < t->n_rows; row++) {
        const drove_cell *cell = &t->label[row];
        double seconds;
        if (cell->length == 0 || is_none(t, cell)) continue;
        n++;
        n_clocks += drove__cell_clock(cell->text, cell->length, &seconds);
    }
    return n_clocks > 0 && 2 * n_clocks >= n;
}

/* Returns whether the labels are numbers, words among them left out. */
static bool settle_words(drove_known_table *known, bool is_value)
{
    const drove_table *t = &known->table;
    drove_odd odd = {0};
    values v = {.n = 0};
    uint64_t n = 0;
    char words[DROVE_ODD_TEXT_SIZE];
    for (size_t row = 0; row < t->n_rows; row++) {
        const drove_cell *cell = &t->label[row];
        double number;
        if (cell->length == 0 || is_none(t, cell)) continue;
        n++;
        if (drove__cell_amount(&known->label_style, cell->text, cell->length, &number))
            add_value(&v, number);
        else if (!drove__cell_is_infinite(cell->text, cell->length))
            drove__odd_add(&odd, cell, row);
        if (!is_value && odd.n - odd.n_known > 0 && odd.has_kinds &&
            !drove__odd_is_rare(odd.n - odd.n_known, t->n_rows))
            return false;
    }
    const bool are_values = is_value || v.has_fraction || v.n > CLASSES_MOST;
    if (odd.n == 0 || !are_values) return are_values;
    if (!is_value && !drove__odd_are_words(&odd, n, v.n > CLASSES_MOST)) return false;
    known->label_is_number = known->drops_words = true;
    drove__known_note(known,
                      "label \"%.40s\": %llu cell%s no number and count%s as missing: %s, first in "
                      "row %llu%s",
                      t->name[known->label[0]], (unsigned long long)odd.n,
                      odd.n == 1 ? " is" : "s are", odd.n == 1 ? "s" : "",
                      drove__odd_list(&odd, words), (unsigned long long)odd.first + 1,
                      is_value ? "" : " (?target=class: labels are classes)");
    return true;
}

void drove__known_settle_label(drove_known_table *known, bool is_value)
{
    const drove_table *t = &known->table;
    const drove_amount_style style = known->label_style;
    if (t->n_labels != 1 || (!is_value && drove__known_label_is_category(known))) return;
    const bool is_clock = !known->label_is_number && are_clocks(t);
    if (is_clock) known->label_style = (drove_amount_style){.unit = drove__unit_clock()};
    const bool are_numbers = settle_words(known, is_value);
    if (is_clock && !are_numbers) known->label_style = style;
    if (!is_clock || !are_numbers) return;
    known->label_is_number = true;
    if (!is_value)
        drove__known_note(known,
                          "label \"%.40s\": times or durations are read as seconds "
                          "(?target=class: labels are classes)",
                          t->name[known->label[0]]);
}

drove_status drove__known_leave_out(drove_known_table *known, size_t *n_kept)
{
    drove_table *t = &known->table;
    *n_kept = t->n_rows;
    if (t->n_labels == 0) return DROVE_OK;
    for (size_t row = 0; row < t->n_rows; row++) {
        if (drove__known_has_label(known, row)) continue;
        if (t->left_out == NULL) t->left_out = calloc(t->n_rows, sizeof *t->left_out);
        if (t->left_out == NULL) return drove__fail_nomem("rows", t->n_rows);
        t->left_out[row] = true;
        --*n_kept;
    }
    if (*n_kept > 0) return DROVE_OK;
    free(t->left_out); /* the reader refuses such a table */
    t->left_out = NULL;
    *n_kept = t->n_rows;
    return DROVE_OK;
}
