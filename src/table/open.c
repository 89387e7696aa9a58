/* table/open.c - opens a table: content, dialect, names, and the blocks that threads read.
 * Declared in table/read.h. */
#include "table/read.h"

#include "base/mem.h"
#include "table/parallel.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20, SMALL_BYTES = 1 << 16, BLOCK_ROWS = 1 << 16, SMALL_ROWS = 1 << 10 };

/* ---- names ---- */

static bool holds_name(const drove_dialect *d, const char *start, const char *end,
                       const char *const *wanted, size_t n_wanted)
{
    bool more = n_wanted > 0;
    while (more) {
        drove_cell cell;
        more = drove__cell_next(d, &start, end, &cell) && !cell.is_broken;
        for (size_t i = 0; i < n_wanted; i++) {
            if (strlen(wanted[i]) == cell.length && memcmp(wanted[i], cell.text, cell.length) == 0)
                return true;
        }
    }
    return false;
}

/* *rows: behind the header. */
static drove_status read_names(drove_table *t, drove_header header, const char *const *first_names,
                               size_t n_first_names, const char **rows)
{
    const char *at = t->content.text, *start, *end;
    if (!drove__record_next(&t->dialect, &at, t->content.end, &start, &end))
        return drove__fail(DROVE_E_DATA, "%s: expected a table, found an empty file", t->path);
    t->has_header = header == DROVE_HEADER_YES;
    if (header == DROVE_HEADER_AUTO) {
        t->has_header = holds_name(&t->dialect, start, end, first_names, n_first_names) ||
                        drove__detect_header(&t->content, &t->dialect);
    }
    DROVE_TRY(drove__detect_names(t->path, &t->dialect, start, end, t->has_header, &t->name,
                                  &t->n_columns));
    *rows = t->has_header ? at : t->content.text;
    if (t->has_header && t->n_columns > 1) {
        if (!t->content.has_names) drove__shape_skip_rule(t, rows);
        t->header = start;
        t->header_length = (size_t)(end - start);
    }
    const bool is_unnamed = !t->has_header || (end > start && end[-1] == t->dialect.separator);
    return drove__shape_fit_header(t, *rows, is_unnamed);
}

/* ---- frames ---- */

static drove_status open_frame(drove_table *t)
{
    t->has_header = true;
    t->dialect = (drove_dialect){.separator = ',', .line_end = '\n'};
    t->n_rows = t->frame->n_rows;
    if (t->frame->n_columns == 0 || t->n_rows == 0 || t->n_rows > UINT32_MAX)
        return drove__fail(DROVE_E_DATA,
                           "%s: expected a table with columns and 1 to %u rows, found %zu columns "
                           "and %zu rows",
                           t->path, UINT32_MAX, t->frame->n_columns, t->n_rows);
    t->n_columns = t->frame->n_columns;
    t->as_text = calloc(t->n_columns, sizeof *t->as_text);
    if (t->as_text == NULL) return drove__fail_nomem("table", t->n_columns * sizeof *t->as_text);

    t->name = calloc(t->n_columns, sizeof *t->name);
    if (t->name == NULL) return drove__fail_nomem("names of columns", t->n_columns);
    for (size_t i = 0; i < t->n_columns; i++) {
        t->name[i] = strdup(t->frame->column[i].name);
        if (t->name[i] == NULL) return drove__fail_nomem("names of columns", t->n_columns);
    }

    /* Small frames have small blocks, so that all threads have some. */
    const size_t part = t->n_rows / 64;
    const size_t each = part < SMALL_ROWS ? SMALL_ROWS : part > BLOCK_ROWS ? BLOCK_ROWS : part;
    t->n_blocks = (t->n_rows + each - 1) / each;
    t->block = calloc(t->n_blocks, sizeof *t->block);
    if (t->block == NULL) return drove__fail_nomem("table", t->n_blocks * sizeof *t->block);
    for (size_t i = 0; i < t->n_blocks; i++) {
        const size_t first = i * each, left = t->n_rows - first;
        t->block[i].first_row = first;
        t->block[i].n_rows = (uint32_t)(left < each ? left : each);
    }
    return DROVE_OK;
}

