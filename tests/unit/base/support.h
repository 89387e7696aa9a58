/* What several tests of base/ need.  Files are made in the current folder, which is the test's
 * own. */
#ifndef DROVE_TEST_BASE_SUPPORT_H
#define DROVE_TEST_BASE_SUPPORT_H

#include <stdint.h>

#include "support/files.h"
#include "support/status.h"

/* Appends one gzip member to the file, which is emptied before if `first`. */
void write_gzip(const char *path, const void *bytes, size_t size_bytes, int first);
/* Files in the current folder whose name begins with prefix. */
unsigned count_files(const char *prefix);

/* Pearson's statistic of n_cells counts that should be equal, in standard deviations from its mean:
 * below 5 unless the counts are not uniform (or the seed is a very unlucky one, but seeds are
 * fixed). */
double chi_square_deviation(const unsigned *count, unsigned n_cells);

#endif
