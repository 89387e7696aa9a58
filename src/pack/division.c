/* pack/division.c - see division.h. */
#include "pack/division.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The rows of part p are those of fold n - 1 - p: the latest first, where rows have an order. */
static void put_rows(const uint32_t *fold, size_t n_rows, drove_divisions *out)
{
    size_t at = 0;
    for (unsigned p = 0; p < out->n; p++) {
        out->from[p] = at;
        for (size_t i = 0; i < n_rows; i++)
            if (fold[i] == out->n - 1 - p) out->row[at++] = (uint32_t)i;
    }
    out->from[out->n] = at;
}

drove_status drove__divisions_make(const drove_data *data, unsigned n, uint64_t seed,
                                   drove_divisions *out)
{
    const size_t n_rows = data->n_rows;
    uint32_t *fold = drove__grow(NULL, n_rows, sizeof *fold);
    *out = (drove_divisions){.n = n,
                             .is_in_time = data->storage->parting.is_timed,
                             .row = drove__grow(NULL, n_rows, sizeof *out->row),
                             .from = drove__grow(NULL, n + 1, sizeof *out->from)};
    drove_status status = DROVE_OK;
    if (fold == NULL || out->row == NULL || out->from == NULL)
        status = drove__fail_nomem("divisions of the examples", n_rows * sizeof *fold);
    if (status == DROVE_OK) status = drove__data_folds(data, n, seed, fold);
    if (status == DROVE_OK) put_rows(fold, n_rows, out);
    else drove__divisions_fini(out);
    free(fold);
    return status;
}

void drove__divisions_fini(drove_divisions *d)
{
    free(d->row);
    free(d->from);
    *d = (drove_divisions){0};
}

size_t drove__division_trained(const drove_divisions *d, unsigned part, uint32_t *into)
{
    const size_t first = d->is_in_time ? 0 : d->from[part], after = d->from[part + 1];
    const size_t n_after = d->from[d->n] - after;
    memcpy(into, d->row, first * sizeof *into);
    memcpy(into + first, d->row + after, n_after * sizeof *into);
    return first + n_after;
}
