/* device/host/host.c - the engine of the calling thread: gathers the examples of a batch, then one
 * pass of the model.
 *
 * Dense examples become rows of x[n_rows][n_features], widened and scaled on the way (one pass);
 * where they already lie in memory as they are wanted, they are read in place.  Sparse examples are
 * read in place, unless they must be scaled or are quantised.  Where a sparse batch's gradient is
 * given in spans, a step costs what the non-zeros cost, whatever n_features is.
 *
 * Batches are not cut into blocks of rows: measured with 784-128-128-128-10, a step of 512 examples
 * costs no more for each of them than one of 64 or 128.
 *
 * Memory: everything a training step needs is allocated at creation for the data named there; a
 * batch of other data (evaluation) that needs more makes a scratch array grow once.
 * Threads: an engine is used by one thread at a time; model, kernels and data are only read.
 */
#include "device/engine.h"

#include "base/clock.h"
#include "base/mem.h"
#include "data/quant.h"
#include "device/host/touched.h"

#include <stdlib.h>
#include <string.h>

enum {
    PREFETCH_ROWS = 4,    /* examples ahead */
    PREFETCH_BYTES = 4096 /* of one example; the processor's own prefetching follows from there */
};

struct drove_engine {
    const drove_model *model;
    const drovek_table *kernels;
    size_t max_rows;
    drove_pass pass;
    float *x;               /* [max_rows][n_features]                  */
    uint64_t *first, *last; /* [max_rows] rows of sparse examples        */
    uint32_t *index;        /* [n_pairs] scaled sparse examples, packed  */
    float *value;           /* [n_pairs]                                 */
    size_t n_pairs;
    int32_t *y_class;                   /* [max_rows]                                */
    float *y_value;                     /* [max_rows]                                */
    uint64_t *label_first, *label_last; /* [max_rows]                           */
    drove_touched touched;
    drove_span *span; /* [n_features / 2 + 2] at most              */
    size_t n_spans;   /* room                                      */
};

/* ---- scratch ---- */

static drove_status reserve_dense(drove_engine *e)
{
    if (e->x != NULL) return DROVE_OK;
    if (e->model->n_inputs > SIZE_MAX / 64 / e->max_rows) {
        return drove__fail(DROVE_E_ARG, "a batch of %zu examples of %zu features is too large",
                           e->max_rows, e->model->n_inputs);
    }
    size_t n = e->max_rows * e->model->n_inputs;
    e->x = drove__alloc(n, sizeof *e->x);
    return e->x != NULL ? DROVE_OK : drove__fail_nomem("examples of a batch", n * sizeof *e->x);
}

static drove_status reserve_pairs(drove_engine *e, size_t n_pairs)
{
    if (n_pairs <= e->n_pairs) return DROVE_OK;
    drove__free(e->index);
    drove__free(e->value);
    e->n_pairs = 0;
    e->index = drove__alloc(n_pairs, sizeof *e->index);
    e->value = drove__alloc(n_pairs, sizeof *e->value);
    if (e->index == NULL || e->value == NULL) {
        return drove__fail_nomem("sparse examples of a batch",
                                 n_pairs * (sizeof *e->index + sizeof *e->value));
    }
    e->n_pairs = n_pairs;
    return DROVE_OK;
}

static drove_status reserve_spans(drove_engine *e, size_t n_spans)
{
    if (n_spans <= e->n_spans) return DROVE_OK;
    drove__free(e->span);
    e->n_spans = 0;
    e->span = drove__alloc(n_spans, sizeof *e->span);
    if (e->span == NULL) return drove__fail_nomem("spans of a gradient", n_spans * sizeof *e->span);
    e->n_spans = n_spans;
    return DROVE_OK;
}

/* Most spans that n_pairs non-zeros can make, plus the one of everything behind the first layer's
 * weights. */
static size_t most_spans(const drove_engine *e, size_t n_pairs)
{
    size_t most = e->model->n_inputs / 2 + 1;
    return (n_pairs < most ? n_pairs : most) + 1;
}

