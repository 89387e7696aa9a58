/* run/batcher.c - see batcher.h. */
#include "run/batcher.h"

drove_status drove__batcher_init(drove_batcher *b, uint64_t n_rows, uint64_t batch, uint64_t seed,
                                 drove_order order, unsigned round_width)
{
    *b = (drove_batcher){
        .n_rows = n_rows,
        .batch = batch < n_rows ? batch : n_rows,
        .seed = seed,
        .order = order,
        .round_width = round_width,
    };
    b->per_epoch = (n_rows + b->batch - 1) / b->batch;
    return drove__lock_init(&b->lock);
}

void drove__batcher_split(drove_batcher *b, unsigned n_shards, bool holds_shard)
{
    b->n_shards = n_shards;
    b->holds_shard = holds_shard;
    b->shard_rows = b->n_rows / n_shards;
    b->n_rows = b->shard_rows * n_shards;
    if (b->batch > b->shard_rows) b->batch = b->shard_rows;
    b->per_epoch = (b->shard_rows + b->batch - 1) / b->batch * n_shards;
}

void drove__batcher_fini(drove_batcher *b)
{
    if (b->batch != 0) pthread_mutex_destroy(&b->lock);
}

void drove__batcher_open(drove_batcher *b, uint64_t limit)
{
    if (b->round_width != 0) {
        uint64_t rounds = (limit + b->round_width - 1) / b->round_width;
        limit = rounds * b->round_width;
        b->first_round = b->rounds_started = atomic_load(&b->next) / b->round_width;
    }
    atomic_store(&b->limit, limit);
}

void drove__batcher_halt(drove_batcher *b)
{
    if (b->round_width == 0) {
        atomic_store(&b->limit, 0);
        return;
    }
    (void)drove__lock(&b->lock); /* whoever ends with it leaves it whole: one counter changes */
    atomic_store(&b->limit, b->rounds_started * b->round_width);
    pthread_mutex_unlock(&b->lock);
}

void drove__batcher_leave(drove_batcher *b)
{
    b->n_lost++;
}

void drove__batcher_settle(drove_batcher *b)
{
    if (b->n_lost == 0 || b->round_width == 0) return;
    uint64_t reached = b->rounds_started * b->round_width;
    if (atomic_load(&b->next) < reached) atomic_store(&b->next, reached);
}

void drove__cursor_init(drove_batch_cursor *cursor, const drove_batcher *b)
{
    cursor->epoch = UINT64_MAX;
    cursor->round = b->first_round; /* not from `next`: others may already have claimed */
}

/* A round is begun under the lock, so that a halt can tell exactly which rounds must still be
 * finished by all. */
static bool claim_round(drove_batcher *b, drove_batch_cursor *cursor, unsigned worker,
                        uint64_t *number)
{
    (void)drove__lock(&b->lock);
    bool is_open = cursor->round * b->round_width < atomic_load(&b->limit);
    if (is_open && cursor->round >= b->rounds_started) b->rounds_started = cursor->round + 1;
    pthread_mutex_unlock(&b->lock);
    if (!is_open) return false;
    *number = cursor->round * b->round_width + worker;
    cursor->round++;
    atomic_fetch_add(&b->next, 1);
    return true;
}

