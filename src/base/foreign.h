/* base/foreign.h - names files of formats that drove does not read, by their first bytes, and the
 * command that makes a table of them. */
#ifndef DROVE_BASE_FOREIGN_H
#define DROVE_BASE_FOREIGN_H

#include <stddef.h>

enum { DROVE_FOREIGN_BYTES = 32, DROVE_FOREIGN_SIZE = 800 };

/* "a Parquet file (python3 -c ... writes table.csv)" and the like, for an error about the file
 * `path`, by its first n bytes, of which DROVE_FOREIGN_BYTES are enough; returns into, or NULL: it
 * is none of these. */
const char *drove__foreign_binary(const char *path, const void *head, size_t n,
                                  char into[DROVE_FOREIGN_SIZE]);
/* The same of formats that are text, some of which a run file may be like: for tables alone. */
const char *drove__foreign_text(const char *path, const void *head, size_t n,
                                char into[DROVE_FOREIGN_SIZE]);

#endif
