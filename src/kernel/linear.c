/* kernel/linear.c - overlays tables of linear kernels. */
#include "kernel/linear.h"

#include "base/mem.h"

#include <string.h>

/* Each member is an array of pointers to functions of one type.  The members have the same element
 * size and no gaps, so the whole struct is such an array. */
typedef void slot_fn(void);
_Static_assert(sizeof(drovek_linear) % sizeof(slot_fn *) == 0, "slots only");

void drovek_linear_overlay(drovek_linear *out, const drovek_linear *tier)
{
    slot_fn *to[sizeof(drovek_linear) / sizeof(slot_fn *)], *from[DROVE_COUNT(to)];
    memcpy(to, out, sizeof to);
    memcpy(from, tier, sizeof from);
    for (size_t i = 0; i < DROVE_COUNT(to); i++) {
        if (from[i] != NULL) to[i] = from[i];
    }
    memcpy(out, to, sizeof to);
}
