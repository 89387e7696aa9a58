/* engine/features.h - feature maps: new features for a whole data set, computed once before a run.
 *
 * Source: Rahimi, Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007; used for a
 * kernel SVM by De Sa et al., ISCA 2017, section 7.  z(x) = sqrt(2 / D) cos(Omega x + b) with the
 * rows of Omega from N(0, 2 gamma I) and b uniform in [0, 2 pi): the expectation of z(x) . z(y) is
 * exp(-gamma |x - y|^2), so that a linear model of z(x) is a kernel machine of x.
 *
 * A map stands between the scaled examples of a data set and the model.  It is drawn from (seed, D,
 * number of inputs) alone, and a row of its result depends on nothing but the example: neither on
 * the number of threads nor on the other rows.
 */
#ifndef DROVE_ENGINE_FEATURES_H
#define DROVE_ENGINE_FEATURES_H

#include "base/rng.h"
#include "base/spec_keys.h"
#include "data/data.h"
#include "kernel/kernel.h"

enum {
    DROVE_MOST_FEATURES = 1 << 20, /* D */
    DROVE_FEATURES_TEXT_SIZE = 128
};

/* A map: one row of the table in engine/features.c; `drove list features` walks it.  The maps are
 * a matrix product and one function of each element. */
typedef struct drove_features_keys {
    uint64_t n_out;
    double   gamma;
    uint64_t seed; /* UINT64_MAX: not given */
} drove_features_keys;

typedef struct drove_feature_ops {
    const char           *name, *help, *source;
    const drove_spec_key *keys; /* of drove_features_keys */
    /* weight[n_out] of one input (a row of Omega transposed), by the stream of that input */
    void (*draw)(double gamma, drove_rng *rng, float *weight, size_t n_out);
    /* y[rows][cols] = function of (y + phase[cols]), for a map of n_out features */
    void (*finish)(const drovek_table *kernels, float *y, const float *phase, size_t rows,
                   size_t cols, size_t n_out);
} drove_feature_ops;

extern const drove_feature_ops *const drove__feature_maps[]; /* NULL-terminated */

typedef struct drove_features_options {
    const drove_feature_ops *ops;   /* NULL: none, and the rest is 0 */
    size_t                   n_out; /* D, 1 .. DROVE_MOST_FEATURES */
    double                   gamma; /* 1 / squared unit of the scaled inputs; 0: not settled */
    uint64_t                 seed;
    bool                     has_seed; /* false: not settled */
} drove_features_options;

/* "rff:4096?gamma=0.02&seed=1"; "" is none.
 * Errors: DROVE_E_ARG (unknown name or key, a number out of range), DROVE_E_NOMEM. */
drove_status drove__features_parse(const char *text, drove_features_options *out);
/* The spec that reads back as *opt; "" for none. */
void drove__features_print(const drove_features_options *opt, char into[DROVE_FEATURES_TEXT_SIZE]);
/* Whether what was asked for, where it says something, is what was settled. */
bool drove__features_agree(const drove_features_options *asked,
                           const drove_features_options *settled);

/* Row i of the view (not of DROVE_X_CSR) as a map sees it: x[n_features], scaled. */
void drove__features_load(const drovek_table *kernels, const drove_data *data, size_t i, float *x);

/* Settles what is open: the seed is `seed`; gamma is 1 / (number of inputs x mean variance of the
 * scaled inputs) of the rows of `data`, zeros of sparse data counted: two examples drawn at random
 * then are at a mean gamma |x - y|^2 of 2.  Errors: DROVE_E_DATA (the examples are all equal, or
 * their variance is beyond what gamma may be), DROVE_E_NOMEM. */
drove_status drove__features_settle(drove_features_options *opt, const drovek_table *kernels,
                                    const drove_data *data, uint64_t seed);

typedef struct drove_features drove_features; /* a map that was drawn; immutable */

/* Draws the map for examples of n_in inputs, by n_threads threads.  opt is settled; kernels
 * outlive the map.  Errors: DROVE_E_NOMEM (also where it is larger than the machine's memory),
 * DROVE_E_SYSTEM. */
drove_status drove__features_create(const drove_features_options *opt, size_t n_in,
                                    const drovek_table *kernels, unsigned n_threads,
                                    drove_features **out);
void         drove__features_destroy(drove_features *map); /* NULL accepted */
/* weight[n_in][n_out] = Omega transposed; *phase = b[n_out], the map's. */
void drove__features_weights(const drove_features *map, float *weight, const float **phase);

/* The data set of the map's features of each row of `data` (n_in features, dense or sparse), as
 * drove__data_derive says; `data` is not needed afterwards.  Errors: as above. */
drove_status drove__features_apply(const drove_features *map, const drove_data *data,
                                   unsigned n_threads, drove_data **out);

#endif
