/* What several tests of base/ need.  Files are made in the current folder, which is the test's
 * own. */
#ifndef DROVE_TEST_BASE_SUPPORT_H
#define DROVE_TEST_BASE_SUPPORT_H

#include <stdint.h>

#include "base/status.h"
#include "support/test.h"

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        drove_status assert_ok_status_ = (call);                                                   \
        if (assert_ok_status_ != DROVE_OK) fail_msg("%s: %s", #call, drove_error_text());          \
    } while (0)

/* The call fails with this status and a text that contains part. */
#define assert_fails(call, status, part)                                                           \
    do {                                                                                           \
        drove_status assert_fails_status_ = (call);                                                \
        if (assert_fails_status_ != (status))                                                      \
            fail_msg("%s: expected %s, found %s", #call, drove_status_name(status),                \
                     drove_status_name(assert_fails_status_));                                     \
        assert_error_has(part);                                                                    \
    } while (0)

void assert_error_has(const char *part);

void write_bytes(const char *path, const void *bytes, size_t size_bytes);
/* Appends one gzip member to the file, which is emptied before if `first`. */
void write_gzip(const char *path, const void *bytes, size_t size_bytes, int first);
/* Whole file; free().  *size_bytes may be NULL. */
char *read_bytes(const char *path, size_t *size_bytes);
/* Files in the current folder whose name begins with prefix. */
unsigned count_files(const char *prefix);

/* Pearson's statistic of n_cells counts that should be equal, in standard deviations from its mean:
 * below 5 unless the counts are not uniform (or the seed is a very unlucky one, but seeds are
 * fixed). */
double chi_square_deviation(const unsigned *count, unsigned n_cells);

#endif
