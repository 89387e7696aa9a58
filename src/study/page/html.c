/* study/page/html.c - see html.h. */
#include "study/page/html.h"

#include "base/file.h"

#include <math.h>
#include <string.h>

drove_status drove__page_save(const char *path, const void *bytes, size_t n_bytes)
{
    drove_writer *w;
    DROVE_TRY(drove__writer_create(path, &w));
    const drove_status status = drove__writer_write(w, bytes, n_bytes);
    if (status == DROVE_OK) return drove__writer_commit(w);
    drove__writer_abort(w);
    return status;
}

void drove__html_text(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&': fputs("&amp;", stream); break;
        case '<': fputs("&lt;", stream); break;
        case '>': fputs("&gt;", stream); break;
        case '"': fputs("&quot;", stream); break;
        case '\'': fputs("&#39;", stream); break;
        default: fputc((unsigned char)*text < 32 || *text == 127 ? '?' : *text, stream); break;
        }
    }
}

void drove__html_number(double value, FILE *stream)
{
    if (isnan(value)) fputs("&ndash;", stream);
    else if (isinf(value)) fputs(value > 0 ? "&infin;" : "-&infin;", stream);
    else if (value == floor(value) && fabs(value) < 1e9) fprintf(stream, "%.0f", value);
    else fprintf(stream, "%.4g", value);
}

void drove__html_cell(double value, FILE *stream)
{
    fputs("<td class=n>", stream);
    drove__html_number(value, stream);
    fputs("</td>", stream);
}

void drove__html_text_cell(const char *text, FILE *stream)
{
    fputs("<td>", stream);
    drove__html_text(text, stream);
    fputs("</td>", stream);
}

void drove__html_head_cell(const char *text, const char *scope, FILE *stream)
{
    fprintf(stream, "<th scope=%s>", scope);
    drove__html_text(text, stream);
    fputs("</th>", stream);
}

void drove__html_table(const char *label, const char *caption, FILE *stream)
{
    const char *quote = strchr(label, ' ') != NULL ? "\"" : "";
    fprintf(stream, "<div class=scroll tabindex=0 role=region aria-label=%s%s%s><table>", quote,
            label, quote);
    if (caption != NULL) fprintf(stream, "<caption>%s</caption>", caption);
}

void drove__html_heads(const char *const *heads, size_t n, FILE *stream)
{
    fputs("<thead><tr>", stream);
    for (size_t i = 0; i < n; i++) drove__html_head_cell(heads[i], "col", stream);
    fputs("</tr></thead><tbody>\n", stream);
}

void drove__html_row(const char *name, FILE *stream)
{
    fputs("<tr>", stream);
    drove__html_head_cell(name, "row", stream);
}

void drove__html_copy(char *into, size_t size, const char *text)
{
    if ((size_t)snprintf(into, size, "%s", text) < size) return;
    size_t at = size - 4;
    while (at > 0 && ((unsigned char)into[at] & 0xc0) == 0x80) at--;
    strcpy(into + at, "...");
}

double drove__html_get(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *drove__html_word(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word != NULL ? word : "";
}
