/* linear_proxy.h with the flags of tier avx512vnni. */
#include "kernel/x86/linear_lanes_avx512.h"

#define PROXY_TABLE proxy_avx512vnni
#include "linear_proxy.h"
