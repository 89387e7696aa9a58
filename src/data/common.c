/* data/common.c - the keys that the spec of every data set has. */
#include "data/common.h"

#include "data/scale.h"

#include <float.h>

static const char *const parts[] = {"train", "test", NULL};

const drove_spec_key drove__common_keys[] = {
    {"scale", NULL, DROVE_AS_WORD(drove_common_options, scale, drove__scaling_names),
     .help = "of the inputs; without it as is usual for the format"},
    DROVE_SPEC_KEYS_OF(drove_common_options, augment, drove_augment_options, drove__augment_keys),
    {"mean", NULL, DROVE_AS_TEXT(drove_common_options, mean),
     .help = "number that images are lowered by behind their scaling, or one a channel: 0.5,0.4"},
    {"std", NULL, DROVE_AS_TEXT(drove_common_options, std),
     .help = "number that they are then divided by, or one a channel"},
    {"split", NULL, DROVE_AS_REAL(drove_common_options, split, DBL_MIN, 1.0 - DBL_EPSILON / 2),
     .help = "share of the rows that is held out; without it 0.1 where --test asks for a split"},
    {"fold", NULL, DROVE_AS_TEXT(drove_common_options, fold),
     .help = "I/K: the I-th of K parts of the rows is held out"},
    DROVE_SPEC_END,
};
const drove_spec_key drove__part_keys[] = {
    {"part", "train", DROVE_AS_EITHER(drove_common_options, is_test, parts),
     .help = "which files of the format"},
    DROVE_SPEC_END,
};

drove_status drove__common_read(const drove_spec *spec, drove_common_options *out)
{
    drove_common_options opt = {.scale = DROVE_N_SCALINGS};
    DROVE_TRY(drove__spec_take(spec, drove__common_keys, &opt));
    DROVE_TRY(drove__spec_take(spec, drove__part_keys, &opt));
    *out = opt;
    return DROVE_OK;
}
