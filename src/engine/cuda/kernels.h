/* engine/cuda/kernels.h - launches of the kernels of engine/accel/kernels/, for C.
 *
 * Pointers are to memory of the device that is current; everything is put on `stream` and checked
 * for what can be known at once.
 */
#ifndef DROVE_ENGINE_CUDA_KERNELS_H
#define DROVE_ENGINE_CUDA_KERNELS_H

#include "engine/accel/kernels/job.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Does this device have code of ours that it can run? */
cudaError_t drove_cuda_probe(void);

/* narrow: where y goes in bf16, too; NULL: nowhere */
cudaError_t drove_cuda_launch_bias_act(cudaStream_t stream, float *y, uint16_t *narrow,
                                       const float *b, unsigned n_rows, unsigned n, int act);

/* sums[most_sums]: scratch; narrow: of dy, likewise */
cudaError_t drove_cuda_launch_act_grad(cudaStream_t stream, float *dy, uint16_t *narrow, float *db,
                                       const float *y, float *sums, size_t most_sums,
                                       unsigned n_rows, unsigned n, int act);

typedef struct drove_cuda_loss_arguments {
    const float    *z;           /* [n_rows][n] */
    const float    *target;      /* [n_rows] floats, or int32_t by their bits */
    const uint32_t *label_start; /* [n_rows + 1] of labels */
    const uint32_t *label;
    unsigned        n_rows, n;
    float           scale;
    float          *dz;    /* [n_rows][n]; not used for scale <= 0 */
    float          *loss;  /* [n_rows] */
    float          *count; /* [n_rows][3] uint32_t by their bits */
} drove_cuda_loss_arguments;

cudaError_t drove_cuda_launch_softmax(cudaStream_t stream, const drove_cuda_loss_arguments *l);
cudaError_t drove_cuda_launch_sigmoid(cudaStream_t stream, const drove_cuda_loss_arguments *l);
cudaError_t drove_cuda_launch_logistic(cudaStream_t stream, const drove_cuda_loss_arguments *l);
cudaError_t drove_cuda_launch_hinge(cudaStream_t stream, const drove_cuda_loss_arguments *l);
cudaError_t drove_cuda_launch_squared(cudaStream_t stream, const drove_cuda_loss_arguments *l);
cudaError_t drove_cuda_launch_squared_class(cudaStream_t                     stream,
                                            const drove_cuda_loss_arguments *l);

/* Job number `which` of DROVE_JOBS at the six places. */
cudaError_t drove_cuda_launch_job(cudaStream_t stream, unsigned which, float *const *at,
                                  const drove_numbers *numbers);

/* to[n_batch][n_rows][narrow_ld]: matrices of bf16 numbers made of floats, whose rows lie ld and
 * whose matrices lie stride elements apart; zeros behind n_cols.  narrow_ld is even. */
cudaError_t drove_cuda_launch_narrow(cudaStream_t stream, const float *from, size_t ld,
                                     size_t stride, void *to, size_t narrow_ld, unsigned n_rows,
                                     unsigned n_cols, unsigned n_batch);

/* to[n]: bf16 numbers */
cudaError_t drove_cuda_launch_narrow_vector(cudaStream_t stream, const float *from, uint16_t *to,
                                            size_t n);

/* to[n]: floats that are bf16 numbers, the nearest to those of from */
cudaError_t drove_cuda_launch_round(cudaStream_t stream, const float *from, float *to, size_t n);

/* y[n_rows][n] = X m for the sparse X of start[n_rows + 1], index and value (NULL: ones); in_bf16:
 * numbers of X and m are rounded first */
cudaError_t drove_cuda_launch_sparse(cudaStream_t stream, const uint32_t *start,
                                     const uint32_t *index, const float *value, const float *m,
                                     float *y, unsigned n_rows, unsigned n, bool in_bf16);

#ifdef __cplusplus
}
#endif
#endif
