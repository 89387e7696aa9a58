/* trace/append.h - a file that grows by whole records; used inside trace/ only. */
#ifndef DROVE_TRACE_APPEND_H
#define DROVE_TRACE_APPEND_H

#include "base/status.h"

#include <stddef.h>

typedef struct drove_append {
    int   fd;   /* -1: not open               */
    char *path; /* for error texts; own copy  */
} drove_append;

/* flags: of open(2), besides O_WRONLY, O_APPEND and O_CLOEXEC.  Errors: DROVE_E_IO,
 * DROVE_E_NOMEM. */
drove_status drove__append_open(drove_append *a, const char *path, int flags);
void         drove__append_close(drove_append *a);

/* Appends the whole record, in as few system calls as possible, or nothing: what a full disk cuts
 * off is removed again.  Another process sees the file end between two records.  Errors:
 * DROVE_E_IO. */
drove_status drove__append_write(drove_append *a, const void *record, size_t size_bytes);

/* All records are on the disk.  Errors: DROVE_E_IO. */
drove_status drove__append_sync(const drove_append *a);

#endif
