/* data/open/columns.c - the columns of a table, for programs. */
#include "data/data.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/mem.h"
#include "base/textfile.h"
#include "data/open/formats.h"
#include "table/schema.h"
#include "table/table.h"

#include <stdlib.h>
#include <string.h>

drove_status drove_data_columns_json(const drove_data *data, char **out)
{
    DROVE_ALIVE(data, "data");
    DROVE_GIVEN(data);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    const drove_schema *schema = data->storage->schema;
    if (schema != NULL) return drove__schema_columns_json(schema, out);
    *out = strdup("[]");
    return *out != NULL ? DROVE_OK : drove__fail_nomem("columns", sizeof "[]");
}

/* The first lines of a file: head[*n], which the caller frees. */
static drove_status read_head(const drove_table_options *opt, char **head, size_t *n)
{
    enum { HEAD_BYTES = 1 << 16 };
    drove_reader *reader;
    char *line;
    uint64_t n_lines = opt->written.skip_lines;
    size_t n_more = 1;
    *n = 0;
    *head = malloc(HEAD_BYTES + 1);
    if (*head == NULL) return drove__fail_nomem("columns", HEAD_BYTES);
    DROVE_TRY(drove__textfile_open(opt->path, opt->written.encoding, &reader));
    drove_status status = DROVE_OK;
    while (status == DROVE_OK && n_lines-- > 0) status = drove__reader_line(reader, &line, &n_more);
    for (n_more = 1; status == DROVE_OK && n_more > 0 && *n < HEAD_BYTES; *n += n_more) {
        n_more = 0;
        status = drove__reader_read_some(reader, *head + *n, HEAD_BYTES - *n, &n_more);
    }
    drove__reader_close(reader);
    (*head)[*n] = '\0';
    char *last = *n == HEAD_BYTES ? strrchr(*head, '\n') : NULL;
    if (last != NULL) *n = (size_t)(last - *head) + 1; /* whole lines */
    return status;
}

drove_status drove_data_list_columns(const char *spec, char **out)
{
    DROVE_GIVEN(spec);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    drove_spec parsed = {0};
    const drove_format_ops *format;
    drove_table_options opt;
    drove_table t = {0};
    drove_piece piece = {.first_line = 1};
    char *head = NULL;
    *out = NULL;
    drove_status status = drove__format_parse(spec, &parsed, &format);
    if (status != DROVE_OK) goto end;
    if (strcmp(format->name, "table") != 0) {
        status = drove__fail(DROVE_E_ARG, "%s: expected a table, whose columns have names",
                             format->name);
        goto end;
    }
    if ((status = drove__table_read_options(&parsed, &opt)) != DROVE_OK) goto end;
    if ((status = read_head(&opt, &head, &piece.n)) != DROVE_OK) goto end;
    piece.text = head;
    opt.written.piece = &piece;
    status = drove__table_open(opt.path, &opt.written, opt.header, NULL, 0, &t);
    if (status != DROVE_OK) goto end;

    /* The names, a line each. */
    size_t size = 1, n = 0;
    for (size_t i = 0; i < t.n_columns; i++) size += strlen(t.name[i]) + 1;
    char *text = malloc(size);
    if (text == NULL) {
        status = drove__fail_nomem("columns", size);
        goto end;
    }
    for (size_t i = 0; i < t.n_columns; i++) {
        n += (size_t)(stpcpy(text + n, t.name[i]) - (text + n));
        text[n++] = '\n';
    }
    text[n] = '\0';
    *out = text;
end:
    drove__table_fini(&t);
    free(head);
    drove__spec_fini(&parsed);
    return status;
}
