/* loop/modelled.c - see modelled.h. */
#include "loop/modelled.h"

#include "base/cost.h"

#include <string.h>

/* Bytes of the numbers and of the floats behind them. */
static size_t size_of(const drove_loop *loop)
{
    const drove_layout *l = &loop->sync->layout;
    return drove__numbers_bytes(l->number, l->n_numbers) +
           (loop->optim->n - l->tail) * sizeof(float);
}

drove_status drove__modelled_init(drove_worker *w)
{
    const size_t n = w->loop->optim->n, n_vector = w->loop->optim->n_vector;
    drove_rng rng;
    w->modelled.words = drove__alloc(n_vector, sizeof *w->modelled.words);
    w->modelled.before = drove__alloc(n, sizeof *w->modelled.before);
    if (w->modelled.words == NULL || w->modelled.before == NULL)
        return drove__fail_nomem("copies of the parameters",
                                 (n + n_vector) * sizeof *w->modelled.words);
    drove__rng_seed(&rng, w->loop->seed, DROVE_RNG_MERGE, w->index);
    w->modelled.bits.kind = DROVEK_BITS_XORSHIFT;
    for (size_t k = 0; k < DROVE_COUNT(w->modelled.bits.state); k++)
        w->modelled.bits.state[k] = drove__rng_u64(&rng) | 1; /* never 0 */
    return DROVE_OK;
}

void drove__modelled_fini(drove_worker *w)
{
    drove__free(w->modelled.words);
    drove__free(w->modelled.before);
    w->modelled.words = w->modelled.before = NULL;
}

drove_params drove__modelled_begin(drove_worker *w, const drove_params *shared)
{
    const size_t size = w->loop->optim->n * sizeof *shared->words;
    memcpy(w->modelled.words, shared->words, size);
    memcpy(w->modelled.before, shared->words, size);
    return (drove_params){.words = w->modelled.words};
}

/* The part of the words that a step reads or writes: of sparse data no more than their numbers,
 * whose lines are part of what an example costs. */
static size_t floats_moved(const drove_worker *w)
{
    return drove__storage_is_sparse(w->data->storage) ? 0 : size_of(w->loop) / sizeof(float);
}

/* What the step has changed of n floats; where nobody else has, they become what it made. */
static void add_floats(uint32_t *shared, const uint32_t *words, const uint32_t *before, size_t n)
{
    float *c = (float *)(void *)shared;
    const float *w = (const float *)(const void *)words, *was = (const float *)(const void *)before;
    for (size_t i = 0; i < n; i++) c[i] = c[i] == was[i] ? w[i] : c[i] + (w[i] - was[i]);
}

uint64_t drove__modelled_end(drove_worker *w, const drove_params *shared, size_t n_rows,
                             uint64_t *n_clamped)
{
    const drove_loop *loop = w->loop;
    const drove_layout *l = &loop->sync->layout;
    drove_worker_modelled *m = &w->modelled;
    const float *lines = (const float *)(const void *)shared->words;
    const size_t n_floats = floats_moved(w);
    const uint64_t begin_ns = drove__clock_now(loop->clock);
    if (n_floats > 0) drove__spend_pass(lines);
    drove__spend_work(w->modelled.batch_ns + w->modelled.example_ns * (double)n_rows,
                      drove__take(lines, n_floats, false));
    const uint64_t took_ns = drove__clock_now(loop->clock) - begin_ns;
    if (n_floats > 0) drove__spend_pass(lines);
    if (l->number == DROVE_F32) add_floats(shared->words, m->words, m->before, l->n_numbers);
    else
        *n_clamped +=
            loop->optim->kernels->linear.merge[l->number](shared->words, m->words, m->before,
                                                          l->n_numbers, 1.0f, &m->bits);
    add_floats(shared->words + l->tail, m->words + l->tail, m->before + l->tail,
               loop->optim->n - l->tail);
    drove__spend_update(n_floats, drove__take(lines, n_floats, true));
    return took_ns;
}
