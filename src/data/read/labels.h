/* data/read/labels.h - collects the labels of a file as texts, and turns them into classes, values
 * or label lists once all of them are known.
 *
 * The rule, if the spec has no ?target=class, value or labels:
 *   - a row with two labels or more makes the whole file multi-label;
 *   - else a label that is not a number makes all of them classes;
 *   - else labels that are not all whole numbers are values;
 *   - else whole numbers are classes if there are at most 20 different ones, or if each occurs at
 *     least 3 times; otherwise they are values (an age, a count);
 *   - of a table, they are classes if there are at most 10; at most 20, each at least 3 times; or
 *     more that count up from 0 or 1, the most frequent at most twice as often as the rarest.
 * Classes that are numbers are ordered by their value, else by their bytes.  "+1", "1" and "1.0"
 * are one class.
 */
#ifndef DROVE_DATA_READ_LABELS_H
#define DROVE_DATA_READ_LABELS_H

#include "base/spec_keys.h"
#include "data/data.h"
#include "data/read/text.h"

typedef enum drove_label_target {
    DROVE_TARGET_AUTO,
    DROVE_TARGET_CLASS,
    DROVE_TARGET_VALUE,
    DROVE_TARGET_LABELS,
    DROVE_TARGET_UNSAID /* as AUTO, and not asked for */
} drove_label_target;

typedef struct drove_label_options {
    drove_label_target target;
    uint64_t           n_classes; /* 0: not given; else labels are 0 .. n_classes - 1 */
    bool               of_table;
} drove_label_options;
extern const drove_spec_key drove__label_keys[];

typedef struct drove_labels drove_labels; /* for one reader and one thread */

drove_status drove__labels_create(drove_labels **out);
void         drove__labels_destroy(drove_labels *labels); /* may be NULL */

/* Adds a label to the current row.  line: position for errors; NULL for binary files.  Errors:
 * DROVE_E_DATA (repeated in this row; not finite; a word without words_allowed), DROVE_E_NOMEM. */
drove_status drove__labels_add(drove_labels *labels, const drove_line *line, const char *text,
                               size_t length, bool words_allowed);
drove_status drove__labels_add_number(drove_labels *labels, double number);
/* The labels are names of classes, whatever they look like, unless the spec says otherwise. */
void         drove__labels_are_names(drove_labels *labels);
drove_status drove__labels_end_row(drove_labels *labels, const drove_line *line);

/* Fills y_kind, y_class or y_value or label_start and label, n_classes and class_name of a storage;
 * its n_rows is the number of finished rows.  where: file name.  Errors: DROVE_E_ARG, DROVE_E_DATA
 * (labels that the target does not allow), DROVE_E_NOMEM. */
drove_status drove__labels_finish(drove_labels *labels, const drove_label_options *opt,
                                  const char *where, drove_storage *storage);

/* Numeric value of a label, the nearest double. */
bool drove__label_number(const char *text, size_t length, double *out);

#endif
