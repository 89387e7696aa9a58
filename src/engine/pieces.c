/* engine/pieces.c - a batch computed at once, see engine.h, or in pieces, see pieces.h.
 *
 * For pieces, theta is copied once, so that all pieces are computed at the same parameters and the
 * caller may release its own when begin returns.
 */
#include "engine/pieces.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

/* All slices of a piece have come, so its end is near: far beyond any batch. */
static const uint64_t END_NS = 600u * (uint64_t)1000000000u;

void drove__pieces_init(drove_pieces *p, const drove_piece_ops *ops,
                        const drove_engine_options *opt)
{
    *p = (drove_pieces){
        .ops = ops, .model = opt->model, .kernels = opt->kernels, .max_rows = opt->max_rows};
}

void drove__pieces_fini(drove_pieces *p)
{
    drove__free(p->theta);
    drove__free(p->value);
    p->theta = p->value = NULL;
}

/* ---- a piece ---- */

static bool is_last(const drove_pieces *p)
{
    return p->first + p->n_rows == p->whole->batch->n_rows;
}

/* A layer of the piece's gradient has come. */
static void add_layer(void *context, size_t layer)
{
    const drove_pieces *p = context;
    const drove_gradient *grad = p->whole->grad;
    size_t begin, n;
    drove__model_layer_part(p->model, layer, &begin, &n);
    if (n > 0) p->kernels->axpy_f32(grad->value + begin, p->value + begin, n, p->share);
    if (is_last(p) && grad->after_layer != NULL) grad->after_layer(grad->context, layer);
}

/* Makes p->batch the piece of a batch from `first` on. */
static void cut(drove_pieces *p, const drove_batch *all, size_t first)
{
    size_t left = all->n_rows - first;
    p->first = first;
    p->n_rows = left < p->max_rows ? left : p->max_rows;
    p->share = (float)p->n_rows / (float)all->n_rows;
    p->batch = *all;
    p->batch.row = all->row + first;
    p->batch.n_rows = p->n_rows;
    if (all->loaded == NULL) return;

    /* Examples that another thread has loaded, from `first` on. */
    drove_loaded l = *all->loaded;
    l.in.n_rows = p->n_rows;
    if (l.in.dense != NULL) l.in.dense += first * p->model->n_inputs;
    if (l.in.first != NULL) l.in.first += first;
    if (l.in.last != NULL) l.in.last += first;
    l.target = drove__target_from(&l.target, first, p->model->n_outputs);
    p->loaded = l;
    p->batch.loaded = &p->loaded;
}

static drove_status begin_piece(drove_pieces *p, drove_engine *e, size_t first)
{
    cut(p, p->whole->batch, first);
    p->grad = (drove_gradient){.value = p->value, .after_layer = add_layer, .context = p};
    p->work = (drove_work){.batch = &p->batch, .theta = p->theta};
    if (p->whole->grad != NULL) p->work.grad = &p->grad;
    return p->ops->begin(e, &p->work);
}

/* Ends a piece that is not the last and begins the next. */
static drove_status next_piece(drove_pieces *p, drove_engine *e, uint64_t timeout_ns)
{
    DROVE_TRY(p->ops->finish(e, timeout_ns, &p->done));
    return begin_piece(p, e, p->first + p->n_rows);
}

/* ---- the whole ---- */

