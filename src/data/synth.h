/* data/synth.h - functions shared by the generators. */
#ifndef DROVE_DATA_SYNTH_H
#define DROVE_DATA_SYNTH_H

#include "base/spec_keys.h"
#include "data/data.h"

typedef struct drove_logistic_options { /* of synth:logistic */
    uint64_t n, d, first, seed;
    double   density; /* 1: dense */
} drove_logistic_options;
extern const drove_spec_key drove__logistic_keys[];

typedef struct drove_synth_size {
    uint64_t n_rows, n_features;
    drove_x_kind
        x_kind; /* bytes and floats: [n_rows][n_features] is allocated; sparse: row_start alone */
    uint64_t n_stored; /* sparse: expected count, to check that they fit in memory */
} drove_synth_size;

/* A storage of classes whose arrays are allocated, not filled.
 * Errors: DROVE_E_ARG (more than the memory of this machine), DROVE_E_NOMEM. */
drove_status drove__synth_create(const drove_spec *spec, const drove_synth_size *size,
                                 size_t n_classes, drove_storage **out);

#endif
