/* engine/accel/layers.c - see layers.h: the table, and the layers that are one operation each. */
#include "engine/accel/layers.h"

#include <string.h>

/* ---- dense ---- */

static drove_status dense_forward(drove_engine *e, size_t l)
{
    const drove_accel_staging *s = e->present;
    const drove_layer *y = &e->model->layer[l];
    drove_accel_view w = drove__params_w(e, e->params.theta, l), out = drove__accel_y(e, l);
    if (l == 0 && s->is_sparse) {
        drove_accel_sparse x = (drove_accel_sparse){
            .start = drove__accel_view(s->device, s->at.start),
            .index = drove__accel_view(s->device, s->at.index),
            .value = drove__accel_view(s->has_value ? s->device : NULL, s->at.value)};
        DROVE_ACCEL_TRY(e, e->ops->sparse_forward(e->work, &x, w, s->n_rows, y->n_out, out));
    } else {
        DROVE_ACCEL_TRY(e, e->ops->gemm(e->work, false, false, s->n_rows, y->n_out, y->n_in, 1.0f,
                                        drove__accel_x(e, l, 0), y->n_in, w, y->n_out, 0.0f, out,
                                        y->n_out));
    }
    return drove__accel_finish_forward(e, l, s->n_rows, y->n_out);
}

static drove_status dense_weights(drove_engine *e, size_t l)
{
    const drove_accel_staging *s = e->present;
    const drove_layer *y = &e->model->layer[l];
    drove_accel_view dw = drove__params_w(e, e->params.grad, l), d = drove__accel_dy(e, l);
    DROVE_TRY(drove__accel_begin_backward(e, l, s->n_rows, y->n_out));
    if (l == 0 && s->is_sparse) {
        drove_accel_sparse xt = (drove_accel_sparse){
            .start = drove__accel_view(s->device, s->at.t_start),
            .index = drove__accel_view(s->device, s->at.t_index),
            .value = drove__accel_view(s->has_value ? s->device : NULL, s->at.t_value)};
        return drove__accel_try(e, e->ops->sparse_backward(e->work, &xt, d, s->n_touched, y->n_out,
                                                           dw));
    }
    return drove__accel_try(e, e->ops->gemm(e->work, true, false, y->n_in, y->n_out, s->n_rows,
                                            1.0f, drove__accel_x(e, l, 0), y->n_in, d, y->n_out,
                                            0.0f, dw, y->n_out));
}

static drove_status dense_data(drove_engine *e, size_t l, unsigned i)
{
    const drove_layer *y = &e->model->layer[l];
    return drove__accel_try(
        e, e->ops->gemm(e->work, false, true, e->present->n_rows, y->n_in, y->n_out, 1.0f,
                        drove__accel_dy(e, l), y->n_out, drove__params_w(e, e->params.theta, l),
                        y->n_out, y->adds[i] ? 1.0f : 0.0f, drove__accel_dx(e, l, i), y->n_in));
}

/* ---- pooling ---- */

static drove_numbers pool_numbers(const drove_engine *e, const drove_layer *y, drove_shape rows_of)
{
    drove_numbers k = drove__accel_numbers(y);
    k.rows = (unsigned)(e->present->n_rows * rows_of.h * rows_of.w);
    k.cols = (unsigned)y->in.c;
    if (y->opt.is_global) {
        k.kh = k.h;
        k.kw = k.w;
        k.sh = k.sw = 1;
        k.ph = k.pw = 0;
    }
    return k;
}

static size_t keep_outputs(const drove_layer *y, size_t rows)
{
    return rows * y->n_out;
}

static drove_status max_pool_forward(drove_engine *e, size_t l)
{
    const drove_layer *y = &e->model->layer[l];
    const drove_accel_job job = {DROVE_JOB_max_pool,
                                 {drove__accel_x(e, l, 0), drove__accel_y(e, l),
                                  drove__accel_view(e->pass.kept[l], 0)},
                                 pool_numbers(e, y, y->out)};
    return drove__accel_job(e, &job);
}

