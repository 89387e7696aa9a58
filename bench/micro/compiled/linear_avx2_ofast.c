/* linear_loops.h with the flags of tier avx2 at -Ofast. */
#include "kernel/linear.h"

#define COMPILED_TABLE compiled_avx2_ofast
#include "linear_loops.h"
