/* model/integers.h - passes whose numbers are rounded: networks of few bits.
 *
 * The engine of such a network (engine/fixed/) fills a drove_round, which says how arrays of a pass
 * are rounded.  A pass with one has a drove_integers.  Where the kernels have products of integers
 * kept as bytes, planes (kernel/planes.h), layers read and write these in place of floats.
 */
#ifndef DROVE_MODEL_INTEGERS_H
#define DROVE_MODEL_INTEGERS_H

#include "model/layer.h"

/* ---- what an engine fills ---- */

/* An array [n / n_places / block][n_places][block] that a pass of training has written: block b
 * holds the numbers of channels b * block on, modulo those of the layer. */
typedef struct drove_rounded {
    /* Whose output it is; of derivatives, the layer that they go to as they are, in whose units
     * they are counted; SIZE_MAX: the examples. */
    size_t layer;
    size_t n_places, block;
    /* Its numbers are integers of one unit, which were rounded in another array: they stay as they
     * are, and no random bits are drawn. */
    bool is_rounded;
} drove_rounded;

/* Rounds x[n] to integers times a unit: to (NULL: not wanted; or x) = their values, planes (NULL:
 * not wanted) = the integers and the unit.  largest: that of x, as by largest_f32, or
 * DROVE_LARGEST_UNKNOWN. */
enum { DROVE_LARGEST_UNKNOWN = -1 };
typedef void drove_round_fn(void *context, const drove_rounded *of, const float *x, float *to,
                            size_t n, uint32_t largest, drovek_planes *planes);

/* Takes g[n], numbers [first, first + n) of the gradient of a layer's weights, which are complete
 * and not needed any more. */
typedef void drove_gradient_fn(void *context, size_t layer, size_t first, float *g, size_t n);

/* Writes the weights of a dense layer by their gradient, the product of x[n_rows][n_in] transposed
 * and d[n_rows][n_out].  false: not done, it must be computed and taken. */
typedef bool drove_product_fn(void *context, size_t layer, const drovek_planes *x,
                              const drovek_planes *d, size_t n_rows);

/* The same of floats, for a layer that reads its weights as words. */
typedef bool drove_words_product_fn(void *context, size_t layer, const float *x, const float *d,
                                    size_t n_rows);

/* Who takes the gradient of dense layers' weights during a backward pass of one part, for it to be
 * applied while it is in the cache. */
struct drove_taker {
    drove_gradient_fn      *gradient;      /* piece by piece */
    drove_product_fn       *product;       /* tried first where layers read planes ... */
    drove_words_product_fn *words_product; /* ... and words; NULL without these */
    void                   *context;
};

/* Of the outputs of each layer, and the derivative at each before its layer's backward.  One part
 * only.  Where the kernels have products of integers kept as bytes, layers with weights read these
 * instead of floats: their inputs, derivatives and weights. */
struct drove_round {
    drove_round_fn      *values, *derivatives;
    void                *context;
    drovek_factors       factors; /* what the products may take their factors to be */
    bool                 is_wide_value, is_wide_derivative; /* more than 8 bits: two planes */
    const drovek_planes *weight; /* [n_layers] with kernels->planes: of the current pass */
};

/* ---- layers ---- */

/* How a kind of layer takes part. */
typedef struct drove_integer_ops {
    bool takes_planes; /* reads integers kept as bytes: x, w, dy, and y for its activation */
    /* Its outputs are some of its inputs, so they are rounded already; may read and write integers
     * kept as bytes: x, y, dy, dx. */
    bool keeps_numbers;
    /* keeps_numbers: whether each derivative goes to one input at most, so that it stays rounded,
     * and the layer works on integers kept as bytes.  NULL: never. */
    bool (*keeps_derivatives)(const drove_layer *l);
} drove_integer_ops;

/* How a layer works on integers in a pass. */
typedef struct drove_layer_integers {
    /* The derivative at the output comes as it is from the only layer that reads it, where it was
     * rounded; the layer that the derivative then goes to, or this one. */
    bool   has_rounded_derivative;
    size_t reads_derivative;
    bool   is_rounded_behind; /* the output: what its only reader makes of it is */

    bool is_used; /* it reads integers, and no floats ... */
    /* ... but floats at its input, which are rounded behind it: x is NULL. */
    bool                 takes_floats;
    drovek_planes       *x, *y, *dy;
    drovek_planes       *dx; /* NULL: dx are floats */
    const drovek_planes *w;

    bool     is_made;        /* its output, by the layer before it */
    size_t   pooled_by;      /* the layer of takes_floats that alone reads its output; 0: none */
    bool     has_one_reader; /* its output: one layer, and no loss */
    bool     is_written;     /* the derivative at its output, by that layer, as integers */
    uint32_t largest, largest_derivative; /* if the layer that writes them says it */
    bool     takes_pooled; /* derivatives at the output of layer pooled_by, for those at its own */
} drove_layer_integers;

/* Tells the largest magnitude of bottom 0's dx, as by largest_f32, to who rounds it. */
void drove__integers_tell_largest(const drove_call *c, uint32_t largest);

/* ---- passes ---- */

struct drove_integers {
    const drove_round    *round;
    drove_layer_integers *layer; /* [n_layers] */
    /* Those of arrays; of what nobody reads, high is NULL.  NULL: the kernels have no planes. */
    drovek_planes *value;      /* [n_layers + 1] of each blob                  */
    drovek_planes *derivative; /* [n_layers]                                   */
    bool          *has_floats; /* [n_layers + 1] somebody reads a blob's floats */
    uint8_t       *memory;
};

/* Of a pass whose formats are chosen; adds to pass->n_bytes.  Errors: DROVE_E_NOMEM. */
drove_status drove__integers_create(const drove_pass_options *opt, drove_pass *pass);
void         drove__integers_destroy(drove_integers *p); /* NULL and half-built accepted */

/* Rounds the layer's outputs, or the derivatives there. */
void drove__integers_round(const drove_call *c, bool of_values);
/* Dense examples; they may be the data's own, so their values go to to[n_rows][n_inputs]. */
void drove__integers_round_examples(const drove_pass *pass, drove_input *in, float *to);

#endif
