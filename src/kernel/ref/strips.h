/* kernel/ref/strips.h - packed factors in plain C: of bytes, for the table of ref/planes.c, and of
 * bf16 numbers, which no table has. */
#ifndef DROVEK_REF_STRIPS_H
#define DROVEK_REF_STRIPS_H

#include "kernel/strips.h"

extern const drovek_strips_ops drovek_strips_ref, drovek_strips_bf16_ref;

#endif
