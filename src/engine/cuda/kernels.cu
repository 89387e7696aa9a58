/* engine/cuda/kernels.cu - the common kernels, compiled for CUDA, and their launches.
 *
 * It is C as well but for the words of the prelude: tests/cuda/ runs it on the processor.
 */
#include "engine/cuda/kernels.h"

#include "engine/cuda/prelude.h"

/* clang-format off: in this order */
#include "kernel/curves.h"

#include "engine/accel/kernels/activation.h"
#include "engine/accel/kernels/loss.h"
#include "engine/accel/kernels/bf16.h"
#include "engine/accel/kernels/sparse.h"
#include "engine/accel/kernels/images.h"
#include "engine/accel/kernels/norm.h"
#include "engine/accel/kernels/pool.h"
#include "engine/accel/kernels/update.h"
/* clang-format on */

enum {
    BLOCK_THREADS = 128,
    BIAS_ROWS = 4,    /* of a thread */
    GRAD_ROWS = 32,    /* least of a block of rows that is summed by itself, ... */
    GRAD_BLOCKS = 256, /* ... and the most blocks; */
    FEW_COLUMNS = 64,  /* up to here, as of images' channels, ... */
    FEW_BLOCKS = 1024  /* ... more of them, or the device has too few threads */
};

static unsigned divide_up(size_t a, size_t b)
{
    return (unsigned)((a + b - 1) / b);
}

typedef struct shape {
    dim3 grid, block;
} shape;

/* Threads for n columns and n_blocks blocks of rows. */
static shape shape_of(unsigned n_blocks, unsigned n)
{
    unsigned columns = 1;
    while (columns < n && columns < BLOCK_THREADS) columns *= 2;
    unsigned rows = BLOCK_THREADS / columns;
    shape s = {{divide_up(n_blocks, rows), divide_up(n, columns), 1}, {columns, rows, 1}};
    return s;
}

/* A group for each row. */
static shape shape_of_rows(unsigned n_rows)
{
    shape s = {{n_rows, 1, 1}, {DROVE_LANES, 1, 1}};
    return s;
}

/* An array as a distance from another, which is how a kernel is told of the parts of a sparse
 * matrix. */
static drove_place place_of(const void *part, const void *base)
{
    return (drove_place)(((intptr_t)part - (intptr_t)base) / (intptr_t)sizeof(float));
}

cudaError_t drove_cuda_probe(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, drove_bias_act);
}

DROVE_FUNCTION uint16_t drove_bf16_word(float v)
{
    return (uint16_t)(DROVE_FLOAT_BITS(drove_bf16(v)) >> 16);
}

/* drove_bias_act, with a copy in bf16 */
DROVE_KERNEL void drove_bias_act_narrow(float *DROVE_RESTRICT y, uint16_t *DROVE_RESTRICT narrow,
                                        const float *DROVE_RESTRICT b, unsigned n_rows, unsigned n,
                                        int act, unsigned rows_each)
{
    const size_t c = DROVE_AT(0), first = DROVE_AT(1) * rows_each;
    const size_t last = drove_least(first + rows_each, n_rows);
    if (c >= n) return;
    for (size_t r = first; r < last; r++) {
        const float v = drove_activate(y[r * n + c] + b[c], act);
        y[r * n + c] = v;
        narrow[r * n + c] = drove_bf16_word(v);
    }
}

cudaError_t drove_cuda_launch_bias_act(cudaStream_t stream, float *y, uint16_t *narrow,
                                       const float *b, unsigned n_rows, unsigned n, int act)
{
    if (n_rows == 0 || n == 0) return cudaSuccess;
    shape s = shape_of(divide_up(n_rows, BIAS_ROWS), n);
    if (narrow != NULL)
        DROVE_LAUNCH(drove_bias_act_narrow, s, stream, y, narrow, b, n_rows, n, act, BIAS_ROWS);
    else DROVE_LAUNCH(drove_bias_act, s, stream, y, 0, b, 0, n_rows, n, act, BIAS_ROWS);
    return cudaGetLastError();
}

