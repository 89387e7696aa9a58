/* engine/host/blocks.c - see blocks.h.  The parameters may be shared (docs/inside/memory-model.md,
 * R1, R2). */
#include "engine/host/blocks.h"
#include "engine/host/state.h"

#include "base/clock.h"
#include "base/mem.h"

/* Gradients of more than MOST_WEIGHTS an input cost more to add than the blocks' outputs save. */
enum { MOST_WEIGHTS = 1024 };

/* Batches of at least `least` rows are cut in blocks of `rows` or more.  In floats measured by AVX2
 * and AVX-512 on a Zen 4 with 1 MiB of L2 (docs/results/limits.md); faster products, of narrower
 * factors, have to be larger to hide what they read (docs/results/bf16.md). */
typedef struct cut {
    size_t rows, least;
} cut;

static cut cut_of(const drove_engine *e)
{
    return e->kernels->factors == DROVEK_FACTORS_F32 ? (cut){128, 256} : (cut){256, 1024};
}

drove_status drove__host_blocks_init(drove_engine *e, const drove_engine_options *opt)
{
    const size_t n = e->model->n_params;
    if (n > MOST_WEIGHTS * e->model->n_inputs) return DROVE_OK;
    if (opt->infers_only || e->max_rows < cut_of(e).least) return DROVE_OK;
    if (!e->model->is_chain || !drove__model_fuses(e->model)) return DROVE_OK;
    if (opt->n_threads > 1 || opt->round != NULL) return DROVE_OK;
    if (opt->data->augment.mixup > 0.0f) return DROVE_OK; /* pairs are of the whole batch */
    if (drove__storage_is_sparse(opt->data->storage)) return DROVE_OK;
    e->sum = drove__alloc(n, sizeof *e->sum);
    if (e->sum == NULL) return drove__fail_nomem("gradients of blocks", n * sizeof *e->sum);
    return DROVE_OK;
}

void drove__host_blocks_fini(drove_engine *e)
{
    drove__free(e->sum);
}

bool drove__host_cuts(const drove_engine *e, size_t n_rows)
{
    return e->sum != NULL && n_rows >= cut_of(e).least;
}

/* Blocks of nearly the same size. */
drove_status drove__host_gradient_in_blocks(drove_engine *e, const drove_batch *batch,
                                            const float *theta, drove_gradient *grad)
{
    const size_t n = batch->n_rows, n_blocks = n / cut_of(e).rows;
    grad->span = NULL;
    grad->n_spans = 0;
    e->pass.is_training = true;
    e->pass.batch = batch->number;
    for (size_t b = 0; b < n_blocks; b++) {
        const size_t first = n * b / n_blocks, next = n * (b + 1) / n_blocks;
        const size_t n_rows = next - first;
        const uint64_t start = drove__now_ns();
        const drove_backward to = {.grad = grad->value,
                                   .adds = b > 0,
                                   .after_layer = b + 1 < n_blocks ? NULL : grad->after_layer,
                                   .context = grad->context};
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