bool drove__batcher_claim(drove_batcher *b, drove_batch_cursor *cursor, unsigned worker,
                          uint64_t *number)
{
    if (b->round_width != 0) return claim_round(b, cursor, worker, number);
    /* The counter never passes the limit, so that it is exactly the number of batches handed out.
     * Relaxed: the number is all that is passed on; parameters are ordered by the strategy. */
    uint64_t next = atomic_load_explicit(&b->next, memory_order_relaxed);
    do {
        if (next >= atomic_load_explicit(&b->limit, memory_order_relaxed)) return false;
    } while (!atomic_compare_exchange_weak_explicit(&b->next, &next, next + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    *number = next;
    return true;
}

/* Examples of a part in its first so many batches of an epoch. */
static uint64_t shard_examples(const drove_batcher *b, uint64_t n_batches)
{
    uint64_t n = n_batches * b->batch;
    return n < b->shard_rows ? n : b->shard_rows;
}

/* Gives the cursor the permutation of this epoch. */
static void permute(const drove_batcher *b, drove_batch_cursor *cursor, uint64_t epoch,
                    uint64_t n_items)
{
    if (cursor->epoch == epoch) return;
    drove__permutation_init(&cursor->permutation, n_items, b->seed, epoch);
    cursor->epoch = epoch;
}

/* Batch `number` of the part that the worker has whose turn it is. */
static size_t rows_of_shard(const drove_batcher *b, drove_batch_cursor *cursor, uint64_t number,
                            uint32_t *row)
{
    uint64_t round = number % b->per_epoch / b->n_shards, first = round * b->batch;
    uint64_t n_whole = b->shard_rows / b->batch;
    const drove_shard shard = {.n = b->n_shards, .index = number % b->n_shards, .seed = b->seed};
    uint64_t n = shard_examples(b, round + 1) - first;
    bool is_block = b->order == DROVE_ORDER_BLOCKS;
    drove_rng rng;
    if (b->order == DROVE_ORDER_RANDOM) drove__rng_seed(&rng, b->seed, DROVE_RNG_ORDER, number);
    else if (!is_block || round < n_whole)
        permute(b, cursor, number / b->per_epoch, is_block ? n_whole : b->shard_rows);
    if (is_block && round < n_whole)
        first = drove__permutation_at(&cursor->permutation, round) * b->batch;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = first + i;
        if (b->order == DROVE_ORDER_RANDOM) at = drove__rng_below(&rng, b->shard_rows);
        else if (!is_block) at = drove__permutation_at(&cursor->permutation, at);
        row[i] = (uint32_t)(b->holds_shard ? at : drove__shard_row(&shard, at));
    }
    return (size_t)n;
}

static void neighbours(const drove_batcher *b, drove_batch_cursor *cursor, uint64_t number,
                       size_t n, uint32_t *row)
{
    uint64_t n_whole = b->n_rows / b->batch, place = number % b->per_epoch;
    if (place < n_whole) {
        permute(b, cursor, number / b->per_epoch, n_whole);
        place = drove__permutation_at(&cursor->permutation, place);
    }
    for (size_t i = 0; i < n; i++) row[i] = (uint32_t)(place * b->batch + i);
}

size_t drove__batcher_rows(const drove_batcher *b, drove_batch_cursor *cursor, uint64_t number,
                           uint32_t *row)
{
    if (b->n_shards > 0) return rows_of_shard(b, cursor, number, row);
    uint64_t epoch = number / b->per_epoch;
    uint64_t first = (number % b->per_epoch) * b->batch;
    size_t n = (size_t)(b->n_rows - first < b->batch ? b->n_rows - first : b->batch);
    if (b->order == DROVE_ORDER_BLOCKS) {
        neighbours(b, cursor, number, n, row);
        return n;
    }
    if (b->order == DROVE_ORDER_RANDOM) {
        drove_rng rng;
        drove__rng_seed(&rng, b->seed, DROVE_RNG_ORDER, number);
        for (size_t i = 0; i < n; i++) row[i] = (uint32_t)drove__rng_below(&rng, b->n_rows);
        return n;
    }
    permute(b, cursor, epoch, b->n_rows);
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)drove__permutation_at(&cursor->permutation, first + i);
    return n;
}

void drove__batcher_span(const drove_batcher *b, drove_batch_cursor *cursor, uint64_t first,
                         size_t n, uint32_t *row)
{
    for (size_t i = 0; i < n; i++) (void)drove__batcher_rows(b, cursor, first + i, row + i);
}

uint64_t drove__batcher_examples(const drove_batcher *b, uint64_t number)
{
    if (b->n_shards > 0) {
        uint64_t begun = number % b->per_epoch, round = begun / b->n_shards;
        uint64_t done = shard_examples(b, round), next = shard_examples(b, round + 1);
        return number / b->per_epoch * b->n_rows + done * b->n_shards +
               (next - done) * (begun % b->n_shards);
    }
    uint64_t inside = (number % b->per_epoch) * b->batch;
    return number / b->per_epoch * b->n_rows + (inside < b->n_rows ? inside : b->n_rows);
}

double drove__batcher_epochs(const drove_batcher *b, uint64_t number)
{
    return (double)drove__batcher_examples(b, number) / (double)b->n_rows;
}
