/* table/schema.h - what is known of a table: its columns, and the features made of them.
 *
 * The schema of the training data stands in the model file; further data are matched with it by the
 * names of the columns (table/read.h) and encoded as it says (table/encode.c).  Immutable once it
 * is attached to a storage; reference counted.
 *
 * Features of a column, in the order of the columns:
 *   number    the number; missing: the median.  With bins one more for each: 0 below it, 1 above,
 *             and linear in between (Gorishniy, Rubachev, Babenko, NeurIPS 2022, section 3.2).
 *             With levels, of a column that is also a category, one for each of its values
 *   boolean   1 or 0; missing: the more frequent
 *   date      days since 1970, year, and month, day, weekday, with a time also hour, each as
 *             sine and cosine of its cycle; missing: the median
 *   category  one for each value: 1 for that value, else 0; missing: all 0
 *   hashed    a category of many values: n_hash features, 1 at the text's hash modulo n_hash
 *   text      n_hash features, 1 at the hash of each word modulo n_hash
 * and, where the training column had missing cells, one that is 1 if the cell is missing (not for
 * text).  A value that a category does not have counts as missing.
 */
#ifndef DROVE_TABLE_SCHEMA_H
#define DROVE_TABLE_SCHEMA_H

#include "base/status.h"
#include "table/amount.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum drove_column_type {
    DROVE_COLUMN_NUMBER,
    DROVE_COLUMN_BOOLEAN,
    DROVE_COLUMN_DATE,
    DROVE_COLUMN_CATEGORY,
    DROVE_COLUMN_HASHED,
    DROVE_COLUMN_TEXT,
    DROVE_COLUMN_LABEL,
    DROVE_COLUMN_WEIGHT, /* of the rows, a number */
    DROVE_COLUMN_GROUP,  /* of the rows, which stay together (?split=group:) */
    /* left out: */
    DROVE_COLUMN_ID,
    DROVE_COLUMN_CONSTANT,
    DROVE_COLUMN_FREE_TEXT,
    DROVE_COLUMN_IGNORED,
    DROVE_N_COLUMN_TYPES
} drove_column_type;

enum {
    DROVE_EXAMPLES_SIZE = 64,
    DROVE_BINS_MOST = 256,
    DROVE_BOTH_LEAST = 3, /* values of a number that may be a category as well, */
    DROVE_BOTH_MOST = 64,
    DROVE_BOTH_ROWS = 5 /* each in so many rows */
};

/* Of a number. */
typedef struct drove_bins {
    size_t  n;    /* 0: none                            */
    double *edge; /* [n + 1] ascending; NULL: none      */
} drove_bins;

/* Values of a number that is also a category. */
typedef struct drove_levels {
    size_t  n;     /* 0: it is not                                                */
    double *value; /* [n] ascending, as numbers are read: floats unless is_wide   */
    /* for people, of training data: rows of the rarest of few whole numbers, else 0 */
    uint64_t n_rarest;
} drove_levels;

typedef struct drove_column {
    char             *name;
    drove_column_type type;
    bool              has_missing; /* one more feature, the last: the cell is missing        */
    bool              has_time;    /* of a date                                              */
    drove_date_order  order;       /* of a date: how it is written                           */
    drove_unit        unit;        /* of a number: how it is written                         */
    bool              has_comma;   /* of a number: its decimal sign; says how "1,234" is read  */
    bool              is_wide;     /* of a number: it is centred before a float is made of it   */
    double            fill;        /* number, boolean, date in seconds: for a missing cell       */
    /* number, date in days: subtracted in double.  In a dense schema 0, unless a float would lose
     * the digits in which the numbers differ (base/digits.h). */
    double       centre;
    drove_bins   bins;
    drove_levels levels;
    size_t       n_values; /* category                                               */
    char       **value;    /* [n_values] ascending by bytes                          */
    uint32_t    *hash;     /* [n_values] drove__text_hash of each                    */
    uint32_t     n_hash;   /* hashed, text: a power of two                           */
    size_t       first_feature, n_features; /* set by drove__schema_finish           */
    /* for people; of the training data, not in the model file */
    uint64_t n_missing, n_distinct;
    uint64_t n_infinite;        /* number: of the missing, infinite or beyond a float */
    bool     is_distinct_least; /* n_distinct or more */
    bool     is_whole;          /* number, id, category: those of the sample are integers */
    char     examples[DROVE_EXAMPLES_SIZE];
} drove_column;

typedef struct drove_schema {
    bool          has_header; /* else the names are column1, column2 ... */
    bool          is_sparse;
    size_t        n_columns, n_features;
    drove_column *column;  /* [n_columns] in the order of the training file */
    uint64_t      n_rows;  /* for people, as above */
    atomic_uint   n_users; /* reference count */
} drove_schema;

/* n_columns zeroed columns, one reference.  Errors: DROVE_E_NOMEM. */
drove_status  drove__schema_create(size_t n_columns, drove_schema **out);
drove_schema *drove__schema_retain(drove_schema *schema);  /* NULL accepted */
void          drove__schema_release(drove_schema *schema); /* NULL accepted */

/* Numbers the features.  Errors: DROVE_E_DATA (no feature, too many of them). */
drove_status drove__schema_finish(drove_schema *schema);

/* "number", "boolean" ...; and back: false for an unknown word. */
const char *drove__column_type_name(drove_column_type type);
bool        drove__column_type_find(const char *word, drove_column_type *out);
bool        drove__column_is_used(const drove_column *column); /* has features */

/* How the cells of a column are written, where that is not the usual way: "%", "$", "dmy"; NULL. */
const char *drove__column_notation(const drove_column *column);
/* "dmy", "mdy".  false: an unknown word. */
bool drove__date_order_find(const char *word, drove_date_order *out);

/* Whether a column of whole numbers has so few values, each in so many rows, that it may be a
 * category as well (?also=).  Of training data. */
bool drove__column_may_be_both(const drove_column *column);
/* These columns as the value of ?also= ("A+B") into text[size]; false: none, or they do not fit. */
bool drove__schema_list_both(const drove_schema *schema, char *text, size_t size);

/* Subtracted from the year of a date. */
double drove__year_centre(const drove_column *column);
/* Whether a feature is 0 or 1 and is not to be scaled. */
bool drove__schema_is_binary(const drove_schema *schema, size_t feature);

/* Whether both give the same features to every row. */
bool drove__schema_equal(const drove_schema *a, const drove_schema *b);

/* ---- schema_json.c: one line of JSON with a version, for the model file ---- */

/* *out from malloc.  Errors: DROVE_E_NOMEM. */
drove_status drove__schema_to_json(const drove_schema *schema, char **out);
/* Errors: DROVE_E_DATA (what was expected), DROVE_E_NOMEM. */
drove_status drove__schema_from_json(const char *text, drove_schema **out);

/* An array of {name, type, as, distinct, missing, features, levels}, for people's programs;
 * distinct null: not counted.  *out from malloc.  Errors: DROVE_E_NOMEM. */
drove_status drove__schema_columns_json(const drove_schema *schema, char **out);

/* ---- schema_print.c ---- */

/* The whole table for people: column, type, distinct, missing, features, examples. */
void drove__schema_print(const drove_schema *schema, FILE *stream);
/* Line `line` of a short description into text[size]; false: there are no more than `line`. */
enum { DROVE_SUMMARY_LINES_MOST = DROVE_N_COLUMN_TYPES };
bool drove__schema_summary(const drove_schema *schema, unsigned line, char *text, size_t size);

#endif
