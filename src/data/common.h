/* data/common.h - the keys that the spec of every data set has, whatever its format. */
#ifndef DROVE_DATA_COMMON_H
#define DROVE_DATA_COMMON_H

#include "base/spec_keys.h"
#include "data/augment.h"
#include "data/data.h"

/* ?split=: 0.1, last, group:COLUMN, 0.1:last, 0.1:group:COLUMN. */
typedef enum drove_split_by {
    DROVE_SPLIT_DRAWN, /* rows, by the seed                    */
    DROVE_SPLIT_LAST,  /* the last rows                        */
    DROVE_SPLIT_GROUP  /* whole groups, by the seed            */
} drove_split_by;
typedef struct drove_split {
    drove_split_by by;
    double         share;  /* of the rows that is held out; 0: not given */
    const char    *column; /* that says the group */
} drove_split;

typedef struct drove_common_options {
    drove_scaling         scale;      /* DROVE_N_SCALINGS: not given */
    const char           *split_text; /* NULL: not given */
    drove_split           split;      /* of it */
    const char           *fold;       /* "1/5"; NULL: not given */
    const char           *mean, *std; /* "0.5,0.4,0.3" of each channel; NULL: not given */
    bool                  is_test;    /* ?part=test */
    drove_augment_options augment;
} drove_common_options;

/* Errors: DROVE_E_ARG. */
drove_status drove__split_read(const char *text, drove_split *out);

extern const drove_spec_key drove__common_keys[]; /* all but ?part= */
extern const drove_spec_key drove__part_keys[];   /* with has_test */

/* Errors: DROVE_E_ARG. */
drove_status drove__common_read(const drove_spec *spec, drove_common_options *out);

#endif
