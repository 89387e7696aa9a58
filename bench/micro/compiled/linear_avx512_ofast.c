/* linear_loops.h with the flags of tier avx512 at -Ofast. */
#include "kernel/linear.h"

#define COMPILED_TABLE compiled_avx512_ofast
#include "linear_loops.h"
