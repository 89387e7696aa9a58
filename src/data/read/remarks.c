/* data/read/remarks.c - see remarks.h.  Most columns are done after a few rows, the first that
 * speak against them. */
#include "data/read/remarks.h"

#include "base/mem.h"
#include "base/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROWS = 50,       /* of a table                                    */
    LEAST_OF_CLASS = 10,   /* rows of each class                            */
    LEAST_OF_VALUE = 10,   /* rows of a value, on average                   */
    MOST_VALUES = 1024,    /* of a column whose values each have one class  */
    MOST_CLASSES = 64,     /* intervals of numbers                          */
    LEAST_DATED_ROWS = 20, /* in their order                                */
    NAME_SHOWN = 120
};

typedef struct rows { /* the rows with a label, and a column of them */
    const drove_table *table;
    const bool *keep;
    const drove_storage *labels;
    size_t n;
    const drove_scan_column *column;
} rows;

/* Moves *row to the next row with a label. */
static bool next_row(const rows *r, size_t *row)
{
    while (*row < r->table->n_rows && r->keep != NULL && !r->keep[*row]) ++*row;
    return *row < r->table->n_rows;
}

/* What tells the cells of a column apart. */
static uint64_t key_of(const rows *r, size_t row)
{
    if (r->column->scan == DROVE_SCAN_TEXT)
        return r->table->raw[row * r->table->n_slots + r->column->slot];
    const double value = drove__table_value(r->table, r->column->slot, row) + 0.0;
    uint64_t key;
    memcpy(&key, &value, sizeof key);
    return key;
}

/* Whether all rows with the same cell have the same class, and there are few such cells. */
static drove_status has_class_of_value(const rows *r, bool *out)
{
    enum { N_SLOTS = 4 * MOST_VALUES };
    typedef struct slot {
        uint64_t key;
        int32_t class;
        bool is_used;
    } slot;
    slot *slots = calloc(N_SLOTS, sizeof *slots);
    if (slots == NULL) return drove__fail_nomem("values", N_SLOTS * sizeof *slots);
    const size_t share = r->n / LEAST_OF_VALUE, most = share < MOST_VALUES ? share : MOST_VALUES;
    size_t n_values = 0, i = 0;
    bool is_one = true;
    for (size_t row = 0; is_one && next_row(r, &row); row++, i++) {
        const uint64_t key = key_of(r, row);
        size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 32) % N_SLOTS;
        while (slots[at].is_used && slots[at].key != key) at = (at + 1) % N_SLOTS;
        if (!slots[at].is_used) {
            slots[at] = (slot){.key = key, .class = r->labels->y_class[i], .is_used = true};
            is_one = ++n_values <= most;
        } else {
            is_one = slots[at].class == r->labels->y_class[i];
        }
    }
    free(slots);
    *out = is_one;
    return DROVE_OK;
}

/* Whether the numbers of each class are an interval without those of others. */
static bool has_intervals(const rows *r)
{
    enum { FIRST_CHECK = 64 };
    const size_t n_classes = r->labels->n_classes;
    double least[MOST_CLASSES], most[MOST_CLASSES];
    size_t i = 0, check = FIRST_CHECK;
    if (n_classes > MOST_CLASSES) return false;
    for (size_t c = 0; c < n_classes; c++) least[c] = INFINITY, most[c] = -INFINITY;
    for (size_t row = 0; next_row(r, &row); row++) {
        const double value = drove__table_value(r->table, r->column->slot, row);
        const int32_t class = r->labels->y_class[i];
        if (isnan(value)) return false;
        if (value < least[class]) least[class] = value;
        if (value > most[class]) most[class] = value;
        if (++i != check && i != r->n) continue;
        check *= 4;
        for (size_t a = 0; a < n_classes; a++)
            for (size_t b = a + 1; b < n_classes; b++)
                if (least[a] <= most[b] && least[b] <= most[a]) return false;
    }
    return true;
}

