/* Windows that are read while others are trained on (src/stream/stream.c): a worker reads whole
 * rows of its window, no row is written while it is read, nobody waits for ever. */
#include "explorer.h"

#include "base/clock.h"
#include "data/blocks.h"
#include "stream/sample.h"
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, BLOCK_ROWS = 2 };

static struct {
    drove_stream *s;
    uint64_t *row; /* [rows of both halves] plain: the window that was read there */
    uint64_t n_windows;
} run;

/* Blocks whose reading marks their place with the number of the reading. */
static drove_status read_block(const drove_blocks *b, size_t block, drove_storage *into,
                               drove_place_in *to)
{
    (void)block, (void)into;
    uint64_t *count = b->impl;
    size_t half = to->row / BLOCK_ROWS;
    for (size_t i = 0; i < BLOCK_ROWS; i++) run.row[half * BLOCK_ROWS + i] = *count;
    ++*count;
    to->row += BLOCK_ROWS;
    return DROVE_OK;
}

static const drove_blocks_ops ops = {.name = "marks", .read = read_block};

/* In the place of src/stream/sample.c and src/data. */
drove_status drove__sample_read(const drove_blocks *b, const uint64_t *block, size_t n_blocks,
                                size_t most_rows, drove_data **out)
{
    (void)b, (void)block, (void)n_blocks, (void)most_rows;
    *out = NULL;
    return DROVE_OK;
}
