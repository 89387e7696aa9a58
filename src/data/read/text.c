/* data/read/text.c - reads lines of text files; errors name their position. */
#include "data/read/text.h"

#include "base/mem.h"
#include "base/spec.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { SHOWN_MOST = 40 }; /* bytes of a word that an error shows */

drove_status drove__line_next(drove_reader *reader, drove_line *out, bool *found)
{
    char *text;
    size_t length;
    *found = false;
    while (true) {
        DROVE_TRY(drove__reader_line(reader, &text, &length));
        if (text == NULL) return DROVE_OK;
        const char *at = text, *end = text + length;
        if (drove__reader_line_number(reader) == 1 && length >= 3 &&
            memcmp(text, "\xef\xbb\xbf", 3) == 0)
            at += 3;
        const char *first = at;
        while (at < end && drove__is_blank(*at)) at++;
        if (at == end) continue;
        *out = (drove_line){.reader = reader, .start = text, .at = first, .end = end};
        *found = true;
        return DROVE_OK;
    }
}

drove_status drove__line_fail(const drove_line *line, const char *where, const char *expected)
{
    const char *path = drove__reader_path(line->reader);
    unsigned long long number = drove__reader_line_number(line->reader);
    size_t column = (size_t)(where - line->start) + 1;
    int n = 0;
    while (n < SHOWN_MOST && where + n < line->end && !drove__is_blank(where[n]) &&
           where[n] != '\0')
        n++;
    if (n > 0) {
        return drove__fail(DROVE_E_DATA, "%s:%llu:%zu: expected %s, found \"%.*s\"", path, number,
                           column, expected, n, where);
    }
    return drove__fail(DROVE_E_DATA, "%s:%llu:%zu: expected %s, found %s", path, number, column,
                       expected,
                       where == line->end ? "the end of the line"
                       : *where == '\0'   ? "a zero byte"
                                          : "a blank");
}

drove_status drove__line_number(drove_line *line, const char *stops, const char *what, float *out)
{
    const float exact = 16777216; /* floats hold the whole numbers below */
    const char *next;
    double whole;
    if (!drove__scan_float(line->at, line->end, &next, out) ||
        (next < line->end && (*next == '\0' || strchr(stops, *next) == NULL))) {
        return drove__line_fail(line, line->at, what);
    }
    if (!isfinite(*out)) return drove__line_fail(line, line->at, "a finite number");
    if (fabsf(*out) >= exact && drove__scan_double(line->at, next, &next, &whole))
        line->n_rounded += whole != (double)*out;
    line->at = next;
    return DROVE_OK;
}

drove_status drove__read_separator(const char *what, const char *text, char *out)
{
    static const struct {
        const char *name;
        char separator;
    } names[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"bar", '|'}, {"space", ' '}};
    if (text == NULL || *text == '\0') return DROVE_OK;
    if (strlen(text) == 1 && strchr("\"+-.0123456789eE", *text) == NULL) {
        *out = *text;
        return DROVE_OK;
    }
    for (size_t i = 0; i < DROVE_COUNT(names); i++) {
        if (strcmp(names[i].name, text) != 0) continue;
        *out = names[i].separator;
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_ARG,
                       "%s: expected comma, semicolon, tab, bar or space, found \"%s\"", what,
                       text);
}
