/* table/read.c - reads the cells of a table, block by block, by several threads.  See read.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "table/read.h"

#include "base/mem.h"
#include "base/spec.h"
#include "table/parallel.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {        /* a thread's own */
    drove_column_count *count; /* [n_columns] */
    char *scratch;             /* of a text with "" */
    size_t scratch_capacity;
    drove_status status; /* of the block with the lowest number that failed */
    size_t failed_block;
    char error[DROVE_ERROR_TEXT_SIZE];
} DROVE_ALIGNED_CACHE_LINE worker;

typedef struct scanning {
    drove_table *table;
    worker worker[DROVE_TABLE_THREADS_MOST];
    atomic_bool has_failed;
} scanning;

typedef struct place { /* the record being read */
    drove_table_block *block;
    uint64_t row;
    const char *start;
    uint32_t *raw;
    drove_cell *label;
    bool is_left_out;
    bool keeps_words; /* of a frame: NA and the like are texts */
} place;

/* ---- one cell ---- */

static drove_status read_text(worker *w, drove_column_count *count, const drove_cell *cell,
                              uint32_t *raw)
{
    drove_cell own = *cell;
    const char *text;
    size_t length;
    if (own.length > 2 && own.text[own.length - 1] == '0' && own.text[own.length - 2] == '.' &&
        drove__cell_is_integer(own.text, own.length - 2))
        own.length -= 2;
    /* The text without "", in the worker's scratch if it had some. */
    text = own.text;
    length = own.length;
    if (own.is_doubled) {
        if (w->scratch_capacity < own.length) {
            char *scratch = realloc(w->scratch, own.length);
            if (scratch == NULL) return drove__fail_nomem("a cell", own.length);
            w->scratch = scratch;
            w->scratch_capacity = own.length;
        }
        length = drove__cell_unquote(&own, w->scratch);
        text = w->scratch;
    }
    *raw = drove__text_hash(text, length);
    return drove__dictionary_add(&count->dictionary, &own, *raw);
}