static drove_status reserve_sparse(drove_engine *e, const drove_data *data)
{
    const drove_storage *s = data->storage;
    bool is_quantised = s->x_kind == DROVE_X_QUANT;
    const uint64_t *row_start = is_quantised ? s->quant->row_start : s->row_start;
    uint64_t longest = 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        uint64_t length = row_start[row + 1] - row_start[row];
        longest = length > longest ? length : longest;
    }
    if (longest > SIZE_MAX / 64 / e->max_rows) {
        return drove__fail(DROVE_E_ARG, "a batch of %zu examples is too large", e->max_rows);
    }
    size_t n_pairs = e->max_rows * (size_t)longest;
    if (is_quantised || data->factor != NULL) DROVE_TRY(reserve_pairs(e, n_pairs));
    DROVE_TRY(reserve_spans(e, most_spans(e, n_pairs)));
    return drove__touched_init(&e->touched, e->model->n_inputs);
}

static void destroy(drove_engine *e)
{
    if (e == NULL) return;
    drove__pass_fini(&e->pass);
    drove__touched_fini(&e->touched);
    drove__free(e->x);
    drove__free(e->first);
    drove__free(e->last);
    drove__free(e->index);
    drove__free(e->value);
    drove__free(e->y_class);
    drove__free(e->y_value);
    drove__free(e->label_first);
    drove__free(e->label_last);
    drove__free(e->span);
    free(e);
}

static drove_status allocate(drove_engine *e, const drove_data *data)
{
    DROVE_TRY(drove__pass_init(&e->pass, e->model, e->max_rows));
    e->first = drove__alloc(e->max_rows, sizeof *e->first);
    e->last = drove__alloc(e->max_rows, sizeof *e->last);
    e->y_class = drove__alloc(e->max_rows, sizeof *e->y_class);
    e->y_value = drove__alloc(e->max_rows, sizeof *e->y_value);
    e->label_first = drove__alloc(e->max_rows, sizeof *e->label_first);
    e->label_last = drove__alloc(e->max_rows, sizeof *e->label_last);
    if (e->first == NULL || e->last == NULL || e->y_class == NULL || e->y_value == NULL ||
        e->label_first == NULL || e->label_last == NULL) {
        return drove__fail_nomem("engine", e->max_rows * sizeof *e->first);
    }
    return drove__storage_is_sparse(data->storage) ? reserve_sparse(e, data) : reserve_dense(e);
}

static drove_status create(const drove_engine_options *opt, drove_engine **out)
{
    *out = NULL;
    if (opt->max_rows == 0) return drove__fail(DROVE_E_ARG, "batch: expected at least 1 example");
    if (opt->data->storage->n_features != opt->model->n_inputs) {
        return drove__fail(DROVE_E_SHAPE, "the data have %zu features, the model takes %zu",
                           opt->data->storage->n_features, opt->model->n_inputs);
    }
    drove_engine *e = calloc(1, sizeof *e);
    if (e == NULL) return drove__fail_nomem("engine", sizeof *e);
    e->model = opt->model;
    e->kernels = opt->kernels;
    e->max_rows = opt->max_rows;
    drove_status status = allocate(e, opt->data);
    if (status != DROVE_OK) {
        destroy(e);
        return status;
    }
    *out = e;
    return DROVE_OK;
}

/* ---- gathering ---- */

/* Asks for example i of a batch, if there is one, from x[.][row_bytes].  Always inlined: a call of
 * a function that only prefetches counts as one without effect, and gcc 12 drops it. */
__attribute__((always_inline)) static inline void prefetch(const drove_batch *batch, size_t i,
                                                           const void *x, size_t row_bytes)
{
    if (i >= batch->n_rows) return;
    const char *p = (const char *)x + drove__data_row(batch->data, batch->row[i]) * row_bytes;
    size_t most = row_bytes < PREFETCH_BYTES ? row_bytes : PREFETCH_BYTES;
    for (size_t at = 0; at < most; at += DROVE_CACHE_LINE) __builtin_prefetch(p + at);
}

