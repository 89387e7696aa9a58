/* base/available.h - memory that this process may still take. */
#ifndef DROVE_BASE_AVAILABLE_H
#define DROVE_BASE_AVAILABLE_H

#include <stdint.h>

/* Bytes: what the system calls available, at most what the process's control group leaves; where
 * neither is known, the machine's memory; 0: not even that. */
uint64_t drove__memory_available(void);

/* Bytes that the control group (version 2) whose files are in this folder leaves, pages of files
 * counted as free; UINT64_MAX: it has no limit, or is none. */
uint64_t drove__memory_left_by_group(const char *folder);

#endif