static bool is_word_byte(char c)
{
    unsigned char u = (unsigned char)c;
    return (u >= '0' && u <= '9') || (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u >= 0x80;
}

/* Words are runs of letters and digits; A to Z as a to z, bytes above 127 are letters. */
static drove_status read_words(drove_table_block *block, const drove_cell *cell, uint32_t *raw)
{
    enum { WORD_MOST = 64 };
    char word[WORD_MOST];
    *raw = 0;
    for (size_t i = 0; i < cell->length;) {
        size_t n = 0;
        for (; i < cell->length && is_word_byte(cell->text[i]); i++) {
            char c = cell->text[i];
            if (n < WORD_MOST) word[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        if (n > 0) {
            if (block->n_words == block->words_capacity) {
                size_t wanted = 2 * block->words_capacity + 1024;
                uint32_t *grown = drove__grow(block->word, wanted, sizeof *grown);
                if (grown == NULL) return drove__fail_nomem("words", wanted * sizeof *grown);
                block->word = grown;
                block->words_capacity = wanted;
            }
            block->word[block->n_words++] = drove__text_hash(word, n);
            ++*raw;
        }
        while (i < cell->length && !is_word_byte(cell->text[i])) i++;
    }
    return DROVE_OK;
}

/* Into raw, or into the column's doubles. */
static void put_value(const drove_table *t, const drove_scan_column *column, const place *at,
                      double value)
{
    if (column->is_wide) t->wide[column->slot][at->row] = value;
    else at->raw[column->slot] = drove__raw_of_float((float)value);
}

static void put_missing(const drove_table *t, const drove_scan_column *column, const place *at)
{
    if (column->is_wide) t->wide[column->slot][at->row] = (double)NAN;
    else
        at->raw[column->slot] = column->scan == DROVE_SCAN_TEXT || column->scan == DROVE_SCAN_WORDS
                                    ? 0
                                    : drove__raw_of_float(NAN);
}

/* A number, truth value or date; false: it is none. */
static bool read_value(const drove_scan_column *column, drove_column_count *count,
                       const drove_cell *cell, double *out)
{
    float value;
    if (column->scan == DROVE_SCAN_DATE) {
        /* DROVE_NO_DATE becomes NaN. */
        const drove_date_order order = column->order;
        int64_t seconds, other;
        bool has_time = false, ignored;
        bool is_good = drove__cell_date(order, cell->text, cell->length, &seconds, &has_time);
        if (is_good && order != DROVE_DATE_YMD && !count->is_ordered)
            count->is_ordered =
                !drove__cell_date(order == DROVE_DATE_DMY ? DROVE_DATE_MDY : DROVE_DATE_DMY,
                                  cell->text, cell->length, &other, &ignored);
        if (!is_good && column->takes_ymd)
            is_good =
                drove__cell_date(DROVE_DATE_YMD, cell->text, cell->length, &seconds, &has_time);
        if (!is_good) return false;
        count->has_time = count->has_time || has_time;
        *out = seconds != DROVE_NO_DATE ? (double)seconds : (double)NAN;
        return true;
    }
    if (column->scan == DROVE_SCAN_NUMBER)
        return drove__cell_amount(&column->style, cell->text, cell->length, out);
    if (!drove__cell_boolean(cell->text, cell->length, &value)) return false;
    *out = (double)value;
    return true;
}

static void read_label(drove_column_count *count, const place *at, const drove_cell *cell,
                       drove_cell *label)
{
    *label = *cell; /* blanks inside quotes say nothing in a label */
    while (label->length > 0 && label->text[label->length - 1] == ' ') label->length--;
    for (; label->length > 0 && *label->text == ' '; label->length--) label->text++;
    const bool is_notation =
        !at->keeps_words && drove__cell_is_missing_notation(label->text, label->length);
    if ((!is_notation && !drove__cell_is_missing(label->text, label->length)) ||
        drove__cell_is_none(label->text, label->length) || (at->keeps_words && label->length > 0))
        return;
    label->length = 0;
    count->n_missing++;
}

static void count_infinite(drove_column_count *count, uint64_t row)
{
    if (count->n_infinite++ == 0) count->first_infinite = row;
}

static drove_status read_cell(const drove_table *t, worker *w, const drove_scan_column *column,
                              drove_column_count *count, const place *at, const drove_cell *cell)
{
    uint32_t *raw = at->raw + column->slot;
    double value;
    if (column->scan == DROVE_SCAN_LABEL) {
        read_label(count, at, cell, &at->label[column->slot]);
        return DROVE_OK;
    }
    if (at->is_left_out) {
        put_missing(t, column, at);
        return DROVE_OK;
    }
    bool is_value = column->scan == DROVE_SCAN_NUMBER || column->scan == DROVE_SCAN_BOOLEAN ||
                    column->scan == DROVE_SCAN_DATE;
    if (is_value && read_value(column, count, cell, &value)) {
        put_value(t, column, at, value);
        count->n_missing += isnan(value);
        return DROVE_OK;
    }
    bool is_missing = is_value || !at->keeps_words
                          ? drove__cell_is_missing(cell->text, cell->length)
                          : cell->length == 0;
    if (!is_missing && column->scan == DROVE_SCAN_TEXT) return read_text(w, count, cell, raw);
    if (!is_missing && column->scan == DROVE_SCAN_WORDS) return read_words(at->block, cell, raw);
    bool is_infinite =
        column->scan == DROVE_SCAN_NUMBER && drove__cell_is_infinite(cell->text, cell->length);
    put_missing(t, column, at);
    count->n_missing++;
    if (is_infinite) count_infinite(count, at->row);
    else if (!is_missing) drove__odd_add(&count->odd, cell, at->row);
    return DROVE_OK;
}

/* ---- one record ---- */

/* Lines above the first one from which on all records have as many cells, which is a header unless
 * those above have one cell; 0: there is none. */
static unsigned find_table(const drove_table *t)
{
    enum { LINES_MOST = 40, RECORDS_SEEN = 100 };
    const char *at = t->content.text, *end = t->content.end;
    for (unsigned i = 1; i <= LINES_MOST; i++) {
        at = memchr(at, t->dialect.line_end, (size_t)(end - at));
        if (at == NULL || ++at == end) return 0;
        const drove_content rest = {.text = at, .end = end};
        const drove_dialect d = drove__detect_dialect(&rest, 0);
        const char *next = at, *start, *record_end;
        size_t n_cells = 0, n = 0;
        for (; n < RECORDS_SEEN && drove__record_next(&d, &next, end, &start, &record_end); n++) {
            const size_t n_here = drove__record_count(&d, start, record_end);
            if (n > 0 && n_here != n_cells) break;
            n_cells = n_here;
        }
        if (n >= 3 && n_cells >= 2 && (n == RECORDS_SEEN || next == end))
            return t->n_columns == 1 || drove__detect_header(&rest, &d) ? i : 0;
    }
    return 0;
}

const char *drove__table_hint(const drove_table *t, const char *at, unsigned n_lines,
                              char into[DROVE_HINT_SIZE])
{
    if (at < t->content.end && *at == '#')
        snprintf(into, DROVE_HINT_SIZE, "'%.400s?comment=#'", t->path);
    else if (at < t->content.end && *at == '%')
        snprintf(into, DROVE_HINT_SIZE, "'%.400s?comment=%%25'", t->path);
    else snprintf(into, DROVE_HINT_SIZE, "'%.400s?skip_lines=%u'", t->path, n_lines);
    return into;
}

static drove_status fail_count(const drove_table *t, const place *at, const char *end)
{
    char hint[DROVE_HINT_SIZE], advice[DROVE_HINT_SIZE + 80] = "";
    size_t n = drove__record_count(&t->dialect, at->start, end);
    bool is_short = n < t->n_columns;
    const unsigned n_lines = at->row == 0 && !t->content.has_names ? find_table(t) : 0;
    if (*at->start == '#' || *at->start == '%')
        snprintf(advice, sizeof advice, " (a comment? %s leaves it out)",
                 drove__table_hint(t, at->start, 0, hint));
    else if (end > at->start && end[-1] == '\\')
        snprintf(advice, sizeof advice, " (is \\ an escape? '%.400s?escape=\\' takes it for one)",
                 t->path);
    else if (at->row == 0 && t->has_header && n_lines > 0)
        snprintf(advice, sizeof advice,
                 " (is the first line a title or a comment above the header? %s leaves it out)",
                 drove__table_hint(t, t->content.text, n_lines, hint));
    return drove__fail(DROVE_E_DATA,
                       "%s:%llu: row %llu: expected %zu cells, found %zu: %s column \"%.80s\"%s",
                       t->path, (unsigned long long)drove__table_line(t, at->start),
                       (unsigned long long)at->row + 1, t->n_columns, n,
                       is_short ? "none for" : "more after",
                       t->name[is_short ? n : t->n_columns - 1], advice);
}

static drove_status fail_quote(const drove_table *t, const place *at, size_t column)
{
    char advice[DROVE_HINT_SIZE] = "";
    const char *end = memchr(at->start, t->dialect.line_end, (size_t)(t->content.end - at->start));
    if (end == NULL) end = t->content.end;
    if (memmem(at->start, (size_t)(end - at->start), "\\\"", 2) != NULL)
        snprintf(advice, sizeof advice, " (is \\ an escape? '%.400s?escape=\\' takes it for one)",
                 t->path);
    return drove__fail(DROVE_E_DATA,
                       "%s:%llu: row %llu: column \"%.80s\": expected a closing quote, and then a "
                       "separator%s",
                       t->path, (unsigned long long)drove__table_line(t, at->start),
                       (unsigned long long)at->row + 1, t->name[column], advice);
}

/* A number in the plain form that ends at a separator: most cells of most tables. */
static inline bool read_plain_number(char separator, const char **at, const char *end,
                                     uint32_t *raw)
{
    const char *next;
    float value;
    if (!drove__scan_float(*at, end, &next, &value) || !isfinite(value)) return false;
    if (next < end && *next != separator) return false;
    *raw = drove__raw_of_float(value);
    *at = next;
    return true;
}

/* True if most cells are plain numbers, for which there is a faster way. */
static inline bool is_plain(const drove_scan_column *column)
{
    return column->scan == DROVE_SCAN_NUMBER && column->style.form == DROVE_FORM_POINT &&
           (column->style.unit.text[0] == '\0' || column->style.is_unit_optional) &&
           !column->is_done && !column->is_wide;
}

static drove_status read_record(const drove_table *t, worker *w, const place *at, const char *end)
{
    const char *c = at->start;
    const char separator = t->dialect.separator;
    const bool is_strict = separator != ' ';
    const size_t n = t->n_columns;
    for (size_t i = 0; i < n; i++) {
        const drove_scan_column *column = &t->column[i];
        bool is_last = i + 1 == n, more;
        if (is_strict && is_plain(column) && !at->is_left_out && c < end &&
            read_plain_number(separator, &c, end, at->raw + column->slot)) {
            more = c < end;
            c += more;
        } else {
            drove_cell cell;
            more = drove__cell_next(&t->dialect, &c, end, &cell);
            if (cell.is_broken) return fail_quote(t, at, i);
            if (cell.length > DROVE_CELL_MOST_BYTES) {
                return drove__fail(
                    DROVE_E_DATA,
                    "%s:%llu: row %llu: column \"%.80s\": expected cells of at most %zu bytes, "
                    "found %zu",
                    t->path, (unsigned long long)drove__table_line(t, at->start),
                    (unsigned long long)at->row + 1, t->name[i], DROVE_CELL_MOST_BYTES,
                    cell.length);
            }
            if (column->scan != DROVE_SCAN_SKIP && !column->is_done)
                DROVE_TRY(read_cell(t, w, column, &w->count[i], at, &cell));
        }
        if (more && is_last && t->has_tail) {
            drove_cell tail;
            more = drove__cell_next(&t->dialect, &c, end, &tail) || tail.length > 0;
        }
        if (more == is_last) return fail_count(t, at, end);
    }
    return DROVE_OK;
}

/* ---- one row of a frame ---- */

/* True if a column of this type is read without the detour of a text. */
static bool is_straight(drove_scan scan, drove_frame_type type)
{
    const bool is_boolean = type == DROVE_FRAME_BOOLEAN;
    if (scan == DROVE_SCAN_NUMBER)
        return is_boolean || type == DROVE_FRAME_NUMBER || type == DROVE_FRAME_INTEGER;
    return (scan == DROVE_SCAN_BOOLEAN && is_boolean) ||
           (scan == DROVE_SCAN_DATE && type == DROVE_FRAME_DATE);
}

static void read_typed(const drove_table *t, const drove_frame_column *from,
                       const drove_scan_column *column, drove_column_count *count, const place *at)
{
    put_missing(t, column, at);
    if (at->is_left_out) return;
    if (drove__frame_is_missing(from, at->row)) {
        count->n_missing++;
    } else if (column->scan == DROVE_SCAN_DATE) {
        put_value(t, column, at, (double)from->integer[at->row]);
        count->has_time = count->has_time || from->has_time;
    } else {
        const double value = drove__frame_number(from, at->row);
        if (fabs(value) <= (double)FLT_MAX) {
            put_value(t, column, at, value);
            return;
        }
        count->n_missing++;
        count_infinite(count, at->row);
    }
}

static void go_to_row(const drove_table *t, place *p, uint64_t row)
{
    p->row = row;
    p->is_left_out = t->left_out != NULL && t->left_out[row];
    p->raw = t->raw + row * t->n_slots;
    p->label = t->label + row * t->n_labels;
}

static drove_status read_block(const scanning *s, worker *w, drove_table_block *block)
{
    const drove_table *t = s->table;
    const char *at = block->start, *end;
    uint64_t row = block->first_row;
    place p = {.block = block, .keeps_words = t->frame != NULL};
    if (t->frame != NULL) {
        for (; row < block->first_row + block->n_rows; row++) {
            go_to_row(t, &p, row);
            for (size_t i = 0; i < t->n_columns; i++) {
                const drove_scan_column *column = &t->column[i];
                const drove_frame_column *from = &t->frame->column[i];
                if (column->scan == DROVE_SCAN_SKIP || column->is_done) continue;
                if (is_straight(column->scan, from->type)) {
                    read_typed(t, from, column, &w->count[i], &p);
                    continue;
                }
                const drove_cell cell =
                    drove__frame_cell(drove__frame_is_text(from) ? from : &t->as_text[i], p.row);
                DROVE_TRY(read_cell(t, w, column, &w->count[i], &p, &cell));
            }
        }
        return DROVE_OK;
    }
    for (; drove__table_next(t, &at, block->end, &p.start, &end); row++) {
        go_to_row(t, &p, row);
        DROVE_TRY(read_record(t, w, &p, end));
    }
    return DROVE_OK;
}

static void work_on_block(void *context, size_t item, unsigned thread)
{
    scanning *s = context;
    worker *w = &s->worker[thread];
    /* relaxed: blocks are given out in order, so one before the failed block is never left out */
    if (atomic_load_explicit(&s->has_failed, memory_order_relaxed)) return;
    drove_status status = read_block(s, w, &s->table->block[item]);
    if (status == DROVE_OK || w->status != DROVE_OK) return;
    w->status = status;
    w->failed_block = item;
    drove__error_copy(w->error);
    atomic_store_explicit(&s->has_failed, true, memory_order_relaxed);
}

/* ---- the table ---- */

static drove_status merge_counts(drove_table *t, const worker *w)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        const drove_column_count *from = &w->count[i];
        drove_column_count *to = &t->count[i];
        if (t->column[i].is_done) continue;
        to->n_missing += from->n_missing;
        drove__odd_merge(&to->odd, &from->odd);
        if (from->n_infinite > 0 &&
            (to->n_infinite == 0 || from->first_infinite < to->first_infinite))
            to->first_infinite = from->first_infinite;
        to->n_infinite += from->n_infinite;
        to->has_time = to->has_time || from->has_time;
        to->is_ordered = to->is_ordered || from->is_ordered;
        DROVE_TRY(drove__dictionary_merge(&to->dictionary, &from->dictionary));
    }
    return DROVE_OK;
}

static drove_status allocate(drove_table *t)
{
    size_t n_raw, n_labels;
    if (__builtin_mul_overflow(t->n_rows, t->n_slots, &n_raw)) n_raw = SIZE_MAX;
    if (__builtin_mul_overflow(t->n_rows, t->n_labels, &n_labels)) n_labels = SIZE_MAX;
    if (t->raw == NULL) t->raw = drove__alloc(n_raw, sizeof *t->raw);
    if (t->raw == NULL) return drove__fail_nomem("table", n_raw);
    if (t->wide == NULL) t->wide = calloc(t->n_slots > 0 ? t->n_slots : 1, sizeof *t->wide);
    if (t->wide == NULL) return drove__fail_nomem("table", t->n_slots * sizeof *t->wide);
    for (size_t i = 0; i < t->n_columns; i++) {
        const drove_scan_column *column = &t->column[i];
        if (column->scan == DROVE_SCAN_SKIP || column->scan == DROVE_SCAN_LABEL) continue;
        double **wide = &t->wide[column->slot];
        if (!column->is_wide) {
            free(*wide); /* a column that is read again as text */
            *wide = NULL;
        } else if (*wide == NULL) {
            *wide = drove__grow(NULL, t->n_rows, sizeof **wide);
            if (*wide == NULL) return drove__fail_nomem("table", t->n_rows * sizeof **wide);
        }
    }
    if (t->label == NULL) t->label = drove__grow(NULL, n_labels, sizeof *t->label);
    return t->label != NULL ? DROVE_OK : drove__fail_nomem("labels", n_labels);
}

drove_status drove__table_scan(drove_table *t)
{
    DROVE_TRY(allocate(t));
    /* The texts of typed columns that are not read straight. */
    for (size_t i = 0; t->frame != NULL && i < t->n_columns; i++) {
        const drove_frame_column *from = &t->frame->column[i];
        const drove_scan_column *column = &t->column[i];
        if (column->scan == DROVE_SCAN_SKIP || drove__frame_is_text(from) ||
            is_straight(column->scan, from->type) || t->as_text[i].raw != NULL)
            continue;
        const drove_status printed = drove__frame_as_text(from, t->n_rows, &t->as_text[i]);
        if (printed != DROVE_OK)
            return drove__fail_in(printed, "%s: column \"%.80s\"", t->path, t->name[i]);
    }
    scanning *s = drove__alloc(1, sizeof *s);
    if (s == NULL) return drove__fail_nomem("table", sizeof *s);
    drove_status status = DROVE_OK;
    s->table = t;

    for (size_t i = 0; i < t->n_columns; i++) {
        if (t->column[i].is_done) continue;
        drove__dictionary_fini(&t->count[i].dictionary);
        t->count[i] = (drove_column_count){0};
    }

    for (unsigned i = 0; i < t->n_threads; i++) {
        s->worker[i].count = calloc(t->n_columns, sizeof *s->worker[i].count);
        if (s->worker[i].count == NULL)
            status = drove__fail_nomem("columns of a table", t->n_columns * sizeof *t->count);
    }
    if (status == DROVE_OK) {
        drove__table_run(t->n_threads, t->n_blocks, work_on_block, s);

        const worker *first = NULL;
        for (unsigned i = 0; i < DROVE_TABLE_THREADS_MOST; i++) {
            const worker *w = &s->worker[i];
            if (w->status != DROVE_OK && (first == NULL || w->failed_block < first->failed_block))
                first = w;
        }
        status = first == NULL ? DROVE_OK : drove__fail(first->status, "%s", first->error);
    }
    for (unsigned i = 0; i < t->n_threads && status == DROVE_OK; i++)
        status = merge_counts(t, &s->worker[i]);

    for (unsigned i = 0; i < t->n_threads; i++) {
        worker *w = &s->worker[i];
        for (size_t c = 0; w->count != NULL && c < t->n_columns; c++)
            drove__dictionary_fini(&w->count[c].dictionary);
        free(w->count);
        free(w->scratch);
    }
    drove__free(s);
    return status;
}
