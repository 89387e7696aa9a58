/* tests/cuda/cuda_runtime_api.h - stands for CUDA's header of this name: what the CUDA module uses
 * of it, declared by us, so that the module can be built and run where there is no CUDA and no GPU.
 *
 * runtime.c carries everything out at once, on the processor, in plain memory.  What that cannot
 * show: the speed, races between streams, and what the real compiler makes of the kernels.
 */
#ifndef DROVE_TESTS_CUDA_RUNTIME_API_H
#define DROVE_TESTS_CUDA_RUNTIME_API_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorNoDevice,
    cudaErrorInsufficientDriver,
    cudaErrorInvalidDevice,
    cudaErrorNotReady,
    cudaErrorInvalidDeviceFunction,
    cudaErrorNoKernelImageForDevice,
    cudaErrorUnsupportedPtxVersion,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorNotSupported,
    cudaErrorLaunchFailure
} cudaError_t;

typedef struct stand_in_stream   *cudaStream_t;
typedef struct stand_in_event    *cudaEvent_t;
typedef struct stand_in_graph    *cudaGraph_t;
typedef struct stand_in_sequence *cudaGraphExec_t;

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

struct cudaDeviceProp {
    char   name[256];
    size_t totalGlobalMem;
    int    multiProcessorCount, major, minor;
};

typedef struct cudaFuncAttributes {
    int binaryVersion;
} cudaFuncAttributes;

enum { cudaHostAllocPortable = 1, cudaStreamNonBlocking = 1 };
enum {
    cudaStreamCaptureModeThreadLocal = 1,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
};
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaMalloc(void **memory, size_t size_bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaHostAlloc(void **memory, size_t size_bytes, unsigned flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *sequence, cudaGraph_t graph,
                                          unsigned long long flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphLaunch(cudaGraphExec_t sequence, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t sequence);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size_bytes, int kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t size_bytes, cudaStream_t stream);
#define cudaFuncGetAttributes(attributes, function)                                                \
    ((void)(function), (attributes)->binaryVersion = 90, cudaSuccess)

/* ---- kernels: every thread of every block, one after the other; but with OpenMP the threads of a
 * block of one warp at once, so that they can meet at barriers ---- */

extern _Thread_local dim3 blockIdx, blockDim, threadIdx;

#define __device__
#define __forceinline__ inline
#ifdef _OPENMP /* the threads of a block of 32 are threads */
#include <omp.h>
#define __shared__      static
#define __syncthreads() stand_in_barrier()
static inline void stand_in_barrier(void)
{
#pragma omp barrier
}
#else /* blocks have no barrier: DROVE_LANES is 1 */
#define __shared__
#define __syncthreads() ((void)0)
#endif

static inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* An invalid grid is refused as a GPU does; a stream that records keeps nothing but the count. */
int stand_in_begin(dim3 grid, dim3 block, cudaStream_t stream);
int stand_in_next(dim3 grid, dim3 block);

#define STAND_IN_SERIAL(grid, block, call)                                                         \
    do call;                                                                                       \
    while (stand_in_next(grid, block))

#ifdef _OPENMP
#define STAND_IN_BLOCKS(grid, block, call)                                                         \
    if ((block).x == DROVE_LANES && (block).y == 1) {                                              \
        const dim3 grid_ = (grid), block_ = (block);                                               \
        _Pragma("omp parallel num_threads(DROVE_LANES)")                                           \
        {                                                                                          \
            threadIdx = (dim3){(unsigned)omp_get_thread_num(), 0, 0};                              \
            blockDim = block_;                                                                     \
            for (unsigned at_ = 0; at_ < grid_.x * grid_.y; at_++) {                               \
                blockIdx = (dim3){at_ % grid_.x, at_ / grid_.x, 0};                                \
                call;                                                                              \
                stand_in_barrier();                                                                \
            }                                                                                      \
        }                                                                                          \
    } else STAND_IN_SERIAL(grid, block, call)
#else
#define STAND_IN_BLOCKS(grid, block, call) STAND_IN_SERIAL(grid, block, call)
#endif

#define DROVE_STAND_IN_LAUNCH(grid, block, stream, call)                                           \
    do {                                                                                           \
        if (!stand_in_begin(grid, block, stream)) break;                                           \
        STAND_IN_BLOCKS(grid, block, call);                                                        \
    } while (0)

#endif
