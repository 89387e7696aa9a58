/* kernel/inline.h - what the kernels ask of the compiler. */
#ifndef DROVEK_INLINE_H
#define DROVEK_INLINE_H

#define INLINE static inline __attribute__((always_inline))

/* Before a loop of at most 32 turns: unrolls it. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#endif
