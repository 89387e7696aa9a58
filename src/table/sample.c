/* table/sample.c - looks at some rows of a table, and resolves the names of columns in options. */
#include "table/table.h"

#include "base/mem.h"
#include "base/spec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_FIRST = 10000, ROWS_LEAST = 50, ROWS_LATER = 20, BLOCKS_LATER = 64 };
enum { CELLS_MOST = 4000000, SHOWN_MOST = 3, CELL_SHOWN_MOST = 18 };

/* ---- a sample of the rows ---- */

/* Adds a cell to the examples unless it is among them; one line, at most CELL_SHOWN_MOST bytes. */
static void show(drove_sample *s, const drove_cell *cell)
{
    char text[CELL_SHOWN_MOST + 4];
    size_t n = cell->length < CELL_SHOWN_MOST ? cell->length : CELL_SHOWN_MOST;
    size_t used = strlen(s->examples);
    while (n < cell->length && n > 0 && ((unsigned char)cell->text[n] & 0xc0u) == 0x80) n--;
    for (size_t i = 0; i < n; i++)
        text[i] = (unsigned char)cell->text[i] < ' ' ? ' ' : cell->text[i];
    text[n] = '\0';
    if (n < cell->length) strcpy(text + n, "...");
    size_t n_shown = used > 0;
    for (const char *c = s->examples; (c = strstr(c, " | ")) != NULL; c += 3) n_shown++;
    if (n_shown >= SHOWN_MOST || strstr(s->examples, text) != NULL) return;
    if (used + strlen(text) + 4 > sizeof s->examples) return;
    strcat(strcat(s->examples, used > 0 ? " | " : ""), text);
}

/* Adds a number, value[form] where is_form[form]; its text without its unit. */
static void add_number(drove_sample *s, const char *text, size_t length,
                       const bool is_form[DROVE_N_FORMS], const double value[DROVE_N_FORMS])
{
    bool is_counted = false;
    if (s->longest == 0 || length < s->shortest) s->shortest = length;
    if (length > s->longest) s->longest = length;
    for (int form = 0; form < DROVE_N_FORMS; form++) {
        if (!is_form[form]) continue;
        if (!is_counted && s->n_values < DROVE_RICH_LEAST) {
            size_t i = 0;
            while (i < s->n_values && s->value[i] != value[form]) i++;
            if (i == s->n_values) s->value[s->n_values++] = value[form];
        }
        is_counted = true;
        s->n_form[form]++;
        drove__digits_add(&s->digits[form], value[form]);
    }
    s->n_padded += drove__cell_is_padded(text, length);
}

/* A number with a point and without groups is one with groups, too; without the point it has all
 * forms.  Returns whether the cell is a number, whatever its unit. */
static bool look_at_number(drove_sample *s, const drove_cell *cell)
{
    double plain, number[DROVE_N_FORMS];
    bool is_form[DROVE_N_FORMS], is_any = false, is_first = true;
    drove_amount a = {.text = cell->text, .length = cell->length};
    bool is_plain = drove__cell_number(DROVE_FORM_POINT, a.text, a.length, &plain);
    if (!is_plain) {
        a = drove__amount_of(cell->text, cell->length);
        is_plain = drove__cell_number(DROVE_FORM_POINT, a.text, a.length, &plain);
    }
    bool has_point = is_plain && memchr(a.text, '.', a.length) != NULL;
    for (int form = 0; form < DROVE_N_FORMS; form++) {
        bool is_implied = is_plain && (form <= DROVE_FORM_POINT_GROUPS || !has_point);
        number[form] = plain;
        is_form[form] = is_implied || drove__cell_number((drove_number_form)form, a.text, a.length,
                                                         &number[form]);
        is_any = is_any || is_form[form];
        is_first = is_first && s->n_form[form] == 0;
    }
    if (is_any && is_first) {
        s->unit = a.unit;
        s->has_word = a.unit.text[0] != '\0' && !a.is_known;
    }
    if (!is_any || !drove__unit_is_same(&a.unit, &s->unit)) return is_any;
    for (int form = 0; form < DROVE_N_FORMS && a.is_negative; form++) number[form] = -number[form];
    add_number(s, a.text, a.length, is_form, number);
    return true;
}

static bool has_digit(const drove_cell *cell)
{
    for (size_t i = 0; i < cell->length; i++) {
        const unsigned char *c = (const unsigned char *)cell->text + i;
        if (*c >= '0' && *c <= '9') return true;
        /* Arabic and Indic digits, and wide ones of East Asian texts */
        if (i + 1 < cell->length && ((*c == 0xd9 && c[1] >= 0xa0 && c[1] <= 0xa9) ||
                                     (*c == 0xdb && c[1] >= 0xb0 && c[1] <= 0xb9)))
            return true;
        if (i + 2 < cell->length && *c == 0xef && c[1] == 0xbc && c[2] >= 0x90 && c[2] <= 0x99)
            return true;
    }
    return false;
}

