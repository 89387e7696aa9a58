/* table/text.h - a text in memory that is to be a table, and how it is written. */
#ifndef DROVE_TABLE_TEXT_H
#define DROVE_TABLE_TEXT_H

#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a text is written, as far as the caller knows; all zero: as most are. */
typedef struct drove_content_options {
    const drove_piece *piece; /* of the file, decoded, without its first lines; NULL: all of it */
    const char        *encoding; /* base/decode.h; NULL: by its mark, else UTF-8 or Windows-1252 */
    uint64_t           skip_lines; /* at its start, that are no part of the table */
    char               separator;  /* 0: not known */
    char comment; /* begins a comment at the start of a line or behind a blank; 0: none */
    char escape;  /* before a quote, a separator or a line end that is text; 0: none */
} drove_content_options;

typedef struct drove_content {
    char       *memory;        /* drove__alloc                                        */
    const char *text, *end;    /* without a byte order mark                          */
    bool        was_cp1252;    /* was no UTF-8: read as Windows-1252, a byte a character */
    bool        has_quote;     /* a '"' is somewhere in it                           */
    bool        has_names;     /* its first record is a header, and commas separate its cells */
    char        separator;     /* that the text itself says ("sep=;"); 0: it does not */
    int64_t     n_lines_above; /* lines of the file above text; negative: lines that it has not */
    /* [n_types] of columns: 'c' classes, 'n' numbers, 'd' dates with the day before the month, 'm'
     * with the month before the day, 0 as it looks; malloc */
    char  *type;
    size_t n_types;   /* 0: nothing is known */
    char   note[240]; /* a remark on how it was read; "": none */
} drove_content;

#endif