/* ---- blocks ---- */

uint64_t drove__table_line(const drove_table *t, const char *at)
{
    uint64_t line = t->first_line;
    for (const char *c = t->content.text; c < at; c++) line += *c == t->dialect.line_end;
    return line;
}

static drove_status add_block(drove_table *t, size_t *capacity, const char *start)
{
    if (t->n_blocks == *capacity) {
        size_t wanted = 2 * *capacity + 16;
        drove_table_block *block = drove__grow(t->block, wanted, sizeof *block);
        if (block == NULL) return drove__fail_nomem("table", wanted * sizeof *block);
        t->block = block;
        *capacity = wanted;
    }
    t->block[t->n_blocks++] = (drove_table_block){.start = start, .first_row = t->n_rows};
    return DROVE_OK;
}

/* Small files have small blocks, so that all threads have some. */
static size_t block_bytes(const char *rows, const char *end)
{
    size_t size = (size_t)(end - rows) / 64;
    return size < SMALL_BYTES ? SMALL_BYTES : size > BLOCK_BYTES ? BLOCK_BYTES : size;
}

static bool is_header(const drove_table *t, const char *start, const char *end)
{
    return t->header != NULL && (size_t)(end - start) == t->header_length &&
           memcmp(start, t->header, t->header_length) == 0;
}

/* Cuts at record ends, in one pass: a quoted line end looks like that of a record. */
static drove_status cut_in_order(drove_table *t, const char *rows)
{
    const char *at = rows, *end = t->content.end, *start, *record_end;
    const size_t size = block_bytes(rows, end);
    size_t capacity = 0;
    while (drove__record_next(&t->dialect, &at, end, &start, &record_end)) {
        if (is_header(t, start, record_end)) {
            t->n_headers++;
            if (t->n_blocks > 0) t->block[t->n_blocks - 1].end = at;
            continue;
        }
        drove_table_block *last = t->n_blocks > 0 ? &t->block[t->n_blocks - 1] : NULL;
        if ((size_t)(record_end - start) > DROVE_RECORD_MOST_BYTES) {
            return drove__fail(
                DROVE_E_DATA,
                "%s:%llu: expected records of at most %zu bytes, found more (a quote "
                "that is never closed?)",
                t->path, (unsigned long long)drove__table_line(t, start), DROVE_RECORD_MOST_BYTES);
        }
        if (last == NULL || (size_t)(start - last->start) >= size) {
            DROVE_TRY(add_block(t, &capacity, start));
            last = &t->block[t->n_blocks - 1];
        }
        last->n_rows++;
        last->end = at;
        t->n_rows++;
    }
    return DROVE_OK;
}

/* Counts a block's records; its end becomes NULL if one is too long. */
static void count_records(void *context, size_t item, unsigned thread)
{
    const drove_table *t = context;
    drove_table_block *block = &t->block[item];
    const char *at = block->start, *start, *record_end;
    (void)thread;
    while (drove__record_next(&t->dialect, &at, block->end, &start, &record_end)) {
        if (is_header(t, start, record_end)) block->n_headers++;
        else block->n_rows++;
        if ((size_t)(record_end - start) <= DROVE_RECORD_MOST_BYTES) continue;
        block->end = NULL;
        return;
    }
}

