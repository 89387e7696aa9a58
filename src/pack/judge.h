/* pack/judge.h - how good outputs are: the loss of each row at any outputs, and their mean.
 *
 * Outputs are what a model's last layer gives: the logarithms of probabilities up to a constant
 * (softmax), of their odds (sigmoid, logistic), or values.  Members of an ensemble are averaged
 * there.
 */
#ifndef DROVE_PACK_JUDGE_H
#define DROVE_PACK_JUDGE_H

#include "data/data.h"
#include "model/model.h"

typedef enum drove_judge_kind {
    DROVE_JUDGE_SOFTMAX,
    DROVE_JUDGE_ODDS,
    DROVE_JUDGE_VALUES
} drove_judge_kind;

typedef struct drove_judge {
    drove_judge_kind  kind;
    const drove_data *data;
    size_t            n_outputs;
} drove_judge;

/* False: no pack learns with this loss. */
bool drove__judge_init(drove_judge *judge, const drove_data *data, const drove_model *model);
/* Outputs from predictions, in place: z[n]. */
void drove__judge_outputs(const drove_judge *judge, float *z, size_t n);
/* The loss of a row of the view at z[n_outputs], without its weight; and the weight. */
double drove__judge_row(const drove_judge *judge, size_t row, const float *z);
double drove__judge_weight(const drove_judge *judge, size_t row);
/* The weighted mean of loss[n].  Of 1,000 values and more those beyond the 999th permille become as
 * large as that: few impossible rows decide nothing.  scratch: [n]. */
double drove__judge_mean(const drove_judge *judge, double *loss, const double *weight, size_t n,
                         double *scratch);

/* The best outputs that are the same for all rows: z[n_outputs]. */
void drove__judge_constant(const drove_judge *judge, float *z);

#endif
