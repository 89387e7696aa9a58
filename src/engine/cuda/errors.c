/* engine/cuda/errors.c - failures of CUDA's calls, as a status and a text. */
#include "engine/cuda/cuda.h"

#include <string.h>

const drove_accel_host *drove_cuda_host; /* set when the module is opened, constant afterwards */

drove_status drove_cuda_status_of(cudaError_t error)
{
    switch (error) {
    case cudaErrorMemoryAllocation: return DROVE_E_NOMEM;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorNotSupported: return DROVE_E_UNSUPPORTED;
    default: return DROVE_E_SYSTEM;
    }
}

/* call may be the text of a whole call: what stands before its '(' is its name. */
drove_status drove_cuda_check(const drove_accel *a, cudaError_t error, const char *call)
{
    if (error == cudaSuccess) return DROVE_OK;
    cudaGetLastError(); /* it is reported now, and not once more by the next call */
    return drove_cuda_host->fail(drove_cuda_status_of(error), "cuda:%d (%s): %.*s: %s", a->device,
                                 a->facts.name, (int)strcspn(call, "("), call,
                                 cudaGetErrorString(error));
}

drove_status drove_cuda_enter(const drove_accel *a)
{
    DROVE_CUDA_TRY(a, cudaSetDevice(a->device));
    return DROVE_OK;
}