static drove_status max_pool_data(drove_engine *e, size_t l, unsigned i)
{
    const drove_layer *y = &e->model->layer[l];
    drove_accel_job job = {DROVE_JOB_max_pool_grad,
                           {drove__accel_dy(e, l), drove__accel_view(e->pass.kept[l], 0),
                            drove__accel_dx(e, l, i)},
                           pool_numbers(e, y, y->in)};
    job.k.adds = y->adds[i];
    return drove__accel_job(e, &job);
}

static drove_status average_pool_forward(drove_engine *e, size_t l)
{
    const drove_layer *y = &e->model->layer[l];
    const drove_accel_job job = {DROVE_JOB_average_pool,
                                 {drove__accel_x(e, l, 0), drove__accel_y(e, l)},
                                 pool_numbers(e, y, y->out)};
    return drove__accel_job(e, &job);
}

static drove_status average_pool_data(drove_engine *e, size_t l, unsigned i)
{
    const drove_layer *y = &e->model->layer[l];
    drove_accel_job job = {DROVE_JOB_average_pool_grad,
                           {drove__accel_dy(e, l), drove__accel_dx(e, l, i)},
                           pool_numbers(e, y, y->in)};
    job.k.adds = y->adds[i];
    return drove__accel_job(e, &job);
}

/* ---- dropout ---- */

static drove_status drop(drove_engine *e, size_t l, drove_accel_view from, drove_accel_view to,
                         bool adds)
{
    const drove_layer *y = &e->model->layer[l];
    uint64_t seed = e->pass.seed, batch = e->present->number;
    drove_accel_job job = {DROVE_JOB_dropout, {from, to}, {0}};
    job.k.rows = (unsigned)e->present->n_rows;
    job.k.cols = (unsigned)y->n_out;
    job.k.seed[0] = (unsigned)seed;
    job.k.seed[1] = (unsigned)(seed >> 32);
    job.k.seed[2] = (unsigned)batch;
    job.k.seed[3] = (unsigned)(batch >> 32);
    job.k.seed[4] = (unsigned)l;
    job.k.o = (unsigned)(y->opt.ratio * 16777216.0f);
    job.k.scale = 1.0f / (1.0f - y->opt.ratio);
    job.k.adds = adds;
    return drove__accel_job(e, &job);
}

static drove_status move(drove_engine *e, drove_accel_view from, drove_accel_view to, size_t n,
                         float scale, bool adds)
{
    drove_accel_job job = {DROVE_JOB_move, {from, to}, drove__accel_vector(n)};
    job.k.scale = scale;
    job.k.adds = adds;
    return drove__accel_job(e, &job);
}

static drove_status dropout_forward(drove_engine *e, size_t l)
{
    drove_accel_view x = drove__accel_x(e, l, 0), out = drove__accel_y(e, l);
    size_t n = e->present->n_rows * e->model->layer[l].n_out;
    return e->now.is_training ? drop(e, l, x, out, false) : move(e, x, out, n, 1.0f, false);
}

static drove_status dropout_data(drove_engine *e, size_t l, unsigned i)
{
    return drop(e, l, drove__accel_dy(e, l), drove__accel_dx(e, l, i), e->model->layer[l].adds[i]);
}

/* ---- sum, flatten, concatenation ---- */

static drove_status sum_forward(drove_engine *e, size_t l)
{
    const drove_layer *y = &e->model->layer[l];
    size_t n = e->present->n_rows * y->n_out;
    for (unsigned i = 0; i < y->n_bottoms; i++)
        DROVE_TRY(move(e, drove__accel_x(e, l, i), drove__accel_y(e, l), n, y->opt.coefficient[i],
                       i > 0));
    return DROVE_OK;
}

static drove_status sum_data(drove_engine *e, size_t l, unsigned i)
{
    const drove_layer *y = &e->model->layer[l];
    return move(e, drove__accel_dy(e, l), drove__accel_dx(e, l, i), e->present->n_rows * y->n_out,
                y->opt.coefficient[i], y->adds[i]);
}

static drove_status flatten_forward(drove_engine *e, size_t l)
{
    return move(e, drove__accel_x(e, l, 0), drove__accel_y(e, l),
                e->present->n_rows * e->model->layer[l].n_out, 1.0f, false);
}

static drove_status flatten_data(drove_engine *e, size_t l, unsigned i)
{
    const drove_layer *y = &e->model->layer[l];
    return move(e, drove__accel_dy(e, l), drove__accel_dx(e, l, i), e->present->n_rows * y->n_out,
                1.0f, y->adds[i]);
}

