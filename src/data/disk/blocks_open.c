/* data/disk/blocks_open.c - opens the file that a spec names by blocks: see blocks.h. */
#include "data/disk/blocks.h"

#include "base/mem.h"

#include <string.h>

typedef drove_status opener(const drove_spec *spec, drove_blocks **out);

static const struct {
    const char *format;
    opener *open;
    drove_status (*can)(const drove_spec *spec, bool *can); /* NULL: any of its files */
} openers[] = {{"rows", drove__rows_open, NULL},
               {"quant", drove__quant_open, drove__quant_can_open}};

/* *out NULL: there is none. */
static drove_status find_opener(const drove_spec *spec, opener **out)
{
    *out = NULL;
    for (size_t i = 0; i < DROVE_COUNT(openers); i++) {
        if (strcmp(openers[i].format, spec->name) != 0) continue;
        bool can = true;
        if (openers[i].can != NULL) DROVE_TRY(openers[i].can(spec, &can));
        if (can) *out = openers[i].open;
    }
    return DROVE_OK;
}

drove_status drove__blocks_can(const drove_spec *spec, bool *can)
{
    opener *open;
    const drove_status status = find_opener(spec, &open);
    *can = open != NULL;
    return status;
}

drove_status drove__blocks_open(const char *text, drove_blocks **out)
{
    drove_spec spec;
    *out = NULL;
    DROVE_TRY(drove__spec_parse(text, &spec));
    opener *open;
    drove_status status = find_opener(&spec, &open);
    if (status == DROVE_OK)
        status = open != NULL && spec.n_args == 1
                     ? open(&spec, out)
                     : drove__fail(DROVE_E_ARG,
                                   "%s: expected rows:FILE or quant:FILE, not compressed and "
                                   "without ?from, which are read by blocks",
                                   text);
    drove__spec_fini(&spec);
    return status;
}
