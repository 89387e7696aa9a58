/* table/scan.c - see scan.h. */
#include "table/scan.h"

#include <string.h>

static bool is_padding(const drove_dialect *d, char c)
{
    return (c == ' ' || c == '\t') && c != d->separator;
}

/* The closing quote of a quoted cell whose first character is at `at`, or NULL. */
static const char *closing_quote(const char *at, const char *end, bool *is_doubled)
{
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL || quote + 1 == end || quote[1] != '"') return quote;
        *is_doubled = true;
        at = quote + 2;
    }
    return NULL;
}

const char *drove__record_end(const drove_dialect *d, const char *at, const char *end)
{
    const char *first = at, *quote, *line_end = memchr(at, d->line_end, (size_t)(end - at));
    if (line_end == NULL) line_end = end;
    while ((quote = memchr(at, '"', (size_t)(line_end - at))) != NULL) {
        /* A quote that does not begin a cell is a character like any other. */
        const char *before = quote;
        bool is_doubled;
        while (before > first && is_padding(d, before[-1])) before--;
        at = quote + 1;
        if (before > first && before[-1] != d->separator) continue;
        quote = closing_quote(at, end, &is_doubled);
        if (quote == NULL) return end;
        at = quote + 1;
        if (at <= line_end) continue;
        line_end = memchr(at, d->line_end, (size_t)(end - at));
        if (line_end == NULL) line_end = end;
    }
    return line_end;
}

bool drove__record_next(const drove_dialect *d, const char **at, const char *end,
                        const char **start, const char **record_end)
{
    while (*at < end) {
        const char *first = *at, *last = drove__record_end(d, first, end);
        *at = last < end ? last + 1 : end;
        if (d->line_end == '\n' && last > first && last[-1] == '\r') last--;
        const char *c = first;
        while (c < last && (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n')) c++;
        if (c == last) continue;
        if (d->separator == ' ') {
            while (*first == ' ') first++;
            while (last[-1] == ' ') last--;
        }
        *start = first;
        *record_end = last;
        return true;
    }
    return false;
}

bool drove__cell_next(const drove_dialect *d, const char **at, const char *end, drove_cell *out)
{
    *out = (drove_cell){0};
    while (*at < end && is_padding(d, **at)) ++*at;
    if (*at < end && **at == '"') {
        const char *first = *at + 1, *quote = closing_quote(first, end, &out->is_doubled);
        out->text = first;
        out->is_broken = quote == NULL;
        out->length = (size_t)((quote != NULL ? quote : end) - first);
        *at = quote != NULL ? quote + 1 : end;
        while (*at < end && is_padding(d, **at)) ++*at;
        if (*at < end && **at != d->separator) out->is_broken = true;
    } else {
        const char *stop = memchr(*at, d->separator, (size_t)(end - *at));
        if (stop == NULL) stop = end;
        out->text = *at;
        out->length = (size_t)(stop - *at);
        *at = stop;
    }
    while (out->length > 0 &&
           (out->text[out->length - 1] == ' ' || out->text[out->length - 1] == '\t'))
        out->length--;
    while (out->length > 0 && (*out->text == ' ' || *out->text == '\t')) out->text++, out->length--;
    if (*at == end) return false;
    if (!out->is_broken) ++*at;
    while (d->separator == ' ' && *at < end && **at == ' ') ++*at;
    return true;
}

size_t drove__record_count(const drove_dialect *d, const char *start, const char *end)
{
    drove_cell cell;
    size_t n = 1;
    while (drove__cell_next(d, &start, end, &cell)) {
        if (cell.is_broken) break;
        n++;
    }
    return n;
}

size_t drove__cell_unquote(const drove_cell *cell, char *into)
{
    size_t n = 0;
    for (size_t i = 0; i < cell->length; i++) {
        into[n++] = cell->text[i];
        if (cell->text[i] == '"' && i + 1 < cell->length && cell->text[i + 1] == '"') i++;
    }
    return n;
}