/* Bottom i is a stretch of channels of the output. */
static drove_status stretch(drove_engine *e, size_t l, unsigned i, bool is_forward)
{
    const drove_layer *y = &e->model->layer[l];
    size_t c = drove__blob_shape(e->model, y->bottom[i]).c, at = 0;
    for (unsigned j = 0; j < i; j++) at += drove__blob_shape(e->model, y->bottom[j]).c;
    drove_accel_view whole = is_forward ? drove__accel_y(e, l) : drove__accel_dy(e, l);
    drove_accel_view part = is_forward ? drove__accel_x(e, l, i) : drove__accel_dx(e, l, i);
    whole.offset += at;
    drove_accel_job job = {DROVE_JOB_move, {part, whole}, {.scale = 1.0f}};
    job.k.rows = (unsigned)(e->present->n_rows * y->out.h * y->out.w);
    job.k.cols = job.k.from_row = (unsigned)c;
    job.k.to_row = (unsigned)y->out.c;
    if (!is_forward) {
        job.at[0] = whole;
        job.at[1] = part;
        job.k.from_row = (unsigned)y->out.c;
        job.k.to_row = (unsigned)c;
        job.k.adds = y->adds[i];
    }
    return drove__accel_job(e, &job);
}

static drove_status concat_forward(drove_engine *e, size_t l)
{
    for (unsigned i = 0; i < e->model->layer[l].n_bottoms; i++) DROVE_TRY(stretch(e, l, i, true));
    return DROVE_OK;
}

static drove_status concat_data(drove_engine *e, size_t l, unsigned i)
{
    return stretch(e, l, i, false);
}

/* ---- product ---- */

/* Rows of channels, for n_images times `places` of them. */
static drove_status product(drove_engine *e, unsigned which, const drove_accel_view at[3],
                            const drove_layer *y, size_t n_rows, size_t each, bool adds)
{
    drove_accel_job job = {which, {at[0], at[1], at[2]}, {0}};
    job.k.rows = (unsigned)n_rows;
    job.k.cols = (unsigned)y->in.c;
    job.k.each = (unsigned)each;
    job.k.adds = adds;
    return drove__accel_job(e, &job);
}

/* Places of an image that share a factor: 1 if each has its own. */
static size_t shared_places(const drove_engine *e, const drove_layer *y)
{
    return y->n_in / drove__shape_floats(drove__blob_shape(e->model, y->bottom[1]));
}

static drove_status product_forward(drove_engine *e, size_t l)
{
    const drove_layer *y = &e->model->layer[l];
    const drove_accel_view at[] = {drove__accel_x(e, l, 0), drove__accel_x(e, l, 1),
                                   drove__accel_y(e, l)};
    return product(e, DROVE_JOB_product, at, y, e->present->n_rows * y->in.h * y->in.w,
                   shared_places(e, y), false);
}

static drove_status product_data(drove_engine *e, size_t l, unsigned i)
{
    const drove_layer *y = &e->model->layer[l];
    const size_t n_places = e->present->n_rows * y->in.h * y->in.w, each = shared_places(e, y);
    const drove_accel_view at[] = {drove__accel_dy(e, l), drove__accel_x(e, l, 1 - i),
                                   drove__accel_dx(e, l, i)};
    if (i == 0 || each == 1)
        return product(e, DROVE_JOB_product, at, y, n_places, i == 0 ? each : 1, y->adds[i]);
    return product(e, DROVE_JOB_product_sum, at, y, n_places / each, each, y->adds[i]);
}

/* ---- activation, softmax ---- */

/* A curve of vectors at[], and how it is told. */
static drove_status curve(drove_engine *e, const drove_layer *y, drove_accel_job job, bool adds)
{
    job.k = drove__accel_vector(e->present->n_rows * y->n_out);
    job.k.act = (unsigned)y->act;
    job.k.alpha = y->opt.slope;
    job.k.beta = y->opt.level;
    job.k.adds = adds;
    return drove__accel_job(e, &job);
}

