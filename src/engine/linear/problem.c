/* engine/linear/problem.c - see problem.h: checking and quantising. */
#include "engine/linear/problem.h"

#include "base/mem.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static drove_short_loss short_loss_of(const drove_model *model)
{
    if (model->n_outputs != 1) return DROVE_LONG_LOSS;
    if (strcmp(model->loss->name, "logistic") == 0) return DROVE_LOGISTIC;
    if (strcmp(model->loss->name, "hinge") == 0) return DROVE_HINGE;
    return strcmp(model->loss->name, "squared") == 0 ? DROVE_SQUARED : DROVE_LONG_LOSS;
}

/* ---- the examples ---- */

static drove_status quantise(drove_engine_shared *p, bool reorder)
{
    if (reorder) {
        size_t n = p->data->n_rows;
        drove_permutation permutation;
        p->order = drove__alloc(n, sizeof *p->order);
        if (p->order == NULL) return drove__fail_nomem("an order of the examples", n * 4);
        drove__permutation_init(&permutation, n, p->seed, UINT64_MAX);
        for (size_t i = 0; i < n; i++)
            p->order[i] = (uint32_t)drove__permutation_at(&permutation, i);
    }
    drove_quant_options opt = {.number = p->precision.data,
                               .index_bits = p->precision.index_bits,
                               .order = p->order};
    drove_status status = drove__quant_create(p->data, &opt, &p->quant);
    if (status != DROVE_OK) return drove__fail_in(status, "--precision %s", p->precision.text);
    const drove_quant *q = p->quant;
    p->stored_per_row =
        q->index_bits == 0 ? (double)q->n_features : (double)q->n_stored / (double)q->n_rows;
    p->longest_row = q->index_bits == 0 ? q->n_features : 0;
    for (size_t i = 0; q->index_bits != 0 && i < q->n_rows; i++) {
        size_t length = (size_t)(q->row_start[i + 1] - q->row_start[i]);
        p->longest_row = length > p->longest_row ? length : p->longest_row;
    }
    if (p->short_loss == DROVE_LONG_LOSS) return DROVE_OK;

    /* Targets and weights of the examples, as the steps read them. */
    const size_t n_rows = p->data->n_rows;
    p->y = drove__alloc(n_rows, sizeof *p->y);
    if (p->y == NULL) return drove__fail_nomem("targets", n_rows * sizeof *p->y);
    for (size_t i = 0; i < n_rows; i++) p->y[i] = drove__linear_target(p, i);
    if (!drove__data_is_weighted(p->data)) return DROVE_OK;
    p->weight = drove__alloc(n_rows, sizeof *p->weight);
    if (p->weight == NULL) return drove__fail_nomem("weights", n_rows * sizeof *p->weight);
    for (size_t i = 0; i < n_rows; i++) p->weight[i] = drove__linear_weight(p, i);
    return DROVE_OK;
}

/* Ranges of the numbers that a G term rounds.  Losses of classes: their derivative is at most the
 * example's weight, and nearly constant where an output is beyond 8.  Values: twice the largest
 * target, so that the first outputs and derivatives are within. */
static void set_gradient_ranges(drove_engine_shared *p)
{
    const drove_storage *s = p->data->storage;
    double weight = 1.0, target = 0.5;
    for (size_t i = 0; i < p->data->n_rows; i++) {
        const size_t row = drove__data_row(p->data, i);
        weight = fmax(weight, (double)drove__data_loss_weight(p->data, row));
        for (size_t k = 0; s->y_kind == DROVE_Y_VALUE && k < drove__storage_n_values(s); k++)
            target = fmax(target, fabs((double)s->y_value[row * drove__storage_n_values(s) + k]));
    }
    const bool has_values = s->y_kind == DROVE_Y_VALUE;
    p->precision.output_range = has_values ? 2.0 * target : 8.0;
    p->precision.derivative_range = weight * (has_values ? 2.0 * target : 1.0);
}

/* Several updates where they are so short that claiming a batch would cost as much: enough for
 * TURN_NUMBERS numbers of the data set and for TURN_UPDATES updates, but at most the TURNS-th part
 * of an epoch, so that workers end together at every evaluation.  Whatever the number of workers: a
 * resumed run may have others. */
