/* engine/touched.h - an ordered set of numbers below a bound: which features a sparse batch
 * touches.
 *
 * A hierarchy of bitmaps: a bit of a higher level says that a word of the level below is not zero. 
 * Adding costs the number of levels at most (four for 16 million features), draining as much for
 * each member; nothing depends on the bound.  One thread at a time.
 */
#ifndef DROVE_ENGINE_TOUCHED_H
#define DROVE_ENGINE_TOUCHED_H

#include "model/model.h"

enum { DROVE_TOUCHED_MAX_LEVELS = 11 }; /* 64^11 > 2^64 */

typedef struct drove_touched {
    unsigned n_levels;
    uint64_t *
        level[DROVE_TOUCHED_MAX_LEVELS]; /* level 0: one bit a number; the last level is one word */
    uint64_t *memory;                    /* one allocation behind all levels */
} drove_touched;

/* Numbers 0 .. bound-1, bound >= 1; starts empty.  Errors: DROVE_E_NOMEM. */
drove_status drove__touched_init(drove_touched *set, size_t bound);
void         drove__touched_fini(drove_touched *set); /* accepts a zeroed set */

static inline void drove__touched_add(drove_touched *set, size_t number)
{
    for (unsigned l = 0; l < set->n_levels; l++) {
        uint64_t *word = &set->level[l][number >> 6], before = *word;
        *word = before | (uint64_t)1 << (number & 63u);
        if (before != 0) return; /* the levels above know this word */
        number >>= 6;
    }
}

/* Empties the set into spans: member j becomes [offset + j * width, + width); neighbours merge. 
 * Returns how many spans were written, ascending; span has room for one per member. */
size_t drove__touched_drain(drove_touched *set, size_t offset, size_t width, drove_span *span);

#endif
