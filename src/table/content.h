/* table/content.h - a text file in memory, as UTF-8. */
#ifndef DROVE_TABLE_CONTENT_H
#define DROVE_TABLE_CONTENT_H

#include "base/file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Reads a whole file (base/textfile.h), a large plain one by n_threads.  JSON Lines, JSON arrays of
 * objects and ARFF files become tables with a header.
 * Errors: DROVE_E_DATA (empty, binary, a line above DROVE_RECORD_MOST_BYTES, of a stream
 * also a record with quoted line ends, more
 * than the memory of this machine, shorter than when it was opened), those of
 * drove__textfile_open. */
drove_status drove__content_load(const char *path, const drove_content_options *options,
                                 unsigned n_threads, drove_content *out);
void         drove__content_fini(drove_content *content);

/* "sep=;" and a line end at the start of a text, as Excel reads it: the bytes of the line, and the
 * separator; 0: there is no such line. */
size_t drove__content_separator_line(const char *text, size_t n, char *separator);

bool drove__is_utf8(const char *text, size_t size_bytes);

#define DROVE_RECORD_MOST_BYTES ((size_t)64 << 20)
#define DROVE_CELL_MOST_BYTES   ((size_t)16 << 20)

#endif
