/* table/content.h - a text file in memory, as UTF-8. */
#ifndef DROVE_TABLE_CONTENT_H
#define DROVE_TABLE_CONTENT_H

#include "base/file.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct drove_content {
    char       *memory;     /* drove__alloc                                        */
    const char *text, *end; /* without a byte order mark                          */
    bool        was_cp1252; /* was no UTF-8: read as Windows-1252, a byte a character */
    bool        has_quote;  /* a '"' is somewhere in it                           */
} drove_content;

/* Reads a whole file (base/file.h: plain, gzip, "-"), a large plain one by n_threads.
 * Errors: DROVE_E_DATA (empty, binary, UTF-16, a line above DROVE_RECORD_MOST_BYTES, of a stream
 * also a record with quoted line ends, more
 * than the memory of this machine, shorter than when it was opened), those of
 * drove__reader_open. */
drove_status drove__content_load(const char *path, unsigned n_threads, drove_content *out);
/* The same of a piece in memory, which is copied. */
drove_status drove__content_of_piece(const char *path, const drove_piece *piece,
                                     drove_content *out);
void         drove__content_fini(drove_content *content);

bool drove__is_utf8(const char *text, size_t size_bytes);

#define DROVE_RECORD_MOST_BYTES ((size_t)64 << 20)
#define DROVE_CELL_MOST_BYTES   ((size_t)16 << 20)

#endif
