/* tests/cuda/runtime.h - what the files of the stand-in's runtime share. */
#ifndef DROVE_TESTS_CUDA_RUNTIME_H
#define DROVE_TESTS_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#include <stddef.h>

/* A number of the environment (runtime.c lists them). */
long stand_in_setting(const char *name, long fallback);

/* Bytes of a device. */
size_t stand_in_memory(void);

#endif
