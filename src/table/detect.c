/* table/detect.c - see detect.h. */
#include "table/detect.h"

#include "base/mem.h"
#include "table/amount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS_SEEN = 100, COLUMNS_MOST = 1 << 20, NAME_MOST = 1 << 12 };

/* ---- separator and line ends ---- */

static char find_line_end(const drove_content *content)
{
    bool is_quoted = false;
    for (const char *c = content->text; c < content->end; c++) {
        if (*c == '"') is_quoted = !is_quoted;
        if (is_quoted || (*c != '\n' && *c != '\r')) continue;
        return *c == '\r' && (c + 1 == content->end || c[1] != '\n') ? '\r' : '\n';
    }
    return '\n';
}

typedef struct agreement { /* of the first records, by one separator */
    size_t n_cells;        /* of the first record                        */
    size_t n_same, n_seen; /* records that have as many, and all         */
    size_t n_more;         /* records that have one more                 */
} agreement;

static agreement try_separator(const drove_content *content, const drove_dialect *d)
{
    agreement a = {0};
    const char *at = content->text, *start, *end;
    while (a.n_seen < RECORDS_SEEN && drove__record_next(d, &at, content->end, &start, &end)) {
        size_t n = drove__record_count(d, start, end);
        if (a.n_seen == 0) a.n_cells = n;
        a.n_same += n == a.n_cells;
        a.n_more += n == a.n_cells + 1;
        a.n_seen++;
    }
    return a;
}

/* Whether all records have the same number of cells, two at least, but a few of one cell at the
 * start and the end: titles and footers. */
static bool agrees_within(const drove_content *content, const drove_dialect *d)
{
    enum { MOST = 5, LEAST = 2 };
    const char *at = content->text, *start, *end;
    size_t n_cells = 0, n_same = 0, n_before = 0, n_behind = 0;
    for (size_t i = 0; i < RECORDS_SEEN; i++) {
        if (!drove__record_next(d, &at, content->end, &start, &end)) break;
        const size_t n = drove__record_count(d, start, end);
        if (n == 1) {
            if (n_same == 0) n_before++;
            else n_behind++;
            continue;
        }
        if (n_same == 0) n_cells = n;
        if (n != n_cells || n_behind > 0) return false;
        n_same++;
    }
    return n_same >= LEAST && n_before <= MOST && n_behind <= MOST;
}

drove_dialect drove__detect_dialect(const drove_content *content, char separator)
{
    static const char candidates[] = {'\t', ';', '|', ',', ' '};
    drove_dialect d = {.line_end = find_line_end(content), .separator = separator};
    char best = ',', best_short = '\0';
    size_t best_same = 0;
    if (separator != 0) return d;
    for (size_t i = 0; i < sizeof candidates; i++) {
        d.separator = candidates[i];
        agreement a = try_separator(content, &d);
        if (a.n_cells < 2) continue;
        if (a.n_same == a.n_seen) return d;
        /* a header that is one name short, or rows that end with a separator */
        if (a.n_more + 1 == a.n_seen && best_short == '\0' && candidates[i] != ' ')
            best_short = candidates[i];
        if (a.n_same <= best_same) continue;
        best_same = a.n_same;
        best = candidates[i];
    }
    if (best_short != '\0') {
        d.separator = best_short;
        return d;
    }
    for (size_t i = 0; i + 1 < sizeof candidates; i++) {
        d.separator = candidates[i];
        if (agrees_within(content, &d)) return d;
    }
    d.separator = best;
    return d;
}

/* ---- header ---- */

/* Names such as 2019-01 and Jan 2019 are no dates of a first record: two joints, no names. */
static bool is_full_date(const drove_cell *cell)
{
    int64_t seconds;
    bool has_time;
    size_t n = 0, n_joints = 0;
    for (; n < cell->length && strchr("0123456789-/.", cell->text[n]) != NULL; n++)
        n_joints += strchr("-/.", cell->text[n]) != NULL;
    return n_joints == 2 &&
           drove__cell_date(DROVE_DATE_YMD, cell->text, cell->length, &seconds, &has_time);
}

