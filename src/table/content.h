/* table/content.h - reads a text file into memory, as UTF-8. */
#ifndef DROVE_TABLE_CONTENT_H
#define DROVE_TABLE_CONTENT_H

#include "base/status.h"
#include "table/text.h"

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
