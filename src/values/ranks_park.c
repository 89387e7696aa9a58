/* values/ranks_park.c - what ranks tell each other when their workers are parked.  See ranks.h. */
#include "values/interrupt.h"
#include "values/ranks.h"

#include "loop/evaluation.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct parked { /* one rank's */
    uint64_t next, train_ns, own_steps;
    int32_t is_nonfinite, signal_number;
    drove_traffic traffic;
    drove_trace_worker trace;
} parked;

static bool is_interrupted(const drove_state *state)
{
    return drove__run_interrupts() != state->interrupt.before;
}

/* How to go on after a failure that ends the run, wherever in it. */
drove_status drove__ranks_lost(const char *out, const drove_workers *workers,
                               const drove_state *state, drove_status status)
{
    char text[DROVE_ERROR_TEXT_SIZE], line[DROVE_ERROR_TEXT_SIZE];
    if (workers->ranks.n <= 1) return status;
    drove__error_copy(text);
    /* Rank 0 speaks first, and ends the others, which would say the same of the same rank; they
     * wait so long that it can. */
    const unsigned rank = workers->ranks.rank;
    const struct timespec moment = {.tv_nsec = 20000000};
    const unsigned n_moments = rank == 0 ? 0 : 50 + 5 * (rank < 8 ? rank : 8);
    for (unsigned i = 0; i < n_moments && !is_interrupted(state) && text[0] != '\0'; i++)
        nanosleep(&moment, NULL);
    if (text[0] == '\0' || drove__ranks_witness_told(workers)) {
        /* A death is told. Launchers that end the job for it, with a status of their own for
         * that, do so by SIGTERM and then SIGKILL: they are given the time. srun may leave that
         * to the ranks. */
        for (unsigned i = 0; i < (is_interrupted(state) ? 100 : 50); i++) nanosleep(&moment, NULL);
        return drove__fail(status, "%s", "");
    }
    if (rank != 0 && is_interrupted(state))
        return drove__fail(status, "%s", ""); /* by a launcher */
    drove__ranks_how_to_go_on(line, text, workers->ranks.n, out, state->save.is_there);
    return drove__fail(status, "%s", line);
}

static uint64_t examples_here(const drove_workers *workers)
{
    const drove_plan *p = &workers->plan;
    uint64_t sum = 0;
    for (unsigned i = p->first_here; i < p->first_here + p->n_here; i++)
        sum += atomic_load_explicit(&workers->loop->worker[i].trace.examples, memory_order_relaxed);
    return sum;
}

void drove__ranks_standing(drove_workers *workers)
{
    workers->ranks.own_examples = examples_here(workers);
}

/* The same of all at all ranks.  Methods whose workers go at their own pace stop at different
 * rounds: the run has come as far as the first of them, and the source knows how far each is. */
static void hear(drove_workers *workers, drove_state *state, const parked *all)
{
    uint64_t next = 0, train_ns = 0;
    drove_source *from = workers->loop->source;
    const uint64_t width = from->width;
    workers->ranks.signal_number = 0;
    for (unsigned i = 0; i < workers->plan.n_workers; i++) {
        drove_worker *w = &workers->loop->worker[i];
        if (all[i].next > next) next = all[i].next;
        if (from->ops->ranks != NULL && from->ops->ranks->hear != NULL)
            from->ops->ranks->hear(from, i, all[i].next);
        if (all[i].train_ns > train_ns) train_ns = all[i].train_ns; /* the last to park */
        if (all[i].is_nonfinite) atomic_store(&workers->loop->ending.nonfinite, 1);
        if (workers->ranks.signal_number == 0) workers->ranks.signal_number = all[i].signal_number;
        if (drove__plan_is_here(&workers->plan, i)) continue;
        w->traffic = all[i].traffic;
        memcpy(&w->trace, &all[i].trace, sizeof all[i].trace);
        w->optim.t = all[i].own_steps;
    }
    if (width > 0) next = (next + width - 1) / width * width;
    atomic_store(&from->next, next);
    state->standing.train_ns = train_ns;
    drove__ranks_standing(workers);
}

uint64_t drove__ranks_ahead(const drove_workers *workers)
{
    const drove_ranks *r = &workers->ranks;
    return r->n <= 1 ? 0 : (examples_here(workers) - r->own_examples) * (r->n - 1);
}

