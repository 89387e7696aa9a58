/* kernel/arm/images_neon.c - kernels of layers on images, NEON. */
#include "kernel/tiers.h"

#include "kernel/arm/lanes_neon.h"

#include "kernel/lanes/columns.h"
#include "kernel/lanes/lrn.h"
#include "kernel/lanes/pool.h"
#include "kernel/lanes/pool_back.h"

const drovek_images drovek_images_neon = {
#define X(k) .k = k,
    DROVEK_IMAGE_LIST(X)
#undef X
};