static void load_u8(drove_engine *e, const drove_batch *batch, drove_input *in)
{
    const drove_data *data = batch->data;
    const size_t n = e->model->n_inputs;
    const uint8_t *x = data->storage->x_u8;
    for (size_t i = 1; i < PREFETCH_ROWS; i++) prefetch(batch, i, x, n);
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + PREFETCH_ROWS, x, n);
        e->kernels->widen_u8_f32(e->x + i * n, x + drove__data_row(data, batch->row[i]) * n,
                                 data->shift, data->factor, n);
    }
    in->dense = e->x;
}

/* Do the rows of the batch lie behind each other? */
static bool is_run(const drove_batch *batch)
{
    size_t row = drove__data_row(batch->data, batch->row[0]);
    for (size_t i = 1; i < batch->n_rows; i++) {
        if (drove__data_row(batch->data, batch->row[i]) != row + i) return false;
    }
    return true;
}

static void load_f32(drove_engine *e, const drove_batch *batch, drove_input *in)
{
    const drove_data *data = batch->data;
    const size_t n = e->model->n_inputs;
    const float *x = data->storage->x_f32;
    if (data->factor == NULL && is_run(batch)) {
        in->dense = x + drove__data_row(data, batch->row[0]) * n;
        return;
    }
    for (size_t i = 1; i < PREFETCH_ROWS; i++) prefetch(batch, i, x, n * sizeof *x);
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + PREFETCH_ROWS, x, n * sizeof *x);
        const float *from = x + drove__data_row(data, batch->row[i]) * n;
        if (data->factor != NULL) {
            e->kernels->affine_f32(e->x + i * n, from, data->shift, data->factor, n);
        } else {
            memcpy(e->x + i * n, from, n * sizeof *x);
        }
    }
    in->dense = e->x;
}

/* Packs the rows of *in, each value times its feature's factor, into the engine's own arrays. */
static drove_status scale_sparse(drove_engine *e, const drove_data *data, size_t n_pairs,
                                 drove_input *in)
{
    const drove_storage *s = data->storage;
    size_t to = 0;
    DROVE_TRY(reserve_pairs(e, n_pairs));
    for (size_t i = 0; i < in->n_rows; i++) {
        size_t begin = to;
        for (uint64_t at = e->first[i]; at < e->last[i]; at++, to++) {
            e->index[to] = s->index[at];
            e->value[to] = (s->value != NULL ? s->value[at] : 1.0f) * data->factor[s->index[at]];
        }
        e->first[i] = begin;
        e->last[i] = to;
    }
    in->index = e->index;
    in->value = e->value;
    return DROVE_OK;
}

static drove_status load_sparse(drove_engine *e, const drove_batch *batch, drove_input *in)
{
    const drove_data *data = batch->data;
    const drove_storage *s = data->storage;
    size_t n_pairs = 0;
    for (size_t i = 0; i < batch->n_rows; i++) {
        size_t row = drove__data_row(data, batch->row[i]);
        e->first[i] = s->row_start[row];
        e->last[i] = s->row_start[row + 1];
        n_pairs += (size_t)(e->last[i] - e->first[i]);
        __builtin_prefetch(s->index + e->first[i]);
        if (s->value != NULL) __builtin_prefetch(s->value + e->first[i]);
    }
    in->first = e->first;
    in->last = e->last;
    in->index = s->index;
    in->value = s->value;
    return data->factor != NULL ? scale_sparse(e, data, n_pairs, in) : DROVE_OK;
}

static void load_quantised(drove_engine *e, const drove_batch *batch, drove_input *in)
{
    const drove_quant *q = batch->data->storage->quant;
    for (size_t i = 1; i < PREFETCH_ROWS; i++) prefetch(batch, i, q->value, q->row_bytes);
    for (size_t i = 0; i < batch->n_rows; i++) {
        prefetch(batch, i + PREFETCH_ROWS, q->value, q->row_bytes);
        drove__quant_row(q, drove__data_row(batch->data, batch->row[i]), NULL,
                         e->x + i * e->model->n_inputs);
    }
    in->dense = e->x;
}