/* drove_act_grad, with a copy in bf16; sums in the same order */
DROVE_KERNEL void drove_act_grad_narrow(float *DROVE_RESTRICT dy, uint16_t *DROVE_RESTRICT narrow,
                                        const float *DROVE_RESTRICT y, float *DROVE_RESTRICT sum,
                                        unsigned n_rows, unsigned n, int act, unsigned rows_each)
{
    const size_t c = DROVE_AT(0), first = DROVE_AT(1) * rows_each;
    const size_t last = drove_least(first + rows_each, n_rows);
    float total = 0.0f;
    if (c >= n || first >= n_rows) return;
    for (size_t r = first; r < last; r++) {
        const float d = drove_derive(dy[r * n + c], y[r * n + c], act);
        dy[r * n + c] = d;
        narrow[r * n + c] = drove_bf16_word(d);
        total += d;
    }
    sum[DROVE_AT(1) * n + c] = total;
}

/* Blocks of rows depend on n_rows and n alone, and so does the order of each sum. */
cudaError_t drove_cuda_launch_act_grad(cudaStream_t stream, float *dy, uint16_t *narrow, float *db,
                                       const float *y, float *sums, size_t most_sums,
                                       unsigned n_rows, unsigned n, int act)
{
    if (n_rows == 0 || n == 0) return cudaSuccess;
    size_t most_blocks = most_sums / n;
    const size_t blocks = n <= FEW_COLUMNS ? FEW_BLOCKS : GRAD_BLOCKS;
    if (most_blocks > blocks) most_blocks = blocks;
    if (most_blocks == 0) most_blocks = 1;
    unsigned rows_each = divide_up(n_rows, most_blocks);
    if (rows_each < GRAD_ROWS) rows_each = GRAD_ROWS;
    unsigned n_blocks = divide_up(n_rows, rows_each);
    shape s = shape_of(n_blocks, n);
    float *to = n_blocks == 1 ? db : sums;
    if (narrow != NULL)
        DROVE_LAUNCH(drove_act_grad_narrow, s, stream, dy, narrow, y, to, n_rows, n, act,
                     rows_each);
    else DROVE_LAUNCH(drove_act_grad, s, stream, dy, 0, y, 0, to, 0, n_rows, n, act, rows_each);
    if (n_blocks > 1) {
        shape t = shape_of(1, n);
        t.block.y = 1;
        DROVE_LAUNCH(drove_sum_blocks, t, stream, sums, db, 0, n_blocks, n);
    }
    return cudaGetLastError();
}

/* ---- losses ---- */

cudaError_t drove_cuda_launch_softmax(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    shape s = shape_of_rows(l->n_rows);
    DROVE_LAUNCH(drove_loss_softmax, s, stream, l->z, 0, l->target, 0, l->n_rows, l->n, l->scale,
                 l->dz, 0, l->loss, 0, l->count, 0, 1);
    return cudaGetLastError();
}

cudaError_t drove_cuda_launch_sigmoid(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    const float *base = (const float *)l->label_start;
    shape s = shape_of_rows(l->n_rows);
    DROVE_LAUNCH(drove_loss_sigmoid, s, stream, l->z, 0, base, 0, place_of(l->label, base),
                 l->n_rows, l->n, l->scale, l->dz, 0, l->loss, 0, l->count, 0, 1);
    return cudaGetLastError();
}

cudaError_t drove_cuda_launch_logistic(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    shape s = {{1, divide_up(l->n_rows, BLOCK_THREADS), 1}, {BLOCK_THREADS, 1, 1}};
    DROVE_LAUNCH(drove_loss_logistic, s, stream, l->z, 0, l->target, 0, l->n_rows, l->scale, l->dz,
                 0, l->loss, 0, l->count, 0);
    return cudaGetLastError();
}

cudaError_t drove_cuda_launch_hinge(cudaStream_t stream, const drove_cuda_loss_arguments *l)
{
    shape s = shape_of_rows(l->n_rows);
    DROVE_LAUNCH(drove_loss_hinge, s, stream, l->z, 0, l->target, 0, l->n_rows, l->n, l->scale,
                 l->dz, 0, l->loss, 0, l->count, 0, 1);
    return cudaGetLastError();
}

