/* base/foreign.h - names files of formats that drove does not read, by their first bytes. */
#ifndef DROVE_BASE_FOREIGN_H
#define DROVE_BASE_FOREIGN_H

#include <stddef.h>

enum { DROVE_FOREIGN_BYTES = 32 }; /* as many of a file's first bytes as are looked at */

/* "a Parquet file (convert it to CSV)" and the like, for an error; NULL: none of these. */
const char *drove__foreign_binary(const void *head, size_t n);
/* The same of formats that are text, some of which a run file may be like: for tables alone. */
const char *drove__foreign_text(const void *head, size_t n);

#endif