/* Most cells of most tables: up to 15 digits with a point or without, which is nothing but a
 * number.  Returns whether it is one, and counted. */
static bool look_at_plain(drove_sample *s, const drove_cell *cell)
{
    enum { MOST = 17 };
    static const double power[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *c = cell->text, *end = c + cell->length, *point = NULL;
    uint64_t whole = 0;
    size_t n = 0;
    if (cell->length > MOST || s->unit.text[0] != '\0') return false;
    const bool is_negative = c < end && *c == '-';
    for (c += is_negative; c < end; c++) {
        if (*c == '.' && point == NULL) {
            point = c;
            continue;
        }
        if (*c < '0' || *c > '9') return false;
        whole = whole * 10 + (uint64_t)(*c - '0');
        n++;
    }
    if (n == 0 || n > 15) return false;
    const size_t n_behind = point != NULL ? (size_t)(end - point - 1) : 0;
    double value = (double)whole / power[n_behind];
    if (is_negative) value = -value;
    double all[DROVE_N_FORMS] = {value, value, value, value};
    bool is_form[DROVE_N_FORMS] = {true, true, point == NULL, point == NULL};
    if (point != NULL && n_behind == 3) /* 1.234 may be a thousand */
        is_form[DROVE_FORM_COMMA_GROUPS] =
            drove__cell_number(DROVE_FORM_COMMA_GROUPS, cell->text, cell->length,
                               &all[DROVE_FORM_COMMA_GROUPS]);
    add_number(s, cell->text, cell->length, is_form, all);
    s->n_present++;
    s->n_integer += point == NULL;
    s->n_with_digits++;
    s->n_words++;
    if (s->n_present <= 100) show(s, cell);
    return true;
}

static void look_at_cell(drove_sample *s, const drove_cell *cell)
{
    double seconds;
    if (look_at_plain(s, cell)) return;
    if (drove__cell_is_missing(cell->text, cell->length) ||
        drove__cell_is_infinite(cell->text, cell->length)) {
        s->n_missing++;
        return;
    }
    if (drove__cell_is_missing_value(cell->text, cell->length)) return;
    s->n_present++;
    const bool is_integer = drove__cell_is_integer(cell->text, cell->length);
    double number;
    s->n_integer += is_integer;
    if (is_integer && cell->length > 15 &&
        drove__cell_number(DROVE_FORM_POINT, cell->text, cell->length, &number)) {
        /* Integers of so many digits may be more than a double holds. */
        const uint32_t long_hash = drove__text_hash(cell->text, cell->length);
        for (size_t i = 0; i < DROVE_LONG_NUMBERS; i++)
            s->has_equals = s->has_equals || (s->long_hash[i] != 0 && s->long_number[i] == number &&
                                              s->long_hash[i] != long_hash);
        s->long_number[s->n_present % DROVE_LONG_NUMBERS] = number;
        s->long_hash[s->n_present % DROVE_LONG_NUMBERS] = long_hash;
    }
    /* Numbers, dates and times have digits; most words have none. */
    const bool has_digits = has_digit(cell);
    s->n_with_digits += has_digits;
    const bool is_number = has_digits && look_at_number(s, cell);
    bool has_time, is_date = false;
    for (int i = 0; has_digits && i < DROVE_N_DATE_ORDERS; i++) {
        int64_t date;
        if (!drove__cell_date((drove_date_order)i, cell->text, cell->length, &date, &has_time))
            continue;
        is_date = true;
        s->n_date[i]++;
        s->has_slash = s->has_slash || memchr(cell->text, '/', cell->length) != NULL;
    }
    const bool is_clock = has_digits && drove__cell_clock(cell->text, cell->length, &seconds);
    s->n_clock += is_clock;
    if (!is_number && !is_date && !is_clock) {
        const uint32_t hash = drove__text_hash(cell->text, cell->length);
        s->has_odds = s->has_odds || (s->n_odd > 0 && s->odd_hash != hash);
        s->odd_hash = hash;
        s->n_odd++;
    }

    /* words have blanks between them */
    bool inside = false;
    for (size_t i = 0; i < cell->length; i++) {
        bool is_blank = cell->text[i] == ' ' || cell->text[i] == '\n' || cell->text[i] == '\t';
        s->n_words += !is_blank && !inside;
        inside = !is_blank;
    }
    if (s->n_present <= 100) show(s, cell);
}

typedef struct sampling {
    const drove_table *table;
    const size_t *label; /* [n_labels] */
    size_t n_labels, n_labelled;
    drove_sample *sample;
} sampling;

static bool has_label(const sampling *s, const char *at, const char *end)
{
    bool more = s->n_labels > 0;
    for (size_t i = 0; more; i++) {
        drove_cell cell;
        more = drove__cell_next(&s->table->dialect, &at, end, &cell) && !cell.is_broken;
        if (!drove__cell_is_missing(cell.text, cell.length) ||
            drove__cell_is_none(cell.text, cell.length))
            continue;
        for (size_t k = 0; k < s->n_labels; k++) {
            if (s->label[k] == i) return false;
        }
    }
    return true;
}

/* Up to n_rows records of a block.  A broken one is told when the whole file is read. */
static void look_at_rows(sampling *s, const drove_table_block *block, size_t n_rows)
{
    const drove_table *t = s->table;
    const char *at = block->start, *start, *end;
    if (t->frame != NULL) {
        char text[DROVE_FRAME_PRINT_SIZE];
        for (size_t row = block->first_row; row < block->first_row + block->n_rows && n_rows > 0;
             row++, n_rows--) {
            bool is_labelled = true;
            for (size_t k = 0; k < s->n_labels; k++)
                is_labelled =
                    is_labelled && !drove__frame_is_missing(&t->frame->column[s->label[k]], row);
            if (!is_labelled) continue;
            s->n_labelled++;
            for (size_t i = 0; i < t->frame->n_columns; i++) {
                const drove_frame_column *c = &t->frame->column[i];
                drove_cell cell;
                if (drove__frame_is_text(c)) cell = drove__frame_cell(c, row);
                else cell = (drove_cell){.text = text, .length = drove__frame_print(c, row, text)};
                look_at_cell(&s->sample[i], &cell);
            }
        }
        return;
    }
    for (size_t row = 0; row < n_rows; row++) {
        bool more = true;
        if (!drove__table_next(t, &at, block->end, &start, &end)) return;
        if (!has_label(s, start, end)) continue;
        s->n_labelled++;
        for (size_t i = 0; i < t->n_columns && more; i++) {
            drove_cell cell;
            more = drove__cell_next(&t->dialect, &start, end, &cell) && !cell.is_broken;
            look_at_cell(&s->sample[i], &cell);
        }
    }
}

void drove__table_sample(const drove_table *t, const size_t *label, size_t n_labels,
                         drove_sample *sample, bool *has_comma)
{
    sampling sampled = {.table = t, .label = label, .n_labels = n_labels, .sample = sample};
    size_t n_rows = CELLS_MOST / t->n_columns, n_seen = 0, block = 0;
    size_t n_comma = 0, n_point = 0;
    if (n_rows > ROWS_FIRST) n_rows = ROWS_FIRST;
    if (n_rows < ROWS_LEAST) n_rows = ROWS_LEAST;
    for (; block < t->n_blocks && n_seen < n_rows; block++) {
        look_at_rows(&sampled, &t->block[block], n_rows - n_seen);
        n_seen += t->block[block].n_rows;
    }
    size_t step = (t->n_blocks - block) / BLOCKS_LATER + 1;
    for (; block < t->n_blocks; block += step)
        look_at_rows(&sampled, &t->block[block], n_rows < ROWS_LATER * 10 ? 1 : ROWS_LATER);
    if (sampled.n_labelled == 0 && n_labels > 0) {
        drove__table_sample(t, NULL, 0, sample, has_comma);
        return;
    }
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t *n = sample[i].n_form;
        const bool may_be_groups = n[DROVE_FORM_COMMA_GROUPS] == n[DROVE_FORM_POINT];
        /* 1,5 tells the meaning of a comma in the other columns: between commas if nearly all cells
         * have it in quotes, and 1,234 is not all there is. */
        const uint64_t n_present = sample[i].n_present;
        const bool is_decimal = t->dialect.separator != ',' ||
                                (n[DROVE_FORM_COMMA] > n[DROVE_FORM_POINT_GROUPS] &&
                                 drove__odd_is_rare(n_present - n[DROVE_FORM_COMMA], n_present));
        if (n[DROVE_FORM_COMMA] > n[DROVE_FORM_POINT] && is_decimal) n_comma += n[DROVE_FORM_COMMA];
        else if (n[DROVE_FORM_POINT] > n[DROVE_FORM_COMMA] && !may_be_groups)
            n_point += n[DROVE_FORM_POINT];
    }
    *has_comma = n_comma > n_point;
}

