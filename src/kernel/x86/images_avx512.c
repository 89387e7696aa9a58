/* kernel/x86/images_avx512.c - kernels of layers on images, AVX-512. */
#include "kernel/x86/lanes_avx512.h"

#define TABLE_NAME drovek_images_avx512
#include "kernel/lanes/images.h"