static cudaError_t launch_squared(cudaStream_t stream, const drove_cuda_loss_arguments *l,
                                  int has_class)
{
    shape s = shape_of_rows(l->n_rows);
    DROVE_LAUNCH(drove_loss_squared, s, stream, l->z, 0, l->target, 0, has_class, l->n_rows, l->n,
                 l->scale, l->dz, 0, l->loss, 0, l->count, 0, 1);
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
                                     float *y, unsigned n_rows, unsigned n, bool in_bf16)
{
    if (n_rows == 0 || n == 0) return cudaSuccess;
    const float *base = (const float *)start;
    shape s = shape_of(n_rows, n);
    DROVE_LAUNCH(drove_sparse, s, stream, base, 0, place_of(index, base),
                 value != NULL ? place_of(value, base) : 0, value != NULL, m, 0, y, 0, n_rows, n,
                 in_bf16);
    return cudaGetLastError();
}

/* ---- factors in bf16 ---- */

/* A thread writes two neighbours as one word, row by row of all matrices. */
DROVE_KERNEL void drove_narrow(const float *from, drove_place ld, drove_place stride, unsigned *to,
                               unsigned n_words, unsigned n_rows, unsigned n_cols, unsigned n_all)
{
    const size_t word = DROVE_AT(0), row = DROVE_AT(1), col = 2 * word;
    if (word >= n_words || row >= n_all) return;
    const float *at = from + row / n_rows * stride + row % n_rows * ld;
    const float low = col < n_cols ? drove_bf16(at[col]) : 0.0f;
    const float high = col + 1 < n_cols ? drove_bf16(at[col + 1]) : 0.0f;
    to[row * n_words + word] = DROVE_FLOAT_BITS(low) >> 16 | DROVE_FLOAT_BITS(high);
}

cudaError_t drove_cuda_launch_narrow(cudaStream_t stream, const float *from, size_t ld,
                                     size_t stride, void *to, size_t narrow_ld, unsigned n_rows,
                                     unsigned n_cols, unsigned n_batch)
{
    const unsigned n_words = (unsigned)(narrow_ld / 2), n_all = n_rows * n_batch;
    if (n_all == 0 || n_words == 0) return cudaSuccess;
    shape s = shape_of(n_all, n_words);
    DROVE_LAUNCH(drove_narrow, s, stream, from, (drove_place)ld, (drove_place)stride,
                 (unsigned *)to, n_words, n_rows, n_cols, n_all);
    return cudaGetLastError();
}

/* Vectors. */
DROVE_KERNEL void drove_narrow_vector(const float *from, uint16_t *to, size_t n)
{
    const size_t i = DROVE_AT(1) * BLOCK_THREADS + DROVE_AT(0);
    if (i < n) to[i] = drove_bf16_word(from[i]);
}

cudaError_t drove_cuda_launch_narrow_vector(cudaStream_t stream, const float *from, uint16_t *to,
                                            size_t n)
{
    if (n == 0) return cudaSuccess;
    shape s = shape_of(divide_up(n, BLOCK_THREADS), BLOCK_THREADS);
    DROVE_LAUNCH(drove_narrow_vector, s, stream, from, to, n);
    return cudaGetLastError();
}

DROVE_KERNEL void drove_round(const float *from, float *to, size_t n)
{
    const size_t i = DROVE_AT(1) * BLOCK_THREADS + DROVE_AT(0);
    if (i < n) to[i] = drove_bf16(from[i]);
}

cudaError_t drove_cuda_launch_round(cudaStream_t stream, const float *from, float *to, size_t n)
{
    if (n == 0) return cudaSuccess;
    shape s = shape_of(divide_up(n, BLOCK_THREADS), BLOCK_THREADS);
    DROVE_LAUNCH(drove_round, s, stream, from, to, n);
    return cudaGetLastError();
}

/* ---- jobs ---- */

cudaError_t drove_cuda_launch_job(cudaStream_t stream, unsigned which, float *const *at,
                                  const drove_numbers *numbers)
{
    drove_numbers k = *numbers;
    unsigned next = 0;
    if (k.rows == 0 || k.cols == 0) return cudaSuccess;
    if (k.rows_each == 0) k.rows_each = 1;
    shape s = shape_of(divide_up(k.rows, k.rows_each), k.cols);
#define X(name)                                                                                    \
    if (which == next++)                                                                           \
        DROVE_LAUNCH(drove_job_##name, s, stream, at[0], 0, at[1], 0, at[2], 0, at[3], 0, at[4],   \
                     0, at[5], 0, k);
    DROVE_JOBS(X)
#undef X
    return cudaGetLastError();
}
