/* kernel/x86/table_avx512.c - the AVX-512 tier (F, BW, DQ, VL). */
#include "kernel/x86/lanes_avx512.h"

#define TABLE_NAME drovek_avx512
#define TABLE_BF16 "drove, bf16 by avx512"
#include "kernel/lanes/table.h"
