/* engine/accel/params.c - parameters to the device, gradients from it; see state.h.
 *
 * The first layer's W is as large as the data are wide: of a sparse batch only the rows that it
 * touches go over and come back.
 */
#include "base/mem.h"
#include "engine/accel/state.h"
#include "model/layer.h"

#include <string.h>

/* ---- memory ---- */

static void release(drove_engine *e)
{
    e->ops->free(e->accel, e->params.theta);
    e->ops->free(e->accel, e->params.grad);
    e->ops->host_free(e->accel, e->params.theta_host);
    e->ops->host_free(e->accel, e->params.grad_host);
    e->params.theta = e->params.grad = NULL;
    e->params.theta_host = e->params.grad_host = NULL;
    e->params.n_room = 0;
}

/* The gaps between layers are zero on both sides, and nothing writes them. */
static drove_status reserve(drove_engine *e, size_t n)
{
    void *memory;
    if (n <= e->params.n_room) return DROVE_OK;
    release(e);
    DROVE_TRY(drove__accel_host_alloc(e, n, "parameters for a device", &memory));
    e->params.theta_host = memory;
    DROVE_TRY(drove__accel_host_alloc(e, n, "gradients for a device", &memory));
    e->params.grad_host = memory;
    DROVE_TRY(e->ops->alloc(e->accel, n, &e->params.theta));
    DROVE_TRY(e->ops->alloc(e->accel, n, &e->params.grad));
    DROVE_ACCEL_TRY(e, e->ops->zero(e->work, drove__accel_view(e->params.grad, 0), n));
    e->params.n_room = n;
    return DROVE_OK;
}

/* Frozen parameters are there from the beginning, and nothing writes them. */
static drove_status copy_frozen(drove_engine *e)
{
    const size_t n = e->model->n_frozen;
    drove_accel_event *done = NULL;
    void *memory;
    if (n == 0) return DROVE_OK;
    DROVE_TRY(e->ops->alloc(e->accel, n, &e->params.frozen));
    DROVE_TRY(e->ops->alloc(e->accel, n, &e->params.unwanted));
    DROVE_TRY(drove__accel_host_alloc(e, n, "frozen parameters for a device", &memory));
    memcpy(memory, e->model->frozen, n * sizeof(float));
    drove_status status = e->ops->write(e->up, drove__accel_view(e->params.frozen, 0), memory, n);
    if (status == DROVE_OK) status = e->ops->record(e->up, &done);
    if (status == DROVE_OK) status = e->ops->flush(e->up);
    if (status == DROVE_OK) status = e->ops->wait(done, UINT64_MAX);
    e->ops->event_destroy(done);
    e->ops->host_free(e->accel, memory);
    return drove__accel_try(e, status);
}

drove_status drove__params_init(drove_engine *e, size_t n_touched)
{
    const drove_layer *first = &e->model->layer[0];
    DROVE_TRY(copy_frozen(e));
    e->params.base = e->is_sparse ? first->b_offset : 0;
    e->params.n_rest = e->model->n_params - e->params.base;
    return reserve(e, e->params.n_rest + n_touched * first->n_out);
}

void drove__params_fini(drove_engine *e)
{
    release(e);
    e->ops->free(e->accel, e->params.frozen);
    e->ops->free(e->accel, e->params.unwanted);
}

/* Where a frozen layer has its parameters, or what would be their gradient. */
static drove_accel_view frozen_view(const drove_engine *e, const drove_accel_buffer *of,
                                    size_t offset)
{
    return drove__accel_view(of == e->params.grad ? e->params.unwanted : e->params.frozen, offset);
}

drove_accel_view drove__params_w(const drove_engine *e, drove_accel_buffer *of, size_t layer)
{
    const drove_layer *l = &e->model->layer[layer];
    bool is_apart = e->is_sparse && layer == 0;
    if (l->training.is_frozen) return frozen_view(e, of, l->w_offset);
    return drove__accel_view(of, is_apart ? e->params.n_rest
                                          : e->model->layer[layer].w_offset - e->params.base);
}

drove_accel_view drove__params_b(const drove_engine *e, drove_accel_buffer *of, size_t layer)
{
    const drove_layer *l = &e->model->layer[layer];
    if (l->training.is_frozen) return frozen_view(e, of, l->b_offset);
    return drove__accel_view(of, l->b_offset - e->params.base);
}

drove_accel_view drove__params_statistics(const drove_engine *e, size_t layer)
{
    const drove_layer *l = &e->model->layer[layer];
    if (l->training.is_frozen) return drove__accel_view(e->params.frozen, l->s_offset);
    return drove__accel_view(e->params.theta, l->s_offset - e->params.base);
}

/* ---- there ---- */

