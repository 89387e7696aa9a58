/* What the tests of trace/ need.  Files are made in the current folder, which is the test's own. */
#ifndef DROVE_TEST_TRACE_SUPPORT_H
#define DROVE_TEST_TRACE_SUPPORT_H

#include <stdint.h>

#include "base/status.h"
#include "support/test.h"

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        drove_status assert_ok_status_ = (call);                                                   \
        if (assert_ok_status_ != DROVE_OK) fail_msg("%s: %s", #call, drove_error_text());          \
    } while (0)

void write_text(const char *path, const char *text);
/* Whole file with a NUL after it; free(). */
char *read_file(const char *path, size_t *size_bytes);
/* No file may grow beyond size_bytes from here on, as on a disk that is full; 0: no limit. */
void limit_files(size_t size_bytes);

#endif
