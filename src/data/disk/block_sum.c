/* data/disk/block_sum.c - see block_sum.h. */
#include "data/disk/block_sum.h"

drove_status drove__block_sum_init(drove_block_sum *sum, bool is_version_1)
{
    *sum = (drove_block_sum){0};
    return is_version_1 ? DROVE_OK : drove__checksum_begin(&sum->xxh3);
}

void drove__block_sum_fini(drove_block_sum *sum)
{
    drove__checksum_end(sum->xxh3);
    sum->xxh3 = NULL;
}

void drove__block_sum_reset(drove_block_sum *sum)
{
    sum->hash = 0;
    if (sum->xxh3 != NULL) drove__checksum_reset(sum->xxh3);
}

void drove__block_sum_begin(drove_block_sum *sum)
{
    if (sum->xxh3 == NULL) drove__hash_begin(&sum->array, sum->hash);
}

void drove__block_sum_part(drove_block_sum *sum, const void *bytes, size_t size_bytes)
{
    if (sum->xxh3 == NULL) drove__hash_add(&sum->array, bytes, size_bytes);
    else drove__checksum_add(sum->xxh3, bytes, size_bytes);
}

void drove__block_sum_end(drove_block_sum *sum)
{
    if (sum->xxh3 == NULL) sum->hash = drove__hash_end(&sum->array);
}

void drove__block_sum_add(drove_block_sum *sum, const void *bytes, size_t size_bytes)
{
    drove__block_sum_begin(sum);
    drove__block_sum_part(sum, bytes, size_bytes);
    drove__block_sum_end(sum);
}

uint64_t drove__block_sum_value(const drove_block_sum *sum)
{
    return sum->xxh3 == NULL ? sum->hash : drove__checksum_value(sum->xxh3);
}