bool drove__sample_is_nearly(const drove_sample *s, size_t n)
{
    const size_t n_others = s->n_present - n;
    const bool is_one_word = n_others == s->n_odd && !s->has_odds && n_others <= s->n_present / 2 &&
                             s->n_values == DROVE_RICH_LEAST;
    return is_one_word || drove__odd_is_rare(n_others, s->n_present);
}

drove_amount_style drove__sample_style(const drove_sample *sample, char separator, bool has_comma)
{
    static const drove_number_form orders[2][DROVE_N_FORMS] = {
        {DROVE_FORM_POINT, DROVE_FORM_POINT_GROUPS, DROVE_FORM_COMMA, DROVE_FORM_COMMA_GROUPS},
        {DROVE_FORM_COMMA, DROVE_FORM_COMMA_GROUPS, DROVE_FORM_POINT, DROVE_FORM_POINT_GROUPS}};
    /* Between commas "1,5" may be a list, unless the whole column can be read so; an amount is a
     * number. */
    const size_t n_comma = sample->n_form[DROVE_FORM_COMMA],
                 n_groups = has_comma ? sample->n_form[DROVE_FORM_COMMA_GROUPS] : 0;
    const uint64_t n_odd = sample->n_present - (n_comma > n_groups ? n_comma : n_groups);
    const bool is_open = separator == ',' && sample->unit.text[0] == '\0' &&
                         !drove__odd_is_rare(n_odd, sample->n_present);
    /* "210,044" alone between commas are thousands, whatever the other columns have. */
    const size_t *n = sample->n_form;
    const bool are_thousands = separator == ',' &&
                               n[DROVE_FORM_POINT_GROUPS] >= n[DROVE_FORM_COMMA] &&
                               n[DROVE_FORM_POINT_GROUPS] > n[DROVE_FORM_POINT];
    const drove_number_form *order = orders[has_comma && !is_open && !are_thousands];
    size_t n_forms = is_open ? 2 : DROVE_N_FORMS;
    drove_amount_style style = {.form = DROVE_FORM_POINT, .unit = sample->unit};
    if (sample->n_integer == sample->n_present) return style;
    style.form = order[0];
    for (size_t i = 1; i < n_forms; i++) {
        if (sample->n_form[order[i]] > sample->n_form[style.form]) style.form = order[i];
    }
    return style;
}

