/* faults/opencl.c - libdrove_faults_opencl.so: OpenCL's calls, which libdrove_faults.so makes fail.
 *
 * It is preloaded behind libdrove_faults.so.  The group is "opencl": every call that the module
 * makes, and those of CLBlast of the same names.  A call that fails is not made.  What a release
 * that failed would have freed stays.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "faults.h"

#include <CL/cl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The function that a wrapper stands for, into a pointer to one. */
static void find_next(const char *name, void *pointer)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    memcpy(pointer, &found, sizeof found);
}

/* Declares `real`, the library's own function of this name. */
#define REAL(name)                                                                                 \
    __typeof__(&(name)) real;                                                                      \
    find_next(#name, &real)

#define FAILS(name) drove_fault("opencl", name, __builtin_return_address(0))

/* Notes an object that a call made: NULL is none. */
static void *made(void *object)
{
    if (object != NULL) drove_fault_objects(1);
    return object;
}

static void *refuse(cl_int *error, cl_int code)
{
    if (error != NULL) *error = code;
    return NULL;
}

static cl_int released(cl_int error)
{
    if (error == CL_SUCCESS) drove_fault_objects(-1);
    return error;
}

/* ---- platforms and devices ---- */

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *platforms, cl_uint *n_found)
{
    REAL(clGetPlatformIDs);
    return FAILS("clGetPlatformIDs") ? CL_OUT_OF_HOST_MEMORY : real(n, platforms, n_found);
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *into,
                         size_t *n_bytes)
{
    REAL(clGetPlatformInfo);
    return FAILS("clGetPlatformInfo") ? CL_OUT_OF_HOST_MEMORY
                                      : real(platform, what, size, into, n_bytes);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint n,
                      cl_device_id *devices, cl_uint *n_found)
{
    REAL(clGetDeviceIDs);
    return FAILS("clGetDeviceIDs") ? CL_OUT_OF_RESOURCES
                                   : real(platform, type, n, devices, n_found);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *into,
                       size_t *n_bytes)
{
    REAL(clGetDeviceInfo);
    return FAILS("clGetDeviceInfo") ? CL_OUT_OF_RESOURCES : real(device, what, size, into, n_bytes);
}

cl_int clCreateSubDevices(cl_device_id device, const cl_device_partition_property *how, cl_uint n,
                          cl_device_id *parts, cl_uint *n_parts)
{
    cl_uint n_made = 0;
    REAL(clCreateSubDevices);
    if (FAILS("clCreateSubDevices")) return CL_DEVICE_PARTITION_FAILED;
    const cl_int error = real(device, how, n, parts, &n_made);
    if (n_parts != NULL) *n_parts = n_made;
    if (error == CL_SUCCESS && parts != NULL) drove_fault_objects((int)n_made);
    return error;
}

cl_int clReleaseDevice(cl_device_id device)
{
    REAL(clReleaseDevice);
    return FAILS("clReleaseDevice") ? CL_OUT_OF_RESOURCES : released(real(device));
}

/* ---- contexts and queues ---- */

cl_context clCreateContext(const cl_context_properties *properties, cl_uint n,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *context, cl_int *error)
{
    REAL(clCreateContext);
    if (FAILS("clCreateContext")) return refuse(error, CL_DEVICE_NOT_AVAILABLE);
    return made(real(properties, n, devices, notify, context, error));
}

cl_int clReleaseContext(cl_context context)
{
    REAL(clReleaseContext);
    return FAILS("clReleaseContext") ? CL_OUT_OF_RESOURCES : released(real(context));
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties how, cl_int *error)
{
    REAL(clCreateCommandQueue);
    if (FAILS("clCreateCommandQueue")) return refuse(error, CL_OUT_OF_RESOURCES);
    return made(real(context, device, how, error));
}

cl_int clReleaseCommandQueue(cl_command_queue queue)
{
    REAL(clReleaseCommandQueue);
    return FAILS("clReleaseCommandQueue") ? CL_OUT_OF_RESOURCES : released(real(queue));
}

cl_int clFlush(cl_command_queue queue)
{
    REAL(clFlush);
    return FAILS("clFlush") ? CL_OUT_OF_RESOURCES : real(queue);
}

cl_int clFinish(cl_command_queue queue)
{
    REAL(clFinish);
    return FAILS("clFinish") ? CL_OUT_OF_RESOURCES : real(queue);
}

/* ---- programs and kernels ---- */

cl_program clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts,
                                     const size_t *sizes, cl_int *error)
{
    REAL(clCreateProgramWithSource);
    if (FAILS("clCreateProgramWithSource")) return refuse(error, CL_OUT_OF_HOST_MEMORY);
    return made(real(context, n, texts, sizes, error));
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint n, const cl_device_id *devices,
                                     const size_t *sizes, const unsigned char **binaries,
                                     cl_int *states, cl_int *error)
{
    REAL(clCreateProgramWithBinary);
    if (FAILS("clCreateProgramWithBinary")) return refuse(error, CL_INVALID_BINARY);
    return made(real(context, n, devices, sizes, binaries, states, error));
}

cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *context)
{
    REAL(clBuildProgram);
    return FAILS("clBuildProgram") ? CL_BUILD_PROGRAM_FAILURE
                                   : real(program, n, devices, options, notify, context);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void *into,
                        size_t *n_bytes)
{
    REAL(clGetProgramInfo);
    return FAILS("clGetProgramInfo") ? CL_OUT_OF_HOST_MEMORY
                                     : real(program, what, size, into, n_bytes);
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what,
                             size_t size, void *into, size_t *n_bytes)
{
    REAL(clGetProgramBuildInfo);
    return FAILS("clGetProgramBuildInfo") ? CL_OUT_OF_HOST_MEMORY
                                          : real(program, device, what, size, into, n_bytes);
}

cl_int clReleaseProgram(cl_program program)
{
    REAL(clReleaseProgram);
    return FAILS("clReleaseProgram") ? CL_OUT_OF_RESOURCES : released(real(program));
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error)
{
    REAL(clCreateKernel);
    if (FAILS("clCreateKernel")) return refuse(error, CL_OUT_OF_RESOURCES);
    return made(real(program, name, error));
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    REAL(clSetKernelArg);
    return FAILS("clSetKernelArg") ? CL_OUT_OF_RESOURCES : real(kernel, index, size, value);
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    REAL(clReleaseKernel);
    return FAILS("clReleaseKernel") ? CL_OUT_OF_RESOURCES : released(real(kernel));
}

/* ---- memory ---- */

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *memory,
                      cl_int *error)
{
    REAL(clCreateBuffer);
    if (FAILS("clCreateBuffer")) return refuse(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    return made(real(context, flags, size, memory, error));
}

cl_int clReleaseMemObject(cl_mem memory)
{
    REAL(clReleaseMemObject);
    return FAILS("clReleaseMemObject") ? CL_OUT_OF_RESOURCES : released(real(memory));
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits, cl_map_flags flags,
                         size_t at, size_t size, cl_uint n, const cl_event *before, cl_event *done,
                         cl_int *error)
{
    REAL(clEnqueueMapBuffer);
    if (FAILS("clEnqueueMapBuffer")) return refuse(error, CL_MAP_FAILURE);
    return real(queue, memory, waits, flags, at, size, n, before, done, error);
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped, cl_uint n,
                               const cl_event *before, cl_event *done)
{
    REAL(clEnqueueUnmapMemObject);
    return FAILS("clEnqueueUnmapMemObject") ? CL_OUT_OF_RESOURCES
                                            : real(queue, memory, mapped, n, before, done);
}

/* ---- work ---- */

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint n_dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint n, const cl_event *before, cl_event *done)
{
    REAL(clEnqueueNDRangeKernel);
    return FAILS("clEnqueueNDRangeKernel")
               ? CL_OUT_OF_RESOURCES
               : real(queue, kernel, n_dimensions, offset, global, local, n, before, done);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits, size_t at,
                           size_t size, void *into, cl_uint n, const cl_event *before,
                           cl_event *done)
{
    REAL(clEnqueueReadBuffer);
    return FAILS("clEnqueueReadBuffer")
               ? CL_OUT_OF_RESOURCES
               : real(queue, memory, waits, at, size, into, n, before, done);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool waits, size_t at,
                            size_t size, const void *from, cl_uint n, const cl_event *before,
                            cl_event *done)
{
    REAL(clEnqueueWriteBuffer);
    return FAILS("clEnqueueWriteBuffer")
               ? CL_OUT_OF_RESOURCES
               : real(queue, memory, waits, at, size, from, n, before, done);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void *pattern,
                           size_t n_pattern, size_t at, size_t size, cl_uint n,
                           const cl_event *before, cl_event *done)
{
    REAL(clEnqueueFillBuffer);
    return FAILS("clEnqueueFillBuffer")
               ? CL_OUT_OF_RESOURCES
               : real(queue, memory, pattern, n_pattern, at, size, n, before, done);
}

/* ---- events ---- */

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *before,
                                   cl_event *done)
{
    REAL(clEnqueueMarkerWithWaitList);
    if (FAILS("clEnqueueMarkerWithWaitList")) return CL_OUT_OF_HOST_MEMORY;
    const cl_int error = real(queue, n, before, done);
    if (error == CL_SUCCESS && done != NULL) drove_fault_objects(1);
    return error;
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *before,
                                    cl_event *done)
{
    REAL(clEnqueueBarrierWithWaitList);
    return FAILS("clEnqueueBarrierWithWaitList") ? CL_OUT_OF_RESOURCES
                                                 : real(queue, n, before, done);
}

cl_int clSetEventCallback(cl_event event, cl_int state,
                          void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *context)
{
    REAL(clSetEventCallback);
    return FAILS("clSetEventCallback") ? CL_OUT_OF_HOST_MEMORY
                                       : real(event, state, notify, context);
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    REAL(clWaitForEvents);
    return FAILS("clWaitForEvents") ? CL_OUT_OF_RESOURCES : real(n, events);
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *into, size_t *n_bytes)
{
    REAL(clGetEventInfo);
    return FAILS("clGetEventInfo") ? CL_OUT_OF_RESOURCES : real(event, what, size, into, n_bytes);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *into,
                               size_t *n_bytes)
{
    REAL(clGetEventProfilingInfo);
    return FAILS("clGetEventProfilingInfo") ? CL_PROFILING_INFO_NOT_AVAILABLE
                                            : real(event, what, size, into, n_bytes);
}

cl_int clReleaseEvent(cl_event event)
{
    REAL(clReleaseEvent);
    return FAILS("clReleaseEvent") ? CL_OUT_OF_RESOURCES : released(real(event));
}
