/* model/custom.c - the object that holds a program's own loss and layers for a model. */
#include "model/custom.h"

#include <stdlib.h>

drove_status drove__kinds_create(const drove_custom *custom, drove_kinds **out)
{
    *out = NULL;
    if (custom == NULL || (!custom->has_loss && custom->n_layers == 0)) return DROVE_OK;
    drove_kinds *k = calloc(1, sizeof *k);
    if (k == NULL) return drove__fail_nomem("a custom loss or layer", sizeof *k);
    k->given = *custom;
    k->n_users = 1;
    if (custom->has_loss) drove__custom_loss_init(&k->given, &k->loss);
    for (unsigned i = 0; i < custom->n_layers; i++)
        drove__custom_layer_init(&k->given, i, &k->layer[i]);
    *out = k;
    return DROVE_OK;
}

drove_kinds *drove__kinds_keep(drove_kinds *kinds)
{
    if (kinds != NULL) kinds->n_users++;
    return kinds;
}

void drove__kinds_release(drove_kinds *kinds)
{
    if (kinds != NULL && --kinds->n_users == 0) free(kinds);
}
