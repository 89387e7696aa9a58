/* table/arff.c - ARFF, the text format of Weka, as tables.
 *
 * Source: Witten, Frank, Hall, Pal: Data Mining, appendix; the manual of Weka 3.8, chapter 9.
 *
 * A nominal attribute some of whose values are numbers is a category, and as a label a class; a
 * numeric one is a number.  Rows may be sparse, "{1 3.5, 4 yes}": what is left out is 0, or the
 * first value of a nominal attribute.
 */
#include "table/rewrite.h"

#include "base/mem.h"
#include "base/spec.h"
#include "table/rewriting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_MOST = 1 << 20 };

typedef struct attribute {
    char *name;
    char *first; /* value of a nominal one, which sparse rows leave out; "0" of a number; NULL */
    char type;   /* as drove_content.type */
} attribute;

typedef struct arff_text { /* being read */
    const char *path;
    const char *at, *end; /* end: of the text */
    uint64_t line;
    attribute *attribute; /* [n] */
    size_t n, capacity;
} arff_text;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The line at *at, without what ends it; false: there is none. */
static bool next_line(const char **at, const char *end, const char **line, const char **line_end)
{
    if (*at >= end) return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *line_end = newline != NULL ? newline : end;
    *at = newline != NULL ? newline + 1 : end;
    while (*line < *line_end && is_blank(**line)) ++*line;
    while (*line_end > *line && is_blank((*line_end)[-1])) --*line_end;
    return true;
}

/* True if the line begins with this word, and a blank or its end. */
static bool has_word(const char *line, const char *end, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(end - line) >= n && strncasecmp(line, word, n) == 0 &&
           (line + n == end || is_blank(line[n]) || line[n] == '"' || line[n] == '\'' ||
            line[n] == '{');
}

bool drove__is_arff(const drove_content *content)
{
    const char *at = content->text, *line, *end;
    while (next_line(&at, content->end, &line, &end)) {
        if (line < end && *line != '%') return has_word(line, end, "@relation");
    }
    return false;
}

static drove_status fail_here(const arff_text *a, const char *expected)
{
    return drove__fail(DROVE_E_DATA, "%s:%llu: expected %s", a->path, (unsigned long long)a->line,
                       expected);
}

/* ---- values ---- */

typedef struct value { /* [text, end) between its quotes, or up to one of the stops */
    const char *text, *end;
    bool is_quoted;
} value;

/* The value at *at; *at moves behind it and the blanks after it. */
static drove_status next_value(const arff_text *a, const char **at, const char *end,
                               const char *stops, value *out)
{
    const char *c = *at;
    while (c < end && is_blank(*c)) c++;
    out->is_quoted = c < end && (*c == '\'' || *c == '"');
    if (out->is_quoted) {
        const char quote = *c++;
        out->text = c;
        while (c < end && *c != quote) c += *c == '\\' && c + 1 < end ? 2 : 1;
        if (c >= end) return fail_here(a, "a closing quote");
        out->end = c++;
    } else {
        out->text = c;
        while (c < end && strchr(stops, *c) == NULL) c++;
        out->end = c;
        while (out->end > out->text && is_blank(out->end[-1])) out->end--;
    }
    while (c < end && is_blank(*c)) c++;
    *at = c;
    return DROVE_OK;
}

/* Its text without escapes, from malloc; NULL: no memory. */
static char *copy_value(const value *v)
{
    char *text = malloc((size_t)(v->end - v->text) + 1);
    size_t n = 0;
    if (text == NULL) return NULL;
    for (const char *c = v->text; c < v->end; c++) {
        if (*c == '\\' && v->is_quoted && c + 1 < v->end) c++;
        text[n++] = *c;
    }
    text[n] = '\0';
    return text;
}

/* ---- the header ---- */