static drove_status activation_forward(drove_engine *e, size_t l)
{
    const drove_layer *y = &e->model->layer[l];
    drove_accel_view x = drove__accel_x(e, l, 0), to = drove__accel_y(e, l);
    if (drovek_is_curve(y->act))
        return curve(e, y, (drove_accel_job){DROVE_JOB_curve, {x, to}, {0}}, false);
    return drove__accel_activate(e, x, to, e->present->n_rows * y->n_out, y->act);
}

static drove_status activation_data(drove_engine *e, size_t l, unsigned i)
{
    const drove_layer *y = &e->model->layer[l];
    drove_accel_view d = drove__accel_dy(e, l), dx = drove__accel_dx(e, l, i);
    if (drovek_is_curve(y->act)) {
        const drove_accel_job job = {DROVE_JOB_curve_grad, {d, drove__accel_x(e, l, i), dx}, {0}};
        return curve(e, y, job, y->adds[i]);
    }
    return drove__accel_derive(e, d, drove__accel_y(e, l), dx, e->present->n_rows * y->n_out,
                               y->act, y->adds[i]);
}

static drove_numbers softmax_numbers(const drove_engine *e, const drove_layer *y)
{
    return (drove_numbers){.rows = (unsigned)(e->present->n_rows * y->in.h * y->in.w),
                           .cols = 1,
                           .c = (unsigned)y->in.c};
}

static drove_status softmax_forward(drove_engine *e, size_t l)
{
    const drove_accel_job job = {DROVE_JOB_softmax,
                                 {drove__accel_x(e, l, 0), drove__accel_y(e, l)},
                                 softmax_numbers(e, &e->model->layer[l])};
    return drove__accel_job(e, &job);
}

static drove_status softmax_data(drove_engine *e, size_t l, unsigned i)
{
    drove_accel_job job = {DROVE_JOB_softmax_grad,
                           {drove__accel_dy(e, l), drove__accel_y(e, l), drove__accel_dx(e, l, i)},
                           softmax_numbers(e, &e->model->layer[l])};
    job.k.adds = e->model->layer[l].adds[i];
    return drove__accel_job(e, &job);
}

/* ---- the table ---- */

static const drove_accel_layer kinds[] = {
    {&drove__layer_dense, true, dense_forward, dense_weights, dense_data, NULL, NULL},
    {&drove__layer_convolution, true, drove__accel_conv_forward, drove__accel_conv_weights,
     drove__accel_conv_data, NULL, drove__accel_conv_scratch},
    {&drove__layer_max_pool, false, max_pool_forward, NULL, max_pool_data, keep_outputs, NULL},
    {&drove__layer_average_pool, false, average_pool_forward, NULL, average_pool_data, NULL, NULL},
    {&drove__layer_lrn, false, drove__accel_lrn_forward, NULL, drove__accel_lrn_data, keep_outputs,
     NULL},
    {&drove__layer_dropout, false, dropout_forward, NULL, dropout_data, NULL, NULL},
    {&drove__layer_batch_norm, false, drove__accel_batch_norm_forward,
     drove__accel_batch_norm_weights, drove__accel_batch_norm_data, drove__accel_batch_norm_kept,
     drove__accel_batch_norm_scratch},
    {&drove__layer_layer_norm, false, drove__accel_layer_norm_forward,
     drove__accel_layer_norm_weights, drove__accel_layer_norm_data, drove__accel_layer_norm_kept,
     drove__accel_layer_norm_scratch},
    {&drove__layer_concat, false, concat_forward, NULL, concat_data, NULL, NULL},
    {&drove__layer_sum, false, sum_forward, NULL, sum_data, NULL, NULL},
    {&drove__layer_product, false, product_forward, NULL, product_data, NULL, NULL},
    {&drove__layer_flatten, false, flatten_forward, NULL, flatten_data, NULL, NULL},
    {&drove__layer_activation, true, activation_forward, NULL, activation_data, NULL, NULL},
    {&drove__layer_prelu, false, drove__accel_prelu_forward, drove__accel_prelu_weights,
     drove__accel_prelu_data, NULL, drove__accel_prelu_scratch},
    {&drove__layer_softmax, false, softmax_forward, NULL, softmax_data, NULL, NULL},
};

const drove_accel_layer *drove__accel_layer(const drove_layer *y)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].ops == y->ops) return &kinds[i];
    }
    return NULL;
}
