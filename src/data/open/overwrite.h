/* data/open/overwrite.h - refuses an output that would replace an input. */
#ifndef DROVE_DATA_OPEN_OVERWRITE_H
#define DROVE_DATA_OPEN_OVERWRITE_H

#include "base/status.h"

/* Is the file `out` the input `path`, by whatever name (device and inode)?  what: the flag, for the
 * error.  A file that is none yet, a device and a pipe replace nothing.  Errors: DROVE_E_EXISTS. */
drove_status drove__overwrite_check(const char *what, const char *out, const char *path);
/* The same with all files that a data set's spec names.  Errors: also those of a spec. */
drove_status drove__overwrite_check_data(const char *what, const char *out, const char *spec);

#endif
