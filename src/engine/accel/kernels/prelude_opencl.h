/* engine/accel/kernels/prelude_opencl.h - the words of the common language in OpenCL C 1.2.
 *
 * The other files of this folder are written in what OpenCL C and CUDA C have in common, plus these
 * words; a module puts its prelude in front of them.  It also sets, for the kind of device,
 *
 *   DROVE_COLS   columns of an item; 1: items are threads whose memory accesses coalesce, more: an
 *                item runs along a row, and the compiler makes vectors of its inner loop
 *   DROVE_LANES  items that share a row in the loss, a power of 2; 1: no local memory, no barrier
 */
#define DROVE_KERNEL           __kernel
#define DROVE_FUNCTION         static inline
#define DROVE_GLOBAL           __global
#define DROVE_SHARED           __local /* of a declaration */
#define DROVE_LOCAL            __local /* of a pointer */
#define DROVE_RESTRICT         restrict
#define DROVE_AT(axis)         get_global_id(axis)
#define DROVE_GROUP            get_group_id(0)
#define DROVE_LANE             get_local_id(0)
#define DROVE_BARRIER()        barrier(CLK_LOCAL_MEM_FENCE)
#define DROVE_FLOAT_BITS(x)    as_uint(x)
#define DROVE_BITS_FLOAT(x)    as_float(x)
#define DROVE_LOG(x)           log(x)
#define DROVE_SQRT(x)          sqrt(x)
#define DROVE_FMA(x, y, z)     fma(x, y, z)
#define CURVE_REAL             float
#define DROVE_INT(pointer)     ((__global const int *)(pointer))
#define DROVE_BYTE(pointer)    ((__global const uchar *)(pointer))
#define DROVE_WORD(pointer)    ((__global const unsigned *)(pointer))
#define DROVE_WORD_TO(pointer) ((__global unsigned *)(pointer))
#define DROVE_PLACE(number)    number##ul
typedef ulong drove_place; /* 64 bits; in elements of 4 bytes */
