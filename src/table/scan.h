/* table/scan.h - the scanner: records and cells of a text in memory.
 *
 * Source: RFC 4180.  A cell may be quoted; it then may hold separators, line ends and "" for a
 * quote.  Beyond the RFC: other separators, blanks around a cell, a quote as a character inside an
 * unquoted cell, and lone CR as line end where a file has no other.
 */
#ifndef DROVE_TABLE_SCAN_H
#define DROVE_TABLE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct drove_dialect {
    char separator; /* ',' ';' '\t' '|' or ' ': then any number of blanks separates two cells */
    char line_end;  /* '\n', or '\r'; before '\n' a '\r' is dropped */
} drove_dialect;

typedef struct drove_cell {
    const char *text; /* [length] in the content, without quotes and the blanks around it */
    size_t      length;
    bool        is_doubled; /* holds "" for a quote */
    bool        is_broken;  /* no closing quote, or text after it */
} drove_cell;

/* The end of the record at `at`: its line end outside quotes, or `end`. */
const char *drove__record_end(const drove_dialect *d, const char *at, const char *end);

/* The record at *at: [*start, *record_end) without line end and outer blanks that separate nothing;
 * *at moves behind it.  Skips blank lines; false: there is no further record. */
bool drove__record_next(const drove_dialect *d, const char **at, const char *end,
                        const char **start, const char **record_end);

/* The cell at *at of a record that ends at `end`; *at moves behind its separator.  Returns whether
 * another cell follows. */
bool drove__cell_next(const drove_dialect *d, const char **at, const char *end, drove_cell *out);

/* Cells of a record. */
size_t drove__record_count(const drove_dialect *d, const char *start, const char *end);

/* The text of a cell with "" as one quote, in into[length]; returns the new length. */
size_t drove__cell_unquote(const drove_cell *cell, char *into);

#endif
