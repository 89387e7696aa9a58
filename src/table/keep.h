/* table/keep.h - cells of some columns as the file has them: names of rows, beside predictions. */
#ifndef DROVE_TABLE_KEEP_H
#define DROVE_TABLE_KEEP_H

#include "base/status.h"
#include "table/read.h"

#include <stddef.h>

typedef struct drove_kept {
    size_t  n_columns;
    char  **name;  /* [n_columns] */
    char   *bytes; /* [n_bytes] texts, each with a zero byte behind it, row after row */
    size_t *at;    /* [rows][n_columns] in bytes */
    size_t  n_bytes, capacity;
} drove_kept;

/* list: names or numbers, joined by '+' or ','.  All rows of an open table, also before it is
 * scanned.  The caller calls drove__kept_fini even after a failure.  Errors: DROVE_E_ARG (no such
 * column), DROVE_E_DATA (a record without these cells, a zero byte), DROVE_E_NOMEM. */
drove_status drove__table_keep(drove_table *table, const char *list, drove_kept *out);
void         drove__kept_fini(drove_kept *kept);

#endif
