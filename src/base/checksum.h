/* base/checksum.h - XXH3 of 64 bits, by libxxhash: a checksum that detects damaged bytes; not
 * cryptographic.  Any change of some bits is missed about once in 2^64. */
#ifndef DROVE_BASE_CHECKSUM_H
#define DROVE_BASE_CHECKSUM_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { DROVE_CHECKSUM_TEXT_SIZE = 17 }; /* 16 hexadecimal digits */

/* Of bytes[size_bytes].  The same on every machine. */
uint64_t drove__checksum(const void *bytes, size_t size_bytes);

/* The same of bytes that come piece by piece; one thread each. */
typedef struct drove_checksum drove_checksum;
/* Errors: DROVE_E_NOMEM. */
drove_status drove__checksum_begin(drove_checksum **out);
void         drove__checksum_reset(drove_checksum *sum);
void         drove__checksum_add(drove_checksum *sum, const void *bytes, size_t size_bytes);
uint64_t     drove__checksum_value(const drove_checksum *sum);
void         drove__checksum_end(drove_checksum *sum); /* may be NULL */

/* As it stands in files. */
void drove__checksum_print(uint64_t value, char text[DROVE_CHECKSUM_TEXT_SIZE]);

#endif
