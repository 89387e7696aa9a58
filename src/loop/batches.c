/* loop/batches.c - a worker's next batch. */
#include "loop/batches.h"

static drove_batch rows_of(drove_worker *w, unsigned buffer, const drove_task *task)
{
    drove_worker_batches *b = &w->batches;
    drove_batch batch = {.data = w->data, .row = b->row[buffer], .number = task->number};
    batch.n_rows = drove__order_rows(&w->loop->order, &w->cursor, task, b->row[buffer]);
    return batch;
}

/* ---- windows of data that are read from disk ---- */

static void say_trained(drove_worker *w)
{
    drove_worker_batches *b = &w->batches;
    drove__stream_done(w->loop->data.stream, b->window, b->n_trained);
    b->n_trained = 0;
}

/* The batch in hand is trained. */
static void end_batch(drove_worker *w)
{
    drove_worker_batches *b = &w->batches;
    if (w->loop->data.stream == NULL || !b->is_training) return;
    b->is_training = false;
    b->n_trained++;
}

/* A batch with this number comes next: before anything is waited for, what is trained is said. */
static void begin_batch(drove_worker *w, uint64_t number)
{
    drove_worker_batches *b = &w->batches;
    if (w->loop->data.stream == NULL) return;
    uint64_t window = drove__order_window(&w->loop->order, number);
    if (window != b->window && b->n_trained > 0) say_trained(w);
    b->window = window;
    b->is_training = true;
}

void drove__batches_end(drove_worker *w)
{
    end_batch(w);
    if (w->batches.n_trained > 0) say_trained(w);
}

/* ---- without a loader ---- */

static bool next_plain(drove_worker *w, drove_task *task, drove_batch *batch, drove_status *status)
{
    drove_worker_batches *b = &w->batches;
    drove_source *from = w->loop->source;
    if (b->n_ahead > 0) {
        *task = b->ahead[0];
        b->n_ahead = 0;
        b->in_hand = 1 - b->in_hand;
        /* its rows are there: drove__batches_stage wrote them */
        *batch = (drove_batch){.data = w->data, .row = b->row[b->in_hand], .number = task->number};
        batch->n_rows = b->staged_rows;
    } else {
        if (!from->ops->next(from, w->index, true, task)) return false;
        *batch = rows_of(w, b->in_hand, task);
    }
    begin_batch(w, task->number);
    drove_loop *loop = w->loop;
    if (loop->data.stream != NULL && !drove__stream_has(loop->data.stream, b->window)) {
        /* Until its rows are in memory; that is part of loading it. */
        uint64_t begin = drove__clock_now(loop->clock);
        *status = drove__stream_wait(loop->data.stream, b->window);
        w->trace.phase_ns[DROVE_PHASE_LOAD] += drove__clock_now(loop->clock) - begin;
    }
    return true;
}

bool drove__batches_more(drove_worker *w, drove_task *task, drove_batch *batch)
{
    drove_worker_batches *b = &w->batches;
    drove_source *from = w->loop->source;
    if (from->ops->more == NULL || b->loader != NULL || w->loop->data.stream != NULL) return false;
    if (b->n_ahead > 0 || !from->ops->more(from, w->index, task)) return false;
    *batch = rows_of(w, b->in_hand, task);
    return true;
}

void drove__batches_stage(drove_worker *w)
{
    drove_worker_batches *b = &w->batches;
    drove_source *from = w->loop->source;
    if (w->engine_ops->stage == NULL || b->loader != NULL || b->n_ahead > 0) return;
    if (w->loop->ending.halt_seen != NULL)
        return; /* over ranks all must stop after the same round */
    if (!from->ops->next(from, w->index, false, &b->ahead[0])) return;
    const drove_batch batch = rows_of(w, 1 - b->in_hand, &b->ahead[0]);
    b->n_ahead = 1;
    b->staged_rows = batch.n_rows;
    drove_stream *stream = w->loop->data.stream;
    if (stream != NULL &&
        !drove__stream_has(stream, drove__order_window(&w->loop->order, batch.number)))
        return;                                    /* it is copied at begin then */
    (void)w->engine_ops->stage(w->engine, &batch); /* what fails here fails again at begin */
}

/* ---- with a loader ---- */

static bool next_loaded(drove_worker *w, drove_task *task, drove_batch *batch, drove_status *status)
{
    drove_worker_batches *b = &w->batches;
    drove_load_times times;
    drove__loader_done(b->loader, w->index);

    /* As many tasks as the worker has room for; waits for the first. */
    drove_source *from = w->loop->source;
    uint32_t *row;
    while ((row = drove__loader_rows(b->loader, w->index)) != NULL) {
        drove_task *ahead = &b->ahead[b->n_ahead];
        if (!from->ops->next(from, w->index, b->n_ahead == 0, ahead)) break;
        size_t n_rows = drove__order_rows(&w->loop->order, &w->cursor, ahead, row);
        drove__loader_ask(b->loader, w->index, ahead->number, n_rows);
        b->n_ahead++;
    }
    if (b->n_ahead > 0) begin_batch(w, b->ahead[0].number);
    if (!drove__loader_take(b->loader, w->index, batch, &times, status)) return false;
    *task = b->ahead[0];
    b->ahead[0] = b->ahead[1];
    b->n_ahead--;
    const drove_time_span span = {.begin_ns = times.begin_ns,
                                  .end_ns = times.end_ns,
                                  .iteration = batch->number,
                                  .part = UINT32_MAX,
                                  .kind = DROVE_SPAN_LOAD};
    drove__spans_add(w->loop->trace.spans, w->index, &span);
    w->trace.phase_ns[DROVE_PHASE_LOAD] += times.exposed_ns;
    return true;
}

bool drove__batches_next(drove_worker *w, drove_task *task, drove_batch *batch,
                         drove_status *status)
{
    *status = DROVE_OK;
    end_batch(w);
    return w->batches.loader != NULL ? next_loaded(w, task, batch, status)
                                     : next_plain(w, task, batch, status);
}
