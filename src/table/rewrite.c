/* table/rewrite.c - see rewrite.h.  Here: comments and escapes. */
#include "table/rewrite.h"

#include "base/foreign.h"
#include "base/mem.h"
#include "table/detect.h"
#include "table/rewriting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- comments ---- */

bool drove__opens_cell(const char *text, size_t i, char separator)
{
    while (i > 0 && text[i - 1] == ' ') i--;
    return i == 0 || text[i - 1] == '\n' || text[i - 1] == '\r' ||
           (separator != 0 ? text[i - 1] == separator : strchr(",;\t|", text[i - 1]) != NULL);
}

/* Puts blanks in the place of comments: a line that held nothing else is blank then, and skipped.
 * The memory is the content's own. */
static void blank_comments(const drove_content_options *options, drove_content *content)
{
    char *text = content->memory + (content->text - content->memory);
    char *const end = content->memory + (content->end - content->memory);
    bool is_quoted = false;
    size_t n = 0;
    char first[64] = "";
    for (char *c = text; c < end; c++) {
        if (options->escape != 0 && *c == options->escape && c + 1 < end) {
            c++;
        } else if (is_quoted) {
            if (*c == '"' && c + 1 < end && c[1] == '"') c++;
            else is_quoted = *c != '"';
        } else if (*c == '"') {
            is_quoted = drove__opens_cell(text, (size_t)(c - text), options->separator);
        } else if (*c == options->comment &&
                   (c == text || c[-1] == ' ' || c[-1] == '\n' || c[-1] == '\r')) {
            char *line_end = c;
            while (line_end < end && *line_end != '\n' && *line_end != '\r') line_end++;
            if (n++ == 0)
                snprintf(first, sizeof first, "%.*s", (int)(line_end - c < 40 ? line_end - c : 40),
                         c);
            memset(c, ' ', (size_t)(line_end - c));
            c = line_end - 1;
        }
    }
    content->has_quote = memchr(text, '"', (size_t)(end - text)) != NULL;
    if (n > 0)
        snprintf(content->note, sizeof content->note, "%zu comment%s left out (\"%s\"%s)", n,
                 n == 1 ? "" : "s", first, n == 1 ? "" : " ...");
}

/* ---- escapes ---- */

/* The separator of a text in which an escaped character is a letter like any other. */
static drove_status find_separator(const drove_content *content, char escape, char *out)
{
    const size_t n = (size_t)(content->end - content->text);
    char *masked = malloc(n + 1);
    if (masked == NULL) return drove__fail_nomem("a table", n);
    memcpy(masked, content->text, n);
    for (size_t i = 0; i + 1 < n; i++) {
        if (masked[i] != escape) continue;
        masked[i] = masked[i + 1] = 'x';
        i++;
    }
    const drove_content seen = {.text = masked, .end = masked + n};
    *out = drove__detect_dialect(&seen, 0).separator;
    free(masked);
    return DROVE_OK;
}

/* The text of a cell without its escapes, quoted; before any other character than a quote, a
 * separator, a line end or itself the escape is one of the cell's. */
static void add_unescaped(drove_rewriting *to, const char *cell, const char *end, char separator,
                          char escape, bool was_quoted)
{
    drove__rewrite_add(to, "\"", 1);
    for (const char *c = cell; c < end; c++) {
        const bool is_special = c + 1 < end && (c[1] == '"' || c[1] == separator ||
                                                c[1] == escape || c[1] == '\n' || c[1] == '\r');
        if (*c == escape && is_special) c++;
        else if (was_quoted && *c == '"' && c + 1 < end && c[1] == '"') c++; /* "" is one quote */
        drove__rewrite_add(to, c, 1);
        if (*c == '"') drove__rewrite_add(to, "\"", 1);
    }
    drove__rewrite_add(to, "\"", 1);
}

/* Where a cell ends: at a quote, or at a separator or a line end, that is not escaped. */
static const char *find_end(const char *c, const char *end, char separator, char escape,
                            bool is_quoted, bool *has_escape)
{
    for (; c < end; c++) {
        if (*c == escape && c + 1 < end) {
            *has_escape = true;
            c++;
        } else if (is_quoted) {
            if (*c == '"' && c + 1 < end && c[1] == '"') c++;
            else if (*c == '"') return c;
        } else if (*c == separator || *c == '\n' || *c == '\r') {
            return c;
        }
    }
    return end;
}

static drove_status resolve_escapes(const char *path, const drove_content_options *options,
                                    drove_content *content)
{
    drove_rewriting to;
    const char escape = options->escape, *const end = content->end;
    char separator = options->separator != 0 ? options->separator : content->separator;
    if (separator == 0) DROVE_TRY(find_separator(content, escape, &separator));
    drove__rewrite_init(&to, path, content);
    for (const char *c = content->text; c < end;) {
        const char *cell = c;
        bool has_escape = false;
        while (c < end && (*c == ' ' || *c == '\t') && *c != separator) c++;
        const bool is_quoted = c < end && *c == '"';
        const char *text = is_quoted ? c + 1 : c;
        c = find_end(text, end, separator, escape, is_quoted, &has_escape);
        if (has_escape) add_unescaped(&to, text, c, separator, escape, is_quoted);
        if (is_quoted && c < end) c++;
        if (!has_escape) drove__rewrite_add(&to, cell, (size_t)(c - cell));
        if (c < end) drove__rewrite_add(&to, c++, 1); /* what follows a quote is judged later */
    }
    content->separator = separator;
    return drove__rewrite_finish(&to, DROVE_OK, content);
}

drove_status drove__rewrite(const char *path, const drove_content_options *options,
                            drove_content *content)
{
    if (drove__is_json(content)) return drove__rewrite_json(path, content);
    if (drove__is_arff(content)) return drove__rewrite_arff(path, content);
    char what[DROVE_FOREIGN_SIZE];
    const char *foreign =
        drove__foreign_text(path, content->text, (size_t)(content->end - content->text), what);
    if (foreign != NULL)
        return drove__fail(DROVE_E_DATA, "%s: expected a table as text, found %s", path, foreign);
    if (options->comment != 0) blank_comments(options, content);
    return options->escape != 0 ? resolve_escapes(path, options, content) : DROVE_OK;
}
