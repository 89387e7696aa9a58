/* engine/opencl/errors.c - failures of OpenCL's calls, as a status and a text. */
#include "engine/opencl/opencl.h"

const drove_accel_host *drove_cl_host; /* set when the module is opened, constant afterwards */

static const char *error_name(cl_int error)
{
    switch (error) {
    case CL_DEVICE_NOT_AVAILABLE: return "the device is not available";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return "no memory of the device is left";
    case CL_OUT_OF_RESOURCES: return "out of resources";
    case CL_OUT_OF_HOST_MEMORY: return "no memory is left";
    case CL_INVALID_BUFFER_SIZE: return "the buffer is too large";
    case CL_BUILD_PROGRAM_FAILURE: return "the kernels do not compile";
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return "what came before it failed";
    default: return "refused";
    }
}

drove_status drove_cl_check(const drove_accel *a, cl_int error, const char *call)
{
    if (error == CL_SUCCESS) return DROVE_OK;
    bool is_memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY ||
                     error == CL_INVALID_BUFFER_SIZE;
    return drove_cl_host->fail(is_memory ? DROVE_E_NOMEM : DROVE_E_SYSTEM, "%s: %s: %s (%d)",
                               a != NULL ? a->facts.name : "OpenCL", call, error_name(error),
                               (int)error);
}
