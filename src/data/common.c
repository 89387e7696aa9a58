/* data/common.c - the keys that the spec of every data set has. */
#include "data/common.h"

#include "base/number.h"
#include "data/scale.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static const char *const parts[] = {"train", "test", NULL};

const drove_spec_key drove__common_keys[] = {
    {"scale", NULL, DROVE_AS_WORD(drove_common_options, scale, drove__scaling_names),
     .help = "of the inputs; without it as is usual for the format"},
    DROVE_SPEC_KEYS_OF(drove_common_options, augment, drove_augment_options, drove__augment_keys),
    {"mean", NULL, DROVE_AS_TEXT(drove_common_options, mean),
     .help = "number that images are lowered by behind their scaling, or one a channel: 0.5,0.4"},
    {"std", NULL, DROVE_AS_TEXT(drove_common_options, std),
     .help = "number that they are then divided by, or one a channel"},
    {"split", NULL, DROVE_AS_TEXT(drove_common_options, split_text),
     .help = "rows that are held out: a share, last, group:COLUMN, 0.2:last, 0.2:group:COLUMN"},
    {"fold", NULL, DROVE_AS_TEXT(drove_common_options, fold),
     .help = "I/K: the I-th of K parts of the rows is held out"},
    DROVE_SPEC_END,
};
const drove_spec_key drove__part_keys[] = {
    {"part", "train", DROVE_AS_EITHER(drove_common_options, is_test, parts),
     .help = "which files of the format"},
    DROVE_SPEC_END,
};

drove_status drove__split_read(const char *text, drove_split *out)
{
    static const char last[] = "last", group[] = "group:";
    char number[32];
    drove_split split = {.by = DROVE_SPLIT_DRAWN};
    const char *rest = text;
    if (strcspn(text, "0123456789.-+") == 0) {
        const size_t n = strcspn(text, ":");
        snprintf(number, sizeof number, "%.*s", n < sizeof number ? (int)n : 31, text);
        DROVE_TRY(drove__parse_real("split", number, DBL_MIN, 1.0 - DBL_EPSILON / 2, &split.share));
        rest += n + (text[n] == ':');
    }
    if (strcmp(rest, last) == 0) {
        split.by = DROVE_SPLIT_LAST;
    } else if (strncmp(rest, group, strlen(group)) == 0 && rest[strlen(group)] != '\0') {
        split.by = DROVE_SPLIT_GROUP;
        split.column = rest + strlen(group);
    } else if (*rest != '\0' || split.share == 0.0 || rest[-1] == ':') {
        return drove__fail(
            DROVE_E_ARG,
            "split: expected a share below 1 such as 0.1, last or group:COLUMN, also "
            "0.1:last or 0.1:group:COLUMN, found \"%.80s\"",
            text);
    }
    *out = split;
    return DROVE_OK;
}

drove_status drove__common_read(const drove_spec *spec, drove_common_options *out)
{
    drove_common_options opt = {.scale = DROVE_N_SCALINGS};
    DROVE_TRY(drove__spec_take(spec, drove__common_keys, &opt));
    DROVE_TRY(drove__spec_take(spec, drove__part_keys, &opt));
    if (opt.split_text != NULL) DROVE_TRY(drove__split_read(opt.split_text, &opt.split));
    *out = opt;
    return DROVE_OK;
}
