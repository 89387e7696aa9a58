/* engine/cuda/prelude.h - the words of the common language of engine/accel/kernels/ in CUDA C.
 *
 * Axis 1, rows, runs along the grid's x, which may be long, and axis 0, columns, along its y;
 * within a block it is the other way round, so that neighbouring threads are neighbouring columns.
 * The kernels of losses have one warp a row: their groups are blocks, along x.
 */
#ifndef DROVE_ENGINE_CUDA_PRELUDE_H
#define DROVE_ENGINE_CUDA_PRELUDE_H

#define DROVE_COLS 1
#ifndef DROVE_LANES
#define DROVE_LANES 32
#endif

/* shape: a grid and a block */
#ifdef __CUDACC__
#define DROVE_KERNEL extern "C" __global__
#define DROVE_LAUNCH(kernel, shape, stream, ...)                                                   \
    kernel<<<(shape).grid, (shape).block, 0, stream>>>(__VA_ARGS__)
#else /* tests/cuda/ */
#define DROVE_KERNEL static
#define DROVE_LAUNCH(kernel, shape, stream, ...)                                                   \
    DROVE_STAND_IN_LAUNCH((shape).grid, (shape).block, stream, kernel, __VA_ARGS__)
#endif

#define DROVE_FUNCTION static __device__ __forceinline__
#define DROVE_GLOBAL   /* one address space */
#define DROVE_SHARED   __shared__
#define DROVE_LOCAL    /* one address space */
#define DROVE_RESTRICT __restrict__
#define DROVE_AT(axis)                                                                             \
    ((axis) == 0 ? (size_t)blockIdx.y * blockDim.x + threadIdx.x                                   \
                 : (size_t)blockIdx.x * blockDim.y + threadIdx.y)
#define DROVE_GROUP            ((size_t)blockIdx.x)
#define DROVE_LANE             ((size_t)threadIdx.x)
#define DROVE_BARRIER()        __syncthreads()
#define DROVE_FLOAT_BITS(x)    __float_as_uint(x)
#define DROVE_BITS_FLOAT(x)    __uint_as_float(x)
#define DROVE_LOG(x)           logf(x)
#define DROVE_SQRT(x)          sqrtf(x)
#define DROVE_FMA(x, y, z)     fmaf(x, y, z)
#define CURVE_REAL             float
#define DROVE_INT(pointer)     ((const int *)(pointer))
#define DROVE_BYTE(pointer)    ((const unsigned char *)(pointer))
#define DROVE_WORD(pointer)    ((const unsigned *)(pointer))
#define DROVE_WORD_TO(pointer) ((unsigned *)(pointer))
#define DROVE_PLACE(number)    number##ull
typedef unsigned long long drove_place; /* 64 bits; in elements of 4 bytes */

#endif
