/* bench/micro/linear_compiled.h - the linear kernels as plain loops, for a compiler to vectorise.
 *
 * linear_loops.h is the code; a source file per tier and level of optimisation compiles it.
 * linear_proxy.h is another: steps whose numbers are wrong, for their time alone.
 */
#ifndef DROVE_BENCH_LINEAR_COMPILED_H
#define DROVE_BENCH_LINEAR_COMPILED_H

#include "kernel/linear.h"

/* dot, AXPY (one example, nearest), spdot and spaxpy of all formats but those of 4 bits; of a
 * proxy, axpy_dot of D8M8. */
typedef struct linear_compiled {
    const char          *name; /* "avx2 -O3", "avx2 proxy": tier and what; NULL ends the list */
    const drovek_linear *table;
} linear_compiled;

extern const linear_compiled all_linear_compiled[]; /* none where there are no flags for tiers */

#endif
