/* base/cache_folder.h - drove's folder in the user's cache: files that may be deleted at any time.
 */
#ifndef DROVE_BASE_CACHE_FOLDER_H
#define DROVE_BASE_CACHE_FOLDER_H

#include "base/file.h"

#include <limits.h>
#include <stdint.h>

typedef struct drove_cached {
    char     path[PATH_MAX];
    uint64_t n_bytes; /* on the disk */
    int64_t  used_s;  /* seconds since 1970 of its last use, as far as the file system knows */
} drove_cached;

/* All files of the cache, those that were used longest ago first; the caller frees *out.  Errors:
 * DROVE_E_FILE (there is no such folder), DROVE_E_IO, DROVE_E_NOMEM. */
drove_status drove__cache_list(drove_cached **out, size_t *n_out);

/* Before a file of n_bytes is written there: is there room for it?  The cache takes at most
 * DROVE_CACHE_LIMIT bytes and leaves a twentieth of the disk's free space; files of rows that were
 * used longest ago are removed for it.  *n_removed: bytes.  Errors: DROVE_E_IO,
 * DROVE_E_ARG (DROVE_CACHE_LIMIT), DROVE_E_NOMEM. */
drove_status drove__cache_room(uint64_t n_bytes, uint64_t *n_removed);

#endif