/* ---- names in options ---- */

/* The line, from 2, of a header below titles and comments that has this name; 0: none.  A number
 * may be any cell. */
static unsigned find_below(const drove_table *t, const char *word, size_t length)
{
    enum { LINES = 10 };
    const char *at = t->content.text, *end = t->content.end;
    double number;
    if (drove__cell_number(DROVE_FORM_POINT, word, length, &number)) return 0;
    for (unsigned line = 1; line <= LINES && at < end; line++) {
        const char *line_end = memchr(at, t->dialect.line_end, (size_t)(end - at));
        if (line_end == NULL) line_end = end;
        while (at < line_end) {
            const char *next = at;
            while (next < line_end && strchr(",;|\t", *next) == NULL) next++;
            const char *from = at, *to = next;
            while (from < to && strchr(" \"", *from) != NULL) from++;
            while (from < to && strchr(" \"\r", to[-1]) != NULL) to--;
            if (line > 1 && (size_t)(to - from) == length && memcmp(from, word, length) == 0)
                return line;
            at = next < line_end ? next + 1 : line_end;
        }
        at = line_end < end ? line_end + 1 : end;
    }
    return 0;
}

static drove_status fail_unknown(const drove_table *t, const char *key, const char *word,
                                 size_t length)
{
    enum { NAMES_MOST = 1000 };
    char wanted[64];
    DROVE_TRY(drove__shape_check_cells(t));
    size_t n = t->n_columns < NAMES_MOST ? t->n_columns : NAMES_MOST;
    snprintf(wanted, sizeof wanted, "%.*s", (int)(length < 60 ? length : 60), word);
    const char *near = drove__nearest(wanted, (const char *const *)t->name, n);
    const unsigned line = find_below(t, word, length);
    char hint[DROVE_HINT_SIZE];
    if (line == 0 && near == NULL && t->frame == NULL && strchr("#%", *t->content.text) != NULL)
        return drove__fail(DROVE_E_ARG,
                           "%s: %s has no column \"%s\" in its first line, which looks like a "
                           "comment (%s leaves it out)",
                           key, t->path, wanted, drove__table_hint(t, t->content.text, 1, hint));
    if (line == 0 && t->frame == NULL && strstr(t->name[t->n_columns - 1], " #") != NULL)
        return drove__fail(DROVE_E_ARG,
                           "%s: %s has no column \"%s\"; does its last one, \"%.80s\", end with a "
                           "comment ('%.400s?comment=#' leaves it out)?",
                           key, t->path, wanted, t->name[t->n_columns - 1], t->path);
    if (line > 0) {
        return drove__fail(DROVE_E_ARG,
                           "%s: %s has no column \"%s\" in its first line, but in line %u: a title "
                           "or a comment stands above the header (%s leaves it out)",
                           key, t->path, wanted, line,
                           drove__table_hint(t, t->content.text, line - 1, hint));
    }
    if (near != NULL) {
        return drove__fail(DROVE_E_ARG, "%s: %s has no column \"%s\"; did you mean \"%.80s\"?", key,
                           t->path, wanted, near);
    }
    return drove__fail(DROVE_E_ARG,
                       "%s: expected a column of %s, from \"%.40s\" to \"%.40s\" or 1 to %zu, "
                       "found \"%s\"%s",
                       key, t->path, t->name[0], t->name[t->n_columns - 1], t->n_columns, wanted,
                       t->n_columns == 1 && t->frame == NULL
                           ? " (a single column: ?sep= names a separator)"
                       : t->has_header ? ""
                                       : " (no header was found; ?header=yes)");
}

