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

enum { MOST_STREAMS = 8 };

struct stand_in_event {
    int is_recorded;
    struct timespec at;
    unsigned long of; /* the graph during whose capture it was recorded last; 0: none */
    unsigned clock[MOST_STREAMS];
};

typedef struct kept {
    stand_in_run *run;
    void *arguments;
    size_t n_bytes;
} kept;

/* clock[s]: how much of what stream s was given comes before a point of another stream. */
struct stand_in_graph {
    unsigned long id;
    kept *node;
    size_t n_nodes, n_room;
    cudaStream_t stream[MOST_STREAMS]; /* the first one began it */
    unsigned clock[MOST_STREAMS][MOST_STREAMS];
    unsigned n_streams;
    bool is_invalid;
};

struct stand_in_sequence {
    kept *node;
    size_t n_nodes;
};

struct stand_in_blas {
    cudaStream_t stream;
};

_Thread_local dim3 blockIdx, blockDim, threadIdx;
static _Thread_local cudaError_t last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the memory in use */
static size_t used_bytes;
static atomic_long n_calls;                           /* launches and copies */
static _Thread_local struct stand_in_graph *captured; /* by this thread */
static atomic_ulong n_graphs;

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

/* What a thread that captures must not do spoils the graph. */
static bool breaks_capture(void)
{
    if (captured == NULL) return false;
    captured->is_invalid = true;
    answer(cudaErrorStreamCaptureUnsupported);
    return true;
}