/* Cuts at line ends, and counts by several threads. */
static drove_status cut_at_lines(drove_table *t, const char *rows)
{
    const char *end = t->content.end;
    const size_t size = block_bytes(rows, end);
    size_t capacity = 0, n_kept = 0;
    for (const char *start = rows; start < end;) {
        const char *line_end =
            (size_t)(end - start) > size
                ? memchr(start + size, t->dialect.line_end, (size_t)(end - start) - size)
                : NULL;
        DROVE_TRY(add_block(t, &capacity, start));
        start = line_end != NULL ? line_end + 1 : end;
        t->block[t->n_blocks - 1].end = start;
    }
    drove__table_run(t->n_threads, t->n_blocks, count_records, t);
    for (size_t i = 0; i < t->n_blocks; i++) {
        drove_table_block *block = &t->block[i];
        if (block->end == NULL) { /* the other way says where */
            t->n_blocks = t->n_rows = t->n_headers = 0;
            return cut_in_order(t, rows);
        }
        t->n_headers += block->n_headers;
        if (block->n_rows == 0) continue; /* blank lines alone */
        block->first_row = t->n_rows;
        t->n_rows += block->n_rows;
        t->block[n_kept++] = *block;
    }
    t->n_blocks = n_kept;
    return DROVE_OK;
}

static drove_status open_text(const char *path, const drove_content_options *written,
                              drove_header header, const char *const *first_names,
                              size_t n_first_names, drove_table *out)
{
    const char *rows;
    char separator = written->separator;
    DROVE_TRY(drove__content_load(path, written, out->n_threads, &out->content));
    const drove_content *content = &out->content;
    if (content->has_names) header = DROVE_HEADER_YES;
    if (content->has_names) separator = ',';
    else if (separator == 0) separator = content->separator;
    out->first_line += (uint64_t)content->n_lines_above;
    out->dialect = drove__detect_dialect(content, separator);
    if (!content->has_names) drove__shape_skip_titles(out);
    DROVE_TRY(read_names(out, header, first_names, n_first_names, &rows));
    if (!content->has_names) drove__shape_skip_footers(out, rows, written->piece != NULL);

    DROVE_TRY(out->content.has_quote ? cut_in_order(out, rows) : cut_at_lines(out, rows));
    if (out->n_rows > UINT32_MAX)
        return drove__fail(DROVE_E_DATA, "%s: expected at most %u rows, found more", out->path,
                           UINT32_MAX);
    drove__shape_note_headers(out, out->n_headers);
    if (out->n_rows > 0) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected rows below the header, found none", out->path);
}

drove_status drove__table_open(const char *path, const drove_content_options *written,
                               drove_header header, const char *const *first_names,
                               size_t n_first_names, drove_table *out)
{
    const drove_piece *piece = written->piece;
    *out = (drove_table){.n_threads = drove__table_threads(),
                         .first_line = piece != NULL ? piece->first_line : 1};
    out->path = strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    if (out->path == NULL) return drove__fail_nomem(path, strlen(path));
    out->frame = drove__frame_find(path);
    DROVE_TRY(out->frame != NULL
                  ? open_frame(out)
                  : open_text(path, written, header, first_names, n_first_names, out));
    out->column = calloc(out->n_columns, sizeof *out->column);
    out->count = calloc(out->n_columns, sizeof *out->count);
    if (out->column != NULL && out->count != NULL) return DROVE_OK;
    return drove__fail_nomem("columns of a table", out->n_columns * sizeof *out->count);
}

void drove__table_fini(drove_table *t)
{
    for (size_t i = 0; i < t->n_blocks; i++) free(t->block[i].word);
    for (size_t i = 0; t->count != NULL && i < t->n_columns; i++)
        drove__dictionary_fini(&t->count[i].dictionary);
    drove__texts_free(t->name, t->n_columns);
    for (size_t i = 0; t->as_text != NULL && i < t->n_columns; i++)
        drove__frame_column_fini(&t->as_text[i]);
    drove__frame_release(t->frame);
    free(t->as_text);
    free(t->block);
    free(t->column);
    free(t->count);
    free(t->label);
    free(t->left_out);
    drove__free(t->raw);
    for (size_t i = 0; t->wide != NULL && i < t->n_slots; i++) free(t->wide[i]);
    free(t->wide);
    drove__content_fini(&t->content);
    free(t->path);
    *t = (drove_table){0};
}
