/* trace/crc32c.c - CRC-32C bit by bit: an event record is short and rare, so a table would cost
 * more than it saves. */
#include "trace/crc32c.h"

uint32_t drove__crc32c(const void *bytes, size_t size_bytes)
{
    const uint32_t polynomial = 0x82f63b78u; /* 0x1EDC6F41, bits reflected */
    const unsigned char *byte = bytes;
    uint32_t crc = ~(uint32_t)0;
    for (size_t i = 0; i < size_bytes; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (polynomial & (0u - (crc & 1u)));
    }
    return ~crc;
}
