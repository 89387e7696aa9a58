/* linear_proxy.h with the flags of tier avx2. */
#include "kernel/x86/linear_lanes_avx2.h"

#define PROXY_TABLE proxy_avx2
#include "linear_proxy.h"
