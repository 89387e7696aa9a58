/* kernel/arm/images_neon.c - kernels of layers on images, NEON. */
#include "kernel/arm/lanes_neon.h"

#define TABLE_NAME drovek_images_neon
#include "kernel/lanes/images.h"
