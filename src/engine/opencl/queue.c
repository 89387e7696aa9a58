/* engine/opencl/queue.c - memory, queues, events and copies.
 *
 * Queues are in order and keep times.  A wait without limit is clWaitForEvents; one with a limit
 * sleeps on a condition that a callback of the event signals, because OpenCL has none: the event
 * lives until both the caller and the callback have let go of it.
 */
#include "engine/opencl/opencl.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { ALIGNMENT = 64 };

struct drove_accel_event {
    drove_accel *accel;
    cl_event event;
    pthread_mutex_t lock; /* protects is_done, is_heard */
    pthread_cond_t changed;
    bool is_done, is_heard; /* has happened; a callback was asked for */
    atomic_uint n_users;    /* the caller, and a callback to come */
};

/* ---- memory ---- */

drove_status drove_cl_alloc(drove_accel *a, size_t n_elements, drove_accel_buffer **out)
{
    cl_int error;
    drove_accel_buffer *buffer = malloc(sizeof *buffer);
    if (buffer == NULL) return drove_cl_check(a, CL_OUT_OF_HOST_MEMORY, "clCreateBuffer");
    size_t n_bytes = (n_elements > 0 ? n_elements : 1) * sizeof(float);
    buffer->memory = clCreateBuffer(a->context, CL_MEM_READ_WRITE, n_bytes, NULL, &error);
    if (error != CL_SUCCESS) {
        free(buffer);
        return drove_cl_check(a, error, "clCreateBuffer");
    }
    *out = buffer;
    return DROVE_OK;
}

void drove_cl_free(drove_accel *a, drove_accel_buffer *buffer)
{
    (void)a;
    if (buffer == NULL) return;
    clReleaseMemObject(buffer->memory);
    free(buffer);
}

/* Memory that the driver has made for copies, mapped for good; NULL: no such thing. */
static void *mapped_memory(drove_accel *a, size_t n_bytes, cl_mem *buffer)
{
    cl_int error;
    *buffer = clCreateBuffer(a->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, n_bytes, NULL,
                             &error);
    if (error != CL_SUCCESS) return NULL;
    void *memory = clEnqueueMapBuffer(a->queue, *buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      n_bytes, 0, NULL, NULL, &error);
    if (error == CL_SUCCESS && (uintptr_t)memory % ALIGNMENT == 0) return memory;
    if (error == CL_SUCCESS) clEnqueueUnmapMemObject(a->queue, *buffer, memory, 0, NULL, NULL);
    clReleaseMemObject(*buffer);
    return NULL;
}

static drove_status fail_host_alloc(const drove_accel *a, size_t n_bytes)
{
    return drove_cl_host->fail(DROVE_E_NOMEM, "%s: not enough memory for %zu bytes", a->facts.name,
                               n_bytes);
}

drove_status drove_cl_host_alloc(drove_accel *a, size_t n_bytes, void **out)
{
    drove_cl_pinned *p = calloc(1, sizeof *p);
    if (p == NULL) return fail_host_alloc(a, n_bytes);
    if (n_bytes == 0) n_bytes = 1;
    if (!a->is_cpu) p->memory = mapped_memory(a, n_bytes, &p->buffer);
    if (p->memory == NULL) {
        p->buffer = NULL;
        if (posix_memalign(&p->memory, ALIGNMENT, n_bytes) != 0) p->memory = NULL;
    }
    if (p->memory == NULL) {
        free(p);
        return fail_host_alloc(a, n_bytes);
    }
    pthread_mutex_lock(&a->lock);
    p->next = a->pinned;
    a->pinned = p;
    pthread_mutex_unlock(&a->lock);
    *out = p->memory;
    return DROVE_OK;
}

