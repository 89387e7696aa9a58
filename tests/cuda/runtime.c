/* tests/cuda/runtime.c - see cuda_runtime_api.h: one device whose memory is the host's, and on
 * which everything happens at once.
 *
 * Environment: DROVE_STAND_IN_DEVICES=N devices instead of 1; DROVE_STAND_IN_BYTES=N of memory
 * instead of 1 GiB; DROVE_STAND_IN_LOST=N: from the N-th launch or copy on the device is lost;
 * DROVE_STAND_IN_SILENT=1: no event happens; DROVE_STAND_IN_SHIFT_MS=N: events happen so much
 * later.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fault.h"

#include <cublas_v2.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct stand_in_stream {
    int dummy;
};

struct stand_in_event {
    int is_recorded;
    struct timespec at;
};

struct stand_in_blas {
    cudaStream_t stream;
};

_Thread_local dim3 blockIdx, blockDim, threadIdx;
static _Thread_local cudaError_t last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the memory in use */
static size_t used_bytes;
static atomic_long n_calls; /* launches and copies */

static long setting(const char *name, long fallback)
{
    const char *text = getenv(name);
    return text != NULL ? atol(text) : fallback;
}

static cudaError_t answer(cudaError_t error)
{
    if (error != cudaSuccess) last = error;
    return error;
}

/* One more launch or copy: lost from some number on? */
static cudaError_t count_call(void)
{
    long lost = setting("DROVE_STAND_IN_LOST", 0);
    return lost > 0 && atomic_fetch_add(&n_calls, 1) + 1 >= lost ? cudaErrorLaunchFailure
                                                                 : cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory"
           : error == cudaErrorLaunchFailure  ? "unspecified launch failure"
           : error == cudaErrorInvalidDevice  ? "invalid device ordinal"
                                              : "an error";
}

/* ---- devices ---- */

static int n_devices(void)
{
    return (int)setting("DROVE_STAND_IN_DEVICES", 1);
}

cudaError_t cudaGetDeviceCount(int *n)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    *n = n_devices();
    return *n > 0 ? cudaSuccess : answer(cudaErrorNoDevice);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    *version = 13000;
    return cudaSuccess;
}

static size_t total_memory(void)
{
    return (size_t)setting("DROVE_STAND_IN_BYTES", 1L << 30);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    if (device < 0 || device >= n_devices()) return answer(cudaErrorInvalidDevice);
    *properties = (struct cudaDeviceProp){.totalGlobalMem = total_memory(),
                                          .multiProcessorCount = 1,
                                          .major = 9};
    snprintf(properties->name, sizeof properties->name, "stand-in for a GPU");
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    const char *older = getenv("DROVE_STAND_IN_CAPABILITY"); /* "7.5" */
    (void)device;
    if (older == NULL) older = "9.0";
    *value = older[attribute == cudaDevAttrComputeCapabilityMajor ? 0 : 2] - '0';
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    return device >= 0 && device < n_devices() ? cudaSuccess : answer(cudaErrorInvalidDevice);
}

/* ---- memory: each block knows its size, and is exact, so that a sanitizer sees its ends ---- */

enum { HEADER = 64 };

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    pthread_mutex_lock(&lock);
    *total_bytes = total_memory();
    *free_bytes = *total_bytes - used_bytes;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t size_bytes)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorMemoryAllocation);
    cudaError_t error = cudaErrorMemoryAllocation;
    pthread_mutex_lock(&lock);
    if (size_bytes <= total_memory() - used_bytes) {
        char *block = malloc(HEADER + size_bytes);
        if (block != NULL) {
            *(size_t *)(void *)block = size_bytes;
            memset(block + HEADER, 0xff, size_bytes); /* NaN: not to be read before written */
            *memory = block + HEADER;
            used_bytes += size_bytes;
            error = cudaSuccess;
        }
    }
    pthread_mutex_unlock(&lock);
    return answer(error);
}

cudaError_t cudaFree(void *memory)
{
    if (memory == NULL) return cudaSuccess;
    char *block = (char *)memory - HEADER;
    pthread_mutex_lock(&lock);
    used_bytes -= *(size_t *)(void *)block;
    pthread_mutex_unlock(&lock);
    free(block);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size_bytes, unsigned flags)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorMemoryAllocation);
    (void)flags;
    *memory = aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    return *memory != NULL ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