/* Unpacks the rows of a batch into the engine's own arrays. */
static drove_status load_quantised_pairs(drove_engine *e, const drove_batch *batch, drove_input *in)
{
    const drove_quant *q = batch->data->storage->quant;
    size_t n_pairs = 0, to = 0;
    for (size_t i = 0; i < batch->n_rows; i++) {
        size_t row = drove__data_row(batch->data, batch->row[i]);
        n_pairs += (size_t)(q->row_start[row + 1] - q->row_start[row]);
    }
    DROVE_TRY(reserve_pairs(e, n_pairs));
    for (size_t i = 0; i < batch->n_rows; i++) {
        e->first[i] = to;
        to += drove__quant_row(q, drove__data_row(batch->data, batch->row[i]), e->index + to,
                               e->value + to);
        e->last[i] = to;
    }
    in->first = e->first;
    in->last = e->last;
    in->index = e->index;
    in->value = e->value;
    return DROVE_OK;
}

static drove_status load(drove_engine *e, const drove_batch *batch, drove_input *in)
{
    const drove_storage *s = batch->data->storage;
    if (batch->n_rows == 0 || batch->n_rows > e->max_rows) {
        return drove__fail(DROVE_E_ARG, "batch of %zu examples: expected 1 to %zu", batch->n_rows,
                           e->max_rows);
    }
    if (s->n_features != e->model->n_inputs) {
        return drove__fail(DROVE_E_SHAPE, "the data have %zu features, the model takes %zu",
                           s->n_features, e->model->n_inputs);
    }
    *in = (drove_input){.n_rows = batch->n_rows};
    if (s->x_kind == DROVE_X_CSR) return load_sparse(e, batch, in);
    if (drove__storage_is_sparse(s)) return load_quantised_pairs(e, batch, in);
    DROVE_TRY(reserve_dense(e));
    if (s->x_kind == DROVE_X_U8) load_u8(e, batch, in);
    else if (s->x_kind == DROVE_X_F32) load_f32(e, batch, in);
    else load_quantised(e, batch, in);
    return DROVE_OK;
}

static void load_target(drove_engine *e, const drove_batch *batch, drove_target *target)
{
    const drove_data *data = batch->data;
    const drove_storage *s = data->storage;
    *target = (drove_target){0};
    for (size_t i = 0; i < batch->n_rows; i++) {
        size_t row = drove__data_row(data, batch->row[i]);
        switch (s->y_kind) {
        case DROVE_Y_CLASS: e->y_class[i] = s->y_class[row]; break;
        case DROVE_Y_VALUE: e->y_value[i] = s->y_value[row]; break;
        case DROVE_Y_LABELS:
            e->label_first[i] = s->label_start[row];
            e->label_last[i] = s->label_start[row + 1];
            break;
        }
    }
    if (s->y_kind == DROVE_Y_CLASS) target->y_class = e->y_class;
    if (s->y_kind == DROVE_Y_VALUE) target->y_value = e->y_value;
    if (s->y_kind == DROVE_Y_LABELS) {
        target->label_first = e->label_first;
        target->label_last = e->label_last;
        target->label = s->label;
    }
}

/* ---- operations ---- */

/* Spans of the gradient of a sparse batch: the touched rows of the first layer's W, then all the
 * rest.  None where those rows may lie in as many cache lines as all of W does: then spans would
 * cost more than they spare. */
