/* engine/accel/layer_norm.c - layer normalisation and prelu on a device; see layers.h.
 *
 * Layer normalisation keeps [groups of all examples][4]: mean, 1 / sqrt(variance + epsilon), and in
 * the backward pass the two means that the derivative at the input is made of.
 */
#include "engine/accel/layers.h"

/* ---- layer normalisation ---- */

static size_t groups_of(const drove_layer *y)
{
    return y->n_in / y->n_w;
}

/* Sides of the example, of a group, and of the array of groups. */
static drove_numbers sides_of(const drove_layer *y)
{
    const drove_over *over = &y->opt.over;
    const unsigned h = (unsigned)y->in.h, w = (unsigned)y->in.w, c = (unsigned)y->in.c;
    return (drove_numbers){.h = h,
                           .w = w,
                           .c = c,
                           .kh = over->height ? h : 1,
                           .kw = over->width ? w : 1,
                           .o = over->channels ? c : 1,
                           .oh = over->height ? 1 : h,
                           .ow = over->width ? 1 : w,
                           .groups = over->channels ? 1 : c,
                           .each = (unsigned)y->n_in,
                           .epsilon = y->opt.epsilon};
}

static drove_numbers by_place(const drove_engine *e, const drove_layer *y)
{
    drove_numbers k = sides_of(y);
    k.rows = (unsigned)(e->present->n_rows * y->in.h * y->in.w);
    k.cols = (unsigned)y->in.c;
    return k;
}

static drove_numbers by_group(const drove_engine *e, const drove_layer *y, size_t cols)
{
    drove_numbers k = sides_of(y);
    k.rows = (unsigned)(e->present->n_rows * groups_of(y));
    k.cols = (unsigned)cols;
    return k;
}

size_t drove__accel_layer_norm_kept(const drove_layer *y, size_t rows)
{
    return 4 * rows * groups_of(y);
}

size_t drove__accel_layer_norm_scratch(const drove_layer *y, size_t rows)
{
    return drove__accel_sum_floats(rows * groups_of(y), y->n_w);
}

drove_status drove__accel_layer_norm_forward(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    const drove_accel_view x = drove__accel_x(e, layer, 0),
                           kept = drove__accel_view(e->pass.kept[layer], 0);
    const drove_accel_job moments = {DROVE_JOB_group_moments, {x, kept}, by_group(e, y, 1)};
    DROVE_TRY(drove__accel_job(e, &moments));
    const drove_accel_job job = {DROVE_JOB_layer_norm,
                                 {x, drove__accel_y(e, layer), kept,
                                  drove__params_w(e, e->params.theta, layer),
                                  drove__params_b(e, e->params.theta, layer)},
                                 by_place(e, y)};
    return drove__accel_job(e, &job);
}

drove_status drove__accel_layer_norm_weights(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    const drove_accel_view kept = drove__accel_view(e->pass.kept[layer], 0);
    drove_accel_job job = {
        DROVE_JOB_group_products,
        {drove__accel_x(e, layer, 0), {NULL, 0}, kept, drove__accel_dy(e, layer)},
        by_group(e, y, y->n_w)};
    job.k.alpha = 1.0f;
    DROVE_TRY(drove__accel_sum(e, &job, 1.0f, drove__params_w(e, e->params.grad, layer)));
    job.k.alpha = 0.0f;
    job.k.beta = 1.0f;
    return drove__accel_sum(e, &job, 1.0f, drove__params_b(e, e->params.grad, layer));
}

drove_status drove__accel_layer_norm_data(drove_engine *e, size_t layer, unsigned i)
{
    const drove_layer *y = &e->model->layer[layer];
    const drove_accel_view x = drove__accel_x(e, layer, 0), dy = drove__accel_dy(e, layer),
                           kept = drove__accel_view(e->pass.kept[layer], 0),
                           gamma = drove__params_w(e, e->params.theta, layer);
    const drove_accel_job means = {DROVE_JOB_group_means, {dy, kept, x, gamma}, by_group(e, y, 1)};
    DROVE_TRY(drove__accel_job(e, &means));
    drove_accel_job job = {DROVE_JOB_layer_norm_grad,
                           {x, dy, kept, gamma, drove__accel_dx(e, layer, i)},
                           by_place(e, y)};
    job.k.adds = y->adds[i];
    return drove__accel_job(e, &job);
}

/* ---- prelu ---- */

/* Rows of numbers that have a slope each, or share one. */
static drove_numbers by_slope(const drove_layer *y, size_t n_rows)
{
    const size_t cols = y->n_w > 1 ? y->n_w : y->in.c;
    return (drove_numbers){.rows = (unsigned)(n_rows * (y->n_in / cols)),
                           .cols = (unsigned)cols,
                           .each = y->n_w > 1};
}

size_t drove__accel_prelu_scratch(const drove_layer *y, size_t rows)
{
    const drove_numbers k = by_slope(y, rows);
    return drove__accel_sum_floats(k.rows, k.cols);
}

drove_status drove__accel_prelu_forward(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    const drove_accel_job job = {DROVE_JOB_prelu,
                                 {drove__accel_x(e, layer, 0), drove__accel_y(e, layer),
                                  drove__params_w(e, e->params.theta, layer)},
                                 by_slope(y, e->present->n_rows)};
    return drove__accel_job(e, &job);
}

drove_status drove__accel_prelu_weights(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    const drove_accel_view to = drove__params_w(e, e->params.grad, layer);
    drove_accel_job job = {
        DROVE_JOB_prelu_products,
        {drove__accel_x(e, layer, 0), {NULL, 0}, {NULL, 0}, drove__accel_dy(e, layer)},
        by_slope(y, e->present->n_rows)};
    return y->n_w > 1 ? drove__accel_sum(e, &job, 1.0f, to)
                      : drove__accel_sum_all(e, &job, 1.0f, to);
}

drove_status drove__accel_prelu_data(drove_engine *e, size_t layer, unsigned i)
{
    const drove_layer *y = &e->model->layer[layer];
    drove_accel_job job = {DROVE_JOB_prelu_grad,
                           {drove__accel_dy(e, layer), drove__accel_x(e, layer, i),
                            drove__params_w(e, e->params.theta, layer),
                            drove__accel_dx(e, layer, i)},
                           by_slope(y, e->present->n_rows)};
    job.k.adds = y->adds[i];
    return drove__accel_job(e, &job);
}
