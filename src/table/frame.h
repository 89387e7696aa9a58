/* table/frame.h - a table of typed columns in memory: what a program has, instead of a file.
 *
 * drove__table_open takes one by its name, "memory:7" (base/named.h).  A column's type says how it
 * is read; only TEXT is inferred, by the rules for the cells of a file.  Immutable while its name
 * is in use.
 *
 * What a cell is in raw[row]:
 *   NUMBER, BOOLEAN   a float, NaN if the cell is missing
 *   TEXT, CATEGORY    0 if the cell is missing, else 1 + the number of its text
 * of an INTEGER or a DATE, seconds since 1970, in integer[row], DROVE_FRAME_NO_INTEGER if missing;
 * and of a NUMBER with is_wide in number[row], a double.
 */
#ifndef DROVE_TABLE_FRAME_H
#define DROVE_TABLE_FRAME_H

#include "base/digits.h"
#include "base/named.h"
#include "base/status.h"
#include "table/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DROVE_FRAME_NO_INTEGER INT64_MIN

typedef enum drove_frame_type {
    DROVE_FRAME_NUMBER,
    DROVE_FRAME_INTEGER,
    DROVE_FRAME_BOOLEAN,
    DROVE_FRAME_DATE,
    DROVE_FRAME_TEXT,
    DROVE_FRAME_CATEGORY
} drove_frame_type;

typedef struct drove_frame_text { /* without blanks at its ends, valid UTF-8 without NUL */
    size_t   at;                  /* in bytes */
    uint32_t length, hash;
} drove_frame_text;

typedef struct drove_frame_column {
    char             *name;
    drove_frame_type  type;
    bool              has_time;    /* of a date: some cell has a time of day */
    bool              is_unsigned; /* of integers */
    bool              is_wide;     /* of numbers: floats lose their digits (base/digits.h) */
    uint32_t         *raw;
    int64_t          *integer;
    double           *number;
    size_t            capacity; /* rows of raw, integer or number */
    char             *bytes;    /* texts, in the order in which they occurred */
    size_t            n_bytes, bytes_capacity;
    drove_frame_text *text; /* [n_texts] */
    size_t            n_texts, texts_capacity;
    uint32_t         *slot; /* [n_slots] open addressing: 1 + a text, 0: free */
    size_t            n_slots;
} drove_frame_column;

typedef struct drove_frame {
    drove_named_object  named;
    char                name[DROVE_NAMED_SIZE];
    size_t              n_rows, n_columns;
    drove_frame_column *column; /* [n_columns] */
} drove_frame;

enum { DROVE_FRAME_COLUMNS_MOST = 1000000 };

/* Zeroed columns, no rows; it has a name and the caller's reference.  Errors: DROVE_E_NOMEM. */
drove_status drove__frame_create(size_t n_columns, drove_frame **out);
void         drove__frame_release(drove_frame *frame); /* NULL accepted */
/* With one more reference; NULL: there is none. */
drove_frame *drove__frame_find(const char *path);
/* Memory of cells and texts. */
size_t drove__frame_bytes(const drove_frame *frame);

/* ---- making a column ---- */

/* Room for n_rows.  Errors: DROVE_E_NOMEM. */
drove_status drove__frame_reserve(drove_frame_column *column, size_t n_rows);
/* Of a column with is_wide: numbers that a float holds as well become floats.  Errors:
 * DROVE_E_NOMEM. */
drove_status drove__frame_settle(drove_frame_column *column, size_t n_rows);
/* What stands in raw for a text; blanks at its ends are dropped.  Errors: DROVE_E_DATA (no UTF-8, a
 * NUL, longer than a cell may be), DROVE_E_NOMEM. */
drove_status drove__frame_intern(drove_frame_column *column, const char *text, size_t length,
                                 uint32_t *out);
void         drove__frame_column_fini(drove_frame_column *column);

/* ---- reading ---- */

bool drove__frame_is_text(const drove_frame_column *column); /* TEXT or CATEGORY */
bool drove__frame_is_missing(const drove_frame_column *column, size_t row);
/* A NUMBER, INTEGER or BOOLEAN; NaN if it is missing. */
double drove__frame_number(const drove_frame_column *column, size_t row);
/* The cell of a text; of length 0 if it is missing. */
drove_cell drove__frame_cell(const drove_frame_column *column, size_t row);

enum { DROVE_FRAME_PRINT_SIZE = 48 };
/* A typed cell as a text file has it; returns its length, 0 if it is missing. */
size_t drove__frame_print(const drove_frame_column *column, size_t row,
                          char into[DROVE_FRAME_PRINT_SIZE]);
/* The first n_rows cells of a typed column as texts.  Errors: DROVE_E_NOMEM. */
drove_status drove__frame_as_text(const drove_frame_column *column, size_t n_rows,
                                  drove_frame_column *out);

#endif
