/* base/available.h - memory that this process may still take. */
#ifndef DROVE_BASE_AVAILABLE_H
#define DROVE_BASE_AVAILABLE_H

#include <stdint.h>

/* Bytes: the system's estimate, capped by what this process's control group leaves.  If neither is
 * known, the machine's memory; 0: not even that. */
uint64_t drove__memory_available(void);

/* Bytes that the control group (version 2) with its files in this folder leaves; file pages count
 * as free.  UINT64_MAX: it has no limit, or the folder is no group's. */
uint64_t drove__memory_left_by_group(const char *folder);

#endif
