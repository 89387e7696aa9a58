/* linear_proxy.h with the flags of tier avx512. */
#include "kernel/x86/linear_lanes_avx512.h"

#define PROXY_TABLE proxy_avx512
#include "linear_proxy.h"
