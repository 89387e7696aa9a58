/* data/synth.c - functions shared by the generators. */
#include "data/synth.h"

#include "base/available.h"
#include "base/mem.h"

#include <stdlib.h>

drove_status drove__synth_create(const drove_spec *spec, const drove_synth_size *size,
                                 size_t n_classes, drove_storage **out)
{
    drove_storage *s;
    /* A generator needs no file, so only the machine limits what a spec may ask for. */
    double of_stored = size->x_kind == DROVE_X_U8 ? 1 : size->x_kind == DROVE_X_F32 ? 4 : 8;
    double n_stored = size->x_kind == DROVE_X_CSR ? (double)size->n_stored
                                                  : (double)size->n_rows * (double)size->n_features;
    double needed = n_stored * of_stored + 12.0 * (double)size->n_rows;
    double machine = (double)drove__memory_most();
    if (machine > 0 && needed > machine)
        return drove__fail(DROVE_E_ARG,
                           "%s:%s: these data need %.1f GiB, this machine has %.1f GiB", spec->name,
                           spec->arg[0], needed / (1 << 30), machine / (1 << 30));
    DROVE_TRY(drove__storage_create(&s));
    s->n_rows = (size_t)size->n_rows;
    s->n_features = (size_t)size->n_features;
    s->x_kind = size->x_kind;
    s->y_kind = DROVE_Y_CLASS;
    s->n_classes = n_classes;
    size_t n = s->n_rows * s->n_features;
    s->y_class = drove__grow(NULL, s->n_rows, sizeof *s->y_class);
    if (s->x_kind == DROVE_X_U8) s->x_u8 = drove__alloc(n, 1);
    else if (s->x_kind == DROVE_X_F32) s->x_f32 = drove__alloc(n, sizeof *s->x_f32);
    else s->row_start = drove__grow(NULL, s->n_rows + 1, sizeof *s->row_start);
    bool has_x = s->x_u8 != NULL || s->x_f32 != NULL || s->row_start != NULL;
    if (!has_x || s->y_class == NULL) {
        drove__storage_release(s);
        return drove__fail_nomem("generated data", n);
    }
    *out = s;
    return DROVE_OK;
}
