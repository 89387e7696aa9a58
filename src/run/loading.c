/* run/loading.c - whether a run's batches are loaded ahead and by how many threads, and where a
 * worker gets its next batch.
 *
 * A worker claims a batch when it asks for it, so one batch ahead of the one it computes on.  What
 * was claimed is trained before the worker parks, also after a halt: the batcher's counter stays
 * the number of batches trained, which is all that a saved state knows of the order.
 */
#include "run/run.h"

#include "base/spec.h"

#include <string.h>

/* An example of fewer numbers is loaded in a few microseconds; a hand-over costs about one. */
enum { LARGE_EXAMPLE = 16384 };

drove_status drove__loaders_parse(const char *text, bool *is_auto, unsigned *out)
{
    uint64_t n = 0;
    *is_auto = strcmp(text, "auto") == 0;
    if (!*is_auto && drove__parse_u64("--loaders", text, 0, DROVE_MOST_THREADS, &n) != DROVE_OK) {
        return drove__fail(DROVE_E_ARG,
                           "--loaders: expected a whole number from 0 to %d, or auto, found "
                           "\"%.80s\"",
                           DROVE_MOST_THREADS, text);
    }
    *out = (unsigned)n;
    return DROVE_OK;
}

/* One for each worker as long as there are processors for both. */
static unsigned spare_threads(const drove_run *run)
{
    drove_topo_facts facts;
    drove__topo_facts(run->topo, &facts);
    const drove_ranks *r = &run->ranks;
    unsigned n_here = r->n > 1 ? 1 : run->n_workers;
    unsigned n_busy = r->n > 1 ? r->n_local * r->n_threads : run->n_workers;
    unsigned n_spare = facts.n_pus > n_busy ? facts.n_pus - n_busy : 0;
    return n_spare < n_here ? n_spare : n_here;
}

static bool is_large(const drove_data *data)
{
    const drove_storage *s = data->storage;
    bool is_dense = s->x_kind == DROVE_X_U8 || (s->x_kind == DROVE_X_F32 && data->factor != NULL);
    return is_dense && s->n_features >= LARGE_EXAMPLE;
}

drove_status drove__run_loading(drove_run *run)
{
    bool is_auto, cuts = drove__augment_is_on(&run->train->augment);
    unsigned n;
    DROVE_TRY(drove__loaders_parse(run->opt.loaders, &is_auto, &n));
    bool serves_itself = run->crew.n_groups == 0 && run->engine_ops == &drove__engine_host &&
                         !drove__devices_are_far(run);
    if (!serves_itself) {
        if (n == 0) return DROVE_OK;
        return drove__fail(DROVE_E_ARG,
                           "--loaders %u: expected 0 or auto, as %s loads its own batches", n,
                           run->shared != NULL ? "--precision" : run->plan.spec);
    }
    if (is_auto && (cuts || is_large(run->train))) n = spare_threads(run);
    if (n == 0 && !cuts) return DROVE_OK;
    const drove_loader_options opt = {.data = run->train,
                                      .kernels = &run->kernels,
                                      .max_rows = run->batcher.batch,
                                      .n_workers = run->n_workers,
                                      .n_threads = n};
    run->n_loaders = n;
    return drove__loader_create(&opt, &run->loader);
}

/* The batches that the worker has room for, asked for. */
static void ask_ahead(drove_worker *w)
{
    drove_run *run = w->run;
    uint64_t number;
    for (;;) {
        uint32_t *row = drove__loader_rows(run->loader, w->index);
        if (row == NULL || !drove__batcher_claim(&run->batcher, &w->cursor, w->index, &number))
            return;
        size_t n_rows = drove__batcher_rows(&run->batcher, &w->cursor, number, row);
        drove__loader_ask(run->loader, w->index, number, n_rows);
    }
}

static bool take(drove_worker *w, drove_batch *batch, drove_status *status)
{
    drove_load_times times;
    if (!drove__loader_take(w->run->loader, w->index, batch, &times, status)) return false;
    const drove_time_span span = {.begin_ns = times.begin_ns,
                                  .end_ns = times.end_ns,
                                  .iteration = batch->number,
                                  .part = UINT32_MAX,
                                  .kind = DROVE_SPAN_LOAD};
    drove__spans_add(w->run->devices.spans, w->index, &span); /* the lane is this worker's */
    w->trace.phase_ns[DROVE_PHASE_LOAD] += times.exposed_ns;
    return true;
}

bool drove__worker_next(drove_worker *w, drove_batch *batch, drove_status *status)
{
    drove_run *run = w->run;
    uint64_t number;
    *status = DROVE_OK;
    if (run->loader != NULL) {
        drove__loader_done(run->loader, w->index);
        ask_ahead(w);
        return take(w, batch, status);
    }
    if (!drove__batcher_claim(&run->batcher, &w->cursor, w->index, &number)) return false;
    *batch = (drove_batch){.data = w->data, .row = w->row, .number = number};
    batch->n_rows = drove__batcher_rows(&run->batcher, &w->cursor, number, w->row);
    return true;
}
