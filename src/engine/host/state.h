/* engine/host/state.h - the host engine's state, for the files of this folder alone. */
#ifndef DROVE_ENGINE_HOST_STATE_H
#define DROVE_ENGINE_HOST_STATE_H

#include "engine/engine.h"

#include "engine/gather.h"
#include "engine/host/team.h"
#include "engine/touched.h"

struct drove_engine {
    const drove_model  *model;
    drovek_table        narrow; /* the given kernels, with the model's factors */
    const drovek_table *kernels;
    size_t              max_rows;
    drove_pass          pass;
    drove_team         *team;    /* NULL: alone */
    float              *rounded; /* [max_rows][n_inputs] dense examples; NULL: none are rounded */
    drove_gather        gather;
    drove_touched       touched;
    drove_span         *span;    /* [n_features / 2 + 2] at most              */
    size_t              n_spans; /* room                                      */
    float              *sum; /* [n_params] of batches in blocks (blocks.h); NULL: never in blocks */
    drove_work_done     done; /* by the last begin                         */
};

/* The examples of a batch and their targets (NULL: not wanted). */
static inline drove_status drove__host_load(drove_engine *e, const drove_batch *batch,
                                            bool is_training, drove_input *in, drove_target *target)
{
    if (is_training && batch->loaded != NULL) {
        *in = batch->loaded->in;
        if (target != NULL) *target = batch->loaded->target;
        return DROVE_OK;
    }
    DROVE_TRY(drove__gather_load(&e->gather, batch, is_training, NULL, in));
    if (target != NULL)
        drove__targets_load(&e->gather.targets, batch->data, NULL, batch->row, batch->n_rows,
                            target);
    if (is_training) drove__gather_mix(&e->gather, batch, in, target);
    return DROVE_OK;
}

#endif
