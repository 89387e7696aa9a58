/* base/checksum.c - see checksum.h. */
#include "base/checksum.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>
#ifdef DROVE_HAVE_XXH_DISPATCH
#include <xxh_x86dispatch.h> /* the same functions by the processor's widest lanes */
#endif

struct drove_checksum {
    XXH3_state_t *state;
};

uint64_t drove__checksum(const void *bytes, size_t size_bytes)
{
    return XXH3_64bits(bytes, size_bytes);
}

drove_status drove__checksum_begin(drove_checksum **out)
{
    drove_checksum *sum = calloc(1, sizeof *sum);
    if (sum != NULL) sum->state = XXH3_createState();
    if (sum == NULL || sum->state == NULL) {
        free(sum);
        return drove__fail_nomem("a checksum", sizeof *sum);
    }
    drove__checksum_reset(sum);
    *out = sum;
    return DROVE_OK;
}

void drove__checksum_reset(drove_checksum *sum)
{
    (void)XXH3_64bits_reset(sum->state);
}

void drove__checksum_add(drove_checksum *sum, const void *bytes, size_t size_bytes)
{
    (void)XXH3_64bits_update(sum->state, bytes, size_bytes);
}

uint64_t drove__checksum_value(const drove_checksum *sum)
{
    return XXH3_64bits_digest(sum->state);
}

void drove__checksum_end(drove_checksum *sum)
{
    if (sum == NULL) return;
    (void)XXH3_freeState(sum->state);
    free(sum);
}

void drove__checksum_print(uint64_t value, char text[DROVE_CHECKSUM_TEXT_SIZE])
{
    snprintf(text, DROVE_CHECKSUM_TEXT_SIZE, "%016llx", (unsigned long long)value);
}
