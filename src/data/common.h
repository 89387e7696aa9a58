/* data/common.h - the keys that the spec of every data set has, whatever its format. */
#ifndef DROVE_DATA_COMMON_H
#define DROVE_DATA_COMMON_H

#include "base/spec_keys.h"
#include "data/augment.h"
#include "data/data.h"

typedef struct drove_common_options {
    drove_scaling         scale;      /* DROVE_N_SCALINGS: not given */
    double                split;      /* share of the rows that is held out; 0: not given */
    const char           *fold;       /* "1/5"; NULL: not given */
    const char           *mean, *std; /* "0.5,0.4,0.3" of each channel; NULL: not given */
    bool                  is_test;    /* ?part=test */
    drove_augment_options augment;
} drove_common_options;

extern const drove_spec_key drove__common_keys[]; /* all but ?part= */
extern const drove_spec_key drove__part_keys[];   /* with has_test */

/* Errors: DROVE_E_ARG. */
drove_status drove__common_read(const drove_spec *spec, drove_common_options *out);

#endif
