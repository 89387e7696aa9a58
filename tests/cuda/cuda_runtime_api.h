/* tests/cuda/cuda_runtime_api.h - stands for CUDA's header of this name: what the CUDA module uses
 * of it, declared by us, so that the module can be built and run where there is no CUDA and no GPU.
 *
 * runtime.c carries everything out at once, on the processor, in plain memory; what a stream is
 * given while it is captured is kept, with its arguments, and carried out in that order at each
 * launch of the graph (by gcc; clang lacks the functions within functions that hold the arguments,
 * and capturing is refused there).  What that cannot show: the speed, races between streams, and
 * what the real compiler makes of the kernels.
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
    cudaErrorStreamCaptureInvalidated,
    cudaErrorStreamCaptureUnjoined,
    cudaErrorStreamCaptureIsolation,
    cudaErrorCapturedEvent,
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
enum { cudaEventDefault = 0, cudaEventRecordExternal = 1, cudaEventDisableTiming = 2 };
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
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
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

/* ---- what a stream is given ---- */

typedef void stand_in_run(void *arguments);

/* While a stream is captured, keep takes run and a copy of its arguments for the graph. */
struct stand_in_stream {
    struct stand_in_graph *graph; /* NULL: not captured */
    unsigned               number;
    int (*keep)(cudaStream_t stream, stand_in_run *run, const void *arguments, size_t n_bytes);
};

/* Carries it out now, or has it kept. */
static inline cudaError_t stand_in_do(cudaStream_t stream, stand_in_run *run, void *arguments,
                                      size_t n_bytes)
{
    if (stream->graph != NULL)
        return stream->keep(stream, run, arguments, n_bytes) ? cudaSuccess
                                                             : cudaErrorMemoryAllocation;
    run(arguments);
    return cudaSuccess;
}

/* An invalid grid is refused as a GPU does. */
int         stand_in_begin(dim3 grid, dim3 block, cudaStream_t stream);
void        stand_in_first(dim3 block);
int         stand_in_next(dim3 grid, dim3 block);
cudaError_t stand_in_answer(cudaError_t error);

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

#ifdef __clang__
#define STAND_IN_CAPTURES 0
#define DROVE_STAND_IN_LAUNCH(grid, block, stream, kernel, ...)                                    \
    do {                                                                                           \
        if (!stand_in_begin(grid, block, stream)) break;                                           \
        stand_in_first(block);                                                                     \
        STAND_IN_BLOCKS(grid, block, kernel(__VA_ARGS__));                                         \
    } while (0)
#else
#define STAND_IN_CAPTURES 1
/* m(place, x) for each argument x, l(place, x) for the last one; at most 16. */
/* clang-format off */
#define STAND_IN_1(m, l, x)      l(1, x)
#define STAND_IN_2(m, l, x, ...) m(2, x) STAND_IN_1(m, l, __VA_ARGS__)
#define STAND_IN_3(m, l, x, ...) m(3, x) STAND_IN_2(m, l, __VA_ARGS__)
#define STAND_IN_4(m, l, x, ...) m(4, x) STAND_IN_3(m, l, __VA_ARGS__)
#define STAND_IN_5(m, l, x, ...) m(5, x) STAND_IN_4(m, l, __VA_ARGS__)
#define STAND_IN_6(m, l, x, ...) m(6, x) STAND_IN_5(m, l, __VA_ARGS__)
#define STAND_IN_7(m, l, x, ...) m(7, x) STAND_IN_6(m, l, __VA_ARGS__)
#define STAND_IN_8(m, l, x, ...) m(8, x) STAND_IN_7(m, l, __VA_ARGS__)
#define STAND_IN_9(m, l, x, ...) m(9, x) STAND_IN_8(m, l, __VA_ARGS__)
#define STAND_IN_10(m, l, x, ...) m(10, x) STAND_IN_9(m, l, __VA_ARGS__)
#define STAND_IN_11(m, l, x, ...) m(11, x) STAND_IN_10(m, l, __VA_ARGS__)
#define STAND_IN_12(m, l, x, ...) m(12, x) STAND_IN_11(m, l, __VA_ARGS__)
#define STAND_IN_13(m, l, x, ...) m(13, x) STAND_IN_12(m, l, __VA_ARGS__)
#define STAND_IN_14(m, l, x, ...) m(14, x) STAND_IN_13(m, l, __VA_ARGS__)
#define STAND_IN_15(m, l, x, ...) m(15, x) STAND_IN_14(m, l, __VA_ARGS__)
#define STAND_IN_16(m, l, x, ...) m(16, x) STAND_IN_15(m, l, __VA_ARGS__)
#define STAND_IN_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, name, ...) name
#define STAND_IN_EACH(m, l, ...)                                                                   \
    STAND_IN_PICK(__VA_ARGS__, STAND_IN_16, STAND_IN_15, STAND_IN_14, STAND_IN_13, STAND_IN_12,    \
                  STAND_IN_11, STAND_IN_10, STAND_IN_9, STAND_IN_8, STAND_IN_7, STAND_IN_6,        \
                  STAND_IN_5, STAND_IN_4, STAND_IN_3, STAND_IN_2, STAND_IN_1, )(m, l, __VA_ARGS__)
#define STAND_IN_FIELD(i, x) __typeof__(x) a##i;
#define STAND_IN_VALUE(i, x) .a##i = x,
#define STAND_IN_USE(i, x)   pack_at_->a##i,
#define STAND_IN_LAST(i, x)  pack_at_->a##i
/* clang-format on */
#define DROVE_STAND_IN_LAUNCH(grid, block, stream, kernel, ...)                                    \
    do {                                                                                           \
        struct stand_in_pack {                                                                     \
            dim3 grid_, block_;                                                                    \
            STAND_IN_EACH(STAND_IN_FIELD, STAND_IN_FIELD, __VA_ARGS__)                             \
        } pack_ = {.grid_ = (grid),                                                                \
                   .block_ = (block),                                                              \
                   STAND_IN_EACH(STAND_IN_VALUE, STAND_IN_VALUE, __VA_ARGS__)};                    \
        __extension__ void run_(void *memory_)                                                     \
        {                                                                                          \
            struct stand_in_pack *pack_at_ = memory_;                                              \
            stand_in_first(pack_at_->block_);                                                      \
            STAND_IN_BLOCKS(pack_at_->grid_, pack_at_->block_,                                     \
                            kernel(STAND_IN_EACH(STAND_IN_USE, STAND_IN_LAST, __VA_ARGS__)));      \
        }                                                                                          \
        if (!stand_in_begin(grid, block, stream)) break;                                           \
        stand_in_answer(stand_in_do(stream, run_, &pack_, sizeof pack_));                          \
    } while (0)
#endif

#endif
