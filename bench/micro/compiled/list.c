/* bench/micro/compiled/list.c - which tables of plain loops there are. */
#include "linear_compiled.h"

#include <stddef.h>

#if defined(COMPILED_X86)
extern const drovek_linear compiled_avx2_o3, compiled_avx2_ofast, compiled_avx512_o3,
    compiled_avx512_ofast, compiled_avx512vnni_o3, compiled_avx512vnni_ofast, proxy_avx2,
    proxy_avx512, proxy_avx512vnni;
#endif

const linear_compiled all_linear_compiled[] = {
#if defined(COMPILED_X86)
    {"avx2 -O3", &compiled_avx2_o3},
    {"avx2 -Ofast", &compiled_avx2_ofast},
    {"avx512 -O3", &compiled_avx512_o3},
    {"avx512 -Ofast", &compiled_avx512_ofast},
    {"avx512vnni -O3", &compiled_avx512vnni_o3},
    {"avx512vnni -Ofast", &compiled_avx512vnni_ofast},
    {"avx2 proxy", &proxy_avx2},
    {"avx512 proxy", &proxy_avx512},
    {"avx512vnni proxy", &proxy_avx512vnni},
#endif
    {NULL, NULL},
};
