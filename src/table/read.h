/* table/read.h - a table in memory: its records, and one 32-bit word for each cell that is used, or
 * a double where a float would lose what tells the cells of the column apart (base/digits.h).
 *
 *   drove__table_open    content, dialect, names of the columns, blocks of records
 *   drove__table_scan    reads all cells, by several threads, as table->column says
 *
 * What a cell becomes in raw[row][slot], or in wide[slot][row]:
 *   NUMBER, BOOLEAN   a float or a double, NaN if the cell is missing
 *   DATE              a double, seconds since 1970 (table/cell.h), NaN if missing
 *   TEXT              drove__text_hash of the text, 0 if missing; the texts: count[].dictionary.
 *                     An integer's ".0" is dropped, so that 7 and 7.0 are one value.
 *   WORDS             the number of words; their hashes, row after row: block[].word
 * and label[row][slot] is the cell of a LABEL.
 *
 * A table is a text or a frame (table/frame.h).  Typed cells of a frame become raw words as they
 * are; its texts, and typed cells that are read as text or as labels, are read as the cells of a
 * text, but for words such as NA: beside other texts they are texts.
 */
#ifndef DROVE_TABLE_READ_H
#define DROVE_TABLE_READ_H

#include "table/amount.h"
#include "table/cell.h"
#include "table/content.h"
#include "table/detect.h"
#include "table/dictionary.h"
#include "table/frame.h"
#include "table/odd.h"
#include "table/raw.h"
#include "table/scan.h"

#include <string.h>

typedef enum drove_scan {
    DROVE_SCAN_SKIP,
    DROVE_SCAN_NUMBER,
    DROVE_SCAN_BOOLEAN,
    DROVE_SCAN_DATE,
    DROVE_SCAN_TEXT,
    DROVE_SCAN_WORDS,
    DROVE_SCAN_LABEL
} drove_scan;

typedef struct drove_scan_column {
    drove_scan         scan;
    drove_amount_style style;     /* NUMBER */
    drove_date_order   order;     /* DATE */
    bool               takes_ymd; /* DATE of further data: also with the year first */
    bool               is_wide;   /* NUMBER: read into wide[slot]; DATE: always */
    bool               is_done;   /* an earlier scan has read it */
    size_t             slot;
} drove_scan_column;

typedef struct drove_column_count { /* of one scan */
    uint64_t         n_missing;
    drove_odd        odd; /* cells that are no number, date or truth value: read as missing */
    uint64_t         n_infinite;     /* NUMBER: infinite, or beyond a float: read as missing */
    uint64_t         first_infinite; /* row of the first, from 0 */
    bool             has_time;
    bool             is_ordered; /* DATE: some cell has only one of DMY and MDY */
    drove_dictionary dictionary; /* TEXT */
} drove_column_count;

typedef struct drove_table_block {
    const char *start, *end; /* of a frame: NULL */
    uint64_t    first_row;
    uint32_t    n_rows, n_headers; /* lines that repeat the header are no rows */
    uint32_t   *word;              /* [n_words], from malloc */
    size_t      n_words, words_capacity;
} drove_table_block;

typedef struct drove_table {
    char               *path;    /* for messages */
    drove_frame        *frame;   /* NULL: a text; else there is no content, and: */
    drove_frame_column *as_text; /* [n_columns] typed columns that are read as text, once needed */
    drove_content       content;
    uint64_t            first_line; /* of the content in the file */
    drove_dialect       dialect;
    bool                has_header;
    const char         *header; /* [header_length] in the content; a record that is the same is no
                                   row; NULL: none */
    size_t              header_length;
    bool                has_tail;        /* an empty cell may stand behind the last column */
    char                shape_note[512]; /* remarks on what is left out, joined by "; " */
    size_t              n_columns;
    char              **name; /* [n_columns] */
    size_t              n_rows, n_blocks, n_headers;
    drove_table_block  *block;
    unsigned            n_threads;
    /* the caller sets: */
    drove_scan_column *column; /* [n_columns], at first SKIP */
    size_t             n_slots, n_labels;
    bool              *left_out; /* [n_rows] all cells of the row are missing and do not count;
                                    NULL: no row; malloc */
    /* drove__table_scan fills: */
    uint32_t           *raw;   /* [n_rows][n_slots], from drove__alloc */
    double            **wide;  /* [n_slots], each [n_rows], from malloc; NULL: in raw; the array
                                  NULL: all are */
    drove_cell         *label; /* [n_rows][n_labels]; a missing one has length 0; no blanks
                                   at its ends */
    drove_column_count *count; /* [n_columns] */
} drove_table;

