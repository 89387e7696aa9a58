/* loop/evaluation.c - a loss in chunks: workers take one after the other, and the sums are added in
 * the chunks' order, so that they do not depend on who was how fast. */
#include "loop/evaluation.h"

#include "loop/host.h"
#include "model/custom.h"

#include <string.h>

/* ---- a worker ---- */

/* Examples of one chunk, by this engine; row[sc->chunk_rows] is room for their numbers. */
static drove_status score_rows(drove_scoring *sc, size_t chunk, const drove_engine_ops *ops,
                               drove_engine *engine, uint32_t *row, uint64_t timeout_ns)
{
    drove_work_done done = {0};
    size_t first = chunk * sc->chunk_rows;
    size_t n = sc->n_rows - first < sc->chunk_rows ? sc->n_rows - first : sc->chunk_rows;
    for (size_t i = 0; i < n; i++)
        row[i] = (uint32_t)((uint64_t)(first + i) * sc->data->n_rows / sc->n_rows);
    const drove_batch batch = {.data = sc->data, .row = row, .n_rows = n};
    const drove_work work = {.batch = &batch, .theta = sc->theta};
    DROVE_TRY(drove__engine_do(ops, engine, &work, timeout_ns, &done));
    sc->chunk[chunk] = done.score;
    return DROVE_OK;
}

static drove_status score_chunk(drove_worker *w, size_t chunk)
{
    drove_scoring *sc = &w->loop->scoring;
    atomic_store_explicit(&w->health.is_computing, 1, memory_order_relaxed);
    drove_status status =
        score_rows(sc, chunk, w->engine_ops, w->engine, w->batches.row[0], w->timeout_ns);
    atomic_store_explicit(&w->health.is_computing, 0, memory_order_relaxed);
    return status;
}

void drove__worker_score(drove_worker *w)
{
    drove_loop *loop = w->loop;
    drove_scoring *sc = &loop->scoring;
    drove_source *from = loop->source;
    while (!atomic_load(&w->health.is_lost)) {
        size_t chunk = sc->first + atomic_fetch_add(&sc->next, 1) * sc->stride;
        drove__heartbeat(w);
        if (chunk >= sc->n_chunks) return;
        drove_status status = score_chunk(w, chunk);
        if (status == DROVE_OK) continue;
        if (atomic_exchange(&w->health.is_lost, 1) != 0) return;
        bool is_borne = from != NULL && drove__source_failed(from, w->index);
        if (!is_borne || drove__custom_has_failed(loop->model)) drove__worker_fail(w, status);
    }
}

/* ---- the controlling thread ---- */

drove_status drove__scoring_init(drove_loop *loop, size_t n_rows)
{
    drove_scoring *sc = &loop->scoring;
    sc->chunk_rows = loop->sizes.score_rows;
    size_t n_chunks = (n_rows + sc->chunk_rows - 1) / sc->chunk_rows;
    sc->chunk = drove__alloc(n_chunks, sizeof *sc->chunk);
    return sc->chunk != NULL
               ? DROVE_OK
               : drove__fail_nomem("the chunks of an evaluation", n_chunks * sizeof *sc->chunk);
}

/* All chunks, by the calling thread. */
static drove_status score_here(drove_loop *loop)
{
    drove_scoring *sc = &loop->scoring;
    const drove_engine_options opt = {.model = loop->model,
                                      .kernels = loop->kernels,
                                      .data = sc->data,
                                      .max_rows = sc->chunk_rows,
                                      .seed = loop->seed,
                                      .infers_only = true};
    drove_engine *e = NULL;
    uint32_t *row = drove__alloc(sc->chunk_rows, sizeof *row);
    drove_status status = row == NULL ? drove__fail_nomem("rows of a batch", sc->chunk_rows)
                                      : drove__engine_host.create(&opt, &e);
    for (size_t i = sc->first; i < sc->n_chunks && status == DROVE_OK; i += sc->stride) {
        status = score_rows(sc, i, &drove__engine_host, e, row, UINT64_MAX);
        if (sc->beside.is_on) sc->beside.look(sc->beside.context);
    }
    drove__engine_host.destroy(e);
    drove__free(row);
    return status;
}

drove_status drove__scoring_run(drove_loop *loop, const drove_data *data, const float *theta,
                                size_t n_rows, unsigned first, unsigned stride)
{
    drove_scoring *sc = &loop->scoring;
    drove_host *h = loop->host;
    unsigned n_left;
    sc->data = data;
    sc->theta = theta;
    sc->n_rows = n_rows == 0 || n_rows > data->n_rows ? data->n_rows : n_rows;
    sc->n_chunks = (sc->n_rows + sc->chunk_rows - 1) / sc->chunk_rows;
    sc->first = first;
    sc->stride = stride;
    if (drove__loop_in_flight(loop)) return score_here(loop);
    do { /* again if a worker was lost: its chunk may not have been scored */
        n_left = h->ops->n_left(h);
        atomic_store(&sc->next, 0);
        DROVE_TRY(drove__host_do(h, DROVE_DO_SCORE));
        DROVE_TRY(drove__source_check(loop->source));
    } while (h->ops->n_left(h) != n_left);
    return DROVE_OK;
}

drove_score drove__scoring_sum(const drove_loop *loop)
{
    drove_score sum = {0};
    for (size_t i = 0; i < loop->scoring.n_chunks; i++)
        drove__score_add(&sum, &loop->scoring.chunk[i]);
    return sum;
}
