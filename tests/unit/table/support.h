/* tests/unit/table/support.h - small files, read as tables. */
#ifndef DROVE_TEST_TABLE_SUPPORT_H
#define DROVE_TEST_TABLE_SUPPORT_H

#include "table/table.h"
#include "support/files.h"
#include "support/status.h"

#include <stdint.h>

/* Options of a file with this label; NULL: the last column. */
drove_table_options options_of(const char *path, const char *label);

/* Learns, and fails the test unless that works. */
void learn(const drove_table_options *opt, drove_known_table *out);

/* Learning must fail with this status, and the error, of one line, must contain each of the words
 * (NULL-terminated). */
void expect_refusal(const drove_table_options *opt, drove_status status, ...)
    __attribute__((sentinel));

/* The column of this name; there must be one. */
const drove_column *column_of(const drove_known_table *known, const char *name);

/* What a feature of the columns means: "sex=man", "age missing", "born year". */
enum { FEATURE_NAME_SIZE = 160 };
void name_feature(const drove_schema *schema, size_t feature, char name[FEATURE_NAME_SIZE]);

/* The feature of this name in x[n_features]; there must be one. */
float feature_of(const drove_known_table *known, const float *x, const char *name);

#endif