/* path: also "memory:7", a frame.  written->piece: of the file, with its header.  first_names:
 * NULL, or names (of a label, of another table's columns); a first record that holds one of them
 * is a header.  The caller calls drove__table_fini even after a failure.  Errors: those of
 * drove__content_load, DROVE_E_DATA (no row, a line that is too long). */
drove_status drove__table_open(const char *path, const drove_content_options *written,
                               drove_header header, const char *const *first_names,
                               size_t n_first_names, drove_table *out);
void         drove__table_fini(drove_table *table);

/* Errors: DROVE_E_DATA (a record with more or fewer cells than columns, a broken quote: file, line,
 * row, column), DROVE_E_NOMEM. */
drove_status drove__table_scan(drove_table *table);

/* The next row: as drove__record_next, without lines that repeat the header. */
static inline bool drove__table_next(const drove_table *t, const char **at, const char *end,
                                     const char **start, const char **record_end)
{
    while (drove__record_next(&t->dialect, at, end, start, record_end)) {
        if (t->header == NULL || (size_t)(*record_end - *start) != t->header_length ||
            memcmp(*start, t->header, t->header_length) != 0)
            return true;
    }
    return false;
}

/* ---- shape.c: between the files of this folder ---- */

/* Leaves out titles and comments above the table: lines of one cell above records that all have the
 * same number of them. */
void drove__shape_skip_titles(drove_table *table);
/* Leaves out a line of dashes below the header, as psql and Markdown have it; *rows: behind the
 * header. */
void drove__shape_skip_rule(drove_table *table, const char **rows);
/* Leaves out lines of one cell with words at the end of the table; rows: its first row. */
void drove__shape_skip_footers(drove_table *table, const char *rows, bool is_piece);
/* Where the first rows have a cell more than the header: an empty one at their ends is left out,
 * names of rows at their starts get a column.  Where they have one less, the header's empty last
 * name is left out.  is_last_unnamed: the last column has no name.
 * Errors: DROVE_E_DATA (neither), DROVE_E_NOMEM. */
drove_status drove__shape_fit_header(drove_table *table, const char *rows, bool is_last_unnamed);
/* DROVE_E_DATA if the lines are one cell and another mark, as often in the first as in the second,
 * may separate more, with the key that names it. */
drove_status drove__shape_check_cells(const drove_table *table);
/* A remark on n lines that repeat the header. */
void drove__shape_note_headers(drove_table *table, uint64_t n);

/* The spec that leaves out a title or a comment at `at`, or else the first n_lines lines; returns
 * into. */
enum { DROVE_HINT_SIZE = 512 };
const char *drove__table_hint(const drove_table *table, const char *at, unsigned n_lines,
                              char into[DROVE_HINT_SIZE]);

/* Line of the file, from 1, of a place in the content. */
uint64_t drove__table_line(const drove_table *table, const char *at);

/* A NUMBER, BOOLEAN or DATE of a scanned table; NaN: missing. */
static inline double drove__table_value(const drove_table *table, size_t slot, size_t row)
{
    if (table->wide != NULL && table->wide[slot] != NULL) return table->wide[slot][row];
    return (double)drove__raw_float(table->raw[row * table->n_slots + slot]);
}

#endif
