/* base/available.h - memory and processors that this process may take: those of the machine, and
 * what its control groups (base/group.h) leave of them. */
#ifndef DROVE_BASE_AVAILABLE_H
#define DROVE_BASE_AVAILABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that may still be taken: the system's estimate, capped by the control groups.  If neither
 * is known, the machine's memory; 0: not even that. */
uint64_t drove__memory_available(void);

/* Bytes that could be taken if nobody else took any; 0: not known. */
uint64_t drove__memory_most(void);

/* Processors that this process may run on, at least 1; takes no memory. */
unsigned drove__processors_allowed(void);

/* The same, capped by the control groups' quota, rounded up; at least 1. */
unsigned drove__processors_available(void);

/* For those who know by errno alone that a library found no memory: the C library leaves ENOMEM
 * behind also where it found some in another way.  Whether there is memory now for parsing a text
 * of so many bytes.  Any thread. */
bool drove__memory_is_there(size_t size_bytes);

#endif