/* {first, 'second value', ...} */
static drove_status read_nominal(arff_text *a, const char *at, const char *end, attribute *out)
{
    value v;
    for (at++;; at++) {
        DROVE_TRY(next_value(a, &at, end, ",}", &v));
        if (out->first == NULL) {
            out->first = copy_value(&v);
            if (out->first == NULL) return drove__fail_nomem(a->path, 1);
        }
        float number;
        const char *next;
        if (drove__scan_float(v.text, v.end, &next, &number) && next == v.end) out->type = 'c';
        if (at == end || (*at != ',' && *at != '}')) return fail_here(a, "\",\" or \"}\"");
        if (*at == '}') return DROVE_OK;
    }
}

static drove_status read_attribute(arff_text *a, const char *at, const char *end)
{
    static const char *const numeric[] = {"numeric", "real", "integer"};
    value name;
    if (a->n == COLUMNS_MOST) return fail_here(a, "at most 1048576 attributes");
    if (a->n == a->capacity) {
        const size_t wanted = 2 * a->capacity + 16;
        attribute *grown = drove__grow(a->attribute, wanted, sizeof *grown);
        if (grown == NULL) return drove__fail_nomem(a->path, wanted * sizeof *grown);
        a->attribute = grown;
        a->capacity = wanted;
    }
    DROVE_TRY(next_value(a, &at, end, " \t{", &name));
    if (name.text == name.end) return fail_here(a, "@attribute NAME TYPE");
    attribute *new = &a->attribute[a->n];
    *new = (attribute){.name = copy_value(&name)};
    if (new->name == NULL) return drove__fail_nomem(a->path, 1);
    a->n++;
    if (at < end && *at == '{') return read_nominal(a, at, end, new);
    for (size_t i = 0; i < DROVE_COUNT(numeric); i++) {
        if (!has_word(at, end, numeric[i])) continue;
        new->type = 'n';
        new->first = strdup("0");
        return new->first != NULL ? DROVE_OK : drove__fail_nomem(a->path, 1);
    }
    if (has_word(at, end, "string")) return DROVE_OK;
    if (has_word(at, end, "date")) {
        /* The order of day and month in a format such as "dd/MM/yyyy". */
        const char *format = at + strlen("date");
        while (format < end && *format != 'y' && *format != 'd' && *format != 'M') format++;
        if (format < end && *format != 'y') new->type = *format == 'd' ? 'd' : 'm';
        return DROVE_OK;
    }
    return fail_here(a, "numeric, real, integer, string, date or {values} as the type of an "
                        "attribute");
}

/* Up to @data; a->line is its line then. */
static drove_status read_header(arff_text *a)
{
    const char *line, *end;
    while (next_line(&a->at, a->end, &line, &end)) {
        a->line++;
        if (line == end || *line == '%' || has_word(line, end, "@relation")) continue;
        if (has_word(line, end, "@data")) {
            return a->n > 0 ? DROVE_OK : fail_here(a, "an @attribute above @data");
        }
        if (!has_word(line, end, "@attribute"))
            return fail_here(a, "@attribute NAME TYPE, or @data");
        DROVE_TRY(read_attribute(a, line + strlen("@attribute"), end));
    }
    return fail_here(a, "@data, and rows below it");
}

/* ---- rows ---- */

static drove_status add_value(arff_text *a, drove_rewriting *to, const value *v)
{
    if (v->is_quoted || memchr(v->text, '"', (size_t)(v->end - v->text)) != NULL) {
        char *text = copy_value(v);
        if (text == NULL) return drove__fail_nomem(a->path, 1);
        drove__rewrite_add_quoted(to, text, strlen(text));
        free(text);
        return DROVE_OK;
    }
    drove__rewrite_add(to, v->text, (size_t)(v->end - v->text));
    return DROVE_OK;
}

