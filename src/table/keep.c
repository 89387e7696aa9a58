/* table/keep.c - see keep.h. */
#include "table/keep.h"

#include "base/mem.h"
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

typedef struct keeping {
    drove_table *table;
    drove_kept *kept;
    size_t *column; /* [kept->n_columns] */
} keeping;

static drove_status add_column(void *context, size_t column)
{
    keeping *k = context;
    drove_kept *kept = k->kept;
    size_t *grown = drove__grow(k->column, kept->n_columns + 1, sizeof *grown);
    if (grown != NULL) k->column = grown;
    char **name = drove__grow(kept->name, kept->n_columns + 1, sizeof *name);
    if (name != NULL) kept->name = name;
    if (grown == NULL || name == NULL) return drove__fail_nomem("columns to keep", column);
    name[kept->n_columns] = strdup(k->table->name[column]);
    if (name[kept->n_columns] == NULL) return drove__fail_nomem("columns to keep", column);
    k->column[kept->n_columns++] = column;
    return DROVE_OK;
}

static drove_status add_cell(keeping *k, size_t row, size_t i, const drove_cell *cell)
{
    drove_kept *kept = k->kept;
    if (memchr(cell->text != NULL ? cell->text : "", '\0', cell->length) != NULL)
        return drove__fail(DROVE_E_DATA, "%s: row %zu: expected a cell to keep without zero bytes",
                           k->table->path, row + 1);
    if (kept->n_bytes + cell->length + 1 > kept->capacity) {
        const size_t wanted = 2 * kept->capacity + cell->length + 4096;
        char *bytes = drove__grow(kept->bytes, wanted, 1);
        if (bytes == NULL) return drove__fail_nomem("cells to keep", wanted);
        kept->bytes = bytes;
        kept->capacity = wanted;
    }
    char *to = kept->bytes + kept->n_bytes;
    size_t n = cell->length;
    if (cell->is_doubled) n = drove__cell_unquote(cell, to);
    else if (n > 0) memcpy(to, cell->text, n);
    to[n] = '\0';
    kept->at[row * kept->n_columns + i] = kept->n_bytes;
    kept->n_bytes += n + 1;
    return DROVE_OK;
}

/* cell[n_columns of the table]: scratch. */
static drove_status keep_text(keeping *k, drove_cell *cell)
{
    const drove_table *t = k->table;
    for (size_t b = 0; b < t->n_blocks; b++) {
        const char *at = t->block[b].start, *start, *end;
        size_t row = (size_t)t->block[b].first_row;
        for (; drove__table_next(t, &at, t->block[b].end, &start, &end); row++) {
            memset(cell, 0, t->n_columns * sizeof *cell);
            bool more = true;
            for (size_t i = 0; i < t->n_columns && more; i++)
                more = drove__cell_next(&t->dialect, &start, end, &cell[i]);
            for (size_t i = 0; i < k->kept->n_columns; i++)
                DROVE_TRY(add_cell(k, row, i, &cell[k->column[i]]));
        }
    }
    return DROVE_OK;
}

static drove_status keep_frame(keeping *k)
{
    drove_table *t = k->table;
    for (size_t i = 0; i < k->kept->n_columns; i++) {
        const size_t c = k->column[i];
        const drove_frame_column *from = &t->frame->column[c];
        if (!drove__frame_is_text(from) && t->as_text[c].raw == NULL)
            DROVE_TRY(drove__frame_as_text(from, t->n_rows, &t->as_text[c]));
    }
    for (size_t row = 0; row < t->n_rows; row++) {
        for (size_t i = 0; i < k->kept->n_columns; i++) {
            const size_t c = k->column[i];
            const drove_frame_column *from = &t->frame->column[c];
            const drove_cell cell =
                drove__frame_cell(drove__frame_is_text(from) ? from : &t->as_text[c], row);
            DROVE_TRY(add_cell(k, row, i, &cell));
        }
    }
    return DROVE_OK;
}

drove_status drove__table_keep(drove_table *table, const char *list, drove_kept *out)
{
    keeping k = {.table = table, .kept = out};
    *out = (drove_kept){0};
    drove_cell *cell = drove__grow(NULL, table->n_columns, sizeof *cell);
    if (cell == NULL) return drove__fail_nomem("a row", table->n_columns);
    drove_status status = drove__table_list(table, "keep", list, add_column, &k);
    if (status != DROVE_OK) goto end;
    size_t n;
    if (__builtin_mul_overflow(table->n_rows, out->n_columns, &n)) n = SIZE_MAX;
    out->at = drove__grow(NULL, n, sizeof *out->at);
    if (out->at == NULL) {
        status = drove__fail_nomem("cells to keep", n);
        goto end;
    }
    status = table->frame != NULL ? keep_frame(&k) : keep_text(&k, cell);
end:
    free(cell);
    free(k.column);
    return status;
}

void drove__kept_fini(drove_kept *kept)
{
    drove__texts_free(kept->name, kept->n_columns);
    free(kept->bytes);
    free(kept->at);
    *kept = (drove_kept){0};
}
