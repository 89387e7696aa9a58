/* data/disk/block_sum.h - the checksum of some arrays, one after the other, as rows:FILE and
 * quant:FILE have it for each block.
 *
 * Files of version 1 have the hash of base/hash.h, each array's from that of the arrays before it;
 * later ones XXH3 (base/checksum.h) of all their bytes.  One thread each.
 */
#ifndef DROVE_DATA_DISK_BLOCK_SUM_H
#define DROVE_DATA_DISK_BLOCK_SUM_H

#include "base/checksum.h"
#include "base/hash.h"

#include <stdbool.h>

typedef struct drove_block_sum {
    drove_checksum *xxh3; /* NULL: version 1 */
    uint64_t        hash;
    drove_hashing   array; /* version 1: the one that comes by parts */
} drove_block_sum;

/* Errors: DROVE_E_NOMEM. */
drove_status drove__block_sum_init(drove_block_sum *sum, bool is_version_1);
void         drove__block_sum_fini(drove_block_sum *sum); /* a zeroed one accepted */

void     drove__block_sum_reset(drove_block_sum *sum);
void     drove__block_sum_add(drove_block_sum *sum, const void *bytes, size_t size_bytes);
uint64_t drove__block_sum_value(const drove_block_sum *sum);

/* An array that comes by parts, each but the last a multiple of 32 bytes long. */
void drove__block_sum_begin(drove_block_sum *sum);
void drove__block_sum_part(drove_block_sum *sum, const void *bytes, size_t size_bytes);
void drove__block_sum_end(drove_block_sum *sum);

#endif
