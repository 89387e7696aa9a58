/* linear_loops.h with the flags of tier avx512vnni at -O3. */
#include "kernel/linear.h"

#define COMPILED_TABLE compiled_avx512vnni_o3
#include "linear_loops.h"
