/* stream/windows.c - which blocks a window has, and which batches. */
#include "stream/windows.h"

#include <stdbool.h>

/* Apart from the permutations of rows, whose seed is the run's and whose numbers count windows. */
enum { DRAW = 0, FIRST_EPOCH = 1 };

static uint64_t block_seed(const drove_windows *w)
{
    return ~w->seed;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by;
}

void drove__windows_init(drove_windows *w, const drove_windows_options *opt)
{
    const uint64_t n_all = opt->n_rows / opt->block_rows;
    *w = (drove_windows){.block_rows = opt->block_rows,
                         .n_whole = n_all - opt->n_held,
                         .short_rows = opt->n_rows % opt->block_rows,
                         .n_held = opt->n_held,
                         .seed = opt->seed};
    w->n_rows = opt->n_rows - w->n_held * w->block_rows;
    w->n_windows = divide_up(w->n_whole, opt->per_window);
    w->per_window = divide_up(w->n_whole, w->n_windows); /* windows of about the same size */
    w->n_windows = divide_up(w->n_whole, w->per_window);
    w->window_rows = w->per_window * w->block_rows + w->short_rows + 1;
    if (opt->row_multiple > 0)
        w->window_rows = divide_up(w->window_rows, opt->row_multiple) * opt->row_multiple;
    drove__permutation_init(&w->drawn, n_all, block_seed(w), DRAW);
}

drove_windows drove__windows_with(const drove_windows *w, uint64_t per_window)
{
    drove_windows other;
    const drove_windows_options opt = {.n_rows = w->n_rows + w->n_held * w->block_rows,
                                       .block_rows = w->block_rows,
                                       .n_held = w->n_held,
                                       .per_window = per_window,
                                       .seed = w->seed};
    drove__windows_init(&other, &opt);
    return other;
}

uint64_t drove__windows_trained(const drove_windows *w, uint64_t i)
{
    return drove__permutation_at(&w->drawn, i);
}

uint64_t drove__windows_held(const drove_windows *w, uint64_t i)
{
    return drove__permutation_at(&w->drawn, w->n_whole + i);
}

static uint64_t whole_blocks(const drove_windows *w, uint64_t window)
{
    bool is_last = window % w->n_windows + 1 == w->n_windows;
    return is_last ? w->n_whole - (w->n_windows - 1) * w->per_window : w->per_window;
}

static bool has_short(const drove_windows *w, uint64_t window)
{
    return w->short_rows > 0 && window % w->n_windows + 1 == w->n_windows;
}

uint64_t drove__windows_rows(const drove_windows *w, uint64_t window)
{
    return whole_blocks(w, window) * w->block_rows + (has_short(w, window) ? w->short_rows : 0);
}

uint64_t drove__windows_blocks(const drove_windows *w, uint64_t window)
{
    return whole_blocks(w, window) + has_short(w, window);
}

void drove__windows_permute(const drove_windows *w, uint64_t window, drove_permutation *at)
{
    drove__permutation_init(at, w->n_whole, block_seed(w), FIRST_EPOCH + window / w->n_windows);
}

uint64_t drove__windows_block(const drove_windows *w, const drove_permutation *at, uint64_t window,
                              uint64_t i)
{
    if (i == whole_blocks(w, window)) return w->n_whole + w->n_held; /* the short one */
    uint64_t place = window % w->n_windows * w->per_window + i;
    return drove__windows_trained(w, drove__permutation_at(at, place));
}

/* ---- batches ---- */

static uint64_t batches_of(const drove_windows *w, uint64_t batch, uint64_t window)
{
    return (drove__windows_rows(w, window) + batch - 1) / batch;
}

uint64_t drove__windows_batches(const drove_windows *w, uint64_t batch)
{
    return batches_of(w, batch, w->n_windows - 1) + (w->n_windows - 1) * batches_of(w, batch, 0);
}

/* Within an epoch. */
static uint64_t window_of(const drove_windows *w, uint64_t batch, uint64_t number)
{
    uint64_t window = number / batches_of(w, batch, 0);
    return window < w->n_windows - 1 ? window : w->n_windows - 1;
}

uint64_t drove__windows_examples(const drove_windows *w, uint64_t batch, uint64_t n_batches)
{
    uint64_t window = window_of(w, batch, n_batches);
    uint64_t n = (n_batches - window * batches_of(w, batch, 0)) * batch;
    uint64_t rows = drove__windows_rows(w, window);
    return window * drove__windows_rows(w, 0) + (n < rows ? n : rows);
}

uint64_t drove__windows_reach(const drove_windows *w, uint64_t batch, uint64_t n_examples)
{
    const uint64_t each = drove__windows_rows(w, 0);
    uint64_t window = n_examples / each;
    if (window > w->n_windows - 1) window = w->n_windows - 1;
    return window * batches_of(w, batch, 0) + (n_examples - window * each) / batch;
}

uint64_t drove__windows_find(const drove_windows *w, uint64_t batch, uint64_t number,
                             uint64_t *first)
{
    const uint64_t per_epoch = drove__windows_batches(w, batch), inside = number % per_epoch;
    uint64_t window = window_of(w, batch, inside);
    *first = (inside - window * batches_of(w, batch, 0)) * batch;
    return number / per_epoch * w->n_windows + window;
}
