/* files/left_out.c - examples that a run which goes on leaves out, or uses again, since its workers
 * or batches are others now: said in one line.
 *
 * Another number of workers goes on at a whole round of its own.  So batches of a round that was
 * cut are left out, and so are those that a worker behind the others had not begun (loop/rounds.c).
 * Batches of another size go on with one that begins before the last one's end.
 */
#include "files/left_out.h"

#include "values/say.h"

#include <string.h>

/* Beyond so many each batch counts as a whole one. */
static const uint64_t MOST_COUNTED = 1u << 22;

/* Examples of the run's order that batches of so many rows below `next` have. */
static uint64_t examples_below(const drove_order *o, uint64_t rows, uint64_t next)
{
    if (rows == o->batch) return drove__order_examples(o, next);
    const uint64_t per_epoch = (o->n_rows + rows - 1) / rows, inside = next % per_epoch * rows;
    return next / per_epoch * o->n_rows + (inside < o->n_rows ? inside : o->n_rows);
}

/* Examples of worker `worker` of n in its last `behind` rounds before round `reached`. */
static uint64_t examples_behind(const drove_order *o, const drove_left_out *then, uint64_t worker,
                                uint64_t behind)
{
    const uint64_t reached = then->next / then->n_workers;
    uint64_t n = behind < reached ? behind : reached, sum = 0;
    if (n > MOST_COUNTED) return n * then->rows;
    for (uint64_t round = reached - n; round < reached; round++) {
        const uint64_t number = round * then->n_workers + worker;
        sum += examples_below(o, then->rows, number + 1) - examples_below(o, then->rows, number);
    }
    return sum;
}

/* Examples that the saved run's workers were behind, unless the source has taken them over. */
static uint64_t all_behind(const drove_workers *workers, const drove_safetensors *st,
                           const drove_left_out *then)
{
    const drove_source *from = workers->loop->source;
    const void *bytes;
    uint64_t sum = 0, behind;
    const bool is_taken = from->ops->has_undone != NULL && from->ops->has_undone(from, UINT64_MAX);
    if (is_taken || drove__safetensors_find(st, "behind") == NULL ||
        drove__safetensors_want(st, "behind", DROVE_T_U64, then->n_workers, &bytes) != DROVE_OK)
        return 0;
    for (unsigned i = 0; i < then->n_workers; i++) {
        memcpy(&behind, (const char *)bytes + i * sizeof behind, sizeof behind);
        sum += examples_behind(&workers->loop->order, then, i, behind);
    }
    return sum;
}

void drove__run_say_left_out(const drove_problem *problem, const drove_workers *workers,
                             const drove_callbacks *cb, const drove_safetensors *st,
                             const drove_left_out *then)
{
    const drove_order *o = &workers->loop->order;
    const uint64_t next = atomic_load(&workers->loop->source->next);
    char words[64];
    if (problem->stream != NULL && then->rows != o->batch)
        return; /* said when windows were converted */
    snprintf(words, sizeof words, "--resume: %u workers before, %u now:", then->n_workers,
             workers->plan.n_workers);
    if (o->n_shards > 0 && then->n_workers != workers->plan.n_workers) {
        if (then->next % o->per_epoch != 0)
            drove__run_say(cb,
                           "%s each has another part of the examples, of which some come twice or "
                           "not at all in this epoch",
                           words);
        return;
    }
    const uint64_t before = examples_below(o, then->rows, then->next);
    const uint64_t now = drove__order_examples(o, next);
    const uint64_t n = (now > before ? now - before : 0) + all_behind(workers, st, then);
    if (n > 0)
        drove__run_say(cb, "%s %llu examples that the former had not used are left out", words,
                       (unsigned long long)n);
    if (now < before)
        drove__run_say(cb, "--resume: batches of another size: %llu examples come twice",
                       (unsigned long long)(before - now));
}