drove_status drove__table_find(const drove_table *t, const char *key, const char *word,
                               size_t length, size_t *out)
{
    const char *next;
    uint64_t number;
    for (size_t i = 0; i < t->n_columns; i++) {
        if (strlen(t->name[i]) != length || memcmp(t->name[i], word, length) != 0) continue;
        *out = i;
        return DROVE_OK;
    }
    if (drove__scan_u64(word, word + length, &next, &number) && next == word + length &&
        number >= 1 && number <= t->n_columns) {
        *out = (size_t)number - 1;
        return DROVE_OK;
    }
    return fail_unknown(t, key, word, length);
}

size_t drove__table_word(const drove_table *t, const char *list, const char *stops)
{
    size_t longest = 0;
    for (size_t i = 0; i < t->n_columns; i++) {
        const size_t n = strlen(t->name[i]);
        if (n <= longest || strncmp(t->name[i], list, n) != 0) continue;
        if (list[n] == '\0' || strchr(stops, list[n]) != NULL) longest = n;
    }
    return longest > 0 ? longest : strcspn(list, stops);
}

drove_status drove__table_list(const drove_table *t, const char *key, const char *list,
                               drove_each_column *each, void *context)
{
    size_t column;
    for (const char *word = list;; word++) {
        size_t length = drove__table_word(t, word, "+,");
        DROVE_TRY(drove__table_find(t, key, word, length, &column));
        DROVE_TRY(each(context, column));
        word += length;
        if (*word == '\0') return DROVE_OK;
    }
}

/* ---- remarks ---- */

void drove__known_note(drove_known_table *known, const char *format, ...)
{
    char text[512];
    size_t used = strlen(known->notes);
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < 0 || used + strlen(text) + 3 > sizeof known->notes) return;
    snprintf(known->notes + used, sizeof known->notes - used, "%s%s", used > 0 ? "; " : "", text);
}

void drove__known_note_infinite(drove_known_table *known, const char *name,
                                const drove_column_count *count)
{
    if (count->n_infinite == 0) return;
    drove__known_note(known,
                      "column \"%.40s\": %llu cell%s infinite or beyond 3.4e38 and count%s as "
                      "missing, first in row %llu",
                      name, (unsigned long long)count->n_infinite,
                      count->n_infinite == 1 ? " is" : "s are", count->n_infinite == 1 ? "s" : "",
                      (unsigned long long)count->first_infinite + 1);
}

void drove__known_note_file(drove_known_table *known, bool is_auto_separator)
{
    const drove_table *t = &known->table;
    const char *name = t->dialect.separator == ';'    ? "a semicolon"
                       : t->dialect.separator == '\t' ? "a tab"
                       : t->dialect.separator == '|'  ? "a bar"
                       : t->dialect.separator == ' '  ? "blanks"
                                                      : NULL;
    if (is_auto_separator && name != NULL && !t->content.has_names)
        drove__known_note(known, "cells are separated by %s", name);
    if (!t->has_header)
        drove__known_note(known, "no header: columns are called column1 to column%zu",
                          t->n_columns);
    if (t->shape_note[0] != '\0') drove__known_note(known, "%s", t->shape_note);
    if (t->content.note[0] != '\0') drove__known_note(known, "%s", t->content.note);
}
