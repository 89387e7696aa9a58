/* kernel/x86/images_avx2.c - kernels of layers on images, AVX2. */
#include "kernel/x86/lanes_avx2.h"

#define TABLE_NAME drovek_images_avx2
#include "kernel/lanes/images.h"