drove_status drove__pieces_begin(drove_pieces *p, drove_engine *e, const drove_work *work)
{
    p->whole = NULL;
    if (work->prob != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED, "a device: expected a score without predictions");
    if (work->batch->n_rows <= p->max_rows) return p->ops->begin(e, work);
    if (work->theta == NULL) {
        return drove__fail(DROVE_E_ARG, "batch of %zu examples: expected 1 to %zu",
                           work->batch->n_rows, p->max_rows);
    }
    const size_t n = p->model->n_params;
    if (p->theta == NULL) p->theta = drove__alloc(n, sizeof *p->theta);
    if (p->value == NULL) p->value = drove__alloc(n, sizeof *p->value);
    if (p->theta == NULL || p->value == NULL)
        return drove__fail_nomem("a batch in pieces", 2 * n * sizeof *p->theta);
    p->kernels->copy_f32(p->theta, work->theta, n);
    if (work->grad != NULL) {
        work->grad->span = NULL;
        work->grad->n_spans = 0;
        memset(work->grad->value, 0, n * sizeof *work->grad->value);
    }
    p->whole = work;
    p->done = (drove_work_done){0};
    drove_status status = begin_piece(p, e, 0);
    if (status != DROVE_OK) p->whole = NULL;
    return status;
}

drove_status drove__pieces_part(drove_pieces *p, drove_engine *e, uint64_t timeout_ns,
                                size_t *n_left)
{
    uint64_t start = drove__now_ns();
    for (;;) {
        uint64_t gone = drove__now_ns() - start;
        uint64_t left = timeout_ns == UINT64_MAX ? UINT64_MAX
                        : gone < timeout_ns      ? timeout_ns - gone
                                                 : 0;
        DROVE_TRY(p->ops->part(e, left, n_left));
        if (*n_left > 0 || p->whole == NULL || p->whole->grad == NULL || is_last(p))
            return DROVE_OK;
        DROVE_TRY(next_piece(p, e, END_NS));
    }
}

drove_status drove__pieces_finish(drove_pieces *p, drove_engine *e, uint64_t timeout_ns,
                                  drove_work_done *done)
{
    while (p->whole != NULL && !is_last(p)) DROVE_TRY(next_piece(p, e, timeout_ns));
    DROVE_TRY(p->ops->finish(e, timeout_ns, done));
    if (p->whole != NULL && done != NULL) drove__work_done_add(done, &p->done);
    p->whole = NULL;
    return DROVE_OK;
}

/* ---- without a gradient ---- */

drove_status drove__pieces_predict(drove_pieces *p, drove_engine *e, const float *theta,
                                   const drove_batch *batch, float *prob)
{
    if (p->whole != NULL) return drove__fail(DROVE_E_ARG, "the last batch was not finished");
    if (batch->n_rows <= p->max_rows) return p->ops->predict(e, theta, batch, prob);
    for (size_t first = 0; first < batch->n_rows; first += p->n_rows) {
        cut(p, batch, first);
        DROVE_TRY(p->ops->predict(e, theta, &p->batch, prob + first * p->model->n_outputs));
    }
    return DROVE_OK;
}

drove_status drove__pieces_statistics(drove_pieces *p, drove_engine *e, const float *theta,
                                      const drove_batch *batch, float share, float *into)
{
    if (p->whole != NULL) return drove__fail(DROVE_E_ARG, "the last batch was not finished");
    if (batch->n_rows <= p->max_rows) return p->ops->statistics(e, theta, batch, share, into);
    for (size_t first = 0; first < batch->n_rows; first += p->n_rows) {
        cut(p, batch, first);
        DROVE_TRY(p->ops->statistics(e, theta, &p->batch, share * p->share, into));
    }
    return DROVE_OK;
}

/* ---- at once ---- */

drove_status drove__engine_do(const drove_engine_ops *ops, drove_engine *e, const drove_work *work,
                              uint64_t timeout_ns, drove_work_done *done)
{
    DROVE_TRY(ops->begin(e, work));
    return ops->finish(e, timeout_ns, done);
}

void drove__work_done_add(drove_work_done *to, const drove_work_done *from)
{
    drove__score_add(&to->score, &from->score);
    to->times.forward_ns += from->times.forward_ns;
    to->times.backward_ns += from->times.backward_ns;
    to->times.compute_ns += from->times.compute_ns;
    to->times.copy_ns += from->times.copy_ns;
    to->times.hidden_ns += from->times.hidden_ns;
    to->times.wait_ns += from->times.wait_ns;
}
