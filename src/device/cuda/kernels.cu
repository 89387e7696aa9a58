/* device/cuda/kernels.cu - the common kernels, compiled for CUDA, and their launches. */
#include "device/cuda/kernels.h"

#include "device/cuda/prelude.h"

#include "device/accel/kernels/activation.h"
#include "device/accel/kernels/loss.h"
#include "device/accel/kernels/sparse.h"

namespace {

const unsigned BLOCK_THREADS = 128;
const unsigned BIAS_ROWS = 4;  /* of a thread */
const unsigned GRAD_ROWS = 32; /* least of a block of rows that is summed by itself, ... */
const size_t GRAD_BLOCKS = 256; /* ... and the most blocks */

unsigned divide_up(size_t a, size_t b)
{
    return (unsigned)((a + b - 1) / b);
}

/* Threads for n columns and n_blocks blocks of rows. */
struct shape {
    dim3 grid, block;
};

shape shape_of(unsigned n_blocks, unsigned n)
{
    unsigned columns = 1;
    while (columns < n && columns < BLOCK_THREADS) columns *= 2;
    unsigned rows = BLOCK_THREADS / columns;
    return {dim3(divide_up(n_blocks, rows), divide_up(n, columns)), dim3(columns, rows)};
}

/* An array as a distance from another, which is how a kernel is told of the parts of a sparse
 * matrix. */
drove_place place_of(const void *part, const void *base)
{
    return (drove_place)(((intptr_t)part - (intptr_t)base) / (intptr_t)sizeof(float));
}

} // namespace

cudaError_t drove_cuda_probe(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, drove_bias_act);
}

cudaError_t drove_cuda_launch_bias_act(cudaStream_t stream, float *y, const float *b,
                                       unsigned n_rows, unsigned n, int act)
{
    if (n_rows == 0 || n == 0) return cudaSuccess;
    shape s = shape_of(divide_up(n_rows, BIAS_ROWS), n);
    drove_bias_act<<<s.grid, s.block, 0, stream>>>(y, 0, b, 0, n_rows, n, act, BIAS_ROWS);
    return cudaGetLastError();
}

/* Blocks of rows depend on n_rows and n alone, and so does the order of each sum. */
cudaError_t drove_cuda_launch_act_grad(cudaStream_t stream, float *dy, float *db, const float *y,
                                       float *sums, size_t most_sums, unsigned n_rows, unsigned n,
                                       int act)
{
    if (n_rows == 0 || n == 0) return cudaSuccess;
    size_t most_blocks = most_sums / n < GRAD_BLOCKS ? most_sums / n : GRAD_BLOCKS;
    if (most_blocks == 0) most_blocks = 1;
    unsigned rows_each = divide_up(n_rows, most_blocks);
    if (rows_each < GRAD_ROWS) rows_each = GRAD_ROWS;
    unsigned n_blocks = divide_up(n_rows, rows_each);
    shape s = shape_of(n_blocks, n);
    drove_act_grad<<<s.grid, s.block, 0, stream>>>(dy, 0, y, 0, n_blocks == 1 ? db : sums, 0,
                                                    n_rows, n, act, rows_each);
    if (n_blocks > 1) {
        shape t = shape_of(1, n);
        t.block.y = 1;
        drove_sum_blocks<<<t.grid, t.block, 0, stream>>>(sums, db, 0, n_blocks, n);
    }
    return cudaGetLastError();
}

/* ---- losses ---- */

cudaError_t drove_cuda_launch_softmax(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    drove_loss_softmax<<<l->n_rows, DROVE_LANES, 0, stream>>>(
        l->z, 0, l->target, 0, l->n_rows, l->n, l->scale, l->dz, 0, l->loss, 0, l->count, 0, 1);
    return cudaGetLastError();
}

cudaError_t drove_cuda_launch_sigmoid(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    const float *base = (const float *)l->label_start;
    drove_loss_sigmoid<<<l->n_rows, DROVE_LANES, 0, stream>>>(
        l->z, 0, base, 0, place_of(l->label, base), l->n_rows, l->n, l->scale, l->dz, 0, l->loss,
        0, l->count, 0, 1);
    return cudaGetLastError();
}

cudaError_t drove_cuda_launch_logistic(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    dim3 grid(1, divide_up(l->n_rows, BLOCK_THREADS));
    drove_loss_logistic<<<grid, BLOCK_THREADS, 0, stream>>>(
        l->z, 0, l->target, 0, l->n_rows, l->scale, l->dz, 0, l->loss, 0, l->count, 0);
    return cudaGetLastError();
}

cudaError_t drove_cuda_launch_hinge(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    drove_loss_hinge<<<l->n_rows, DROVE_LANES, 0, stream>>>(
        l->z, 0, l->target, 0, l->n_rows, l->n, l->scale, l->dz, 0, l->loss, 0, l->count, 0, 1);
    return cudaGetLastError();
}

static cudaError_t launch_squared(cudaStream_t stream, const drove_cuda_loss_arguments *l,
                                  int has_class)
{
    drove_loss_squared<<<l->n_rows, DROVE_LANES, 0, stream>>>(
        l->z, 0, l->target, 0, has_class, l->n_rows, l->n, l->scale, l->dz, 0, l->loss, 0, l->count,
        0, 1);
    return cudaGetLastError();
}

cudaError_t drove_cuda_launch_squared(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    return launch_squared(stream, l, 0);
}

cudaError_t drove_cuda_launch_squared_class(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    return launch_squared(stream, l, 1);
}

/* ---- sparse ---- */

cudaError_t drove_cuda_launch_sparse(cudaStream_t stream, const uint32_t *start,
                                     const uint32_t *index, const float *value, const float *m,
                                     float *y, unsigned n_rows, unsigned n)
{
    if (n_rows == 0 || n == 0) return cudaSuccess;
    const float *base = (const float *)start;
    shape s = shape_of(n_rows, n);
    drove_sparse<<<s.grid, s.block, 0, stream>>>(
        base, 0, place_of(index, base), value != nullptr ? place_of(value, base) : 0,
        value != nullptr, m, 0, y, 0, n_rows, n);
    return cudaGetLastError();
}
