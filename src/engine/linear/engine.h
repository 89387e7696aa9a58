/* engine/linear/engine.h - a worker's engine: what engine.c makes and steps.c uses. */
#ifndef DROVE_ENGINE_LINEAR_ENGINE_H
#define DROVE_ENGINE_LINEAR_ENGINE_H

#include "engine/gather.h"
#include "engine/linear/rounding.h"
#include "engine/linear/problem.h"

struct drove_engine {
    const drove_engine_shared *p;
    drove_engine              *host;
    size_t                     host_rows; /* most rows of one of its batches */
    drove_rounder              rounder;
    double        *z, *dz; /* [each][n_outputs] outputs, and the loss's derivatives by them */
    double        *alpha;  /* [each], DROVE_FACTOR_ROWS at most; so are x and factor */
    const void   **x;
    drovek_factor *factor;
    drove_pass     pass;    /* of losses that need the model's own code */
    drove_targets  targets; /* of [each] */
    /* Sums of an update from more than one sparse example; else NULL. */
    float          *sum;     /* [n_features] sparse: 0 outside the places below */
    uint8_t        *is_seen; /* [n_features] the same as a mark */
    uint32_t       *place;   /* [n_features + 1] of the sum, in the order they were met */
    float          *value;   /* [n_features] the sum, packed */
    uint32_t       *index;   /* [longest_row] one example's places and values */
    float          *number;  /* [longest_row] */
    double          pending; /* log of the shrinking that is to be made up for */
    drove_work_done done;    /* by the last begin */
};

/* steps.c: functions of drove__engine_linear */
drove_status drove__linear_steps(drove_engine *e, const drove_params *live,
                                 const drove_batch *batch, float eta, drove_steps *out);
void         drove__linear_settle(drove_engine *e, uint32_t *words);

#endif
