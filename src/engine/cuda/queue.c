/* engine/cuda/queue.c - queues are streams; events, their times, copies, recorded sequences.
 *
 * Events are used again: a step records some, and making one anew costs more than recording it.
 *
 * Time: CUDA gives the time between two events as a float of milliseconds, which after an hour is
 * no finer than a quarter of one.  So times are counted from a base event that is never long ago:
 * where it is, the event that was asked for becomes the base, and gets the old base's handle.
 *
 * A sequence is a CUDA graph, captured from the streams that take part.  An event in it has two
 * handles: to the graph's streams it is an order between nodes, to everybody else a node of the
 * graph that records it at each launch (an external event).  Those keep their handles, and are
 * never a base.
 */
#include "engine/cuda/cuda.h"

#include <stdlib.h>
#include <time.h>

/* A nap of 2 us takes 50 and more by Linux's timers, which is as long as a small pass. */
enum { AWAKE_NS = 50000, FIRST_NAP_NS = 2000, LONGEST_NAP_NS = 100000 };
static const float OLD_BASE_MS = 2048.0f; /* a float of so many has steps of a quarter of a us */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- queues ---- */

drove_status drove_cuda_queue_create(drove_accel *a, drove_accel_queue **out)
{
    drove_status status = drove_cuda_enter(a);
    if (status != DROVE_OK) return status;
    drove_accel_queue *q = calloc(1, sizeof *q);
    if (q == NULL) return drove_cuda_host->fail(DROVE_E_NOMEM, "a queue: no memory");
    q->a = a;
    /* one that does not wait for the default stream, which others in this process may use */
    cudaError_t error = cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking);
    if (error != cudaSuccess) {
        free(q);
        return drove_cuda_check(a, error, "cudaStreamCreateWithFlags");
    }
    *out = q;
    return DROVE_OK;
}

void drove_cuda_queue_destroy(drove_accel_queue *q)
{
    if (q == NULL) return;
    (void)drove_cuda_enter(q->a); /* what follows does without, too */
    cudaStreamSynchronize(q->stream);
    if (q->blas != NULL) cublasDestroy(q->blas);
    drove_cuda_conv_end(q);
    cudaFree(q->workspace);
    cudaFree(q->sums);
    drove_cuda_narrow_end(q);
    cudaStreamDestroy(q->stream);
    cudaGetLastError(); /* it shall not show at a later call */
    free(q);
}

/* The driver begins everything at once. */
drove_status drove_cuda_flush(drove_accel_queue *q)
{
    (void)q;
    return DROVE_OK;
}

/* ---- events ---- */

static drove_status take_event(drove_accel *a, drove_accel_event **out)
{
    pthread_mutex_lock(&a->lock);
    drove_accel_event *event = a->spare;
    if (event != NULL) a->spare = event->next;
    pthread_mutex_unlock(&a->lock);
    if (event == NULL) {
        event = calloc(1, sizeof *event);
        if (event == NULL) return drove_cuda_host->fail(DROVE_E_NOMEM, "an event: no memory");
        event->a = a;
        cudaError_t error = cudaEventCreate(&event->event);
        if (error != cudaSuccess) {
            free(event);
            return drove_cuda_check(a, error, "cudaEventCreate");
        }
    }
    event->has_time = false;
    event->sequence = NULL;
    *out = event;
    return DROVE_OK;
}

void drove_cuda_event_destroy(drove_accel_event *event)
{
    if (event == NULL) return;
    pthread_mutex_lock(&event->a->lock);
    event->next = event->a->spare;
    event->a->spare = event;
    pthread_mutex_unlock(&event->a->lock);
}

void drove_cuda_events_fini(drove_accel *a)
{
    while (a->spare != NULL) {
        drove_accel_event *event = a->spare;
        a->spare = event->next;
        cudaEventDestroy(event->event);
        if (event->within != NULL) cudaEventDestroy(event->within);
        free(event);
    }
    if (a->base != NULL) cudaEventDestroy(a->base);
    a->base = NULL;
    cudaGetLastError(); /* it shall not show at a later call */
}

/* The node that records it, and behind that the point that other streams wait for, so that who
 * waits for all of a stream has its last node, too. */
static cudaError_t record_in_sequence(drove_accel_queue *q, drove_accel_event *event)
{
    drove_accel_sequence *sequence = q->recording;
    cudaError_t error = cudaSuccess;
    if (event->within == NULL)
        error = cudaEventCreateWithFlags(&event->within, cudaEventDisableTiming);
    if (error != cudaSuccess) {
        event->within = NULL;
        return error;
    }
    error = cudaEventRecordWithFlags(event->event, q->stream, cudaEventRecordExternal);
    if (error == cudaSuccess) error = cudaEventRecord(event->within, q->stream);
    if (error != cudaSuccess) return error;
    event->sequence = sequence;
    event->next_of_sequence = sequence->event;
    sequence->event = event;
    return cudaSuccess;
}

