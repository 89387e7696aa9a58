/* loop/order.c - the examples of a batch from its number. */
#include "loop/order.h"

enum { ROWS_AT_ONCE = 256 };

drove_order drove__order_make(uint64_t n_rows, uint64_t batch, uint64_t seed, drove_order_kind kind)
{
    drove_order o = {.n_rows = n_rows,
                     .n_there = n_rows,
                     .batch = batch < n_rows ? batch : n_rows,
                     .seed = seed,
                     .kind = kind};
    o.per_epoch = (n_rows + o.batch - 1) / o.batch;
    return o;
}

void drove__order_whole_rounds(drove_order *o, unsigned n_workers)
{
    o->per_epoch = o->n_there / (o->batch * n_workers) * n_workers;
    o->n_rows = o->per_epoch * o->batch;
}

void drove__order_split(drove_order *o, unsigned n_shards, bool holds_shard)
{
    o->n_shards = n_shards;
    o->holds_shard = holds_shard;
    o->shard_rows = o->n_rows / n_shards;
    o->n_rows = o->shard_rows * n_shards;
    if (o->batch > o->shard_rows) o->batch = o->shard_rows;
    o->per_epoch = (o->shard_rows + o->batch - 1) / o->batch * n_shards;
}

void drove__order_read_windows(drove_order *o, const drove_windows *windows)
{
    o->windows = windows;
    o->n_rows = windows->n_rows;
    if (o->batch > o->n_rows) o->batch = o->n_rows;
    o->per_epoch = drove__windows_batches(windows, o->batch);
}

uint64_t drove__order_window(const drove_order *o, uint64_t number)
{
    uint64_t first;
    return drove__windows_find(o->windows, o->batch, number, &first);
}

void drove__order_cursor_init(drove_order_cursor *cursor)
{
    cursor->epoch = UINT64_MAX;
}

/* Examples of a part in its first so many batches of an epoch. */
static uint64_t shard_examples(const drove_order *o, uint64_t n_batches)
{
    uint64_t n = n_batches * o->batch;
    return n < o->shard_rows ? n : o->shard_rows;
}

/* Gives the cursor the permutation of this epoch. */
static void permute(const drove_order *o, drove_order_cursor *cursor, uint64_t epoch,
                    uint64_t n_items)
{
    if (cursor->epoch == epoch) return;
    drove__permutation_init(&cursor->permutation, n_items, o->seed, epoch);
    cursor->epoch = epoch;
    cursor->n_ahead = 0;
}

/* The place to which the permutation maps i.  To map some is as fast as to map one, so the next
 * ones are kept: with batches of one example that is a third of a short step's instructions. */
static uint64_t place_of(drove_order_cursor *cursor, uint64_t i)
{
    if (i - cursor->ahead_first >= cursor->n_ahead) {
        const uint64_t left = cursor->permutation.n - i;
        cursor->n_ahead = left < DROVE_ORDER_AHEAD ? left : DROVE_ORDER_AHEAD;
        cursor->ahead_first = i;
        drove__permutation_run(&cursor->permutation, i, cursor->n_ahead, cursor->ahead);
    }
    return cursor->ahead[i - cursor->ahead_first];
}

/* Batch `number` of the part that the worker has whose turn it is. */
static size_t rows_of_shard(const drove_order *o, drove_order_cursor *cursor, uint64_t number,
                            uint32_t *row)
{
    uint64_t round = number % o->per_epoch / o->n_shards, first = round * o->batch;
    uint64_t n_whole = o->shard_rows / o->batch;
    const drove_shard shard = {.n = o->n_shards, .index = number % o->n_shards, .seed = o->seed};
    uint64_t n = shard_examples(o, round + 1) - first;
    bool is_block = o->kind == DROVE_ORDER_BLOCKS;
    drove_rng rng;
    if (o->kind == DROVE_ORDER_RANDOM) drove__rng_seed(&rng, o->seed, DROVE_RNG_ORDER, number);
    else if (!is_block || round < n_whole)
        permute(o, cursor, number / o->per_epoch, is_block ? n_whole : o->shard_rows);
    if (is_block && round < n_whole)
        first = drove__permutation_at(&cursor->permutation, round) * o->batch;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = first + i;
        if (o->kind == DROVE_ORDER_RANDOM) at = drove__rng_below(&rng, o->shard_rows);
        else if (!is_block) at = place_of(cursor, at);
        row[i] = (uint32_t)(o->holds_shard ? at : drove__shard_row(&shard, at));
    }
    return (size_t)n;
}

