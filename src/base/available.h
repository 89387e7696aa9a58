/* base/available.h - memory that this process may still take. */
#ifndef DROVE_BASE_AVAILABLE_H
#define DROVE_BASE_AVAILABLE_H

#include <stdint.h>

/* Bytes: what the system calls available, at most what the process's control group leaves; where
 * neither is known, the machine's memory; 0: not even that. */
uint64_t drove__memory_available(void);

#endif