/* Whether the labels of the first `most` rows are a straight line of the numbers. */
static bool is_line(const rows *r, size_t most)
{
    const float *y = r->labels->y_value;
    double x_least = INFINITY, x_most = -INFINITY, y_least = 0, y_most = 0;
    size_t i = 0;
    for (size_t row = 0; i < most && next_row(r, &row); row++, i++) {
        const double x = drove__table_value(r->table, r->column->slot, row);
        if (isnan(x)) return false;
        if (x < x_least) x_least = x, y_least = (double)y[i];
        if (x > x_most) x_most = x, y_most = (double)y[i];
    }
    const double rise = y_most - y_least, allowed = 1e-5 * fabs(rise);
    if (!(x_most > x_least) || rise == 0) return false;
    i = 0;
    for (size_t row = 0; i < most && next_row(r, &row); row++, i++) {
        const double x = drove__table_value(r->table, r->column->slot, row);
        const double line = y_least + rise * (x - x_least) / (x_most - x_least);
        if (!(fabs((double)y[i] - line) <= allowed)) return false;
    }
    return true;
}

/* Whether labels are so many of each kind that a column tells them by no chance. */
static bool are_enough(const drove_storage *s, size_t n)
{
    if (n < LEAST_ROWS) return false;
    if (s->y_kind == DROVE_Y_VALUE) return drove__storage_n_values(s) == 1;
    if (s->y_kind != DROVE_Y_CLASS || s->n_classes < 2) return false;
    size_t *n_of = calloc(s->n_classes, sizeof *n_of);
    bool is_enough = n_of != NULL;
    for (size_t i = 0; i < n && n_of != NULL; i++) n_of[s->y_class[i]]++;
    for (size_t c = 0; c < s->n_classes && is_enough; c++) is_enough = n_of[c] >= LEAST_OF_CLASS;
    free(n_of);
    return is_enough;
}

static drove_status tells_label(const rows *r, drove_column_type type, bool *out)
{
    const bool is_number = type == DROVE_COLUMN_NUMBER || type == DROVE_COLUMN_DATE;
    *out = false;
    if (r->labels->y_kind == DROVE_Y_VALUE) {
        *out = is_number && is_line(r, LEAST_ROWS) && is_line(r, r->n);
        return DROVE_OK;
    }
    *out = is_number && has_intervals(r);
    if (*out || type == DROVE_COLUMN_TEXT) return DROVE_OK;
    return has_class_of_value(r, out);
}

/* Whether the dates of a column ascend, and are not all the same. */
static bool ascends(const rows *r)
{
    double first = NAN, last = -INFINITY;
    for (size_t row = 0; next_row(r, &row); row++) {
        const double date = drove__table_value(r->table, r->column->slot, row);
        if (isnan(date)) continue;
        if (date < last) return false;
        if (isnan(first)) first = date;
        last = date;
    }
    return last > first;
}

drove_status drove__remark_columns(const drove_known_table *known, const bool *keep, size_t n_kept,
                                   bool is_ordered, drove_storage *s)
{
    rows r = {.table = &known->table, .keep = keep, .labels = s, .n = n_kept};
    const drove_schema *schema = known->schema;
    const bool is_sure = known->table.n_labels == 1 && are_enough(s, n_kept);
    size_t n_telling = 0;
    const char *telling = NULL;
    for (size_t i = 0; i < schema->n_columns; i++) {
        const drove_column *c = &schema->column[i];
        if (!drove__column_is_used(c)) continue;
        r.column = &known->table.column[known->source[i]];
        bool tells = false;
        if (is_sure) DROVE_TRY(tells_label(&r, c->type, &tells));
        if (tells && n_telling++ == 0) telling = c->name;
        if (is_ordered || c->type != DROVE_COLUMN_DATE || n_kept < LEAST_DATED_ROWS || !ascends(&r))
            continue;
        drove__storage_note(s,
                            "rows are in the order of \"%.40s\": ?split=last holds out the latest, "
                            "as those to come will be",
                            c->name);
        is_ordered = true;
    }
    if (n_telling == 0) return DROVE_OK;
    char key[NAME_SHOWN], others[48] = "";
    if (n_telling > 1)
        snprintf(others, sizeof others, ", and so do %zu other column%s", n_telling - 1,
                 n_telling == 2 ? "" : "s");
    drove__storage_note(s,
                        "column \"%.40s\" alone tells the label of every row%s: is it known before "
                        "the label is? (?ignore=%s leaves it out)",
                        telling, others, drove__spec_escape(telling, key, sizeof key));
    return DROVE_OK;
}