static bool is_number(const drove_cell *cell)
{
    double number;
    for (int form = 0; form < DROVE_N_FORMS; form++) {
        if (drove__cell_number((drove_number_form)form, cell->text, cell->length, &number))
            return true;
    }
    return false;
}

static bool is_value(const drove_cell *cell)
{
    int64_t seconds;
    bool has_time;
    return is_number(cell) ||
           drove__cell_date(DROVE_DATE_YMD, cell->text, cell->length, &seconds, &has_time);
}

/* An amount or a date that may also be a name, such as 25% of a quartile or 1/22/20 of a day. */
static bool is_special(const drove_cell *cell)
{
    const drove_amount amount = drove__amount_of(cell->text, cell->length);
    const drove_cell bare = {.text = amount.text, .length = amount.length};
    int64_t seconds;
    bool has_time;
    if (amount.unit.text[0] != '\0' && !amount.is_known) return false; /* 1stFlr, 2ndFlr */
    return is_value(&bare) ||
           drove__cell_date(DROVE_DATE_DMY, cell->text, cell->length, &seconds, &has_time) ||
           drove__cell_date(DROVE_DATE_MDY, cell->text, cell->length, &seconds, &has_time);
}

/* Whether such a cell stands above another. */
static bool has_special_pair(const drove_dialect *d, const char *first, const char *first_end,
                             const char *rows, const char *end)
{
    const char *second, *second_end;
    drove_cell a, b;
    bool more = drove__record_next(d, &rows, end, &second, &second_end);
    while (more) {
        more = drove__cell_next(d, &first, first_end, &a);
        more = drove__cell_next(d, &second, second_end, &b) && more;
        if (!is_value(&b) && is_special(&a) && is_special(&b)) return true;
    }
    return false;
}

/* The whole number of a cell that is nothing but up to four digits; -1: another cell. */
static int small_whole(const drove_cell *cell)
{
    enum { DIGITS_MOST = 4 };
    int value = 0;
    if (cell->length == 0 || cell->length > DIGITS_MOST) return -1;
    for (size_t i = 0; i < cell->length; i++) {
        if (cell->text[i] < '0' || cell->text[i] > '9') return -1;
        value = value * 10 + (cell->text[i] - '0');
    }
    return value;
}

/* What may be the name of a column though it is a number or a date. */
static bool is_time(const drove_cell *cell)
{
    enum { YEAR_LEAST = 1500, YEAR_MOST = 2200 };
    const int value = small_whole(cell);
    return (value >= YEAR_LEAST && value <= YEAR_MOST) || is_full_date(cell);
}

/* Whether the numbers and dates of a first record may be names beside its words: years that ascend
 * or descend, dates, neither of which stand in the same column below, or the numbers of columns,
 * 0, 1, 2 or 1, 2, 3, which pandas writes. */
static bool are_names(const drove_content *content, const drove_dialect *d, const char *first,
                      const char *first_end, const char *rows)
{
    enum { COUNTED_LEAST = 3 };
    const char *c = first, *start, *end;
    size_t n = 0, n_times = 0, n_dates = 0, n_up = 0, n_down = 0, n_by_one = 0;
    int before = 0;
    drove_cell a, b;
    for (bool more = true; more;) {
        more = drove__cell_next(d, &c, first_end, &a) && !a.is_broken;
        if (!is_number(&a) && !is_full_date(&a)) continue;
        const int value = small_whole(&a);
        n_dates += is_full_date(&a);
        if (is_full_date(&a)) continue;
        if (value < 0) return false;
        n_times += is_time(&a);
        n_by_one += n > 0 ? value == before + 1 : value <= 1;
        n_up += n > 0 && value > before;
        n_down += n > 0 && value < before;
        n++;
        before = value;
    }
    if (n >= COUNTED_LEAST && n_by_one == n && n_dates == 0) return true;
    if (n_times < n || n == 1 || (n > 1 && n_up != n - 1 && n_down != n - 1)) return false;
    for (size_t i = 0; i < RECORDS_SEEN; i++) {
        if (!drove__record_next(d, &rows, content->end, &start, &end)) return i > 0;
        c = first;
        for (bool more = true; more;) {
            more = drove__cell_next(d, &c, first_end, &a);
            more = drove__cell_next(d, &start, end, &b) && more;
            if (is_time(&a) && is_time(&b)) return false;
        }
    }
    return true;
}

