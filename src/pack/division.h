/* pack/division.h - divisions of the training examples: each holds a part of them back, by which
 * what was trained on the others is judged.
 *
 * Every example is held back by one division, so that the parts together judge by all examples
 * (Stone, J. R. Stat. Soc. B 1974).  The parts are drove__data_folds: classes have the same shares
 * in all, groups stay together, and where rows are in the order of time a part is judged by what
 * was trained on the rows before it.
 */
#ifndef DROVE_PACK_DIVISION_H
#define DROVE_PACK_DIVISION_H

#include "data/data.h"
#include "data/parting.h"

typedef struct drove_divisions {
    unsigned  n;
    bool      is_in_time; /* the latest rows first */
    uint32_t *row;        /* [n_rows] of the view, part by part */
    size_t   *from;       /* [n + 1] where each part begins */
} drove_divisions;

/* n >= 2 parts of about the same size, drawn by the seed.  Errors: DROVE_E_NOMEM, DROVE_E_SHAPE
 * (fewer groups than parts). */
drove_status drove__divisions_make(const drove_data *data, unsigned n, uint64_t seed,
                                   drove_divisions *out);
void         drove__divisions_fini(drove_divisions *d); /* a zeroed one is accepted */

static inline size_t drove__division_held(const drove_divisions *d, unsigned part)
{
    return d->from[part + 1] - d->from[part];
}
/* The rows that a division trains on, into[n_rows] at most; returns how many. */
size_t drove__division_trained(const drove_divisions *d, unsigned part, uint32_t *into);

#endif
