/* data/export.h - functions shared by the writers of all formats. */
#ifndef DROVE_DATA_EXPORT_H
#define DROVE_DATA_EXPORT_H

#include "base/file.h"
#include "base/spec_keys.h"
#include "data/data.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct drove_export_options {
    bool scaled; /* values as a model sees them */
} drove_export_options;
extern const drove_spec_key drove__export_keys[];

/* Refuses target files that exist (DROVE_E_EXISTS) or end in .gz (DROVE_E_UNSUPPORTED: nothing is
 * compressed), and reads ?scaled=0|1. */
drove_status drove__export_begin(const drove_spec *to, bool *scaled);

/* Row i of the view as n_features floats; scaled: as a model sees it. */
void drove__export_row(const drove_data *data, size_t i, bool scaled, float *into);
/* Writes the rows of data whose numbers are bytes as they are: n bytes each.  Errors: the writer's.
 */
drove_status drove__export_bytes(const drove_data *data, size_t n, drove_writer *to);

/* Refuses data with origins (data/origin.h), which this format cannot hold: DROVE_E_UNSUPPORTED,
 * DROVE_E_NOMEM. */
drove_status drove__export_check_origin(const drove_data *data, const char *format);

/* The shortest decimal that reads back as the same float; with an origin other than 0, 15 digits of
 * the sum.  A point in every locale. */
void drove__export_number(FILE *stream, float value, double origin);

/* Whether there are class names and all of them are numbers: numeric formats then hold the names,
 * otherwise the class numbers from 0 on. */
bool drove__export_names_are_numbers(const drove_storage *storage);

#endif
