/* table/table.h - a table as a person has it: understood, or matched with a schema, and encoded.
 *
 *   learn   types of the columns from a sample, confirmed over the whole file; the schema (infer.c)
 *   match   columns of a further file by their names, as the schema of a model says (match.c)
 *   encode  rows -> features (encode.c)
 *
 * How types are inferred: docs/use/tables.md.
 */
#ifndef DROVE_TABLE_TABLE_H
#define DROVE_TABLE_TABLE_H

#include "table/read.h"
#include "table/schema.h"

enum {
    DROVE_ONEHOT_DEFAULT = 1024,
    DROVE_HASH_DEFAULT = 1024,        /* of a category */
    DROVE_HASH_WORDS_DEFAULT = 16384, /* of a text */
    DROVE_TABLE_NOTES_SIZE = 2048,
    DROVE_LONG_NUMBERS = 32,
    DROVE_RICH_LEAST = 11 /* different numbers of a column in which a word counts as missing */
};

/* Lists are names or numbers from 1, joined by '+' or ','; NULL: not given. */
typedef struct drove_table_options {
    const char           *path;
    drove_content_options written; /* piece: its header included */
    drove_header          header;
    const char *label;   /* also last, first, none; NULL: last; to match: those of the schema */
    const char *weights; /* also none; NULL: none; to match: that of the schema */
    const char *group;   /* column of which rows of one value stay together; NULL: none */
    const char *ignore;  /* columns to leave out */
    const char *columns; /* columns to use, and no others */
    const char *types;   /* "age:number+zip:category+born:dmy" */
    const char *text;    /* columns whose words are hashed */
    const char *also;    /* columns of numbers that are categories as well */
    uint64_t    onehot;  /* most values of a category that is not hashed */
    uint64_t    hash;    /* features of a hashed column: a power of two; 0: the defaults above */
    uint64_t    bins;    /* most bins of a column of numbers; 0: none */
    bool        has_classes; /* the label holds classes, whatever its cells look like */
} drove_table_options;

typedef struct drove_known_table {
    drove_table   table;
    drove_schema *schema; /* one reference */
    size_t       *source; /* [schema->n_columns] column of the table, or SIZE_MAX: not needed */
    size_t        n_labels;
    size_t       *label;            /* [n_labels] columns of the table */
    size_t        weight;           /* column of the table, or SIZE_MAX: rows have no weights */
    size_t        group;            /* the same of their groups, scanned in some way */
    drove_amount_style label_style; /* of a single label that is a number */
    bool               label_is_number;
    bool               drops_words;                   /* labels that are no numbers are missing */
    char               notes[DROVE_TABLE_NOTES_SIZE]; /* remarks, joined by "; " */
} drove_known_table;

/* The caller calls drove__known_table_fini even after a failure.  Errors: those of
 * drove__table_open and drove__table_scan, DROVE_E_ARG (an option names no column or type; the
 * nearest one). */
drove_status drove__table_learn(const drove_table_options *opt, drove_known_table *out);

/* Without use_labels the file needs no label column and no weights.  Of the options only path,
 * written and header count, and label and weights if they are given.  Errors: also
 * DROVE_E_SHAPE (columns of the schema that the file does not have). */
drove_status drove__table_match(const drove_table_options *opt, drove_schema *schema,
                                bool use_labels, drove_known_table *out);
void         drove__known_table_fini(drove_known_table *known);

/* How cells of a column of this type are read; those without features are skipped. */
drove_scan drove__scan_of(drove_column_type type);

typedef struct drove_encoded { /* dense: x; sparse: the others (as in data/data.h) */
    float    *x; /* [n_rows][n_features], from drove__alloc; may be the table's raw, taken over */
    uint64_t *row_start; /* malloc */
    uint32_t *index;
    float    *value;
} drove_encoded;

/* Encodes the rows with keep[row] (NULL: all), n_kept of them.  Errors: DROVE_E_NOMEM. */
drove_status drove__table_encode(drove_known_table *known, const bool *keep, size_t n_kept,
                                 drove_encoded *out);

/* ---- between the files of this folder ---- */

/* The column that a word of the option `key` names.  Errors: DROVE_E_ARG, with the nearest. */
drove_status drove__table_find(const drove_table *t, const char *key, const char *word,
                               size_t length, size_t *out);

/* Length of the first name of a list, which ends before one of `stops` or with the list: of the
 * columns' names the longest, which may itself hold such characters. */
size_t drove__table_word(const drove_table *t, const char *list, const char *stops);

/* Calls each(context, column) for the columns of a list. */
typedef drove_status drove_each_column(void *context, size_t column);
drove_status         drove__table_list(const drove_table *t, const char *key, const char *list,
                                       drove_each_column *each, void *context);

/* ---- label.c ---- */

/* Refuses a column whose name another column has, too: it is called y, the other one y.2.  Errors:
 * DROVE_E_ARG. */
drove_status drove__label_check_name(const drove_table *t, size_t column);
/* Whether the single label is a category by the type of its column, whatever its cells look
 * like. */
