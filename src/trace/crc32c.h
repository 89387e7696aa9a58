/* trace/crc32c.h - CRC-32C (Castagnoli): polynomial 0x1EDC6F41, bits reflected, start and end
 * inverted. */
#ifndef DROVE_TRACE_CRC32C_H
#define DROVE_TRACE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t drove__crc32c(const void *bytes, size_t size_bytes);

#endif
