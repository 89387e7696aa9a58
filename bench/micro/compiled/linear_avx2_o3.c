/* linear_loops.h with the flags of tier avx2 at -O3. */
#include "kernel/linear.h"

#define COMPILED_TABLE compiled_avx2_o3
#include "linear_loops.h"
