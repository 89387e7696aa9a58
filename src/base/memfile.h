/* base/memfile.h - files in memory: what drove__reader_open reads, and drove__writer_create writes,
 * where a path is "memory:7" or "memory:7.ending" and there is one of that number. */
#ifndef DROVE_BASE_MEMFILE_H
#define DROVE_BASE_MEMFILE_H

#include "base/named.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct drove_memfile {
    drove_named_object named;
    const char        *bytes; /* [n_bytes]; NULL where n_bytes is 0 */
    size_t             n_bytes;
    char              *own; /* bytes, where they are ours; else NULL: borrowed */
} drove_memfile;

/* copies: else the bytes are borrowed until the last reference is gone.  The caller's reference is
 * released by drove__memfile_release.  Errors: DROVE_E_NOMEM. */
drove_status drove__memfile_create(const void *bytes, size_t n_bytes, bool copies,
                                   drove_memfile **out);
void         drove__memfile_release(drove_memfile *file); /* NULL accepted */
/* With one more reference; NULL: there is none. */
drove_memfile *drove__memfile_find(const char *path);
/* Takes bytes of malloc over.  Nobody may read the file meanwhile. */
void drove__memfile_replace(drove_memfile *file, char *bytes, size_t n_bytes);

#endif
