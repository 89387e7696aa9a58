/* stream/windows.h - the order of examples that are read from disk: blocks of rows in random order,
 * several of them at a time in memory, a window, and the rows of a window in random order.
 *
 * An epoch has n_windows windows.  Each has per_window whole blocks; the last one has those that
 * are left, and the short block at the end of the file.  A batch never spans two windows, so the
 * last one of a window may be short.  All follows from the number of a batch, as in loop/order.h.
 *
 * n_held whole blocks, drawn by the seed, are never trained on: they judge the run.
 *
 * Threads: immutable after drove__windows_init.
 */
#ifndef DROVE_STREAM_WINDOWS_H
#define DROVE_STREAM_WINDOWS_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

typedef struct drove_windows {
    uint64_t n_rows;                /* trained in an epoch */
    uint64_t block_rows, n_whole;   /* rows of a whole block; whole blocks that are trained */
    uint64_t short_rows;            /* of the short block of the file; 0: there is none */
    uint64_t n_held;                /* whole blocks that are not trained */
    uint64_t per_window, n_windows; /* whole blocks of a window; windows of an epoch */
    uint64_t window_rows;           /* room for the rows of any window, and at least one */
    uint64_t seed;
    drove_permutation drawn; /* of all whole blocks: the last n_held are held out */
} drove_windows;

typedef struct drove_windows_options {
    uint64_t n_rows, block_rows; /* of the file; at least one whole block, besides those held */
    uint64_t n_held;             /* whole blocks */
    uint64_t per_window;         /* whole blocks of a window; at least 1 */
    uint64_t row_multiple;       /* of window_rows; 0: any */
    uint64_t seed;
} drove_windows_options;

void drove__windows_init(drove_windows *w, const drove_windows_options *opt);
/* The windows of the same data with another number of whole blocks each. */
drove_windows drove__windows_with(const drove_windows *w, uint64_t per_window);

/* The number in the file of the i-th whole block of those that are held out, i < n_held; or of
 * those that are trained, in no particular order, i < n_whole. */
uint64_t drove__windows_held(const drove_windows *w, uint64_t i);
uint64_t drove__windows_trained(const drove_windows *w, uint64_t i);

/* Rows trained in a window of an epoch: window counts from 0 through the whole run. */
uint64_t drove__windows_rows(const drove_windows *w, uint64_t window);

/* Blocks of a window, and the number in the file of its i-th.  *at: of the epoch, as
 * drove__windows_permute sets it. */
uint64_t drove__windows_blocks(const drove_windows *w, uint64_t window);
void     drove__windows_permute(const drove_windows *w, uint64_t window, drove_permutation *at);
uint64_t drove__windows_block(const drove_windows *w, const drove_permutation *at, uint64_t window,
                              uint64_t i);

/* Where the place-th row of a window lies in memory that holds the window's blocks one after the
 * other, and odd windows behind even ones. */
static inline uint64_t drove__windows_row(const drove_windows *w, uint64_t window, uint64_t place)
{
    return (window & 1) * w->window_rows + place;
}

/* ---- batches ---- */

/* Batches of an epoch, examples in the first so many of them. */
uint64_t drove__windows_batches(const drove_windows *w, uint64_t batch);
uint64_t drove__windows_examples(const drove_windows *w, uint64_t batch, uint64_t n_batches);
/* The last batch of an epoch before which there are no more examples than that. */
uint64_t drove__windows_reach(const drove_windows *w, uint64_t batch, uint64_t n_examples);
/* The window of a batch, counted through the run; *first: its first place there. */
uint64_t drove__windows_find(const drove_windows *w, uint64_t batch, uint64_t number,
                             uint64_t *first);

#endif