drove_status drove_cuda_record(drove_accel_queue *q, drove_accel_event **out)
{
    drove_accel_event *event;
    drove_status status = drove_cuda_enter(q->a);
    if (status == DROVE_OK) status = take_event(q->a, &event);
    if (status != DROVE_OK) return status;
    cudaError_t error = q->recording != NULL ? record_in_sequence(q, event)
                                             : cudaEventRecord(event->event, q->stream);
    if (error != cudaSuccess) {
        drove_cuda_event_destroy(event);
        return drove_cuda_check(q->a, error, "cudaEventRecord");
    }
    *out = event;
    return DROVE_OK;
}

drove_status drove_cuda_follow(drove_accel_queue *q, drove_accel_event *event)
{
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK) return status;
    drove_accel_sequence *sequence = event->sequence;
    const bool is_within = sequence != NULL && sequence->n_joined > 0;
    if (q->recording != (is_within ? sequence : NULL)) {
        if (q->recording != NULL || sequence->n_joined == DROVE_CUDA_MOST_JOINED)
            return drove_cuda_host->fail(DROVE_E_UNSUPPORTED,
                                         "cuda:%d (%s): an event from before "
                                         "in a sequence",
                                         q->a->device, q->a->facts.name);
        q->recording = sequence;
        sequence->joined[sequence->n_joined++] = q;
    }
    DROVE_CUDA_TRY(q->a,
                   cudaStreamWaitEvent(q->stream, is_within ? event->within : event->event, 0));
    return DROVE_OK;
}

/* CUDA's own waiting has no time limit; so we look, at first without sleeping, then with naps that
 * grow longer. */
drove_status drove_cuda_wait(drove_accel_event *event, uint64_t timeout_ns)
{
    uint64_t start = now_ns();
    drove_status status = drove_cuda_enter(event->a);
    if (status != DROVE_OK) return status;
    for (long nap_ns = FIRST_NAP_NS;;) {
        cudaError_t error = cudaEventQuery(event->event);
        if (error == cudaSuccess) return DROVE_OK;
        if (error != cudaErrorNotReady) {
            return drove_cuda_check(event->a, error, "cudaEventQuery");
        }
        cudaGetLastError(); /* some versions keep "not ready" as an error */
        uint64_t waited_ns = now_ns() - start;
        if (waited_ns >= timeout_ns) {
            return drove_cuda_host->fail(DROVE_E_SYSTEM, "cuda:%d (%s): silent for %.3g s",
                                         event->a->device, event->a->facts.name,
                                         (double)waited_ns * 1e-9);
        }
        if (waited_ns < AWAKE_NS) continue;
        struct timespec nap = {.tv_nsec = nap_ns};
        nanosleep(&nap, NULL);
        if (nap_ns < LONGEST_NAP_NS) nap_ns *= 2;
    }
}

drove_status drove_cuda_happened(drove_accel_event *event, bool *out)
{
    drove_status status = drove_cuda_enter(event->a);
    if (status != DROVE_OK) return status;
    cudaError_t error = cudaEventQuery(event->event);
    *out = error == cudaSuccess;
    if (error != cudaErrorNotReady) return drove_cuda_check(event->a, error, "cudaEventQuery");
    cudaGetLastError(); /* some versions keep "not ready" as an error */
    return DROVE_OK;
}

/* With the lock held: the event's time, and a new base where the old one is too far away. */
static cudaError_t find_time(drove_accel *a, drove_accel_event *event)
{
    float elapsed_ms;
    cudaError_t error = cudaEventElapsedTime(&elapsed_ms, a->base, event->event);
    if (error != cudaSuccess) return error;
    event->time_ns = a->base_ns + (int64_t)((double)elapsed_ms * 1e6);
    event->has_time = true;
    if (elapsed_ms < OLD_BASE_MS || event->sequence != NULL) return cudaSuccess;
    cudaEvent_t old = a->base;
    a->base = event->event;
    a->base_ns = event->time_ns;
    event->event = old; /* has happened, too: to wait for it again stays right */
    return cudaSuccess;
}