void drove_cl_host_free(drove_accel *a, void *memory)
{
    if (memory == NULL) return;
    pthread_mutex_lock(&a->lock);
    drove_cl_pinned **at = &a->pinned;
    while (*at != NULL && (*at)->memory != memory) at = &(*at)->next;
    drove_cl_pinned *p = a->is_unfinished ? NULL : *at;
    if (p != NULL) *at = p->next;
    pthread_mutex_unlock(&a->lock);
    if (p == NULL) return;
    if (p->buffer != NULL) {
        clEnqueueUnmapMemObject(a->queue, p->buffer, memory, 0, NULL, NULL);
        clReleaseMemObject(p->buffer);
    } else {
        free(memory);
    }
    free(p);
}

/* ---- queues ---- */

drove_status drove_cl_queue_create(drove_accel *a, drove_accel_queue **out)
{
    cl_int error;
    drove_accel_queue *q = calloc(1, sizeof *q);
    if (q == NULL) return drove_cl_check(a, CL_OUT_OF_HOST_MEMORY, "clCreateCommandQueue");
    q->accel = a;
    q->queue = clCreateCommandQueue(a->context, a->device, CL_QUEUE_PROFILING_ENABLE, &error);
    if (error != CL_SUCCESS) {
        free(q);
        return drove_cl_check(a, error, "clCreateCommandQueue");
    }
    *out = q;
    return DROVE_OK;
}

void drove_cl_queue_destroy(drove_accel_queue *q)
{
    if (q == NULL) return;
    if (clFinish(q->queue) != CL_SUCCESS) {
        pthread_mutex_lock(&q->accel->lock);
        q->accel->is_unfinished = true;
        pthread_mutex_unlock(&q->accel->lock);
    }
    for (size_t i = 0; i < DROVE_CL_N_KERNELS; i++) {
        if (q->kernel[i] != NULL) clReleaseKernel(q->kernel[i]);
    }
    if (q->blocks != NULL) clReleaseMemObject(q->blocks);
    clReleaseCommandQueue(q->queue);
    free(q);
}

drove_status drove_cl_flush(drove_accel_queue *q)
{
    return drove_cl_check(q->accel, clFlush(q->queue), "clFlush");
}

/* ---- events ---- */

static void let_go(drove_accel_event *e)
{
    /* release: what this user did comes before; acquire: the last one sees it */
    if (atomic_fetch_sub_explicit(&e->n_users, 1, memory_order_acq_rel) > 1) return;
    clReleaseEvent(e->event);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

drove_status drove_cl_record(drove_accel_queue *q, drove_accel_event **out)
{
    pthread_condattr_t how;
    drove_accel_event *e = calloc(1, sizeof *e);
    if (e == NULL) return drove_cl_check(q->accel, CL_OUT_OF_HOST_MEMORY, "an event");
    cl_int error = clEnqueueMarkerWithWaitList(q->queue, 0, NULL, &e->event);
    if (error != CL_SUCCESS) {
        free(e);
        return drove_cl_check(q->accel, error, "clEnqueueMarkerWithWaitList");
    }
    e->accel = q->accel;
    atomic_init(&e->n_users, 1);
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &how);
    pthread_condattr_destroy(&how);
    *out = e;
    return DROVE_OK;
}

drove_status drove_cl_follow(drove_accel_queue *q, drove_accel_event *event)
{
    return drove_cl_check(q->accel, clEnqueueBarrierWithWaitList(q->queue, 1, &event->event, NULL),
                          "clEnqueueBarrierWithWaitList");
}

static void CL_CALLBACK on_done(cl_event event, cl_int status, void *context)
{
    drove_accel_event *e = context;
    (void)event;
    (void)status;
    pthread_mutex_lock(&e->lock);
    e->is_done = true;
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
    let_go(e);
}