/* ---- streams and events ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    return *stream != NULL ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)flags;
    return stream != NULL && event->is_recorded ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    *event = calloc(1, sizeof **event);
    return *event != NULL ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)stream;
    event->is_recorded = 1;
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    long shift_ms = setting("DROVE_STAND_IN_SHIFT_MS", 0);
    event->at.tv_sec += shift_ms / 1000;
    event->at.tv_nsec += shift_ms % 1000 * 1000000;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    if (setting("DROVE_STAND_IN_SILENT", 0)) return answer(cudaErrorNotReady);
    return event->is_recorded ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    if (!from->is_recorded || !to->is_recorded) return answer(cudaErrorInvalidValue);
    *ms = (float)((double)(to->at.tv_sec - from->at.tv_sec) * 1e3 +
                  (double)(to->at.tv_nsec - from->at.tv_nsec) * 1e-6);
    return cudaSuccess;
}

/* ---- graphs: what a stream is given would have to be kept; refused ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)stream;
    (void)mode;
    return answer(cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)stream;
    (void)graph;
    return answer(cudaErrorStreamCaptureUnsupported);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *sequence, cudaGraph_t graph,
                                          unsigned long long flags)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)sequence;
    (void)graph;
    (void)flags;
    return answer(cudaErrorNotSupported);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)graph;
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t sequence, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)sequence;
    (void)stream;
    return answer(cudaErrorNotSupported);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t sequence)
{
    (void)sequence;
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

/* ---- copies and kernels ---- */

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size_bytes, int kind,
                            cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)kind;
    (void)stream;
    cudaError_t error = count_call();
    if (error == cudaSuccess) memcpy(to, from, size_bytes);
    return answer(error);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size_bytes, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)stream;
    memset(to, value, size_bytes);
    return cudaSuccess;
}

int stand_in_begin(dim3 grid, dim3 block, cudaStream_t stream)
{
    unsigned threads = block.x * block.y * block.z;
    cudaError_t error = count_call();
    if (STAND_IN_FAILS_AS("cudaLaunchKernel")) error = cudaErrorLaunchFailure;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > INT32_MAX || grid.y > 65535 ||
        threads == 0 || threads > 1024 || stream == NULL) {
        error = cudaErrorInvalidValue;
    }
    answer(error);
    blockIdx = (dim3){0, 0, 0};
    threadIdx = (dim3){0, 0, 0};
    blockDim = block;
    return error == cudaSuccess;
}

/* Counts threads and blocks up, threads first; 0 after the last. */
int stand_in_next(dim3 grid, dim3 block)
{
    if (++threadIdx.x < block.x) return 1;
    threadIdx.x = 0;
    if (++threadIdx.y < block.y) return 1;
    threadIdx.y = 0;
    if (++blockIdx.x < grid.x) return 1;
    blockIdx.x = 0;
    return ++blockIdx.y < grid.y;
}

/* ---- products ---- */

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

static cublasStatus_t product(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                              int m, int n, int k, float alpha, const factor *a, int lda,
                              const factor *b, int ldb, float beta, float *c, int ldc)
{
    int a_rows = op_a == CUBLAS_OP_N ? m : k, b_rows = op_b == CUBLAS_OP_N ? k : n;
    if (handle->stream == NULL || lda < a_rows || ldb < b_rows || ldc < m || m < 0 || n < 0 ||
        k < 0) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    for (int j = 0; j < n; j++) {
        float *column = c + (size_t)j * (size_t)ldc;
        for (int i = 0; i < m; i++) column[i] = beta == 0.0f ? 0.0f : beta * column[i];
        for (int p = 0; p < k && op_a == CUBLAS_OP_N; p++) {
            float times = alpha * number(b, place_of(op_b, p, j, ldb));
            for (int i = 0; i < m; i++)
                column[i] += times * number(a, (size_t)p * (size_t)lda + (size_t)i);
        }
        for (int i = 0; i < m && op_a == CUBLAS_OP_T; i++) {
            float sum = 0.0f;
            for (int p = 0; p < k; p++)
                sum += number(a, place_of(op_a, i, p, lda)) * number(b, place_of(op_b, p, j, ldb));
            column[i] += alpha * sum;
        }
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType_t type_a, int lda, const void *b, cudaDataType_t type_b,
                            int ldb, const void *beta, void *c, cudaDataType_t type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm)
{
    if (STAND_IN_FAILS()) return CUBLAS_STATUS_INVALID_VALUE;
    const bool in_tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const factor x = {a, type_a, in_tf32}, y = {b, type_b, in_tf32};
    if (type_a != type_b || type_c != CUDA_R_32F || algorithm != CUBLAS_GEMM_DEFAULT ||
        (in_tf32 && type_a != CUDA_R_32F))
        return CUBLAS_STATUS_INVALID_VALUE;
    return product(handle, op_a, op_b, m, n, k, *(const float *)alpha, &x, lda, &y, ldb,
                   *(const float *)beta, c, ldc);
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