void stand_in_answer(cudaError_t error)
{
    answer(error);
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
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
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
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
    char *block = (char *)memory - HEADER;
    pthread_mutex_lock(&lock);
    used_bytes -= *(size_t *)(void *)block;
    pthread_mutex_unlock(&lock);
    free(block);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size_bytes, unsigned flags)
{
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
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

static int keep(cudaStream_t stream, stand_in_run *run, const void *arguments, size_t n_bytes)
{
    struct stand_in_graph *g = stream->graph;
    if (g->n_nodes == g->n_room) {
        size_t n = g->n_room > 0 ? 2 * g->n_room : 64;
        kept *node = realloc(g->node, n * sizeof *node);
        if (node == NULL) return 0;
        g->node = node;
        g->n_room = n;
    }
    kept *k = &g->node[g->n_nodes];
    *k = (kept){run, malloc(n_bytes > 0 ? n_bytes : 1), n_bytes};
    if (k->arguments == NULL) return 0;
    memcpy(k->arguments, arguments, n_bytes);
    g->n_nodes++;
    g->clock[stream->number][stream->number]++;
    return 1;
}

/* A stream that waits for an event of a graph becomes part of it. */
static bool join(struct stand_in_graph *g, cudaStream_t stream)
{
    if (stream->graph == g) return true;
    if (stream->graph != NULL || g->n_streams == MOST_STREAMS) return false;
    stream->graph = g;
    stream->number = g->n_streams;
    g->stream[g->n_streams++] = stream;
    return true;
}

static cudaError_t wait_within(cudaStream_t stream, const struct stand_in_event *event)
{
    struct stand_in_graph *g = captured;
    if (g == NULL || event->of != g->id || !join(g, stream)) {
        if (g != NULL) g->is_invalid = true;
        return answer(cudaErrorStreamCaptureIsolation);
    }
    unsigned *clock = g->clock[stream->number];
    for (unsigned s = 0; s < MOST_STREAMS; s++)
        if (event->clock[s] > clock[s]) clock[s] = event->clock[s];
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    if (*stream == NULL) return answer(cudaErrorMemoryAllocation);
    (*stream)->keep = keep;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
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
    if (stream == NULL) return answer(cudaErrorInvalidValue);
    if (stream->graph != NULL || event->of != 0) return wait_within(stream, event);
    return event->is_recorded ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    *event = calloc(1, sizeof **event);
    return *event != NULL ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

static void record_now(void *event)
{
    struct stand_in_event *e = *(struct stand_in_event **)event;
    e->is_recorded = 1;
    e->of = 0;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    long shift_ms = setting("DROVE_STAND_IN_SHIFT_MS", 0);
    e->at.tv_sec += shift_ms / 1000;
    e->at.tv_nsec += shift_ms % 1000 * 1000000;
}

/* While a stream is captured an event is a point of the graph, or, if it is external, recorded at
 * each launch. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    if (stream != NULL && stream->graph != NULL && flags == cudaEventRecordExternal)
        return answer(stand_in_do(stream, record_now, &event, sizeof event));
    if (stream != NULL && stream->graph != NULL) {
        event->is_recorded = 0;
        event->of = stream->graph->id;
        memcpy(event->clock, stream->graph->clock[stream->number], sizeof event->clock);
    } else {
        record_now(&event);
    }
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventDefault);
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
    if (event->of != 0) return answer(cudaErrorCapturedEvent);
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

/* ---- graphs ---- */

static void free_nodes(kept *node, size_t n)
{
    for (size_t i = 0; i < n; i++) free(node[i].arguments);
    free(node);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    if (!STAND_IN_CAPTURES || setting("DROVE_STAND_IN_CAPTURES", 1) == 0)
        return answer(cudaErrorStreamCaptureUnsupported);
    if (mode != cudaStreamCaptureModeThreadLocal || captured != NULL || stream->graph != NULL)
        return answer(cudaErrorInvalidValue);
    struct stand_in_graph *g = calloc(1, sizeof *g);
    if (g == NULL) return answer(cudaErrorMemoryAllocation);
    g->id = atomic_fetch_add(&n_graphs, 1) + 1;
    captured = g;
    join(g, stream);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (graph != NULL) free_nodes(graph->node, graph->n_nodes);
    free(graph);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

/* All streams have to be waited for by the one that began, as CUDA wants it. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct stand_in_graph *g = stream->graph;
    cudaError_t error = STAND_IN_FAILS() ? cudaErrorLaunchFailure : cudaSuccess;
    *graph = NULL;
    if (g == NULL || g != captured || g->stream[0] != stream) return answer(cudaErrorInvalidValue);
    for (unsigned s = 0; s < g->n_streams; s++) {
        if (g->clock[0][s] != g->clock[s][s] && error == cudaSuccess)
            error = cudaErrorStreamCaptureUnjoined;
        g->stream[s]->graph = NULL;
    }
    if (g->is_invalid) error = cudaErrorStreamCaptureInvalidated;
    captured = NULL;
    if (error != cudaSuccess) cudaGraphDestroy(g);
    else *graph = g;
    return answer(error);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *sequence, cudaGraph_t graph,
                                          unsigned long long flags)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)flags;
    struct stand_in_sequence *made = calloc(1, sizeof *made);
    if (made == NULL) return answer(cudaErrorMemoryAllocation);
    made->node = calloc(graph->n_nodes + 1, sizeof *made->node);
    for (size_t i = 0; made->node != NULL && i < graph->n_nodes; i++) {
        kept *k = &made->node[i];
        *k = graph->node[i];
        k->arguments = malloc(k->n_bytes > 0 ? k->n_bytes : 1);
        if (k->arguments == NULL) break;
        memcpy(k->arguments, graph->node[i].arguments, k->n_bytes);
        made->n_nodes++;
    }
    if (made->node != NULL && made->n_nodes == graph->n_nodes) {
        *sequence = made;
        return cudaSuccess;
    }
    free_nodes(made->node, made->n_nodes);
    free(made);
    return answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t sequence, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    if (stream == NULL || stream->graph != NULL) return answer(cudaErrorInvalidValue);
    cudaError_t error = count_call();
    for (size_t i = 0; error == cudaSuccess && i < sequence->n_nodes; i++)
        sequence->node[i].run(sequence->node[i].arguments);
    return answer(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t sequence)
{
    free_nodes(sequence->node, sequence->n_nodes);
    free(sequence);
    return STAND_IN_FAILS() ? answer(cudaErrorLaunchFailure) : cudaSuccess;
}

/* ---- copies and kernels ---- */

typedef struct copy {
    void *to;
    const void *from; /* NULL: value */
    int value;
    size_t size_bytes;
} copy;

static void run_copy(void *arguments)
{
    const copy *c = arguments;
    if (c->from != NULL) memcpy(c->to, c->from, c->size_bytes);
    else memset(c->to, c->value, c->size_bytes);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size_bytes, int kind,
                            cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    (void)kind;
    cudaError_t error = count_call();
    copy c = {to, from, 0, size_bytes};
    if (error == cudaSuccess) error = stand_in_do(stream, run_copy, &c, sizeof c);
    return answer(error);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size_bytes, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return answer(cudaErrorLaunchFailure);
    copy c = {to, NULL, value, size_bytes};
    return answer(stand_in_do(stream, run_copy, &c, sizeof c));
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
    return error == cudaSuccess;
}

void stand_in_first(dim3 block)
{
    blockIdx = (dim3){0, 0, 0};
    threadIdx = (dim3){0, 0, 0};
    blockDim = block;
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