/* row[k] = before + where first + k is mapped. */
static void permute_rows(drove_order_cursor *cursor, uint64_t first, size_t n, uint64_t before,
                         uint32_t *row)
{
    const drove_permutation *p = &cursor->permutation;
    uint64_t place[ROWS_AT_ONCE];
    if (n < DROVE_ORDER_AHEAD) {
        for (size_t k = 0; k < n; k++) row[k] = (uint32_t)(before + place_of(cursor, first + k));
        return;
    }
    for (size_t done = 0; done < n; done += ROWS_AT_ONCE) {
        const size_t some = n - done < ROWS_AT_ONCE ? n - done : ROWS_AT_ONCE;
        drove__permutation_run(p, first + done, some, place);
        for (size_t k = 0; k < some; k++) row[done + k] = (uint32_t)(before + place[k]);
    }
}

static size_t rows_of_window(const drove_order *o, drove_order_cursor *cursor, uint64_t number,
                             uint32_t *row)
{
    const drove_windows *w = o->windows;
    uint64_t first, window = drove__windows_find(w, o->batch, number, &first);
    uint64_t n_rows = drove__windows_rows(w, window), n = n_rows - first;
    if (n > o->batch) n = o->batch;
    const uint64_t before = drove__windows_row(w, window, 0);
    if (o->kind == DROVE_ORDER_BLOCKS) {
        const uint64_t n_whole = n_rows / o->batch;
        if (first / o->batch < n_whole) {
            permute(o, cursor, window, n_whole);
            first = drove__permutation_at(&cursor->permutation, first / o->batch) * o->batch;
        }
        for (size_t i = 0; i < n; i++) row[i] = (uint32_t)(before + first + i);
        return (size_t)n;
    }
    permute(o, cursor, window, n_rows);
    permute_rows(cursor, first, (size_t)n, before, row);
    return (size_t)n;
}

/* Rows of a whole batch. */
static size_t rows_of_batch(const drove_order *o, drove_order_cursor *cursor, uint64_t number,
                            uint32_t *row)
{
    if (o->windows != NULL) return rows_of_window(o, cursor, number, row);
    if (o->n_shards > 0) return rows_of_shard(o, cursor, number, row);
    uint64_t epoch = number / o->per_epoch;
    uint64_t first = (number % o->per_epoch) * o->batch;
    size_t n = (size_t)(o->n_rows - first < o->batch ? o->n_rows - first : o->batch);
    if (o->kind == DROVE_ORDER_BLOCKS) { /* rows that lie side by side */
        const uint64_t n_whole = o->n_there / o->batch;
        uint64_t place = number % o->per_epoch;
        if (place < n_whole) {
            permute(o, cursor, epoch, n_whole);
            place = drove__permutation_at(&cursor->permutation, place);
        }
        for (size_t i = 0; i < n; i++) row[i] = (uint32_t)(place * o->batch + i);
        return n;
    }
    if (o->kind == DROVE_ORDER_RANDOM) {
        drove_rng rng;
        drove__rng_seed(&rng, o->seed, DROVE_RNG_ORDER, number);
        for (size_t i = 0; i < n; i++) row[i] = (uint32_t)drove__rng_below(&rng, o->n_there);
        return n;
    }
    permute(o, cursor, epoch, o->n_there);
    permute_rows(cursor, first, n, 0, row);
    return n;
}

size_t drove__order_rows(const drove_order *o, drove_order_cursor *cursor, const drove_task *task,
                         uint32_t *row)
{
    if (task->n_rows == 0) return rows_of_batch(o, cursor, task->number, row);
    for (size_t i = 0; i < task->n_rows; i++)
        (void)rows_of_batch(o, cursor, task->first + i, row + i);
    return (size_t)task->n_rows;
}

uint64_t drove__order_examples(const drove_order *o, uint64_t number)
{
    if (o->windows != NULL)
        return number / o->per_epoch * o->n_rows +
               drove__windows_examples(o->windows, o->batch, number % o->per_epoch);
    if (o->n_shards > 0) {
        uint64_t begun = number % o->per_epoch, round = begun / o->n_shards;
        uint64_t done = shard_examples(o, round), next = shard_examples(o, round + 1);
        return number / o->per_epoch * o->n_rows + done * o->n_shards +
               (next - done) * (begun % o->n_shards);
    }
    uint64_t inside = (number % o->per_epoch) * o->batch;
    return number / o->per_epoch * o->n_rows + (inside < o->n_rows ? inside : o->n_rows);
}

double drove__order_epochs(const drove_order *o, uint64_t number)
{
    return (double)drove__order_examples(o, number) / (double)o->n_rows;
}
