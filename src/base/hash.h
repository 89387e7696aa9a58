/* base/hash.h - a fast 64-bit hash that tells damaged bytes from good ones; no protection. */
#ifndef DROVE_BASE_HASH_H
#define DROVE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Of `hash` (0, or that of what comes before) and bytes[size_bytes].  A change within one of
 * the 64-bit words always gives another hash; any other change does but for about one in 2^64.  The
 * same on every machine; it stands in files, so it never changes. */
uint64_t drove__hash(uint64_t hash, const void *bytes, size_t size_bytes);

#endif
