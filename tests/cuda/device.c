/* tests/cuda/device.c - the devices of the stand-in, and their properties. */
#include "fault.h"
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>

static int n_devices(void)
{
    return (int)stand_in_setting("DROVE_STAND_IN_DEVICES", 1);
}

cudaError_t cudaGetDeviceCount(int *n)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    *n = n_devices();
    return *n > 0 ? cudaSuccess : stand_in_answer(cudaErrorNoDevice);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    *version = 13000;
    return cudaSuccess;
}

size_t stand_in_memory(void)
{
    return (size_t)stand_in_setting("DROVE_STAND_IN_BYTES", 1L << 30);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    if (device < 0 || device >= n_devices()) return stand_in_answer(cudaErrorInvalidDevice);
    *properties = (struct cudaDeviceProp){.totalGlobalMem = stand_in_memory(),
                                          .multiProcessorCount = 1,
                                          .major = 9};
    snprintf(properties->name, sizeof properties->name, "stand-in for a GPU");
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    const char *older = getenv("DROVE_STAND_IN_CAPABILITY"); /* "7.5" */
    (void)device;
    if (older == NULL) older = "9.0";
    *value = older[attribute == cudaDevAttrComputeCapabilityMajor ? 0 : 2] - '0';
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (STAND_IN_FAILS()) return stand_in_answer(cudaErrorLaunchFailure);
    return device >= 0 && device < n_devices() ? cudaSuccess
                                               : stand_in_answer(cudaErrorInvalidDevice);
}