/* Whether a first record of numbers alone counts its columns, 0, 1, 2, 3, and the second one holds
 * more than small whole numbers, or there are many. */
static bool are_counted(const drove_dialect *d, const char *first, const char *first_end,
                        const char *rows, const char *end)
{
    enum { COUNTED_LEAST = 4, SURE_LEAST = 10 };
    const char *start, *row_end;
    int n = 0;
    drove_cell cell;
    for (bool more = true; more; n++) {
        more = drove__cell_next(d, &first, first_end, &cell) && !cell.is_broken;
        if (small_whole(&cell) != n) return false;
    }
    if (n < COUNTED_LEAST || !drove__record_next(d, &rows, end, &start, &row_end)) return false;
    bool is_plain = true;
    for (bool more = true; more;) {
        more = drove__cell_next(d, &start, row_end, &cell) && !cell.is_broken;
        is_plain = is_plain && small_whole(&cell) >= 0;
    }
    return n >= SURE_LEAST || !is_plain;
}

/* What the columns below a first record of words say of it. */
typedef struct below {
    bool recurs;     /* a word stands in the same column of another record   */
    bool has_values; /* below a word are values alone, so the word is a name */
} below;

/* Without memory for the counts: has_values is false. */
static below compare_below(const drove_content *content, const drove_dialect *d, const char *first,
                           const char *first_end, const char *rows)
{
    const char *start, *end;
    const size_t n = drove__record_count(d, first, first_end);
    size_t *n_values = calloc(2 * n, sizeof *n_values);
    below b = {false, false};
    if (n_values == NULL) return b;
    size_t *n_words = n_values + n;
    for (size_t seen = 0; seen < RECORDS_SEEN; seen++) {
        if (!drove__record_next(d, &rows, content->end, &start, &end)) break;
        if (end - start == first_end - first && memcmp(start, first, (size_t)(end - start)) == 0)
            continue; /* a header that is repeated says nothing */
        /* Behind a broken cell of the first record there are no columns. */
        const char *at = first;
        drove_cell name, cell;
        bool more = true;
        for (size_t i = 0; more && i < n; i++) {
            more = drove__cell_next(d, &at, first_end, &name);
            more = drove__cell_next(d, &start, end, &cell) && more && !cell.is_broken;
            if (drove__cell_is_missing(name.text, name.length) || is_value(&name)) {
                n_words[i]++; /* this column says nothing */
                continue;
            }
            b.recurs |=
                name.length == cell.length && memcmp(name.text, cell.text, name.length) == 0;
            if (drove__cell_is_missing(cell.text, cell.length)) continue;
            if (is_value(&cell)) n_values[i]++;
            else n_words[i]++;
        }
    }
    for (size_t i = 0; i < n; i++) b.has_values |= n_values[i] > 0 && n_words[i] == 0;
    free(n_values);
    return b;
}

bool drove__detect_header(const drove_content *content, const drove_dialect *d)
{
    const char *at = content->text, *start, *end;
    if (!drove__record_next(d, &at, content->end, &start, &end)) return false;
    const char *c = start;
    drove_cell cell;
    bool more = true, has_name = false, has_numbers = false;
    while (more) {
        more = drove__cell_next(d, &c, end, &cell) && !cell.is_broken;
        const bool is_one = is_number(&cell) || is_full_date(&cell);
        has_numbers = has_numbers || is_one;
        has_name = has_name || (cell.length > 0 && !is_one);
    }
    if (!has_name) return has_numbers && are_counted(d, start, end, at, content->end);
    if (has_numbers && !are_names(content, d, start, end, at)) return false;
    if (has_special_pair(d, start, end, at, content->end)) return false;
    below b = compare_below(content, d, start, end, at);
    return b.has_values || !b.recurs;
}

