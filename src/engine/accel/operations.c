/* engine/accel/operations.c - see operations.h. */
#include "engine/accel/operations.h"

drove_accel_view drove__accel_x(const drove_engine *e, size_t layer, unsigned i)
{
    const drove_layer *y = &e->model->layer[layer];
    if (y->bottom[i] > 0) return drove__accel_view(e->pass.out[y->bottom[i] - 1], 0);
    if (e->pass.plan.converts_input && y->ops != &drove__layer_dense)
        return drove__accel_view(e->pass.input, 0);
    if (e->present->is_bytes) return drove__accel_view(e->pass.wide, 0);
    return drove__accel_view(e->present->device, e->present->at.x);
}

drove_accel_view drove__accel_dx(const drove_engine *e, size_t layer, unsigned i)
{
    return drove__accel_dy(e, e->model->layer[layer].bottom[i] - 1);
}

static unsigned at_least_1(size_t n)
{
    return n > 0 ? (unsigned)n : 1;
}

drove_numbers drove__accel_numbers(const drove_layer *y)
{
    const drovek_window *w = &y->opt.window;
    const drove_padding *q = &y->opt.padding;
    drove_numbers k = {.c = (unsigned)y->in.c,
                       .h = (unsigned)y->in.h,
                       .w = (unsigned)y->in.w,
                       .o = (unsigned)y->out.c,
                       .oh = (unsigned)y->out.h,
                       .ow = (unsigned)y->out.w,
                       .kh = at_least_1(w->kh),
                       .kw = at_least_1(w->kw),
                       .sh = at_least_1(w->sh),
                       .sw = at_least_1(w->sw),
                       .ph = (unsigned)w->ph,
                       .pw = (unsigned)w->pw,
                       .counted = {(unsigned)(q->is_uncounted ? w->ph : 0),
                                   (unsigned)(y->in.h + w->ph + (q->is_uncounted ? 0 : q->below)),
                                   (unsigned)(q->is_uncounted ? w->pw : 0),
                                   (unsigned)(y->in.w + w->pw + (q->is_uncounted ? 0 : q->right))},
                       .dh = at_least_1(w->dh),
                       .dw = at_least_1(w->dw),
                       .groups = at_least_1(y->opt.groups)};
    return k;
}

drove_status drove__accel_activate(drove_engine *e, drove_accel_view from, drove_accel_view to,
                                   size_t n, drovek_act act)
{
    drove_accel_job job = {DROVE_JOB_activate, {from, to}, drove__accel_vector(n)};
    job.k.act = (unsigned)act;
    return drove__accel_job(e, &job);
}

drove_status drove__accel_derive(drove_engine *e, drove_accel_view dy, drove_accel_view y,
                                 drove_accel_view dx, size_t n, drovek_act act, bool adds)
{
    drove_accel_job job = {DROVE_JOB_derive, {dy, y, dx}, drove__accel_vector(n)};
    job.k.act = (unsigned)act;
    job.k.adds = adds;
    return drove__accel_job(e, &job);
}

/* ---- sums over rows ---- */

static size_t block_rows(size_t rows)
{
    enum { BLOCK_ROWS = 64, MOST_BLOCKS = 256 };
    const size_t each = (rows + MOST_BLOCKS - 1) / MOST_BLOCKS;
    return each < BLOCK_ROWS ? BLOCK_ROWS : each;
}

size_t drove__accel_sum_floats(size_t rows, size_t cols)
{
    const size_t each = block_rows(rows);
    return (rows + each - 1) / each * cols;
}

/* to[n] = scale * the sum of sums[.][n] */
static drove_status sum_blocks(drove_engine *e, drove_accel_job *job, float scale, size_t n,
                               drove_accel_view to)
{
    const drove_accel_view blocks = drove__accel_view(e->pass.scratch, 0);
    job->at[1] = blocks;
    job->k.rows_each = (unsigned)block_rows(job->k.rows);
    DROVE_TRY(drove__accel_job(e, job));
    drove_accel_job fold = {DROVE_JOB_fold, {blocks, to}, drove__accel_vector(n)};
    fold.k.o = (unsigned)(drove__accel_sum_floats(job->k.rows, job->k.cols) / n);
    fold.k.scale = scale;
    return drove__accel_job(e, &fold);
}

drove_status drove__accel_sum(drove_engine *e, drove_accel_job *job, float scale,
                              drove_accel_view to)
{
    return sum_blocks(e, job, scale, job->k.cols, to);
}

drove_status drove__accel_sum_all(drove_engine *e, drove_accel_job *job, float scale,
                                  drove_accel_view to)
{
    return sum_blocks(e, job, scale, 1, to);
}

/* ---- bias and activation ---- */

drove_status drove__accel_finish_forward(drove_engine *e, size_t layer, size_t n_rows, size_t n)
{
    const drove_layer *y = &e->model->layer[layer];
    drove_accel_view out = drove__accel_y(e, layer);
    if (y->n_b > 0) {
        return drove__accel_try(e, e->ops->bias_act(e->work, out,
                                                    drove__params_b(e, e->params.theta, layer),
                                                    n_rows, n, (drove_accel_act)y->act));
    }
    return y->act == DROVEK_LINEAR ? DROVE_OK
                                   : drove__accel_activate(e, out, out, n_rows * n, y->act);
}

drove_status drove__accel_begin_backward(drove_engine *e, size_t layer, size_t n_rows, size_t n)
{
    const drove_layer *y = &e->model->layer[layer];
    drove_accel_view out = drove__accel_y(e, layer), d = drove__accel_dy(e, layer);
    if (y->n_b > 0) {
        return drove__accel_try(e, e->ops->act_grad(e->work, d,
                                                    drove__params_b(e, e->params.grad, layer), out,
                                                    n_rows, n, (drove_accel_act)y->act));
    }
    return y->act == DROVEK_LINEAR ? DROVE_OK
                                   : drove__accel_derive(e, d, out, d, n_rows * n, y->act, false);
}
