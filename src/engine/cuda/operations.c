/* engine/cuda/operations.c - the operations of the table: products by cuBLAS, the rest by our
 * kernels. */
#include "engine/cuda/cuda.h"

#include "engine/cuda/kernels.h"

#include <limits.h>
#include <stdlib.h>

/* ---- products ---- */

static drove_status check_blas(const drove_accel *a, cublasStatus_t error, const char *call)
{
    if (error == CUBLAS_STATUS_SUCCESS) return DROVE_OK;
    cudaGetLastError();
    drove_status status = error == CUBLAS_STATUS_ALLOC_FAILED    ? DROVE_E_NOMEM
                          : error == CUBLAS_STATUS_ARCH_MISMATCH ? DROVE_E_UNSUPPORTED
                                                                 : DROVE_E_SYSTEM;
    return drove_cuda_host->fail(status, "cuda:%d (%s): %s: %s", a->device, a->facts.name, call,
                                 cublasGetStatusString(error));
}

/* A workspace of our own: with that of the library, a product in a sequence would need memory, and
 * results might depend on what else runs. */
static drove_status begin_blas(drove_accel_queue *q)
{
    const drove_accel *a = q->a;
    if (q->workspace == NULL) DROVE_CUDA_TRY(a, cudaMalloc(&q->workspace, a->workspace_bytes));
    drove_status status = check_blas(a, cublasCreate(&q->blas), "cublasCreate");
    if (status != DROVE_OK) {
        q->blas = NULL;
        return status;
    }
    status = check_blas(a, cublasSetStream(q->blas, q->stream), "cublasSetStream");
    if (status != DROVE_OK) goto fail;
    status = check_blas(a, cublasSetWorkspace(q->blas, q->workspace, a->workspace_bytes),
                        "cublasSetWorkspace");
    if (status != DROVE_OK) goto fail;
    /* factors are shortened where compute_type says so, and nowhere else */
    status = check_blas(a, cublasSetMathMode(q->blas, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    if (status == DROVE_OK) return DROVE_OK;
fail:
    cublasDestroy(q->blas);
    q->blas = NULL;
    return status;
}

static bool fits(size_t number)
{
    return number <= INT_MAX;
}

void drove_cuda_multiply_in_bf16(drove_accel_queue *q)
{
    q->in_bf16 = true;
}

/* A factor of a product, or n_batch of them: as it is in memory, or a copy in bf16. */
typedef struct factor {
    const void *at;
    cudaDataType_t type;
    size_t ld, stride; /* elements of `type` */
} factor;

enum { NARROW_ALIGN = 8 }; /* elements: rows of 16 bytes are what tensor cores load fastest */

struct drove_cuda_old {
    drove_cuda_old *next;
    void *memory;
};

/* A copy that is too small is kept until the queue ends.  Each is at least double as large:
 * all before it take no more than it does. */
static drove_status reserve_narrow(drove_accel_queue *q, size_t which, size_t n_bytes)
{
    void *memory;
    if (n_bytes <= q->narrow_bytes[which]) return DROVE_OK;
    if (n_bytes < 2 * q->narrow_bytes[which]) n_bytes = 2 * q->narrow_bytes[which];
    drove_cuda_old *old = calloc(1, sizeof *old);
    if (old == NULL) return drove_cuda_host->fail(DROVE_E_NOMEM, "a product in bf16: no memory");
    cudaError_t error = cudaMalloc(&memory, n_bytes);
    if (error != cudaSuccess) {
        free(old);
        return drove_cuda_check(q->a, error, "cudaMalloc");
    }
    *old = (drove_cuda_old){q->old, q->narrow[which]};
    q->old = old;
    q->narrow[which] = memory;
    q->narrow_bytes[which] = n_bytes;
    return DROVE_OK;
}

void drove_cuda_narrow_end(drove_accel_queue *q)
{
    for (size_t i = 0; i < 2; i++) cudaFree(q->narrow[i]);
    while (q->old != NULL) {
        drove_cuda_old *old = q->old;
        q->old = old->next;
        cudaFree(old->memory);
        free(old);
    }
}

/* cuBLAS may multiply 32-bit floats in TF32 where it is asked for bf16 (its fast type is a
 * permission), so bf16 factors are made here.  which: 0 or 1, of the queue's two copies. */
static drove_status take_factor(drove_accel_queue *q, size_t which, drove_accel_view view,
                                size_t n_rows, size_t n_cols, size_t ld, size_t stride,
                                size_t n_batch, factor *out)
{
    *out = (factor){drove_cuda_at(view), CUDA_R_32F, ld, stride};
    if (!q->in_bf16) return DROVE_OK;
    const bool is_aligned =
        view.offset % NARROW_ALIGN == 0 && ld % NARROW_ALIGN == 0 && stride % NARROW_ALIGN == 0;
    if (is_aligned && view.buffer->narrow != NULL) {
        *out = (factor){drove_cuda_narrow_at(view), CUDA_R_16BF, ld, stride};
        return DROVE_OK;
    }
    const size_t narrow_ld = (n_cols + NARROW_ALIGN - 1) / NARROW_ALIGN * NARROW_ALIGN;
    if (!fits(n_rows * n_batch) || !fits(narrow_ld))
        return drove_cuda_host->fail(DROVE_E_UNSUPPORTED,
                                     "cuda:%d (%s): bf16: matrices of more than %d rows or columns",
                                     q->a->device, q->a->facts.name, INT_MAX);
    drove_status status = reserve_narrow(q, which, n_rows * n_batch * narrow_ld * sizeof(uint16_t));
    if (status != DROVE_OK) return status;
    *out = (factor){q->narrow[which], CUDA_R_16BF, narrow_ld, n_rows * narrow_ld};
    return drove_cuda_check(q->a,
                            drove_cuda_launch_narrow(q->stream, drove_cuda_at(view), ld, stride,
                                                     q->narrow[which], narrow_ld, (unsigned)n_rows,
                                                     (unsigned)n_cols, (unsigned)n_batch),
                            "narrow");
}

drove_status drove_cuda_narrow(drove_accel_queue *q, drove_accel_view view, size_t n)
{
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK) return status;
    return drove_cuda_check(q->a,
                            drove_cuda_launch_narrow_vector(q->stream, drove_cuda_at(view),
                                                            drove_cuda_narrow_at(view), n),
                            "narrow");
}

/* The rounding of factors that are floats, on the way to the tensor cores. */
static cublasComputeType_t compute_type(const drove_accel_queue *q)
{
    return q->a->in_tf32 && !q->in_bf16 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

static drove_status begin_product(drove_accel_queue *q, size_t m, size_t n, size_t k, size_t lda,
                                  size_t ldb, size_t ldc)
{
    if (!fits(m) || !fits(n) || !fits(k) || !fits(lda) || !fits(ldb) || !fits(ldc))
        return drove_cuda_host->fail(DROVE_E_UNSUPPORTED,
                                     "cuda:%d (%s): a matrix of more than %d rows or columns",
                                     q->a->device, q->a->facts.name, INT_MAX);
    drove_status status = drove_cuda_enter(q->a);
    return status == DROVE_OK && q->blas == NULL ? begin_blas(q) : status;
}

/* cuBLAS has columns where we have rows, so it sees every matrix transposed: it is asked for
 * C' = op(B)' op(A)'. */
drove_status drove_cuda_gemm(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m, size_t n,
                             size_t k, float alpha, drove_accel_view a, size_t lda,
                             drove_accel_view b, size_t ldb, float beta, drove_accel_view c,
                             size_t ldc)
{
    factor x, y;
    drove_status status = begin_product(q, m, n, k, lda, ldb, ldc);
    const cublasOperation_t op_a = trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_b = trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (status != DROVE_OK || m == 0 || n == 0) return status;
    status = take_factor(q, 0, a, trans_a ? k : m, trans_a ? m : k, lda, 0, 1, &x);
    if (status == DROVE_OK)
        status = take_factor(q, 1, b, trans_b ? n : k, trans_b ? k : n, ldb, 0, 1, &y);
    if (status != DROVE_OK) return status;
    return check_blas(q->a,
                      cublasGemmEx(q->blas, op_b, op_a, (int)n, (int)m, (int)k, &alpha, y.at,
                                   y.type, (int)y.ld, x.at, x.type, (int)x.ld, &beta,
                                   drove_cuda_at(c), CUDA_R_32F, (int)ldc, compute_type(q),
                                   CUBLAS_GEMM_DEFAULT),
                      "cublasGemmEx");
}

drove_status drove_cuda_gemm_batch(drove_accel_queue *q, bool trans_a, bool trans_b, size_t m,
                                   size_t n, size_t k, float alpha, drove_accel_view a, size_t lda,
                                   size_t stride_a, drove_accel_view b, size_t ldb, size_t stride_b,
                                   float beta, drove_accel_view c, size_t ldc, size_t stride_c,
                                   size_t n_batch)
{
    factor x, y;
    drove_status status = begin_product(q, m, n, k, lda, ldb, ldc);
    const cublasOperation_t op_a = trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t op_b = trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    if (status != DROVE_OK || m == 0 || n == 0 || n_batch == 0) return status;
    status = take_factor(q, 0, a, trans_a ? k : m, trans_a ? m : k, lda, stride_a, n_batch, &x);
    if (status == DROVE_OK)
        status = take_factor(q, 1, b, trans_b ? n : k, trans_b ? k : n, ldb, stride_b, n_batch, &y);
    if (status != DROVE_OK) return status;
    return check_blas(q->a,
                      cublasGemmStridedBatchedEx(
                          q->blas, op_b, op_a, (int)n, (int)m, (int)k, &alpha, y.at, y.type,
                          (int)y.ld, (long long)y.stride, x.at, x.type, (int)x.ld,
                          (long long)x.stride, &beta, drove_cuda_at(c), CUDA_R_32F, (int)ldc,
                          (long long)stride_c, (int)n_batch, compute_type(q), CUBLAS_GEMM_DEFAULT),
                      "cublasGemmStridedBatchedEx");
}

/* ---- element by element ---- */

/* Kernels count in 32 bits. */
static drove_status check_shape(const drove_accel *a, size_t n_rows, size_t n)
{
    if (fits(n_rows) && fits(n)) return drove_cuda_enter(a);
    return drove_cuda_host->fail(DROVE_E_UNSUPPORTED,
                                 "cuda:%d (%s): expected at most %d rows and columns, found %zu "
                                 "and %zu",
                                 a->device, a->facts.name, INT_MAX, n_rows, n);
}

drove_status drove_cuda_bias_act(drove_accel_queue *q, drove_accel_view y, drove_accel_view b,
                                 size_t n_rows, size_t n, drove_accel_act act)
{
    drove_status status = check_shape(q->a, n_rows, n);
    if (status != DROVE_OK) return status;
    return drove_cuda_check(q->a,
                            drove_cuda_launch_bias_act(q->stream, drove_cuda_at(y),
                                                       drove_cuda_narrow_at(y), drove_cuda_at(b),
                                                       (unsigned)n_rows, (unsigned)n, (int)act),
                            "bias_act");
}

drove_status drove_cuda_act_grad(drove_accel_queue *q, drove_accel_view dy, drove_accel_view db,
                                 drove_accel_view y, size_t n_rows, size_t n, drove_accel_act act)
{
    drove_status status = check_shape(q->a, n_rows, n);
    if (status != DROVE_OK) return status;
    if (q->sums == NULL) {
        DROVE_CUDA_TRY(q->a, cudaMalloc((void **)&q->sums, DROVE_CUDA_SUMS * sizeof *q->sums));
    }
    return drove_cuda_check(q->a,
                            drove_cuda_launch_act_grad(q->stream, drove_cuda_at(dy),
                                                       drove_cuda_narrow_at(dy), drove_cuda_at(db),
                                                       drove_cuda_at(y), q->sums, DROVE_CUDA_SUMS,
                                                       (unsigned)n_rows, (unsigned)n, (int)act),
                            "act_grad");
}

/* ---- jobs ---- */

drove_status drove_cuda_job(drove_accel_queue *q, const drove_accel_job *job)
{
    float *at[DROVE_JOB_PLACES];
    drove_status status = check_shape(q->a, job->k.rows, job->k.cols);
    if (status != DROVE_OK) return status;
    for (size_t i = 0; i < DROVE_JOB_PLACES; i++)
        at[i] = job->at[i].buffer != NULL ? drove_cuda_at(job->at[i]) : NULL;
    return drove_cuda_check(q->a, drove_cuda_launch_job(q->stream, job->which, at, &job->k), "job");
}

/* ---- losses ---- */

typedef cudaError_t loss_fn(cudaStream_t stream, const drove_cuda_loss_arguments *l);

drove_status drove_cuda_loss(drove_accel_queue *q, drove_accel_loss loss, drove_accel_view z,
                             drove_accel_view target, const drove_accel_sparse *labels,
                             size_t n_rows, size_t n, float scale, drove_accel_view dz,
                             drove_accel_view loss_of_row, drove_accel_view count)
{
    static loss_fn *const launch[] = {[DROVE_ACCEL_SOFTMAX] = drove_cuda_launch_softmax,
                                      [DROVE_ACCEL_SIGMOID] = drove_cuda_launch_sigmoid,
                                      [DROVE_ACCEL_LOGISTIC] = drove_cuda_launch_logistic,
                                      [DROVE_ACCEL_HINGE] = drove_cuda_launch_hinge,
                                      [DROVE_ACCEL_SQUARED] = drove_cuda_launch_squared,
                                      [DROVE_ACCEL_SQUARED_CLASS] =
                                          drove_cuda_launch_squared_class};
    drove_status status = check_shape(q->a, n_rows, n);
    if (status != DROVE_OK || n_rows == 0) return status;
    drove_cuda_loss_arguments l = {.z = drove_cuda_at(z),
                                   .n_rows = (unsigned)n_rows,
                                   .n = (unsigned)n,
                                   .scale = scale,
                                   .loss = drove_cuda_at(loss_of_row),
                                   .count = drove_cuda_at(count)};
    if (scale > 0.0f) l.dz = drove_cuda_at(dz);
    if (loss == DROVE_ACCEL_SIGMOID) {
        l.label_start = (const uint32_t *)drove_cuda_at(labels->start);
        l.label = (const uint32_t *)drove_cuda_at(labels->index);
    } else {
        l.target = drove_cuda_at(target);
    }
    return drove_cuda_check(q->a, launch[loss](q->stream, &l), "loss");
}

/* ---- sparse ---- */

static drove_status sparse(drove_accel_queue *q, const drove_accel_sparse *x, drove_accel_view m,
                           size_t n_rows, size_t n, drove_accel_view y, const char *call)
{
    drove_status status = check_shape(q->a, n_rows, n);
    if (status != DROVE_OK) return status;
    return drove_cuda_check(
        q->a,
        drove_cuda_launch_sparse(q->stream, (const uint32_t *)drove_cuda_at(x->start),
                                 (const uint32_t *)drove_cuda_at(x->index),
                                 x->value.buffer != NULL ? drove_cuda_at(x->value) : NULL,
                                 drove_cuda_at(m), drove_cuda_at(y), (unsigned)n_rows, (unsigned)n,
                                 q->in_bf16),
        call);
}

drove_status drove_cuda_sparse_forward(drove_accel_queue *q, const drove_accel_sparse *x,
                                       drove_accel_view w, size_t n_rows, size_t n,
                                       drove_accel_view y)
{
    return sparse(q, x, w, n_rows, n, y, "sparse_forward");
}

drove_status drove_cuda_sparse_backward(drove_accel_queue *q, const drove_accel_sparse *xt,
                                        drove_accel_view d, size_t n_features, size_t n,
                                        drove_accel_view dw)
{
    return sparse(q, xt, d, n_features, n, dw, "sparse_backward");
}
