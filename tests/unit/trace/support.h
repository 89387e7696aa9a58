/* What the tests of trace/ need.  Files are made in the current folder, which is the test's own. */
#ifndef DROVE_TEST_TRACE_SUPPORT_H
#define DROVE_TEST_TRACE_SUPPORT_H

#include <stdint.h>

#include "support/files.h"
#include "support/status.h"

/* No file may grow beyond size_bytes from here on, as on a disk that is full; 0: no limit. */
void limit_files(size_t size_bytes);

#endif
