/* base/tar.h - reads tar archives member by member.
 *
 * Formats: POSIX.1-1988 (ustar), POSIX.1-2001 (pax: path and size), GNU (long names, sizes in base
 * 256), and the old one without a magic.  An archive may be compressed like any other file.
 */
#ifndef DROVE_BASE_TAR_H
#define DROVE_BASE_TAR_H

#include "base/file.h"
#include "base/status.h"

typedef struct drove_tar drove_tar; /* for one thread */

typedef struct drove_tar_member { /* a regular file */
    const char *name;             /* valid until the next call */
    uint64_t    size_bytes;
    uint64_t    offset; /* of its content in the archive's content */
} drove_tar_member;

drove_status drove__tar_open(const char *path, drove_tar **out);
void         drove__tar_close(drove_tar *tar); /* may be NULL */

/* Goes to the next regular file; *found is false at the end of the archive.  Folders, links and
 * devices are left out.  Errors: DROVE_E_DATA (not a tar archive, damaged, truncated),
 * DROVE_E_UNSUPPORTED (sparse files), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__tar_next(drove_tar *tar, drove_tar_member *out, bool *found);

/* The content of the current member, at most most_bytes, from malloc with a NUL behind it.
 * Errors: also DROVE_E_DATA (more than most_bytes). */
drove_status drove__tar_load(drove_tar *tar, size_t most_bytes, char **out, size_t *size_bytes);

#endif
