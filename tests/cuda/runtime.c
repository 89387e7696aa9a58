/* tests/cuda/runtime.c - see cuda_runtime_api.h: devices (device.c) whose memory is the host's, and
 * on which everything happens at once.
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
#include "runtime.h"

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

_Thread_local dim3 blockIdx, blockDim, threadIdx;
static _Thread_local cudaError_t last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the memory in use */
static size_t used_bytes;
static atomic_long n_calls;                           /* launches and copies */
static _Thread_local struct stand_in_graph *captured; /* by this thread */
static atomic_ulong n_graphs;

long stand_in_setting(const char *name, long fallback)
{
    const char *text = getenv(name);
    return text != NULL ? atol(text) : fallback;
}

cudaError_t stand_in_answer(cudaError_t error)
{
    if (error != cudaSuccess) last = error;
    return error;
}

/* What a thread that captures must not do spoils the graph. */
static bool breaks_capture(void)
{
    if (captured == NULL) return false;
    captured->is_invalid = true;
    stand_in_answer(cudaErrorStreamCaptureUnsupported);
    return true;
}

/* One more launch or copy: lost from some number on? */
static cudaError_t count_call(void)
{
    long lost = stand_in_setting("DROVE_STAND_IN_LOST", 0);
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

/* ---- memory: each block knows its size, and is exact, so that a sanitizer sees its ends ---- */

enum { HEADER = 64 };

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    pthread_mutex_lock(&lock);
    *total_bytes = stand_in_memory();
    *free_bytes = *total_bytes - used_bytes;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t size_bytes)
{
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorMemoryAllocation);
    cudaError_t error = cudaErrorMemoryAllocation;
    pthread_mutex_lock(&lock);
    if (size_bytes <= stand_in_memory() - used_bytes) {
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
    return stand_in_answer(error);
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
    return STAND_IN_FAILS() ? stand_in_answer(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size_bytes, unsigned flags)
{
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorMemoryAllocation);
    (void)flags;
    *memory = aligned_alloc(64, (size_bytes + 63) / 64 * 64);
    return *memory != NULL ? cudaSuccess : stand_in_answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *memory)
{
    free(memory);
    return STAND_IN_FAILS() ? stand_in_answer(cudaErrorLaunchFailure) : cudaSuccess;
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
        return stand_in_answer(cudaErrorStreamCaptureIsolation);
    }
    unsigned *clock = g->clock[stream->number];
    for (unsigned s = 0; s < MOST_STREAMS; s++)
        if (event->clock[s] > clock[s]) clock[s] = event->clock[s];
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    if (*stream == NULL) return stand_in_answer(cudaErrorMemoryAllocation);
    (*stream)->keep = keep;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (breaks_capture()) return cudaErrorStreamCaptureUnsupported;
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return STAND_IN_FAILS() ? stand_in_answer(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    (void)flags;
    if (stream == NULL) return stand_in_answer(cudaErrorInvalidValue);
    if (stream->graph != NULL || event->of != 0) return wait_within(stream, event);
    return event->is_recorded ? cudaSuccess : stand_in_answer(cudaErrorInvalidValue);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    *event = calloc(1, sizeof **event);
    return *event != NULL ? cudaSuccess : stand_in_answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    (void)flags;
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return STAND_IN_FAILS() ? stand_in_answer(cudaErrorLaunchFailure) : cudaSuccess;
}

static void record_now(void *event)
{
    struct stand_in_event *e = *(struct stand_in_event **)event;
    e->is_recorded = 1;
    e->of = 0;
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    long shift_ms = stand_in_setting("DROVE_STAND_IN_SHIFT_MS", 0);
    e->at.tv_sec += shift_ms / 1000;
    e->at.tv_nsec += shift_ms % 1000 * 1000000;
}

/* While a stream is captured an event is a point of the graph, or, if it is external, recorded at
 * each launch. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    if (stream != NULL && stream->graph != NULL && flags == cudaEventRecordExternal)
        return stand_in_answer(stand_in_do(stream, record_now, &event, sizeof event));
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
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    if (event->of != 0) return stand_in_answer(cudaErrorCapturedEvent);
    if (stand_in_setting("DROVE_STAND_IN_SILENT", 0)) return stand_in_answer(cudaErrorNotReady);
    return event->is_recorded ? cudaSuccess : stand_in_answer(cudaErrorInvalidValue);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    if (!from->is_recorded || !to->is_recorded) return stand_in_answer(cudaErrorInvalidValue);
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
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    if (!STAND_IN_CAPTURES || stand_in_setting("DROVE_STAND_IN_CAPTURES", 1) == 0)
        return stand_in_answer(cudaErrorStreamCaptureUnsupported);
    if (mode != cudaStreamCaptureModeThreadLocal || captured != NULL || stream->graph != NULL)
        return stand_in_answer(cudaErrorInvalidValue);
    struct stand_in_graph *g = calloc(1, sizeof *g);
    if (g == NULL) return stand_in_answer(cudaErrorMemoryAllocation);
    g->id = atomic_fetch_add(&n_graphs, 1) + 1;
    captured = g;
    join(g, stream);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (graph != NULL) free_nodes(graph->node, graph->n_nodes);
    free(graph);
    return STAND_IN_FAILS() ? stand_in_answer(cudaErrorLaunchFailure) : cudaSuccess;
}

/* All streams have to be waited for by the one that began, as CUDA wants it. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct stand_in_graph *g = stream->graph;
    cudaError_t error = STAND_IN_FAILS() ? cudaErrorLaunchFailure : cudaSuccess;
    *graph = NULL;
    if (g == NULL || g != captured || g->stream[0] != stream)
        return stand_in_answer(cudaErrorInvalidValue);
    for (unsigned s = 0; s < g->n_streams; s++) {
        if (g->clock[0][s] != g->clock[s][s] && error == cudaSuccess)
            error = cudaErrorStreamCaptureUnjoined;
        g->stream[s]->graph = NULL;
    }
    if (g->is_invalid) error = cudaErrorStreamCaptureInvalidated;
    captured = NULL;
    if (error != cudaSuccess) cudaGraphDestroy(g);
    else *graph = g;
    return stand_in_answer(error);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *sequence, cudaGraph_t graph,
                                          unsigned long long flags)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    (void)flags;
    struct stand_in_sequence *made = calloc(1, sizeof *made);
    if (made == NULL) return stand_in_answer(cudaErrorMemoryAllocation);
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
    return stand_in_answer(cudaErrorMemoryAllocation);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t sequence, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    if (stream == NULL || stream->graph != NULL) return stand_in_answer(cudaErrorInvalidValue);
    cudaError_t error = count_call();
    for (size_t i = 0; error == cudaSuccess && i < sequence->n_nodes; i++)
        sequence->node[i].run(sequence->node[i].arguments);
    return stand_in_answer(error);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t sequence)
{
    free_nodes(sequence->node, sequence->n_nodes);
    free(sequence);
    return STAND_IN_FAILS() ? stand_in_answer(cudaErrorLaunchFailure) : cudaSuccess;
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
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    (void)kind;
    cudaError_t error = count_call();
    copy c = {to, from, 0, size_bytes};
    if (error == cudaSuccess) error = stand_in_do(stream, run_copy, &c, sizeof c);
    return stand_in_answer(error);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t size_bytes, cudaStream_t stream)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    copy c = {to, NULL, value, size_bytes};
    return stand_in_answer(stand_in_do(stream, run_copy, &c, sizeof c));
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
    stand_in_answer(error);
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