/* ---- names ---- */

static char *copy_name(const drove_cell *cell, size_t number, bool is_header)
{
    size_t size = cell->length > NAME_MOST ? NAME_MOST : cell->length;
    char *name = malloc(size + 40);
    if (name == NULL) return NULL;
    while (size < cell->length && size > 0 && ((unsigned char)cell->text[size] & 0xc0u) == 0x80)
        size--; /* no half characters */
    if (!is_header || size == 0) {
        snprintf(name, size + 40, "column%zu", number);
        return name;
    }
    drove_cell cut = *cell;
    cut.length = size;
    size = drove__cell_unquote(&cut, name);
    for (size_t i = 0; i < size; i++) { /* a name is one line in every message */
        if ((unsigned char)name[i] < ' ') name[i] = ' ';
    }
    name[size] = '\0';
    return name;
}

typedef struct numbered_name {
    char **name;
    size_t column;
} numbered_name;

static int compare_names(const void *a, const void *b)
{
    const numbered_name *x = a, *y = b;
    int order = strcmp(*x->name, *y->name);
    return order != 0 ? order : x->column < y->column ? -1 : 1;
}

/* Gives repeated names a number that no other name has. */
static drove_status number_names(char **name, size_t n)
{
    numbered_name *sorted = drove__grow(NULL, n, sizeof *sorted);
    if (sorted == NULL) return drove__fail_nomem("names of columns", n * sizeof *sorted);
    for (size_t i = 0; i < n; i++) sorted[i] = (numbered_name){&name[i], i};
    qsort(sorted, n, sizeof *sorted, compare_names);
    size_t first = 0;
    for (size_t i = 1; i < n; i++) {
        if (strcmp(*sorted[i].name, *sorted[first].name) != 0) {
            first = i;
            continue;
        }
        char wanted[NAME_MOST + 40];
        size_t number = i - first + 1, k;
        do {
            snprintf(wanted, sizeof wanted, "%s.%zu", *sorted[first].name, number++);
            for (k = 0; k < n && strcmp(name[k], wanted) != 0;) k++;
        } while (k < n);
        char *text = strdup(wanted);
        if (text == NULL) {
            free(sorted);
            return drove__fail_nomem("names of columns", sizeof wanted);
        }
        free(name[sorted[i].column]);
        name[sorted[i].column] = text;
        sorted[i].name =
            sorted[first].name; /* still the same as the first, for those that follow */
    }
    free(sorted);
    return DROVE_OK;
}

drove_status drove__detect_names(const char *path, const drove_dialect *d, const char *start,
                                 const char *end, bool is_header, char ***out, size_t *n_out)
{
    size_t n = drove__record_count(d, start, end), n_done = 0;
    if (n > COLUMNS_MOST)
        return drove__fail(DROVE_E_DATA, "%s: expected at most %d columns, found %zu", path,
                           COLUMNS_MOST, n);
    char **name = calloc(n, sizeof *name);
    drove_status status = DROVE_OK;
    if (name == NULL) return drove__fail_nomem("names of columns", n * sizeof *name);
    for (; n_done < n && status == DROVE_OK; n_done++) {
        drove_cell cell;
        (void)drove__cell_next(d, &start, end, &cell);
        if (cell.is_broken) {
            status = drove__fail(DROVE_E_DATA,
                                 "%s: first line: column %zu: expected a closing quote, and then a "
                                 "separator",
                                 path, n_done + 1);
            break;
        }
        name[n_done] = copy_name(&cell, n_done + 1, is_header);
        if (name[n_done] == NULL) status = drove__fail_nomem("names of columns", cell.length);
    }
    if (status == DROVE_OK) status = number_names(name, n);
    if (status == DROVE_OK) {
        *out = name;
        *n_out = n;
        return DROVE_OK;
    }
    drove__texts_free(name, n);
    return status;
}
