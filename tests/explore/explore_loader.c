/* Batches that are loaded ahead (src/loop/loader.c): every batch that is taken was loaded, once, by
 * whoever; a slot has one owner at a time. */
#include "explorer.h"

#include "engine/gather.h"
#include "loop/loader.h"

#include <stdlib.h>

/* In the place of src/engine/gather.c and src/stream: a slot's `gather` is a cell of plain memory. */
static struct {
    drove_data data;
    drovek_table kernels;
    unsigned *made; /* [batches] plain: written by who loads, read by who takes */
    unsigned n_batches;
    drove_loader *l;
} run;

drove_status drove__gather_init(drove_gather *g, const drovek_table *k, const drove_data *data,
                                size_t max_rows, size_t n_inputs, bool has_targets)
{
    (void)g, (void)k, (void)data, (void)max_rows, (void)n_inputs, (void)has_targets;
    return DROVE_OK;
}
void drove__gather_fini(drove_gather *g)
{
    (void)g;
}
