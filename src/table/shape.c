/* table/shape.c - lines of a text that are no rows of its table, and what the number of cells says
 * of its header.  Declared in table/read.h. */
#include "table/read.h"

#include "base/mem.h"
#include "base/spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RECORDS_SEEN = 100, LINES_MOST = 5, SHOWN = 40 };

static void note(drove_table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(drove_table *t, const char *format, ...)
{
    const size_t used = strlen(t->shape_note), size = sizeof t->shape_note;
    va_list arguments;
    if (used + 2 >= size) return;
    if (used > 0) strcpy(t->shape_note + used, "; ");
    va_start(arguments, format);
    vsnprintf(t->shape_note + strlen(t->shape_note), size - strlen(t->shape_note), format,
              arguments);
    va_end(arguments);
}

/* ---- titles and footers ---- */

static int shown(const char *start, const char *end)
{
    const size_t n = (size_t)(end - start);
    return n < SHOWN ? (int)n : SHOWN;
}

void drove__shape_skip_titles(drove_table *t)
{
    const char *at = t->content.text, *start, *end, *next;
    size_t n_cells = 0, n = 0;
    /* The lines below have all the same number of cells, two at least. */
    for (unsigned lines = 0; lines < LINES_MOST; lines++) {
        next = at;
        if (!drove__record_next(&t->dialect, &next, t->content.end, &start, &end)) return;
        if (drove__record_count(&t->dialect, start, end) > 1) break;
        at = next;
    }
    if (at == t->content.text) return;
    next = at;
    while (n < RECORDS_SEEN &&
           drove__record_next(&t->dialect, &next, t->content.end, &start, &end)) {
        const size_t count = drove__record_count(&t->dialect, start, end);
        if (n == 0) n_cells = count;
        if (count != n_cells && !(count == 1 && n > 1)) return; /* 1: perhaps a footer */
        n++;
    }
    drove_content below = t->content;
    below.text = at;
    /* Above two columns one name may also be that of a column beside one of row names. */
    if (n < 2 || n_cells < 2 || (n_cells == 2 && !drove__detect_header(&below, &t->dialect)))
        return;
    const char *line_end =
        memchr(t->content.text, t->dialect.line_end, (size_t)(at - t->content.text));
    note(t,
         "the first line, \"%.*s\", is left out: it is no row of %zu cells, but a title or a "
         "comment",
         shown(t->content.text, line_end != NULL ? line_end : at), t->content.text, n_cells);
    for (const char *c = t->content.text; c < at; c++) t->first_line += *c == t->dialect.line_end;
    t->content.text = at;
}

/* A remark on a last line that begins with "Total" or the like, as none of the first lines does,
 * and holds a number. */
static void note_sum(drove_table *t, const char *rows)
{
    static const char *const words[] = {"total", "totals",   "grand total", "sum", "summe",
                                        "all",   "subtotal", "average",     "mean"};
    const char *end = t->content.end, *start, *record_end;
    drove_cell sum, cell;
    double number;
    while (end > rows && strchr(" \t\r\n", end[-1]) != NULL) end--;
    const char *last = end;
    while (last > rows && last[-1] != t->dialect.line_end) last--;
    if (last == rows) return;
    const char *at = last;
    bool is_sum = false, has_number = false, more = drove__cell_next(&t->dialect, &at, end, &sum);
    for (size_t i = 0; i < DROVE_COUNT(words); i++)
        is_sum = is_sum || (sum.length == strlen(words[i]) &&
                            strncasecmp(sum.text, words[i], sum.length) == 0);
    while (is_sum && more) {
        more = drove__cell_next(&t->dialect, &at, end, &cell) && !cell.is_broken;
        has_number = has_number ||
                     drove__cell_number(DROVE_FORM_POINT_GROUPS, cell.text, cell.length, &number);
    }
    if (!has_number) return;
    for (size_t i = 0; i < RECORDS_SEEN; i++) {
        if (!drove__record_next(&t->dialect, &rows, last, &start, &record_end)) break;
        drove__cell_next(&t->dialect, &start, record_end, &cell);
        if (cell.length == sum.length && strncasecmp(cell.text, sum.text, cell.length) == 0) return;
    }
    note(t,
         "the last line, \"%.*s\", is read as a row, but may sum up the others (head -n -1 "
         "leaves it out)",
         shown(last, end), last);
}

void drove__shape_skip_footers(drove_table *t, const char *rows, bool is_piece)
{
    const char *from = NULL;
    if (is_piece || t->n_columns < 2 || (t->content.has_quote && t->n_columns < 3)) return;
    for (unsigned lines = 0; lines < LINES_MOST; lines++) {
        const char *end = t->content.end;
        while (end > rows && strchr(" \t\r\n", end[-1]) != NULL) end--;
        const char *start = end;
        while (start > rows && start[-1] != t->dialect.line_end) start--;
        bool has_letter = false;
        for (const char *c = start; c < end; c++) has_letter = has_letter || (*c | 0x20) >= 'a';
        /* A number alone may be what is left of a row. */
        if (start <= rows || start == end || !has_letter ||
            memchr(start, '"', (size_t)(end - start)) != NULL ||
            drove__record_count(&t->dialect, start, end) > 1)
            break;
        from = start;
        t->content.end = start;
    }
    if (!t->content.has_names) note_sum(t, rows);
    if (from == NULL) return;
    const char *end = memchr(from, '\n', strcspn(from, "\n") + 1);
    note(t, "the last line, \"%.*s\", is left out: it has one cell, the others have %zu",
         shown(from, end != NULL ? end : from + strcspn(from, "\r\n")), from, t->n_columns);
}

void drove__shape_skip_rule(drove_table *t, const char **rows)
{
    const char *next = *rows, *start, *end;
    size_t n_dashes = 0;
    if (!drove__record_next(&t->dialect, &next, t->content.end, &start, &end)) return;
    for (const char *c = start; c < end; c++) {
        if (*c != t->dialect.separator && strchr("-=+|: ", *c) == NULL) return;
        n_dashes += c + 2 < end && (*c == '-' || *c == '=') && c[1] == *c && c[2] == *c;
    }
    if (n_dashes == 0) return;
    note(t, "the line of dashes below the header is left out");
    *rows = next;
}

/* ---- the header and the rows ---- */

typedef struct shape { /* of the first rows */
    size_t n_rows;
    bool has_more;        /* each has one cell more than the header */
    bool has_less;        /* each has one cell less */
    bool is_last_empty;   /* the last cell of each is empty */
    bool is_first_unique; /* the first cells differ */
} shape;

static int compare_cells(const void *a, const void *b)
{
    const drove_cell *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return memcmp(x->text, y->text, x->length);
}

static shape look(const drove_table *t, const char *rows)
{
    drove_cell first[RECORDS_SEEN], cell;
    shape s = {.has_more = true, .has_less = true, .is_last_empty = true, .is_first_unique = true};
    const char *start, *end;
    while (s.n_rows < RECORDS_SEEN && drove__table_next(t, &rows, t->content.end, &start, &end)) {
        size_t n = 1;
        bool more = drove__cell_next(&t->dialect, &start, end, &cell);
        first[s.n_rows++] = cell;
        while (more && !cell.is_broken) {
            more = drove__cell_next(&t->dialect, &start, end, &cell);
            n++;
        }
        s.has_more = s.has_more && n == t->n_columns + 1;
        s.has_less = s.has_less && n + 1 == t->n_columns;
        s.is_last_empty = s.is_last_empty && n > 1 && cell.length == 0;
    }
    if (s.n_rows == 0) return (shape){0};
    qsort(first, s.n_rows, sizeof *first, compare_cells);
    for (size_t i = 1; i < s.n_rows; i++)
        s.is_first_unique = s.is_first_unique && compare_cells(&first[i - 1], &first[i]) != 0;
    return s;
}

/* The first column holds names of rows, for which the header has no cell. */
static drove_status insert_row_names(drove_table *t)
{
    char **name = drove__grow(t->name, t->n_columns + 1, sizeof *name);
    if (name == NULL) return drove__fail_nomem("names of columns", t->n_columns * sizeof *name);
    t->name = name;
    memmove(name + 1, name, t->n_columns * sizeof *name);
    name[0] = strdup("row names");
    t->n_columns++;
    return name[0] != NULL ? DROVE_OK : drove__fail_nomem("names of columns", 16);
}

/* Cells of a record that are numbers. */
static size_t count_numbers(const drove_table *t, const char *start, const char *end)
{
    drove_cell cell;
    double number;
    size_t n = 0;
    for (bool more = true; more;) {
        more = drove__cell_next(&t->dialect, &start, end, &cell) && !cell.is_broken;
        n += drove__cell_number(DROVE_FORM_POINT, cell.text, cell.length, &number);
    }
    return n;
}

/* True if the first row is words alone and the second one is not: then it may be the header, and
 * the lines above it a title. */
static bool is_header_below(const drove_table *t, const char *rows)
{
    const char *start, *end;
    if (!drove__table_next(t, &rows, t->content.end, &start, &end) ||
        count_numbers(t, start, end) > 0)
        return false;
    return drove__table_next(t, &rows, t->content.end, &start, &end) &&
           count_numbers(t, start, end) > 0;
}

drove_status drove__shape_fit_header(drove_table *t, const char *rows, bool is_last_unnamed)
{
    const shape s = look(t, rows);
    if (s.n_rows == 0 || t->dialect.separator == ' ') {
        return s.has_more && s.is_first_unique && t->has_header ? insert_row_names(t) : DROVE_OK;
    }
    if (s.is_last_empty && t->n_columns > 1 &&
        ((t->has_header && s.has_more) || (!s.has_more && is_last_unnamed))) {
        t->has_tail = true;
        if (!s.has_more) free(t->name[--t->n_columns]);
        note(t, "rows end with a separator: the empty column behind it is left out");
        return DROVE_OK;
    }
    if (t->has_header && s.has_less && is_last_unnamed && t->n_columns > 2) {
        free(t->name[--t->n_columns]);
        note(t, "the header ends with a separator, which the rows lack");
        return DROVE_OK;
    }
    if (!t->has_header || !s.has_more) return DROVE_OK;
    if (is_header_below(t, rows))
        return drove__fail(DROVE_E_DATA,
                           "%s:%llu: row 1: expected %zu cells as in the first line, found %zu (is "
                           "the first line a title or a comment above the header?)",
                           t->path, (unsigned long long)t->first_line + 1, t->n_columns,
                           t->n_columns + 1);
    if (s.is_first_unique) return insert_row_names(t);
    return drove__fail(
        DROVE_E_DATA,
        "%s:%llu: expected a header with a name for each of the %zu cells of the "
        "rows, found %zu names, from \"%.40s\" to \"%.40s\" (cells of the first column "
        "repeat, so they are no names of rows: add the name that the header lacks)",
        t->path, (unsigned long long)t->first_line, t->n_columns + 1, t->n_columns, t->name[0],
        t->name[t->n_columns - 1]);
}

void drove__shape_note_headers(drove_table *t, uint64_t n)
{
    if (n == 0) return;
    note(t, "%llu line%s the header %s left out", (unsigned long long)n,
         n == 1 ? " that repeats" : "s that repeat", n == 1 ? "is" : "are");
}

drove_status drove__shape_check_cells(const drove_table *t)
{
    static const char marks[] = "~^:#@!/\\\x01\x1f";
    if (t->n_columns > 1 || t->frame != NULL || t->content.has_names) return DROVE_OK;
    const char *at = t->content.text, *start[2], *end[2];
    for (size_t i = 0; i < 2; i++) {
        if (!drove__record_next(&t->dialect, &at, t->content.end, &start[i], &end[i]))
            return DROVE_OK;
    }
    for (const char *mark = marks; *mark != '\0'; mark++) {
        size_t n[2] = {0, 0};
        for (size_t i = 0; i < 2; i++)
            for (const char *c = start[i]; c < end[i]; c++) n[i] += *c == *mark;
        if (n[0] == 0 || n[0] != n[1]) continue;
        char key[16];
        if (*mark > ' ') drove__spec_escape((const char[]){*mark, '\0'}, key, sizeof key);
        else snprintf(key, sizeof key, "%%%02X", (unsigned)*mark);
        return drove__fail(DROVE_E_DATA,
                           "%s: expected cells separated by tabs, semicolons, bars, commas or "
                           "blanks, found lines of one cell ('%s?sep=%s' separates at that mark)",
                           t->path, t->path, key);
    }
    return DROVE_OK;
}