bool drove__known_label_is_category(const drove_known_table *known);
/* Whether every label of a scanned row is there. */
bool drove__known_has_label(const drove_known_table *known, size_t row);
/* Decides, of a scanned table with a single label, whether words among numbers are missing labels,
 * and says so.  is_value: they are, whatever the cells look like. */
void drove__known_settle_label(drove_known_table *known, bool is_value);
/* Marks the rows without a label in table.left_out, if any row has one.  Errors: DROVE_E_NOMEM. */
drove_status drove__known_leave_out(drove_known_table *known, size_t *n_kept);

/* Appends a remark; drops what does not fit. */
void drove__known_note(drove_known_table *known, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* How many cells of a column of numbers were infinite, if any. */
void drove__known_note_infinite(drove_known_table *known, const char *name,
                                const drove_column_count *count);
/* What was found out of the file itself: separator, header, encoding. */
void drove__known_note_file(drove_known_table *known, bool is_auto_separator);

/* What the cells of a column look like in some of the first and of later rows. */
typedef struct drove_sample {
    size_t       n_present, n_missing;  /* words such as "unknown" are neither               */
    size_t       n_form[DROVE_N_FORMS]; /* numbers in each form, with the unit `unit`        */
    drove_digits digits[DROVE_N_FORMS]; /* of these                                          */
    drove_unit   unit;                  /* of the first number                               */
    bool         has_word;              /* it is a word that may be anything, also a date    */
    size_t       n_integer, n_padded;   /* integers; numbers with leading zeros: 007, 007.1  */
    size_t       shortest, longest;     /* number, in bytes                                  */
    bool         has_equals; /* different integers, beyond 2^53, are one double: they are names */
    /* the last of more than 15 digits, and the hashes of their texts (0: there is none) */
    double   long_number[DROVE_LONG_NUMBERS];
    uint32_t long_hash[DROVE_LONG_NUMBERS];
    size_t   n_date[DROVE_N_DATE_ORDERS]; /* in each order */
    bool     has_slash;                   /* a date with a slash */
    size_t   n_clock;                     /* times of day and durations */
    size_t   n_odd;                       /* none of these; of the first such cell: */
    uint32_t odd_hash;
    bool     has_odds;                /* there are different ones */
    size_t   n_with_digits;           /* cells in which there is a digit */
    double   value[DROVE_RICH_LEAST]; /* different numbers, */
    size_t   n_values;                /* DROVE_RICH_LEAST: or more */
    size_t   n_words;
    char     examples[DROVE_EXAMPLES_SIZE];
} drove_sample;

/* sample[n_columns], of the rows that have cells in these columns (labels), if any row has.
 * *has_comma: most numbers with a fraction have a decimal comma. */
void drove__table_sample(const drove_table *t, const size_t *label, size_t n_labels,
                         drove_sample *sample, bool *has_comma);
/* Whether nearly all cells are n of one kind: numbers, or dates; or all but those of one word. */
bool drove__sample_is_nearly(const drove_sample *sample, size_t n);
/* The unit, and the form in which most cells are numbers; of equal ones the likelier. */
drove_amount_style drove__sample_style(const drove_sample *sample, char separator, bool has_comma);

/* Numbers of the slots of a scanned table: stats[n_slots]. */
typedef struct drove_slot_stats {
    double sum;
    double least, most;    /* of floats: of the first DROVE_DISTINCT_MOST values */
    bool   is_rounded;     /* of doubles: some float is not the number itself    */
    size_t n;              /* not missing */
    size_t n_distinct;     /* at most DROVE_DISTINCT_MOST, which means more */
    bool   is_consecutive; /* each one more than the one before */
} drove_slot_stats;
enum { DROVE_DISTINCT_MOST = 1000 };
drove_status drove__table_stats(const drove_table *t, drove_slot_stats *stats);
/* Median of a slot of numbers or dates, missing ones left out; 0 without any. */
drove_status drove__table_median(const drove_table *t, const drove_scan_column *column,
                                 double *out);
/* The different ones among the n_bins + 1 quantiles of a slot of numbers, the least and the largest
 * value included: edge[*n_out], from malloc; n_bins > 0. */
drove_status drove__table_quantiles(const drove_table *t, const drove_scan_column *column,
                                    size_t n_bins, double **edge, size_t *n_out);
/* The different numbers of a column, ascending, and how many rows have each: (*level)[*n_out] and
 * (*n_rows)[*n_out], from malloc; as floats unless is_wide.  More than `most` of them: *n_out is
 * most + 1, and both are NULL.  Errors: DROVE_E_NOMEM. */
drove_status drove__table_levels(const drove_table *t, const drove_scan_column *column,
                                 bool is_wide, size_t most, double **level, uint64_t **n_rows,
                                 size_t *n_out);
/* Different values of a slot of texts. */
drove_status drove__table_count_distinct(const drove_table *t, size_t slot, uint64_t *out);

#endif
