/* trained.h - models for tests of exports, and what drove itself predicts with them. */
#ifndef DROVE_TEST_EXPORT_TRAINED_H
#define DROVE_TEST_EXPORT_TRAINED_H

#include <drove/drove.h>

#include <stddef.h>

/* Trains a few updates with one thread into the folder `out`; more: names and values of options,
 * NULL at the end. */
void train_into(const char *out, const char *data, const char *model, ...)
    __attribute__((sentinel));

/* A table with a column of each kind, "y" and "kind" among them, as a file; missing and unseen
 * cells are in every tenth row.  Text is a cell each, rows first, for as long as the test lives. */
enum { MIXED_ROWS = 120, MIXED_COLUMNS = 8 };
extern const char *const mixed_name[MIXED_COLUMNS];
extern char              mixed_cell[MIXED_ROWS][MIXED_COLUMNS][32];
void                     write_mixed(const char *path);

/* Days since 1970-01-01 of "YYYY-MM-DD" or "YYYY-MM-DD HH:MM:SS"; NaN: neither. */
double days_of(const char *cell);

#endif
