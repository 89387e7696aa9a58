/* tests/cuda/cublas_v2.h - stands for cuBLAS's header of this name; see cuda_runtime_api.h. */
#ifndef DROVE_TESTS_CUBLAS_V2_H
#define DROVE_TESTS_CUBLAS_V2_H

#include <cuda_runtime_api.h>

typedef enum cublasStatus {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_ALLOC_FAILED,
    CUBLAS_STATUS_ARCH_MISMATCH,
    CUBLAS_STATUS_INVALID_VALUE
} cublasStatus_t;

typedef struct stand_in_blas *cublasHandle_t;
typedef enum cublasOperation { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
enum { CUBLAS_DEFAULT_MATH = 0 };
typedef enum cudaDataType { CUDA_R_32F, CUDA_R_16BF } cudaDataType_t;
typedef enum cublasComputeType {
    CUBLAS_COMPUTE_32F,
    CUBLAS_COMPUTE_32F_FAST_TF32
} cublasComputeType_t;
typedef enum cublasGemmAlgo { CUBLAS_GEMM_DEFAULT } cublasGemmAlgo_t;

const char    *cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasCreate(cublasHandle_t *handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *memory, size_t size_bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, int mode);
/* Column-major: C[m][n] = alpha op(A) op(B) + beta C, of floats, or of bf16 numbers into floats.
 * The fast type of computing rounds floats to TF32; cuBLAS's one for bf16 is left out: on an H100
 * it rounds them to TF32 as well. */
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t type_a, int lda, const void *b, cudaDataType_t type_b,
                            int ldb, const void *beta, void *c, cudaDataType_t type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
/* n_products of them, whose matrices lie so far apart. */
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType_t type_a,
                                          int lda, long long stride_a, const void *b,
                                          cudaDataType_t type_b, int ldb, long long stride_b,
                                          const void *beta, void *c, cudaDataType_t type_c, int ldc,
                                          long long stride_c, int n_products,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

#endif
