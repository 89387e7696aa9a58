/* kernel/arm/table_neon.c - the NEON tier, for every AArch64 processor. */
#include "kernel/arm/lanes_neon.h"

#define TABLE_NAME drovek_neon
#define TABLE_BF16 "drove, bf16 by neon"
#include "kernel/lanes/table.h"
