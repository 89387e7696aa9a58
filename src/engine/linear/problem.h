/* engine/linear/problem.h - what workers of one low-precision run share: quantised examples, their
 * targets, the formats and scales of the model, and where its numbers lie.  None of it changes but
 * rows that are read from disk, which come and go in windows (stream/stream.h).
 *
 * The shared vector: words[n_words], laid out for C outputs and n features as
 *
 *   w[C][stride] of the model's format, stride = n rounded up to whole cache lines, padded with 0
 *   b[C]         floats from word `tail` on: the intercepts, padded to whole cache lines
 *
 * Output after output, so that dot and AXPY of one output run through memory.  The floats behind
 * the numbers are also the 64 bytes that the kernels may read beyond their end.  An intercept is
 * one number that every example moves: it stays a float, and never saturates.
 */
#ifndef DROVE_ENGINE_LINEAR_PROBLEM_H
#define DROVE_ENGINE_LINEAR_PROBLEM_H

#include "data/quant.h"
#include "engine/engine.h"
#include "engine/linear/precision.h"
#include "engine/linear/rounding.h"
#include "model/loss.h"

typedef enum drove_short_loss { /* one output and a derivative that needs no call */
                                DROVE_LONG_LOSS,
                                DROVE_LOGISTIC,
                                DROVE_HINGE,
                                DROVE_SQUARED
} drove_short_loss;

struct drove_engine_shared {
    const drove_model  *model;
    const drovek_table *kernels;
    const drove_data   *data;
    drove_precision     precision;
    drove_rounding      rounding;
    drove_quant        *quant;
    size_t           n_features, n_outputs, stride; /* stride: numbers from an output to the next */
    size_t           n_words;
    drove_layout     layout;
    double           model_range; /* 0: floats */
    float            model_scale; /* parameter = number * scale; 1 for floats */
    double           weight_decay;
    size_t           each; /* examples of an update */
    uint64_t         seed;
    bool             hints;
    size_t           n_rows;         /* of an epoch */
    size_t           longest_row;    /* stored numbers */
    double           stored_per_row; /* the same, mean */
    drove_short_loss short_loss;
    /* Of short losses, copied where the rows never change; NULL: read where they stand. */
    float    *y;      /* [n_rows] +1 or -1, or the value */
    float    *weight; /* [n_rows] of weighted examples */
    uint32_t *order;  /* [n_rows] row of the view; NULL: as it stands */
};

/* Target and weight of a row of short losses, where they stand. */
static inline float drove__linear_target(const drove_engine_shared *p, size_t row)
{
    const drove_storage *s = p->data->storage;
    const size_t         at = drove__data_row(p->data, p->order != NULL ? p->order[row] : row);
    if (s->y_kind == DROVE_Y_VALUE) return s->y_value[at];
    return s->y_class[at] == 1 ? 1.0f : -1.0f;
}
static inline float drove__linear_weight(const drove_engine_shared *p, size_t row)
{
    const size_t at = drove__data_row(p->data, p->order != NULL ? p->order[row] : row);
    return drove__data_loss_weight(p->data, at);
}

extern const drove_engine_ops drove__engine_linear;

/* ---- vector.c ---- */

/* Model scale, layout and length of the shared vector for this format and range. */
void drove__linear_set_model(drove_engine_shared *p, drove_number model, double range);
/* The same for the run's format; errors: DROVE_E_ARG (a range whose unit no float can hold). */
drove_status drove__linear_set_range(drove_engine_shared *p, double range);
void         drove__linear_pack(const drove_engine_shared *p, drove_rng *rng, const float *theta,
                                uint32_t *words);
void drove__linear_unpack(const drove_engine_shared *p, const uint32_t *words, float *theta);

/* ---- problem.c ---- */

drove_status drove__linear_prepare(const drove_prepare_options *opt, drove_engine_shared **out);
drove_status drove__linear_follow(drove_engine_shared *p, const drove_data *data);
void         drove__linear_dismiss(drove_engine_shared *p);

/* Examples that a worker claims at once: those of one call of steps. */
typedef struct drove_turn_limits {
    double   numbers; /* of an example, times outputs: what one step reads and writes */
    size_t   n_rows, each;
    uint64_t most_steps; /* of the strategy, between two meetings */
} drove_turn_limits;
size_t drove__linear_turn_rows(const drove_turn_limits *limits);

/* ---- range.c ---- */

/* A range that parameters trained from these examples, starting at theta[n_params], will
 * hardly leave.  Errors: DROVE_E_NOMEM, DROVE_E_DATA. */
drove_status drove__linear_find_range(drove_engine_shared *p, const float *theta, double eta,
                                      double *out);

#endif
