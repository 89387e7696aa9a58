/* data/read/text.h - positions in a line of a text file, and errors that name them:
 * "FILE:LINE:COLUMN: expected ..., found ...".
 */
#ifndef DROVE_DATA_READ_TEXT_H
#define DROVE_DATA_READ_TEXT_H

#include "base/file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct drove_line { /* [start, end) is the reader's line */
    const drove_reader *reader;
    const char         *start, *at, *end;
    uint64_t            n_rounded; /* numbers above 2^24 in it that are not floats */
} drove_line;

/* Next line that holds more than blanks; *found is false at the end of the file.  Skips a UTF-8
 * byte order mark. */
drove_status drove__line_next(drove_reader *reader, drove_line *out, bool *found);

/* DROVE_E_DATA about the text at `where` in the line: what was expected, and the word found. */
drove_status drove__line_fail(const drove_line *line, const char *where, const char *expected);

/* Reads a number at line->at that ends at line->end or at a byte in `stops`; line->at then is after
 * it.  Counts it in n_rounded, and refuses numbers that are not finite.  what: "a number" in the
 * error. */
drove_status drove__line_number(drove_line *line, const char *stops, const char *what, float *out);

/* ?sep=: a character, or comma, semicolon, tab, bar or space; *out is unchanged if text is NULL.
 * what: "csv?sep".  Errors: DROVE_E_ARG. */
drove_status drove__read_separator(const char *what, const char *text, char *out);
#define DROVE_SEPARATOR_HELP "between cells: a character, comma, semicolon, tab, bar or space"
#define DROVE_ENCODING_HELP                                                                        \
    "of the text, as iconv names it; without it UTF-8, or by its byte order mark"

static inline bool drove__is_blank(char c)
{
    return c == ' ' || c == '\t';
}

#endif
