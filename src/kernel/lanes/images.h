/* kernel/lanes/images.h - the table of a tier's kernels of layers on images.  Before it: the names
 * of the tier's registers, and TABLE_NAME, the table's. */
#ifndef DROVEK_LANES_IMAGES_H
#define DROVEK_LANES_IMAGES_H

#include "kernel/tiers.h"

#include "kernel/lanes/columns.h"
#include "kernel/lanes/depthwise.h"
#include "kernel/lanes/lrn.h"
#include "kernel/lanes/pool.h"
#include "kernel/lanes/pool_back.h"

const drovek_table TABLE_NAME = {
#define IMAGE(name, result, arguments) .name = name,
#include "kernel/slots.def"
};

#endif