static drove_status find_spans(drove_engine *e, const drove_input *in, drove_gradient *grad)
{
    const drove_layer *l = &e->model->layer[0];
    const size_t line = DROVE_CACHE_LINE / sizeof(float);
    size_t n_pairs = 0;
    for (size_t i = 0; i < in->n_rows; i++) n_pairs += (size_t)(in->last[i] - in->first[i]);
    if (n_pairs >= l->n_in || n_pairs * (l->n_out > line ? l->n_out : line) >= l->n_in * l->n_out) {
        return DROVE_OK;
    }
    if (e->touched.n_levels == 0) DROVE_TRY(drove__touched_init(&e->touched, e->model->n_inputs));
    DROVE_TRY(reserve_spans(e, most_spans(e, n_pairs)));
    for (size_t i = 0; i < in->n_rows; i++) {
        for (uint64_t at = in->first[i]; at < in->last[i]; at++)
            drove__touched_add(&e->touched, in->index[at]);
    }
    size_t n = drove__touched_drain(&e->touched, l->w_offset, l->n_out, e->span);
    e->span[n++] = (drove_span){.offset = l->b_offset, .length = e->model->n_params - l->b_offset};
    grad->span = e->span;
    grad->n_spans = n;
    return DROVE_OK;
}

static drove_status gradient(drove_engine *e, const float *theta, const drove_batch *batch,
                             drove_gradient *grad, drove_score *score, uint64_t *forward_ns,
                             uint64_t *backward_ns)
{
    drove_input in;
    drove_target target;
    drove_score sum = {0};
    bool is_timed = forward_ns != NULL || backward_ns != NULL;
    uint64_t start = is_timed ? drove__now_ns() : 0;
    grad->span = NULL;
    grad->n_spans = 0;
    DROVE_TRY(load(e, batch, &in));
    load_target(e, batch, &target);
    if (grad->spans_wanted && in.dense == NULL) DROVE_TRY(find_spans(e, &in, grad));
    drove__model_forward(e->model, e->kernels, theta, &in, &e->pass);
    drove__model_loss(e->model, e->kernels, &target, in.n_rows, 1.0f / (float)in.n_rows, &e->pass,
                      &sum);
    uint64_t middle = is_timed ? drove__now_ns() : 0;
    drove__model_backward(e->model, e->kernels, theta, &in, &e->pass, grad->value,
                          grad->span != NULL, grad->after_layer, grad->context);
    if (forward_ns != NULL) *forward_ns += middle - start;
    if (backward_ns != NULL) *backward_ns += drove__now_ns() - middle;
    if (score != NULL) drove__score_add(score, &sum);
    return DROVE_OK;
}

static drove_status step_fused(drove_engine *e, float *theta, const drove_batch *batch, float eta,
                               drove_score *score)
{
    drove_input in;
    drove_target target;
    drove_score sum = {0};
    DROVE_TRY(load(e, batch, &in));
    load_target(e, batch, &target);
    drove__model_forward(e->model, e->kernels, theta, &in, &e->pass);
    drove__model_loss(e->model, e->kernels, &target, in.n_rows, 1.0f / (float)in.n_rows, &e->pass,
                      &sum);
    drove__model_backward_fused(e->model, e->kernels, theta, &in, &e->pass, eta);
    if (score != NULL) drove__score_add(score, &sum);
    return DROVE_OK;
}

static drove_status score_batch(drove_engine *e, const float *theta, const drove_batch *batch,
                                drove_score *score)
{
    drove_input in;
    drove_target target;
    DROVE_TRY(load(e, batch, &in));
    load_target(e, batch, &target);
    drove__model_forward(e->model, e->kernels, theta, &in, &e->pass);
    drove__model_loss(e->model, e->kernels, &target, in.n_rows, 0.0f, &e->pass, score);
    return DROVE_OK;
}

static drove_status predict(drove_engine *e, const float *theta, const drove_batch *batch,
                            float *prob)
{
    drove_input in;
    DROVE_TRY(load(e, batch, &in));
    drove__model_forward(e->model, e->kernels, theta, &in, &e->pass);
    drove__model_predict(e->model, in.n_rows, &e->pass, prob);
    return DROVE_OK;
}

const drove_engine_ops drove__engine_host = {
    .name = "host",
    .help = "the worker's own thread computes",
    .source = "drove",
    .create = create,
    .destroy = destroy,
    .gradient = gradient,
    .step_fused = step_fused,
    .score = score_batch,
    .predict = predict,
};
