/* engine/gather.h - the examples of a batch as a pass takes them, and their targets.
 *
 * Dense examples become rows of x[n_rows][n_features], widened, scaled, cut and mirrored
 * (data/augment.h) on the way, in one pass; n_features counts what is left then;
 * where they already lie in memory as they are wanted, they are read in place.  Sparse examples are
 * read in place, unless they must be scaled or are quantised: then they are packed.
 *
 * Memory: all that the data named at the start need is allocated there; a batch of other data
 * (evaluation) that needs more makes a scratch array grow once.  Threads: one at a time; kernels
 * and data are only read.
 */
#ifndef DROVE_ENGINE_GATHER_H
#define DROVE_ENGINE_GATHER_H

#include "engine/engine.h"

/* Targets of a batch, in memory of its own. */
typedef struct drove_targets {
    int32_t  *y_class;                  /* [max_rows] */
    int32_t  *y_other;                  /* [max_rows] mixup; NULL: none */
    float    *y_value;                  /* [max_rows][n_values] */
    uint64_t *label_first, *label_last; /* [max_rows] */
    float    *weight;                   /* [max_rows] */
} drove_targets;

/* Errors: DROVE_E_NOMEM; fini accepts what a failed init left, and zeros. */
drove_status drove__targets_init(drove_targets *t, const drove_data *data, size_t max_rows);
void         drove__targets_fini(drove_targets *t);
/* Of the rows row[n_rows] of the view, or of order[row[.]] where order is not NULL; *out points
 * into t, and labels into the data. */
void drove__targets_load(drove_targets *t, const drove_data *data, const uint32_t *order,
                         const uint32_t *row, size_t n_rows, drove_target *out);

typedef struct drove_gather {
    const drovek_table *kernels;
    size_t              max_rows, n_features;
    float              *x;            /* [max_rows][n_features] */
    float              *images;       /* [2][numbers of a stored one]; NULL: not needed */
    uint64_t           *first, *last; /* [max_rows] rows of sparse examples */
    uint32_t           *index;        /* [n_pairs] sparse examples, packed */
    float              *value;        /* [n_pairs] */
    size_t              n_pairs;      /* room */
    drove_targets       targets;
} drove_gather;

/* For batches of at most max_rows >= 1 examples of n_features; kernels are borrowed.  with_x: dense
 * examples will be wanted in the gather's own memory.  Errors: DROVE_E_ARG (too large),
 * DROVE_E_NOMEM; fini accepts what a failed init left, and zeros. */
drove_status drove__gather_init(drove_gather *g, const drovek_table *kernels,
                                const drove_data *data, size_t max_rows, size_t n_features,
                                bool with_x);
void         drove__gather_fini(drove_gather *g);

/* The most non-zeros of an example of the view; 0 for dense data. */
size_t drove__gather_longest(const drove_data *data);

/* is_training: crops and mirror images are drawn, as the number of the batch says; else images are
 * cut from the middle.  into NULL: *in points into the data or into g.  Else dense examples are
 * always written to into[n_rows][n_features].  Errors: DROVE_E_ARG (too many rows, or none),
 * DROVE_E_SHAPE, DROVE_E_NOMEM. */
drove_status drove__gather_load(drove_gather *g, const drove_batch *batch, bool is_training,
                                float *into, drove_input *in);

/* mixup: in training, after both loads into g, where the data ask for it: mixes each example with
 * that in its place from the batch's end, whose order is random.  target NULL: examples alone. */
void drove__gather_mix(drove_gather *g, const drove_batch *batch, drove_input *in,
                       drove_target *target);

/* May the examples of these data be gathered as the bytes that are stored?  Not where images are
 * cut, whose margin is zero after scaling. */
bool drove__gather_has_bytes(const drove_data *data);
/* The bytes of the batch's examples to into[n_rows][n_features]; numbers are
 * (byte - shift) * factor.  Where gather_has_bytes.  Errors: DROVE_E_ARG, DROVE_E_SHAPE. */
drove_status drove__gather_bytes(const drove_gather *g, const drove_batch *batch, uint8_t *into);

#endif
