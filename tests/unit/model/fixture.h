/* tests/unit/model/fixture.h - a small random problem, seen by a drove model and by the float64
 * reference: same parameters, same examples (dense and sparse), same targets.
 */
#ifndef DROVE_TESTS_MODEL_FIXTURE_H
#define DROVE_TESTS_MODEL_FIXTURE_H

#include "model/model.h"
#include "support/reference_mlp.h"

typedef struct fixture_options {
    const char    *spec, *activation, *loss;
    drove_model_io io;
    size_t         n_rows;
    bool           ones; /* every stored value is 1, and the sparse form stores no values */
    uint64_t       seed;
} fixture_options;

typedef struct fixture {
    drove_model  *model;
    reference_mlp reference;
    size_t        n_rows;
    float        *theta;     /* [n_params] */
    double       *packed;    /* the same for the reference */
    float        *x;         /* [n_rows][n_inputs], about two thirds of it 0 */
    double       *x64, *t64; /* the reference's inputs and targets */
    drove_input   dense, sparse;
    drove_target  target;
    drove_pass    pass;
    float        *grad; /* [n_params] */
    void         *owned[16];
    size_t        n_owned;
} fixture;

void fixture_init(fixture *f, const fixture_options *opt);
void fixture_fini(fixture *f);

/* Mean loss and mean gradient of the model, into f->grad. */
double fixture_gradient(fixture *f, const drovek_table *k, const drove_input *in,
                        bool spans_wanted);

/* A flat vector of the model without its gaps, as the reference lays it out. */
void fixture_pack(const drove_model *model, const float *flat, double *packed);
/* Are the gaps of a flat vector zero? */
bool fixture_gaps_are_zero(const drove_model *model, const float *flat);

/* Every tier that this processor runs: name NULL-terminated list walked by index; false at the
 * end. */
bool fixture_tier(size_t i, drovek_table *out);

#endif