drove_status drove__ranks_signal(drove_workers *workers, const drove_interrupt *interrupt)
{
    drove_transport *t = workers->transport;
    drove_ranks *r = &workers->ranks;
    int32_t mine = drove__run_signal(interrupt), *all;
    if (r->n <= 1) return DROVE_OK;
    all = calloc(r->n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("messages of the ranks", r->n * sizeof *all);
    const drove_status status = t->ops->gather(t, &mine, sizeof mine, all);
    r->signal_number = 0;
    for (unsigned i = 0; i < r->n && r->signal_number == 0; i++) r->signal_number = all[i];
    free(all);
    return status;
}

/* Twice: behind the first time all are parked, so no wish to halt is on its way any more; behind
 * the second all have forgotten it. */
drove_status drove__ranks_parked(drove_workers *workers, drove_state *state)
{
    drove_transport *t = workers->transport;
    const drove_plan *p = &workers->plan;
    if (workers->ranks.n <= 1) return DROVE_OK;
    parked *all = drove__alloc(p->n_workers, sizeof *all),
           *mine = drove__alloc(p->n_here, sizeof *mine);
    drove_status status = DROVE_OK;
    if (all == NULL || mine == NULL)
        status = drove__fail_nomem("messages of the ranks", p->n_workers * sizeof *all);
    for (unsigned i = 0; i < p->n_here && status == DROVE_OK; i++) {
        const unsigned number = p->first_here + i;
        const drove_worker *w = &workers->loop->worker[number];
        const drove_source *from = workers->loop->source;
        parked *own = &mine[i];
        memset(own, 0, sizeof *own);
        own->next = drove__source_begun(from, number);
        own->train_ns = state->standing.train_ns;
        own->own_steps = w->optim.t;
        own->is_nonfinite = atomic_load(&workers->loop->ending.nonfinite);
        own->signal_number = workers->ranks.signal_number;
        own->traffic = w->traffic;
        memcpy(&own->trace, &w->trace, sizeof own->trace);
    }
    if (status == DROVE_OK) status = t->ops->gather(t, mine, p->n_here * sizeof *mine, all);
    atomic_store(&t->halt_wished, 0);
    atomic_store(&t->halt_seen, 0);
    if (status == DROVE_OK) hear(workers, state, all);
    if (status == DROVE_OK) status = t->ops->gather(t, mine, p->n_here * sizeof *mine, all);
    drove__free(all);
    drove__free(mine);
    return status;
}

drove_status drove__ranks_ready(const drove_workers *workers, const drove_state *state)
{
    const unsigned n = workers->ranks.n;
    if (n <= 1) return DROVE_OK;
    drove__ranks_saved(workers, state->save.is_there);
    uint8_t mine = 1, *all = calloc(n, sizeof *all);
    if (all == NULL) return drove__fail_nomem("messages of the ranks", n);
    drove_status status =
        workers->transport->ops->gather(workers->transport, &mine, sizeof mine, all);
    free(all);
    return status;
}

size_t drove__ranks_part(const drove_config *config, const drove_workers *workers)
{
    size_t n = (size_t)config->length.eval_examples;
    return workers->loop->order.holds_shard ? (n + workers->ranks.n - 1) / workers->ranks.n : n;
}

drove_status drove__ranks_add(const drove_workers *workers, drove_score *score)
{
    drove_score *all = calloc(workers->ranks.n, sizeof *all);
    if (all == NULL)
        return drove__fail_nomem("an evaluation in parts", workers->ranks.n * sizeof *all);
    drove_status status =
        workers->transport->ops->gather(workers->transport, score, sizeof *score, all);
    if (status == DROVE_OK) *score = (drove_score){0};
    for (unsigned i = 0; i < workers->ranks.n && status == DROVE_OK; i++)
        drove__score_add(score, &all[i]);
    free(all);
    return status;
}

drove_status drove__ranks_scored(const drove_workers *workers)
{
    drove_scoring *sc = &workers->loop->scoring;
    const unsigned n = workers->ranks.n;
    if (n <= 1) return DROVE_OK;
    size_t each = (sc->n_chunks + n - 1) / n;
    drove_score *mine = calloc(each, sizeof *mine), *all = calloc(each * n, sizeof *all);
    drove_status status = DROVE_OK;
    if (mine == NULL || all == NULL) {
        status = drove__fail_nomem("an evaluation in parts", each * (n + 1) * sizeof *all);
    } else {
        for (size_t k = 0; k < each && k * n + workers->ranks.rank < sc->n_chunks; k++)
            mine[k] = sc->chunk[k * n + workers->ranks.rank];
        status =
            workers->transport->ops->gather(workers->transport, mine, each * sizeof *mine, all);
        for (size_t i = 0; i < sc->n_chunks && status == DROVE_OK; i++)
            sc->chunk[i] = all[i % n * each + i / n];
    }
    free(mine);
    free(all);
    return status;
}
