/* engine/accel/norm.c - local response normalisation and batch normalisation on a device; see
 * layers.h.
 *
 * Batch normalisation keeps [4][c]: means and variances of the batch, derivatives of gamma and beta
 * (the gradient's own memory may be given the sum over devices before they are used).
 */
#include "engine/accel/layers.h"

static size_t places_of(const drove_engine *e, const drove_layer *y)
{
    return e->present->n_rows * y->in.h * y->in.w;
}

/* ---- local response normalisation ---- */

static drove_numbers lrn_numbers(const drove_engine *e, const drove_layer *y)
{
    drove_numbers k = drove__accel_numbers(y);
    k.rows = (unsigned)places_of(e, y);
    k.cols = (unsigned)y->in.c;
    k.kh = (unsigned)y->opt.lrn.size;
    k.scale = y->opt.lrn.alpha / (float)y->opt.lrn.size;
    k.beta = y->opt.lrn.beta;
    k.kappa = y->opt.lrn.kappa;
    return k;
}

drove_status drove__accel_lrn_forward(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    const drove_accel_job job = {DROVE_JOB_lrn,
                                 {drove__accel_x(e, layer, 0), drove__accel_y(e, layer),
                                  drove__accel_view(e->pass.kept[layer], 0)},
                                 lrn_numbers(e, y)};
    return drove__accel_job(e, &job);
}

drove_status drove__accel_lrn_data(drove_engine *e, size_t layer, unsigned i)
{
    const drove_layer *y = &e->model->layer[layer];
    drove_accel_job job = {DROVE_JOB_lrn_grad,
                           {drove__accel_x(e, layer, 0), drove__accel_y(e, layer),
                            drove__accel_view(e->pass.kept[layer], 0), drove__accel_dy(e, layer),
                            drove__accel_dx(e, layer, i)},
                           lrn_numbers(e, y)};
    job.k.adds = y->adds[i];
    return drove__accel_job(e, &job);
}

/* ---- batch normalisation ---- */

size_t drove__accel_batch_norm_kept(const drove_layer *y, size_t rows)
{
    (void)rows;
    return 4 * y->in.c;
}

size_t drove__accel_batch_norm_scratch(const drove_layer *y, size_t rows)
{
    return drove__accel_sum_floats(rows * y->in.h * y->in.w, y->in.c);
}

static drove_numbers norm_numbers(const drove_engine *e, const drove_layer *y)
{
    drove_numbers k = {.rows = (unsigned)places_of(e, y), .cols = (unsigned)y->in.c};
    k.epsilon = y->opt.epsilon;
    return k;
}

static bool is_of_batch(const drove_engine *e, size_t layer)
{
    return e->now.is_training && !e->model->layer[layer].training.is_frozen;
}

/* [2][c]: of the batch, or of the population. */
static drove_accel_view moments(const drove_engine *e, size_t layer)
{
    if (is_of_batch(e, layer)) return drove__accel_view(e->pass.kept[layer], 0);
    return drove__params_statistics(e, layer);
}

drove_status drove__accel_batch_norm_forward(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    if (is_of_batch(e, layer)) { /* means and variances of the batch */
        drove_accel_view x = drove__accel_x(e, layer, 0);
        drove_accel_view mean = drove__accel_view(e->pass.kept[layer], 0);
        drove_accel_view variance = drove__accel_view(e->pass.kept[layer], y->in.c);
        float part = 1.0f / (float)places_of(e, y);
        drove_accel_job sum = {DROVE_JOB_sum_values, {x}, norm_numbers(e, y)};
        DROVE_TRY(drove__accel_sum(e, &sum, part, mean));
        drove_accel_job squares = {DROVE_JOB_sum_squares, {x, {NULL, 0}, mean}, norm_numbers(e, y)};
        DROVE_TRY(drove__accel_sum(e, &squares, part, variance));
    }
    const drove_accel_job job = {DROVE_JOB_batch_norm,
                                 {drove__accel_x(e, layer, 0), drove__accel_y(e, layer),
                                  moments(e, layer), drove__params_w(e, e->params.theta, layer),
                                  drove__params_b(e, e->params.theta, layer)},
                                 norm_numbers(e, y)};
    return drove__accel_job(e, &job);
}

static drove_accel_view own_gradient(const drove_engine *e, size_t layer)
{
    return drove__accel_view(e->pass.kept[layer], 2 * e->model->layer[layer].in.c);
}

static drove_status copy(drove_engine *e, drove_accel_view from, drove_accel_view to, size_t n)
{
    const drove_accel_job job = {DROVE_JOB_move, {from, to}, drove__accel_vector(n)};
    return drove__accel_job(e, &job);
}

drove_status drove__accel_batch_norm_weights(drove_engine *e, size_t layer)
{
    const drove_layer *y = &e->model->layer[layer];
    drove_accel_view x = drove__accel_x(e, layer, 0), dy = drove__accel_dy(e, layer);
    drove_accel_view mean = moments(e, layer), variance = mean;
    drove_accel_view dgamma = own_gradient(e, layer), dbeta = dgamma;
    if (y->training.is_frozen) /* mean and variance do not depend on the batch */
        return drove__accel_try(e, e->ops->zero(e->work, dgamma, 2 * y->in.c));
    variance.offset += y->in.c;
    dbeta.offset += y->in.c;
    drove_accel_job sum = {DROVE_JOB_sum_values, {dy}, norm_numbers(e, y)};
    DROVE_TRY(drove__accel_sum(e, &sum, 1.0f, dbeta));
    drove_accel_job products = {DROVE_JOB_sum_products,
                                {x, {NULL, 0}, mean, dy, variance},
                                norm_numbers(e, y)};
    DROVE_TRY(drove__accel_sum(e, &products, 1.0f, dgamma));
    DROVE_TRY(copy(e, dbeta, drove__params_b(e, e->params.grad, layer), y->n_b));
    return copy(e, dgamma, drove__params_w(e, e->params.grad, layer), y->n_w);
}

drove_status drove__accel_batch_norm_data(drove_engine *e, size_t layer, unsigned i)
{
    const drove_layer *y = &e->model->layer[layer];
    drove_accel_job job = {DROVE_JOB_batch_norm_grad,
                           {drove__accel_x(e, layer, 0), drove__accel_dy(e, layer),
                            moments(e, layer), drove__params_w(e, e->params.theta, layer),
                            own_gradient(e, layer), drove__accel_dx(e, layer, i)},
                           norm_numbers(e, y)};
    job.k.scale = 1.0f / (float)places_of(e, y);
    job.k.adds = y->adds[i];
    return drove__accel_job(e, &job);
}