drove_status drove_cuda_time(drove_accel_event *event, uint64_t *out_ns)
{
    cudaError_t error = cudaSuccess;
    drove_accel *a = event->a;
    drove_status status = drove_cuda_enter(a);
    if (status != DROVE_OK) return status;
    if (!event->has_time) {
        pthread_mutex_lock(&a->lock);
        error = find_time(a, event);
        pthread_mutex_unlock(&a->lock);
    }
    if (error != cudaSuccess) return drove_cuda_check(a, error, "cudaEventElapsedTime");
    *out_ns = (uint64_t)event->time_ns;
    return DROVE_OK;
}

/* ---- copies ---- */

drove_status drove_cuda_write(drove_accel_queue *q, drove_accel_view to, const void *from, size_t n)
{
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK || n == 0) return status;
    DROVE_CUDA_TRY(q->a, cudaMemcpyAsync(drove_cuda_at(to), from, n * sizeof(float),
                                         cudaMemcpyHostToDevice, q->stream));
    return to.buffer->narrow != NULL ? drove_cuda_narrow(q, to, n) : DROVE_OK;
}

drove_status drove_cuda_read(drove_accel_queue *q, void *to, drove_accel_view from, size_t n)
{
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK || n == 0) return status;
    DROVE_CUDA_TRY(q->a, cudaMemcpyAsync(to, drove_cuda_at(from), n * sizeof(float),
                                         cudaMemcpyDeviceToHost, q->stream));
    return DROVE_OK;
}

drove_status drove_cuda_zero(drove_accel_queue *q, drove_accel_view to, size_t n)
{
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK || n == 0) return status;
    DROVE_CUDA_TRY(q->a, cudaMemsetAsync(drove_cuda_at(to), 0, n * sizeof(float), q->stream));
    return DROVE_OK;
}

/* ---- sequences ---- */

drove_status drove_cuda_sequence_begin(drove_accel_queue *q)
{
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK) return status;
    drove_accel_sequence *sequence = calloc(1, sizeof *sequence);
    if (sequence == NULL) return drove_cuda_host->fail(DROVE_E_NOMEM, "a sequence: no memory");
    cudaError_t error = cudaStreamBeginCapture(q->stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess) {
        free(sequence);
        return drove_cuda_check(q->a, error, "cudaStreamBeginCapture");
    }
    sequence->a = q->a;
    sequence->joined[sequence->n_joined++] = q;
    q->recording = sequence;
    return DROVE_OK;
}

drove_status drove_cuda_sequence_end(drove_accel_queue *q, drove_accel_sequence **out)
{
    cudaGraph_t graph = NULL;
    drove_accel_sequence *sequence = q->recording;
    drove_status status = drove_cuda_enter(q->a);
    if (sequence == NULL)
        return drove_cuda_host->fail(DROVE_E_UNSUPPORTED, "no sequence was begun");
    for (size_t i = 0; i < sequence->n_joined; i++) sequence->joined[i]->recording = NULL;
    sequence->n_joined = 0;
    cudaError_t error = cudaStreamEndCapture(q->stream, &graph);
    if (status == DROVE_OK) status = drove_cuda_check(q->a, error, "cudaStreamEndCapture");
    if (status == DROVE_OK) {
        error = cudaGraphInstantiateWithFlags(&sequence->graph, graph, 0);
        if (error != cudaSuccess) sequence->graph = NULL;
        status = drove_cuda_check(q->a, error, "cudaGraphInstantiate");
    }
    if (graph != NULL) cudaGraphDestroy(graph); /* what can be run does not need it */
    if (status != DROVE_OK) {
        drove_cuda_sequence_destroy(sequence);
        return status;
    }
    *out = sequence;
    return DROVE_OK;
}

drove_status drove_cuda_sequence_run(drove_accel_queue *q, drove_accel_sequence *sequence)
{
    drove_status status = drove_cuda_enter(q->a);
    if (status != DROVE_OK) return status;
    for (drove_accel_event *e = sequence->event; e != NULL; e = e->next_of_sequence)
        e->has_time = false;
    DROVE_CUDA_TRY(q->a, cudaGraphLaunch(sequence->graph, q->stream));
    return DROVE_OK;
}

void drove_cuda_sequence_destroy(drove_accel_sequence *sequence)
{
    if (sequence == NULL) return;
    (void)drove_cuda_enter(sequence->a); /* what follows does without, too */
    for (drove_accel_event *e = sequence->event; e != NULL; e = e->next_of_sequence)
        e->sequence = NULL;
    if (sequence->graph != NULL) cudaGraphExecDestroy(sequence->graph);
    cudaGetLastError(); /* it shall not show at a later call */
    free(sequence);
}
