/* base/hash.h - a 64-bit hash that detects damaged bytes; not cryptographic.  rows:FILE and
 * quant:FILE of version 1 have it, and the names of cached files; all else has that of
 * base/checksum.h. */
#ifndef DROVE_BASE_HASH_H
#define DROVE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Hashes bytes[size_bytes], starting from `hash`: 0, or the hash of the bytes before.  A change
 * within one of the 64-bit words always changes the hash; any other change is missed about once in
 * 2^64.  The same on every machine; it is stored in files, so it never changes. */
uint64_t drove__hash(uint64_t hash, const void *bytes, size_t size_bytes);

/* The same of bytes that come one part after the other, each but the last a multiple of 32 long. */
typedef struct drove_hashing {
    uint64_t hash, size_bytes, lane[4];
} drove_hashing;
void     drove__hash_begin(drove_hashing *h, uint64_t hash);
void     drove__hash_add(drove_hashing *h, const void *bytes, size_t size_bytes);
uint64_t drove__hash_end(const drove_hashing *h);

#endif
