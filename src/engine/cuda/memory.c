/* engine/cuda/memory.c - buffers on the device, and pinned memory of the host. */
#include "engine/cuda/cuda.h"

#include <stdlib.h>

drove_status drove_cuda_alloc(drove_accel *a, size_t n_elements, drove_accel_buffer **out)
{
    if (n_elements > SIZE_MAX / sizeof(float)) {
        return drove_cuda_host->fail(DROVE_E_NOMEM, "cuda:%d (%s): %zu elements are too many",
                                     a->device, a->facts.name, n_elements);
    }
    drove_status status = drove_cuda_enter(a);
    if (status != DROVE_OK) return status;
    drove_accel_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) return drove_cuda_host->fail(DROVE_E_NOMEM, "a buffer: no memory");
    size_t size_bytes = (n_elements > 0 ? n_elements : 1) * sizeof(float);
    cudaError_t error = cudaMalloc((void **)&buffer->memory, size_bytes);
    if (error != cudaSuccess) {
        free(buffer);
        return drove_cuda_check(a, error, "cudaMalloc");
    }
    buffer->n = size_bytes / sizeof(float);
    *out = buffer;
    return DROVE_OK;
}

void drove_cuda_free(drove_accel *a, drove_accel_buffer *buffer)
{
    if (buffer == NULL) return;
    (void)drove_cuda_enter(a); /* frees without it, too */
    cudaFree(buffer->memory);
    cudaFree(buffer->narrow);
    cudaGetLastError(); /* it shall not show at a later call */
    free(buffer);
}

drove_status drove_cuda_keep_in_bf16(drove_accel *a, drove_accel_buffer *buffer, bool keeps)
{
    drove_status status = drove_cuda_enter(a);
    if (status != DROVE_OK || keeps == (buffer->narrow != NULL)) return status;
    if (!keeps) {
        uint16_t *old = buffer->narrow;
        buffer->narrow = NULL;
        DROVE_CUDA_TRY(a, cudaFree(old)); /* waits for what uses it */
        return DROVE_OK;
    }
    void *memory = NULL;
    DROVE_CUDA_TRY(a, cudaMalloc(&memory, buffer->n * sizeof *buffer->narrow));
    buffer->narrow = memory;
    return DROVE_OK;
}

drove_status drove_cuda_host_alloc(drove_accel *a, size_t n_bytes, void **out)
{
    void *memory = NULL;
    drove_status status = drove_cuda_enter(a);
    if (status != DROVE_OK) return status;
    DROVE_CUDA_TRY(a, cudaHostAlloc(&memory, n_bytes > 0 ? n_bytes : 1, cudaHostAllocPortable));
    *out = memory; /* whole pages, hence aligned */
    return DROVE_OK;
}

void drove_cuda_host_free(drove_accel *a, void *memory)
{
    if (memory == NULL) return;
    (void)drove_cuda_enter(a); /* frees without it, too */
    cudaFreeHost(memory);
    cudaGetLastError(); /* it shall not show at a later call */
}