size_t drove__linear_turn_rows(const drove_turn_limits *limits)
{
    const double TURN_NUMBERS = 1 << 20, TURN_UPDATES = 32, TURNS = 128;
    double each = (double)limits->each;
    double n = TURN_NUMBERS / (limits->numbers > 1.0 ? limits->numbers : 1.0) / each;
    double most = (double)limits->n_rows / each / TURNS;
    n = fmin(fmax(n, TURN_UPDATES), fmin(most, (double)limits->most_steps));
    return limits->each * (n > 1.0 ? (size_t)n : 1);
}

/* ---- the whole ---- */

drove_status drove__linear_prepare(const drove_prepare_options *opt, drove_engine_shared **out)
{
    drove_engine_shared *p = calloc(1, sizeof *p);
    if (p == NULL) return drove__fail_nomem("a low-precision run", sizeof *p);
    p->model = opt->model;
    p->kernels = opt->kernels;
    p->data = opt->data;
    p->n_features = opt->model->n_inputs;
    p->n_outputs = opt->model->n_outputs;
    p->weight_decay = opt->weight_decay;
    p->n_rows = opt->n_rows > 0 ? opt->n_rows : opt->data->n_rows;
    p->each = opt->each > 0 ? opt->each : 1;
    p->seed = opt->seed;
    p->hints = opt->hints;
    drove_status status;
    if (!drove__model_is_linear(p->model)) {
        status =
            drove__fail(DROVE_E_ARG,
                        "--precision: expected a linear model (logistic, linear or svm), found %s",
                        p->model->spec);
        goto fail;
    }

    /* Steps shrink by 1 - eta lambda; no schedule makes eta larger than the first. */
    if (!((double)(float)opt->eta * opt->weight_decay < 1.0)) {
        status = drove__fail(DROVE_E_ARG,
                             "--weight-decay %g: expected less than %g, the inverse of the step "
                             "size, found more",
                             opt->weight_decay, 1.0 / opt->eta);
        goto fail;
    }
    const bool is_sparse = drove__storage_is_sparse(opt->data->storage);
    if ((status = drove__precision_resolve(opt->precision, is_sparse, &p->precision)) != DROVE_OK)
        goto fail;
    if ((status = drove__rounding_parse(opt->rounding, &p->rounding)) != DROVE_OK) goto fail;
    p->short_loss = short_loss_of(p->model);
    const bool reorders = opt->reorder && opt->data->storage->x_kind != DROVE_X_QUANT;
    if ((status = quantise(p, reorders)) != DROVE_OK) goto fail;
    if (p->precision.gradient_bits != 0) set_gradient_ranges(p);
    double range = opt->model_range;
    if (p->precision.model != DROVE_F32 && range == 0.0)
        status = drove__linear_find_range(p, opt->theta, opt->eta, &range);
    if (status != DROVE_OK) goto fail;
    if ((status = drove__linear_set_range(p, range)) != DROVE_OK) goto fail;
    *out = p;
    return DROVE_OK;
fail:
    drove__linear_dismiss(p);
    return status;
}

drove_status drove__linear_follow(drove_engine_shared *p, const drove_data *data)
{
    const drove_quant_options opt = {.number = p->precision.data,
                                     .index_bits = p->precision.index_bits,
                                     .scale = p->quant->scale};
    drove_quant *q;
    assert(data->storage->x_kind == DROVE_X_QUANT && data->row == NULL && p->order == NULL);
    DROVE_TRY(drove__quant_create(data, &opt, &q));
    drove__quant_release(p->quant);
    drove__free(p->y);
    drove__free(p->weight);
    p->y = p->weight = NULL;
    p->quant = q;
    p->data = data;
    if (data->storage->longest_row > p->longest_row) p->longest_row = data->storage->longest_row;
    return DROVE_OK;
}

void drove__linear_dismiss(drove_engine_shared *p)
{
    if (p == NULL) return;
    drove__quant_release(p->quant);
    drove__free(p->y);
    drove__free(p->weight);
    drove__free(p->order);
    free(p);
}