static drove_status add_dense(arff_text *a, drove_rewriting *to, const char *at, const char *end)
{
    value v;
    /* Weka takes blanks for commas */
    const char *stops = memchr(at, ',', (size_t)(end - at)) != NULL ? ",\t%" : ", \t%";
    for (size_t n = 0;; n++, at++) {
        if (n > 0) drove__rewrite_add(to, ",", 1);
        if (at < end && *at == '{') return fail_here(a, "a value, found a weight of the row");
        DROVE_TRY(next_value(a, &at, end, stops, &v));
        if (a->n == 1 && v.text == v.end) drove__rewrite_add(to, "?", 1);
        DROVE_TRY(add_value(a, to, &v));
        if (at == end || *at == '%') return DROVE_OK;
        if (*at != ',' && v.is_quoted && !is_blank(at[-1]))
            return fail_here(a, "\",\" behind a closing quote");
        if (*at != ',') at--; /* behind blanks, which were skipped */
    }
}

static drove_status add_left_out(arff_text *a, drove_rewriting *to, size_t from, size_t until)
{
    for (size_t i = from; i < until; i++) {
        const char *first = a->attribute[i].first;
        if (i > 0) drove__rewrite_add(to, ",", 1);
        if (first == NULL) return fail_here(a, "the value of a string or a date in a sparse row");
        drove__rewrite_add_quoted(to, first, strlen(first));
        DROVE_TRY(to->failure);
    }
    return DROVE_OK;
}

/* {index value, index value}, indices from 0 that ascend. */
static drove_status add_sparse(arff_text *a, drove_rewriting *to, const char *at, const char *end)
{
    size_t n = 0;
    value v;
    for (at++; at < end && is_blank(*at); at++) {}
    while (at < end && *at != '}') {
        uint64_t index;
        if (!drove__scan_u64(at, end, &at, &index) || index < n || index >= a->n)
            return fail_here(a,
                             "numbers of attributes from 0 that ascend, and a value behind each");
        DROVE_TRY(next_value(a, &at, end, ",}", &v));
        DROVE_TRY(add_left_out(a, to, n, (size_t)index));
        if (index > 0) drove__rewrite_add(to, ",", 1);
        DROVE_TRY(add_value(a, to, &v));
        n = (size_t)index + 1;
        if (at == end || (*at != ',' && *at != '}')) return fail_here(a, "\",\" or \"}\"");
        if (*at == ',') at++;
        while (at < end && is_blank(*at)) at++;
    }
    if (at == end) return fail_here(a, "\"}\" at the end of a sparse row");
    return add_left_out(a, to, n, a->n);
}

drove_status drove__rewrite_arff(const char *path, drove_content *content)
{
    arff_text a = {.path = path, .at = content->text, .end = content->end};
    drove_rewriting to;
    drove__rewrite_init(&to, path, content);
    drove_status status = read_header(&a);
    const uint64_t header_line = a.line;
    if (status != DROVE_OK) goto end;
    for (size_t i = 0; i < a.n; i++) {
        if (i > 0) drove__rewrite_add(&to, ",", 1);
        drove__rewrite_add_quoted(&to, a.attribute[i].name, strlen(a.attribute[i].name));
    }
    drove__rewrite_add(&to, "\n", 1);
    content->type = calloc(a.n, 1);
    if (content->type == NULL) {
        status = drove__fail_nomem(path, a.n);
        goto end;
    }
    content->n_types = a.n;
    for (size_t i = 0; i < a.n; i++) content->type[i] = a.attribute[i].type;
    const char *line, *line_end;
    while (next_line(&a.at, a.end, &line, &line_end) && to.failure == DROVE_OK) {
        a.line++;
        if (line < line_end && *line == '{') status = add_sparse(&a, &to, line, line_end);
        else if (line < line_end && *line != '%') status = add_dense(&a, &to, line, line_end);
        if (status != DROVE_OK) goto end;
        drove__rewrite_add(&to, "\n", 1);
    }
end:
    for (size_t i = 0; i < a.n; i++) {
        free(a.attribute[i].name);
        free(a.attribute[i].first);
    }
    free(a.attribute);
    DROVE_TRY(drove__rewrite_finish(&to, status, content));
    content->has_names = true;
    content->n_lines_above += (int64_t)header_line - 1; /* the header stands where @data does */
    return DROVE_OK;
}
