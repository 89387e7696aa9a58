/* base/hash.h - a 64-bit hash of few bytes, such as the name of a cached file; not cryptographic.
 * What files hold is checked by base/checksum.h. */
#ifndef DROVE_BASE_HASH_H
#define DROVE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hashes bytes[size_bytes], starting from `hash`: 0, or the hash of the bytes before.  A change
 * within one of the 64-bit words always changes the hash; any other change is missed about once in
 * 2^64.  The same on every machine; names of files hold it, so it never changes. */
uint64_t drove__hash(uint64_t hash, const void *bytes, size_t size_bytes);

#endif
