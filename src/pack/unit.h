/* pack/unit.h - one member of a pack, trained on one division of the examples.
 *
 * A unit depends on nothing but its settings and its seed: it gives the same parameters on any
 * thread, and in any order.
 */
#ifndef DROVE_PACK_UNIT_H
#define DROVE_PACK_UNIT_H

#include "pack/judge.h"
#include "pack/member.h"

typedef struct drove_unit_task {
    const drove_member *member;
    const drove_model  *model;
    const drove_data   *data;           /* embedded, or as they are */
    const uint32_t     *trained, *held; /* rows of data */
    size_t              n_trained, n_held;
    const drovek_table *kernels;
    uint64_t            seed;
    uint64_t            n_steps; /* at most, about */
    double              seconds; /* it ends by then, its step size with it; 0: after its epochs */
    size_t              batch;
    /* True: the unit ends after a few steps and an evaluation, with its best parameters.  On the
     * thread that trains it, every few steps. */
    bool (*is_over)(void *context);
    void *context;
} drove_unit_task;

typedef struct drove_unit {
    float *theta;  /* [n_params] with the least loss on the held rows; drove__alloc */
    float *output; /* [n_held][n_outputs] there */
    double loss;   /* of the held rows; infinity: never finite */
    double epochs; /* where it was least */
} drove_unit;

/* Errors: DROVE_E_NOMEM, those of an engine. */
drove_status drove__unit_train(const drove_unit_task *task, drove_unit *out);
void         drove__unit_fini(drove_unit *unit); /* a zeroed one is accepted */

#endif
