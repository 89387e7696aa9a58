/* kernel/ref/planes_strips.h - packed factors in plain C, for the table of ref/planes.c. */
#ifndef DROVEK_REF_PLANES_STRIPS_H
#define DROVEK_REF_PLANES_STRIPS_H

#include "kernel/planes.h"

drovek_planes_pack_fn   drovek_planes_pack_ref;
drovek_planes_lines_fn  drovek_planes_lines_ref;
drovek_planes_places_fn drovek_planes_places_ref;

#endif
