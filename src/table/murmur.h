/* table/murmur.h - MurmurHash3, x86, 32 bits: the hash of feature hashing.
 *
 * Source: Austin Appleby, SMHasher (public domain), MurmurHash3_x86_32.  The same on every machine;
 * model files depend on it, so it never changes.
 */
#ifndef DROVE_TABLE_MURMUR_H
#define DROVE_TABLE_MURMUR_H

#include <stddef.h>
#include <stdint.h>

uint32_t drove__murmur32(const void *bytes, size_t size_bytes, uint32_t seed);

#endif