static size_t n_needed(const drove_engine *e)
{
    return e->params.n_rest + (e->is_sparse ? e->present->n_touched * e->model->layer[0].n_out : 0);
}

drove_status drove__params_gather(drove_engine *e, const float *theta)
{
    DROVE_TRY(drove__resident_lend(e));
    if (e->is_sparse) DROVE_TRY(reserve(e, n_needed(e)));
    e->kernels->copy_f32(e->params.theta_host, theta + e->params.base, e->params.n_rest);
    if (e->is_sparse) {
        /* Through the kernel that may read what others write. */
        const drove_accel_staging *s = e->present;
        const drove_layer *l = &e->model->layer[0];
        float *to = e->params.theta_host + e->params.n_rest;
        for (size_t k = 0; k < s->n_spans; k++) {
            size_t n = s->span[k].length * l->n_out;
            e->kernels->copy_f32(to, theta + l->w_offset + s->span[k].offset * l->n_out, n);
            to += n;
        }
    }
    return DROVE_OK;
}

drove_status drove__params_write(drove_engine *e)
{
    const size_t n = n_needed(e);
    DROVE_ACCEL_TRY(e, e->ops->record(e->up, &e->now.events.params_begun));
    DROVE_ACCEL_TRY(e, e->ops->write(e->up, drove__accel_view(e->params.theta, 0),
                                     e->params.theta_host, n));
    DROVE_ACCEL_TRY(e, e->ops->record(e->up, &e->now.events.params_done));
    return drove__accel_try(e, e->ops->flush(e->up));
}

/* ---- and back ---- */

/* Layer's part of what lies as theta does: all of it, or of a sparse first layer what follows W. */
drove_span drove__params_part(const drove_engine *e, size_t layer)
{
    size_t begin, n;
    drove__model_layer_part(e->model, layer, &begin, &n);
    size_t skipped = e->is_sparse && layer == 0 ? e->model->layer[0].b_offset - begin : 0;
    return (drove_span){.offset = begin + skipped, .length = n - skipped};
}

drove_status drove__params_read(drove_engine *e, size_t layer)
{
    drove_span part = drove__params_part(e, layer);
    size_t at = part.offset - e->params.base;
    DROVE_ACCEL_TRY(e, e->ops->read(e->down, e->params.grad_host + at,
                                    drove__accel_view(e->params.grad, at), part.length));
    if (!e->is_sparse || layer > 0) return DROVE_OK;
    return drove__accel_try(e, e->ops->read(e->down, e->params.grad_host + e->params.n_rest,
                                            drove__accel_view(e->params.grad, e->params.n_rest),
                                            e->present->n_touched * e->model->layer[0].n_out));
}

/* The touched rows of the first layer's W.  Where the gradient is wanted in spans, and where that
 * spares something, the others are left alone: the rule of the host engine. */
static void take_touched(drove_engine *e, drove_gradient *grad)
{
    drove_accel_staging *s = e->present;
    const drove_layer *l = &e->model->layer[0];
    const size_t line = DROVE_CACHE_LINE / sizeof(float);
    const float *from = e->params.grad_host + e->params.n_rest;
    size_t n_pairs = ((const uint32_t *)s->host)[s->at.start + s->n_rows];
    size_t w_end = l->w_offset + l->n_in * l->n_out;
    bool has_spans = grad->spans_wanted && n_pairs < l->n_in &&
                     n_pairs * (l->n_out > line ? l->n_out : line) < l->n_in * l->n_out;
    if (!has_spans) memset(grad->value + l->w_offset, 0, l->n_in * l->n_out * sizeof(float));
    for (size_t i = w_end; i < l->b_offset; i++) grad->value[i] = 0.0f;
    for (size_t k = 0; k < s->n_spans; k++) {
        drove_span *span = &s->span[k];
        span->offset = l->w_offset + span->offset * l->n_out;
        span->length *= l->n_out;
        memcpy(grad->value + span->offset, from, span->length * sizeof *from);
        from += span->length;
    }
    if (!has_spans) return;
    s->span[s->n_spans] =
        (drove_span){.offset = l->b_offset, .length = e->model->n_params - l->b_offset};
    grad->span = s->span;
    grad->n_spans = s->n_spans + 1;
}

void drove__params_take(drove_engine *e, size_t layer, drove_gradient *grad)
{
    drove_span part = drove__params_part(e, layer);
    memcpy(grad->value + part.offset, e->params.grad_host + part.offset - e->params.base,
           part.length * sizeof(float));
    if (layer + 1 == e->model->n_layers) /* statistics behind all layers */
        memset(grad->value + part.offset + part.length, 0, e->model->n_statistics * sizeof(float));
    if (e->is_sparse && layer == 0) take_touched(e, grad);
}
