/* engine/host/blocks.c - see blocks.h.  The parameters may be shared (docs/inside/memory-model.md,
 * R1, R2). */
#include "engine/host/blocks.h"
#include "engine/host/state.h"

#include "base/clock.h"
#include "base/mem.h"

enum { BLOCK_ROWS = 256, LEAST_ROWS = 1024 };

drove_status drove__host_blocks_init(drove_engine *e, const drove_engine_options *opt)
{
    const size_t n = e->model->n_params;
    if (n > LEAST_ROWS * e->model->n_inputs) return DROVE_OK; /* adding gradients would cost more */
    if (opt->infers_only || e->max_rows < LEAST_ROWS || !e->model->is_chain) return DROVE_OK;
    if (opt->n_threads > 1 || opt->round != NULL) return DROVE_OK;
    if (drove__storage_is_sparse(opt->data->storage)) return DROVE_OK;
    e->sum = drove__alloc(n, sizeof *e->sum);
    e->part = drove__alloc(n, sizeof *e->part);
    if (e->sum == NULL || e->part == NULL)
        return drove__fail_nomem("gradients of blocks", 2 * n * sizeof *e->sum);
    return DROVE_OK;
}

void drove__host_blocks_fini(drove_engine *e)
{
    drove__free(e->sum);
    drove__free(e->part);
}

bool drove__host_cuts(const drove_engine *e, size_t n_rows)
{
    return e->part != NULL && n_rows >= LEAST_ROWS;
}

/* A later block, whose layers add to the gradient. */
typedef struct addition {
    drove_engine *e;
    drove_gradient *grad;
    bool is_last;
} addition;

static void add_layer(void *context, size_t layer)
{
    const addition *a = context;
    const drove_layer *l = &a->e->model->layer[layer];
    float *to = a->grad->value, *from = a->e->part;
    a->e->kernels->axpy_f32(to + l->w_offset, from + l->w_offset, l->n_w, 1.0f);
    a->e->kernels->axpy_f32(to + l->b_offset, from + l->b_offset, l->n_b, 1.0f);
    if (a->is_last && a->grad->after_layer != NULL) a->grad->after_layer(a->grad->context, layer);
}

/* Blocks of nearly the same size, none with less than BLOCK_ROWS. */
drove_status drove__host_gradient_in_blocks(drove_engine *e, const drove_batch *batch,
                                            const float *theta, drove_gradient *grad)
{
    const size_t n = batch->n_rows, n_blocks = n / BLOCK_ROWS;
    grad->span = NULL;
    grad->n_spans = 0;
    e->pass.is_training = true;
    e->pass.batch = batch->number;
    for (size_t b = 0; b < n_blocks; b++) {
        const size_t first = n * b / n_blocks, next = n * (b + 1) / n_blocks;
        const size_t n_rows = next - first;
        const uint64_t start = drove__now_ns();
        addition add = {.e = e, .grad = grad, .is_last = first + n_rows == batch->n_rows};
        const drove_backward to = {.grad = first == 0 ? grad->value : e->part,
                                   .after_layer = first == 0 ? NULL : add_layer,
                                   .context = &add};
        drove_input in;
        drove_target target;
        if (batch->loaded == NULL) {
            drove_batch block = *batch;
            if (batch->row != NULL) block.row += first;
            block.n_rows = n_rows;
            DROVE_TRY(drove__host_load(e, &block, true, &in, &target));
        } else { /* what another thread has loaded is for all of the batch */
            in = batch->loaded->in;
            in.n_rows = n_rows;
            in.dense += first * e->model->n_inputs;
            target = drove__target_from(&batch->loaded->target, first, e->model->n_outputs);
        }
        drove__model_forward(e->model, e->kernels, theta, &in, &e->pass);
        drove__model_loss(e->model, e->kernels, &target, n_rows, 1.0f / (float)batch->n_rows,
                          &e->pass, &e->done.score);
        const uint64_t middle = drove__now_ns();
        drove__model_backward(e->model, e->kernels, theta, &in, &e->pass, &to);
        e->done.times.forward_ns += middle - start;
        e->done.times.backward_ns += drove__now_ns() - middle;
        DROVE_TRY(drove__pass_outcome(&e->pass));
    }
    return DROVE_OK;
}

drove_status drove__host_step_in_blocks(drove_engine *e, const drove_batch *batch, float *theta,
                                        float eta)
{
    drove_gradient grad = {.value = e->sum};
    DROVE_TRY(drove__host_gradient_in_blocks(e, batch, theta, &grad));
    e->kernels->sgd_f32(theta, theta, e->sum, e->model->n_params, eta);
    return DROVE_OK;
}
