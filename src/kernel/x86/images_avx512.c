/* kernel/x86/images_avx512.c - kernels of layers on images, AVX-512. */
#include "kernel/tiers.h"

#include "kernel/x86/lanes_avx512.h"

#include "kernel/lanes/columns.h"
#include "kernel/lanes/lrn.h"
#include "kernel/lanes/pool.h"
#include "kernel/lanes/pool_back.h"

const drovek_images drovek_images_avx512 = {
#define X(k) .k = k,
    DROVEK_IMAGE_LIST(X)
#undef X
};
