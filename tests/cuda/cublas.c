/* tests/cuda/cublas.c - products of matrices (cublas_v2.h) by loops, at once. */
#include "fault.h"

#include <cublas_v2.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct stand_in_blas {
    cudaStream_t stream;
};

const char *cublasGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_ALLOC_FAILED ? "out of memory" : "an error";
}

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    if (STAND_IN_FAILS()) return CUBLAS_STATUS_ALLOC_FAILED;
    *handle = calloc(1, sizeof **handle);
    return *handle != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    free(handle);
    return STAND_IN_FAILS() ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return CUBLAS_STATUS_INVALID_VALUE;
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *memory, size_t size_bytes)
{
    if (STAND_IN_FAILS()) return CUBLAS_STATUS_INVALID_VALUE;
    (void)handle;
    return memory != NULL && size_bytes > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, int mode)
{
    if (STAND_IN_FAILS()) return CUBLAS_STATUS_INVALID_VALUE;
    (void)handle;
    (void)mode;
    return CUBLAS_STATUS_SUCCESS;
}

/* Where op(M)[row][column] is. */
static size_t place_of(cublasOperation_t op, int row, int column, int ld)
{
    return op == CUBLAS_OP_N ? (size_t)column * (size_t)ld + (size_t)row
                             : (size_t)row * (size_t)ld + (size_t)column;
}

/* A factor of a product.  TF32 has 11 bits of significand; numbers are rounded to nearest, ties to
 * even, by the C library. */
typedef struct factor {
    const void *at;
    cudaDataType_t type;
    bool in_tf32;
} factor;

static float number(const factor *f, size_t place)
{
    if (f->type == CUDA_R_16BF)
        return __uint_as_float((unsigned)((const uint16_t *)f->at)[place] << 16);
    float v = ((const float *)f->at)[place];
    int exponent;
    if (!f->in_tf32 || v == 0.0f || !isfinite(v)) return v;
    float significand = frexpf(v, &exponent);
    return ldexpf(nearbyintf(ldexpf(significand, 11)), exponent - 11);
}

typedef struct product { /* C = alpha op(A) op(B) + beta C, column-major */
    cublasOperation_t op_a, op_b;
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
    factor a, b;
    float *c;
} product;

static void run_product(void *arguments)
{
    const product *p = arguments;
    for (int j = 0; j < p->n; j++) {
        float *column = p->c + (size_t)j * (size_t)p->ldc;
        for (int i = 0; i < p->m; i++) column[i] = p->beta == 0.0f ? 0.0f : p->beta * column[i];
        for (int l = 0; l < p->k && p->op_a == CUBLAS_OP_N; l++) {
            float times = p->alpha * number(&p->b, place_of(p->op_b, l, j, p->ldb));
            for (int i = 0; i < p->m; i++)
                column[i] += times * number(&p->a, (size_t)l * (size_t)p->lda + (size_t)i);
        }
        for (int i = 0; i < p->m && p->op_a == CUBLAS_OP_T; i++) {
            float sum = 0.0f;
            for (int l = 0; l < p->k; l++)
                sum += number(&p->a, place_of(p->op_a, i, l, p->lda)) *
                       number(&p->b, place_of(p->op_b, l, j, p->ldb));
            column[i] += p->alpha * sum;
        }
    }
}

static cublasStatus_t put_product(cublasHandle_t handle, product *p)
{
    int a_rows = p->op_a == CUBLAS_OP_N ? p->m : p->k,
        b_rows = p->op_b == CUBLAS_OP_N ? p->k : p->n;
    if (handle->stream == NULL || p->lda < a_rows || p->ldb < b_rows || p->ldc < p->m || p->m < 0 ||
        p->n < 0 || p->k < 0) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    return stand_in_do(handle->stream, run_product, p, sizeof *p) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t type_a, int lda, const void *b, cudaDataType_t type_b,
                            int ldb, const void *beta, void *c, cudaDataType_t type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    if (STAND_IN_FAILS()) return CUBLAS_STATUS_INVALID_VALUE;
    const bool in_tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    product p = {op_a,
                 op_b,
                 m,
                 n,
                 k,
                 lda,
                 ldb,
                 ldc,
                 *(const float *)alpha,
                 *(const float *)beta,
                 {a, type_a, in_tf32},
                 {b, type_b, in_tf32},
                 c};
    if (type_a != type_b || type_c != CUDA_R_32F || algorithm != CUBLAS_GEMM_DEFAULT ||
        (in_tf32 && type_a != CUDA_R_32F))
        return CUBLAS_STATUS_INVALID_VALUE;
    return put_product(handle, &p);
}

static size_t size_of(cudaDataType_t type)
{
    return type == CUDA_R_32F ? sizeof(float) : sizeof(uint16_t);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType_t type_a,
                                          int lda, long long stride_a, const void *b,
                                          cudaDataType_t type_b, int ldb, long long stride_b,
                                          const void *beta, void *c, cudaDataType_t type_c, int ldc,
                                          long long stride_c, int n_products,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    if (STAND_IN_FAILS()) return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < n_products && status == CUBLAS_STATUS_SUCCESS; i++)
        status =
            cublasGemmEx(handle, op_a, op_b, m, n, k, alpha,
                         (const char *)a + (size_t)(i * stride_a) * size_of(type_a), type_a, lda,
                         (const char *)b + (size_t)(i * stride_b) * size_of(type_b), type_b, ldb,
                         beta, (float *)c + i * stride_c, type_c, ldc, compute, algorithm);
    return status;
}
