/* engine/fixed/shared.h - what workers of one run of a network in fixed point share: formats, the
 * unit of each layer's weights, and where their numbers lie.  None of it changes during a run.
 *
 * Source: De Sa et al., ISCA 2017, section 7: networks under a DMGC signature, any number of bits.
 *
 * The shared vector: words[n_words],
 *
 *   the weights of all dense and convolution layers, one layer after the other as in theta, each a
 *   number of 8 or 16 bits (M of at most 8, or more), or a float; then zeros to a whole line
 *   all other parameters as floats from word `tail` on: biases, scales of normalisations
 *
 * A weight is its integer times the unit of its layer, or of its output channel there; a power of
 * two.  It has at most 2^(M - 1) - 1 units.
 * As with linear models the few parameters that every example moves stay floats.
 */
#ifndef DROVE_ENGINE_FIXED_SHARED_H
#define DROVE_ENGINE_FIXED_SHARED_H

#include "engine/engine.h"
#include "engine/fixed/format.h"
#include "engine/linear/rounding.h"

typedef struct drove_fixed_part { /* of theta and of the shared vector: one stretch of both */
    size_t offset, length;        /* in theta */
    size_t at;                    /* first number, or word of the tail */
    size_t layer;
    bool   is_tail; /* floats behind the numbers */
    float  unit;    /* of numbers that are integers; by channel: the largest of these units */
    /* The unit of weight i, of [n_groups][length / n_groups / n_channels][n_channels], is that of
     * channel drove__fixed_channel: unit * by[channel], with by = 1 / inverse a power of two.
     * by NULL: unit. */
    size_t n_groups, n_channels; /* channels of a group */
    float *by, *inverse;         /* [n_groups * n_channels] */
} drove_fixed_part;

struct drove_engine_shared {
    const drove_model  *model;
    const drovek_table *kernels;
    drove_fixed         format;
    drove_rounding      rounding;
    drove_layout        layout;
    size_t              n_words, n_parts;
    drove_fixed_part   *part;        /* [n_parts] numbers, then the tail's */
    drove_fixed_part  **of_layer;    /* [n_layers] its numbers; NULL: it has none */
    double              model_range; /* largest of the layers' ranges; 0: floats */
    double              weight_decay;
    double              margin; /* of a range found from the first weights */
    size_t              each;   /* examples of an update */
    uint64_t            seed;
};

/* The output channel of a part's weight i. */
static inline size_t drove__fixed_channel(const drove_fixed_part *part, size_t i)
{
    return i / (part->length / part->n_groups) * part->n_channels + i % part->n_channels;
}

/* The unit of a part's weight i. */
static inline float drove__fixed_unit_at(const drove_fixed_part *part, size_t i)
{
    return part->by != NULL ? part->unit * part->by[drove__fixed_channel(part, i)] : part->unit;
}

/* Where numbers begin; of the tail: its floats. */
static inline void *drove__fixed_at(const drove_engine_shared *p, const drove_fixed_part *part,
                                    uint32_t *words)
{
    size_t size = part->is_tail ? sizeof(float) : drove__number_size(p->layout.number);
    return (char *)words + part->at * size;
}

/* shared.c: slots of drove__engine_fixed */
drove_status drove__fixed_prepare(const drove_prepare_options *opt, drove_engine_shared **out);
void         drove__fixed_dismiss(drove_engine_shared *p);
void         drove__fixed_pack(const drove_engine_shared *p, drove_rng *rng, const float *theta,
                               uint32_t *words);
/* Words that others may write meanwhile: each number is read once. */
void drove__fixed_unpack(const drove_engine_shared *p, const uint32_t *words, float *theta);
void drove__fixed_unpack_part(const drove_engine_shared *p, const drove_fixed_part *part,
                              const uint32_t *words, float *theta);
/* The same, but integers go to the planes weight[layer], which are the caller's own; with theta
 * NULL, weights go nowhere else.  tail: [n_params] gets the other parameters. */
void drove__fixed_unpack_planes(const drove_engine_shared *p, const uint32_t *words, float *theta,
                                float *tail, drovek_planes *weight);
drove_status drove__fixed_set_range(drove_engine_shared *p, double range);

#endif