/* CL_COMPLETE, a negative number for a failure, or a positive one while it has not happened. */
static cl_int state_of(const drove_accel_event *e)
{
    cl_int state = CL_QUEUED;
    cl_int error =
        clGetEventInfo(e->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return error == CL_SUCCESS ? state : error;
}

static drove_status listen(drove_accel_event *e)
{
    if (e->is_heard) return DROVE_OK;
    atomic_fetch_add_explicit(&e->n_users, 1, memory_order_relaxed); /* the caller holds one */
    cl_int error = clSetEventCallback(e->event, CL_COMPLETE, on_done, e);
    if (error != CL_SUCCESS) {
        drove_status status = drove_cl_check(e->accel, error, "clSetEventCallback");
        let_go(e);
        return status;
    }
    e->is_heard = true;
    return DROVE_OK;
}

static bool sleep_until_done(drove_accel_event *e, uint64_t timeout_ns)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t ns = (uint64_t)end.tv_nsec + timeout_ns % 1000000000u;
    end.tv_sec += (time_t)(timeout_ns / 1000000000u + ns / 1000000000u);
    end.tv_nsec = (long)(ns % 1000000000u);
    pthread_mutex_lock(&e->lock);
    int error = 0;
    while (!e->is_done && error == 0) error = pthread_cond_timedwait(&e->changed, &e->lock, &end);
    bool is_done = e->is_done;
    pthread_mutex_unlock(&e->lock);
    return is_done;
}

drove_status drove_cl_wait(drove_accel_event *event, uint64_t timeout_ns)
{
    cl_int state = state_of(event);
    if (state > CL_COMPLETE && timeout_ns == UINT64_MAX) {
        cl_int error = clWaitForEvents(1, &event->event);
        if (error != CL_SUCCESS && error != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
            return drove_cl_check(event->accel, error, "clWaitForEvents");
        state = state_of(event);
    } else if (state > CL_COMPLETE) {
        drove_status status = listen(event);
        if (status != DROVE_OK) return status;
        if (!sleep_until_done(event, timeout_ns)) {
            return drove_cl_host->fail(DROVE_E_SYSTEM, "%s: silent for %.1f s",
                                       event->accel->facts.name, (double)timeout_ns * 1e-9);
        }
        state = state_of(event);
    }
    return drove_cl_check(event->accel, state, "an operation on it");
}

drove_status drove_cl_happened(drove_accel_event *event, bool *out)
{
    cl_int state = state_of(event);
    *out = state <= CL_COMPLETE;
    return *out ? drove_cl_check(event->accel, state, "an operation on it") : DROVE_OK;
}

drove_status drove_cl_time(drove_accel_event *event, uint64_t *out_ns)
{
    cl_ulong ns = 0;
    cl_int error =
        clGetEventProfilingInfo(event->event, CL_PROFILING_COMMAND_END, sizeof ns, &ns, NULL);
    if (error == CL_SUCCESS) *out_ns = ns;
    return drove_cl_check(event->accel, error, "clGetEventProfilingInfo");
}

void drove_cl_event_destroy(drove_accel_event *event)
{
    if (event != NULL) let_go(event);
}

/* ---- copies ---- */

drove_status drove_cl_write(drove_accel_queue *q, drove_accel_view to, const void *from, size_t n)
{
    if (n == 0) return DROVE_OK;
    cl_int error =
        clEnqueueWriteBuffer(q->queue, to.buffer->memory, CL_FALSE, to.offset * sizeof(float),
                             n * sizeof(float), from, 0, NULL, NULL);
    return drove_cl_check(q->accel, error, "clEnqueueWriteBuffer");
}

drove_status drove_cl_read(drove_accel_queue *q, void *to, drove_accel_view from, size_t n)
{
    if (n == 0) return DROVE_OK;
    cl_int error =
        clEnqueueReadBuffer(q->queue, from.buffer->memory, CL_FALSE, from.offset * sizeof(float),
                            n * sizeof(float), to, 0, NULL, NULL);
    return drove_cl_check(q->accel, error, "clEnqueueReadBuffer");
}

drove_status drove_cl_zero(drove_accel_queue *q, drove_accel_view to, size_t n)
{
    const float zero = 0.0f;
    if (n == 0) return DROVE_OK;
    cl_int error = clEnqueueFillBuffer(q->queue, to.buffer->memory, &zero, sizeof zero,
                                       to.offset * sizeof(float), n * sizeof(float), 0, NULL, NULL);
    return drove_cl_check(q->accel, error, "clEnqueueFillBuffer");
}
