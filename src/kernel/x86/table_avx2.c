/* kernel/x86/table_avx2.c - the AVX2 tier (with FMA). */
#include "kernel/x86/lanes_avx2.h"

#define TABLE_NAME drovek_avx2
#define TABLE_BF16 "drove, bf16 by avx2"
#include "kernel/lanes/table.h"
